"""Sweep lines in bits, for the largest tiles below the goal: lines (k, l) where two tiles k make the goal.

A sweep line (k, l) has the boards with l tiles of exponent k and none above (`bdd.strategies`).  If k is one
below the goal, a board with two neighbouring tiles k is won: the next slide merges them, and no spawn comes
between.  What is left are boards whose tiles k stand on *independent* cells, no two of them neighbours: 114
placements for six tiles on 4x4, 20 for seven, 2 for eight, and none for more.  So few placements are stored
as matrices of bits, one of each orbit under the symmetries that map halves of the board to halves, and
nothing is iterated: layer by layer, the largest sum first, for all lines at once, since a slide can lead from
one line to a smaller one with more tiles k.

    for each sum s, downwards:                                             in `_kernels.sweep`
        states[s+2], [s+4]  --fold--> afterstates[s], by the top halves    `_kernels.bits.fold_spawns`
        afterstates[s] by the bottom, left and right halves                turn, transpose_layer
        afterstates[s]  --rows--> states[s], --columns--> states[s]        slide_sweep, join_sweep

The boards with neighbouring tiles k are counted by formula.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import combinations, combinations_with_replacement, product
from threading import Event
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tilebase._kernels import bits
from tilebase._kernels import dense as dense_kernels
from tilebase._kernels import sweep as kernels
from tilebase.dense.index import Part, cut_into_parts
from tilebase.dense.sizes import Matrices
from tilebase.dense.tables import _first_halves, classes_of, free_cells, kernel_part, spawns
from tilebase.game.game import Cells, Game, merge_line
from tilebase.game.symmetry import symmetries
from tilebase.runtime.threads import Pool, drain

Array = npt.NDArray[Any]
Task = Callable[[Array, Any], None]
"""Does matrices of a step, given by the sums of their outer halves, with the scratch buffers of a thread."""
Placement = frozenset[int]
"""The cells that hold a tile of exponent k."""
WORD = np.dtype(np.uint64)
TOP, BOTTOM, LEFT, RIGHT = range(4)
PARTS = ((0, 1), (2, 3), (0, 2), (1, 3))
"""The quarters of the top, the bottom, the left and the right half."""
ACROSS = (BOTTOM, TOP, RIGHT, LEFT)
"""The other half of the board."""


class Won(NamedTuple):
    """What is won of a sweep line: states, states with a tile that can have been spawned, afterstates."""

    states: int
    fresh: int
    afterstates: int


class Placed(NamedTuple):
    """What parts of boards need of a game: all exponents below k, but k on some cells."""

    k: int
    held: Placement
    walls: frozenset[int] = frozenset()

    def codes(self, cell: int) -> tuple[int, ...]:
        return (self.k,) if cell in self.held else tuple(range(self.k))

    def is_x(self, code: int) -> bool:
        return code == self.k

    def sum(self, cells: Cells) -> int:
        return sum(2**code for code in cells if code)


class Quarter:
    """The fillings of a quarter with tiles k on some cells: `part`, and what kernels take of it."""

    def __init__(self, k: int, cells: Cells, held: Placement, exponents: tuple[int, ...]) -> None:
        placed: Any = Placed(k, held)
        self.part = part = Part(placed, cells)
        self.arrays = kernel_part(part, np.zeros(len(part), np.uint64), free_cells(placed, part))
        self.spawns = {e: spawns(placed, part, e) for e in exponents}
        self.classes = classes_of(part).astype(np.int64)
        self.positions = np.arange(len(part)) - part.starts[self.classes]

    def fillings(self, cells: dict[int, Array]) -> Array:
        """Return the number of the filling of some boards, given by cell."""
        number = np.zeros(len(next(iter(cells.values()))), dtype=np.int64)
        for cell, radix in zip(self.part.cells, self.part.radix, strict=True):
            number = number * radix + (cells[cell] if radix > 1 else 0)
        found: Array = self.part.index_of[number]
        return found


class HalfBoards:
    """The half boards of two quarters, in the order of `_kernels.dense.Half`, without slides."""

    def __init__(self, first: Quarter, second: Quarter) -> None:
        self.first, self.second = first, second
        one, other = first.part, second.part
        sums = (one.sums[:, None] + other.sums).ravel()
        self.counts = np.zeros(int(sums.max()) + 1, dtype=np.int64)
        np.add.at(self.counts, sums, (one.counts[:, None] * other.counts).ravel())
        self.begins = np.concatenate([[0], np.cumsum(self.counts)])
        nothing = np.zeros((0, 0), np.uint64)
        self.arrays = dense_kernels.Half(
            first.arrays, second.arrays, _first_halves(one, other), self.begins,
            nothing, np.zeros((0, 0), np.int32), nothing,
        )  # fmt: skip

    def numbers(self, one: Array, other: Array) -> Array:
        """Return the numbers of the half boards of two arrays of fillings, which are broadcast."""
        a, b = self.first.classes[one], self.second.classes[other]
        found: Array = self.arrays.firsts[a, b] + self.second.part.counts[b] * self.first.positions[one]
        return found + self.second.positions[other]

    def ranks(self, cells: dict[int, Array]) -> Array:
        """Return the row or column of some boards in the matrices of their sum, given by cell."""
        one, other = self.first.fillings(cells), self.second.fillings(cells)
        units = self.first.part.units[one] + self.second.part.units[other]
        found: Array = self.numbers(one, other) - self.begins[units]
        return found

    def cells(self) -> dict[int, Array]:
        """Return what each cell holds, of all half boards in their order."""
        one, other = np.indices((len(self.first.part), len(self.second.part))).reshape(2, -1)
        order = np.empty_like(one)
        order[self.numbers(one, other)] = np.arange(len(order))
        found = {}
        for quarter, filling in ((self.first, one[order]), (self.second, other[order])):
            for i, cell in enumerate(quarter.part.cells):
                found[cell] = quarter.part.fillings[filling, i]
        return found


class HalfSlides:
    """Where the slides of a half lead, with tiles k on some cells.

    Attributes
    ----------
    after:
        For each slide the placements of this half after it; None, the first, stands for won boards.
    """

    def __init__(self, rules: SweepRules, half: int, held: Placement, directions: list[str]) -> None:
        self._rules, self.half, self.held, self._directions = rules, half, held, directions
        self.boards = rules.half(half, held)
        self._before = self.boards.cells()
        self._images: dict[tuple[int, Cells], tuple[int, set[int]]] = {}
        self.after: list[list[Placement | None]] = []
        to = []
        for direction in directions:
            cells, won, moved = rules.slide(self._before, direction)
            bits_of = sum((cells[cell] == rules.k).astype(np.int64) << i for i, cell in enumerate(cells))
            found, slots = np.unique(bits_of, return_inverse=True)
            placements = [frozenset(c for i, c in enumerate(cells) if number >> i & 1) for number in found]
            placed: list[Placement | None] = [None]
            slot_of = []
            for placement in placements:
                independent = rules.is_independent(placement)
                slot_of.append(len(placed) if independent else 0)
                placed += [placement] if independent else []
            self.after.append(placed)
            to.append(np.where(won, 0, np.array(slot_of)[slots.ravel()]) + kernels.MOVES * moved)
        self._to = np.array(to, dtype=np.uint8)

    def image(self, d: int, slot: int, symmetry: Cells) -> int:
        """Return the row of `Slides.at` for what slide d makes, as a symmetry maps it."""
        row, slots = self._images.setdefault((d, symmetry), (len(self._images), set()))
        slots.add(slot)
        return row

    @cached_property
    def arrays(self) -> kernels.Slides:
        """What kernels take of it; to be used when all images are known."""
        rules, before = self._rules, self._before
        at = np.zeros((max(1, len(self._images)), int(self.boards.begins[-1])), dtype=np.uint32)
        for d, direction in enumerate(self._directions):
            cells, _, _ = rules.slide(before, direction)
            for (other, symmetry), (row, slots) in self._images.items():
                for slot in slots if other == d else ():
                    placement = self.after[d][slot]
                    assert placement is not None
                    there = np.flatnonzero(self._to[d] & (kernels.MOVES - 1) == slot)
                    # A symmetry maps a board to the one whose cell i holds what was on cell symmetry[i].
                    image = {i: cells[source][there] for i, source in enumerate(symmetry) if source in cells}
                    held = frozenset(i for i, source in enumerate(symmetry) if source in placement)
                    at[row, there] = rules.half(rules.half_of(image), held).ranks(image)
        values = np.array([before[cell] for cell in before if cell not in self.held], dtype=np.uint8)
        values = values.reshape(-1, at.shape[1])
        lower = np.array([(values < e).sum(axis=0) for e in range(rules.k)], dtype=np.uint8)
        holds = np.bitwise_or.reduce(np.uint32(1) << values.astype(np.uint32), axis=0, initial=0).astype(np.uint32)
        # As rows of bits, of inner halves only: each sum begins with a word of its own.
        begins, counts = self.boards.begins, self.boards.counts
        word = np.concatenate([[0], np.cumsum(counts + 63 >> 6)])
        if self.half in (TOP, LEFT):
            word[:] = 0
        bit = np.arange(at.shape[1]) + np.repeat(64 * word[:-1] - begins[:-1], counts)

        def rows(marks: Array) -> Array:
            if not word[-1]:
                return np.zeros(0, dtype=np.uint64)
            found = np.zeros(64 * word[-1], dtype=bool)
            found[bit] = marks
            return np.packbits(found, bitorder="little").view(np.uint64)

        own = [after.index(self.held) if self.held in after else -1 for after in self.after]
        some = np.zeros((rules.k, len(values) + 2, word[-1]), dtype=np.uint64)
        fits = np.zeros_like(some)
        for e in range(rules.fresh + 1, rules.k) if rules.fresh >= 0 else ():
            lacks = holds >> np.uint32(e) & np.uint32(1) == 0
            for t in range(1, len(values) + 2):
                some[e, t], fits[e, t] = rows(lower[e] >= t), rows((lower[e] >= t) | lacks)
        return kernels.Slides(
            begins, self._to, at, lower, holds, word,
            np.array([rows(to >= kernels.MOVES) for to in self._to]),
            np.array([rows(to & (kernels.MOVES - 1) != b) for to, b in zip(self._to, own, strict=True)]),
            some, fits,
        )  # fmt: skip


class SweepRules:
    """A game for sweep lines below the goal: its placements, and the tables of its half boards."""

    def __init__(self, game: Game, least: int, *, corollary7: bool) -> None:
        self.game, self.k = game, max(game.tops)
        self.fresh = game.spawn_exponents[-1] if corollary7 else -1
        self.units = 1 << self.k - 1
        _, self.quarters = cut_into_parts(game)
        self._cells = tuple(frozenset(self.quarters[a] + self.quarters[b]) for a, b in PARTS)
        self.half = cache(self._half)
        self._quarter = cache(self._make_quarter)
        length = max(map(len, game.grid.all_lines))
        self._lines = {n: _line_table(n, self.k) for n in {len(line) for line in game.grid.all_lines}}
        del length
        self.group = [p for p in symmetries(game) if {self.image(p, half) for half in self._cells} == set(self._cells)]
        self.placements = [
            placement
            for count in range(least, game.cells + 1)
            for placement in map(frozenset, combinations(range(game.cells), count))
            if self.is_independent(placement) and game.cells - count >= self.k - self.fresh * (self.fresh >= 0) - self.k * (self.fresh < 0)
        ]
        # Of each orbit the placement whose top and left halves have most tiles k: rows are then short lists.
        self.reduced = {
            placement: max((self.image(p, placement) for p in self.group), key=self._order)
            for placement in self.placements
        }

    def _order(self, placement: Placement) -> tuple[int, int, int, list[int]]:
        top, left = (len(placement & self._cells[half]) for half in (TOP, LEFT))
        return -len(placement & set(self.quarters[3])), top, left, sorted(placement)

    def symmetry(self, placement: Placement, half: int, wanted: tuple[int, ...]) -> Cells | None:
        """Return a symmetry that maps a placement to the one that is stored, and a half to a wanted one."""
        reduced, ends = self.reduced[placement], [self._cells[one] for one in wanted]
        for p in self.group:
            if self.image(p, placement) == reduced and self.image(p, self._cells[half]) in ends:
                return p
        return None

    @staticmethod
    def image(symmetry: Cells, cells: Placement) -> Placement:
        """Return where a symmetry maps cells."""
        return frozenset(i for i, source in enumerate(symmetry) if source in cells)

    def columns_image(self, placement: Placement) -> tuple[Array, Array] | None:
        """Return the rows and columns of the images of left and right halves, if a symmetry has such images.

        It keeps the placement and maps the left half of the board to the top half.
        """
        symmetry = self.symmetry(placement, LEFT, (TOP,))
        if symmetry is None:
            return None
        found = []
        for half, other in ((LEFT, TOP), (RIGHT, BOTTOM)):
            cells = self.half(half, self.inside(placement, half)).cells()
            image = {i: cells[source] for i, source in enumerate(symmetry) if source in cells}
            found.append(self.half(other, self.inside(placement, other)).ranks(image).astype(np.uint32))
        return found[0], found[1]

    def half_of(self, cells: Any) -> int:
        """Return the half of the board that has these cells."""
        return self._cells.index(frozenset(cells))

    def inside(self, placement: Placement, half: int) -> Placement:
        """Return the part of a placement in a half."""
        return placement & self._cells[half]

    def is_independent(self, placement: Placement) -> bool:
        """Return whether no two of the cells are neighbours."""
        return not any(a in placement and b in placement for a, b in self.game.grid.neighbours)

    def _make_quarter(self, number: int, held: Placement) -> Quarter:
        return Quarter(self.k, self.quarters[number], held, self.game.spawn_exponents)

    def _half(self, half: int, held: Placement) -> HalfBoards:
        first, second = (self._quarter(q, held & frozenset(self.quarters[q])) for q in PARTS[half])
        return HalfBoards(first, second)

    def directions(self, half: int) -> list[str]:
        """Return the slides that are computed by a half, top or left: those that keep what is in it."""
        lines = self.game.grid.lines
        inside = {
            direction: all(set(line) <= self._cells[TOP] or set(line) <= self._cells[BOTTOM] for line in lines[direction])
            for direction in self.game.directions
        }
        return [direction for direction, rows in inside.items() if rows == (half == TOP)]

    def slide(self, cells: dict[int, Array], direction: str) -> tuple[dict[int, Array], Array, Array]:
        """Slide half boards; return their cells, whether that makes the goal, and whether they change."""
        after = dict(cells)
        won = np.zeros(len(next(iter(cells.values()))), dtype=bool)
        moved = won.copy()
        for line in self.game.grid.lines[direction]:
            if line[0] in cells:
                contents, wins, moves = self._lines[len(line)]
                code = np.zeros(len(won), dtype=np.int64)
                for cell in line:
                    code = code * (self.k + 1) + cells[cell]
                for i, cell in enumerate(line):
                    after[cell] = contents[code, i]
                won |= wins[code]
                moved |= moves[code]
        return after, won, moved


def _line_table(length: int, k: int) -> tuple[Array, Array, Array]:
    """Of each content of a line, by its number: what a slide makes, whether the goal, and whether it moves."""
    before = list(product(range(k + 1), repeat=length))
    after = [merge_line(line, 0) for line in before]
    moved = np.array([one != other for one, other in zip(before, after, strict=True)])
    contents = np.array(after, dtype=np.uint8)
    return contents, (contents > k).any(axis=1), moved


@dataclass
class View:
    """The boards of a placement by one of its halves, with the slides along the lines in both halves."""

    half: int
    outer: HalfSlides
    inner: HalfSlides
    pairs: kernels.Pairs


@dataclass
class Placing:
    """A placement that is stored: its orbit's size, and its views by the top and the left half."""

    cells: Placement
    weight: int
    halves: tuple[HalfBoards, ...]
    image: tuple[Array, Array] | None
    views: list[View] = field(default_factory=list)


class SweepPass:
    """The pass over sweep lines (k, `least`) and those with more tiles k.

    `corollary7`: as in `bdd.strategies.Method`.
    """

    def __init__(self, game: Game, least: int, threads: int, *, corollary7: bool) -> None:
        self.rules = rules = SweepRules(game, least, corollary7=corollary7)
        self.game, self._least = game, least
        self._fresh = rules.fresh
        orbits = list(rules.reduced.values())
        self._placed = [
            Placing(
                cells, orbits.count(cells),
                tuple(rules.half(half, rules.inside(cells, half)) for half in range(4)), rules.columns_image(cells),
            )
            for cells in dict.fromkeys(orbits)
        ]  # fmt: skip
        self._number = {one.cells: r for r, one in enumerate(self._placed)}
        self._slides = cache(self._make_slides)
        for one in self._placed:
            one.views = [self._view(one, half) for half in ((TOP,) if one.image else (TOP, LEFT))]
        self.won: dict[int, list[int]] = {}
        self._pool = Pool(threads)
        self._buffers: dict[str, Array] = {}
        self._states: dict[int, dict[int, bits.Matrices]] = {}

    def _make_slides(self, half: int, held: Placement) -> HalfSlides:
        return HalfSlides(self.rules, half, held, self.rules.directions(min(half, half ^ 1)))

    def _view(self, one: Placing, half: int) -> View:
        rules = self.rules
        outer, inner = (self._slides(h, rules.inside(one.cells, h)) for h in (half, ACROSS[half]))
        shape = (
            len(outer.after),
            max(map(len, outer.after), default=0),
            max(map(len, inner.after), default=0),
        )
        matrix, outers, inners = np.full(shape, -1, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        less = np.zeros(shape[:2], dtype=np.int64)
        for d in range(shape[0]):
            for (a, top), (b, bottom) in product(enumerate(outer.after[d]), enumerate(inner.after[d])):
                if top is None or bottom is None:
                    continue
                less[d, a] = (len(top) - len(outer.held)) * rules.units
                if top | bottom in rules.reduced:
                    cells = rules.reduced[top | bottom]
                    # By the top or the bottom half, if the columns of that placement are images of its rows.
                    symmetry = rules.symmetry(top | bottom, half, (TOP, BOTTOM)) if self._placed[self._number[cells]].image else None
                    symmetry = symmetry or rules.symmetry(top | bottom, half, (TOP, BOTTOM, LEFT, RIGHT))
                    assert symmetry is not None
                    image = rules.half_of(rules.image(symmetry, rules._cells[half]))
                    matrix[d, a, b] = 4 * self._number[cells] + image
                    outers[d, a, b] = outer.image(d, a, symmetry)
                    inners[d, a, b] = inner.image(d, b, symmetry)
        # A slide that leaves the tiles k where they are leads to the same matrices, if there is one.
        own = np.full((shape[0], 2), -1, dtype=np.int64)
        for d in range(shape[0]):
            if outer.held in outer.after[d] and inner.held in inner.after[d]:
                own[d] = outer.after[d].index(outer.held), inner.after[d].index(inner.held)
        return View(half, outer, inner, kernels.Pairs(matrix, outers, inners, own, less))

    # -- the pass ------------------------------------------------------------------------------------

    def run(self, tell: Callable[[float, int], None] = lambda _share, _boards: None) -> dict[int, Won]:
        """Solve all layers; return what is won of each line (k, l), by l.

        `tell` is called after each layer with the share of the layers that is done, and their boards.
        """
        game, rules = self.game, self.rules
        spares = [self._scratch() for _ in range(self._pool.threads)]
        most = max((self._most(one) + len(one.cells) * rules.units for one in self._placed), default=-1)
        for total in range(most, self._least * rules.units - 1, -1):
            boards = self._layer(total, spares)
            for old in [other for other in self._states if other >= total + (1 << game.spawn_exponents[-1] - 1)]:
                del self._states[old]
            tell(1 - (total - self._least * rules.units) / (most - self._least * rules.units + 1), boards)
        return {count: self._won(count) for count in range(game.cells, self._least - 1, -1)}

    def _most(self, one: Placing) -> int:
        """Return the largest sum of the other tiles, in units of 2."""
        return (self.game.cells - len(one.cells)) * (self.rules.units >> 1)

    def _layer(self, total: int, spares: list[Any]) -> int:
        """Solve the boards of one sum, which is counted in units of 2, of all placements."""
        rules, game = self.rules, self.game
        here = []
        for r, one in enumerate(self._placed):
            units = total - len(one.cells) * rules.units
            if 0 <= units <= self._most(one):
                here.append((r, one, units))
        # Where the matrices of each placement begin by each half, behind the words of ones.
        size = self._ones
        maps: dict[tuple[int, int], Matrices] = {}
        at = np.full((4 * len(self._placed), self._sums), -1, dtype=np.int64)
        wide = np.zeros_like(at)
        for r, one, units in here:
            for half in range(3 if one.image else 4):
                outer, inner = one.halves[half], one.halves[ACROSS[half]]
                maps[r, half] = found = Matrices(units, outer.counts, inner.counts)
                if half == LEFT and one.image:
                    continue
                at[4 * r + half, : len(found.at)] = np.where(found.at >= 0, found.at + size, -1)
                wide[4 * r + half, : len(found.at)] = found.wide
                size += found.size
        words = self._buffer("afterstates", size + 1)
        words[: self._ones] = bits.ALL
        stored = kernels.Stored(words, at, wide)
        afters = {
            key: bits.Matrices(words, at[4 * key[0] + key[1]], wide[4 * key[0] + key[1]]) for key in maps
        }
        states = self._states_of(f"states {total % (1 + (1 << game.spawn_exponents[-1] - 1))}", maps, TOP)
        columns = self._states_of("columns", maps, LEFT)
        counts = {r: np.zeros((len(maps[r, TOP].at), 3), dtype=np.uint64) for r, _, _ in here}
        images = [one for one in here if one[1].image]
        others = [one for one in here if not one[1].image]
        steps: tuple[tuple[int, list[tuple[int, Placing, int]], Callable[..., Task]], ...] = (
            (TOP, here, lambda r, one, units: self._fold(total, r, one, units, afters[r, TOP])),
            (TOP, here, lambda r, one, units: _transposed(one, TOP, units, afters[r, TOP], afters[r, BOTTOM])),
            (LEFT, others, lambda r, one, units: _turned(one, units, afters[r, TOP], afters[r, LEFT])),
            (LEFT, others, lambda r, one, units: _transposed(one, LEFT, units, afters[r, LEFT], afters[r, RIGHT])),
            (TOP, here, lambda r, one, units: self._slide(4 * r + TOP, one.views[0], units, stored, states[r])),
            (LEFT, others, lambda r, one, units: self._slide(4 * r + LEFT, one.views[1], units, stored, columns[r])),
            (LEFT, images, lambda r, one, units: _copied(one, units, states[r], columns[r])),
            (TOP, here, lambda r, one, units: self._join(one, units, columns[r], afters[r, TOP], states[r], counts[r])),
        )
        for half, some, step in steps:
            self._do([(step(*one), job) for one in some for job in maps[one[0], half].jobs()], spares)
        self._states[total] = states
        for r, one, _ in here:
            sums = [int(n) * one.weight for n in counts[r].sum(axis=0)]
            self.won[len(one.cells)] = [a + b for a, b in zip(self.won.get(len(one.cells), (0, 0, 0)), sums)]
        return sum(int(maps[r, TOP].boards.sum()) for r, _, _ in here)

    def _do(self, jobs: list[tuple[Task, Array]], spares: list[Any]) -> None:
        """Do the jobs of a step, shared out over threads."""
        waiting = deque(jobs)

        def work(spare: Any, stop: Event) -> None:
            drain(waiting, lambda job: job[0](job[1], spare), stop)

        self._pool.together(work, spares)

    def _fold(self, total: int, r: int, one: Placing, units: int, out: bits.Matrices) -> Task:
        outer, inner = one.halves[:2]
        ups = []
        for e in sorted(self.game.spawn_exponents, reverse=True):
            more = 1 << e - 1
            above = self._states.get(total + more, {}).get(r)
            if above is None:
                above = bits.Matrices(out.words, np.full_like(out.at, -1), out.wide)
            spawned = tuple((half.first.spawns[e], half.second.spawns[e]) for half in (outer, inner))
            ups.append(bits.Successors(more, *spawned, above))
        args = units, outer.arrays, inner.arrays, 0, tuple(ups), True, True, out
        return lambda sums, scratch: bits.fold_spawns(sums, *args, scratch[0])

    def _slide(self, own: int, view: View, units: int, stored: kernels.Stored, out: bits.Matrices) -> Task:
        args = units, view.outer.arrays, view.inner.arrays, view.pairs, self._fresh, own, stored, out
        return lambda sums, scratch: kernels.slide_sweep(sums, *args, scratch[1], scratch[0])

    def _join(
        self, one: Placing, units: int, columns: bits.Matrices, afters: bits.Matrices, states: bits.Matrices, counts: Array
    ) -> Task:  # fmt: skip
        halves = tuple(half.arrays for half in one.halves)
        slides = one.views[0].outer.arrays, one.views[0].inner.arrays
        args = units, halves, slides, self._fresh, columns, afters, states

        return lambda sums, scratch: kernels.join_sweep(sums, *args, scratch[0].other, scratch[0].runs, counts)

    # -- memory --------------------------------------------------------------------------------------

    @cached_property
    def _halves(self) -> list[HalfBoards]:
        return [half for one in self._placed for half in one.halves]

    @cached_property
    def _ones(self) -> int:
        return 1 + max((int(half.counts.max()) >> 6 for half in self._halves), default=0)

    @cached_property
    def _sums(self) -> int:
        return 1 + max((len(half.counts) for half in self._halves), default=0)

    def _states_of(self, name: str, maps: dict[tuple[int, int], Matrices], half: int) -> dict[int, bits.Matrices]:
        mine = {r: found for (r, other), found in maps.items() if other == half}
        words = self._buffer(name, sum(found.size for found in mine.values()) + 1)
        out, size = {}, 0
        for r, found in mine.items():
            out[r] = bits.Matrices(words, np.where(found.at >= 0, found.at + size, -1), found.wide)
            size += found.size
        return out

    def _buffer(self, name: str, words: int) -> Array:
        if len(self._buffers.get(name, ())) < words:
            self._buffers[name] = np.empty(words + words // 4, dtype=WORD)
        return self._buffers[name]

    def _scratch(self) -> tuple[bits.MatrixScratch, kernels.SweepScratch]:
        """Return what a thread works in."""
        row = self._ones + 1
        matrix = 1
        for one in self._placed:
            for half in (TOP, LEFT):
                a, b = (int(one.halves[side].counts.max()) for side in (half, ACROSS[half]))
                matrix = max(matrix, a * ((b >> 6) + 1), b * ((a >> 6) + 1))
        classes = max(len(part.part.sums) for half in self._halves for part in (half.first, half.second))
        slides = max(len(view.outer.after) for one in self._placed for view in one.views)
        placements = np.max([view.pairs.matrix.shape[1:] for one in self._placed for view in one.views], axis=0)
        return (
            bits.MatrixScratch(
                *(np.empty(matrix + 1, WORD) for _ in range(4)), *(np.empty(row, WORD) for _ in range(3)),
                np.empty(64 * bits.LANES, WORD), np.empty((classes, 5), np.int64),
            ),
            kernels.SweepScratch(
                np.empty(row, WORD), *(np.empty((slides, *placements), WORD) for _ in range(2)),
                np.empty((slides, placements[0], 64 * row), np.uint32),
                np.empty(kernels.MOVES, WORD),
            ),
        )  # fmt: skip

    # -- counting ------------------------------------------------------------------------------------

    def _won(self, count: int) -> Won:
        """Return what is won of a line: what was solved, and the boards with neighbouring tiles k."""
        afters, states, old = self.won.get(count, (0, 0, 0))
        game = self.game
        placed = sum(len(placement) == count for placement in self.rules.placements)
        crowded = math.comb(game.cells, count) - placed
        every, fresh, after = self._fillings(game.cells - count)
        return Won(states + crowded * every, states - old + crowded * fresh, afters + crowded * after)

    def _fillings(self, cells: int) -> tuple[int, int, int]:
        """Return the fillings of cells beside tiles k: all, those with a spawned tile, with an empty cell."""
        k, fresh = self.rules.k, self._fresh
        if fresh < 0:
            return k**cells, 0, k**cells - (k - 1) ** cells
        found = [0, 0, 0]
        if cells < k - fresh:
            return 0, 0, 0
        for tiles in combinations_with_replacement(range(k), cells):
            # Ascending: the first tile e has as many lower cells as its index.
            if all(tiles.index(e) >= e - fresh for e in set(tiles) if e > fresh):
                ways = math.factorial(cells) // math.prod(math.factorial(tiles.count(e)) for e in set(tiles))
                found[0] += ways
                found[1] += ways * any(1 <= e <= fresh for e in tiles)
                found[2] += ways * (0 in tiles)
        return found[0], found[1], found[2]


def _transposed(one: Placing, half: int, units: int, source: bits.Matrices, out: bits.Matrices) -> Task:
    args = units, one.halves[half].arrays, one.halves[ACROSS[half]].arrays, source, out
    return lambda sums, scratch: kernels.transpose_layer(sums, *args, scratch[0].square)


def _turned(one: Placing, units: int, source: bits.Matrices, out: bits.Matrices) -> Task:
    top, bottom, left, right = (half.arrays for half in one.halves)
    args = units, left, right, top, bottom, source, out
    return lambda sums, scratch: kernels.turn(sums, *args, scratch[0].square, scratch[0].runs)


def _copied(one: Placing, units: int, source: bits.Matrices, out: bits.Matrices) -> Task:
    assert one.image is not None
    args = units, one.halves[LEFT].arrays, one.halves[RIGHT].arrays, *one.image, source, out
    return lambda sums, scratch: kernels.copy_image(sums, *args, scratch[0])
