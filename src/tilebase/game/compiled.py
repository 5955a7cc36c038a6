"""A game compiled to what the kernels take: `_kernels.arguments.BoardRules`.

Permutations of cells become a few operations.  Lines become rows of permuted boards.
Short lines become tables.  This is plain Python that runs once per game.  The kernels check nothing again.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tilebase._kernels import boards as kernels
from tilebase._kernels.arguments import (
    BY_BYTES,
    RECTANGLE,
    SQUARE,
    STEPWISE,
    Axes,
    BoardRules,
    Limits,
    Permutations,
)
from tilebase._kernels.packed import packed
from tilebase.game.game import Cells, Game
from tilebase.game.notation import Pattern
from tilebase.game.symmetry import symmetries

Array = npt.NDArray[Any]
MOST_ENTRIES = 1 << 20
"""Most entries of the tables of lines along one axis; longer lines are slid cell by cell."""
FOLDS = {BY_BYTES: kernels.fold_bytes, SQUARE: kernels.fold_square, RECTANGLE: kernels.fold_rectangle}
"""What makes all images of a board at once."""


class CompiledGame:
    """A game, its symmetries, and its rules for the kernels."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.group = symmetries(game)
        rules = BoardRules(
            bits=np.uint64(game.bits),
            fold=np.uint64({4: 2, 3: 1, 2: 0}[game.bits]),
            low_bits=self._low_bits(),
            exponents=np.array(game.spawn_exponents, dtype=np.int64),
            unmergeable=np.uint64(game.x_code),
            goal=np.uint64(self._made_goal),
            goal_sum=np.uint64(game.goal_sum or 0),
            horizon=np.uint64(game.horizon or 0),
            top=np.uint64(self._top),
            dimensions=len(game.shape),
            axes=self._axes(),
            limited=self._limited,
            limits=self._limits(),
            spots=self._spots(),
            patterns=self._patterns(),
            symmetries=permutations(game, short_path(self.group)),
            order=len(self.group),
            open_top=self._open_top,
        )
        self.rules = packed(rules)
        if (fold := FOLDS.get(rules.symmetries.way)) is not None:
            fold.want()
        if rules.axes.by_pair.any():
            kernels.slide_by_pair.want()
        if (rules.axes.by_table > rules.axes.by_pair).any():
            kernels.slide_by_table.want()
        if not rules.axes.by_table.all():
            kernels.slide_by_cell.want()
        if rules.limited:
            kernels.keep_within.want()
        if len(rules.patterns):
            kernels.keep_open.want()

    @property
    def _made_goal(self) -> int:
        """The exponent that wins by a flag of the slide; else it is one of `_spots`, which costs less.

        If merges can be forbidden, slides are flagged anyway.  A goal that a cell of a key cannot hold, as
        65,536 on 4x4, is on no packed board.  With masks, a merge alone does not win.
        """
        goal, bounds = self.game.goal_exponent or 0, self.game.bounds
        flagged = bounds.cuts_merges or goal > bounds.code
        return goal if flagged and not self.game.masks else 0

    @property
    def _top(self) -> int:
        """The largest exponent that a merge may make: the goal, too, unless it is flagged or out of reach."""
        top, goal = max(self.game.tops), self.game.goal_exponent
        return top + 1 if goal == top + 1 and not self._made_goal else top

    @property
    def _open_top(self) -> int:
        """The largest exponent with which two empty cells tell that play goes on; 0: rules may forbid slides.

        Two such tiles make less than the goal, so no slide wins; some tile slides into an empty cell; and a
        spawn leaves an empty cell for the next slide.
        """
        game = self.game
        forbids = game.limits is not None or game.walls or game.unmergeable
        if forbids or game.masks or game.patterns or game.goal_sum is not None:
            return 0
        return game.bounds.code if game.goal_exponent is None else game.goal_exponent - 2

    @property
    def _limited(self) -> bool:
        """Whether cells have different limits."""
        free = set(range(self.game.cells)) - set(self.game.walls) - self.game.held
        return len({self.game.tops[cell] for cell in free}) > 1

    def canonical(self, keys: Array) -> Array:
        """Return the canonical keys of an array of keys (uint64)."""
        out = keys.copy()
        images = np.empty((2, len(out)), dtype=np.uint64)
        kernels.canonicalise(out, len(out), self.rules.symmetries, images)
        return out

    def tops(self, keys: Array) -> Array:
        """Return the largest exponent on each of some boards, x aside (uint8); 0 on an empty board."""
        found = np.zeros(len(keys), dtype=np.uint8)
        code = np.uint64(self.game.x)
        for cell in range(self.game.cells):
            tiles = keys >> np.uint64(self._shift(cell)) & code
            if self.game.unmergeable:
                tiles[tiles == code] = 0
            np.maximum(found, tiles.astype(np.uint8), out=found)
        return found

    def _shift(self, cell: int) -> int:
        return self.game.bits * (self.game.cells - 1 - cell)

    def _low_bits(self) -> np.uint64:
        return np.uint64(sum(1 << self._shift(c) for c in range(self.game.cells) if c not in self.game.walls))

    def _limits(self) -> Limits:
        game, width = self.game, 2 * self.game.bits
        ceilings, guards, fields = [0, 0], 0, 0
        for field in range(32 // game.bits):
            guards |= 1 << field * width + game.bits
            fields |= game.x << field * width
        for cell in range(game.cells):
            position = game.cells - 1 - cell  # from the low end of the key
            ceilings[position % 2] |= game.tops[cell] << position // 2 * width
        passing = int(self._low_bits()) if game.unmergeable else 0
        return Limits(*map(np.uint64, (ceilings[0] | guards, ceilings[1] | guards, guards, fields, passing)))

    def _spots(self) -> Array:
        """For each tile that wins on some cells, the tile on every cell, and the lowest bits of these cells.

        They are patterns of one tile, if no limit can be broken; and the goal, unless it is flagged.
        """
        cells: dict[int, set[int]] = {}
        if self.game.goal_exponent and not self._made_goal:
            cells[self.game.goal_exponent] = set(range(self.game.cells))
        for pattern in self.game.patterns:
            for cell, exponent in self._single(pattern):
                cells.setdefault(exponent, set()).add(cell)
        ones = sum(1 << self._shift(cell) for cell in range(self.game.cells))
        found = [(ones * e, sum(1 << self._shift(cell) for cell in held)) for e, held in cells.items()]
        return np.array(found, dtype=np.uint64).reshape(len(found), 2)

    def _single(self, pattern: Pattern) -> list[tuple[int, int]]:
        """Return the cell and exponent of a pattern of one tile that `_spots` has; else nothing."""
        given = [(cell, exponent) for cell, exponent in enumerate(pattern) if exponent is not None]
        return given if len(given) == 1 and not self._limited else []

    def _patterns(self) -> Array:
        """Masks and values: a board holds a pattern if its cells under the mask are the value."""
        patterns = [pattern for pattern in self.game.patterns if not self._single(pattern)]
        found = np.zeros((len(patterns), 2), dtype=np.uint64)
        for k, pattern in enumerate(patterns):
            given = [(cell, exponent) for cell, exponent in enumerate(pattern) if exponent is not None]
            found[k, 0] = self.game.cell_bits(cell for cell, _ in given)
            found[k, 1] = sum(exponent << self._shift(cell) for cell, exponent in given)
        return found

    def _axes(self) -> Axes:
        game = self.game
        # Along each axis: its lines, the order of cells that makes them rows of a key, and back again.
        axes = [game.grid.lines[direction] for direction in game.directions[::2]]
        orders = [tuple(itertools.chain.from_iterable(lines)) for lines in axes]
        inverses = [tuple(sorted(range(game.cells), key=order.__getitem__)) for order in orders]
        most = max(map(len, axes))
        walls = np.zeros((len(axes), most), dtype=np.uint64)
        begins = np.zeros((len(axes), max(4, most)), dtype=np.uint64)  # of the tables of lines
        by_table, by_pair = np.zeros((2, len(axes)), dtype=np.uint8)
        # There are always three, so that kernels are compiled once for all shapes.
        tables = [np.zeros(1, dtype=np.uint64)] * 3
        pairs = [np.zeros(1, dtype=np.uint32)] * 3
        for a, lines in enumerate(axes):
            cells, line_bits = len(lines[0]), len(lines[0]) * game.bits
            walled = [
                sum(1 << i for i, cell in enumerate(line) if cell in game.walls) for line in reversed(lines)
            ]
            # Lines with walls on the same cells are of one kind and share a table, if it is short enough.
            kinds = list(dict.fromkeys(walled))
            walls[a, : len(lines)] = walled
            begins[a, : len(lines)] = [kinds.index(one) << line_bits for one in walled]
            if len(kinds) << line_bits > MOST_ENTRIES:
                continue
            by_table[a] = True
            rules = game.x_code, self._made_goal, self._top
            tables[a] = np.concatenate([_line_table(cells, game.bits, *rules, one) for one in kinds])
            # Tables with both slides of a short line in one entry, where no slide is flagged.
            if line_bits <= 16 and not (game.bounds.cuts_merges or self._made_goal):
                by_pair[a] = True
                pairs[a] = _pairs(tables[a], line_bits)
        # The masks of x on boards whose lines along an axis are rows.
        masks = [[game.cell_bits(order.index(c) for c in mask) for mask in game.masks] for order in orders]
        return Axes(
            lines=np.array([len(lines) for lines in axes], dtype=np.uint64),
            cells=np.array([len(lines[0]) for lines in axes], dtype=np.uint64),
            by_table=by_table,
            tables=(tables[0], tables[1], tables[2]),
            by_pair=by_pair,
            pairs=(pairs[0], pairs[1], pairs[2]),
            begins=begins,
            walls=walls,
            permuted=np.array([order != tuple(range(game.cells)) for order in orders], dtype=np.uint8),
            restored=np.array([order not in self.group for order in orders], dtype=np.uint8),
            masks=np.array(masks, dtype=np.uint64).reshape(len(orders), len(game.masks)),
            rows=permutations(game, orders),
            back=permutations(game, inverses),
        )


@lru_cache(maxsize=8)
def _line_table(cells: int, bits: int, *rules: int) -> Array:
    """Return the table of `_kernels.boards.build_line_table`.

    Often it is the same for both axes and both passes.
    """
    table = np.zeros(1 << cells * bits, dtype=np.uint64)
    kernels.build_line_table(*map(np.uint64, (cells, bits, *rules)), table)
    table.flags.writeable = False
    return table


def _pairs(table: Array, line_bits: int) -> Array:
    """Both slides of the entries of a table of lines of so many bits, at most 16."""
    low = np.uint64((1 << line_bits) - 1)
    return (table & low | (table >> kernels.RIGHT & low) << np.uint64(line_bits)).astype(np.uint32)


# -- permutations of cells -------------------------------------------------------------------------
#
# There are two ways to move the cells of a key.  Either each distance that cells travel is a *masked
# rotation* of the key, and the union of these is the result.  Or the key passes through *swaps*: a swap
# exchanges pairs of cells that are equally far apart, in six operations.  Reflections and transpositions
# need one or two swaps, where they would need three to seven rotations.


Swap: TypeAlias = tuple[int, frozenset[int]]
"""A distance in cells, and the cells that are exchanged with those so far behind them."""

SWAP_COST, TERM_COST, PADDED = 6, 5, 4
"""Operations of a swap and of a rotation, and the multiple to which rotations are filled up."""
MOST_CHOICES = 1 << 10
"""Most ways of dividing a permutation between two swaps that are tried."""
MOST_SWAPS = {SQUARE: (1, 1, 1, 2, 1, 1, 1), RECTANGLE: (1, 2, 1)}
"""Most swaps of each step, where one loop makes all images of a board: as on 3x3 and 2x2, and on 3x4."""


def permutations(game: Game, steps: Sequence[Cells]) -> Permutations:
    """Permutations as the kernels take them; each is a tuple of source cells."""
    found = [(swaps_of(step) or (), _rotations(game, step)) for step in steps]
    longest = max((max(len(swaps), len(masks)) for swaps, masks in found), default=0)
    width = max(-(-longest // PADDED) * PADDED, PADDED)
    counts = [len(swaps) for swaps, _ in found]
    result = Permutations(
        np.zeros((len(steps), width), dtype=np.uint64),
        np.zeros((len(steps), width), dtype=np.uint64),
        np.array([len(masks) for _, masks in found], dtype=np.int64),
        np.array(counts, dtype=np.int64),
        _way(game, counts),
    )
    for j, (swaps, masks) in enumerate(found):
        if not swaps:
            result.masks[j, : len(masks)] = list(masks.values())
            result.rotations[j, : len(masks)] = list(masks)
        for k, (distance, firsts) in enumerate(swaps):
            result.masks[j, k] = game.cell_bits(cell + distance for cell in firsts)
            result.rotations[j, k] = game.bits * distance
    return result


def _way(game: Game, swaps: Sequence[int]) -> int:
    """Return how to make all images of a board, if these are the swaps of the steps of a `short_path`."""
    if (game.shape, game.bits, len(swaps)) == ((4, 4), 4, 7):  # then the group has all eight symmetries
        return BY_BYTES
    for way, most in MOST_SWAPS.items():
        if len(swaps) == len(most) and all(0 < count <= top for count, top in zip(swaps, most, strict=True)):
            return way
    return STEPWISE


def short_path(group: Sequence[Cells]) -> list[Cells]:
    """Permutations that lead from each element of the group to the next, cheap ones first.

    Applied one after the other to a board, they make all its images.  The order is greedy: each step
    goes to the element that takes the fewest operations.
    """

    def step(source: Cells, target: Cells) -> Cells:
        # The image under `target` holds b[target[i]] = image[j] where source[j] = target[i].
        where = {cell: j for j, cell in enumerate(source)}
        return tuple(where[cell] for cell in target)

    steps, here, left = [], group[0], list(group[1:])
    while left:
        nearest = min(left, key=lambda target: cost(step(here, target)))
        steps.append(step(here, nearest))
        left.remove(nearest)
        here = nearest
    return steps


def cost(permutation: Cells) -> int:
    """Return how many operations a permutation takes."""
    swaps = swaps_of(permutation)
    return _term_cost(permutation) if swaps is None else SWAP_COST * len(swaps)


def _term_cost(permutation: Cells) -> int:
    terms = len({cell - source for cell, source in enumerate(permutation)})
    return TERM_COST * -(-terms // PADDED) * PADDED


@lru_cache(maxsize=256)
def swaps_of(permutation: Cells) -> tuple[Swap, ...] | None:
    """At most three swaps that make a permutation one after the other; None if rotations are cheaper.

    >>> [distance for distance, _ in swaps_of((0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15))]
    [3, 6]
    """
    travelled = {source - cell for cell, source in enumerate(permutation)} - {0}
    distances = sorted({abs(way) for way in travelled})
    if not distances:
        return None  # nothing moves, which no symmetry but the first does
    found = None
    if all(permutation[source] == cell for cell, source in enumerate(permutation)) and len(distances) <= 3:
        found = tuple(
            (d, frozenset(cell for cell, source in enumerate(permutation) if source - cell == d))
            for d in distances
        )
    if found is None or len(found) > 2:
        found = _two_swaps(permutation, distances) or found
    return found if found and SWAP_COST * len(found) <= _term_cost(permutation) else None


def _two_swaps(permutation: Cells, distances: list[int]) -> tuple[Swap, ...] | None:
    """Two swaps at different distances that make a permutation, or None."""
    cells = len(permutation)
    target = {source: cell for cell, source in enumerate(permutation)}
    for first, second in itertools.permutations(range(1, distances[-1] + 1), 2):
        if not {0, first, second, first + second, abs(first - second)}.issuperset(distances):
            continue
        ways = [
            [e for e in (0, first, -first) if abs(target[cell] - cell - e) in (0, second)]
            for cell in range(cells)
        ]
        if not all(ways) or np.prod([float(len(way)) for way in ways]) > MOST_CHOICES:
            continue
        for chosen in itertools.product(*ways):
            middle = [cell + e for cell, e in enumerate(chosen)]
            if sorted(middle) != list(range(cells)):
                continue
            after = [0] * cells
            for cell, there in enumerate(middle):
                after[there] = target[cell] - there
            pair = _swap(first, chosen), _swap(second, after)
            if pair[0] and pair[1]:
                return pair[0], pair[1]
    return None


def _swap(distance: int, ways: Sequence[int]) -> Swap | None:
    """Return the swap that moves cell c by ``ways[c]``; None if this is not one."""
    firsts = {cell for cell, way in enumerate(ways) if way == distance}
    if {cell + distance for cell in firsts} != {cell for cell, way in enumerate(ways) if way == -distance}:
        return None
    return distance, frozenset(firsts)


def _rotations(game: Game, permutation: Cells) -> dict[int, int]:
    """Return the masks by left rotation whose union moves cell permutation[i] to cell i."""
    masks: dict[int, int] = {}
    for cell, source in enumerate(permutation):
        rotation = game.bits * (source - cell) % 64
        masks[rotation] = masks.get(rotation, 0) | game.cell_bits([source])
    return masks
