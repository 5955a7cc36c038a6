"""What a prompt shows of each public object: one short line that says what it is."""

from __future__ import annotations

import copy
import pickle
import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import tilebase
from stored import layers_of
from tilebase import Below, Board, Exact, Game, Interval, Lower, Objective, Rounded, Table, Upper, open_table
from tilebase.arrays import GameArrays, TableArrays
from tilebase.dense.index import PerfectIndex
from tilebase.errors import CorruptError, MissingLayerError, MissingObjectiveError, UsageError
from tilebase.policies import as_policy, compare, judge
from tilebase.questions.borders import find_border
from tilebase.questions.force import largest_forced
from tilebase.questions.limits import search_limits
from tilebase.questions.mdp import to_mdp
from tilebase.tables.layers import open_layer

SMALL = Game("2x2", 32)
FORCED = Game("2x2", 8, start="empty")


@pytest.mark.parametrize(
    ("game", "text"),
    [
        (SMALL, "Game('2x2', 32)"),
        (Game("2x2", goal_sum=20), "Game('2x2', goal_sum=20)"),
        (Game("3x3"), "Game('3x3')"),
        (Game("2x2", 16, spawn="1/5", start="empty"), "Game('2x2', 16, spawn='1/5', start='empty')"),
        (Game("2x2", 16, limits="8,8/8,4"), "Game('2x2', 16, limits='8,8/8,4')"),
        (Game("2x3", 16, walls=[1], limits=8), "Game('2x3', 16, limits='8', walls=(1,))"),
        (
            Game("2x3", 64, walls=[4], pattern="pair", start="2,2,0/0,#,0"),
            "Game('2x3', 64, start='2,2,0/0,#,0', walls=(4,), pattern='pair')",
        ),
    ],
    ids=str,
)
def test_a_game_is_shown_as_it_is_written(game: Game, text: str) -> None:
    assert repr(game) == text
    assert eval(text) == game


@pytest.mark.parametrize(
    "objective",
    [Objective("win"), Objective("win", "float32"), Objective("score", discount=Fraction(99, 100))],
    ids=str,
)
def test_an_objective_is_shown_as_it_is_written(objective: Objective) -> None:
    assert eval(repr(objective)) == objective
    assert len(repr(objective)) < 50


VALUES = [
    (Exact(5), "Exact(5)"),
    (Rounded(0.5, "float64", 1e-13, 1), "<Rounded: 0.5>"),
    (Exact(True), "Exact(True)"),
    (Lower(Fraction(1, 3)), "<Lower: at least 0.333333333333333>"),
    (Upper(Fraction(1, 3)), "<Upper: at most 0.333333333333334>"),
    (Interval(Fraction(1, 4), Fraction(1, 3)), "<Interval: from 0.25 to 0.333333333333334>"),
    (Below(0.5), "<Below: below 0.5>"),
    (Board.read(SMALL, "2,4/0,8"), "<Board 2,4/0,8 of 2x2, to 32>"),
]


@pytest.mark.parametrize(("value", "text"), VALUES, ids=str)
def test_values_are_shown_as_they_are_printed(value: object, text: str) -> None:
    assert repr(value) == text


ASKED: list[tuple[Callable[[], Any], str]] = [
    (lambda: tilebase.count(SMALL), " states, 57 live>"),
    (lambda: tilebase.count(SMALL, up_to=8), "live, not complete>"),
    (lambda: tilebase.bound(SMALL), "<BoundResult of 2x2, to 32: 625, 529, 120, 96>"),
    (lambda: tilebase.solve(SMALL, "guaranteed"), "<Solution of 2x2, to 32: guaranteed no>"),
    (lambda: tilebase.solve(SMALL, down_to=20), "<Solution of 2x2, to 32: not complete>"),
    (lambda: tilebase.solve(SMALL, "longest").layers[0][0], "<LayerSummary of sum 4: "),
    (lambda: tilebase.prove(SMALL, dtype="uint32"), "<ProvedBound of 2x2, to 32: at least 0."),
    (lambda: tilebase.prove(SMALL, direction="upper"), "<ProvedBound of 2x2, to 32: at most 0."),
    (lambda: tilebase.force(FORCED), "<Forced of 2x2, to 8, start empty: yes>"),
    (lambda: largest_forced("2x2"), "<Largest of 2x2: 8>"),
    (lambda: find_border(FORCED), "<Border of 2x2, to 8, start empty: "),
    (lambda: search_limits(FORCED, 100), "<FoundLimits "),
    (lambda: tilebase.check_pattern(Game("2x3", 64, pattern="lemma1")), "<PatternCheck of 2x3, to 64, "),
    (lambda: PerfectIndex(SMALL), "<PerfectIndex of 2x2, to 32>"),
    (lambda: to_mdp(SMALL), "<MDP of 2x2, to 32: 57 states, "),
]


@pytest.mark.parametrize(("ask", "text"), ASKED, ids=[text for _, text in ASKED])
def test_results_are_one_short_line(ask: Callable[[], Any], text: str) -> None:
    check(ask(), text)


def check(found: object, text: str) -> None:
    assert text in repr(found)
    assert "\n" not in repr(found)
    assert "array" not in repr(found)
    assert len(repr(found)) < 130


def test_tables_and_what_they_answer(solved: Callable[..., Path], tmp_path: Path) -> None:
    folder = solved(SMALL, "win,score")
    with open_table(folder) as table:
        check(table.manifest, "<Manifest of 2x2, to 32: win, score>")
        assert repr(table) == f"<Table {folder} of 2x2, to 32: win, score>"
        answer = table.probe("2,2/0,0")
        check(answer, "<Answer for 2,2/0,0: probability to win, 0.")
        check(answer.slides[0], f"<SlideAnswer {answer.slides[0].direction} to ")
        check(table.start, "<StartValues win: 0.")
    check(tilebase.verify_table(folder), "<Verification: nothing wrong, ")
    check(tilebase.evaluate(folder, "random"), "<Evaluation of random: win 0.")
    check(tilebase.thin(folder, tmp_path / "thin", above=0.1), "<Thinning above 0.1: ")
    layer = open_layer(folder, 20)
    assert repr(layer) == f"<Layer {folder}/values/win, sum 20: {len(layer)} boards>"
    with layers_of(folder / "values" / "win") as layers:
        assert repr(layers) == f"<LayerFolder {folder}/values/win: {len(layers.sums())} layers>"


KEYS = GameArrays(SMALL).pack([[1, 2, 0, 3], [1, 1, 0, 0]])
COPIED: dict[str, tuple[Callable[[Table], Any], Callable[[Any], Any]]] = {
    "Game": (lambda _: SMALL, repr),
    "Board": (lambda _: Board.parse(SMALL, "2,4/0,8"), lambda board: board.slides()),
    "Table": (lambda table: table, lambda table: table.probe("2,4/0,8", "score")),
    "GameArrays": (lambda _: GameArrays(SMALL), lambda arrays: arrays.slide(KEYS).after.tolist()),
    "TableArrays": (
        lambda table: TableArrays(table, "score", threads=2),
        lambda arrays: arrays.probe_keys(KEYS).value.tolist(),
    ),
    "greedy": (lambda _: as_policy("greedy", SMALL), lambda policy: policy.probabilities(KEYS).tolist()),
    "policy of a table": (
        lambda table: as_policy(table, SMALL), lambda policy: policy.probabilities(KEYS).tolist()
    ),
    "policy of a function": (
        lambda _: as_policy(first_of, SMALL, observation="pgx", actions="pgx", illegal="mask"),
        lambda policy: policy.probabilities(KEYS).tolist(),
    ),
    "Judgement": (lambda table: judge(table, "greedy"), lambda judged: judged.as_dict()),
    "Comparison": (lambda table: compare(table, {"mine": "greedy"}), lambda found: found.rows()),
    "Evaluation": (lambda table: tilebase.evaluate(table, "random"), lambda found: found.as_dict()),
    "Answer": (lambda table: table.probe("2,4/0,8"), lambda answer: answer),
}  # fmt: skip


def first_of(boards: Any, allowed: Any) -> Any:
    """The first action of the policy's own order."""
    return boards.argmax(axis=-1)[:, 0, 0] * 0


@pytest.mark.parametrize("name", COPIED)
def test_what_is_public_can_be_copied(name: str, solved: Callable[..., Path]) -> None:
    make, say = COPIED[name]
    thing = make(open_table(solved(SMALL, "win,score")))
    assert say(copy.deepcopy(thing)) == say(pickle.loads(pickle.dumps(thing))) == say(thing)


def test_a_table_is_opened_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From another working folder; and never another table that took its place."""
    tilebase.solve(SMALL, table=tmp_path / "table")
    monkeypatch.chdir(tmp_path)
    pickled = pickle.dumps(open_table("table"))
    monkeypatch.chdir("/")
    value = pickle.loads(pickled).probe("2,4/0,8").value
    assert value == open_table(tmp_path / "table").probe("2,4/0,8").value
    shutil.rmtree(tmp_path / "table")
    tilebase.solve(SMALL.changed(spawn="1/2"), table=tmp_path / "table")
    with pytest.raises(CorruptError, match=r"make it again|another game"):
        pickle.loads(pickled).probe("2,4/0,8")
    shutil.rmtree(tmp_path / "table")
    with pytest.raises(MissingLayerError, match="table not found: name the folder or zip file"):
        pickle.loads(pickled)


def test_solutions_and_tables_have_the_same_values_of_the_start(tmp_path: Path) -> None:
    solution = tilebase.solve(SMALL, "lower,upper,win:float32", table=tmp_path)
    with open_table(tmp_path) as table:
        assert table.start == solution.start
        both = Interval(solution.start["lower"].bound, table.start["upper"].bound)
        assert table.value == solution.value == both
    assert tilebase.solve(SMALL, "lower,win").value == solution.start["lower"]  # a bound alone is no interval
    assert list(solution.start) == ["lower", "upper", "win-float32"]
    assert solution.start["win"] is solution.start["win-float32"] is solution.start["win:float32"]
    assert "win" in solution.start
    assert solution.start.get("score") is None
    assert pickle.loads(pickle.dumps(solution)) == solution
    assert hash(solution.start) == hash(table.start)


def test_an_objective_that_was_not_solved_for(tmp_path: Path) -> None:
    start = tilebase.solve(SMALL, "win").start
    for label in ("score", 5, None):
        with pytest.raises(MissingObjectiveError, match=r"^.* was not solved for: choose one of win$"):
            start[label]
    assert issubclass(MissingObjectiveError, UsageError)
    assert issubclass(MissingObjectiveError, KeyError)
    with pytest.raises(TypeError):
        start["win"] = Exact(1)  # type: ignore[index]
