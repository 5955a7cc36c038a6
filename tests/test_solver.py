"""The backward pass: every engine gives what the oracle gives, for every objective and kind of game."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

import numpy as np
import pytest

import tilebase.questions.solve as engine
from stored import chunks_of, contents, flip_at, layers_of, reachable_values, record_of
from tilebase import Game, Objective, formation, open_table, solve, verify_table
from tilebase.cluster.runs import Run
from tilebase.errors import CorruptError, ResourceError, UsageError
from tilebase.files import keys as key_files
from tilebase.files.keys import encode
from tilebase.files.run import Query, RunFolder
from tilebase.files.solved import StoredValues
from tilebase.objectives.encoding import as_floats, summarise
from tilebase.objectives.types import TYPES
from tilebase.sparse import backward, forward, maps, sizes, windows
from tilebase.sparse.recount import Reachable
from windows import keep_one_layer_above

SMALL = Game("2x2", 32)


WHOLE = Game("3x3", 64)
MANY = "win,win:float16,lower,upper:uint32,guaranteed,score,longest"


@pytest.fixture(scope="module")
def whole(solved) -> dict[str, bytes]:
    return contents(solved(WHOLE, MANY))


@pytest.mark.parametrize(("threads", "lean"), [(2, False), (3, False), (1, True), (2, True)])
def test_threads_and_lean_change_no_byte(whole, threads, lean, tmp_path, monkeypatch):
    if lean:
        keep_one_layer_above(monkeypatch.setattr)
    assert not solve(WHOLE, MANY, table=tmp_path, threads=threads, down_to=60).complete
    solve(WHOLE, MANY, table=tmp_path, threads=threads)
    assert contents(tmp_path) == whole


SMALL_LAYERS = (
    Game("3x3", 32),
    Game("2x4", spawn=0, goal=32),
    Game("2x2x2", 16),
    Game("3x3", 32, masks=".../.../.xx"),
    Game("3x3", 32, masks=".../.../.xx|.../..x/..x", horizon=40),
    Game("3x3", goal_sum=60),
    Game("2x4", 32, limits="16,16,8,8/16,16,16,8"),
    formation("L1").game(32),
)
"""Games of all rules that change what slides make."""


@pytest.mark.parametrize("game", SMALL_LAYERS, ids=str)
def test_threads_that_share_small_layers_change_no_byte(game, tmp_path, monkeypatch):
    solve(game, "win:float32", table=tmp_path / "alone", threads=1)
    shared: list[int] = []

    def map_directly(team: Any, tasks: Any, target: Any, workers: Any) -> None:
        shared.append(len(workers))
        several(team, tasks, target, workers)

    several = maps.Team._map_directly
    monkeypatch.setattr(maps.Team, "_map_directly", map_directly)
    monkeypatch.setattr(maps, "UNITED_WORDS", 2)
    monkeypatch.setattr(sizes, "SMALL_PART", 4)
    monkeypatch.setattr(windows, "block_bits_for", lambda _: 7)
    monkeypatch.setattr(forward, "WRITTEN", 8)
    monkeypatch.setattr(key_files, "JOB_KEYS", 8)
    solve(game, "win:float32", table=tmp_path / "shared", threads=3)
    assert contents(tmp_path / "shared") == contents(tmp_path / "alone")
    assert set(shared) == {1, 2, 3}


def test_small_parts_change_no_byte(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(backward, "LINKED", 1 << 11)
    monkeypatch.setattr(backward, "PART_KEYS", 1)
    solve(WHOLE, MANY, table=tmp_path)
    assert contents(tmp_path) == whole


def test_layers_are_released_without_a_table(tmp_path, monkeypatch):
    monkeypatch.setattr("tilebase.files.solved.RELEASED_BYTES", 1)  # so that a segment holds one layer
    game = Game("3x3", 32)
    folder = tmp_path / "run"
    seen = []

    def progress(state):
        seen.append(len(list(folder.glob("values/win/*.seg"))))

    assert solve(game, "win", folder=folder, progress=progress).complete
    assert 0 < max(seen) <= 6  # two above, one in work, and those of the starts
    assert not (folder / "manifest.json").exists()


def test_a_run_without_a_table_does_not_go_on_from_damaged_values(tmp_path):
    assert not solve(SMALL, folder=tmp_path, down_to=20).complete
    flip_at(1.0)(next(tmp_path.glob("values/win/*.seg")))  # the layer of the sum 20
    assert solve(SMALL, folder=tmp_path).value == solve(SMALL).value


@pytest.mark.parametrize("damaged", [["win"], ["win", "guaranteed"]], ids=str)
@pytest.mark.parametrize("places_of", [chunks_of, record_of])
def test_a_damaged_table_gains_objectives(places_of, damaged, tmp_path):
    """The boards are those of an objective that is sound; if there is none, they are counted again."""
    solve(SMALL, "win,guaranteed", table=tmp_path / "table")
    solve(SMALL, "win,guaranteed,score", table=tmp_path / "whole")
    for label in damaged:
        places_of(tmp_path / f"table/values/{label}", 20).flip(20)
    solve(SMALL, "score", table=tmp_path / "table")
    with open_table(tmp_path / "table") as table, open_table(tmp_path / "whole") as whole:
        assert table.start == whole.start
        assert table.manifest.layers["score"] == whole.manifest.layers["score"]
    assert len(verify_table(tmp_path / "table").wrong) == len(damaged)
    solve(SMALL, "win,guaranteed", table=tmp_path / "table")
    assert verify_table(tmp_path / "table").wrong == ()  # a layer that is made again lies behind the others
    with open_table(tmp_path / "table") as table, open_table(tmp_path / "whole") as whole:
        assert table.start == whole.start


def test_down_to(tmp_path):
    solution = solve(SMALL, table=tmp_path, down_to=20)
    assert not solution.complete
    assert [layer.sum for layer in solution.layers[0]] == [20, 22, 24, 26, 28, 32, 34, 36]
    with pytest.raises(LookupError, match="stopped before"):
        float(solution.value)
    assert not (tmp_path / "manifest.json").exists()
    assert solve(SMALL, table=tmp_path).complete


def test_rows_do_not_call_won_what_is_rounded(tmp_path, printed):
    """From no afterstate of sum 4 a win is certain, and yet each value is 1 after rounding."""
    first = json.loads(printed("solve 2x3 32 --spawn 1/1000000 -q -f json"))["layers"][0]
    assert first.keys() >= {"won_rounded", "lost_rounded"}
    assert not first.keys() & {"won", "lost"}
    assert (first["sum"], first["won_rounded"]) == (4, first["positions"])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "uint16", "uint32", "uint64", "bit"])
def test_a_summary_is_that_of_the_numbers_meant(dtype):
    name = {"f": "win", "u": "upper", "b": "guaranteed"}[dtype[0]]
    objective = Objective(name, dtype)
    one = TYPES[dtype].one if name == "upper" else 1
    meant = np.random.default_rng(4).integers(0, 5, 1000) / 4
    meant = meant > 0.5 if dtype == "bit" else meant
    most = one - (dtype in ("uint16", "uint32"))
    stored = meant.astype("u1") if dtype == "bit" else np.minimum(meant * one, most)
    stored = stored if dtype == "bit" else stored.astype(dtype)
    if dtype == "float16":
        stored = stored.view(np.uint16)
    assert np.array_equal(as_floats(objective, stored.view(dtype) if dtype == "float16" else stored), meant)
    pieces = [meant[at : at + 300] for at in range(0, 1000, 300)]
    assert summarise(objective, stored, 300) == [
        (p.min(), p.max(), p.sum(), (p == 1).sum(), (p == 0).sum()) for p in pieces
    ]


def test_certain_wins_stay_exactly_one(solved):
    """A float is 1 where a win is certain, not 0.9999999999999999."""
    game = Game("3x3", 32)
    table = solved(game, "win,guaranteed")
    win, certain = (reachable_values(table, game, Objective(name)) for name in ("win", "guaranteed"))
    assert all(win[board] == 1 for board, forced in certain.items() if forced)


@pytest.mark.parametrize(
    ("goal", "value"),
    [
        (128, "0.999999805905"),
        pytest.param(256, "0.995709643199", marks=pytest.mark.all),
        pytest.param(512, "0.736774177023", marks=pytest.mark.all),
    ],
    ids=["128", "256", "512"],
)
def test_known_probabilities(goal, value):
    assert f"{solve(Game('3x3', goal)).value}" == value


def test_a_table_or_a_folder_not_both(tmp_path):
    with pytest.raises(UsageError, match="not both"):
        solve(SMALL, table=tmp_path, folder=tmp_path)
    with pytest.raises(UsageError, match="the objective win is named twice"):
        solve(SMALL, ["win", Objective("win")])


def test_too_little_memory(tmp_path, monkeypatch):
    """The engine refuses what the estimate before it lets pass."""
    memory = backward.OVERHEAD * 3 // 2
    monkeypatch.setattr(backward, "OVERHEAD", backward.OVERHEAD * 2)
    with pytest.raises(ResourceError, match="give more memory"):
        solve(SMALL, memory=memory)


def test_memory_that_forces_lean(whole, solved, tmp_path, monkeypatch):
    used = []
    real = engine.BackwardPass._lean_parts

    def seen(self, total, file):
        used.append(total)
        return real(self, total, file)

    monkeypatch.setattr(engine.BackwardPass, "_lean_parts", seen)
    with layers_of(solved(WHOLE, MANY) / "values/win") as layers:
        largest = max(int(layers.layer(s).index["keys_bytes"].sum()) for s in layers.sums())
    monkeypatch.setattr(backward, "OVERHEAD", (1 << 30) - (1 << 20) - largest)
    solve(WHOLE, MANY, table=tmp_path, memory=1 << 30)
    assert used
    assert contents(tmp_path) == whole


def test_mixed_layers(tmp_path):
    """A layer of boards of another sum, which the journal names: its checksums are right."""
    solve(SMALL, "win", table=tmp_path, down_to=20)
    with RunFolder(tmp_path, Query(SMALL, keep="afterstates")) as run:
        store = run.layers("afterstates")
        other = store.layer(18).keys(0)[: len(store.layer(14))]
        assert len(other) == len(store.layer(14))
        record = store.write(14, encode(other, store.contents.varying), durable=False)
        lines = run.journal.read()
        for line in lines:
            if line.get("sum") == 14:
                line["files"]["afterstates"] = record.text
        run.journal.rewrite(lines)
    with pytest.raises(CorruptError, match="afterstates, sum 14, holds"):
        solve(SMALL, "win", table=tmp_path)


def test_a_known_layer_that_is_left_out(solved, tmp_path):
    """A stranger's table without a layer that others lead to: nothing is read beyond a directory."""
    stored = StoredValues(tmp_path / "win", WHOLE, Objective("win"))
    run = Run(folder=tmp_path, memory=1 << 30, threads=1)
    with layers_of(solved(WHOLE, MANY) / "values/win") as layers:
        space = Reachable(layers, {s: len(layers.layer(s)) for s in layers.sums() if s != 40})
        with (
            closing(backward.BackwardPass(run, space, [stored])) as backward_pass,
            pytest.raises(CorruptError, match="lacks afterstates of sum 40"),
        ):
            backward_pass.run()
