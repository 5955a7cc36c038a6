"""The steps of the dense passes on layers in memory, shared out over threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import dense as kernels
from tilebase._kernels.packed import packed
from tilebase.dense.backends.protocol import Tell
from tilebase.dense.layers import DenseLayer, Memory, layers_above
from tilebase.dense.sizes import TILE, scratch_boards
from tilebase.dense.steps import BlockStep, Source, Step
from tilebase.dense.tables import AllSpawns, DenseRules, Folding, tasks, tops
from tilebase.objectives.encoding import FIRST, Backup
from tilebase.runtime.threads import Pool

Array = npt.NDArray[Any]


class Threads:
    """The steps on layers in memory: a `backends.protocol.Backend`.

    `largest` are the boards of the largest layer if layers are whole; then later ones take the memory of
    earlier ones.
    """

    layout = "values"
    steps = (Step.FOLD, Step.ROWS, Step.COLUMNS)

    def __init__(self, rules: DenseRules, backup: Backup, pool: Pool, *, largest: int | None) -> None:
        self._rules, self._backup, self.dtype = rules, backup, backup.dtype
        self._tops = tuple(tops(rules.game, part) for part in rules.index.parts) if backup.ends else ()
        # Packed, for all types of values and backups: each of their kernels compiles a fifth faster.
        self._folding, self._ended = _packed(rules.folding), _packed(rules.ended)
        self._halves = {step: tuple(map(packed, rules.side(step))) for step in (Step.ROWS, Step.COLUMNS)}
        self._pool, self._scratch = pool, [_scratch(rules, backup) for _ in range(pool.threads)]
        self._memory = None if largest is None else Memory(backup.dtype, FIRST + largest)
        self._sizes = lru_cache(maxsize=1)(rules.index.block_sizes)  # for all steps of a layer

    def layer(self, source: Source) -> DenseLayer:
        index = self._rules.index
        return DenseLayer(index.layer(source.total, source.mask(index)), self._backup, self._memory)

    def do(self, step: BlockStep, reads: Sequence[DenseLayer], writes: DenseLayer, tell: Tell) -> None:
        if step.kind is Step.FOLD:
            do = self._fold(step, reads, writes)
        else:
            (afters,) = reads
            do = self._slide(step, afters, writes)
        index = self._rules.index
        sizes, mask = self._sizes(step.total), step.writes.mask(index)
        here = sizes if mask is None else np.where(mask, sizes, 0)
        jobs = tasks(index, here, by_columns=step.kind is Step.COLUMNS)
        self._pool.share_out(do, jobs, self._scratch, tell)

    def _fold(
        self, step: BlockStep, above: Sequence[DenseLayer], afters: DenseLayer
    ) -> Callable[[Array, kernels.TileScratch], None]:
        backup, units, out = self._backup, self._rules.index.units(step.total), afters.arrays
        over = self._rules.game.ended(step.total)
        start = backup.ended if over else backup.start
        parts, spawns = self._ended if over else self._folding
        found = layers_above(spawns, above, afters)
        # Always two, the last one twice if there is one only, so that each type of values is compiled once.
        ups, adds, both = (found[0], found[-1]), (backup.adds[0], backup.adds[-1]), len(found) > 1

        def do(job: Array, scratch: kernels.TileScratch) -> None:
            kernels.fold_spawns(job, units, parts, ups, adds, both, backup.finish, start, scratch, out)
            if over:
                self._raise_to_tops(job, step.total, out)

        return do

    def _raise_to_tops(self, job: Array, total: int, out: kernels.Values) -> None:
        """Of a state without a slide, and where nothing is spawned, the largest tile counts."""
        if self._tops:
            kernels.raise_to_tops(job, self._rules.index.units(total), self._folding.parts, self._tops, out)

    def _slide(
        self, step: BlockStep, afters: DenseLayer, states: DenseLayer
    ) -> Callable[[Array, kernels.TileScratch], None]:
        (outer, inner), by_columns = self._halves[step.kind], step.kind is Step.COLUMNS
        units = self._rules.index.units(step.total)
        source, out = afters.arrays, states.arrays

        def do(job: Array, scratch: kernels.TileScratch) -> None:
            kernels.best_slides(job, by_columns, units, outer, inner, source, out, scratch)
            if not by_columns:  # these jobs are top halves, and slides along columns only raise values
                self._raise_to_tops(job, step.total, out)

        return do


def _packed(folding: Folding) -> Folding:
    """Return the same, as the kernels read it from memory."""
    return Folding(tuple(map(packed, folding.parts)), packed_spawns(folding.spawns))


def packed_spawns(spawns: dict[int, AllSpawns]) -> dict[int, AllSpawns]:
    """Return the spawns of each exponent, as the kernels read them from memory."""
    return {e: (packed(a), packed(b), packed(c), packed(d)) for e, (a, b, c, d) in spawns.items()}


def _scratch(rules: DenseRules, backup: Backup) -> kernels.TileScratch:
    """Return what a thread works in."""
    size = scratch_boards(rules.index)
    slides = max(len(rules.rows.outer.table), len(rules.columns.outer.table))
    classes = max(len(part.sums) for part in rules.parts)
    return kernels.TileScratch(
        folds=np.empty((2, size), dtype=backup.accumulator),
        free=np.empty(size, dtype=np.int64),
        values=np.empty((TILE, size), dtype=backup.dtype),
        bases=np.zeros((2, TILE, slides + 1, classes), dtype=np.uint64),
        ends=np.zeros((TILE, slides), dtype=np.uint64),
    )
