"""Dense layers in memory, and in files of plain values of which parts are read."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.errors import CorruptError, StorageError
from tilebase.layers.dense import DenseLayer, runs
from tilebase.layers.threads import DenseWork
from tilebase.perfect import LayerMap, PerfectIndex
from tilebase.tables.format import CHUNK_KEYS, sync_folder

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
        try:
            with self.path.open("rb", buffering=0) as file:
                for local, there, count in runs(here.map, self.map):
                    file.seek(there * size)
                    _read_into(file, values[local : local + count])
        except OSError as error:
            raise StorageError(f"cannot read {self.path}: {error.strerror or error}") from error
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
        try:
            with self.path.open("r+b" if self.path.exists() else "w+b", buffering=0) as file:
                for local, there, count in runs(layer.map, self.map):
                    file.seek(there * size)
                    data = values[local : local + count].view(np.uint8).data
                    while data:
                        data = data[file.write(data) :]
        except OSError as error:
            raise StorageError(f"cannot write {self.path}: {error.strerror or error}") from error
        self._work.written += values.nbytes
        self._work.add("disk", since)

    def read_all(self) -> Array:
        """All values."""
        try:
            values = np.fromfile(self.path, dtype=self.dtype)
        except OSError as error:
            raise StorageError(f"cannot read {self.path}: {error.strerror or error}") from error
        return values

    def value(self, rank: int) -> Any:
        """The value of one board."""
        return np.fromfile(self.path, dtype=self.dtype, count=1, offset=rank * self.dtype.itemsize)[0]

    def change(self, how: Callable[[Array], Array]) -> None:
        """Replace all values by what a function makes of them."""
        if not self.size:
            return
        values = np.memmap(self.path, dtype=self.dtype, mode="r+")
        for at in range(0, len(values), CHUNK_KEYS):
            values[at : at + CHUNK_KEYS] = how(values[at : at + CHUNK_KEYS])
        values.flush()

    @cached_property
    def checksum(self) -> str:
        """A CRC-32 of the whole file, once it is finished."""
        crc = 0
        with self.path.open("rb") as file:
            while data := file.read(READ_BYTES):
                crc = zlib.crc32(data, crc)
        self._work.read += self.size * self.dtype.itemsize
        return f"{crc:08x}"

    def check(self, crc: str) -> None:
        """Raise `CorruptError` unless the file has this checksum."""
        try:
            same = self.path.stat().st_size == self.size * self.dtype.itemsize and self.checksum == crc
        except OSError as error:
            raise StorageError(f"cannot read {self.path}: {error.strerror or error}") from error
        if not same:
            raise CorruptError(f"{self.path} is damaged: delete {self.path.parent} and solve again")

    def rename(self, path: Path) -> None:
        """Give the finished file its name; then it lasts, even if the power fails.  Raises `StorageError`."""
        try:
            with self.path.open("rb") as file:
                os.fsync(file.fileno())
            self.path.replace(path)
            sync_folder(path.parent)
        except OSError as error:
            raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
        self.path = path

    def release(self) -> None:
        """Delete the file."""
        self.path.unlink(missing_ok=True)


Store = MemoryStore | DiskStore


def _read_into(file: Any, values: Array) -> None:
    data = values.view(np.uint8).data
    while data:
        count = file.readinto(data)
        if not count:
            raise OSError(0, "the file is shorter than its layer")
        data = data[count:]
