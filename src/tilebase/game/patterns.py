"""The patterns of a game: tiles on cells that win."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from tilebase.errors import BoardError, GameError
from tilebase.game.notation import count_of, exponent_of, split_cells

if TYPE_CHECKING:
    from tilebase.game.game import Game

Pattern: TypeAlias = tuple[int | None, ...]
"""The exponents of a pattern in row-major order; None on a cell where any tile or none is allowed."""


def patterns_of(game: Game) -> tuple[Pattern, ...]:
    """The patterns, one of which is enough to win.  Raises `GameError` if one cannot occur."""
    if game.pattern is None:
        return ()
    if game.pattern == "lemma1":
        return (_lemma(game),)
    if game.pattern == "pair":
        return _pairs(game)
    return tuple(_parse(game, text) for text in game.pattern.split("|"))


def _merging_exponent(game: Game, least: int) -> int:
    """The exponent of the tile goal // 2.  Raises `GameError` unless the goal is at least `least`."""
    if game.goal_exponent is None or game.goal_exponent < exponent_of(least):
        raise GameError(f"the pattern {game.pattern} needs a goal of at least {least}")
    return game.goal_exponent - 1


def _lemma(game: Game) -> Pattern:
    top = _merging_exponent(game, 64)
    if len(game.shape) != 2 or game.shape[0] < 2 or game.shape[1] < 3:
        raise GameError(f"the pattern lemma1 needs two rows of three cells, which {game.shape_text} has not")
    pattern: list[int | None] = [None] * game.cells
    second = game.shape[1]
    pattern[:2] = top, top - 1
    pattern[second : second + 3] = top - 2, top - 3, top - 3
    return _check(game, tuple(pattern))


def _pairs(game: Game) -> tuple[Pattern, ...]:
    paired = _merging_exponent(game, 4)
    return tuple(
        tuple(paired if cell in pair else None for cell in range(game.cells))
        for pair in game.grid.neighbours
        if all(game.tops[cell] >= paired for cell in pair)
    )


def _parse(game: Game, text: str) -> Pattern:
    words = split_cells(text)
    if len(words) != game.cells:
        raise GameError(
            f"the pattern {text!r} has {count_of(len(words), 'cell')}; "
            f"a {game.shape_text} board has {game.cells}: "
            "write * where any tile may be"
        )
    try:
        pattern = tuple(
            None if word == "*" else game.parse_cell(word, cell) for cell, word in enumerate(words)
        )
    except BoardError as error:
        raise GameError(f"{text!r} is not a pattern: {error}") from error
    return _check(game, pattern)


def _check(game: Game, pattern: Pattern) -> Pattern:
    for cell, exponent in enumerate(pattern):
        if exponent is not None and not game.is_x(exponent) and exponent > game.tops[cell]:
            raise GameError(
                f"the pattern needs {2**exponent} on cell {cell}, where {game} allows "
                f"{f'at most {2 ** game.tops[cell]}' if game.tops[cell] else 'no tile'}"
            )
    if not any(pattern):
        raise GameError("the pattern holds no tile: name at least one")
    return pattern
