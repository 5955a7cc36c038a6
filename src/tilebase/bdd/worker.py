"""Diagrams in a process of their own.

OxiDD ends its process if the system refuses it memory, and an operation on diagrams cannot be interrupted.
So diagrams live in a child process, ``python -m tilebase.bdd.worker``.  It reads a `Task` from its standard
input and writes one JSON object per line to its standard output: each finished line, and then an outcome or
an error.  Whatever happens to it, what it has reported is known here.
"""

from __future__ import annotations

import json
import logging
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Empty
from tempfile import TemporaryFile
from typing import IO, Any

from tilebase import errors
from tilebase.bdd.export import write_set
from tilebase.bdd.library import Library
from tilebase.bdd.sets import Sets
from tilebase.bdd.strategies import Analysis, Checkpoints, Line, Method
from tilebase.errors import ChildError, ResourceError, StorageError, TilebaseError
from tilebase.game.game import Game
from tilebase.runtime import system
from tilebase.runtime.documents import to_json
from tilebase.runtime.system import end_with_parent
from tilebase.runtime.threads import lines_of

LOG = logging.getLogger(__name__)
OFTEN = 0.5
"""Seconds between two looks at the clock while the worker is silent."""


@dataclass(frozen=True)
class Task:
    """What a worker does."""

    game: Game  # what is solved
    method: Method  # and how
    nodes: int  # of all diagrams together, at most
    threads: int
    export: str = ""  # folder for the winning set; empty for none
    certificate: str = ""  # file for a proof; empty for none
    work: str = ""  # folder for checkpoints; empty for none

    @property
    def identity(self) -> dict[str, Any]:
        """What decides the diagrams of a checkpoint."""
        return {"game": self.game.identity, "method": asdict(self.method)}

    def to_json(self) -> str:
        """Return the task as text for the worker."""
        return to_json(vars(self) | self.identity)

    @classmethod
    def from_json(cls, text: str) -> Task:
        """Return the task of a text."""
        fields = json.loads(text)
        game, method = Game.from_identity(fields.pop("game")), Method(**fields.pop("method"))
        return cls(game, method, **fields)


@dataclass(frozen=True)
class Outcome:
    """What a worker found: whether the winner wins, or why that is not known, and what it wrote."""

    wins: bool | None
    reason: str = ""
    out_of_memory: bool = False
    listed: int | None = None
    exported: int | None = None


Tell = Callable[[Line, float], None]
"""Called with each finished line, and the share of the work that is then done."""
Step = Callable[[int], None]
"""Called within a line that is iterated, with the iterations so far."""


def run_task(task: Task, tell: Tell, step: Step, deadline: float = math.inf) -> Outcome:
    """Let a worker do a task.

    `deadline`: when the worker is stopped, by `time.perf_counter`.  Raises the worker's errors, except that
    too little memory is an outcome.
    """
    with (
        TemporaryFile() as complaints,
        subprocess.Popen(
            system.python_command("tilebase.bdd.worker"),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, env=system.child_environment(),
        ) as worker,
    ):  # fmt: skip
        LOG.debug(
            "process %d holds diagrams (%s, at most %d nodes) of %s",
            worker.pid, task.method, task.nodes, task.game,
        )  # fmt: skip
        try:
            found = _follow(worker, task, tell, step, deadline)
            return _ended(worker.wait(), complaints) if found is None else found
        finally:
            worker.kill()


def _follow(
    worker: subprocess.Popen[bytes], task: Task, tell: Tell, step: Step, deadline: float
) -> Outcome | None:
    """Return the outcome that a worker reports; None if it ends without one."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    try:
        worker.stdin.write(task.to_json().encode())
        worker.stdin.close()
    except BrokenPipeError:
        worker.stdin = None  # it has ended already; its exit status says why
    for message in _messages(worker.stdout, deadline):
        if message is None:
            return Outcome(None, "time ran out")
        if "line" in message:
            line = Line(**message["line"])
            LOG.debug("line %s of the diagrams is done", line.name)
            tell(line, message["fraction"])
        elif "step" in message:
            step(message["step"])
        elif "error" in message:
            kind = getattr(errors, message["error"], TilebaseError)
            if kind is ResourceError:
                return Outcome(None, message["text"], out_of_memory=True)
            raise kind(message["text"])
        else:
            return Outcome(**message["outcome"])
    return None


def _ended(status: int, complaints: IO[bytes]) -> Outcome:
    """Return what the end of a worker means that has reported no outcome.

    Raises `ChildError` unless it is memory.

    The system kills a process if memory runs out, and OxiDD aborts its own if the system refuses memory.
    """
    cause = signal.Signals(-status).name if status < 0 else f"exit status {status}"
    if cause in ("SIGKILL", "SIGABRT"):
        return Outcome(
            None,
            f"the process of the diagrams ended ({cause}), probably for lack of memory: give less --memory",
            out_of_memory=True,
        )
    raise ChildError(f"the process of the diagrams ended: {system.last_words(complaints, cause)}")


def _messages(stream: IO[bytes], deadline: float) -> Iterator[Any]:
    """Yield the messages of a worker until its end; None when the deadline has passed."""
    lines = lines_of(stream)
    while (left := deadline - time.perf_counter()) > 0:
        with suppress(Empty):
            line = lines.get(timeout=min(left, OFTEN))
            if not line.endswith(b"\n"):  # the end, perhaps within a message
                return
            yield json.loads(line)
    yield None


# -- in the child process ----------------------------------------------------------------------------


def main() -> int:
    """Do the task on standard input; return the exit status."""
    if not end_with_parent():
        return 1
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides, and ends this process
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints is not a message

    def send(**message: Any) -> None:
        channel.write(to_json(message) + "\n")

    try:
        task = Task.from_json(sys.stdin.read())
        outcome = do(
            task,
            lambda line, fraction: send(line=asdict(line), fraction=fraction),
            lambda iterations: send(step=iterations),
        )
        send(outcome=asdict(outcome))
    except TilebaseError as error:
        send(error=type(error).__name__, text=str(error))
    except MemoryError:
        send(
            error=ResourceError.__name__,
            text="there is not enough memory for the diagrams: give less --memory",
        )
    return 0


def do(task: Task, tell: Tell, step: Step | None = None) -> Outcome:
    """Do a task; `tell` and `step` are those of `Analysis`."""
    game, method = task.game, task.method
    sets = Sets(game, method.encoding, method.order_for(game), Library(task.nodes, task.threads))
    keep = bool(task.export or task.certificate)
    work = Checkpoints(Path(task.work), task.identity, sets.library) if task.work else nullcontext()
    with work as checkpoints:
        analysis = Analysis(sets, method, tell, step=step, keep=keep, checkpoints=checkpoints)
        wins = analysis.run()
    reason = "" if wins is not None else f"stopped after {method.until}, as was asked"
    exported = listed = None
    try:
        if task.export:
            exported = write_set(Path(task.export), analysis, wins)
        if task.certificate and wins is not None:
            from tilebase.bdd.proofs import write_proof  # needs the compiler, which takes a second to load

            listed = write_proof(Path(task.certificate), analysis, wins)
    except (ResourceError, StorageError) as error:  # what was found is still true
        reason = str(error)
    return Outcome(wins, reason, listed=listed, exported=exported)


if __name__ == "__main__":
    sys.exit(main())
