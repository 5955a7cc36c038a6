"""Proved bounds, patterns and limits: statements, checks, searches, plans, and their commands."""

from __future__ import annotations

import itertools
import json
import math
import weakref
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

import cached_oracle as oracle
from batching import BATCHED, noting_windows
from tilebase import force, prove, solve
from tilebase.cli import main
from tilebase.costs import passes as boards
from tilebase.costs import rows
from tilebase.costs.passes import passing, planned_index
from tilebase.dense.backends.bits import BitLayer
from tilebase.dense.index import PerfectIndex
from tilebase.dense.layers import DenseLayer
from tilebase.dense.plan import Plan
from tilebase.errors import ResourceError, UsageError, WrongGameError
from tilebase.game.game import Game
from tilebase.objectives.numbers import byte_text, enough_text
from tilebase.objectives.objective import Objective, parse_objectives
from tilebase.questions import lemma
from tilebase.questions import limits as limits_module
from tilebase.questions.lemma import check_pattern
from tilebase.questions.limits import _Bench, least_limits, search_limits
from tilebase.runtime.measured import duration
from tilebase.runtime.resources import OVERHEAD, Allowance

GAME = Game("2x3", 32, limits="16,16,8/16,8,8", start="empty")


@pytest.mark.parametrize(
    ("dtype", "one", "near"),
    [
        pytest.param("uint16", 1 << 16, 2e-3, marks=pytest.mark.all),
        ("uint32", 1 << 32, 1e-7),
        ("uint64", 1 << 52, 1e-13),
    ],
)
def test_bounds_hold_and_are_near(dtype, one, near):
    """Both spaces prove the same integers, and what rounding takes is at most what is said."""
    for game in (GAME, Game("2x2", 32), Game("2x3", 64, limits="32,16,4/8,8,4", pattern="lemma1")):
        exact = oracle.values(game).start
        low, high = (prove(game, dtype=dtype, direction=direction) for direction in ("lower", "upper"))
        assert exact - low.loss <= low.bound <= exact <= high.bound <= exact + high.loss
        assert high.bound - low.bound < near
        assert float(low.loss) == low.as_dict()["rounding_loss_at_most"]
        for found in (low, high):
            for space in ("all", "reachable"):
                again = prove(game, dtype=dtype, space=space, direction=found.direction)
                assert (again.value, again.space, again.one) == (found.value, space, one)


@pytest.mark.all  # no other test has these types in this space
def test_an_upper_bound_with_a_discount_near_1_is_one():
    """A uint16 has no room for what is left of a win: it counts as a whole one."""
    game = Game("2x2", 16, start="0,2/4,8")
    objective = Objective("upper", "uint16", discount=Fraction(999_999, 1_000_000))
    least = solve(game, Objective("lower", "uint32", discount=objective.discount)).value
    for space in ("all", "reachable"):
        assert solve(game, objective, space=space).value.bound >= least.bound


def test_a_precision_that_cannot_be():
    with pytest.raises(UsageError, match=r"uint16 can lose up to .* choose a larger type"):
        prove(GAME, dtype="uint16", precision=1e-6)
    for precision in (math.nan, math.inf, 0.0, -1.0):
        with pytest.raises(UsageError, match="the precision must be above 0"):
            prove(GAME, precision=precision)


def test_a_statement_names_all_that_it_rests_on():
    game = Game("2x3", 64, limits="32,16,8/8,8,4", start="empty", pattern="lemma1", spawn="1/5")
    text = prove(game, dtype="uint32").statement
    for part in (
        "2x3", "from the empty board", "2 with probability 4/5 and 4 with probability 1/5", "64",
        "lemma1", "32,16,8/8,8,4", "/ 2^32", "at least", "rounded down",
    ):  # fmt: skip
        assert part in text
    walled = Game("2x3", 16, walls=[1, 4], limits=8)
    for part in ("walls on the cells 1, 4", "within the limits 8"):
        assert part in prove(walled).statement
    assert "no strategy makes" in prove(game, direction="upper").statement


def test_the_published_bound_that_is_small(tmp_path, capsys):
    """The second line of the appendix with tiles halved: the record says what was asked and found."""
    limits = "64,32,8,8/16,16,8,8/8,8,8,8"
    arguments = ["solve", "3x4", "128", "--limits", limits, "--pattern", "lemma1", "--start", "empty"]
    record = tmp_path / "bound.json"
    assert main([*arguments, "--objective", "lower:uint32", "-q", "--record", str(record)]) == 0
    document = json.loads(record.read_text())
    (found,) = document["bounds"]
    shown = f"{found['statement']} (tilebase {found['program']})"
    assert shown == capsys.readouterr().out.splitlines()[-2]
    assert found["value"] / found["one"] == pytest.approx(float(found["decimal"]), abs=1e-12)
    assert (found["rounding"], found["type"], found["space"]) == ("down", "uint32", "all")
    exact = float(solve(Game.from_identity(found["game"])).value)
    assert exact - 1e-6 < found["value"] / found["one"] <= exact
    assert sum(layer["boards"] for layer in document["layers"]) == found["positions"]


def test_what_does_not_fit_is_refused_with_the_estimate(capsys, printed, monkeypatch):
    limits = "256,128,64,64/64,64,64,64/64,64,64,64"
    line = ["3x4", "512", "--limits", limits, "--pattern", "lemma1", "--start", "empty"]
    line += ["--objective", "lower:uint32"]
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1 << 30))
    for memory, words in (
        ("500MiB", "of memory, even in batches, and 524 MB"),
        ("700MiB", "GB of disk, and "),
    ):
        assert main(["solve", *line, "--memory", memory, "-q"]) == 1
        assert words in capsys.readouterr().err
    assert "this machine" in printed("plan", *line)


@pytest.mark.parametrize("objective", ["lower:uint32", "win", "guaranteed"])
def test_an_estimate_and_a_pass_agree_on_what_fits_into_memory(objective):
    """Four layers, three, or batches; and a row of the plan is the estimate."""
    (one,) = parse_objectives(objective)
    index = planned_index(BATCHED)
    ample = Plan.of(index, one, Allowance(memory=1 << 40, threads=2))
    lean = Plan.of(index, one, Allowance(memory=ample.whole_bytes - 1, threads=2))
    sizes = (ample.whole_bytes, ample.whole_bytes - 1, lean.whole_bytes, lean.whole_bytes - 1)
    for memory in sizes[: 3 if one.is_boolean else 4]:  # bytes do not fit where three layers of bits do not
        allowed = Allowance(memory=memory, threads=2)
        plan, found = Plan.of(index, one, allowed), passing(BATCHED, [one], allowed)
        assert found.disk == plan.disk_bytes
        assert (found.disk > 0) == (found.moved > 0) == (memory < lean.whole_bytes)
        assert (found.memory, found.peak) == (0, min(plan.whole_bytes, memory))
        row = rows.solving(BATCHED, [one], "all", allowed)[0]
        moved = byte_text(int(found.moved)) if found.moved else ""
        assert (row["disk"], row["moved"]) == (byte_text(int(found.disk)), moved)
        assert row["time"] == duration(found.seconds, 3)
        least, _ = Plan.least(index, one, allowed)
        assert row["memory"].startswith(f"at least {enough_text(least)}")
        assert Plan.of(index, one, replace(allowed, memory=least)).memory == least  # enough


@pytest.mark.parametrize("text", ["win", "win:float16", "lower:uint32", "guaranteed"])
def test_sizes_alone_say_about_what_a_plan_says(text):
    (one,) = parse_objectives(text)
    index = planned_index(BATCHED)
    for memory in (1 << 40, OVERHEAD + 3 * int(one.value_bytes * max(index.sizes().values())), OVERHEAD):
        allowed = Allowance(memory=memory, threads=1)
        with suppress(ResourceError):  # the tables do not fit
            plan = Plan.outline(index, one, allowed)
            found = Plan.by_size(index.sizes(won=True), one, allowed)
            assert (plan.boards, plan.as_bits) == (found.boards, found.as_bits)
            assert found.layer_bytes == pytest.approx(plan.layer_bytes, rel=0.2)


def test_a_slow_machine_does_not_change_what_fits(monkeypatch):
    """Estimates leave the tables out where a pass takes more than a week, but a plan has them already."""
    bits = parse_objectives("guaranteed")
    little = Allowance(
        memory=Plan.outline(planned_index(BATCHED), bits[0], Allowance.of()).table_bytes, threads=2
    )
    found = []
    for most in (boards.WEEK, 0.0):
        monkeypatch.setattr(boards, "WEEK", most)
        found.append(rows.solving(BATCHED, bits, "all", little)[0])
    assert found[0] == found[1]
    assert found[0]["time"] == "does not fit"


@cache
def forced_slides(game: Game, state: tuple[int, ...], most: int) -> int | None:
    """The slides within which the goal can be forced, by bare recursion; None if more than `most`."""
    if most == 0:
        return None
    best = None
    for after in game.slides(state).values():
        if game.wins(after):
            return 1
        worst = 0
        for follower, _ in game.spawns(after):
            needed = forced_slides(game, follower, (most if best is None else best - 1) - 1)
            if needed is None:
                break
            worst = max(worst, needed)
        else:
            best = worst + 1
    return best


def test_lemma_1_on_small_boards_against_bare_recursion():
    found = check_pattern(Game("2x3", 64, pattern="lemma1"))
    assert found.holds
    assert found.fillings == 6
    game = Game("2x3", 64)
    needed = [forced_slides(game, (5, 4, e, 3, 2, 2), 6) for e in range(6)]
    assert max(needed) == found.slides == 4  # type: ignore[type-var]
    assert needed[found.board[2]] == 4


@pytest.mark.parametrize(("shape", "goal", "slides"), [("2x3", 128, 4), ("3x3", 64, 6), ("2x4", 64, 7)])
def test_lemma_1_holds(shape, goal, slides):
    found = check_pattern(Game(shape, goal, pattern="lemma1"))
    assert (found.holds, found.slides) == (True, slides)
    rows, columns = map(int, shape.split("x"))
    assert found.fillings == (goal.bit_length() - 1) ** (rows * columns - 5)


def test_fillings_leave_fixed_tiles_alone():
    game = Game("2x4", 64, pattern="lemma1", walls=[7])
    assert check_pattern(game, fillings="32,32,32,32/32,32,32,32").fillings == check_pattern(game).fillings


def test_a_pattern_that_is_not_won_is_refuted():
    """Lemma 1 fails for the goal 32, whose T/8 is a tile that is spawned."""
    game = Game("3x3", 32, pattern="16,8,*/4,2,2/*,*,*")
    found = check_pattern(game)
    assert not found.holds
    assert found.slides is None
    assert game.matches(found.board)
    assert oracle.values(Game("3x3", 32, start=Game("3x3", 32).format(found.board)), "guaranteed").start == 0


def test_fillings_that_are_not_won_are_counted():
    plain = Game("2x3", 32, walls=[2])
    game = Game("2x3", 32, pattern="*,8,_/*,*,*", walls=[2])
    needed = [forced_slides(plain, (a, 3, 0, *rest), 9) for a, *rest in itertools.product(range(5), repeat=4)]
    slides = [one for one in needed if one is not None]
    found = check_pattern(game)
    assert (found.fillings, found.not_won) == (5**4, 5**4 - len(slides))
    within = check_pattern(game, within=max(slides) - 1)
    assert within.not_won == found.not_won + slides.count(max(slides))


def test_wins_within_some_slides_need_fewer_boards():
    """The layers above are left out, and the answers are those of the whole pass."""
    game = Game("2x4", 64, pattern="lemma1")
    whole = check_pattern(game, fillings="32,16,4,4/8,4,4,4")
    enough = check_pattern(game, fillings="32,16,4,4/8,4,4,4", within=whole.slides)
    assert (enough.holds, enough.slides, enough.board) == (True, whole.slides, whole.board)
    assert enough.fillings == whole.fillings == 27
    assert enough.boards < whole.boards
    few = check_pattern(game, fillings="32,16,4,4/8,4,4,4", within=whole.slides - 1)
    assert (few.holds, few.slides, few.within) == (False, None, whole.slides - 1)
    assert few.boards < enough.boards
    lost = Game("3x3", 32, pattern="16,8,*/4,2,2/*,*,*")
    found = check_pattern(lost, within=20)
    assert not found.holds
    assert forced_slides(Game("3x3", 32, start=lost.format(found.board)), found.board, 6) is None


@pytest.mark.parametrize("windows", [False, True])
@pytest.mark.parametrize(
    ("shape", "goal", "pattern", "fillings", "within"),
    [
        ("2x4", 64, "lemma1", None, None),
        ("2x4", 64, "lemma1", "32,16,4,4/8,4,4,4", 7),
        ("2x4", 64, "pair", None, None),
        ("2x4", 64, "two", "32,16,8,4/32,16,8,4", 12),
        ("3x3", 32, "16,8,*/4,2,2/*,*,*", None, 20),
    ],
)
def test_bits_say_whether_all_fillings_win(shape, goal, pattern, fillings, within, windows, monkeypatch):
    """Where values do not fit into memory: in layers in memory, and in windows through files."""
    game = Game(shape, goal, pattern=pattern)
    asked: dict[str, Any] = {"fillings": fillings, "within": within}
    values = check_pattern(game, **asked)
    monkeypatch.setattr(lemma._Search, "_are_too_many", lambda *_: True)
    if windows:
        index = PerfectIndex(game.changed(pattern=None))
        plan = Plan.of_bits(index, index.sizes(won=True), Allowance(memory=0, threads=2))
        asked |= {"memory": plan.whole_bytes, "threads": 2}
    cuts = noting_windows(monkeypatch)
    found = check_pattern(game, **asked)
    assert bool(cuts) == windows
    assert (found.holds, found.fillings, found.boards) == (values.holds, values.fillings, values.boards)
    assert (found.slides, found.within) == (None, None if found.holds else within)
    assert found.not_won == values.not_won
    assert game.matches(found.board)
    if not found.holds:
        assert not force(game.changed(pattern=None, start=game.format(found.board))).forced


def test_a_check_goes_on_where_it_was_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr("tilebase.runtime.progress.OFTEN", 0.0)  # a report after each step
    game = Game("2x4", 64, pattern="lemma1")
    whole = check_pattern(game)

    def stop(done):
        if done.positions > whole.boards // 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_pattern(game, folder=tmp_path, progress=stop)
    counted = []
    again = check_pattern(game, folder=tmp_path, progress=lambda done: counted.append(done.positions))
    assert replace(again, seconds=whole.seconds) == whole
    assert 0 < counted[-1] < whole.boards * 0.6
    assert replace(check_pattern(game, folder=tmp_path), seconds=whole.seconds) == whole
    with pytest.raises(WrongGameError):
        check_pattern(Game("2x4", 128, pattern="lemma1"), folder=tmp_path)


def test_patterns_are_part_of_a_game_and_keep_their_symmetries():
    game = Game("2x2", 32, pattern=" 16 8 ; * , _ | *,16/0,8")
    assert game.pattern == "16,8/*,0|*,16/0,8"
    assert Game.from_identity(game.identity) == game != Game("2x2", 32)
    assert "pattern" not in Game("2x2", 32).identity
    assert game.matches((4, 3, 2, 0))
    assert not game.matches((4, 3, 2, 1))
    assert game.wins((1, 4, 0, 3))


def test_a_search_keeps_its_budget_and_climbs():
    game = Game("2x3", 64, pattern="lemma1", start="empty")
    steps = []
    found = search_limits(game, 30_000, step=lambda trial, _: steps.append(trial.value))
    assert found.finished
    assert all(trial.boards <= 30_000 for trial in found.path)
    values = [trial.value for trial in found.path]
    assert values == sorted(values) == steps
    assert found.best.value > 0 == found.path[0].value < found.path[1].value
    proved = prove(game.changed(limits=found.best.limits), dtype="uint32")
    assert float(proved.bound) == pytest.approx(float(found.best.value), abs=1e-5)


def test_limits_that_would_take_longer_than_the_time_are_left_out(monkeypatch):
    game = Game("3x3", 64, pattern="lemma1", start="empty")
    monkeypatch.setattr(limits_module, "pass_seconds", lambda boards, cores: 1e3 * boards / cores)
    found = search_limits(game, 200_000, seconds=60.0)
    assert [trial.limits for trial in found.path] == [least_limits(game)]
    assert not found.finished


def test_limits_whose_tables_do_not_fit_are_passed_over(monkeypatch):
    game = Game("2x3", 64, pattern="lemma1", start="empty")
    every = search_limits(game, 10_000)
    real = _Bench._value
    high = {trial.limits for trial in every.path[2:]}

    def value(bench, within):
        if within.limits in high:
            raise ResourceError("too large")
        return real(bench, within)

    monkeypatch.setattr(_Bench, "_value", value)
    found = search_limits(game, 10_000)
    assert found.path[:2] == every.path[:2]
    assert high.isdisjoint(trial.limits for trial in found.path)
    with pytest.raises(ResourceError):
        search_limits(game.changed(limits=list(every.path[2].limits)), 10_000)


def test_a_search_begins_where_the_goal_can_be_made():
    assert least_limits(Game("2x3", 16, walls=[0])) == (4, 8, 8, 4, 4, 4)
    assert least_limits(Game("2x3", 16, walls=[1])) == (4, 4, 4, 8, 8, 4)
    assert least_limits(Game("2x3", 16, start="2,2,0/8,8,0")) == (8, 8, 4, 8, 8, 4)
    assert least_limits(Game("1x3", 8, walls=[1])) == (4, 4, 4)


@pytest.mark.parametrize(
    ("shape", "pattern", "limits"),
    [
        ("2x4", None, "32,32,16,8/4,4,4,4"),
        ("3x3", "pair", "32,32,16/4,4,8/4,4,4"),
        ("2x2x2", None, "32,32/8,16/4,4/4,4"),
        ("2x3", "*,*,*/32,32,*", "4,4,8/32,32,16"),
    ],
)
def test_a_search_begins_with_a_ladder_to_the_goal(shape, pattern, limits):
    game = Game(shape, 64, start="empty", pattern=pattern)
    first = game.changed(limits=least_limits(game))
    assert first.limits_text == limits
    assert float(solve(first).value) > 0


def test_no_single_step_is_better_than_what_a_search_found():
    game = Game("2x3", 32, start="empty")
    found = search_limits(game, 3000)
    best = found.best
    for cell, factor in itertools.product(range(6), (2, 4)):
        limits = list(best.limits)
        limits[cell] *= factor
        if limits[cell] <= 16:
            other = game.changed(limits=tuple(limits))
            boards = math.prod(top + 1 for top in other.tops)
            assert boards > 3000 or float(solve(other).value) <= best.value + 1e-6
    assert least_limits(Game("2x3", 64, pattern="lemma1")) == (32, 16, 4, 8, 4, 4)


def test_a_start_board_breaks_symmetries_of_limits():
    """Mirrored limits are worth something else where the start is not its own mirror image."""
    game = Game("2x3", 16, start="2,4,0/0,0,0")
    one, other = (game.changed(limits=low) for low in ((8, 8, 4, 4, 4, 4), (4, 8, 8, 4, 4, 4)))
    assert solve(one).value != solve(other).value
    bench = _Bench(game, 2000, Allowance(memory=1 << 30, threads=1), math.inf)
    trials = [bench.trial(tuple(limited.limits or ())) for limited in (one, other)]
    assert [float(trial.value) for trial in trials if trial] == pytest.approx(
        [float(solve(limited).value) for limited in (one, other)], abs=1e-6
    )


@pytest.mark.usefixtures("folder")  # the proof is recorded
def test_a_search_takes_the_boards_that_its_time_allows_and_says_how_to_prove_the_bound(printed):
    found = json.loads(printed("limits 2x2 32 --budget 120s -q -f json"))  # a part of it is for compiling
    assert found["budget"] is None
    assert found["finished"]
    assert found["best"]["limits"] == "16"
    command = printed("limits 2x2 32 --budget 120s -q").splitlines()[-1].partition("tilebase ")[2]
    assert "proved lower bound" in printed(f"{command} -q")
    assert "@misc" in printed("cite bound.json")
    assert search_limits(Game("2x3", 64, limits=least_limits(Game("2x3", 64)))).most == 10**6


@pytest.mark.parametrize(
    ("objective", "row"),
    [("guaranteed", "Boolean"), ("lower:uint32", "uint32, float32"), ("win", "uint64, float64")],
)
def test_layers_in_memory_are_those_of_a_pass(objective, row, printed, monkeypatch):
    """The most bytes that layers of values have at the same time, while they are made."""
    game = Game("2x3", 32, start="empty")
    alive, held = weakref.WeakKeyDictionary(), []
    for kind in (DenseLayer, BitLayer):
        begin = kind.__init__

        def made(self, *arguments, begin=begin, **options):
            begin(self, *arguments, **options)
            alive[self] = self.map.size * (8 if isinstance(self, BitLayer) else self.values.itemsize)
            held.append(sum(alive.values()))

        monkeypatch.setattr(kind, "__init__", made)
    solve(game, objective, space="all", threads=1)
    said = json.loads(printed("rank 2x3 32 -f json"))["memory"][row]
    assert 0 < max(held) <= said <= 1.5 * max(held)
