"""The protocol of executors, and threads of this process as one.

The implementers are

    executors.ThreadExecutor    threads of this process
    dask.DaskExecutor           workers of Dask distributed, on any number of machines

Results come in the order of the pieces.  Pieces are taken from their iterator a few at a time, so there may
be any number of them.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Protocol, TypeVar

from tilebase.cluster.pieces import Job, Piece
from tilebase.cluster.workers import Exchange
from tilebase.runtime.resources import Allowance
from tilebase.runtime.threads import Pool

R = TypeVar("R")


class Executor(Protocol):
    """Does pieces.  Every implementer writes the same files and returns the same results."""

    @property
    def threads(self) -> int:
        """How many pieces are done at the same time."""

    @property
    def memory(self) -> int:
        """Bytes that one worker process may take for all its threads."""

    @property
    def threads_each(self) -> int:
        """The most threads of one worker process."""

    def attach(self, folder: Path) -> None:
        """Check that every worker sees a folder and may write there.  Raises `ClusterError`."""

    @property
    def exchange(self) -> Path:
        """The folder within the attached one in which pieces write; its absolute path."""

    def detach(self) -> None:
        """End the use of the folder: a piece that a worker still does fails before it writes a file."""

    def map(self, job: Job[R], pieces: Iterable[Piece]) -> Generator[R, None, None]:
        """Return the results of all pieces, in order.  Raises what a piece raises, and `ClusterError`."""

    def close(self) -> None:
        """Wait for the pieces being done here, and let the workers go."""


class ThreadExecutor:
    """Threads of this process: an `Executor` that needs no other program."""

    def __init__(self, allowed: Allowance) -> None:
        self.threads = self.threads_each = allowed.threads
        self.memory = allowed.memory
        self._pool = Pool(allowed.threads)
        self._exchange: Exchange | None = None

    def attach(self, folder: Path) -> None:
        """Nothing is to be checked: this process holds the folder."""
        self.detach()
        self._exchange = Exchange.within(folder)
        self._exchange.make()

    @property
    def exchange(self) -> Path:
        """The folder in which pieces write."""
        assert self._exchange is not None, "no folder is attached"
        return self._exchange.path

    def detach(self) -> None:
        """End the use of the folder; no piece outlives its `map`."""
        if self._exchange is not None:
            self._exchange.end()
            self._exchange = None

    def map(self, job: Job[R], pieces: Iterable[Piece]) -> Generator[R, None, None]:
        """Yield the results of all pieces, in order."""
        yield from self._pool.map(job.do, pieces, ahead=2 * self.threads)

    def close(self) -> None:
        """Stop after the pieces now being done."""
        self._pool.close()
