"""Groups: the boards of a layer that hold the same tiles (Slizkov, arXiv:2303.07266, section 4).

A group is a multiset of tiles, m_e tiles 2**e and n - m_1 - m_2 - ... empty cells of n.  It holds
n! / (empty! m_1! m_2! ...) boards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
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
