"""Pieces of work, the exchange folder in which they write, and the executors that do them.

A piece names the file that it writes.  The file gets its name when it is complete, and the same piece always
writes the same bytes.  So a piece of a lost worker is simply done again, even if the lost worker turns out to
be only slow and writes the file a second time.

A *job* does the pieces of one pass.  It is sent to each worker process once and stays there: so it may keep
in memory what several pieces need, such as the values of the layers above.

The process that shares out the work makes an *exchange folder* with a random name in the folder of the run.
All that workers write lies there, and only the first process moves files out of it.  At the end, however the
run ends, the exchange folder is renamed and deleted.  So a worker that still does a piece then can write no
file any more, however slow it is: its next file has no folder, and a rename of the last one fails.  A worker
that does not find the exchange folder does not see the folder of the run, or works for a run that has ended.

An *executor* does pieces: `dask.DaskExecutor`, workers on any number of machines, or in tests threads of this
process.  Results come in the order of the pieces.  Pieces are taken from their iterator a few at a time, so
there may be any number of them.
"""

from __future__ import annotations

import os
import pickle
import socket
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Protocol, TypeVar

from tilebase import _version
from tilebase.errors import ClusterError, ResourceError
from tilebase.runtime.resources import OVERHEAD, available_memory
from tilebase.runtime.storage import open_own, retire_folder, storage_errors

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
SHARE = 0.75
"""The share of the available memory of a machine that its workers may take together."""


@dataclass(frozen=True)
class Piece:
    """Some of the work of one layer.

    Attributes
    ----------
    step:
        What is done, as "solve" or "spawn"; the job knows these words.
    total:
        The sum of the layer that is made.
    begin, end:
        The range that is done; the step says of what: chunks, windows or keys.
    reads:
        Files that it reads and that the job does not know, relative to the folder of the run.
    writes:
        The file that it writes, relative to the folder of the run; empty if it writes no file.
    width:
        Blocks of ranks in a window, for the steps that divide a layer into windows; else 0.
    """

    step: str
    total: int
    begin: int
    end: int
    reads: tuple[str, ...]
    writes: str
    width: int = 0


class Job(Protocol[R_co]):
    """Does the pieces of one pass, in any process and by several threads at once."""

    def do(self, piece: Piece) -> R_co:
        """Do a piece and return a small value, as counts and checksums.  Raises `TilebaseError`."""


class PassJob:
    """A job whose dataclass fields are its parameters: these alone are pickled; `prepare` makes the rest."""

    def __post_init__(self) -> None:
        self.lock = threading.Lock()
        self.prepare()

    def __reduce__(self) -> Any:
        parameters: Any = self
        return type(self), tuple(getattr(self, field.name) for field in fields(parameters))

    def prepare(self) -> None:
        """Make what a process has in memory for all pieces, still empty."""
        raise NotImplementedError


@dataclass(frozen=True)
class IdleJob:
    """Does nothing: it shows what handing over a piece takes."""

    def do(self, piece: Piece) -> int:
        """Return the beginning of the range."""
        return piece.begin


# -- the exchange folder, and the worker processes that write there ---------------------------------


@dataclass(frozen=True)
class Exchange:
    """The exchange folder of a run, which every worker must find, and the version that it must have."""

    folder: str
    name: str
    version: str

    @classmethod
    def within(cls, folder: Path) -> Exchange:
        """Return a new one in the folder of a run; `make` makes it."""
        return cls(str(folder.resolve()), f".cluster-{uuid.uuid4().hex[:12]}.part", _version.version())

    @property
    def path(self) -> Path:
        """The exchange folder."""
        return Path(self.folder) / self.name

    def make(self) -> None:
        """Make the folder.  Raises `StorageError`."""
        with storage_errors(self.folder, "make a folder in"):
            self.path.mkdir()

    def end(self) -> None:
        """Delete the folder: no worker can write there any more."""
        with suppress(OSError):  # what cannot be deleted now is deleted by the next command
            retire_folder(self.path)

    def check(self) -> None:
        """Raise `ClusterError` unless this process may work for the run."""
        if _version.version() != self.version:
            raise ClusterError(
                f"a worker on {socket.gethostname()} runs tilebase {_version.version()} and this is "
                f"{self.version}: install the same version on all machines"
            )
        if not self.path.is_dir():
            raise ClusterError(
                f"a worker on {socket.gethostname()} does not see the folder {self.folder} of this run: "
                "choose a folder that all machines share, under the same name"
            )


@dataclass(frozen=True)
class WorkerFacts:
    """What one worker process says of itself."""

    host: str
    version: str
    available: int  # bytes of memory that it could take now
    trouble: str  # why it cannot work for the run; empty if it can

    @classmethod
    def here(cls, exchange: Exchange | None) -> WorkerFacts:
        """Return the facts of this process."""
        trouble = ""
        try:
            if exchange is not None:
                exchange.check()
                _try_to_write(exchange)
        except (ClusterError, OSError) as error:
            trouble = str(error)
        return cls(socket.gethostname(), _version.version(), available_memory(), trouble)


def _try_to_write(exchange: Exchange) -> None:
    path = exchange.path / f"{os.getpid()}-{socket.gethostname()}.part"
    try:
        with open_own(path, "wb") as file:
            file.write(b"\0" * 4096)
    except OSError as error:
        raise ClusterError(
            f"a worker on {socket.gethostname()} cannot write into {exchange.folder}: "
            f"{error.strerror or error}"
        ) from error
    finally:
        path.unlink(missing_ok=True)


def worker_memory(facts: list[WorkerFacts]) -> int:
    """Return the bytes that each worker process may take: the least over machines.  Raises `ResourceError`.

    Several workers of one machine share its memory.
    """
    by_host: dict[str, list[int]] = {}
    for one in facts:
        by_host.setdefault(one.host, []).append(one.available)
    host, least = min(
        ((host, int(SHARE * min(found)) // len(found)) for host, found in by_host.items()),
        key=lambda item: item[1],
    )
    if least < OVERHEAD:
        raise ResourceError(
            f"each of the {len(by_host[host])} workers on {host} may take {least >> 20} MiB of memory, and "
            f"at least {OVERHEAD >> 20} MiB are needed: start fewer workers there, with more threads each"
        )
    return least


_lock = threading.Lock()
_jobs: dict[bytes, Job[Any]] = {}


def perform(pickled: bytes, piece: Piece, exchange: Exchange) -> Any:
    """Do a piece in a worker process.  The job stays in memory until another one comes."""
    exchange.check()
    with _lock:
        if pickled not in _jobs:
            _jobs.clear()
            _jobs[pickled] = pickle.loads(pickled)
        job = _jobs[pickled]
    return job.do(piece)


# -- executors --------------------------------------------------------------------------------------


class Executor(ABC):
    """Does pieces.  Every implementer writes the same files and returns the same results.

    Attributes
    ----------
    threads:
        How many pieces are done at the same time.
    threads_each:
        The most threads of one worker process.
    memory:
        Bytes that one worker process may take for all its threads.
    """

    threads: int
    threads_each: int
    memory: int
    _exchange: Exchange | None = None

    @property
    def exchange(self) -> Exchange:
        """The folder within the attached one in which pieces write."""
        assert self._exchange is not None, "no folder is attached to the workers"
        return self._exchange

    def attach(self, folder: Path) -> None:
        """Make an exchange folder within a folder.  Raises `ClusterError` if a worker cannot write there."""
        self.detach()
        self._exchange = Exchange.within(folder)
        self._exchange.make()

    def detach(self) -> None:
        """End the use of the folder: a piece that a worker still does fails before it writes a file."""
        if self._exchange is not None:
            self._exchange.end()
            self._exchange = None

    @abstractmethod
    def map(self, job: Job[R], pieces: Iterable[Piece]) -> Generator[R, None, None]:
        """Yield the results of all pieces, in order.  Raises what a piece raises, and `ClusterError`."""

    @abstractmethod
    def close(self) -> None:
        """Wait for the pieces being done here, and let the workers go."""
