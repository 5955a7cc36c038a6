"""The steps of the dense pass over truths: a bit a board (`_kernels.bits`), shared out over threads.

Many times as fast as bytes, and an eighth as large, but in an order of its own: for passes in memory whose
values nobody keeps.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import bits as kernels
from tilebase.dense.executors.threads import DenseWork, Sharing, Tell
from tilebase.dense.index import PerfectIndex
from tilebase.dense.tables import DenseRules, Half, Memory, half_counts
from tilebase.game.symmetry import symmetries
from tilebase.objectives.results import Piece

Array = npt.NDArray[Any]

JOB_BOARDS = 1 << 22
"""Boards of a job at least, if there are so many; a matrix is not cut."""
LAYERS = 4
"""In memory at once: two of states, afterstates, and what slides along columns win."""
ROOM = 4
"""Matrices that a thread works in."""
WORD = np.dtype(np.uint64)


def _words(bits: Any) -> Any:
    return (bits + 63) >> 6


class Matrices:
    """Where the matrices of a layer begin: the boards whose outer halves have one sum.

    Attributes
    ----------
    half:
        Half the sum of the boards.
    at:
        int64[h]: the first word of the matrix whose outer halves have the half sum h; -1 if there is none.
    wide:
        int64[h]: the words of its rows.
    boards:
        int64[h]: its boards.
    size:
        Words of the layer.
    """

    def __init__(self, half: int, outer: Array, inner: Array) -> None:
        """`outer[h]` and `inner[h]`: how many halves of the board have the half sum h."""
        self.half = half
        columns = np.zeros(len(outer), dtype=np.int64)
        first, last = max(0, half - len(inner) + 1), min(half + 1, len(outer))
        if first < last:
            columns[first:last] = inner[half - last + 1 : half - first + 1][::-1]
        self.wide = _words(columns)
        self.boards = outer * columns
        sizes = outer * self.wide
        ends = np.cumsum(sizes)
        self.at = np.where(sizes > 0, ends - sizes, -1)
        self.size = int(ends[-1])

    def jobs(self) -> list[Array]:
        """Half sums of outer halves, those with most boards first."""
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
        Words of a matrix or a turned one, at most.
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
            layer = max(layer, *(Matrices(total >> 1, outer, inner).size for total in sizes))
            rows, columns = int(outer.max()), int(inner.max())
            matrix = max(matrix, rows * _words(columns), columns * _words(rows))
            row = max(row, _words(rows), _words(columns))
        return cls(layer, matrix, row)

    @property
    def room_bytes(self) -> int:
        """Bytes that a thread works in."""
        return 8 * (ROOM * self.matrix + 2 * self.row)


def _counts(index: PerfectIndex) -> list[tuple[Array, Array]]:
    """How many outer and inner halves have each half sum: top and bottom, left and right."""
    a, b, c, d = index.parts
    return [(half_counts(a, b), half_counts(c, d)), (half_counts(a, c), half_counts(b, d))]


class BitLayer:
    """Which boards of a layer are won, as matrices by the top half, for as long as it is there."""

    _memory: Memory | None = None

    def __init__(self, blocks: Matrices, rules: DenseRules, memory: Memory) -> None:
        self.map, self._rules = blocks, rules
        self.words = memory.take()
        self._memory = memory

    def __del__(self) -> None:
        if self._memory is not None:
            self._memory.give(self.words)

    @property
    def data(self) -> Array:
        """What a file has of them."""
        return self.words[: self.map.size]

    def buffer(self) -> Array:
        """Memory for the words, to be given to `load`."""
        return self.data

    def load(self, words: Array) -> None:
        """Take all words."""
        if words.base is not self.words:
            self.data[:] = words

    def value(self, rank: int) -> int:
        """Whether one board is won."""
        index = self._rules.index
        board = index.unrank(2 * self.map.half, rank)
        (a, ia), (b, ib), (c, ic), (d, id_) = (part.place(board) for part in index.parts)
        top, bottom = self._rules.top, self._rules.bottom
        row = int(top.firsts[a, b]) + ia * int(top.second.counts[b]) + ib
        column = int(bottom.firsts[c, d]) + ic * int(bottom.second.counts[d]) + id_
        h = int(top.first.sums[a] + top.second.sums[b])
        row -= int(top.begins[h])
        column -= int(bottom.begins[self.map.half - h])
        word = self.words[self.map.at[h] + row * self.map.wide[h] + (column >> 6)]
        return int(word) >> (column & 63) & 1

    def summary(self) -> Piece:
        """What is to be known of the values."""
        won, boards = int(kernels.count_ones(self.data)), int(self.map.boards.sum())
        return float(won == boards), float(won > 0), float(won), won, boards - won


class Bits:
    """The steps of the pass: what `dense.executors.threads.Threads` is for values."""

    layout, dtype = "bits", WORD

    def __init__(self, rules: DenseRules, pool: ThreadPoolExecutor, threads: int, words: Words) -> None:
        self.rules = rules
        self._exponents = sorted(rules.game.spawn_exponents)
        self._counts = _counts(rules.index)
        self._alike = _are_alike(rules.index)
        self._sides = tuple((self._half(outer), self._half(inner)) for _, outer, inner in rules.sides)
        self._memory = Memory(WORD, words.layer + 1)  # a run of bits may be read with the word behind it
        self._sharing = Sharing(pool, [_room(words, rules.index) for _ in range(threads)])
        for half in {id(half): half for side in self._sides for half in side}.values():
            for h in range(len(half[3]) - 1):
                kernels.number_targets(half, h)

    def _half(self, half: Half) -> tuple[Any, ...]:
        """A half as the kernels take it."""
        parts, all_parts = self.rules.parts, self.rules.index.parts
        first, second = (parts[all_parts.index(part)] for part in (half.first, half.second))
        return first, second, half.firsts, half.begins, half.table

    def close(self) -> None:
        """Stop after the jobs now running."""
        self._sharing.stop()

    def map(self, total: int) -> Matrices:
        """Where the boards of a sum are."""
        return Matrices(total >> 1, *self._counts[0])

    def layer(self, blocks: Matrices) -> BitLayer:
        """Room for a layer."""
        return BitLayer(blocks, self.rules, self._memory)

    def fold(
        self, _sizes: None, above: dict[int, BitLayer], here: BitLayer, work: DenseWork, tell: Tell
    ) -> None:
        """Afterstates: won if all spawns are."""
        (outer, inner), spawns = self._sides[0], self.rules.spawns
        ups = tuple((above[e].words, above[e].map.at) for e in self._exponents)
        tops = tuple(spawns[e][:2] for e in self._exponents)
        bottoms = tuple(spawns[e][2:] for e in self._exponents)
        steps = tuple(1 << (e - 1) for e in self._exponents)
        out, patterns = (here.words, here.map.at, here.map.wide), len(self.rules.game.patterns)

        def do(job: Array, room: Any) -> None:
            kernels.fold_spawns(
                job, here.map.half, outer, inner, tops, bottoms, steps, patterns, ups, out, *room[:2]
            )

        self._sharing.run("fold", do, here.map.jobs(), work, tell)

    def slide(
        self, step: int, _sizes: None, afters: BitLayer, states: BitLayer, work: DenseWork, tell: Tell
    ) -> None:
        """States: won if a slide is.  First those won along columns (0), by the left half, then all (1).

        The states take the place of the afterstates, whose memory then is that of the states.
        """
        half, (top, bottom), (left, right) = afters.map.half, *self._sides
        columns = Matrices(half, *self._counts[1])
        here = (afters.words, afters.map.at, afters.map.wide)
        there = (states.words, columns.at, columns.wide)

        def along_columns(job: Array, room: Any) -> None:
            kernels.slide_columns(job, half, left, right, top, bottom, here, there, *room)

        def along_rows(job: Array, room: Any) -> None:
            kernels.slide_rows(job, half, top, bottom, left, right, there, here, *room)

        def alike(job: Array, room: Any) -> None:
            kernels.slide_alike(job, half, top, bottom, here, there, *room[:2])

        def join(job: Array, room: Any) -> None:
            kernels.join_alike(job, half, top, bottom, there, here, room[0], room[2])

        if step == 0:
            self._sharing.run("columns", alike if self._alike else along_columns, columns.jobs(), work, tell)
        else:
            self._sharing.run("rows", join if self._alike else along_rows, afters.map.jobs(), work, tell)
            afters.words, states.words = states.words, afters.words


def _are_alike(index: PerfectIndex) -> bool:
    """Whether to exchange B and C, cell by cell, is a symmetry of the game."""
    a, b, c, d = (part.cells for part in index.parts)
    images = dict(zip(a + b + c + d, a + c + b + d, strict=False))
    return len(b) == len(c) and tuple(images[cell] for cell in sorted(images)) in symmetries(index.game)


def _room(words: Words, index: PerfectIndex) -> tuple[tuple[Array, ...], Array, Array]:
    """Matrices and rows, a square of words, and what is known of a row's runs."""
    matrices = [np.empty(words.matrix + 1, dtype=WORD) for _ in range(ROOM)]
    rows = [np.empty(words.row, dtype=WORD) for _ in range(2)]
    runs = np.empty((max(len(part.sums) for part in index.parts), 5), dtype=np.int64)
    return (*matrices, *rows), np.empty(64 * kernels.LANES, dtype=WORD), runs
