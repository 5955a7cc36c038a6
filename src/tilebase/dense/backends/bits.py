"""The dense pass over Boolean values: one bit per board (`_kernels.bits`), shared out over threads.

Many times as fast as bytes, and an eighth as large, but in an order of its own: for passes whose values
nobody keeps.  Layers are in memory, or all but one are in files and read in windows (`dense.workspace`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import bits as kernels
from tilebase._kernels import matrices, vectors
from tilebase._kernels.packed import packed
from tilebase.dense.backends.protocol import Tell
from tilebase.dense.backends.threads import packed_spawns
from tilebase.dense.index import NO_FILLING, Part
from tilebase.dense.layers import Memory
from tilebase.dense.sizes import LISTS, MATRICES, Matrices, Words, half_window, outer_and_inner
from tilebase.dense.steps import Blocks, BlockStep, Range, Source, Step, spawned
from tilebase.dense.tables import AllSpawns, DenseRules, Side, classes_of, weights_of
from tilebase.errors import CorruptError
from tilebase.game.game import Cells
from tilebase.objectives.results import ChunkSummary
from tilebase.runtime.threads import Pool

Array = npt.NDArray[Any]

WORD = np.dtype(np.uint64)
NO_SUM = 1 << 40
"""What spawns add to a sum from which on nothing is spawned: then a kernel looks for no boards above."""
Job = Callable[[Array, matrices.MatrixScratch], None]
"""A function that works some matrices of a step: those whose outer halves have the sums in an array."""


def job_of(kernel: Callable[..., None], *arguments: Any) -> Job:
    """Return what calls a kernel with the sums of some matrices, these arguments, and a scratch buffer."""
    return lambda sums, scratch: kernel(sums, *arguments, scratch)


class BitLayer:
    """Which boards of a layer or a window of it are won, for as long as it is there.

    `value`, `held` and `summary` are those of a whole layer, by the top half.
    """

    _memory: Memory | None = None

    def __init__(self, total: int, blocks: Matrices, bits: Bits, memory: Memory) -> None:
        self.total, self.map, self._bits = total, blocks, bits
        self.words = memory.take()
        self._memory = memory

    def __del__(self) -> None:
        if self._memory is not None:
            self._memory.give(self.words)

    @property
    def data(self) -> Array:
        return self.words[: self.map.size]

    @property
    def nbytes(self) -> int:
        return self.data.nbytes

    def load(self, values: Array) -> None:
        if not np.may_share_memory(values, self.words):
            self.data[:] = values

    def fill(self, value: Any) -> None:
        # Bits beyond the last board of a row are 0.
        blocks = self.map
        self.data[:] = 0
        for h, k in np.argwhere(blocks.at >= 0).tolist() if value else ():
            rows, wide, rest = int(blocks.rows[h, k]), int(blocks.wide[h, k]), int(blocks.columns[h, k]) & 63
            matrix = self.words[blocks.at[h, k] : blocks.at[h, k] + rows * wide].reshape(rows, wide)
            matrix[:] = ~WORD.type(0)
            if rest:
                matrix[:, -1] = (1 << rest) - 1

    @property
    def arrays(self) -> matrices.Matrices:
        """What kernels take of it."""
        return packed(matrices.Matrices(self.words, self.map.at, self.map.wide))

    def value(self, where: Cells) -> int:
        word, bit = self._bits.place(self.map, where)
        return int(self.words[word]) >> bit & 1

    def held(self, boards: Array) -> Array:
        """Return which boards of its sum, ``boards[n, cell]`` of exponents, are won."""
        found = self._bits.places(self.map, boards)
        return self.words[found >> 6] >> (found & 63) & 1 > 0

    def summary(self) -> ChunkSummary:
        won, boards = self._bits.count(self), self._bits.sizes[self.total]
        return float(won == boards), float(won > 0), float(won), won, boards - won


class Bits:
    """The steps of the pass for Boolean values: a `backends.protocol.Backend`.

    Columns come before rows: they write the layer of states as matrices by the left half, which rows then
    replace by the states.  The parts of the index have their fillings in the order of their images
    (`PerfectIndex.mirrored`).
    """

    layout, dtype, onward = "bits", WORD, False
    steps = (Step.FOLD, Step.COLUMNS, Step.ROWS)

    def __init__(self, rules: DenseRules, pool: Pool, words: Words, window: int = 0) -> None:
        self._rules, self.sizes = rules, rules.index.sizes(won=True)
        self._exponents = sorted(rules.game.spawn_exponents, reverse=True)
        self._top, self._left = outer_and_inner(rules.index)
        self._mirrors = [
            packed(matrices.Mirrors(one.halves, one.parts, one.more)) for one in (self._top, self._left)
        ]
        self._matrices = lru_cache(maxsize=8)(Matrices)  # for all steps of a layer
        self._memory = Memory(WORD, words.layer + 1)  # a run of bits may be read with the word behind it
        self._window, self._windows = window, Memory(WORD, window + 1)
        parts = rules.index.parts
        self._scratch = [scratch(words, parts, onward=self.onward) for _ in range(pool.threads)]
        self._pool = pool
        # Packed: that compiles faster.  Spawns read the halves class by class, where it would cost a third.
        self._halves, self._across = (Side(*map(packed, side)) for side in (rules.rows, rules.columns))
        a, b, c, d = rules.ended.parts
        top, bottom = rules.rows
        self._folded = rules.rows, Side(top._replace(first=a, second=b), bottom._replace(first=c, second=d))
        self._spawns = packed_spawns(rules.folding.spawns), packed_spawns(rules.ended.spawns)
        for half in (*self._halves, *self._across):
            kernels.number_targets(half)

    def layer(self, source: Source) -> BitLayer:
        assert source.blocks == Blocks(), "a window of bits is cut by `Matrices.window`"
        return BitLayer(source.total, self.by_top(source.total), self, self._memory)

    def words(self, *, two: bool) -> int:
        """Return the most words of a window, or of one of `two`."""
        return half_window(self._window) if two else self._window

    @contextmanager
    def windows(self, *, two: bool) -> Iterator[Memory]:
        """Give the memory for `BitLayer` of a window, or the same as that of `two`."""
        if not two:
            yield self._windows
            return
        buffer, size = self._windows.take(), self.words(two=True) + 1
        memory = Memory(WORD, size)
        memory.give(buffer[size:])
        memory.give(buffer[:size])
        try:
            yield memory
        finally:
            self._windows.give(buffer)

    def exponents(self, total: int) -> list[int]:
        """Return the exponents whose spawns afterstates of a sum are folded from, the largest first."""
        return sorted(spawned(self._rules.game, total), reverse=True)

    def by_top(self, total: int) -> Matrices:
        """Return where the matrices of a layer begin, as states and afterstates lie."""
        return self._matrices(self._rules.index.units(total), self._top)

    def by_left(self, total: int) -> Matrices:
        """Return the same by the left half, as slides along columns want it."""
        return self._matrices(self._rules.index.units(total), self._left)

    @cached_property
    def _fillings(self) -> matrices.Fillings:
        """The fillings of the parts, as boards are found by them."""
        parts, rows = self._rules.index.parts, []
        weights = weights_of(*parts)
        weights[weights < 0] = matrices.NO_ROW  # no board of a layer holds what is illegal or wins
        for part in parts:
            (known,) = np.nonzero(part.index_of != NO_FILLING)
            filling = part.index_of[known].astype(np.int64)
            classes = classes_of(part).astype(np.int64)[filling]
            found = np.full((3, len(part.index_of)), matrices.NO_ROW)
            found[:, known] = classes, filling - part.starts[classes], part.sums[classes]
            rows.append(found)
        begins = np.cumsum([0, *(found.shape[1] for found in rows)])
        return matrices.Fillings(
            np.concatenate([np.array(part.cells, dtype=np.int64) for part in parts]),
            np.cumsum([len(part.cells) for part in parts]), begins[:-1], weights,
            *np.concatenate(rows, axis=1),
        )  # fmt: skip

    def places(self, blocks: Matrices, boards: Array) -> Array:
        """Return the bits of a layer by the top half for boards, ``boards[n, cell]``, or their images.

        Raises `CorruptError` if they are not of the game and the layer.
        """
        (top, bottom), mirrors, found = self._halves, self._mirrors[0], np.empty(len(boards), dtype=WORD)
        wrong = matrices.find_bits(
            boards, blocks.units, self._fillings, mirrors, top, bottom, blocks.at, blocks.wide, found
        )
        if wrong:
            raise CorruptError(f"a layer has {wrong:,} boards of another sum, or not of {self._rules.game}")
        return found

    def place(self, blocks: Matrices, board: Cells) -> tuple[int, int]:
        """Return the word and the bit of a board.  Raises `BoardError` if the layer has no such board."""
        for part in self._rules.index.parts:
            part.position(board)
        (found,) = self.places(blocks, np.array([board], dtype=np.uint8)).tolist()
        return found >> 6, found & 63

    def count(self, layer: BitLayer) -> int:
        """Return how many boards of a whole layer of afterstates are won."""
        (top, bottom), mirrors = self._halves, self._mirrors[0]
        units, words, sums = layer.map.units, layer.arrays, np.flatnonzero(layer.map.boards)

        def count(thread: int) -> int:
            mine = sums[thread :: len(self._scratch)]
            return int(kernels.count_won(mine, units, top, bottom, mirrors, words, self._scratch[thread]))

        return sum(self._pool.map(count, range(len(self._scratch))))

    def do(self, step: BlockStep, reads: Sequence[BitLayer], writes: BitLayer, tell: Tell) -> None:
        units = self._rules.index.units(step.total)
        columns = self.by_left(step.total)
        blocks = columns if step.kind is Step.COLUMNS else writes.map
        if step.kind is Step.FOLD:
            do = self._fold(step.total, dict(zip(self._exponents, reads, strict=False)), writes)
        else:
            (afters,) = reads
            by_left = packed(matrices.Matrices(writes.words, columns.at, columns.wide))
            slide = self._columns if step.kind is Step.COLUMNS else self._rows
            do = slide(units, afters.arrays, by_left)
        self._pool.share_out(do, blocks.jobs(), self._scratch, tell)
        if step.kind is Step.ROWS:  # the states were written where the afterstates had been
            (afters,) = reads
            afters.words, writes.words = writes.words, afters.words

    def fold_window(self, states: dict[int, BitLayer], sums: Range, afters: BitLayer, tell: Tell) -> None:
        """Fold spawns of one exponent, or of none, on the afterstates whose top halves have some sums.

        Its states are a window with these sums and those that the spawns lead to.  The largest exponent comes
        first.
        """
        do = self._fold(afters.total, states, afters)
        self._pool.share_out(do, afters.map.window(sums).jobs(), self._scratch, tell)

    def slide_window(self, afters: BitLayer, won: BitLayer, tell: Tell) -> None:
        """Write to a window by the left half which of its states some slide along columns wins."""
        do = self._columns(afters.map.units, afters.arrays, won.arrays)
        self._pool.share_out(do, won.map.jobs(), self._scratch, tell)

    def slide_rows(self, afters: BitLayer, won: BitLayer, tell: Tell) -> None:
        """Replace afterstates by the states that slides along rows win, or columns, in a window of `won`."""
        do = self._rows(afters.map.units, afters.arrays, won.arrays)
        self._pool.share_out(do, afters.map.jobs(), self._scratch, tell)

    def add_window(self, states: BitLayer, won: BitLayer, tell: Tell) -> None:
        """Add to the states those that slides along columns win, in another window."""
        (top, bottom), (_, right), mirrors = self._halves, self._across, self._mirrors[0]
        units, layer, by_left = states.map.units, states.arrays, won.arrays
        join = job_of(kernels.join_columns, units, top, bottom, right, mirrors, by_left, layer)
        self._pool.share_out(join, states.map.jobs(), self._scratch, tell)

    def _fold(self, total: int, states: dict[int, BitLayer], afters: BitLayer) -> Job:
        """Afterstates: won if all spawns are, and those of the exponents above if any are missing.

        No `states` mean that no sum is so large.
        """
        rules, units = self._rules, self._rules.index.units(total)
        ended = rules.game.ended(total)
        (outer, inner), spawns = self._folded[ended], self._spawns[ended]
        out, patterns, mirrors = afters.arrays, rules.patterns, self._mirrors[0]
        ups = paired(
            successors(spawns[e], 1 << (e - 1), states[e])
            if e in states
            else successors(spawns[e], NO_SUM, afters)
            for e in self._exponents
        )
        first, last = (not states or e in states for e in (self._exponents[0], self._exponents[-1]))
        return job_of(kernels.fold_spawns, units, outer, inner, mirrors, patterns, ups, first, last, out)

    def _columns(self, units: int, afters: matrices.Matrices, by_left: matrices.Matrices) -> Job:
        """Return the states that are won by a slide along columns, by the left half."""
        (left, right), bottom, mirrors = self._across, self._halves.inner, self._mirrors[1]
        return job_of(kernels.slide_columns, units, left, right, bottom, mirrors, afters, by_left)

    def _rows(self, units: int, layer: matrices.Matrices, by_left: matrices.Matrices) -> Job:
        """Return all states that are won, written over the afterstates."""
        (top, bottom), right, mirrors = self._halves, self._across.inner, self._mirrors[0]
        return job_of(kernels.slide_rows, units, top, bottom, right, mirrors, by_left, layer)


def paired(ups: Iterable[kernels.Successors]) -> tuple[kernels.Successors, ...]:
    """Return two also in games of one exponent, for which kernels are then not compiled again."""
    found = tuple(ups)
    return found if len(found) > 1 else (*found, found[0]._replace(units=NO_SUM))


def successors(spawns: AllSpawns, units: int, states: BitLayer) -> kernels.Successors:
    """Return a layer to which spawns of an exponent lead, as kernels take it."""
    a, b, c, d = spawns
    return kernels.Successors(units, (a, b), (c, d), states.arrays)


def scratch(words: Words, parts: Sequence[Part], *, onward: bool = False) -> matrices.MatrixScratch:
    """Return what a thread works in; `onward`, from small sums to large ones, it takes a matrix more."""
    work = (np.empty(words.matrix + 1, dtype=WORD) for _ in range(MATRICES))
    spare = words.matrix + 1 if onward else 0
    rows = (np.empty(size, dtype=WORD) for size in (words.back, spare, *3 * [words.row]))
    square = np.empty(64 * vectors.LANES, dtype=WORD)
    runs = np.empty((max(len(part.sums) for part in parts), 5), dtype=np.int64)
    lists = (np.empty(words.halves, dtype=np.int64) for _ in range(LISTS))
    return packed(matrices.MatrixScratch._make([*work, *rows, square, runs, *lists]))
