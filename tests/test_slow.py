"""Proofs that take minutes to an hour: ``scripts/test --slow``."""

from __future__ import annotations

import pytest

from facts import facts
from tilebase import reproduce
from tilebase.enumerate import count
from tilebase.game import Game

pytestmark = pytest.mark.slow


def test_4x4_to_32():
    totals = count(Game("4x4", 32)).totals
    assert totals["live"] == 1_566_798_892
    assert totals["states"] == 1_567_514_971
    assert totals["afterstates"] == 437_449_227


def test_4x4_to_64_as_published():
    result = count(Game("4x4", 64))
    for fact in facts("state_counts.tsv", board="4x4", goal="64", quantity="states_with_specials"):
        assert result.total("live") + 2 == int(fact["value"]), fact
    for fact in facts("state_counts.tsv", quantity="states_of_sum_348"):
        assert result.states[result.sums == 348].sum() == int(fact["value"]), fact


@pytest.mark.parametrize("board", ["3x7", "3x8", "5x5"])
def test_checkerboards(board):
    game = Game(board, four=0, start="empty", largest=4)
    for fact in facts("checkerboards.tsv", board=board, question="cooperatively_reachable"):
        assert reproduce.reaches_checkerboard(game) == (fact["answer"] == "yes"), fact
