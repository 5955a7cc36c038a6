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

The constructions follow section 4 of the source, but for `row_by_row`.  In `two_columns`, `two_rows` and
`one_row` every drop is on the topmost, then leftmost empty cell.  Mirrored in the main diagonal they are
games in which it is on the leftmost, then topmost one.  `three_rows` needs drops on other cells.  The formula
of the source for m x 2, as printed, is wrong for every m from 2; docs/errata.md has the computation.  The one
here is what the text and the figure of the source describe.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Unpack

from tilebase.errors import ResourceError, UsageError
from tilebase.game.findings import VERDICTS, Finding
from tilebase.game.notation import count_of
from tilebase.patterns.moves import Played, carried, moves_between, moves_text, parse_moves, with_drops
from tilebase.patterns.rules import Drop, Move, Position, Rules, checkerboard_position, parse_rules
from tilebase.patterns.searching import ANY, Effort, find_path
from tilebase.patterns.tallies import BitRows, Rows, mirrored
from tilebase.runtime.resources import Use

COLOURINGS = (2, 4)
MOST_CELLS = 2_000
"""Cells of a board whose witness is made; on 2 x 999 that takes some seconds."""
MOST_POSITIONS = 1_000_000
"""Positions that a search from the empty board visits before it gives up."""
BACK_SECONDS = 60.0
"""Time of a search from the checkerboard if none is given."""


@dataclass(frozen=True, repr=False)
class Checkerboard(Played):
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

    facts = ("size", "colouring", "reachable", "reason", "sequence", "board")

    rules: Rules
    colouring: int
    reachable: bool | None
    reason: str
    moves: tuple[Move, ...] = ()

    @property
    def sequence(self) -> str:
        """The moves as text, such as ``(1,1)R(1,1)``; in a deterministic game of 2s only the slides."""
        shown = self.rules if self.rules.drops == (1,) else replace(self.rules, convention=None)
        return moves_text(shown, self.moves)

    @property
    def position(self) -> Position:
        """The checkerboard, as exponents row by row."""
        return checkerboard_position(self.rules, self.colouring)

    @property
    def board(self) -> str:
        """The checkerboard as text."""
        return self.rules.text(self.position)

    @property
    def name(self) -> str:
        """The checkerboard in words."""
        return (
            f"the checkerboard with a {self.colouring} in the corner, with drops of {self.rules.drop_words}"
        )

    def asked(self) -> tuple[Finding, ...]:
        """Return whether play reaches the checkerboard."""
        return self.found(f"whether play reaches {self.name}", *VERDICTS[self.reachable])


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
        Rows x columns, such as ``3x5``.
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
        Effort.within(math.inf if seconds is None else seconds, **use),
        search=search,
    )


# -- deciding ------------------------------------------------------------------------------------------


def decide(rules: Rules, colouring: int, effort: Effort = ANY, *, search: bool = False) -> Checkerboard:
    """Return whether a checkerboard is reachable: by theorem, by construction, or by search.

    If the drops help, a theorem or a construction decides every size.  In a deterministic game the search
    begins on the empty board, and gives up after `MOST_POSITIONS`, or if time runs out.  With `search`,
    theorems and constructions are not asked; if the drops help, the search goes back from the checkerboard,
    for `BACK_SECONDS` if there is no other limit.  If nothing decides, the verdict is None.  Raises
    `UsageError`.
    """
    if colouring not in COLOURINGS:
        raise UsageError(f"colouring {colouring}: the tile in the upper left corner is 2 or 4")
    if rules.cells > MOST_CELLS:
        raise UsageError(f"a board of {rules} has more than {MOST_CELLS:,} cells: choose a smaller one")
    rules = replace(rules, most=2)
    if search and rules.convention is None:
        endless = math.isinf(effort.deadline)
        return _decide_back(rules, colouring, effort.for_seconds(BACK_SECONDS) if endless else effort)
    reason = "" if search else theorem(rules, colouring)
    if reason:
        return Checkerboard(rules, colouring, False, reason)
    moves = None if search else construct(rules, colouring)
    if moves is not None:
        return Checkerboard(rules, colouring, True, _construction(rules), moves)
    try:  # only deterministic games are left
        moves = find_sequence(rules, colouring, effort)
    except ResourceError as error:
        return Checkerboard(rules, colouring, None, f"no theorem speaks, and {error}")
    reason = "an exhaustive search from the empty board finds " + ("these moves" if moves else "none")
    return Checkerboard(rules, colouring, bool(moves), reason, moves or ())


def _decide_back(rules: Rules, colouring: int, effort: Effort) -> Checkerboard:
    """Return the verdict of searches from the checkerboard back to the empty board, narrow ones first."""
    from tilebase.patterns.packed import decide_back  # loads Numba

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
    if rules.drops == (1, 2) and rules.convention is None:
        return "4s are dropped: row by row, with one drop a cell"
    short = min(rules.rows, rules.columns)
    if short == 1:
        return "a single row or column of at most three cells: by these moves"
    if short == 2:
        return "two rows or columns: by the construction for such boards"
    return "three rows or columns and an odd number of the others: by the construction for such boards"


# -- searching -----------------------------------------------------------------------------------------


def find_sequence(rules: Rules, colouring: int, effort: Effort = ANY) -> tuple[Move, ...] | None:
    """Return a sequence of moves to a checkerboard; None if an exhaustive search finds no such sequence.

    States are visited by the number of drops.  Raises `ResourceError` after `MOST_POSITIONS` states, or if
    time runs out.

    >>> find_sequence(Rules(1, 4), 2) is None
    True
    """
    if rules.rows > rules.columns:
        found = find_sequence(mirrored(rules), colouring, effort)
        return None if found is None else mirror(mirrored(rules), found)
    board = BitRows(rules)

    def step(state: Rows) -> Iterable[Rows]:
        return (found for after in board.slides(state) for found in board.every_drop(after))

    goal = board.rows_of(checkerboard_position(rules, colouring))
    path = find_path(board.every_drop(board.empty), [goal], step, effort, MOST_POSITIONS)
    if path is None:
        return None
    states = [tuple(tile for row in state for tile in board.decode(row)) for state in path]
    begun = [Drop(cell, exponent) for cell, exponent in enumerate(states[0]) if exponent]
    return (*begun, *moves_between(rules, states))


# -- constructing --------------------------------------------------------------------------------------


def construct(rules: Rules, colouring: int) -> tuple[Move, ...] | None:
    """Return the moves of a game that ends in a checkerboard; None if no construction is known.

    In a deterministic game the drops follow its convention; otherwise they are where they have to be.

    >>> moves_text(Rules(1, 3), construct(Rules(1, 3), 2))
    '(1,1)R(1,1)L(1,2)R(1,1)'
    """
    if rules.drops == (1, 2) and rules.convention is None:
        return row_by_row(rules.rows, rules.columns, colouring)
    moves = _by_rows(rules, colouring)
    if moves is not None:
        return moves
    across = mirrored(rules)
    moves = _by_rows(across, colouring)
    return None if moves is None else mirror(across, moves)


def _by_rows(rules: Rules, colouring: int) -> tuple[Move, ...] | None:
    """As `construct`, without games that drop by columns, and without those of three columns."""
    rows, columns = rules.rows, rules.columns
    if rules.convention != "columns" or 1 in (rows, columns):  # on a line both conventions are the same
        slides = deterministic_slides(rows, columns, colouring)
        if slides is not None:
            return with_drops(Rules(rows, columns, most=2, convention="rows"), slides)
    if rules.convention is None and colouring == 2 and rows == 3 and columns > 1 and columns % 2:
        return three_rows(columns)
    return None


def deterministic_slides(rows: int, columns: int, colouring: int) -> str | None:
    """Return slides of a game that drops on the topmost, then leftmost empty cell; None if none are known."""
    if rows == 1:
        return one_row(columns, colouring)
    if columns == 2:
        return two_columns(rows, colouring)
    return two_rows(columns, colouring) if rows == 2 < columns else None


def one_row(columns: int, colouring: int) -> str | None:
    """Return slides that fill a row of up to three cells; None if the checkerboard cannot be reached."""
    return {(1, 2): "", (2, 2): "RR", (2, 4): "RL", (3, 2): "RLR"}.get((columns, colouring))


def two_columns(rows: int, colouring: int) -> str:
    """Return slides that fill a board with two columns.

    RR makes a first row 2,4 and RL makes 4,2.  Then D moves all rows down, until the board is full.

    >>> two_columns(4, 4)
    'RRDRLDRRDRL'
    """
    upper = ("RR", "RL") if colouring == 2 else ("RL", "RR")
    return "D".join(upper[(rows - 1 - made) % 2] for made in range(rows))


def two_rows(columns: int, colouring: int) -> str:
    """Return slides that fill a board with two rows of two or more cells.

    DUR makes a 4 and a 2 and moves them to the right, until the first row is almost full.  Then a round of
    three slides along the columns makes a 4 and a 2 in the other row, from the left, until the board is full.

    >>> two_rows(4, 2), two_rows(5, 2)
    ('DURDUDUUDUU', 'DURDURDDUDDUDD')
    """
    half = columns // 2
    if columns % 2 and colouring == 2:
        return "DUR" * half + "DDU" * half + "DD"
    if colouring == 4 and not columns % 2:
        return "DUR" * (half - 1) + "RDU" + "DDU" * (half - 1) + "DD"
    return "DUR" * ((columns + 1) // 2 - 1) + "DUD" + "UUD" * (half - 1) + "UU"


def three_rows(columns: int) -> tuple[Move, ...]:
    """Moves that fill a board with three rows and an odd number of columns from 3, with 2s in the corners.

    First two columns 0,2,4 are made.  Then a round of nine slides makes two columns of the checkerboard, and
    moves the two columns to the right of them, until one empty column is left.  Last, the three columns at
    the right are completed.
    """
    last = columns
    moves = "(1,1)D(1,1)D(1,1)D(1,2)D(1,2)D(2,2)"
    for k in range(0, columns - 3, 2):
        moves += f"U(3,{k + 2})D(1,{k + 1})R(3,1)L(1,{last})R(1,1)"
        moves += f"U(1,2)L(1,{last})D(2,{last})L(2,{k + 4})"
    moves += f"U(3,{last - 1})D(1,{last - 2})R(1,1)L(1,{last})R(2,1)U(2,1)D(1,1)"
    return parse_moves(Rules(3, columns), moves)


def row_by_row(rows: int, columns: int, colouring: int) -> tuple[Move, ...]:
    """Moves that fill any board with a checkerboard, if 4s are dropped too.  No tiles merge.

    A row is filled from the right: each tile is dropped on its first cell, and R moves it on.  A full row
    does not move along itself; D or U moves all full rows together to the other side of the board.  The next
    row is filled beside them.  So the game has one drop for each cell, and no game can have fewer.

    >>> moves_text(Rules(2, 2, (1, 2)), row_by_row(2, 2, 2))
    '(1,1)R(1,1)=4D(1,1)=4R(1,1)'
    """
    goal = checkerboard_position(Rules(rows, columns), colouring)
    moves: list[Move] = []
    for made in range(rows):
        # The full rows are at the upper side after an even number of slides along the columns.
        row, final = (
            (rows - 1 - made, rows // 2 - (made + 1) // 2) if made % 2 else (made, (rows + made) // 2)
        )
        for column in range(columns - 1, -1, -1):
            moves += [Drop(row * columns, goal[final * columns + column]), "R" if column else "DU"[made % 2]]
    return tuple(moves[:-1])


def mirror(rules: Rules, moves: tuple[Move, ...]) -> tuple[Move, ...]:
    """Return the moves after mirroring the board of `rules` in the main diagonal.

    >>> mirror(Rules(1, 3), (Drop(2), "R"))
    (Drop(cell=2, exponent=1), 'D')
    """
    to = [cell % rules.columns * rules.rows + cell // rules.columns for cell in range(rules.cells)]
    return tuple(carried(rules, moves, to, Rules(rules.columns, rules.rows)))
