"""Agents that are asked for many boards at once: the same values as boards one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilebase import evaluate, open_table, thin
from tilebase.arrays import GameArrays, TableArrays
from tilebase.errors import MissingBoardError, UsageError
from tilebase.game.game import Game
from tilebase.game.symmetry import canonical, symmetries
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Rounded
from tilebase.policies import Judgement, judge

GAMES = (
    Game("2x2", 32),
    Game("2x3", 16, masks="..x/...|.../..x"),
    Game("2x2x2", 8),
    Game("2x2", goal_sum=30),
    Game("2x3", 16, horizon=24),
)


SMALL = Game("2x2", 32)


@pytest.fixture(params=GAMES, ids=str)
def table(request: pytest.FixtureRequest, solved: Any) -> Any:
    with open_table(solved(request.param, "score,moves,win")) as found:
        yield found


@pytest.fixture
def small(solved: Any) -> Any:
    with open_table(solved(SMALL, "win,score")) as found:
        yield found


def first(boards: Any, allowed: Any) -> Any:
    """The first allowed action: another slide on a turned board."""
    return allowed.argmax(axis=1)


def uniform(boards: Any, allowed: Any) -> Any:
    return allowed / allowed.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("label", ["score", "moves", "win"])
def test_an_agent_without_symmetry(table, label):
    """Against the evaluation of a callable, which asks for one board after the other."""
    judged = judge(table, first, objective=label, symmetry="none", batch=7)
    exact = evaluate(table, lambda board: next(iter(board.slides())), objective=label)
    assert judged.value == pytest.approx(exact.value, rel=1e-10, abs=1e-12)
    assert judged.regret == pytest.approx(exact.regret, rel=1e-9, abs=1e-12)
    assert judged.optimum == exact.optimum
    assert sum(lost for _, lost in judged.by_sum.values()) == judged.regret


@pytest.mark.parametrize("symmetry", ["canonical", "check", "none"])
def test_an_agent_that_treats_turned_boards_alike(table, symmetry):
    judged = judge(table, uniform, objective="score", symmetry=symmetry)
    exact = evaluate(table, "random", objective="score")
    assert judged.value == pytest.approx(exact.value, rel=1e-10)


def test_optimal_play_loses_nothing(table):
    judged = judge(table, table, objective="score")
    assert judged.regret == pytest.approx(0, abs=1e-9)
    assert judged.optimal == pytest.approx(1)
    assert judged.worst == () or judged.worst[0].regret < 1e-9


def test_the_worst_decisions(small):
    """Each by the table, and all of them together are the regret."""
    judged = judge(small, first, objective="score", worst=10_000, symmetry="canonical")
    lost = [one.regret for one in judged.worst]
    assert sum(lost) == pytest.approx(judged.regret)
    assert lost == sorted(lost, reverse=True)
    for one in judged.worst:
        answer = small.probe(one.board, "score")
        chosen = next(slide for slide in answer.slides if slide.direction == one.chosen)
        assert one.board.cells == canonical(SMALL, one.board.cells)
        assert one.best == answer.best
        assert one.chosen == next(iter(one.board.slides()))
        assert one.loss == pytest.approx(float(answer.value) - float(chosen.value), abs=1e-9)
    few = judge(small, first, objective="score", worst=3, symmetry="canonical")
    assert few.worst == judged.worst[:3]
    assert few.as_dict()["worst"][0]["board"] == few.worst[0].board.text
    assert repr(few).startswith("<Judgement of first: score ")
    assert 0 < few.rounding < 1e-9


def test_decisions_of_an_agent_that_mixes_slides(small):
    """The loss is that of the mixture; a best slide among those chosen is no contradiction."""
    judged = judge(small, "greedy", symmetry="canonical")
    for one in judged.worst:
        answer = small.probe(one.board)
        values = {slide.direction: float(slide.value) for slide in answer.slides}
        mean = sum(p * values[direction] for direction, p in one.chances.items())
        assert sum(one.chances.values()) == pytest.approx(1)
        assert one.loss == pytest.approx(float(answer.value) - mean, abs=1e-12)
    # On 2,2/4,8 left and right merge the two 2s, and nothing else merges.
    worst = next(one for one in judged.worst if one.board.text == "2,2/4,8")
    assert worst.chances == {"left": 0.5, "right": 0.5}
    assert worst.best == ("left",)
    assert worst.statement == "left 50 %, right 50 % on 2,2/4,8, not only left"
    assert judged.as_dict()["worst"][judged.worst.index(worst)]["chances"] == worst.chances


def test_a_value_that_is_less_than_rounding():
    """The noise of a difference is not printed."""
    start = Rounded(0.5, "float64", 1e-15, 1)
    rules = GameArrays(Game("2x2", 8)), False
    judged = Judgement("fool", Objective("win"), start, 0.5 - 1e-16, 3e-15, 10, 0.1, {}, {}, (), *rules)
    assert judged.text == "less than 3.2e-15"
    assert repr(judged) == "<Judgement of fool: win less than 3.2e-15, regret 0.5>"


def test_how_often_states_are_visited(solved):
    """Every game begins, so the first sums have the visits of the starts; an agent meets fewer states."""
    game = Game("2x3", 32)
    with open_table(solved(game)) as table:
        judged = judge(table, uniform)
        begun = float(sum(p for board, p in game.starts() if game.sum(board) == 4))
        assert judged.by_sum[4][0] == pytest.approx(begun)
        assert judged.states == TableArrays(table).to_arrays("states")["allowed"].any(axis=1).sum()
        assert judge(table, first, symmetry="canonical").states < judged.states
        assert 0 < judged.optimal < 1
        with pytest.raises(UsageError, match="the same board turned: judge it with the symmetry none"):
            judge(table, first, symmetry="check")
        for options in ({"symmetry": "some"}, {"worst": -1}, {"batch": 0}):
            with pytest.raises(UsageError):
                judge(table, first, **options)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: np.zeros(n + 1, dtype=int), r"answers an array \[2\] of int64; 1 boards need 1 whole"),
        (lambda n: np.full(n, 4), "answers 4, but actions are 0 to 3"),
        (lambda n: np.full(n, -1), "answers -1, but actions are 0 to 3"),
        (lambda n: np.full((n, 4), np.nan), "must be at least 0 and add up to 1"),
        (lambda n: np.full((n, 4), 0.5), "must be at least 0 and add up to 1"),
        (lambda n: np.array([["left"] * 4] * n), "answers an array .* of <U4"),
        (lambda _: None, r"answers an array \[\] of object"),
        (lambda n: np.zeros(n, dtype=int), "the policy slides left on .*, which is not allowed"),
    ],
)
def test_answers_that_are_refused(answer, message, small):
    with pytest.raises(UsageError, match=message):
        judge(small, lambda boards, _: answer(len(boards)), batch=1)


def test_tables_that_cannot_judge(solved, tmp_path):
    whole = solved(Game("2x3", 32), "win,lower,guaranteed")
    for label in ("lower", "guaranteed"):
        with pytest.raises(UsageError, match="judged by a mean in floats"):
            judge(whole, first, objective=label)
    thin(whole, tmp_path / "thin", above=0.5)
    with pytest.raises(MissingBoardError, match="thinned out"):
        judge(tmp_path / "thin", first, objective="win")


def test_turned_boards(tmp_path):
    game = Game("2x3", 32)
    arrays = GameArrays(game)
    keys = arrays.pack([[1, 2, 0, 0, 0, 3]] * len(symmetries(game)))
    turned = arrays.turned(keys, np.arange(len(keys)))
    assert [game.unpack(int(key)) for key in turned] == [
        tuple((1, 2, 0, 0, 0, 3)[cell] for cell in p) for p in symmetries(game)
    ]
    boards = arrays.pack([[1, 0, 1, 1, 0, 1], [1, 0, 0, 0, 0, 1], [1, 2, 0, 0, 0, 0]])
    assert arrays.stabilisers(boards).tolist() == [4, 2, 1]
