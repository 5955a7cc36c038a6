"""The spawn law: which tiles are spawned, and with which probability.

Nothing else in the program knows a probability of a spawn.  In the original game a spawned tile is a 4 with
probability 1/10, else a 2, and each empty cell is as likely as any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from tilebase.errors import GameError, UsageError
from tilebase.game.notation import fraction_of

MOST_DENOMINATOR = 10**18
"""Largest denominator of the probability of a law."""


@dataclass(frozen=True)
class SpawnLaw:
    """The probability that a spawned tile is a 4; otherwise it is a 2.

    >>> law = SpawnLaw.of("0.1")
    >>> str(law), law.chance(2), law.chance(1), law.weight(1)
    ('1/10', Fraction(1, 10), Fraction(9, 10), 9)
    """

    four: Fraction

    @classmethod
    def of(cls, law: SpawnLaw | Fraction | float | str | int) -> SpawnLaw:
        """Return the law that a user wrote.  Raises `GameError` unless it is one."""
        return law if isinstance(law, SpawnLaw) else cls(_probability(law))

    def __str__(self) -> str:
        return str(self.four)

    @cached_property
    def exponents(self) -> tuple[int, ...]:
        """Exponents that are spawned with positive probability, ascending."""
        return tuple(e for e, p in ((1, 1 - self.four), (2, self.four)) if p)

    @property
    def denominator(self) -> int:
        """The denominator of all probabilities."""
        return self.four.denominator

    def chance(self, exponent: int) -> Fraction:
        """Return the probability that a spawned tile has this exponent."""
        return {1: 1 - self.four, 2: self.four}.get(exponent, Fraction(0))

    def weight(self, exponent: int) -> int:
        """Return the numerator of `chance` over `denominator`."""
        return int(self.chance(exponent) * self.denominator)

    @property
    def words(self) -> str:
        """The law in words: ``2 with probability 9/10 and 4 with probability 1/10``."""
        return " and ".join(f"{2**e} with probability {self.chance(e)}" for e in self.exponents)


def _probability(value: Any) -> Fraction:
    """Read a probability, exact.  Raises `GameError` unless it lies in [0, 1]."""
    text = str(value)[:40]
    try:
        result = fraction_of(value)
    except (ValueError, TypeError) as error:
        raise GameError(
            f"{text!r} is not a probability: write a decimal or a fraction, such as 0.1 or 1/10"
        ) from error
    if result.denominator > MOST_DENOMINATOR:
        raise GameError(f"the probability {text} has too many digits: at most eighteen behind the point")
    if not 0 <= result <= 1:
        raise GameError(f"the probability of a 4 is {text}, but must lie between 0 (only 2s) and 1 (only 4s)")
    return result


ORIGINAL = SpawnLaw(Fraction(1, 10))
"""The law of the original game."""
SPAWNED = {"2,4": ORIGINAL, "2": SpawnLaw(Fraction(0)), "4": SpawnLaw(Fraction(1))}
"""The tiles that an adversary may spawn, and a law that spawns just these."""


def law_of(spawns: str) -> SpawnLaw:
    """Make a law that spawns exactly these tiles.  Raises `UsageError`."""
    word = ",".join(sorted(spawns.replace(" ", "").split(",")))
    if word not in SPAWNED:
        raise UsageError(f"the spawned tiles must be 2,4 or 2 or 4, not {spawns!r}")
    return SPAWNED[word]
