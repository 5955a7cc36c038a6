"""Layers of a dense pass in files: plain values in the order of an executor's layout."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tilebase.dense.executors.protocol import DenseWork, Executor
from tilebase.dense.index import LayerMap
from tilebase.dense.pieces import Source
from tilebase.dense.tables import DenseLayer, runs
from tilebase.errors import CorruptError
from tilebase.files.format import CHUNK_KEYS
from tilebase.runtime.storage import publish, storage_errors

Array = npt.NDArray[Any]
D = TypeVar("D", bound=DenseLayer)
READ_BYTES = 1 << 26
"""Bytes of a file that are checked at once."""


def states_path(folder: Path, total: int) -> Path:
    """Where a pass keeps the states of a sum."""
    return folder / f"{total:06d}.states"


def checksum_of(values: Array) -> str:
    """A CRC-32 of values, as a file of them would have."""
    return f"{zlib.crc32(values.data):08x}"


def change(values: Array, how: Callable[[Array], Array]) -> None:
    """Replace values by what a function makes of them, chunk by chunk."""
    for at in range(0, len(values), CHUNK_KEYS):
        values[at : at + CHUNK_KEYS] = how(values[at : at + CHUNK_KEYS])


class LayerFile:
    """A layer in a file.  Raises `StorageError` if the disk refuses."""

    def __init__(self, path: Path, size: int, dtype: np.dtype[Any], work: DenseWork) -> None:
        self.path, self.size, self.dtype = path, size, dtype
        self.work = work

    def write_all(self, values: Array) -> None:
        """Write a whole layer."""
        with storage_errors(self.path), self.path.open("w+b", buffering=0) as file:
            _write(file, values)

    def read_all(self) -> Array:
        """All values."""
        with storage_errors(self.path, "read"):
            return np.fromfile(self.path, dtype=self.dtype)

    @cached_property
    def checksum(self) -> str:
        """A CRC-32 of the whole file, once it is finished."""
        crc = 0
        with storage_errors(self.path, "read"), self.path.open("rb") as file:
            while data := file.read(READ_BYTES):
                crc = zlib.crc32(data, crc)
        self.work.read += self.size * self.dtype.itemsize
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


class DiskStore(LayerFile):
    """A layer in a file, by rank, of which blocks are read and written."""

    def __init__(self, path: Path, blocks: LayerMap, dtype: np.dtype[Any], work: DenseWork) -> None:
        super().__init__(path, blocks.size, dtype, work)
        self.map = blocks

    def read(self, executor: Executor[D], source: Source) -> D:
        """Read the blocks of a source into memory."""
        since = time.perf_counter()
        here = executor.layer(source)
        values, size = here.buffer(), self.dtype.itemsize
        with storage_errors(self.path, "read"), self.path.open("rb", buffering=0) as file:
            for local, there, count in runs(here.map, self.map):
                file.seek(there * size)
                _read_into(file, values[local : local + count])
        here.load(values)
        self.work.read += values.nbytes
        self.work.add("disk", since)
        return here

    def write(self, layer: DenseLayer) -> None:
        """Write the values of some blocks where they belong."""
        since = time.perf_counter()
        values, size = layer.data, self.dtype.itemsize
        mode = "r+b" if self.path.exists() else "w+b"
        with storage_errors(self.path), self.path.open(mode, buffering=0) as file:
            for local, there, count in runs(layer.map, self.map):
                file.seek(there * size)
                _write(file, values[local : local + count])
        self.work.written += values.nbytes
        self.work.add("disk", since)

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
            change(values, how)
            values.flush()


@contextmanager
def released_on_error(*files: LayerFile) -> Iterator[None]:
    """Delete the files of layers if they could not be finished."""
    try:
        yield
    except BaseException:
        for file in files:
            file.release()
        raise


def _read_into(file: Any, values: Array) -> None:
    data = values.view(np.uint8).data
    while data:
        count = file.readinto(data)
        if not count:
            raise OSError(0, "the file is shorter than its layer")
        data = data[count:]


def _write(file: Any, values: Array) -> None:
    data = values.view(np.uint8).data
    while data:
        data = data[file.write(data) :]
