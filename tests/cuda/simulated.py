"""What needs no device of the dense passes on CUDA, in Numba's simulator.

A process of Numba has the simulator from its start or not at all, so ``tests/test_cuda.py`` runs this file
in a process of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import config

from batching import BATCHED, dense_pass, noting_batches, small_memory
from tilebase.dense.backends.cuda import Cuda, DeviceLayer, DeviceMemory
from tilebase.errors import ResourceError, UsageError
from tilebase.objectives.objective import Objective


def test_this_is_the_simulator() -> None:
    assert config.ENABLE_CUDASIM


def test_what_cuda_cannot_do_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cuda solves win, lower, upper and guaranteed"):
        dense_pass(tmp_path, BATCHED, Objective("score"), backend="cuda")


def test_batches_on_the_device_have_their_own_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the kernels, for which the simulator takes minutes: each gets the blocks of its piece."""
    right: list[bool] = []
    launched: list[int] = []

    def launch(_self: Cuda, _kernel: Any, writes: DeviceLayer, *_arguments: Any) -> None:
        offsets = writes.map.offsets
        right.append(np.array_equal(writes.blocks[1].copy_to_host(), np.sort(offsets[offsets >= 0])))
        launched.append(writes.map.size)

    monkeypatch.setattr(Cuda, "_launch", launch)
    memory, batches = small_memory(BATCHED, "lower"), noting_batches(monkeypatch)
    with dense_pass(tmp_path, BATCHED, Objective("lower"), memory=memory, backend="cuda") as one:
        one.run()
        assert max(batches) > 1
        assert sum(launched) == 3 * sum(one.sizes.values())  # fold, rows and columns of each board
    assert len(launched) > 100
    assert all(right)


class _Full:
    """A device with memory for one buffer."""

    def __init__(self) -> None:
        self.buffers = [np.zeros(4, dtype=np.uint32)]

    def device_array(self, size: int, dtype: Any) -> Any:
        assert (size, dtype) == (4, np.uint32)
        return self.buffers.pop()


class _Cycle:
    """A layer that only the garbage collector finds."""

    def __init__(self, memory: DeviceMemory) -> None:
        self.memory, self.buffer, self.this = memory, memory.take(), self

    def __del__(self) -> None:
        self.memory.give(self.buffer)


def test_the_memory_of_a_layer_that_only_the_collector_finds_is_used_again() -> None:
    device = _Full()
    buffer = device.buffers[0]
    memory = DeviceMemory(np.dtype(np.uint32), 4, device)
    layer: _Cycle | None = _Cycle(memory)
    with pytest.raises(ResourceError, match="a layer of 16 B does not fit into the device's memory"):
        memory.take()
    assert layer is not None
    layer = None
    assert memory.take() is buffer
