"""The notebooks of the documentation run, with a small goal; results as HTML; drawing on axes."""

from __future__ import annotations

import importlib
import json
import re
import runpy
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from tilebase import Game, UsageError, count, evaluate, open_table, solve
from tilebase.cli import main
from tilebase.pictures.plots import draw_counts, draw_distribution, draw_regret, draw_values
from tilebase.policies import as_policy, compare, judge
from tilebase.policies.distributions import Distribution, distributions

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def blank():
    return importlib.import_module("matplotlib.figure").Figure().add_subplot()


@pytest.fixture(scope="module")
def table(solved):
    with open_table(solved(Game("2x2", 32), "win,score")) as found:
        yield found


def words_of(output):
    """The forms of an output, and its words if it is text alone."""
    data = output.get("data", output)
    text = data.get("text/plain", "") if len(data) == 1 else ""
    return sorted(data), re.findall(r"[a-z_]{2,}", "".join(text))


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_notebooks_run_and_are_pages_with_their_outputs(file, monkeypatch):
    """Each cell shows what it showed when the notebook was stored, but for numbers; and so does the page."""
    monkeypatch.setenv("TILEBASE_GOAL", "16")
    found = runpy.run_path(str(ROOT / "scripts" / "make-notebooks"))["run"](file)
    stored = json.loads(file.read_text("utf-8"))
    page = runpy.run_path(str(ROOT / "docs" / "extensions" / "notebooks.py"))["markdown_of"](
        stored, file.name
    )
    pictures = tables = 0
    for new, old in zip(found["cells"], stored["cells"], strict=True):
        assert "".join(old["source"]).rstrip() in page
        if new["cell_type"] != "code":
            continue
        assert new["execution_count"] == old["execution_count"]
        assert [words_of(one) for one in new["outputs"]] == [words_of(one) for one in old["outputs"]]
        for data in [one["data"] for one in old["outputs"] if "data" in one]:
            pictures += "image/svg+xml" in data
            tables += "text/html" in data
            if "image/svg+xml" not in data:
                assert "".join(data.get("text/html", data["text/plain"])).rstrip() in page
    assert page.count("<img ") == pictures
    assert pictures or tables or file.stem == "duckdb"


def test_results_as_html(table):
    """Well-formed, with the numbers that the result prints."""
    judged = judge(table, "greedy", symmetry="canonical")
    shown = {
        "answer": (table.probe("2,4/0,8"), "0.08604414"),
        "table": (table, "65.6181433895"),
        "solution": (solve(Game("2x2", 32)), "0.082887"),
        "count": (count(Game("2x2", 32)), "states by largest tile"),
        "judgement": (judged, judged.worst[0].board.text),
        "evaluation": (evaluate(table, "random"), "0.000511"),
        "judged": (evaluate(table, as_policy("greedy", table.game)), judged.worst[0].board.text),
        "games": (evaluate(table, as_policy("greedy", table.game), games=100), "100 games"),
        "comparison": (compare(table, {"mine": "greedy"}, symmetry="canonical"), "mine"),
    }
    for one, text in shown.values():
        html = one._repr_html_()
        ET.fromstring(f"<div>{html}</div>")
        assert text in html, html


def test_values_by_sum(table):
    """From a solution and from its table: the same lines."""
    solution = solve(Game("2x2", 32), "win,score")
    for label in (None, "score"):
        lines = []
        for solved in (solution, table):
            axes = blank()
            draw_values(axes, solved, label)
            lines.append(axes.lines[0].get_xydata())
            assert {one.get_text() for one in axes.texts} == {"mean", "least to largest"}
        assert lines[0] == pytest.approx(lines[1])
        assert lines[0][:, 0].tolist() == [layer.sum for layer in solution.layers[0]]
    for layers in (1, 2):
        few = replace(solution, layers=(solution.layers[0][:layers], solution.layers[1]))
        draw_values(blank(), few)
    with pytest.raises(UsageError, match="moves was not solved for: choose one of win, score"):
        draw_values(blank(), table, "moves")


def test_values_leave_out_what_cannot_be_won(tmp_path: Path) -> None:
    """A lost game has no number of slides; a solution does not say what is the largest without it."""
    solution = solve(Game("2x2", 32), "fewest", table=tmp_path)
    with open_table(tmp_path) as table:
        for solved in (solution, table):
            axes = blank()
            draw_values(axes, solved)
            assert max(axes.lines[0].get_ydata()) < 20
            assert axes.dataLim.y1 < 20


def test_regret_by_sum_and_tile(table):
    judged = judge(table, "greedy", symmetry="canonical")
    for by in ("sum", "tile"):
        axes = blank()
        draw_regret(axes, judged, by=by)
        assert sum(bar.get_height() for bar in axes.patches) == pytest.approx(judged.regret)
        assert axes.get_ylabel().startswith("regret (")
    assert [tick.get_text() for tick in axes.get_xticklabels()] == [str(tile) for tile in judged.by_tile]
    with pytest.raises(UsageError, match="by sum or by tile, not by 'day'"):
        draw_regret(axes, judged, by="day")


def test_counts_and_distributions(table):
    counted = count(Game("2x2", 32))
    for kind, words in (("stacked", "largest tiles stacked"), ("lines", "not stacked")):
        axes = blank()
        draw_counts(axes, counted, kind=kind)
        assert axes.get_ylabel() == f"states up to symmetry per sum, {words}"
        assert {one.get_text() for one in axes.texts} <= {str(1 << e) for e in range(1, 5)}
        assert "16" in {one.get_text() for one in axes.texts}
    with pytest.raises(UsageError, match="kind 'pie' does not exist"):
        draw_counts(axes, counted, kind="pie")
    axes = blank()
    one = distributions(table, "random", of=("tile",)).of["tile"]
    draw_distribution(axes, one)
    assert [bar.get_height() for bar in axes.patches] == pytest.approx(list(one.chances.values()))
    axes = blank()
    draw_distribution(
        axes, Distribution("length", "mine", {5: 1e-30, 8: 0.5, 9: 1e-9, 10: 0.5, 90: 2e-9}, 1, 9.0)
    )
    assert axes.get_ylabel() == "probability"
    assert [bar.get_x() for bar in axes.patches] == [8, 9, 10]  # what lies between is drawn
    assert axes.texts[-1].get_text() == "not drawn: 2e-7 % of games beyond the axis; mean 9"


def test_commands_draw_values_and_regret(table, folder, capsys, printed):
    where = str(table.location.path)
    (folder / "mine.py").write_text("def go(boards, allowed):\n    return allowed.argmax(axis=1)\n")
    agent = ["evaluate", where, "mine:go", "--asked", "batch", "--symmetry", "none", "-q"]
    assert main([*agent, "--record", "regret.svg"]) == 0
    assert printed(f"export values {where} -o values.svg").endswith("values.svg: values of win by sum\n")
    for name, words in (("regret", "2x2, to 32, by mine:go"), ("values", "2x2, to 32")):
        assert f"<!-- {words} -->" in (folder / f"{name}.svg").read_text("utf-8")
    assert main(["export", "values", where, "--states", "-o", "values.svg"]) == 2
    assert "leave --sum, --states and --exact out" in capsys.readouterr().err
