"""The perfect index: all boards of one sum within the limits, ranked without gaps.

The board is divided into four parts along its two largest directions:

    A | B        A and B together are the top half, A and C the left half;
    --+--        boards of one row have no C and D
    C | D

A filling of a part has a sum and, among the fillings with that sum, a position in key order.  A layer
is sorted by these numbers, in this order:

    sum of the top half, sum of the left half, sum of A,
    position of A, position of B, position of C, position of D

If the three sums are known, the four positions are the digits of a number:

    rank = offset[sum of A, sum of B, sum of C] + ((A |B| + B) |C| + C) |D| + D

where |X| is the number of fillings of X with its sum.  So ranking and unranking need four small look-ups
and one offset, for any limits.

The order is chosen for the dense passes.  A slide along rows keeps the sum of the top half, and a slide
along columns keeps that of the left half.  A spawn adds to one or both of them.  So all boards that a
slide or spawn needs are in a few contiguous blocks (`tilebase.dense.passes`).  Boards that differ only
in D have neighbouring ranks, and slides and spawns change their other parts in the same way.  So most of
a pass runs along arrays.

Unmergeable tiles that move count for more than all other tiles together: what is called a sum here has
this weight for each of them.  So only parts that together have the right number of them make a board, and
slides and spawns keep this number.  If the game has a mask, its cells always hold an x.  A game has one at
most: with several, parts would fit together that have their x as in different ones.

Where one tile on some cell is enough to win (a pattern of one tile), no board with it needs to be worked out:
with `open_only` the index leaves these boards out.

The layer sizes are those of Slizkov's table I[cells][sum] (arXiv:2303.07266, algorithm 1); the
index is another one: his takes a step for each cell and tile.

Not promised: tables of a part grow with the product of what its cells may hold; `PerfectIndex`
refuses games whose parts have more than 2**24 fillings.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from operator import index
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.counting.combinatorics import boards_by_sum, convolved, fillings_by_sum
from tilebase.errors import BoardError, ResourceError, UsageError
from tilebase.game.game import Cells, Game, check_is_game
from tilebase.game.notation import Pattern
from tilebase.game.symmetry import symmetries

LOG = logging.getLogger(__name__)
Array = npt.NDArray[Any]
MOST_FILLINGS = 1 << 24
"""Fillings of one part."""
CACHED_LAYERS = 8
"""Layers whose offsets are kept for ranking single boards."""
MOST_BLOCKS = 1 << 26
"""Most combinations of sums of three parts."""
MANY_BLOCKS = 1 << 22
"""So many, and more, take seconds."""
BLOCK_BYTES = 200
"""Most bytes per block while the tables are made."""
NO_SPOTS: Mapping[int, frozenset[int]] = MappingProxyType({})
"""No tile wins by itself."""
NO_FILLING = 0xFFFF_FFFF
"""Stands for a filling that no board has: by its sum, or where its x are."""


class Part:
    """The fillings of some cells, by sum and then by key.

    Attributes
    ----------
    cells:
        The cells, ascending.
    codes:
        The codes that each cell may hold: exponents, and the code of an unmergeable tile.
    won:
        For each cell, the codes that are left out, since a board with one is won.
    fillings:
        uint8[n, cells]: the fillings, ordered by sum, then as tuples.
    sums:
        int64[k]: sum // 2 for each sum that occurs, ascending; the index k is the *class* of the sum.  Each x
        that moves adds `weight`.
    starts:
        int64[k + 1]: where the fillings of each class begin.
    counts:
        int64[k]: how many fillings each class has.
    class_of:
        int32[...]: the class by sum // 2; -1 if there is none.
    """

    def __init__(
        self,
        game: Game,
        cells: Cells,
        weight: int = 0,
        spots: Mapping[int, frozenset[int]] = NO_SPOTS,
        most: int | None = None,
    ) -> None:
        self.game, self.cells = game, cells
        self.won = tuple(spots.get(cell, frozenset()) for cell in cells)
        self.codes = tuple(
            tuple(code for code in game.codes(cell) if code not in won)
            for cell, won in zip(cells, self.won, strict=True)
        )
        self.radix = tuple(len(codes) for codes in self.codes)
        count = prod(self.radix)
        if count > MOST_FILLINGS:
            raise ResourceError(
                f"all boards of {game} are too many for a pass over them: a quarter of the board can be "
                f"filled in {count:,} ways, and at most {MOST_FILLINGS:,} can be handled; "
                "give lower limits on cells"
            )
        grid = np.indices(self.radix, dtype=np.uint8).reshape(len(cells), count)
        contents = np.empty_like(grid)  # contents[i, k]: the code on the i-th cell of filling k
        units = np.zeros(count, dtype=np.int64)  # sum // 2 of each filling
        for i, codes in enumerate(self.codes):
            contents[i] = np.array(codes, dtype=np.uint8)[grid[i]]
            moves = weight if cells[i] not in game.held else 0
            worth = [moves if game.is_x(code) else game.sum((code,)) >> 1 for code in codes]
            units += np.array(worth, dtype=np.int64)[grid[i]]
        # Fillings in the order of their sums; those of one sum stay in key order.
        possible = self._possible(contents) if weight else np.ones(count, dtype=bool)
        if most is not None:
            possible &= units <= most
        order = np.flatnonzero(possible)
        order = order[np.argsort(units[order], kind="stable")]
        self.fillings = np.ascontiguousarray(contents[:, order].T)
        self.units = units[order]
        by_sum = np.bincount(self.units)
        self.sums = np.flatnonzero(by_sum).astype(np.int64)
        self.counts = by_sum[self.sums].astype(np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)
        self.class_of = np.full(len(by_sum), -1, dtype=np.int32)
        self.class_of[self.sums] = np.arange(len(self.sums), dtype=np.int32)
        # index_of[code]: the filling whose digits make this number, the first cell the highest.
        self.index_of = np.full(count, NO_FILLING, dtype=np.uint32)
        self.index_of[order] = np.arange(len(order), dtype=np.uint32)

    def _possible(self, contents: Array) -> Array:
        """Return which fillings have their x where a board may have them."""
        bits = np.zeros(contents.shape[1], dtype=np.int64)
        for i, codes in enumerate(contents):
            bits |= (codes == self.game.x).astype(np.int64) << i
        sets = self.game.x_placements(self.cells)
        return np.isin(bits, [sum(1 << self.cells.index(cell) for cell in x) for x in sets])

    def __len__(self) -> int:
        return len(self.fillings)

    def position(self, board: Sequence[int]) -> tuple[int, int]:
        """Return the class of this part of a board, and its position in the class.  Raises `BoardError`."""
        code = 0
        for cell, codes, radix in zip(self.cells, self.codes, self.radix, strict=True):
            if board[cell] not in codes:
                raise BoardError(f"{self.game.format(board)} breaks a limit of {self.game}")
            code = code * radix + codes.index(board[cell])
        filling = int(self.index_of[code])
        if filling == NO_FILLING:
            raise BoardError(f"{self.game.format(board)} has a sum or x that no board of {self.game} has")
        its_class = int(self.class_of[self.units[filling]])
        return its_class, filling - int(self.starts[its_class])


@dataclass(frozen=True)
class LayerMap:
    """Where the blocks of a layer, or of a part of it, begin.

    Attributes
    ----------
    units:
        The sum // 2, with the weights of the x that move.
    offsets:
        int64[a, b, c]: rank of the first board whose parts A, B, C have these classes; -1 if there is none.
    size:
        The number of boards.
    """

    units: int
    offsets: Array
    size: int


class PerfectIndex:
    """Ranks of the boards of a game within its limits.

    Boards that hold the goal have none.  Boards have as many unmergeable tiles as the game says.

    Parameters
    ----------
    open_only:
        Whether boards have none on which a tile wins by itself, wherever the others are.

    Raises
    ------
    UsageError
        If the game has several masks.
    ResourceError
        If the limits allow more than 2**24 fillings of a quarter of the board, or the tables take more
        than `most_bytes`: the game of a table that somebody else made may be any.

    >>> index = PerfectIndex(Game("2x2", 32))
    >>> index.unrank(8, index.rank((1, 1, 0, 2)))
    (1, 1, 0, 2)
    """

    def __init__(
        self,
        game: Game,
        most_bytes: int | None = None,
        *,
        cells: tuple[Cells, Cells, Cells, Cells] | None = None,
        open_only: bool = False,
    ) -> None:
        check_is_game(game)
        check_masks(game)
        self.game = game
        self.spots = _spots(game) if open_only else NO_SPOTS
        self.axes, cut = cut_into_parts(game)
        cells = cells or cut
        movable = len(game.unmergeable) - len(game.held)
        # More than all tiles together, and the spawn of a 4.
        self._weight = 3 + sum(2**top for top in game.tops if top) // 2 if movable else 0
        self._offset = movable * self._weight
        self.parts = tuple(Part(game, part, self._weight, self.spots, self.most_units) for part in cells)
        a, b, c, _ = self.parts
        shape = (len(a.sums), len(b.sums), len(c.sums))
        if prod(shape) > MOST_BLOCKS:
            raise ResourceError(
                f"all boards of {game} are too many for a pass over them: their quarters can have "
                f"{prod(shape):,} combinations of sums, and at most {MOST_BLOCKS:,} can be handled; "
                "give lower limits on cells"
            )
        needed = BLOCK_BYTES * prod(shape)
        if most_bytes is not None and needed > most_bytes:
            raise ResourceError(
                f"the perfect index of {game} takes {needed / 2**30:.1f} GiB, "
                f"and at most {most_bytes / 2**30:.1f} GiB are taken for it"
            )
        self.block_count, self._shape = prod(shape), shape
        # How many fillings of D have half a sum, from where A, B and C have more than the board may.
        d, most = self.parts[3], sum(int(part.sums[-1]) for part in (a, b, c))
        self._below = most
        self._fillings = np.zeros(2 * most + len(d.class_of), dtype=np.int64)
        self._fillings[most + d.sums] = d.counts
        self._layer_of = lru_cache(maxsize=CACHED_LAYERS)(self.layer)

    def __repr__(self) -> str:
        return f"<PerfectIndex of {self.game}>"

    @property
    def nbytes(self) -> int:
        """Bytes of its tables, and of the offsets of the layers that a pass has at once."""
        return sum(part.fillings.nbytes + 12 * len(part) for part in self.parts) + 90 * self.block_count

    @cached_property
    def mirrors(self) -> tuple[bool, bool]:
        """Whether the game keeps the mirror images that exchange top and bottom, left and right half."""
        a, b, c, d = (part.cells for part in self.parts)
        up_down, left_right = (
            tuple(self._image(axis, range(self.game.cells))) in symmetries(self.game)
            and all({*self._image(axis, one)} == {*other} for one, other in pairs)
            for axis, pairs in zip(self.axes, (((a, c), (b, d)), ((a, b), (c, d))), strict=True)
        )
        return up_down, left_right

    def mirrored(self) -> PerfectIndex:
        """Return the index whose parts have their cells, and so their fillings, in the order of their images.

        Its ranks are others.
        """
        (rows, columns), (up_down, left_right) = self.axes, self.mirrors
        a, b, c, d = (part.cells for part in self.parts)
        if left_right:
            b, d = self._image(columns, a), self._image(columns, c)
        if up_down:
            c, d = self._image(rows, a), self._image(rows, b)
        return PerfectIndex(self.game, cells=(a, b, c, d), open_only=bool(self.spots))

    @property
    def patterns(self) -> list[Pattern]:
        """The patterns of the game that a board with a rank can hold."""

        def alone(pattern: Pattern) -> bool:
            return any(e in self.spots.get(cell, ()) for cell, e in enumerate(pattern))

        return [pattern for pattern in self.game.patterns if not alone(pattern)]

    def _image(self, axis: int, cells: Sequence[int]) -> Cells:
        """Return where a reflection of an axis puts cells."""
        flipped = np.flip(np.arange(self.game.cells).reshape(self.game.shape), axis).ravel()
        return tuple(flipped[list(cells)].tolist())

    # -- blocks in the order of ranks, which plans do without -------------------------------------

    def _block_sums(self, *parts: int) -> Array:
        """Return the sum of some parts of each block, in the order of classes; 0 to 2 are A, B and C."""
        axes = (self.parts[p].sums.reshape([-1 if p == axis else 1 for axis in range(3)]) for p in parts)
        return np.broadcast_to(sum(axes), self._shape).ravel()

    @cached_property
    def order(self) -> Array:
        """The blocks in the order of ranks: by the sums of the top half, of the left half, of A."""
        if self.block_count >= MANY_BLOCKS:
            text = "%s has %d blocks of boards: listing them takes some seconds"
            LOG.info(text, self.game, self.block_count)
        return np.lexsort((self._block_sums(0), self._block_sums(0, 2), self._block_sums(0, 1)))

    @cached_property
    def top(self) -> Array:
        """The sum of the top half of each block, in the order of ranks."""
        return self._block_sums(0, 1)[self.order]

    @cached_property
    def left(self) -> Array:
        """The sum of the left half of each block, in the order of ranks."""
        return self._block_sums(0, 2)[self.order]

    @cached_property
    def _three(self) -> Array:
        """The sum of A, B and C of each block, in the order of ranks."""
        return self._block_sums(0, 1, 2)[self.order].astype(np.int32)

    @cached_property
    def _boards(self) -> Array:
        """How many fillings A, B and C of each block have together, in the order of ranks."""
        a, b, c = (part.counts for part in self.parts[:3])
        return (a[:, None, None] * b[:, None] * c).ravel()[self.order]

    def sizes(self, *, won: bool = False) -> dict[int, int]:
        """Return the number of boards of each sum, ascending; sums without a board are left out.

        With `won` also of sums that win, as far as spawns lead from others.
        """
        furthest = 2 ** max(self.game.spawn_exponents) if won else 0
        most = self.game.largest_sum if self.game.horizon is not None else None
        return {
            total: size
            for total, size in self._by_sum().items()
            if not self.game.reached(total - furthest) and (most is None or total <= most)
        }

    @cached_property
    def left_out(self) -> dict[int, int]:
        """How many boards of each sum it leaves out, which are won."""
        if not self.spots:
            return {}
        sizes = self.sizes()
        left = {total: count - sizes.get(total, 0) for total, count in boards_by_sum(self.game).items()}
        return {total: count for total, count in left.items() if count}

    def _by_sum(self) -> dict[int, int]:
        """Return the number of boards of each sum, those included that win."""
        if not self.spots:
            return fillings_by_sum(self.game)
        # found[k]: ways to fill the parts so far with k tiles x, by the sum // 2 of the others.
        found = {0: np.ones(1, dtype=np.uint64)}
        for part in self.parts:
            joined: dict[int, Any] = {}
            for (k, ways), (more, other) in itertools.product(found.items(), self._by_x(part)):
                joined[k + more] = joined.get(k + more, 0) + convolved(ways, other)
            found = joined
        ways = found[self._offset // self._weight if self._weight else 0]
        return {2 * half: int(count) for half, count in enumerate(ways) if count}

    def _by_x(self, part: Part) -> Iterator[tuple[int, Array]]:
        """For each number of x in a part, how many of its fillings have each sum // 2 without them.

        The arrays are equally long.
        """
        number, rest = np.divmod(part.sums, self._weight or int(part.sums[-1]) + 1)
        for k in np.unique(number):
            ways = np.zeros(int(rest.max()) + 1, dtype=np.uint64)
            ways[rest[number == k]] = part.counts[number == k]
            yield int(k), ways

    def units(self, total: int) -> int:
        """Return a sum as kernels count it: in units of 2, with the weights of the x that move."""
        return total // 2 + self._offset

    @property
    def most_units(self) -> int | None:
        """The largest of them that spawns lead to below a horizon or goal sum; None without these."""
        ends = [end for end in (self.game.horizon, self.game.goal_sum) if end is not None]
        return self.units(min(ends) - 2 + 2 ** max(self.game.spawn_exponents)) if ends else None

    def layer(self, total: int, keep: Array | None = None) -> LayerMap:
        """Return the blocks of one sum; with `keep`, a mask of blocks in order, only those, ranked from 0."""
        sizes = self.block_sizes(total)
        if keep is not None:
            sizes *= keep
        begins = np.cumsum(sizes)
        size = int(begins[-1])
        begins -= sizes
        begins[sizes == 0] = -1
        offsets = np.empty_like(begins)
        offsets[self.order] = begins
        return LayerMap(self.units(total), offsets.reshape(self._shape), size)

    def blocks(self, layer: LayerMap) -> tuple[Array, Array]:
        """The blocks of a layer in the order of ranks: the classes of their parts, and their first ranks.

        int64[n, p] is the class of the p-th part in block n; int64[n] is the first rank of block n.
        """
        offsets = layer.offsets.ravel()[self.order]
        there = np.flatnonzero(offsets >= 0)
        classes = np.unravel_index(self.order[there], self._shape)
        last = self.parts[3].class_of[layer.units - self._three[there]]
        return np.stack([*classes, last], axis=1).astype(np.int64), offsets[there]

    def block_sizes(self, total: int) -> Array:
        """Return the boards in each block of a sum, in the order of ranks."""
        sizes = self.last_counts(total, self._three)
        sizes *= self._boards
        return sizes

    def last_counts(self, total: int, three: Array) -> Array:
        """Return how many fillings D has on boards of a sum, whose other parts have sums as in an array."""
        first = self.units(total) + self._below
        other = self._weight and total >> 1 >= self._weight  # so much is worth another x
        if total < 0 or total % 2 or first >= len(self._fillings) or other:
            return np.zeros(three.shape, dtype=np.int64)
        return self._fillings[first - three]

    @cached_property
    def by_halves(self) -> BlockSums:
        """The boards of layers by the sums of two halves."""
        return BlockSums(self)

    def rank(self, board: Sequence[int]) -> int:
        """Return the rank of a board among those of its sum.

        Raises `BoardError` if it breaks a limit or its x are on wrong cells.
        """
        board = self.game.cells_of(board)
        classes, positions = zip(*(part.position(board) for part in self.parts), strict=True)
        offset = int(self._layer_of(self.game.sum(board)).offsets[classes[:3]])
        if board.count(self.game.x) != len(self.game.unmergeable) and self.game.unmergeable:
            raise BoardError(f"{self.game.format(board)} has not as many x as {self.game}")
        rank = 0
        for part, its_class, position in zip(self.parts, classes, positions, strict=True):
            rank = rank * int(part.counts[its_class]) + position
        return offset + rank

    def unrank(self, total: int, rank: int) -> Cells:
        """Return the board of a sum and a rank.  Raises `UsageError` if the layer has no such rank."""
        try:
            total, rank = index(total), index(rank)
        except TypeError as error:
            raise UsageError("the sum and the rank must be whole numbers") from error
        layer = self._layer_of(total)
        if not 0 <= rank < layer.size:
            raise UsageError(
                f"rank {rank} is not in the layer of sum {total}: {self.game} has {layer.size} there"
            )
        classes, starts = self.blocks(layer)
        block = int(np.searchsorted(starts, rank, side="right")) - 1
        rank -= int(starts[block])
        board = [0] * self.game.cells
        for part, its_class in zip(self.parts[::-1], classes[block, ::-1], strict=True):
            rank, position = divmod(rank, int(part.counts[its_class]))
            for cell, code in zip(part.cells, part.fillings[part.starts[its_class] + position], strict=True):
                board[cell] = int(code)
        return tuple(board)

    def boards(self, total: int) -> Iterator[Cells]:
        """Return the boards of a sum in the order of their ranks."""
        return (self.unrank(total, rank) for rank in range(self.layer(total).size))


class BlockSums:
    """The boards of layers by the sums of the top half and of the left half.

    Attributes
    ----------
    tops, lefts:
        int64[...]: the sums that the top half and the left half can have, ascending.
    """

    def __init__(self, index: PerfectIndex) -> None:
        self._index = index
        a, b, c, _ = index.parts
        self.tops, self.lefts = (np.unique(a.sums[:, None] + part.sums) for part in (b, c))
        # Of each class of B and each of C: the sum of both, and their fillings.
        self._sums, self._counts = b.sums[:, None] + c.sums, b.counts[:, None] * c.counts
        self.boards = lru_cache(maxsize=4)(self._boards)

    def _boards(self, total: int) -> Array:
        """int64[top, left]: the boards of a sum."""
        a, b, c, _ = self._index.parts
        found: Array = np.zeros((len(self.tops), len(self.lefts)), dtype=np.int64)
        for units, count in zip(a.sums, a.counts, strict=True):
            rows = np.searchsorted(self.tops, units + b.sums)
            columns = np.searchsorted(self.lefts, units + c.sums)
            sizes = self._index.last_counts(total, units + self._sums)
            sizes *= self._counts
            sizes *= count
            found[np.ix_(rows, columns)] += sizes
        return found


def check_masks(game: Game) -> None:
    """Raise `UsageError` if a game has several masks."""
    if len(game.masks) > 1:
        raise UsageError(
            f"all boards are ranked with one mask at most, and here are {len(game.masks)}: ask for the "
            "reachable ones, with --space reachable, or --engine reachable"
        )


def _spots(game: Game) -> dict[int, frozenset[int]]:
    """Return for some cells the exponents with which a slide wins that brings such a tile there.

    They are patterns of one tile.  None, if slides can break limits: then a pattern alone does not win.
    """
    found: dict[int, frozenset[int]] = {}
    allowed = {top for cell, top in enumerate(game.bounds.allowed) if cell not in game.walls}
    held = {*game.spawn_exponents, *(e for board, _ in game.starts() for e in board)}
    if game.unmergeable or allowed != {game.bounds.anywhere}:
        return found
    for pattern in game.patterns:
        (cell, exponent), *others = [(cell, e) for cell, e in enumerate(pattern) if e is not None]
        # States hold what starts and spawns bring, although afterstates with it are won.
        if not others and exponent not in held:
            found[cell] = found.get(cell, frozenset()) | {exponent}
    return found


def cut_into_parts(game: Game) -> tuple[tuple[int, int], tuple[Cells, Cells, Cells, Cells]]:
    """Return the two axes that are divided, and the cells of A, B, C, D.

    Of all ways to cut, this chooses the one with the fewest fillings of half boards, since the tables
    of half boards take most of the memory of a pass.  In a game with a mask,
    D is the part with the most fillings, and C the next, since a pass runs along these.
    """
    ways = {cell: len(game.codes(cell)) for cell in range(game.cells)}

    def fillings(cells: Cells) -> int:
        return prod(ways[cell] for cell in cells)

    cuts = []
    for axes in itertools.combinations(range(len(game.shape)), 2):
        for row, column in itertools.product(
            *({game.shape[axis] // 2, -(-game.shape[axis] // 2)} for axis in axes)
        ):
            a, b, c, d = parts = _parts(game, axes, row, column)
            cost = max(fillings(half) for half in (a + b, c + d, a + c, b + d)), row, column
            cuts.append((cost, axes, parts))
    _, (rows, columns), (a, b, c, d) = min(cuts, key=lambda cut: cut[0])
    if not game.masks:
        return (rows, columns), (a, b, c, d)
    mirrored = [(a, b, c, d), (b, a, d, c), (c, d, a, b), (d, c, b, a)]
    orders = [((rows, columns), order) for order in mirrored]
    orders += [((columns, rows), (a, c, b, d)) for a, b, c, d in mirrored]
    return max(orders, key=lambda order: [fillings(part) for part in order[1][::-1]])


def _parts(game: Game, axes: tuple[int, int], row: int, column: int) -> tuple[Cells, Cells, Cells, Cells]:
    """Return the cells of A, B, C and D for one way to cut."""
    parts: tuple[list[int], ...] = ([], [], [], [])
    for cell, at in enumerate(itertools.product(*map(range, game.shape))):
        parts[2 * (at[axes[0]] >= row) + (at[axes[1]] >= column)].append(cell)
    a, b, c, d = (tuple(part) for part in parts)
    return a, b, c, d
