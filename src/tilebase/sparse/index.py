"""The perfect index: every board of a layer has a rank, in key order, without gaps.

The idea is Slizkov's (arXiv:2303.07266, section 2), with two changes that make it fast.
First, the board is split into two half boards, the head and the tail.  Tables hold their partial
ranks, so that a rank needs a few look-ups instead of a loop over cells and tiles.  Second, heads
that no canonical board has get no ranks: a head is unusable if some symmetry makes it smaller for
every tail.  This leaves 25 to 50 % of the boards of a 4x4 layer.  Of these ranks 3 to 30 % are
reachable, so that one bit per rank is a compact set of boards.

Not promised: ranks are valid in one process only.  They depend on the game, on the largest
exponent for which an `Index` was built, and on this version.  Files hold keys, not ranks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import rank as kernels
from tilebase._kernels.arguments import Listing, Ranking
from tilebase.errors import CorruptError, ResourceError
from tilebase.game.game import Game
from tilebase.game.symmetry import symmetries

Array = npt.NDArray[Any]
TABLE_LIMIT = 1 << 27
"""Most half boards in a table; 2**27 take about 5 GB."""


@dataclass(frozen=True)
class _Half:
    """All fillings of a half board, in key order."""

    keys: Array  # keys[i]: packed, lowest cell at bit 0
    sums: Array  # sums[i]: sum of the tiles
    maxima: Array  # maxima[i]: largest exponent, not counting x


@dataclass(frozen=True)
class LayerIndex:
    """The part of the index that depends on the sum of a layer."""

    total: int  # the sum
    size: int  # boards in the layer, that is ranks
    head_base: Array  # head_base[h]: rank of the first board with head h
    heads: Array  # heads[i]: the i-th head that has boards
    starts: Array  # starts[i]: rank of its first board
    tail_sums: Array  # tail_sums[i]: sum // 2 of the tails that go with it


class Index:
    """Ranks of the boards of a game whose exponents are at most `cap`.

    `cap` keeps the tables small while sums are small: a layer of sum s has no tile above s.
    """

    def __init__(self, game: Game, cap: int | None = None) -> None:
        self.game = game
        self.cap = max(game.tops) if cap is None else min(cap, max(game.tops))
        self._cut()
        self._build_parts()
        self._build_tail()
        self._build_head()

    # -- tables ------------------------------------------------------------------------------

    def _cut(self) -> None:
        n = self.game.cells
        self.head_cells = tuple(range(n // 2))
        self.tail_cells = tuple(range(n // 2, n))
        halves = []
        for cells in (self.head_cells, self.tail_cells):
            middle = (len(cells) + 1) // 2
            halves += [cells[:middle], cells[middle:]]
        self.parts = tuple(halves)

    def _codes(self, cell: int) -> list[int]:
        """The codes that a cell may hold, ascending."""
        game = self.game
        if cell in game.walls:
            return [0]
        if game.fixed and cell in game.unmergeable:
            return [game.x]
        codes = list(range(min(game.tops[cell], self.cap) + 1))
        return codes + [game.x] if game.unmergeable and not game.fixed else codes

    def _build_parts(self) -> None:
        bits, n = self.game.bits, self.game.cells
        tables, sizes = [], []
        for cells in self.parts:
            half = self._fillings(cells)
            table = np.zeros(1 << bits * len(cells), dtype=np.uint32)
            table[half.keys] = np.arange(len(half.keys), dtype=np.uint32)
            tables.append(table)
            sizes.append(len(half.keys))
        tables[0] *= np.uint32(sizes[1])
        tables[2] *= np.uint32(sizes[3])
        self.part_tables = (tables[0], tables[1], tables[2], tables[3])
        self.shifts = np.array(
            [bits * (n - 1 - cells[-1]) if cells else 0 for cells in self.parts], dtype=np.uint64
        )

    def _fillings(self, cells: tuple[int, ...]) -> _Half:
        count = 1
        for cell in cells:
            count *= len(self._codes(cell))
        if count > TABLE_LIMIT:
            raise ResourceError(
                f"counting {self.game} needs tables of {count:,} half boards, more than {TABLE_LIMIT:,}: "
                "stop at a smaller sum (--up-to), or give limits on cells (--limits)"
            )
        keys = np.zeros(1, dtype=np.uint64)
        sums = np.zeros(1, dtype=np.int64)
        maxima = np.zeros(1, dtype=np.uint8)
        for cell in cells:
            codes = np.array(self._codes(cell), dtype=np.uint64)
            tile = np.array([self.game.sum((int(c),)) for c in codes], dtype=np.int64)
            size = np.array([self.game.max_exponent((int(c),)) for c in codes], dtype=np.uint8)
            keys = (keys[:, None] << np.uint64(self.game.bits) | codes).ravel()
            sums = (sums[:, None] + tile).ravel()
            maxima = np.maximum(maxima[:, None], size).ravel()
        return _Half(keys, sums, maxima)

    def _build_tail(self) -> None:
        half = self._fillings(self.tail_cells)
        order = np.argsort(half.sums, kind="stable")
        by_sum = half.sums[order] >> 1
        narrow = self.game.bits * len(self.tail_cells) <= 32
        self.tail_count = np.bincount(by_sum).astype(np.uint64)
        self.tail_start = np.concatenate([np.zeros(1, np.uint64), np.cumsum(self.tail_count)[:-1]])
        self.tail_key = half.keys[order].astype(np.uint32 if narrow else np.uint64)
        self.tail_max = half.maxima[order]
        self.tail_rank = np.empty(len(order), dtype=np.uint32)
        self.tail_rank[order] = np.arange(len(order), dtype=np.uint64) - self.tail_start[by_sum]

    def _build_head(self) -> None:
        half = self._fillings(self.head_cells)
        self.head_key = half.keys << np.uint64(self.game.bits * len(self.tail_cells))
        self.head_sum = half.sums
        self.head_max = half.maxima
        self.usable = self._usable(half.keys)

    def _usable(self, keys: Array) -> Array:
        """Which heads a canonical board may have: no symmetry makes the known cells smaller."""
        bits, h = np.uint64(self.game.bits), len(self.head_cells)
        mask = np.uint64((1 << self.game.bits) - 1)
        cell = [keys >> bits * np.uint64(h - 1 - c) & mask for c in range(h)]
        usable = np.ones(len(keys), dtype=bool)
        for permutation in symmetries(self.game)[1:]:
            equal = np.ones(len(keys), dtype=bool)
            for target, source in enumerate(permutation[:h]):
                if source >= h:
                    break
                usable &= ~(equal & (cell[source] < cell[target]))
                equal &= cell[source] == cell[target]
        return usable

    # -- use ---------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """Bytes of all tables, those of one layer included."""
        arrays = [value for value in vars(self).values() if isinstance(value, np.ndarray)]
        return sum(a.nbytes for a in (*arrays, *self.part_tables)) + len(self.head_sum) * 32

    def sizes(self) -> dict[int, int]:
        """The number of ranks of each layer, by sum."""
        heads = np.bincount(self.head_sum[self.usable] >> 1).astype(np.float64)
        ranks = np.convolve(heads, self.tail_count.astype(np.float64))  # exact below 2**53
        return {2 * i: int(n) for i, n in enumerate(ranks.tolist()) if n}

    def layer(self, total: int) -> LayerIndex:
        """The index of the layer of one sum."""
        base = np.empty(len(self.head_sum), dtype=np.uint64)
        heads = np.empty(len(self.head_sum), dtype=np.int64)
        starts = np.empty(len(self.head_sum), dtype=np.uint64)
        count, size = kernels.layer_heads(
            self.head_sum, self.usable, self.tail_count, total, base, heads, starts
        )
        heads = heads[:count].copy()
        tail_sums = (total - self.head_sum[heads]) >> 1
        return LayerIndex(total, int(size), base, heads, starts[:count].copy(), tail_sums)

    def ranking(self, layer: LayerIndex) -> Ranking:
        """The tables with which kernels rank boards of a layer."""
        return Ranking(self.shifts, self.part_tables, layer.head_base, self.tail_rank)

    def listing(self, layer: LayerIndex) -> Listing:
        """The tables with which kernels list boards of a layer."""
        return Listing(
            layer.heads, layer.starts, layer.tail_sums, self.head_key, self.head_max,
            self.tail_start, self.tail_key, self.tail_max,
        )  # fmt: skip

    def rank(self, layer: LayerIndex, keys: Array) -> Array:
        """Ranks of canonical boards of a layer; `keys` and the result are uint64 arrays."""
        ranks = np.empty(len(keys), dtype=np.uint64)
        kernels.rank_keys(keys, len(keys), self.ranking(layer), ranks)
        return ranks

    def checked_rank(self, layer: LayerIndex, keys: Array) -> Array:
        """Ranks of the ascending boards of a file, which must belong to the layer.

        Raises `CorruptError` if ranks are not ascending or too large: then boards are not canonical.
        """
        ranks = self.rank(layer, keys)
        if len(ranks) and (int(ranks[-1]) >= layer.size or (ranks[1:] <= ranks[:-1]).any()):
            raise CorruptError(f"a layer of sum {layer.total} holds boards that are not canonical")
        return ranks
