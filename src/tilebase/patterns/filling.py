"""Games that fill a board with 2s and 4s: drops of 2s, and no 8 is ever made.

A board with a side of even length is filled from below.  `row_moves` builds one complete row after the other,
each with 2s and 4s in turns and unequal to the row below.  For each it needs one free row above.  So the last
rows are left.  A forward search of bounded width fills them; it sees one complete row below them, since what
lies deeper never moves.  Boards with two odd sides are filled by that search alone.

On one row, a slide puts all empty cells on one side.  So a drop is always at an end of the tiles, and only
their order counts, whatever the length of the row.  A test lists every order that occurs: none has more than
four tiles (`LONGEST_LINE`).  So a row of five or more cells is never full.

`game_by_filling` makes a full board with a few 8s of a filled one, by a few drops more.  Edixhoven's figures
7 and 8 (section 4.4) are such boards: a checkerboard with a wrong cell in a corner, and an end position with
three 8s.  A search back from them ends after a few layers on boards of 6x6 and more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Unpack

from tilebase.errors import ResourceError
from tilebase.game.findings import VERDICTS, Finding
from tilebase.patterns.checkerboards import mirror
from tilebase.patterns.moves import Played, carried, moves_between, replay
from tilebase.patterns.packed import Aim, search_on
from tilebase.patterns.rules import Drop, Move, Position, Rules, drops_made, parse_rules
from tilebase.patterns.searching import Effort, Searched, find_path
from tilebase.patterns.tallies import mirrored
from tilebase.runtime.resources import Use

WIDTHS = (2000, 10_000, 40_000, 160_000)
"""How many positions of each layer the searches keep, one search after the other."""
LONGEST_LINE = 4
"""The most tiles on one line if only 2s are dropped and no 8 is ever made."""
MOST_SIDE = 12
LEAST_CELLS = 30
"""On smaller boards the search back decides."""
MOST_DROPS = 10
"""Most drops on a filled board."""
MOST_EMPTY = 3
"""Most empty cells after a slide of a filled board: the goal is full."""
MOST_POSITIONS = 100_000
"""Most positions that drops on a filled board make."""


@dataclass(frozen=True, repr=False)
class Filled(Played):
    """Whether a board can be filled with 2s and 4s.

    Attributes
    ----------
    rules:
        The board; the largest exponent is 2.
    possible:
        False is proved; None if no game was found.
    moves:
        A game that ends with a full board; replay it with `replay`.
    reason:
        Why it is not possible, or why that is not decided.
    positions, seconds:
        How many positions the searches kept, and their time.
    """

    facts = ("size", "possible", "drops", "board", "sequence", "reason", "positions", "seconds")

    rules: Rules
    possible: bool | None
    moves: tuple[Move, ...] | None
    reason: str
    positions: int
    seconds: float

    def asked(self) -> tuple[Finding, ...]:
        """Return whether the board can be filled, and by how many drops."""
        value, kind = VERDICTS[self.possible]
        value += f", by {self.drops:,} drops" if self.possible else ""
        what = "whether drops of 2s can fill the board with 2s and 4s, without an 8"
        return self.found(what, value, kind)


def fill_board(size: str, *, seed: int = 1, seconds: float = math.inf, **use: Unpack[Use]) -> Filled:
    """Find a game that fills a board with 2s and 4s: drops of 2s, and no 8 is ever made.

    `size` is rows x columns, such as ``6x6``.  A game with the same seed is the same game.  `use` are the
    keywords of `Use`; one thread does the work.  Raises `UsageError` for a wrong size or seed, or
    `ResourceError` if a side is above 12.

    >>> fill_board("1x5").possible
    False
    >>> found = fill_board("2x2")
    >>> found.possible, found.board
    (True, '2,2/4,2')
    """
    return fill(parse_rules(size, most=2), Effort.within(seconds, seed, **use))


def fill(rules: Rules, effort: Effort) -> Filled:
    """Fill a board of these rules, as `fill_board` does."""
    began = time.perf_counter()
    found = _fill(rules, effort)
    spent = time.perf_counter() - began
    return Filled(rules, found.reachable, found.moves, found.reason, found.positions, spent)


def _fill(rules: Rules, effort: Effort) -> Searched:
    if rules.cells == 1:
        return Searched(True, (Drop(0),))
    if min(rules.rows, rules.columns) > 1:
        check_sides(rules)
    elif rules.cells > LONGEST_LINE:
        reason = f"on one line, never more than {LONGEST_LINE} tiles are 2s and 4s without an 8"
        return Searched(False, None, reason)
    built = best_built(rules)
    length = built.columns
    free = min(max(length // 2, 2), built.rows) if length % 2 == 0 else built.rows
    kept = 0
    for width in WIDTHS:
        found = finish(built, free, 2, None, width, effort)
        kept += found.positions
        if found.moves is not None:
            moves = found.moves if built == rules else mirror(built, found.moves)
            replay(rules, moves)
            return Searched(True, moves, "", kept)
        if found.reason:
            return Searched(None, None, found.reason, kept)
    return Searched(None, None, f"no game is among {WIDTHS[-1]:,} positions of each layer", kept)


def check_sides(rules: Rules) -> None:
    """Raise `ResourceError` if a side is too long for the searches that fill boards."""
    if max(rules.rows, rules.columns) > MOST_SIDE:
        raise ResourceError(
            f"a board of {rules} has a side above {MOST_SIDE}: the search needs a smaller one"
        )


def best_built(rules: Rules) -> Rules:
    """Return the rules of the board, mirrored if its columns are better built as rows.

    The length of rows must be even, and short.
    """
    flipped = (rules.columns % 2, rules.columns) > (rules.rows % 2, rules.rows)
    return mirrored(rules) if flipped else rules


# -- rows, and what is above them ---------------------------------------------------------------------


def finish(
    rules: Rules, free: int, largest: int, drops: int | None, width: int, effort: Effort, most: int = 1 << 20
) -> Searched:
    """Build complete rows but for the highest `free` ones, and search for the rest of the game.

    `largest`, `most` and `drops` are those of `Aim`, `drops` counted for the whole board.
    """
    rows, columns = rules.rows, rules.columns
    built = list(complete_rows(rows, columns, rows - free))
    below = replay(Rules(rows, columns, most=2), built)[-1]
    small = Rules(min(free + 1, rows), columns)  # what the search sees
    start, deeper = below[: small.cells], drops_made(below[small.cells :])
    kept = frozenset(range(free * columns, small.cells))
    aim = Aim(start, kept, largest, most, None if drops is None else drops - deeper)
    found = search_on(small, aim, effort, width=width)
    return found if found.moves is None else replace(found, moves=(*built, *found.moves))


def complete_rows(rows: int, columns: int, number: int) -> Iterator[Move]:
    """Yield a game that builds complete rows at the lower edge, with 2s and 4s in turns; a drop follows.

    The number of columns must be even, and one row must be left free.  Each row takes 3 drops for 2 cells.

    >>> rules = Rules(3, 4, most=2)
    >>> rules.text(replay(rules, tuple(complete_rows(3, 4, 2)))[-1])
    '0,0,0,0/2,4,2,4/4,2,4,2'
    """
    for k in range(number):
        moves = row_moves(rows - 1 - k, columns)
        sideways = [row * columns + columns - 1 - column for row in range(rows) for column in range(columns)]
        yield from moves if k % 2 == 0 else carried(Rules(rows, columns), tuple(moves), sideways)


def row_moves(row: int, columns: int) -> Iterator[Move]:
    """Yield the moves that build the row 4, 2, 4, 2 and so on; the row below it, if any, is 2, 4, 2, 4.

    A 4 is made at the left edge.  Two 2s that fall on each other at the right edge make the next 4; a 2
    beside it, and a slide to the left brings both.  The last 2 falls at the right edge.
    """
    above, here, right = (row - 1) * columns, row * columns, columns - 1
    yield from (Drop(here + right), "L") * 2
    for _ in range(columns // 2 - 1):
        for cell, slide in ((above + right, "D"), (above + right, "D"), (here + right - 1, "L")):
            yield from (Drop(cell), slide)
    yield from (Drop(above + right), "D")


# -- boards near a filled one --------------------------------------------------------------------------


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
    total, largest = drops_made(goal), max(goal)
    if not -LEAST_CELLS <= 2 * total - 3 * rules.cells <= 2 * MOST_DROPS:
        return None  # about as many 2s as 4s are on a filled board
    filled = fill(Rules(rules.rows, rules.columns, most=2), effort)
    last = filled.last
    if filled.moves is None or last is None or total - drops_made(last) > MOST_DROPS:
        return None

    def step(position: Position) -> Iterator[Position]:
        for _, after in rules.slides(position) if drops_made(position) < total else ():
            cells = rules.open_cells(after)
            if max(after) <= largest and len(cells) <= MOST_EMPTY:
                yield from ((*after[:cell], 1, *after[cell + 1 :]) for cell in cells)

    wanted = {tuple(goal[cell] for cell in image): image for image in rules.symmetries}
    try:
        path = find_path([last], list(wanted), step, effort, MOST_POSITIONS)
    except ResourceError:
        return None  # which proves nothing
    if path is None:
        return None
    # The last board holds goal[image[cell]] on each cell: the cell is cell image[cell] of the goal.
    moves = (*filled.moves, *moves_between(rules, path))
    return tuple(carried(rules, moves, wanted[path[-1]]))
