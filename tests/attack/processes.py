"""Commands as processes of their own, in an empty place, with limits.

`Server` starts a process that has tilebase loaded and forks a child for each command, in milliseconds.
Requests go there as lines of JSON, and the status comes back, negative for a signal::

    args, folder      the command's arguments and its current folder, which also holds the folder of runs
    limit             bytes of address space beyond what the child has when it begins
    seconds           kill what takes longer; the status is then null
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from attack.strange import words

TESTS = Path(__file__).parents[1]
CONTROLS = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's categories of control characters, directions of writing, surrogates and line separators."""
LOADED = words("""dense.passes questions.borders questions.force questions.lemma questions.prove
    questions.solve policies.evaluation policies.simulation tables.thinning""")


def commands_terminal(text: str) -> set[str]:
    """The characters of a text that are no letters, signs or blanks."""
    return {c for c in text if unicodedata.category(c) in CONTROLS} - {"\n", "\t"}


@dataclass(frozen=True)
class Run:
    """What became of a command.

    Attributes
    ----------
    status:
        Its exit status, negative for a signal, None if it had to be stopped.
    out, err:
        What it printed.
    """

    status: int | None
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
    def sentence(self) -> str:
        """The last line of what went to standard error, but for the notes of an error below it."""
        lines = [line for line in self.err.splitlines() if line.strip() and not line.startswith("  ")]
        return lines[-1] if lines else ""

    @property
    def wordy(self) -> bool:
        """Whether it says more than one sentence of a readable length."""
        return bool(self.status) and (self.err.strip().count("\n") > 0 or len(self.err) > 1200)


# -- here ----------------------------------------------------------------------------------------------


class Server:
    """The process that forks, kept for all commands of this process."""

    def __init__(self) -> None:
        path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "attack.processes"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=os.environ | {"PYTHONPATH": path, "COLUMNS": "100"},
        )  # fmt: skip
        atexit.register(self._process.communicate)
        self._ask()

    def _ask(self, message: Any = None) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if message is not None:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def run(self, folder: Path, args: Sequence[str], **request: Any) -> Run:
        """Run a command in `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        status = self._ask(request | {"args": list(args), "folder": str(folder)})
        texts = ((folder.parent / f"{name}.txt").read_text(errors="replace") for name in ("out", "err"))
        return Run(status, *texts)


@cache
def server() -> Server:
    """The one server of this process."""
    return Server()


def run(folder: Path, args: Sequence[str], **request: Any) -> Run:
    """Run a tilebase command in a folder."""
    return server().run(folder, args, **request)


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
        path = folder / name
        (path if name.endswith("/") else path.parent).mkdir(parents=True, exist_ok=True)
        if not name.endswith("/"):
            path.write_bytes(data)


# -- there ---------------------------------------------------------------------------------------------


def child(request: dict[str, Any]) -> None:
    """Run a command in a forked process, and end it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = Path(request["folder"])
    os.chdir(folder)
    os.environ |= {"TILEBASE_RUNS_DIR": str(folder / "runs"), "HOME": str(folder)}
    for stream, name in ((1, "out.txt"), (2, "err.txt")):
        os.dup2(os.open(folder.parent / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    sys.argv = ["tilebase", *request["args"]]
    if request.get("limit"):
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + request["limit"],) * 2)
    from tilebase.cli import main

    status = 99
    try:
        status = main(request["args"])
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                status = status or 1
        os._exit(status)


def wait_for(process: int, seconds: float) -> int | None:
    """The status of a child; None if it took too long and was killed."""
    end = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return None
        time.sleep(0.002)


def answer(status: int | None) -> None:
    """Say what became of a child."""
    sys.stdout.write(json.dumps(status) + "\n")
    sys.stdout.flush()


def serve() -> None:
    """Answer requests until standard input ends."""
    import tilebase.cli

    for module in LOADED:
        importlib.import_module(f"tilebase.{module}")
    game = tilebase.Game("2x2", 16)
    tilebase.count(game, threads=1)
    tilebase.solve(game, "win,lower,guaranteed", threads=1)
    tilebase.solve(game, "win,lower", space="all", threads=1)
    tilebase.force(game, threads=1)
    answer(None)
    for line in sys.stdin:
        request = json.loads(line)
        process = os.fork()
        if not process:
            child(request)
        answer(wait_for(process, request.get("seconds", 120.0)))


if __name__ == "__main__":
    serve()
