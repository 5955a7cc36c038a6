"""Stops and kills: a command in a process of its own, hit at one moment by one signal; or a call of this one.

Python reports each operation on files before it is done (`sys.addaudithook`) and each module that it looks
for, so a process that counts them can hit itself at the n-th.  `Commands` forks a process for each command:
either from one that has loaded nothing, or from one that has run and compiled everything, so that a hundred
kills take seconds.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Container
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn, Self

import pytest

from tilebase.dense.passes import DensePass

SERVER = """if True:
    import atexit, contextlib, importlib, io, json, os, resource, signal, sys, tempfile, time
    from types import SimpleNamespace

    FAULT = OSError(28, "No space left on device")
    EVENTS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate"}
    setup, warm, below = json.loads(sys.argv[1])
    exec(setup)
    counted = 0

    def hit(*_, **__):
        if request["moment"] == "fault":
            raise FAULT
        os.kill(os.getpid(), request["signal"])

    def count(*_):
        global counted
        counted += 1
        if counted == request["number"]:
            hit()

    def operation(event, arguments):
        if event in EVENTS and not isinstance(arguments[0], int):
            if os.path.abspath(os.fsdecode(arguments[0])).startswith(below):
                count()

    def calls():
        module, name, method = request["of"].split(":")
        owner = getattr(importlib.import_module(module), name)
        real = getattr(owner, method)
        setattr(owner, method, lambda *a, **b: count() or real(*a, **b))

    def save(*_, **__):
        try:
            hit()
        finally:
            hit()
            print("saved", file=sys.stderr)

    class Lost:
        def __del__(self):
            hit()

    def lose(*_, **__):
        Lost()
        time.sleep(60)

    def command():
        '''The command line as pip's script begins it.'''
        if request["ignored"]:
            signal.signal(request["signal"], signal.SIG_IGN)
        if request["folder"]:
            os.chdir(request["folder"])
            os.environ |= {"TILEBASE_RUNS_DIR": os.path.abspath("runs"), "HOME": os.getcwd()}
        signal.alarm(request["seconds"])
        if request["limit"]:
            with open("/proc/self/statm") as sizes:
                used = int(sizes.read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + request["limit"],) * 2)
        from tilebase.cli import main
        moment = request["moment"]
        if moment in ("file", "fault"):
            sys.addaudithook(operation)
        if moment == "import":
            sys.meta_path.insert(0, SimpleNamespace(find_spec=count))
        if moment == "call":
            calls()
        if moment == "full":
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (request["number"], request["number"]))
        if moment == "exit":
            atexit.register(hit)
        if moment in ("twice", "saving", "lost"):
            from tilebase.cli import commands
            commands.app = SimpleNamespace(meta={"twice": hit, "saving": save, "lost": lose}[moment])
        if moment == "twice":
            commands.kept_if_stopped = hit
        sys.argv = ["tilebase", *request["arguments"]]
        return main()

    for arguments in warm:
        from tilebase.cli import main
        with contextlib.redirect_stdout(io.StringIO()), tempfile.TemporaryDirectory() as folder:
            os.environ["TILEBASE_RUNS_DIR"] = folder
            os.chdir(folder)
            assert main(arguments) == 0, arguments
    os.environ["TILEBASE_RUNS_DIR"] = os.path.join(below, "runs")
    os.chdir(below)
    for line in sys.stdin:
        request = json.loads(line)
        out, err, told = (tempfile.TemporaryFile() for _ in range(3))
        if not (pid := os.fork()):
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            status = command()
            os.write(told.fileno(), b"%d" % counted)
            if request["moment"] == "exit":
                sys.exit(status)
            sys.stdout.flush()
            os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        texts = [file.seek(0) or file.read().decode(errors="replace") for file in (out, err, told)]
        print(json.dumps([status, *texts[:2], int(texts[2] or 0)]), flush=True)
"""


@dataclass(frozen=True)
class Hit:
    """When a command is hit, and by which signal.

    The moment is the n-th operation on a "file", which fails if it is a "fault", the n-th "import", the n-th
    "call" `of` a method (module, class and name), a "full" disk where a file has n bytes, the "exit" of the
    process, "saving" work after a first hit, "twice" while the first one is reported, or "lost" in a
    destructor.
    """

    moment: str = "file"
    number: int = 0
    signal: int = signal.SIGKILL
    of: str = ""
    ignored: bool = False


@dataclass(frozen=True)
class Done:
    """How a command ended: `status` is negative if a signal killed it; `count` tells what its hit counts."""

    status: int
    out: str
    err: str
    count: int


class Commands:
    """Commands in a folder, run one after the other, each in a process that a server forks.

    Python given as `setup` is executed first; then the commands `warm` are run, so that everything is loaded.
    """

    def __init__(self, folder: Path, warm: list[list[str]] | None = None, setup: str = "") -> None:
        self.folder = folder
        given = json.dumps([setup, warm or [], str(folder)])
        command = [sys.executable, "-c", SERVER, given]
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(
        self, arguments: list[str], hit: Hit = Hit(), *, folder: str = "", seconds: int = 0, limit: int = 0
    ) -> Done:
        """Run a command in the folder, and hit it; the first hit is none, and counts operations on files.

        Another folder is its home, too.  After `seconds` it gets SIGALRM; `limit` are bytes of memory beyond
        what the process has.
        """
        request = {"arguments": arguments, "folder": folder, "seconds": seconds, "limit": limit}
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(asdict(hit) | request) + "\n")
        self._server.stdin.flush()
        return Done(*json.loads(self._server.stdout.readline()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the server end."""
        self._server.communicate()


def clear(target: Path) -> None:
    """Remove a folder or a file, if it is there."""
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)


def raise_at(
    monkeypatch: pytest.MonkeyPatch,
    owner: object,
    name: str,
    numbers: Container[int],
    error: BaseException | type[BaseException] = KeyboardInterrupt,
) -> list[Any]:
    """Raise an error in the calls of a function with these numbers, counted from 1, before anything is done.

    Returns a list to which the last argument of each call is added.
    """
    real, calls = getattr(owner, name), list[Any]()

    def call(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments[-1] if arguments else None)
        if len(calls) in numbers:
            raise error
        return real(*arguments, **options)

    monkeypatch.setattr(owner, name, call)
    return calls


def no_space(*_: object, **__: object) -> NoReturn:
    """What writes to a full disk."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def stop_at(
    monkeypatch: pytest.MonkeyPatch, numbers: Container[int], error: type[BaseException] = KeyboardInterrupt
) -> list[int]:
    """Raise an error where layers of dense passes begin; returns the sums of all that are begun."""
    return raise_at(monkeypatch, DensePass, "_layer", numbers, error)
