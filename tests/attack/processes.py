"""Commands as processes of their own, in an empty place, with kills, faults and limits on request."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
CONTROLS = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's categories of control characters, directions of writing, surrogates and line separators."""
EVIL = "\x1b]0;owned\x07\x1b[31m\x9b2J\u202e\u2066"
"""A text that sets the title, the colour and the direction of writing of a terminal that it reaches."""


@dataclass(frozen=True)
class Run:
    """What became of a command.

    Attributes
    ----------
    status:
        Its exit status, negative for a signal, None if it had to be stopped.
    out, err:
        What it printed.
    points:
        Calls that touch files, where they were counted.
    """

    status: int | None
    out: str
    err: str
    points: int

    @property
    def complaint(self) -> str | None:
        """What is wrong with the way it ended, if it was not meant to be killed."""
        if self.status is None:
            return "it does not end"
        if commanding := {c for c in self.out + self.err if unicodedata.category(c) in CONTROLS} - {*"\n\t"}:
            return f"it commands the terminal: {''.join(sorted(commanding))!r}"
        if "Traceback (most recent call last)" in self.err:
            return f"a traceback: {self.err.strip().splitlines()[-1]}"
        if self.status not in (0, 1, 2, 130):
            return f"exit status {self.status}: {self.err[-200:]}"
        if self.status and not self.err.strip() and not self.out.strip():
            return f"exit status {self.status} without a word"
        return None

    @property
    def sentence(self) -> str:
        """The last line of what went to standard error, but for the notes of an error below it."""
        lines = [line for line in self.err.splitlines() if line.strip() and not line.startswith("  ")]
        return lines[-1] if lines else ""


class Server:
    """The process that forks (`attack.zygote`), kept for all commands of this process."""

    def __init__(self) -> None:
        path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
        environment = os.environ | {"PYTHONPATH": path, "COLUMNS": "100"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "attack.zygote"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        )  # fmt: skip
        atexit.register(self.close)
        self._line()

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the process that forks has ended")
        return line

    def run(self, folder: Path, args: Sequence[str], **request: Any) -> list[Run]:
        """Run a command in `folder`; see `attack.zygote` for what may be asked."""
        assert self._process.stdin is not None
        folder.mkdir(parents=True, exist_ok=True)
        (folder.parent / "points.txt").write_text("0")
        message = request | {"args": list(args), "folder": str(folder)}
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        runs = []
        for copy, status in enumerate(json.loads(self._line())):
            texts = [
                (folder.parent / f"{name}{copy}.txt").read_text(errors="replace") for name in ("out", "err")
            ]
            runs.append(Run(status, *texts, int((folder.parent / "points.txt").read_text() or 0)))
        return runs


@cache
def server() -> Server:
    """The one server of this process."""
    return Server()


def run(folder: Path, args: Sequence[str], **request: Any) -> Run:
    """Run a tilebase command in a folder."""
    return server().run(folder, args, **request)[0]


def run_together(folder: Path, args: Sequence[str], copies: int) -> list[Run]:
    """Run the same command in the same folder in several processes at once."""
    return server().run(folder, args, copies=copies)


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder by relative path; folders with a slash behind and no content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir():
            found[f"{name}/"] = b""
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


def put(folder: Path, files: dict[str, bytes]) -> None:
    """Write what `contents` read."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        if name.endswith("/"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
