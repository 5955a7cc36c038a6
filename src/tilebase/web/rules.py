"""The rules of a game in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from tilebase.game.game import Game
from tilebase.game.notation import count_of, tile_text
from tilebase.game.spawns import ORIGINAL
from tilebase.tables.answers import goal_cells
from tilebase.tables.large_tiles import large_tiles_of


def describe_rules(game: Game) -> list[str]:
    """Return the rules in sentences, for people.

    >>> describe_rules(Game("2x3", 64, spawn="1/5", start="empty"))
    ['The board is 2x3.', 'The tile 64 wins.', 'Play begins with one tile.', 'One of 5 new tiles is a 4.']
    """
    return [*_board(game), *_goal(game), *_large_tiles(game), *_play(game)]


def _board(game: Game) -> Iterator[str]:
    yield f"The board is {game.shape_text}."
    if game.walls:
        yield f"There are walls on {_places(game, sorted(game.walls))}."
    if game.limits:
        these = "these: " if len(set(game.limits)) > 1 else ""
        yield f"No tile may be larger than {these}{game.limits_text}."


def _goal(game: Game) -> Iterator[str]:
    cells = goal_cells(game)
    if game.goal is not None:
        yield f"The tile {game.goal} wins."
    for tile in sorted(set(cells.values())):
        places = _places(game, [cell for cell in cells if cells[cell] == tile], "or")
        yield f"The tile {tile} wins on {places}."
    if game.patterns and not cells:
        yield f"A board wins that matches {' or '.join(str(game.pattern).split('|'))}; * is any cell."
    if game.goal_sum is not None:
        yield f"Tiles whose sum is {game.goal_sum} or more win."
    if not game.can_win:
        yield "There is no goal."


def _large_tiles(game: Game) -> Iterator[str]:
    if not game.unmergeable:
        return
    count = len(game.unmergeable)
    yield (
        f"{count_of(count, 'large tile')}, written x, slide and never merge: "
        f"each stands for a tile that is {tile_text(large_tiles_of(game).least)} or more."
    )
    if game.masks:
        masks = " or ".join(game.masks_text.split("|"))
        yield f"After each slide, large tiles stand on every x of {masks}."


def _play(game: Game) -> Iterator[str]:
    if game.start_afters and game.start != "empty":
        boards = " or ".join(game.format(cells) for cells in game.start_afters)
        yield f"Play begins with a new tile on {boards}."
    elif game.start_board is not None:
        yield f"Play begins on {game.format(game.start_board)}."
    else:
        yield f"Play begins with {'one tile' if game.start == 'empty' else 'two tiles'}."
    if game.spawn != ORIGINAL:
        yield _share(game.spawn.four)
    if game.horizon is not None:
        yield f"Play ends after a slide if the tiles, without the large ones, have the sum {game.horizon}."


def _share(four: Fraction) -> str:
    if four in (0, 1):
        return f"Every new tile is a {4 if four else 2}."
    share = "One" if four.numerator == 1 else f"{four.numerator:,}"
    return f"{share} of {four.denominator:,} new tiles {'is' if four.numerator == 1 else 'are'} a 4."


def _places(game: Game, cells: Iterable[int], last: str = "and") -> str:
    """Cells in words: ``row 1, column 2 and row 3, column 1``."""
    rows, columns = game.shape[-2:]
    words = [
        (f"plane {cell // (rows * columns) + 1}, " if len(game.shape) > 2 else "")
        + f"row {cell // columns % rows + 1}, column {cell % columns + 1}"
        for cell in cells
    ]
    return f" {last} ".join(words)
