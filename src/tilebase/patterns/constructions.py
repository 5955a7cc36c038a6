"""Sequences of moves that fill boards of any size with checkerboards, after Edixhoven (2019), section 4.

A colouring is named by the tile in the upper left corner, 2 or 4.  Only 2s are dropped, and no 8 is made;
`row_by_row` is for games that drop 4s, too, and is not from the source.

`two_columns`, `two_rows` and `one_row` are games in which every drop is on the topmost, then leftmost empty
cell.  Mirrored in the main diagonal they are games in which it is on the leftmost, then topmost one.
`three_rows` needs drops on other cells.

The formula of the source for m x 2, as printed, is wrong for every m from 2; docs/errata.md has the
computation.  The one below is what the text and the figure of the source describe.
"""

from __future__ import annotations

from tilebase.errors import UsageError
from tilebase.patterns.moves import with_drops
from tilebase.patterns.rules import Drop, Move, Rules

MIRRORED = {"U": "L", "L": "U", "D": "R", "R": "D"}
"""The slide that a slide becomes if the board is mirrored in the main diagonal."""


def construct(rules: Rules, colouring: int) -> tuple[Move, ...] | None:
    """Return the moves of a game that ends in a checkerboard; None if no construction is known.

    In a deterministic game the drops follow its convention; otherwise they are where they have to be.

    >>> from tilebase.patterns.moves import moves_text
    >>> moves_text(Rules(1, 3), construct(Rules(1, 3), 2))
    '(1,1)R(1,1)L(1,2)R(1,1)'
    """
    rows, columns = rules.rows, rules.columns
    if rules.drops == (1, 2) and rules.convention is None:
        return row_by_row(rows, columns, colouring)
    for convention in ("rows", "columns"):
        if rules.convention in (None, convention) or 1 in (rows, columns):  # on a line both are the same
            sides = (rows, columns) if convention == "rows" else (columns, rows)
            slides = deterministic_slides(*sides, colouring)
            if slides is not None:
                across = slides if convention == "rows" else "".join(MIRRORED[slide] for slide in slides)
                return with_drops(Rules(rows, columns, most=2, convention=convention), across)
    if rules.convention is None and colouring == 2 and rows * columns % 2:
        if rows == 3 and columns > 1:
            return three_rows(columns)
        if columns == 3 and rows > 1:
            return mirror(Rules(3, rows), three_rows(rows))
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
    _check(rows, colouring)
    upper = ("RR", "RL") if colouring == 2 else ("RL", "RR")
    return "D".join(upper[(rows - 1 - made) % 2] for made in range(rows))


def two_rows(columns: int, colouring: int) -> str:
    """Return slides that fill a board with two rows of two or more cells.

    DUR makes a 4 and a 2 and moves them to the right, until the first row is almost full.  Then a round of
    three slides along the columns makes a 4 and a 2 in the other row, from the left, until the board is full.

    >>> two_rows(4, 2), two_rows(5, 2)
    ('DURDUDUUDUU', 'DURDURDDUDDUDD')
    """
    _check(columns, colouring)
    if columns < 2:
        raise UsageError("two rows of one cell are a line: use one_row(2, colouring), mirrored")
    half = columns // 2
    if columns % 2 and colouring == 2:
        return "DUR" * half + "DDU" * half + "DD"
    if colouring == 4 and not columns % 2:
        return "DUR" * (half - 1) + "RDU" + "DDU" * (half - 1) + "DD"
    return "DUR" * ((columns + 1) // 2 - 1) + "DUD" + "UUD" * (half - 1) + "UU"


def three_rows(columns: int) -> tuple[Move, ...]:
    """Moves that fill a board with three rows and an odd number of columns, with 2s in the corners.

    First two columns 0,2,4 are made.  Then a round of nine slides makes two columns of the checkerboard, and
    moves the two columns to the right of them, until one empty column is left.  Last, the three columns at
    the right are completed.
    """
    if columns < 3 or not columns % 2:
        raise UsageError(f"three rows of {columns} cells: the number of columns has to be odd, and 3 or more")
    last = columns
    moves = _moves(columns, (1, 1), "D", (1, 1), "D", (1, 1), "D", (1, 2), "D", (1, 2), "D", (2, 2))
    for k in range(0, columns - 3, 2):
        moves += _moves(columns, "U", (3, k + 2), "D", (1, k + 1), "R", (3, 1), "L", (1, last), "R", (1, 1))
        moves += _moves(columns, "U", (1, 2), "L", (1, last), "D", (2, last), "L", (2, k + 4))
    moves += _moves(columns, "U", (3, last - 1), "D", (1, last - 2), "R", (1, 1), "L", (1, last))
    return moves + _moves(columns, "R", (2, 1), "U", (2, 1), "D", (1, 1))


def row_by_row(rows: int, columns: int, colouring: int) -> tuple[Move, ...]:
    """Moves that fill any board with a checkerboard, if 4s are dropped too.  No tiles merge.

    A row is filled from the right: each tile is dropped on its first cell, and R moves it on.  A full row
    does not move along itself; D or U moves all full rows together to the other side of the board.  The next
    row is filled beside them.  So the game has one drop for each cell, and no game can have fewer.

    >>> from tilebase.patterns.moves import moves_text
    >>> moves_text(Rules(2, 2, (1, 2)), row_by_row(2, 2, 2))
    '(1,1)R(1,1)=4D(1,1)=4R(1,1)'
    """
    _check(rows, colouring)
    _check(columns, colouring)
    moves: list[Move] = []
    for made in range(rows):
        # The full rows are at the upper side after an even number of slides along the columns.
        row, final = (
            (rows - 1 - made, rows // 2 - (made + 1) // 2) if made % 2 else (made, (rows + made) // 2)
        )
        for column in range(columns - 1, -1, -1):
            exponent = 1 + (final + column + colouring // 2 - 1) % 2
            moves += [Drop(row * columns, exponent), "R" if column else "DU"[made % 2]]
    return tuple(moves[:-1])


def _moves(columns: int, *words: str | tuple[int, int]) -> tuple[Move, ...]:
    """Return slides, and drops given by row and column from 1, as moves."""
    return tuple(
        word if isinstance(word, str) else Drop((word[0] - 1) * columns + word[1] - 1) for word in words
    )


def mirror(rules: Rules, moves: tuple[Move, ...]) -> tuple[Move, ...]:
    """Return the moves after mirroring the board of `rules` in the main diagonal.

    >>> mirror(Rules(1, 3), (Drop(2), "R"))
    (Drop(cell=2, exponent=1), 'D')
    """
    return tuple(
        MIRRORED[move]
        if isinstance(move, str)
        else Drop(move.cell % rules.columns * rules.rows + move.cell // rules.columns, move.exponent)
        for move in moves
    )


def _check(length: int, colouring: int) -> None:
    if length < 1 or colouring not in (2, 4):
        raise UsageError(
            f"{length} rows or columns with {colouring} in the corner: lengths are 1 or more, tiles 2 or 4"
        )
