"""What holds for every position that can be reached: the lemmas of Edixhoven's thesis, as predicates.

Source: Edixhoven, *Checkerboard Patterns and Binary Decision Diagrams for the Game 2048* (2019), sections 3.1
(lemmas 1 to 8, of any game), 3.2 (lemmas 9 and 10, of games in which no 8 is made) and 4.3 (lemmas 11 and 12
and corollary 13).  Several go back to Zeegers' thesis (2016).  The thesis drops 2s only.  Here each statement
is written as it is checked, and names what it does not promise; for drops of 4 it says what changes.

A lemma is about one of six occasions, and its two predicates, `Lemma.applies` and `Lemma.holds`, are called
with the rules and

* ``position``: a position, after a drop or a slide;
* ``afterstate``: a position after a slide, and the direction of the slide;
* ``following``: the same, and the direction of a slide that is possible after some drop;
* ``drop``: a position after a slide, or the empty board, and the drop that comes next;
* ``axis``: a position, and the axis, if all slides that led to it were along this axis;
* ``line``: a line of exponents from which a full line of alternating tiles can be made by slides along it.

`LEMMAS` is the table of all of them.  `tilebase.patterns.checking` checks them on every occasion of a small
board.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise
from typing import Literal

from tilebase.errors import UsageError
from tilebase.patterns.rules import DIRECTIONS, Drop, Position, Rules, checkerboard_position, drop, pull, push

About = Literal["position", "afterstate", "following", "drop", "axis", "line"]
MOST_LENGTH = 30
"""The longest line whose sources are listed."""
AXES = {"horizontal": "LR", "vertical": "UD"}
"""The slides along each axis."""


def always(*_occasion: object) -> bool:
    """Return the premise of a lemma that holds of every position."""
    return True


@dataclass(frozen=True)
class Lemma:
    """One statement.

    Attributes
    ----------
    number:
        Its number in the thesis, with the letter of the part: ``9c``.
    title:
        The statement in one short line.
    about:
        The occasions that it is about; see the module.
    holds:
        Whether it holds on an occasion.  The docstring is the exact statement.
    applies:
        Whether its premise is met; an occasion without it does not test the lemma.
    bounded:
        Whether it needs that no 8 is made.
    twos:
        Whether it needs that only 2s are dropped.
    odd:
        Whether it is about boards of two odd sides only.
    title_with_fours:
        The title for games with drops of 4, if the statement is another one there; otherwise empty.
    """

    number: str
    title: str
    about: About
    holds: Callable[..., bool]
    applies: Callable[..., bool] = always
    bounded: bool = False
    twos: bool = False
    odd: bool = False
    title_with_fours: str = ""

    def title_for(self, rules: Rules) -> str:
        """Return the title of the statement that is checked under these rules."""
        return self.title_with_fours if self.title_with_fours and 2 in rules.drops else self.title

    @property
    def statement(self) -> str:
        """The exact statement."""
        words = " ".join((self.holds.__doc__ or "").split("\n\n")[0].split())
        return words.replace("``", "")

    def is_about(self, rules: Rules) -> bool:
        """Return whether the lemma is stated for games with these rules."""
        return not (
            (self.bounded and rules.most != 2)
            or (self.twos and rules.drops != (1,))
            or (self.odd and rules.rows * rules.columns % 2 == 0)
        )


# -- any game (section 3.1) --------------------------------------------------------------------------


def has_empty_border_cell(rules: Rules, position: Position, _direction: str) -> bool:
    """After a slide, at least one cell at the border of the board is empty.

    Lemma 1.  It follows from lemma 3: if any cell is empty, the last cell of its line, against the direction
    of the slide, is empty, too.  And some cell is: a slide that merges nothing needs one to move a tile.
    Not promised: that two border cells are empty, or that the empty cell is a corner.
    """
    return any(not position[cell] for cell in _border(rules))


def drop_is_at_border(rules: Rules, _position: Position, new: Drop) -> bool:
    """A drop that fills the board is in a cell at the border.

    Corollary 2.  Not promised: that it is in a corner; lemma 12 says when it is.
    """
    return new.cell in _border(rules)


def fills_board(_rules: Rules, position: Position, _new: Drop) -> bool:
    """Return whether the drop takes the last empty cell."""
    return position.count(0) == 1


def is_pushed(rules: Rules, position: Position, direction: str) -> bool:
    """After a slide, no empty cell has a tile behind it, that is, on the side that the slide came from.

    Lemma 3.  For a slide down, no empty cell has a tile anywhere above it in its column.
    """
    return all(_has_no_gap(line) for line in _lines_of(rules, position, direction))


def some_side_has_no_tiles(rules: Rules, position: Position, _direction: str) -> bool:
    """After a slide, there is a direction in which no empty cell has a tile as its next neighbour.

    Corollary 4: the cells "above, below, left, right" of empty cells cannot all have tiles among them.
    The four pairs may be in different places of the board.  Not promised: anything after a drop.
    """
    return any(no_tile_above_empty(rules, position, towards) for towards in DIRECTIONS)


def twos_meet_on_one_axis(rules: Rules, position: Position, _direction: str) -> bool:
    """After a slide, no two 2s meet along rows, or no two 2s meet along columns.

    Two tiles meet along a line if only empty cells are between them.  Lemma 5.  Only drops make 2s, so it
    also holds if 4s are dropped.  Not promised: the same of 4s, or of any tile that merging makes.
    """
    return not all(any(_twos_meet(line) for line in _lines_of(rules, position, towards)) for towards in "LU")


def tiles_are_bounded(rules: Rules, position: Position) -> bool:
    """On a board of k cells, no tile is larger than 2**k; if 4s are dropped, than 2**(k + 1).

    Lemma 6.  Not promised: that a tile of this size can be reached.
    """
    return max(position) < rules.cells + max(rules.drops)


def large_tiles_need_space(rules: Rules, position: Position) -> bool:
    """For each tile 2**k, at least k - 1 cells are empty or hold smaller tiles; with drops of 4, k - 2.

    Corollary 7.  Let N(k) be the largest number of tiles of at least 2**k at one time.  When a slide makes
    this number for the first time by j merges, N(k) - j such tiles were there before, and 2j tiles half as
    large.  So N(k - 1) is at least N(k) + 1.  From N(1), at most the number of cells, the corollary follows;
    with drops of 4 from N(2).  Not promised: the converse; many positions that satisfy it are not reachable.
    """
    values = sorted(position)  # the index of an exponent is then the number of cells that hold less
    return all(values.index(exponent) >= exponent - max(rules.drops) for exponent in set(position))


def lines_are_bitonic(rules: Rules, position: Position, axis: str) -> bool:
    """If all slides were horizontal, each row of tiles rises first and falls then; likewise for columns.

    Lemma 8.  Empty cells count as nothing, and equal neighbours neither rise nor fall: rows such as 2 2 and
    4 4 occur.  It is stated for drops of 2 only: with drops of 4, the row 4 2 4 can be made.
    """
    return all(_is_bitonic(line) for line in _lines_of(rules, position, AXES[axis][0]))


# -- games without an 8 (section 3.2) ----------------------------------------------------------------


def no_tile_above_empty(rules: Rules, position: Position, direction: str) -> bool:
    """After a slide down, no empty cell has a tile directly above it; likewise for other directions.

    Lemma 9a, the case of lemma 3 that is used later.  The thesis states it for games without an 8, but it
    needs no bound on tiles.
    """
    lines = _lines_of(rules, position, direction)
    return not any(not one and other for line in lines for one, other in pairwise(line))


def no_twos_along(rules: Rules, position: Position, direction: str) -> bool:
    """After a slide down, no two vertically adjacent tiles are 2s; likewise for other directions.

    Lemma 9b.  It needs no bound on tiles, either.
    """
    return not any(_has_pair(line, 1) for line in _lines_of(rules, position, direction))


def fours_leave_empty(rules: Rules, position: Position, direction: str) -> bool:
    """After a slide down, the topmost cell of a column with two adjacent 4s is empty; likewise elsewhere.

    Lemma 9c: one of the 4s was just made of two 2s.  It needs no bound on tiles, either.  Not promised: that
    a column has only one pair of 4s.
    """
    return all(not line[-1] for line in _lines_of(rules, position, direction) if _has_pair(line, 2))


def has_fours_along(rules: Rules, position: Position, direction: str) -> bool:
    """Return whether two 4s are adjacent along the slide."""
    return any(_has_pair(line, 2) for line in _lines_of(rules, position, direction))


def no_fours_across(rules: Rules, position: Position, direction: str, _following: str) -> bool:
    """If a horizontal slide comes next after a slide down, no 4s were horizontally adjacent between them.

    Lemma 9d: they would merge to an 8.  "Between them" means before the drop.  Not promised: anything if a
    further vertical slide comes first.
    """
    return not any(_has_pair(line, 2) for line in _lines_of(rules, position, _across(direction)))


def no_twos_across(rules: Rules, position: Position, direction: str, _following: str) -> bool:
    """If a horizontal slide comes next after a slide down, only the bottom row can have adjacent 2s.

    Lemma 9e.  As in 9d, the position is that before the drop.
    """
    lines = _lines_of(rules, position, _across(direction))
    others = lines[1:] if direction in "LU" else lines[:-1]
    return not any(_has_pair(line, 1) for line in others)


def turns(_rules: Rules, _position: Position, direction: str, following: str) -> bool:
    """Return whether the next slide is along the other axis."""
    return (direction in "LR") != (following in "LR")


def full_lines_enclose(rules: Rules, position: Position, direction: str) -> bool:
    """After a horizontal slide, the rows between two full rows 4 2 4 ... 2 4 are full, and all of them
    alternate between 2 and 4, or one of them has two adjacent 4s; likewise for columns.

    Lemma 10.  Not promised: that the rows between are a checkerboard together.  It is stated for drops
    of 2 only: with drops of 4 it fails on 3x3.
    """
    lines = _lines_of(rules, position, direction)
    ends = [at for at, line in enumerate(lines) if _is_outer_line(line)]
    return all(_encloses(lines[one + 1 : other]) for one, other in combinations(ends, 2))


def has_full_outer_lines(rules: Rules, position: Position, direction: str) -> bool:
    """Return whether two lines along the slide are full and 4 2 4 ... 2 4."""
    return sum(map(_is_outer_line, _lines_of(rules, position, direction))) > 1


# -- checkerboards (section 4.3) ---------------------------------------------------------------------


def line_ends_with_four(_rules: Rules, line: Position) -> bool:
    """A line of even length from 4 on, from which slides along it and drops of 2 can make a full line of
    alternating 2s and 4s, begins or ends with a 4.

    Lemma 11a.  The line is looked at after a slide.  Slides that move only other lines may happen, too.
    """
    return 2 in (line[0], line[-1])


def line_is_nearly_full(_rules: Rules, line: Position) -> bool:
    """Such a line has at most two empty cells.

    Lemma 11b.
    """
    return line.count(0) <= 2


def drop_is_in_corner(rules: Rules, _position: Position, new: Drop) -> bool:
    """On a board of two odd sides, the drop that completes a checkerboard of 2s and 4s is in a corner.

    Lemma 12.  Not promised: that such a checkerboard can be reached.
    """
    return new.cell in _corners(rules)


def completes_checkerboard(rules: Rules, position: Position, new: Drop) -> bool:
    """Return whether the board is a checkerboard of 2s and 4s after the drop."""
    return position.count(0) == 1 and is_checkerboard(rules, drop(position, new))


def corners_are_twos(_rules: Rules, position: Position) -> bool:
    """On a board of two odd sides, a checkerboard of 2s and 4s has 2s in its corners.

    Corollary 13: the other colouring cannot be reached.  It follows from lemma 12, since a 2 was dropped.
    So it is stated for drops of 2 only, like lemma 12.
    """
    return position[0] == 1


def is_checkerboard(rules: Rules, position: Position) -> bool:
    """Return whether a position is a full board on which 2s and 4s alternate along rows and columns.

    >>> is_checkerboard(Rules(2, 2), (1, 2, 2, 1)), is_checkerboard(Rules(2, 2), (1, 2, 1, 2))
    (True, False)
    """
    return position in (checkerboard_position(rules, 2), checkerboard_position(rules, 4))


def alternating_line_sources(length: int) -> frozenset[Position]:
    """Return the lines from which a full line of alternating 2s and 4s can be made by slides along it.

    Each line is looked at after a slide.  Then drops of 2 (or no drop, if it is in another line) and slides
    along the line (which need not move it, if they move another line) take turns, without making an 8.  The
    search goes backwards from the two full lines.

    >>> sorted(alternating_line_sources(2))[:3]
    [(0, 0), (0, 1), (0, 2)]
    """
    goals = {tuple(1 + (at + first) % 2 for at in range(length)) for first in (0, 1)}
    found: set[Position] = set()
    waiting = list(goals)  # after a drop, or none
    while waiting:
        line = waiting.pop()
        undropped = [(*line[:cell], 0, *line[cell + 1 :]) for cell in range(length) if line[cell] == 1]
        for start in {line, *undropped} - found:
            found.add(start)
            waiting += pull(start)
            waiting += [source[::-1] for source in pull(start[::-1])]
    return frozenset(found)


def alternating_line_steps(length: int) -> dict[Position, set[Position]]:
    """Return the lines of `alternating_line_sources` without mirror images, and what follows each.

    A line follows after a drop of 2 and a slide along the line, after the last drop, which fills the line,
    or after a slide alone, if the drop was in another line.  With an even length, each step adds a tile or
    closes a gap, so no line comes back.  Raises `UsageError` for another length, or one above 30.

    >>> alternating_line_steps(4)[2, 0, 1, 2]
    {(0, 2, 1, 2)}
    """
    if length % 2 or not 2 <= length <= MOST_LENGTH:
        raise UsageError(f"rows of {length} cells are not listed: choose 2, 4 to {MOST_LENGTH}")
    lines = alternating_line_sources(length)
    steps: dict[Position, set[Position]] = {min(line, line[::-1]): set() for line in lines}
    for line in lines:
        dropped = [(*line[:cell], 1, *line[cell + 1 :]) for cell in range(length) if not line[cell]]
        for now in (line, *dropped):
            for pushed in (push(now, 2), push(now[::-1], 2)):
                if pushed is not None and pushed in lines:
                    steps[min(line, line[::-1])].add(min(pushed, pushed[::-1]))
    for line, later in steps.items():
        later.discard(line)
    return steps


# -- lines -------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 16)
def _lines_of(rules: Rules, position: Position, direction: str) -> tuple[Position, ...]:
    """Return the lines of a position, each beginning where the tiles slide to."""
    return tuple(tuple(position[cell] for cell in line) for line in rules.lines[direction])


def _across(direction: str) -> str:
    """A direction along the other axis; rows from left to right, columns from top to bottom."""
    return "L" if direction in "UD" else "U"


@lru_cache(maxsize=1 << 16)
def _has_no_gap(line: Position) -> bool:
    return not any(line[line.index(0) :]) if 0 in line else True


@lru_cache(maxsize=1 << 16)
def _has_pair(line: Position, exponent: int) -> bool:
    return (exponent, exponent) in pairwise(line)


@lru_cache(maxsize=1 << 16)
def _twos_meet(line: Position) -> bool:
    return (1, 1) in pairwise(value for value in line if value)


@lru_cache(maxsize=1 << 16)
def _is_bitonic(line: Position) -> bool:
    tiles = [value for value in line if value]
    falls = [one > other for one, other in pairwise(tiles) if one != other]
    return falls == sorted(falls)


@lru_cache(maxsize=1 << 16)
def _alternates(line: Position) -> bool:
    return all({one, other} == {1, 2} for one, other in pairwise(line))


def _is_outer_line(line: Position) -> bool:
    """Return whether a line is 4 2 4 ... 2 4, at least 4 2 4."""
    return len(line) > 2 and line[0] == line[-1] == 2 and _alternates(line)


def _encloses(between: tuple[Position, ...]) -> bool:
    full = all(0 not in line for line in between)
    return full and (all(map(_alternates, between)) or any(_has_pair(line, 2) for line in between))


@lru_cache
def _border(rules: Rules) -> frozenset[int]:
    return frozenset(line[0] for lines in rules.lines.values() for line in lines)


@lru_cache
def _corners(rules: Rules) -> frozenset[int]:
    return frozenset({0, rules.columns - 1, rules.cells - rules.columns, rules.cells - 1})


LEMMAS = (
    Lemma("1", "after a slide, a border cell is empty", "afterstate", has_empty_border_cell),
    Lemma("2", "the drop that fills the board is at the border", "drop", drop_is_at_border, fills_board),
    Lemma("3", "after a slide, no tile is behind an empty cell", "afterstate", is_pushed),
    Lemma(
        "4", "after a slide, in some direction no empty cell has a tile next to it", "afterstate",
        some_side_has_no_tiles,
    ),
    Lemma("5", "after a slide, 2s meet along one axis at most", "afterstate", twos_meet_on_one_axis),
    Lemma(
        "6", "no tile is larger than 2 to the number of cells", "position", tiles_are_bounded,
        title_with_fours="no tile is larger than 2 to the (number of cells + 1)",
    ),
    Lemma(
        "7", "a tile 2**k needs k-1 empty or smaller cells", "position", large_tiles_need_space,
        title_with_fours="a tile 2**k needs k-2 empty or smaller cells",
    ),
    Lemma("8", "slides on one axis make bitonic lines", "axis", lines_are_bitonic, twos=True),
    Lemma("9a", "after D, no tile is above an empty cell", "afterstate", no_tile_above_empty),
    Lemma("9b", "after D, no 2 is above a 2", "afterstate", no_twos_along),
    Lemma(
        "9c", "after D, a 4 above a 4 has an empty cell above", "afterstate", fours_leave_empty,
        has_fours_along,
    ),
    Lemma(
        "9d", "after D, if L or R comes next, no two 4s are side by side", "following", no_fours_across,
        turns, bounded=True,
    ),
    Lemma(
        "9e", "after D, if L or R comes next, 2s are side by side at the bottom only", "following",
        no_twos_across, turns, bounded=True,
    ),
    Lemma(
        "10", "rows between two rows 4 2 ... 2 4 alternate, or one has 4 beside 4", "afterstate",
        full_lines_enclose, has_full_outer_lines, bounded=True, twos=True,
    ),
    Lemma(
        "11a", "a line that can become 2 4 2 4 ... has a 4 at an end", "line", line_ends_with_four,
        bounded=True, twos=True,
    ),
    Lemma(
        "11b", "a line that can become 2 4 2 4 ... has at most two empty cells", "line", line_is_nearly_full,
        bounded=True, twos=True,
    ),
    Lemma(
        "12", "the drop that completes a checkerboard is in a corner", "drop", drop_is_in_corner,
        completes_checkerboard, bounded=True, twos=True, odd=True,
    ),
    Lemma(
        "13", "a checkerboard has 2s in its corners", "position", corners_are_twos, is_checkerboard,
        bounded=True, twos=True, odd=True,
    ),
)  # fmt: skip
"""Every lemma, by its number."""
