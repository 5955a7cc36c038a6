"""Boards that a few drops make of a board that is filled from below with 2s and 4s (`patterns.filling`).

Edixhoven's figures 7 and 8 (section 4.4) are such boards: a checkerboard with a wrong cell in a corner, and
an end position with three 8s.  A search back from them ends after a few layers on boards of 6x6 and more.
This search goes forward instead.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilebase.patterns.effort import Effort
from tilebase.patterns.filling import MOST_SIDE, fill
from tilebase.patterns.moves import replay
from tilebase.patterns.rules import Drop, Move, Position, Rules, drops_made

LEAST_CELLS = 30
"""On smaller boards the search back decides."""
MOST_DROPS = 10
"""Most drops on a filled board."""
MOST_EMPTY = 3
"""Most empty cells after a slide of a filled board: the goal is full."""
MOST_POSITIONS = 50_000
"""Most positions of a layer that are kept."""


def figure(number: int, side: int = 10) -> Position:
    """Return the board of Edixhoven's figure 7 or 8, or the same pattern on a square board of another side.

    >>> figure(7, 3), figure(8, 3)
    ((1, 1, 2, 1, 2, 1, 2, 1, 2), (1, 2, 3, 2, 3, 1, 3, 1, 2))
    """
    corner = (1,) if number == 7 else (1, 2, 3)  # by the distance from the first cell
    return tuple(
        corner[row + column] if row + column < len(corner) else 2 - (row + column) % 2
        for row in range(side)
        for column in range(side)
    )


def game_by_filling(rules: Rules, goal: Position, effort: Effort) -> tuple[Move, ...] | None:
    """Return a game that fills the board and then makes `goal`; None if none is found, which proves nothing.

    The goal is a full board with a side of even length and with 2s, 4s and a few 8s.
    """
    even = rules.rows % 2 == 0 or rules.columns % 2 == 0
    fits = rules.cells >= LEAST_CELLS and max(rules.rows, rules.columns) <= MOST_SIDE
    if not (even and fits and 0 not in goal and max(goal) <= 3 and rules.convention is None):
        return None
    more = 2 * drops_made(goal) - 3 * rules.cells
    if not -LEAST_CELLS <= more <= 2 * MOST_DROPS:
        return None  # about as many 2s as 4s are on a filled board
    filled = fill(Rules(rules.rows, rules.columns, most=2), effort)
    if filled.moves is None or filled.board is None:
        return None
    wanted = {tuple(goal[cell] for cell in image): image for image in rules.symmetries}
    onward = _onward(rules, filled.board, wanted, drops_made(goal) - drops_made(filled.board), effort)
    if onward is None:
        return None
    moves = (*filled.moves, *onward)
    # The last board holds goal[image[cell]] on each cell: the cell is cell image[cell] of the goal.
    image = wanted[replay(rules, moves)[-1]]
    return tuple(_moved(rules, moves, image))


def _onward(
    rules: Rules, start: Position, wanted: dict[Position, Position], drops: int, effort: Effort
) -> tuple[Move, ...] | None:
    """Return moves from a full board to one of those that are wanted, by so many drops of 2s."""
    if start in wanted:
        return ()
    largest = max(max(board) for board in wanted)
    layer: dict[Position, tuple[Move, ...]] = {start: ()}
    for _ in range(drops if 0 < drops <= MOST_DROPS else 0):
        following: dict[Position, tuple[Move, ...]] = {}
        for position, moves in layer.items():
            for slide, after in rules.slides(position):
                cells = rules.open_cells(after)
                if max(after) > largest or len(cells) > MOST_EMPTY:
                    continue
                for cell in cells:
                    state = (*after[:cell], 1, *after[cell + 1 :])
                    following.setdefault(state, (*moves, slide, Drop(cell)))
            if effort.left < 0 or len(following) > MOST_POSITIONS:
                return None
        layer = following
        for board in wanted:
            if board in layer:
                return layer[board]
    return None


def _moved(rules: Rules, moves: tuple[Move, ...], image: Position) -> Iterator[Move]:
    """Yield the moves of a game on the board whose cell ``image[c]`` is cell c of this one."""
    direction = {lines[0]: name for name, lines in rules.lines.items()}
    direction |= {line: name for name, lines in rules.lines.items() for line in lines}
    for move in moves:
        if isinstance(move, str):
            yield direction[tuple(image[cell] for cell in rules.lines[move][0])]
        else:
            yield Drop(image[move.cell], move.exponent)
