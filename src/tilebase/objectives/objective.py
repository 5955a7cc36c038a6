"""What a value means, and how it is computed from the values that follow it.

An objective says what a win is worth, what each slide or merge adds, and how values are combined over
spawns: `MEANINGS` is the table of all.  They share one recurrence (see `small.oracle`): the value of an
afterstate is the mean, the least or the largest of the values of the states that a spawn leads to, and the
value of a state is the largest over its slides.

`lower` and `upper` are proved: they are computed with fixed-point integers and exact rational
probabilities, and each step is rounded down or up.  Objectives computed with floats are rounded in each step;
`rounding` says how far from the optimum they can be.  `guaranteed`, `survival`, `longest` and `highest`
are exact.

`loss` is the probability to lose, a *cost*: the player makes it small.  Engines and files hold the negative
of a cost, so that the largest is the best there, too; `Objective.told` is the value that users see.  A small
probability to lose then has all digits of a float, where 1 minus the probability to win has none.

`fewest` is a cost, too: the least number of slides in which the game can be won if the spawns help.  The cost
of a game that cannot be won, `NEVER`, stands for infinity: no number that is worse is told apart from it.

With a discount d, the value of a state is d times the largest over its slides.  So `win` is then the
expectation of d to the power of the number of slides.

A new objective is one line of `MEANINGS`: engines, probes, files and commands read what they need from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np

from tilebase.errors import UsageError
from tilebase.game.game import Cells, Game
from tilebase.game.notation import fraction_of
from tilebase.objectives.numbers import Unit
from tilebase.objectives.types import TYPES, ValueType
from tilebase.objectives.values import NEVER, Number

FLOATS = ("float64", "float32")
BOUNDS = ("uint64", "uint32", "uint16")
"""The types of means, and of proved bounds; the first is the default."""


@dataclass(frozen=True)
class Meaning:
    """All that depends on the name of an objective."""

    text: str  # what a value means, in words
    types: tuple[str, ...]  # in which values can be stored; the first is the default
    # How values are combined over spawns: the mean with the probabilities, the least or the largest.
    spawns: Literal["mean", "least", "largest"] = "mean"
    win: int = 0  # the value of a win
    lost: int = 0  # that of a game that ends without one; if it is negative, values are a cost
    slide: int = 0  # what each slide adds
    merge: Literal["", "tile", "one"] = ""  # what each merge adds: the tile that it makes, one, or nothing
    # For proved bounds: they are fixed-point integers, and each step is rounded this way.
    rounding: Literal["", "down", "up"] = ""
    # What else the end of a game is worth: the largest tile on the board, or nothing.  A slide or a spawn
    # never lowers it, so that a board is worth at least as much as if the game ended there.
    end: Literal["", "largest"] = ""
    unit: Unit = "probability"  # what a value counts, as `numbers.short_number` needs it

    @property
    def needs_goal(self) -> bool:
        """Whether a won game is worth something else than a lost one."""
        return self.win != self.lost


MEANINGS = {
    "win": Meaning("probability to win", (*FLOATS, "float16"), win=1),
    "loss": Meaning("probability to lose", FLOATS, lost=-1),
    "lower": Meaning("proved lower bound of the probability to win", BOUNDS, win=1, rounding="down"),
    "upper": Meaning("proved upper bound of the probability to win", BOUNDS, win=1, rounding="up"),
    "guaranteed": Meaning("whether a win can be forced", ("bit",), "least", win=1, unit="yes-no"),
    "score": Meaning("expected score", FLOATS, merge="tile", unit="score"),
    "merges": Meaning("expected number of merges", FLOATS, merge="one", unit="merges"),
    "moves": Meaning("expected number of slides", FLOATS, slide=1, unit="slides"),
    "largest": Meaning("expected largest tile at the end", FLOATS, end="largest", unit="tile"),
    "survival": Meaning("slides that can be forced", ("int32",), "least", slide=1, unit="slides"),
    "fewest": Meaning(
        "fewest slides to a win, with luck", ("int32",), "largest", lost=-NEVER, slide=-1, unit="slides"
    ),
    "longest": Meaning("slides of the longest game", ("int32",), "largest", slide=1, unit="slides"),
    "highest": Meaning("highest score, with luck", ("int32",), "largest", merge="tile", unit="score"),
}
"""What each objective means, by name."""

WITHOUT_GOAL = tuple(name for name, meaning in MEANINGS.items() if not meaning.needs_goal)
"""The objectives of games without a goal."""

DISCOUNTED = tuple(
    name
    for name, meaning in MEANINGS.items()
    if meaning.spawns == "mean" and not meaning.end and not meaning.lost
)
"""The objectives that take a discount."""

MOST_DENOMINATOR = 10**12
"""Largest denominator of a discount, since the discount is part of the name of a folder."""


def merge_worth(merge: str, exponent: int) -> int:
    """Return what a merge adds that makes the tile ``2**exponent``, as `Meaning.merge` says."""
    if merge == "tile":
        return 1 << exponent
    return int(merge == "one")


@cache
def potentials(merge: str) -> tuple[int, ...]:
    """``table[e]``: what all merges that make one tile 2**e from 2s earn, as `Meaning.merge` says.

    A slide earns the sum of the potentials of the tiles after it, minus the sum before it.
    """
    table = [0, 0]
    while len(table) < 64:
        table.append(2 * table[-1] + merge_worth(merge, len(table)))
    return tuple(table)


def potential(game: Game, board: Cells, merge: str) -> int:
    """Return what all merges that made the tiles of a board have earned."""
    table, x = potentials(merge), game.x if game.unmergeable else -1
    return sum([table[e] for e in board if e != x])


@dataclass(frozen=True)
class Objective:
    """The meaning, the stored type and the discount of the values that the backward pass computes.

    Parameters
    ----------
    name:
        One of `MEANINGS`.
    dtype:
        The type in which values are stored; empty for the first type of the objective.
    discount:
        In (0, 1], exact; below 1 only for objectives whose values are means.

    Raises
    ------
    UsageError
        If the objective does not exist, or the type or the discount does not fit it.

    >>> Objective("win").label
    'win'
    """

    name: str
    dtype: str = ""
    discount: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not isinstance(self.dtype, str):
            raise UsageError(
                f"an objective has a name and a type as text, not {self.name!r} and {self.dtype!r}"
            )
        if self.name not in MEANINGS:
            raise UsageError(
                f"objective {self.name!r} does not exist: choose one of {', '.join(MEANINGS)}; "
                "the fastest, the worst and other players: tilebase solve exact --play"
            )
        if not self.dtype:
            object.__setattr__(self, "dtype", self.meaning.types[0])
        if self.dtype not in self.meaning.types:
            raise UsageError(
                f"the type of {self.name} must be {' or '.join(self.meaning.types)}, not {self.dtype}"
            )
        object.__setattr__(self, "discount", parse_discount(self.discount))
        if self.discount != 1 and self.name not in DISCOUNTED:
            raise UsageError(f"{self.name} takes no discount: only {', '.join(DISCOUNTED)} do")

    def __repr__(self) -> str:
        words = [repr(self.name)]
        if self.dtype != self.meaning.types[0]:
            words.append(repr(self.dtype))
        if self.discount != 1:
            words.append(f"discount='{self.discount}'")
        return f"Objective({', '.join(words)})"

    @cached_property
    def meaning(self) -> Meaning:
        """All that depends on the name."""
        return MEANINGS[self.name]

    @cached_property
    def type(self) -> ValueType:
        """The type in which values are stored."""
        return TYPES[self.dtype]

    @property
    def text(self) -> str:
        """What a value means, in words."""
        words = self.meaning.text
        return words if self.discount == 1 else f"{words}, discount {self.discount} for each slide"

    @property
    def unit(self) -> Unit:
        """The unit of a value, such as a score; discounts do not change it."""
        return self.meaning.unit

    @property
    def value_bytes(self) -> float:
        """Bytes per value, not compressed: 1/8 for a Boolean value."""
        return self.type.bits / 8

    @cached_property
    def spawns(self) -> Literal["mean", "least", "largest"]:
        """How values are combined over spawns: the mean with the probabilities, the least or the largest."""
        return self.meaning.spawns

    @cached_property
    def slide(self) -> int:
        """What each slide adds."""
        return self.meaning.slide

    @cached_property
    def merge(self) -> Literal["", "tile", "one"]:
        """What each merge adds: the ``"tile"`` that it makes, ``"one"``, or nothing."""
        return self.meaning.merge

    @property
    def counts_end(self) -> bool:
        """Whether a board is worth at least its largest tile."""
        return bool(self.meaning.end)

    @cached_property
    def is_mean(self) -> bool:
        """Whether values are means over spawns, weighted with their probabilities."""
        return self.spawns == "mean"

    @cached_property
    def is_bound(self) -> bool:
        """Whether values are proved bounds in fixed point."""
        return bool(self.meaning.rounding)

    @cached_property
    def rounds_up(self) -> bool:
        """Whether each step of a proved bound is rounded up."""
        return self.meaning.rounding == "up"

    @cached_property
    def is_win(self) -> bool:
        """Whether a win is worth 1; otherwise it is worth 0."""
        return self.meaning.win == 1

    @cached_property
    def lost(self) -> int:
        """What a game that ends without a win is worth, the largest tile aside; negative for a cost."""
        return self.meaning.lost

    @property
    def is_cost(self) -> bool:
        """Whether the player makes values small; then engines and files have their negatives."""
        return self.lost < 0

    @cached_property
    def counts_to_win(self) -> bool:
        """Whether values count slides to a win; then `NEVER` stands for no win."""
        return self.lost == -NEVER

    @cached_property
    def is_boolean(self) -> bool:
        """Whether values are kept as one bit each."""
        return self.dtype == "bit"

    @cached_property
    def is_float(self) -> bool:
        """Whether values are floats."""
        return self.type.is_float

    @cached_property
    def one(self) -> int:
        """What stands for 1 in files: an integer for proved bounds."""
        return self.type.one

    @cached_property
    def most(self) -> int:
        """The largest integer that is stored for a proved bound; 1 for other objectives.

        If the type cannot hold `one`, this is ``one - 1``.  A lower bound may be too small, so
        ``one - 1`` is right for 1.  As an upper bound ``one - 1`` is read as `one`.
        """
        return min(self.one, (1 << self.type.bits) - 1) if self.is_bound else 1

    # -- arithmetic on single values, as exact as the type --------------------------------------

    def number(self, worth: Any) -> Number:
        """Return a number in the Python type of this objective: Fraction, bool, int or float."""
        if self.is_bound:
            return Fraction(worth)
        if self.is_boolean:
            return bool(worth)
        if self.counts_to_win:
            return max(int(worth), self.lost)
        return float(worth) if self.is_float else int(worth)

    def told(self, number: Any) -> Any:
        """Return the value that users see for a number or an array of an engine; the negative if it is a
        cost.

        >>> Objective("loss").told(-0.25), Objective("loss").told(0.0), Objective("win").told(0.25)
        (0.25, 0.0, 0.25)
        """
        if self.counts_to_win:
            return np.minimum(0 - number, NEVER) if isinstance(number, np.ndarray) else min(-number, NEVER)
        return 0 - number if self.is_cost else number

    def read(self, stored: Any) -> Number:
        """Return the number that a stored value, a NumPy scalar, stands for."""
        if not self.is_bound:
            return self.number(stored if self.one == 1 else stored / self.one)
        whole = int(stored)
        return Fraction(self.one if self.rounds_up and whole == self.most else whole, self.one)

    def end(self, game: Game, board: Cells, *, won: bool) -> Number:
        """Return the value of a board on which the game ends, won or not: of a state or of an afterstate."""
        if self.meaning.end == "largest":
            return self.number(1 << exponent if (exponent := game.max_exponent(board)) else 0)
        return self.number(self.meaning.win if won else self.lost)

    def gain(self, game: Game, before: Cells, after: Cells) -> int:
        """Return what a slide adds to the value of the board that it makes."""
        if not self.meaning.merge:
            return self.meaning.slide
        merge = self.meaning.merge
        return self.meaning.slide + potential(game, after, merge) - potential(game, before, merge)

    def discounted(self, worth: Number) -> Number:
        """Return the value of a state whose best slide has the value `worth`."""
        if self.discount == 1:
            return worth
        return worth * (self.discount if self.is_bound else float(self.discount))

    def over_spawns(self, worths: Iterable[tuple[Number, Fraction]]) -> Number:
        """Return the mean, the least or the largest of values over spawns or starts.

        Each item is a value and its probability.
        """
        if not self.is_mean:
            pick = min if self.spawns == "least" else max
            return pick(worth for worth, _ in worths)
        return self.number(sum((Fraction(worth) * p for worth, p in worths), Fraction(0)))

    # -- names ----------------------------------------------------------------------------------

    @cached_property
    def label(self) -> str:
        """The name of the folder of its values: ``win``, ``win-float32``, ``win-discount-99-100``."""
        words = [self.name]
        if self.dtype != self.meaning.types[0]:
            words.append(self.dtype)
        if self.discount != 1:
            words.append(f"discount-{self.discount.numerator}-{self.discount.denominator}")
        return "-".join(words)

    def __str__(self) -> str:
        return self.name + (f", discount {self.discount}" if self.discount != 1 else "")

    @property
    def identity(self) -> dict[str, Any]:
        """The parameters as plain JSON values."""
        return {"name": self.name, "dtype": self.dtype, "discount": str(self.discount)}

    @classmethod
    def from_identity(cls, identity: Any) -> Objective:
        """Return the objective of an `identity`.  Raises `UsageError` if this is not one."""
        try:
            return cls(identity["name"], identity["dtype"], identity["discount"])
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"not an objective: {repr(identity)[:200]}") from error

    def check(self, game: Game) -> None:
        """Raise `UsageError` unless the objective fits the game."""
        if self.meaning.needs_goal and not game.can_win:
            raise UsageError(f"{self.name} needs a goal: name one, or choose {', '.join(WITHOUT_GOAL)}")
        if self.counts_to_win and game.horizon is not None:
            raise UsageError(f"{self.name} fits games without a horizon: leave it out")
        if self.meaning.end and (game.patterns or game.goal_sum is not None):
            raise UsageError(
                f"{self.name} fits games that a goal tile wins, or that have no goal: leave out the "
                "pattern or the goal sum"
            )
        goal, codes = game.goal_exponent or 0, game.x - bool(game.unmergeable)  # x takes the last code
        if (self.meaning.merge or (self.meaning.end and game.unmergeable)) and goal > codes:
            raise UsageError(
                f"{self.name} counts tiles, and the goal {game.goal} does not fit {game.bits} bits per cell"
                f"{' beside x' * bool(game.unmergeable)}: choose a smaller goal"
            )
        if self.is_bound and game.cells * game.spawn.denominator * (self.one + 1) >= 1 << 64:
            raise UsageError(
                f"{self.name} in {self.dtype} needs a chance of a 4 with a smaller denominator "
                f"than {game.spawn.denominator}"
            )
        if self.is_bound and self.discount.denominator * (self.one + 1) >= 1 << 64:
            raise UsageError(f"{self.name} needs a discount with a smaller denominator than {self.discount}")


def find_objective(objectives: Iterable[Objective], word: str) -> Objective | None:
    """Return the objective of a label, else the first with this name and type, else the first with this name.

    ``win@0.99`` is read as `parse_objectives` reads it, which may raise `UsageError`.

    >>> both = parse_objectives("win:float32,win")
    >>> find_objective(both, "win").label, find_objective(both, "win:float32").label
    ('win', 'win-float32')
    >>> find_objective(parse_objectives("win,win@0.99"), "win@0.99").label
    'win-discount-99-100'
    """
    there = list(objectives)
    if "@" in word:
        word = parse_objectives(word)[0].label
    for text in (lambda o: o.label, lambda o: f"{o.name}:{o.dtype}", lambda o: o.name):
        for objective in there:
            if text(objective) == word:
                return objective
    return None


def parse_discount(value: Any) -> Fraction:
    """Return a discount, exact.  Raises `UsageError` unless it lies in (0, 1]."""
    text = str(value)[:40]
    try:
        discount = fraction_of(value)
    except (ValueError, TypeError) as error:
        raise UsageError(f"{text!r} is not a discount: write 0.99 or 99/100") from error
    if discount.denominator > MOST_DENOMINATOR:
        raise UsageError(f"the discount {text} has too many digits: at most twelve behind the point")
    if not 0 < discount <= 1:
        raise UsageError(f"the discount must be above 0 and at most 1, not {text}")
    return discount


def parse_objectives(text: str, discount: Any = 1) -> tuple[Objective, ...]:
    """``"win,lower"`` or ``"win:float32@0.99"`` as objectives, with the discount where they take one.

    A discount behind an ``@`` is that of one objective.  Raises `UsageError`.

    >>> [objective.label for objective in parse_objectives("win:float32,guaranteed", "0.99")]
    ['win-float32-discount-99-100', 'guaranteed']
    >>> parse_objectives("win:float32@0.99")[0].label
    'win-float32-discount-99-100'
    """
    factor = parse_discount(discount)
    found = []
    for word in text.split(","):
        kind, at, own = word.strip().partition("@")
        name, _, dtype = kind.partition(":")
        if at and Objective(name, dtype).name not in DISCOUNTED:
            raise UsageError(f"{name} takes no discount: only {', '.join(DISCOUNTED)} do")
        chosen = parse_discount(own) if at else factor if name in DISCOUNTED else Fraction(1)
        found.append(Objective(name, dtype, chosen))
    if factor != 1 and not any(objective.name in DISCOUNTED for objective in found):
        raise UsageError(f"{text} takes no discount: only {', '.join(DISCOUNTED)} do")
    return tuple(_distinct(found))


def objectives_of(
    given: str | Objective | Sequence[str | Objective], discount: Any = 1
) -> tuple[Objective, ...]:
    """Return objectives that are given by name, as `Objective`, or as several of either.

    The discount is that of those given by name.  Raises `UsageError`.
    """
    several = [given] if isinstance(given, str | Objective) else given
    found: list[Objective] = []
    for one in several:
        found += [one] if isinstance(one, Objective) else parse_objectives(one, discount)
    if not found:
        raise UsageError("name at least one objective, as win")
    return tuple(_distinct(found))


def _distinct(objectives: Sequence[Objective]) -> Sequence[Objective]:
    for number, one in enumerate(objectives):
        if one in objectives[:number]:
            raise UsageError(f"the objective {one.label} is named twice")
    return objectives


def check_goal_fits(game: Game) -> None:
    """Raise `UsageError` if the limits of a game allow no win, so that a bound would say nothing."""
    if not game.goal_fits:
        reason = (
            f"no line may hold two tiles of {game.goal // 2}" if game.goal else "no board has the goal sum"
        )
        raise UsageError(
            f"within its limits {game} cannot be won: {reason}; give higher limits, or name a pattern"
        )
