"""Games of every kind, small ones to enumerate and all to draw random boards from."""

from __future__ import annotations

from hypothesis import strategies as st

from conformance.games import SMALL_GAMES
from tilebase.game.game import Cells, Game

CLOSED_GAMES = tuple(
    game if game.closed else game.changed(largest=2 ** max(game.tops)) for game in SMALL_GAMES
)
"""The same games; where nothing bounds tiles, with the largest tile that play can make as a bound."""

SINGLE_MASK_GAMES = tuple(game for game in SMALL_GAMES if len(game.masks) < 2)
"""The games that a pass over all boards takes."""

GAMES = (
    *SMALL_GAMES,
    Game("3x3", 1024),
    Game("3x3", 64, walls=[0, 4]),
    Game("3x3", 64, unmergeable=[4, 7], fixed=True),
    Game("3x4", 512, limits="256,128,16,16/64,64,32,16/16,16,16,16", start="empty"),
    Game("4x4", 2048),
    Game("4x4", largest=32768),
    Game("4x4", largest=16384, unmergeable=[5]),
    Game("4x4", 32768, unmergeable=[5, 6]),
    Game("2x2x3", 256, walls=[0]),
    Game("2x2x4", 64),
    Game("4x5", 128),
    Game("3x7", largest=64, unmergeable=[10]),
    Game("4x8", 8),
    Game("5x5", 8, unmergeable=[12]),
)


def boards(game: Game) -> st.SearchStrategy[Cells]:
    """Boards of a game that are not won, reachable or not."""
    plain = st.tuples(*(st.integers(0, top) for top in game.tops))
    spots = [cell for cell in range(game.cells) if cell not in game.walls]
    if game.fixed or not game.unmergeable:
        places = st.just(set(game.unmergeable))
    else:
        count = len(game.unmergeable)
        places = st.sets(st.sampled_from(spots), min_size=count, max_size=count)
    drawn = st.tuples(plain, places).map(
        lambda drawn: tuple(game.x if cell in drawn[1] else e for cell, e in enumerate(drawn[0]))
    )
    return drawn.filter(lambda board: not game.has_goal_sum(board))


def games_and_boards() -> st.SearchStrategy[tuple[Game, Cells]]:
    """A game and one of its boards."""
    return st.sampled_from(GAMES).flatmap(lambda game: st.tuples(st.just(game), boards(game)))
