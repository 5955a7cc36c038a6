"""Sweep lines in bits: lines (k, l) where k is one below the goal, and two tiles k make it.

A sweep line (k, l) has the boards with l tiles of exponent k and none above (`bdd.strategies`).  A board with
two neighbouring tiles k is won: the next slide merges them, and no spawn comes between.  So only *placements*
of tiles k on cells of which no two are neighbours are left: on 4x4 there are 114 of six tiles, 20 of seven,
2 of eight, and none of more.  They are matrices of bits, one of each orbit under the symmetries that map
halves of the board to halves.  Nothing is iterated: all lines are solved layer by layer, the largest sum
first, since a slide keeps the sum, and leads to lines with at least as many tiles k.

    for each sum s, downwards:                                             kernels of `_kernels.sweep`
        states[s+2], [s+4]  --fold--> afterstates[s] by the top halves     (`_kernels.bits.fold_spawns`)
        the same by the bottom, left and right halves                      exchange, turn
        afterstates[s]  --rows, columns--> states[s]                       slide_sweep, join_sweep

Boards with neighbouring tiles k are counted without being stored.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tilebase._kernels import bits, matrices
from tilebase._kernels import dense as dense_kernels
from tilebase._kernels import sweep as kernels
from tilebase._kernels.packed import packed
from tilebase.dense.backends.bits import NO_SUM, paired, scratch
from tilebase.dense.index import Part, cut_into_parts
from tilebase.dense.sizes import Matrices, Words, half_counts
from tilebase.dense.tables import classes_of, first_halves, free_cells, kernel_part, spawns
from tilebase.errors import ResourceError
from tilebase.game.game import Cells, Game, merge_line
from tilebase.game.symmetry import symmetries
from tilebase.runtime.threads import Pool

Array = npt.NDArray[Any]
Placement = frozenset[int]
"""Cells that hold a tile of exponent k."""
Boards = dict[int, Array]
"""Boards or half boards: for each cell, what it holds on each of them."""
Work = tuple[int, int, Callable[..., None], tuple[Any, ...]]
"""A placement by its number, the outer half, a kernel, and the arguments between sums and scratch."""
WORD = np.dtype(np.uint64)
TOP, BOTTOM, LEFT, RIGHT = range(4)
QUARTERS = ((0, 1), (2, 3), (0, 2), (1, 3))
"""The quarters of each half; half ^ 1 is the half across."""
NONE = packed(matrices.Mirrors(False, False, 0))
"""Mirror images are not used: all boards of a placement are stored."""
HALF_BYTES, LAYERS = 100, 9
"""Bytes for a half board in tables, and layers of bits in memory, spare words included."""


class Won(NamedTuple):
    """How many boards of a line are won: states, those without a spawned tile among them, afterstates."""

    states: int
    old: int
    afterstates: int


class Placed(NamedTuple):
    """What the parts of an index need of a game: cells with tiles k, and anything below on the others."""

    x: int
    held: Placement
    walls: Placement = frozenset()

    def codes(self, cell: int) -> Cells:
        """Return what a cell may hold."""
        return (self.x,) if cell in self.held else tuple(range(self.x))

    def is_x(self, code: int) -> bool:
        """Return whether a code is that of a tile k, which counts for nothing in sums."""
        return code == self.x

    def sum(self, cells: Cells) -> int:
        """Return the sum of tiles."""
        return sum(2**code for code in cells if code)


class Quarter:
    """The fillings of a quarter with tiles k on some cells."""

    def __init__(self, placed: Any, cells: Cells, exponents: Iterable[int]) -> None:
        self.part = part = Part(placed, cells)
        self.arrays = kernel_part(part, np.zeros(len(part), WORD), free_cells(placed, part))
        self.spawns = {e: packed(spawns(placed, part, e)) for e in exponents}
        self.classes = classes_of(part).astype(np.int64)
        self.positions = np.arange(len(part)) - part.starts[self.classes]

    def fillings(self, boards: Boards) -> Array:
        """Return the filling of each board."""
        number = np.zeros((), dtype=np.int64)
        for cell, radix in zip(self.part.cells, self.part.radix, strict=True):
            number = number * radix + boards[cell] * (radix > 1)
        return self.part.index_of[number]


class HalfBoards:
    """The half boards with tiles k on some cells, in the order of `_kernels.dense.Half`, and their slides."""

    def __init__(self, sweep: SweepPass, half: int, held: Placement) -> None:
        self._sweep, self.half, self.held = sweep, half, held
        self.quarters = one, other = tuple(sweep.quarter(q, held & sweep.parts[q]) for q in QUARTERS[half])
        self.counts = half_counts(one.part, other.part)
        self.begins = np.concatenate([[0], np.cumsum(self.counts)])
        unused = np.zeros((0, 0), WORD), np.zeros((0, 0), np.int32)
        firsts = first_halves(one.part, other.part)
        self.arrays = dense_kernels.Half(one.arrays, other.arrays, firsts, self.begins, *unused)
        self.packed = packed(self.arrays)
        # Of each sum, how many half boards are before those whose first part has a class.
        sums = one.part.sums[:, None] + other.part.sums
        self.before = np.zeros((len(self.counts), len(firsts)), dtype=np.int64)
        self.before[sums, np.arange(len(firsts))[:, None]] = firsts - self.begins[sums]
        self.after, self._to = self._slid()
        self._images: dict[tuple[int, Cells], set[int]] = {}

    def _numbers(self, fillings: tuple[Array, ...]) -> Array:
        """Return the numbers of half boards, of which the fillings of both quarters are given."""
        (one, other), (first, second) = fillings, self.quarters
        a, b = first.classes[one], second.classes[other]
        position = first.positions[one] * second.part.counts[b] + second.positions[other]
        return self.arrays.firsts[a, b] + position

    def ranks(self, boards: Boards) -> Array:
        """Return the row or column of each board in the matrices of its sum."""
        fillings = tuple(quarter.fillings(boards) for quarter in self.quarters)
        sums = sum(quarter.part.units[one] for quarter, one in zip(self.quarters, fillings, strict=True))
        return self._numbers(fillings) - self.begins[sums]

    def boards(self) -> Boards:
        """Return all half boards."""
        fillings = np.indices([len(quarter.part) for quarter in self.quarters]).reshape(2, -1)
        fillings = fillings[:, np.argsort(self._numbers(tuple(fillings)))]
        return {
            cell: quarter.part.fillings[filling, i]
            for quarter, filling in zip(self.quarters, fillings, strict=True)
            for i, cell in enumerate(quarter.part.cells)
        }

    def _slid(self) -> tuple[list[list[Placement]], Array]:
        """Return for each slide the placements after it, the first for won boards, and `Slides.to`."""
        sweep, before = self._sweep, self.boards()
        found, to = [], []
        for direction in sweep.directions(self.half):
            after, won, moved = sweep.slide(before, direction)
            marks = sum((after[cell] == sweep.k).astype(np.int64) << cell for cell in after)
            masks, which = np.unique(marks, return_inverse=True)
            placements = [frozenset(cell for cell in after if int(mask) >> cell & 1) for mask in masks]
            there = [placement for placement in placements if sweep.is_apart(placement)]
            slots = np.array([there.index(one) + 1 if one in there else 0 for one in placements])
            found.append([frozenset[int](), *there])
            to.append(np.where(won, 0, slots[which.ravel()]) + kernels.MOVES * moved)
        return found, np.array(to, dtype=np.uint8)

    def image(self, d: int, slot: int, symmetry: Cells) -> int:
        """Return the row of `Slides.at` for a placement after slide d, as a symmetry maps it."""
        self._images.setdefault((d, symmetry), set()).add(slot)
        return list(self._images).index((d, symmetry))

    @cached_property
    def slides(self) -> kernels.Slides:
        """What kernels take of the slides; to be used when all images are known."""
        sweep, before, to = self._sweep, self.boards(), self._to
        at = np.zeros((max(1, len(self._images)), to.shape[1]), dtype=np.uint32)
        for row, ((d, symmetry), slots) in enumerate(self._images.items()):
            boards, _, _ = sweep.slide(before, sweep.directions(self.half)[d])
            for slot in slots:
                there = np.flatnonzero(to[d] & (kernels.MOVES - 1) == slot)
                image = mapped(symmetry, {cell: held[there] for cell, held in boards.items()})
                placement = image_of(symmetry, self.after[d][slot])
                at[row, there] = sweep.half(sweep.halves.index(frozenset(image)), placement).ranks(image)
        free = [before[cell] for cell in before if cell not in self.held]
        none = np.zeros(to.shape[1], dtype=WORD)
        low = [sum((one < e for one in free), none) for e in range(sweep.k + 1)]
        lower = sum((count << np.uint64(4 * e) for e, count in enumerate(low)), none)
        # Rows of bits, of inner halves only: each sum begins with a word of its own.
        word = np.concatenate([[0], np.cumsum(self.counts + 63 >> 6)]) * (self.half in (BOTTOM, RIGHT))
        gaps = 64 * word[:-1] - self.begins[:-1]
        bit = np.arange(to.shape[1]) + np.repeat(gaps, self.counts)

        def rows(marks: Sequence[Array]) -> Array:
            found = np.zeros((len(marks), word[-1]), dtype=WORD)
            for row, marked in zip(found if word[-1] else (), marks, strict=False):
                all_bits = np.zeros(64 * len(row), dtype=bool)
                all_bits[bit] = marked
                row[:] = np.packbits(all_bits, bitorder="little").view(WORD)
            return found

        some = rows([count >= t for count in low for t in range(len(free) + 2)])
        return kernels.Slides(
            self.begins, to, at, lower, word, rows(list(to >= kernels.MOVES)),
            some.reshape(len(low), len(free) + 2, -1),
        )  # fmt: skip


class Whole(Matrices):
    """The same as `Matrices` where no image is stored instead: the rows of a matrix follow each other.

    Of half boards across, which only kernels of sweep lines read, one class stands for all.
    """

    def __init__(self, units: int, outer: HalfBoards, inner: HalfBoards) -> None:
        self.units = units
        columns = np.zeros(len(outer.counts), dtype=np.int64)
        first, last = max(0, units - len(inner.counts) + 1), min(units + 1, len(columns))
        if first < last:
            columns[first:last] = inner.counts[units - last + 1 : units - first + 1][::-1]
        self.boards = outer.counts * columns
        wide = columns + 63 >> 6
        sizes = outer.counts * wide
        ends = np.cumsum(sizes)
        before = outer.before if outer.half in (TOP, LEFT) else outer.before[:, :1]
        self.wide = np.repeat(wide[:, None], before.shape[1], axis=1)
        self.at = np.where(sizes > 0, ends - sizes, -1)[:, None] + self.wide * before
        self.size = int(ends[-1])


class Orbit:
    """An orbit of placements: the one that is stored, how many there are, and its halves.

    `pairs` says where slides along the lines of the top and of the left half lead.
    """

    def __init__(self, sweep: SweepPass, cells: Placement, weight: int) -> None:
        self.cells, self.weight = cells, weight
        self.halves = tuple(sweep.half(half, cells & sweep.halves[half]) for half in range(4))
        self.pairs: dict[int, kernels.Pairs] = {}


def mapped(symmetry: Cells, cells: dict[int, Any]) -> dict[int, Any]:
    """Return what some cells hold on the image of a board: its cell i holds what was on ``symmetry[i]``."""
    return {i: cells[source] for i, source in enumerate(symmetry) if source in cells}


def image_of(symmetry: Cells, placement: Placement) -> Placement:
    """Return the placement on the image of a board."""
    return frozenset(mapped(symmetry, dict.fromkeys(placement)))


class SweepPass:
    """The pass over the lines (k, `least`) and above, with `threads`.

    `corollary7`: only states are counted that play from an empty board can make, by `bdd.strategies.Method`,
    with and without its second condition.  Raises `ResourceError`.
    """

    def __init__(
        self, game: Game, least: int, threads: int, memory: float = math.inf, *, corollary7: bool
    ) -> None:
        self.game, self.k, self._least = game, max(game.tops), least
        self._fresh = game.spawn_exponents[-1] if corollary7 else -1
        self._units = 1 << self.k - 1  # a tile k in sums, which are counted in units of 2
        _, cells = cut_into_parts(game)
        self.parts = tuple(map(frozenset, cells))
        self.halves = tuple(self.parts[a] | self.parts[b] for a, b in QUARTERS)
        self._group = [
            p for p in symmetries(game) if {image_of(p, half) for half in self.halves} == {*self.halves}
        ]
        # With corollary 7, a tile k needs some lower cells.
        most = game.cells - (self.k - self._fresh if corollary7 else 0)
        placements = [one for one in self._all_apart() if least <= len(one) <= most]
        self._stored = {
            one: max((image_of(p, one) for p in self._group), key=self._order) for one in placements
        }
        self._sizes = Counter(self._stored.values())
        self._check_memory(memory)
        self.quarter = cache(lambda q, held: Quarter(Placed(self.k, held), cells[q], game.spawn_exponents))
        self.half = cache(lambda half, held: HalfBoards(self, half, held))
        self._lines = {len(line): _line_table(len(line), self.k) for line in game.grid.all_lines}
        self._orbits = [Orbit(self, placement, count) for placement, count in self._sizes.items()]
        self._number = {orbit.cells: r for r, orbit in enumerate(self._orbits)}
        for orbit in self._orbits:
            orbit.pairs = {half: self._pairs(orbit, half) for half in (TOP, LEFT)}
        self._pool = Pool(threads)
        self._buffers: dict[Any, Array] = {}
        self._states: dict[int, dict[int, matrices.Matrices]] = {}
        self._won: Counter[tuple[int, int]] = Counter()

    # -- placements ----------------------------------------------------------------------------------

    def is_apart(self, placement: Placement) -> bool:
        """Return whether no two cells are neighbours."""
        return not any(a in placement and b in placement for a, b in self.game.grid.neighbours)

    def _all_apart(self) -> list[Placement]:
        found: list[Placement] = [frozenset()]
        for placement in found:  # grows
            more = (placement | {cell} for cell in range(max(placement, default=-1) + 1, self.game.cells))
            found += filter(self.is_apart, more)
        return found

    def _order(self, placement: Placement) -> tuple[int, int, int, list[int]]:
        """Of an orbit the largest is stored: runs in the last quarter are then long, and rows too."""
        last, top, left = (len(placement & cells) for cells in (self.parts[3], *self.halves[::2]))
        return -last, top, left, sorted(placement)

    def directions(self, half: int) -> list[str]:
        """Return the slides that keep what is in a half; what keeps both halves is of the top."""

        def kept(direction: str) -> bool:
            return all(
                set(line) <= self.halves[TOP] or set(line) <= self.halves[BOTTOM]
                for line in self.game.grid.lines[direction]
            )

        return [direction for direction in self.game.directions if kept(direction) == (half in (TOP, BOTTOM))]

    def slide(self, boards: Boards, direction: str) -> tuple[Boards, Array, Array]:
        """Slide half boards; return the results, whether the goal is made, and whether a tile moves."""
        after = dict(boards)
        won: Array = np.zeros((), dtype=bool)
        moved: Array = np.zeros((), dtype=bool)
        for line in self.game.grid.lines[direction]:
            if line[0] in boards:
                code = np.zeros((), dtype=np.int64)
                for cell in line:
                    code = code * (self.k + 1) + boards[cell]
                contents, wins, moves = self._lines[len(line)]
                after |= {cell: contents[code, i] for i, cell in enumerate(line)}
                won, moved = won | wins[code], moved | moves[code]
        return after, won, moved

    def _pairs(self, orbit: Orbit, half: int) -> kernels.Pairs:
        """Return where slides along the lines of two halves lead, and let the halves know which images."""
        outer, inner = orbit.halves[half], orbit.halves[half ^ 1]
        shape = len(outer.after), *(max(map(len, side.after), default=1) for side in (outer, inner))
        matrix, rows, columns = np.full(shape, -1), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        less = np.zeros(shape[:2], dtype=np.int64)
        for d, (tops, bottoms) in enumerate(zip(outer.after, inner.after, strict=True)):
            for (a, top), (b, bottom) in product(enumerate(tops[1:], 1), enumerate(bottoms[1:], 1)):
                less[d, a] = (len(top) - len(outer.held)) * self._units
                if (stored := self._stored.get(top | bottom)) is None:
                    continue  # neighbours in the two halves
                symmetry = next(p for p in self._group if image_of(p, top | bottom) == stored)
                there = self.halves.index(image_of(symmetry, self.halves[half]))
                matrix[d, a, b] = 4 * self._number[stored] + there
                rows[d, a, b], columns[d, a, b] = outer.image(d, a, symmetry), inner.image(d, b, symmetry)
        return kernels.Pairs(matrix, rows, columns, less)

    # -- the pass ------------------------------------------------------------------------------------

    def run(self, tell: Callable[[int, float, int], bool]) -> dict[int, Won] | None:
        """Solve all layers; return what is won of each line (k, l) by l, from the full board to the least.

        ``tell(sum, share, boards)`` is called after each layer: the share of layers done, and its boards.
        If it returns false the work stops, and None is returned.
        """
        with self._pool:
            spares = [self._scratch() for _ in range(self._pool.threads)] if self._orbits else []
            sums = [len(one.cells) * self._units + self._most(one) for one in self._orbits]
            first, last = max(sums, default=-1), self._least * self._units
            for total in range(first, last - 1, -1):
                boards = self._layer(total, spares)
                if not tell(2 * total, (first - total + 1) / (first - last + 1), boards):
                    return None
        return {count: self._line(count) for count in range(self.game.cells, self._least - 1, -1)}

    def _most(self, orbit: Orbit) -> int:
        """Return the largest sum of the other tiles; by corollary 7, the i-th smallest is at most 2**i.

        Fewer tiles do not have this sum, or 2 less: such boards have no empty cell, and nothing is spawned.
        """
        cells = self.game.cells - len(orbit.cells)
        largest = (self.k - 1 if self._fresh < 0 else min(self.k - 1, i + self._fresh) for i in range(cells))
        return sum(1 << e >> 1 for e in largest)

    def _layer(self, total: int, spares: list[Any]) -> int:
        """Solve the boards of one sum of all placements; return how many there are."""
        layer = [
            (r, orbit, units)
            for r, orbit in enumerate(self._orbits)
            if 0 <= (units := total - len(orbit.cells) * self._units) <= self._most(orbit)
        ]
        sides = {
            (r, half): Whole(units, orbit.halves[half], orbit.halves[half ^ 1])
            for r, orbit, units in layer
            for half in range(4)
        }
        # The matrices of afterstates, behind words of ones.
        shape = 4 * len(self._orbits), max((len(one.at) for one in sides.values()), default=0)
        at, wide = np.full(shape, -1, dtype=np.int64), np.zeros(shape, dtype=np.int64)
        afters = self._matrices("afterstates", sides, self._ones)
        for (r, half), found in afters.items():
            row, sums = 4 * r + half, slice(len(found.at))
            at[row, sums], wide[row, sums] = found.at[:, 0], found.wide[:, 0]
        words = self._buffers["afterstates"]
        words[: self._ones] = matrices.ALL
        known = kernels.Stored(words, at, wide)
        most = 1 << self.game.spawn_exponents[-1] - 1  # what a spawn adds
        states = self._matrices(total % (most + 1), {r: sides[r, TOP] for r, _, _ in layer})
        columns = self._matrices("columns", {r: sides[r, LEFT] for r, _, _ in layer})
        counts = {r: np.zeros((len(sides[r, TOP].at), 3), dtype=WORD) for r, _, _ in layer}
        # For each step, of each placement the half that is outside, the kernel, and what it takes.
        fold, turn, across, slide, join = steps = [list[Work]() for _ in range(5)]
        for r, orbit, units in layer:
            top, bottom, left, right = (half.packed for half in orbit.halves)
            outer, inner = (half.arrays for half in orbit.halves[:2])
            by_top = afters[r, TOP]
            above = self._above(total, r, orbit, by_top)
            fold.append((r, TOP, bits.fold_spawns, (units, outer, inner, NONE, 0, above, True, True, by_top)))
            turn.append((r, TOP, kernels.exchange, (units, top, bottom, by_top, afters[r, BOTTOM])))
            for half, pairs in orbit.pairs.items():
                halves = (side.slides for side in (orbit.halves[half], orbit.halves[half ^ 1]))
                out = states[r] if half == TOP else columns[r]
                args = units, *halves, pairs, self._fresh, known, out
                slide.append((r, half, kernels.slide_sweep, args))
            by_left = afters[r, LEFT]
            turn.append((r, LEFT, kernels.turn, (units, left, right, bottom, by_top, by_left)))
            across.append((r, LEFT, kernels.exchange, (units, left, right, by_left, afters[r, RIGHT])))
            halves = (orbit.halves[half].slides for half in (TOP, BOTTOM))
            args = units, (top, bottom, right), *halves, self._fresh, columns[r], by_top, states[r], counts[r]
            join.append((r, TOP, kernels.join_sweep, args))
        for step in steps:
            jobs = [(work, sums) for work in step for sums in sides[work[:2]].jobs()]
            self._pool.share_out(do_work, jobs, spares)
        self._states[total] = states
        self._states.pop(total + most, None)
        for r, orbit, _ in layer:
            for i, number in enumerate(counts[r].sum(axis=0)):
                self._won[len(orbit.cells), i] += int(number) * orbit.weight
        return sum(int(sides[r, TOP].boards.sum()) for r, _, _ in layer)

    def _above(
        self, total: int, r: int, orbit: Orbit, below: matrices.Matrices
    ) -> tuple[bits.Successors, ...]:
        """Return the states that spawns make of a placement."""
        found = []
        (a, b), (c, d) = (half.quarters for half in orbit.halves[:2])
        for e in self.game.spawn_exponents:
            more = 1 << e - 1
            there = self._states.get(total + more, {}).get(r)
            made = (a.spawns[e], b.spawns[e]), (c.spawns[e], d.spawns[e])
            found.append(bits.Successors(more if there else NO_SUM, *made, there or below))
        return paired(found)

    # -- memory --------------------------------------------------------------------------------------

    def _check_memory(self, memory: float) -> None:
        """Raise `ResourceError` if tables and layers probably take more than so many bytes."""
        halves = {(half, one & self.halves[half]) for one in self._sizes for half in range(4)}
        boards = sum(self.k ** (len(self.halves[half]) - len(one)) for half, one in halves)
        # The most fillings of one sum, by the number of cells.
        ways, most = np.ones(1), [1.0]
        values = np.bincount([0, *(1 << e - 1 for e in range(1, self.k))])
        for _ in range(self.game.cells):
            ways = np.convolve(ways, values)
            most.append(float(ways.max()))
        layer = sum(most[self.game.cells - len(one)] for one in self._sizes) / 8
        needed = HALF_BYTES * boards + LAYERS * layer
        if needed > memory:
            raise ResourceError(
                f"line ({self.k},{self._least}) in bits takes about {needed / 2**30:.3g} GiB, more than "
                f"{memory / 2**30:.3g} GiB: choose a line with more tiles, or the strategy sweep"
            )

    def _matrices(
        self, name: Any, sides: Mapping[Any, Matrices], begin: int = 0
    ) -> dict[Any, matrices.Matrices]:
        """Return matrices in a buffer, which later layers use again."""
        words = begin + sum(one.size for one in sides.values()) + 1  # a run of bits may be read with the next
        if len(self._buffers.get(name, ())) < words:
            self._buffers[name] = np.empty(words + words // 4, dtype=WORD)
        found = {}
        for key, one in sides.items():
            at = np.where(one.at >= 0, one.at + begin, -1)
            found[key] = packed(matrices.Matrices(self._buffers[name], at, one.wide))
            begin += one.size
        return found

    @cached_property
    def _ones(self) -> int:
        """Words of a row, at most."""
        return 1 + max(
            (int(half.counts.max()) >> 6 for one in self._orbits for half in one.halves), default=0
        )

    def _scratch(self) -> tuple[matrices.MatrixScratch, kernels.SweepScratch]:
        """Return what a thread works in."""
        sides = [
            (int(one.halves[a].counts.max()), int(one.halves[a ^ 1].counts.max()))
            for one in self._orbits
            for a in range(4)
        ]
        matrix, row = max((a + 1) * ((b >> 6) + 1) for a, b in sides), self._ones
        parts = [q.part for one in self._orbits for half in one.halves for q in half.quarters]
        work = scratch(Words(0, matrix, row, 0, max(map(max, sides)), 0), parts)
        pairs = [pairs.matrix.shape for one in self._orbits for pairs in one.pairs.values()]
        shape = [max(sizes) for sizes in zip(*pairs, strict=True)]
        begin, step = (np.empty(shape, WORD) for _ in range(2))
        lead = np.empty((*shape[:2], 64 * row), np.uint32)
        return work, kernels.SweepScratch(np.empty(row, WORD), begin, step, np.empty(shape[2], WORD), lead)

    # -- counting ------------------------------------------------------------------------------------

    def _line(self, count: int) -> Won:
        """Return what is won of a line: what was solved, and the boards with neighbouring tiles k."""
        afters, states, old = (self._won[count, i] for i in range(3))
        crowded = math.comb(self.game.cells, count) - sum(len(one) == count for one in self._all_apart())
        every, bare, after = self._fillings(self.game.cells - count)
        return Won(states + crowded * every, old + crowded * bare, afters + crowded * after)

    def _fillings(self, cells: int) -> tuple[int, int, int]:
        """Return the fillings of cells beside tiles k: all, without a spawned tile, with an empty cell."""
        k, fresh = self.k, self._fresh
        if fresh < 0:
            return k**cells, k**cells, k**cells - (k - 1) ** cells
        found = np.zeros(3, dtype=object)
        for tiles in combinations_with_replacement(range(k), cells) if cells >= k - fresh else ():
            # Ascending: before the i-th there are i lower or equal tiles.
            if all(e <= max(fresh, i + fresh) for i, e in enumerate(tiles)):
                ways = math.factorial(cells) // math.prod(map(math.factorial, Counter(tiles).values()))
                found += ways * np.array(
                    [1, not any(0 < e <= fresh for e in tiles), 0 in tiles], dtype=object
                )
        return found[0], found[1], found[2]


def do_work(job: tuple[Work, Array], spare: tuple[matrices.MatrixScratch, kernels.SweepScratch]) -> None:
    """Do the work of a placement for some sums of outer halves."""
    (_, _, kernel, args), sums = job
    kernel(sums, *args, spare[kernel is kernels.slide_sweep])


def _line_table(length: int, k: int) -> tuple[Array, Array, Array]:
    """Of each content of a line, by its number: what a slide makes, whether it is the goal, or a move."""
    before: Array = np.array(list(product(range(k + 1), repeat=length)), dtype=np.uint8)
    after: Array = np.array([merge_line(tuple(line), 0) for line in before.tolist()], dtype=np.uint8)
    return after, np.any(after > k, axis=1), np.any(after != before, axis=1)
