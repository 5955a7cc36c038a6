"""How many sequences of moves lead from the empty board to a checkerboard.

A checkerboard alternates 2s and 4s.  A sequence counts if it ends in one, never makes an 8, and begins on the
empty board.  It is the list of its slides and drops, the first and the last drop included; two sequences
differ if one of their moves differs.  Sequences that are symmetric to each other are all counted.  In a
deterministic game of 2s all drops are known, so a sequence is the list of its slides.

The count goes over positions, not over sequences::

    ways(empty board) = 1
    ways(state)       = sum of ways(afterstate) over the drops that lead to the state
    ways(afterstate)  = sum of ways(state) over the slides that lead to the afterstate

A slide keeps the sum of the tiles and a drop adds 2 or 4, so the positions of one sum are finished before
those of the next.  Numbers are Python integers, so nothing is rounded.

Positions are rows of bits: bit ``j`` of a row is a 2 in column ``j``, and bit ``columns + j`` is a 4 there.
A slide along columns moves all columns at once with a few operations on bits; a slide along a row is looked
up.  So boards with few long rows are fast, and others are mirrored first (`mirrored`).

Frozen pairs
------------
Two 4s side by side in a row forbid slides along the row, for such a slide makes an 8.  Let the columns of
both be full, and let none of the two hold a pair of 2s above each other.  Then a slide along columns changes
neither, or is forbidden.  So the two 4s stay side by side to the end, and no checkerboard follows.  The same
holds for rows and columns exchanged.  Counts and searches leave such states out.

Source: Edixhoven (2019), section 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

from tilebase.errors import ResourceError
from tilebase.patterns.rules import Position, Rules, checkerboard_position, parse_rules, push
from tilebase.patterns.searching import ANY, Effort
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Use

Rows = tuple[int, ...]
"""A position: each row as an integer."""
Ways = dict[Rows, int]

MOST_POSITIONS = 4_000_000
"""States of one sum that a count may hold; each takes about 250 bytes."""
FEW = 2_000
"""Positions between two looks at the clock."""


@dataclass(frozen=True)
class Tally:
    """How many sequences of moves lead to the checkerboards of a board.

    Attributes
    ----------
    rules:
        The board, the drops and the convention.
    twos, fours:
        How many sequences lead to the checkerboard with a 2, or with a 4, in the upper left corner.
    positions:
        The number of states that were counted, over all sums.
    largest:
        How many of them had one sum, at most.
    """

    rules: Rules
    twos: int
    fours: int
    positions: int
    largest: int

    @property
    def total(self) -> int:
        """The sequences to both checkerboards."""
        return self.twos + self.fours

    def __getitem__(self, colouring: int) -> int:
        """Return the sequences to the checkerboard with this tile, 2 or 4, in the upper left corner."""
        return {2: self.twos, 4: self.fours}[colouring]


def count_sequences(
    size: str,
    *,
    drops: str = "2",
    deterministic: bool = False,
    convention: str | None = None,
    seconds: float | None = None,
    **use: Unpack[Use],
) -> Tally:
    """Return how many sequences of moves lead from the empty board to the checkerboards of 2s and 4s.

    No 8 may ever be made.  A sequence is the list of its slides and drops; in a deterministic game of 2s,
    where the drops are known, of its slides.  Sequences that are symmetric to each other are all counted.

    Parameters
    ----------
    size:
        Rows x columns, such as ``2x20``.
    drops:
        Which tiles are dropped: ``2`` or ``2,4``.
    deterministic:
        Every tile is dropped in the first empty cell.  If not, it may be dropped in any empty cell.
    convention:
        Of a deterministic game: ``rows`` if the first cell is the topmost, then leftmost empty one,
        ``columns`` if it is the leftmost, then topmost one.  None: rows.
    seconds:
        Give up after this time.
    use:
        The keywords of `Use`; one thread does the work.

    Returns
    -------
    A `Tally`: exact counts for both colourings.

    Raises
    ------
    UsageError
        The size, drops or convention do not exist.
    ResourceError
        The time was not enough, or more than 4,000,000 positions have one sum.

    Examples
    --------
    >>> found = count_sequences("2x20", deterministic=True)
    >>> found.twos, found.fours, found.total
    (610734, 386610, 997344)
    """
    rules = parse_rules(size, drops=drops, most=2, deterministic=deterministic, convention=convention)
    return tally(rules, Effort.within(math.inf if seconds is None else seconds, **use))


def tally(rules: Rules, effort: Effort = ANY) -> Tally:
    """Count the sequences that lead to a checkerboard, by colouring.

    The bound `rules.most` has to be 2 or None; no tile above 4 is made in either case.  Raises
    `ResourceError` if time runs out, or if more than `MOST_POSITIONS` states have one sum.

    >>> tally(Rules(2, 3, convention="rows")).total
    197
    """
    if rules.rows > rules.columns:
        return replace(tally(mirrored(rules), effort), rules=rules)
    return _Count(rules, effort).run()


class _Count:
    """One count, sum by sum."""

    def __init__(self, rules: Rules, effort: Effort) -> None:
        self._rules, self._effort = rules, effort
        self._board = BitRows(rules)
        self._pace = Pace(effort.progress, "states")
        self._positions = self._largest = 0

    def run(self) -> Tally:
        """Return the whole count.  Sums are in units of 2, so that a drop adds its exponent."""
        positions = {colouring: checkerboard_position(self._rules, colouring) for colouring in (2, 4)}
        ends = {colouring: self._board.rows_of(position) for colouring, position in positions.items()}
        last = max(map(sum, positions.values()))  # as exponents 1 and 2 are half the tiles 2 and 4
        found = dict.fromkeys(ends, 0)
        ahead: dict[int, Ways] = {0: {}}
        self._drop({self._board.empty: 1}, 0, ahead)
        for total in range(1, last + 1):
            states = ahead.pop(total, {})
            self._positions += len(states)
            self._largest = max(self._largest, len(states))
            if self._pace.due():
                self._pace.report(2 * total, "count", self._positions, total / last)
            for colouring, end in ends.items():
                found[colouring] += states.get(end, 0)
            if states:
                self._drop(self._slide(states, total), total, ahead)
        return Tally(self._rules, found[2], found[4], self._positions, self._largest)

    def _slide(self, states: Ways, total: int) -> Ways:
        """Return the afterstates of one sum."""
        after: Ways = {}
        for state, ways in self._in_time(states, total):
            for found in self._board.slides(state):
                after[found] = after.get(found, 0) + ways
        return after

    def _drop(self, after: Ways, total: int, ahead: dict[int, Ways]) -> None:
        """Add the states that follow the afterstates of one sum to those `ahead`, by sum."""
        for exponent in self._rules.drops:
            states = ahead.setdefault(total + exponent, {})
            for position, ways in self._in_time(after, total):
                for found in self._board.drops(position, exponent):
                    states[found] = states.get(found, 0) + ways
                if len(states) > MOST_POSITIONS:
                    raise ResourceError(
                        f"{self._rules}: more than {MOST_POSITIONS:,} positions have the sum "
                        f"{2 * (total + exponent)}, too many to count sequences: choose a smaller board"
                    )

    def _in_time(self, positions: Ways, total: int) -> Iterator[tuple[Rows, int]]:
        """Yield the positions of one sum while time is left."""
        for number, item in enumerate(positions.items()):
            if not number % FEW and self._effort.left < 0:
                raise ResourceError(
                    f"{self._rules}: time ran out while sequences were counted, at the sum {2 * total}: "
                    "allow more time, or choose a smaller board"
                )
            yield item


# -- positions as rows of bits -----------------------------------------------------------------------


def mirrored(rules: Rules) -> Rules:
    """Return the game after mirroring in the main diagonal, which exchanges rows and columns."""
    other = {"rows": "columns", "columns": "rows", None: None}[rules.convention]
    return replace(rules, rows=rules.columns, columns=rules.rows, convention=other)


class BitRows:
    """Slides and drops of a game on positions as rows of bits; see the module."""

    def __init__(self, rules: Rules) -> None:
        self._columns, self._drops, self._convention = rules.columns, rules.drops, rules.convention
        self.empty: Rows = (0,) * rules.rows
        self._full = (1 << rules.columns) - 1
        self._pushed = _SlidRows(self, 1)
        self._pulled = _SlidRows(self, -1)

    # -- rows ----------------------------------------------------------------------------------------

    def encode(self, tiles: Sequence[int]) -> int:
        """Return a row of exponents as an integer."""
        return sum(1 << column + (tile - 1) * self._columns for column, tile in enumerate(tiles) if tile)

    def decode(self, row: int) -> tuple[int, ...]:
        """Return the exponents of a row."""
        columns = range(self._columns)
        return tuple((row >> j & 1) + 2 * (row >> self._columns + j & 1) for j in columns)

    def rows_of(self, position: Position) -> Rows:
        """Return a position of exponents as rows of bits."""
        starts = range(0, len(position), self._columns)
        return tuple(self.encode(position[start : start + self._columns]) for start in starts)

    # -- slides --------------------------------------------------------------------------------------

    def slides(self, position: Rows) -> Iterator[Rows]:
        """Yield the afterstates of a state: those of slides that change it and make no 8."""
        for slid in (self._pushed, self._pulled):
            found = tuple([slid[row] for row in position])
            if -1 not in found and found != position:
                yield found
        up = self._rise(list(position))
        if up is not None and up != position:
            yield up
        down = self._rise(list(position[::-1]))
        if down is not None and down[::-1] != position:
            yield down[::-1]

    def _rise(self, rows: list[int]) -> Rows | None:
        """Return all columns after a slide to the first row; None if that makes an 8."""
        columns, full = self._columns, self._full
        self._close_gaps(rows)
        for i in range(len(rows) - 1):
            if rows[i] >> columns & rows[i + 1] >> columns:
                return None
        merged = False
        for i in range(len(rows) - 1):
            pairs = rows[i] & rows[i + 1] & full
            if pairs:
                rows[i] += (pairs << columns) - pairs
                rows[i + 1] -= pairs
                merged = True
        if merged:
            self._close_gaps(rows)
        return tuple(rows)

    def _close_gaps(self, rows: list[int]) -> None:
        """Move every tile towards the first row as far as empty cells let it."""
        columns, full = self._columns, self._full
        for above in range(len(rows) - 1, 0, -1):
            for i in range(above):
                gaps = ~(rows[i] | rows[i] >> columns) & full
                moved = rows[i + 1] & (gaps | gaps << columns)
                rows[i] |= moved
                rows[i + 1] ^= moved

    # -- drops ---------------------------------------------------------------------------------------

    def drops(self, position: Rows, exponent: int) -> Iterator[Rows]:
        """Yield the states after a drop, without those from which a frozen pair bars every checkerboard."""
        shift = (exponent - 1) * self._columns
        for row, cell in self._open_cells(position):
            state = (*position[:row], position[row] | cell << shift, *position[row + 1 :])
            if not self._has_frozen_pair(state):
                yield state

    def every_drop(self, position: Rows) -> Iterator[Rows]:
        """Yield `drops` of each tile that the game drops."""
        for exponent in self._drops:
            yield from self.drops(position, exponent)

    def _open_cells(self, position: Rows) -> Iterator[tuple[int, int]]:
        """Yield the row, and the column as a bit, of each cell that a drop may use."""
        columns, full = self._columns, self._full
        gaps = [~(row | row >> columns) & full for row in position]
        if self._convention == "rows":
            gaps = next(([0] * i + [gap & -gap] for i, gap in enumerate(gaps) if gap), [])
        elif self._convention == "columns":
            every = 0
            for gap in gaps:
                every |= gap
            first = every & -every
            gaps = next(([0] * i + [first] for i, gap in enumerate(gaps) if gap & first), [])
        for i, gap in enumerate(gaps):
            while gap:
                yield i, gap & -gap
                gap &= gap - 1

    def _has_frozen_pair(self, position: Rows) -> bool:
        """Return whether two neighbouring 4s can never be parted; see the module."""
        columns, full = self._columns, self._full
        frozen, above, rigid = full, 0, 0
        for number, row in enumerate(position):
            ones, twos = row & full, row >> columns
            frozen &= (ones | twos) & ~(above & ones)
            stiff = ones | twos == full and not ones & ones >> 1
            if number and rigid and stiff and twos & position[number - 1] >> columns:
                return True
            above, rigid = ones, stiff
        pairs = frozen & frozen >> 1
        return bool(pairs) and any(row >> columns & row >> columns + 1 & pairs for row in position)


class _SlidRows(dict[int, int]):
    """By row, the row after a slide to one side, or -1 if that makes an 8; computed when first needed."""

    def __init__(self, board: BitRows, step: int) -> None:
        super().__init__()
        self._board, self._step = board, step

    def __missing__(self, row: int) -> int:
        found = push(self._board.decode(row)[:: self._step], 2)
        self[row] = -1 if found is None else self._board.encode(found[:: self._step])
        return self[row]
