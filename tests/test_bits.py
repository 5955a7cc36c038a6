"""The pass with one bit per board: the same Boolean values as with bytes, and many times as fast."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batching import dense_pass
from stopping import stop_at
from tilebase import force
from tilebase._kernels import bits as kernels
from tilebase._kernels import jit
from tilebase._kernels.jit import kernel
from tilebase.cli import main
from tilebase.costs import passes as costs
from tilebase.costs.rates import RATES, of_cores
from tilebase.dense import layers
from tilebase.dense import passes as dense
from tilebase.dense import plan as plans
from tilebase.dense.backends import bits
from tilebase.dense.index import PerfectIndex
from tilebase.dense.plan import Plan
from tilebase.dense.sizes import Matrices, outer_and_inner
from tilebase.errors import CorruptError, ResourceError, StorageError
from tilebase.files.work_folders import list_runs, remove_runs
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.objectives.results import LayerSummary
from tilebase.runtime.resources import OVERHEAD, Allowance

AMPLE = Allowance(memory=1 << 40, threads=2)
EIGHT = Allowance(memory=8 << 30, threads=2)
LIMITED = Game("3x3", 64, limits="32,32,16/16,16,16/8,8,8", start="empty")
SEVERAL = Game("2x4", 16, masks="x..x/....|..../x..x|.xx./....", start="after x,2,0,x/0,2,0,0", horizon=26)
Summaries = dict[int, LayerSummary | None]


@pytest.fixture(autouse=True)
def _bits_for_all(monkeypatch):
    """Also where few halves have the same sum, so that rows are hardly filled."""
    monkeypatch.setattr(plans, "WORTH_BITS", 1e9)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What is found with room for all layers, as bits; each game is solved once."""
    return cache(lambda game: solved(tmp_path_factory.mktemp("whole"), game))


def solved(
    folder: Path, game: Game, layout: str = "bits", threads: int = 2, memory: int = 1 << 32
) -> tuple[object, Summaries]:
    """What the start is worth, and how many afterstates of each layer are won."""
    keep, options = layout == "values", {"memory": memory, "threads": threads}
    with dense_pass(folder / layout, game, Objective("guaranteed"), keep=keep, **options) as one:
        found = one.run()
        assert one.layout == layout
        return one.start(), found


def least_memory(game: Game, threads: int = 2, spare: float = 0.0) -> int:
    """Bytes that are enough for bits of one layer and the least window, or a larger one."""
    plan = Plan.of(PerfectIndex(game), Objective("guaranteed"), replace(AMPLE, threads=threads))
    assert plan.words is not None
    held = plan.words.layer + plan.words.window + int(spare * (plan.words.layer - plan.words.window))
    return plan.base + 8 * held


GAMES = pytest.mark.parametrize(
    "game",
    [
        LIMITED,
        Game("2x5", 32, start="empty"),
        Game("2x5", 16, start="empty", pattern="8,*,*,*,8/*,*,8,*,*|*,4,*,*,*/*,8,8,*,*"),
        Game("3x4", 16, start="empty", limits="8,8,8,8/8,4,4,8/8,8,8,4"),
        Game("2x2x3", 16, start="empty"),
        Game("3x3", 16, start="empty", unmergeable=[0, 4, 8]),
        Game("3x4", 32, masks="..../..../.xxx", start="after 0,0,0,0/0,0,0,2/0,x,x,x"),
        Game(
            "3x3",
            masks="..x/..x/..x",
            start="after 0,2,x/0,0,x/0,0,x",
            pattern="8,*,*/*,*,*/*,8,*",
            horizon=46,
        ),
        SEVERAL,
        Game("3x3", 8, masks=".xx/.../...|.../x../x..", start="after 0,x,x/0,0,0/0,2,0", horizon=20),
        Game("2x3x2", 16, limits="8,8,8,4,4,4/8,8,8,4,4,4", start="empty"),
    ],
    ids=str,
)


@GAMES
def test_bits_are_the_bytes(game, tmp_path, whole):
    """Games that are too large for the conformance suite."""
    assert solved(tmp_path, game, "values") == whole(game)


@GAMES
def test_windows_change_nothing(game, tmp_path, whole):
    """One layer in memory, and the least window or a third of a layer of the files."""
    for spare in (0.0, 0.3):
        memory = least_memory(game, spare=spare)
        assert solved(tmp_path / f"{spare}", game, memory=memory) == whole(game)


def test_a_window_is_smaller_than_a_layer(tmp_path):
    """The boards of the test above are cut; what it cost is told."""
    with dense_pass(tmp_path, LIMITED, Objective("guaranteed"), memory=least_memory(LIMITED)) as one:
        one.run()
    assert one.work.batches > 5
    assert one.work.least < one.work.read + one.work.written
    assert one.work.seconds.keys() >= {"fold", "columns", "rows", "disk"}
    layers = sum(Matrices(total >> 1, *outer_and_inner(one.index)[0]).size for total in one.sizes)
    assert 8 * layers < one.work.written < one.work.read < 8 * 6 * layers


@settings(max_examples=10, deadline=None)
@given(
    limits=st.lists(st.sampled_from([4, 8, 16]), min_size=8, max_size=8), drops=st.sampled_from([0, "1/10"])
)
def test_any_limits(tmp_path_factory, limits, drops):
    game = Game("2x4", 32, limits=limits, spawn=drops, start="empty")
    folder = tmp_path_factory.mktemp("limits")
    assert solved(folder, game) == solved(folder, game, "values")


@pytest.mark.parametrize("shape", ["2x2", "2x2x2", "2x2x3"])
def test_mirror_images_save_half_of_the_slides(tmp_path, monkeypatch, shape):
    """Where B and C may be exchanged; not taken for granted where limits or walls forbid it."""
    game = Game(shape, 16, start="empty")
    assert bits._are_alike(PerfectIndex(game))
    found = solved(tmp_path / "alike", game)
    monkeypatch.setattr(bits, "_are_alike", lambda _: False)
    assert solved(tmp_path / "apart", game) == found
    monkeypatch.undo()
    limits = ",".join(["8"] * (game.cells - 1) + ["4"])
    assert bits._are_alike(PerfectIndex(game.changed(limits=limits)))
    assert not bits._are_alike(PerfectIndex(game.changed(walls=[PerfectIndex(game).parts[1].cells[0]])))


def test_threads_and_jobs_change_nothing(tmp_path, monkeypatch, whole):
    assert solved(tmp_path / "one", LIMITED, threads=1) == whole(LIMITED)
    monkeypatch.setattr("tilebase.dense.sizes.JOB_BOARDS", 100)
    assert solved(tmp_path / "three", LIMITED, threads=3) == whole(LIMITED)


@kernel()
def transpose(source, rows, columns, out, square):
    kernels._transpose(source, rows, columns, out, square)


@pytest.mark.parametrize(
    ("rows", "columns"),
    [(1, 1), (63, 65), (64, 64), (70, 600), (600, 70), (1000, 3), (3, 1000), (512, 511), (130, 1030)],
)
def test_a_transposed_matrix(rows, columns):
    """Narrow ones and wide ones are transposed in different orders; nothing is left of what was there."""
    held = np.random.default_rng(rows).integers(0, 2, (rows, columns), dtype=np.uint8)

    def words(matrix):
        wide = -(-matrix.shape[1] // 64)
        padded = np.zeros((len(matrix), 64 * wide), dtype=np.uint8)
        padded[:, : matrix.shape[1]] = matrix
        return np.packbits(padded, axis=1, bitorder="little").view(np.uint64).ravel().copy()

    wanted = words(held.T.copy())
    out = np.full(len(wanted), 2**64 - 1, dtype=np.uint64)
    square = np.full(64 * kernels.LANES, 2**64 - 1, dtype=np.uint64)
    transpose(words(held), rows, columns, out, square)
    assert np.array_equal(out, wanted)


def test_matrices_hold_each_board_once():
    index = PerfectIndex(LIMITED)
    for outer, inner in outer_and_inner(index):
        for total, size in index.sizes().items():
            blocks = Matrices(total >> 1, outer, inner)
            assert blocks.boards.sum() == size
            jobs = np.concatenate(blocks.jobs())
            assert sorted(jobs) == list(np.flatnonzero(blocks.boards))
            taken = sorted((blocks.at[h], blocks.at[h] + outer[h] * blocks.wide[h]) for h in jobs)
            assert taken[0][0] == 0
            assert taken[-1][1] == blocks.size
            assert all(end == begin for (_, end), (begin, _) in itertools.pairwise(taken))


# -- resources and interruptions -------------------------------------------------------------------


def test_bits_are_taken_where_they_fit(monkeypatch):
    monkeypatch.undo()
    index, guaranteed = PerfectIndex(Game("2x6", 128, start="empty")), Objective("guaranteed")
    plan = Plan.of(index, guaranteed, AMPLE)
    assert plan.words is not None
    assert plan.words.layer * 64 >= plan.largest
    assert plan.value_bytes < 0.13
    values = Plan.of(index, guaranteed, AMPLE, bits=False)
    assert values.words is None
    assert 5 * (values.whole_bytes - values.table_bytes) > 6 * (plan.whole_bytes - plan.table_bytes)
    assert (plan.as_bits, values.as_bits) == (True, False)
    assert Plan.of(index, guaranteed, replace(AMPLE, memory=plan.whole_bytes)).words == plan.words
    lean = Plan.of(index, guaranteed, replace(AMPLE, memory=plan.whole_bytes - 1))
    assert (lean.lean, lean.words, lean.batched) == (True, plan.words, False)
    assert lean.whole_bytes == plan.whole_bytes - plan.words.layer * 8
    windows = Plan.of(index, guaranteed, replace(AMPLE, memory=lean.whole_bytes - 1))
    assert (windows.batched, windows.words) == (True, plan.words)
    assert windows.window == plan.words.layer  # at most: the rest of the memory stays free
    least = plan.base + 8 * (plan.words.layer + plan.words.window)
    assert Plan.of(index, guaranteed, replace(AMPLE, memory=least)).whole_bytes == least
    assert not Plan.of(index, guaranteed, replace(AMPLE, memory=least - 1)).as_bits
    assert Plan.of(index, Objective("lower"), AMPLE).words is None


@pytest.mark.parametrize("windows", [False, True])
def test_an_interrupted_pass_goes_on(tmp_path, monkeypatch, whole, windows):
    memory, expected = least_memory(LIMITED) if windows else 1 << 32, whole(LIMITED)
    layers = stop_at(monkeypatch, (5, 30))
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            solved(tmp_path, LIMITED, memory=memory)
    assert solved(tmp_path, LIMITED, memory=memory) == expected
    assert len(layers) == len(set(layers)) + 2


@pytest.mark.parametrize("method", ["write_at", "write_all", "read_at", "rename"])
@pytest.mark.parametrize("error", [StorageError, KeyboardInterrupt])
def test_a_window_that_cannot_be_kept_leaves_no_parts(tmp_path, monkeypatch, whole, method, error):
    """A full disk, say: what was written of the layer goes, and the states of those above stay."""
    memory, calls, real = least_memory(LIMITED), [], getattr(layers.RawLayer, method)

    def refused(self, *arguments):
        calls.append(self.path.name)
        if len(calls) == 40:
            raise error("no space")
        return real(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(layers.RawLayer, method, refused)
        with pytest.raises(error):
            solved(tmp_path, LIMITED, memory=memory)
    assert not list((tmp_path / "bits").glob(".*"))
    assert len(list((tmp_path / "bits").glob("*.bits"))) >= 2
    assert solved(tmp_path, LIMITED, memory=memory) == whole(LIMITED)


def test_a_damaged_window_is_found_out(tmp_path, monkeypatch):
    memory = least_memory(LIMITED)
    with monkeypatch.context() as patch:
        stop_at(patch, (30,))
        with pytest.raises(KeyboardInterrupt):
            solved(tmp_path, LIMITED, memory=memory)
    file = next((tmp_path / "bits").glob("*.bits"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(CorruptError, match=r"delete .* and solve again"):
        solved(tmp_path, LIMITED, memory=memory)


def test_what_an_interrupted_pass_leaves_can_be_removed(folder, monkeypatch):
    stop_at(monkeypatch, (20,))
    command = ["solve", "2x3", "32", "--objective", "guaranteed", "--space", "all", "-q"]
    assert main(command) == 130
    (left,) = list_runs()
    assert list(left.path.rglob("*.bits"))
    assert remove_runs() == (left,)
    assert not left.path.exists()


@pytest.mark.parametrize(("game", "stops"), [(LIMITED, (20, 40, 60)), (SEVERAL, (4, 8, 11))])
def test_a_checkpoint_of_bits_continues_with_windows_and_not_as_bytes(
    tmp_path, monkeypatch, whole, game, stops
):
    expected, few = whole(game), least_memory(game)
    monkeypatch.setattr(dense, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(dense, "CHECKPOINT_TIMES", 0.0)
    layers = stop_at(monkeypatch, stops, RuntimeError)

    def run(worth: float, memory: int = 1 << 32) -> tuple[object, Summaries]:
        monkeypatch.setattr(plans, "WORTH_BITS", worth)
        with dense_pass(tmp_path, game, Objective("guaranteed"), memory=memory) as one:
            assert one.layout == ("bits" if worth else "values")
            assert bool(one._plan.window) == (memory == few)
            found = one.run()
            return one.start(), found

    for memory in (1 << 32, few, 1 << 32):
        with pytest.raises(RuntimeError):
            run(1e9, memory)
    assert {path.suffix for path in (tmp_path).iterdir()} == {".bits", ".jsonl"}
    with pytest.raises(ResourceError, match="has states as bits, and this call would keep them as values"):
        run(0.0)
    assert run(1e9, few) == expected
    assert len(layers) == len(set(layers)) + 3  # those that were begun when the pass was stopped
    assert [path.name for path in (tmp_path).iterdir()] == ["layers.jsonl"]


def test_force_takes_the_pass_where_it_is_faster(monkeypatch):
    """2x6 to 64: a second of search does not decide it, and the pass takes about as long."""
    monkeypatch.undo()
    monkeypatch.setattr("tilebase.questions.force.FIRST_PATIENCE", 0.0)
    monkeypatch.setattr(costs, "compile_seconds", lambda: 0.0)
    found = force(Game("2x5", 64, start="empty"), memory=1 << 30)
    assert (found.forced, found.engine) == (False, "dense")
    assert found.positions == 6**10
    short = force(Game("2x5", 64, start="empty"), memory=1 << 30, seconds=1e-3)
    assert (short.forced, short.engine) == (None, "search")


def test_a_pass_has_to_be_worth_it(monkeypatch):
    """It is not for few boards, more patterns than a word has bits, too little memory or too little time."""
    monkeypatch.setattr(jit, "is_compiled", lambda _: True)
    large = Game("2x6", 128, start="empty")
    patience = costs.patience_for(large, EIGHT)
    assert patience == pytest.approx(0.1 * 7**12 * RATES["bits"] / of_cores(2))
    assert costs.patience_for(large, EIGHT, most=21 * patience) == patience
    assert costs.patience_for(large, EIGHT, most=19 * patience) == math.inf
    assert costs.patience_for(large, Allowance(memory=OVERHEAD, threads=2)) == math.inf
    assert costs.patience_for(Game("3x3", 32, start="empty"), EIGHT) < math.inf
    assert costs.patience_for(Game("2x4", 32, start="empty"), EIGHT) == math.inf
    pairs = itertools.islice(itertools.combinations(range(12), 2), 65)
    many = "|".join(",".join("8" if cell in pair else "*" for cell in range(12)) for pair in pairs)
    assert costs.patience_for(large.changed(pattern=many), EIGHT) == math.inf
    monkeypatch.setattr(jit, "is_compiled", lambda _: False)
    assert costs.patience_for(large, EIGHT) == pytest.approx(patience + costs.COMPILING)
