"""The steps of a layer as plain values, and how they are cut so that memory suffices.

A `BlockStep` says which step is to be done for which blocks of boards, which blocks of which layers it
reads, and where it writes.  It holds no memory and no files: a backend (`dense.backends.protocol`) does it.

A layer in memory takes one of them for each step.  One that does not fit is cut into *batches*: ranges of
sums of the top half for fold and rows, of the left half for columns.  The afterstates of a batch are in
memory together; a batch is worked one range of the other half's sum at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tilebase.dense.index import BlockSums, PerfectIndex
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
    """Blocks of a layer of states or afterstates that are read or written.

    With `spawn` they are those that a spawn leads to from `blocks`, if it adds so much, in units of 2, to the
    sums of one or both halves.
    """

    total: int
    blocks: Blocks = Blocks()
    spawn: int = 0

    def mask(self, index: PerfectIndex) -> Array | None:
        """Return which blocks these are, in the order of ranks; None if all of them are meant."""
        tops, lefts = self.blocks
        if tops == lefts == ALL:
            return None
        rows, columns = within(index.top, tops), within(index.left, lefts)
        if self.spawn:
            rows |= within(index.top - self.spawn, tops)
            columns |= within(index.left - self.spawn, lefts)
        return rows & columns


@dataclass(frozen=True)
class BlockStep:
    """A step for some blocks of a layer."""

    kind: Step
    total: int  # the sum of the boards
    batch: Blocks  # whose afterstates are in memory together; the step works some of them
    # Fold: the states that spawns lead to, the largest spawn first; none from the horizon on.  Rows, columns:
    # the afterstates.
    reads: tuple[Source, ...]
    # Fold: afterstates.  Rows, columns: states; the second of these two steps improves what is there.
    writes: Source
    share: float  # how much of the layer's work this is, from 0 to 1


def spawned(game: Game, total: int) -> tuple[int, ...]:
    """Return the exponents that are spawned on afterstates of a sum."""
    return () if game.ended(total) else game.spawn_exponents


def whole_steps(kinds: Sequence[Step], exponents: Sequence[int], total: int) -> Iterator[BlockStep]:
    """Yield the steps of a layer that is in memory, in the order of a backend."""
    for kind in kinds:
        yield _block_step(kind, exponents, total, Blocks(), Blocks(), SHARES[kind])


def _block_step(
    kind: Step, exponents: Sequence[int], total: int, batch: Blocks, blocks: Blocks, share: float
) -> BlockStep:
    if kind is Step.FOLD:
        largest_first = sorted(exponents, reverse=True)
        above = tuple(Source(total + 2**e, blocks, 1 << (e - 1)) for e in largest_first)
        return BlockStep(kind, total, batch, above, Source(total, blocks), share)
    return BlockStep(kind, total, batch, (Source(total, batch),), Source(total, blocks), share)


class Cut:
    """How a layer is cut into batches that fit into memory.

    `boards` are as many as fit, each with one value.  Raises `ResourceError`, which says how many bytes of
    the `memory` are missing, if one batch or step has more.

    Attributes
    ----------
    tops:
        The batches for fold and rows: ranges of the top half's sum.
    lefts:
        The batches for columns: ranges of the left half's sum.
    """

    def __init__(
        self, sums: BlockSums, game: Game, total: int, *, boards: int, value_bytes: float, memory: int
    ) -> None:
        self._sums, self._total, self._boards = sums, total, boards
        self._value_bytes, self._memory = value_bytes, memory
        self._sizes = sums.boards(total)
        self._exponents = spawned(game, total)
        self._above = [sums.boards(total + 2**e) for e in self._exponents]
        self.tops = self._ranges(sums.tops, self._sizes.sum(axis=1), boards // 2)
        self.lefts = self._ranges(sums.lefts, self._sizes.sum(axis=0), boards // 2)
        self._lefts_of = cache(self._within_top)
        for top in self.tops:  # does each fit?
            self._lefts_of(top)

    def steps(self) -> Iterator[BlockStep]:
        """Yield all steps of the layer, in the order in which they are to be done."""
        for top in self.tops:
            for kind in (Step.FOLD, Step.ROWS):
                for left in self._lefts_of(top):
                    yield self._step(kind, Blocks(tops=top), Blocks(top, left))
        for left in self.lefts:
            need = self._sizes[:, within(self._sums.lefts, left)].sum(axis=1)
            for top in self._ranges(self._sums.tops, need, self._boards - self._boards // 2):
                yield self._step(Step.COLUMNS, Blocks(lefts=left), Blocks(top, left))

    def _step(self, kind: Step, batch: Blocks, blocks: Blocks) -> BlockStep:
        rows, columns = within(self._sums.tops, blocks.tops), within(self._sums.lefts, blocks.lefts)
        part = int(self._sizes[rows][:, columns].sum()) / max(int(self._sizes.sum()), 1)
        return _block_step(kind, self._exponents, self._total, batch, blocks, SHARES[kind] * part)

    def _within_top(self, top: Range) -> list[Range]:
        """Ranges of the left half's sum, one for each step fold and rows of a batch."""
        tops, lefts = self._sums.tops, self._sums.lefts
        rows = within(tops, top)
        # For each sum of the left half, the boards that a step with this sum has in memory: some afterstates
        # and later as many states, and of each layer above what a spawn leads to:
        #
        #     sum of the left half       l           l + step
        #     sums of the top half       top, top + step, each: a spawn adds to either half, to both, to none
        need = 2 * self._sizes[rows].sum(axis=0)
        for e, sizes in zip(self._exponents, self._above, strict=True):
            # A spawn adds `step` to the sums of the halves that have its cell.
            step = 1 << (e - 1)
            near = sizes[rows | within(tops - step, top)].sum(axis=0)
            # The entry of l + step, if the left half can have that sum.
            after = np.searchsorted(lefts, lefts + step)
            after[after == len(lefts)] = 0  # these sums do not exist, and neither do others
            need = need + near + np.where(lefts[after] == lefts + step, near[after], 0)
        return self._ranges(lefts, need, self._boards - self._boards // 2)

    def _ranges(self, sums: Array, need: Array, boards: int) -> list[Range]:
        """Ranges of sums that need at most so many boards."""
        most = int(need.max(initial=0))
        if most > boards:
            short = 2 * int((most - boards) * self._value_bytes)
            raise ResourceError(
                f"one batch of the layer of sum {self._total} needs about {short / 2**30:.2g} GiB more than "
                f"{self._memory / 2**30:.3g} GiB: give more memory, a smaller type of value, or lower "
                "limits"
            )
        ranges, begin, gathered = [], 0, 0
        for units, some in zip(sums.tolist(), need.tolist(), strict=True):
            if gathered + some > boards:
                ranges.append(Range(begin, units))
                begin, gathered = units, 0
            gathered += some
        return [*ranges, Range(begin, int(sums[-1]) + 1)]


def within(sums: Array, bounds: Range) -> Array:
    """Return which sums lie in a range."""
    return (sums >= bounds.begin) & (sums < bounds.end)
