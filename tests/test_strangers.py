"""What a stranger or a long command line says: no message commands the terminal, and none is long."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import stored
from attack.processes import commands_terminal
from attack.strange import members
from tilebase import Game, open_winning_set, solve
from tilebase.cli import main
from tilebase.cli.commands import COMMANDS, app
from tilebase.errors import MOST_TEXT, MOST_WORD, TilebaseError, readable, sentence
from tilebase.runtime.documents import shown

EVIL = "\x1b]0;owned\x07\x1b[31m\x08\r\x7f\x9b2J\u061c\u200e\u202e\u2066\u2028\ud800"
"""A title, a bell, colours, control characters and directions of writing, and half of a pair."""
FORMATS = ("table", "csv", "markdown", "latex", "json")
LONG = "7" * 5000


def evil(value: Any) -> Any:
    """A JSON value with `EVIL` behind each text."""
    if isinstance(value, dict):
        return {name: evil(one) for name, one in value.items()}
    if isinstance(value, list):
        return [evil(one) for one in value]
    return value + EVIL if isinstance(value, str) else value


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command; return what it prints, which commands no terminal."""

    def run(*words: str, status: int | None = None) -> str:
        code = main(words)
        printed = capsys.readouterr()
        assert status is None or code == status, printed.err
        assert not commands_terminal(printed.out + printed.err)
        assert "Traceback" not in printed.err
        return printed.out if status == 0 else printed.out + printed.err

    return run


def test_what_is_readable() -> None:
    assert commands_terminal(EVIL) == set(EVIL) - set("]0;owned[31m2J")
    assert readable(EVIL) == "?]0;owned??[31m????2J??????"
    assert readable("tiles ≥ 4 × 盤\n\té") == "tiles ≥ 4 × 盤\n\té"
    assert shown(f"a\n{EVIL}") == sentence(TilebaseError(f"a\n{EVIL}")) == "a ?]0;owned??[31m? ??2J???? ?"


@pytest.mark.parametrize("form", FORMATS)
def test_records(form: str, folder: Path, told: Callable[..., str]) -> None:
    told("solve", "2x2", "16", "-q", "--record", "r.json", status=0)
    record = json.loads(Path("r.json").read_text())
    record |= {name: evil(record[name]) for name in ("statement", "command", "version")}
    Path("f.json").write_text(json.dumps(record))
    printed = told("cite", "f.json", "-f", form, status=0)
    if form == "json":
        assert EVIL in json.loads(printed)["statement"]
        return
    suffix = {"table": "txt", "markdown": "md", "latex": "tex"}.get(form, form)
    told("cite", "f.json", "--record", f"a.{suffix}", status=0)
    assert not commands_terminal(Path(f"a.{suffix}").read_text())
    told("cite", "f.json", "--record", "a.parquet", status=0)
    (row,) = pq.read_table("a.parquet").to_pylist()
    assert "owned" in row["statement"]
    assert not commands_terminal(json.dumps(row, ensure_ascii=False))


def test_a_cell_is_one_line(folder: Path, told: Callable[..., str]) -> None:
    """A stranger's text adds no row to a table."""
    told("solve", "2x2", "16", "-q", "--record", "r.json", status=0)
    record = json.loads(Path("r.json").read_text())
    Path("f.json").write_text(json.dumps(record | {"version": "1\n| forged |"}))
    told("cite", "f.json", status=0)
    assert told("cite", "f.json", "-f", "markdown", status=0).count("\n") == 3
    rows = list(csv.DictReader(io.StringIO(told("cite", "f.json", "-f", "csv", status=0))))
    assert [row["version"] for row in rows] == ["1\n| forged |"]


def test_names_of_paths(folder: Path, told: Callable[..., str]) -> None:
    name = EVIL.replace("\ud800", "")
    solve(Game("2x2", 16), "win", table=folder / name, threads=1)
    told("verify", name, status=0)
    for form in FORMATS:
        told("probe", name, "2,2/0,0", "-f", form, status=0)
    for words in (
        ["probe", name, name], ["probe", name, "2,2/0,0", "--objective", name], ["evaluate", name, name],
        ["review", name, name], ["solve", "2x2", name], ["runs", name], ["explain", name],
        ["thin", name, "-o", name],
        ["count", "2x2", "8", "--log", f"no/{name}"], ["solve", "2x2", "16", "--record", f"{name}.txt{name}"],
    ):  # fmt: skip
        told(*words)


@pytest.mark.parametrize("kind", ["table", "winning set"])
def test_manifests(kind: str, folder: Path, told: Callable[..., str]) -> None:
    if kind == "table":
        solve(Game("2x2", 16), "win", table=folder / "t", threads=1)
    else:
        assert main(["force", "diagrams", "2x2", "16", "-q", "-o", "t"]) == 0
        assert open_winning_set("t").states
    path = Path("t/manifest.json")
    sound = path.read_text()
    for number, (there, name, _) in enumerate(members(json.loads(sound))):
        if not isinstance(there[name], str):
            continue
        values = json.loads(sound)
        here, _, _ = [*members(values)][number]
        here[name] += EVIL
        stored.sign(path, values)
        for form in ("table", "json"):
            told("probe", "t", "-f", form)
        told("verify", "t", "-q")
    path.write_text(sound)


def test_formations_games_and_certificates(folder: Path, told: Callable[..., str]) -> None:
    escaped = json.dumps(EVIL.replace("\ud800", ""))
    lines = {"name": '"one"', "start": '["x,2/2,0"]', "goal": "16"}
    for key in lines:
        Path("f.toml").write_text("".join(f"{k} = {escaped if k == key else v}\n" for k, v in lines.items()))
        told("solve", "--formation", "f.toml", status=2)
    solve(Game("2x2", 16), "win", table=folder / "t", threads=1)
    for text in (EVIL.replace("\ud800", ""), json.dumps({"format": f"tilebase game{EVIL}", "version": EVIL})):
        Path("g.json").write_text(text, encoding="utf-8")
        for form in ("table", "json"):
            told("review", "t", "g.json", "-f", form)
        told("reach", "replay", "2x2", "g.json")
    Path("c").write_text(f"tilebase certificate 1 {EVIL[:-1]}\n", encoding="utf-8")
    told("verify", "c")


def long_lines() -> Iterator[list[str]]:
    """Each command with a long argument, with two, and with one and a long value of each of its options."""
    waiting = [([name], app[name]) for words in COMMANDS.values() for name in words.split()]
    while waiting:
        words, one = waiting.pop()
        waiting += [([*words, name], one[name]) for name in one if not name.startswith("-")]
        yield [*words, LONG]
        yield [*words, LONG, LONG]
        if one.default_command is not None and words[0] != "plan":  # its options are those of the commands
            names = [argument.name for argument in one.assemble_argument_collection()]
            yield from ([*words, LONG, name, LONG] for name in names if name.startswith("-"))


@pytest.mark.parametrize("part", range(12))
def test_long_words_are_cut(part: int, folder: Path, told: Callable[..., str]) -> None:
    lines = list(long_lines())
    assert len(lines) > 400
    for line in lines[part::12]:
        printed = told(*line)
        assert len(printed) < 2 * MOST_TEXT, (line, printed)
        assert "7" * (MOST_WORD + 1) not in printed, line


@pytest.mark.parametrize(
    ("setting", "words", "named"),
    [
        ("NUMBA_NUM_THREADS=0", "count 2x2 16", "NUMBA_NUM_THREADS"),
        ("NUMBA_OPT=x", "count 2x2 16", "NUMBA_OPT"),
        ("MPLBACKEND=nosuch", "count 2x2 16 --record p.svg", "MPLBACKEND"),
        ("SOURCE_DATE_EPOCH=x", "count 2x2 16 -q --record p.svg", "SOURCE_DATE_EPOCH"),
        ("", "count 2x2 16 --record p.svg", "the file matplotlibrc in this folder"),
    ],
)
def test_settings_of_libraries(setting: str, words: str, named: str, folder: Path) -> None:
    if not setting:
        Path("matplotlibrc").write_bytes(b"\xff\xfe [")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment |= dict([setting.split("=")] if setting else [])
    command = [sys.executable, "-m", "tilebase", *words.split()]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 1
    assert f"remove or mend {named}\n" in done.stderr
    assert "Traceback" not in done.stderr
