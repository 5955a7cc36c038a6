"""The folder, the workers and the limits of a run, and the text of ``--cluster`` that names the workers.

local:4            four worker processes on this machine, one thread each
tcp://host:8786    the scheduler at an address (also tls:// and other schemes of Dask)
scheduler.json     a file in which a scheduler has written its address, as on SLURM
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

from tilebase.errors import ClusterError, MissingExtraError, TilebaseError, UsageError
from tilebase.runtime.documents import parse_json
from tilebase.runtime.resources import MOST_THREADS, Allowance, Use, parse_bytes
from tilebase.runtime.storage import remove_parts, temporary_folder

if TYPE_CHECKING:
    from tilebase.cluster.dask import DaskExecutor
    from tilebase.cluster.pieces import Executor

LOG = logging.getLogger("tilebase")
MOST_FILE = 1 << 24
"""Most bytes of a scheduler file, which lists the workers, too."""
SMALL = (
    "the workers will probably do nothing: no layer is expected to be large enough (tilebase explain cluster)"
)
IDLE = (
    "no layer was large enough to be shared out, so the workers did nothing and --cluster gained nothing: "
    "tilebase explain cluster says how large they have to be"
)
"""What is said of workers that will not be needed, and of those that were not."""


def check_shared(cluster: object, what: str | None) -> None:
    """Raise `UsageError` if there are workers, and the space or the engine is not ``"reachable"``."""
    if cluster is not None and what != "reachable":
        raise UsageError(
            "workers share the pass over reachable boards only: choose reachable, or leave --cluster out"
        )


@dataclass(frozen=True, kw_only=True)
class Run(Allowance):
    """What a question may use that works in a folder.

    Attributes
    ----------
    folder:
        Where it keeps its layers.
    cluster:
        Workers that do the large layers.
    """

    folder: Path
    cluster: Executor | None = None

    @property
    def most(self) -> Allowance:
        """The memory of this process, or else of each worker; the threads of all, or of this process."""
        if self.cluster is None:
            return self
        return replace(self, memory=self.cluster.memory, threads=max(self.threads, self.cluster.threads))

    def tell_if_idle(self, shared: Callable[[], bool]) -> None:
        """Log a warning for users if there are workers, and no layer is expected to be shared out."""
        if self.cluster is not None and not shared():
            LOG.info(SMALL)

    def within(self, name: str) -> Self:
        """Return the same in a subfolder."""
        return replace(self, folder=self.folder / name)


@contextmanager
def run_in(
    folder: Path | str | None,
    *,
    cluster: str | Executor | None = None,
    space: str = "reachable",
    **use: Unpack[Use],
) -> Iterator[Run]:
    """Give a run in a folder, or in a temporary one, with its workers, which are let go at the end.

    Raises as `Allowance.of` and `open_cluster` do, and `UsageError` for workers where the `space` is all.
    """
    if space == "all":
        check_shared(cluster, space)  # before the workers begin
    allowed = Allowance.of(**use)
    with ExitStack() as stack:
        executor = stack.enter_context(open_cluster(cluster, parse_bytes(use.get("memory"))))
        place = stack.enter_context(temporary_folder()) / "run" if folder is None else Path(folder)
        yield Run(**vars(allowed), folder=place, cluster=executor)


@contextmanager
def open_cluster(cluster: str | Executor | None, memory: int | None = None) -> Iterator[Executor | None]:
    """Give the executor that a text names, closed at the end of the block; None stays None.

    An executor that the caller made is not closed.  `memory` limits the bytes that a worker process may
    take, or all processes of ``local:N`` together.  If the workers of a text did nothing until the end, the
    log says so.  Raises `UsageError`, `ClusterError`, `ResourceError`, or `MissingExtraError`.
    """
    if not isinstance(cluster, str):
        yield cluster
        return
    executor = executor_of(cluster, memory)
    try:
        yield executor
        if not executor.used:
            LOG.info(IDLE)
    finally:
        executor.close()


@contextmanager
def attached(executor: Executor | None, folder: Path) -> Iterator[None]:
    """Let the workers use the folder of a run inside the block.

    The caller holds the lock of the folder.  At the end, files that a lost worker left are deleted.
    """
    if executor is None:
        yield
        return
    try:
        executor.attach(folder)
        yield
    finally:
        executor.detach()
        remove_parts(folder)


def executor_of(text: str, memory: int | None = None) -> DaskExecutor:
    """Return the executor that a text names; the caller closes it.  Raises as `open_cluster` does."""
    try:
        from tilebase.cluster.dask import DaskExecutor
    except ImportError as error:
        raise MissingExtraError.of("--cluster needs Dask", "cluster") from error
    if (workers := workers_here(text)) is None:
        return DaskExecutor(text if "://" in text else _address_in(Path(text)), memory=memory)
    from tilebase.cluster import local

    found = local.start(workers)
    try:
        return DaskExecutor(
            found.address, memory=memory and memory // workers, security=found.security, release=found.end
        )
    except BaseException:
        found.end()
        raise


def workers_here(text: str) -> int | None:
    """Return how many workers on this machine a text names; None for those of a scheduler.

    Raises `UsageError` if it names no workers, or `ClusterError` if a file of a scheduler names none.
    """
    if (local := re.fullmatch(r"local:(\d{1,9})", text)) is None:
        if "://" not in text:
            _address_in(Path(text))
        return None
    workers = int(local[1])
    if not 1 <= workers <= MOST_THREADS:
        raise UsageError(f"the number of workers must be 1 to {MOST_THREADS}, not {workers}")
    return workers


def _address_in(path: Path) -> str:
    """Return the address in a scheduler file.  Raises `UsageError` or `ClusterError`."""
    if not path.is_file():
        raise UsageError(
            f"--cluster {path}: write local:4, an address as tcp://host:8786, or the file of a scheduler"
        )
    found: Any = None
    with suppress(OSError, TilebaseError):
        if path.stat().st_size <= MOST_FILE:
            found = parse_json(path.read_bytes(), str(path))
    if not isinstance(found, dict) or not isinstance(found.get("address"), str):
        raise ClusterError(f"{path} is not the file of a scheduler: start one with --scheduler-file {path}")
    return str(found["address"])
