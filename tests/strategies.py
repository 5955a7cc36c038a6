"""Games of every kind, small ones to enumerate and all to draw random boards from."""

from __future__ import annotations

from hypothesis import strategies as st

from conformance.games import SMALL_GAMES
from tilebase.game.game import Cells, Game

GAMES = (
    *SMALL_GAMES, Game("3x3", 1024), Game("3x3", 64, walls=[0, 4]), Game("3x3", 64, walls=[4, 7]),
    Game("3x4", 512, limits="256,128,16,16/64,64,32,16/16,16,16,16", start="empty"), Game("4x4", 2048),
    Game("4x4", limits=32768), Game("4x4", limits=16384, unmergeable=[5]),
    Game("4x4", 32768, unmergeable=[5, 6]), Game("2x2x3", 256, walls=[0]), Game("2x2x4", 64),
    Game("4x5", 128), Game("3x7", limits=64, unmergeable=[10]), Game("4x8", 8),
    Game("5x5", 8, unmergeable=[12]),
)  # fmt: skip


def boards(game: Game) -> st.SearchStrategy[Cells]:
    """Boards of a game that are not won, reachable or not."""
    plain = st.tuples(*(st.integers(0, top) for top in game.tops))
    spots = [cell for cell in range(game.cells) if cell not in game.walls]
    count = len(game.unmergeable)
    if not game.unmergeable:
        places = st.just(set(game.unmergeable))
    elif game.masks:
        places = st.sampled_from(game.masks).flatmap(lambda mask: _covering(set(mask), spots, count))
    else:
        places = st.sets(st.sampled_from(spots), min_size=count, max_size=count)
    drawn = st.tuples(plain, places).map(
        lambda drawn: tuple(game.x if cell in drawn[1] else e for cell, e in enumerate(drawn[0]))
    )
    most = float("inf") if game.horizon is None else game.last_sum
    return drawn.filter(lambda board: not game.has_goal_sum(board) and game.sum(board) <= most)


def _covering(mask: set[int], spots: list[int], count: int) -> st.SearchStrategy[set[int]]:
    """Cells of so many x that cover a mask."""
    others, more = sorted(set(spots) - mask), count - len(mask)
    return st.sets(st.sampled_from(others), min_size=more, max_size=more).map(mask.union)


def games_and_boards() -> st.SearchStrategy[tuple[Game, Cells]]:
    """A game and one of its boards."""
    return st.sampled_from(GAMES).flatmap(lambda game: st.tuples(st.just(game), boards(game)))
