"""What a worker is asked before it gets work, and with each piece of work.

The process that shares out the work writes a *marker* into the folder of the run, a small file with a random
name, and deletes it at the end.  A worker that does not find it does not see the folder, or works for a run
that has ended.  In both cases it must not write.
"""

from __future__ import annotations

import os
import pickle
import socket
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilebase import _version
from tilebase.cluster.pieces import Job, Piece
from tilebase.errors import ClusterError, ResourceError
from tilebase.runtime.resources import OVERHEAD, available_memory

SHARE = 0.75
"""The share of the available memory of a machine that its workers may take together."""


@dataclass(frozen=True)
class Marker:
    """The marker of a run: what every worker must find, and the version that it must have."""

    folder: str
    name: str
    version: str

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.folder) / self.name

    def check(self) -> None:
        """Raise `ClusterError` unless this process may work for the run."""
        if _version.__version__ != self.version:
            raise ClusterError(
                f"a worker on {socket.gethostname()} runs tilebase {_version.__version__} and this is "
                f"{self.version}: install the same version on all machines"
            )
        if not self.path.exists():
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
    def here(cls, marker: Marker | None) -> WorkerFacts:
        """The facts of this process."""
        trouble = ""
        try:
            if marker is not None:
                marker.check()
                _try_to_write(marker)
        except (ClusterError, OSError) as error:
            trouble = str(error)
        return cls(socket.gethostname(), _version.__version__, available_memory(), trouble)


def _try_to_write(marker: Marker) -> None:
    path = marker.path.with_name(
        f"{marker.name.removesuffix('.part')}-{os.getpid()}-{socket.gethostname()}.part"
    )
    try:
        path.write_bytes(b"\0" * 4096)
    except OSError as error:
        raise ClusterError(
            f"a worker on {socket.gethostname()} cannot write into {marker.folder}: {error.strerror or error}"
        ) from error
    finally:
        path.unlink(missing_ok=True)


def worker_memory(facts: list[WorkerFacts]) -> int:
    """Bytes that each worker process may take: the least over machines.  Raises `ResourceError`.

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


def perform(pickled: bytes, piece: Piece, marker: Marker) -> Any:
    """Do a piece in a worker process.  The job stays in memory until another one comes."""
    marker.check()
    with _lock:
        if pickled not in _jobs:
            _jobs.clear()
            _jobs[pickled] = pickle.loads(pickled)
        job = _jobs[pickled]
    return job.do(piece)
