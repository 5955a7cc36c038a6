"""A process that has tilebase loaded and forks a child for each command: a run takes milliseconds.

Requests come as lines of JSON on standard input, answers go to standard output, a line each::

    args, folder      the command's arguments and its current folder, which also holds the folder of runs
    point, action     at the so many-th point of the run, do something: see `Points`
    alarm             end without a word after so many seconds, as a kill from outside does
    limit             bytes of address space beyond what the child has when it begins
    seconds           kill what takes longer; the status is then null
    copies            so many processes at once, each with the same command in the same folder
    windows           layers are held in two blocks, and the rest is spilled, however small they are

Points are calls that write, flush, rename, open or delete files.  They are seen by a profile function, so
that nothing of the product is replaced and files in C count too.  The answer is the list of statuses,
negative for a signal; what is printed and the number of points lie in files beside the folder.
"""

from __future__ import annotations

import errno
import importlib
import inspect
import json
import os
import resource
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

NAMES = {
    *(
        "write",
        "pwrite",
        "writelines",
        "tofile",
        "fsync",
        "fdatasync",
        "truncate",
        "ftruncate",
        "posix_fallocate",
    ),
    *(
        "open",
        "close",
        "flush",
        "__exit__",
        "rename",
        "replace",
        "unlink",
        "remove",
        "mkdir",
        "rmdir",
        "link",
    ),
}
ERRORS = ("ENOSPC", "EIO", "EACCES", "EROFS", "EDQUOT")


class Points:
    """Counts points, and at one of them kills the process or raises an `OSError`."""

    def __init__(self, point: int | None, action: str | None) -> None:
        self.count, self._point, self._action = 0, point, action
        self._ours: dict[Any, bool] = {}

    def begin(self) -> None:
        """Count in this thread and in those that begin later."""
        threading.setprofile(self._see)
        sys.setprofile(self._see)

    def _see(self, frame: FrameType, event: str, call: Any) -> None:
        if event != "c_call" or call.__name__ not in NAMES or not self._is_file(call, frame):
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
    os.environ["TILEBASE_RUNS_DIR"] = str(folder / "runs")
    os.environ["HOME"] = str(folder)
    for stream, name in ((1, f"out{copy}.txt"), (2, f"err{copy}.txt")):
        os.dup2(os.open(folder.parent / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    sys.argv = ["tilebase", *request["args"]]
    if request.get("limit"):
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + request["limit"],) * 2)
    if request.get("windows"):
        import windows

        windows.hold_little(setattr, 1 << 10)
    points = Points(request.get("point"), request.get("action"))
    from tilebase.cli import main

    status = 99
    try:
        if request.get("alarm"):
            signal.setitimer(signal.ITIMER_REAL, request["alarm"])
        if request.get("count") or request.get("point"):
            points.begin()
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


def serve() -> None:
    """Answer requests until standard input ends."""
    import tilebase.cli

    for module in (
        "dense.passes", "questions.borders", "questions.force", "questions.lemma", "policies.evaluation",
        "questions.prove", "policies.simulation", "questions.solve", "tables.thinning",
    ):  # fmt: skip
        importlib.import_module(f"tilebase.{module}")

    tilebase.count(tilebase.Game("2x2", 16), threads=1)
    tilebase.solve(tilebase.Game("2x2", 16), "win,lower,guaranteed", threads=1)
    tilebase.solve(tilebase.Game("2x2", 16), "win,lower", space="all", threads=1)
    tilebase.force(tilebase.Game("2x2", 16), threads=1)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        request = json.loads(line)
        processes = []
        for copy in range(request.get("copies", 1)):
            process = os.fork()
            if not process:
                child(request, copy)
            processes.append(process)
        statuses = [wait_for(process, request.get("seconds", 120.0)) for process in processes]
        sys.stdout.write(json.dumps(statuses) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
