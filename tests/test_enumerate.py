"""The forward pass against the oracle and against published numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilebase.counting.counts import STORED, CountResult
from tilebase.errors import GameError, ResourceError, UsageError
from tilebase.game.game import Game
from tilebase.questions.count import count
from tilebase.runtime.progress import Progress
from tilebase.small import oracle
from tilebase.sparse import forward as engine
from tilebase.sparse import maps
from tilebase.sparse.bitset import BitSet
from tilebase.sparse.forward import Work

GAMES = [
    Game("1x1", start="empty"),
    Game("1x2", 8),
    Game("1x5", start="empty"),
    Game("5x1", 32),
    Game("1x7", 16),
    Game("2x2", 8),
    Game("2x2", 32),
    Game("2x2"),
    Game("2x3", 32),
    Game("3x2", 16, start="empty"),
    Game("2x4", 16),
    Game("4x2", 8, four=0),
    Game("2x2x2", 16),
    Game("1x2x3", 16, four=1, start="empty"),
    Game("2x3", four="1/3"),
    Game("3x3", 8),
    Game("3x3", four=0, start="empty", largest=4),
    Game("2x3", 64, limits="32,16,8/16,8,8", start="empty"),
    Game("3x3", 16, limits="8,4,4/4,4,4/4,4,4"),
    Game("2x2x2", 32, limits="16,8,8,4,8,4,4,4", start="empty"),
    Game("2x3", walls=[2]),
    Game("3x3", 16, walls=[4]),
    Game("1x6", walls=[2], start="empty"),
    Game("2x3", unmergeable=[0]),
    Game("3x3", 8, unmergeable=[4], fixed=True),
    Game("2x3", 16, unmergeable=[1, 5], four=0),
    Game("2x3", 32, limits="16,8,8/8,8,8", unmergeable=[3]),
    Game("2x3", 16, start="2,4,0/0,0,8"),
    Game("1x4", 32, limits="4,8,8,4", pattern="*,4,*,*"),
    Game("2x3", 32, limits="16,8,8/8,4,8", pattern="8,*,*/*,*,4|*,*,8/4,*,*", start="empty"),
    Game("3x6", four=0, start="empty", largest=2),
    Game("2x9", four=0, start="empty", largest=2),
    Game("1x22", four=0, start="empty", largest=2),
]


def assert_equal(ours: CountResult, oracle: CountResult) -> None:
    ours.assert_consistent()
    assert ours.sums.tolist() == oracle.sums.tolist()
    for field in STORED:
        np.testing.assert_array_equal(getattr(ours, field), getattr(oracle, field), err_msg=field)


@pytest.mark.parametrize("lookahead", [False, True], ids=["plain", "lookahead"])
@pytest.mark.parametrize("game", GAMES, ids=str)
def test_equals_the_oracle(game, lookahead):
    assert_equal(count(game, lookahead=lookahead, threads=1), oracle.count(game, lookahead=lookahead))


@settings(max_examples=25, deadline=None)
@given(
    shape=st.sampled_from(["1x4", "2x2", "2x3", "3x2", "1x2x2", "2x2x1"]),
    four=st.sampled_from(["0", "1", "1/10"]),
    start=st.sampled_from(["two-tiles", "empty"]),
    data=st.data(),
)
def test_equals_the_oracle_on_any_small_game(shape, four, start, data):
    plain = Game(shape, four=four, start=start)
    tops = data.draw(st.lists(st.sampled_from([4, 8, 16]), min_size=plain.cells, max_size=plain.cells))
    special = data.draw(st.sets(st.integers(0, plain.cells - 1), max_size=1))
    options = {
        "four": four,
        "start": start,
        "limits": data.draw(st.sampled_from([None, tuple(tops)])),
        data.draw(st.sampled_from(["walls", "unmergeable"])): special,
    }
    options["fixed"] = bool(options.get("unmergeable")) and data.draw(st.booleans())
    bounded = Game(shape, **options)
    goal = data.draw(st.sampled_from([None, 8, 16] if max(bounded.tops) >= 4 else [None, 8]))
    game = Game(shape, goal, pattern=data.draw(patterns(Game(shape, goal, **options))), **options)
    lookahead = data.draw(st.booleans())
    assert_equal(count(game, lookahead=lookahead, threads=1), oracle.count(game, lookahead=lookahead))


def patterns(game):
    """One or two tiles on cells that may hold them, or no pattern."""
    cells = [cell for cell in range(game.cells) if game.tops[cell]]
    tiles = st.dictionaries(st.sampled_from(cells), st.integers(1, 2), min_size=1, max_size=2)
    words = tiles.map(
        lambda held: ",".join(str(2 ** held[c]) if c in held else "*" for c in range(game.cells))
    )
    return st.none() | words


@pytest.mark.parametrize(
    ("shape", "goal", "live"),
    [("3x3", 8, 1186), ("3x3", 16, 16834), ("3x3", 32, 124372), ("3x3", 256, 5643584), ("4x4", 8, 84659)],
)
def test_live_states(shape, goal, live):
    assert count(Game(shape, goal)).total("live") == live


def test_3x3_to_1024_as_published():
    # facts/state_counts.tsv: 25,179,014 with one special win and one special loss.
    assert count(Game("3x3", 1024)).total("live") == 25_179_014 - 2


def test_4x4_to_16_takes_the_path_of_large_layers():
    work: list[Work] = []
    result = count(Game("4x4", 16), threads=2, work=work.append)
    assert result.total("live") == 23_482_821
    assert work[0].flushes > 0


def test_continued_games():
    two, three = count(Game("2x2")).totals, count(Game("3x3")).totals
    assert (two["states"], two["afterstates"], two["raw_states"]) == (110, 67, 662)
    assert (three["states"], three["afterstates"], three["losing"]) == (48_713_519, 31_431_374, 7_388_502)
    assert three["raw_states"] == 388_921_077


@pytest.mark.parametrize("game", [Game("3x3", 64), Game("2x2x3", 16), Game("3x4", 16)], ids=str)
def test_large_path_equals_small_path(game, monkeypatch):
    small = count(game, threads=1)
    monkeypatch.setattr(maps, "SMALL_BITS", 1 << 12)
    for threads in (1, 2, 3):
        assert_equal(count(game, threads=threads), small)


def test_index_tables_that_grow_with_the_sum(monkeypatch):
    game = Game("3x3", 64)
    whole = count(game)
    monkeypatch.setattr(maps, "FREE_HALVES", 1)
    assert_equal(count(game), whole)


class TwoBlocks(BitSet):
    """A set that keeps two blocks in memory and spills the rest."""

    def __init__(self, size, storage, folder, name):
        super().__init__(size, storage[: BitSet.least_words(size)], folder, name)


def test_spilling_gives_the_same_files(tmp_path, monkeypatch):
    game = Game("3x4", 16)
    count(game, folder=tmp_path / "roomy", keep="afterstates", threads=2)
    monkeypatch.setattr(maps, "SMALL_BITS", 1 << 12)
    monkeypatch.setattr(engine, "KEPT_KEYS", 0)
    monkeypatch.setattr(engine, "BitSet", TwoBlocks)
    work: list[Work] = []
    count(game, folder=tmp_path / "tight", keep="afterstates", threads=2, work=work.append)
    assert work[0].bytes_spilled > 0
    roomy, tight = (sorted((tmp_path / name).glob("afterstates/*")) for name in ("roomy", "tight"))
    assert [file.name for file in roomy] == [file.name for file in tight]
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(roomy, tight, strict=True))
    assert not list((tmp_path / "tight").glob(".*"))


def test_a_start_in_a_window_beyond_the_first(tmp_path, monkeypatch):
    """A start board of many tiles lies in a layer that is cut into windows."""
    game = Game("4x4", 64, start="2,4,8,16/2,4,8,16/2,4,8,16/2,4,8,0")
    whole = count(game, up_to=108, keep="afterstates", folder=tmp_path / "roomy")
    monkeypatch.setattr(engine, "BitSet", TwoBlocks)
    work: list[Work] = []
    tight = count(game, up_to=108, keep="afterstates", folder=tmp_path / "tight", work=work.append)
    assert_equal(tight, whole)
    assert whole.total("states") > 1
    assert work[0].bytes_spilled > 0
    for file in (tmp_path / "roomy").glob("afterstates/*.tbl"):
        assert file.read_bytes() == (tmp_path / "tight" / file.parent.name / file.name).read_bytes()


def test_too_little_memory_is_said_before_anything_is_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(maps, "SMALL_BITS", 1 << 12)
    for module in ("resources", "estimates", "enumerate"):
        monkeypatch.setattr(f"tilebase.{module}.OVERHEAD", 0)
    with pytest.raises(ResourceError, match="needs at least"):
        count(Game("3x4", 16), folder=tmp_path / "run", memory=1 << 20)
    monkeypatch.undo()
    assert count(Game("3x4", 16), folder=tmp_path / "run").complete


def test_up_to_stops_and_goes_on(tmp_path):
    game = Game("3x3", 32)
    part = count(game, folder=tmp_path / "run", up_to=30)
    assert not part.complete
    assert part.sums.max() == 30
    assert_equal(count(game, folder=tmp_path / "run"), count(game))
    again = count(game, folder=tmp_path / "run", up_to=30)
    assert_equal(again, part)


def test_small_tables_begin_a_large_game():
    # Nobody makes a 16 before sum 16, so up to sum 12 the goal does not matter.
    large, small = (count(Game("4x4", goal), up_to=12) for goal in (2048, 16))
    assert large.sums.tolist() == [4, 6, 8, 10, 12]
    np.testing.assert_array_equal(large.states, small.states)
    np.testing.assert_array_equal(large.afterstates, small.afterstates)


def test_progress_tells_what_is_done():
    seen: list[Progress] = []
    count(Game("3x3", 64), progress=seen.append)
    assert seen[-1].step == "done"
    assert seen[-1].fraction == 1.0
    assert seen[-1].positions == count(Game("3x3", 64)).total("states")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"keep": "all"}, "choose one of counts, afterstates, states"),
        ({"threads": 0}, "0 threads"),
        ({"memory": 1000}, "too little"),
    ],
)
def test_options_that_make_no_sense(options, words):
    with pytest.raises(UsageError, match=words):
        count(Game("2x2", 8), **options)


def test_boards_that_do_not_fit():
    with pytest.raises(GameError, match="do not fit"):
        count(Game("4x4"))
