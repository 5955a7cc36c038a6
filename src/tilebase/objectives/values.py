"""Exact and rounded values, bounds and intervals as different types, so that none is taken for another.

An `Exact` value is the optimum.  A `Rounded` one was computed with floats.  A `Lower` or `Upper` bound is
proved.  An `Interval` is proved to hold the optimum.  `Below` says that a table leaves a board out.

`str` of a value has all its digits; `short_text` has as many as people read (`numbers`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

from tilebase.errors import UsageError
from tilebase.game.notation import fraction_of
from tilebase.objectives.numbers import DOWN, NEAR, SMALL, UP, Unit, cut, digits_text, power, short_number
from tilebase.objectives.types import TYPES

Number: TypeAlias = float | int | bool | Fraction

NEVER = 1 << 30
"""The number of slides to a win that stands for "never"."""


@dataclass(frozen=True)
class Exact:
    """The optimum itself: an integer, a Boolean value or a fraction.

    A value of 1 or 0 is exact where it is certain: of a position that is won or lost, of a win that is
    forced, and where `rounding` proves it.
    """

    value: int | bool | Fraction
    kind = "exact"

    def __repr__(self) -> str:
        return f"Exact({self.value!r})"

    def __float__(self) -> float:
        return math.inf if self.value == NEVER else float(self.value)

    def __str__(self) -> str:
        if isinstance(self.value, bool):
            return "yes" if self.value else "no"
        return "never" if self.value == NEVER else str(self.value)

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values; a fraction that is not whole is text."""
        return {
            "kind": self.kind,
            "value": str(self.value) if isinstance(self.value, Fraction) else self.value,
        }


@dataclass(frozen=True)
class Rounded:
    """The optimum up to rounding: a float that was computed step by step.

    Attributes
    ----------
    value, dtype:
        The number, and the type in which it was stored: the name of a float in `types.TYPES`.
    error:
        How far from it the optimum can be.  This is proved (`rounding`), and usually much too large.
    most:
        1 for a probability, which cannot be larger; None for other numbers.
    complement:
        1 minus the value, where it was computed by itself (objective `loss`); None elsewhere.
    """

    value: float
    dtype: str
    error: float
    most: int | None = None
    complement: float | None = None
    kind = "rounded"

    def __repr__(self) -> str:
        return f"<Rounded: {self}>"

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        """Return the digits of its type; of a probability that may be 1 or 0, the nearest that is certain."""
        digits = TYPES[self.dtype].digits
        if self.is_near_one:
            return f"1 - {digits_text(self.complement or 0.0, digits)}"
        text = digits_text(self.value, digits)
        if self.most is None:
            return text
        if self.value + self.error >= self.most and f"{min(self.value, 1.0):.{digits}g}" == "1":
            less = 1 - Fraction(self.value) + Fraction(self.error)
            return (
                f"more than 1 - {power(less, UP)}"
                if less < 0.001
                else f"more than {cut(1 - less, up=False, digits=3)}"
            )
        return f"less than {power(Fraction(self.error), UP)}" if text == "0" else text

    @property
    def is_near_one(self) -> bool:
        """Whether the complement is known, and so small that it has more digits than the value."""
        return self.complement is not None and 0 < self.complement < SMALL

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        found = {"kind": self.kind, "type": self.dtype, "value": self.value, "error": self.error}
        return found if self.complement is None else found | {"complement": self.complement}


@dataclass(frozen=True)
class Lower:
    """The optimum is proved to be at least this."""

    bound: Fraction
    kind = "lower"

    def __repr__(self) -> str:
        return f"<Lower: {self}>"

    def __float__(self) -> float:
        return float(self.bound)

    def __str__(self) -> str:
        return f"at least {cut(self.bound, up=False)}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"kind": self.kind, "bound": str(self.bound), "float": float(self.bound)}


@dataclass(frozen=True)
class Upper:
    """The optimum is proved to be at most this."""

    bound: Fraction
    kind = "upper"

    def __repr__(self) -> str:
        return f"<Upper: {self}>"

    def __float__(self) -> float:
        return float(self.bound)

    def __str__(self) -> str:
        return f"at most {cut(self.bound, up=True)}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"kind": self.kind, "bound": str(self.bound), "float": float(self.bound)}


@dataclass(frozen=True)
class Interval:
    """The optimum is proved to be at least `low` and at most `high`."""

    low: Fraction
    high: Fraction
    kind = "interval"

    def __repr__(self) -> str:
        return f"<Interval: {self}>"

    def __float__(self) -> float:
        return float((self.low + self.high) / 2)

    @property
    def width(self) -> Fraction:
        """The difference of the ends."""
        return self.high - self.low

    def __str__(self) -> str:
        return f"from {cut(self.low, up=False)} to {cut(self.high, up=True)}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "kind": self.kind,
            "low": str(self.low),
            "high": str(self.high),
            "floats": [float(self.low), float(self.high)],
        }


@dataclass(frozen=True)
class Below:
    """The value of a board that a table leaves out, since it is less than a bound.  It is not a number.

    If `reached` is false, the table does not show that play makes the board.  Then it is either worth less
    than the bound, or not reachable.
    """

    bound: float
    reached: bool = True
    kind = "below"

    def __repr__(self) -> str:
        return f"<Below: {self}>"

    def __str__(self) -> str:
        return f"below {digits_text(self.bound)}" + ("" if self.reached else ", or not reachable")

    def __float__(self) -> float:
        """Raise `UsageError`: the value is not known."""
        raise UsageError(f"a value {self} is not a number: ask for its bound, or for a table with this board")

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"kind": self.kind, "bound": self.bound, "reached": self.reached}


Value: TypeAlias = Exact | Rounded | Lower | Upper | Interval


@dataclass(frozen=True)
class Unknown:
    """A value that was not computed."""

    kind = "unknown"

    def __float__(self) -> float:
        return math.nan

    def __str__(self) -> str:
        return "unknown"

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"kind": self.kind}


Found: TypeAlias = Value | Below | Unknown
"""What a probe finds: a value, that it is below the bound of the table, or nothing."""


def sort_key(found: Found) -> float:
    """Return a number that sorts what probes find.

    What is below a bound, or unknown, comes before all values.
    """
    return float("-inf") if isinstance(found, Below | Unknown) else float(found)


def value_from_dict(values: Any) -> Value:
    """Return the exact value or bound of which `as_dict` made these.

    Raises ValueError, KeyError or TypeError.
    """
    kind = values["kind"]
    if kind == "exact":
        number = values["value"]
        if not isinstance(number, int | bool | str):
            raise TypeError(f"{number!r} is not an exact number")
        return Exact(fraction_of(number) if isinstance(number, str) else number)
    if kind in ("lower", "upper"):
        return (Lower if kind == "lower" else Upper)(fraction_of(values["bound"]))
    if kind == "interval":
        return Interval(fraction_of(values["low"]), fraction_of(values["high"]))
    raise ValueError(f"a value is exact, lower, upper or interval, not {kind!r}")


def with_complement(value: Value, complement: Value) -> Value:
    """Return a probability to win with that to lose beside it, if both are rounded; 1 or 0 if certain.

    >>> win, loss = Rounded(1.0, "float64", 1e-12, 1), Rounded(7e-18, "float64", 1e-30, 1)
    >>> str(with_complement(win, loss)), short_text(with_complement(win, loss), "probability")
    ('1 - 7e-18', '100 % - 7e-16 %')
    """
    if isinstance(value, Rounded) and isinstance(complement, Exact):
        return Exact(1 - complement.value)
    if isinstance(value, Rounded) and isinstance(complement, Rounded):
        return replace(value, complement=complement.value)
    return value


def join_bounds(low: Found, high: Found) -> Interval:
    """Return the interval between two bounds."""
    assert isinstance(low, Lower)
    assert isinstance(high, Upper)
    return Interval(low.bound, high.bound)


# -- as people read values -------------------------------------------------------------------------


def short_text(value: Found, unit: Unit) -> str:
    """Return a value with about as many digits as people read.

    A lower bound is rounded down and an upper bound up, so no bound is shown better than proved.  Of an
    interval whose ends read alike, only this one text is shown.  `str` of a value has all digits.

    >>> for value in (Rounded(1.0, "float64", 3e-13, 1), Exact(1), Lower(Fraction(99999, 100000))):
    ...     print(short_text(value, "probability"))
    ≈ 100 %
    100 %
    ≥ 99.999 %
    >>> for value in (Lower(Fraction("0.99996")), Upper(Fraction("0.99991")), Below(0.5)):
    ...     print(short_text(value, "probability"))
    ≥ 99.996 %
    ≤ 99.991 %
    below 50 %
    >>> short_text(Interval(Fraction("0.73651"), Fraction("0.73652")), "probability")
    '73.7 %'
    >>> short_text(Interval(Fraction("0.736"), Fraction("0.738")), "probability")
    '73.6 to 73.8 %'
    """
    if isinstance(value, Unknown):
        return str(value)
    if isinstance(value, Below):
        return f"below {_bound_text(value.bound, unit)}" + ("" if value.reached else " or not reachable")
    if isinstance(value, Interval):
        return _interval_text(value, unit)
    if isinstance(value, Exact):
        certain = isinstance(value.value, bool) or value.value == NEVER
        return str(value) if certain else short_number(value.value, unit)
    if isinstance(value, Rounded) and value.is_near_one:
        return f"100 % - {short_number(value.complement or 0.0, unit)}"
    if isinstance(value, Rounded):
        certain = value.most is None or 0 < value.value < value.most
        return short_number(value.value, unit) if certain else "≈ 100 %" if value.value else "≈ 0 %"
    up = isinstance(value, Upper)
    return f"{'≤' if up else '≥'} {short_number(value.bound, unit, UP if up else DOWN)}"


def value_document(value: Found, unit: Unit) -> dict[str, Any]:
    """A value as plain JSON values, with its texts: ``text`` with all digits, ``short`` as people read it.

    >>> value_document(Lower(Fraction(3, 4)), "probability")
    {'kind': 'lower', 'bound': '3/4', 'float': 0.75, 'text': 'at least 0.75', 'short': '≥ 75.0 %'}
    """
    return value.as_dict() | {"text": str(value), "short": short_text(value, unit)}


def _interval_text(value: Interval, unit: Unit) -> str:
    alike = short_number(value.low, unit, NEAR)
    if alike == short_number(value.high, unit, NEAR):
        return alike
    low, high = short_number(value.low, unit, DOWN), short_number(value.high, unit, UP)
    if low.endswith(" %") and high.endswith(" %"):
        low = low.removesuffix(" %")
    return f"{low} to {high}"


def _bound_text(bound: float, unit: Unit) -> str:
    """Return the bound of a table that leaves out boards, with all its digits."""
    return f"{digits_text(100 * bound)} %" if unit == "probability" else digits_text(bound)
