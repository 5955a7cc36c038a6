"""Commands as processes of their own, in an empty place, with limits: those of tests/stopping.py."""

from __future__ import annotations

import atexit
import signal
import tempfile
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from attack.strange import words
from stopping import Commands

CONTROLS = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's categories of control characters, directions of writing, surrogates and line separators."""
LOADED = words("""dense.passes questions.borders questions.force questions.lemma questions.prove
    questions.solve policies.evaluation policies.simulation tables.thinning""")
WARM = (
    "count 2x2 16", "solve 2x2 16 --objective win,lower,guaranteed", "force 2x2 16",
    "solve 2x2 16 --objective win,lower --space all",
)  # fmt: skip


def commands_terminal(text: str) -> set[str]:
    """The characters of a text that are no letters, signs or blanks."""
    return {c for c in text if unicodedata.category(c) in CONTROLS} - {"\n", "\t"}


@dataclass(frozen=True)
class Run:
    """What became of a command, and what it printed."""

    status: int | None  # its exit status, negative for a signal, None if it had to be stopped
    out: str
    err: str

    @property
    def complaint(self) -> str | None:
        """What is wrong with the way it ended, if it was not meant to be killed."""
        if self.status is None:
            return "it does not end"
        if commanding := commands_terminal(self.out + self.err):
            return f"it commands the terminal: {''.join(sorted(commanding))!r}"
        if "Traceback (most recent call last)" in self.err:
            return f"a traceback: {self.err.strip().splitlines()[-1]}"
        if self.status not in (0, 1, 2, 130):
            return f"exit status {self.status}: {self.err[-200:]}"
        if self.status and not self.err.strip() and not self.out.strip():
            return f"exit status {self.status} without a word"
        return None

    @property
    def wordy(self) -> bool:
        """Whether it says more than one sentence of a readable length."""
        return bool(self.status) and (self.err.strip().count("\n") > 0 or len(self.err) > 1200)


@cache
def server() -> Commands:
    """The one server of this process."""
    folder = tempfile.TemporaryDirectory(prefix="attack-server-")
    warm = [[*line.split(), "--threads", "1", "-q"] for line in WARM]
    setup = f"import {', '.join(f'tilebase.{one}' for one in LOADED)}; os.environ['COLUMNS'] = '100'"
    found = Commands(Path(folder.name), warm, setup)
    atexit.register(lambda: (found.close(), folder.cleanup()))
    return found


def run(folder: Path, args: Sequence[str], *, seconds: float = 120.0, limit: int = 0) -> Run:
    """Run a command in a folder that is its home, too.

    What takes longer is killed; `limit` is in bytes beyond what the process has when it begins.
    """
    folder.mkdir(parents=True, exist_ok=True)
    done = server().run([*args], folder=str(folder), seconds=int(seconds), limit=limit)
    return Run(None if done.status == -signal.SIGALRM else done.status, done.out, done.err)


def put(folder: Path, files: dict[str, bytes]) -> None:
    """Write what `stored.contents` read."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
