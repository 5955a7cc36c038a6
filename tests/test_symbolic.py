"""Solving with decision diagrams: the question, its process, its command."""

from __future__ import annotations

import csv
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations_with_replacement, count, islice, product
from pathlib import Path
from typing import IO, Any, cast

import pytest

from facts import facts
from tilebase import Game, force, symbolic
from tilebase.bdd import library, strategies, worker
from tilebase.bdd.library import Library
from tilebase.bdd.strategies import Checkpoints, Line, Method
from tilebase.bdd.worker import Task, do
from tilebase.cli import main
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.errors import ChildError, MissingExtraError, ResourceError, UsageError
from tilebase.runtime import system

TWOS = Game("2x2", 16, spawn=0, start="empty")
MIDDLING = Game("3x3", 64, start="empty")


@pytest.fixture
def here(monkeypatch):
    """Diagrams are computed in this process, where the process is not what is tested."""
    monkeypatch.setattr("tilebase.questions.symbolic.run_task", lambda *task, **_: do(*task[:3]))


HERE = pytest.mark.usefixtures("here")


@HERE
def test_every_board_is_won_by_one_side():
    slider, dropper = symbolic(TWOS), symbolic(TWOS, Method(player="dropper"))
    assert (slider.wins, dropper.wins) == (True, False)
    assert slider.slider_wins
    assert dropper.slider_wins
    assert slider.states + dropper.states == sum(boards_by_sum(TWOS).values())


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        ("adversarial", "can force the tile 16 against every spawn of 2s"),
        ("cooperative", "can make the tile 16 if spawns of 2s help"),
        ("deterministic", "can force the tile 16 if 2s are always spawned on the first empty cell"),
    ],
)
def test_the_statement_says_who_spawns(variant, words):
    assert (
        symbolic(TWOS, Method(variant=variant)).statement
        == f"2048 on 2x2, from the empty board: the player {words}."
    )


@HERE
def test_weak_is_decided_with_less():
    game = Game("2x3", 16, start="2,4,0/0,0,8")
    whole, weak = symbolic(game), symbolic(game, Method(strong=False))
    assert weak.wins == whole.wins
    assert len(weak.lines) < len(whole.lines)
    assert [line.name for line in weak.lines] == [line.name for line in whole.lines[: len(weak.lines)]]


@HERE
@pytest.mark.parametrize("player", ["slider", "dropper"])
def test_the_frontier_finds_what_sweep_lines_find(player):
    game = Game("2x3", 16, start="empty")
    whole, found = (symbolic(game, Method(player=player, strategy=one)) for one in ("sweep", "frontier"))
    assert found.wins == whole.wins
    for one, other in zip(found.lines, whole.lines, strict=True):
        assert (one.name, one.states, one.afterstates) == (other.name, other.states, other.afterstates)
    assert symbolic(game, Method(strategy="frontier", until="(3,4)")).lines[-1].name == "(3,4)"


LARGE_LINES = (
    ("2x4", 64, 0, 1), ("3x3", 32, 0.1, 1), ("3x3", 64, 0, 2), ("3x4", 16, 0, 2), ("4x4", 16, 0, 4)
)  # fmt: skip


@HERE
@pytest.mark.parametrize("corollary7", [False, True])
@pytest.mark.parametrize(
    ("shape", "goal", "spawn", "least"),
    [
        ("2x2", 8, 0, 1), ("2x2", 16, 0, 1), ("2x2", 16, 0.1, 1), ("2x3", 16, 0, 1), ("2x4", 32, 0, 1),
        ("3x2", 32, 0.1, 1), ("4x2", 16, 0, 1), ("2x2x2", 16, 0, 1), ("3x3", 16, 0, 1), ("4x4", 8, 0, 4),
        *(pytest.param(*one, marks=pytest.mark.all) for one in LARGE_LINES),
    ],
)  # fmt: skip
def test_bits_find_what_sweep_lines_find(shape, goal, spawn, least, corollary7):
    """For each line of the exponent below the goal, with neighbouring tiles of it and without."""
    game = Game(shape, goal, spawn=spawn, start="empty")
    until = f"({game.goal_exponent - 1},{least})"
    sweep, found = (
        [(line.name, line.states, line.afterstates) for line in symbolic(game, method).lines]
        for method in (
            Method(strategy=strategy, until=until, corollary7=corollary7) for strategy in ("sweep", "bits")
        )
    )
    assert found == sweep
    assert len(found) == game.cells - least + 1


def test_bits_count_with_and_without_a_spawned_tile():
    """Each state decided by the plain rules, and counted if corollary 7 allows it."""
    game = Game("2x3", 16, spawn=0, start="empty")

    @cache
    def wins(board: tuple[int, ...]) -> bool:
        afters = game.slides(board).values()
        return any(game.wins(after) or is_held(after) for after in afters)

    @cache
    def is_held(after: tuple[int, ...]) -> bool:
        made = [after[:cell] + (1,) + after[cell + 1 :] for cell, held in enumerate(after) if not held]
        return bool(made) and all(map(wins, made))

    counted: Counter[tuple[str, bool]] = Counter()
    for board in product(range(4), repeat=6):
        if 3 in board and all(sum(held < e for held in board) >= e - 1 for e in board if e) and wins(board):
            counted[f"(3,{board.count(3)})", 1 in board] += 1
    lines = symbolic(game, Method(strategy="bits", until="(3,1)", corollary7=True)).lines
    assert {(line.name, True): line.states for line in lines if line.states} == {
        key: number for key, number in counted.items() if key[1]
    }
    assert {(line.name, False): line.old for line in lines if line.old} == {
        key: number for key, number in counted.items() if not key[1]
    }


def test_bits_stop_when_time_runs_out():
    found = symbolic(MIDDLING, Method(strategy="bits", until="(5,3)"), seconds=0)
    assert (found.wins, found.lines, found.reason) == (None, (), "time ran out")


def test_what_is_known_stays_when_time_runs_out(monkeypatch):
    messages = worker._messages

    def few(stream: IO[bytes], deadline: float) -> Iterator[Any]:
        yield from islice(messages(stream, deadline), 10)
        yield from messages(stream, -math.inf)  # the deadline has passed

    monkeypatch.setattr(worker, "_messages", few)
    found = symbolic(MIDDLING)
    assert (found.wins, found.reason, found.out_of_memory) == (None, "time ran out", False)
    assert "undecided" in found.statement
    assert len(found.lines) == 10
    assert found.states > 0


def test_what_is_known_stays_when_memory_runs_out(monkeypatch):
    monkeypatch.setattr("tilebase.questions.symbolic.NODES_A_BOARD", 0)
    monkeypatch.setattr("tilebase.questions.symbolic.FEWEST_NODES", 60_000)
    found = symbolic(MIDDLING)
    assert (found.wins, found.out_of_memory) == (None, True)
    assert "60,000 nodes" in found.reason
    assert "--memory" in found.reason
    assert found.lines
    with pytest.raises(ResourceError, match="60,000 nodes"):
        force(MIDDLING, engine="diagrams")


@pytest.mark.parametrize("cause", ["SIGKILL", "SIGABRT", "SIGTERM"])
def test_what_is_known_stays_when_the_process_is_killed(cause):
    seen: list[Line] = []

    def kill(line: Line, fraction: float) -> None:
        seen.append(line)
        for child in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = child.read_bytes().split(b"\0")
                parent = int((child.parent / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if b"tilebase.bdd.worker" in words and parent == os.getpid():
                os.kill(int(child.parent.name), signal.Signals[cause])

    task = Task(Game("3x3", 256, start="empty"), Method(), 1 << 22, 1)
    if cause == "SIGTERM":  # nobody sends it for lack of memory
        with pytest.raises(ChildError, match=r"^the process of the diagrams ended: SIGTERM$"):
            worker.run_task(task, kill, lambda _: None)
    else:
        outcome = worker.run_task(task, kill, lambda _: None)
        assert (outcome.wins, outcome.out_of_memory) == (None, True)
        assert cause in outcome.reason
        assert "lack of memory" in outcome.reason
    assert seen


def test_a_process_that_cannot_start_says_why(monkeypatch, refused):
    """Another end than a kill is not taken for lack of memory."""
    monkeypatch.setattr(system, "python_command", lambda _: [sys.executable, "-P", "-m", "tilebase.nothing"])
    sentence = "the process of the diagrams ended: "
    refused(["force", "diagrams", "2x2", "16", "-q"], 1, sentence)
    with pytest.raises(ChildError, match=r"No module named tilebase\.nothing \(exit status 1\)$"):
        symbolic(TWOS)


def test_each_iteration_of_a_sweep_line_is_told():
    told: list[str | int] = []
    task = Task(Game("2x3", 32, start="empty"), Method(strategy="sweep"), 1 << 22, 1)
    worker.run_task(task, lambda line, _: told.append(line.name), told.append)
    last = told.index("(4,2)")
    assert told[told.index("(4,3)") + 1 : last] == [1, 2, 3, 4, 5, 6]
    assert sum(isinstance(one, str) for one in told) == 4 * 6 + 1


def test_the_worker_ends_with_its_parent():
    script = "from tilebase import Game, symbolic; symbolic(Game('3x3', 128, start='empty'), progress=print)"
    with subprocess.Popen([sys.executable, "-uc", script], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.readline()  # a layer is finished, so the worker is there
        children = Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()
        assert len(children) == 1
        run.kill()
    end = time.monotonic() + 20
    while Path(f"/proc/{children[0]}/cmdline").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{children[0]}/cmdline").exists()


class StopError(Exception):
    """Ends a run in the middle."""


@pytest.fixture
def each_time(monkeypatch):
    """A checkpoint is written whenever there can be one."""
    monkeypatch.setattr(strategies, "OFTEN", 0.0)
    monkeypatch.setattr(strategies, "TIMES", 0.0)


@pytest.mark.usefixtures("each_time", "here")
@pytest.mark.parametrize("damage", [False, True])
def test_a_run_continues_at_its_checkpoint(tmp_path, damage):
    game = Game("2x3", 32, start="empty")
    task = Task(game, Method(), 1 << 16, 1, work=str(tmp_path))
    first: list[Line] = []

    def stop(line: Line, fraction: float) -> None:
        first.append(line)
        if len(first) == 20:
            raise StopError

    with pytest.raises(StopError):
        do(task, stop)
    kept = list(tmp_path.glob("*.dddmp"))
    assert len(kept) == 1
    if damage:
        kept[0].write_bytes(kept[0].read_bytes()[:-1])
    told: list[tuple[Line, float]] = []
    assert do(task, lambda *one: told.append(one)).wins is False
    lines, parts = zip(*told, strict=True)
    assert (list(parts), parts[-1]) == (sorted(parts), pytest.approx(1))
    whole = symbolic(game)
    for line, same in zip(lines, whole.lines, strict=True):
        assert (line.name, line.states, line.afterstates) == (same.name, same.states, same.afterstates)
    again = [new.seconds == old.seconds for new, old in zip(lines, first, strict=False)]
    assert again[:18] == [not damage] * 18


@pytest.mark.usefixtures("each_time", "here")
@pytest.mark.parametrize(
    ("strategy", "steps"), [("sweep", 9), ("sweep", 25), ("frontier", 9), ("accumulative", 5)]
)
def test_a_run_continues_within_a_line(tmp_path, monkeypatch, strategy, steps):
    """What it finds, and after how many iterations, is the same; it begins with the line that was cut."""
    game = Game("2x3", 32, start="2,4,0/0,0,8")
    task = Task(game, Method(strategy=strategy), 1 << 16, 1, work=str(tmp_path))
    whole = symbolic(game, Method(strategy=strategy))
    told: list[int] = []

    def stop(iterations: int) -> None:
        told.append(iterations)
        if len(told) == steps:
            raise StopError

    with monkeypatch.context() as patch:
        patch.setattr(strategies.time, "perf_counter", count(0, 1000).__next__)
        with pytest.raises(StopError):
            do(task, lambda *_: None, stop)
    lines: list[Line] = []
    again: list[int] = []
    assert do(task, lambda line, _: lines.append(line), again.append).wins == whole.wins
    for line, same in zip(lines, whole.lines, strict=True):
        assert replace(line, seconds=same.seconds) == same
        assert line.seconds > 0  # of both runs together
    assert again[0] in (told[-1], 1)
    assert len(again) < sum(line.iterations for line in whole.lines) - steps + 3


class OneFile:
    """In place of the library of diagrams: a checkpoint holds the names of its diagrams."""

    def write(self, path: Path, diagrams: Iterable[str]) -> None:
        path.write_text(" ".join(diagrams))

    def read(self, path: Path) -> list[str]:
        return path.read_text().split()


def test_a_kill_between_two_checkpoints_leaves_one_of_them(tmp_path, monkeypatch):
    """The journal is cut where lines end, and between, within what the second checkpoint adds."""
    folder, again = tmp_path / "run", tmp_path / "again"

    def continued(folder: Path) -> Checkpoints:
        return Checkpoints(folder, {"game": "2x2"}, cast(Library, OneFile()))

    def add(run: Checkpoints, numbers: Iterable[int], often: float) -> None:
        monkeypatch.setattr(strategies, "OFTEN", often)
        monkeypatch.setattr(strategies, "TIMES", 0.0)
        for number in numbers:
            run.add(Line(f"{number}", 1, 0.0), {str(number): f"diagram-{number}"})

    folder.mkdir()
    with continued(folder) as run:
        add(run, [1, 2], math.inf)
        add(run, [3], 0)
        older = [(path.name, path.read_bytes()) for path in folder.iterdir()]
        add(run, [4, 5], math.inf)
        add(run, [6], 0)
    newer = [(path.name, path.read_bytes()) for path in folder.iterdir()]
    before, journal = dict(older)["diagrams.jsonl"], dict(newer)["diagrams.jsonl"]
    assert len(older) == len(newer) == 2
    assert journal.startswith(before)
    ends = [place + 1 for place, byte in enumerate(journal) if byte == ord("\n")]
    cuts = {*range(len(before), len(journal), 23), *ends, *(end - 1 for end in ends)}
    found = list[int]()
    for cut in sorted(cuts - set(range(len(before)))):
        again.mkdir()
        for name, data in older + newer:  # the file of the newer one is there before its line is written
            (again / name).write_bytes(data)
        (again / "diagrams.jsonl").write_bytes(journal[:cut])
        with continued(again) as run:
            found.append(len(run.lines))
            assert [int(line.name) for line in run.lines] == list(range(1, found[-1] + 1))
            assert run.load() == {str(found[-1]): f"diagram-{found[-1]}"}
            add(run, [found[-1] + 1], 0)
        with continued(again) as run:
            assert len(run.lines) == found[-1] + 1
        shutil.rmtree(again)
    assert found == [3] * (len(found) - 1) + [6]
    assert len(found) > 10


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"encoding": "gray"}, "encoding 'gray' does not exist"),
        ({"order": "snake"}, "order 'snake' does not exist"),
        ({"player": "both"}, "player 'both' does not exist"),
        ({"variant": "cooperative", "player": "dropper"}, "both sides want the goal"),
    ],
)
def test_what_no_diagram_can_take_is_refused(options, words):
    """More of it are commands of refusals.tsv."""
    with pytest.raises(UsageError, match=words):
        symbolic(TWOS, Method(**options))


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "oxidd", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[bdd\]'"):
        library.require_oxidd()


def test_the_command_writes_csv_json_and_pictures(tmp_path, capsys):
    common = ["force", "diagrams", "2x3", "16", "--strategy", "sweep", "-q"]
    for suffix in ("csv", "svg", "json"):
        assert main([*common, "--record", str(tmp_path / f"a.{suffix}")]) == 0
    with (tmp_path / "a.csv").open() as file:
        rows = list(csv.DictReader(file))
    document = json.loads((tmp_path / "a.json").read_text())
    assert [int(row["states"]) for row in rows] == [line["states"] for line in document["lines"]]
    assert sum(int(row["states"]) for row in rows) == document["states"] == symbolic(Game("2x3", 16)).states
    assert (tmp_path / "a.svg").read_text().count("<svg") == 1
    assert capsys.readouterr().out.count("the player wins") == 3


def test_the_line_of_the_thesis_has_nearly_all_boards_that_corollary_7_allows() -> None:
    """Line (10,7) of 4x4 to 2048: boards with seven tiles 1024 and none above, counted without diagrams.

    Before a slide some cell holds a 2, after it some cell is empty.  Corollary 7: a tile 2**e needs e - 1
    smaller or empty cells.  At most so many states and afterstates can be won as there are boards.
    """
    (line,) = facts("records.tsv", question="against 2s only, sweep line (10,7): states at both turns")
    found = Counter[int]()
    for others in combinations_with_replacement(range(10), 9):
        tiles = Counter((*others, *[10] * 7))
        if all(sum(n for other, n in tiles.items() if other < e) >= e - 1 for e in tiles):
            boards = math.factorial(16) // math.prod(map(math.factorial, tiles.values()))
            found.update({needed: boards for needed in (0, 1) if needed in tiles})
    assert (found[1], found[0]) == (3_760_531_197_280, 3_760_531_197_280)
    assert 0.999 * found.total() < int(line["computed"]) < found.total()
