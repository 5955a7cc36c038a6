"""The dense passes: every board within the limits, against the oracle, the other space, and themselves."""

from __future__ import annotations

import weakref
import zlib
from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

import cached_oracle as oracle
from batching import BATCHED, dense_pass, noting_batches, small_memory
from judging import check
from stopping import raise_at, stop_at
from stored import flip_at, layers_of, number_of
from tilebase import errors, formation, open_table, prove, solve, verify_table
from tilebase.cluster.runs import Run
from tilebase.costs import reachable as costs
from tilebase.costs.passes import passing
from tilebase.costs.shares import layers_of as expected_layers
from tilebase.dense import layers
from tilebase.dense import passes as dense
from tilebase.dense.index import PerfectIndex
from tilebase.dense.layers import Checkpoints
from tilebase.dense.passes import DensePass
from tilebase.dense.plan import Plan
from tilebase.dense.workspace import InMemory
from tilebase.files.format import stored_bytes
from tilebase.files.manifest import Manifest
from tilebase.files.store import LayerStore
from tilebase.game.board import Board
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective, parse_objectives
from tilebase.objectives.types import TYPES
from tilebase.objectives.values import Lower, Upper
from tilebase.questions.running import Ask, choose_space
from tilebase.runtime.resources import OVERHEAD, Allowance

LIMITED = Game("2x3", 32, limits="16,16,8/16,8,8")
MASKED = Game("3x3", 32, masks="..x/..x/..x", start="after 2,0,x/0,2,x/0,0,x", horizon=46)
GAPS = Game("2x2", 32, start="empty")  # no board has a sum between 56 and 64
ONE = Allowance(memory=8 << 30, threads=1)


@pytest.mark.parametrize(
    "game", [Game("2x2"), Game("2x2", limits="64,64,64,64"), Game("1x3", limits=64)], ids=str
)
def test_boards_without_an_end_are_refused(game: Game, tmp_path: Path) -> None:
    """Slides would lead from boards that are indexed to boards that are not."""
    most = 2 ** max(game.tops)
    with pytest.raises(errors.UsageError, match=f"give {most} as the limit"):
        solve(game, "score", space="all", table=tmp_path / "table")
    assert not (tmp_path / "table").exists()
    assert solve(game.changed(limits=most), "score", space="all").start == solve(game, "score").start


def test_only_the_layers_asked_for_are_planned(tmp_path: Path) -> None:
    """What the layers below would need, which are never made, does not count."""
    game, objective = Game("3x3", 128, start="empty"), Objective("win")
    index = PerfectIndex(game)
    top = Plan.of(index, objective, replace(ONE, memory=1 << 40, threads=2), sums=(500, None))
    memory = top.whole_bytes
    assert not Plan.of(index, objective, Allowance(memory=memory, threads=2), sums=(500, None)).batched
    with pytest.raises(errors.ResourceError, match="of memory, even in batches"):
        Plan.of(index, objective, Allowance(memory=memory, threads=2))
    found = solve(game, space="all", memory=memory, threads=2, down_to=500, folder=tmp_path)
    assert not found.complete
    assert found.positions == top.boards == sum(size for s, size in index.sizes().items() if s >= 500)
    with pytest.raises(errors.UsageError, match="has a sum of 5000 or more"):
        solve(game, space="all", down_to=5000)


@pytest.mark.parametrize(("text", "change"), [("lower", 3), ("upper", -3), ("lower", -1), ("upper", 1)])
def test_a_start_that_was_changed_is_found(text: str, change: int, tmp_path: Path) -> None:
    solve(LIMITED, text, space="all", table=tmp_path)
    path = tmp_path / "manifest.json"
    old = Manifest.parse(path.read_bytes(), "manifest")
    value = old.starts[text]
    assert isinstance(value, Lower | Upper)
    moved = type(value)(value.bound - change * Fraction(1, TYPES["uint64"].one))
    path.write_text(replace(old, starts={text: moved}).text)
    assert any("the start under" in sentence for sentence in verify_table(tmp_path, sample=0).wrong)


def test_boards_below_the_start(tmp_path: Path) -> None:
    game = Game("2x2", 16, start="8,4/4,4")
    solve(game, space="all", table=tmp_path)
    exact = oracle.values(game.changed(start="empty"))
    with open_table(tmp_path) as table:
        for board in exact.states:
            check(table.objectives[0], number_of(table.probe(Board(game, board)).value), exact.states[board])
    checked = verify_table(tmp_path, sample=None)
    assert checked.wrong == ()
    assert checked.values == sum(PerfectIndex(game).sizes().values())


def test_another_objective_of_a_table_without_low_sums(tmp_path: Path) -> None:
    """A table may begin with the sum of the start."""
    solve(LIMITED, "win", space="all", table=tmp_path)
    path, wanted = tmp_path / "manifest.json", [s for s in PerfectIndex(LIMITED).sizes() if s >= 4]
    old = Manifest.parse(path.read_bytes(), "manifest")
    with LayerStore(tmp_path / "values/win", old.contents("win")) as store:
        for total in set(store.sums()) - set(wanted):
            store.release(total)
        path.write_text(replace(old, layers={"win": store.pages()}).text)
    solve(LIMITED, "score", space="all", table=tmp_path)
    assert verify_table(tmp_path, sample=100).wrong == ()
    with open_table(tmp_path) as table:
        assert table.layers["win"].sums() == table.layers["score"].sums() == wanted
        assert table.probe("2,2,0/0,0,0", "score").best


def run(folder: Path, game: Game, text: str, **options: Any) -> DensePass:
    (objective,) = parse_objectives(text)
    with dense_pass(folder, game, objective, **options) as made:
        made.run()
    return made


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A pass that nothing stops, with room for all layers; each is made once."""
    return cache(lambda game, text: run(tmp_path_factory.mktemp("whole"), game, text))


@pytest.fixture
def saved(monkeypatch):
    """The checkpoints that are declared: after each layer."""
    monkeypatch.setattr(dense, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(dense, "CHECKPOINT_TIMES", 0.0)
    found, real = [], Checkpoints.declare

    def declare(self, checkpoint):
        found.append(checkpoint)
        real(self, checkpoint)

    monkeypatch.setattr(Checkpoints, "declare", declare)
    return found


def layer_files(folder: Path) -> dict[str, bytes]:
    """The index and the segments of the layers in a folder."""
    found = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".idx", ".seg")}
    assert {"layers.idx", "000.seg"} <= found.keys()
    return found


@pytest.mark.parametrize(
    "case",
    [
        *((BATCHED, one) for one in ("win", "lower:uint32", "upper", "guaranteed", "moves", "score")),
        pytest.param((BATCHED, "win:float16"), marks=pytest.mark.all),
        *((MASKED, one) for one in ("win", "lower:uint32", "moves", "score")),
    ],
    ids=str,
)
def test_batches_change_no_value(tmp_path, monkeypatch, case):
    (game, text), batches = case, noting_batches(monkeypatch)
    written, write = [], layers.DiskStore.write
    monkeypatch.setattr(layers.DiskStore, "write", lambda *a: written.append(a[1].nbytes) or write(*a))
    whole = run(tmp_path / "whole", game, text, keep=True)
    assert not batches
    batched = run(tmp_path / "batched", game, text, keep=True, memory=small_memory(game, text))
    assert max(batches) > 1
    assert (whole.start(), whole.found) == (batched.start(), batched.found)
    assert layer_files(tmp_path / "whole") == layer_files(tmp_path / "batched")
    if game == BATCHED:
        size, boards = batched.backup.dtype.itemsize, sum(batched.sizes.values())
        read = batched.bytes_moved - sum(written)
        assert sum(written) == 3 * size * boards
        assert 5 * size * boards - 8 * size * max(batched.sizes.values()) <= read <= 9 * size * boards


def test_threads_change_no_value(tmp_path):
    for threads in (1, 3):
        run(tmp_path / str(threads), BATCHED, "win", keep=True, threads=threads)
    assert layer_files(tmp_path / "1") == layer_files(tmp_path / "3")


@pytest.mark.parametrize(
    "case",
    [
        *((BATCHED, *one, (5, 30)) for one in product(("lower:uint32", "moves"), (False, True))),
        (BATCHED, "guaranteed", False, (5, 30)),  # as bits
        (MASKED, "win", False, (1, 3, 6)),
        *((GAPS, "lower", False, (stop,)) for stop in range(2, 7)),
    ],
    ids=str,
)
def test_an_interrupted_pass_goes_on(tmp_path, monkeypatch, whole, case):
    game, text, batched, stops = case
    expected = whole(game, text)
    memory = small_memory(game, text) if batched else 1 << 32
    layers = stop_at(monkeypatch, stops)
    for _ in stops:
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, game, text, memory=memory)
    done = run(tmp_path, game, text, memory=memory)
    assert (done.start(), done.found) == (expected.start(), expected.found)
    assert len(layers) == len(set(layers)) + len(stops)  # nothing was done twice but the layers that were cut
    assert not list(tmp_path.glob("*.bits"))
    assert not list(tmp_path.glob("*.states"))
    assert run(tmp_path, game, text, memory=memory).start() == expected.start()


@pytest.mark.parametrize("error", [errors.StorageError, KeyboardInterrupt])
def test_batches_that_cannot_be_written_leave_no_parts(tmp_path, monkeypatch, whole, error):
    """A full disk, say: what a batch has written goes, and the checkpoint stays."""
    memory = small_memory(BATCHED, "win")
    with monkeypatch.context() as patch:
        raise_at(patch, layers.DiskStore, "write", (40,), error("no space"))
        with pytest.raises(error):
            run(tmp_path / "run", BATCHED, "win", memory=memory)
    assert not list((tmp_path / "run").glob(".*"))
    assert list((tmp_path / "run").glob("*.states"))
    assert run(tmp_path / "run", BATCHED, "win", memory=memory).start() == whole(BATCHED, "win").start()


@pytest.mark.parametrize("step", ["complete", "_clean"])
def test_a_pass_that_is_killed_after_its_last_layer(step, tmp_path, monkeypatch, whole):
    """Its last checkpoint is followed by no layer, and needs none above it.

    The kill comes before the journal loses its checkpoint, or between that and the deletion of the states.
    """
    memory = small_memory(BATCHED, "win")
    real = Checkpoints._clean

    def killed(self: Checkpoints, keep: Collection[Path] = ()) -> None:
        if not keep:
            raise RuntimeError
        real(self, set(keep))

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoints, step, killed)
        with pytest.raises(RuntimeError):
            run(tmp_path, BATCHED, "win", memory=memory, keep=True)
    assert ('"saved"' in (tmp_path / "layers.jsonl").read_text()) == (step == "complete")
    assert list(tmp_path.glob("*.states"))
    assert run(tmp_path, BATCHED, "win", memory=memory, keep=True).start() == whole(BATCHED, "win").start()
    assert not list(tmp_path.glob("*.states"))


@pytest.mark.parametrize("times", [0.0, 1e9])
def test_a_pass_saves_no_more_than_a_share_of_its_time(tmp_path, monkeypatch, saved, times):
    """What saving took says how long not to save again."""
    monkeypatch.setattr(dense, "CHECKPOINT_TIMES", times)
    done = run(tmp_path, GAPS, "lower")
    assert len(saved) == (1 if times else len(done.found) - 1)  # the last layer needs none


def quota(self: InMemory, total: int) -> str:
    raise errors.StorageError("cannot write states: Disk quota exceeded")


@pytest.mark.parametrize("refuses", ["disk", "quota"])
def test_a_pass_goes_on_where_the_disk_has_no_space_for_a_checkpoint(
    tmp_path, monkeypatch, caplog, whole, saved, refuses
):
    expected = whole(BATCHED, "lower").start()
    saved.clear()
    if refuses == "disk":
        monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=dense.SPARE_BYTES + 100))
    else:
        monkeypatch.setattr(InMemory, "save", quota)
    with caplog.at_level("INFO"):
        done = run(tmp_path, BATCHED, "lower")
    assert done.start() == expected
    (told,) = [text for text in caplog.messages if "no checkpoint is saved" in text]  # once
    assert ("it takes" if refuses == "disk" else "quota") in told
    assert len(saved) < len(done.found) - 1
    assert bool(saved) == (refuses == "disk")  # small layers are saved


def test_a_pass_that_cannot_save_what_it_is_stopped_with_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(InMemory, "save", quota)
    wanted = "the layers from which a later call continues are not saved: .*quota"
    with pytest.raises(errors.StorageError, match=wanted):
        run(tmp_path / "part", BATCHED, "lower", down_to=20)
    stop_at(monkeypatch, (20,))
    with pytest.raises(errors.StorageError, match=wanted):
        run(tmp_path / "stopped", BATCHED, "lower")


@pytest.mark.usefixtures("saved")
def test_a_checkpoint_has_the_bytes_that_are_asked_for(tmp_path, monkeypatch):
    real, sizes = InMemory.save, []

    def save(self: InMemory, total: int) -> str:
        checksum = real(self, total)
        file = layers.states_path(self._folder, total, self.layout)
        sizes.append((self.layer(total).nbytes, file.stat().st_size))
        return checksum

    monkeypatch.setattr(InMemory, "save", save)
    for objective in ("lower:uint32", "guaranteed"):  # the latter as bits
        sizes.clear()
        run(tmp_path / objective, BATCHED, objective)
        assert sizes
        assert all(told == written > 0 for told, written in sizes)


@pytest.mark.parametrize("text", ["lower", "guaranteed"])
def test_a_damaged_checkpoint_is_found_out(text, tmp_path, monkeypatch, whole):
    with monkeypatch.context() as patch:
        stop_at(patch, (30,))
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, BATCHED, text)
    flipped, _ = tmp_path.glob("*.states" if text == "lower" else "*.bits")
    flip_at(0.1)(flipped)
    with pytest.raises(errors.CorruptError, match=r"delete .* and solve again"):
        run(tmp_path, BATCHED, text)
    flipped.unlink()  # without one of its files a checkpoint is none
    assert run(tmp_path, BATCHED, text).start() == whole(BATCHED, text).start()


def test_what_does_not_fit_is_refused_before_anything_is_done(tmp_path, monkeypatch):
    with pytest.raises(errors.ResourceError, match=r"give more memory"):
        run(tmp_path / "memory", BATCHED, "win", memory=OVERHEAD + 1000)
    memory, asked = small_memory(BATCHED, "win"), []
    full = SimpleNamespace(free=1000)
    monkeypatch.setattr("shutil.disk_usage", lambda path: (asked.append(path), full)[1])
    begun = stop_at(monkeypatch, ())
    with pytest.raises(errors.ResourceError, match=r"need about .* GB of disk"):
        run(tmp_path / "disk", BATCHED, "win", memory=memory)
    assert asked == [tmp_path / "disk"]  # the disk that the files are for
    assert begun == []
    assert list((tmp_path / "disk").iterdir()) == []


def test_only_what_is_missing_needs_space_on_the_disk(tmp_path, monkeypatch):
    (win,), memory = parse_objectives("win"), small_memory(BATCHED, "win")
    plan = Plan.of(PerfectIndex(BATCHED), win, Allowance(memory=memory, threads=2), bits=False)
    totals = sorted(PerfectIndex(BATCHED).sizes(), reverse=True)
    done = len(totals) * 6 // 10

    disk = SimpleNamespace(free=1 << 40)

    def solve_all(**options):
        run(tmp_path, BATCHED, "win", memory=memory, keep=True, **options)

    monkeypatch.setattr("shutil.disk_usage", lambda _: disk)
    begun = stop_at(monkeypatch, (done + 1, done + 2))
    with pytest.raises(KeyboardInterrupt):
        solve_all()
    left = sum(PerfectIndex(BATCHED).sizes()[total] for total in totals[done:])
    needed = plan.disk_bytes + int(stored_bytes([win]) * left)
    for free, fits in ((0, False), (needed - 1, True)):  # states of two layers are there
        disk.free = free
        with pytest.raises(KeyboardInterrupt if fits else errors.ResourceError):
            solve_all()
        assert begun == totals[: done + 1] + totals[done : done + fits]
    disk.free = 0
    solve_all(anyway=True)
    solve_all()  # nothing is missing


def test_a_folder_without_values_is_filled_anew_for_a_table(tmp_path):
    """A bound keeps neither values nor summaries."""
    game = Game("2x2", 32, start="empty")
    prove(game, dtype="uint32", space="all", folder=tmp_path / "work")
    whole = solve(game, "lower:uint32", space="all", table=tmp_path / "other")
    assert solve(game, "lower:uint32", space="all", table=tmp_path / "work").layers == whole.layers
    with open_table(tmp_path / "work") as table:
        assert table.value == whole.value
    assert solve(game, "lower:uint32", space="all", table=tmp_path / "work").positions == whole.positions


def test_a_bound_has_checksums_of_all_its_layers(tmp_path, monkeypatch):
    """Those of the values of a table: whole, in files, by a stopped pass, and joined from pieces."""
    solve(BATCHED, "lower:uint32", space="all", table=tmp_path / "table")
    with layers_of(tmp_path / "table/values/lower-uint32") as table:
        expected = tuple(
            (total, size, f"{zlib.crc32(stored_values(table.layer(total))):08x}")
            for total, size in sorted(PerfectIndex(BATCHED).sizes().items(), reverse=True)
            if total in table.sums()
        )
    batches = noting_batches(monkeypatch)
    options = {"dtype": "uint32", "space": "all", "checksums": True}
    assert prove(BATCHED, **options).layers == expected
    assert not batches
    assert prove(BATCHED, **options, memory=small_memory(BATCHED, "lower:uint32")).layers == expected
    assert max(batches) > 1
    monkeypatch.setattr(layers, "CRC_BOARDS", 1000)
    with monkeypatch.context() as patched:
        stop_at(patched, [12])
        with pytest.raises(KeyboardInterrupt):
            prove(BATCHED, **options, folder=tmp_path / "stopped")
    assert prove(BATCHED, **options, folder=tmp_path / "stopped").layers == expected


def test_ranges_of_a_file_have_the_checksum_of_the_file():
    data, random = Random(1).randbytes(10_000), Random(2)
    for _ in range(50):
        cuts = sorted({0, len(data), *(random.randrange(len(data)) for _ in range(random.randrange(6)))})
        parts = [data[a:b] for a, b in pairwise(cuts)]
        checksum = layers.joined_checksum((zlib.crc32(part), len(part)) for part in parts)
        assert checksum == f"{zlib.crc32(data):08x}"
    assert layers.joined_checksum([]) == "00000000"


def stored_values(layer):
    return b"".join(layer.values(chunk).astype("<u4").tobytes() for chunk in range(layer.chunks))


def test_layers_solved_without_checksums_have_none(tmp_path):
    game, options = Game("2x2", 32, start="empty"), {"dtype": "uint32", "folder": tmp_path / "work"}
    assert prove(game, space="all", **options).layers == ()
    assert prove(game, space="all", **options, checksums=True).layers == ()
    with pytest.raises(errors.UsageError, match="layers have checksums in the space all only"):
        prove(game, space="reachable", **options, checksums=True)


def test_a_table_that_lists_other_boards_is_refused(tmp_path, monkeypatch):
    """Older versions also listed boards with fewer x than the game has."""
    game = Game("2x3", 8, unmergeable=[0, 5], start="empty")
    solve(game, space="all", table=tmp_path)
    sizes = PerfectIndex(game).sizes()
    fewer = {total: size - (total == 6) for total, size in sizes.items()}
    monkeypatch.setattr(PerfectIndex, "sizes", lambda _: fewer)
    with open_table(tmp_path) as table:
        assert table.probe("x,0,2/0,0,x").value is not None
        with pytest.raises(
            errors.CorruptError, match=f"has {sizes[6]} values, but there are {fewer[6]} boards"
        ):
            table.probe("x,4,0/0,2,x")


L3 = Game(
    "4x4", 256, masks="..../..../.xxx/.xxx", start="after 2,0,0,0/0,0,0,0/2,x,x,x/4,x,x,x", horizon=356
)  # fmt: skip
PATTERNED = L3.changed(pattern="128,128,128,*/128,*,*,*/*,*,*,*/*,*,*,*")
WIDE = formation("442").game(512).changed(start="after 2,0,0,0/0,0,0,0/4,2,x,x/x,x,x,x")


def chosen(game: Game, path: Path, space: str = "auto", *, keep: bool = False, **more: Any) -> str:
    ask = Ask(game, (Objective("lower", "uint32"),), space)
    return choose_space(ask, Run(folder=path, memory=8 << 30, threads=1, **more), keep=keep)


def test_the_space_is_chosen_by_estimate(tmp_path, threads, caplog):
    caplog.set_level("INFO", "tilebase")
    assert chosen(PATTERNED, tmp_path) == "all"  # as measured: 28 CPU seconds, 31 for the reachable
    assert "solving all boards: expected are" in caplog.text
    assert f"{sum(PerfectIndex(PATTERNED).sizes().values()):,} boards" in caplog.text
    caplog.clear()
    assert chosen(PATTERNED, tmp_path, keep=True) == "reachable"
    assert "their table is smaller" in caplog.text
    assert chosen(PATTERNED, tmp_path, cluster=threads) == "reachable"
    caplog.clear()
    assert chosen(L3, tmp_path) == "all"  # as measured: 28 CPU seconds, 30 for the reachable
    assert chosen(WIDE, tmp_path) == "reachable"
    assert "solving the reachable boards: expected are" in caplog.text
    assert chosen(MASKED, tmp_path) == "reachable"  # in a moment
    assert chosen(Game("2x3", 32), tmp_path) == "reachable"
    with pytest.raises(errors.UsageError, match="choose one of reachable, all, auto"):
        chosen(MASKED, tmp_path, "both")


def test_a_run_keeps_its_space(tmp_path):
    for space in ("reachable", "all"):
        path = tmp_path / space
        solve(MASKED, space=space, folder=path)
        assert chosen(MASKED, path) == space
        assert solve(MASKED, folder=path).positions == solve(MASKED, space=space).positions
    assert chosen(PATTERNED, tmp_path / "reachable") == "reachable"


def test_estimates_of_games_with_masks():
    """As measured once: 98,403,070 afterstates of L3 to 256, solved in 23 s; all boards in 15 s."""
    objectives = (Objective("lower", "uint32"),)
    reachable = costs.solving(L3, objectives, ONE, table=False)
    every = passing(L3, objectives, ONE)
    assert every.bound == 693_815_207
    afterstates = expected_layers(L3).afterstates.sum()
    assert 98_403_070 / reachable.spread < afterstates < 98_403_070 * reachable.spread
    assert 23 / reachable.spread < reachable.seconds < 23 * reachable.spread
    assert 10 < every.seconds < 20


LEAN = Game("2x4", 32, start="empty")


def lean_pass(folder: Path, text: str) -> DensePass:
    """A pass with memory for one byte less than four layers."""
    (objective,) = parse_objectives(text)
    ample = Plan.of(PerfectIndex(LEAN), objective, Allowance(memory=1 << 40, threads=2))
    one = dense_pass(folder, LEAN, objective, memory=ample.whole_bytes - 1)
    assert (one._plan.lean, one._plan.batched) == (True, False)
    return one


@pytest.mark.parametrize("text", ["lower:uint32", "win", "guaranteed", "score"])
def test_three_layers_at_a_time_give_the_same(text, tmp_path, monkeypatch, whole):
    expected, alive, counts = whole(LEAN, text), weakref.WeakSet(), []
    with lean_pass(tmp_path, text) as one:
        backend = one._layers._backend
        make = backend.layer

        def layer(source):
            made = make(source)
            alive.add(made)
            counts.append(len(alive))
            return made

        monkeypatch.setattr(backend, "layer", layer)
        assert (one.run(), one.start()) == (expected.found, expected.start())
    assert max(counts) == 3


@pytest.mark.usefixtures("saved")
@pytest.mark.parametrize("at", [2, 60, 61, 120])
def test_a_stop_between_fold_and_slides_goes_on_after_the_last_checkpoint(at, tmp_path, monkeypatch, whole):
    expected, done = whole(LEAN, "lower"), []
    with lean_pass(tmp_path, "lower") as one:
        backend = one._layers._backend
        do = backend.do

        def stop(step, *arguments):
            done.append(step)
            if len(done) == at:
                raise KeyboardInterrupt
            do(step, *arguments)

        monkeypatch.setattr(backend, "do", stop)
        with pytest.raises(KeyboardInterrupt):
            one.run()
    layers = stop_at(monkeypatch, ())
    with lean_pass(tmp_path, "lower") as again:
        assert (again.run(), again.start()) == (expected.found, expected.start())
    assert (len(layers) < len(again.sizes)) == (at > 3)


@pytest.mark.parametrize("made", [2, 20])
def test_a_stop_while_a_layer_is_entered_leaves_no_checkpoint_that_lacks_one(
    made, tmp_path, monkeypatch, whole
):
    """The slides of the layer gave up the states on which the last finished one rests, too."""
    expected, entered = whole(LEAN, "lower"), []
    with lean_pass(tmp_path, "lower") as one:
        finish = one._finish

        def stop(*arguments):
            entered.append(arguments)
            if len(entered) == made:
                raise KeyboardInterrupt
            finish(*arguments)

        monkeypatch.setattr(one, "_finish", stop)
        with pytest.raises(KeyboardInterrupt):
            one.run()
    with lean_pass(tmp_path, "lower") as again:
        assert (again.run(), again.start()) == (expected.found, expected.start())
