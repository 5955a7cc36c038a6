"""Groups: the boards of a layer that hold the same tiles, and how play leads from group to group.

A group is a multiset of tiles, m_e tiles 2**e and n - m_1 - m_2 - ... empty cells of n.  It holds
n! / (empty! m_1! m_2! ...) boards.  A spawn adds a tile.  A slide replaces r_e pairs of tiles 2**e by r_e
tiles 2**(e + 1), for each e at once, or makes the goal and wins; r_1 + r_2 + ... is at most what the lines of
the board have room for.  So a pass from the largest sum down can take one group at a time instead of a layer
(Slizkov, arXiv:2303.07266, section 4):

    W of a group         from V of the groups with one more spawned tile
    V of a group         the maximum over W of the groups that its slides lead to, itself included

Here the groups are counted; `tilebase.dense.groups` solves a game by them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

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

    @property
    def empty(self) -> Array:
        """``int64[n]``: the empty cells of each group, walls aside."""
        left: Array = self.game.free_cells - self.counts.sum(axis=1, dtype=np.int64)
        return left

    @cached_property
    def codes(self) -> Array:
        """``int64[n]``: a number for each group, ascending: its counts as digits."""
        found: Array = self.counts.astype(np.int64) @ self._worth
        return found

    @property
    def _worth(self) -> Array:
        """What one tile of each exponent adds to the code of a group."""
        return _worth_of_tiles(self.game, self.counts.shape[1])

    def find(self, codes: Array) -> Array:
        """``int64[k]``: where the groups with these codes are, -1 for one that does not exist."""
        at = np.minimum(np.searchsorted(self.codes, codes), len(self) - 1)
        found: Array = np.where(self.codes[at] == codes, at, -1)
        return found

    def with_tile(self, exponent: int, more: int = 1) -> Array:
        """``int64[n]``: where each group with one more tile 2**exponent is, or one less with `more` -1.

        -1 if it does not exist.
        """
        changed = self.codes + more * self._worth[exponent - 1]
        there = self.empty > 0 if more > 0 else self.counts[:, exponent - 1] > 0
        found: Array = np.where(there, self.find(changed), -1)
        return found

    def after_spawn(self, exponent: int) -> Array:
        """``int64[n]``: the boards of the group with one more tile 2**exponent; 0 if it does not exist."""
        at = self.with_tile(exponent)
        follows: Array = np.where(at >= 0, self.sizes[at], 0)
        return follows

    @cached_property
    def most_merges(self) -> int:
        """The most merges of one slide: those that the lines of a direction have room for."""
        grid = self.game.grid
        return max(sum(len(line) // 2 for line in grid.lines[way]) for way in self.game.directions)

    def after_slides(self, group: int) -> list[int]:
        """Return where the groups are that slides may lead to, the group itself first.

        Not promised: that a slide leads to each of them.
        """
        counts, worth = self.counts[group].tolist(), self._worth.tolist()
        found = [(int(self.codes[group]), 0)]  # code, merges
        for e in range(len(counts) - 1):  # a merge of two of the largest tiles wins, or is not allowed
            gain = worth[e + 1] - 2 * worth[e]
            found = [
                (code + r * gain, merges + r)
                for code, merges in found
                for r in range(min(counts[e] // 2, self.most_merges - merges) + 1)
            ]
        at = self.find(np.array([code for code, _ in found]))
        return [int(one) for one in at if one >= 0]

    def sources(self) -> Array:
        """``int64[n]``: from at most how many groups slides lead to each, itself included.

        Some merges may be unavoidable on every board of a group; this is not looked at.
        """
        most = self.most_merges
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
    worth = _worth_of_tiles(game, top)
    codes, sizes = np.zeros(1, dtype=np.int64), np.ones(1, dtype=np.int64)
    for most in game.tops:
        several = (codes[:, None] + np.concatenate([[0], worth[:most]])).ravel()
        codes, of = np.unique(several, return_inverse=True)
        before, sizes = np.repeat(sizes, most + 1), np.zeros(len(codes), dtype=np.int64)
        np.add.at(sizes, of, before)
    return (codes[:, None] // worth % (game.cells + 1)).astype(np.int8), sizes


def _worth_of_tiles(game: Game, top: int) -> Array:
    """``int64[top]``: what one tile of each exponent adds to the code of a group, the smallest tile most."""
    found: Array = (game.cells + 1) ** np.arange(top - 1, -1, -1, dtype=np.int64)
    return found


def _sums(counts: Array) -> Array:
    found: Array = counts.astype(np.int64) @ (2 << np.arange(counts.shape[1], dtype=np.int64))
    return found
