"""Games as pictures: a strip of boards.

It is SVG that stands alone, without scripts; the same game always gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilebase.errors import UsageError
from tilebase.game.board import CELL, DARK, GAP, drawing, drawing_size
from tilebase.patterns.moves import replay
from tilebase.patterns.rules import Drop, Move, Position, Rules

PAPER = "#fbf8f3"
"""The ground of a picture, so that it can stand on a dark page."""
MOST_MOVES = 2_000
MOST_SQUARES = 40_000
"""The most cells of all boards of a strip together: a file of at most 8 MB."""
MOST_CELLS = 2_500
"""The most cells of one board."""
STRIP_WIDTH = 1010
"""The width of a strip in pixels."""


def draw_strip(rules: Rules, moves: Sequence[Move]) -> str:
    """Return a game as a strip of boards, one after each drop, and the last one: an SVG document.

    Above each board stands its number and the slide that leads to it; the tile that was dropped has a frame.
    Raises `UsageError` if a move is not possible, or there are too many.
    """
    if not moves:
        raise UsageError("a game without moves makes no picture: give at least one drop")
    if rules.cells > MOST_CELLS:
        raise UsageError(f"a board of {rules} is too large for a picture: at most {MOST_CELLS:,} cells fit")
    if len(moves) > MOST_MOVES:
        raise UsageError(
            f"a game of {len(moves):,} moves is too long for a picture: at most {MOST_MOVES:,} fit"
        )
    positions = replay(rules, moves)
    shown = [
        number for number, move in enumerate(moves) if isinstance(move, Drop) or number == len(moves) - 1
    ]
    if len(shown) * rules.cells > MOST_SQUARES:
        raise UsageError(
            f"a strip of {len(shown):,} boards of {rules} is too large: it may have "
            f"{MOST_SQUARES // rules.cells:,} of them; draw fewer moves"
        )
    scale = (30 if rules.columns <= 5 else 20 if rules.columns <= 8 else 16) / CELL
    width, height = (scale * length for length in drawing_size((rules.rows, rules.columns)))
    step, rise = width + 16, height + 30
    rows = -(-len(shown) // max(1, int((STRIP_WIDTH - 16) / step)))
    columns = -(-len(shown) // rows)  # rows of about one length
    parts = []
    for at, number in enumerate(shown):
        row, column = divmod(at, columns)
        x, y, move = 16 + column * step, 26 + row * rise, moves[number]
        slide = moves[number - 1] if isinstance(move, Drop) and number else move
        word = f"{at + 1}. {slide}" if isinstance(slide, str) else f"{at + 1}."
        parts.append(f'<text x="{x:g}" y="{y - 7:g}" font-size="13" fill="{DARK}">{word}</text>')
        board = _board(rules, move, positions[number + 1], scale)
        parts.append(board.replace("<svg ", f'<svg x="{x:g}" y="{y:g}" ', 1))
    drops, whole, high = sum(isinstance(move, Drop) for move in moves), 16 + columns * step, 8 + rows * rise
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole:g} {high:g}" width="{whole:g}" '
        f'height="{high:g}" role="img" font-family="Helvetica, Arial, sans-serif" font-weight="bold">'
        f"<title>{rules}: a game of {len(moves) - drops} slides and {drops} drops</title>"
        f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>{chr(10).join(parts)}</svg>\n'
    )


def _board(rules: Rules, move: Move, position: Position, scale: float) -> str:
    """Return the board after `move`."""
    board = drawing((rules.rows, rules.columns), rules.text(position), scale, digits=62)
    if not isinstance(move, Drop):
        return board
    line = 2 / scale
    left, top = (GAP + at * (CELL + GAP) + line / 2 for at in divmod(move.cell, rules.columns)[::-1])
    frame = (
        f'<rect x="{left:g}" y="{top:g}" width="{CELL - line:g}" height="{CELL - line:g}" rx="6" fill="none" '
        f'stroke="{DARK}" stroke-width="{line:g}"/>'
    )
    return board.replace("</svg>", f"{frame}</svg>")
