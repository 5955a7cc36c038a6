"""Questions that cannot end, memory and its limits, progress, and what is noticed before the work begins."""

from __future__ import annotations

import itertools
import math
import re
import resource
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from stopping import raise_at
from tilebase import Game, Objective, check_pattern, count, evaluate, prove, solve, symbolic
from tilebase.cli import main
from tilebase.costs import estimate, reachable
from tilebase.costs import passes as boards
from tilebase.dense.index import PerfectIndex
from tilebase.dense.plan import Plan
from tilebase.errors import ResourceError, UsageError
from tilebase.questions import borders, limits
from tilebase.questions import force as forcing
from tilebase.questions.force import force_starts, largest_forced
from tilebase.runtime import progress, resources
from tilebase.runtime.progress import Pace, Progress
from tilebase.runtime.resources import Allowance
from tilebase.sparse import forward as engine
from tilebase.sparse import sizes
from tilebase.sparse.index import Index

WIN = [Objective("win")]
HERE = Allowance(memory=8 << 30, threads=2)

# -- questions that cannot end ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        "force 4x4 2048",
        "force 4x4 2048 --engine search -c proof.cert",
        "force diagrams 4x4 2048",
        "force starts 4x4 2048",
        "force largest 4x4",
        "limits 4x4 16 --start empty --minimal",
    ],
)
def test_what_may_never_end_begins_only_with_a_time_limit(command, folder, refused, monkeypatch):
    monkeypatch.setattr(forcing, "TRIED", 0.0)
    refused(command.split(), 1, "cannot be estimated: give a limit, such as --budget 10min")
    assert not (folder / "proof.cert").exists()
    assert not list((folder / "runs").glob("*"))
    assert main([*command.split(), "--budget", "0.1s", "-q"]) == 1


@pytest.mark.parametrize("ask", [count, solve, partial(solve, space="all"), prove])
def test_anyway_begins_it(ask, tmp_path, monkeypatch):
    monkeypatch.setattr(estimate, "WEEK", 0.0)
    game = Game("2x2", 32)
    with pytest.raises(ResourceError, match="anyway=True"):
        ask(game, folder=tmp_path)
    assert ask(game, folder=tmp_path, anyway=True).game == game
    monkeypatch.undo()
    assert ask(game).game == game


def test_what_was_counted_is_not_refused(tmp_path, monkeypatch):
    game = Game("2x2", 32)
    count(game, folder=tmp_path / "counted", keep="afterstates")
    monkeypatch.setattr(estimate, "WEEK", 0.0)
    assert count(game, folder=tmp_path / "counted", keep="afterstates").total("live") == 57


def test_a_part_that_ends_is_not_refused(tmp_path):
    assert count(Game("4x4", 2048), up_to=12).sums.max() == 12


def test_too_little_disk(tmp_path, monkeypatch):
    class Full:
        free, total, used = 0, 0, 0

    monkeypatch.setattr("shutil.disk_usage", lambda _: Full)
    with pytest.raises(ResourceError, match=r"of disk: does not fit: .* and 0 B are free in "):
        solve(Game("4x4", 64), folder=tmp_path / "run", memory=1 << 40)
    assert count(Game("2x2", 32)).complete  # so little is not worth a refusal


@pytest.mark.parametrize(
    "game",
    [Game("2x4", 256), Game("2x2x3", 16), Game("3x3", 128, limits="64,64,32/64,32,32/32,16,16")],
    ids=str,
)
def test_estimates_hold_for_counts(game):
    found, counts = reachable.counting(game, HERE), count(game)
    assert found.positions / found.spread < counts.total("states") < found.positions * found.spread
    assert found.seconds < reachable.solving(game, WIN, HERE, table=False).seconds
    assert reachable.counting(game, HERE, up_to=40).bound < found.bound


def test_a_pass_over_all_boards_is_known_exactly():
    game = Game("3x4", 512, limits="256,128,16,16/64,64,32,16/16,16,16,16", pattern="lemma1")
    bound = [Objective("lower", "uint32")]
    found = boards.passing(game, bound, HERE)
    assert found.bound == 1_653_750_000
    assert found.seconds == pytest.approx(24.8, rel=0.01)  # of 47 CPU seconds
    assert found.disk == 0
    assert boards.passing(game, bound, replace(HERE, memory=1 << 29)).disk > 0
    assert found.sentence.startswith("solving all boards of 3x4, to 512")


def test_durations():
    seconds = (1.2, 90, 1700, 86400, 3.1e6, 1.1e9)
    words = ["a second", "90 seconds", "28 minutes", "24 hours", "36 days", "35 years"]
    assert [estimate.duration(one) for one in seconds] == words


def test_progress_begins_with_the_expected_time_and_ends_with_what_it_took(capsys, monkeypatch, folder):
    def told(*more: str) -> list[str]:
        assert main(["count", "2x2", "32", *more]) == 0
        return capsys.readouterr().err.splitlines()

    assert told() == []
    monkeypatch.setattr(estimate, "WORTH_TELLING", 0.0)
    monkeypatch.setattr("tilebase.cli.progress.LINE_SECONDS", 0)
    expected, kept, *lines, last = told()
    assert expected.startswith("expected: counting 2x2, to 32: about 75 states")
    assert kept.startswith("Ctrl-C stops it; the same command continues after")
    assert any("%" in line for line in lines)
    assert re.fullmatch(r"ended after 0:\d\d", last)
    assert told("-q") == []


def test_a_plan_says_in_short_what_does_not_fit_and_why_below(capsys, printed, monkeypatch):
    class Small:
        free, total, used = 2 * 10**9, 10**10, 8 * 10**9

    monkeypatch.setattr("shutil.disk_usage", lambda _: Small)
    words = ["3x5", "128", "--memory", "5GB", "--threads", "2"]
    table, _, reasons = printed("plan", *words).partition("\n\n")
    assert max(map(len, table.splitlines())) < 220
    here = ["this machine" in row for row in table.splitlines()[1:]]
    assert here == sorted(here, reverse=True), "the rows of this machine are the first"
    assert re.search(
        r"solve for win, no table +this machine, .* at least 22\.2 GB, too much +44\.5 GB, too much", table
    )
    wanted = (
        "it needs 22.2 GB of memory, and 5 GB may be used; it needs 44.5 GB of disk, and 2 GB are free in "
    )
    assert f"solve for win, no table, this machine, 2 threads: {wanted}" in reasons
    assert re.search(r"solve all boards for win +this machine, .* does not fit", table)
    assert "3x5, to 128 needs 26.7 GB of memory, even in batches" in reasons
    assert main(["solve", *words, "-q"]) == 1
    assert f"does not fit: {wanted}" in capsys.readouterr().err


def test_the_plan_of_too_many_boards_says_what_it_can(capsys):
    assert main(["plan", "4x4", "2048"]) == 0
    printed = capsys.readouterr()
    table, _, reasons = printed.out.partition("\n\n")
    (row,) = (row for row in table.splitlines() if row.startswith("solve all boards for win "))
    assert re.search(r" 45,949,729,863,572,161 boards +does not fit$", row.rstrip())
    assert "all boards of 4x4, to 2048 are too many for a pass over them" in reasons
    assert "give lower limits on cells\n" in reasons
    assert "e+" not in printed.out + printed.err


@pytest.mark.parametrize("command", ["force 3x3 64 --engine search", "force starts 3x3 64"])
def test_a_search_that_may_never_end_is_tried(command, printed, refused, monkeypatch, folder):
    monkeypatch.setattr(forcing, "WEEK", 0.0)
    printed(*command.replace("3x3 64", "2x3 16").split(), "-q")
    monkeypatch.setattr(forcing, "TRIED", 0.0)
    refused(command.split(), 1, "which is undecided after 0 s, cannot be estimated: give a limit")
    assert not list((folder / "runs").glob("*")), "the user cannot go on with the same command"
    printed(*command.split(), "--budget", "0s", "-q", status=1)
    (begun,) = (folder / "runs").glob("*")
    refused(command.split(), 1, "which is undecided after 0 s, cannot be estimated: give a limit")
    assert list((folder / "runs").glob("*")) == [begun], "an earlier command began it with a time limit"
    monkeypatch.setattr(forcing, "TRIED", 60.0)
    assert main([*command.split(), "--budget", "10min", "-q"]) == 0


def test_searches_that_are_stopped_say_what_they_know(monkeypatch):
    tried = []

    def stop(trial, _):
        tried.append(trial)
        if len(tried) == 2:
            raise KeyboardInterrupt

    found = limits.search_limits(Game("2x2", 16, start="empty"), 200, step=stop)
    assert not found.finished
    assert found.best == tried[-1]
    games = raise_at(monkeypatch, forcing, "force", (3,))
    known = forcing.largest_forced("2x3")
    assert [game.goal for game in games] == [4, 8, 16]
    assert (known.tile, known.exact) == (8, False)
    assert borders.find_border(Game("2x2", 8, start="empty")).open == 0


# -- memory ---------------------------------------------------------------------------------------------


def machine(folder: Path, groups: str, files: dict[str, int | str]) -> dict[str, Path]:
    """A machine with 8 GB of memory and some control groups."""
    proc, tree = folder / "proc", folder / "cgroup"
    (proc / "self").mkdir(parents=True)
    (proc / "meminfo").write_text("MemTotal: 9000000 kB\nMemAvailable: 8000000 kB\n")
    (proc / "self/cgroup").write_text(groups)
    (proc / "self/statm").write_text("1000 500 100 1 0 400 0\n")
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(f"{text}\n")
    return {"proc": proc, "groups": tree}


TWO = "0::/work/job\n"
ONE = "5:cpu,cpuacct:/x\n4:memory:/work/job\n0::/\n"
ALL = 8_192_000_000
STAT = "anon 50\ninactive_file 200\nactive_file 40"
OLD_STAT = "cache 999\ntotal_inactive_file 90\ntotal_active_file 10"


@pytest.mark.parametrize(
    ("groups", "folder", "files", "available", "most"),
    [
        (TWO, "", {}, ALL, None),
        (TWO, "work/job/memory.", {"max": "max", "current": 5}, ALL, None),
        (TWO, "work/job/memory.", {"max": 1000, "current": 300}, 700, 1000),
        (TWO, "work/job/memory.", {"max": 1000, "current": 300, "stat": STAT}, 940, 1000),
        (TWO, "work/job/memory.", {"max": 1000, "high": 800, "current": 300}, 500, 800),
        (TWO, "work/", {"job/memory.max": 1000, "job/memory.current": 100, "memory.max": 2000,
                        "memory.current": 1900}, 100, 1000),  # the group around it leaves less
        (TWO, "memory.", {"max": 900, "current": 100}, 800, 900),  # a container's own group is its root
        (TWO, "memory.", {"max": 900, "current": 1000}, 0, 900),
        (TWO, "work/job/memory.", {"max": "rubbish", "current": ""}, ALL, None),
        (ONE, "memory/work/job/memory.", {"limit_in_bytes": 1000, "usage_in_bytes": 600, "stat": OLD_STAT},
         500, 1000),
        (ONE, "memory/memory.", {"limit_in_bytes": 1000, "usage_in_bytes": 1}, 999, 1000),
    ],
)  # fmt: skip
def test_limits_of_containers(groups, folder, files, available, most, tmp_path):
    here = machine(tmp_path, groups, {f"{folder}{name}": text for name, text in files.items()})
    assert resources.available_memory(**here) == available
    assert resources.most_memory(**here) == most


def test_a_machine_that_tells_nothing(tmp_path):
    assert resources.available_memory(tmp_path / "proc", tmp_path / "cgroup") > 1 << 28
    assert resources.most_memory(tmp_path / "proc", tmp_path / "cgroup") is None


def test_no_more_than_the_container_has(monkeypatch):
    monkeypatch.setattr(resources, "most_memory", lambda: 500 << 20)
    assert Allowance.of(memory=64 << 30).memory == 500 << 20
    monkeypatch.setattr(resources, "most_memory", lambda: 350 << 20)
    with pytest.raises(ResourceError, match=r"only 350 MiB .* limit of the container"):
        Allowance.of()
    with pytest.raises(UsageError, match="100 MiB of memory is too little"):
        Allowance.of(memory=100 << 20)


def limited(megabytes: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command with a limit on its address space."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    command = [sys.executable, "-m", "tilebase", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit)


@pytest.mark.parametrize(
    ("megabytes", "command"), [(150, "count"), (300, "solve"), (400, "force"), (600, "count"), (800, "solve")]
)
def test_a_small_address_space_is_one_sentence(megabytes, command, folder):
    done = limited(megabytes, command, "2x2", "8", "-q")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert re.match(r"tilebase: this process may take only \d+ MiB more of address space", done.stderr)
    assert "ulimit -v unlimited" in done.stderr
    assert not list((folder / "runs").glob("*"))


def test_an_address_space_that_is_enough(folder):
    done = limited(1200, "solve", "2x2", "32", "-q", "--threads", "2", "--memory", "64GiB")
    assert (done.returncode, done.stderr) == (0, "")


def test_sizes_of_layers_are_known_before(tmp_path):
    for game in (Game("3x3", 64), Game("3x4", 16), Game("2x4", 32, limits="16,16,8,8/16,8,8,4")):
        index = Index(game)
        assert index.sizes == {s: n for s in range(0, 2000, 2) if (n := index.layer(s).size)}


def no_overhead(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("runtime.resources", "costs.reachable", "sparse.forward", "sparse.backward"):
        monkeypatch.setattr(f"tilebase.{module}.OVERHEAD", 0)


def least_of(message: str) -> int:
    """The bytes that a refusal asks for."""
    found = re.search(r"needs(?: at least)? ([\d.,]+) (MiB|GB|MB)", message)
    assert found is not None
    return math.ceil(float(found[1].replace(",", "")) * {"MiB": 1 << 20, "GB": 1e9, "MB": 1e6}[found[2]])


def test_counting_takes_the_memory_that_its_refusal_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(sizes, "SMALL_BITS", 1 << 12)
    no_overhead(monkeypatch)
    game = Game("3x4", 16)
    for keep in ("counts", "states"):
        with pytest.raises(ResourceError) as refused:
            count(game, folder=tmp_path / keep, keep=keep, memory=1 << 20, threads=2)
        assert not (tmp_path / keep / "counts.jsonl").exists()
        memory = least_of(str(refused.value))
        assert count(game, folder=tmp_path / keep, keep=keep, memory=memory, threads=2).complete


def test_solving_takes_the_memory_that_its_refusal_asked_for(tmp_path, monkeypatch):
    game = Game("3x3", 128)
    count(game, folder=tmp_path, keep="afterstates")
    no_overhead(monkeypatch)
    with pytest.raises(ResourceError) as refused:
        solve(game, folder=tmp_path, memory=1 << 17, threads=1)
    assert not (tmp_path / "values/win/layers.jsonl").exists()
    assert solve(game, folder=tmp_path, memory=least_of(str(refused.value)), threads=1).complete


@pytest.mark.parametrize("objective", ["win", "lower"])
def test_batches_take_the_memory_that_their_refusal_asked_for(objective):
    index = PerfectIndex(Game("3x3", 512))
    with pytest.raises(ResourceError) as refused:
        Plan.of(index, Objective(objective), replace(HERE, memory=resources.OVERHEAD + 1000))
    enough = replace(HERE, memory=least_of(str(refused.value)) + (10 << 20))
    plan = Plan.of(index, Objective(objective), enough)
    assert plan.memory < plan.whole_bytes or not plan.batched


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError("no 3 GiB"), "tilebase: there is not enough memory (no 3 GiB): give a smaller"),
        (PermissionError(13, "Permission denied", "a.tbl"), "cannot use a.tbl: Permission denied"),
        (OSError(5, "Input/output error"), "the system refused: Input/output error"),
        (OSError(12, "Cannot allocate memory"), "there is not enough memory: give a smaller --memory"),
        (OSError("Could not find\nan object"), "the system refused: Could not find an object"),
        (RuntimeError("can't start new thread"), "no more threads can be started here"),
    ],
    ids=str,
)
def test_what_failed_is_named(error, words, monkeypatch, capsys, folder):
    raise_at(monkeypatch, engine.ForwardPass, "run", (1,), error)
    assert main(["count", "2x2", "32", "-q"]) == 1
    said = capsys.readouterr().err
    assert words in said
    assert "cannot write the output" not in said
    assert said.count("\n") == 1


# -- progress ---------------------------------------------------------------------------------------------


class Clock:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(progress, "working_time", lambda: self.now)


def followed(
    monkeypatch: pytest.MonkeyPatch, share: object, seconds: int, before: float = 0.0, stopped: float = 0.0
) -> list[Progress]:
    """The reports of a pass that has done `share(t)` after t seconds; halfway it is `stopped` for some."""
    seen: list[Progress] = []
    clock = Clock(monkeypatch)
    pace = Pace(seen.append, "states")
    pace.start(before)
    for tenth in range(1, 10 * seconds):
        clock.now = 1000 + tenth / 10 + (stopped if tenth >= 5 * seconds else 0)
        pace.report(0, "work", tenth, share(tenth / 10))  # type: ignore[operator]
    return seen


def test_no_time_is_given_until_it_holds(monkeypatch):
    steady = followed(monkeypatch, lambda t: t / 100, 60)
    assert all(one.seconds_left == math.inf for one in steady if one.seconds < progress.LEAST_SECONDS)
    known = [one for one in steady if one.seconds > 10]
    assert all(one.seconds_left == pytest.approx(100 - one.seconds) for one in known)


def test_a_stopped_process_does_not_work(monkeypatch):
    seen = followed(monkeypatch, lambda t: t / 100, 60, stopped=36000)
    assert seen[-1].seconds_left == pytest.approx(40, abs=0.2)


def test_a_pass_that_begins_slowly(monkeypatch):
    seen = followed(monkeypatch, lambda t: 1e-6 * t if t < 30 else (t - 30) / 100, 125)
    told = [one for one in seen if one.seconds_left < math.inf]
    assert told
    assert all(abs(one.seconds_left - (130 - one.seconds)) < 60 for one in told)
    assert all(one.seconds_left == math.inf for one in seen if one.seconds < 40)


def test_the_time_left_does_not_jump(monkeypatch):
    """Layers take turns of 2 s at half and at one and a half times the speed."""
    share = lambda t: (t + 0.5 * (t % 4 if t % 4 < 2 else 4 - t % 4)) / 100  # noqa: E731
    seen = followed(monkeypatch, share, 90)
    begun = next(at for at, one in enumerate(seen) if one.seconds_left < math.inf)
    told = [one.seconds_left for one in seen[begun:]]
    assert all(math.isfinite(left) for left in told), "once given, it is always given"
    assert max(b - a for a, b in itertools.pairwise(told)) < 0.5
    assert all(abs(one.seconds_left - (100 - one.seconds)) < 8 for one in seen[begun:])


def test_two_passes_in_turn_are_one_run():
    seen: list[Progress] = []
    first, then = progress.in_turn(seen.append, 0.25)
    done = Progress(8, "slide", 10, 10.0, 1.0, 0.5, 10.0)
    first(done)
    first(replace(done, seconds=20.0, fraction=1.0, seconds_left=0.0))
    then(replace(done, seconds=0.0, fraction=0.0, seconds_left=math.inf))
    then(replace(done, seconds=30.0, fraction=0.5, seconds_left=30.0))
    assert [one.fraction for one in seen] == [0.125, 0.25, 0.25, 0.625]
    assert [one.seconds_left for one in seen] == [70.0, 60.0, math.inf, 30.0]
    told: list[Progress] = []
    solve(Game("2x2", 32), progress=told.append, threads=1)
    fractions = [one.fraction for one in told]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


def test_a_pass_that_never_ends_and_one_that_goes_on(monkeypatch):
    seen = followed(monkeypatch, lambda t: t / 1e7, 300)
    assert all(one.seconds_left == math.inf for one in seen)
    seen = followed(monkeypatch, lambda t: 0.5 + t / 200, 60, before=0.5)
    assert seen[-1].seconds_left == pytest.approx(40, abs=1)


def test_what_is_shown():
    from tilebase.runtime.progress import clock, describe

    assert [clock(seconds) for seconds in (5, 125, 3723)] == ["0:05", "2:05", "1:02:03"]
    known = Progress(88, "slide", 1_234_567, 10.0, 2.5e6, 0.5, 61.0)
    assert describe(known) == "sum 88 slide  1,234,567 states  2.5 M/s  about 1:00 left"
    unknown = Progress(88, "slide", 1_234_567, 10.0, 2.5e6, 0.5, math.inf)
    assert describe(unknown) == "sum 88 slide  1,234,567 states  2.5 M/s"
    for rate, text in ((999_999, "1000.0 k/s"), (12_340, "12.3 k/s"), (650.4, "650/s"), (0.25, "0.25/s")):
        assert describe(replace(unknown, rate=rate)).endswith(f"states  {text}")


# -- before the work begins -------------------------------------------------------------------------------


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """No work is done in this test."""

    def work(*_: object, **__: object) -> None:
        raise AssertionError("the work has begun")

    for name in ("count.count", "solve.solve", "prove.prove", "force.searching"):
        monkeypatch.setattr(f"tilebase.questions.{name}", work)
    monkeypatch.setattr("tilebase.small.graphs.state_graph", work)


@pytest.mark.usefixtures("idle", "folder")
@pytest.mark.parametrize(
    "command",
    [
        "count 3x3 64 --record no/x.csv", "count 3x3 64 -f csv --record made.csv",
        "solve 3x3 64 --record no/x.json", "solve 3x3 64 --objective lower --record no/x.json",
        "force 3x3 32 -c no/x.cert", "count 3x3 64 --record no/x.svg", "export graph 2x2 8 -o no/x.dot",
    ],
)  # fmt: skip
def test_files_that_cannot_be_written(command, refused):
    Path("made.csv").mkdir()
    file = command.split()[-1]
    why = "it is a folder" if file == "made.csv" else "the folder no does not exist"
    refused(command.split(), 1, f"cannot write {file}: {why}")


@pytest.mark.usefixtures("idle", "folder")
def test_extras_that_are_missing(monkeypatch, refused):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refused(["count", "3x3", "64", "--record", "x.parquet"], 1, "Parquet need pyarrow: in the clone")
    refused(["solve", "3x3", "64", "--record", "x.parquet"], 1, "Parquet need pyarrow: in the clone")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    refused(["count", "3x3", "64", "--record", "x.svg"], 1, "pictures need matplotlib")
    assert not Path("x.parquet").exists()


SMALL = Game("2x2", 16)
DOORS = {
    "count": partial(count, SMALL),
    "solve": partial(solve, SMALL),
    "prove": partial(prove, SMALL),
    "force": partial(forcing.force, SMALL),
    "force_starts": partial(force_starts, SMALL),
    "largest_forced": partial(largest_forced, "2x2"),
    "symbolic": partial(symbolic, SMALL),
    "check_pattern": partial(check_pattern, Game("2x3", 64, pattern="lemma1")),
    "find_border": partial(borders.find_border, SMALL),
    "search_limits": partial(limits.search_limits, SMALL, 100),
    "evaluate": partial(evaluate, "no-table", "random"),
}


@pytest.mark.parametrize("door", DOORS)
def test_every_question_checks_what_it_may_use(door):
    ask: Any = DOORS[door]
    with pytest.raises(TypeError, match="unexpected keyword argument 'memry'"):
        ask(memry=1 << 30)
    sentence = r"takes memory, disk, threads, .*fractions are computed by .*solve_exactly"
    with pytest.raises(TypeError, match=sentence):
        ask(exact=True)
    for little in (1 << 20, "1MiB"):
        with pytest.raises(UsageError, match="1 MiB of memory is too little"):
            ask(memory=little)
    for wrong in (1.5, "a lot", True):
        with pytest.raises(UsageError, match=r"memory(:| must be)"):
            ask(memory=wrong)
    for wrong in (0, "two", 1.5, True):
        sentence = re.escape(f"the number of threads must be 1 to 256, not {wrong!r}")
        with pytest.raises(UsageError, match=sentence):
            ask(threads=wrong)


def test_memory_is_given_as_a_number_or_as_text():
    for given in (1 << 30, "1GiB", " 1 gib ", "1073741824"):
        assert Allowance.of(memory=given).memory == 1 << 30
    assert Allowance.of(memory="500MB").memory == 500_000_000
    assert count(SMALL, memory="1GiB").total("live") == count(SMALL).total("live")
