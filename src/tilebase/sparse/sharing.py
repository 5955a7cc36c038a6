"""What a pass asks of those who share its large layers out to workers, and what it gets from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tilebase.cluster.executors import Executor
from tilebase.files.format import Chunk
from tilebase.files.keys import StoredBoards
from tilebase.objectives.results import ChunkSummary
from tilebase.sparse.directory import Edge


class SharedLayer:
    """What is known of a layer that workers have made."""

    def __init__(self, codes: int) -> None:
        self.counts = np.zeros((codes, 5), dtype=np.int64)  # as in _kernels.forward
        self.afterstates = np.zeros(codes, dtype=np.int64)  # by largest exponent
        self.states = 0  # states that are kept
        self.exchanged = 0  # bytes that workers handed to each other


class ForwardSharing(Protocol):
    """Shares the layers of a forward pass out (`sparse.shared_forward`)."""

    def wants(self, size: int) -> bool:
        """Return whether a layer of so many ranks is large enough to be shared out."""

    def check_memory(self, size: int, tables: int) -> None:
        """Raise `ResourceError` if a worker cannot make a layer of so many ranks."""

    def make(
        self,
        total: int,
        size: int,
        tables: int,
        sources: Sequence[int],
        write: Callable[[str, Iterator[Chunk]], None],
        report: Callable[[str, float], None],
    ) -> SharedLayer:
        """Make the layer of one sum from those of the sums `sources`."""


@dataclass
class Part:
    """The results of one part of a layer."""

    chunks: list[list[Chunk]]  # for each objective, keys and encoded values
    summaries: list[list[ChunkSummary]]  # for each objective, the summary of each chunk
    edge: Edge  # the group of the directory that may be shared with the part before


class BackwardSharing(Protocol):
    """Shares the layers of a backward pass out (`sparse.shared_backward`)."""

    @property
    def executor(self) -> Executor:
        """Who does the pieces."""

    def wants(self, n: int) -> bool:
        """Return whether a layer of n afterstates is large enough to be shared out."""

    def parts(self, total: int, keys: StoredBoards) -> Iterator[Part]:
        """Return the parts of a layer, in order."""
