"""The work of a layer as pieces that are plain values, and how a layer is cut into them.

A piece says which step is to be done for which blocks of boards, which blocks of which layers it reads, and
where it writes.  It holds no memory and no files: an executor (`dense.executors.protocol`) does it in this
process, and could in another one that sees the same files.

A layer in memory is one piece for each step.  One that does not fit is cut into *batches*: ranges of sums of
the top half for fold and rows, of the left half for columns.  The afterstates of a batch are in memory
together; a batch is worked in pieces, ranges of the other half's sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tilebase.dense.index import PerfectIndex
from tilebase.errors import ResourceError
from tilebase.game.game import Game

Array = npt.NDArray[Any]


class Step(StrEnum):
    """What is done to a layer; `dense.passes` has the definitions."""

    FOLD = "fold"
    ROWS = "rows"
    COLUMNS = "columns"


SHARES = {Step.FOLD: 0.5, Step.ROWS: 0.25, Step.COLUMNS: 0.25}
"""The estimated share of each step in the work of a layer."""


class Range(NamedTuple):
    """Sums of a half of the board in units of 2, from the first up to but not including the second."""

    begin: int
    end: int


ALL = Range(0, 1 << 62)


class Blocks(NamedTuple):
    """The blocks whose halves have sums within two ranges."""

    tops: Range = ALL
    lefts: Range = ALL


class Source(NamedTuple):
    """Blocks of a layer that are read or written.

    With `spawn` they are those that a spawn leads to from `blocks`, if it adds so much, in units of 2, to the
    sums of one or both halves.
    """

    layer: Literal["states", "afterstates"]
    total: int
    blocks: Blocks = Blocks()
    spawn: int = 0

    def mask(self, index: PerfectIndex) -> Array | None:
        """Which blocks these are, in the order of ranks; None if all of them are meant."""
        tops, lefts = self.blocks
        if tops == lefts == ALL:
            return None
        rows, columns = within(index.top, tops), within(index.left, lefts)
        if self.spawn:
            rows |= within(index.top - self.spawn, tops)
            columns |= within(index.left - self.spawn, lefts)
        both: Array = rows & columns
        return both


@dataclass(frozen=True)
class Piece:
    """A step for some blocks of a layer.

    Attributes
    ----------
    step:
        What is done.
    total:
        The sum of the boards.
    batch:
        The blocks whose afterstates are in memory together; the piece works some of them.
    reads:
        Fold: the states that spawns lead to, the largest spawn first; none from the horizon on.  Rows,
        columns: the afterstates.
    writes:
        Fold: afterstates.  Rows, columns: states; the second of these two steps improves what is there.
    share:
        How much of the layer's work this is, from 0 to 1.
    """

    step: Step
    total: int
    batch: Blocks
    reads: tuple[Source, ...]
    writes: Source
    share: float


def spawned(game: Game, total: int) -> tuple[int, ...]:
    """The exponents that are spawned on afterstates of a sum."""
    return () if game.ended(total) else game.spawn_exponents


def whole_pieces(steps: Sequence[Step], exponents: Sequence[int], total: int) -> Iterator[Piece]:
    """The pieces of a layer that is in memory: one for each step, in the order of an executor."""
    for step in steps:
        yield _piece(step, exponents, total, Blocks(), Blocks(), SHARES[step])


def _piece(
    step: Step, exponents: Sequence[int], total: int, batch: Blocks, blocks: Blocks, share: float
) -> Piece:
    if step is Step.FOLD:
        largest_first = sorted(exponents, reverse=True)
        above = tuple(Source("states", total + 2**e, blocks, 1 << (e - 1)) for e in largest_first)
        return Piece(step, total, batch, above, Source("afterstates", total, blocks), share)
    afters = Source("afterstates", total, batch)
    return Piece(step, total, batch, (afters,), Source("states", total, blocks), share)


class Cut:
    """How a layer is cut into batches that fit into memory.

    `boards` are as many as fit, each with one value.  Raises `ResourceError`, which says how many bytes of
    the `memory` are missing, if one batch or piece has more.

    Attributes
    ----------
    tops:
        The batches for fold and rows: ranges of the top half's sum.
    lefts:
        The batches for columns: ranges of the left half's sum.
    """

    def __init__(
        self, index: PerfectIndex, total: int, *, boards: int, value_bytes: float, memory: int
    ) -> None:
        self._index, self._total, self._boards = index, total, boards
        self._value_bytes, self._memory = value_bytes, memory
        self._sizes = index.block_sizes(total)
        self._exponents = spawned(index.game, total)
        self._above = [index.block_sizes(total + 2**e) for e in self._exponents]
        self.tops = self._ranges(_by(index.top, self._sizes), boards // 2)
        self.lefts = self._ranges(_by(index.left, self._sizes), boards // 2)
        self._lefts_of = {top: self._within_top(top) for top in self.tops}

    @property
    def batches(self) -> int:
        """How many there are of the steps that have most."""
        return max(len(self.tops), len(self.lefts))

    def pieces(self) -> Iterator[Piece]:
        """All pieces of the layer, in the order in which they are to be done."""
        for top in self.tops:
            for step in (Step.FOLD, Step.ROWS):
                for left in self._lefts_of[top]:
                    yield self._piece(step, Blocks(tops=top), Blocks(top, left))
        for left in self.lefts:
            for top in self._within_left(left):
                yield self._piece(Step.COLUMNS, Blocks(lefts=left), Blocks(top, left))

    def _piece(self, step: Step, batch: Blocks, blocks: Blocks) -> Piece:
        mask = within(self._index.top, blocks.tops) & within(self._index.left, blocks.lefts)
        share = SHARES[step] * float(self._sizes[mask].sum()) / int(self._sizes.sum())
        return _piece(step, self._exponents, self._total, batch, blocks, share)

    def _within_top(self, top: Range) -> list[Range]:
        """The pieces of a batch for fold and rows: ranges of the left half's sum."""
        index = self._index
        rows = within(index.top, top)
        # In memory: a piece of afterstates and later of states, and the near part of each layer above.
        need = 2 * _by(index.left, np.where(rows, self._sizes, 0))
        for e, sizes in zip(self._exponents, self._above, strict=True):
            step = 1 << (e - 1)
            near = _by(index.left, np.where(rows | within(index.top - step, top), sizes, 0))
            need = need + near
            need[:-step] += near[step:]
        return self._ranges(need, self._boards - self._boards // 2)

    def _within_left(self, left: Range) -> list[Range]:
        """The pieces of a batch for columns: ranges of the top half's sum."""
        columns = within(self._index.left, left)
        need = _by(self._index.top, np.where(columns, self._sizes, 0))
        return self._ranges(need, self._boards - self._boards // 2)

    def _ranges(self, need: Array, boards: int) -> list[Range]:
        most = int(need.max(initial=0))
        if most > boards:
            short = 2 * int((most - boards) * self._value_bytes)
            raise ResourceError(
                f"one batch of the layer of sum {self._total} needs about {short / 2**30:.2g} GiB more than "
                f"{self._memory / 2**30:.3g} GiB: give more memory, a smaller type of value, or lower "
                "limits"
            )
        ranges, begin, gathered = [], 0, 0
        for units, some in enumerate(need.tolist()):
            if gathered + some > boards:
                ranges.append(Range(begin, units))
                begin, gathered = units, 0
            gathered += some
        return [*ranges, Range(begin, len(need))]


def within(sums: Array, bounds: Range) -> Array:
    """Which sums lie in a range."""
    inside: Array = (sums >= bounds.begin) & (sums < bounds.end)
    return inside


def _by(sums: Array, sizes: Array) -> Array:
    """Boards by the sum of a half in units of 2."""
    return np.bincount(sums, weights=sizes).astype(np.int64)
