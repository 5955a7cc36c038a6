"""Boards in the colours of `game.board` for a terminal, and frames that replace each other at once."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from tilebase.game.board import GRID, WALL, X_FILL, ink_color, tile_color
from tilebase.game.notation import split_cells
from tilebase.tables.real_boards import AnyBoard, RealBoard

Colors: TypeAlias = Literal["none", "256", "true"]
RESET, BOLD, DIM = "\x1b[0m", "\x1b[1m", "\x1b[2m"
LEVELS = (0, 95, 135, 175, 215, 255)
"""The six levels of each channel in the cube of a terminal with 256 colours."""
_STYLES = re.compile(r"\x1b\[[0-9;]*m")


def choose_colors(environment: Mapping[str, str] = os.environ) -> Colors:
    """Return the colours of the terminal by its environment: see https://no-color.org.

    >>> choose_colors({"COLORTERM": "truecolor"}), choose_colors({"NO_COLOR": "1"}), choose_colors({})
    ('true', 'none', '256')
    """
    if environment.get("NO_COLOR"):
        return "none"
    return "true" if environment.get("COLORTERM") in ("truecolor", "24bit") else "256"


def paint(text: str, ink: str, fill: str, colors: Colors) -> str:
    """Paint a text in a colour on a colour; leave it as it is without colours."""
    if colors == "none":
        return text
    return f"\x1b[38;{_code(ink, colors)};48;{_code(fill, colors)}m{text}{RESET}"


def style(text: str, code: str, colors: Colors) -> str:
    """Make a text bold or dim; leave it as it is without colours."""
    return text if colors == "none" else f"{code}{text}{RESET}"


def _code(color: str, colors: Colors) -> str:
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return f"2;{red};{green};{blue}" if colors == "true" else f"5;{nearest_color(red, green, blue)}"


def nearest_color(red: int, green: int, blue: int) -> int:
    """Return the nearest of the 240 fixed colours of a terminal with 256 colours.

    >>> nearest_color(255, 255, 255), nearest_color(8, 8, 8), nearest_color(201, 63, 31)
    (231, 232, 166)
    """
    steps = [min(range(6), key=lambda at: abs(LEVELS[at] - channel)) for channel in (red, green, blue)]
    cube = 16 + 36 * steps[0] + 6 * steps[1] + steps[2]
    gray = min(range(24), key=lambda at: abs(8 + 10 * at - (red + green + blue) / 3))
    options = {cube: [LEVELS[step] for step in steps], 232 + gray: [8 + 10 * gray] * 3}
    return min(
        options,
        key=lambda one: sum((a - b) ** 2 for a, b in zip(options[one], (red, green, blue), strict=True)),
    )


def visible_length(text: str) -> int:
    """Return the columns of a text, without its colours."""
    return len(_STYLES.sub("", text))


def cut_line(text: str, columns: int) -> str:
    """Cut a line to so many columns, with all its colours."""
    if visible_length(text) <= columns:
        return text
    parts: list[str] = []
    for part in re.split(f"({_STYLES.pattern})", text):
        parts.append(part if part.startswith("\x1b") else part[:columns])
        columns -= 0 if part.startswith("\x1b") else len(parts[-1])
    return "".join(parts)


def board_lines(board: AnyBoard, colors: Colors, *, tall: bool) -> list[str]:
    """Draw a board as lines: coloured tiles, three lines each if `tall`, else one.

    Without colours it is a picture of characters.
    """
    if colors == "none":
        return board.unicode().splitlines()
    game = board.game
    rows, columns = game.shape[-2:]
    words = ["" if word == "0" else word for word in split_cells(board.text)]
    width = max(7 if tall else 4, *(len(word) + 2 for word in words))
    lines: list[str] = []
    for first in range(0, game.cells, columns):
        if first and first % (rows * columns) == 0:
            lines.append("")
        cells = range(first, first + columns)
        lines += _row(board, cells, [words[cell] for cell in cells], width, colors, tall=tall)
    return lines


def _row(
    board: AnyBoard,
    cells: Sequence[int],
    words: Sequence[str],
    width: int,
    colors: Colors,
    *,
    tall: bool,
) -> list[str]:
    """Return the lines of one row of cells; between tiles the colour of the grid is seen."""
    fills = [_fill(board, cell) for cell in cells]
    gap = paint(" ", GRID, GRID, colors)

    def line(texts: Sequence[str], *, edge: bool = False) -> str:
        painted = [
            paint(text.center(width), fill if edge else ink_color(fill), GRID if edge else fill, colors)
            for text, fill in zip(texts, fills, strict=True)
        ]
        return gap + gap.join(painted) + gap

    middle = line(words)
    if not tall:
        return [middle]
    # The lower half of the last line has the colour of the grid, so that rows are apart.
    return [line([""] * len(words)), middle, line(["▀" * width] * len(words), edge=True)]


def _fill(board: AnyBoard, cell: int) -> str:
    if cell in board.game.walls:
        return WALL
    if isinstance(board, RealBoard):
        return tile_color(board.tiles[cell])
    return X_FILL if board.game.is_x(board.cells[cell]) else tile_color(board.cells[cell])


def frame(lines: Sequence[str], columns: int, rows: int) -> str:
    """Return what replaces the screen by lines: each is cut to the window, and the rest of it is cleared.

    The text moves the cursor and clears behind what it writes, so that nothing is blank in between.
    """
    shown = [cut_line(line, columns) for line in lines[:rows]]
    # Behind a full line the cursor still stands on its last character, which clearing would delete.
    ends = ["" if visible_length(line) >= columns else "\x1b[K" for line in shown]
    text = "\r\n".join(f"{line}{RESET}{end}" for line, end in zip(shown, ends, strict=True))
    rest = "\r\n\x1b[J" if len(shown) < rows else ""
    return f"\x1b[?2026h\x1b[H{text}{rest}\x1b[?2026l"
