"""Games as pictures: a strip of boards, and an animation, made from which tile goes where.

Both are SVG that stands alone, without scripts; the same game always gives the same bytes.  The animation is
made of CSS keyframes: each tile slides along its own way.  It loops, with a pause at the end.  A reader who
asked the system for less motion sees the last board, as does a program that knows no CSS animation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

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
BOARD_WIDTH = 480
MARGIN = 26
"""Widths in pixels: of a strip, of the board in an animation (about), and of the space around this board."""
SLOWEST, FASTEST = 0.1, 20.0
"""Least and most slides a second."""


# -- which tile goes where ---------------------------------------------------------------------------


@dataclass
class Tile:
    """One tile of a game.

    Attributes
    ----------
    exponent:
        The tile is 2**exponent.
    born:
        The number of the move that makes it, from 0 on.
    way:
        For each slide that moves it, the number of the move, and the cell where it ends; first the move and
        the cell where it begins.
    died:
        The number of the slide that merges it with another; None if it is on the board at the end.
    merged:
        Whether a merge made it, and not a drop.
    """

    exponent: int
    born: int
    way: list[tuple[int, int]] = field(default_factory=list)
    died: int | None = None
    merged: bool = False

    @property
    def cell(self) -> int:
        """Where it is at last."""
        return self.way[-1][1]


@dataclass(frozen=True)
class Trace:
    """A game with its positions and its tiles, in the order in which they begin.

    ``positions[i]`` is the position after i moves.
    """

    rules: Rules
    moves: tuple[Move, ...]
    positions: tuple[Position, ...]
    tiles: tuple[Tile, ...]


def trace(rules: Rules, moves: Sequence[Move]) -> Trace:
    """Return the tiles of a game from the empty board.  Raises `UsageError` if a move is not possible.

    >>> game = trace(Rules(1, 3), (Drop(0), "R", Drop(1), "L"))
    >>> [(tile.exponent, tile.way, tile.died) for tile in game.tiles]
    [(1, [(0, 0), (1, 2), (3, 0)], 3), (1, [(2, 1), (3, 0)], 3), (2, [(3, 0)], None)]
    """
    positions = replay(rules, moves)
    tiles: list[Tile] = []
    board: dict[int, Tile] = {}  # the tile on each cell
    for number, move in enumerate(moves):
        if isinstance(move, Drop):
            made = [Tile(move.exponent, number, [(number, move.cell)])]
            board[move.cell] = made[0]
        else:
            board, made = _slide(rules, board, move, number)
        tiles += made
    return Trace(rules, tuple(moves), tuple(positions), tuple(tiles))


def _slide(
    rules: Rules, board: dict[int, Tile], direction: str, number: int
) -> tuple[dict[int, Tile], list[Tile]]:
    """Return the tiles on each cell after a slide, and those that it makes."""
    after: dict[int, Tile] = {}
    made: list[Tile] = []
    for line in rules.lines[direction]:
        waiting = [board[cell] for cell in line if cell in board]
        for cell in line:
            if not waiting:
                break
            tile = waiting.pop(0)
            _go(tile, cell, number)
            if waiting and waiting[0].exponent == tile.exponent:
                other = waiting.pop(0)
                _go(other, cell, number)
                tile.died = other.died = number
                tile = Tile(tile.exponent + 1, number, [(number, cell)], merged=True)
                made.append(tile)
            after[cell] = tile
    return after, made


def _go(tile: Tile, cell: int, number: int) -> None:
    if tile.cell != cell:
        tile.way.append((number, cell))


# -- a strip of boards -------------------------------------------------------------------------------


def draw_strip(rules: Rules, moves: Sequence[Move], title: str = "") -> str:
    """Return a game as a strip of boards, one after each drop, and the last one: an SVG document.

    Above each board stands its number and the slide that leads to it; the tile that was dropped has a frame.
    Raises `UsageError` if a move is not possible, or there are too many.
    """
    game = _traced(rules, moves)
    shown = [
        number for number, move in enumerate(moves) if isinstance(move, Drop) or number == len(moves) - 1
    ]
    if len(shown) * rules.cells > MOST_SQUARES:
        raise UsageError(
            f"a strip of {len(shown):,} boards of {rules} is too large: it may have "
            f"{MOST_SQUARES // rules.cells:,} of them; draw it with --animated, or fewer moves"
        )
    scale = Scale(rules, 30 if rules.columns <= 5 else 20 if rules.columns <= 8 else 16)
    step, rise = scale.width + 16, scale.height + 30
    rows = -(-len(shown) // max(1, (STRIP_WIDTH - 16) // step))
    columns = -(-len(shown) // rows)  # rows of about one length
    parts = [scale.definitions(game.positions)]
    for at, number in enumerate(shown):
        row, column = divmod(at, columns)
        move = game.moves[number]
        slide = game.moves[number - 1] if isinstance(move, Drop) and number else move
        word = f"{at + 1}. {slide}" if isinstance(slide, str) else f"{at + 1}."
        corner = f"translate({16 + column * step} {26 + row * rise})"
        parts.append(f'<g transform="{corner}"><text x="0" y="-7" class="n">{word}</text><use href="#b"/>')
        parts[-1] += _strip_board(scale, move, game.positions[number + 1])
    size = 16 + columns * step, 8 + rows * rise
    return _document(*size, title or f"{rules}: {_moves_named(game)}", parts)


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


# -- an animation ------------------------------------------------------------------------------------


def draw_animation(rules: Rules, moves: Sequence[Move], title: str = "", *, speed: float = 2.0) -> str:
    """Return a game as an animation with `speed` slides a second, each with the drop after it.

    Triangles around the board show the direction of each slide, a bar below it how much is played.  Raises
    `UsageError` if a move is not possible, there are too many, or the speed is not from 0.1 to 20.
    """
    if not SLOWEST <= speed <= FASTEST:
        raise UsageError(
            f"a speed of {speed:g} is not possible: give {SLOWEST:g} to {FASTEST:g} slides a second"
        )
    game = _traced(rules, moves)
    scale = Scale(rules, max(16, min(64, BOARD_WIDTH // rules.columns)))
    clock = _Clock(game.moves, speed)
    parts = [
        scale.definitions(game.positions),
        f"<style>{''.join(_styles(game, scale, clock))}</style>",
        _triangles(scale),
        f'<g transform="translate({MARGIN} {MARGIN})"><use href="#b"/>{_tiles(game, scale)}</g>',
        _bar(scale),
    ]
    size = scale.width + 2 * MARGIN, scale.height + 2 * MARGIN + 16
    return _document(*size, title or f"{rules}: {_moves_named(game)}", parts)


def _styles(game: Trace, scale: Scale, clock: _Clock) -> Iterator[str]:
    """Yield the keyframes: ``k0``, ``k1`` ... of the tiles, ``U`` ... of the triangles, ``p`` of the bar."""
    for at, tile in enumerate(game.tiles):
        yield f"@keyframes k{at}{{{_keyframes(_life(tile, scale, clock))}}}"
    for direction in "UDLR":
        yield f"@keyframes {direction}{{{_keyframes(_flashes(game, clock, direction))}}}"
    played = _percent(clock.percent(clock.turns))
    yield f"@keyframes p{{0%{{transform:scale(0,1)}}{played},100%{{transform:scale(1,1)}}}}"
    yield f".a{{animation:{clock.seconds:g}s ease-in-out infinite}}"
    yield "@media(prefers-reduced-motion:reduce){.a{animation:none!important}}"


def _tiles(game: Trace, scale: Scale) -> str:
    """Return the tiles; without an animation, those on the board at the end are seen."""
    return "".join(
        f'<use href="#t{tile.exponent}" class="a" style="animation-name:k{at};'
        f'transform:translate({_at(scale, tile.cell)}) scale({int(tile.died is None)})"/>'
        for at, tile in enumerate(game.tiles)
    )


def _bar(scale: Scale) -> str:
    """Return how much is played."""
    lengths = f'width="{scale.width}" height="5"'
    return (
        f'<g transform="translate({MARGIN} {MARGIN + scale.height + 27})"><rect {lengths} fill="{EMPTY}"/>'
        f'<rect {lengths} fill="{DARK}" class="a" '
        'style="animation-name:p;animation-timing-function:linear"/></g>'
    )


class _Clock:
    """When each move happens.  A turn is a slide and the drop after it; the first turn is a drop alone."""

    SLID, MERGED, DROPS, DROPPED, PAUSE = 0.4, 0.7, 0.4, 0.65, 3.0
    """Parts of a turn: tiles have slid, merged tiles have their size, a drop begins and ends.  Then the
    seconds of the pause at the end."""

    def __init__(self, moves: tuple[Move, ...], speed: float) -> None:
        self.turn_of: list[int] = []
        turn = 0
        for number, move in enumerate(moves):
            turn += int(number > 0 and isinstance(move, str))
            self.turn_of.append(turn)
        self.turns = turn + 1
        self.speed = speed
        self.seconds = round(self.turns / speed + self.PAUSE, 3)

    def percent(self, turns: float) -> float:
        """Return the part of the whole animation, in percent, that is over after some turns."""
        return round(100 * turns / self.speed / self.seconds, 3)

    def at(self, move: int, part: float) -> float:
        """Return the percent when a part of the turn of a move is over."""
        return self.percent(self.turn_of[move] + part)


Frame = tuple[float, str]
"""A moment in percent, and the style at it."""
SOON = 0.002
"""Percent between two moments of which the second follows at once."""


def _life(tile: Tile, scale: Scale, clock: _Clock) -> Iterator[Frame]:
    """Yield the frames of a tile: it appears, slides, and goes into another."""

    def frame(percent: float, cell: int, size: float) -> Frame:
        return percent, f"transform:translate({_at(scale, cell)}) scale({size:g})"

    (_, cell), *slides = tile.way
    yield frame(0, cell, 0)
    if tile.merged:
        begin = clock.at(tile.born, clock.SLID)
        yield frame(begin, cell, 0)
        yield frame(begin + SOON, cell, 1)
        yield frame((begin + clock.at(tile.born, clock.MERGED)) / 2, cell, 1.14)
        yield frame(clock.at(tile.born, clock.MERGED), cell, 1)
    else:
        yield frame(clock.at(tile.born, clock.DROPS), cell, 0)
        yield frame(clock.at(tile.born, clock.DROPPED), cell, 1)
    for move, after in slides:
        yield frame(clock.at(move, 0), cell, 1)
        yield frame(clock.at(move, clock.SLID), after, 1)
        cell = after
    if tile.died is not None:
        yield frame(clock.at(tile.died, clock.SLID) + SOON, cell, 1)
        yield frame(clock.at(tile.died, clock.SLID) + 2 * SOON, cell, 0)
    yield frame(100, cell, int(tile.died is None))


def _flashes(game: Trace, clock: _Clock, direction: str) -> Iterator[Frame]:
    """Yield the frames of a triangle: dark during the slides in its direction."""
    yield 0, "opacity:.15"
    for number, move in enumerate(game.moves):
        if move == direction:
            begin, end = clock.at(number, 0), clock.at(number, 0.9)
            yield begin, "opacity:.15"
            yield begin + SOON, "opacity:1"
            yield end - SOON, "opacity:1"
            yield end, "opacity:.15"
    yield 100, "opacity:.15"


def _keyframes(frames: Iterable[Frame]) -> str:
    return "".join(f"{_percent(percent)}{{{style}}}" for percent, style in frames)


def _percent(percent: float) -> str:
    return f"{percent:.3f}".rstrip("0").rstrip(".") + "%"


def _at(scale: Scale, cell: int) -> str:
    left, top = scale.middle(cell)
    return f"{left}px,{top}px"


def _triangles(scale: Scale) -> str:
    """Return one triangle on each side of the board."""
    across, down = MARGIN + scale.width / 2, MARGIN + scale.height / 2
    ends = {
        "U": (across, MARGIN / 2, "-9,5 9,5 0,-6"),
        "D": (across, MARGIN * 1.5 + scale.height, "-9,-5 9,-5 0,6"),
        "L": (MARGIN / 2, down, "5,-9 5,9 -6,0"),
        "R": (MARGIN * 1.5 + scale.width, down, "-5,-9 -5,9 6,0"),
    }
    return "".join(
        f'<polygon points="{points}" transform="translate({x:g} {y:g})" fill="{DARK}" class="a" '
        f'style="opacity:.15;animation-name:{direction}"/>'
        for direction, (x, y, points) in ends.items()
    )


# -- what both have ----------------------------------------------------------------------------------


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

    def text(self, exponent: int) -> tuple[str, int]:
        """Return the text of a tile, and the size of its font."""
        word = str(1 << exponent)
        # A digit is 0.56 of the font size wide; the text may fill 0.82 of the cell.
        return word, min(round(self.side * 0.62), round(0.82 * self.side / (0.56 * len(word))))

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
        fill = tile_color(exponent)
        word, size = self.text(exponent)
        return self._square(0, 0, fill) + (
            f'<text y="{0.36 * size:.3g}" font-size="{size}" fill="{ink_color(fill)}">{word}</text>'
        )


def _traced(rules: Rules, moves: Sequence[Move]) -> Trace:
    if not moves:
        raise UsageError("a game without moves makes no picture: give at least one drop")
    if rules.cells > MOST_CELLS:
        raise UsageError(f"a board of {rules} is too large for a picture: at most {MOST_CELLS:,} cells fit")
    if len(moves) > MOST_MOVES:
        raise UsageError(
            f"a game of {len(moves):,} moves is too long for a picture: at most {MOST_MOVES:,} fit"
        )
    return trace(rules, moves)


def _moves_named(game: Trace) -> str:
    drops = sum(isinstance(move, Drop) for move in game.moves)
    return f"a game of {len(game.moves) - drops} slides and {drops} drops"


def _document(width: int, height: int, title: str, parts: Iterable[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" font-family="{FONT}" font-weight="bold" text-anchor="middle">'
        f"<title>{escape(title)}</title><style>.n{{font-size:13px;text-anchor:start;fill:{DARK}}}</style>"
        f'<rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>{chr(10).join(parts)}</svg>\n'
    )
