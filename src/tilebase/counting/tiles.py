"""Tiles without their places: the boards of a layer with the same tiles, and the slides that tiles need.

A group is a multiset of tiles, m_e tiles 2**e and n - m_1 - m_2 - ... empty cells of n.  It holds
n! / (empty! m_1! m_2! ...) boards (Slizkov, arXiv:2303.07266, section 4).

The fewest slides are those of a game without a board.  Two random tiles begin.  Each slide merges all pairs
of equal tiles at once, no tile twice, and a random tile is added, until the goal is there.  On a board, tiles
may be in each other's way, so that it takes longer.  Source, unless a function names another: Lees-Miller,
The Mathematics of 2048: Minimum Moves to Win with Markov Chains, cited in the later parts of the series.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tilebase.counting.combinatorics import boards_by_sum
from tilebase.errors import ResourceError, UsageError
from tilebase.game.game import Game, check_is_game

Array = npt.NDArray[Any]
MOST_GROUPS = 3_000_000
"""Groups that are listed: about a gigabyte of memory."""


@dataclass(frozen=True)
class Groups:
    """The groups of a game, in lexicographic order of the tiles, the smallest tile first.

    Attributes
    ----------
    game:
        The game.
    counts:
        ``int8[n, k]``: ``counts[g, e - 1]`` is the number of tiles 2**e of group g.
    sizes:
        ``int64[n]``: how many boards each group has.
    """

    game: Game
    counts: Array
    sizes: Array

    def __len__(self) -> int:
        return len(self.sizes)

    def __repr__(self) -> str:
        return f"<{len(self):,} groups of {self.game}, at most {self.largest:,} boards in one>"

    @property
    def largest(self) -> int:
        """The boards of the largest group."""
        return int(self.sizes.max())

    @property
    def sums(self) -> Array:
        """``int64[n]``: the sum of the tiles of each group."""
        return _sums(self.counts)


def groups_of(game: Game) -> Groups:
    """List the groups of a game.

    Raises `UsageError` if there are unmergeable tiles, `ResourceError` if there are more than `MOST_GROUPS`.

    >>> groups_of(Game("4x4", 512))
    <735,471 groups of 4x4, to 512, at most 163,459,296,000 boards in one>
    """
    check_is_game(game)
    if game.unmergeable:
        raise UsageError(f"the groups of {game} are not counted: it has unmergeable tiles")
    cells, top = game.free_cells, max(game.tops)
    if (most := math.comb(cells + top, top)) > MOST_GROUPS:
        raise ResourceError(f"{game} has {most:,} groups, and at most {MOST_GROUPS:,} are listed")
    alike = len({game.tops[cell] for cell in range(game.cells) if cell not in game.walls}) == 1
    counts, sizes = _of_equal_cells(cells, top) if alike else _cell_by_cell(game, top)
    played = np.isin(_sums(counts), [*boards_by_sum(game)])
    return Groups(game, counts[played], sizes[played])


def _of_equal_cells(cells: int, top: int) -> tuple[Array, Array]:
    """Return the counts and sizes of the groups of cells that may hold the same tiles."""
    choose = np.array([[math.comb(n, m) for m in range(cells + 1)] for n in range(cells + 1)], dtype=np.int64)
    counts, empty, sizes = np.zeros((1, 0), dtype=np.int8), np.array([cells]), np.ones(1, dtype=np.int64)
    for _ in range(top):
        several = empty + 1
        of = np.repeat(np.arange(len(empty)), several)
        more = np.arange(len(of)) - np.repeat(np.cumsum(several) - several, several)
        counts = np.concatenate([counts[of], more[:, None].astype(np.int8)], axis=1)
        sizes, empty = sizes[of] * choose[empty[of], more], empty[of] - more
    return counts, sizes


def _cell_by_cell(game: Game, top: int) -> tuple[Array, Array]:
    """Return the same of cells that may hold different tiles: one cell after the other."""
    # What one tile of each exponent adds to the code of a group: the smallest tile most.
    worth = (game.cells + 1) ** np.arange(top - 1, -1, -1, dtype=np.int64)
    codes, sizes = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    for most in game.tops:
        several = (codes[:, None] + np.concatenate([[0], worth[:most]])).ravel()
        codes, of = np.unique(several, return_inverse=True)
        before, sizes = np.repeat(sizes, most + 1), np.zeros(len(codes), dtype=np.int64)
        np.add.at(sizes, of, before)
    return (codes[:, None] // worth % (game.cells + 1)).astype(np.int8), sizes


def _sums(counts: Array) -> Array:
    return counts.astype(np.int64) @ (2 << np.arange(counts.shape[1], dtype=np.int64))


# -- slides ------------------------------------------------------------------------------------------

Tiles: TypeAlias = tuple[int, ...]
"""``tiles[e]``: the number of tiles 2**e; 0 for e = 0."""


def least_expected_slides(game: Game) -> float:
    """Return the expected number of slides until the goal of a game is made, if tiles had no places.

    A float, rounded in each step.  Raises `UsageError` for a game without a goal tile, with another start
    than two random tiles.

    >>> round(least_expected_slides(Game("4x4", 512)), 4)
    238.6281
    """
    if game.goal_exponent is None or game.start != "two-tiles":
        raise UsageError(f"the least slides of {game} are not known: give a goal, and leave the start out")
    goal, law = game.goal_exponent, {e: float(game.spawn.chance(e)) for e in game.spawn_exponents}
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
