"""Dense layers in memory, and in files of plain values of which parts are read."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.dense.executors.threads import DenseWork
from tilebase.dense.index import LayerMap, PerfectIndex
from tilebase.dense.tables import DenseLayer, runs
from tilebase.errors import CorruptError
from tilebase.files.format import CHUNK_KEYS
from tilebase.runtime.storage import publish, storage_errors

Array = npt.NDArray[Any]
READ_BYTES = 1 << 26
"""Bytes of a file that are checked at once."""


class MemoryStore:
    """A whole layer in memory."""

    def __init__(self, layer: DenseLayer) -> None:
        self.layer = layer
        self.map = layer.map
        self.size = layer.map.size

    def value(self, rank: int) -> Any:
        """The value of one board."""
        return self.layer.value(rank)

    def change(self, how: Callable[[Array], Array]) -> None:
        """Replace all values by what a function makes of them."""
        values = self.layer.data
        for at in range(0, len(values), CHUNK_KEYS):
            values[at : at + CHUNK_KEYS] = how(values[at : at + CHUNK_KEYS])
        self.layer.load(values)

    def part(self, executor: Any, keep: Array | None = None) -> DenseLayer:
        """The blocks of a mask, or all; here a layer that has all of them will do."""
        del executor, keep
        return self.layer

    @property
    def checksum(self) -> str:
        """A CRC-32 of the values, as a file of them would have."""
        return f"{zlib.crc32(self.layer.data.data):08x}"

    def release(self) -> None:
        """Let go of the memory."""
        del self.layer


class DiskStore:
    """A layer in a file of plain values, by rank.  Raises `StorageError` if the disk refuses."""

    def __init__(self, path: Path, blocks: LayerMap, dtype: np.dtype[Any], work: DenseWork) -> None:
        self.path, self.map, self.dtype, self.size = path, blocks, dtype, blocks.size
        self._work = work

    def part(self, executor: Any, keep: Array | None = None) -> DenseLayer:
        """Read the blocks of a mask, or all, into memory."""
        since = time.perf_counter()
        here = self._masked(executor, keep)
        size = self.dtype.itemsize
        values = here.buffer()
        with storage_errors(self.path, "read"), self.path.open("rb", buffering=0) as file:
            for local, there, count in runs(here.map, self.map):
                file.seek(there * size)
                _read_into(file, values[local : local + count])
        here.load(values)
        self._work.read += values.nbytes
        self._work.add("disk", since)
        return here

    def _masked(self, executor: Any, keep: Array | None) -> DenseLayer:
        # Offsets of the kept blocks, ranked from 0 in their order.
        index: PerfectIndex = executor.rules.index
        layer: DenseLayer = executor.layer(index.layer(2 * self.map.half, keep))
        return layer

    def write(self, layer: DenseLayer) -> None:
        """Write the values of a part where they belong."""
        since = time.perf_counter()
        values, size = layer.data, self.dtype.itemsize
        mode = "r+b" if self.path.exists() else "w+b"
        with storage_errors(self.path), self.path.open(mode, buffering=0) as file:
            for local, there, count in runs(layer.map, self.map):
                file.seek(there * size)
                data = values[local : local + count].view(np.uint8).data
                while data:
                    data = data[file.write(data) :]
        self._work.written += values.nbytes
        self._work.add("disk", since)

    def read_all(self) -> Array:
        """All values."""
        with storage_errors(self.path, "read"):
            return np.fromfile(self.path, dtype=self.dtype)

    def value(self, rank: int) -> Any:
        """The value of one board."""
        with storage_errors(self.path, "read"):
            return np.fromfile(self.path, dtype=self.dtype, count=1, offset=rank * self.dtype.itemsize)[0]

    def change(self, how: Callable[[Array], Array]) -> None:
        """Replace all values by what a function makes of them."""
        if not self.size:
            return
        with storage_errors(self.path):
            values = np.memmap(self.path, dtype=self.dtype, mode="r+")
            for at in range(0, len(values), CHUNK_KEYS):
                values[at : at + CHUNK_KEYS] = how(values[at : at + CHUNK_KEYS])
            values.flush()

    @cached_property
    def checksum(self) -> str:
        """A CRC-32 of the whole file, once it is finished."""
        crc = 0
        with storage_errors(self.path, "read"), self.path.open("rb") as file:
            while data := file.read(READ_BYTES):
                crc = zlib.crc32(data, crc)
        self._work.read += self.size * self.dtype.itemsize
        return f"{crc:08x}"

    def check(self, crc: str) -> None:
        """Raise `CorruptError` unless the file has this checksum."""
        with storage_errors(self.path, "read"):
            size = self.path.stat().st_size
        if size != self.size * self.dtype.itemsize or self.checksum != crc:
            raise CorruptError(f"{self.path} is damaged: delete {self.path.parent} and solve again")

    def rename(self, path: Path) -> None:
        """Give the finished file its name; then it lasts, even if the power fails.  Raises `StorageError`."""
        publish(self.path, path)
        self.path = path

    def release(self) -> None:
        """Delete the file."""
        self.path.unlink(missing_ok=True)


Store = MemoryStore | DiskStore


@contextmanager
def released_on_error(*stores: DiskStore) -> Iterator[None]:
    """Delete the files of stores if they could not be finished."""
    try:
        yield
    except BaseException:
        for store in stores:
            store.release()
        raise


def _read_into(file: Any, values: Array) -> None:
    data = values.view(np.uint8).data
    while data:
        count = file.readinto(data)
        if not count:
            raise OSError(0, "the file is shorter than its layer")
        data = data[count:]
