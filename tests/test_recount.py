"""Solving with a ceiling on the disk: every k-th pair of layers is kept, the others are counted twice."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stored import contents, flip_at
from tilebase import Game, Progress, Solution, count, solve, verify_table
from tilebase.cluster.runs import Run
from tilebase.costs.reachable import pairs_kept
from tilebase.dense.reached import Marks
from tilebase.dense.steps import Source
from tilebase.errors import CorruptError, ResourceError, WrongGameError
from tilebase.files import places
from tilebase.files.run import verify_run

GAME = Game("2x4", 64)
MOST, TABLE = 240_000, 1_750_000
"""Bytes for which layers have to be counted twice, without a table and with one."""


@pytest.fixture(autouse=True)
def segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """A segment holds one layer, so that what is given up is deleted; and each step is told."""
    monkeypatch.setattr("tilebase.runtime.progress.OFTEN", 0.0)
    for module in ("run", "solved"):
        monkeypatch.setattr(f"tilebase.files.{module}.RELEASED_BYTES", 1)


@pytest.fixture(scope="module")
def expected() -> Solution:
    return solve(GAME, "win,lower")


class Watch:
    """The steps of a run, and the most bytes of afterstates that were in its folder."""

    def __init__(self, folder: Path, stop: int = 1 << 30) -> None:
        self.folder, self.left = folder / "afterstates", stop
        self.steps: list[str] = []
        self.most = 0

    def __call__(self, progress: Progress) -> None:
        self.steps.append(progress.step)
        self.most = max(self.most, sum(one.stat().st_size for one in self.folder.glob("*.seg")))
        self.left -= progress.step == "recount"
        if not self.left:
            raise KeyboardInterrupt


def watched(place: Path, stop: int = 1 << 30, **options: Any) -> tuple[Any, Watch]:
    watch = Watch(place, stop)
    return solve(GAME, "win,lower", progress=watch, threads=2, **options), watch


def files(table: Path) -> dict[str, bytes]:
    """The files of a table; the journal of counts names how the run kept its layers."""
    return {name: data for name, data in contents(table).items() if name != places.COUNTS}


def test_tables_are_the_same_with_less_disk(tmp_path: Path, expected: Solution) -> None:
    whole, before = watched(tmp_path / "whole", table=tmp_path / "whole")
    part, after = watched(tmp_path / "part", table=tmp_path / "part", disk=TABLE)
    assert "recount" in after.steps
    assert "recount" not in before.steps
    assert after.most < 0.6 * before.most
    assert files(tmp_path / "whole") == files(tmp_path / "part")
    assert (part.value, part.layers) == (whole.value, whole.layers) == (expected.value, expected.layers)
    assert not verify_table(tmp_path / "part").wrong


@pytest.mark.parametrize("stop", [1, 5, 20])
def test_a_stopped_run_goes_on_whatever_the_disk_is_then(tmp_path, expected, stop) -> None:
    with pytest.raises(KeyboardInterrupt):
        watched(tmp_path, stop, folder=tmp_path, disk=MOST)
    assert verify_run(tmp_path).sound
    found, watch = watched(tmp_path, folder=tmp_path)
    assert "recount" in watch.steps
    assert (found.value, found.layers[0][-1]) == (expected.value, expected.layers[0][-1])


@pytest.mark.parametrize("most", [160_000, 265_000])
def test_layers_without_boards_are_stepped_over(tmp_path: Path, most: int) -> None:
    """Where only 4s are spawned, every second sum has no board."""
    game = Game("2x4", 128, spawn=1)
    found = solve(game, "win,longest", folder=tmp_path, disk=most, anyway=True)
    assert "apart" in (tmp_path / places.COUNTS).read_text()
    expected = solve(game, "win,longest")
    assert (found.value, found.layers) == (expected.value, expected.layers)


@pytest.mark.parametrize("gone", [False, True])
def test_damaged_pairs_are_made_again(tmp_path: Path, expected: Solution, gone: bool) -> None:
    with pytest.raises(KeyboardInterrupt):
        watched(tmp_path, 5, folder=tmp_path, disk=MOST)
    for path in sorted((tmp_path / "afterstates").glob("*.seg"))[2:5]:
        flip_at(1)(path)
    if gone:
        shutil.rmtree(tmp_path / "afterstates")
    assert ("lacks the layer of sum" in verify_run(tmp_path).wrong[0]) == gone
    assert solve(GAME, "win,lower", folder=tmp_path).value == expected.value


def test_pairs_are_as_near_as_the_disk_allows() -> None:
    layers = np.full(1000, 1.0)
    assert pairs_kept(layers, 1000) == (0, 1000)
    assert pairs_kept(layers, 600) == (4, 502)
    assert pairs_kept(layers, 10) == (40, 88)  # 25 pairs, and 38 layers between two
    apart, kept = pairs_kept(np.full(100_000, 1.0), 1)
    assert 4 < apart < 2_000
    assert kept < 1_000
    for apart, kept in (pairs_kept(layers, most) for most in (100, 200, 300)):
        between = apart - 2
        assert kept == sum(at % apart < 2 for at in range(1000)) + between


# -- boards found in bits ------------------------------------------------------------------------------

LIMITED = [
    Game("2x4", 64, limits="32,32,16,8/16,16,8,8"),
    Game("3x3", 64, limits="32,16,8/16,16,8/8,8,8", pattern="lemma1", start="empty"),
    Game("3x3", 32, limits="16,16,8/16,8,8/8,4,8", spawn=1),
    Game("2x4", 64, limits="32,32,16,8/16,16,8,8", walls=[5], pattern="two"),
]


@pytest.fixture
def reached() -> Iterator[list[Solution]]:
    """The solutions of these games on boards that are reached one by one; from then on bits find them."""
    with pytest.MonkeyPatch.context() as patch:
        found = [solve(game, "win,lower") for game in LIMITED]
        patch.setattr("tilebase.costs.passes.marking_seconds", lambda *_: (1.0, 1.0))
        patch.setattr("tilebase.costs.reachable.WORTH_MARKING", 0.0)
        yield found


def test_boards_found_in_bits_have_the_same_values(tmp_path: Path, reached: list[Solution]) -> None:
    for at, game in enumerate(LIMITED):
        for disk in (None, 60_000):
            path = tmp_path / f"{at}-{disk}"
            found = solve(game, "win,lower", folder=path, disk=disk, anyway=True)
            assert (found.value, found.layers) == (reached[at].value, reached[at].layers)
            assert verify_run(path).sound
            first = (path / places.COUNTS).read_text().splitlines()[0]
            assert '"marked":true' in first
            assert at > 2 or ('"apart":0' in first) == (disk is None)


@pytest.mark.parametrize(("step", "which"), [("write", 30), ("write", 70), ("recount", 2), ("solve", 3)])
def test_a_run_with_bits_goes_on_after_a_stop(tmp_path, reached, step, which) -> None:
    game, left = LIMITED[0], which

    def stop(progress: Progress) -> None:
        nonlocal left
        left -= progress.step == step
        if not left:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        solve(game, "win,lower", folder=tmp_path, disk=100_000, anyway=True, progress=stop)
    assert verify_run(tmp_path).sound
    (tmp_path / places.bits(2)).write_bytes(b"left by a process that was killed")
    refusal = "found in bits to be solved, without counts of states: choose another folder"
    for ask in (partial(count, keep="afterstates", folder=tmp_path), partial(solve, table=tmp_path)):
        with pytest.raises(WrongGameError, match=refusal):
            ask(game)
    with pytest.raises(ResourceError, match="give more, since 250 MB are for the other parts of this run"):
        solve(game, "win,lower", folder=tmp_path, memory="500MB", anyway=True)
    found = solve(game, "win,lower", folder=tmp_path, anyway=True)
    assert (found.value, found.layers[0][-1]) == (reached[0].value, reached[0].layers[0][-1])
    assert not list(tmp_path.glob("afterstates/*.bits"))


def test_boards_of_another_layer_are_not_looked_up(tmp_path: Path) -> None:
    run = Run(folder=tmp_path, memory=1 << 30, threads=1)
    with closing(Marks(LIMITED[0], tmp_path, run, 1 << 29)) as marks:
        layer = marks._bits.layer(Source(12))
        with pytest.raises(CorruptError, match="a layer has 2 boards of another sum, or not of 2x4"):
            layer.held(np.array([[9] * 8, [1] * 8, [1] * 6 + [0] * 2], dtype=np.uint8))
