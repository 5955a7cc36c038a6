"""Commands as processes of their own, in an empty place, with kills, faults and limits on request.

`Server` starts a process that has tilebase loaded and forks a child for each command, in milliseconds.
Requests go there as lines of JSON, and the list of statuses comes back, negative for a signal::

    args, folder      the command's arguments and its current folder, which also holds the folder of runs
    point, action     at the so many-th point of the run, kill, interrupt or raise an `OSError`: see `Points`
    alarm             end without a word after so many seconds, as a kill from outside does
    limit             bytes of address space beyond what the child has when it begins
    seconds           kill what takes longer; the status is then null
    copies            so many processes at once, each with the same command in the same folder

Points are calls that write, flush, rename, open or delete files.  They are seen by a profile function, so
that nothing of the product is replaced and files in C count too.
"""

from __future__ import annotations

import atexit
import errno
import importlib
import inspect
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import traceback
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

from attack.strange import words

TESTS = Path(__file__).parents[1]
CONTROLS = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode's categories of control characters, directions of writing, surrogates and line separators."""
POINTS = {
    *words("write pwrite writelines tofile fsync fdatasync truncate ftruncate posix_fallocate open close"),
    *words("flush __exit__ rename replace unlink remove mkdir rmdir link"),
}
ERRORS = ("ENOSPC", "EIO", "EACCES", "EROFS", "EDQUOT")
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

    def run(self, folder: Path, args: Sequence[str], **request: Any) -> list[Run]:
        """Run a command in `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder.parent / "points.txt").write_text("0")
        runs = []
        for copy, status in enumerate(self._ask(request | {"args": list(args), "folder": str(folder)})):
            out, err = (
                (folder.parent / f"{name}{copy}.txt").read_text(errors="replace") for name in ("out", "err")
            )
            runs.append(Run(status, out, err, int((folder.parent / "points.txt").read_text() or 0)))
        return runs


@cache
def server() -> Server:
    """The one server of this process."""
    return Server()


def run(folder: Path, args: Sequence[str], **request: Any) -> Run:
    """Run a tilebase command in a folder."""
    return server().run(folder, args, **request)[0]


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


class Points:
    """Counts points, and at one of them kills the process or raises an `OSError`."""

    def __init__(self, point: int | None, action: str | None) -> None:
        self.count, self._point, self._action = 0, point, action

    def see(self, frame: FrameType, event: str, call: Any) -> None:
        """The profile function."""
        if event != "c_call" or call.__name__ not in POINTS or not self._is_file(call, frame):
            return
        self.count += 1
        if self.count != self._point:
            return
        if self._action in ("SIGKILL", "SIGINT"):
            os.kill(os.getpid(), getattr(signal, self._action))
            return
        number = getattr(errno, str(self._action))
        raise OSError(number, os.strerror(number))

    def _is_file(self, call: Any, frame: FrameType | None) -> bool:
        """Whether it is a call for a file that is no stream, from tilebase's code or a little below."""
        owner = getattr(call, "__self__", None)
        if call.__name__ in ("__exit__", "close", "flush") and not hasattr(owner, "writable"):
            return False
        if not inspect.ismodule(owner) and not _is_on_disk(owner):
            return False
        for _ in range(6):
            if frame is None:
                return False
            name = frame.f_code.co_filename
            if "/numba/" in name or "importlib" in name or "/rich/" in name:
                return False
            if "/tilebase/" in name and not name.endswith(("cli/progress.py", "_kernels/jit.py")):
                return True
            frame = frame.f_back
        return False


def _is_on_disk(owner: Any) -> bool:
    """Whether it is a file of the system, and neither standard output nor standard error."""
    try:
        return owner.fileno() not in (1, 2)
    except (AttributeError, OSError, TypeError, ValueError):
        return False


def child(request: dict[str, Any], copy: int) -> None:
    """Run a command in a forked process, and end it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = Path(request["folder"])
    os.chdir(folder)
    os.environ |= {"TILEBASE_RUNS_DIR": str(folder / "runs"), "HOME": str(folder)}
    for stream, name in ((1, f"out{copy}.txt"), (2, f"err{copy}.txt")):
        os.dup2(os.open(folder.parent / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    sys.argv = ["tilebase", *request["args"]]
    if request.get("limit"):
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + request["limit"],) * 2)
    points = Points(request.get("point"), request.get("action"))
    from tilebase.cli import main

    status = 99
    try:
        if request.get("alarm"):
            signal.setitimer(signal.ITIMER_REAL, request["alarm"])
        if request.get("count") or request.get("point"):
            threading.setprofile(points.see)
            sys.setprofile(points.see)
        status = main(request["args"])
    except BaseException:
        sys.setprofile(None)
        traceback.print_exc()
    finally:
        sys.setprofile(None)
        (folder.parent / "points.txt").write_text(str(points.count))
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


def answer(statuses: list[int | None]) -> None:
    """Say what became of children."""
    sys.stdout.write(json.dumps(statuses) + "\n")
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
    answer([])
    for line in sys.stdin:
        request = json.loads(line)
        processes = []
        for copy in range(request.get("copies", 1)):
            process = os.fork()
            if not process:
                child(request, copy)
            processes.append(process)
        answer([wait_for(process, request.get("seconds", 120.0)) for process in processes])


if __name__ == "__main__":
    serve()
