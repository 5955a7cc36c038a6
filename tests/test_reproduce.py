"""Recomputing published numbers."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from stopping import raise_at
from tilebase import Game, Objective
from tilebase.claims.facts import SOURCES, Claim, agrees, read_claims, read_records
from tilebase.cli import main
from tilebase.costs import passes as machines
from tilebase.costs import rows
from tilebase.errors import ResourceError
from tilebase.questions import reproduce as questions
from tilebase.questions.reproduce import compare, judge, reproduce, summary
from tilebase.runtime.measured import duration
from tilebase.runtime.resources import Allowance
from tilebase.small.oracle import values

SEQUENCE = next(fact for fact in read_claims("edixhoven") if fact.board == "2x7")


def made_up(quantity: str, value: str, **columns: str) -> Claim:
    return Claim.of("made_up.tsv", 1, {"quantity": quantity, "value": value, "source": "nobody", **columns})


@pytest.mark.parametrize(
    "source", [pytest.param("lees-miller", marks=pytest.mark.all), "slizkov", "edixhoven"]
)
def test_what_is_computed_agrees_or_is_an_erratum(source):
    """The quick lines; what takes longer has tests of its own."""
    verdicts = list(reproduce(source, budget=0.5))
    known = {"agrees", "erratum", "own reading", "recorded", "over budget", "not in this version"}
    assert {one.verdict for one in verdicts} <= known
    assert sum(one.verdict == "agrees" for one in verdicts) >= {"edixhoven": 13}.get(source, 9)
    errata = {one.claim.board for one in verdicts if one.verdict == "erratum"}
    assert errata == ({"2x7", "2x8"} if source == "edixhoven" else set())
    assert summary(verdicts).split()[1].rstrip(",") == "agrees"


def test_what_is_far_over_the_budget_is_estimated_without_an_index(monkeypatch):
    """An index takes seconds, and there are fifty of these lines."""

    def refuse(game):
        raise AssertionError(f"an index of {game} is made")

    monkeypatch.setattr(machines, "planned_index", refuse)
    verdicts = [
        one for one in reproduce("slizkov", budget=0) if one.claim.file == "win_probability_bounds.tsv"
    ]
    assert {one.verdict for one in verdicts} <= {"recorded", "over budget"}
    assert max(one.seconds for one in verdicts) > 3600


def test_an_erratum_explains_one_number_only():
    fact, place = SEQUENCE, "docs/errata.md#deterministic-sequences"
    assert (fact.value, fact.place, fact.right) == ("7385", place, "7383")
    assert [compare(fact, found) for found in (7383, 7384, 7385)] == ["erratum", "differs", "agrees"]


def test_words_differ_as_numbers_do():
    lines = {fact.quantity.quantity: fact for fact in read_claims() if not fact.is_reading and not fact.right}
    for quantity in ("cooperatively_reachable", "deterministically_reachable", "figure_8_reachable"):
        assert compare(lines[quantity], "neither yes nor no") == "differs"
    assert compare(lines["largest_tile_that_can_be_forced"], 3) == "differs"


def test_every_erratum_has_a_place_on_the_page():
    page = (Path(__file__).parents[1] / "docs/errata.md").read_text("utf-8")
    headings = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", words.replace("×", "")).lower().replace(" ", "-") for words in headings}
    found = [fact.place for fact in read_claims() if fact.right]
    assert len(found) >= 3
    assert {place.removeprefix("docs/errata.md#") for place in found} <= anchors


@pytest.mark.parametrize(
    ("limits", "claim", "note", "better"),
    [
        ("16,16,16,16/16,16,16,8", "winnable", "minimal", "16,16,16,8/16,16,16,8"),
        ("8,16,8,8/16,16,16,8", "not_winnable", "maximal", "16,16,8,8/16,16,16,8"),
    ],
)
def test_limits_are_minimal_or_maximal(limits: str, claim: str, note: str, better: str) -> None:
    line = made_up("forced_within_limits", claim, board="2x4", limits=limits, goal="32", note=note)
    found = judge(line, 60)
    assert (found.computed, found.verdict) == (f"{claim}, but not {note}: so is {better}", "differs")


def test_costs_are_compared_and_never_wrong():
    fact = made_up("sweep_seconds", "8", board="2x2", goal="16", relation="about")
    assert fact.stated == "about 8"
    assert [compare(fact, seconds) for seconds in (7, 9)] == ["costs less", "costs more"]
    assert (fact.board, fact.question) == ("2x2 to 16", "against 2s only, sweep lines: seconds")


def test_records_belong_to_lines_and_agree_with_them():
    lines = {fact.key: fact for fact in read_claims()}
    records = read_records()
    for key, record in records.items():
        fact, number = lines[key], re.fullmatch(r"\d+(\.\d+)?", record["computed"])
        if "seconds" in fact.question or "nodes" in fact.question:
            continue
        found = Fraction(record["computed"]) if number else record["computed"]
        known = ("agrees", "improves", "within rounding", "erratum")
        assert compare(fact, found) in (("own reading",) if fact.is_reading else known), key
        assert record["command"].startswith("tilebase "), key
        assert re.fullmatch(r"2026-\d\d-\d\d", record["date"]), key


def test_a_line_over_the_budget_shows_what_was_recorded(capsys):
    """Nothing is computed with this budget; the command says which results are recorded, and how."""
    assert main(["reproduce", "edixhoven", "--budget", "0.001s", "-q", "-f", "csv"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    rows = list(csv.DictReader(io.StringIO(printed.out)))
    row = next(
        row for row in rows if row["question"] == "against 2s only, sweep line (8,2): states at both turns"
    )
    assert (row["board"], row["published"], row["computed"]) == ("3x3 to 512", "3.6e7", "36434618")
    assert row["recorded_by"] == "tilebase force diagrams 3x3 512 --spawns 2 --strategy sweep --corollary7"
    assert "is an inference: corollary 7 alone leaves 43,218,064" in row["note"]
    of_4x4 = [one for one in rows if one["board"] == "4x4 to 32" and "seconds" in one["question"]]
    assert of_4x4[0]["published"] == "about 1800"
    assert (row["verdict"], row["recorded_on"]) == ("recorded", "2026-11-23")
    assert row["game"] == "3x3 512 --start empty --spawn 0"
    assert (row["seconds"], row["command"]) == ("", "tilebase reproduce edixhoven --budget 0.001s")
    assert {row["verdict"] for row in rows} == {"recorded", "over budget"}


def test_states_of_the_thesis_are_those_that_the_command_prints(tmp_path):
    """And agree with nothing: 180,000,000 boards were added in silence to come to 3.6e8."""
    file = tmp_path / "r.json"
    found = judge(
        made_up("cumulative_states", "1", board="2x2", goal="16", place="docs/a.md", note="ours"), 60
    )
    command = "force diagrams 2x2 16 --spawns 2 --start empty --corollary7 -q --record"
    assert main([*command.split(), str(file)]) == 0
    told = json.loads(file.read_text("utf-8"))
    assert (found.computed, found.verdict) == (str(told["states"] + told["afterstates"]), "own reading")
    question = "against 2s only, all lines: states at both turns"
    record = read_records()["symbolic_solving.tsv", "3x3 to 512", question]
    assert record["computed"] == "181128912"
    assert record["command"] == "tilebase force diagrams 3x3 512 --spawns 2 --corollary7"


def test_a_search_of_a_millisecond_is_not_over_the_budget():
    lines = [fact for fact in read_claims("edixhoven") if fact.quantity.quantity == "cooperatively_reachable"]
    assert len(lines) == 15
    assert max(judge(fact, 0).seconds for fact in lines) < 8


@pytest.mark.parametrize("quantity", ["live_states", "win_within_limits", "forced_within_limits"])
def test_a_line_is_stopped_where_its_estimate_was_too_low(quantity, monkeypatch):
    fact = next(one for one in read_claims(None) if one.quantity.quantity == quantity)
    monkeypatch.setitem(questions.WAYS, quantity, questions.WAYS[quantity]._replace(seconds=lambda *_: 0.0))
    assert judge(fact, 1e-9).verdict in ("recorded", "over budget")


@pytest.mark.parametrize(("answer", "status"), [("7383", 0), ("7384", 1)])
def test_only_what_nothing_explains_is_a_failure(answer, status, monkeypatch, capsys):
    monkeypatch.setattr(questions, "read_claims", lambda _: [replace(SEQUENCE, right=answer)])
    assert main(["reproduce", "edixhoven"]) == status
    printed = capsys.readouterr().out
    assert "docs/errata.md#deterministic-sequences" in printed
    assert ("erratum" if not status else "differs") in printed


def test_a_line_that_is_not_possible_here_loses_no_other(monkeypatch, printed):
    def refuse(*_: object) -> None:
        raise ResourceError("too little memory")

    monkeypatch.setattr(questions, "read_claims", lambda _: [SEQUENCE, SEQUENCE])
    monkeypatch.setitem(questions.WAYS, "deterministic_sequences", questions.Way(refuse))
    assert printed("reproduce edixhoven").count("not possible here") == 2


def test_what_is_stopped_prints_what_is_known(monkeypatch, printed):
    raise_at(monkeypatch, questions, "judge", (2,))
    monkeypatch.setattr(questions, "read_claims", lambda _: [SEQUENCE, SEQUENCE])
    assert printed("reproduce edixhoven", status=130).count(questions.judge(SEQUENCE, 60).verdict) == 1


def test_the_estimate_is_that_of_the_plan():
    fact = next(one for one in read_claims("slizkov") if one.columns.get("value_type") == "uint32")
    verdict = judge(fact, 1e-3)
    assert verdict.game is not None
    row = rows.solving(verdict.game, [Objective("lower", "uint32")], "all", Allowance.of())[0]
    assert row["time"] == duration(verdict.seconds, 3)


def test_every_line_of_every_file_is_read():
    facts = read_claims()
    assert len(facts) == sum(len(read_claims(source)) for source in SOURCES)
    assert {fact.file for fact in facts} >= {"state_counts.tsv", "checkerboards.tsv", "layer_sizes.tsv"}
    assert all(fact.value and fact.board for fact in facts)
    assert len({(*fact.key, fact.value) for fact in facts}) == len(facts)
    assert {fact.quantity.quantity for fact in facts} >= questions.WAYS.keys()


@pytest.mark.parametrize(
    ("published", "computed", "same"),
    [
        ("57", 57, True), ("57", 58, False), ("0.08", Fraction(829, 10000), True),
        ("0.08", Fraction(9, 100), False), ("1.17e13", 2 * 5_850_000_000_000, True),
        ("about 5470", Fraction("5468.49"), True), ("about 5470", 5460, False),
        ("5470", Fraction("5468.49"), False), ("at least 256", 256, True),
        ("at least 0.99954025", Fraction("0.999540254"), True), ("3.71e15", 4 * 10**15, False),
        ("yes", "yes", True), ("no", "yes", False),
    ],
)  # fmt: skip
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
        quantity, relation = ("bound", "at least") if dtype == "uint32" else ("win", "about")
        fact = made_up(
            f"{quantity}_within_limits", published, board="2x3", goal="32", limits=limits, value_type=dtype,
            relation=relation,
        )  # fmt: skip
        verdicts[dtype, published] = judge(fact, 10.0)
    found = [(v.verdict, abs(float(v.computed) - value) < 1e-6) for v in verdicts.values()]
    assert [verdict for verdict, _ in found] == [
        "agrees", "improves", "differs", "agrees", "within rounding", "differs",
    ]  # fmt: skip
    assert all(near for _, near in found)
    assert judge(fact, 1e-9).verdict == "over budget"
