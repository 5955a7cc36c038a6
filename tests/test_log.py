"""``--log``, and what a user of Python gets by `logging`."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tilebase import Game, count, force, solve
from tilebase.cli import main

LINE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (tilebase[\w.]*): (.+)")


def told(text: str) -> list[tuple[str, str]]:
    """The loggers without ``tilebase.``, and what they said."""
    found = [LINE.fullmatch(line) for line in text.splitlines()]
    assert all(found), text
    return [(line[1].removeprefix("tilebase").removeprefix("."), line[2]) for line in found if line]


def test_a_log_tells_a_run_and_how_it_goes_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["solve", "2x2", "16", "-q", "-o", "t", "--threads", "1"]
    assert main([*command, "--down-to", "10", "--log", "log"]) == 0
    first = told(Path("log").read_text("utf-8"))
    assert first[0][0] == "cli.log"
    assert first[0][1].endswith(": solve 2x2 16 -o t --threads 1 --down-to 10")
    assert ("sparse.forward", "sum 12: 7 states, 3 afterstates in 92 bytes") in first
    assert ("sparse.backward", "sum 10: 3 afterstates solved in memory") in first
    assert first[-1][1].endswith(": done")
    assert main(["--log=log", *command]) == 0
    both = told(Path("log").read_text("utf-8"))
    assert both[: len(first)] == first
    second = dict(both[len(first) :])
    more = [text for name, text in both[len(first) :] if name == "sparse.backward"]
    assert second["files.run"] == "going on in t"
    assert more[0] == "solving 2x2, to 16 in t for win with 1 thread: 6 layers of 9 are there"
    assert "sum 12: the values of 3 afterstates are read" in more
    assert next(text for text in more if "solved in memory" in text).startswith("sum 8:")
    assert second["questions.solve"] == "the table in t is complete"
    assert "solved in memory" not in capsys.readouterr().err


def test_users_see_that_a_run_goes_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command, more in (
        ("count 2x2 16 --keep afterstates -o c", "--up-to 8"),
        ("solve 2x2 16 -o t", "--down-to 10"),
    ):
        assert main([*command.split(), *more.split()]) == 0
        assert "layers" not in capsys.readouterr().err
        assert main(command.split()) == 0
        assert re.search(rf" in {command[-1]} .*: \d layers (of 9 )?are there", capsys.readouterr().err)
        assert main(command.split()) == 0
        assert "are there" not in capsys.readouterr().err


def words(text: str) -> list[str]:
    """What a command prints, without numbers: some are seconds."""
    return re.sub(r"\d[\d.,]*", "", text).split()


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("solve 2x2 16 --space all", "values of 8 bytes, layers of"),
        ("solve 2x2 16 --space all", "sum 4: 10 boards solved"),
        ("count 2x2 16 --memory 1GiB", "1024 MiB of memory and"),
        ("force 2x2 16", "the search opened"),
        ("force 2x2 16 --engine diagrams", "holds diagrams (Method("),
    ],
)
def test_a_log_on_standard_error(command, says, folder, capfd) -> None:
    assert main([*command.split(), "-q"]) == 0
    quiet = capfd.readouterr()
    assert not quiet.err
    assert main([*command.split(), "-q", "--log", "-"]) == 0
    printed = capfd.readouterr()
    assert any(says in text for _, text in told(printed.err))
    assert words(printed.out) == words(quiet.out)
    assert logging.getLogger("tilebase").handlers == []
    assert logging.getLogger("tilebase").level == logging.NOTSET


def test_a_log_says_how_a_command_failed(folder: Path, refused: Callable[..., None]) -> None:
    refused(["probe", "nowhere", "2,2/0,0", "--log", "log"], 1, "nowhere not found")
    assert "nowhere not found" in told(Path("log").read_text("utf-8"))[-1][1]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_log_that_cannot_be_written_ends(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["count", "2x2", "16", "-q", "--log", "/dev/full"]) == 0
    printed = capsys.readouterr()
    assert "afterstates" in printed.out
    assert printed.err.count("warning: cannot write /dev/full") == 1


def test_python_logs_by_itself(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    game = Game("2x2", 16)
    count(game)
    assert not caplog.records
    caplog.set_level(logging.DEBUG, "tilebase")
    solve(game, folder=tmp_path)
    force(game)
    names = {record.name for record in caplog.records}
    assert {"tilebase.sparse.forward", "tilebase.sparse.backward", "tilebase.search.search"} <= names
