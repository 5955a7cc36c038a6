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

States with a frozen pair (`bit_rows`) are left out, since no checkerboard follows from them.

Source: Edixhoven (2019), section 4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Unpack

from tilebase.errors import ResourceError
from tilebase.patterns.bit_rows import BitRows, Rows, mirrored
from tilebase.patterns.rules import Rules, parse_rules
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Allowance, Use

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
        How many states were counted, over all sums.
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
        Rows x columns, as ``2x20``.
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
    return tally(rules, seconds=seconds, **use)


def tally(
    rules: Rules,
    *,
    seconds: float | None = None,
    most: int = MOST_POSITIONS,
    **use: Unpack[Use],
) -> Tally:
    """Count the sequences that lead to a checkerboard, by colouring.

    The bound `rules.most` has to be 2 or None; no tile above 4 is made in either case.  Raises
    `ResourceError` after `seconds`, or if more than `most` states have one sum.

    >>> tally(Rules(2, 3, convention="rows")).total
    197
    """
    if rules.rows > rules.columns:
        return replace(tally(mirrored(rules), seconds=seconds, most=most, **use), rules=rules)
    return _Count(rules, seconds, most, Allowance.of(**use)).run()


class _Count:
    """One count, sum by sum."""

    def __init__(self, rules: Rules, seconds: float | None, most: int, allowed: Allowance) -> None:
        self._rules, self._seconds, self._most = rules, seconds, most
        self._board = BitRows(rules)
        self._pace = Pace(allowed.progress, "states")
        self._positions = self._largest = 0

    def run(self) -> Tally:
        """Return the whole count.  Sums are in units of 2, so that a drop adds its exponent."""
        ends = {colouring: self._board.checkerboard(colouring) for colouring in (2, 4)}
        last = max(self._board.half_sum(end) for end in ends.values())
        found = dict.fromkeys(ends, 0)
        ahead: dict[int, Ways] = {0: {}}
        self._drop({self._board.empty: 1}, 0, ahead)
        for total in range(1, last + 1):
            states = ahead.pop(total, {})
            self._note(len(states), total, last)
            for colouring, end in ends.items():
                found[colouring] += states.get(end, 0)
            if states:
                self._drop(self._slide(states, total), total, ahead)
        return Tally(self._rules, found[2], found[4], self._positions, self._largest)

    def _note(self, states: int, total: int, last: int) -> None:
        self._positions += states
        self._largest = max(self._largest, states)
        if self._pace.due():
            self._pace.report(2 * total, "count", self._positions, total / last)

    def _slide(self, states: Ways, total: int) -> Ways:
        """Return the afterstates of one sum."""
        after: Ways = {}
        for number, (state, ways) in enumerate(states.items()):
            if not number % FEW:
                self._check_time(total)
            for found in self._board.slides(state):
                after[found] = after.get(found, 0) + ways
        return after

    def _drop(self, after: Ways, total: int, ahead: dict[int, Ways]) -> None:
        """Add the states that follow the afterstates of one sum to those `ahead`, by sum."""
        for exponent in self._rules.drops:
            states = ahead.setdefault(total + exponent, {})
            for number, (position, ways) in enumerate(after.items()):
                if not number % FEW:
                    self._check_time(total)
                for found in self._board.drops(position, exponent):
                    states[found] = states.get(found, 0) + ways
                if len(states) > self._most:
                    raise ResourceError(
                        f"{self._rules}: more than {self._most:,} positions have the sum "
                        f"{2 * (total + exponent)}, too many to count sequences: choose a smaller board"
                    )

    def _check_time(self, total: int) -> None:
        if self._seconds is not None and self._pace.seconds > self._seconds:
            raise ResourceError(
                f"{self._rules}: {self._seconds:.3g} seconds were not enough to count sequences; the count "
                f"came to the sum {2 * total}: allow more time, or choose a smaller board"
            )
