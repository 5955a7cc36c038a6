"""Sequences of moves: how they are written, read, replayed and carried to another image of the board.

A slide is one of the letters U, D, L and R.  A drop is ``(row,column)``, counted from 1 at the upper left
corner, and ``(row,column)=4`` if the new tile is a 4.  So ``(1,1)D(1,1)R(2,2)`` is a game of two slides and
three drops.  In a deterministic game the drops need not be written: ``DR``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tilebase.errors import UsageError
from tilebase.game.findings import Finding, Reported
from tilebase.patterns.rules import DIRECTIONS, Drop, Move, Position, Rules, drop, parse_rules

WORD = re.compile(r"\s*(?:([UDLR])|\((\d{1,5}),\s*(\d{1,5})\)(?:=(\d{1,5}))?)\s*")
MOST_MOVES = 1_000_000
MOST_KEPT = 20_000_000
"""Most cells of all positions of a game together."""


def parse_moves(rules: Rules, text: str) -> tuple[Move, ...]:
    """Return the moves of a text.  Raises `UsageError` on anything else."""
    moves: list[Move] = []
    at = 0
    while at < len(text):
        word = WORD.match(text, at)
        if word is None:
            raise UsageError(
                f"{text[at : at + 12]!r} in the moves is neither a slide nor a drop: write U, D, L, R and "
                "(row,column), as in (1,1)D(1,2)"
            )
        at = word.end()
        moves.append(word[1] or _drop(rules, word))
        if len(moves) > MOST_MOVES:
            raise UsageError(f"more than {MOST_MOVES:,} moves: give fewer")
    return tuple(moves)


def _drop(rules: Rules, word: re.Match[str]) -> Drop:
    row, column, tile = int(word[2]), int(word[3]), int(word[4] or 2)
    if not (1 <= row <= rules.rows and 1 <= column <= rules.columns):
        raise UsageError(f"the drop ({row},{column}) is not on the board of {rules}")
    if tile not in [1 << exponent for exponent in rules.drops]:
        tiles = " or ".join(str(1 << exponent) for exponent in rules.drops)
        raise UsageError(f"a tile {tile} cannot be dropped: new tiles are {tiles}")
    return Drop((row - 1) * rules.columns + column - 1, tile.bit_length() - 1)


def moves_text(rules: Rules, moves: Sequence[Move]) -> str:
    """Return the moves as text; in a deterministic game without the drops.

    >>> moves_text(Rules(2, 2), (Drop(0), "D", Drop(1, 2)))
    '(1,1)D(1,2)=4'
    """
    return "".join(_word(rules, move) for move in moves)


def _word(rules: Rules, move: Move) -> str:
    if isinstance(move, str):
        return move
    if rules.convention is not None:
        return ""
    row, column = divmod(move.cell, rules.columns)
    tile = f"={1 << move.exponent}" if move.exponent > 1 else ""
    return f"({row + 1},{column + 1}){tile}"


def with_drops(rules: Rules, slides: str) -> tuple[Move, ...]:
    """Return the moves of a deterministic game of 2s whose slides are given, each drop included.

    Raises `UsageError`, with the number of the slide, if it is not possible.

    >>> with_drops(Rules(1, 2, convention="rows"), "R")
    (Drop(cell=0, exponent=1), 'R', Drop(cell=0, exponent=1))
    """
    new = Drop(rules.open_cells(rules.empty)[0])
    moves: list[Move] = [new]
    position = drop(rules.empty, new)
    for number, slide in enumerate("".join(slides.split()), 1):
        position = _slid(rules, position, slide, f"slide {number}")
        new = Drop(rules.open_cells(position)[0])
        moves += [slide, new]
        position = drop(position, new)
    return tuple(moves)


def replay(rules: Rules, moves: Sequence[Move], start: Position | None = None) -> list[Position]:
    """Return the positions of a game: the start, and one after each move.

    The start is the empty board, where a drop comes first.  Raises `UsageError`, with the number of the
    move, if two slides or two drops follow each other, if a slide moves nothing or makes too large a tile,
    or if a drop is on a tile, or not where a deterministic game drops.

    >>> replay(Rules(1, 2), (Drop(0), "R", Drop(0)))
    [(0, 0), (1, 0), (0, 1), (1, 1)]
    """
    positions = [rules.empty if start is None else start]
    kinds = [isinstance(move, str) for move in moves]
    if start is None and kinds[:1] == [True]:
        raise UsageError("a game begins with a drop, since the board is empty")
    for number, (kind, after) in enumerate(pairwise(kinds), 2):
        if kind == after:
            raise UsageError(f"move {number} is a second {'slide' if kind else 'drop'}: they take turns")
    for number, move in enumerate(moves, 1):
        if isinstance(move, str):
            positions.append(_slid(rules, positions[-1], move, f"move {number}"))
        else:
            positions.append(_dropped(rules, positions[-1], move, number))
    return positions


def _slid(rules: Rules, position: Position, direction: str, name: str) -> Position:
    """Return the position after a slide, which errors call by a name such as ``move 3``."""
    if direction not in DIRECTIONS:
        raise UsageError(f"{name} is {direction!r}: slides are U, D, L and R")
    after = rules.slide(position, direction)
    if after is None:
        bounded = rules.most is not None and Rules(rules.rows, rules.columns).slide(position, direction)
        why = f"makes a tile above {1 << (rules.most or 0)}" if bounded else "moves nothing"
        raise UsageError(f"{name}, {direction}, {why}: {rules.text(position)}")
    return after


def _dropped(rules: Rules, position: Position, new: Drop, number: int) -> Position:
    if position[new.cell]:
        raise UsageError(
            f"move {number}, {_word(Rules(rules.rows, rules.columns), new)}, is on a tile: "
            f"{rules.text(position)}"
        )
    if new.cell not in rules.open_cells(position) or new.exponent not in rules.drops:
        raise UsageError(f"move {number} is not where this game drops: {rules.text(position)}")
    return drop(position, new)


def drops_of(moves: Sequence[Move]) -> int:
    """Return how many drops a game has: it begins and ends with one."""
    return (len(moves) + 1) // 2


def moves_between(rules: Rules, states: Sequence[Position]) -> tuple[Move, ...]:
    """Return the slides and drops that lead from each state to the next: the first slide that can."""
    moves: list[Move] = []
    for state, wanted in pairwise(states):
        moves += next(
            (slide, new)
            for slide, after in rules.slides(state)
            for new, found in rules.spawns(after)
            if found == wanted
        )
    return tuple(moves)


def carried(
    rules: Rules, moves: Sequence[Move], to: Sequence[int], onto: Rules | None = None
) -> Iterator[Move]:
    """Yield the moves of a game as they are if what is on cell c is carried to the cell ``to[c]``.

    `onto` are the rules of the board that it is carried to, if that has other sides.
    """
    direction = {line: name for name, lines in (onto or rules).lines.items() for line in lines}
    slides = {
        name: direction[tuple(to[cell] for cell in lines[0])]
        for name, lines in rules.lines.items()
        if len(lines[0]) > 1  # along a line of one cell nothing slides
    }
    for move in moves:
        yield slides[move] if isinstance(move, str) else Drop(to[move.cell], move.exponent)


class Played(Reported):
    """A result about games on a board of `rules`, and the `moves` of one; None if none was found."""

    rules: Rules
    moves: tuple[Move, ...] | None

    @property
    def size(self) -> str:
        """The size of the board."""
        return str(self.rules)

    @property
    def sequence(self) -> str:
        """The moves as text, such as ``(1,1)D(1,2)``; in a deterministic game only the slides."""
        return moves_text(self.rules, self.moves or ())

    @property
    def drops(self) -> int | None:
        """The number of drops of the game."""
        return None if self.moves is None else drops_of(self.moves)

    @property
    def last(self) -> Position | None:
        """The last position of the game."""
        return None if self.moves is None else replay(self.rules, self.moves)[-1]

    @property
    def board(self) -> str | None:
        """The last position as text."""
        return None if self.last is None else self.rules.text(self.last)

    def found(self, quantity: str, value: str, kind: str) -> tuple[Finding, ...]:
        """Return one finding about these rules."""
        return (Finding(self.size, quantity, value, kind, self.rules.start_words),)


# -- games as text -----------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Replay(Played):
    """A game that was replayed.

    Attributes
    ----------
    rules:
        The board and what may be dropped on it.
    moves:
        The slides and drops.
    positions:
        The positions as tuples of exponents, row by row: the empty board, and one after each move.
    """

    facts = ("size", "sequence")

    rules: Rules
    moves: tuple[Move, ...]
    positions: tuple[Position, ...]

    def asked(self) -> tuple[Finding, ...]:
        """Return where the moves lead."""
        return self.found(f"the board after {self.sequence}", self.boards[-1], "exact")

    @property
    def boards(self) -> list[str]:
        """The positions as text, such as ``2,4/0,2``."""
        return [self.rules.text(position) for position in self.positions]

    def strip(self) -> str:
        """Return the boards after each drop as a picture: an SVG document.

        Raises `UsageError` if the game is too long or the board too large for a picture.
        """
        from tilebase.patterns.strips import draw_strip

        return draw_strip(self.rules, self.moves)


def replay_moves(
    size: str, moves: str, *, drops: str = "2,4", deterministic: bool = False, convention: str | None = None
) -> Replay:
    """Replay a game from the empty board, by the plain rules.

    Parameters
    ----------
    size:
        Rows x columns, such as ``3x5``.
    moves:
        Slides U, D, L and R, and drops ``(row,column)`` or ``(row,column)=4``, counted from 1 at the upper
        left corner.  In a deterministic game only the slides.
    drops:
        Which tiles may be dropped: ``2`` or ``2,4``.
    deterministic:
        Every tile is a 2, and is dropped in the first empty cell.
    convention:
        Of a deterministic game: ``rows`` if the first cell is the topmost, then leftmost empty one,
        ``columns`` if it is the leftmost, then topmost one.  None: rows.

    Raises
    ------
    UsageError
        If the size, drops or convention do not exist, the text is not one of moves, or a move is not
        possible; with the number of the move, or of the slide in a deterministic game.

    >>> replay_moves("2x2", "(1,1)R(1,1)=4").boards
    ['0,0/0,0', '2,0/0,0', '0,2/0,0', '4,2/0,0']
    >>> replay_moves("2x2", "RRDRL", deterministic=True).boards[-1]
    '4,2/2,4'
    """
    rules = parse_rules(size, drops=drops, deterministic=deterministic, convention=convention)
    parsed = with_drops(rules, moves) if deterministic else parse_moves(rules, moves)
    if rules.cells * len(parsed) > MOST_KEPT:
        raise UsageError(f"{len(parsed):,} moves on a board of {rules} are too many to keep all positions")
    return Replay(rules, parsed, tuple(replay(rules, parsed)))
