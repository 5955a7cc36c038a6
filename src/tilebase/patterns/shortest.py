"""The shortest games: the fewest drops of 2s after which no slide is left.

In an end position the board is full and no neighbours are equal.  The sum of its tiles gives the number of
drops.  So the question is which end position with the least sum can be reached.

* *Lower bound.*  `end_positions` lists all end positions of a sum.  If the search back from all of them ends
  without a first position, no game has so many drops.  This is done for one sum after the other.
* *Upper bound.*  A checkerboard, if it can be reached, is the least of all.  On boards with a side of even
  length, complete rows are built from below (`filling`), and a forward search finds the end of the game.  On
  other boards a narrow search goes back from the end positions.

If both bounds meet, the game is proved to be a shortest one.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Unpack

from tilebase.errors import ResourceError
from tilebase.game.findings import Finding
from tilebase.patterns.checkerboards import COLOURINGS, checkerboard, mirror
from tilebase.patterns.filling import best_built, check_sides, fill, finish
from tilebase.patterns.moves import Played, drops_of, replay
from tilebase.patterns.packed import Aim, search_back, search_on
from tilebase.patterns.rules import Drop, Move, Position, Rules, parse_rules
from tilebase.patterns.searching import ANY, Effort
from tilebase.runtime.resources import Use

MOST_ENDS = 200_000
"""Most end positions of one sum that are listed."""
MOST_EXTRA = 12
"""Most drops above those of a checkerboard for which an end is looked for."""
WIDTH = 20_000
"""Positions of each layer of a forward search."""
NARROW = 2000
"""Positions of each layer, and end positions, of a narrow search back."""


@dataclass(frozen=True, repr=False)
class Shortest(Played):
    """The fewest drops to an end position.

    Attributes
    ----------
    rules:
        The board.
    lower:
        No game with fewer drops ends: proved by exhaustive search.
    moves:
        The shortest game that was found, or None.
    excluded:
        For each number of drops below `lower` with end positions: how many of them there are, one of each set
        of symmetric ones, and how many positions the search back kept.
    seconds:
        Time for all.
    reason:
        Why the lower bound is not larger; empty if the game is proved to be a shortest one.
    """

    facts = (
        "size", "lower", "drops", "proved", "checkerboard", "conjectured", "zeegers", "board", "sequence",
        "seconds", "reason",
    )  # fmt: skip

    rules: Rules
    lower: int
    moves: tuple[Move, ...] | None
    excluded: dict[int, tuple[int, int]]
    seconds: float
    reason: str

    @property
    def proved(self) -> bool:
        """Whether no game with fewer drops ends."""
        return self.drops == self.lower

    @property
    def checkerboard(self) -> float:
        """The drops of a checkerboard, the least end position."""
        return 1.5 * self.rules.cells

    @property
    def conjectured(self) -> float:
        """The bound that Edixhoven suspects for boards with two even sides above 2: 3mn/2 + 7 drops."""
        return 1.5 * self.rules.cells + 7

    @property
    def zeegers(self) -> float:
        """The older bound of Zeegers: 3m(n - 1)/2 + 3 * 2^(m/2) - 3 drops, for even m."""
        rows, columns = self.rules.rows, self.rules.columns
        return 1.5 * rows * (columns - 1) + 3 * 2 ** (rows / 2) - 3

    def asked(self) -> tuple[Finding, ...]:
        """Return the fewest drops, or their bounds."""
        value, kind = f"at least {self.lower}", "lower"
        if self.proved:
            value, kind = str(self.drops), "exact"
        elif self.drops is not None:
            value, kind = f"{self.lower} to {self.drops}", "interval"
        return self.found("fewest drops of 2s after which no slide is left", value, kind)

    def as_dict(self) -> dict[str, Any]:
        """Return everything that was found, for JSON."""
        excluded = [
            {"drops": drops, "end_positions": ends, "positions": kept}
            for drops, (ends, kept) in self.excluded.items()
        ]
        return super().as_dict() | {"excluded": excluded}


def shortest_game(size: str, *, seed: int = 1, seconds: float = math.inf, **use: Unpack[Use]) -> Shortest:
    """Find the fewest drops of 2s after which no slide is left.

    Parameters
    ----------
    size:
        Rows x columns, such as ``4x4``.
    seed:
        Seed of the searches for a game.
    seconds:
        Time limit; then the result so far is returned.
    use:
        The keywords of `Use`: the memory is for the layers of one exhaustive search, and one thread does the
        work.

    Raises
    ------
    UsageError, ResourceError
        If the size cannot be read, or a side is above 12.

    >>> found = shortest_game("2x3")
    >>> found.drops, found.proved
    (9, True)
    """
    rules = parse_rules(size)
    effort = Effort.within(seconds, seed, **use)
    check_sides(rules)
    began = time.perf_counter()
    moves = built_game(rules, effort)
    lower, reason = 1, ""
    excluded: dict[int, tuple[int, int]] = {}
    while moves is None or lower < drops_of(moves):
        ends = list_ends(rules, lower)
        if ends is None:
            reason = f"more than {MOST_ENDS:,} end positions have the sum of {lower} drops"
            break
        if ends:
            try:
                found = search_back(rules, ends, effort)
            except ResourceError as error:
                reason = str(error)
                break
            if found.reachable:
                moves = found.moves
                break
            if found.reachable is None:
                reason = f"for {lower} drops, {found.reason}"
                break
            excluded[lower] = (len(ends), found.positions)
        lower += 1
    if reason:
        moves = _narrowed(rules, lower, moves, effort.for_seconds(seconds))
    proved = moves is not None and drops_of(moves) == lower
    if moves is not None:
        replay(rules, moves)
    return Shortest(rules, lower, moves, excluded, time.perf_counter() - began, "" if proved else reason)


# -- end positions ------------------------------------------------------------------------------------


def list_ends(rules: Rules, drops: int, most: int = MOST_ENDS) -> list[Position] | None:
    """Return the end positions of a sum, one of each set of symmetric ones; None if they are too many.

    >>> list_ends(Rules(2, 2), 6)
    [(1, 2, 2, 1)]
    """
    found: set[Position] = set()
    for position in end_positions(rules, drops):
        found.add(rules.canonical(position))
        if len(found) > most:
            return None
    return sorted(found)


def end_positions(rules: Rules, drops: int) -> Iterator[Position]:
    """Yield all end positions with half the tile sum `drops`: full, and no neighbours equal."""
    least = [_least(rules, cell) for cell in range(rules.cells + 1)]
    yield from _extended(rules, least, [], drops)


def _extended(rules: Rules, least: list[int], board: list[int], left: int) -> Iterator[Position]:
    """Yield the end positions that begin with some tiles, with so much left of half the sum."""
    cell = len(board)
    if cell == rules.cells:
        if left == 0:
            yield tuple(board)
        return
    value = 1
    while (1 << value >> 1) + least[cell + 1] <= left:
        beside = cell % rules.columns and board[cell - 1] == value
        if not beside and (cell < rules.columns or board[cell - rules.columns] != value):
            yield from _extended(rules, least, [*board, value], left - (1 << value >> 1))
        value += 1


def _least(rules: Rules, cell: int) -> int:
    """Return a lower bound of half the sum of the cells from one on: two neighbours have 3 at least."""
    rest = -cell % rules.columns
    full = (rules.cells - cell - rest) // rules.columns
    pairs = rest // 2 + full // 2 * rules.columns + full % 2 * (rules.columns // 2)
    singles = rest % 2 + full % 2 * (rules.columns % 2)
    return 3 * pairs + singles


# -- games --------------------------------------------------------------------------------------------


def built_game(rules: Rules, effort: Effort = ANY) -> tuple[Move, ...] | None:
    """A short game to a checkerboard, or on complete rows if a side has an even length: an upper bound."""
    if rules.cells == 1:
        return (Drop(0),)
    games = [checkerboard(str(rules), colouring).moves for colouring in COLOURINGS]
    if any(games):
        return min(filter(None, games), key=drops_of)
    if min(rules.rows, rules.columns) < 2 or (rules.rows % 2 and rules.columns % 2):
        return None
    built = best_built(rules)
    moves = _low_ends(built, effort)
    if moves is None:
        moves = _from_full(built, effort)
    return moves if moves is None or built == rules else mirror(built, moves)


def _low_ends(rules: Rules, effort: Effort) -> tuple[Move, ...] | None:
    """Complete rows but for two, and the shortest end that a search finds there."""
    if rules.columns > 6:
        return None  # such an end is longer than one from a full board
    for extra in range(MOST_EXTRA):
        free, drops = min(2, rules.rows), 3 * rules.cells // 2 + extra
        moves = finish(rules, free, 3, drops, WIDTH, effort, most=extra // 2).moves
        if moves is not None or effort.left < 0:
            return moves
    return None


def _from_full(rules: Rules, effort: Effort) -> tuple[Move, ...] | None:
    """Return a board filled with 2s and 4s, and the shortest end after its last slides."""
    filled = fill(replace(rules, most=2), effort)
    if filled.moves is None:
        return None
    positions, columns = replay(filled.rules, filled.moves), rules.columns
    for extra in range(MOST_EXTRA):
        for back in (2, 6, 10):
            start = positions[-back]
            kept = frozenset(range((columns // 2 + 1) * columns, rules.cells))
            aim = Aim(start, kept, 3, extra // 2, 3 * rules.cells // 2 + extra)
            found = search_on(rules, aim, effort, width=WIDTH)
            if found.moves is not None:
                return (*filled.moves[: len(filled.moves) - back + 1], *found.moves)
    return None


def _narrowed(
    rules: Rules, lower: int, moves: tuple[Move, ...] | None, effort: Effort
) -> tuple[Move, ...] | None:
    """Return a shorter game, if narrow searches back find one."""
    most = 2 * rules.cells + MOST_EXTRA if moves is None else drops_of(moves)
    for drops in range(lower, most):
        ends = list_ends(rules, drops, NARROW) if effort.left > 0 else None
        if ends is None:
            break
        if ends:
            found = search_back(rules, ends, effort.for_seconds(effort.left / 2), width=NARROW)
            if found.moves is not None:
                return found.moves
    return moves
