"""Passes over all boards shared out to workers: the files and values of one process, whatever happens."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

pytest.importorskip("distributed")


from batching import dense_pass
from clustering import noting, same_with
from stopping import stop_at
from stored import contents
from tilebase.cli import main
from tilebase.cluster.pieces import ThreadExecutor
from tilebase.cluster.runs import attached
from tilebase.dense import shared
from tilebase.dense.index import PerfectIndex
from tilebase.dense.layers import joined_checksum
from tilebase.dense.plan import Plan
from tilebase.dense.steps import Cut
from tilebase.errors import ResourceError, StorageError, UsageError
from tilebase.game.formations import formation
from tilebase.game.game import Game
from tilebase.objectives.objective import parse_objectives
from tilebase.questions.force import force
from tilebase.questions.prove import prove
from tilebase.questions.solve import solve
from tilebase.runtime.resources import OVERHEAD, Allowance
from tilebase.tables.verify import verify_table

SMALL = Game("2x4", 32, start="empty")


@pytest.fixture(autouse=True)
def _share_small_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers that one process would do alone are shared out, too."""
    monkeypatch.setattr(shared, "SHARED_BOARDS", 17_000)  # 2x4 to 32: eight layers
    monkeypatch.setattr(shared, "LEAST_BOARDS", 1)
    monkeypatch.setattr(shared, "PIECES", 2)


@pytest.fixture
def shared_sums(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list to which the sum of each layer that is shared out is added."""
    sums = list[int]()
    monkeypatch.setattr(shared.Shared, "_solve", noting(shared.Shared._solve, sums))
    return sums


SOLUTIONS = (
    (SMALL, "guaranteed,score", 1, "table"),
    pytest.param(SMALL, "win:float16", 1, "folder", marks=pytest.mark.all),
    (SMALL, "win,upper:uint32", "0.9", "table"),
    (formation("44").game(16), "win", 1, "table"),
)


@pytest.mark.parametrize(("game", "objectives", "discount", "kept"), SOLUTIONS)
def test_threads_solve_all_boards_as_one_process_does(
    tmp_path, threads, shared_sums, monkeypatch, game, objectives, discount, kept
) -> None:
    monkeypatch.setattr(shared, "SHARED_BOARDS", int(0.8 * max(PerfectIndex(game).sizes().values())))
    ask = partial(solve, game, objectives, discount=discount, space="all")
    same_with(threads, shared_sums, ask, tmp_path, kept)


@pytest.mark.all  # by default, threads do it, and worker processes in a pass over reachable boards
def test_the_command_solves_proves_and_forces_with_workers(
    tmp_path, address, shared_sums, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(shared, "SHARED_BOARDS", 18_700)  # four layers
    solve(SMALL, "win", space="all", table=tmp_path / "alone")
    cluster = ["--cluster", address, "-q"]
    said, shared_by = [], []
    for command in (
        ["solve", "2x4", "32", "--start", "empty", "--space", "all", "-o", str(tmp_path / "table")],
        ["solve", "2x4", "32", "--start", "empty", "--objective", "lower", "--space", "all"],
        ["force", "2x4", "32", "--engine", "dense", "-f", "json"],
    ):
        assert main([*command, *cluster]) == 0
        said.append(capsys.readouterr().out)
        shared_by.append(len(shared_sums))
    assert 0 < shared_by[0] < shared_by[1] < shared_by[2]
    assert contents(tmp_path / "table") == contents(tmp_path / "alone")
    assert prove(SMALL, space="all").statement in said[1]
    assert f'"forced": {str(force(SMALL).forced).lower()}' in said[2]


def test_workers_find_the_checksums_of_layers(threads: ThreadExecutor, shared_sums: list[int]) -> None:
    alone = prove(SMALL, space="all", checksums=True)
    assert not shared_sums
    assert prove(SMALL, space="all", checksums=True, cluster=threads).layers == alone.layers != ()
    assert 0 < len(shared_sums) < len(alone.layers)


def test_a_run_goes_on_with_and_without_workers(tmp_path, threads, monkeypatch) -> None:
    """Values that nobody keeps."""
    monkeypatch.setattr("tilebase.dense.passes.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("tilebase.dense.passes.CHECKPOINT_TIMES", 0.0)
    alone = solve(SMALL, "lower:uint32", space="all", folder=tmp_path / "alone")
    monkeypatch.setattr(shared, "SHARED_BOARDS", 1 << 13)
    stops = (25, 30, 35)
    layers = stop_at(monkeypatch, stops)
    options = {"space": "all", "folder": tmp_path / "run"}
    for cluster in (threads, None, threads):
        with pytest.raises(KeyboardInterrupt):
            solve(SMALL, "lower:uint32", cluster=cluster, **options)  # type: ignore[arg-type]
        assert not list((tmp_path / "run").rglob(".*"))
    assert solve(SMALL, "lower:uint32", **options) == alone  # type: ignore[arg-type]
    assert len(layers) == len(set(layers)) + len(stops)  # nothing was done twice but what was stopped
    assert contents(tmp_path / "run") == contents(tmp_path / "alone")


def test_a_run_of_workers_does_not_go_on_as_bits(tmp_path, threads, monkeypatch) -> None:
    """Boolean values are bits on one machine, and bytes with workers."""
    monkeypatch.setattr("tilebase.dense.plan.WORTH_BITS", 1e9)
    monkeypatch.setattr("tilebase.dense.passes.CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr("tilebase.dense.passes.CHECKPOINT_TIMES", 0.0)
    monkeypatch.setattr(shared, "SHARED_BOARDS", 1 << 13)
    stop_at(monkeypatch, (25,))
    with pytest.raises(KeyboardInterrupt):
        solve(SMALL, "guaranteed", space="all", folder=tmp_path, cluster=threads)
    with pytest.raises(ResourceError, match="has states as values, and this call would keep them as bits"):
        solve(SMALL, "guaranteed", space="all", folder=tmp_path)


@pytest.mark.parametrize(
    ("step", "error"),
    [
        ("columns", StorageError),
        ("encode", StorageError),
        ("discount", KeyboardInterrupt),
        ("check", StorageError),
    ],
)
def test_after_a_step_that_failed_the_run_goes_on(tmp_path, monkeypatch, threads, step, error) -> None:
    real, begun = shared.DenseJob.do, list[str]()

    def fail(self: shared.DenseJob, piece: Any) -> Any:
        found = real(self, piece)
        begun.append(piece.step)
        if begun.count(step) == 3:
            raise error("no space")
        return found

    monkeypatch.setattr(shared.DenseJob, "do", fail)
    options: dict[str, Any] = {"discount": "0.9", "space": "all"}
    with pytest.raises(error):
        solve(SMALL, "lower:uint32", table=tmp_path / "table", cluster=threads, **options)
    assert not list(tmp_path.rglob(".*"))
    assert begun[-1] == step
    alone = solve(SMALL, "lower:uint32", folder=tmp_path / "alone", **options)
    assert solve(SMALL, "lower:uint32", table=tmp_path / "table", **options) == alone
    assert verify_table(tmp_path / "table", sample=50).wrong == ()


def test_a_worker_that_was_given_up_brings_no_file_back(tmp_path: Path, threads: ThreadExecutor) -> None:
    """It would write a part of a layer that is finished; and for a run that has ended."""
    (one,) = parse_objectives("lower")
    late = list[Callable[[], Any]]()
    real = shared.DenseJob.do

    def note(self: shared.DenseJob, piece: Any) -> Any:
        late.append(lambda: real(self, piece))
        return real(self, piece)

    def come_late() -> None:
        before = contents(tmp_path)
        for piece in late[:: len(late) // 20]:
            with pytest.raises(StorageError):
                piece()
        assert contents(tmp_path) == before

    with attached(threads, tmp_path):
        with (
            dense_pass(tmp_path / "pass", SMALL, one, memory=1 << 30, threads=1, cluster=threads) as dense,
            pytest.MonkeyPatch.context() as patch,
        ):
            patch.setattr(shared.DenseJob, "do", note)
            dense.run()
        come_late()
    come_late()


def test_a_worker_with_little_memory_does_fewer_batches_at_once(tmp_path, monkeypatch) -> None:
    """And cuts them; one with too little is refused before anything is begun."""
    (one,) = parse_objectives("lower")
    index, plans = PerfectIndex(SMALL), list[Plan]()
    ample = shared.worker_plan(index, one, Allowance(memory=4 << 30, threads=4))
    for spare in range(1 << 17, 1 << 19, 1 << 17):
        with suppress(ResourceError):
            plans.append(shared.worker_plan(index, one, Allowance(memory=ample.base + spare, threads=4)))
    assert {plan.at_once for plan in plans} == {1, 2, 4}
    assert ample.at_once == 4
    pieces, real = list[int](), Cut.of_top
    monkeypatch.setattr(Cut, "of_top", lambda *a: counted(pieces, list(real(*a))))
    expected = prove(SMALL, space="all").value
    for at_once in (1, 2, 4):
        tight = ThreadExecutor(
            Allowance(memory=next(plan.memory for plan in plans if plan.at_once == at_once), threads=4)
        )
        assert prove(SMALL, space="all", cluster=tight).value == expected
        tight.close()
    assert max(pieces) > 2
    with pytest.raises(ResourceError, match="in each worker process"):
        prove(
            SMALL,
            space="all",
            folder=tmp_path / "run",
            cluster=ThreadExecutor(Allowance(memory=OVERHEAD + 1000, threads=1)),
        )
    assert not list((tmp_path / "run").rglob("*.states"))


def counted(counts: list[int], pieces: list[Any]) -> list[Any]:
    counts.append(len(pieces))
    return pieces


def test_what_workers_cannot_do_is_refused(threads: ThreadExecutor) -> None:
    with pytest.raises(UsageError, match="choose the engine dense or reachable"):
        force(SMALL, cluster=threads)
    with pytest.raises(UsageError, match="use no GPU"):
        prove(SMALL, space="cuda", cluster=threads)


def test_ranges_of_a_file_have_the_checksum_of_the_file() -> None:
    data, random = Random(1).randbytes(10_000), Random(2)
    for _ in range(50):
        cuts = sorted({0, len(data), *(random.randrange(len(data)) for _ in range(random.randrange(6)))})
        parts = [data[a:b] for a, b in itertools.pairwise(cuts)]
        assert joined_checksum((zlib.crc32(part), len(part)) for part in parts) == zlib.crc32(data)
    assert joined_checksum([]) == 0
