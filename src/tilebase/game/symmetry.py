"""The symmetries of a board that keep its limits, pattern, walls and masks.

A symmetry is a permutation p of cells: it maps board b to the board whose cell i holds
b[p[i]].  To find the group, all reflections of axes and exchanges of equally long axes are
tried, and those that change what is allowed on a cell are left out.  The canonical board of
an orbit is the one with the least packed key.  It is also the least tuple of exponents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import itemgetter

from tilebase.game.game import Cells, Game, check_is_game


@lru_cache(maxsize=256)
def symmetries(game: Game) -> tuple[Cells, ...]:
    """Return the symmetry group of a game, ascending, so the identity first.

    Each is a tuple of source cells.
    """
    check_is_game(game, wide=True)
    return tuple(sorted(p for p in game.grid.symmetries if _keeps(game, p)))


def start_symmetries(game: Game) -> tuple[Cells, ...]:
    """Return the symmetries that leave the set of start boards unchanged.

    An unmergeable tile that may move, and stands on one cell before the first spawn, can change it.
    """
    starts = set(game.begin.boards or (game.empty_board,))
    return tuple(
        p for p in symmetries(game) if {tuple(board[source] for source in p) for board in starts} == starts
    )


def _keeps(game: Game, permutation: Cells) -> bool:
    masks = set(map(frozenset, game.masks))
    if any(frozenset(cell for cell, s in enumerate(permutation) if s in mask) not in masks for mask in masks):
        return False
    patterns = set(game.patterns)
    if any(tuple(pattern[source] for source in permutation) not in patterns for pattern in patterns):
        return False
    return all(
        game.tops[source] == game.tops[cell] and (source in game.walls) == (cell in game.walls)
        for cell, source in enumerate(permutation)
    )


@lru_cache(maxsize=256)
def _permuters(game: Game) -> tuple[Callable[[Sequence[int]], Cells], ...]:
    return tuple(permuter(p) for p in symmetries(game))


def permuter(permutation: Sequence[int]) -> Callable[[Sequence[int]], Cells]:
    """``b -> tuple(b[source] for source in permutation)``, made of `itemgetter`, which is fast."""
    if len(permutation) == 1:
        only = permutation[0]
        return lambda board: (board[only],)
    return itemgetter(*permutation)


def images(game: Game, cells: Sequence[int]) -> list[Cells]:
    """Return the boards that the symmetries make of this one: one for each symmetry, repeats included.

    Raises `BoardError` unless there is an exponent for each cell.
    """
    if len(cells) != game.cells:
        game.cells_of(cells)
    return [permute(cells) for permute in _permuters(game)]


def canonical(game: Game, cells: Sequence[int]) -> Cells:
    """Return the least board of the orbit.

    >>> canonical(Game("2x2", 32), (2, 3, 1, 0))
    (0, 1, 3, 2)
    """
    return min(images(game, cells))


def canonical_starts(game: Game) -> list[Cells]:
    """Return the start states of a game, one of each orbit, ascending."""
    return sorted({canonical(game, board) for board, _ in game.starts()})


def orbit_size(game: Game, cells: Sequence[int]) -> int:
    """Return how many different boards the symmetries make of this one."""
    return len(set(images(game, cells)))
