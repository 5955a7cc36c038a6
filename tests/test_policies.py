"""Policies, games and thinning against plain Python over the same game."""

from __future__ import annotations

import json
import math
import random
import shutil
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import cached_oracle as oracle
from conformance import queries
from following import slides_of, visits
from strategies import SMALL_GAMES
from tilebase import Answer, Board, Objective, evaluate, open_table, thin, verify_table
from tilebase.errors import MissingBoardError, ResourceError, TilebaseError, UsageError, WrongGameError
from tilebase.game.game import Game
from tilebase.game.symmetry import canonical
from tilebase.objectives.values import Rounded, Unknown
from tilebase.policies import compare, judge, simulation
from tilebase.policies.distributions import distributions
from tilebase.sparse import flow

SMALL = Game("2x2", 32)
CONTINUED = Game("2x2")
WIDE = Game("2x3", 16)
ENDED = Game("2x3", 16, masks="..x/...|x../...", start="after x,0,0/0,2,0|0,0,x/0,2,4", horizon=22)
CELLS = Game("2x3", masks="..x/...", start="after 2,0,x/0,0,0", horizon=24, pattern="8,*,*/*,*,*|*,*,*/*,*,8")
SOME = [game for game in SMALL_GAMES if game.cells < 6 or game.masks] + [ENDED, CELLS]


# -- what policies are worth: built-in ones in tests/conformance ------------------------------------


def uniform(board: Board) -> dict[str, float]:
    slides = board.slides()
    return dict.fromkeys(slides, 1 / len(slides))


def first(board: Board) -> str:
    return next(iter(board.slides()))


def play(table, games: int, **options):
    """Random games in which a table plays."""
    return evaluate(table, table, games=games, **options)


def asked(game: Game) -> str:
    return "win,score,moves" if game.can_win else "score,moves"


@pytest.mark.parametrize(
    ("game", "objective", "discount"),
    [
        *product([SMALL, ENDED, CELLS, Game("1x4", 16, start="empty", goal_sum=18)], ["win", "score"], ["1"]),
        *product([SMALL, CONTINUED], ["score", "moves"], ["0.9", "1/3"]),
    ],
    ids=str,
)
def test_a_callable_is_worth_its_fractions(game, objective, discount, solved):
    found = evaluate(solved(game, objective, discount), uniform)
    exact = queries.policy_value(game, "random", Objective(objective, discount=Fraction(discount)))
    assert found.value == pytest.approx(float(exact), rel=1e-12)
    assert found.policy == "uniform"
    built_in = evaluate(solved(game, objective, discount), "random", threads=1)
    assert built_in.value == pytest.approx(found.value, rel=1e-12)
    assert (built_in.optimum, built_in.states) == (found.optimum, None)
    assert found.states


def test_slides_with_probability_0_are_not_followed(solved):
    found = evaluate(solved(SMALL), lambda board: dict.fromkeys(board.slides(), 0.0) | {first(board): 1.0})
    same = evaluate(solved(SMALL), first)
    assert (found.value, found.states) == (same.value, same.states)


@pytest.mark.parametrize("game", [*SOME, WIDE, Game("2x2x2", 8)], ids=str)
def test_optimal_play_regrets_nothing(game, solved):
    for label in asked(game).split(","):
        folder = solved(game, label)
        for policy in (folder, str(folder), open_table(folder))[: None if game == SMALL else 1]:
            found = evaluate(folder, policy, objective=label, threads=1)
            assert found.regret == pytest.approx(0, abs=1e-13 * max(1, found.optimum))


GUIDES = (
    ("win", "win:float32", "win:float16", "score", "score:float32", "moves")
    + ("longest", "survival", "guaranteed", "lower", "upper", "upper:uint32", "highest")
)  # fmt: skip


@pytest.mark.parametrize(
    ("game", "guide"),
    [
        *product([SMALL], GUIDES),
        *product([Game("2x2", 16, start="empty"), WIDE], ["win:float16", "score:float32"]),
    ],
    ids=str,
)
def test_the_policy_of_another_table(game, guide, solved):
    """Its best slides, ties shared evenly, as its probes tell them."""
    with open_table(solved(game, guide)) as other:
        label = other.manifest.labels[0]

        def told(board: Board) -> dict[str, float]:
            best = other.probe(board, label).best
            return dict.fromkeys(best, 1 / len(best))

        folder = solved(game, "win,score")
        for objective in ("win", "score"):
            fast = evaluate(folder, other, objective=objective)
            assert fast.value == pytest.approx(evaluate(folder, told, objective=objective).value, rel=1e-12)
            assert fast.regret >= -1e-12


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (lambda _: "sideways", "answers 'sideways' to .* where .* are allowed"),
        (lambda _: None, "answers None"),
        (lambda _: 3, "answers 3"),
        (lambda _: ["left"], "answers"),
        (lambda _: {}, "probabilities .* must sum to 1"),
        (lambda board: dict.fromkeys(board.slides(), 1), "must sum to 1"),
        (lambda board: {next(iter(board.slides())): 0.5}, "must sum to 1"),
        (lambda board: {next(iter(board.slides())): math.nan}, "nan.*must sum to 1"),
        (lambda board: {next(iter(board.slides())): "much"}, "are not numbers"),
        (lambda board: dict(zip(board.slides(), (2.0, -1.0, 0.0, 0.0), strict=False)), "may be negative"),
        ("x" * 5000, "there is no policy"),
        (5, "there is no policy"),
    ],
    ids=lambda value: str(value)[:20] if isinstance(value, str | int) else "callable",
)
def test_policies_that_are_none(policy, sentence, solved):
    with pytest.raises(UsageError, match=sentence):
        evaluate(solved(SMALL), policy)


def test_a_table_in_a_zip_file_is_not_evaluated(solved, tmp_path):
    archive = shutil.make_archive(str(tmp_path / "table"), "zip", solved(SMALL))
    with pytest.raises(TilebaseError):
        evaluate(archive, "random")


# -- games of a table ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "objective", "discount"),
    [
        *((game, "win" if game.can_win else "score", "1") for game in SOME),
        *product([CONTINUED], ["moves", "merges"], ["1"]),
        *product([SMALL], ["win", "score"], ["0.9"]),
        (SMALL, "loss", "1"),
        (WIDE, "win:float32", "1"),
        (ENDED, "moves", "0.9"),
    ],
    ids=str,
)
def test_games_of_a_table_agree(game, objective, discount, solved):
    found = play(solved(game, objective, discount), 20_000, seed=7)
    assert found.games == 20_000
    counted = objective.startswith("win") and discount == "1"
    expected = 20_000 * min(found.optimum, 1 - found.optimum)
    if counted:
        low, high = found.interval
        assert low <= found.value <= high
        assert low <= found.optimum <= high
    if counted and 0 < expected < 10:
        assert found.z is None
    else:
        assert found.z is not None
        assert abs(found.z) < 5
    if objective == "win" and discount == "1":
        assert found.value == found.wins / found.games


def test_the_same_seed_gives_the_same_games(solved):
    folder = solved(SMALL)
    with open_table(folder) as table:
        assert play(table, 1000, seed=3) == play(folder, 1000, seed=3)
    assert play(folder, 1000, seed=3) != play(folder, 1000, seed=4)


def test_games_under_other_objectives(solved):
    """Slides that can be forced are survived in every game.  Games pay a mean, which the table may have."""
    folder = solved(CONTINUED, "survival")
    with open_table(folder) as table:
        forced = int(float(table.value))
    assert forced == oracle.values(CONTINUED, "survival").start
    assert play(folder, 300).value >= forced
    every = solved(SMALL, "guaranteed,lower,survival,longest,highest,moves")
    for label, paid in zip(("guaranteed", "lower", "survival", "longest", "highest"),
                           ("win", "win", "moves", "moves", "score"), strict=True):  # fmt: skip
        found = play(every, 500, objective=label)
        assert (found.plays_by.name, found.objective.name, found.z) == (label, paid, None)
        assert math.isnan(found.regret) == (paid != "moves")
        assert found.interval is None or found.interval[0] <= found.value <= found.interval[1]
        assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["games"] == 500
    assert 0 < play(every, 500, objective="survival").regret < play(every, 500, objective="highest").value


def test_payoffs_that_are_all_equal(solved):
    """Their mean is rounded, and so is the table's value: the difference is no evidence."""
    found = play(solved(SMALL, "win", "0.7"), 100)
    assert simulation.standard_error(np.full(1000, found.optimum)) == 0
    assert replace(found, value=found.optimum * (1 + 2**-50), error=1e-18).z == 0
    assert replace(found, value=1.0, error=0.0).z is None


def test_rare_wins_have_an_interval_and_no_number_of_errors(solved):
    found = play(solved(SMALL), 100)
    for wins in (0, 1):
        rare = replace(found, wins=wins, value=wins / 100, start=Rounded(1e-6, "float64", 1e-18, 1))
        low, high = rare.interval
        assert rare.z is None
        assert (low == 0) == (wins == 0)
        assert low <= 1e-6 <= high
        assert json.loads(json.dumps(rare.as_dict()))["z"] is None
    assert replace(found, start=Rounded(0.0, "float64", 1e-320, 1), error=0.0, value=0.01).z is None


def test_games_make_each_of_the_best_slides_alike():
    """Of 30,000 games each of three best slides is made in 10,000, plus or minus five standard deviations."""
    best = flow.best_slides(np.array([[0.5], [1.0], [1.0 - 1e-16], [-np.inf], [1.0]]), 1e-12)
    assert best.ravel().tolist() == [False, True, True, False, True]
    assert flow.even(best).ravel().tolist() == [0, 1 / 3, 1 / 3, 0, 1 / 3]
    drawn = flow.drawn_slides(np.repeat(best, 30_000, axis=1), np.random.default_rng(1))
    answer = Answer(Board.parse(SMALL, "2,0/0,2"), "", "probability", Unknown(), best=("left", "up", "down"))
    rng = random.Random(1)
    one_by_one = [answer.draw(rng) for _ in range(30_000)]
    for found, slides in ((drawn.tolist(), {1, 2, 4}), (one_by_one, {"left", "up", "down"})):
        counts = Counter(found)
        assert counts.keys() == slides
        assert all(abs(count - 10_000) < 5 * math.sqrt(30_000 * 2 / 9) for count in counts.values())
    assert flow.drawn_slides(np.zeros((4, 2), dtype=bool), np.random.default_rng(1)).tolist() == [0, 0]


def test_certain_wins_and_games_that_do_not_fit_into_memory(solved):
    found = play(solved(Game("2x2", 8)), 100)
    assert (found.wins, found.z) == (100, 0)
    with pytest.raises(ResourceError, match="or fewer of them"):
        play(solved(SMALL), 10**14)


# -- thinning --------------------------------------------------------------------------------------


THINNED = [
    (SMALL, "win"),
    (CONTINUED, "score"),
    (WIDE, "win"),
    (Game("2x2", 16, start="empty"), "moves"),
    (Game("2x2", 16, spawn=0), "win"),  # sums of thirds are not exact, and three states are certain
    (Game("2x3", 8, unmergeable=[0, 5], start="empty"), "win"),
    (ENDED, "win"),
    (ENDED, "score"),
    (CELLS, "moves"),
]


@pytest.mark.parametrize(
    ("game", "objective", "above"),
    [(*one, above) for one in THINNED for above in (1.3e-4, 0.021)] + [(WIDE, "win", 0), (SMALL, "win", 1)],
    ids=str,
)
def test_thinned_tables(game, objective, above, solved, tmp_path):
    folder = solved(game, objective)
    best = slides_of(game, objective)
    visit = visits(game, best)
    kept = {state for state, p in visit.items() if p >= Fraction(above)}
    left = visits(game, lambda state: best(state) if state in kept else [])
    found = thin(folder, tmp_path / "thin", above=above)
    assert (found.states, found.visited) == (len(kept), len(visit))
    leaving = sum(p for state, p in left.items() if state not in kept)
    assert found.left_out == pytest.approx(float(leaving), abs=1e-12)
    if above == 0:
        assert found.left_out == 0
    made = (after for state in kept for after in game.slides(state).values() if not game.wins(after))
    stored = {canonical(game, after) for after in made}
    assert found.afterstates == len(stored)
    with open_table(folder) as whole, open_table(tmp_path / "thin") as part:
        assert found.before == len(oracle.values(game, objective).afterstates)
        assert part.manifest.thinned == found.as_dict()
        for state in kept:
            assert part.probe(Board(game, state)) == whole.probe(Board(game, state))
        for state in visit:
            afters = [canonical(game, after) for after in game.slides(state).values() if not game.wins(after)]
            if not all(after in stored for after in afters):
                with pytest.raises(MissingBoardError, match="or it was thinned out"):
                    part.probe(Board(game, state))
    assert verify_table(tmp_path / "thin", sample=None).wrong == ()


def test_the_same_thinning_again_changes_nothing(solved, tmp_path):
    folder = solved(SMALL, "win,score")
    first = thin(folder, tmp_path / "thin", above=0.01)
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "thin").rglob("*")}
    assert thin(folder, tmp_path / "thin", above=0.01) == first
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "thin").rglob("*")} == files
    for other in ({"above": 0.02}, {"above": 0.01, "objective": "score"}):
        with pytest.raises(WrongGameError, match="holds files"):
            thin(folder, tmp_path / "thin", **other)
    with pytest.raises(WrongGameError, match="holds files"):
        thin(solved(SMALL), tmp_path / "thin", above=0.01)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("policy", ["random", "greedy"])
def test_a_policy_is_worth_the_same_whatever_type_the_table_has(policy, dtype, solved):
    assert evaluate(solved(SMALL, f"win:{dtype}"), policy).value == evaluate(solved(SMALL), policy).value


# -- policies that reach many states --------------------------------------------------------------------


def corner(board):
    """The first of left, down, right, up that is allowed."""
    return next(way for way in ("left", "down", "right", "up") if way in board.slides())


@pytest.mark.parametrize(
    ("game", "objective", "discount"),
    [*product([ENDED, CELLS, WIDE], ["win", "score", "moves"], ["1"]), (WIDE, "moves", "9/10")],
    ids=str,
)
def test_games_have_the_exact_mean(game, objective, discount, solved):
    """Also to a horizon and with a discount."""
    table = solved(game, objective, discount)
    found, again = (evaluate(table, corner, games=1000) for _ in range(2))
    assert (found, found.games, found.states) == (again, 1000, None)
    assert abs(found.value - evaluate(table, corner).value) < 4.5 * found.error


def test_the_progress_of_a_function(solved, monkeypatch):
    monkeypatch.setattr("tilebase.runtime.progress.OFTEN", 0.0)
    seen = []
    assert evaluate(solved(Game("2x3", 32)), corner, progress=seen.append).judged.worst
    assert [one.fraction for one in seen] == sorted(one.fraction for one in seen)
    assert {one.step for one in seen} == {"judge", "done"}


def test_a_table_plays_for_the_objective_that_is_named(solved):
    """By its values of this objective if it has them, else by its first; every question follows this rule."""
    game = Game("2x3", 32)
    both, alone = solved(game, "win,score"), solved(game)
    score = float(oracle.values(game, "score").start)
    for named, by, value in (("score", "score", score), ("win", "win", None), (None, "win", None)):
        found = evaluate(both, both, objective=named, threads=1)
        judged = judge(both, both, objective=named, threads=1)
        ends = distributions(both, both, objective=named, threads=1)
        assert {one.plays_by.name for one in (found, judged, ends)} == {by}
        assert found.value == pytest.approx(judged.value, rel=1e-12)
        assert found.regret == pytest.approx(0, abs=1e-9)
        if value is not None:
            assert (found.value, ends["score"].mean) == pytest.approx((value, value), rel=1e-12)
            assert compare(both, {"mine": both}, objective=named).judged["mine"].regret < 1e-9
            assert play(both, 10, objective=named, threads=1).plays_by.name == by
        else:
            assert ends["score"].mean < score - 1
    other = evaluate(both, alone, objective="score", threads=1)
    means = distributions(both, alone, objective="score", threads=1)
    judged = judge(both, alone, objective="score", threads=1)
    assert {one.plays_by.name for one in (other, means, judged)} == {"win"}
    assert other.value == pytest.approx(means["score"].mean, rel=1e-12)
    assert other.value < score - 1
    with pytest.raises(UsageError, match="has no values of score"):
        distributions(alone, alone, objective="score", threads=1)
    with pytest.raises(UsageError, match="has no values of score"):
        distributions(alone, "random", objective="score", threads=1)
    with pytest.raises(UsageError, match="symmetry must be one of canonical, check, none, not 'all'"):
        distributions(alone, "random", symmetry="all", threads=1)


def test_a_table_without_the_goal_names_what_answers(solved):
    sentence = r"2x2 without a goal, not of 2x2, to 32: .* --distribution tile"
    with pytest.raises(UsageError, match=sentence):
        evaluate(solved(Game("2x2", 32)), solved(Game("2x2"), "score"), threads=1)
