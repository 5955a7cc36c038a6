"""Recomputing published numbers."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tilebase.errors import UsageError
from tilebase.game.game import Game
from tilebase.questions.reproduce import SOURCES, Fact, agrees, judge, read_facts, reproduce, summary
from tilebase.small.oracle import values


@pytest.mark.parametrize("source", ["lees-miller", "slizkov", "edixhoven"])
def test_what_is_computed_agrees(source):
    verdicts = list(reproduce(source, budget=4))
    assert verdicts
    wrong = {verdict.fact.question for verdict in verdicts if verdict.verdict == "differs"}
    errata = {
        fact.question for fact in read_facts(source) if fact.columns.get("note", "").startswith("erratum")
    }
    assert wrong == errata
    assert summary(verdicts).split()[1] == "agrees,"


def test_every_line_of_every_file_is_read():
    facts = read_facts()
    assert len(facts) == sum(len(read_facts(source)) for source in SOURCES)
    assert {fact.file for fact in facts} >= {"state_counts.tsv", "checkerboards.tsv", "layer_sizes.tsv"}
    assert all(fact.published and fact.question for fact in facts if fact.file != "symbolic_solving.tsv")


@pytest.mark.parametrize(
    ("published", "computed", "same"),
    [
        ("57", 57, True),
        ("57", 58, False),
        ("0.08", Fraction(829, 10000), True),
        ("0.08", Fraction(9, 100), False),
        ("1.17e13", 2 * 5_850_000_000_000, True),
        ("3.71e15", 4 * 10**15, False),
        ("yes", "yes", True),
        ("no", "yes", False),
    ],
)
def test_agreeing_means_the_published_digits(published, computed, same):
    assert agrees(published, computed) is same


def test_proved_bounds_agree_improve_or_differ():
    """Lines made up for a small game, whose value the oracle gives."""
    limits = "16,16,8/16,8,8"
    value = float(values(Game("2x3", 32, limits=limits, start="empty")).start)
    verdicts = {}
    for dtype, published in (
        ("uint32", f"{value - 1e-9:.8f}"),
        ("uint32", f"{value - 0.01:.8f}"),
        ("uint32", f"{value + 0.01:.8f}"),
        ("float32", f"{value:.6f}"),
        ("float32", f"{value + 5e-7:.8f}"),
        ("float32", f"{value - 0.01:.6f}"),
    ):
        columns = {
            "board": "2x3", "goal": "32", "limits": limits, "value_type": dtype, "lower_bound": published,
        }  # fmt: skip
        fact = Fact("win_probability_bounds.tsv", 1, "made up", columns)
        verdicts[dtype, published] = judge(fact, 10.0)
    found = [(v.verdict, abs(float(v.computed) - value) < 1e-6) for v in verdicts.values()]
    assert [verdict for verdict, _ in found] == [
        "agrees", "improves", "differs", "agrees", "within rounding", "differs",
    ]  # fmt: skip
    assert all(near for _, near in found)
    assert judge(fact, 1e-9).verdict == "over budget"


def test_unknown_source():
    with pytest.raises(UsageError, match="choose one of"):
        read_facts("somebody")
