"""Worker processes on this machine: a program starts a scheduler and workers, and ends with us.

Whoever reaches the port of a scheduler or of a worker can let it run programs.  So all connections are
encrypted, and both ends of each must show a key that is made for these workers and given to the program
through a pipe.  Without it, another user of this machine can open a connection and nothing more.

The program is this module:

    python -P -m tilebase.cluster.local WORKERS SILENT_SECONDS

It reads one line from its standard input, the keys as JSON, and prints the address of the scheduler.  It runs
until its standard input is closed: so it ends with the process that started it, however that ends.  Workers
that die are started again.  A worker that is silent for SILENT_SECONDS is taken for dead.

Nothing listens but the scheduler, the workers, and what looks after each of them: on the loopback interface,
to those who have the key.  Dask's pages about itself, which ask for no key, are not served.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from tempfile import TemporaryDirectory, TemporaryFile
from threading import Event
from typing import Any

import dask.config
from distributed import Nanny, Scheduler, Security, SpecCluster, Worker

from tilebase.errors import ClusterError, MissingExtraError
from tilebase.runtime import system
from tilebase.runtime.documents import to_json
from tilebase.runtime.threads import in_background

SILENT_SECONDS = 60.0
"""A local worker that says nothing for this time is taken for dead; kernels do not keep it from speaking."""

END_SECONDS = 30
"""How long the program may take to end."""


@dataclass(frozen=True)
class LocalWorkers:
    """The address of a scheduler here, what a client must show there, and what ends all its processes."""

    address: str
    security: Any
    end: Callable[[], None]


def start(workers: int, silent: float = SILENT_SECONDS) -> LocalWorkers:
    """Start workers.  Raises `ClusterError`, or `MissingExtraError` if no keys can be made."""
    try:
        security = Security.temporary()
    except ImportError as error:
        raise MissingExtraError.of("--cluster local needs the package cryptography", "cluster") from error
    with ExitStack() as stack:
        complaints = stack.enter_context(TemporaryFile())
        process = subprocess.Popen(
            system.python_command("tilebase.cluster.local", str(workers), str(silent)),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, encoding="utf-8",
            env=system.child_environment(),
            # Ctrl-C is for the parent, which ends the workers in order.
            start_new_session=True,
        )  # fmt: skip
        stack.callback(_end, process)
        try:
            address = _greet(process, security)
        except BaseException:
            process.terminate()  # it does not look at its standard input before the workers are there
            raise
        if not address:
            cause = f"exit status {process.wait(timeout=END_SECONDS)}"
            raise ClusterError(
                f"worker processes cannot be started here: {system.last_words(complaints, cause)}"
            )
        return LocalWorkers(address, security, stack.pop_all().close)


def _greet(process: subprocess.Popen[str], security: Any) -> str:
    """Hand the keys over; the address of the scheduler, empty if the program ends."""
    assert process.stdin is not None
    assert process.stdout is not None
    keys = {"certificate": security.tls_client_cert, "key": security.tls_client_key}
    try:
        process.stdin.write(to_json(keys) + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        return ""
    return process.stdout.readline().strip()


def _end(process: subprocess.Popen[str]) -> None:
    """Close the standard input of the program, which ends the workers and then itself."""
    for stream in (process.stdin, process.stdout):
        assert stream is not None
        with suppress(BrokenPipeError):  # keys that it has not read
            stream.close()
    try:
        process.wait(timeout=END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()  # the workers end with it
        process.wait()


# -- the program -----------------------------------------------------------------------------------

SETTINGS = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.low-level-log-length": 100,  # logs of messages, each of which names many pieces
    "distributed.admin.tick.interval": "1s",  # how often each process looks at its own event loop
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.scheduler.active-memory-manager.start": False,  # results are small, and none is copied
    "distributed.deploy.lost-worker-timeout": "60s",  # a busy machine starts a worker in more than 15 s
}
"""Settings of Dask with which idle processes take less time, and the scheduler's memory stays flat."""
WATCH_SECONDS = 5.0
"""How often workers are looked for that Dask has given up: it starts no others for them."""


class QuietScheduler(Scheduler):  # type: ignore[misc]  # Dask ships no types
    """A scheduler without pages about itself."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Do not listen."""


class QuietWorker(Worker):  # type: ignore[misc]
    """A worker without pages about itself."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Do not listen."""


def main(workers: int, silent: float) -> None:
    """Start the workers, print the address, and wait for the end of standard input."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    dask.config.set(SETTINGS)
    security = security_of(json.loads(sys.stdin.readline()))
    common = {"host": "127.0.0.1", "protocol": "tls://", "security": security, "dashboard": False}
    with TemporaryDirectory(prefix="tilebase-") as folder:
        scheduler = {"worker_ttl": silent, "allowed_failures": 1000, "idle_timeout": None}
        worker = {"worker_class": QuietWorker, "nthreads": 1, "memory_limit": 0, "local_directory": folder}
        spec = {"cls": Nanny, "options": common | worker | {"silence_logs": logging.CRITICAL}}
        with SpecCluster(
            scheduler={"cls": QuietScheduler, "options": common | scheduler},
            workers=dict.fromkeys(range(workers), spec), worker=spec, security=security,
            silence_logs=logging.CRITICAL,
        ) as cluster:  # fmt: skip
            sys.stdout.write(f"{cluster.scheduler_address}\n")
            sys.stdout.flush()
            ended = Event()
            in_background(partial(_watch_input, ended))
            try:
                while not ended.wait(WATCH_SECONDS):
                    if len(cluster.workers) < workers:
                        cluster.scale(workers)
            finally:
                _kill(cluster)


def _watch_input(ended: Event) -> None:
    """Wait for the end of standard input, without Python's buffer: that is locked while a thread waits."""
    os.read(sys.stdin.fileno(), 1)
    ended.set()


def security_of(keys: dict[str, str]) -> Any:
    """Return the same certificate and key for all: only who holds the key is trusted, and by all."""
    certificate, key = keys["certificate"], keys["key"]
    roles = ("client", "scheduler", "worker")
    return Security(
        require_encryption=True,
        tls_ca_file=certificate,
        **{f"tls_{role}_cert": certificate for role in roles},
        **{f"tls_{role}_key": key for role in roles},
    )


def _kill(cluster: Any) -> None:
    """Kill the workers: nobody waits for what they do, and Dask would wait for its end."""
    for nanny in list(cluster.workers.values()):
        nanny.close_gracefully()  # it starts no other worker
        with suppress(ProcessLookupError):
            if nanny.pid:
                os.kill(nanny.pid, signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
