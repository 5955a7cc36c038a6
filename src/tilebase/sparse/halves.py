"""How a board is cut into half boards and these into parts, each with a table in the perfect index."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tilebase.errors import ResourceError
from tilebase.game.game import Cells, Game

TABLE_LIMIT = 1 << 27
"""Most half boards in a table; 2**27 take about 5 GB."""
MOST_PART_BITS = 28
"""Most bits of the cells of a part: its table has a number for each key."""


class Halves:
    """How a board is cut into half boards, and those into parts, for exponents of at most `cap`."""

    def __init__(self, game: Game, cap: int | None = None) -> None:
        self.game = game
        self.cap = max(game.tops) if cap is None else min(cap, max(game.tops))
        self._codes = [self._codes_of(cell) for cell in range(game.cells)]
        self._choices = [len(codes) for codes in self._codes]
        self._movable = len(game.unmergeable) - len(game.held)
        self._cut()

    @property
    def largest(self) -> int:
        """How many fillings the larger half board has."""
        return max(self._ways(self.head_cells), self._ways(self.tail_cells))

    def _cut(self) -> None:
        """Cut the board into two halves with about as many fillings, and each of them into two parts."""
        n = self.game.cells
        whole = not (self.game.walls or self.game.held or self.game.masks)
        best = None
        for cut in [n // 2] if whole else range(n + 1):
            halves = tuple(range(cut)), tuple(range(cut, n))
            ways = self._ways(halves[0])
            if best is not None and ways > best[0][0]:
                break  # heads only become larger
            key = max(ways, self._ways(halves[1])), cut
            if best is None or key < best[0]:
                head, tail = map(self._split, halves)
                if head and tail:
                    best = key, halves, head + tail
        if best is None:  # four quarters always fit
            raise self._too_many(self._ways(range(n)))
        _, (self.head_cells, self.tail_cells), self.parts = best

    def _split(self, cells: Cells) -> tuple[Cells, Cells] | None:
        """Return the two parts of a half, each the stretch between cells that do not always hold the same.

        They have about equally many such cells; None if a part would be too long for a table.
        """
        varied = [cell for cell in cells if cell not in self.game.held and cell not in self.game.walls]
        middle = (len(varied) + 1) // 2
        for at in sorted(range(len(varied) + 1), key=lambda at: abs(at - middle)):
            first, second = _stretch(varied[:at]), _stretch(varied[at:])
            if max(len(first), len(second)) * self.game.bits <= MOST_PART_BITS:
                return first, second
        return None

    def _codes_of(self, cell: int) -> list[int]:
        """Return the codes that a cell may hold, ascending, without an x that may be elsewhere."""
        codes = self.game.codes(cell)
        if cell in self.game.held:
            return list(codes)
        return [code for code in codes if code <= self.cap and not self.game.is_x(code)]

    def _x_sets(self, cells: Sequence[int]) -> list[frozenset[int]]:
        return self.game.x_placements(cells) if self._movable else [self.game.held.intersection(cells)]

    def _ways(self, cells: Sequence[int]) -> int:
        """Return how many fillings some cells have."""
        choices = self._choices
        return sum(prod([choices[cell] for cell in cells if cell not in x]) for x in self._x_sets(cells))

    def _too_many(self, count: int) -> ResourceError:
        return ResourceError(
            f"counting {self.game} needs tables of {count:,} half boards, more than {TABLE_LIMIT:,}: "
            "count up to a smaller sum (--up-to), or choose a smaller goal, lower limits or fewer cells"
        )


def _stretch(cells: Sequence[int]) -> Cells:
    return tuple(range(cells[0], cells[-1] + 1)) if cells else ()
