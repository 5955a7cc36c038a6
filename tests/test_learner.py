"""The example that learns: it wins more games than before, and its picture shows value and regret."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from tilebase import Game, evaluate, explain, open_table, solve
from tilebase.datasets import benchmark
from tilebase.runtime.rows import read_rows

EXAMPLE = Path(__file__).parents[1] / "examples/learner"


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE))
    yield importlib.import_module("train")
    for name in ("train", "reference", "ntuples"):
        sys.modules.pop(name, None)


@pytest.mark.all
def test_a_network_learns(example, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(example, "TESTS", 2000)
    solve(Game("3x3", 64), table=tmp_path / "x.table")
    assert example.main(["3x3", "64", "-o", str(tmp_path / "x.svg"), "--slides", "0", "500000"]) == 0
    assert "<svg" in (tmp_path / "x.svg").read_text("utf-8")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    exact = [float(row[row.index("exact") + 1]) for row in rows]
    wins = [float(row[row.index("wins") + 1]) for row in rows]
    with open_table(tmp_path / "x.table") as table:
        assert evaluate(table, "random").value < exact[1] < float(table.value)
        assert exact[0] < exact[1]
    assert wins[1] == pytest.approx(exact[1], abs=5 * (0.25 / 2000) ** 0.5)


def test_what_is_wrong_is_said(example, capsys, tmp_path):
    solve(Game("2x2", 8), table=tmp_path / "x.table")
    for board, why in (("2x2", "a table of 2x2"), ("3x4", "3x4 has no tuples"), ("L9", "mean LL or L3")):
        assert example.main([board, "16", "-o", str(tmp_path / "x.svg")]) == 2
        assert why in capsys.readouterr().err
    assert example.game_of("L3", 32).unmergeable


def test_reference_agents(example, capsys, monkeypatch):
    """The table of what they get has the values of the benchmarks; PPO runs in tests/packages/recipes.py."""
    reference = importlib.import_module("reference")
    every = read_rows("datasets", "agents.tsv")
    assert list(dict.fromkeys(row["benchmark"] for row in every)) == list(reference.TASKS)
    for row in every:
        task, value = benchmark(row["benchmark"]), float(row["value"].removeprefix("less than "))
        assert value == pytest.approx(getattr(task, row["agent"], value), rel=1e-9)
        assert value + float(row["regret"]) == pytest.approx(task.optimum)
        assert row["agent"] in reference.AGENTS
        assert row["value"] in explain(row["benchmark"])[0].text
    monkeypatch.setattr(reference, "TD_SLIDES", 2_000_000)
    monkeypatch.delitem(reference.AGENTS, "PPO")
    reference.main(["2x2-32-win"])
    heads, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert heads == list(every[0])
    task, values = benchmark("2x2-32-win"), {row[1]: float(row[2]) for row in rows}
    assert values["random"] == pytest.approx(task.random)
    assert 10 * values["greedy"] < values["n-tuple TD"] <= task.optimum * (1 + 1e-9)
