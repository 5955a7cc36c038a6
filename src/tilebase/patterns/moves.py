"""Sequences of moves: how they are written, read and replayed.

A slide is one of the letters U, D, L and R.  A drop is ``(row,column)``, counted from 1 at the upper left
corner, and ``(row,column)=4`` if the new tile is a 4.  So ``(1,1)D(1,1)R(2,2)`` is a game of two slides and
three drops.  In a deterministic game the drops need not be written: ``DR``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from tilebase.errors import UsageError
from tilebase.patterns.rules import DIRECTIONS, Drop, Move, Position, Rules, drop

WORD = re.compile(r"\s*(?:([UDLR])|\((\d{1,5}),\s*(\d{1,5})\)(?:=(\d{1,5}))?)\s*")
MOST_MOVES = 1_000_000


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
