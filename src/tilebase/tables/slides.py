"""The rules for single boards in plain Python, as probing uses them: a board slides in a few microseconds.

`Game.slide_any` goes from cell to cell.  Here a board is rearranged so that each segment is a slice of it,
and a segment that was slid once is a dictionary entry.  This loads neither Numba nor NumPy.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from itertools import starmap

from tilebase.game.bounds import UNBOUNDED
from tilebase.game.game import Cells, Game, merge_line
from tilebase.game.symmetry import permuter, symmetries

Permuter = Callable[[Cells], Cells]


class Slider:
    """Slides, canonical boards and keys of one game.  Safe to share between threads."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._directions = [self._plan(direction) for direction in game.directions]
        self._merged = _Merged(game.x if game.unmergeable else 0)
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

    def key(self, board: Cells) -> int:
        """Return the packed key."""
        key, bits = 0, self.game.bits
        for exponent in board:
            key = key << bits | exponent
        return key


class _Merged(dict[Cells, Cells]):
    """By segment, the segment after a slide towards its first cell; computed when it is first needed."""

    def __init__(self, x: int) -> None:
        super().__init__()
        self._x = x

    def __missing__(self, segment: Cells) -> Cells:
        self[segment] = found = merge_line(segment, self._x)
        return found
