"""Parcel files: what one piece of work hands to another, as a list of byte strings with checksums.

They live for the time of one layer and belong to no format that others read.  Each parcel begins at a
multiple of 8 bytes.  All integers are unsigned, of 64 bits, little-endian.

    header     8 bytes   "tbparcel"
    parcels
    index      24 bytes per parcel: where it begins, its bytes, its checksum
    trailer    24 bytes  where the index begins, how many parcels, the checksum of the index

The checksum is the sum of the 64-bit words, modulo 2**64, plus the number of bytes.  It is seven times as
fast as a CRC, and finds parcels that are torn, cleared or exchanged.
"""

from __future__ import annotations

import struct
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tilebase.errors import CorruptError
from tilebase.files.source import Closing
from tilebase.runtime.storage import open_own, storage_errors, written

Array = npt.NDArray[Any]
HEADER = b"tbparcel"
MOST_PARCELS = 1 << 26
"""Most parcels of a file that is read."""


class ParcelWriter:
    """Writes a parcel file; it gets its name when the block of the context manager ends without an error."""

    def __init__(self, path: Path) -> None:
        self._target = path
        self._nbytes = 0
        self._rows: list[tuple[int, int, int]] = []

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._path = stack.enter_context(written(self._target))
            with storage_errors(self._path):
                self._file = stack.enter_context(open_own(self._path, "wb", 1 << 20))
            self._put(HEADER)
            self._opened = stack.pop_all()
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is not None:
            self._opened.__exit__(kind, error, trace)
            return
        with self._opened:
            self._finish()

    def abandon(self) -> None:
        """Close and delete the file instead of finishing it."""
        with suppress(OSError):  # what is still to be written may find the disk full
            self._file.close()
        self._path.unlink(missing_ok=True)

    def add(self, data: bytes | Array) -> None:
        """Append a parcel.  Raises `StorageError`."""
        raw = np.frombuffer(data, dtype=np.uint8) if isinstance(data, bytes) else data.view(np.uint8)
        self._rows.append((self._nbytes, len(raw), checksum(raw)))
        self._put(raw)
        self._put(bytes(-len(raw) % 8))

    def _put(self, data: Any) -> None:
        with storage_errors(self._path):
            self._file.write(data)
        self._nbytes += len(data)

    def _finish(self) -> None:
        begin = self._nbytes
        index = np.array(self._rows, dtype="<u8").reshape(-1).view(np.uint8)
        self._put(index)
        self._put(np.array([begin, len(self._rows), checksum(index)], dtype="<u8").tobytes())
        with storage_errors(self._path):
            self._file.flush()


class ParcelFile(Closing):
    """An open parcel file.  Raises `CorruptError` or `StorageError`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with storage_errors(path, "read"):
            self._file = path.open("rb", buffering=0)
        try:
            self._index = self._read_index()
        except BaseException:
            self._file.close()
            raise

    def _read_index(self) -> Array:
        with storage_errors(self.path, "read"):
            size = self._file.seek(0, 2)
            self._file.seek(max(size - 24, 0))
            trailer = self._file.read(24)
            begin, count, expected = struct.unpack("<3Q", trailer) if len(trailer) == 24 else (0, 0, 0)
            sound = begin >= 8 and count <= MOST_PARCELS and begin + 24 * count + 24 == size
            self._file.seek(begin if sound else 0)
            self._end = begin
            index = self._file.read(24 * count if sound else 0)
        if not sound or checksum(np.frombuffer(index, dtype=np.uint8)) != expected:
            raise CorruptError(f"{self.path} is damaged: run the same command again")
        return np.frombuffer(index, dtype="<u8").reshape(count, 3)

    def __len__(self) -> int:
        return len(self._index)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def sizes(self) -> Array:
        """Return the bytes of each parcel."""
        return self._index[:, 1]

    def read(self, number: int, buffer: Array | None = None) -> Array:
        """Return a parcel as bytes (uint8), in memory that may be written.  Raises `CorruptError`.

        It is read into `buffer` if this is large enough: fresh memory takes as long as reading.
        """
        begin, size, expected = map(int, self._index[number])
        if begin + size > self._end:
            raise CorruptError(f"{self.path} is damaged in parcel {number}: run the same command again")
        data = np.empty(size, dtype=np.uint8) if buffer is None or len(buffer) < size else buffer[:size]
        with storage_errors(self.path, "read"):
            self._file.seek(begin)
            found = self._file.readinto(memoryview(data))  # type: ignore[arg-type]  # an array is a buffer
        if found != size or checksum(data) != expected:
            raise CorruptError(f"{self.path} is damaged in parcel {number}: run the same command again")
        return data


def checksum(data: Array) -> int:
    """Return the checksum of a parcel (uint8)."""
    whole = len(data) // 8 * 8
    rest = int.from_bytes(data[whole:].tobytes(), "little")
    return (int(data[:whole].view("<u8").sum(dtype=np.uint64)) + rest + len(data)) % (1 << 64)
