"""Which checkerboards can be reached, and by which moves.

A checkerboard alternates 2s and 4s.  A board has two of them, named here by the tile in the upper left
corner: 2 or 4.  The game is bounded: no 8 may ever be made.  If the drops help, and only 2s are dropped, then
on m x n (Edixhoven 2019, section 4)

* one row or column: both are reachable for two cells, and that with 2s at the ends for one and three cells;
* two rows or columns: both are reachable;
* three rows or columns, and an odd number of the others: that with 2s in the corners is reachable;
* all others are not: m or n is even (theorem 14), both are odd and at least 5 (theorem 14), or both are odd
  and 4s are in the corners (corollary 13).

In a deterministic game of 2s the constructions reach every checkerboard of one or two rows or columns that
the drops could help to reach.  For three rows or columns nothing is proved, so the game is searched.

If 4s are dropped too, a construction that the source does not have fills every board, with one drop a cell.

`decide` goes through these cases in turn: theorem, construction, search.  It can be told to use nothing but
searches.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from typing import Unpack

from tilebase.errors import ResourceError, UsageError
from tilebase.game.notation import count_of
from tilebase.patterns.bit_rows import BitRows, Rows, mirrored
from tilebase.patterns.constructions import construct, mirror
from tilebase.patterns.effort import Effort
from tilebase.patterns.moves import moves_text
from tilebase.patterns.rules import Drop, Move, Position, Rules, parse_rules
from tilebase.runtime.resources import Use

COLOURINGS = (2, 4)
MOST_CELLS = 2_000
"""Cells of a board whose witness is made; on 2 x 999 that takes some seconds."""
MOST_POSITIONS = 1_000_000
"""Positions that a search from the empty board visits before it gives up."""
BACK_SECONDS = 60.0
"""Time of a search from the checkerboard if none is given."""


@dataclass(frozen=True)
class Checkerboard:
    """Whether a checkerboard is reachable, why, and by which moves.

    Attributes
    ----------
    rules:
        The board, the drops and the convention.
    colouring:
        The tile in the upper left corner, 2 or 4.
    reachable:
        True or False if it is decided, and None if it is not.
    reason:
        The theorem, the construction or the search that decides it, in words.
    moves:
        A game from the empty board that ends in the checkerboard; empty unless it is reachable.
        `tilebase.patterns.moves.replay` accepts it.
    """

    rules: Rules
    colouring: int
    reachable: bool | None
    reason: str
    moves: tuple[Move, ...] = ()

    @property
    def sequence(self) -> str:
        """The moves as text, as ``(1,1)R(1,1)``; in a deterministic game of 2s only the slides."""
        shown = self.rules if self.rules.drops == (1,) else replace(self.rules, convention=None)
        return moves_text(shown, self.moves)

    @property
    def position(self) -> Position:
        """The checkerboard, as exponents row by row."""
        return checkerboard_position(self.rules, self.colouring)


def checkerboard_position(rules: Rules, colouring: int) -> Position:
    """Return the checkerboard with this tile in the upper left corner.

    >>> checkerboard_position(Rules(2, 3), 4)
    (2, 1, 2, 1, 2, 1)
    """
    cells = (divmod(cell, rules.columns) for cell in range(rules.cells))
    return tuple(1 + (row + column + colouring // 2 - 1) % 2 for row, column in cells)


def checkerboard(
    size: str,
    colouring: int = 2,
    *,
    drops: str = "2",
    deterministic: bool = False,
    convention: str | None = None,
    search: bool = False,
    seconds: float | None = None,
    **use: Unpack[Use],
) -> Checkerboard:
    """Decide whether play from the empty board can end in a checkerboard of 2s and 4s without making an 8.

    Parameters
    ----------
    size:
        Rows x columns, as ``3x5``.
    colouring:
        The tile in the upper left corner, 2 or 4.
    drops:
        Which tiles are dropped: ``2``, as in the source, or ``2,4``, as in the real game.
    deterministic:
        Every tile is dropped in the first empty cell.  If not, drops are where they help.
    convention:
        Of a deterministic game: ``rows`` if the first cell is the topmost, then leftmost empty one,
        ``columns`` if it is the leftmost, then topmost one.  None: rows.
    search:
        Decide by searches alone, without theorems and constructions: an independent check of them.
    seconds:
        After this time a search stops, undecided.  None: 60 seconds for a search back, no bound for others.
    use:
        The keywords of `Use`; a search that needs more memory stops, undecided, and one thread does the work.

    Returns
    -------
    A `Checkerboard`: the verdict with its reason, and a sequence of moves if it is reachable.  It is one of
    many sequences, and not the shortest where 4s are dropped.  The verdict is None where neither a theorem
    nor a construction speaks and no search came to an end.

    Raises
    ------
    UsageError
        The size, colouring, drops or convention do not exist, or the board has more than 2,000 cells.

    Examples
    --------
    >>> checkerboard("3x3").sequence
    '(1,1)D(1,1)D(1,1)D(1,2)D(1,2)D(2,2)U(3,2)D(1,1)R(1,1)L(1,3)R(2,1)U(2,1)D(1,1)'
    >>> checkerboard("4x4").reachable
    False
    """
    return decide(
        parse_rules(size, drops=drops, most=2, deterministic=deterministic, convention=convention),
        colouring,
        search=search,
        seconds=seconds,
        **use,
    )


# -- deciding ------------------------------------------------------------------------------------------


def decide(
    rules: Rules,
    colouring: int,
    *,
    search: bool = False,
    seconds: float | None = None,
    most: int = MOST_POSITIONS,
    **use: Unpack[Use],
) -> Checkerboard:
    """Return whether a checkerboard is reachable: by theorem, by construction, or by search.

    If the drops help, a theorem or a construction decides every size.  In a deterministic game the search
    begins on the empty board, and gives up after `most` positions or `seconds`.  With `search`, theorems and
    constructions are not asked; if the drops help, the search goes back from the checkerboard for `seconds`
    (None: `BACK_SECONDS`).  If nothing decides, the verdict is None.  Raises `UsageError`.
    """
    if colouring not in COLOURINGS:
        raise UsageError(f"colouring {colouring}: the tile in the upper left corner is 2 or 4")
    if rules.cells > MOST_CELLS:
        raise UsageError(f"a board of {rules} has more than {MOST_CELLS:,} cells: choose a smaller one")
    rules = replace(rules, most=2)
    if search and rules.convention is None:
        effort = Effort.within(BACK_SECONDS if seconds is None else seconds, **use)
        return _decide_back(rules, colouring, effort)
    reason = "" if search else theorem(rules, colouring)
    if reason:
        return Checkerboard(rules, colouring, False, reason)
    moves = None if search else construct(rules, colouring)
    if moves is not None:
        return Checkerboard(rules, colouring, True, _construction(rules), moves)
    try:  # only deterministic games are left
        moves = find_sequence(rules, colouring, seconds=seconds, most=most)
    except ResourceError as error:
        return Checkerboard(rules, colouring, None, f"no theorem speaks, and {error}")
    reason = "an exhaustive search from the empty board finds " + ("these moves" if moves else "none")
    return Checkerboard(rules, colouring, bool(moves), reason, moves or ())


def _decide_back(rules: Rules, colouring: int, effort: Effort) -> Checkerboard:
    """Return the verdict of searches from the checkerboard back to the empty board, narrow ones first."""
    from tilebase.patterns.backward import decide_back  # loads Numba

    end = checkerboard_position(rules, colouring)
    found = decide_back(rules, [end], effort)
    if found.reachable is None:
        return Checkerboard(rules, colouring, None, found.reason)
    what = "these moves" if found.reachable else "none"
    listed = count_of(found.positions, "position")
    reason = f"a search from the checkerboard back to the empty board finds {what}, among {listed}"
    return Checkerboard(rules, colouring, found.reachable, reason, found.moves or ())


def theorem(rules: Rules, colouring: int) -> str:
    """Return why a checkerboard cannot be reached, if the source proves it; otherwise an empty text.

    It speaks of drops of 2s only.  What cannot be reached if the drops help cannot be reached in a
    deterministic game, either.
    """
    if rules.drops != (1,):
        return ""
    short, long = sorted((rules.rows, rules.columns))
    if short == 1 and long >= 4:
        return (
            "slides along a single row make tiles that first rise and then fall (lemma 8), so they make no "
            "checkerboard of four or more cells"
        )
    if short * long % 2 and colouring == 4:
        return (
            "both sides are odd and 4s are in the corners (corollary 13): the last drop, a 2, would be in one"
        )
    if short >= 3 and not short * long % 2:
        return "both sides are at least 3 and one is even (theorem 14, if only 2s are dropped)"
    if short >= 5:
        return "both sides are odd and at least 5 (theorem 14, if only 2s are dropped)"
    return ""


def _construction(rules: Rules) -> str:
    """Return what the construction of the moves is called."""
    if rules.drops == (1, 2):
        return "4s are dropped: row by row, with one drop a cell"
    short = min(rules.rows, rules.columns)
    if short == 1:
        return "a single row or column of at most three cells: by these moves"
    if short == 2:
        return "two rows or columns: by the construction for such boards"
    return "three rows or columns and an odd number of the others: by the construction for such boards"


# -- searching -----------------------------------------------------------------------------------------


def find_sequence(
    rules: Rules,
    colouring: int,
    *,
    seconds: float | None = None,
    most: int = MOST_POSITIONS,
) -> tuple[Move, ...] | None:
    """Return a sequence of moves to a checkerboard; None if an exhaustive search finds no such sequence.

    States are visited by the number of drops.  Raises `ResourceError` after `seconds` or `most` states.

    >>> find_sequence(Rules(1, 4), 2) is None
    True
    """
    if rules.rows > rules.columns:
        found = find_sequence(mirrored(rules), colouring, seconds=seconds, most=most)
        return None if found is None else mirror(mirrored(rules), found)
    board = BitRows(rules)
    end = board.checkerboard(colouring)
    before = _visit(board, end, time.perf_counter() + (inf if seconds is None else seconds), most)
    return None if end not in before else _moves_between(rules, board, _path(before, end))


def _visit(board: BitRows, end: Rows, until: float, most: int) -> dict[Rows, Rows]:
    """Return the state before each state that was visited, until the end was found or nothing is new."""
    empty = board.empty
    before: dict[Rows, Rows] = {}
    layer = list(dict.fromkeys(board.every_drop(empty)))
    before.update(dict.fromkeys(layer, empty))
    while layer and end not in before:
        new: list[Rows] = []
        for state in layer:
            for after in board.slides(state):
                for found in board.every_drop(after):
                    if found not in before:
                        before[found] = state
                        new.append(found)
            if len(before) > most or time.perf_counter() > until:
                raise ResourceError(f"the search came to {len(before):,} positions without an end")
        layer = new
    return before


def _path(before: dict[Rows, Rows], end: Rows) -> list[Rows]:
    """Return the states of a game, the first drop first."""
    path = [end]
    while before[path[-1]] in before:
        path.append(before[path[-1]])
    return path[::-1]


def _moves_between(rules: Rules, board: BitRows, path: list[Rows]) -> tuple[Move, ...]:
    """Return the drops and slides that lead from the empty board through the states."""
    states = [tuple(tile for row in state for tile in board.decode(row)) for state in path]
    moves: list[Move] = [Drop(cell, exponent) for cell, exponent in enumerate(states[0]) if exponent]
    for state, wanted in pairwise(states):
        moves += next(_ways(rules, state, wanted))
    return tuple(moves)


def _ways(rules: Rules, state: Position, wanted: Position) -> Iterator[tuple[Move, Move]]:
    """Yield the slides and drops that lead from one state to another."""
    for direction, after in rules.slides(state):
        for new, found in rules.spawns(after):
            if found == wanted:
                yield direction, new
