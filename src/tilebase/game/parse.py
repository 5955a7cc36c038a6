"""The parameters of a game as a user writes them, and as `Game` holds them.

Words and numbers are read here.  Whether they go together is checked when all are known (`game.game`).

A *mask* is a set of cells, written as a picture: rows apart by ``/``, ``x`` for its cells, ``.`` for the
others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, TypeAlias

from tilebase.errors import BoardError, GameError
from tilebase.game.grid import Cells, Grid
from tilebase.game.notation import cell_text, count_of, exponent_of, read_board, read_cell, split_cells

Pattern: TypeAlias = tuple[int | None, ...]
"""The exponents of a pattern in row-major order; None on a cell where any tile or none is allowed."""

MOST_STARTS = 64
"""Most start boards."""
MOST_MASKS = 64
"""Most masks of a game: each is compared with each board."""


def parse_cells(grid: Grid, cells: str | Iterable[int], what: str) -> Cells:
    """Return cells from text or numbers, ascending; `what` stands on them.  Raises `GameError`."""
    try:
        chosen = tuple(
            sorted({*map(int, split_cells(cells))} if isinstance(cells, str) else {*map(index, cells)})
        )
    except (TypeError, ValueError) as error:
        raise GameError(f"{what}s {cells!r} are not cells: give their numbers, from 0 on") from error
    if chosen and not 0 <= chosen[0] <= chosen[-1] < grid.cells:
        raise GameError(
            f"{what} at cell {chosen[-1] if chosen[0] >= 0 else chosen[0]}: "
            f"a {grid} board has cells 0 to {grid.cells - 1}"
        )
    return chosen


def parse_limits(
    grid: Grid, limits: str | int | Sequence[int] | None, walls: Collection[int], spawned: int
) -> tuple[int, ...] | None:
    """Limits from text or numbers, one for each cell or for all, at least 2**spawned.  Raises `GameError`."""
    if limits is None:
        return None
    if isinstance(limits, int):
        limits = str(limits)
    try:
        words = split_cells(limits) if isinstance(limits, str) else [str(limit) for limit in limits]
    except TypeError as error:
        raise GameError(f"{limits!r} are not limits: give one for each cell, or one for all") from error
    if len(words) == 1:
        words *= grid.cells
    if len(words) != grid.cells:
        raise GameError(
            f"{count_of(len(words), 'limit')} for a {grid} board: give {grid.cells}, one for each cell, or "
            "one for all"
        )
    try:
        values = tuple(int(word) for word in words)
    except ValueError as error:
        raise GameError(f"limits {limits!r} hold something that is not a number") from error
    for cell, value in enumerate(values):
        if cell not in walls and exponent_of(value, "limit") < spawned:
            raise GameError(
                f"limit {value} on cell {cell} is below the spawned tile {2**spawned}: "
                "give a higher limit, or make the cell a wall"
            )
    return values


def parse_masks(grid: Grid, masks: str | Iterable[Any]) -> tuple[Cells, ...]:
    """Masks from text or lists of cells, each ascending, without repeats.  Raises `GameError`."""
    given: Iterable[Any] = (
        [one for one in masks.split("|") if one.strip()] if isinstance(masks, str) else masks
    )
    try:
        listed = [_mask(grid, one) for one in given]
    except TypeError as error:
        raise GameError(f"{masks!r} are not masks: write pictures as ..x/.xx") from error
    found = tuple(sorted(set(listed)))
    if len(found) > MOST_MASKS:
        raise GameError(f"{len(found)} masks; a game has at most {MOST_MASKS}")
    if () in found:
        raise GameError("a mask without an x allows every slide: leave the masks out")
    return found


def _mask(grid: Grid, mask: Any) -> Cells:
    if isinstance(mask, str):
        drawn = "".join(mask.replace("/", " ").replace(",", " ").split())
        if set(drawn.lower()) - {"x", "."}:
            raise GameError(f"{mask!r} is not a picture of a mask: write x and . by rows, as ..x/.xx")
        if len(drawn) != grid.cells:
            raise GameError(
                f"the mask {mask} has {count_of(len(drawn), 'cell')}; a {grid} board has {grid.cells}"
            )
        return tuple(cell for cell, word in enumerate(drawn.lower()) if word == "x")
    cells = tuple(sorted({index(cell) for cell in mask}))
    if cells and not 0 <= cells[0] <= cells[-1] < grid.cells:
        raise GameError(f"a mask has cell {cells[-1]}; a {grid} board has cells 0 to {grid.cells - 1}")
    return cells


@dataclass(frozen=True)
class Start:
    """What play begins with.

    Attributes
    ----------
    text:
        As `Game.start` holds it: ``two-tiles``, ``empty``, a board, or ``after `` and boards.
    spawns:
        How many tiles are spawned before the player moves: 2, 1, 0 or 1.
    boards:
        The boards before these spawns, each as likely as the others; empty for the empty board.
    """

    text: str
    spawns: int
    boards: tuple[Cells, ...] = ()


def parse_start(text: str, grid: Grid, walls: Collection[int], x: int) -> Start:
    """Return the start from text; `x` is the code of an unmergeable tile, or 0.  Raises `GameError`."""
    text = text.strip()
    if text in ("two-tiles", "empty"):
        return Start(text, 2 if text == "two-tiles" else 1)
    after = text.startswith("after ")
    texts = text.removeprefix("after ").split("|")
    if len(texts) > MOST_STARTS:
        raise GameError(f"{len(texts)} start boards; a game has at most {MOST_STARTS}")
    try:
        boards = tuple(dict.fromkeys(read_board(one, grid, walls, x, grid) for one in texts))
    except BoardError as error:
        raise GameError(f"the start is not a board of this game: {error}") from error
    if len(boards) > 1 and not after:
        raise GameError("several start boards must be boards after a slide: write `after ` before them")
    words = [
        grid.rows([cell_text(exponent, x, wall=cell in walls) for cell, exponent in enumerate(board)])
        for board in boards
    ]
    return Start("after " * after + "|".join(words), int(after), boards)


def parse_patterns(text: str, grid: Grid, walls: Collection[int], x: int) -> tuple[Pattern, ...]:
    """Patterns from text, apart by ``|``.  Raises `GameError`."""
    return tuple(_pattern(one, grid, walls, x) for one in text.split("|"))


def _pattern(text: str, grid: Grid, walls: Collection[int], x: int) -> Pattern:
    words = split_cells(text)
    if len(words) != grid.cells:
        raise GameError(
            f"the pattern {text!r} has {count_of(len(words), 'cell')}; a {grid} board has {grid.cells}: "
            "write * where any tile may be"
        )
    try:
        return tuple(
            None if word == "*" else read_cell(word, cell, walls, x, grid) for cell, word in enumerate(words)
        )
    except BoardError as error:
        raise GameError(f"{text!r} is not a pattern: {error}") from error


def patterns_text(patterns: Iterable[Pattern], grid: Grid, x: int) -> str:
    """Patterns as text that `parse_patterns` reads."""
    words = (
        ["*" if exponent is None else cell_text(exponent, x) for exponent in pattern] for pattern in patterns
    )
    return "|".join(map(grid.rows, words))
