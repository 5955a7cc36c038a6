"""What a worker is asked before it gets work, and with each piece of work.

The process that shares out the work makes an *exchange folder* with a random name in the folder of the run.
All that workers write lies there, and only the first process moves files out of it.  At the end the exchange
folder is renamed and deleted.  So a worker that still does a piece then can write no file any more, however
slow it is: its next file has no folder, and a rename of the last one fails.

A worker that does not find the exchange folder does not see the folder of the run, or works for a run that
has ended.
"""

from __future__ import annotations

import os
import pickle
import socket
import threading
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilebase import _version
from tilebase.cluster.pieces import Job, Piece
from tilebase.errors import ClusterError, ResourceError
from tilebase.runtime.resources import OVERHEAD, available_memory
from tilebase.runtime.storage import open_own, retire_folder, storage_errors

SHARE = 0.75
"""The share of the available memory of a machine that its workers may take together."""


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
