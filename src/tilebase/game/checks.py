"""Parameters that do not go together are refused when a game is made, with a message that says what to do."""

from __future__ import annotations

from tilebase.errors import BoardError, GameError
from tilebase.game.boards import Boards
from tilebase.game.notation import exponent_of

MAX_CELLS = 32


def check_game(game: Boards) -> None:
    """Raise `GameError` unless the parameters of a game go together."""
    _check_fit(game)
    _check_masks(game)
    _check_tiles(game)
    _check_start(game)
    _check_horizon(game)
    _check_goal_sum(game)
    _check_patterns(game)


def _check_fit(game: Boards) -> None:
    """Raise `GameError` unless the board fits 64 bits and has a cell for a tile."""
    if game.cells > MAX_CELLS:
        raise GameError(
            f"a {game.shape_text} board has {game.cells:,} cells: choose one of at most {MAX_CELLS}, as "
            "the others do not fit into 64 bits"
        )
    if set(game.walls) & set(game.unmergeable):
        raise GameError("a cell is listed as a wall and as an unmergeable tile: list it once")
    if game.free_cells < 1:
        raise GameError("no cell is left for a tile: take away walls or unmergeable tiles")


def _check_masks(game: Boards) -> None:
    """Raise `GameError` unless the masks go with walls and unmergeable tiles."""
    count = len(game.unmergeable)
    for mask in game.masks:
        if set(mask) & set(game.walls):
            raise GameError(f"the mask {game.mask_text(mask)} has an x on a wall")
        if len(mask) > count:
            raise GameError(
                f"the mask {game.mask_text(mask)} needs {len(mask)} unmergeable tiles; the game has {count}"
            )


def _check_tiles(game: Boards) -> None:
    """Raise `GameError` unless the goal can be made, and all tiles fit a packed key."""
    code, built, spawned = game.bounds.code, game.bounds.built, game.spawn_exponents[-1]
    if game.goal is not None:
        goal = exponent_of(game.goal, "goal")
        if goal <= spawned:
            raise GameError(f"goal {game.goal} is spawned, not made: choose at least {2 ** (spawned + 1)}")
        if goal > built:
            raise GameError(
                f"goal {game.goal} cannot be made on {game.shape_text}: "
                f"{game.free_cells} cells make at most {2**built}, so the chance to win is 0"
            )
    if game.masks and (game.goal_exponent or 0) > code:
        raise GameError(f"with masks the goal is at most {2**code}, as x takes a code: lower the goal")
    if max(game.tops) > code:
        raise GameError(
            f"tiles to {2 ** max(game.tops)} can be made on {game.shape_text} and do not fit into "
            f"{game.bits} bits a cell, which hold tiles to {2**code}: name a goal of at most "
            f"{2 ** (code + 1)}, as {game.shape_text} {2 ** (code + 1)}, in Python "
            f"Game('{game.shape_text}', {2 ** (code + 1)}), or limits of {2**code}"
        )


def _check_start(game: Boards) -> None:
    """Raise `GameError` unless the start boards are boards of the game that leave a cell for each spawn."""
    if game.begin.spawns == 2 and game.free_cells < 2:
        raise GameError(f"{game.shape_text} has too few cells for two tiles: choose the start empty")
    for board in game.begin.boards:
        try:
            game.check(board)
        except BoardError as error:
            raise GameError(f"the start is not a board of this game: {error}") from error
        if not game.masks and any(
            game.is_x(board[cell]) != (cell in game.unmergeable) for cell in range(game.cells)
        ):
            raise GameError("the start board must hold an x on each unmergeable cell and nowhere else")
        if game.begin.spawns and all(e or cell in game.walls for cell, e in enumerate(board)):
            raise GameError(f"the start board {game.format(board)} is full: leave a cell for a spawn")


def _check_horizon(game: Boards) -> None:
    """Raise `GameError` unless the horizon is even and above the boards on which a start is spawned."""
    if game.horizon is None:
        return
    if game.horizon % 2:
        raise GameError(f"the horizon {game.horizon} is odd, but all sums are even: give an even one")
    least = _largest_sum_of_starts(game, game.begin.spawns - 1) if game.begin.spawns else 0
    if game.horizon <= least:
        raise GameError(
            f"a start is spawned on a board of the sum {least}, so the horizon must be at least {least + 2}"
        )


def _check_goal_sum(game: Boards) -> None:
    """Raise `GameError` unless the goal sum is even, above the starts, and can be reached."""
    if game.goal_sum is None:
        return
    if game.goal_sum % 2:
        raise GameError(f"the goal sum {game.goal_sum} is odd, but all sums are even: give an even one")
    least = _largest_sum_of_starts(game, game.begin.spawns)
    if game.goal_sum <= least:
        raise GameError(f"a start has the sum {least}, so the goal sum must be at least {least + 2}")
    # With limits too low for the sum the game exists, but cannot be won: see `goal_fits`.
    if game.goal_sum > game.largest_sum and game.limits is None:
        raise GameError(
            f"no board of {game} has the goal sum {game.goal_sum}: give at most {game.largest_sum}"
        )


def _largest_sum_of_starts(game: Boards, spawns: int) -> int:
    """Return the largest sum of the start boards after so many spawns."""
    return max(map(game.sum, game.begin.boards), default=0) + (spawns << game.spawn_exponents[-1])


def _check_patterns(game: Boards) -> None:
    """Raise `GameError` unless each pattern can occur."""
    if game.pattern in ("lemma1", "pair"):
        least = 64 if game.pattern == "lemma1" else 4
        if game.goal is None or game.goal < least:
            raise GameError(f"the pattern {game.pattern} needs a goal of at least {least}")
    if game.pattern == "lemma1" and (len(game.shape) != 2 or game.shape[0] < 2 or game.shape[1] < 3):
        raise GameError(f"the pattern lemma1 needs two rows of three cells, which {game.shape_text} has not")
    for pattern in game.patterns:
        for cell, exponent in enumerate(pattern):
            if exponent is not None and not game.is_x(exponent) and exponent > game.tops[cell]:
                raise GameError(
                    f"the pattern needs {2**exponent} on cell {cell}, where {game} allows "
                    f"{f'at most {2 ** game.tops[cell]}' if game.tops[cell] else 'no tile'}"
                )
        if not any(pattern):
            raise GameError("the pattern holds no tile: name at least one")
