"""The steps of the dense passes on a CUDA device: a thread works one board after the other.

Layers and tables lie in the device's memory; a pass that is larger goes there batch by batch, as through
files.  Bounds and Boolean values are those of `threads`; floats are added in another order.

This process lists the blocks of the next layers while the device works.

Needs numba-cuda (``pip install 'tilebase[cuda]'``); with NUMBA_ENABLE_CUDASIM=1 the same code runs in
Numba's simulator, without a device and very slowly.
"""

from __future__ import annotations

import gc
import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from numba import config

from tilebase._kernels.backup import DivideBound, TruncateBound
from tilebase._kernels.dense import Array, Half, Values
from tilebase.dense.backends.protocol import Tell
from tilebase.dense.index import LayerMap
from tilebase.dense.layers import DenseLayer, Memory, layers_above
from tilebase.dense.steps import Blocks, BlockStep, Source, Step
from tilebase.dense.tables import DenseRules
from tilebase.errors import MissingExtraError, ResourceError, UsageError
from tilebase.objectives.encoding import FIRST, Backup
from tilebase.objectives.numbers import byte_text
from tilebase.objectives.objective import Objective
from tilebase.runtime.threads import in_background

SLIDES = (Step.ROWS, Step.COLUMNS)
AHEAD = 2
"""Layers whose blocks are listed before their turn: on an H200 this had taken longer than their boards."""


def cuda_library() -> Any:
    """Return the library of CUDA.  Raises `MissingExtraError` if it or a device is missing."""
    # Small layers give a device little to do, which is no reason to warn.
    os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")
    config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
    try:
        from numba import cuda
    except ImportError as error:
        raise MissingExtraError.of("cuda needs numba-cuda", "cuda") from error
    if not cuda.is_available():
        raise MissingExtraError.of(
            "no CUDA device, driver or toolkit for it was found: choose the space all, or",
            "cuda",
        )
    return cuda


def device_memory() -> int | None:
    """Free bytes of the device, a tenth kept back; None in the simulator."""
    free = cuda_library().current_context().get_memory_info()[0]
    return None if math.isinf(free) else int(free) * 9 // 10


Listed = tuple[LayerMap, tuple[Array, Array]]
"""A layer, or a part of it, and its `PerfectIndex.blocks`."""


class DeviceMap(NamedTuple):
    """The blocks of a layer, or of a part of it, on the device."""

    layer: LayerMap
    offsets: Any  # `LayerMap.offsets`
    blocks: Any  # `PerfectIndex.blocks`


class DeviceMemory(Memory):
    """The memory on the device of layers that are released, for those to come.  Raises `ResourceError`.

    It keeps all buffers: the garbage collector would free one that it finds with its layer, even though the
    layer gives it back.
    """

    def __init__(self, dtype: np.dtype[Any], size: int, cuda: Any) -> None:
        super().__init__(dtype, size)
        self._cuda = cuda
        self._all: list[Any] = []

    def _new(self) -> Any:
        try:
            made = self._cuda.device_array(self._size, dtype=self._dtype)
        except Exception as error:  # the drivers' errors have no class in common
            gc.collect()  # where Numba compiled a kernel, it may hold the layers of the call
            if self._spare:
                return self._spare.pop()
            raise ResourceError(
                f"a layer of {byte_text(self._size * self._dtype.itemsize)} does not fit into the device's "
                "memory: give --memory so that it is cut into batches, or a smaller type"
            ) from error
        self._all.append(made)
        return made


class DeviceLayer(DenseLayer):
    """The values of some blocks of a layer on the device."""

    values: Any  # on the device

    def __init__(self, where: DeviceMap, memory: DeviceMemory, front: Any) -> None:
        self.map, self.blocks = where.layer, where.blocks
        self._buffer = memory.take()
        self._memory = memory  # only now: a buffer that could not be had is not given back
        self.values = self._buffer[: FIRST + self.map.size]
        self.arrays = Values(self.values, where.offsets)
        self.values[:FIRST].copy_to_device(front)  # type: ignore[attr-defined]

    def numpy(self) -> Array:
        return self.values.copy_to_host()

    def value(self, where: Any) -> Any:
        return self.values[FIRST + where : FIRST + where + 1].copy_to_host()[0]

    def buffer(self) -> Array:
        return np.empty(self.map.size, dtype=self.values.dtype)

    def load(self, values: Array) -> None:
        if len(values):
            self.values[FIRST:].copy_to_device(np.ascontiguousarray(values))


class Slides(NamedTuple):
    """What slides make of a half of the board, and the classes of its parts."""

    firsts: Array  # as in `Half`, and so is `table`
    table: Array
    rows: Array  # int64: rows[s] is the row of `pairs` for halves with the sum s in units of 2
    pairs: Array  # uint64: pairs[row, k] is that of halves whose first part has class k, see `slides_of`


def slides_of(half: Half) -> Slides:
    """Return what the kernels of a device take of a half of the board.

    A pair of classes has the number of fillings of the second part in the lowest 24 bits, then that of the
    first, and from bit 48 on the class of the second.
    """
    first, second = half.first, half.second
    sums = first.sums[:, None] + second.sums
    there = np.unique(sums)
    rows = np.zeros(int(there[-1]) + 1, dtype=np.int64)
    rows[there] = np.arange(len(there))
    pairs = np.zeros((len(there), len(first.sums)), dtype=np.uint64)
    k, m = np.indices(sums.shape)
    packed = [part.astype(np.uint64) for part in (second.counts[m], first.counts[k], m)]
    pairs[rows[sums], k] = packed[0] | packed[1] << np.uint64(24) | packed[2] << np.uint64(48)
    return Slides(half.firsts, half.table, rows, pairs)


class Cuda:
    """The steps of the pass on a device: a `backends.protocol.Backend`.

    `largest` are the boards of the largest layer if layers are whole; then later ones take the memory of
    earlier ones.
    """

    layout = "values"
    steps = (Step.FOLD, Step.ROWS, Step.COLUMNS)

    def __init__(
        self, rules: DenseRules, backup: Backup, objective: Objective, *, largest: int | None
    ) -> None:
        if objective.merge or objective.counts_end:
            raise UsageError(
                "cuda solves win, lower, upper and guaranteed: choose one of these, or the backend threads"
            )
        self._cuda = cuda_library()
        from tilebase._kernels import cuda as kernels  # it imports what there may not be

        self._kernels = kernels
        if isinstance(backup.finish, DivideBound) and backup.accumulator == "f8":
            backup = replace(backup, finish=TruncateBound(*backup.finish))
        self._rules, self._backup, self.dtype = rules, backup, backup.dtype
        with self._working():
            self._folding, self._ended = self._put(rules.folding), self._put(rules.ended)
            self._sides = {step: self._put(tuple(map(slides_of, rules.side(step)))) for step in SLIDES}
            self._front = self._put(backup.front)
        self._memory = None if largest is None else self._buffers(largest)
        self._maps = lru_cache(maxsize=4)(self._map)
        self._listed: dict[int, Future[Listed]] = {}

    def _put(self, value: Any) -> Any:
        """Return the same with all its arrays on the device."""
        if isinstance(value, dict):
            return {key: self._put(one) for key, one in value.items()}
        if isinstance(value, tuple):
            made = map(self._put, value)
            return type(value)(*made) if hasattr(value, "_fields") else tuple(made)
        return self._cuda.to_device(value)

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Turn the errors of the device into a `ResourceError`."""
        try:
            yield
        except ResourceError:
            raise
        except Exception as error:  # the drivers' errors have no class in common
            raise ResourceError(
                f"the CUDA device failed ({error}): call again to continue from the last checkpoint, "
                "there or with --space all"
            ) from error

    def _buffers(self, boards: int) -> DeviceMemory:
        return DeviceMemory(self.dtype, FIRST + boards, self._cuda)

    def _list(self, source: Source) -> Listed:
        index = self._rules.index
        layer = index.layer(source.total, source.mask(index))
        return layer, index.blocks(layer)

    def _list_ahead(self, whole: Source) -> Listed:
        """List the blocks of a whole layer, and let those of the next ones be listed meanwhile."""
        total = whole.total
        found = self._listed.pop(total, None)
        for below in range(total - 2 * AHEAD, total, 2):
            if below > 0 and below not in self._listed:
                self._listed[below] = in_background(partial(self._list, whole._replace(total=below)))
        return found.result() if found else self._list(whole)

    def _map(self, source: Source) -> DeviceMap:
        is_whole = source.blocks == Blocks()
        layer, blocks = self._list_ahead(source) if is_whole else self._list(source)
        if np.diff(blocks[1], append=layer.size).max(initial=0) > self._kernels.MOST_BLOCK:
            raise ResourceError(
                f"too many boards of {self._rules.game} have the same sums of all quarters for a device: "
                "leave out the backend"
            )
        with self._working():
            return DeviceMap(layer, self._put(layer.offsets), self._put(blocks))

    def layer(self, source: Source) -> DeviceLayer:
        where = self._maps(source)
        memory = self._memory or self._buffers(where.layer.size)
        with self._working():
            return DeviceLayer(where, memory, self._front)

    def do(self, step: BlockStep, reads: Sequence[DeviceLayer], writes: DeviceLayer, tell: Tell) -> None:
        """Do a step.  Of a whole layer, all slides are done along rows and columns at once."""
        whole = step.batch == step.writes.blocks == Blocks()
        if step.kind is Step.FOLD:
            with self._working():
                self._cuda.synchronize()  # what failed of the layers before is said here
            parts, spawns = self._folding if reads else self._ended
            ups, backup = layers_above(spawns, reads, writes), self._backup
            start = backup.ended if self._rules.game.ended(step.total) else backup.start
            arguments = (parts, ups, backup.adds, backup.finish, start, writes.arrays)
            self._launch(self._kernels.fold, writes, *arguments)
        elif not whole or step.kind is Step.ROWS:
            along = [whole or step.kind is kind for kind in SLIDES]
            (afters,) = reads
            arguments = (*along, self._folding.parts, *self._sides.values(), afters.arrays, writes.arrays)
            self._launch(self._kernels.slide, writes, *arguments)
        tell(1.0)

    def _launch(self, kernel: Any, writes: DeviceLayer, *arguments: Any) -> None:
        """Let the device begin a kernel; it works while this process goes on."""
        size = writes.map.size
        if not size:
            return
        with self._working():
            threads = self._kernels.THREADS
            kernel[-(-size // (threads * self._kernels.SPAN)), threads](writes.blocks, size, *arguments)
