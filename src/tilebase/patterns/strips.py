"""Games as pictures: a strip of boards.

It is SVG that stands alone, without scripts; the same game always gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilebase.errors import UsageError
from tilebase.game.board import DARK, EMPTY, GRID, ink_color, tile_color
from tilebase.patterns.moves import replay
from tilebase.patterns.rules import Drop, Move, Position, Rules

PAPER = "#fbf8f3"
"""The ground of a picture, so that it can stand on a dark page."""
FONT = "Clear Sans, Helvetica Neue, Helvetica, Arial, sans-serif"
MOST_MOVES = 2_000
MOST_SQUARES = 200_000
"""The most cells of all boards of a strip together."""
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
    scale = Scale(rules, 30 if rules.columns <= 5 else 20 if rules.columns <= 8 else 16)
    step, rise = scale.width + 16, scale.height + 30
    rows = -(-len(shown) // max(1, (STRIP_WIDTH - 16) // step))
    columns = -(-len(shown) // rows)  # rows of about one length
    parts = [scale.definitions(positions)]
    for at, number in enumerate(shown):
        row, column = divmod(at, columns)
        move = moves[number]
        slide = moves[number - 1] if isinstance(move, Drop) and number else move
        word = f"{at + 1}. {slide}" if isinstance(slide, str) else f"{at + 1}."
        corner = f"translate({16 + column * step} {26 + row * rise})"
        parts.append(f'<g transform="{corner}"><text x="0" y="-7" class="n">{word}</text><use href="#b"/>')
        parts[-1] += _strip_board(scale, move, positions[number + 1])
    size = 16 + columns * step, 8 + rows * rise
    drops = sum(isinstance(move, Drop) for move in moves)
    return _document(*size, f"{rules}: a game of {len(moves) - drops} slides and {drops} drops", parts)


def _strip_board(scale: Scale, move: Move, position: Position) -> str:
    """Return the tiles of one board of a strip, that after `move`."""
    parts = []
    for cell, exponent in enumerate(position):
        if exponent:
            left, top = scale.middle(cell)
            parts.append(f'<use href="#t{exponent}" x="{left}" y="{top}"/>')
    if isinstance(move, Drop):
        left, top = scale.middle(move.cell)
        parts.append(f'<use href="#n" x="{left}" y="{top}"/>')
    return "".join([*parts, "</g>"])


class Scale:
    """The lengths of a board whose cells have a side of so many pixels."""

    def __init__(self, rules: Rules, side: int) -> None:
        self.rules, self.side = rules, side
        self.gap = max(2, side // 10)
        self.ring = max(2, side // 12)
        self.width = rules.columns * (side + self.gap) + self.gap
        self.height = rules.rows * (side + self.gap) + self.gap

    def middle(self, cell: int) -> tuple[int, int]:
        """Return the middle of a cell."""
        row, column = divmod(cell, self.rules.columns)
        step = self.side + self.gap
        return self.gap + column * step + self.side // 2, self.gap + row * step + self.side // 2

    def definitions(self, positions: Iterable[Position]) -> str:
        """Return the empty board ``b``, the tiles ``t1``, ``t2`` ..., and the frame ``n`` of a new tile."""
        exponents = sorted({value for position in positions for value in position if value})
        tiles = "".join(f'<g id="t{exponent}">{self._tile(exponent)}</g>' for exponent in exponents)
        half, ring = self.side // 2, self.ring
        frame = (
            f'<rect id="n" x="{ring / 2 - half:g}" y="{ring / 2 - half:g}" width="{self.side - ring}" '
            f'height="{self.side - ring}" rx="{self.side // 10}" fill="none" stroke="{DARK}" '
            f'stroke-width="{ring}"/>'
        )
        squares = "".join(self._square(*self.middle(cell), EMPTY) for cell in range(self.rules.cells))
        back = f'<rect width="{self.width}" height="{self.height}" rx="{self.gap + 2}" fill="{GRID}"/>'
        return f'<defs><g id="b">{back}{squares}</g>{tiles}{frame}</defs>'

    def _square(self, x: int, y: int, fill: str) -> str:
        half = self.side // 2
        return (
            f'<rect x="{x - half}" y="{y - half}" width="{self.side}" height="{self.side}" '
            f'rx="{self.side // 10}" fill="{fill}"/>'
        )

    def _tile(self, exponent: int) -> str:
        word, fill = str(1 << exponent), tile_color(exponent)
        # A digit is 0.56 of the font size wide; the text may fill 0.82 of the cell.
        size = min(round(self.side * 0.62), round(0.82 * self.side / (0.56 * len(word))))
        return self._square(0, 0, fill) + (
            f'<text y="{0.36 * size:.3g}" font-size="{size}" fill="{ink_color(fill)}">{word}</text>'
        )


def _document(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" font-family="{FONT}" font-weight="bold" text-anchor="middle">'
        f"<title>{title}</title><style>.n{{font-size:13px;text-anchor:start;fill:{DARK}}}</style>"
        f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>{chr(10).join(parts)}</svg>\n'
    )
