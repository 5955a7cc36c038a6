"""The pass by groups of equal tiles: the values of all boards are those of the pass over whole layers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from batching import dense_pass
from tilebase import solve
from tilebase.cli import main
from tilebase.costs.groups import grouping
from tilebase.counting.groups import groups_of
from tilebase.dense.group_rules import GroupRules, Ranking, Step
from tilebase.dense.groups import GroupPass
from tilebase.dense.index import PerfectIndex
from tilebase.errors import CorruptError, ResourceError, StorageError, UsageError
from tilebase.files.run import Journal
from tilebase.files.solved import identity_of
from tilebase.game.game import Game
from tilebase.objectives.backup import make_backup
from tilebase.objectives.objective import parse_objectives
from tilebase.questions.groups import solve_by_groups
from tilebase.runtime.resources import OVERHEAD, Allowance

Array = npt.NDArray[Any]
LIMITED = Game("2x3", 32, limits="16,16,8/16,8,8")
ONE = Allowance(memory=4 << 30, threads=1)


def ranks(index: PerfectIndex, total: int, boards: Array) -> Array:
    """The ranks of boards of a sum in the perfect index, as `PerfectIndex.rank` finds them one by one."""
    classes, rank = [], np.zeros(len(boards), dtype=np.int64)
    for part in index.parts:
        digits = np.zeros(len(boards), dtype=np.int64)
        for cell, radix in zip(part.cells, part.radix, strict=True):
            digits = digits * radix + boards[:, cell]
        filling = part.index_of[digits].astype(np.int64)
        classes.append(part.class_of[part.units[filling]])
        rank = rank * part.counts[classes[-1]] + filling - part.starts[classes[-1]]
    found: Array = index.layer(total).offsets[tuple(classes[:3])] + rank
    return found


def layers_of(folder: Path, game: Game, text: str) -> tuple[dict[int, Array], Any]:
    """The states of each sum in the order of ranks, and the value of the start, by whole layers."""
    (objective,) = parse_objectives(text)
    found: dict[int, Array] = {}

    def keep(total: int, states: Any) -> None:
        found[total] = states.data.copy()

    with dense_pass(folder, game, objective, backup=make_backup(game, objective), callback=keep) as whole:
        whole.run()
        return found, whole.start()


def check_groups(folder: Path, game: Game, text: str) -> None:
    """Compare all states bit for bit, and the value of the start."""
    (objective,) = parse_objectives(text)
    (whole, start), index = layers_of(folder / "whole", game, text), PerfectIndex(game)
    compared = 0

    def compare(tiles: tuple[int, ...], states: Array) -> None:
        nonlocal compared
        total = sum(count << e for e, count in enumerate(tiles, 1))
        boards = Ranking(game, tiles).boards()
        there = whole[total][ranks(index, total, boards)]
        assert there.tobytes() == states.tobytes(), tiles
        compared += len(boards)

    (folder / "groups").mkdir()
    by_groups = GroupPass(game, objective, ONE, folder=folder / "groups", callback=compare)
    assert by_groups.run() == start
    assert compared == sum(map(len, whole.values()))
    assert [path.name for path in (folder / "groups").iterdir()] == ["layers.jsonl"]


@pytest.mark.parametrize("text", ["win", "lower:uint32"])
@pytest.mark.parametrize(
    "game",
    [
        LIMITED,
        Game("2x3", 32, walls=[1]),
        Game("2x3", 64, pattern="pair", limits="32,32,16/32,8,8"),
        Game("2x2x2", 8),
        Game("1x5", 16, start="empty"),
        Game("2x3", 32, largest=16, pattern="16,*,*/16,*,*"),
        Game("2x2", 32, spawn="1/10, 4: 1/4"),
        Game("2x2", 32, spawn=1),
        Game("2x2", 16, start="8,4/4,4"),
        Game("2x3", 32, horizon=40),
        Game("2x2", goal_sum=20),
    ],
    ids=str,
)
def test_values_are_those_of_whole_layers(game: Game, text: str, tmp_path: Path) -> None:
    check_groups(tmp_path, game, text)


@pytest.mark.parametrize(
    ("game", "text"),
    [
        (Game("2x4", 32), "win"),
        (LIMITED, "guaranteed"),
        *(
            pytest.param(*case, marks=pytest.mark.all)
            for case in (
                (Game("2x4", 64), "win"),
                (Game("3x3", 64), "guaranteed"),
                (Game("2x4", 64), "guaranteed"),
                (Game("2x4", 64), "lower:uint32"),
                (Game("3x3", 64), "win"),
                (Game("3x3", 64), "lower:uint32"),
                (Game("2x5", 32, limits="16,16,8,8,8/16,8,8,8,8"), "win"),
                (Game("3x4", 32, limits="16,8,8,4/8,4,4,4/4,4,4,4"), "lower:uint32"),
                (Game("2x3", 32), "upper:uint32"),
                (Game("2x3", 32), "survival"),
                (Game("2x3", 32), "longest"),
                (Game("2x3", 32), "moves"),
                (Game("2x3", 32), "win:float16"),
            )
        ),
    ],
    ids=str,
)
def test_values_of_larger_games_are_those_of_whole_layers(game: Game, text: str, tmp_path: Path) -> None:
    check_groups(tmp_path, game, text)


@pytest.mark.parametrize("text", ["win", "lower:uint32"])
def test_discounted_values_are_those_of_whole_layers(text: str) -> None:
    found = solve_by_groups(LIMITED, text, discount="0.9")
    assert found.value == solve(LIMITED, text, discount="0.9", space="all").value


def test_the_order_of_ranks() -> None:
    """Boards come in the order of their cells, and each has the rank of its position."""
    game = Game("2x2", 16, walls=[3], limits="8,4/8,4")
    ranking = Ranking(game, (1, 0, 1))
    boards = [tuple(board) for board in ranking.boards().tolist()]
    assert boards == [(0, 1, 3, 0), (1, 0, 3, 0), (3, 0, 1, 0), (3, 1, 0, 0)]
    assert [ranking.rank(board) for board in boards] == list(range(ranking.size))


@pytest.mark.parametrize("game", [Game("2x4", 32), LIMITED], ids=str)
def test_few_groups_are_held(game: Game) -> None:
    """Less than the layers that a pass by layers holds, and no more is in work than the plan says."""
    (objective,) = parse_objectives("win")
    run = GroupPass(game, objective, ONE)
    run.run()
    groups, planned = groups_of(game), grouping(game, objective, Allowance(memory=0, threads=1))
    assert 0 < run.held.groups < len(groups) / 5
    assert run.held.bytes == 8 * run.held.boards < 0.85 * planned.disk
    in_work = groups.sizes + sum(groups.after_spawn(e) for e in game.spawn_exponents)
    assert run.held.working == 8 * in_work.max() == planned.memory - OVERHEAD


def test_values_that_do_not_fit_into_memory_go_to_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    game = Game("2x4", 16)
    (objective,) = parse_objectives("win")
    enough = grouping(game, objective, ONE)
    assert not enough.disk
    less = grouping(game, objective, Allowance(memory=enough.memory - 1, threads=1))
    assert less.memory < enough.memory < less.memory + 2 * less.disk
    monkeypatch.setattr("tilebase.costs.groups.OVERHEAD", 1 << 40)
    found = solve_by_groups(game, anyway=True)
    assert found.in_files
    named = solve_by_groups(game, anyway=True, folder=tmp_path / "values", threads=2)
    assert named == found
    assert [path.name for path in (tmp_path / "values/values/win-groups").iterdir()] == ["layers.jsonl"]


class Stopped(BaseException):
    """What ends a process without a chance to save."""


def stop_after(monkeypatch: pytest.MonkeyPatch, steps: int, error: type[BaseException]) -> list[Step]:
    """Let a pass stop where the step after so many begins.  Returns a list to which all steps are added."""
    real, done = GroupRules.do, list[Step]()

    def do(self: GroupRules, step: Step, *rest: Any) -> Any:
        if len(done) == steps:
            raise error
        done.append(step)
        return real(self, step, *rest)

    monkeypatch.setattr(GroupRules, "do", do)
    return done


@pytest.mark.parametrize("error", [KeyboardInterrupt, Stopped])
@pytest.mark.parametrize("in_files", [False, True])
@pytest.mark.parametrize("text", ["win", "guaranteed"])
def test_a_stopped_pass_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, error: type[BaseException], in_files: bool
) -> None:
    """After Ctrl-C no step is done twice; after a kill those since the pass was saved."""
    (objective,) = parse_objectives(text)
    (tmp_path / "run").mkdir()

    def begin() -> GroupPass:
        return GroupPass(LIMITED, objective, ONE, folder=tmp_path / "run/values", in_files=in_files)

    whole = GroupPass(LIMITED, objective, ONE)
    value, steps = whole.run(), list(begin().schedule())
    done = list[Step]()
    if error is Stopped:
        monkeypatch.setattr("tilebase.dense.groups.WAITING_BYTES", 200)
    for count in (50, 1, 70, len(steps)):
        with monkeypatch.context() as patch:
            now, going_on = stop_after(patch, count, error), begin()
            if count < len(steps):
                with pytest.raises(error):
                    going_on.run()
            else:
                assert going_on.run() == value
        done += now
    assert done == steps if error is KeyboardInterrupt else len(steps) < len(done) < 1.6 * len(steps)
    assert going_on.held == whole.held
    with monkeypatch.context() as patch:  # the answer is there
        again = stop_after(patch, 0, Stopped)
        assert begin().run() == value
    assert not again
    assert [path.name for path in (tmp_path / "run/values").iterdir()] == ["layers.jsonl"]


def stopped_run(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """The folder of the values of a run that was stopped."""
    with monkeypatch.context() as patch:
        stop_after(patch, 80, KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt):
            solve_by_groups(LIMITED, folder=folder)
    return folder / "values/win-groups"


def test_a_pass_without_one_of_its_files_begins_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    next(stopped_run(monkeypatch, tmp_path).glob("*.group")).unlink()
    done = stop_after(monkeypatch, -1, Stopped)
    found = solve_by_groups(LIMITED, folder=tmp_path)
    assert found == solve_by_groups(LIMITED)
    assert len(done) == 2 * len(list(GroupPass(LIMITED, found.objective, ONE).schedule()))


def test_damaged_values_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for path in stopped_run(monkeypatch, tmp_path).glob("*.group"):
        path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(CorruptError, match=r"\.group is damaged: delete .*win-groups and solve again"):
        solve_by_groups(LIMITED, folder=tmp_path)


def test_a_pass_in_memory_that_cannot_be_saved_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One in files ends: its values are nowhere else."""

    def refuse(*_: Any) -> None:
        raise StorageError("no space")

    monkeypatch.setattr("tilebase.dense.groups.WAITING_BYTES", -1)
    monkeypatch.setattr("tilebase.dense.held.HeldValues.save", refuse)
    assert solve_by_groups(LIMITED, folder=tmp_path / "a").value == solve_by_groups(LIMITED).value
    monkeypatch.setattr("tilebase.costs.groups.OVERHEAD", 1 << 40)
    with pytest.raises(StorageError, match="no space"):
        solve_by_groups(LIMITED, folder=tmp_path / "b", anyway=True)


@pytest.mark.parametrize(
    ("held", "sentence"),
    [
        (["../../run", 1, 1, 0], "no name of values"),
        (["states-9999999", 0, 1, 0], "not of this game"),
        (["states-1", 0, 1, 0], "not of this game"),
        (["states-1", -8, 1, 0], "must be a whole number"),
        (None, "lacks"),
    ],
    ids=str,
)
def test_hostile_journals_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, held: list[Any] | None, sentence: str
) -> None:
    folder = stopped_run(monkeypatch, tmp_path)
    (objective,) = parse_objectives("win")
    journal = Journal(folder / "layers.jsonl", identity_of(LIMITED, objective, "groups"))
    (line,) = journal.read()
    if held and ".." not in held[0]:
        (folder / f"{held[0]}.group").write_bytes(b"")
    journal.rewrite([line | {"held": [held] if held else []}])
    with pytest.raises(CorruptError, match=sentence):
        solve_by_groups(LIMITED, folder=tmp_path)


@pytest.mark.parametrize(
    ("game", "text", "sentence"),
    [
        (LIMITED, "score", "no pass by groups for score, which counts tiles"),
        (Game("2x2", largest=16), "largest", "no pass by groups for largest"),
        (Game("2x3", 16, unmergeable=[0]), "win", "it has unmergeable tiles"),
        (Game("2x2", 16, spawn="1/10 on 1,2/2,4"), "win", "all cells weigh the same"),
        (LIMITED, "lower,upper", "one objective at a time"),
    ],
    ids=str,
)
def test_what_there_is_no_pass_by_groups_for(game: Game, text: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        solve_by_groups(game, text)


def test_too_many_groups_are_refused() -> None:
    with pytest.raises(ResourceError, match="more than a week; does not fit"):
        solve_by_groups(Game("4x4", 512), "guaranteed", memory="1GiB")


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["2x3", "32", "--space", "groups", "-q"]
    assert main(["solve", *words, "--objective", "win,guaranteed"]) == 0
    printed = capsys.readouterr().out
    assert "0.999896763425" in printed
    assert "208, the largest 360 boards" in printed
    assert main(["solve", *words, "-o", "table"]) == 2
    assert "leave --output out" in capsys.readouterr().err
    assert main(["plan", "solve", *words[:-1]]) == 0
    assert "210 groups" in capsys.readouterr().out


def test_the_spaces_are_named_in_one_place(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["solve"], ["plan", "solve"]):
        assert main([*words, "2x2", "16", "--space", "group"]) == 2
        assert "choose one of reachable, all, auto, groups" in capsys.readouterr().err
    with pytest.raises(UsageError, match="solve_by_groups"):
        solve(Game("2x2", 16), space="groups")
