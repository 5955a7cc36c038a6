"""A game compiled to the arrays that the kernels take.

Permutations of cells become programs of masked rotations (see `_kernels.boards`), lines
become rows of permuted boards, short lines become tables.  Everything here is plain
Python run once a game; nothing is checked again in the kernels.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import boards as kernels
from tilebase.game.game import Cells, Game
from tilebase.game.symmetry import symmetries

Array = npt.NDArray[Any]
TABLE_BITS = 20
"""Lines of at most this many bits are slid by table."""


class Rules:
    """The arrays of one game.  Attributes are what the kernels' docstrings call them."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.bits = game.bits
        self.fold = np.uint64({4: 2, 3: 1, 2: 0}[game.bits])
        self.low_bits = self._low_bits()
        self.exponents = np.array(game.spawn_exponents, dtype=np.int64)
        self.group = symmetries(game)
        self.sym = _stack([self._program(step) for step in _short_path(self.group)])
        self.limited = len({game.tops[c] for c in range(game.cells) if c not in game.obstacles}) > 1
        self.limits = self._limits()
        self.patterns = self._patterns()
        self.axes = len(game.shape)
        self._build_axes()

    @property
    def order(self) -> int:
        """Number of symmetries."""
        return len(self.group)

    def _shift(self, cell: int) -> int:
        return self.bits * (self.game.cells - 1 - cell)

    def _low_bits(self) -> np.uint64:
        """The lowest bit of each cell that a tile can be spawned in."""
        return np.uint64(sum(1 << self._shift(c) for c in range(self.game.cells) if c not in self.game.walls))

    def _program(self, permutation: Cells) -> tuple[list[int], list[int]]:
        """Masks and left turns whose masked rotations move cell permutation[i] to cell i."""
        masks: dict[int, int] = {}
        for cell, source in enumerate(permutation):
            turn = (self._shift(cell) - self._shift(source)) % 64
            masks[turn] = masks.get(turn, 0) | self.game.x << self._shift(source)
        return list(masks.values()), list(masks)

    def _limits(self) -> Array:
        """What `_kernels.scalar.within` takes."""
        game, width = self.game, 2 * self.bits
        ceilings, guard, halves = [0, 0], 0, 0
        for field in range(32 // self.bits):
            guard |= 1 << field * width + self.bits
            halves |= game.x << field * width
        for cell in range(game.cells):
            place = game.cells - 1 - cell
            ceilings[place % 2] |= game.tops[cell] << place // 2 * width
        passing = int(self.low_bits) if game.unmergeable else 0
        numbers = [ceilings[0] | guard, ceilings[1] | guard, guard, halves, passing, int(self.fold)]
        return np.array(numbers, dtype=np.uint64)

    def _patterns(self) -> Array:
        """Masks and values: a board holds a pattern if its cells under the mask are the value."""
        found = np.zeros((len(self.game.patterns), 2), dtype=np.uint64)
        for k, pattern in enumerate(self.game.patterns):
            given = [(cell, exponent) for cell, exponent in enumerate(pattern) if exponent is not None]
            found[k, 0] = sum(self.game.x << self._shift(cell) for cell, _ in given)
            found[k, 1] = sum(exponent << self._shift(cell) for cell, exponent in given)
        return found

    # -- lines -------------------------------------------------------------------------------

    def _build_axes(self) -> None:
        game = self.game
        most = max(len(lines) for lines in game.lines.values())
        self.rules = np.zeros((3, 7), dtype=np.uint64)
        self.obstacles = np.zeros((3, most), dtype=np.uint64)
        there, back, needed, tables = [], [], [], []
        for axis, direction in enumerate(game.directions[::2]):
            lines = game.lines[direction]
            order = tuple(itertools.chain.from_iterable(lines))
            inverse = tuple(sorted(range(game.cells), key=order.__getitem__))
            there.append(self._program(order))
            back.append(self._program(inverse))
            identity = order == tuple(range(game.cells))
            needed.append(0 if identity else 1 | (order not in self.group) << 1)
            tables.append(self._fill_axis(axis, lines))
        tables += [tables[0]] * (3 - len(tables))
        self.tables = tuple(tables)
        self.moves = (*_stack(there), *_stack(back), np.array(needed, dtype=np.int64))

    def _fill_axis(self, axis: int, lines: tuple[Cells, ...]) -> Array:
        game = self.game
        cells, top = len(lines[0]), max(game.tops)
        x = game.x if game.unmergeable else 0
        goal = game.goal_exponent or 0
        for k, line in enumerate(reversed(lines)):
            self.obstacles[axis, k] = sum(1 << i for i, cell in enumerate(line) if cell in game.obstacles)
        by_table = cells * self.bits <= TABLE_BITS and not self.obstacles[axis].any()
        self.rules[axis] = len(lines), cells, by_table, self.bits, x, goal, top
        table = np.zeros(1 << cells * self.bits if by_table else 1, dtype=np.uint64)
        if by_table:
            values = np.array([cells, self.bits, x, goal, top], dtype=np.uint64)
            kernels.build_line_table(*values, table)
        return table

    def canonical(self, keys: Array) -> Array:
        """The canonical keys of an array of keys (uint64)."""
        out = keys.copy()
        spare = np.empty((2, len(out)), dtype=np.uint64)
        kernels.canonicalise(out, len(out), *self.sym, spare)
        return out


def _short_path(group: tuple[Cells, ...]) -> list[Cells]:
    """Permutations that lead from each element of the group to the next, cheap ones first.

    Applied one after the other to a board they give all its images.  The order is greedy in
    the number of distances that cells travel, which is the number of masked rotations.
    """

    def step(source: Cells, target: Cells) -> Cells:
        # The image under `target` holds b[target[i]] = image[j] where source[j] = target[i].
        where = {cell: j for j, cell in enumerate(source)}
        return tuple(where[cell] for cell in target)

    def cost(permutation: Cells) -> int:
        return len({cell - source for cell, source in enumerate(permutation)})

    steps, here, left = [], group[0], list(group[1:])
    while left:
        nearest = min(left, key=lambda target: cost(step(here, target)))
        steps.append(step(here, nearest))
        left.remove(nearest)
        here = nearest
    return steps


def _stack(programs: list[tuple[list[int], list[int]]]) -> tuple[Array, Array, Array]:
    """Programs as arrays ``masks[j, t], turns[j, t], terms[j]``, terms in groups of four."""
    longest = max((len(masks) for masks, _ in programs), default=0)
    width = (longest + 3) // 4 * 4
    masks = np.zeros((len(programs), width), dtype=np.uint64)
    turns = np.zeros((len(programs), width), dtype=np.uint64)
    terms = np.zeros(len(programs), dtype=np.int64)
    for j, (mask, turn) in enumerate(programs):
        masks[j, : len(mask)] = mask
        turns[j, : len(turn)] = turn
        terms[j] = len(mask)
    return masks, turns, terms
