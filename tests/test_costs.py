"""What a query costs: sizes that are estimated, and rates of machines."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import exp, inf, log, sqrt
from pathlib import Path
from statistics import median

import pytest

from replay import START, amount, plan, recorded
from tilebase import Game, count, evaluate, formation, solve, thin, verify_table
from tilebase._kernels import forward
from tilebase.cli import main
from tilebase.costs import estimate, rates, reachable
from tilebase.costs.passes import opened_afterstates, search_seconds
from tilebase.costs.reachable import counting, solving
from tilebase.costs.rows import Machine
from tilebase.costs.shares import COUNTED, FITTED, MASKED, counted, fitted, layers_of, measured, share_of
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.errors import ResourceError
from tilebase.game.symmetry import symmetries
from tilebase.objectives.numbers import byte_text, enough_text
from tilebase.objectives.objective import parse_objectives
from tilebase.questions.fitting import fit_named
from tilebase.runtime import system
from tilebase.runtime.resources import OVERHEAD, Allowance
from tilebase.sparse.sizes import PAGE_BYTES, SMALL_BITS, least_windows
from tilebase.sparse.windows import Windows
from tilebase.tables.pruning import prune

ONE_THREAD = Allowance(memory=1 << 30, threads=1)
TWO = Allowance(memory=8 << 30, threads=2)
LIMITED = {
    # states and afterstates as counted
    Game("3x3", 64, walls=[4]): (145_312, 0.496),
    Game("3x3", 256, limits="128,64,64/64,32,32/32,16,16"): (7_127_153, 0.511),
    Game("2x4", 256, limits="16,16,8,8/16,8,8,4"): (69_016, 0.434),
    Game("3x4", 64, limits="32,32,16,16/16,16,8,8/8,8,4,4"): (15_805_713, 0.286),
    Game("3x4", 64, limits="32,32,32,16/32,16,16,16/8,8,8,8"): (60_847_345, 0.345),
    Game("3x4", 64, walls=[0, 5]): (33_398_976, 0.513),
    Game("3x3", 64, spawn=0): (258_270, 0.775),
    Game("3x4", 32, spawn=0): (7_299_231, 0.556),
    Game("3x3", 128, pattern="lemma1"): (17_239_928, 0.553),
}


def boards_of(game: Game) -> float:
    """Boards up to symmetry."""
    return sum(boards_by_sum(game).values()) / len(symmetries(game))


def test_counted_games_are_those_that_are_counted() -> None:
    for shape, goal in (("2x3", 32), ("2x4", 32), ("3x3", 16), ("2x2x2", 64)):
        game = Game(shape, goal)
        result, share = count(game), share_of(game)
        assert share.spread == COUNTED
        assert result.total("states") == round(share.states * boards_of(game))
        assert result.afterstates.sum() == round(share.afterstates * boards_of(game))


def test_a_plan_says_a_published_total() -> None:
    """Kaneko and Yamashita, arXiv:2510.04580; the fit to other games gave 1.3 trillion."""
    game = Game("3x4")
    assert round(reachable.counting(game, TWO).positions) == 1_152_817_492_752
    assert round(share_of(game).afterstates * boards_of(game)) == 739_648_886_170


def test_expected_errors_of_fitted_games() -> None:
    errors = []
    for (shape, goal), line in counted().items():
        if goal is not None and goal > 8 and shape != (2, 2):
            found = fitted(shape, [goal.bit_length() - 2] * Game(shape, goal).cells)
            errors.append(abs(log(found.states / line.states)))
            assert exp(abs(log(found.afterstates / found.states / (line.afterstates / line.states)))) < 1.2
    assert len(errors) > 30
    assert exp(max(errors)) < 1.7 < FITTED
    assert exp(sqrt(sum(error**2 for error in errors) / len(errors))) < 1.25


@pytest.mark.parametrize("game", LIMITED, ids=str)
def test_shares_of_games_with_limits_walls_and_one_tile(game: Game) -> None:
    states, ratio = LIMITED[game]
    found = share_of(game)
    assert 1 / FITTED < found.states * boards_of(game) / states < FITTED
    assert 1 / 1.5 < found.afterstates / found.states / ratio < 1.5


def test_shares_of_games_far_from_those_counted() -> None:
    games = [Game(shape, goal) for shape, goal in (("1x4", 8), ("4x4", 2048), ("3x3x3", 8), ("5x5", 8))]
    for game in [*games, Game("1x1", start="empty", limits=4), formation("3x405").game(8192)]:
        found = share_of(game)
        assert 0 < found.afterstates <= found.states <= 1
    for start in ("0,8,0/2,4,#", "after 0,8,0/2,4,#"):  # whose walls no counted board has
        assert share_of(Game("2x3", 16, walls=[5], start=start)).spread != COUNTED
    assert share_of(Game("2x3", 16, start="0,8,0/2,4,2")).spread == COUNTED


def test_tables_of_formations_are_known() -> None:
    game = formation("44").game(64)
    assert solve(game).positions == round(layers_of(game).afterstates.sum()) == measured()["44", 64].positions
    assert share_of(game).spread == COUNTED
    assert share_of(formation("442").game(1024)).spread == FITTED
    own = Game("3x3", 16, start="after 2,0,0/0,0,x/0,x,x", masks=".../..x/.xx", horizon=30)
    assert share_of(own).spread == MASKED


def test_what_counting_needs_at_least_is_what_the_pass_asks_for() -> None:
    for ranks in (SMALL_BITS, SMALL_BITS + 1, 10**9, 10**11):
        asked = 32 * Windows(ranks).block_words + 4 * Windows(ranks).least_arena
        assert least_windows(ranks, 3) == (asked if ranks > SMALL_BITS else 0)
    assert PAGE_BYTES == 4 * forward.PAGE
    assert counting(Game("3x3", 1024), TWO).memory == OVERHEAD
    assert 1.17e9 < counting(Game("4x4", 32), TWO).peak < 1.25e9, "as measured: 1.17 and 1.2 GB"
    assert 1.5e9 < counting(Game("4x4", 256), TWO).memory < 2.5e9
    with pytest.raises(ResourceError, match=r"it needs 1\.82 GB of memory, and 1\.07 GB may be used"):
        count(Game("4x4", 256), memory="1GiB", threads=2)


def test_solving_needs_at_least_what_counting_needs() -> None:
    game = formation("442").game(1024)
    least = counting(game, ONE_THREAD).memory
    assert solving(game, parse_objectives("win"), ONE_THREAD, table=False).memory == least
    assert fit_named("442-1024").least.memory == least


@pytest.mark.parametrize("options", ["", "--down-to 200", "--down-to 200 --space all"])
def test_a_plan_says_what_solve_expects(options, folder, printed, monkeypatch) -> None:
    command = ["solve", "4x4", "32", "--memory", "827MiB", "--threads", "2", *options.split()]
    expected = list[estimate.Estimate]()

    def check(game: Game, takes: Callable[[Game], estimate.Estimate], *_: object) -> None:
        expected.append(takes(game))
        raise ResourceError("asked")

    monkeypatch.setattr(estimate, "check", check)
    assert main([*command, "-q"]) == 1
    row, found = json.loads(printed("plan", *command, "-f", "json"))[0], expected[0]
    assert estimate.duration(found.seconds, 3 if found.spread == 1 else 2) in row["time"]
    assert enough_text(max(found.memory, found.peak)) in row["memory"]
    assert byte_text(int(found.disk)) in row["disk"]
    assert bool(row["reason"]) == (found.memory > 827 << 20)


@pytest.mark.parametrize(
    ("command", "kept", "peak"),  # bytes that a run with -o left, and had at its peak, on 2026-11-28
    [
        ("--formation 442 128", 91_050_444, 103_518_965),
        ("--formation 442 256", 208_419_730, 232_634_291),
        ("3x3 512", 51_216_608, 58_145_341),
    ],
)
def test_disk_is_what_runs_took(command, kept, peak, folder, printed) -> None:
    """The afterstates that were counted are deleted when a table is complete: they make the peak."""
    game = formation("442").game(int(command.split()[-1])) if "442" in command else Game("3x3", 512)
    found = solving(game, parse_objectives("win"), TWO, table=True)
    assert kept < 0.99 * peak < found.disk < 1.15 * peak
    row = json.loads(printed("plan", "solve", *command.split(), "-o", str(folder / "table"), "-f", "json"))[0]
    assert row["disk"] == byte_text(int(found.disk))
    if "442" in command:
        disks = {
            one["formation"]: one["disk"]
            for one in json.loads(printed("plan", "formations", command.split()[-1], "-f", "json"))
        }
        assert disks["442"] == round(found.disk)


def test_a_plan_of_a_count_names_the_recorded_one(printed) -> None:
    cited = "states up to symmetry, 140042875418: tilebase cite new-3x4-to-2048-states-up-to-symmetry\n"
    assert printed("plan count 3x4 2048").endswith(f"\n\n{cited}")
    assert "cite" not in printed("plan count 3x4 2048 --up-to 60") + printed("plan count 3x4 512")


def test_more_cores_are_a_division(printed) -> None:
    row, _ = json.loads(printed("plan count 4x4 64 --threads 16 -f json"))
    many = counting(Game("4x4", 64), Machine(memory=8 << 30, threads=16)).seconds
    assert row["on"] == "16 such cores"
    assert estimate.duration(many) in row["time"]
    assert counting(Game("4x4", 64), ONE_THREAD).seconds / many == pytest.approx(9.14, rel=0.02)


def test_searches_open_about_as_many_afterstates_as_measured() -> None:
    """docs/performance.md: from the empty board."""
    measured = {
        ("2x4", 32): 6_798, ("2x2x2", 32): 1_297, ("3x3", 64): 94_195, ("2x5", 64): 613_245,
        ("2x6", 64): 9_211_872, ("3x4", 64): 8_513_955, ("3x4", 128): 110_354_395, ("2x7", 64): 99_751_051,
    }  # fmt: skip
    for (shape, goal), opened in measured.items():
        assert 1 / 2.5 < opened_afterstates(Game(shape, goal, start="empty")) / opened < 2.5, (shape, goal)
    assert search_seconds(Game("4x4", 128), TWO) < search_seconds(Game("4x4", 256), TWO) / 8


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, and a process that knows no factor."""
    monkeypatch.setenv("TILEBASE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(rates, "FACTORS", {})
    monkeypatch.setattr(rates, "ASSUMED", set())
    return tmp_path


def factor(engine: str = "count") -> float:
    """The factor of this machine, as a new process reads it."""
    rates.FACTORS.clear()
    rates.ASSUMED.clear()
    return float(rates.seconds(engine, 1)) / rates.RATES[engine]


def test_the_median_of_the_last_runs_is_the_factor(kept: Path) -> None:
    work = 10 / rates.RATES["count"]
    for spent in (20.0, 30.0, 25.0):
        rates.remember("count", 10 * work, 10 * spent)
    assert factor() == pytest.approx(2.5)
    assert not rates.ASSUMED
    assert factor("evaluate") == 1.0, "as fast as solve, of which there is no run"
    for _ in range(rates.KEPT):
        rates.remember("count", 20 * work, 100.0)
    assert factor() == pytest.approx(0.5), "older runs are dropped"
    rates.remember("count", work / 100, 0.9 * rates.LEAST_SECONDS)
    rates.remember("count", work / 1e9, 100.0)
    assert factor() == pytest.approx(0.5), "short runs and odd ones do not count"
    (file,) = kept.glob("speeds-*.json")
    for damaged in (b"", b"[1]", b'{"count": ["fast"]}', b'{"count": [1e9]}', b"\xff", b"[" * 10_000):
        file.write_bytes(damaged)
        assert factor() == 1.0


def test_a_plan_says_that_no_run_is_known(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert factor() == 1.0
    assert "no run of 60 seconds or more to count is known here" in rates.doubts()[-1]
    monkeypatch.setattr(rates, "is_first", rates.is_first.__wrapped__)
    assert "compiles kernels" in rates.doubts()[0]
    (kept / "boards").mkdir()
    (kept / "boards" / "a.nbc").touch()
    assert len(rates.doubts()) == 1
    monkeypatch.setattr(system, "load", lambda: 1e3)
    assert "busy (load 1000.0" in rates.doubts()[0]
    monkeypatch.setattr(rates, "_file", lambda: None)
    rates.remember("count", 1e9, 100.0)
    assert not list(kept.glob("speeds-*"))
    assert factor() == 1.0


def test_runs_tell_their_work(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(rates, "MOST", inf)
    monkeypatch.setattr(rates, "COMPILING", inf)
    count(Game("3x3", 16))
    solve(Game("3x3", 16))
    solve(Game("2x2", 16), space="all")
    assert rates._read().keys() == {"count", "solve", "pass"}


@pytest.mark.parametrize(
    ("wall", "compiling", "expected"), [(10.0, 0.0, 2.0), (1e4, 5.0, 2.0), (1e4, 50.0, 1.0)]
)
def test_a_busy_machine_teaches_the_same_rate(wall, compiling, expected, kept, monkeypatch) -> None:
    """A run of 100 CPU seconds that waits for others is remembered alike; one that compiled is not."""
    at = {"cpu": 0.0, "wall": 0.0, "working": 0.0}
    monkeypatch.setattr(time, "process_time", lambda: at["cpu"])
    monkeypatch.setattr(time, "perf_counter", lambda: at["wall"])
    monkeypatch.setattr(rates, "working_time", lambda: at["working"])
    monkeypatch.setattr(system, "load", lambda: wall)
    with rates.remembering() as done:
        at |= {"cpu": 100.0, "wall": wall, "working": wall - compiling}
        done["count"] = 50.0 / rates.RATES["count"]
    assert factor() == pytest.approx(expected), "and the load is not counted either"


def test_factors_of_other_runs_predict_a_run() -> None:
    """Leave one out: what each recorded run took, by the plan and the median factor of all others."""
    factors: dict[str, list[float]] = {}
    for row, took, is_cpu in recorded():
        command = shlex.split(row["command"])[1]
        if is_cpu and command in ("count", "solve"):
            engine = command + " all" * ("--space all" in row["command"])
            expected = plan(row["command"].replace("-o TABLE", "-o NEW"), 1)
            assert expected is not None
            factors.setdefault(engine, []).append(took / (amount(expected["time"]) + START))
    ratios = [
        median(known[:i] + known[i + 1 :]) / known[i] for known in factors.values() for i in range(len(known))
    ]
    assert len(ratios) > 25
    assert median(max(one, 1 / one) for one in ratios) < 1.25


@pytest.mark.parametrize(
    "command",
    [
        "evaluate TABLE random",
        "thin TABLE --visited 1e-3 -o THIN",
        "thin TABLE --above 0.5 -o THIN",
        "verify TABLE --all",
    ],
)
def test_a_plan_is_printed_and_nothing_is_begun(command, folder, printed) -> None:
    if "TABLE" in command:
        solve(Game("2x2", 32), table="TABLE")
    before = sorted(folder.rglob("*"))
    said = printed(f"plan {command}")
    assert "time" in said
    assert "memory" in said
    assert sorted(folder.rglob("*")) == before


def test_what_cannot_end_on_a_table_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    solve(Game("2x2", 32), table="TABLE")
    monkeypatch.setattr(estimate, "WEEK", 1e-9)
    calls: tuple[Callable[..., object], ...] = (
        partial(evaluate, "TABLE", "random"),
        partial(evaluate, "TABLE", lambda board: next(iter(board.slides()))),
        partial(thin, "TABLE", "THIN", above=0.1),
        partial(prune, "TABLE", "PRUNED", above=0.1),
        partial(verify_table, "TABLE", sample=None),
    )
    for call in calls:
        with pytest.raises(ResourceError, match=r"more than a week; .* --anyway"):
            call()
        assert call(anyway=True)


BOARD = "2,4,8,16/0,2,4,8/0,0,2,4/0,0,0,2"
INSTEAD = [
    ("solve 4x4 2048", ["cite", "solve", "force", "plan"]),
    ("solve 4x4 2048 --spawn 0 --rules 'walls = [0]'", ["cite", "solve", "force"]),
    ("solve 4x4 2048 --objective fewest", ["no play wins in fewer than 519 slides", "cite"]),
    (f"solve 4x4 2048 --start {BOARD} --objective score", ["cite", "solve"]),
    ("solve 4x4 2048 --start empty --objective moves:float32@0.9", ["cite", "solve"]),
    (f"solve 4x4 2048 --start {BOARD} --rules horizon=1052", ["cite", "solve", "force"]),
    (f"solve 4x4 2048 --start {BOARD}", ["cite", "solve", "force", "plan"]),
    ("solve 8192 --formation 4442", ["force"]),
    ("solve 4x4 256 --space all", ["cite", "solve", "force", "plan"]),
    ("count 4x4 2048", ["cite", "rank", "count"]),
]


@pytest.mark.parametrize(("refused", "named"), INSTEAD, ids=[command for command, _ in INSTEAD])
def test_a_refusal_names_what_can_be_asked(refused, named, capsys, folder):
    """Each command that it names is accepted: it gives a result, and one that takes long at least a plan."""
    assert main([*shlex.split(refused), "-q"]) == 1
    sentence, *notes = capsys.readouterr().err.splitlines()
    assert "anyway" in sentence
    commands = [note.partition(": tilebase ")[2] for note in notes]
    assert [text.partition(" ")[0] or notes[0].strip().partition(" (")[0] for text in commands] == named
    for text in filter(None, commands):
        board = BOARD + "/0,0,0,0" * text.startswith("solve 5x4")
        words = shlex.split(text.replace("BOARD", board).replace("SUM", "56").replace("10min", "1"))
        long = words[0] == "solve" or "--up-to" in words
        status = main(["plan", *words] if long else words)
        printed = capsys.readouterr().out
        assert status == 0 or "undecided" in printed, words
        assert not long or "refuses" not in printed, words


def test_boards_are_found_in_bits_where_that_is_quicker() -> None:
    game = Game("4x4", 512, limits="256,128,16,8/64,32,32,8/8,8,8,8/8,8,8,8", pattern="lemma1")
    lower, machine = parse_objectives("lower:uint32"), Allowance(memory=8 << 30, threads=2)
    found, table = (solving(game, lower, machine, table=kept) for kept in (False, True))
    one_by_one = solving(game, lower, machine, table=None)
    assert (found.marked, table.marked, one_by_one.marked) == (True, False, False)
    assert one_by_one.seconds - found.seconds > 0.6 * counting(game, machine).seconds
    # Pairs are entered in bits again, so that few are better.
    little = replace(machine, disk=1_500_000_000)
    apart = [solving(game, lower, little, table=table).apart for table in (None, False)]
    assert 0 < apart[0] < apart[1]
    symmetric = game.changed(limits="256,128,16,8/128,32,8,8/16,8,8,8/8,8,8,8", pattern=None)
    for other in (symmetric, game.changed(horizon=500), Game("3x3", 64, limits=32)):
        assert not solving(other, lower, machine, table=False).marked
    assert not solving(game, lower, replace(machine, memory=1 << 30), table=False).marked
