"""Linear recurrences in sequences of integers, found modulo a prime and checked in exact fractions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from tilebase.errors import UsageError

PRIME = (1 << 521) - 1
"""A Mersenne prime; a fraction is found from its remainder if numerator and denominator have 260 bits."""


@dataclass(frozen=True)
class Recurrence:
    """A linear recurrence with constant coefficients: ``a[k] = sum of coefficients[i] * a[k - 1 - i]``.

    Attributes
    ----------
    coefficients:
        Exact fractions; how many there are is the order.
    used:
        How many terms, the first ones, determine the coefficients: twice the order.
    tested:
        How many further terms were compared.  All of them fit.
    """

    coefficients: tuple[Fraction, ...]
    used: int
    tested: int

    @property
    def order(self) -> int:
        """How many terms before it a term follows from."""
        return len(self.coefficients)

    def extend(self, terms: Sequence[int], more: int) -> list[Fraction]:
        """Return the next terms after `terms`, of which at least as many as the order have to be given.

        >>> [int(term) for term in Recurrence((Fraction(1), Fraction(1)), 4, 0).extend([1, 1], 4)]
        [2, 3, 5, 8]
        """
        if len(terms) < self.order:
            raise UsageError(f"{len(terms)} terms were given, and the recurrence needs {self.order}")
        every = [Fraction(term) for term in terms]
        for _ in range(more):
            every.append(sum((c * every[-1 - i] for i, c in enumerate(self.coefficients)), start=Fraction(0)))
        return every[len(terms) :]


def find_recurrence(terms: Sequence[int]) -> Recurrence | None:
    """Return the linear recurrence of least order that all `terms` satisfy; None if they show none.

    The coefficients follow from the first ``2 * order`` terms, and all later terms must fit, exactly; at
    least one has to be there.  With ``2 * order`` terms or fewer, some recurrence always fits, so nothing
    would be shown.  None therefore means: no recurrence has an order up to ``(len(terms) - 1) // 2``
    whose coefficients have at most 260 bits above and below the line.  A recurrence that is found holds for
    the given terms.  For further terms it is a conjecture, the better the more were tested.

    The search is that of Berlekamp and Massey modulo a prime; what it finds is then checked in exact
    fractions.

    >>> find_recurrence([1, 1, 2, 3, 5, 8]).coefficients
    (Fraction(1, 1), Fraction(1, 1))
    >>> find_recurrence([2, 3, 5, 7, 11, 13, 17, 19, 23]) is None
    True
    """
    remainders = berlekamp_massey(terms, PRIME)
    order = len(remainders)
    if 2 * order >= len(terms):
        return None
    found = Recurrence(
        tuple(fraction_of_remainder(one, PRIME) for one in remainders), 2 * order, len(terms) - 2 * order
    )
    return found if found.extend(terms[:order], len(terms) - order) == list(terms[order:]) else None


def berlekamp_massey(terms: Sequence[int], prime: int) -> list[int]:
    """Return the coefficients, modulo a prime, of the recurrence of least order that the terms satisfy there.

    Massey, Shift-register synthesis and BCH decoding, IEEE Transactions on Information Theory 15 (1969).
    """
    current, before = [1], [1]  # connection polynomials: now, and when the order last grew
    order, since, wrong_before = 0, 1, 1
    for number, _ in enumerate(terms):
        wrong = sum(c * terms[number - i] for i, c in enumerate(current) if i <= number) % prime
        if not wrong:
            since += 1
            continue
        factor = wrong * pow(wrong_before, -1, prime) % prime
        longer = current + [0] * (len(before) + since - len(current))
        for i, c in enumerate(before):
            longer[i + since] = (longer[i + since] - factor * c) % prime
        if 2 * order <= number:
            before, wrong_before = current, wrong
            order, since = number + 1 - order, 1
        else:
            since += 1
        current = longer
    current += [0] * (order + 1 - len(current))
    return [-c % prime for c in current[1 : order + 1]]


def fraction_of_remainder(remainder: int, prime: int) -> Fraction:
    """Return the fraction with the smallest numerator and denominator that has this remainder.

    Wang, Guy and Davenport, P-adic reconstruction of rational numbers, SIGSAM Bulletin 16 (1982).

    >>> fraction_of_remainder(pow(3, -1, 101) * 2 % 101, 101)
    Fraction(2, 3)
    """
    bound = isqrt(prime // 2)
    older, newer = (prime, 0), (remainder, 1)
    while newer[0] > bound:
        times = older[0] // newer[0]
        older, newer = newer, (older[0] - times * newer[0], older[1] - times * newer[1])
    return Fraction(newer[0], newer[1])
