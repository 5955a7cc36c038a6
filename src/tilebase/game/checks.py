"""Checks of the parameters of a game.  Each error message says what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index
from typing import TYPE_CHECKING

from tilebase.errors import BoardError, GameError
from tilebase.game.notation import count_of, exponent_of, split_cells

if TYPE_CHECKING:
    from tilebase.game.game import Game

MAX_CELLS = 32
MOST_STARTS = 64
"""Most start boards."""


def cell_set(game: Game, cells: str | Iterable[int], what: str) -> tuple[int, ...]:
    """Cells from text or numbers, ascending; `what` stands on them.  Raises `GameError`."""
    try:
        chosen = tuple(
            sorted({*map(int, split_cells(cells))} if isinstance(cells, str) else {*map(index, cells)})
        )
    except (TypeError, ValueError) as error:
        raise GameError(f"{what}s {cells!r} are not cells: give their numbers, from 0 on") from error
    if chosen and not 0 <= chosen[0] <= chosen[-1] < game.cells:
        raise GameError(
            f"{what} at cell {chosen[-1] if chosen[0] >= 0 else chosen[0]}: "
            f"a {game.shape_text} board has cells 0 to {game.cells - 1}"
        )
    return chosen


def unmergeable_cells(game: Game, cells: str | Iterable[int], start: str) -> tuple[int, ...]:
    """The cells of x at the start.  A game with masks has them from its start board, or from its first mask.

    Raises `GameError`.
    """
    given = cell_set(game, cells, "unmergeable tile")
    if given or not game.masks:
        return given
    words = split_cells(start.strip().lower().removeprefix("after ").split("|")[0])
    held = tuple(cell for cell, word in enumerate(words) if word == "x")
    return held if len(words) == game.cells and held else game.masks[0]


def parse_limits(game: Game, limits: str | Sequence[int] | None) -> tuple[int, ...] | None:
    """Limits from text or numbers, one for each cell.  Raises `GameError`."""
    if limits is None:
        return None
    try:
        words = split_cells(limits) if isinstance(limits, str) else [str(limit) for limit in limits]
    except TypeError as error:
        raise GameError(f"{limits!r} are not limits: give one for each cell") from error
    if len(words) != game.cells:
        raise GameError(
            f"{count_of(len(words), 'limit')} for a {game.shape_text} board: "
            f"give one for each cell, {game.cells} in all"
        )
    try:
        values = tuple(int(word) for word in words)
    except ValueError as error:
        raise GameError(f"limits {limits!r} hold something that is not a number") from error
    spawned = game.spawn_exponents[-1]
    for cell, value in enumerate(values):
        if cell not in game.walls and exponent_of(value, "limit") < spawned:
            raise GameError(
                f"limit {value} on cell {cell} is below the spawned tile {2**spawned}: "
                "give a higher limit, or make the cell a wall"
            )
    return values


def check_fit(game: Game) -> None:
    """Raise `GameError` unless the board fits 64 bits and has a cell for a tile."""
    if game.cells > MAX_CELLS:
        raise GameError(
            f"a {game.shape_text} board has {game.cells:,} cells: choose one of at most {MAX_CELLS}, as "
            "the others do not fit into 64 bits"
        )
    if game.fixed and not game.unmergeable:
        raise GameError("fixed says that unmergeable tiles never move, but there are none: name their cells")
    if set(game.walls) & set(game.unmergeable):
        raise GameError("a cell is listed as a wall and as an unmergeable tile: list it once")
    if game.free_cells < 1:
        raise GameError("no cell is left for a tile: take away walls or unmergeable tiles")


def check_tiles(game: Game) -> None:
    """Raise `GameError` unless goal and largest tile can be made, and all tiles fit a packed key."""
    highest, spawned = game.buildable, game.spawn_exponents[-1]
    if game.goal is not None:
        goal = exponent_of(game.goal, "goal")
        if goal <= spawned:
            raise GameError(f"goal {game.goal} is spawned, not made: choose at least {2 ** (spawned + 1)}")
        if goal > highest:
            raise GameError(
                f"goal {game.goal} cannot be made on {game.shape_text}: "
                f"{game.free_cells} cells make at most {2**highest}"
            )
    if game.largest is not None and exponent_of(game.largest, "largest tile") < spawned:
        raise GameError(f"largest tile {game.largest} is below the spawned {2**spawned}: give at least that")
    if game.masks and (game.goal_exponent or 0) > game.max_code:
        raise GameError(
            f"with masks the goal is at most {2**game.max_code}, as x takes a code: lower the goal"
        )
    if max(game.tops) > game.max_code:
        raise GameError(
            f"tiles to {2 ** max(game.tops)} can be made on {game.shape_text} and do not fit into "
            f"{game.bits} bits a cell, which hold tiles to {2**game.max_code}: name a goal of at most "
            f"{2 ** (game.max_code + 1)}, or a largest tile of {2**game.max_code}"
        )


def check_start(game: Game) -> None:
    """Raise `GameError` unless the start is valid; a start board gets its standard text."""
    if game.start == "two-tiles":
        if game.free_cells < 2:
            raise GameError(f"{game.shape_text} has too few cells for two tiles: choose the start empty")
    elif game.start != "empty":
        after = game.start.startswith("after ")
        texts = game.start.removeprefix("after ").split("|")
        if len(texts) > MOST_STARTS:
            raise GameError(f"{len(texts)} start boards; a game has at most {MOST_STARTS}")
        boards = list(dict.fromkeys(_start_board(game, text) for text in texts))
        if len(boards) > 1 and not after:
            raise GameError("several start boards must be boards after a slide: write `after ` before them")
        for board in boards if after else ():
            if all(e or cell in game.walls for cell, e in enumerate(board)):
                raise GameError(f"the start board {game.format(board)} is full: leave a cell for a spawn")
        words = "|".join(game.format(board) for board in boards)
        object.__setattr__(game, "start", ("after " if after else "") + words)
    if game.horizon is not None:
        check_horizon(game)


def _start_board(game: Game, text: str) -> tuple[int, ...]:
    try:
        cells = game.parse(text)
    except BoardError as error:
        raise GameError(f"the start is not a board of this game: {error}") from error
    if not game.masks and any(
        game.is_x(cells[cell]) != (cell in game.unmergeable) for cell in range(game.cells)
    ):
        raise GameError("the start board must hold an x on each unmergeable cell and nowhere else")
    return cells


def check_horizon(game: Game) -> None:
    """Raise `GameError` unless the horizon is even and above the boards on which a start is spawned."""
    if game.horizon is None or game.horizon % 2:
        raise GameError(f"the horizon {game.horizon} is odd, but all sums are even: give an even one")
    least = 2 ** max(game.spawn_exponents) if game.start == "two-tiles" else 0
    least = max(map(game.sum, game.start_afters), default=least)
    if game.horizon <= least:
        raise GameError(
            f"a start is spawned on a board of the sum {least}, so the horizon must be at least {least + 2}"
        )


def check_sum(game: Game) -> None:
    """Raise `GameError` unless the goal sum is even, above the starts, and can be reached."""
    if game.goal_sum is None:
        return
    if game.goal_sum % 2:
        raise GameError(f"the goal sum {game.goal_sum} is odd, but all sums are even: give an even one")
    least = max(game.sum(board) for board, _ in game.starts())
    if game.goal_sum <= least:
        raise GameError(f"a start has the sum {least}, so the goal sum must be at least {least + 2}")
    # With limits too low for the sum the game exists, but cannot be won: see `goal_fits`.
    if game.goal_sum > game.largest_sum and game.limits is None:
        raise GameError(
            f"no board of {game} has the goal sum {game.goal_sum}: give at most {game.largest_sum}"
        )
