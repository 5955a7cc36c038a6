"""Boards as pictures that environments render: pixels in the colours of `Board.svg`, and text."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.game import board as drawn
from tilebase.game.game import Game

MODES = ("ansi", "rgb_array", "human")
CELL, GAP = drawn.CELL, drawn.GAP
STEP = CELL + GAP
FPS = 4
"""Boards that are shown a second."""
ROWS = ("75557 26227 71747 71717 55711", "74717 74757 71111 75757 75717", "25000 05250")
DIGITS: dict[str, str] = dict(zip("0123456789^x", " ".join(ROWS).split(), strict=True))
"""The rows of each character from the top, three pixels as an octal digit."""


def render(game: Game, exponents: npt.NDArray[Any], mode: str | None) -> Any:
    """Return a board as text or ``uint8[height, width, 3]``, or print it, as one of `MODES` says."""
    cells = tuple(exponents.ravel().tolist())
    if mode == "rgb_array":
        return pixels(game, cells)
    if mode == "ansi":
        return game.format(cells)
    if mode == "human":
        clear = "\x1b[H\x1b[J" if sys.stdout.isatty() else ""
        sys.stdout.write(f"{clear}{drawn.Board(game, cells).unicode()}\n")
        sys.stdout.flush()
        time.sleep(1 / FPS)
    return None


def pixels(game: Game, cells: tuple[int, ...]) -> npt.NDArray[np.uint8]:
    """Return a picture of a board, ``uint8[height, width, 3]``; the planes of a box are side by side."""
    rows, columns = game.shape[-2:]
    width, height = drawn.drawing_size(game.shape)
    picture = np.full((height, width, 3), 255, dtype=np.uint8)
    for cell, exponent in enumerate(cells):
        plane, (row, column) = cell // (rows * columns), divmod(cell % (rows * columns), columns)
        left = plane * (columns * STEP + GAP + drawn.PLANE_GAP)
        if not row and not column:
            picture[:, left : left + columns * STEP + GAP] = _rgb(drawn.GRID)
        top, left = row * STEP + GAP, left + column * STEP + GAP
        picture[top : top + CELL, left : left + CELL] = _tile(game, cell, exponent)
    return picture


def _tile(game: Game, cell: int, exponent: int) -> npt.NDArray[np.uint8]:
    """Return the picture of a cell: its colour, and its number in the middle."""
    word = game.word(exponent) if exponent else ""
    fill = drawn.WALL if cell in game.walls else drawn.X_FILL if word == "x" else drawn.tile_color(exponent)
    found = np.full((CELL, CELL, 3), _rgb(fill), dtype=np.uint8)
    if word:
        rows = [" ".join(f"{int(DIGITS[letter][k]):03b}" for letter in word) for k in range(5)]
        ink = np.array([[pixel == "1" for pixel in row] for row in rows])
        scale = min(8, (CELL - 8) // ink.shape[1])
        ink = ink.repeat(scale, axis=0).repeat(scale, axis=1)
        top, left = (CELL - ink.shape[0]) // 2, (CELL - ink.shape[1]) // 2
        found[top : top + ink.shape[0], left : left + ink.shape[1]][ink] = _rgb(drawn.ink_color(fill))
    return found


def _rgb(colour: str) -> tuple[int, int, int]:
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue
