"""Solved layers handed from worker to worker on one machine, as they lie in memory.

Every worker process needs the two layers above in full.  To read them from the layer files takes 0.1 µs per
afterstate in each process: keys are decoded and checked, and ranks computed.  The piece that solves a part of
a layer has ranks and values in memory.  So it writes them into a parcel file, from which others fill their
directory and values in a tenth of this time.  The file takes 8 bytes per afterstate and objective, most of
which never leave the page cache; it is deleted when the layers below are finished.

    values, for each objective    the type as text, the values
    ranks                         four numbers: the position of the first afterstate, how many there are, the
                                  rank of the first, the ranks of the layer; then the distances from the first

Between machines layers travel as layer files, which are compressed.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.errors import CorruptError
from tilebase.files.parcels import ParcelFile, ParcelWriter
from tilebase.objectives.encoding import FIRST
from tilebase.sparse.directory import Edge, enter
from tilebase.sparse.folds import Fold
from tilebase.sparse.maps import Layout

Array = npt.NDArray[Any]


def handed_name(total: int, number: int) -> str:
    """The file of one part of the layer of a sum."""
    return f".{total:06d}-{number:06d}-handed.part"


def handed_files(folder: Path, total: int) -> list[Path]:
    """The files of all parts of a layer that are there, in order."""
    known = re.compile(rf"\.{total:06d}-\d{{6}}-handed\.part")
    return sorted(path for path in folder.glob(f".{total:06d}-*") if known.fullmatch(path.name))


class HandedPart:
    """Writes the file of a part: a `backward.Keeper`."""

    def __init__(self, file: ParcelWriter, layout: Layout) -> None:
        self._file, self._layout = file, layout

    def put(self, _number: int, _fold: Fold, _position: int, found: Array, /) -> None:
        """Write the values of the next objective."""
        self._file.add(found.dtype.str.encode())
        self._file.add(found)

    def enter(self, keys: Array, position: int) -> Edge:
        """Write the ranks of the boards.  Raises `CorruptError` if they are not canonical."""
        ranks = self._layout.index.checked_rank(self._layout.layer, keys)
        offsets = ranks - ranks[0]
        self._file.add(np.array([position, len(ranks), ranks[0], self._layout.layer.size], dtype=np.uint64))
        self._file.add(offsets.astype(np.uint32) if int(offsets[-1]) < 1 << 32 else offsets)
        return 0, 0, 0


def read_part(path: Path, folds: list[Fold], here: Any) -> tuple[Edge, int]:
    """Fill directory and values of a layer (`backward.Solved`) with a part.

    Returns the group that the part before may have begun, and how many afterstates were read.  Raises
    `CorruptError` or `StorageError`.
    """
    with ParcelFile(path) as file:
        position, n, first, size = map(int, file.read(len(file) - 2).view(np.uint64))
        if size != here.layout.layer.size:
            raise CorruptError(f"{path} belongs to another game: run the same command again")
        offsets = file.read(len(file) - 1)
        dtype: Any = np.uint32 if len(offsets) == 4 * n else np.uint64
        ranks: Array = offsets.view(dtype) + np.uint64(first)
        for number, fold in enumerate(folds):
            dtype = np.dtype(file.read(2 * number).tobytes().decode())
            here.put(number, fold, position, file.read(2 * number + 1).view(dtype))
    return enter(here.directory, ranks, FIRST + position), n
