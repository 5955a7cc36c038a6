"""The rules for single boards in plain Python, as probing uses them: a board slides in a few microseconds.

`Game.slide_any` goes from cell to cell.  Here a board is rearranged so that each segment is a slice of it,
and a segment that was slid once is a dictionary entry.  This loads neither Numba nor NumPy.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from itertools import starmap
from typing import TypeAlias

from tilebase.game.boards import UNBOUNDED
from tilebase.game.game import Cells, Game, merge_line
from tilebase.game.symmetry import permuter, symmetries
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Number

Permuter = Callable[[Cells], Cells]


class Slider:
    """Slides and canonical boards of one game.  Safe to share between threads."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._directions = [self._plan(direction) for direction in game.directions]
        self._merged = _Merged(game.x_code)
        self._movable = game.cells - len(game.walls)
        self._images = [permuter(p) for p in symmetries(game)[1:]]
        self._goal = game.goal_exponent or UNBOUNDED + 1
        self._x = game.x if game.unmergeable else -1
        self._uniform = len(set(game.bounds.allowed)) == 1 and not game.unmergeable
        self._top = max(game.bounds.allowed)

    def _plan(self, direction: str) -> tuple[str, Permuter, list[slice], Permuter]:
        """Direction; to segment behind segment, walls last; where each segment is; and back."""
        segments = self.game.segments[direction]
        order = [*(cell for segment in segments for cell in segment), *self.game.walls]
        inverse = sorted(range(self.game.cells), key=order.__getitem__)
        ends = [*itertools.accumulate(map(len, segments), initial=0)]
        return direction, permuter(order), list(starmap(slice, itertools.pairwise(ends))), permuter(inverse)

    def slides(self, board: Cells) -> list[tuple[str, Cells, bool]]:
        """Return the allowed slides: direction, afterstate, whether it wins.  As `Game.slides`."""
        found, merged = [], self._merged
        for direction, gather, segments, scatter in self._directions:
            permuted = gather(board)
            slid: Cells = ()
            for segment in segments:
                slid += merged[permuted[segment]]
            slid += permuted[self._movable :]
            if slid != permuted:
                result = scatter(slid)
                most = max(result) if self._x < 0 else max((e for e in result if e != self._x), default=0)
                wins = most >= self._goal and self.game.stands(result)
                if wins or (most <= self._top if self._uniform else self.game.allowed(result)):
                    found.append((direction, result, wins or self.game.matches(result)))
        return found

    def canonical(self, board: Cells) -> Cells:
        """Return the least board of the orbit."""
        return min([board, *[image(board) for image in self._images]])


class _Merged(dict[Cells, Cells]):
    """By segment, the segment after a slide towards its first cell; computed when it is first needed."""

    def __init__(self, x: int) -> None:
        super().__init__()
        self._x = x

    def __missing__(self, segment: Cells) -> Cells:
        self[segment] = found = merge_line(segment, self._x)
        return found


# -- values ----------------------------------------------------------------------------------------


Worth: TypeAlias = tuple[str, Cells, bool, Number | None]
"""A slide of a state: direction, afterstate, whether it wins, and its value; None if that is not known."""


class Evaluator:
    """The recurrence of one objective of a game, for single boards."""

    def __init__(self, slider: Slider, objective: Objective) -> None:
        self._slider, self._game, self.objective = slider, slider.game, objective

    def end(self, board: Cells, *, won: bool) -> Number:
        """Return the value of a board on which the game ends."""
        return self.objective.end(self._game, board, won=won)

    def slide(self, before: Cells, after: Cells, follows: Number) -> Number:
        """Return the value of a slide before the discount; the board after it has the value `follows`."""
        return self.objective.number(self.objective.gain(self._game, before, after) + follows)

    def slides(self, board: Cells, value_of: Callable[[Cells], Number | None]) -> list[Worth]:
        """Return the slides of a state, not discounted; `value_of` values afterstates, or gives None."""
        found: list[Worth] = []
        for direction, after, wins in self._slider.slides(board):
            follows = self.end(after, won=True) if wins else value_of(after)
            worth = None if follows is None else self.slide(board, after, follows)
            found.append((direction, after, wins, worth))
        return found

    def best(self, board: Cells, value_of: Callable[[Cells], Number | None]) -> Number | None:
        """Return the largest of the values of `slides` that are known; None if no value is known."""
        known = (worth for *_, worth in self.slides(board, value_of) if worth is not None)
        return max(known, default=None)

    def state(self, board: Cells, value_of: Callable[[Cells], Number]) -> Number:
        """Return the value of a state."""
        if self._game.has_goal_sum(board):
            return self.end(board, won=True)
        best = self.best(board, value_of)
        return self.end(board, won=False) if best is None else self.objective.discounted(best)
