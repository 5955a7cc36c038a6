"""Kill a command of another process at one operation on files after the other.

Python reports each operation on files before it is done (`sys.addaudithook`), so a process that counts them
can kill itself at the n-th.  A server process imports and compiles everything once and then forks for each
command, so that a hundred kills take seconds.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

SERVER = """if True:
    import contextlib, io, json, os, signal, sys, tempfile
    from tilebase.cli import main

    EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate"}

    def child(request, pipe):
        count = 0
        def operation(event, arguments):
            nonlocal count
            if event not in EVENTS or isinstance(arguments[0], int):
                return
            if not os.path.abspath(os.fsdecode(arguments[0])).startswith(request["below"]):
                return
            count += 1
            if count == request["at"]:
                os.kill(os.getpid(), signal.SIGKILL)
        out, err = io.StringIO(), io.StringIO()
        os.chdir(request["folder"])
        if request["below"]:
            sys.addaudithook(operation)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(request["arguments"])
        answer = {"status": status, "out": out.getvalue(), "err": err.getvalue(), "operations": count}
        os.write(pipe, json.dumps(answer).encode())
        os._exit(0)

    def serve(request):
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            child(request, writing)
        os.close(writing)
        data = b""
        while piece := os.read(reading, 1 << 16):
            data += piece
        os.close(reading)
        _, status = os.waitpid(pid, 0)
        killed = json.dumps({"killed": os.waitstatus_to_exitcode(status)})
        print(data.decode() or killed, flush=True)

    for line in sys.stdin:
        request = json.loads(line)
        if request["warm"]:
            if request["version"]:
                import tilebase._version
                tilebase._version._of_checkout = lambda folder: request["version"]
            for arguments in request["warm"]:
                with contextlib.redirect_stdout(io.StringIO()), tempfile.TemporaryDirectory() as folder:
                    os.environ["TILEBASE_RUNS_DIR"] = folder
                    os.chdir(folder)
                    assert main(arguments) == 0, arguments
            os.environ["TILEBASE_RUNS_DIR"] = request["runs"]
            print("{}", flush=True)
        else:
            serve(request)
"""


@dataclass
class Done:
    """How a command ended: `status` is None if it was killed."""

    status: int | None
    out: str = ""
    err: str = ""
    operations: int = 0


class Commands:
    """Commands in a folder, run one after the other by a server process.

    The commands `warm` are run first, so that everything is loaded.  With a `version`, files name this one
    as the program's, and not that of the checkout.
    """

    def __init__(self, folder: Path, warm: list[list[str]], version: str = "") -> None:
        self.folder = folder
        self._server = subprocess.Popen(
            [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._ask({"warm": warm, "runs": str(folder / "runs"), "version": version})

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        answer: dict[str, Any] = json.loads(self._server.stdout.readline())
        return answer

    def run(self, arguments: list[str], kill_at: int = -1) -> Done:
        """Run a command in the folder, killed before operation number `kill_at` on files below it."""
        request = {
            "warm": None, "arguments": arguments, "folder": str(self.folder), "below": str(self.folder),
            "at": kill_at,
        }  # fmt: skip
        answer = self._ask(request)
        return Done(None) if "killed" in answer else Done(**answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait()
        assert self._server.stdout is not None
        self._server.stdout.close()


def clear(target: Path) -> None:
    """Remove a folder or a file, if it is there."""
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)
