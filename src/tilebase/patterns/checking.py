"""Every position that a small board can reach, and the lemmas on every occasion there.

A layer holds the positions of one sum of tiles.  A slide keeps the sum and a drop adds 2 or 4, so each layer
follows from the one or two before it, and only these are in memory.  Positions are not reduced by symmetry:
what is said of a layer is said of each of its positions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Unpack, get_args

from tilebase.errors import ResourceError, UsageError
from tilebase.game.findings import Finding
from tilebase.patterns.lemmas import AXES, LEMMAS, About, Lemma, alternating_line_sources
from tilebase.patterns.moves import moves_text
from tilebase.patterns.rules import DIRECTIONS, Position, Rules, parse_rules
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Allowance, Use

Slides = dict[str, Position]
"""The slides that are possible in a position, and the position after each."""
ENOUGH = 10**12
"""Where the bound on the number of positions stops counting."""
MOST_AFTERSTATES = 10_000_000
"""The largest bound on the positions after a slide for which a check begins."""
MOST_CELLS_LISTED = 500_000_000
"""The largest number of cells of all positions after a drop that have one sum, for which a check begins.

All positions of one sum are in memory, with the slides of each.  By this bound 30x30 to the sum 4 has
97,200,000 cells; its check takes 1.4 GB."""
MOST_LINE = 16
"""The longest line whose sources are listed."""
MOST_SUM = 4096
OFTEN = 1024
"""Occasions between two looks at the clock."""

Occasion = tuple[About, tuple[Any, ...]]


# -- every position ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layer:
    """The positions of one sum."""

    sum: int  # of the tiles of each position
    states: dict[Position, Slides]  # the positions after a drop, each with its slides
    # The positions after a slide, each with the directions of the slides that make it, and the directions of
    # the slides that are possible after some drop.  The empty board of the start is one of them; no slide
    # makes it.
    afterstates: dict[Position, tuple[str, str]]


def explore(rules: Rules, *, most_sum: int | None = None, directions: str = "UDLR") -> Iterator[Layer]:
    """Yield the layers of all positions that can be reached from the empty board, by ascending sum.

    With `directions`, only these slides are made.  Drops that lead to a sum above `most_sum` are left out;
    without this bound, `rules.most` must bound the tiles, or the layers have no end.

    >>> [len(layer.states) for layer in explore(Rules(1, 3, most=2))]
    [0, 3, 3, 4, 3, 2]
    """
    coming = defaultdict(_Coming, {0: _Coming()})

    def drop_everywhere(position: Position, total: int) -> str:
        """Add what each drop makes to the layers to come; return the slides that are possible after some."""
        following = ""
        for new, after in rules.spawns(position):
            larger = total + (1 << new.exponent)
            if most_sum is None or larger <= most_sum:
                following += "".join(coming[larger].add(rules, after, directions))
        return _in_order(following)

    total = 0
    while coming:
        states = coming.pop(total, _Coming()).states
        made: dict[Position, str] = {} if total else {rules.empty: ""}
        for slides in states.values():
            for direction, after in slides.items():
                made[after] = made.get(after, "") + direction
        afterstates = {after: (_in_order(by), drop_everywhere(after, total)) for after, by in made.items()}
        yield Layer(total, states, afterstates)
        total += 2


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


# -- the lemmas --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LemmaCheck:
    """What a check of one lemma found.

    Attributes
    ----------
    lemma:
        The lemma.
    title:
        The statement that was checked, in one short line.  With drops of 4 some lemmas have another one.
    stated:
        Whether it is stated for these rules.  If not, it was not checked.
    checked:
        How many occasions met its premise.  If none did, the check says nothing.
    failures:
        On how many of them it does not hold.
    first:
        The first of these, as text, or an empty text.
    """

    lemma: Lemma
    title: str
    stated: bool
    checked: int
    failures: int
    first: str

    @property
    def verdict(self) -> str:
        """holds, fails, ``no case`` (the premise was never met) or ``not stated`` (for these rules)."""
        if not self.stated:
            return "not stated"
        if not self.checked:
            return "no case"
        return "fails" if self.failures else "holds"


def findings(rules: Rules, most_sum: int | None, checks: Sequence[LemmaCheck]) -> tuple[Finding, ...]:
    """Return which lemmas hold for every position that can be reached."""
    part = "without an 8" if most_sum is None else f"with a sum of at most {most_sum}"
    what = f"for every position that drops of {rules.drop_words} reach, {part}: lemma"
    return tuple(
        Finding(str(rules), f"{what} {one.lemma.number}", one.verdict, "verdict", rules.start_words)
        for one in checks
    )


def check_lemmas(
    size: str, *, drops: str = "2", most_sum: int | None = None, **use: Unpack[Use]
) -> tuple[LemmaCheck, ...]:
    """Check the lemmas of Edixhoven's thesis on all positions that a small board can reach.

    Parameters
    ----------
    size:
        Rows x columns, such as ``3x3``.
    drops:
        Which tiles are dropped: ``2`` or ``2,4``.
    most_sum:
        The largest sum of tiles after a drop.  Left out, the game is that in which no 8 is made.
    use:
        The keywords of `Use`; one thread does the work.

    Returns
    -------
    tuple of LemmaCheck
        One for each lemma, in their order.  A check says nothing about larger boards or larger sums.

    Raises
    ------
    UsageError
        If the size, drops or sum do not exist.
    ResourceError
        If there may be more than 10,000,000 positions after a slide, or if the positions of one sum after a
        drop may have more than 500,000,000 cells together.

    >>> [check.lemma.number for check in check_lemmas("2x3") if check.verdict != "holds"]
    ['10', '11a', '11b', '12', '13']
    """
    rules = parse_rules(size, drops=drops, most=2 if most_sum is None else None)
    allowed, bound = Allowance.of(**use), _check_request(rules, most_sum)
    stated = [lemma for lemma in LEMMAS if lemma.is_about(rules)]
    by_about = {about: [lemma for lemma in stated if lemma.about == about] for about in get_args(About)}
    checked: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    first: dict[str, str] = {}
    for about, arguments in _occasions(rules, most_sum, bound, Pace(allowed.progress, "positions")):
        for lemma in by_about[about]:
            if lemma.applies(rules, *arguments):
                checked[lemma.number] += 1
                if not lemma.holds(rules, *arguments):
                    failed[lemma.number] += 1
                    first.setdefault(lemma.number, occasion_text(rules, about, arguments))
    return tuple(
        LemmaCheck(
            lemma, lemma.title_for(rules), lemma in stated,
            checked[lemma.number], failed[lemma.number], first.get(lemma.number, ""),
        )
        for lemma in LEMMAS
    )  # fmt: skip


def _check_request(rules: Rules, most_sum: int | None) -> Counter[int]:
    """Return the bound on positions after a slide, by sum.  Raises what `check_lemmas` raises."""
    if most_sum is not None and not 2 <= most_sum <= MOST_SUM:
        raise UsageError(f"a sum of {most_sum:,} is not possible here: give one from 2 to {MOST_SUM:,}")
    bound = most_afterstates(rules, most_sum)
    if bound.total() > MOST_AFTERSTATES:
        many = f"up to {bound.total():,}" if bound.total() <= ENOUGH else f"more than {ENOUGH:,}"
        raise ResourceError(
            f"a board of {rules} may have {many} positions after a slide, and this check lists them all: at "
            f"most {MOST_AFTERSTATES:,} are possible; choose a smaller board or a smaller sum"
        )
    total, count = most_states(rules, bound, most_sum).most_common(1)[0]
    if count * rules.cells > MOST_CELLS_LISTED:
        raise ResourceError(
            f"a board of {rules} may have up to {count:,} positions of the sum {total:,} after a drop, with "
            f"{rules.cells:,} cells each, and this check holds them in memory: at most "
            f"{MOST_CELLS_LISTED:,} cells together are possible; choose a smaller board or a smaller sum"
        )
    return bound


def occasion_text(rules: Rules, about: About, arguments: tuple[Any, ...]) -> str:
    """Return an occasion in words.

    >>> occasion_text(Rules(1, 2), "following", ((2, 0), "L", "R"))
    '4,0 after L, before R'
    """
    position, *more = arguments
    if about == "line":
        return Rules(1, len(position)).text(position)
    board = rules.text(position)
    if about == "drop":
        return f"{board} before {moves_text(Rules(rules.rows, rules.columns), more)}"
    if about == "axis":
        return f"{board} after {more[0]} slides only"
    words = zip(("after", "before"), more, strict=False)
    return f"{board} {', '.join(f'{word} {one}' for word, one in words)}".rstrip()


def _occasions(rules: Rules, most_sum: int | None, bound: Counter[int], pace: Pace) -> Iterator[Occasion]:
    seen, share, all_of_them = 0, 0, bound.total()
    for layer in explore(rules, most_sum=most_sum):
        for number, occasion in enumerate(_of_layer(rules, layer)):
            yield occasion
            if number % OFTEN == 0 and pace.due():
                pace.report(layer.sum, "check", seen, share / all_of_them)
        seen += len(layer.states) + len(layer.afterstates)
        share += bound[layer.sum]
    for axis, directions in AXES.items():
        for layer in explore(rules, most_sum=most_sum, directions=directions):
            yield from (("axis", (position, axis)) for position in (*layer.states, *layer.afterstates))
    for length in sorted({rules.rows, rules.columns}):
        if length % 2 == 0 and 4 <= length <= MOST_LINE:
            yield from (("line", (line,)) for line in sorted(alternating_line_sources(length)))
    pace.report(0, "done", seen, 1.0)


def _of_layer(rules: Rules, layer: Layer) -> Iterator[Occasion]:
    for position in layer.states:
        yield "position", (position,)
    for position, (made_by, followed_by) in layer.afterstates.items():
        yield "position", (position,)
        yield from (("drop", (position, new)) for new, _after in rules.spawns(position))
        for direction in made_by:
            yield "afterstate", (position, direction)
            yield from (("following", (position, direction, after)) for after in followed_by)
