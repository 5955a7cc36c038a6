"""The slides of all states of small layers, from the forward pass to the backward pass.

They lie in one file without a name, layer after layer, since memory that a process uses for the first time
costs more time than to write and to read them.  The backward pass needs the last layer first: so the file
is cut off behind what is still to be read.
"""

from __future__ import annotations

import logging
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from tilebase._kernels.arguments import Numbers, Slides
from tilebase.runtime.storage import storage_errors
from tilebase.sparse.sizes import MOST_RECORDED

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
        """Bytes of the arrays in the file."""
        return 8 * self.states + 4 * (self.made + self.wins)


class RecordedSlides:
    """The slides of layers, in a file that ends with this object.

    A disk that is full is not an error: no more slides are recorded then, and the states are slid again.
    """

    most: ClassVar[int] = MOST_RECORDED

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: Any = None
        self._layers: dict[int, _Layer] = {}
        self._end = self._length = 0  # of the layers that are still to be read, and of the file
        self.full = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, total: int, slides: Slides) -> None:
        """Record the slides of the layer of one sum, larger than the sums before."""
        layer = _Layer(self._end, len(slides.states), len(slides.made), len(slides.wins), slides.ends)
        if self._end + layer.nbytes > self.most:
            self.full = True
            return
        try:
            if self._file is None:
                self._file = TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
            self._file.seek(self._end)
            for array in (slides.states, slides.made, slides.wins):
                write_all(self._file, array)
        except OSError as error:
            LOG.debug("slides are recorded up to sum %d only: %s", total - 2, error)
            self.full = True
            return
        self._layers[total] = layer
        self._end += layer.nbytes
        self._length = max(self._length, self._end)

    def nbytes(self, total: int) -> int:
        """Return the bytes of memory that the slides of one sum take; 0 if they are not recorded."""
        return self._layers[total].nbytes if total in self._layers else 0

    def take(self, total: int) -> Slides | None:
        """Return the slides of one sum, if they are recorded.  Those of larger sums are given up."""
        if total not in self._layers:
            return None
        while (last := next(reversed(self._layers))) > total:
            del self._layers[last]
        layer = self._layers.pop(total)
        states = np.empty(layer.states, dtype=np.uint64)
        made, wins = np.empty(layer.made, dtype=np.uint32), np.empty(layer.wins, dtype=np.uint32)
        with storage_errors(self._folder, "read what was recorded in"):
            self._file.seek(layer.begin)
            for array in (states, made, wins):
                read_all(self._file, array)
            if self._length - layer.begin >= GIVEN_BACK or not layer.begin:
                self._file.truncate(layer.begin)
                self._length = layer.begin
        self._end = layer.begin
        return Slides(states, made, wins, layer.ends, np.array([len(layer.ends) - 1], dtype=np.int64))


def write_all(file: Any, array: Any) -> None:
    """Write an array: a disk that becomes full takes a part, and raises `OSError` at the next call."""
    rest = memoryview(array.reshape(-1).view(np.uint8))
    while rest:
        rest = rest[file.write(rest) :]


def read_all(file: Any, array: Any) -> None:
    """Fill an array.  Raises `OSError` if the file ends before."""
    rest = memoryview(array.reshape(-1).view(np.uint8))
    while rest:
        taken = file.readinto(rest)
        if not taken:
            raise OSError("the file ends too early")
        rest = rest[taken:]
