"""The probability to lose: computed by itself, with all digits where that to win is rounded to 1."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import cached_oracle as oracle
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Rounded, short_text
from tilebase.questions.review import review
from tilebase.questions.solve import solve
from tilebase.tables.probe import open_table
from tilebase.tables.verify import verify_table

GAME = Game("2x3", 32, spawn="1/1000000")
"""Lost with the probability 9.0e-20, which no float near 1 can say."""


@pytest.fixture(scope="module")
def table(solved) -> Path:
    return solved(GAME, "win,loss")


def test_it_is_one_minus_the_probability_to_win_in_fractions() -> None:
    win, loss = (oracle.values(GAME, name) for name in ("win", "loss"))
    assert -loss.start == 1 - win.start > 0
    assert all(-loss.states[state] == 1 - value for state, value in win.states.items())


def test_it_keeps_its_digits(table: Path) -> None:
    """That of the start, and that of every board beside the probability to win."""
    exact, found = oracle.values(GAME, "win"), 0
    with open_table(table) as opened:
        win, loss = (opened.start[name] for name in ("win", "loss"))
        assert win.complement == loss.value
        assert abs(Fraction(loss.value) - (1 - exact.start)) < (1 - exact.start) / 10**14
        for state, value in exact.states.items():
            answer = opened.probe(GAME.format(state), "win")
            if isinstance(answer.value, Rounded):
                assert abs(Fraction(answer.value.complement) - (1 - value)) <= (1 - value) / 10**13
                found += 1
    assert found > 100
    assert verify_table(table).wrong == ()


def test_the_best_slides_lose_least(table: Path) -> None:
    exact = oracle.values(GAME, "loss")
    with open_table(table) as opened:
        for state in exact.states:
            answer = opened.probe(GAME.format(state), "loss")
            worths = oracle.worths(exact, state)
            most = max(worths.values(), default=Fraction(0))
            assert {d for d, worth in worths.items() if worth == most} <= set(answer.best)
            assert all(most - worths[direction] <= abs(most) / 10**14 for direction in answer.best)
            assert answer.cost
            for direction, worth in worths.items():
                assert abs(Fraction(answer.loss(direction)) - (most - worth)) <= Fraction(1, 10**13)


def test_where_a_win_is_almost_certain_the_losses_decide(table: Path) -> None:
    """The text of a value, the best slides, and what a review says that a slide lost."""
    exact, small, reviewed = oracle.values(GAME, "win"), Fraction(1, 10**6), 0
    with open_table(table) as opened:
        for state, value in exact.states.items():
            if not 0 < 1 - value < small:
                continue
            worths, answer = oracle.worths(exact, state), opened.probe(GAME.format(state), "win")
            assert str(answer.value).startswith("1 - ")
            assert short_text(answer.value, "probability").startswith("100 % - ")
            assert {d for d, worth in worths.items() if worth == value} <= set(answer.best)
            assert all(value - worths[direction] <= (1 - value) / 10**14 for direction in answer.best)
            for direction in [d for d, worth in worths.items() if 0 < value - worth < small][:1]:
                following = GAME.spawns(GAME.slides(state)[direction])[0][0]
                text = f"{GAME.format(state)}\n{GAME.format(following)}\n"
                (move, _) = review(opened, text, "win").moves
                if len(move.slides) > 1:
                    continue
                lost = value - worths[move.slides[0]]
                assert abs(Fraction(move.loss or 0) - lost) <= (1 - worths[move.slides[0]]) / 10**14
                assert move.mistake == (lost >= (1 - value) / 1000)
                reviewed += 1
    assert reviewed > 10


def test_where_no_loss_can_be_met_a_slide_that_risks_one_is_not_best(table: Path) -> None:
    exact, risky = oracle.values(GAME, "win"), 0
    with open_table(table) as opened:
        for state in [state for state, value in exact.states.items() if value == 1]:
            worths, answer = oracle.worths(exact, state), opened.probe(GAME.format(state), "win")
            assert set(answer.best) == {d for d, worth in worths.items() if worth == 1}
            for direction, worth in worths.items():
                assert answer.loss(direction) == pytest.approx(float(1 - worth), rel=1e-13)
                risky += 0 < 1 - worth < Fraction(1, 10**16)
    assert risky > 10


def test_it_needs_a_goal_and_takes_no_discount() -> None:
    with pytest.raises(ValueError, match="loss needs a goal"):
        solve(Game("2x2"), "loss", threads=1)
    with pytest.raises(ValueError, match="loss takes no discount"):
        Objective("loss", discount=Fraction(1, 2))
