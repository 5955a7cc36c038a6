"""Layers of a dense pass in files: plain values in the order of a backend's layout."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tilebase.dense.backends.protocol import Backend, DenseWork
from tilebase.dense.index import LayerMap
from tilebase.dense.steps import Source
from tilebase.dense.tables import DenseLayer, runs
from tilebase.errors import CorruptError
from tilebase.files import places
from tilebase.files.format import CHUNK_KEYS
from tilebase.runtime.measured import working_time
from tilebase.runtime.storage import open_own, publish, storage_errors, write_all

Array = npt.NDArray[Any]
D = TypeVar("D", bound=DenseLayer)
LAYOUTS = {"values": "states", "bits": "bits"}
"""The ends of the names of the files that have states, by the layout of their backend."""
READ_BYTES = 1 << 26
"""Bytes of a file that are checked at once, or read by one thread."""


def states_path(folder: Path, total: int, layout: str = "values") -> Path:
    """Return where a pass keeps the states of a sum, in the layout of its backend."""
    return folder / places.of_sum(total, LAYOUTS[layout])


def checksum_of(values: Array) -> str:
    """Return a CRC-32 of values, as a file of them would have."""
    return f"{zlib.crc32(values.data):08x}"


def change(values: Array, how: Callable[[Array], Array]) -> None:
    """Replace values by what a function makes of them, chunk by chunk."""
    for at in range(0, len(values), CHUNK_KEYS):
        values[at : at + CHUNK_KEYS] = how(values[at : at + CHUNK_KEYS])


def joined_checksum(parts: Iterable[tuple[int, int]]) -> int:
    """Return the CRC-32 of byte strings one after the other, from the CRC-32 and the length of each.

    A CRC is the remainder of a polynomial over two elements; its product with x**8 stands for one more byte.
    The highest bit of a number here is the coefficient of x**0.

    >>> joined_checksum([(zlib.crc32(b"20"), 2), (zlib.crc32(b"48"), 2)]) == zlib.crc32(b"2048")
    True
    """
    found = 0
    for crc, length in parts:
        shift, power, bytes_left = 1 << 31, 1 << 23, length  # 1; x**8, later its squares
        while bytes_left:
            if bytes_left & 1:
                shift = _product(shift, power)
            power = _product(power, power)
            bytes_left >>= 1
        found = _product(found, shift) ^ crc
    return found


def _product(a: int, b: int) -> int:
    """Return the product of two polynomials modulo that of CRC-32."""
    found = 0
    for bit in range(31, -1, -1):
        if a >> bit & 1:
            found ^= b
        b = b >> 1 ^ (0xEDB88320 if b & 1 else 0)
    return found


class RawLayer:
    """A layer in a file.  Raises `StorageError` if the disk refuses."""

    def __init__(self, path: Path, size: int, dtype: np.dtype[Any], work: DenseWork) -> None:
        self.path, self.size, self.dtype = path, size, dtype
        self.work = work

    def write_all(self, values: Array) -> None:
        """Write a whole layer."""
        with storage_errors(self.path), open_own(self.path, "w+b", 0) as file:
            write_all(file, values)

    def read_all(self) -> Array:
        """Return all values."""
        with storage_errors(self.path, "read"):
            return np.fromfile(self.path, dtype=self.dtype)

    def create(self) -> None:
        """Make the file in its full size, for parts to be written."""
        with storage_errors(self.path), open_own(self.path, "wb") as file:
            file.truncate(self.size * self.dtype.itemsize)

    def read_at(self, begin: int, values: Array, mapped: Callable[..., Iterable[None]] = map) -> None:
        """Fill `values` with those from `begin` on, by all threads if `mapped` is that of a pool."""
        piece = READ_BYTES // self.dtype.itemsize

        def fill(at: int) -> None:
            with storage_errors(self.path, "read"), self.path.open("rb", buffering=0) as file:
                file.seek((begin + at) * self.dtype.itemsize)
                _read_into(file, values[at : at + piece])

        for _ in mapped(fill, range(0, len(values), piece)):
            pass
        self.work.read += values.nbytes

    def write_at(self, begin: int, values: Array) -> None:
        """Write values from `begin` on.  The file must be there."""
        with storage_errors(self.path), open_own(self.path, "r+b", 0) as file:
            file.seek(begin * self.dtype.itemsize)
            write_all(file, values)
        self.work.written += values.nbytes

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


class DiskStore(RawLayer):
    """A layer in a file, by rank, of which blocks are read and written."""

    def __init__(self, path: Path, blocks: LayerMap, dtype: np.dtype[Any], work: DenseWork) -> None:
        super().__init__(path, blocks.size, dtype, work)
        self.map = blocks

    def read(self, backend: Backend[D], source: Source) -> D:
        """Read the blocks of a source into memory."""
        since = working_time()
        here = backend.layer(source)
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
        """Write the values of some blocks where they belong.  The file must be there."""
        since = working_time()
        values, size = layer.data, self.dtype.itemsize
        with storage_errors(self.path), open_own(self.path, "r+b", 0) as file:
            for local, there, count in runs(layer.map, self.map):
                file.seek(there * size)
                write_all(file, values[local : local + count])
        self.work.written += values.nbytes
        self.work.add("disk", since)

    def read_ranks(self, begin: int, end: int) -> Array:
        """Return the values of the ranks from `begin` up to but not including `end`."""
        values = np.empty(end - begin, dtype=self.dtype)
        self.read_at(begin, values)
        return values

    def value(self, rank: int) -> Any:
        """Return the value of one board."""
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
def released_on_error(*files: RawLayer) -> Iterator[None]:
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
