"""What a value means, and how it is folded from the values that follow it.

An objective is worth something when the game is won, adds something with each slide, and is
folded over spawns.  All share one recurrence (see `small.oracle`): the value of an afterstate is
the mean, the least or the largest of the values of the states that a spawn leads to, and the
value of a state is the largest over its slides.

    name         a win is worth   a slide adds    over spawns   kind
    win          1                                mean          exact
    lower        1                                mean          a bound from below
    upper        1                                mean          a bound from above
    guaranteed   true                             least         exact
    score                         tiles made      mean          exact
    moves                         1               mean          exact
    survival                      1               least         exact
    longest                       1               largest       exact

`lower` and `upper` are proved: fixed-point integers, the spawn law as exact rationals, each step
rounded down or up.  The others computed as floats are exact up to the rounding of their type;
`guaranteed`, `survival` and `longest` are exact.

With a discount d, the value of a state is d times the largest over its slides, so `win` is the
expectation of d to the number of slides.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tilebase.errors import UsageError
from tilebase.game.game import Game
from tilebase.game.notation import fraction_of

TYPES = {
    "win": ("float64", "float32", "float16"),
    "lower": ("uint64", "uint32", "uint16"),
    "upper": ("uint64", "uint32", "uint16"),
    "guaranteed": ("bit",),
    "score": ("float64", "float32"),
    "moves": ("float64", "float32"),
    "survival": ("int32",),
    "longest": ("int32",),
}
"""The value types of each objective, the one used unless asked first."""

MOST_DENOMINATOR = 10**12
"""Of a discount; it is part of the name of a folder."""

MEANINGS = {
    "win": "probability to win",
    "lower": "proved lower bound of the probability to win",
    "upper": "proved upper bound of the probability to win",
    "guaranteed": "whether a win can be forced",
    "score": "expected score",
    "moves": "expected number of slides",
    "survival": "slides that can be forced",
    "longest": "slides of the longest game",
}
"""What a value means, in words."""

ONE = {"uint16": 1 << 16, "uint32": 1 << 32, "uint64": 1 << 52}
"""The integer that stands for 1 in the proved bounds.  A uint16 or uint32 holds at most ``ONE - 1``."""


@dataclass(frozen=True)
class Objective:
    """One question to the backward pass.

    Parameters
    ----------
    name:
        One of `TYPES`.
    dtype:
        How values are kept; None for the first that the objective has.
    discount:
        In (0, 1], exact; only where values are means.

    Raises
    ------
    UsageError
        If there is no such objective, or the type or the discount do not fit it.

    >>> Objective("win").label
    'win'
    """

    name: str
    dtype: str = ""
    discount: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        words: tuple[object, object] = (self.name, self.dtype)
        if not all(isinstance(word, str) for word in words):
            raise UsageError(
                f"an objective has a name and a type as text, not {self.name!r} and {self.dtype!r}"
            )
        if self.name not in TYPES:
            raise UsageError(f"objective {self.name!r} does not exist: choose one of {', '.join(TYPES)}")
        if not self.dtype:
            object.__setattr__(self, "dtype", TYPES[self.name][0])
        if self.dtype not in TYPES[self.name]:
            raise UsageError(
                f"values of {self.name} cannot be {self.dtype}: choose {' or '.join(TYPES[self.name])}"
            )
        object.__setattr__(self, "discount", parse_discount(self.discount))
        if self.discount != 1 and not self.is_mean:
            raise UsageError(f"{self.name} cannot be discounted: only means over spawns can")

    @property
    def value_bytes(self) -> float:
        """Bytes of a value, not compressed: an eighth for a Boolean value."""
        return 0.125 if self.dtype == "bit" else int(self.dtype.lstrip("floatuin")) / 8

    @property
    def is_mean(self) -> bool:
        """Whether values are means over spawns, weighted with their probabilities."""
        return self.name in ("win", "lower", "upper", "score", "moves")

    @property
    def is_bound(self) -> bool:
        """Whether values are proved bounds in fixed point."""
        return self.name in ("lower", "upper")

    @property
    def is_win(self) -> bool:
        """Whether the goal is what counts."""
        return self.name in ("win", "lower", "upper", "guaranteed")

    @property
    def label(self) -> str:
        """The name of the folder of its values: ``win``, ``win-float32``, ``win-discount-99-100``."""
        words = [self.name]
        if self.dtype != TYPES[self.name][0]:
            words.append(self.dtype)
        if self.discount != 1:
            words.append(f"discount-{self.discount.numerator}-{self.discount.denominator}")
        return "-".join(words)

    def __str__(self) -> str:
        return self.name + (f", discount {self.discount}" if self.discount != 1 else "")

    @property
    def identity(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"name": self.name, "dtype": self.dtype, "discount": str(self.discount)}

    @classmethod
    def from_identity(cls, identity: Any) -> Objective:
        """The objective of an `identity`.  Raises `UsageError` if it is none."""
        try:
            return cls(identity["name"], identity["dtype"], identity["discount"])
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"not an objective: {repr(identity)[:200]}") from error

    def check(self, game: Game) -> None:
        """Raise `UsageError` unless the objective fits the game."""
        if self.is_win and not game.can_win:
            raise UsageError(
                f"{self.name} needs a goal: name one, or choose score, moves, survival or longest"
            )
        goal = game.goal_exponent or 0
        if self.name == "score" and goal > game.x:
            raise UsageError(f"the score of making {game.goal} does not fit {game.bits} bits a cell")
        if self.is_bound and game.cells * game.four.denominator * (ONE[self.dtype] + 1) >= 1 << 64:
            raise UsageError(
                f"{self.name} in {self.dtype} needs a chance of a 4 with a smaller denominator "
                f"than {game.four.denominator}"
            )
        if self.is_bound and self.discount.denominator * (ONE[self.dtype] + 1) >= 1 << 64:
            raise UsageError(f"{self.name} needs a discount with a smaller denominator than {self.discount}")


def find_objective(objectives: Iterable[Objective], word: str) -> Objective | None:
    """The objective of a label, else the first with this name and type, else the first with this name.

    >>> both = parse_objectives("win:float32,win")
    >>> find_objective(both, "win").label, find_objective(both, "win:float32").label
    ('win', 'win-float32')
    """
    there = list(objectives)
    for text in (lambda o: o.label, lambda o: f"{o.name}:{o.dtype}", lambda o: o.name):
        for objective in there:
            if text(objective) == word:
                return objective
    return None


def parse_discount(value: Any) -> Fraction:
    """A discount, exact.  Raises `UsageError` unless it lies in (0, 1]."""
    text = str(value)[:40]
    try:
        discount = fraction_of(value)
    except (ValueError, TypeError) as error:
        raise UsageError(f"{text!r} is not a discount: write 0.99 or 99/100") from error
    if discount.denominator > MOST_DENOMINATOR:
        raise UsageError(f"the discount {text} has too many digits: at most twelve behind the point")
    if not 0 < discount <= 1:
        raise UsageError(f"the discount is {text}, but must lie above 0 and at most be 1")
    return discount


def parse_objectives(text: str, discount: Any = 1) -> tuple[Objective, ...]:
    """``"win,lower"`` or ``"win:float32"`` as objectives; the discount goes to those that take one.

    Raises `UsageError`.

    >>> [objective.label for objective in parse_objectives("win:float32,guaranteed", "0.99")]
    ['win-float32-discount-99-100', 'guaranteed']
    """
    factor = parse_discount(discount)
    found = []
    for word in text.split(","):
        name, _, dtype = word.strip().partition(":")
        plain = Objective(name, dtype)
        found.append(Objective(name, dtype, factor if plain.is_mean else Fraction(1)))
    if factor != 1 and not any(objective.is_mean for objective in found):
        raise UsageError(f"{text} cannot be discounted: only means over spawns can")
    if len(set(found)) < len(found):
        raise UsageError(f"{text} names an objective twice")
    return tuple(found)
