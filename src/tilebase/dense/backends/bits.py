"""The dense pass over Boolean values: one bit per board (`_kernels.bits`), shared out over threads.

Many times as fast as bytes, and an eighth as large, but in an order of its own: for passes in memory whose
values nobody keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import bits as kernels
from tilebase.dense.backends.protocol import DenseWork, Tell
from tilebase.dense.backends.threads import JobRunner
from tilebase.dense.index import PerfectIndex
from tilebase.dense.steps import Blocks, BlockStep, Source, Step
from tilebase.dense.tables import AllSpawns, DenseRules, Memory, half_counts
from tilebase.game.symmetry import symmetries
from tilebase.objectives.results import ChunkSummary
from tilebase.runtime.threads import Pool

Array = npt.NDArray[Any]

JOB_BOARDS = 1 << 22
"""Boards of a job at least, if there are so many; a matrix is not cut."""
LAYERS = 4
"""Sets of bits in memory at once: two of states, one of afterstates, one of wins by slides along columns."""
MATRICES = 4
"""Matrices in the scratch buffer of a thread."""
WORD = np.dtype(np.uint64)
WHOLE = Blocks()
NO_SUM = 1 << 40
"""What spawns add to a sum from which on nothing is spawned: then a kernel looks for no boards above."""
Job = Callable[[Array, kernels.Scratch], None]
"""A function that works some matrices of a step: those whose outer halves have the sums in an array."""


def _words(bits: Any) -> Any:
    return (bits + 63) >> 6


class Matrices:
    """Where the matrices of a layer begin: the boards whose outer halves have one sum.

    Attributes
    ----------
    units:
        The sum of the boards in units of 2, as all sums here.
    at:
        int64[h]: the first word of the matrix whose outer halves have the sum h; -1 if there is none.
    wide:
        int64[h]: the words of its rows.
    rows, columns, boards:
        int64[h]: the outer halves with the sum h, the inner halves that fit them, and the boards.
    size:
        Words of the layer.
    """

    def __init__(self, units: int, outer: Array, inner: Array) -> None:
        """Return `outer[h]` and `inner[h]`: how many halves of the board have the sum h."""
        self.units = units
        columns = np.zeros(len(outer), dtype=np.int64)
        first, last = max(0, units - len(inner) + 1), min(units + 1, len(outer))
        if first < last:
            columns[first:last] = inner[units - last + 1 : units - first + 1][::-1]
        self.wide = _words(columns)
        self.rows, self.columns = outer, columns
        self.boards = outer * columns
        sizes = outer * self.wide
        ends = np.cumsum(sizes)
        self.at = np.where(sizes > 0, ends - sizes, -1)
        self.size = int(ends[-1])

    def jobs(self) -> list[Array]:
        """Return the sums of outer halves, those with most boards first."""
        order = np.argsort(-self.boards, kind="stable")[: np.count_nonzero(self.boards)]
        before = np.cumsum(self.boards[order]) - self.boards[order]
        cuts = np.flatnonzero(np.diff(before // JOB_BOARDS)) + 1
        return [job for job in np.split(order, cuts) if len(job)]


@dataclass(frozen=True)
class Words:
    """What bits take.

    Attributes
    ----------
    layer:
        Words of the largest layer, on either side.
    matrix:
        Words of a matrix or a transposed one, at most.
    row:
        Words of a row, at most.
    """

    layer: int
    matrix: int
    row: int

    @classmethod
    def of(cls, index: PerfectIndex, sizes: dict[int, int]) -> Words:
        """For all layers of a game."""
        layer, matrix, row = 0, 0, 0
        for outer, inner in _counts(index):
            layer = max(layer, *(Matrices(index.units(total), outer, inner).size for total in sizes))
            rows, columns = int(outer.max()), int(inner.max())
            matrix = max(matrix, rows * _words(columns), columns * _words(rows))
            row = max(row, _words(rows), _words(columns))
        return cls(layer, matrix, row)

    @property
    def scratch_bytes(self) -> int:
        """Bytes that a thread works in."""
        return 8 * (MATRICES * self.matrix + 3 * self.row)


def _counts(index: PerfectIndex) -> list[tuple[Array, Array]]:
    """Return how many outer and inner halves have each sum: top and bottom, left and right."""
    a, b, c, d = index.parts
    return [(half_counts(a, b), half_counts(c, d)), (half_counts(a, c), half_counts(b, d))]


class BitLayer:
    """Which boards of a layer are won, as matrices by the top half, for as long as it is there."""

    _memory: Memory | None = None

    def __init__(self, total: int, blocks: Matrices, rules: DenseRules, memory: Memory) -> None:
        self._total, self.map, self._rules = total, blocks, rules
        self.words = memory.take()
        self._memory = memory

    def __del__(self) -> None:
        if self._memory is not None:
            self._memory.give(self.words)

    @property
    def data(self) -> Array:
        """What a file has of them."""
        return self.words[: self.map.size]

    @property
    def nbytes(self) -> int:
        """How many bytes `data` has."""
        return self.data.nbytes

    def buffer(self) -> Array:
        """Return the memory for the words, to be given to `load`."""
        return self.data

    def load(self, words: Array) -> None:
        """Take all words."""
        if words.base is not self.words:
            self.data[:] = words

    def fill(self, value: Any) -> None:
        """Give all boards one value; bits beyond the last board of a row are 0."""
        blocks = self.map
        for h in np.flatnonzero(blocks.at >= 0).tolist():
            rows, wide, rest = int(blocks.rows[h]), int(blocks.wide[h]), int(blocks.columns[h]) & 63
            matrix = self.words[blocks.at[h] : blocks.at[h] + rows * wide].reshape(rows, wide)
            matrix[:] = ~WORD.type(0) if value else 0
            if value and rest:
                matrix[:, -1] = (1 << rest) - 1

    @property
    def arrays(self) -> kernels.Matrices:
        """What kernels take of it."""
        return kernels.Matrices(self.words, self.map.at, self.map.wide)

    def value(self, rank: int) -> int:
        """Return whether one board is won."""
        index, (top, bottom) = self._rules.index, self._rules.rows
        board = index.unrank(self._total, rank)
        (a, ia), (b, ib), (c, ic), (d, id_) = (part.position(board) for part in index.parts)
        row = int(top.firsts[a, b]) + ia * int(top.second.counts[b]) + ib
        column = int(bottom.firsts[c, d]) + ic * int(bottom.second.counts[d]) + id_
        h = int(top.first.sums[a] + top.second.sums[b])
        row -= int(top.begins[h])
        column -= int(bottom.begins[self.map.units - h])
        word = self.words[self.map.at[h] + row * self.map.wide[h] + (column >> 6)]
        return int(word) >> (column & 63) & 1

    def summary(self) -> ChunkSummary:
        """Return what is to be known of the values."""
        won, boards = int(kernels.count_ones(self.data)), int(self.map.boards.sum())
        return float(won == boards), float(won > 0), float(won), won, boards - won


class Bits:
    """The steps of the pass for Boolean values: a `backends.protocol.Backend`.

    Columns come before rows: they write the layer of states as matrices by the left half, which rows then
    replace by the states.
    """

    layout, dtype = "bits", WORD
    steps = (Step.FOLD, Step.COLUMNS, Step.ROWS)

    def __init__(self, rules: DenseRules, pool: Pool, words: Words) -> None:
        self._rules = rules
        self._exponents = sorted(rules.game.spawn_exponents, reverse=True)
        self._counts = _counts(rules.index)
        self._alike = _are_alike(rules.index)
        self._memory = Memory(WORD, words.layer + 1)  # a run of bits may be read with the word behind it
        self._runner = JobRunner(pool, [_scratch(words, rules.index) for _ in range(pool.threads)])
        for half in (*rules.rows, *rules.columns):
            kernels.number_targets(half)

    def layer(self, source: Source) -> BitLayer:
        """Return the memory for a whole layer."""
        assert source.blocks == WHOLE, "matrices of bits are not cut"
        blocks = Matrices(self._rules.index.units(source.total), *self._counts[0])
        return BitLayer(source.total, blocks, self._rules, self._memory)

    def do(
        self, step: BlockStep, reads: Sequence[BitLayer], writes: BitLayer, work: DenseWork, tell: Tell
    ) -> None:
        """Do a step, which is a whole layer."""
        units = self._rules.index.units(step.total)
        columns = Matrices(units, *self._counts[1])
        blocks = columns if step.kind is Step.COLUMNS else writes.map
        if step.kind is Step.FOLD:
            do = self._fold(step, reads, writes)
        else:
            (afters,) = reads
            by_left = kernels.Matrices(writes.words, columns.at, columns.wide)
            slide = self._columns if step.kind is Step.COLUMNS else self._rows
            do = slide(units, afters.arrays, by_left)
        self._runner.run(step.kind.value, do, blocks.jobs(), work, tell)
        if step.kind is Step.ROWS:  # the states were written where the afterstates had been
            (afters,) = reads
            afters.words, writes.words = writes.words, afters.words

    def _fold(self, step: BlockStep, states: Sequence[BitLayer], afters: BitLayer) -> Job:
        """Afterstates: won if all spawns are."""
        rules, units = self._rules, self._rules.index.units(step.total)
        (a, b, c, d), spawns = rules.folding_at(step.total)
        outer, inner = (
            rules.rows.outer._replace(first=a, second=b),
            rules.rows.inner._replace(first=c, second=d),
        )
        out, patterns = afters.arrays, len(rules.game.patterns)
        if states:
            ups = tuple(
                _above(spawns[e], 1 << (e - 1), layer)
                for e, layer in zip(self._exponents, states, strict=True)
            )
        else:  # no sum is so large
            ups = tuple(_above(spawns[e], NO_SUM, afters) for e in self._exponents)

        def do(job: Array, scratch: kernels.Scratch) -> None:
            kernels.fold_spawns(job, units, outer, inner, patterns, ups, out, scratch)

        return do

    def _columns(self, units: int, afters: kernels.Matrices, by_left: kernels.Matrices) -> Job:
        """Return the states that are won by a slide along columns, by the left half."""
        (top, bottom), (left, right) = self._rules.rows, self._rules.columns

        def along_columns(job: Array, scratch: kernels.Scratch) -> None:
            kernels.slide_columns(job, units, left, right, top, bottom, afters, by_left, scratch)

        def alike(job: Array, scratch: kernels.Scratch) -> None:
            kernels.slide_alike(job, units, top, bottom, afters, by_left, scratch)

        return alike if self._alike else along_columns

    def _rows(self, units: int, layer: kernels.Matrices, by_left: kernels.Matrices) -> Job:
        """Return all states that are won, written over the afterstates."""
        (top, bottom), (left, right) = self._rules.rows, self._rules.columns

        def along_rows(job: Array, scratch: kernels.Scratch) -> None:
            kernels.slide_rows(job, units, top, bottom, left, right, by_left, layer, scratch)

        def join(job: Array, scratch: kernels.Scratch) -> None:
            kernels.join_alike(job, units, top, bottom, by_left, layer, scratch)

        return join if self._alike else along_rows


def _above(spawns: AllSpawns, units: int, states: BitLayer) -> kernels.Above:
    a, b, c, d = spawns
    return kernels.Above(units, (a, b), (c, d), states.arrays)


def _are_alike(index: PerfectIndex) -> bool:
    """Return whether to exchange B and C, cell by cell, is a symmetry of the game."""
    a, b, c, d = (part.cells for part in index.parts)
    images = dict(zip(a + b + c + d, a + c + b + d, strict=False))
    return len(b) == len(c) and tuple(images[cell] for cell in sorted(images)) in symmetries(index.game)


def _scratch(words: Words, index: PerfectIndex) -> kernels.Scratch:
    """Return what a thread works in."""
    transposed, taken, back, other = (np.empty(words.matrix + 1, dtype=WORD) for _ in range(MATRICES))
    first_row, second_row, third_row = (np.empty(words.row, dtype=WORD) for _ in range(3))
    square = np.empty(64 * kernels.LANES, dtype=WORD)
    runs = np.empty((max(len(part.sums) for part in index.parts), 5), dtype=np.int64)
    return kernels.Scratch(transposed, taken, back, other, first_row, second_row, third_row, square, runs)
