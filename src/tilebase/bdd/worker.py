"""The process that holds the diagrams: ``python -m tilebase.bdd.worker``.

It reads a `process.Task` from its standard input and writes one JSON object per line to its standard
output: each finished line, and then an outcome or an error.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tilebase.bdd.checkpoints import Checkpoints
from tilebase.bdd.export import write_set
from tilebase.bdd.families import Families
from tilebase.bdd.library import Library
from tilebase.bdd.process import Outcome, Task
from tilebase.bdd.relations import Relations
from tilebase.bdd.sets import Sets
from tilebase.bdd.strategies import Analysis, Line
from tilebase.errors import ResourceError, StorageError, TilebaseError
from tilebase.runtime.documents import to_json
from tilebase.runtime.system import end_with_parent


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


def sets_of(task: Task) -> Sets:
    """Return the sets of boards that a task needs, without any board yet."""
    kind = {"bdd": Relations, "zbdd": Families}[task.kind]
    return kind(task.game, task.encoding, task.order, Library(task.kind, task.nodes, task.threads))


def do(task: Task, tell: Callable[[Line, float], None], step: Callable[[int], None] | None = None) -> Outcome:
    """Do a task; `tell` and `step` are those of `Analysis`."""
    sets = sets_of(task)
    keep = bool(task.export or task.certificate)
    work = Checkpoints(Path(task.work), task.identity, sets.library) if task.work else nullcontext()
    with work as checkpoints:
        analysis = Analysis(sets, task.rules, tell, step=step, keep=keep, checkpoints=checkpoints)
        wins = analysis.run(task.strategy)
    reason = "" if wins is not None else f"stopped after {task.rules.until}, as was asked"
    exported = listed = None
    try:
        if task.export:
            exported = write_set(
                Path(task.export), analysis, strategy=task.strategy, encoding=task.encoding,
                order=task.order, verdict=wins,
            )  # fmt: skip
        if task.certificate and wins is not None:
            from tilebase.bdd.proofs import write_proof  # needs the compiler, which takes a second to load

            listed = write_proof(Path(task.certificate), analysis, strategy=task.strategy, verdict=wins)
    except (ResourceError, StorageError) as error:  # what was found is still true
        reason = str(error)
    return Outcome(wins, reason, listed=listed, exported=exported)


if __name__ == "__main__":
    sys.exit(main())
