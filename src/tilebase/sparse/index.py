"""The perfect index: every board of a layer has a rank, in key order, without gaps.

The idea is Slizkov's (arXiv:2303.07266, section 2), with two changes that make it fast.
First, the board is split into two half boards, the head and the tail.  Tables hold their partial
ranks, so that a rank needs a few look-ups instead of a loop over cells and tiles.  Second, heads
that no canonical board has get no ranks: a head is unusable if some symmetry makes it smaller for
every tail.  This leaves 25 to 50 % of the boards of a 4x4 layer.  Of these ranks 3 to 30 % are
reachable, so that one bit per rank is a compact set of boards.

Not promised: ranks are valid in one process only.  They depend on the game, on the largest
exponent for which an `Index` was built, and on this version.  Files hold keys, not ranks.

A *directory* turns the rank of a board into its position among the boards of its layer that are stored.
Threads enter parts of a layer at the same time.  The first group of a part may also belong to the part
before it: so it is kept aside (`enter`) and added when both are there (`join`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np

from tilebase._kernels import backward
from tilebase._kernels import rank as kernels
from tilebase._kernels.arguments import Array, BoardRules, Directory, Listing, Ranking, Source
from tilebase._kernels.lines import HEAD_BITS, HEAD_SHIFT
from tilebase.counting.combinatorics import convolved
from tilebase.errors import CorruptError
from tilebase.game.compiled import CompiledGame
from tilebase.game.game import Game
from tilebase.game.symmetry import symmetries
from tilebase.sparse.halves import TABLE_LIMIT, Halves
from tilebase.sparse.lines import NO_LINES, LineTables, judged_by_line, line_tables
from tilebase.sparse.windows import BitSet

Edge = tuple[int, int, int]
"""A group, the position of its first board here, and its bits."""
FREE_HALVES = 1 << 22
"""Index tables of at most this many half boards are built once, for the whole game."""


class _Half(NamedTuple):
    """All fillings of a half board, in key order."""

    keys: Array  # keys[i]: packed, lowest cell at bit 0
    sums: Array  # sums[i]: sum of the tiles
    maxima: Array  # maxima[i]: largest exponent, not counting x
    x_sets: Array  # x_sets[i]: number of the set of cells that hold an x


class Index(Halves):
    """Ranks of the boards of a game whose exponents are at most `cap`.

    `cap` keeps the tables small while sums are small: a layer of sum s has no tile above s.
    """

    def __init__(self, game: Game, cap: int | None = None) -> None:
        super().__init__(game, cap)
        # Movable x weigh more than all tiles together: so only halves with the right number of x go together.
        self._weight = 2 + sum(2**top for top in game.tops if top) if self._movable else 0
        self._offset = self._weight * self._movable
        self._build_parts()
        self._build_tail()
        self._build_head()

    # -- tables ------------------------------------------------------------------------------

    def _build_parts(self) -> None:
        bits, n = self.game.bits, self.game.cells
        self._fillings = [self._filled(cells) for cells in self.parts]
        for first in (0, 2):
            count = len(self._fillings[first].keys) * len(self._fillings[first + 1].keys)
            if count > TABLE_LIMIT:
                raise self._too_many(count)
        self._lengths = [len(part.keys) for part in self._fillings]
        sums = [np.bincount(part.sums >> 1) for part in self._fillings[2:]]
        # Of one sum, at most; for `_is_lined`, so only where no x moves.
        self._most_tails = 0 if self._movable else int(convolved(*sums).max())
        numbers = [np.arange(length) for length in self._lengths]
        self.smaller, columns = self._smaller()
        self.is_cut = len(self.smaller) > 0
        if self.is_cut:
            numbers[2] = numbers[2] * (len(self.smaller) // self._lengths[2]) + columns[0]
            d = self._fillings[3].sums >> 1
            order = np.argsort(d, kind="stable")
            numbers[3][order] = columns[1][order] | _positions(d[order]) << 16
        else:
            numbers[0] *= self._lengths[1]
            numbers[2] *= self._lengths[3]
        tables = []
        for cells, part, number in zip(self.parts, self._fillings, numbers, strict=True):
            table = np.zeros(1 << bits * len(cells), dtype=np.uint32)
            table[part.keys] = number
            tables.append(table)
        self.part_tables = (tables[0], tables[1], tables[2], tables[3])
        self.shifts = np.array(
            [bits * (n - 1 - cells[-1]) if cells else 0 for cells in self.parts], dtype=np.uint64
        )

    def _smaller(self) -> tuple[Array, list[Array]]:
        """Return `Ranking.smaller`, and the columns of both parts; empty unless it pays: see `_kernels.rank`.

        The columns of a row are the sums of tails, which are those of both parts; with movable x, such sums
        for no x, for one, and so on.
        """
        # smaller[c, column]: tails with the x and the sum of the column whose first part comes before c.
        #
        #     column        0 x: sum 0, 2, 4 .. | 1 x: sum 0, 2, 4 .. | ..        (sums are halved)
        #     c = 0         0    0  0           | 0    0  0           |           nothing comes before
        #     c = 1         how many d make each sum together with c = 0
        #     c = 2         the same with c = 0 or 1, and so on: a running total of `counts`, moved by c's own
        nothing = np.zeros(0, dtype=np.uint32), list[Array]()
        if prod(self._lengths[2:]) < kernels.MANY_TAILS or self._is_lined or not self._counts_decide():
            return nothing
        # The sums of both parts without the weight of their x, and how many x they have.
        parts = [part.sums >> 1 for part in self._fillings[2:]]
        x = [part // (self._weight >> 1) if self._movable else np.zeros_like(part) for part in parts]
        sums = [part - more * (self._weight >> 1) for part, more in zip(parts, x, strict=True)]
        most = int(sum(part.max() for part in sums))
        if self.game.horizon is not None:
            most = min(most, self.game.last_sum >> 1)
        # Entries of `part_tables` have 16 bits for a column; and the table must be smaller than `tail_rank`.
        rows, width = self._movable + 1, most + 1
        if max(self._lengths[3], rows * width) >= 1 << 16 or 2 * rows * width > self._lengths[3]:
            return nothing
        # counts[x, sum]: fillings d of the second part; what is beyond the table is on no board.
        inside = (x[1] < rows) & (sums[1] < width)
        counts = np.bincount((x[1] * width + sums[1])[inside], minlength=rows * width).reshape(rows, width)
        found = np.zeros((self._lengths[2], rows, width), dtype=np.uint32)
        before = np.zeros((rows, width), dtype=np.int64)
        for row, k, s in zip(found, x[0].tolist(), sums[0].tolist(), strict=True):
            row[:] = before
            if k < rows and s < width:
                before[k:, s:] += counts[: rows - k, : width - s]
        # The terms of a rank must fit into 32 bits.
        if self._lengths[1] * int(before.max()) >= 1 << 32:
            return nothing
        columns = [
            np.minimum(k, rows - 1) * width + np.minimum(s, width - 1) for k, s in zip(x, sums, strict=True)
        ]
        return found.ravel(), columns

    def _counts_decide(self) -> bool:
        """Return whether it depends on the number of x alone if both parts of the tail may hold theirs."""
        whole = set(self._x_sets(self.tail_cells))
        sizes = {len(one) for one in whole}
        joined = itertools.chain(*self._joined_x(2, self.tail_cells))
        return all(one in whole or len(one) not in sizes for one in joined)

    def _joined_x(self, first: int, cells: Sequence[int]) -> list[list[frozenset[int]]]:
        """Return the cells of a half with an x, by the sets of x of its parts `first` and ``first + 1``."""
        held = self.game.held.intersection(cells)
        sets = [self._x_sets(part) for part in self.parts[first : first + 2]]
        return [[x | y | held for y in sets[1]] for x in sets[0]]

    @cached_property
    def _rules(self) -> BoardRules:
        return CompiledGame(self.game).rules

    @cached_property
    def _is_lined(self) -> bool:
        """Whether lines say how boards slide, and halves are small enough for their tables."""
        heads, tails = prod(self._lengths[:2]), prod(self._lengths[2:])
        small = heads <= 1 << HEAD_BITS and tails <= 1 << HEAD_SHIFT and self._most_tails <= 1 << 16
        return small and not self._movable and judged_by_line(self.game, self._rules)

    def _filled(self, cells: Sequence[int]) -> _Half:
        """Return all fillings of some cells, in key order."""
        if self._ways(cells) > TABLE_LIMIT:
            raise self._too_many(self._ways(cells))
        found = [self._filled_around(cells, k, x_cells) for k, x_cells in enumerate(self._x_sets(cells))]
        order = np.argsort(np.concatenate([half.keys for half in found]), kind="stable")
        return _Half(*(np.concatenate(arrays)[order] for arrays in zip(*found, strict=True)))

    def _filled_around(self, cells: Sequence[int], number: int, x_cells: frozenset[int]) -> _Half:
        """The fillings of some cells with an x on exactly `x_cells`, the set of cells with this number."""
        keys = np.zeros(1, dtype=np.uint64)
        sums = np.full(1, self._weight * len(x_cells - self.game.held), dtype=np.int64)
        maxima = np.zeros(1, dtype=np.uint8)
        # Cell by cell: each filling so far with each code of the next cell, which is the lowest of the key.
        for cell in cells:
            codes = np.array([self.game.x] if cell in x_cells else self._codes[cell], dtype=np.uint64)
            tile = np.array([self.game.sum((int(c),)) for c in codes], dtype=np.int64)
            size = np.array([self.game.max_exponent((int(c),)) for c in codes], dtype=np.uint8)
            keys = (keys[:, None] << np.uint64(self.game.bits) | codes).ravel()
            sums = (sums[:, None] + tile).ravel()
            maxima = np.maximum(maxima[:, None], size).ravel()
        return _Half(keys, sums, maxima, np.full(len(keys), number, dtype=np.uint16))

    def _half(self, first: int, cells: tuple[int, ...], images: Array) -> tuple[_Half, Array]:
        """The fillings of a half, whose parts have the numbers `first` and ``first + 1``; which are usable.

        A filling is usable if some board has the x of both parts at once, and none of its `images`, each the
        cells that come to the cells of the half, is smaller whatever the other half holds.
        """
        a, b = self._fillings[first], self._fillings[first + 1]
        end = self.game.bits * (self.game.cells - 1 - (cells[-1] if cells else -1))
        places = [np.uint64(max(int(shift) - end, 0)) for shift in self.shifts[first : first + 2]]
        around = np.uint64(self.game.cell_bits(self.game.held.intersection(cells)) >> end)
        whole = set(self._x_sets(cells))
        together = np.array([[one in whole for one in row] for row in self._joined_x(first, cells)])
        n = len(a.keys) * len(b.keys)
        half = _Half(
            np.empty(n, np.uint64), np.empty(n, np.int64), np.empty(n, np.uint8), np.empty(0, np.uint16)
        )
        usable = np.empty(n, dtype=bool)
        kernels.list_halves(
            (a.keys << places[0] | around, *a[1:]), (b.keys << places[1], *b[1:]), together,
            np.uint64(self.game.bits), len(cells), images, half.keys, half.sums, half.maxima, usable,
        )  # fmt: skip
        return half, usable

    def _build_tail(self) -> None:
        half, usable = self._half(2, self.tail_cells, np.empty((0, 0), dtype=np.int64))
        self.tail_count = np.bincount(half.sums[usable] >> 1).astype(np.uint64)
        self.tail_start = np.concatenate([np.zeros(1, np.uint64), np.cumsum(self.tail_count)[:-1]])
        n = int(self.tail_count.sum())
        keys = np.empty(n, dtype=np.uint64)
        self.tail_max = np.empty(n, dtype=np.uint8)
        ranks = np.zeros(0 if self.is_cut else len(half.keys), dtype=np.uint32)
        kernels.sort_halves(
            half.keys, half.sums, half.maxima, usable, self.tail_start, self.tail_start.copy(), keys,
            self.tail_max, ranks,
        )  # fmt: skip
        short = len(ranks) if self.tail_count.max(initial=0) <= 1 << 16 else 0
        self.tails, self.tail_rank = ranks[:short].astype(np.uint16), ranks[short:].copy()
        varying = int(np.bitwise_or.reduce(keys ^ keys[:1])) if n else 0
        self.tail_shift = np.uint64(max((varying & -varying).bit_length() - 1, 0))
        self.tail_rest = keys[0] & ~np.uint64(varying) if n else np.uint64(0)
        keys = (keys & np.uint64(varying)) >> self.tail_shift
        self.tail_key = keys.astype(np.uint32) if varying >> int(self.tail_shift) < 1 << 32 else keys

    def _build_head(self) -> None:
        n, ways = len(self.head_cells), symmetries(self.game)[1:]
        images = np.array([way[:n] for way in ways], dtype=np.int64).reshape(len(ways), n)
        half, self.usable = self._half(0, self.head_cells, images)
        self.head_key = half.keys << np.uint64(self.game.bits * len(self.tail_cells))
        self.head_sum = half.sums
        self.head_max = half.maxima
        del self._fillings

    # -- use ---------------------------------------------------------------------------------

    @cached_property
    def line_tables(self) -> LineTables:
        """The tables with which kernels slide lines; empty if lines do not say how, or halves are large."""
        if not self._is_lined:
            return NO_LINES
        return line_tables(self.game, self._rules, self._codes, self._strides())

    def _strides(self) -> list[int]:
        """Return what the next code of each cell adds to the numbers of the half boards."""
        strides = [0] * self.game.cells
        for cells, shift in ((self.head_cells, HEAD_SHIFT), (self.tail_cells, 0)):
            stride = 1 << shift
            for cell in reversed(cells):
                strides[cell] = stride
                stride *= self._choices[cell]
        return strides

    @cached_property
    def nbytes(self) -> int:
        """Bytes of all tables, those of one layer included."""
        arrays = [value for value in vars(self).values() if isinstance(value, np.ndarray)]
        return sum(a.nbytes for a in (*arrays, *self.part_tables)) + len(self.head_sum) * 32

    @cached_property
    def _ranks(self) -> Array:
        """The number of ranks of each layer, by half of its sum."""
        ranks = convolved(np.bincount(self.head_sum[self.usable] >> 1), self.tail_count)
        # Halves that have too few or too many of the movable x together have other sums.
        return ranks[self._offset >> 1 :][: (self._weight >> 1) or None]

    @cached_property
    def sizes(self) -> dict[int, int]:
        """The number of ranks of each layer, by sum."""
        sizes = {2 * i: int(n) for i, n in enumerate(self._ranks.tolist()) if n}
        return {
            total: n for total, n in sizes.items() if self.game.horizon is None or total <= self.game.last_sum
        }

    def layer(self, total: int) -> IndexedLayer:
        """Return the layer of one sum."""
        n, a = len(self.head_sum), self._lengths[0]
        is_narrow = total >> 1 >= len(self._ranks) or self._ranks[total >> 1] < 1 << 32
        base = np.empty(0 if self.is_cut or is_narrow else n, dtype=np.uint64)
        bases = np.empty(n if is_narrow and not self.is_cut else 0, dtype=np.uint32)
        firsts = np.empty(a if self.is_cut else 0, dtype=np.uint64)
        rests = np.empty(n if self.is_cut else 0, dtype=np.uint32)
        heads = np.empty(n, dtype=np.int64)
        starts = np.empty(n, dtype=np.uint64)
        count, ranks = kernels.layer_heads(
            self.head_sum, self.usable, self.tail_count, total + self._offset, base, bases, firsts, rests,
            heads, starts,
        )  # fmt: skip
        size, heads, starts = int(ranks), heads[:count].copy(), starts[:count].copy()
        # With these tables kernels also slide boards, if lines say how.
        lines, begins, cells = self.line_tables
        ranking = Ranking(
            self.shifts, self.part_tables, base, self.tail_rank, bases, self.tails, lines, begins, cells,
            firsts, rests, self.smaller,
        )  # fmt: skip
        tail_sums = (total + self._offset - self.head_sum[heads]) >> 1
        listing = Listing(
            heads, starts, tail_sums, self.head_key, self.head_max, self.tail_start, self.tail_key,
            self.tail_shift, self.tail_rest, self.tail_max,
            np.uint64((1 << self.game.bits * len(self.tail_cells)) - 1),
        )  # fmt: skip
        return IndexedLayer(total, size, ranking, listing)


def _positions(ascending: Array) -> Array:
    """Return the position of each of these small numbers among those that are equal."""
    counts = np.bincount(ascending)
    return np.arange(len(ascending)) - (np.cumsum(counts) - counts)[ascending]


# -- the layers of a game -----------------------------------------------------------------------------


@dataclass(frozen=True)
class IndexedLayer:
    """The layer of one sum with its index, as arguments of kernels."""

    total: int  # the sum
    size: int  # boards in the layer, that is ranks
    ranking: Ranking
    listing: Listing

    def source(self, boards: BitSet) -> Source:
        """Return a set of boards of this layer, to be read."""
        return Source(boards.bits, np.uint64(boards.first_rank), self.listing)

    def rank(self, keys: Array) -> Array:
        """Ranks of canonical boards of the layer; `keys` and the result are uint64 arrays."""
        ranks = np.empty(len(keys), dtype=np.uint64)
        kernels.rank_keys(keys, len(keys), self.ranking, ranks)
        return ranks

    def checked_rank(self, keys: Array) -> Array:
        """Ranks of the ascending boards of a file, which must belong to the layer.

        Raises `CorruptError` if ranks are not ascending or too large: then boards are not canonical.
        """
        ranks = self.rank(keys)
        if len(ranks) and (int(ranks[-1]) >= self.size or (ranks[1:] <= ranks[:-1]).any()):
            raise CorruptError(f"a layer of sum {self.total} holds boards that are not canonical")
        return ranks


class GameIndex:
    """The indexes of a game's layers.  Tables grow with the largest tile that fits into the sum."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._top = max(game.tops)
        self.one_index = Halves(game).largest <= FREE_HALVES
        self._index: Index | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the tables in memory."""
        return self._index.nbytes if self._index else 0

    def at(self, total: int) -> IndexedLayer:
        """The index of the layer of one sum.  This is fast if the sum is close to that of the last call."""
        return self.index_at(total).layer(total)

    def size(self, total: int) -> int:
        """Return the number of ranks of the layer of one sum."""
        return self.index_at(total).sizes.get(total, 0)

    def index_at(self, total: int) -> Index:
        """Return the index that serves the layer of one sum."""
        cap = self._top if self.one_index else min(max(total.bit_length() - 1, 2), self._top)
        if self._index is None or self._index.cap < cap:
            self._index = None  # release the old tables first, to save memory
            self._index = Index(self._game, cap)
        return self._index


# -- from ranks to positions --------------------------------------------------------------------------


def new_directory(ranks: int) -> Directory:
    """Return the directory of a layer of so many ranks, still empty."""
    groups = ranks // backward.GROUP + 1
    return Directory(np.zeros(groups, dtype=np.uint64), np.zeros(groups, dtype=np.uint32))


def enter(directory: Directory, ranks: Array, position: int) -> Edge:
    """Enter boards with ascending ranks, the first at `position`; return their first group instead."""
    edge = np.zeros(3, dtype=np.uint64)
    backward.index_keys(ranks, len(ranks), position, directory, edge)
    return int(edge[0]), int(edge[1]), int(edge[2])


def join(directory: Directory, edge: Edge) -> None:
    """Add a group that the part before may have begun."""
    group, position, bits = edge
    if not directory.bits[group]:
        directory.counts[group] = position
    directory.bits[group] |= np.uint64(bits)
