"""Ctrl-C, SIGTERM or SIGHUP at any moment of a command: its status, at most one line, no traceback."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from stopping import Commands, Hit


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
