"""The directory of a layer: from the rank of a board to its position among the boards of the layer.

Threads enter parts of a layer at the same time.  The first group of a part may also belong to the part
before it: so it is kept aside (`enter`) and added when both are there (`join`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import backward, rank
from tilebase._kernels.arguments import Directory

Array = npt.NDArray[Any]
Edge = tuple[int, int, int]
"""A group, the position of its first board here, and its bits."""


def new_directory(ranks: int) -> Directory:
    """Return the directory of a layer of so many ranks, still empty."""
    groups = ranks // backward.GROUP + 1
    return Directory(np.zeros(groups, dtype=np.uint64), np.zeros(groups, dtype=np.uint32))


def directory_of(bits: Array) -> Directory:
    """Return the directory of a set with one bit per rank; the first board has position 0."""
    ones = np.empty(len(bits), dtype=np.uint64)
    rank.popcounts(bits, 1, ones)
    return Directory(bits, (np.cumsum(ones) - ones).astype(np.uint32))


def enter(directory: Directory, ranks: Array, position: int) -> Edge:
    """Enter boards with ascending ranks, the first at `position`; return their first group instead."""
    edge = np.zeros(3, dtype=np.uint64)
    backward.index_keys(ranks, len(ranks), position, directory, edge)
    return int(edge[0]), int(edge[1]), int(edge[2])


def join(directory: Directory, edge: Edge) -> None:
    """Add a group that the part before may have begun."""
    group, position, bits = edge
    if not directory.bits[group]:
        directory.counts[group] = position
    directory.bits[group] |= np.uint64(bits)
