"""Worker processes on this machine, and what tests do to them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from stored import contents
from tilebase.cluster import local
from tilebase.cluster.dask import DaskExecutor
from tilebase.cluster.pieces import Executor


@dataclass
class Workers:
    """Two worker processes, and what tests do to them."""

    executor: DaskExecutor
    security: Any
    end: Callable[[], None]

    @property
    def pids(self) -> dict[str, int]:
        """The process of each worker, by its address."""
        found: dict[str, int] = self.executor._client.run(os.getpid, on_error="ignore")
        return found

    @property
    def keys(self) -> dict[str, str]:
        """The same as `security`, as Dask's configuration names it."""
        of_client = {"client.cert": self.security.tls_client_cert, "client.key": self.security.tls_client_key}
        found = {"ca-file": self.security.tls_ca_file} | of_client
        return {f"distributed.comm.tls.{name}": text for name, text in found.items()}

    def tell(self, code: str) -> None:
        """Let one worker execute Python."""
        self.executor._client.run(exec, code, {}, workers=[next(iter(self.pids))])


def start_workers(silent: float = local.SILENT_SECONDS) -> Workers:
    found = local.start(2, silent)
    try:
        return Workers(DaskExecutor(found.address, security=found.security), found.security, found.end)
    except BaseException:
        found.end()
        raise


def noting(real: Callable[..., Any], sums: list[int]) -> Callable[..., Any]:
    """A method that notes the sum of the layer."""

    def note(self: Any, total: int, *rest: Any) -> Any:
        sums.append(total)
        return real(self, total, *rest)

    return note


def same_with(
    cluster: Executor, layers: list[int], ask: Callable[..., Any], folder: Path, kept: str = "folder"
) -> None:
    """Assert that an executor, which adds to `layers`, finds and writes what one process does."""
    alone = ask(**{kept: folder / "alone"})
    assert not layers
    together = ask(cluster=cluster, **{kept: folder / "together"})
    assert layers
    assert together.as_dict() == alone.as_dict()
    assert contents(folder / "together") == contents(folder / "alone")


def when_layer_begins(
    monkeypatch: pytest.MonkeyPatch, wanted: Callable[[int], bool], act: Callable[[], None]
) -> None:
    """Let something happen while the layers of some sums are solved by workers."""
    real = DaskExecutor.map

    def begin(self: DaskExecutor, job: Any, pieces: Any) -> Any:
        pieces = list(pieces)
        for number, result in enumerate(real(self, job, pieces)):
            if not number and wanted(pieces[0].total):
                act()
            yield result

    monkeypatch.setattr(DaskExecutor, "map", begin)


def kill_some(
    monkeypatch: pytest.MonkeyPatch, workers: Workers, kills: int, share: float, seed: int
) -> list[int]:
    """Let so many workers be killed, in a share of the layers, as the seed chooses; returns the processes."""
    killed, random = list[int](), Random(seed)

    def kill() -> None:
        pids = sorted(workers.pids.values())
        if pids:
            killed.append(random.choice(pids))
            with suppress(ProcessLookupError):
                os.kill(killed[-1], signal.SIGKILL)

    when_layer_begins(monkeypatch, lambda _: len(killed) < kills and random.random() < share, kill)
    return killed


@contextmanager
def one_hangs(monkeypatch: pytest.MonkeyPatch, sum_of_layer: int) -> Iterator[Workers]:
    """Two worker processes, one of which stops for ever when the layer of a sum is solved."""
    workers = start_workers(silent=1.0)
    stopped = list[int]()

    def stop() -> None:
        stopped.append(min(workers.pids.values()))
        os.kill(stopped[-1], signal.SIGSTOP)

    when_layer_begins(monkeypatch, lambda total: total == sum_of_layer and not stopped, stop)
    try:
        yield workers
    finally:
        for pid in stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        workers.executor.close()
        workers.end()
    assert stopped
