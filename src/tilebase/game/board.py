"""One board of a game as a value, with the forms in which boards are written and drawn.

A board is written as text (``2,4/0,8``), as a packed key, as a NumPy array of tiles or of
exponents, or as a picture of box-drawing characters; each is read back to the same board.
It is drawn as SVG, which notebooks show and which stands alone as a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from operator import index
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from tilebase.errors import BoardError, UsageError
from tilebase.game import symmetry
from tilebase.game.game import Cells, Game, check_is_game
from tilebase.game.notation import X_TILE, as_typed, json_rows, read_board, split_cells

CELL, GAP, PLANE_GAP = 100, 12, 36
"""Lengths in a drawing: a cell, the space around it, the space between the planes of a box."""

GRID, EMPTY, WALL, X_FILL = "#b9ab9b", "#d5cabd", "#6f655b", "#2f2b3a"
DARK, LIGHT = "#3d352e", "#ffffff"
FILLS = (
    ("#f3ece2", "#eee0c9", "#f5bd85", "#f29e62", "#f0885c", "#c93f1e", "#f2dc8c", "#e9bf3a")
    + ("#c4b84a", "#9dbb62", "#6fb58a", "#2b7f86", "#34749c", "#4c529b", "#6d3b83", "#8a2f5e")
)  # fmt: skip
"""``FILLS[e - 1]`` is the colour of the tile 2**e; larger tiles are black."""
DARK_FILLS = {FILLS[5], *FILLS[11:], "#000000", X_FILL, WALL}
"""Those on which light text has more contrast than dark text, as WCAG 2.2 defines it."""


@dataclass(frozen=True)
class Board:
    """A board of a game: immutable, hashable, equal if game and cells are equal.

    Parameters
    ----------
    game:
        The game of this board.
    cells:
        The exponents in row-major order, planes first; 0 for an empty cell or a wall,
        ``game.x`` for an unmergeable tile.

    Raises
    ------
    BoardError
        If the game has no such board.  A won board is accepted and can be drawn, since `slides` leads to it.
        But it has no key and cannot be read back, since the game is over.  The same holds for a board with a
        tile that is too large for a key.

    >>> Board.parse(Game("2x2", 32), "2,4/0,8").slides()["down"].text
    '0,4/2,8'
    """

    game: Game
    cells: Cells

    def __post_init__(self) -> None:
        check_is_game(self.game, wide=True)
        if isinstance(self.cells, str):
            raise BoardError(
                f"the cells of a Board are exponents: read tiles as Board.read(game, {self.cells[:80]!r})"
            )
        object.__setattr__(self, "cells", self.game.check_after(self.cells))

    # -- reading -------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<Board {self.text} of {self.game}>"

    @classmethod
    def parse(cls, game: Game, text: str) -> Board:
        """Return the board of a text, as `Game.parse` reads it, or a picture as `unicode` draws it.

        Raises `BoardError` if this is not a board of the game.
        """
        check_is_game(game, wide=True)
        return cls(game, game.parse(_picture_text(text) if "│" in text else text))

    @classmethod
    def read(cls, game: Game, board: object) -> Board:
        """Return the board of any form in which boards are written.

        `board` is a `Board`; text as `parse` reads it; an array as `from_numpy` reads it; the same as JSON,
        or as ``board`` of an object; or a packed key.  Raises `BoardError`.

        >>> Board.read(Game("2x2", 32), "1203") == Board.read(Game("2x2", 32), "[[2, 4], [0, 8]]")
        True
        """
        check_is_game(game, wide=True)
        if isinstance(board, Board):
            return cls(game, game.check(board.cells))
        if isinstance(board, str):
            text = as_typed(board)
            if text[:1] in ("[", "{"):
                return cls.from_numpy(game, json_rows(text))
            return cls.parse(game, text)
        if isinstance(board, int | np.integer):
            return cls.from_key(game, int(board))
        return cls.from_numpy(game, board)  # type: ignore[arg-type]

    @classmethod
    def read_won(cls, game: Game, text: str) -> Board:
        """Return a won board, to which slides lead, from a text of tiles.  Raises `BoardError`."""
        board = cls(game, read_board(text, game.grid, game.walls, game.x_code, game))
        if not board.won:
            raise BoardError(f"{board} is not won")
        return board

    @classmethod
    def from_key(cls, game: Game, key: SupportsIndex) -> Board:
        """Return the board of a packed key, an integer of Python or NumPy.

        Raises `BoardError` if the game has no such board.
        """
        check_is_game(game, wide=True)
        try:
            number = index(key)
        except TypeError as error:
            raise BoardError(f"{key!r} is not a packed key: give a whole number") from error
        return cls(game, game.check(game.unpack(number)))

    @classmethod
    def from_numpy(cls, game: Game, array: npt.ArrayLike, *, exponents: bool = False) -> Board:
        """Return the board of an array of integers in the shape of the game, or in one row.

        Cells hold tiles (0 for an empty cell or a wall, -1 for an unmergeable tile), or what
        `cells` holds if `exponents` is true.  Raises `BoardError` on anything else.
        """
        values = _integers(game, array)
        if not exponents:
            x = X_TILE if game.unmergeable else None
            values = [game.x if value == x else game.exponent(value) for value in values]
        return cls(game, game.check(values))

    # -- writing -------------------------------------------------------------------------------

    @property
    def key(self) -> int:
        """The packed key.  Raises `BoardError` if the board holds the goal or a tile too large for a key."""
        if self.won:
            raise BoardError(f"{self.text} holds the goal: the game is over, and won boards have no key")
        return self.game.pack(self.game.check(self.cells))

    @property
    def text(self) -> str:
        """The board as ``2,4/0,8``."""
        return self.game.format(self.cells)

    def __str__(self) -> str:
        return self.text

    def to_numpy(self, *, exponents: bool = False) -> npt.NDArray[np.int64]:
        """Return the board as an array of the game's shape, as `from_numpy` reads it.

        Raises `UsageError` if a tile is too large for its numbers.
        """
        values = self.cells if exponents else [self._tile(e) for e in self.cells]
        if max(values) > np.iinfo(np.int64).max:
            raise UsageError(f"the tile {max(values)} does not fit an array of int64: ask for exponents")
        return np.array(values, dtype=np.int64).reshape(self.game.shape)

    def unicode(self) -> str:
        """Draw the board in box-drawing characters; the planes of a box are drawn one below the other."""
        return draw(self.game, [self._label(cell) for cell in range(self.game.cells)])

    def svg(self, size: float = 240) -> str:
        """Draw a standalone SVG picture whose longer side has `size` pixels; planes are side by side.

        Raises `UsageError` if `size` is not positive.
        """
        if not isinstance(size, int | float) or not 0 < size < 1e6:
            raise UsageError(f"the size of a picture must be above 0 and below 1,000,000 pixels, not {size}")
        width, height = drawing_size(self.game.shape)
        return drawing(self.game.shape, self.text, size / max(width, height))

    def _repr_svg_(self) -> str:
        return self.svg()

    # -- asking --------------------------------------------------------------------------------

    @property
    def sum(self) -> int:
        """The sum of all tiles; unmergeable tiles add nothing."""
        return self.game.sum(self.cells)

    @property
    def max_tile(self) -> int:
        """The largest tile, unmergeable ones aside; 0 on an empty board."""
        return self._tile(self.game.max_exponent(self.cells))

    @property
    def won(self) -> bool:
        """Whether the board holds the goal or has the goal sum."""
        return self.game.holds_goal(self.cells) or self.game.has_goal_sum(self.cells)

    def canonical(self) -> Board:
        """Return the canonical board of the orbit."""
        return Board(self.game, symmetry.canonical(self.game, self.cells))

    def orbit_size(self) -> int:
        """Return how many different boards the symmetries make of this one."""
        return symmetry.orbit_size(self.game, self.cells)

    def slides(self) -> dict[str, Board]:
        """Return the allowed slides and the boards they lead to, won ones included.

        Empty once the game is won.
        """
        if self.won:
            return {}
        return {name: Board(self.game, after) for name, after in self.game.slides(self.cells).items()}

    def spawns(self) -> list[tuple[Board, Fraction]]:
        """Return the states that a spawn on this board makes, with their probabilities.

        There are none at the horizon.
        """
        return [(Board(self.game, state), p) for state, p in self.game.spawns(self.cells)]

    def refusals(self) -> dict[str, str]:
        """``refusals[direction]``: why a slide is not allowed, in words, for each that is not."""
        return self.game.refusals(self.cells)

    def _tile(self, exponent: int) -> int:
        word = self.game.word(exponent)
        return X_TILE if word == "x" else int(word)

    def _label(self, cell: int) -> str:
        if cell in self.game.walls:
            return "###"
        return self.game.word(self.cells[cell]) if self.cells[cell] else ""


# -- arrays --------------------------------------------------------------------------------------


def _integers(game: Game, array: npt.ArrayLike) -> list[int]:
    try:
        values = np.asarray(array)
    except ValueError as error:
        raise BoardError(f"not an array of shape {game.shape}: {error}") from error
    if values.shape not in (game.shape, (game.cells,)):
        raise BoardError(
            f"the array has the shape {values.shape}, but a {game.shape_text} board has {game.shape}"
        )
    if not np.issubdtype(values.dtype, np.integer):
        raise BoardError(f"an array of {values.dtype}, but a board holds integers: convert it first")
    return [int(value) for value in values.flat]


# -- pictures ------------------------------------------------------------------------------------


def draw(game: Game, words: Sequence[str]) -> str:
    """Draw a word on each cell in box-drawing characters.

    The planes of a box are drawn one below the other.
    """
    width = max(3, *map(len, words))
    return "\n".join(_drawn(plane, game.shape[-1], width) for plane in game.grid.planes(words))


def _drawn(words: Sequence[str], columns: int, width: int) -> str:
    """Draw a plane of words."""
    rows = [words[i : i + columns] for i in range(0, len(words), columns)]
    lines = ["│" + "│".join(f" {word:>{width}} " for word in row) + "│" for row in rows]
    bar = ["─" * (width + 2)] * columns
    between = "\n├" + "┼".join(bar) + "┤\n"
    return "┌" + "┬".join(bar) + "┐\n" + between.join(lines) + "\n└" + "┴".join(bar) + "┘"


def _picture_text(picture: str) -> str:
    """Return the text of a picture: its rows, blank cells as 0 and walls as #."""
    rows = [line.strip().strip("│").split("│") for line in picture.splitlines() if "│" in line]
    words = [[word.strip() or "0" for word in row] for row in rows]
    return "/".join(",".join("#" if word == "###" else word for word in row) for row in words)


# -- drawings ------------------------------------------------------------------------------------


def drawing_size(shape: Sequence[int]) -> tuple[int, int]:
    """Return the width and the height of a drawing at the scale 1."""
    planes = shape[0] if len(shape) == 3 else 1
    return planes * (shape[-1] * (CELL + GAP) + GAP + PLANE_GAP) - PLANE_GAP, shape[-2] * (CELL + GAP) + GAP


def drawing(shape: Sequence[int], text: str, scale: float, *, digits: int = 46) -> str:
    """Draw a board of a shape from its text, as `Board.svg` does; the planes are side by side.

    `digits` is the font size of what does not fill its cell.
    """
    width, height = drawing_size(shape)
    rows, columns = shape[-2:]
    parts = []
    for cell, word in enumerate(split_cells(text)):
        plane, (row, column) = cell // (rows * columns), divmod(cell % (rows * columns), columns)
        left = plane * (columns * (CELL + GAP) + GAP + PLANE_GAP)
        if not row and not column:
            ground = columns * (CELL + GAP) + GAP
            parts.append(f'<rect x="{left}" width="{ground}" height="{height}" rx="10" fill="{GRID}"/>')
        parts.append(_svg_cell(word, left + GAP + column * (CELL + GAP), GAP + row * (CELL + GAP), digits))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {height}" '
        f'width="{width * scale:g}" height="{height * scale:g}" '
        'font-family="Helvetica, Arial, sans-serif" font-weight="bold" text-anchor="middle">'
        f"<title>{escape(text)}</title>{''.join(parts)}</svg>"
    )


def _svg_cell(word: str, x: int, y: int, digits: int) -> str:
    if word == "#":
        return _svg_wall(x, y)
    empty = word == "0"
    fill = EMPTY if empty else X_FILL if word == "x" else tile_color(_exponent(word))
    square = f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" rx="6" fill="{fill}"/>'
    if empty:
        return square
    # A digit is 0.56 of the font size wide; the text may fill 0.82 of the cell.
    height = min(digits, round(0.82 * CELL / (0.56 * len(word))))
    baseline = y + CELL / 2 + 0.36 * height
    return square + (
        f'<text x="{x + CELL // 2}" y="{baseline:g}" font-size="{height}" fill="{ink_color(fill)}">'
        f"{'×' if word == 'x' else word}</text>"
    )


def _exponent(word: str) -> int:
    """Return the exponent of a tile as `notation.tile_text` writes it."""
    return int(word[2:]) if word.startswith("2^") else int(word).bit_length() - 1


def _svg_wall(x: int, y: int) -> str:
    """Bricks, so that a wall differs from a tile even without colours."""
    return (
        f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" rx="6" fill="{WALL}"/>'
        f'<path d="M{x} {y + 33}h100m-100 34h100M{x + 50} {y}v33m0 34v33M{x + 25} {y + 33}v34m50-34v34" '
        f'stroke="{GRID}" stroke-width="5"/>'
    )


def tile_color(exponent: int) -> str:
    """Return the colour of a cell."""
    if not exponent:
        return EMPTY
    return FILLS[exponent - 1] if exponent <= len(FILLS) else "#000000"


def ink_color(fill: str) -> str:
    """Return the colour of text with more contrast to a fill."""
    return LIGHT if fill in DARK_FILLS else DARK
