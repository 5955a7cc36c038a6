"""The rules for single boards in plain Python, with a cache of lines; probing uses them.

`Game.slide_any` computes each line again.  Here a line that was slid once is a dictionary entry, so
that sliding a board takes a few microseconds.  This loads neither Numba nor NumPy.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tilebase.game.bounds import UNBOUNDED
from tilebase.game.game import Cells, Game, merge_line
from tilebase.game.symmetry import permuter, symmetries


class Slider:
    """Slides, canonical boards and keys of one game.  Safe to share between threads."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self._directions = [self._plan(direction) for direction in game.directions]
        self._images = [permuter(p) for p in symmetries(game)[1:]]
        self._goal = game.goal_exponent or UNBOUNDED + 1
        self._x = game.x if game.unmergeable else -1
        self._uniform = len(set(game.bounds.allowed)) == 1 and not game.unmergeable
        self._top = max(game.bounds.allowed)

    def _plan(self, direction: str) -> tuple[Any, ...]:
        """Direction, gather, (begin, end, cached lines, function that slides one) of each line, scatter."""
        game = self.game
        lines = game.grid.lines[direction]
        order = [cell for line in lines for cell in line]
        inverse = sorted(range(game.cells), key=order.__getitem__)
        shared: dict[Cells, Cells] = {}
        plan = []
        for k, line in enumerate(lines):
            blocked = any(cell in game.obstacles for cell in line)
            size = len(line)
            cached: dict[Cells, Cells] = {} if blocked else shared
            plan.append((k * size, (k + 1) * size, cached, partial(self._slide_line, line)))
        return direction, permuter(order), plan, permuter(inverse)

    def _slide_line(self, line: Cells, tiles: Cells) -> Cells:
        x = self.game.x if self.game.unmergeable else 0
        result: list[int] = []
        segment: list[int] = []
        for cell, tile in zip(line, tiles, strict=True):
            if cell in self.game.obstacles:
                result += [*merge_line(segment, x), tile]
                segment = []
            else:
                segment.append(tile)
        return tuple(result + merge_line(segment, x))

    def slides(self, board: Cells) -> list[tuple[str, Cells, bool]]:
        """The allowed slides: direction, afterstate, whether it wins.  As `Game.slides`."""
        found = []
        for direction, gather, plan, scatter in self._directions:
            permuted = gather(board)
            slid: Cells = ()
            for begin, end, cached, slide in plan:
                line = permuted[begin:end]
                after = cached.get(line)
                if after is None:
                    after = cached[line] = slide(line)
                slid += after
            if slid != permuted:
                result = scatter(slid)
                most = max(result) if self._x < 0 else max((e for e in result if e != self._x), default=0)
                wins = most >= self._goal and self.game.stands(result)
                if wins or (most <= self._top if self._uniform else self.game.allowed(result)):
                    found.append((direction, result, wins or self.game.matches(result)))
        return found

    def canonical(self, board: Cells) -> Cells:
        """The least board of the orbit."""
        return min([board, *[image(board) for image in self._images]])

    def key(self, board: Cells) -> int:
        """The packed key."""
        key, bits = 0, self.game.bits
        for exponent in board:
            key = key << bits | exponent
        return key
