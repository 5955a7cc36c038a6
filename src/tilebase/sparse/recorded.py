"""The slides of all states of small layers, from the forward pass to the backward pass.

They lie in one file without a name, layer after layer, since memory that a process uses for the first time
costs more time than to write and to read them.  The backward pass needs the last layer first: so the file
is cut off behind what is still to be read.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from tilebase._kernels.arguments import Numbers, Slides
from tilebase.runtime.scratch import LARGE, ScratchFile, aligned, aligned_empty
from tilebase.runtime.storage import storage_errors
from tilebase.runtime.threads import in_background
from tilebase.sparse.sizes import MOST_RECORDED, RECORDED_SHARE

Array = npt.NDArray[Any]
LOG = logging.getLogger(__name__)
GIVEN_BACK = 1 << 24
"""Bytes of the file that are cut off at once."""


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
