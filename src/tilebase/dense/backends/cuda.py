"""The steps of the dense passes on a CUDA device: one thread per board.

Layers and tables lie in the device's memory; a pass that is larger goes there batch by batch, as
through files.  A thread finds the block of its rank by bisection, takes the positions of its four
parts from it, and then does what the loops of `_kernels.dense` do for one board; bounds and
Boolean values are the same integers, floats are added in another order.

Needs numba-cuda (``pip install 'tilebase[cuda]'``); with NUMBA_ENABLE_CUDASIM=1 the same code runs in
Numba's simulator, without a device and very slowly.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels.dense import DivideBound, DivideMean
from tilebase.dense.backends.protocol import DenseWork, Tell
from tilebase.dense.index import LayerMap
from tilebase.dense.steps import BlockStep, Source, Step
from tilebase.dense.tables import Backup, DenseLayer, DenseRules, Folding
from tilebase.errors import MissingExtraError, ResourceError, UsageError
from tilebase.objectives.encoding import FIRST, NONE, WON
from tilebase.objectives.objective import Objective

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

    def __init__(self, blocks: LayerMap, backup: Backup, cuda: Any) -> None:
        self.map = blocks
        self._dtype = backup.dtype
        self._sentinels = np.zeros(FIRST, dtype=backup.dtype)
        self._sentinels[NONE], self._sentinels[WON] = backup.none, backup.won
        try:
            self.device = cuda.device_array(FIRST + blocks.size, dtype=backup.dtype)
            self.offsets = cuda.to_device(blocks.offsets)
        except Exception as error:  # the drivers' errors have no class in common
            raise ResourceError(
                f"a layer of {blocks.size:,} boards does not fit into the device's memory: give --memory so "
                "that it is cut into batches, or a smaller type"
            ) from error
        self.device[:FIRST].copy_to_device(self._sentinels)

    @property
    def arrays(self) -> Any:
        """What kernels take of it."""
        from tilebase._kernels.cuda import Values

        return Values(self.device, self.offsets)

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
    """The steps of the pass on a device: a `backends.protocol.Backend`."""

    layout = "values"
    steps = (Step.FOLD, Step.ROWS, Step.COLUMNS)

    def __init__(self, rules: DenseRules, backup: Backup, objective: Objective) -> None:
        if objective.meaning.merge or objective.meaning.end or objective.type.is_coded:
            raise UsageError(
                "cuda solves win in float32 or float64, lower, upper and guaranteed: choose one of "
                "these, or the backend threads"
            )
        if rules.game.spawn.depends:
            raise UsageError(
                "cuda solves games in which a 4 is as likely on every board: choose the backend threads"
            )
        self._rules, self._backup, self.dtype = rules, backup, backup.dtype
        self._cuda = _cuda()
        self._exponents = sorted(rules.game.spawn_exponents, reverse=True)
        self._parts_to_device()
        number: Any
        if isinstance(backup.finish, DivideBound):
            kind, number = "bounds", np.uint64
        elif isinstance(backup.finish, DivideMean):
            kind, number = "means", np.float64
        else:
            kind, number = "extremes", np.int64
        self._kernels = self._compiled(kind)

        def pad(values: tuple[Any, ...]) -> Any:
            return self._cuda.to_device(np.array([*values, 0][:3], dtype=number))

        self._tunes = [pad(tune) for tune in backup.tunes]
        self._finish_on_device = pad(backup.finish)
        self._start = self._cuda.to_device(np.array([backup.start], dtype=number))
        self._blocks: tuple[LayerMap, Any] | None = None

    def _parts_to_device(self) -> None:
        from tilebase._kernels import cuda as kernels

        put, rules = self._cuda.to_device, self._rules

        def named(record: Any, source: Any) -> Any:
            """The arrays of a tuple that the tuple of a kernel has too, on the device."""
            return record(*(put(getattr(source, field)) for field in record._fields))

        def folding(source: Folding) -> tuple[Any, Any]:
            spawns = {
                e: tuple(named(kernels.Spawns, one) for one in parts) for e, parts in source.spawns.items()
            }
            return tuple(named(kernels.FoldPart, part) for part in source.parts), spawns

        self._folding = folding(rules.folding)
        self._ended = folding(rules.ended) if rules.game.horizon is not None else self._folding
        self._slide_parts = tuple(named(kernels.SlidePart, part) for part in rules.parts)
        self._slides = {
            step: tuple(named(kernels.Slides, half) for half in rules.side(step))
            for step in (Step.ROWS, Step.COLUMNS)
        }

    @staticmethod
    def _compiled(kind: str) -> Any:
        from tilebase._kernels.cuda import make_kernels

        return make_kernels(kind)

    def close(self) -> None:
        """Nothing to stop: a kernel ends by itself."""

    def layer(self, source: Source) -> DeviceLayer:
        """Memory on the device for the values of some blocks of a layer.  Raises `ResourceError`."""
        index = self._rules.index
        return DeviceLayer(index.layer(source.total, source.mask(index)), self._backup, self._cuda)

    def _listed(self, blocks: LayerMap) -> Any:
        """The blocks of a layer as the kernels take them (`_kernels.cuda.Blocks`)."""
        from tilebase._kernels.cuda import Blocks

        if self._blocks is None or self._blocks[0] is not blocks:
            there = np.argwhere(blocks.offsets >= 0)
            starts = blocks.offsets[tuple(there.T)]
            order = np.argsort(starts)
            there, starts = there[order], starts[order]
            parts = self._rules.index.parts
            left = blocks.units - sum(parts[k].sums[there[:, k]] for k in range(3))
            last = parts[3].class_of[left][:, None]
            classes = np.concatenate([there, last], axis=1).astype(np.int64)
            put = self._cuda.to_device
            self._blocks = (blocks, Blocks(put(classes), put(starts)))
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
                "with --backend threads"
            ) from error

    def do(
        self, step: BlockStep, reads: Sequence[DeviceLayer], writes: DeviceLayer, work: DenseWork, tell: Tell
    ) -> None:
        """Do a step."""
        since = time.perf_counter()
        blocks, size = self._listed(writes.map), writes.map.size
        if step.kind is Step.FOLD:
            arguments = self._fold_arguments(reads, writes)
            self._launch(self._kernels.fold, size, (blocks, size, *arguments, writes.arrays))
        else:
            (afters,) = reads
            halves, by_columns = self._slides[step.kind], step.kind is Step.COLUMNS
            self._launch(
                self._kernels.slide, size,
                (blocks, size, self._slide_parts, by_columns, *halves, afters.arrays, writes.arrays),
            )  # fmt: skip
        work.add(step.kind.value, since)
        tell(1.0)

    def _fold_arguments(self, above: Sequence[DeviceLayer], afters: DeviceLayer) -> tuple[Any, ...]:
        from tilebase._kernels.cuda import Above

        parts, spawns = self._folding if above else self._ended
        layers = above or [afters] * len(self._exponents)  # where nothing is spawned, nothing is read
        ups = [
            Above(layer.device, layer.offsets, spawns[e])
            for e, layer in zip(self._exponents, layers, strict=True)
        ]
        return (
            parts, ups[0], ups[-1], len(ups) > 1, self._tunes[0], self._tunes[-1],
            self._finish_on_device, self._start,
        )  # fmt: skip
