"""Commands as processes: signals at any moment, and modules that lie in the current folder."""

from __future__ import annotations

import importlib.metadata
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import tilebase
from stopping import Commands, Hit
from tilebase.runtime import system


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[Commands]:
    """Commands whose modules are loaded."""
    with Commands(tmp_path, setup="import tilebase.cli.commands, tilebase.sparse.forward") as found:
        yield found


@pytest.mark.parametrize(
    ("command", "count"), [("--version", 4), ("solve 2x2 16 -q", 3)], ids=["start", "solve"]
)
def test_while_modules_are_loaded(command: str, count: int, tmp_path: Path) -> None:
    with Commands(tmp_path) as commands:
        commands.run(command.split())  # it may have to compile
        last = commands.run(command.split(), Hit("import")).count
        assert last > 50
        for k in (1, *(last * part // count for part in range(1, count + 1))):
            done = commands.run(command.split(), Hit("import", k, signal.SIGINT))
            assert done.status == 130, (k, done.err)
            assert done.err.startswith("tilebase: stopped"), (k, done.err)
            assert done.err.count("\n") == 1, (k, done.err)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda one: one.name)
def test_each_signal_at_each_moment(number: signal.Signals, commands: Commands) -> None:
    """A terminal that closes sends two SIGHUP, so work is saved; Ctrl-C twice means it.

    What is ignored stays so, as SIGINT in the background of a shell and SIGHUP after nohup.
    """
    stopped = "tilebase: stopped\n"
    saved = stopped if number == signal.SIGINT else f"saved\n{stopped}"
    for moment, said in (("exit", ""), ("twice", ""), ("saving", saved), ("lost", stopped)):
        done = commands.run(["runs"], Hit(moment, signal=number))
        assert (done.status, done.err) == (128 + number, said), moment
    ignored = commands.run(["--version"], Hit("exit", signal=number, ignored=True))
    assert (ignored.status, ignored.err) == (0, "")


def test_a_run_that_a_scheduler_ends_goes_on(commands: Commands) -> None:
    arguments = ["count", "2x3", "32", "-o", "run", "--log", "-"]
    layers = re.compile(r"sum \d+: \d+ states")
    whole = layers.findall(commands.run([*arguments[:-3], "whole", "--log", "-"]).err)
    layer = "tilebase.sparse.forward:ForwardPass:_layer"
    first = commands.run(arguments, Hit("call", 20, signal.SIGTERM, layer))
    assert first.status == 143
    assert first.err.endswith(
        "stopped; the same command continues after the last finished layer, if there is one\n"
    )
    again = commands.run(arguments)
    assert again.status == 0
    assert layers.findall(first.err)
    assert layers.findall(first.err) + layers.findall(again.err) == whole


HERE = Path(tilebase.__file__).parents[1]


@pytest.fixture
def hostile(folder: Path) -> Iterator[Path]:
    """The current folder holds a file for each module that there is.  None may be run."""
    names = {*sys.stdlib_module_names, *importlib.metadata.packages_distributions(), "tilebase", "cli", "bdd"}
    (folder / "hostile").mkdir()
    for name in names:
        (folder / "hostile" / f"{name}.py").write_text(
            f"open({str(folder / 'run')!r}, 'a').write({name!r} + ' '); raise SystemExit(7)\n"
        )
    os.chdir(folder / "hostile")
    yield folder / "hostile"
    assert not (folder / "run").exists(), (folder / "run").read_text()


@pytest.mark.all  # starting workers takes three CPU seconds
def test_workers_run_no_file_of_the_current_folder(hostile: Path, printed) -> None:
    assert "states" in printed("count 2x2 16 --cluster local:1 -q")


def test_the_command_itself_runs_no_file_of_the_current_folder(hostile: Path) -> None:
    script = str(Path(sys.executable).with_name("tilebase"))
    for command, says in (
        ([script, "force", "2x2", "16", "--engine", "diagrams", "-q"], "the player cannot force the tile 16"),
        ([sys.executable, "-P", "-m", "tilebase", "--version"], tilebase.__version__),
    ):
        assert says in subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_child_searches_what_this_process_does_but_not_the_current_folder(tmp_path, monkeypatch) -> None:
    link, other = tmp_path / "link", tmp_path / "other"
    link.symlink_to(tmp_path / "here")
    for folder in (tmp_path / "here", other):
        folder.mkdir()
    monkeypatch.chdir(link)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path / "here"), str(link), ".", str(other), str(HERE)])
    found = system.child_environment()
    assert found["PYTHONPATH"] == os.pathsep.join([str(other), str(HERE)])
    assert found["PYTHONSAFEPATH"] == "1"
    monkeypatch.chdir(HERE)  # this package is there, and nowhere else
    assert str(HERE) in system.child_environment()["PYTHONPATH"].split(os.pathsep)
