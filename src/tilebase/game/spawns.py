"""The spawn law: which tiles are spawned, and with which probability.

Nothing else in the program knows a probability of a spawn.  In the original game a spawned tile is a 4 with
probability 1/10, else a 2, and each empty cell is as likely as any other.  A law may depend on the number of
cells that are empty before the spawn.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from tilebase.errors import GameError, UsageError
from tilebase.game.notation import count_of, fraction_of

MOST_DENOMINATOR = 10**18
"""Largest common denominator of the probabilities of a law."""


@dataclass(frozen=True)
class SpawnLaw:
    """The probability that a spawned tile is a 4; otherwise it is a 2.

    Written as ``"1/10"``, or as ``"1/10, 4: 1/4, 1: 1/2"``: with at most 4 empty cells 1/4, with one 1/2.  A
    law that depends on the number of empty cells spawns both tiles on every board.

    Attributes
    ----------
    four:
        The probability of a 4 where no other applies.
    few:
        Pairs ``(n, p)``, n ascending: with at most n empty cells, but more than in the pair before, it is p.

    >>> law = SpawnLaw.of("0.1, 3: 1/4")
    >>> str(law), law.chance(2, 3), law.chance(1, 4), law.denominator
    ('1/10, 3: 1/4', Fraction(1, 4), Fraction(9, 10), 20)
    """

    four: Fraction
    few: tuple[tuple[int, Fraction], ...] = ()

    @classmethod
    def of(cls, law: SpawnLaw | Fraction | float | str | int) -> SpawnLaw:
        """Return the law that a user wrote.  Raises `GameError` unless it is one."""
        if isinstance(law, SpawnLaw):
            return law
        first: Any = law
        others: list[str] = []
        if isinstance(law, str):
            first, *others = re.split(r"\s*,\s*", law.strip())
        few = {}
        for word in others:
            most, colon, chance = word.partition(":")
            if not (colon and most.strip().isdecimal() and 0 < int(most) < 100) or int(most) in few:
                raise GameError(
                    f"{word[:40]!r} is not part of a spawn law: write the largest number of empty cells, a "
                    "colon and the probability of a 4, such as 4: 1/4"
                )
            few[int(most)] = _probability(chance.strip())
        found = cls(_probability(first), tuple(sorted(few.items())))
        if few and not all(0 < p < 1 for p in found.fours):
            raise GameError(
                "a spawn law that depends on the number of empty cells must always spawn both 2s and 4s: "
                f"no probability of {str(law)[:40]!r} may be 0 or 1"
            )
        if found.denominator > MOST_DENOMINATOR:
            raise GameError(f"the probabilities of {str(law)[:40]!r} have too large a common denominator")
        return found

    def __str__(self) -> str:
        return ", ".join([str(self.four), *(f"{n}: {p}" for n, p in self.few)])

    @property
    def fours(self) -> list[Fraction]:
        """All probabilities of a 4."""
        return [self.four, *(p for _, p in self.few)]

    @cached_property
    def exponents(self) -> tuple[int, ...]:
        """Exponents that are spawned with positive probability, ascending."""
        return tuple(e for e, p in ((1, 1 - self.four), (2, self.four)) if p)

    @cached_property
    def denominator(self) -> int:
        """The least common denominator of all probabilities."""
        return math.lcm(*(p.denominator for p in self.fours))

    @property
    def depends(self) -> bool:
        """Whether it depends on the number of empty cells."""
        return bool(self.few)

    def chance(self, exponent: int, empty: int) -> Fraction:
        """Return the probability that a tile that is spawned on one of `empty` cells has this exponent."""
        four = next((p for n, p in self.few if empty <= n), self.four)
        return {1: 1 - four, 2: four}.get(exponent, Fraction(0))

    def weights(self, exponent: int, cells: int) -> list[int]:
        """``[n]``: `chance` with n empty cells, up to `cells`, as a numerator over `denominator`."""
        return [int(self.chance(exponent, n) * self.denominator) for n in range(cells + 1)]

    @property
    def words(self) -> str:
        """The law in words: ``2 with probability 9/10 and 4 with probability 1/10``.

        If it depends on the number of empty cells, the other probabilities of a 4 follow in brackets.
        """
        law = " and ".join(f"{2**e} with probability {self.chance(e, 100)}" for e in self.exponents)
        few = [f"{p} with at most {count_of(n, 'empty cell')}" for n, p in reversed(self.few)]
        return f"{law} ({', '.join(few)})" if few else law


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
        raise GameError(f"the probability of a 4 is {text}, but must lie between 0 and 1")
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
