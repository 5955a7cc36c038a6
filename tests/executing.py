"""Threads of this process in place of workers: the same pieces, without Dask."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TypeVar

from tilebase.cluster.pieces import Executor, Job, Piece
from tilebase.runtime.resources import Allowance
from tilebase.runtime.threads import Pool

R = TypeVar("R")


class ThreadExecutor(Executor):
    """Threads of this process."""

    def __init__(self, allowed: Allowance) -> None:
        self.threads = self.threads_each = allowed.threads
        self.memory = allowed.memory
        self._pool = Pool(allowed.threads)

    def map(self, job: Job[R], pieces: Iterable[Piece]) -> Generator[R, None, None]:
        yield from self._pool.map(job.do, pieces, ahead=2 * self.threads)

    def close(self) -> None:
        self._pool.close()
