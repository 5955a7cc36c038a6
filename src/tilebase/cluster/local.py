"""Worker processes on this machine: a program (`program`) starts a scheduler and workers, and ends with us.

Whoever reaches the port of a scheduler or of a worker can let it run programs.  So all connections are
encrypted, and both ends of each must show a key that is made for these workers and given to the program
through a pipe.  Without it, another user of this machine can open a connection and nothing more.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Any

from distributed import Security

from tilebase.errors import ClusterError, MissingExtraError
from tilebase.runtime import system
from tilebase.runtime.documents import to_json

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
        raise MissingExtraError(
            "--cluster local needs the package cryptography: pip install 'tilebase[cluster]'"
        ) from error
    with ExitStack() as stack:
        complaints = stack.enter_context(TemporaryFile())
        process = subprocess.Popen(
            system.python_command("tilebase.cluster.program", str(workers), str(silent)),
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
