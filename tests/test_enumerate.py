"""The forward pass against the oracle and against published numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cached_oracle as oracle
from conformance.queries import assert_equal
from facts import facts
from stored import contents
from tilebase._kernels import forward, rank
from tilebase._kernels.arguments import Source
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.dense.workspace import Shares
from tilebase.game.compiled import CompiledGame
from tilebase.game.formations import formation
from tilebase.game.game import Game
from tilebase.game.symmetry import canonical_starts
from tilebase.questions.count import count
from tilebase.questions.force import force
from tilebase.questions.solve import solve
from tilebase.runtime.progress import Pace, Progress
from tilebase.small.oracle import decided
from tilebase.sparse import index, maps, sizes
from tilebase.sparse.index import GameIndex, Index
from tilebase.sparse.windows import SpilledSet
from windows import hold_little

COUNTS = Path(__file__).parents[1] / "docs/data/counts"
PUBLISHED = {
    f"{row['board']}-{row['goal']}": int(row["value"])
    for row in facts("state_counts.tsv", COUNTS.parents[2] / "src/tilebase/facts")
    if row["quantity"] == "states_with_specials"
}


@pytest.mark.parametrize("start", ["0,0/0,0", "2,0/0,0", "0,0/0,#"])
@pytest.mark.parametrize(
    "rules",
    [{"goal": 16}, {"goal": 4, "spawn": 0}, {"goal": 8, "limits": "4,4/4,4"}, {"pattern": "4,*/*,*|*,8/*,*"}],
    ids=str,
)
def test_lookahead_from_an_empty_or_nearly_empty_board(start, rules):
    walls = [3] if "#" in start else []
    game = Game("2x2", start=start, **({"limits": 8} | rules), walls=walls)
    assert_equal(count(game, lookahead=True, threads=1), oracle.count(game, lookahead=True))


@pytest.mark.parametrize("spawn", ["1/10"])
@pytest.mark.parametrize("fill", [4, 8])
def test_lookahead_of_many_states_at_once(fill, spawn):
    """So many that their spawns fill the buffers often; limits leave no state clear at a glance."""
    game = Game("3x3", 64, spawn=spawn, limits="32,32,32/32,16,16/16,8,8", start="empty")
    random, boards = np.random.default_rng(fill), set()
    while len(boards) < 2 * forward.STATES:
        cells = np.array([random.integers(0, top + 1) for top in game.tops])
        cells[random.permutation(game.cells)[fill:]] = 0
        boards.add(tuple(map(int, cells)))
    keys = np.array(sorted(game.pack(board) for board in boards), dtype=np.uint64)
    left = sorted(game.pack(board) for board in boards if not decided(game, board))
    assert 0 < len(left) < len(boards)
    forward.collapse.want()
    assert maps.undecided(keys, CompiledGame(game).rules, ended=False).tolist() == left


def calls(monkeypatch, owner, name):
    """A list to which each call of a method adds its name."""
    found, real = [], getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *given: found.append(name) or real(*given))
    return found


def test_4x4_to_16_takes_the_path_of_large_layers(monkeypatch):
    monkeypatch.setattr(sizes, "SMALL_BITS", 1 << 20)
    flushes = calls(monkeypatch, maps.Team, "_flush")
    assert count(Game("4x4", 16), threads=2).total("live") == 23_482_821
    assert flushes


@pytest.mark.all  # 2x2 is in the conformance suite
def test_the_continued_game_of_3x3():
    found = count(Game("3x3")).totals
    assert (found["states"], found["afterstates"]) == (48_713_519, 31_431_374)
    assert (found["losing"], found["raw_states"]) == (7_388_502, 388_921_077)


@pytest.mark.parametrize("game", [Game("3x3", 64), Game("2x2x3", 16), Game("3x4", 16)], ids=str)
def test_large_path_equals_small_path(game, monkeypatch):
    small = count(game, threads=1)
    monkeypatch.setattr(sizes, "SMALL_BITS", 1 << 12)
    flushes = calls(monkeypatch, maps.Team, "_flush")
    for threads in (1, 2, 3):
        flushes.clear()
        assert_equal(count(game, threads=threads), small)
        assert 0 < len(flushes) < 2 * len(small.sums)  # layers of 2^15 ranks are marked without arenas


@pytest.mark.parametrize(
    ("threads", "free", "most"),
    [
        (1, 1 << 40, 27), (2, 1 << 40, 27), (4, 1 << 40, 26), (16, 1 << 40, 24), (96, 1 << 40, 24),
        (1, 120 << 20, 27), (1, 60 << 20, 26), (3, 60 << 20, 25), (1, 0, 24), (3, 1 << 20, 24),
    ],
)  # fmt: skip
def test_bits_are_set_at_once_where_those_of_all_threads_fit(threads, free, most):
    assert sizes.is_direct(1 << most, threads, free)
    assert not sizes.is_direct((1 << most) + (1 << most - 2), threads, free)


def test_spilling_gives_the_same_files(tmp_path, monkeypatch):
    game = Game("3x4", 16)
    count(game, folder=tmp_path / "roomy", keep="afterstates", threads=2)
    hold_little(monkeypatch.setattr, 1 << 12)
    spilled = calls(monkeypatch, SpilledSet, "send")
    count(game, folder=tmp_path / "tight", keep="afterstates", threads=2)
    assert spilled
    roomy, tight = (contents(tmp_path / name / "afterstates") for name in ("roomy", "tight"))
    assert roomy.keys() == {"layers.idx", "000.seg"}
    assert roomy == tight
    assert not list((tmp_path / "tight").glob(".*"))


@pytest.mark.parametrize(
    "game", [Game("1x6", 32, walls=[1]), Game("2x3", 16, limits="16,16,16/4,4,4", walls=[0])]
)
def test_a_board_is_cut_where_its_larger_half_has_the_fewest_fillings(game: Game) -> None:
    index = Index(game)
    cells = tuple(range(game.cells))
    larger = [max(index._ways(cells[:cut]), index._ways(cells[cut:])) for cut in range(game.cells + 1)]
    assert max(index._ways(index.head_cells), index._ways(index.tail_cells)) == min(larger) < max(larger)


@pytest.mark.parametrize(
    "game", [Game("2x3", 16, limits="16,8,4/4,4,4", walls=[1]), Game("2x2", 32, limits="4,4/16,8")]
)
def test_an_index_has_all_boards_of_a_layer_and_no_others(game: Game) -> None:
    boards = boards_by_sum(game)
    assert {total: Index(game).layer(total).size for total in boards} == boards


def listed(index: Index, total: int) -> tuple[list[int], list[int]]:
    """All keys of a layer in the order of their ranks, and how many have each largest exponent."""
    layer = index.layer(total)
    bits = np.full((layer.size >> 6) + 1, ~np.uint64(0))
    keys, counts = np.empty(layer.size + 64, dtype=np.uint64), np.zeros(16, dtype=np.int64)
    source, maxima = Source(bits, np.uint64(0), layer.listing), np.empty(1024, dtype=np.uint8)
    assert forward.list_layer(source, np.uint64(0), np.uint64(layer.size), keys, maxima, counts) == layer.size
    found = keys[: layer.size]
    assert layer.rank(found).tolist() == list(range(layer.size))
    return found.tolist(), counts.tolist()


@pytest.mark.parametrize(
    ("game", "totals"),
    [
        (Game("4x4", 16), (0, 6, 16)),
        (Game("3x4", 16), (8, 30, 96)),
        (Game("4x4", 16, walls=[5, 10]), (12,)),
        (Game("4x4", 16, limits="8,8,8,8/8,8,8,8/8,8,8,4/8,8,4,4"), (10, 88)),
        (Game("4x4", 16, walls=[0], start="after #,0,0,0/0,0,0,0/0,0,0,0/0,0,0,0"), (10,)),
        (formation("free12").game(8), (0, 2, 46)),
    ],
    ids=str,
)
def test_many_half_boards_give_the_same_ranks(monkeypatch, game: Game, totals: tuple[int, ...]) -> None:
    plain = Index(game)
    monkeypatch.setattr(rank, "MANY_TAILS", 1)
    cut = Index(game)
    assert (plain.is_cut, cut.is_cut) == (False, True)
    for total in totals:
        keys, counts = listed(cut, total)
        assert (keys, counts) == listed(plain, total)
        boards = [game.unpack(key) for key in keys]
        assert {game.sum(board) for board in boards} == {total}
        tops = [game.max_exponent(board) for board in boards]
        assert counts == [tops.count(exponent) for exponent in range(16)]


def test_quarters_do_not_serve_where_masks_say_which_x_stand_together(monkeypatch) -> None:
    """How many x a quarter has does not say then with which others it makes a half board."""
    monkeypatch.setattr(rank, "MANY_TAILS", 1)
    assert [Index(formation(name).game(16)).is_cut for name in ("free9", "t")] == [True, False]


def test_boards_of_many_half_boards_are_listed_in_two_steps() -> None:
    """The tables of 4x4 to 64 are as large as those of the games for which this is made."""
    index, narrow = Index(Game("4x4", 64)), Index(Game("4x4", 64), cap=3)
    assert (index.is_cut, narrow.is_cut) == (True, False)
    for total in (4, 14):  # without a tile above 2^3 both have the same boards
        assert listed(index, total) == listed(narrow, total)


@pytest.mark.parametrize(
    ("module", "name", "game"),
    [(rank, "MANY_TAILS", Game("3x4", 8)), (index, "FREE_HALVES", Game("3x3", 64))],
    ids=["many half boards", "tables that grow with the sum"],
)
def test_other_tables_of_half_boards_count_the_same(module, name, game, monkeypatch) -> None:
    whole = count(game)
    monkeypatch.setattr(module, name, 1)
    assert module is index or Index(game).is_cut
    assert_equal(count(game), whole)


@pytest.mark.parametrize("game", [Game("5x2", limits=4), Game("2x6", walls=[4, 11], horizon=12)], ids=str)
def test_more_than_four_lines_and_long_lines(game: Game) -> None:
    """Five lines of two cells take a loop of their own, and two lines of 24 bits have no table."""
    assert_equal(count(game), oracle.count(game))


def test_a_start_in_a_window_beyond_the_first(tmp_path, monkeypatch):
    """A start board of many tiles lies in a layer that is cut into windows."""
    game = Game("3x4", 64, start="2,4,8,16/2,4,8,16/2,4,8,0")
    (start,), total = canonical_starts(game), 74
    assert GameIndex(game).at(total).rank(np.array([game.pack(start)], dtype=np.uint64))[0] > 3_000_000
    whole = count(game, up_to=total + 10, keep="afterstates", folder=tmp_path / "roomy")
    hold_little(monkeypatch.setattr, 1 << 12)
    spilled = calls(monkeypatch, SpilledSet, "send")
    tight = count(game, up_to=total + 10, keep="afterstates", folder=tmp_path / "tight")
    assert_equal(tight, whole)
    assert whole.total("states") > 1
    assert spilled
    files = contents(tmp_path / "roomy" / "afterstates")
    assert files.keys() == {"layers.idx", "000.seg"}
    assert contents(tmp_path / "tight" / "afterstates") == files


@pytest.mark.parametrize("due", [True, False])
def test_a_pass_reports_its_end_in_any_case(due, monkeypatch):
    """In between it reports as often as the pace allows."""
    monkeypatch.setattr(Pace, "due", lambda _: due)
    seen: list[Progress] = []
    result = count(Game("2x2", 32), progress=seen.append, threads=1)
    assert (len(seen) > len(result.sums)) == due
    assert (seen[-1].step, seen[-1].fraction) == ("done", 1.0)
    assert seen[-1].positions == result.total("states")


PASSES = {
    "solve": lambda game, **how: solve(game, "win", space="reachable", **how),
    "pass": lambda game, **how: solve(game, "win", space="all", **how),
    "bits": lambda game, **how: force(game, engine="dense", **how),
    "count": lambda game, **how: count(game, up_to=20, **how),
    "count all": lambda game, **how: count(game, up_to=20, space="all", **how),
}


@pytest.mark.parametrize("name", PASSES)
def test_what_is_done_grows_to_the_whole(name, monkeypatch):
    """Also in the middle of each step of a layer, of which a pass over a small game tells nothing."""
    real = Shares.next
    monkeypatch.setattr(Shares, "next", lambda self, share: (tell := real(self, share))(0.5) or tell)
    monkeypatch.setattr(Pace, "due", lambda _: True)
    seen: list[Progress] = []
    PASSES[name](Game("2x3", 32), progress=seen.append, threads=1)
    parts = [one.fraction for one in seen]
    assert parts == sorted(parts)
    assert (parts[0] < 0.5, parts[-1]) == (True, 1.0)


@pytest.mark.parametrize("name", sorted(path.stem for path in COUNTS.iterdir()))
def test_the_counts_in_the_repository(name):
    """The totals, and the first layers; Lees-Miller counts two states for all that are won or lost."""
    rows = [dict(fact.row) for fact in facts(f"{name}.tsv", COUNTS)]
    shape, _, goal = name.partition("-")
    game = Game(shape, int(goal)) if goal else Game(shape)
    first = [{key: str(n) for key, n in row.items()} for row in count(game, up_to=44).rows(("sum", "max"))]
    assert rows[: len(first)] == first
    if published := PUBLISHED.get(name):
        assert sum(int(row["live"]) for row in rows) + 2 == published
