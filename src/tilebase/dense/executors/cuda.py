"""The steps of the dense passes on a CUDA device: one thread a board.

Layers and tables lie in the device's memory; a pass that is larger goes there batch by batch, as
through files.  A thread finds the block of its rank by bisection, takes the places of its four
parts from it, and then does what the loops of `_kernels.dense` do for one board; bounds and
truths are the same integers, floats are added in another order.

Needs numba-cuda (``pip install 'tilebase[cuda]'``); with NUMBA_ENABLE_CUDASIM=1 the same code runs in
Numba's simulator, without a device and very slowly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels.dense import DivideBound, DivideMean
from tilebase.dense.index import LayerMap
from tilebase.dense.tables import DenseLayer, DenseRules, Law
from tilebase.errors import MissingExtraError, ResourceError, UsageError
from tilebase.objectives.encoding import FIRST, NONE, WON

Array = npt.NDArray[Any]
THREADS = 256
"""Threads of a block."""


def _cuda() -> Any:
    try:
        from numba import cuda
    except ImportError as error:
        raise MissingExtraError("cuda needs numba-cuda: pip install 'tilebase[cuda]'") from error
    if not cuda.is_available():
        raise MissingExtraError(
            "there is no CUDA device, or no driver or toolkit for it: leave out the executor, or see "
            "pip install 'tilebase[cuda]'"
        )
    return cuda


def device_memory() -> int | None:
    """Free bytes of the device, a tenth kept back; None in the simulator."""
    free = _cuda().current_context().get_memory_info()[0]
    return None if math.isinf(free) else int(free) * 9 // 10


class DeviceLayer(DenseLayer):
    """The values of some blocks of a layer on the device."""

    def __init__(self, blocks: LayerMap, law: Law, cuda: Any) -> None:
        self.map = blocks
        self._dtype = law.dtype
        self._sentinels = np.zeros(FIRST, dtype=law.dtype)
        self._sentinels[NONE], self._sentinels[WON] = law.none, law.won
        try:
            self.device = cuda.device_array(FIRST + blocks.size, dtype=law.dtype)
            self.offsets = cuda.to_device(blocks.offsets)
        except Exception as error:  # the drivers' errors have no class in common
            raise ResourceError(
                f"a layer of {blocks.size:,} boards does not fit into the device's memory: give --memory so "
                "that it is cut into batches, or a smaller type"
            ) from error
        self.device[:FIRST].copy_to_device(self._sentinels)

    def numpy(self) -> Array:
        """A copy of the values, sentinels first."""
        found: Array = self.device.copy_to_host()
        return found

    def buffer(self) -> Array:
        """Memory for the values of the boards, to be given to `load`."""
        return np.empty(self.map.size, dtype=self._dtype)

    def load(self, values: Array) -> None:
        """Take the values of all boards."""
        if len(values):
            self.device[FIRST:].copy_to_device(np.ascontiguousarray(values))


class Cuda:
    """What `dense.executors.threads.Threads` is for processors."""

    layout = "values"

    def __init__(self, rules: DenseRules, law: Law, gains: bool) -> None:
        if gains or (law.accumulator == "f8" and law.dtype == np.uint16):
            raise UsageError(
                "cuda solves win in float32 or float64, lower, upper and guaranteed: choose one of "
                "these, or the executor threads"
            )
        self.rules, self.law, self.dtype = rules, law, law.dtype
        self._cuda = _cuda()
        put: Callable[[Array], Any] = self._cuda.to_device
        index = rules.index
        self._counts = tuple(put(part.counts) for part in index.parts)
        self._begins = tuple(put(part.starts) for part in index.parts)
        self._sums = tuple(put(part.sums) for part in index.parts)
        self._classes = tuple(put(part.class_of) for part in index.parts)
        self._free = tuple(put(part[4]) for part in rules.parts)
        self._masks = tuple(put(part[5]) for part in rules.parts)
        self._spawns = {
            e: tuple(put(array) for part in parts for array in (part[0], part[1], part[3]))
            for e, parts in rules.spawns.items()
        }
        self._sides = [
            tuple(map(put, (outer.table, inner.table, outer.firsts, inner.firsts)))
            for _, outer, inner in rules.sides
        ]
        number: Any
        if isinstance(law.law, DivideBound):
            kind, number = "bounds", np.uint64
        elif isinstance(law.law, DivideMean):
            kind, number = "means", np.float64
        else:
            kind, number = "extremes", np.int64
        self._kernels = self._compiled(kind)

        def pad(values: tuple[Any, ...]) -> Any:
            return put(np.array([*values, 0][:3], dtype=number))

        self._tunes = [pad(tune) for tune in law.tunes]
        self._law = pad(law.law)
        self._start = put(np.array([law.start], dtype=number))
        self._blocks: tuple[LayerMap, Any] | None = None

    @staticmethod
    def _compiled(kind: str) -> Any:
        from tilebase._kernels.cuda import make_kernels

        return make_kernels(kind)

    def close(self) -> None:
        """Nothing to stop: a kernel ends by itself."""

    def map(self, total: int) -> LayerMap:
        """Where the boards of a sum are."""
        return self.rules.index.layer(total)

    def layer(self, blocks: LayerMap) -> DeviceLayer:
        """Room on the device for the values of a layer or a part of one.  Raises `ResourceError`."""
        return DeviceLayer(blocks, self.law, self._cuda)

    def _listed(self, blocks: LayerMap) -> Any:
        """The blocks of a layer as the kernels take them: classes and first ranks."""
        if self._blocks is None or self._blocks[0] is not blocks:
            there = np.argwhere(blocks.offsets >= 0)
            starts = blocks.offsets[tuple(there.T)]
            order = np.argsort(starts)
            there, starts = there[order], starts[order]
            parts = self.rules.index.parts
            left = blocks.half - sum(parts[k].sums[there[:, k]] for k in range(3))
            last = parts[3].class_of[left][:, None]
            table = np.concatenate([there, last], axis=1).astype(np.int64)
            put = self._cuda.to_device
            self._blocks = (blocks, (put(table), put(starts), blocks.size))
        return self._blocks[1]

    def _launch(self, kernel: Any, size: int, arguments: tuple[Any, ...]) -> None:
        if not size:
            return
        try:
            kernel[-(-size // THREADS), THREADS](*arguments)
            self._cuda.synchronize()
        except Exception as error:  # the drivers' errors have no class in common
            raise ResourceError(
                f"the CUDA device failed ({error}): call again to go on after the last checkpoint, there or "
                "with --executor threads"
            ) from error

    def fold(
        self, _sizes: Array | None, above: dict[int, Any], here: Any, work: Any, tell: Callable[[float], None]
    ) -> None:
        """Values of the afterstates of some blocks."""
        since = time.perf_counter()
        exponents = sorted(above, reverse=True)
        ups = [(above[e].device, above[e].offsets, *self._spawns[e]) for e in exponents]
        blocks, starts, size = self._listed(here.map)
        self._launch(
            self._kernels.fold, size,
            (blocks, starts, size, self._counts, self._begins, self._free, self._masks, ups[0], ups[-1],
             len(ups) > 1, self._tunes[0], self._tunes[-1], self._law, self._start, here.device),
        )  # fmt: skip
        work.add("fold", since)
        tell(1.0)

    def slide(
        self,
        side: int,
        _sizes: Array | None,
        afters: Any,
        states: Any,
        work: Any,
        tell: Callable[[float], None],
    ) -> None:
        """The best over slides along rows (0), which comes first, or columns (1)."""
        since = time.perf_counter()
        blocks, starts, size = self._listed(states.map)
        self._launch(
            self._kernels.slide, size,
            (blocks, starts, size, self._counts, self._sums, self._classes, bool(side), *self._sides[side],
             afters.offsets, afters.device, states.device),
        )  # fmt: skip
        work.add(("rows", "columns")[side], since)
        tell(1.0)
