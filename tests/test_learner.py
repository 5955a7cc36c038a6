"""The example that learns: it wins more games than before, and its picture shows value and regret."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from tilebase import Game, evaluate, open_table, solve

EXAMPLE = Path(__file__).parents[1] / "examples/learner"


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE))
    yield importlib.import_module("train")
    for name in ("train", "ntuples"):
        sys.modules.pop(name)


@pytest.mark.all
def test_a_network_learns(example, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(example, "TESTS", 2000)
    solve(Game("3x3", 64), table=tmp_path / "x.table")
    assert example.main(["3x3", "64", "-o", str(tmp_path / "x.svg"), "--millions", "0", "1"]) == 0
    assert "<svg" in (tmp_path / "x.svg").read_text("utf-8")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    exact = [float(row[row.index("exact") + 1]) for row in rows]
    wins = [float(row[row.index("wins") + 1]) for row in rows]
    with open_table(tmp_path / "x.table") as table:
        assert evaluate(table, "random").value < exact[1] < float(table.value)
        assert exact[0] < exact[1]
    assert wins[1] == pytest.approx(exact[1], abs=5 * (0.25 / 2000) ** 0.5)


def test_what_is_wrong_is_said(example, capsys, tmp_path):
    assert example.main(["3x3", "3", "-o", str(tmp_path / "x.svg")]) == 2
    assert capsys.readouterr().err.startswith("error: ")
