"""A file without a name for what a run writes once and reads once, past the cache of the system where it can.

Its bytes are read much later, so copies of them in the cache only take memory.  On a virtual machine a
gigabyte of such copies costs up to four CPU seconds, and 0.2 without them.
"""

from __future__ import annotations

import errno
import mmap
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.runtime import system

Array = npt.NDArray[Any]
ALIGNED = 4096
"""Past the cache, positions and lengths are multiples of this, and so are addresses."""
BLOCK = 1 << 22
"""Bytes that are written or read at once."""
LARGE = 1 << 20
"""Fewer bytes go through the cache, since each call past it waits for the disk."""


def aligned(nbytes: int) -> int:
    """Return the next multiple of `ALIGNED`."""
    return -(-nbytes // ALIGNED) * ALIGNED


def aligned_empty(size: int, dtype: npt.DTypeLike) -> Array:
    """Return an array, not filled, whose address is a multiple of `ALIGNED`: it needs no copy on its way."""
    nbytes = size * np.dtype(dtype).itemsize
    memory = np.empty(nbytes + ALIGNED, dtype=np.uint8)
    begin = -memory.ctypes.data % ALIGNED
    return memory[begin : begin + nbytes].view(dtype)


class ScratchFile:
    """A file in a folder; it is deleted when it is closed, or the process ends.  Raises `OSError`.

    One thread at a time writes or reads.
    """

    def __init__(self, folder: Path) -> None:
        self._file: Any = TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        self._able = True  # until the system refuses
        self._direct = False
        self._block = memoryview(mmap.mmap(-1, BLOCK))  # of whole pages of memory

    def close(self) -> None:
        """Close it."""
        self._file.close()

    def write(self, at: int, arrays: Sequence[Array]) -> None:
        """Write arrays one after the other, from a position on, a multiple of `ALIGNED`."""
        self._choose(arrays)
        for array in arrays:
            for part, own in self._parts(array):
                if not own:
                    self._block[: len(part)] = part
                self._write(at, part if own else self._block[: aligned(len(part))])
                at += aligned(len(part))

    def read(self, at: int, arrays: Sequence[Array]) -> None:
        """Fill arrays that were written one after the other from a position on."""
        self._choose(arrays)
        for array in arrays:
            for part, own in self._parts(array):
                self._read(at, part if own else self._block[: aligned(len(part))])
                if not own:
                    part[:] = self._block[: len(part)]
                at += aligned(len(part))

    def _choose(self, arrays: Sequence[Array]) -> None:
        """Pass by the cache from now on, or not."""
        wanted = self._able and sum(array.nbytes for array in arrays) >= LARGE
        if wanted is not self._direct:
            self._direct = system.pass_by_cache(self._file.fileno(), on=wanted)
            self._able = self._direct is wanted

    def _parts(self, array: Array) -> Iterator[tuple[memoryview, bool]]:
        """Yield the bytes of an array in parts, and whether these need no copy: both ends are aligned."""
        if not array.nbytes:
            return
        rest = array.reshape(-1).view(np.uint8).data
        if not self._direct:
            yield rest, True
            return
        if array.ctypes.data % ALIGNED == 0 and (whole := len(rest) // ALIGNED * ALIGNED):
            yield rest[:whole], True
            rest = rest[whole:]
        while rest:
            yield rest[:BLOCK], False
            rest = rest[BLOCK:]

    def _write(self, at: int, rest: memoryview) -> None:
        self._file.seek(at)
        while rest:  # a disk that becomes full takes a part, and refuses the next one
            try:
                done = self._file.write(rest[:BLOCK])
            except OSError as error:
                if error.errno != errno.EINVAL or not self._direct:
                    raise
                # This disk wants other multiples.
                self._able = self._direct = system.pass_by_cache(self._file.fileno(), on=False)
                continue
            rest = rest[done:]

    def _read(self, at: int, rest: memoryview) -> None:
        self._file.seek(at)
        while rest:
            done = self._file.readinto(rest[:BLOCK])
            if not done:
                raise OSError("the file ends too early")
            rest = rest[done:]

    def truncate(self, size: int) -> None:
        """Cut it off."""
        self._file.truncate(size)
