"""The probability to lose: computed by itself, with all digits where that to win is rounded to 1."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import cached_oracle as oracle
from tilebase import Game, open_table, review, verify_table
from tilebase.objectives.values import Rounded, short_text

GAME = Game("2x3", 32, spawn="1/1000000")
"""Lost with the probability 9.0e-20, which no float near 1 can say."""


@pytest.fixture(scope="module")
def table(solved) -> Path:
    return solved(GAME, "win,loss")


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
