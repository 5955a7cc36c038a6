"""How many bytes a pass over all boards takes for what it has in memory; plans and estimates read it, too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.dense.index import Part, PerfectIndex, check_masks, cut_into_parts
from tilebase.dense.steps import Range, within
from tilebase.errors import ResourceError, UsageError
from tilebase.game.game import Cells, Game
from tilebase.game.notation import Pattern
from tilebase.runtime.system import PAGE_BYTES

Array = npt.NDArray[Any]

MOST_PATTERNS = 64
MOST_CLASSES = 1 << 16
"""Sums of a part: an entry of a table has 16 bits for one."""
MOST_POSITIONS = 1 << 20
"""Fillings of a part that have one sum: an entry of a table has 20 bits for the position of one."""
SCRATCH_BOARDS = 4096
"""Accumulators or values in a row that a thread works on at once, at least."""
TILE = 16
"""Rows of values that a thread works on at once."""
LAYERS = 4
"""Sets of bits in memory at once: two of states, one of afterstates, one of wins by slides along columns."""
MATRICES, ROWS = 3, 1 << 12
"""Matrices in the scratch buffer of a thread, and rows of one more, at most; 64 rows at least."""
LISTS = 13
"""Lists of half boards there."""
MAPPED = 1 << 28
"""Least bytes of a table of half boards that may lie in a file."""
JOB_BOARDS = 1 << 22
"""Least boards of a job, if the pass has as many; a matrix is not cut."""
MOST_PLACES, MOST_ENTRIES = 1 << 33, 1 << 24
"""Most matrices of all layers, by the classes of their rows: each is looked at to plan.  Most entries of a
table of half boards by sum and class."""
PAGE, PAGED = PAGE_BYTES // 8, 1 << 20
"""Of a layer of at least `PAGED` words, each matrix begins at a multiple of `PAGE` words."""


Conditions = tuple[frozenset[tuple[int | None, ...]], ...]
"""For each part of the board what it may hold: one of some fillings, in which None stands for any tile."""


def patterns_of(patterns: Iterable[Pattern], parts: Sequence[Cells]) -> list[Conditions]:
    """Return the patterns by the parts of the board; those that differ in one part only become one.

    >>> len(patterns_of(Game("3x4", 64, pattern="two").patterns, cut_into_parts(Game("3x4"))[1]))  # of 66
    10
    """
    found: list[Conditions] = [
        tuple(frozenset({tuple(pattern[cell] for cell in cells)}) for cells in parts) for pattern in patterns
    ]
    before = 0
    while len(found) != before:
        before = len(found)
        for part in range(len(parts)):
            others: dict[Conditions, frozenset[tuple[int | None, ...]]] = {}
            for one in found:
                rest = one[:part] + one[part + 1 :]
                others[rest] = others.get(rest, frozenset()) | one[part]
            found = [(*rest[:part], held, *rest[part:]) for rest, held in others.items()]
    return found


def check_rules(game: Game) -> None:
    """Raise `UsageError` for several masks, or more than 64 patterns, by parts of the board."""
    check_masks(game)
    if (found := len(patterns_of(game.patterns, cut_into_parts(game)[1]))) > MOST_PATTERNS:
        raise UsageError(f"{found} patterns; the dense space takes at most {MOST_PATTERNS}")


def check_index(index: PerfectIndex) -> None:
    """Check that there can be a dense pass.

    Raises as `check_rules`, and `ResourceError` if a quarter has too many sums, or fillings of one sum.
    """
    game = index.game
    check_rules(game)
    if max(int(part.counts.max()) for part in index.parts) > MOST_POSITIONS:
        raise ResourceError(
            f"a quarter of {game} has more than {MOST_POSITIONS:,} fillings of one sum: give lower limits"
        )
    if max(len(part.sums) for part in index.parts) > MOST_CLASSES:
        raise ResourceError(f"a quarter of {game} has more than {MOST_CLASSES:,} sums: give lower limits")


def half_counts(first: Part, second: Part) -> Array:
    """Return how many half boards have each sum."""
    sums = (first.sums[:, None] + second.sums).ravel()
    found: Array = np.zeros(int(sums.max()) + 1, dtype=np.int64)
    np.add.at(found, sums, (first.counts[:, None] * second.counts).ravel())
    return found


def half_begins(index: PerfectIndex, first: Part, second: Part) -> Array:
    """Return where the half boards of each sum begin, and where the last ones end, as far as layers need."""
    counts = half_counts(first, second)
    if index.most_units is not None:
        counts = counts[: index.most_units + 1]
    return np.concatenate([[0], np.cumsum(counts)])


def scratch_boards(index: PerfectIndex) -> int:
    """Return the most boards of a block with one outer half, but at least as many as are fast in a cache."""
    _, b, c, d = index.parts
    return max(SCRATCH_BOARDS, *(int(x.counts.max() * y.counts.max()) for x, y in ((c, d), (b, d))))


def scratch_bytes(index: PerfectIndex, value_bytes: int) -> int:
    """Bytes that a thread works in: two accumulators, a number of empty cells, and a tile of values."""
    return scratch_boards(index) * (3 * 8 + TILE * value_bytes)


def _entries(index: PerfectIndex) -> list[int]:
    """Return the entries of each table of half boards."""
    a, b, c, d = index.parts
    rows, columns = directions(index)
    halves = ((rows, a, b), (rows, c, d), (columns, a, c), (columns, b, d))
    return [len(slides) * int(half_begins(index, *parts)[-1]) for slides, *parts in halves]


def table_bytes(index: PerfectIndex, *, merge: str) -> int:
    """Return the bytes of the tables of half boards."""
    return (12 if merge else 8) * sum(_entries(index))


def mapped_bytes(index: PerfectIndex) -> int:
    """Return the bytes of the tables that may lie in a file: of where slides lead, and nothing beside it."""
    return sum(8 * count for count in _entries(index) if 8 * count >= MAPPED)


def directions(index: PerfectIndex) -> tuple[list[str], list[str]]:
    """Return the slides that keep the sum of the top half, and the others."""
    names = index.game.directions
    last = len(index.game.shape) - 1
    columns = [name for k, name in enumerate(names) if last - k // 2 == index.axes[0]]
    return [name for name in names if name not in columns], columns


# -- values as bits ------------------------------------------------------------------------------


def _words(bits: Any) -> Any:
    return (bits + 63) >> 6


class Halves:
    """The outer and the inner halves of a board: top and bottom, or left and right.

    Attributes
    ----------
    rows:
        int64[h, k]: the outer halves with the sum h whose first part has the class k.
    columns:
        int64[g, k]: the inner halves with the sum g whose first part has a class below k.
    halves, parts:
        Whether the game keeps the mirror images that exchange the two halves, and the parts of both.
    more:
        The largest spawn, in units of 2 as all sums here.
    """

    def __init__(
        self, outer: tuple[Part, Part], inner: tuple[Part, Part], mirrors: Sequence[bool], more: int
    ) -> None:
        self.halves, self.parts = mirrors
        self.more = more
        self.rows = _by_class(*outer)
        self.columns = np.pad(np.cumsum(_by_class(*inner), axis=1), ((0, 0), (1, 0)))
        self._outer, self._inner = outer[0].sums, inner[0].sums

    def last(self, units: int, mirrored: bool) -> int:
        """Return the largest sum of a half that is stored of boards of a sum, if larger ones are images."""
        return (units + self.more) >> 1 if mirrored else units

    def stored_columns(self, units: int) -> Array:
        """int64[h, k]: the columns that are stored of such rows."""
        found = np.zeros_like(self.rows)
        first, last = max(0, units - len(self.columns) + 1), min(units + 1, len(found))
        if self.halves:
            last = min(last, self.last(units, True) + 1)
        if first < last:
            # The first parts of both halves have no more than `last` together.
            below = np.searchsorted(self._inner, self.last(units, self.parts) - self._outer, side="right")
            found[first:last] = self.columns[units - np.arange(first, last)][:, below]
        return found


def _by_class(first: Part, second: Part) -> Array:
    """int64[h, k]: the half boards with the sum h whose first part has the class k."""
    found = np.zeros(_shape(first, second), dtype=np.int64)
    classes = np.arange(len(first.sums))[:, None]
    found[first.sums[:, None] + second.sums, classes] = first.counts[:, None] * second.counts
    return found


def _shape(first: Part, second: Part) -> tuple[int, int]:
    """Return the shape of `_by_class`."""
    return int(first.sums[-1] + second.sums[-1]) + 1, len(first.sums)


class Matrices:
    """Where the matrices of a layer, or a window of it, begin: the boards whose outer halves have one sum.

    Attributes
    ----------
    units:
        The sum of the boards.
    at:
        int64[h, k]: the first word of the rows whose outer halves have the sum h and a first part of the
        class k; -1 if there are none.
    wide:
        int64[h, k]: the words of such a row.
    rows, columns:
        int64[h, k]: such rows, and the bits of each.
    boards:
        int64[h]: the boards that are stored of a matrix.
    first, size:
        Of the layer, the word with which it begins, 0 for a whole one, and the words, gaps included.
    """

    first = 0

    def __init__(self, units: int, halves: Halves) -> None:
        self.units, self.rows = units, halves.rows
        self.columns = halves.stored_columns(units)
        self.wide = _words(self.columns) * (self.rows > 0)
        self.boards = (self.rows * self.columns).sum(axis=1)
        words = self.rows * self.wide
        page = PAGE if words.sum() >= PAGED else 1
        self._sizes = -(-words.sum(axis=1) // page) * page
        ends = np.cumsum(self._sizes)
        begins = (ends - self._sizes)[:, None] + np.cumsum(words, axis=1) - words
        self.at = np.where(words > 0, begins, -1)
        self.size = int(ends[-1])

    def window(self, sums: Range) -> Matrices:
        """Return the matrices of some sums of outer halves alone."""
        inside, found = within(np.arange(len(self.at)), sums), copy(self)
        found._sizes, found.boards = np.where(inside, self._sizes, 0), np.where(inside, self.boards, 0)
        found.first, found.size = int(self._sizes[: sums.begin].sum()), int(found._sizes.sum())
        found.at = np.where(inside[:, None] & (self.at >= 0), self.at - found.first, -1)
        return found

    def cut(self, words: int, more: int = 0) -> list[Range]:
        """Cut the sums into ranges whose matrices, with those of up to `more` above, have so many words.

        A range has one sum at least.
        """
        ends = np.concatenate([[0], np.cumsum(self._sizes)])
        ranges, begin, last = [], 0, len(self._sizes)
        for end in range(1, last + 1):
            if end < last and ends[min(end + 1 + more, last)] - ends[begin] > words:
                ranges.append(Range(begin, end))
                begin = end
        return [*ranges, Range(begin, last)]

    def largest(self, more: int = 0) -> int:
        """Return the most words of a matrix and those of `more` sums above."""
        ends = np.concatenate([[0], np.cumsum(self._sizes), np.full(more, self.size)])
        return int((ends[1 + more :] - ends[: len(ends) - 1 - more]).max(initial=0))

    def jobs(self) -> list[Array]:
        """Return the sums of outer halves, those with most boards first."""
        order = np.argsort(-self.boards, kind="stable")[: np.count_nonzero(self.boards)]
        before = np.cumsum(self.boards[order]) - self.boards[order]
        cuts = np.flatnonzero(np.diff(before // JOB_BOARDS)) + 1
        return [job for job in np.split(order, cuts) if len(job)]


@dataclass(frozen=True)
class Words:
    """What bits take."""

    layer: int  # words of the largest layer, on either side
    matrix: int  # words of a matrix or a transposed one, at most
    row: int  # words of a row, at most
    window: int  # words of the least window of a layer that a step reads at once
    halves: int  # the most half boards with one sum
    boards: int  # those of all layers that are stored

    @classmethod
    def of(cls, index: PerfectIndex, sizes: dict[int, int]) -> Words | None:
        """For all layers of a game; None if half boards have too many sums."""
        a, b, c, d = index.parts
        outer, inner = (
            max(prod(_shape(*half)) for half in halves) for halves in (((a, b), (a, c)), ((c, d), (b, d)))
        )
        if outer * len(sizes) > MOST_PLACES or inner > MOST_ENTRIES:
            return None
        layer, matrix, row, window, most, boards = 0, 0, 0, 0, 0, 0
        for side, halves in enumerate(outer_and_inner(index)):
            for total in sizes:
                one = Matrices(index.units(total), halves)
                layer, window = max(layer, one.size), max(window, one.largest(halves.more))
                boards += 0 if side else int(one.boards.sum())
            end = index.units(max(sizes)) + 1  # no half has more
            rows = int(halves.rows[:end].sum(axis=1).max())
            columns = int(halves.columns[:end, -1].max())
            matrix = max(matrix, rows * _words(columns), (columns + 1) * _words(rows))
            row, most = max(row, _words(rows), _words(columns)), max(most, rows, columns)
        return cls(layer, matrix, row, window, most, boards)

    @property
    def two_windows(self) -> int:
        """The least words for two windows, see `half_window`."""
        return 2 * PAGE * -(-(self.window + 1) // PAGE)

    @property
    def scratch_bytes(self) -> int:
        """Bytes that a thread works in."""
        return 8 * (MATRICES * self.matrix + self.back + 3 * self.row + LISTS * self.halves)

    @property
    def back(self) -> int:
        """Words of the rows that a thread transposes back at once: of a whole matrix, if it has few."""
        return min(ROWS * self.row, self.matrix + 63 * self.row)


def half_window(words: int) -> int:
    """Return the most words of each of two windows in the memory of one: the second begins with a page."""
    return max(0, (words + 1) // 2 // PAGE * PAGE - 1)


def outer_and_inner(index: PerfectIndex) -> tuple[Halves, Halves]:
    """Return the halves of boards: top and bottom, left and right."""
    a, b, c, d = index.parts
    more = max(1 << (e - 1) for e in index.game.spawn_exponents)
    return Halves((a, b), (c, d), index.mirrors, more), Halves((a, c), (b, d), index.mirrors[::-1], more)
