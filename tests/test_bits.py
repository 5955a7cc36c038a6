"""The pass with one bit per board: the same Boolean values as with bytes, and many times as fast."""

from __future__ import annotations

import errno
import itertools
import math
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

from batching import dense_pass, noting_windows
from stopping import no_space, raise_at, stop_at
from tilebase import force
from tilebase._kernels import jit, matrices, vectors
from tilebase.costs import passes as costs
from tilebase.costs.rates import RATES, of_cores
from tilebase.dense import layers, sizes, tables
from tilebase.dense import passes as dense
from tilebase.dense import plan as plans
from tilebase.dense.backends import bits
from tilebase.dense.index import PerfectIndex
from tilebase.dense.plan import Plan
from tilebase.dense.sizes import Matrices, Words, outer_and_inner, table_bytes
from tilebase.dense.workspace import Shares
from tilebase.errors import ResourceError, StorageError
from tilebase.files.run import first_sum
from tilebase.game.game import Game
from tilebase.objectives.numbers import byte_text
from tilebase.objectives.objective import Objective
from tilebase.objectives.results import LayerSummary
from tilebase.runtime import storage
from tilebase.runtime.resources import OVERHEAD, Allowance

AMPLE = Allowance(memory=1 << 40, threads=2)
EIGHT = Allowance(memory=8 << 30, threads=2)
CORNERS = "32,*,*/*,*,*/*,*,*|*,*,32/*,*,*/*,*,*|*,*,*/*,*,*/32,*,*|*,*,*/*,*,*/*,*,32"
LIMITED = Game("3x3", 64, limits="32,32,16/16,16,16/8,8,8", start="empty")
MIRRORED_GAME = Game("2x4", 32, start="empty")
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


def least_memory(game: Game, spare: float = 0.0) -> int:
    """Bytes that are enough for bits of one layer and the least window, or a larger one."""
    plan = Plan.of(PerfectIndex(game), Objective("guaranteed"), AMPLE)
    assert plan.words is not None
    held = plan.words.layer + plan.words.window + int(spare * (plan.words.layer - plan.words.window))
    return plan.base + 8 * held


GAMES = pytest.mark.parametrize(
    "game",
    [
        LIMITED,
        Game("2x5", 32, start="empty", goal_sum=42),
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
        Game("2x3x2", 16, limits="8,8,8,4,4,4/8,8,8,4,4,4", start="empty"),
    ],
    ids=str,
)


@GAMES
def test_bits_are_the_bytes(game, tmp_path, monkeypatch, whole):
    """Games that are too large for the conformance suite; also where 64 rows at a time are transposed."""
    assert solved(tmp_path, game, "values") == whole(game)
    monkeypatch.setattr(sizes, "ROWS", 64)
    assert solved(tmp_path / "few", game) == whole(game)


def test_many_fillings_of_a_sum(tmp_path):
    """Those of the fourth part are more bits, those of the second more rows than are gathered at once."""
    game = Game("3x5", 16, limits="2,2,2,2,2/8,8,8,8,8/2,2,2,2,2", spawn=0, start="empty")
    rows = ["4,4,8,8,8", "4,4,8,8,8", "4,4,4,4,4"]
    wide, high = (Game("3x5", 16, limits="/".join(one), start="empty") for one in (rows, rows[::-1]))
    most = [PerfectIndex(one).parts[k].counts.max() for one, k in ((game, 3), (wide, 3), (high, 1))]
    assert np.greater(most, (56, 2 * 56, vectors.MOST_ROWS)).all()
    assert solved(tmp_path, game) == solved(tmp_path, game, "values")
    assert solved(tmp_path / "wide", wide) == solved(tmp_path / "high", high)


@GAMES
def test_windows_change_nothing(game, tmp_path, monkeypatch, whole):
    """Also where matrices begin with a page, as in large layers, and a window is read ahead."""
    expected, used, windows = whole(game), set(), bits.Bits.windows
    monkeypatch.setattr(bits.Bits, "windows", lambda self, two: used.add(two) or windows(self, two=two))
    for paged, spare in ((1 << 40, 0.0), (1 << 40, 0.3), (0, 1.0)):
        monkeypatch.setattr(sizes, "PAGED", paged)
        assert solved(tmp_path / f"{spare}", game, memory=least_memory(game, spare=spare)) == expected
    assert used == {False, True}


def test_a_window_is_smaller_than_a_layer(tmp_path, monkeypatch):
    """The boards of the test above are cut; how much of a layer each window is, is told."""
    shares, real, windows = [], Shares.next, noting_windows(monkeypatch)
    monkeypatch.setattr(Shares, "next", lambda self, share: shares.append(share) or real(self, share))
    with dense_pass(tmp_path, LIMITED, Objective("guaranteed"), memory=least_memory(LIMITED)) as one:
        one.run()
    assert sum(shares) == pytest.approx(len(one.sizes), rel=0.02)
    assert max(windows) > 5
    layers = sum(Matrices(total >> 1, outer_and_inner(one.index)[0]).size for total in one.sizes)
    assert 2 < one.bytes_moved / 8 / layers < 6


def test_threads_and_jobs_change_nothing(tmp_path, monkeypatch, whole):
    assert solved(tmp_path / "one", LIMITED, threads=1) == whole(LIMITED)
    monkeypatch.setattr("tilebase.dense.sizes.JOB_BOARDS", 100)
    assert solved(tmp_path / "three", LIMITED, threads=3) == whole(LIMITED)
    assert solved(tmp_path / "short", LIMITED, memory=least_memory(LIMITED) - 1) == whole(LIMITED)  # by one


def as_words(matrix):
    """A matrix of bits as rows of words."""
    wide = -(-matrix.shape[1] // 64)
    padded = np.zeros((len(matrix), 64 * wide), dtype=np.uint8)
    padded[:, : matrix.shape[1]] = matrix
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


@pytest.mark.parametrize(
    ("rows", "columns"),
    [(1, 1), (63, 65), (64, 64), (70, 600), (600, 70), (1000, 3), (3, 1000), (512, 511), (130, 1030)],
)
@pytest.mark.parametrize("shortest", [1.0, 0.3, 0.0])
def test_a_transposed_matrix(rows, columns, shortest):
    """Rows anywhere, of which some bits count; narrow and wide ones are transposed in different orders."""
    random = np.random.default_rng(rows)
    held = random.integers(0, 2, (rows, columns), dtype=np.uint8)
    known = np.sort(random.integers(int(shortest * columns), columns + 1, rows))[::-1].copy()
    places, order = random.permutation(rows), random.permutation(columns)
    wide, high = -(-columns // 64), -(-rows // 64)
    words = np.full((rows + 1, wide), 2**64 - 1, dtype=np.uint64)
    words[places] = as_words(held)
    scratch = bits.scratch(Words(0, 1, 1, 0, max(rows, columns) + 1, 0), PerfectIndex(LIMITED).parts)
    scratch.square[:] = 2**64 - 1
    scratch.at[:rows], scratch.bits[:rows], scratch.to[:columns] = places * wide, known, order * high
    held *= np.arange(columns) < known[:, None]
    out = np.zeros((columns, high), dtype=np.uint64)
    matrices.transpose(words.ravel(), rows, out.ravel(), False, scratch)
    assert np.array_equal(out[order], as_words(held.T.copy()))
    before = random.integers(0, 2, (columns, rows), dtype=np.uint8)
    out[order] = as_words(before)
    matrices.transpose(words.ravel(), rows, out.ravel(), True, scratch)
    assert np.array_equal(out[order], as_words(before | held.T))


def test_python_does_what_vectors_do(monkeypatch):
    """The operations on vectors, compiled, and the functions in their place."""

    def work(words, square, lanes):
        vectors.copy_lanes(square, np.uint64(16), words, np.uint64(5))
        vectors.transpose_squares(square)
        for size, filled in ((56, 0), (13, 40), (24, 40), (1, 63), (56, 63)):
            vectors.add_runs(words, np.uint64(9), np.uint64(size), np.uint64(filled), lanes, np.uint64(8))

    words = np.random.default_rng(1).integers(0, 2**64, 64 * vectors.LANES, dtype=np.uint64)
    compiled, python = ((words.copy(), words % np.uint64(8)) for _ in range(2))
    jit.kernel()(work)(words, *compiled)
    for name in ("copy_lanes", "transpose_squares", "add_runs"):
        monkeypatch.setattr(vectors, name, getattr(vectors, f"_{name}"))
    work(words, *python)
    assert np.array_equal(compiled, python)
    assert not np.array_equal(compiled[0], words)


@pytest.mark.parametrize("game", [LIMITED, Game("2x4", 32), Game("3x4", 16), Game("2x2x2", 32)], ids=str)
def test_matrices_hold_each_board_or_its_image(game):
    """No board but those a spawn beyond the middle is stored whose image is, and no word has two owners."""
    index = PerfectIndex(game)
    for halves in outer_and_inner(index):
        for total, size in index.sizes().items():
            blocks, units = Matrices(total >> 1, halves), total >> 1
            if not any(index.mirrors):
                assert blocks.boards.sum() == size
            assert blocks.boards.sum() <= size
            assert not halves.halves or not blocks.boards[units // 2 + 2 :].any()
            assert sorted(np.concatenate(blocks.jobs())) == list(np.flatnonzero(blocks.boards))
            stored = blocks.at >= 0
            begins = blocks.at[stored]
            assert [*begins[1:], blocks.size] == list(begins + (blocks.rows * blocks.wide)[stored])
            assert begins[0] == 0


def every_state(folder: Path, game: Game, layout: str = "bits", memory: int = 1 << 32) -> dict[object, bool]:
    """Whether each board that the index has is won."""
    found, options = {}, {"memory": memory, "keep": layout == "values"}
    boards = PerfectIndex(game)
    with dense_pass(folder / layout, game, Objective("guaranteed"), **options) as one:
        solve = one._layers.solve

        def solved_layer(total, *arguments):
            solve(total, *arguments)
            found.update((board, bool(one._layers.value(total, board))) for board in boards.boards(total))

        one._layers.solve = solved_layer
        one.run()
        assert one.layout == layout
    return found


MIRRORED = pytest.mark.parametrize(
    ("game", "mirrors"),
    [
        (Game("2x2", 32), (True, True)),
        (Game("2x2", 16, spawn=0), (True, True)),
        (Game("2x3", 16), (True, False)),
        (Game("3x2", 16), (False, True)),
        (Game("2x4", 8), (True, True)),
        (Game("4x2", 8), (True, True)),
        (Game("2x2x2", 8), (True, True)),
        (Game("2x4", 32, limits="8,4,4,8/8,4,4,8", start="empty"), (True, True)),
        (Game("2x4", 32, limits="8,8,4,4/8,8,4,4", start="empty"), (True, False)),
        (Game("2x4", 32, limits="8,4,4,8/4,4,4,4", start="empty"), (False, True)),
        (Game("2x4", 32, limits="8,4,4,4/4,4,4,8", start="empty"), (False, False)),
        (Game("2x4", 8, walls=[1, 2]), (False, True)),
        (Game("2x4", 16, walls=[0, 3, 4, 7], start="empty"), (True, True)),
        (Game("2x4", 8, start="empty", pattern="4,*,*,*/*,*,*,4|*,*,*,4/4,*,*,*"), (True, True)),
        (Game("2x4", 8, start="empty", pattern="4,*,*,*/4,*,*,*"), (True, False)),
        (Game("2x3", 16, start="empty", unmergeable=[0, 5]), (True, False)),
        (Game("2x4", 8, masks="x.../x...", start="after x,2,0,0/x,2,0,0", horizon=26), (True, False)),
    ],
    ids=str,
)  # fmt: skip


@MIRRORED
def test_mirror_images_change_no_board(game, mirrors, tmp_path, monkeypatch):
    """Board by board: the quarter or half that is stored, all boards as bits, and as bytes."""
    index = PerfectIndex(game)
    assert sorted(index.mirrors) == sorted(mirrors)
    expected, wins = every_state(tmp_path / "bytes", game, "values"), solved(tmp_path / "sums", game)
    assert len(expected) == sum(size for total, size in index.sizes().items() if total >= first_sum(game))
    assert every_state(tmp_path / "some", game) == expected
    for spare in (0.0, 0.3):
        memory = least_memory(game, spare=spare)
        assert every_state(tmp_path / f"windows-{spare}", game, memory=memory) == expected
    monkeypatch.setattr(PerfectIndex, "mirrors", (False, False))
    assert every_state(tmp_path / "all", game) == expected
    assert solved(tmp_path / "sums-of-all", game) == wins


def test_mirror_images_of_wide_rows(tmp_path, monkeypatch):
    """Rows of many words are transposed in another order."""
    game = Game("4x4", 16, limits="/".join(["8,4,4,8"] * 4), start="empty")
    assert PerfectIndex(game).mirrors == (True, True)
    wins = solved(tmp_path / "sums", game)
    monkeypatch.setattr(PerfectIndex, "mirrors", (False, False))
    assert solved(tmp_path / "sums-of-all", game) == wins


@pytest.mark.parametrize(
    ("shape", "goal", "rules", "forced"),
    [
        ("2x3", 32, {"pattern": "two"}, False), ("2x4", 32, {"pattern": "two"}, True),
        ("3x3", 32, {"pattern": "two"}, True), ("2x3", 32, {"goal_sum": 36}, True),
        ("2x3", 32, {"goal_sum": 38}, False), ("2x3", 32, {"pattern": "16,*,*/*,*,*"}, False),
        ("2x3", 16, {"pattern": "2,*,*/*,*,*|*,*,*/*,8,*|*,4,4/*,*,*"}, True),
        ("2x4", 64, {"pattern": "*,*,*,*/32,*,*,32"}, False),
        ("3x3", 64, {"goal_sum": 96, "pattern": CORNERS}, False),
        ("3x3", 64, {"goal_sum": 86, "pattern": CORNERS}, True),
        ("3x3", 64, {"pattern": "*,*,*/*,32,*/*,*,*"}, True),
    ],
)  # fmt: skip
def test_large_tiles_and_sums(shape, goal, rules, forced):
    """Patterns, 36 of two tiles in words of ten bits, and sums: the same boards as the diagrams count."""
    game = Game(shape, goal, start="empty", **rules)
    found = force(game, engine="dense", again=True)
    assert found.forced is forced
    assert found.again is not None
    assert not found.again.differ
    assert force(game, engine="search").forced is forced


def test_a_quarter_is_stored_and_worked_out():
    """The sums near the middle are more than a quarter; the larger the goal, the fewer these are."""
    for goal, least, most in ((16, 1.8, 2), (64, 3, 3.2), (256, 3.6, 3.8)):
        plan = Plan.of(PerfectIndex(Game("2x4", goal)), Objective("guaranteed"), AMPLE)
        assert least < plan.boards / plan.worked < most
    plan = Plan.of(PerfectIndex(Game("4x4", 64)), Objective("guaranteed"), AMPLE)
    assert plan.layer_bytes / 4 < plan.largest / 8 / 3
    assert Plan.of(PerfectIndex(LIMITED), Objective("guaranteed"), AMPLE).worked == 6**2 * 5**4 * 4**3


def test_bits_are_taken_where_they_fit(monkeypatch):
    monkeypatch.undo()
    index, guaranteed = PerfectIndex(Game("2x6", 128, start="empty")), Objective("guaranteed")
    plan = Plan.of(index, guaranteed, AMPLE)
    assert plan.words is not None
    assert plan.largest < 4 * 64 * plan.words.layer < 1.3 * plan.largest
    assert plan.value_bytes < 0.04
    values = Plan.of(index, guaranteed, AMPLE, bits=False)
    assert values.words is None
    assert values.layer_bytes > 20 * plan.layer_bytes
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
    assert Plan.of(index, guaranteed, replace(AMPLE, memory=least - 1)).threads == 1
    least -= plan.words.scratch_bytes
    assert Plan.of(index, guaranteed, replace(AMPLE, memory=least)).whole_bytes == least
    with pytest.raises(ResourceError, match=byte_text(least)):
        Plan.of(index, guaranteed, replace(AMPLE, memory=least - 1))
    less, batches = PerfectIndex(Game("3x4", 64, start="empty")), replace(AMPLE, memory=457_000_000)
    one, short = (Plan.of(less, guaranteed, given) for given in (replace(AMPLE, threads=1), batches))
    least = one.base + 8 * (one.words.layer + one.words.window)
    assert (short.as_bits, short.bits_memory) == (False, least)
    assert costs.passing(less.game, [guaranteed], batches).hint.startswith("with 460 MB of memory")
    assert Plan.of(index, Objective("lower"), AMPLE).words is None
    low = PerfectIndex(index.game.changed(goal_sum=160))
    assert 0 < table_bytes(low, merge="") < 0.9 * table_bytes(index, merge="")
    assert Plan.of(low, guaranteed, AMPLE, bits=False).table_bytes > table_bytes(low, merge="") + low.nbytes


@pytest.mark.parametrize("game", [LIMITED, MIRRORED_GAME])
def test_tables_for_which_there_is_no_memory_are_in_a_file(tmp_path, monkeypatch, whole, game):
    for module in (sizes, tables):
        monkeypatch.setattr(module, "MAPPED", 1)
    size = table_bytes(PerfectIndex(game), merge="")
    memory = least_memory(game) - size

    def run():
        with dense_pass(tmp_path / "pass", game, Objective("guaranteed"), memory=memory) as one:
            assert (one._plan.mapped, one._plan.layers) == (size, len(one.sizes))
            assert "in a file" in one._plan.text
            found = one.run()
            return one.start(), found

    with monkeypatch.context() as patch:
        patch.setattr(storage.system, "reserve", no_space)
        with pytest.raises(StorageError, match="cannot make a file in"):
            run()
    assert run() == whole(game)
    assert [path.name for path in (tmp_path / "pass").iterdir()] == ["layers.jsonl"]


@pytest.mark.parametrize("method", ["create", "write_at", "read_at", "rename", "fold_window", "slide_window"])
@pytest.mark.parametrize("error", [StorageError, KeyboardInterrupt])
def test_a_window_that_cannot_be_kept_leaves_no_parts(tmp_path, monkeypatch, whole, method, error):
    """A full disk, say: what was written of the layer goes, and the states of those above stay."""
    owner = bits.Bits if method.endswith("window") else layers.RawLayer
    for paged, spare in ((1 << 20, 0.0), (0, 1.0)):
        monkeypatch.setattr(sizes, "PAGED", paged)
        memory = least_memory(LIMITED, spare)
        with monkeypatch.context() as patch:
            raise_at(patch, owner, method, (40,), error("no space"))
            with pytest.raises(error):
                solved(tmp_path / f"{spare}", LIMITED, memory=memory)
        assert not list((tmp_path / f"{spare}" / "bits").glob(".*"))
        assert len(list((tmp_path / f"{spare}" / "bits").glob("*.bits"))) >= 2
        assert solved(tmp_path / f"{spare}", LIMITED, memory=memory) == whole(LIMITED)


def test_files_that_cannot_be_read_past_the_cache(tmp_path, monkeypatch, whole):
    """Of some file systems that is known only when they are asked for pages."""
    direct: dict[int, bool] = {}

    def bypass(file, *, bypass=True):
        return direct.update({file: bypass}) or bypass

    def only_cached(move, file, values):
        if direct.get(file.fileno()):
            raise OSError(errno.EINVAL, "not in pages")
        move(file, values)

    monkeypatch.setattr(sizes, "PAGED", 0)
    monkeypatch.setattr(layers.system, "bypass_cache", bypass)
    for name in ("write_all", "_read_into"):
        monkeypatch.setattr(layers, name, partial(only_cached, getattr(layers, name)))
    assert solved(tmp_path, LIMITED, memory=least_memory(LIMITED)) == whole(LIMITED)
    assert direct


@pytest.mark.parametrize(
    ("game", "stops", "paged"),
    [(LIMITED, (20, 40, 60), 0), (MIRRORED_GAME, (9, 20, 33), 1 << 20)],
)
def test_a_checkpoint_of_bits_continues_with_windows_and_not_as_bytes(
    tmp_path, monkeypatch, whole, game, stops, paged
):
    monkeypatch.setattr(sizes, "PAGED", paged)
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
    plan = costs.replacing_pass(large, EIGHT)
    assert plan is not None
    assert 3.5 * plan.worked < 7**12 < 4 * plan.worked
    assert patience == pytest.approx(
        0.1 * (plan.worked * RATES["bits"] / of_cores(2) + costs.LAYER_SECONDS * plan.layers)
    )
    assert costs.patience_for(large, EIGHT, most=21 * patience) == patience
    assert costs.patience_for(large, EIGHT, most=19 * patience) == math.inf
    assert costs.patience_for(large, Allowance(memory=OVERHEAD, threads=2)) == math.inf
    assert costs.patience_for(Game("3x3", 32, start="empty"), EIGHT) < math.inf
    assert costs.patience_for(Game("2x4", 32, start="empty"), EIGHT) == math.inf
    ends = itertools.islice(itertools.product((2, 4, 8, 16, 32), repeat=3), 65)  # none of which become one
    many = "|".join("{0},{1},{2},*,*,*/*,*,*,{0},{1},{2}".format(*tiles) for tiles in ends)
    assert costs.patience_for(large.changed(pattern=many), EIGHT) == math.inf
    monkeypatch.setattr(jit, "is_compiled", lambda _: False)
    assert costs.patience_for(large, EIGHT) == pytest.approx(patience + costs.COMPILING)
