"""The command line: what it prints, and how it refuses."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import pyarrow.parquet as pq
import pytest

from tilebase.cli import main
from tilebase.cli import progress as shown
from tilebase.sparse.forward import ForwardPass


def test_count_prints_totals(capsys):
    assert main(["count", "2x2", "32", "-q"]) == 0
    lines = dict(line.split() for line in capsys.readouterr().out.splitlines() if len(line.split()) == 2)
    assert lines["live"] == "57"
    assert lines["afterstates"] == "45"


def test_count_writes_what_it_prints(tmp_path, capsys):
    for suffix in ("csv", "json", "parquet"):
        assert main(["count", "2x2", "32", "-q", "--by", "sum,max", "-o", str(tmp_path / f"a.{suffix}")]) == 0
    rows = pq.read_table(tmp_path / "a.parquet").to_pylist()
    document = json.loads((tmp_path / "a.json").read_text())
    assert document["layers"] == rows
    assert sum(row["live"] for row in rows) == document["totals"]["live"] == 57
    assert len((tmp_path / "a.csv").read_text().splitlines()) == len(rows) + 1
    assert capsys.readouterr().out == ""


def test_bound_by_sum(capsys):
    assert main(["count", "4x4", "256", "--bound", "--by", "sum", "-f", "json"]) == 0
    layers = json.loads(capsys.readouterr().out)["layers"]
    assert max(layer["boards"] for layer in layers) == 1_353_817_378_016


def test_part_of_a_game_says_so(capsys):
    assert main(["count", "3x3", "64", "-q", "--up-to", "20", "--stats", "--lookahead"]) == 0
    printed = capsys.readouterr().err
    assert "not complete: counted up to sum 20" in printed
    assert "bits an afterstate" in printed


def test_a_folder_is_kept_verified_and_exported(tmp_path, capsys):
    run = tmp_path / "run"
    assert main(["count", "2x3", "16", "-q", "--work", str(run), "--keep", "states"]) == 0
    assert main(["verify", str(run)]) == 0
    layer = str(run / "states" / "000020.tbl")
    assert main(["verify", layer]) == 0
    assert main(["export", layer, "-o", str(tmp_path / "20.parquet")]) == 0
    assert pq.read_table(tmp_path / "20.parquet").num_rows > 0
    damaged = run / "states" / "000020.tbl"
    data = bytearray(damaged.read_bytes())
    data[20] ^= 1
    damaged.write_bytes(data)
    capsys.readouterr()
    assert main(["verify", str(run)]) == 1
    assert "damaged" in capsys.readouterr().out


def test_the_default_folder_goes_when_all_is_done(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TILEBASE_RUNS_DIR", str(tmp_path))
    real = ForwardPass._layer

    def interrupted(self, total):
        if total > 30:
            raise KeyboardInterrupt
        return real(self, total)

    with monkeypatch.context() as patch:
        patch.setattr(ForwardPass, "_layer", interrupted)
        assert main(["count", "2x2", "32", "-q"]) == 130
    assert len(list(tmp_path.iterdir())) == 1
    assert "the same command goes on where it was" in capsys.readouterr().err
    assert main(["count", "2x2", "32", "-q"]) == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["count", "4by4"], 2, "not a shape"),
        (["count", "9x9"], 2, "at most 32"),
        (["count", "4x4"], 2, "do not fit"),
        (["count", "2x2", "3"], 2, "power of two"),
        (["count", "2x2", "64"], 2, "cannot be made"),
        (["count", "2x2", "32", "--limits", "8,8"], 2, "2 limits"),
        (["count", "2x2", "32", "--limits", "8,8,8,2"], 2, "below the spawned"),
        (["count", "2x2", "32", "--walls", "7"], 2, "cells 0 to 3"),
        (["count", "2x2", "32", "--four", "2"], 2, "between 0 and 1"),
        (["count", "2x2", "32", "--start", "2,2"], 2, "has 2 cells"),
        (["count", "2x2", "32", "--by", "colour"], 2, "by sum"),
        (["count", "2x2", "32", "--memory", "lots"], 2, "not an amount"),
        (["count", "2x2", "32", "--memory", "1MB"], 2, "too little"),
        (["count", "2x2", "32", "--format", "xml"], 2, "choose one of table"),
        (["count", "2x2", "32", "--format", "parquet"], 2, "name one with -o"),
        (["count", "2x2", "32", "--keep", "states"], 2, "--work"),
        (["count", "2x2", "32", "-q", "-o", "/nowhere/at/all.csv"], 1, "cannot write"),
        (["count", "2x2", "32", "-q", "--work", "/proc/run"], 1, "cannot use"),
        (["verify", "nothing.tbl"], 1, "not there"),
        (["export", ".", "-o", "x.parquet"], 1, "cannot read"),
        (["reproduce", "somebody"], 2, "choose one of"),
        (["reproduce", "--budget", "soon"], 2, "not a time"),
        (["count", "2x2", "--colour"], 2, "Unknown option"),
        (["count"], 2, "count needs a SHAPE: Rows x columns, as 4x4"),
        (["count", "2x2", "many"], 2, "GOAL"),
        (["recount"], 2, "recount"),
    ],
    ids=str,
)
def test_refusals_are_one_sentence(arguments, status, words, refused):
    refused(arguments, status, words)


def test_module_and_version():
    done = subprocess.run([sys.executable, "-m", "tilebase", "--version"], capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stdout.strip().count(".") == 2


@pytest.mark.parametrize(("seconds", "text"), [(5, "0:05"), (125, "2:05"), (3723, "1:02:03")])
def test_clock(seconds, text):
    assert shown.clock(seconds) == text


def test_a_closed_output_is_one_sentence():
    command = f"{shlex.quote(sys.executable)} -m tilebase count 2x2 8 >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.strip() == "tilebase: cannot write the output: standard output is closed"
