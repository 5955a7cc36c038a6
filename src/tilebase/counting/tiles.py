"""How many slides a game needs at least, if there were no board: tiles alone.

Two random tiles begin.  Each slide merges all pairs of equal tiles at once, no tile twice, and a random tile
is added, until the goal is there.  On a board, tiles may be in each other's way, so that it takes longer.

Source, unless a function names another: Lees-Miller, The Mathematics of 2048: Minimum Moves to Win with
Markov Chains, cited in the later parts of the series.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TypeAlias

from tilebase.errors import UsageError
from tilebase.game.game import Game

Tiles: TypeAlias = tuple[int, ...]
"""``tiles[e]``: the number of tiles 2**e; 0 for e = 0."""


def least_expected_slides(game: Game) -> float:
    """Return the expected number of slides until the goal of a game is made, if tiles had no places.

    A float, rounded in each step.  Raises `UsageError` for a game without a goal tile, with another start
    than two random tiles, or whose spawns depend on the board.

    >>> round(least_expected_slides(Game("4x4", 512)), 4)
    238.6281
    """
    if game.goal_exponent is None or game.start != "two-tiles" or game.spawn.depends:
        raise UsageError(
            f"the least slides of {game} are not known: give a goal, and leave start and law out"
        )
    goal, law = game.goal_exponent, {e: float(game.spawn.chance(e, game.cells)) for e in game.spawn_exponents}
    begun: dict[Tiles, float] = {(0,) * (goal + 1): 1.0}
    for _ in range(2):
        begun = _spawned(begun, law)
    expected = 0.0
    while begun:
        expected += sum(begun.values())  # one more slide in all games that are not won
        slid: dict[Tiles, float] = defaultdict(float)
        for tiles, p in begun.items():
            after = _merged(tiles)
            if not after[goal]:
                slid[after] += p
        begun = _spawned(slid, law)
    return expected


def least_slides(game: Game) -> int | None:
    """Return a lower bound of the slides to the goal tile, for the luckiest play; None if it does not apply.

    A tile at most doubles in a slide, so the tiles of the last n - 2 spawns are no part of 2^n, and a spawn
    adds at most 4.  So from two tiles of at most 4 each, M(n) = (2^n - 8)/4 + n - 2 slides are needed.  For
    2048 on 4x4 this number is enough.

    Source: Dabish 2026, the theorem on the fewest moves (`facts/other_sources.tsv`).

    >>> least_slides(Game("4x4", 2048))
    519
    """
    n = game.goal_exponent or 0
    wins_else = game.pattern is not None or game.goal_sum is not None
    if wins_else or game.begin.boards or max(game.spawn_exponents) > 2 or n < 3:
        return None
    return ((1 << n) - 8) // 4 + n - 2


def _merged(tiles: Tiles) -> Tiles:
    """Return the tiles after a slide that merges every pair."""
    pairs = [number // 2 for number in tiles]
    return tuple(
        number - 2 * here + below for number, here, below in zip(tiles, pairs, [0, *pairs[:-1]], strict=True)
    )


def _spawned(games: dict[Tiles, float], law: dict[int, float]) -> dict[Tiles, float]:
    """Return the tiles after a spawn, with their probabilities."""
    found: dict[Tiles, float] = defaultdict(float)
    for tiles, p in games.items():
        for exponent, chance in law.items():
            more = (*tiles[:exponent], tiles[exponent] + 1, *tiles[exponent + 1 :])
            found[more] += p * chance
    return found
