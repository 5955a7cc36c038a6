"""Counting over all boards gives what counting the reachable ones gives, however it is cut and stopped."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from batching import noting_windows
from conformance.queries import assert_equal
from tilebase.cluster.runs import Run
from tilebase.costs import estimate, passes
from tilebase.costs.passes import counting_all
from tilebase.dense import reached, sizes
from tilebase.dense.index import PerfectIndex
from tilebase.dense.reached import count_plan
from tilebase.errors import CorruptError, ResourceError, StorageError
from tilebase.files import places
from tilebase.files.run import verify_run
from tilebase.game.game import Game
from tilebase.objectives.numbers import enough_text
from tilebase.questions import count as counting
from tilebase.questions.count import count
from tilebase.runtime import progress
from tilebase.runtime.resources import Allowance

GAMES = [Game("3x4", 16), Game("4x4", 8), Game("2x5", 16), Game("2x4", 64, start="empty")]


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_all_boards_count_as_the_reachable_ones(game):
    assert_equal(count(game, space="all", threads=2), count(game, threads=1))


def test_layers_in_windows_count_the_same(monkeypatch):
    """Windows of the least size, which are read again from files."""
    plan, windows = reached.count_plan, noting_windows(monkeypatch)

    def least(*given):
        found, words = plan(*given)
        return replace(found, window=words.two_windows), words

    monkeypatch.setattr(reached, "count_plan", least)
    assert_equal(count(Game("3x3", 128), space="all", threads=2), count(Game("3x3", 128), threads=1))
    assert max(windows) > 3


@pytest.mark.parametrize("chosen", ["all", "reachable"])
def test_the_quicker_pass_counts(chosen, tmp_path, monkeypatch):
    game = Game("3x3", 32)
    asked = []

    def faster(_, reachable, every):
        asked.append(every().seconds / reachable.seconds)
        return chosen

    monkeypatch.setattr(counting, "faster", faster)
    monkeypatch.setattr(passes, "pass_seconds", lambda *_, **__: 0.0)
    count(game, folder=tmp_path / "short", up_to=60)
    assert not asked  # what takes a moment passes over the reachable boards
    monkeypatch.setattr(passes, "WORTH_TELLING", 0)
    count(game, folder=tmp_path / "long", up_to=60)
    assert len(asked) == 1
    begun = [list((tmp_path / name / "afterstates").glob("*.bits")) != [] for name in ("short", "long")]
    assert begun == [False, chosen == "all"]
    for more in ({"lookahead": True}, {"keep": "states"}):
        count(game, **more)
    count(game.changed(walls=[4]))
    assert len(asked) == 1
    assert_equal(count(game, folder=tmp_path / "long"), count(game, space="reachable"))


def test_the_quicker_pass_fits_into_memory_and_disk(tmp_path, monkeypatch):
    """And an estimate that is only a bound, as of the boards after one, decides nothing."""
    game, free = Game("4x4", 64), [math.inf]
    monkeypatch.setattr(estimate, "free_disk", lambda _: free[0])

    def chosen(game, memory):
        return counting._faster(game, Run(folder=tmp_path, memory=memory, threads=2), None)

    assert [chosen(game, memory) for memory in (16 << 30, 2 << 30)] == ["all", "reachable"]
    assert chosen(Game("4x4", 64, start="2,4,2,4/4,2,4,2/2,4,2,4/4,2,4,2"), 16 << 30) == "reachable"
    free[0] = 1e9
    assert chosen(game, 16 << 30) == "reachable"


def test_the_memory_that_is_named_is_enough():
    game, little = Game("3x4", 64), Allowance(memory=0, threads=2)
    least = counting_all(game, little).memory
    with pytest.raises(ResourceError, match=f"needs {enough_text(least)} of memory, and 420 MB"):
        count(game, space="all", memory=420 * 10**6, threads=2, anyway=True)
    assert count(game, space="all", memory=least, threads=2, up_to=40).total("states") > 0


def test_a_plan_takes_no_more_memory_than_there_is():
    index = PerfectIndex(Game("3x4", 64))
    least = count_plan(index, Allowance(memory=0, threads=2))[0].whole_bytes
    for memory in range(least, 4 * least, least // 16):
        assert count_plan(index, Allowance(memory=memory, threads=2))[0].whole_bytes <= memory


@pytest.mark.parametrize("most", ["MOST_PLACES", "MOST_ENTRIES"])
def test_half_boards_with_too_many_sums_are_not_laid_out(most, monkeypatch):
    """1x12 without a goal took gigabytes to be refused."""
    monkeypatch.setattr(sizes, most, 100)
    with pytest.raises(ResourceError, match="mostly gaps, since few halves of boards share a sum"):
        counting_all(Game("3x3", 32), Allowance(memory=1 << 30, threads=2))


def test_the_progress_of_a_count_ends_with_all_boards(monkeypatch):
    monkeypatch.setattr(progress, "OFTEN", 0.0)
    monkeypatch.setattr(sizes, "JOB_BOARDS", 1 << 10)
    told = []
    count(Game("3x3", 64), space="all", progress=told.append)
    shares = [one.fraction for one in told]
    assert shares == sorted(shares)
    assert (shares[0] < 0.01, shares[-1], len(shares) > 100) == (True, 1.0, True)
    assert told[-1].positions == 6**9


@pytest.mark.parametrize("begun", ["all", "reachable"])
def test_a_run_continues_as_it_was_begun(begun, tmp_path):
    game, other = Game("3x3", 32), {"all": "reachable", "reachable": "all"}[begun]
    part = count(game, folder=tmp_path, space=begun, up_to=60)
    assert (part.complete, max(part.sums)) == (False, 60)
    assert_equal(count(game, folder=tmp_path, space=other), count(game))
    assert count(game, folder=tmp_path, space="all").complete
    assert not list(tmp_path.glob("afterstates/*.*"))


def test_a_count_to_a_sum_needs_no_larger_tiles(tmp_path):
    game = Game("3x3")  # all its boards are 2.4e9
    for up_to in (30, 75, 41, 120):
        there = count(game, folder=tmp_path, space="all", up_to=up_to)
        assert_equal(there, count(game, space="reachable", up_to=up_to))
    game = Game("2x2")  # no larger tile can be made than those of the sum 33
    assert_equal(count(game, space="all", up_to=33), count(game, space="reachable", up_to=33))
    little = Allowance(memory=0, threads=2)
    assert counting_all(Game("4x4", 2048), little, up_to=100).memory < 1 << 32
    with pytest.raises(ResourceError, match="are too many for a pass over them"):
        counting_all(Game("4x4", 2048), little)


@pytest.mark.parametrize("up_to", [60, None])
def test_layers_that_a_killed_process_left_are_deleted(up_to, tmp_path):
    game = Game("3x3", 32)
    count(game, folder=tmp_path, space="all", up_to=up_to)
    (tmp_path / "afterstates").mkdir(exist_ok=True)
    left, other = tmp_path / places.bits(12), tmp_path / "afterstates" / "other.bits"
    left.write_bytes(b"left")
    other.write_bytes(b"")
    assert_equal(count(game, folder=tmp_path), count(game))
    assert list(tmp_path.glob("afterstates/*.*")) == [other]
    link = tmp_path / "linked"
    (tmp_path / "afterstates").rename(link)
    left = link / left.name
    left.write_bytes(b"left")
    (tmp_path / "afterstates").symlink_to(link)
    with pytest.raises(StorageError, match="it is a link"):
        count(game, folder=tmp_path)
    assert left.exists()


def test_a_damaged_layer_is_found(tmp_path):
    game = Game("3x3", 32)
    count(game, folder=tmp_path, space="all", up_to=60)
    assert not verify_run(tmp_path).wrong
    file = max(tmp_path.glob("afterstates/*.bits"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    assert [one.split(":")[0] for one in verify_run(tmp_path).wrong] == [f"{file} is damaged"]
    advice = f"delete {tmp_path} and count again"
    with pytest.raises(CorruptError, match=rf"000060.bits is damaged: {advice}"):
        count(game, folder=tmp_path, space="all")
    file.unlink()
    with pytest.raises(CorruptError, match=rf"000060.bits is missing: {advice}"):
        count(game, folder=tmp_path, space="all")
    assert verify_run(tmp_path).wrong == [f"cannot read {file}: No such file or directory"]
