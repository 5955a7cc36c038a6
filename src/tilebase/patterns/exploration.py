"""Every position that a small board can reach, one layer after the other.

A layer holds the positions of one sum of tiles.  A slide keeps the sum and a drop adds 2 or 4, so each layer
follows from the one or two before it, and only these are in memory.  Positions are not reduced by symmetry:
what is said of a layer is said of each of its positions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from tilebase.errors import UsageError
from tilebase.patterns.rules import DIRECTIONS, Position, Rules

Slides = dict[str, Position]
"""The slides that are possible in a position, and the position after each."""
ENOUGH = 10**12
"""Where the bound on the number of positions stops counting."""


@dataclass(frozen=True)
class Layer:
    """The positions of one sum.

    Attributes
    ----------
    sum:
        The sum of the tiles of each position.
    states:
        The positions after a drop, each with its slides.
    afterstates:
        The positions after a slide, each with the directions of the slides that make it, and the directions
        of the slides that are possible after some drop.  The empty board of the start is one of them; no
        slide makes it.
    """

    sum: int
    states: dict[Position, Slides]
    afterstates: dict[Position, tuple[str, str]]


def explore(rules: Rules, *, most_sum: int | None = None, directions: str = "UDLR") -> Iterator[Layer]:
    """Yield the layers of all positions that can be reached from the empty board, by ascending sum.

    With `directions`, only these slides are made.  Drops that lead to a sum above `most_sum` are left out;
    without this bound, `rules.most` must bound the tiles.  Raises `UsageError` if neither does.

    >>> [len(layer.states) for layer in explore(Rules(1, 3, most=2))]
    [0, 3, 3, 4, 3, 2]
    """
    check_bounded(rules, most_sum)
    coming: dict[int, _Coming] = {0: _Coming()}
    total = 0
    while coming:
        states = coming.pop(total, _Coming()).states
        made: dict[Position, str] = {} if total else {rules.empty: ""}
        for slides in states.values():
            for direction, after in slides.items():
                made[after] = made.get(after, "") + direction
        afterstates = {
            after: (_in_order(by), _drop_everywhere(rules, after, total, coming, most_sum, directions))
            for after, by in made.items()
        }
        yield Layer(total, states, afterstates)
        total += 2


def check_bounded(rules: Rules, most_sum: int | None) -> None:
    """Raise `UsageError` if neither the tiles nor the sum are bounded: then the positions have no end."""
    if rules.most is None and most_sum is None:
        raise UsageError("positions without a bound cannot be listed: bound the tiles, or the sum")


class _Coming:
    """A layer of which not all positions are known yet.

    Many positions slide to the same one.  `slid` holds each of these once, so that it is in memory once.
    """

    def __init__(self) -> None:
        self.states: dict[Position, Slides] = {}
        self.slid: dict[Position, Position] = {}

    def add(self, rules: Rules, position: Position, directions: str) -> Slides:
        """Return the slides of a position, which is added if it is new."""
        known = self.states.get(position)
        if known is None:
            slides = ((direction, rules.slide(position, direction)) for direction in directions)
            known = {way: self.slid.setdefault(found, found) for way, found in slides if found is not None}
            self.states[position] = known
        return known


def _drop_everywhere(
    rules: Rules,
    position: Position,
    total: int,
    coming: dict[int, _Coming],
    most_sum: int | None,
    directions: str,
) -> str:
    """Add what each drop makes to the layers to come; return the slides that are possible after some drop."""
    following = ""
    for new, after in rules.spawns(position):
        larger = total + (1 << new.exponent)
        if most_sum is not None and larger > most_sum:
            continue
        if larger not in coming:
            coming[larger] = _Coming()
        following += "".join(coming[larger].add(rules, after, directions))
    return _in_order(following)


@lru_cache(maxsize=1 << 16)
def _in_order(letters: str) -> str:
    return "".join(direction for direction in DIRECTIONS if direction in letters)


def most_afterstates(rules: Rules, most_sum: int | None = None) -> Counter[int]:
    """For each sum, no fewer positions than slides can make: a bound that is known at once.

    After a slide to the left, each row is a row of tiles without gaps, followed by empty cells, and no two
    2s are neighbours.  So the rows can be counted by sum and put together.  The other directions are alike.
    Above `ENOUGH` positions the count stops, and is only known to be larger.

    >>> sum(most_afterstates(Rules(2, 2, most=2)).values())
    144
    """
    shapes = ((rules.rows, rules.columns), (rules.columns, rules.rows))
    bound: Counter[int] = Counter()
    for lines, length in shapes:
        one = _pushed_lines(length, rules.most, most_sum)
        together = Counter({0: 1})
        for _ in range(lines):
            together = _joined(together, one, most_sum)
            if together.total() > ENOUGH:
                break
        for total, count in together.items():
            bound[total] += 2 * count  # both directions along these lines
    return bound


def most_states(rules: Rules, afterstates: Counter[int], most_sum: int | None = None) -> Counter[int]:
    """For each sum, no fewer positions than drops can make, from the bound of `most_afterstates`.

    A drop may be on any cell.  At the start only the empty board has the sum 0.

    >>> rules = Rules(2, 2, most=2)
    >>> most_states(rules, most_afterstates(rules))[2]
    4
    """
    bound: Counter[int] = Counter()
    for exponent in rules.drops:
        for total, count in afterstates.items():
            larger = total + (1 << exponent)
            if most_sum is None or larger <= most_sum:
                bound[larger] += (count if total else 1) * rules.cells
    return bound


def _pushed_lines(length: int, most: int | None, most_sum: int | None) -> Counter[int]:
    """Return how many lines of a length have no gap at their beginning and no two neighbouring 2s, by sum."""
    largest = most if most is not None else max((most_sum or 0).bit_length() - 1, 1)
    found = Counter({0: 1})
    ending: Counter[tuple[int, bool]] = Counter({(0, False): 1})  # sum, and whether the last tile is a 2
    for _ in range(length):
        longer: Counter[tuple[int, bool]] = Counter()
        for (total, two), count in ending.items():
            for exponent in range(2 if two else 1, largest + 1):
                if most_sum is None or total + (1 << exponent) <= most_sum:
                    longer[total + (1 << exponent), exponent == 1] += count
        ending = longer
        for (total, _two), count in ending.items():
            found[total] += count
        if found.total() > ENOUGH:
            break
    return found


def _joined(one: Counter[int], other: Counter[int], most_sum: int | None) -> Counter[int]:
    joined: Counter[int] = Counter()
    for total, count in one.items():
        for more, times in other.items():
            if most_sum is None or total + more <= most_sum:
                joined[total + more] += count * times
    return joined
