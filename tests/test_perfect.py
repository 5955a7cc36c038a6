"""The perfect index against its definition: the documented order, without gaps, for any shape and limits."""

from __future__ import annotations

import itertools

import pytest

from tilebase.counting.combinatorics import boards_by_sum
from tilebase.dense.index import PerfectIndex
from tilebase.errors import BoardError
from tilebase.game.game import Game


def test_boards_with_other_x_have_no_rank():
    index = PerfectIndex(Game("2x3", 8, unmergeable=[0, 5], start="empty"))
    x = index.game.x
    for board in ((x, 0, 0, 1, 0, 0), (x, x, x, 1, 0, 0), (x, x, 1, x, x, 0), (x, x, x, x, x, 0)):
        with pytest.raises(BoardError, match="x"):
            index.rank(board)
    mask = PerfectIndex(Game("2x3", 8, masks="..x/..x", start="empty"))
    with pytest.raises(BoardError, match="breaks a limit"):
        mask.rank((0, x, 1, 0, 0, x))


@pytest.mark.parametrize(
    "game",
    [
        Game("2x3", 8, unmergeable=[0, 5], start="empty"),
        Game("2x3", 8, unmergeable=[1], walls=[3], start="empty"),
        Game("2x3", 16, masks="..x/..x"),
        Game("2x3", 16, masks="..x/..x", horizon=20),
        Game("2x3", 8, masks="..x/...", unmergeable=[1, 2], start="empty"),
        Game("3x2", 16, masks="x./../..", unmergeable=[0, 4, 5], limits="8,8,4,4,8,8", start="empty"),
        Game("1x2x3", 8, walls=[2], start="empty"),
    ],
    ids=str,
)
def test_boards_have_their_x(game: Game) -> None:
    """As many as the game says, and on the mask."""
    index = PerfectIndex(game)
    ranked = {total: list(index.boards(total)) for total in index.sizes()}
    every = [board for boards in ranked.values() for board in boards]
    assert len(every) == sum(index.sizes().values()) == sum(boards_by_sum(game).values())
    tiles = (sorted({*range(top + 1), game.x}) for top in game.tops)
    on_mask = {
        board
        for board in itertools.product(*tiles)
        if board.count(game.x) == len(game.unmergeable) and game.stands(board)
        if game.sum(board) <= game.largest_sum and not any(board[wall] for wall in game.walls)
    }
    assert len(every) == len(on_mask)
    assert set(every) == on_mask
    for total, boards in ranked.items():
        assert [index.rank(board) for board in boards] == list(range(len(boards)))
        assert [index.unrank(total, rank) for rank in range(len(boards))] == boards


def test_layers_are_as_large_as_published():
    index = PerfectIndex(Game("4x4", 256))
    assert max(index.sizes().values()) == 1_353_817_378_016
    layer = index.layer(952)
    assert layer.size == index.sizes()[952]
    for rank in (0, 1, layer.size // 3, layer.size - 1):
        assert index.rank(index.unrank(952, rank)) == rank


def test_parts_of_a_layer_are_ranked_from_nought():
    index = PerfectIndex(Game("2x3", 32))
    whole = index.layer(40)
    kept = (index.top >= 4) & (index.top < 12)
    part = index.layer(40, kept)
    assert part.size == index.block_sizes(40)[kept].sum() < whole.size
    assert (part.offsets >= 0).sum() == ((index.block_sizes(40) > 0) & kept).sum()


def test_odd_sums_have_no_boards():
    index = PerfectIndex(Game("2x2", 32))
    assert index.layer(7).size == 0 == index.block_sizes(7).sum()


def test_boards_on_which_one_tile_wins_are_left_out():
    """The others are those within limits below these tiles, in the same order."""
    won = "32,*,*/*,*,*/*,*,*|*,*,*/*,*,32/*,*,*|*,32,*/*,32,*/*,*,*"
    game = Game("3x3", 64, start="empty", goal_sum=96, pattern=won)
    index, every = PerfectIndex(game, open_only=True), PerfectIndex(game)
    low = PerfectIndex(game.changed(pattern=None, limits="16,32,32/32,32,16/32,32,32"))
    assert index.sizes() == low.sizes()
    assert every.sizes() == {s: n + index.left_out.get(s, 0) for s, n in index.sizes().items()}
    assert min(index.left_out.values()) > 0
    assert (len(index.patterns), len(every.patterns), every.left_out) == (1, 3, {})
    assert list(index.boards(94)) == list(low.boards(94))
    # Starts and spawns bring such tiles to boards that are not won, and a limit that a slide breaks bars it.
    for rules in ({"start": "after 0,0,0/0,32,0/0,0,0"}, {"limits": "32,32,32/16,32,32/32,32,32"}):
        assert not PerfectIndex(game.changed(**rules), open_only=True).spots
