"""The command line: what it prints, its exit statuses, and one sentence for each mistake."""

from __future__ import annotations

import csv
import json
import subprocess
import sys

import pytest

from tilebase import __version__
from tilebase import enumerate as engine
from tilebase.cli import main
from tilebase.combinatorics import bound
from tilebase.counts import CountResult
from tilebase.enumerate import ForwardPass, count
from tilebase.game import Game
from tilebase.layers.run import verify_run

GAME = Game("2x2", 32)


@pytest.fixture(autouse=True)
def runs(tmp_path, monkeypatch):
    """Where runs without a folder go."""
    folder = tmp_path / "runs"
    monkeypatch.setenv("TILEBASE_RUNS_DIR", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def is_empty(folder) -> bool:
    return not folder.exists() or not list(folder.iterdir())


@pytest.fixture
def good(capsys):
    """Run a command that must succeed; give its standard output."""

    def call(*arguments) -> str:
        status = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert (status, err) == (0, "")
        return out

    return call


@pytest.fixture
def bad(capsys):
    """Run a command that must fail with one line on standard error; give that line."""

    def call(status, *arguments) -> str:
        assert main([str(argument) for argument in arguments]) == status
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("tilebase: ")
        assert err.count("\n") == 1
        assert err.endswith("\n")
        assert "Traceback" not in err
        return err

    return call


# -- count -----------------------------------------------------------------------------------


def test_count_table(good, runs):
    lines = good("count", "2x2", 32).splitlines()
    assert lines[0].split() == ["2x2,", "to", "32"]
    rows = dict(line.rsplit(maxsplit=1) for line in lines[1:])
    totals = count(GAME, threads=1).totals
    assert {name.replace(" ", "_"): int(number) for name, number in rows.items()} == totals
    assert is_empty(runs)


def test_count_without_a_goal(good):
    assert "110" in good("count", "2x2")


@pytest.mark.parametrize("to_file", [False, True], ids=["printed", "file"])
def test_count_json(to_file, good, tmp_path):
    text = good("count", "2x2", 32, *(["-o", "out.json"] if to_file else ["-f", "json"]))
    if to_file:
        assert text == ""
        text = (tmp_path / "out.json").read_text()
    result = CountResult.from_dict(json.loads(text))
    assert result.as_dict() == count(GAME, threads=1).as_dict()


@pytest.mark.parametrize(
    ("by", "columns"), [("sum", ("sum",)), ("max", ("max",)), ("sum,max", ("sum", "max"))], ids=str
)
def test_count_by(by, columns, good, tmp_path):
    expected = list(count(GAME, threads=1).rows(columns))
    rows = list(csv.DictReader(good("count", "2x2", 32, "--by", by, "-f", "csv").splitlines()))
    assert [{name: int(value) for name, value in row.items()} for row in rows] == expected
    assert len(good("count", "2x2", 32, "--by", by).splitlines()) == len(expected) + 1
    pq = pytest.importorskip("pyarrow.parquet")
    good("count", "2x2", 32, "--by", by, "-o", "out.parquet")
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == expected


def test_format_wins_over_suffix(good, tmp_path):
    good("count", "2x2", 32, "-f", "csv", "-o", "out.json")
    assert (tmp_path / "out.json").read_text().splitlines()[1] == "states,75"


def test_count_bound(good):
    expected = bound(GAME)
    document = json.loads(good("count", "2x2", 32, "--bound", "-f", "json"))
    assert document["totals"]["boards"] == expected.boards
    assert document["totals"]["canonical_possible"] == expected.canonical_possible
    rows = list(csv.DictReader(good("count", "2x2", 32, "--bound", "--by", "sum", "-f", "csv").splitlines()))
    assert {int(row["sum"]): int(row["boards"]) for row in rows} == expected.boards_by_sum
    assert f"{expected.boards:,}" in good("count", "2x2", 32, "--bound")


def test_count_up_to(capsys, runs):
    assert main(["count", "2x2", "32", "--up-to", "9", "-f", "json"]) == 0
    out, err = capsys.readouterr()
    assert err == "not complete: counted up to sum 8\n"
    result = CountResult.from_dict(json.loads(out))
    assert not result.complete
    assert result.sums.max() == 8
    assert is_empty(runs)


def test_count_up_to_nothing(capsys):
    assert main(["count", "2x2", "32", "--up-to", "0", "--by", "sum"]) == 0
    assert capsys.readouterr().err == "not complete: counted up to sum 0\n"


def test_count_lookahead_and_options_of_the_game(good):
    document = json.loads(good("count", "2x2", 32, "--lookahead", "-f", "json"))
    assert document == count(GAME, lookahead=True, threads=1).as_dict()
    options = ("--four", "0", "--start", "empty", "--limits", "16,8/8,8", "--walls", "3")
    document = json.loads(good("count", "2x2", 16, *options, "-f", "json"))
    game = Game("2x2", 16, four=0, start="empty", limits="16,8/8,8", walls=[3])
    assert document == count(game, threads=1).as_dict()


@pytest.mark.parametrize("keep", ["counts", "afterstates", "states"])
def test_count_in_a_folder(keep, good, runs, tmp_path):
    command = ("count", "2x2", 32, "--work", "run", "--keep", keep, "--threads", 1, "--memory", "1GiB")
    first = good(*command)
    assert verify_run(tmp_path / "run") == []
    assert bool(list((tmp_path / "run").rglob("*.tbl"))) == (keep != "counts")
    assert good(*command) == first
    assert not runs.exists()


def test_count_stats(capsys):
    assert main(["count", "2x2", "32", "--stats"]) == 0
    err = capsys.readouterr().err
    assert "states a second" in err
    assert "bytes written" in err


def test_quiet(good, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert "57" in good("count", "2x2", 32, "-q")


# -- interruption ----------------------------------------------------------------------------


def test_interrupted_run_is_kept_and_continued(capsys, good, runs, monkeypatch):
    layer, made = ForwardPass._layer, []

    def stop_at_20(self, total):
        if total == 20 and 20 not in made:
            made.append(total)
            raise KeyboardInterrupt
        made.append(total)
        return layer(self, total)

    monkeypatch.setattr(ForwardPass, "_layer", stop_at_20)
    assert main(["count", "2x2", "32"]) == 130
    out, err = capsys.readouterr()
    assert out == ""
    assert err == "tilebase: stopped; the same command continues after the last finished layer\n"
    (kept,) = runs.iterdir()
    assert verify_run(kept) == []
    assert "57" in good("count", "2x2", 32)
    assert len(set(made)) == len(made) - 1  # sum 20 twice, no other
    assert is_empty(runs)


def test_result_that_cannot_be_written_is_not_lost(bad, good, runs, monkeypatch):
    assert "cannot write" in bad(1, "count", "2x2", 32, "-o", "none/out.json")
    assert len(list(runs.iterdir())) == 1
    monkeypatch.setattr(ForwardPass, "_layer", None)  # nothing is counted again
    assert "57" in good("count", "2x2", 32)
    assert is_empty(runs)


def test_runs_of_other_questions_have_other_folders(bad, runs):
    for arguments in (["2x2", 32], ["2x2", 16], ["2x2", 32, "--lookahead"]):
        bad(1, "count", *arguments, "-o", "none/out.csv")
    assert len(list(runs.iterdir())) == 3


# -- mistakes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ["3y3", "8"],
        ["0x3", "8"],
        ["40x40", "8"],
        ["2x2", "3"],
        ["2x2", "0"],
        ["2x2", "-8"],
        ["2x2", "4"],
        ["4x4", "131072"],
        ["2x2", "32", "--limits", "4,4"],
        ["2x2", "32", "--limits", "4,4,4,x"],
        ["2x2", "32", "--four", "2"],
        ["2x2", "32", "--four", "[red]"],
        ["2x2", "32", "--start", "nowhere"],
        ["2x2", "32", "--walls", "9"],
        ["2x2", "32", "--walls", "a"],
        ["2x2", "32", "--format", "xml"],
        ["2x2", "32", "--by", "colour"],
        ["2x2", "32", "--memory", "lots"],
        ["2x2", "32", "--memory", "1MB"],
        ["2x2", "32", "--threads", "0"],
        ["2x2", "32", "--format", "parquet"],
        ["2x2", "32", "--keep", "states"],
        ["2x2", "32", "--keep", "all", "--work", "run"],
        ["2x2", "32", "--bound", "--by", "max"],
    ],
    ids=" ".join,
)
def test_wrong_questions(arguments, bad, runs, tmp_path):
    bad(2, "count", *arguments)
    assert is_empty(runs)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "arguments",
    [["count"], ["count", "2x2", "abc"], ["count", "2x2", "--colour"], ["nonsense"]],
    ids=" ".join,
)
def test_arguments_that_are_none(arguments, capsys):
    assert main(arguments) in (1, 2)
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    assert err


def test_work_in_a_folder_that_is_not_ours(bad, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert "holds other files" in bad(1, "count", "2x2", 32, "--work", tmp_path)
    assert "cannot use" in bad(1, "count", "2x2", 32, "--work", tmp_path / "notes.txt")
    assert [entry.name for entry in tmp_path.iterdir()] == ["notes.txt"]


# -- verify, export, reproduce ---------------------------------------------------------------


@pytest.fixture
def run_folder(tmp_path):
    count(GAME, folder=tmp_path / "run", keep="afterstates", threads=1)
    return tmp_path / "run"


def damage(path) -> None:
    data = bytearray(path.read_bytes())
    data[20] ^= 1
    path.write_bytes(data)


def test_verify(good, bad, capsys, run_folder):
    layer = run_folder / "afterstates" / "000020.tbl"
    assert good("verify", run_folder) == f"{run_folder}: sound\n"
    assert good("verify", layer).startswith(f"{layer}: sound, ")
    damage(layer)
    assert "damaged in chunk 0" in bad(1, "verify", layer)
    assert main(["verify", str(run_folder)]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines()[-1] == f"{run_folder}: 1 damaged"
    assert str(layer) in out


def test_verify_of_other_things(bad, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert "is no layer file" in bad(1, "verify", tmp_path / "notes.txt")
    assert "is not there" in bad(1, "verify", tmp_path / "none.tbl")
    assert "is not the folder of a run" in bad(1, "verify", tmp_path)


def test_export(good, bad, run_folder, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    layer = run_folder / "afterstates" / "000020.tbl"
    text = good("export", layer, "-o", "layer.parquet")
    table = pq.read_table(tmp_path / "layer.parquet")
    assert text == f"layer.parquet: {len(table)} boards\n"
    assert "cannot write" in bad(1, "export", layer, "-o", "none/layer.parquet")
    assert "is not there" in bad(1, "export", "none.tbl", "-o", "other.parquet")
    assert "cannot read" in bad(1, "export", run_folder, "-o", "other.parquet")
    damage(layer)
    assert "damaged" in bad(1, "export", layer, "-o", "other.parquet")
    assert not (tmp_path / "other.parquet").exists()


def test_reproduce(capsys, tmp_path):
    assert main(["reproduce", "edixhoven", "--budget", "1s", "-o", "out.csv"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    rows = list(csv.DictReader((tmp_path / "out.csv").read_text().splitlines()))
    assert rows
    assert "differs" not in {row["verdict"] for row in rows}


def test_reproduce_mistakes(bad):
    bad(2, "reproduce", "edixhoven", "--budget", "soon")
    bad(2, "reproduce", "nobody")
    bad(2, "reproduce", "edixhoven", "-f", "xml")


# -- the program -----------------------------------------------------------------------------


def python_m(*arguments):
    command = [sys.executable, "-m", "tilebase", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_help_and_version():
    done = python_m("--version")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, __version__, "")
    done = python_m("--help")
    assert (done.returncode, done.stderr) == (0, "")
    for command in ("count", "verify", "export", "reproduce"):
        assert command in done.stdout


@pytest.mark.parametrize("command", ["count", "verify", "export", "reproduce"])
def test_help_of_commands(command, capsys):
    assert main([command, "--help"]) == 0
    assert f"tilebase {command}" in capsys.readouterr().out


def test_exit_status_of_the_program():
    done = python_m("count", "2x2", "3")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1


def test_reader_that_leaves():
    command = f"{sys.executable} -m tilebase count 3x3 64 --by sum,max -f csv | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("sum,max")
    assert "Traceback" not in done.stderr


def test_engine_is_what_the_command_line_uses():
    assert engine.count is count
