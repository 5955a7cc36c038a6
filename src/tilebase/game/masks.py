"""Masks: the cells on which large tiles must stand after each slide, as in endgame tables.

A mask is a set of cells.  A game with masks has unmergeable tiles x that slide as any other tile.  A
slide is allowed only if afterwards each cell of one of the masks holds an x.  If there are as many x as the
mask has cells, they stand exactly on it; further x may be anywhere.

A mask is written as a picture: rows apart by ``/``, ``x`` for its cells, ``.`` for the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import TYPE_CHECKING, Any

from tilebase.errors import GameError
from tilebase.game.notation import count_of

if TYPE_CHECKING:
    from tilebase.game.game import Game

MOST_MASKS = 64
"""Most masks of a game: each is compared with each board."""


def parse_masks(game: Game, masks: str | Iterable[Any]) -> tuple[tuple[int, ...], ...]:
    """Masks from text or lists of cells, each ascending, without repeats.  Raises `GameError`."""
    given: Iterable[Any] = (
        [one for one in masks.split("|") if one.strip()] if isinstance(masks, str) else masks
    )
    try:
        listed = [_cells_of(game, one) for one in given]
    except TypeError as error:
        raise GameError(f"{masks!r} are not masks: write pictures as ..x/.xx") from error
    found = tuple(sorted(set(listed)))
    if len(found) > MOST_MASKS:
        raise GameError(f"{len(found)} masks; a game has at most {MOST_MASKS}")
    if () in found:
        raise GameError("a mask without an x allows every slide: leave the masks out")
    return found


def _cells_of(game: Game, mask: Any) -> tuple[int, ...]:
    if isinstance(mask, str):
        drawn = "".join(mask.replace("/", " ").replace(",", " ").split())
        if set(drawn.lower()) - {"x", "."}:
            raise GameError(f"{mask!r} is not a picture of a mask: write x and . by rows, as ..x/.xx")
        if len(drawn) != game.cells:
            raise GameError(
                f"the mask {mask} has {count_of(len(drawn), 'cell')}; "
                f"a {game.shape_text} board has {game.cells}"
            )
        return tuple(cell for cell, word in enumerate(drawn.lower()) if word == "x")
    cells = tuple(sorted({index(cell) for cell in mask}))
    if cells and not 0 <= cells[0] <= cells[-1] < game.cells:
        raise GameError(
            f"a mask has cell {cells[-1]}; a {game.shape_text} board has cells 0 to {game.cells - 1}"
        )
    return cells


def check_masks(game: Game) -> None:
    """Raise `GameError` unless the masks go with the other rules of the game."""
    if not game.masks:
        return
    if game.fixed:
        raise GameError("fixed x never move, so masks say nothing about them: leave one of the two out")
    count = len(game.unmergeable)
    for mask in game.masks:
        if set(mask) & set(game.walls):
            raise GameError(f"the mask {picture(game, mask)} has an x on a wall")
        if len(mask) > count:
            raise GameError(
                f"the mask {picture(game, mask)} needs {len(mask)} unmergeable tiles; the game has {count}"
            )


def picture(game: Game, mask: Sequence[int]) -> str:
    """A mask as text that `parse_masks` reads."""
    words = ["x" if cell in mask else "." for cell in range(game.cells)]
    return game.grid.rows(words, "")


def x_patterns(game: Game, cells: Sequence[int]) -> list[frozenset[int]]:
    """Which of some cells may hold the x, on any board whose movable x stand on a mask: all possible sets.

    Without masks, any cells may, and a board of the game holds as many x as it says.
    """
    part = [cell for cell in cells if cell not in game.walls]
    others = game.cells - len(game.walls) - len(part)
    count = len(game.unmergeable)
    found: set[frozenset[int]] = set()
    for mask in game.masks or ((),):
        inside = frozenset(mask) & frozenset(part)
        spare = count - len(mask)  # x that may be anywhere
        free = [cell for cell in part if cell not in inside]
        sets = {inside}
        for _ in range(min(spare, len(free)) + 1):
            found |= {one for one in sets if count - len(one) <= others}
            sets = {one | {cell} for one in sets for cell in free if cell not in one}
    return sorted(found, key=sorted)
