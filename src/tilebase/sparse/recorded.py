"""The slides of all states of small layers, from the forward pass to the backward pass.

They lie in one file without a name, layer after layer, since memory that a process uses for the first time
costs more time than to write and to read them.  The backward pass needs the last layer first: so each layer
is cut off when it is read.
"""

from __future__ import annotations

import logging
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from tilebase._kernels.arguments import Slides
from tilebase.runtime.storage import storage_errors
from tilebase.sparse.sizes import MOST_RECORDED

LOG = logging.getLogger(__name__)


class _Layer(NamedTuple):
    """Where the slides of a layer begin in the file, and what arrays they are."""

    begin: int
    arrays: list[tuple[Any, tuple[int, ...]]]  # types and shapes


class RecordedSlides:
    """The slides of layers, in a file that ends with this object.

    A disk that is full is not an error: no more slides are recorded then, and the states are slid again.
    """

    most: ClassVar[int] = MOST_RECORDED

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: Any = None
        self._layers: dict[int, _Layer] = {}
        self._end = 0
        self.full = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, total: int, slides: Slides) -> None:
        """Record the slides of the layer of one sum, larger than the sums before."""
        if self._end + slides.nbytes > self.most:
            self.full = True
            return
        try:
            if self._file is None:
                self._file = TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
            self._file.seek(self._end)
            for array in slides:
                write_all(self._file, array)
        except OSError as error:
            LOG.debug("slides are recorded up to sum %d only: %s", total - 2, error)
            self.full = True
            return
        self._layers[total] = _Layer(self._end, [(array.dtype, array.shape) for array in slides])
        self._end += slides.nbytes

    def nbytes(self, total: int) -> int:
        """Return the bytes of memory that the slides of one sum take; 0 if they are not recorded."""
        return sum(array.nbytes for array in self._arrays(total))

    def take(self, total: int) -> Slides | None:
        """Return the slides of one sum, if they are recorded.  Those of larger sums are given up."""
        if total not in self._layers:
            return None
        arrays, self._end = self._arrays(total), self._layers[total].begin
        self._layers = {s: layer for s, layer in self._layers.items() if s < total}
        with storage_errors(self._folder, "read what was recorded in"):
            self._file.seek(self._end)
            for array in arrays:
                read_all(self._file, array)
            self._file.truncate(self._end)
        return Slides(*arrays)

    def _arrays(self, total: int) -> list[Any]:
        """Arrays for the slides of one sum, not yet filled."""
        layer = self._layers.get(total)
        return [] if layer is None else [np.empty(shape, dtype=dtype) for dtype, shape in layer.arrays]


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
