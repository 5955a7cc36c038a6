"""The slides of all states of small layers, from the forward pass to the backward pass.

`SlideMemory` is where threads write down the slides of one layer.  `RecordedSlides` keeps them, layer after
layer, in a `ScratchFile`, a file without a name, since memory that a process uses for the first time costs
more time than to write and to read them.  The backward pass needs the last layer first: so the file is cut
off behind what is still to be read.

The file is written once and read once, past the cache of the system where it can be.  Its bytes are read much
later, so copies of them in the cache only take memory.  On a virtual machine a gigabyte of such copies costs
up to four CPU seconds, and 0.2 without them.
"""

from __future__ import annotations

import errno
import logging
import mmap
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tilebase._kernels import forward
from tilebase._kernels.arguments import Numbers, Slides
from tilebase.runtime import system
from tilebase.runtime.storage import storage_errors
from tilebase.runtime.threads import in_background
from tilebase.sparse.sizes import MOST_RECORDED, RECORDED_SHARE
from tilebase.sparse.windows import BitSet

Array = npt.NDArray[Any]
LOG = logging.getLogger(__name__)
GIVEN_BACK = 1 << 24
"""Bytes of the file that are cut off at once."""
ALIGNED = 4096
"""Past the cache, positions and lengths are multiples of this, and so are addresses."""
BLOCK = 1 << 22
"""Bytes that are written or read at once."""
LARGE = 1 << 20
"""Fewer bytes go through the cache, since each call past it waits for the disk."""
NO_SLIDES = Slides(
    np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.uint32),
    np.zeros((1, 3), dtype=np.int64), np.zeros(1, dtype=np.int64),
)  # fmt: skip
"""Slides that are not recorded."""


class SlideMemory:
    """Memory for the slides of one small layer after the other, which several threads write down in parts.

    There are `axes` to slide along; at most so many bytes are taken.  `recorded` keeps the slides: without
    it, or when it is full, no slides are written down.
    """

    def __init__(self, recorded: RecordedSlides | None, axes: int, most_bytes: int) -> None:
        self._recorded, self._each, self._most_bytes = recorded, 2 * axes, most_bytes
        self._made = self._wins = np.empty(0, dtype=np.uint32)

    def take(self, states: BitSet, ranges: Sequence[tuple[int, int]]) -> list[Slides]:
        """Memory for the slides of the states of each range; `NO_SLIDES` for those of a large set."""
        none, each = [NO_SLIDES] * len(ranges), self._each
        if self._recorded is None or not states.is_small:
            return none
        self._recorded.wait()  # until its memory can be used again
        if self._recorded.full:
            return none
        counts = [states.count(begin, end) for begin, end in ranges]
        n = sum(counts)
        if 4 * (each + 1) * n > self._most_bytes:
            return none
        if len(self._made) < each * n:  # twice as much, since layers grow; pages that are not used take none
            self._made = aligned_empty(2 * each * n, np.uint32)
            self._wins = aligned_empty(2 * n, np.uint32)
        bits = aligned_empty(-(-states.size // 64), np.uint64)
        bits[:] = states.bits[: len(bits)]
        parts, first = [], 0
        for count in counts:
            batches = count // (forward.STATES - 63) + 2  # each but the last two has at least so many states
            end = first + count
            parts.append(Slides(
                bits, self._made[each * first : each * end], self._wins[first:end],
                np.zeros((batches + 1, 3), dtype=np.int64), np.zeros(1, dtype=np.int64),
            ))  # fmt: skip
            first = end
        return parts

    def joined(self, parts: Sequence[Slides]) -> Slides:
        """Return the slides of all parts, without the memory between them; `NO_SLIDES` if there are none."""
        if len(parts) == 1 or not len(parts[0].states):
            return parts[0].trimmed()
        ends, total = [np.zeros((1, 3), dtype=np.int64)], np.zeros(3, dtype=np.int64)
        for part in map(Slides.trimmed, parts):
            states, made, wins = total
            self._made[made : made + len(part.made)] = part.made
            self._wins[wins : wins + len(part.wins)] = part.wins + np.uint32(states)
            ends.append(part.ends[1:] + total)
            total = ends[-1][-1] if len(part.ends) > 1 else total
        whole = np.concatenate(ends)
        used = np.array([len(whole) - 1], dtype=np.int64)
        return Slides(parts[0].states, self._made[: total[1]], self._wins[: total[2]], whole, used)

    def keep(self, total: int, slides: Slides) -> None:
        """Hand the slides of the layer of one sum on to the backward pass, if there are any."""
        if self._recorded is not None and len(slides.made):
            self._recorded.add(total, slides)


class _Layer(NamedTuple):
    """Where the slides of a layer are: the large arrays are in the file, one after the other."""

    begin: int  # of the arrays in the file
    states: int  # numbers in each of them
    made: int
    wins: int
    ends: Numbers

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays in memory."""
        return 8 * self.states + 4 * (self.made + self.wins)

    @property
    def file_bytes(self) -> int:
        """Bytes of the file, in which each array begins at a multiple of `ALIGNED`."""
        return aligned(8 * self.states) + aligned(4 * self.made) + aligned(4 * self.wins)


class RecordedSlides:
    """The slides of layers, in a file that ends with this object.

    They take at most a quarter of the space that is free at the beginning.  A disk that is full is not an
    error: no more slides are recorded then, and the states are slid again.
    """

    most: ClassVar[int] = MOST_RECORDED

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._most = min(self.most, int(RECORDED_SHARE * shutil.disk_usage(folder).free))
        self._file: ScratchFile | None = None
        self._writing: tuple[int, _Layer, Future[None]] | None = None
        self._ahead: tuple[int, Future[Slides]] | None = None
        self._layers: dict[int, _Layer] = {}
        self._end = self._length = 0  # of the layers that are still to be read, and of the file
        self.full = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()
        if self._ahead is not None:
            wait([self._ahead[1]])
        if self._file is not None:
            self._file.close()

    def add(self, total: int, slides: Slides) -> None:
        """Record the slides of the layer of one sum, larger than the sums before.

        They are written while the caller goes on: until `wait`, its arrays must not change.
        """
        self.wait()
        arrays = slides.states, slides.made, slides.wins
        layer = _Layer(self._end, len(slides.states), len(slides.made), len(slides.wins), slides.ends)
        if self.full or self._end + layer.nbytes > self._most:
            self.full = True
            return
        self._writing = total, layer, _begun(layer, partial(self._write, arrays))

    def _write(self, arrays: Sequence[Array]) -> None:
        if self._file is None:
            self._file = ScratchFile(self._folder)
        self._file.write(self._end, arrays)

    def wait(self) -> None:
        """Wait until what was added is written."""
        if self._writing is None:
            return
        (total, layer, written), self._writing = self._writing, None
        try:
            written.result()
        except OSError as error:
            LOG.debug("slides are recorded up to sum %d only: %s", total - 2, error)
            self.full = True
            return
        self._layers[total] = layer
        self._end += layer.file_bytes
        self._length = max(self._length, self._end)

    def nbytes(self, total: int) -> int:
        """Return the bytes of memory that the slides of one sum take, with those that are read ahead.

        0 if they are not recorded.
        """
        self.wait()
        if total not in self._layers:
            return 0
        ahead = next((s for s in reversed(self._layers) if s < total), None)
        return self._layers[total].nbytes + (0 if ahead is None else self._layers[ahead].nbytes)

    def take(self, total: int) -> Slides | None:
        """Return the slides of one sum, if they are recorded.  Those of larger sums are given up.

        Those of the sum before are read meanwhile.
        """
        self.wait()
        if total not in self._layers:
            return None
        while (last := next(reversed(self._layers))) > total:
            del self._layers[last]
        with storage_errors(self._folder, "read what was recorded in"):
            slides = self._read_ahead(total)
            layer = self._layers.pop(total)
            if self._layers:
                self._read_ahead_of(next(reversed(self._layers)))
            if self._length - layer.begin >= GIVEN_BACK or not layer.begin:
                assert self._file is not None
                self._file.truncate(layer.begin)
                self._length = layer.begin
        self._end = layer.begin
        return slides

    def _read_ahead(self, total: int) -> Slides:
        """Return the slides of a sum that were read ahead, or read them now."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None:
            found = ahead[1].result()  # also of another sum: one read at a time
            if ahead[0] == total:
                return found
        return self._read(self._layers[total])

    def _read_ahead_of(self, total: int) -> None:
        layer = self._layers[total]
        if layer.nbytes >= LARGE:
            self._ahead = total, in_background(partial(self._read, layer))

    def _read(self, layer: _Layer) -> Slides:
        assert self._file is not None
        states = aligned_empty(layer.states, np.uint64)
        made, wins = aligned_empty(layer.made, np.uint32), aligned_empty(layer.wins, np.uint32)
        self._file.read(layer.begin, (states, made, wins))
        return Slides(states, made, wins, layer.ends, np.array([len(layer.ends) - 1], dtype=np.int64))


def _begun(layer: _Layer, work: Callable[[], None]) -> Future[None]:
    """Begin to write a layer; a small one is written at once, since a thread takes longer."""
    if layer.nbytes >= LARGE:
        return in_background(work)
    done: Future[None] = Future()
    try:
        work()
        done.set_result(None)
    except OSError as error:
        done.set_exception(error)
    return done


# -- the file ------------------------------------------------------------------------------------------


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
