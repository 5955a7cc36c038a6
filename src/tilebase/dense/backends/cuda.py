"""The steps of the dense passes on a CUDA device: one thread per board.

Layers and tables lie in the device's memory; a pass that is larger goes there batch by batch, as through
files.  Bounds and Boolean values are those of `threads`; floats are added in another order.

Needs numba-cuda (``pip install 'tilebase[cuda]'``); with NUMBA_ENABLE_CUDASIM=1 the same code runs in
Numba's simulator, without a device and very slowly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilebase._kernels.backup import AddBound, DivideBound
from tilebase._kernels.dense import Array, Values
from tilebase.dense.backends.protocol import DenseWork, Tell
from tilebase.dense.index import LayerMap, PerfectIndex
from tilebase.dense.steps import BlockStep, Source, Step
from tilebase.dense.tables import DenseLayer, DenseRules, layers_above
from tilebase.errors import MissingExtraError, ResourceError, UsageError
from tilebase.objectives.backup import Backup
from tilebase.objectives.encoding import FIRST
from tilebase.objectives.objective import Objective

THREADS = 256
"""Threads of a block."""


def _cuda() -> Any:
    try:
        from numba import cuda
    except ImportError as error:
        raise MissingExtraError("cuda needs numba-cuda: pip install 'tilebase[cuda]'") from error
    if not cuda.is_available():
        raise MissingExtraError(
            "there is no CUDA device, or no driver or toolkit for it: leave out the backend, or see "
            "pip install 'tilebase[cuda]'"
        )
    return cuda


def device_memory() -> int | None:
    """Free bytes of the device, a tenth kept back; None in the simulator."""
    free = _cuda().current_context().get_memory_info()[0]
    return None if math.isinf(free) else int(free) * 9 // 10


class DeviceLayer(DenseLayer):
    """The values of some blocks of a layer on the device."""

    values: Any  # on the device
    blocks: Any  # `PerfectIndex.blocks`, on the device

    def __init__(self, index: PerfectIndex, layer: LayerMap, backup: Backup, cuda: Any) -> None:
        self.map = layer
        try:
            self.values = cuda.device_array(FIRST + layer.size, dtype=backup.dtype)
            self.arrays = Values(self.values, cuda.to_device(layer.offsets))
            self.blocks = tuple(map(cuda.to_device, index.blocks(layer)))
        except Exception as error:  # the drivers' errors have no class in common
            raise ResourceError(
                f"a layer of {layer.size:,} boards does not fit into the device's memory: give --memory so "
                "that it is cut into batches, or a smaller type"
            ) from error
        self.values[:FIRST].copy_to_device(backup.front)

    def numpy(self) -> Array:
        """Return a copy of the values, sentinels first."""
        found: Array = self.values.copy_to_host()
        return found

    def buffer(self) -> Array:
        """Return the memory for the values of the boards, to be given to `load`."""
        return np.empty(self.map.size, dtype=self.values.dtype)

    def load(self, values: Array) -> None:
        """Take the values of all boards."""
        if len(values):
            self.values[FIRST:].copy_to_device(np.ascontiguousarray(values))


class Cuda:
    """The steps of the pass on a device: a `backends.protocol.Backend`."""

    layout = "values"
    steps = (Step.FOLD, Step.ROWS, Step.COLUMNS)

    def __init__(self, rules: DenseRules, backup: Backup, objective: Objective) -> None:
        merges, ends, spawn = objective.merge, objective.counts_end, rules.game.spawn
        if merges or ends or objective.type.is_coded or spawn.depends:
            raise UsageError(
                "cuda solves win in float32 or float64, lower, upper and guaranteed, and games in which a 4 "
                "is as likely on every board: choose one of these, or the backend threads"
            )
        self._cuda = _cuda()
        from tilebase._kernels import cuda as kernels  # it imports what there may not be

        if objective.is_bound:  # in integers, since Numba rounds no floats on a device
            adds = tuple(AddBound(*map(np.uint64, add)) for add in backup.adds)
            finish = DivideBound(*map(np.uint64, backup.finish))
            backup = replace(backup, adds=adds, finish=finish, start=np.uint64(0), ended=np.uint64(0))
        self._kernels, self._rules, self._backup, self.dtype = kernels, rules, backup, backup.dtype
        self._folding, self._ended = self._put(rules.folding), self._put(rules.ended)
        self._sides = {step: self._put(rules.side(step)) for step in (Step.ROWS, Step.COLUMNS)}

    def _put(self, value: Any) -> Any:
        """Return the same with all its arrays on the device."""
        if isinstance(value, dict):
            return {key: self._put(one) for key, one in value.items()}
        if isinstance(value, tuple):
            made = map(self._put, value)
            return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
        return self._cuda.to_device(value)

    def layer(self, source: Source) -> DeviceLayer:
        """Memory on the device for the values of some blocks of a layer.  Raises `ResourceError`."""
        index = self._rules.index
        return DeviceLayer(index, index.layer(source.total, source.mask(index)), self._backup, self._cuda)

    def do(
        self, step: BlockStep, reads: Sequence[DeviceLayer], writes: DeviceLayer, work: DenseWork, tell: Tell
    ) -> None:
        """Do a step."""
        since = time.perf_counter()
        if step.kind is Step.FOLD:
            parts, spawns = self._folding if reads else self._ended
            ups, backup = layers_above(spawns, reads, writes), self._backup
            start = backup.ended if self._rules.game.ended(step.total) else backup.start
            self._launch(self._kernels.fold, writes, parts, ups, backup.adds, backup.finish, start)
        else:
            sides, by_columns = self._sides[step.kind], step.kind is Step.COLUMNS
            self._launch(self._kernels.slide, writes, by_columns, *sides, reads[0].arrays)
        work.add(step.kind.value, since)
        tell(1.0)

    def _launch(self, kernel: Any, writes: DeviceLayer, *arguments: Any) -> None:
        size = writes.map.size
        if not size:
            return
        try:
            kernel[-(-size // THREADS), THREADS](writes.blocks, size, *arguments, writes.arrays)
            self._cuda.synchronize()
        except Exception as error:  # the drivers' errors have no class in common
            raise ResourceError(
                f"the CUDA device failed ({error}): call again to go on after the last checkpoint, there or "
                "with --backend threads"
            ) from error
