"""Why slides are not allowed, in words."""

from __future__ import annotations

from collections.abc import Sequence

from tilebase.game.game import Game

NOTHING = "moves nothing"
"""The reason for a slide that leaves the board as it is, on which any other reason says less."""


def refused_slides(game: Game, cells: Sequence[int]) -> dict[str, str]:
    """``refused[direction]``: why a slide is not allowed on a state, for each that is not.

    >>> refused_slides(Game("2x2", 32), (1, 0, 2, 0))
    {'left': 'moves nothing', 'up': 'moves nothing', 'down': 'moves nothing'}
    >>> refused_slides(Game("2x2", 16, unmergeable=[0], masks="x./.."), (15, 1, 0, 2))
    {'right': 'moves nothing', 'up': 'moves nothing', 'down': 'breaks the formation'}
    """
    allowed = game.slides(cells)
    return {
        direction: _reason(game, tuple(cells), direction)
        for direction in game.directions
        if direction not in allowed
    }


def _reason(game: Game, cells: tuple[int, ...], direction: str) -> str:
    if game.has_goal_sum(cells):
        return "the game is won"
    after = game.slide_any(cells, direction)
    if after == cells:
        return NOTHING
    return "makes a tile that the game does not allow" if game.stands(after) else "breaks the formation"
