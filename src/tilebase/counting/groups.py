"""Groups: the boards of a layer that hold the same tiles, and how play leads from group to group.

A group is a multiset of tiles, m_e tiles 2**e and n - m_1 - m_2 - ... empty cells of n.  It holds
n! / (empty! m_1! m_2! ...) boards.  A spawn adds a tile.  A slide replaces r_e pairs of tiles 2**e by r_e
tiles 2**(e + 1), for each e at once, or makes the goal and wins; r_1 + r_2 + ... is at most what the lines of
the board have room for.  So a pass from the largest sum down can take one group at a time instead of a layer
(Slizkov, arXiv:2303.07266, section 4):

    W of a group         from V of the groups with one more spawned tile
    V of a group         the maximum over W of the groups that its slides lead to, itself included

Here the groups are counted; no engine takes them yet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.counting.combinatorics import boards_by_sum
from tilebase.errors import ResourceError, UsageError
from tilebase.game.game import Game

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

    @property
    def empty(self) -> Array:
        """``int64[n]``: the empty cells of each group."""
        left: Array = self.game.cells - self.counts.sum(axis=1, dtype=np.int64)
        return left

    def after_spawn(self, exponent: int) -> Array:
        """``int64[n]``: the boards of the group with one more tile 2**exponent; 0 if there is none."""
        # One empty cell less and one tile more: a factor of empty / (tiles + 1).
        follows: Array = self.sizes * self.empty // (self.counts[:, exponent - 1].astype(np.int64) + 1)
        follows[~np.isin(self.sums + (1 << exponent), self.sums)] = 0
        return follows

    def sources(self) -> Array:
        """``int64[n]``: from at most how many groups slides lead to each, itself included.

        Some merges may be unavoidable on every board of a group; this is not looked at.
        """
        grid = self.game.grid
        most = max(sum(len(line) // 2 for line in grid.lines[way]) for way in self.game.directions)
        # ways[r, g]: choices of which tiles of group g were made by r merges.
        ways = np.zeros((most + 1, len(self)), dtype=np.int64)
        ways[0] = 1
        for made in self.counts.T[1:]:  # a 2 is never made
            before = ways.copy()
            for r in range(1, most + 1):
                ways[r:] += np.where(made >= r, before[: most + 1 - r], 0)
        room = np.minimum(most, self.empty)  # a merge leaves a cell empty
        found: Array = np.take_along_axis(ways.cumsum(axis=0), room[None], axis=0)[0]
        return found


def groups_of(game: Game) -> Groups:
    """List the groups of a game.

    Raises `UsageError` if cells differ (limits, walls, unmergeable tiles), `ResourceError` if there are more
    than `MOST_GROUPS`.

    >>> groups_of(Game("4x4", 512))
    <735,471 groups of 4x4, to 512, at most 163,459,296,000 boards in one>
    """
    if len(set(game.tops)) > 1 or game.obstacles or game.unmergeable:
        raise UsageError(
            f"the groups of {game} are not counted: its cells differ, or it has unmergeable tiles"
        )
    cells, top = game.cells, game.tops[0]
    if (most := math.comb(cells + top, top)) > MOST_GROUPS:
        raise ResourceError(f"{game} has {most:,} groups, and at most {MOST_GROUPS:,} are listed")
    choose = np.array([[math.comb(n, m) for m in range(cells + 1)] for n in range(cells + 1)], dtype=np.int64)
    counts, empty, sizes = np.zeros((1, 0), dtype=np.int8), np.array([cells]), np.ones(1, dtype=np.int64)
    for _ in range(top):
        several = empty + 1
        of = np.repeat(np.arange(len(empty)), several)
        more = np.arange(len(of)) - np.repeat(np.cumsum(several) - several, several)
        counts = np.concatenate([counts[of], more[:, None].astype(np.int8)], axis=1)
        sizes, empty = sizes[of] * choose[empty[of], more], empty[of] - more
    played = np.isin(_sums(counts), [*boards_by_sum(game)])
    return Groups(game, counts[played], sizes[played])


def _sums(counts: Array) -> Array:
    found: Array = counts.astype(np.int64) @ (2 << np.arange(counts.shape[1], dtype=np.int64))
    return found
