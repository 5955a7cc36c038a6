"""Ctrl-C, SIGTERM or SIGHUP at any moment of a command: its status, at most one line, no traceback.

One process that has loaded nothing forks a child for each moment, so that each child loads everything anew.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CHILDREN = """if True:
    import json, os, signal, sys, tempfile
    from types import SimpleNamespace

    class Imports:
        '''Stops the process as Ctrl-C would when so many modules have been looked for.'''
        def __init__(self, at):
            self.count, self.at = 0, at
        def find_spec(self, *_):
            self.count += 1
            if self.count == self.at:
                stop()

    def begin(case):
        '''The command line as pip's script begins it, and a moment to stop it.'''
        global number
        number = case.get("signal", signal.SIGINT)
        if "ignored" in case:
            signal.signal(number, signal.SIG_IGN)
        from tilebase.cli import main
        imports = Imports(case.get("import"))
        sys.meta_path.insert(0, imports)
        sys.argv = ["tilebase", *case["arguments"]]
        if case["moment"] == "count":
            import atexit
            atexit.register(lambda: print("imports", imports.count, file=sys.stderr))
        if case["moment"] == "exit":
            import atexit
            atexit.register(stop)
        if case["moment"] == "twice":
            from tilebase.cli import commands
            commands.app = SimpleNamespace(meta=stop)
            commands._stopped = stop
        if case["moment"] in ("saving", "lost"):
            from tilebase.cli import commands
            commands.app = SimpleNamespace(meta={"saving": save, "lost": lose}[case["moment"]])
        return main

    def stop(*_, **__):
        os.kill(os.getpid(), number)

    def save(*_, **__):
        try:
            stop()
        finally:
            stop()
            print("saved", file=sys.stderr)

    class Lost:
        def __del__(self):
            stop()

    def lose(*_, **__):
        Lost()
        import time
        time.sleep(60)

    found = []
    for case in json.load(sys.stdin):
        with tempfile.TemporaryFile() as said:
            pid = os.fork()
            if not pid:
                os.dup2(said.fileno(), 2)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                break
            _, status = os.waitpid(pid, 0)
            said.seek(0)
            found.append((os.waitstatus_to_exitcode(status), said.read().decode()))
    else:
        print(json.dumps(found))
        sys.exit()
    sys.exit(begin(case)())
"""
SOLVE = ["solve", "2x2", "16", "-q"]


@pytest.fixture(autouse=True)
def _folder(folder: Path) -> None:
    """Each test has an empty folder."""


def children(*cases: dict[str, Any]) -> list[tuple[int, str]]:
    """Status and standard error of a process for each case."""
    text = json.dumps(cases)
    done = subprocess.run([sys.executable, "-c", CHILDREN], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [(status, said) for status, said in json.loads(done.stdout)]


def _imports(arguments: list[str]) -> int:
    """How many modules a command looks for."""
    case = {"moment": "count", "arguments": arguments}
    _, (status, said) = children(case, case)  # the first may have to compile
    assert status == 0
    return int(said.removeprefix("imports "))


@pytest.mark.parametrize(("arguments", "count"), [(["--version"], 5), (SOLVE, 3)], ids=["start", "solve"])
def test_while_modules_are_loaded(arguments: list[str], count: int) -> None:
    last = _imports(arguments)
    assert last > 50
    moments = [1, *(last * k // count for k in range(1, count + 1))]
    cases = [{"moment": "import", "import": k, "arguments": arguments} for k in moments]
    for k, (status, said) in zip(moments, children(*cases), strict=True):
        assert status == 130, (k, said)
        assert said.startswith("tilebase: stopped"), (k, said)
        assert said.count("\n") == 1, (k, said)


MOMENTS = {
    "while the process ends": ({"moment": "exit", "arguments": ["--version"]}, ""),
    "again while the first one is reported": ({"moment": "twice"}, ""),
    "again while work is saved": ({"moment": "saving"}, "saved\ntilebase: stopped\n"),
    "in a destructor, where Python loses it": ({"moment": "lost"}, "tilebase: stopped\n"),
    "ignored": ({"moment": "exit", "arguments": ["--version"], "ignored": True}, ""),
}


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_each_signal_at_each_moment(name: str) -> None:
    """A terminal that closes sends two SIGHUP, so work is saved; Ctrl-C twice means it.

    What is ignored stays so, as SIGINT in the background of a shell and SIGHUP after nohup.
    """
    number = int(getattr(signal, name))
    cases = ({"arguments": ["runs"], "signal": number} | case for case, _ in MOMENTS.values())
    for moment, (status, said) in zip(MOMENTS, children(*cases), strict=True):
        wanted = MOMENTS[moment][1].removeprefix("saved\n" if name == "SIGINT" else "")
        assert (status, said) == (0 if moment == "ignored" else 128 + number, wanted), moment


def test_a_run_that_a_scheduler_ends_goes_on(tmp_path: Path) -> None:
    words = ["count", "3x3", "256", "-o", str(tmp_path / "run"), "--log", "-"]
    command = [sys.executable, "-m", "tilebase", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as one:
        assert one.stderr is not None
        for line in one.stderr:
            if "sum 60:" in line:
                one.terminate()
                break
        said = one.stderr.read()
    assert one.returncode == 143
    assert said.endswith(
        "stopped; the same command continues after the last finished layer, if there is one\n"
    )
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "sum 60:" not in done.stderr
    assert "sum 400:" in done.stderr
