"""Exact and rounded values, bounds and intervals as different types, so that none is taken for another.

An `Exact` value is the optimum.  A `Rounded` one was computed with floats.  A `Lower` or `Upper` bound is
proved.  An `Interval` is proved to hold the optimum.  `Below` says that a table leaves a board out.

`str` of a value has all its digits; `short_text` has as many as people read (`numbers`).

Values are used like numbers: in `float` and in `round` (but for an interval), in formats such as ``.3f``, and
with ``<``, ``<=``, ``>`` and ``>=``; an exact or rounded 0, and an exact "no", is false.  A bound is rounded
outward and compared as a bound: a comparison that it does not decide raises `UsageError`.  ``==`` is
stricter: an `Exact` value equals the number that it is; any other value equals only one of the same type with
the same fields, since 1 after rounding need not be 1.

>>> value = Rounded(0.0828872890716, "float64", 1e-14, 1)
>>> f"{value:.3f}", round(value, 2), value > 0.08, value == 0.0828872890716, Exact(1) == 1
('0.083', 0.08, True, False, True)
>>> f"{Lower(Fraction(2, 3)):.2f}", Lower(Fraction(1, 2)) > 0.4
('0.66', True)
>>> Lower(Fraction(1, 2)) < 0.6
Traceback (most recent call last):
    ...
tilebase.errors.UsageError: it is not known whether the value at least 0.5 is less than 0.6: compare its float
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from numbers import Real
from typing import Any, ClassVar, TypeAlias

from tilebase.errors import UsageError
from tilebase.game.notation import fraction_of
from tilebase.objectives.numbers import (
    DOWN,
    NEAR,
    NEVER,
    SMALL,
    UP,
    Unit,
    cut,
    digits_text,
    rounded_text,
    short_number,
)
from tilebase.objectives.types import TYPES

Number: TypeAlias = float | int | bool | Fraction


class Known(ABC):
    """What is known of a number: it is compared by the least and the largest number that it can be."""

    @property
    @abstractmethod
    def ends(self) -> tuple[Number, Number]:
        """The least and the largest number that it can be; of a rounded value both are its float."""

    @abstractmethod
    def __float__(self) -> float: ...

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>"

    def __lt__(self, other: object) -> Any:
        return _is_less(self, other)

    def __le__(self, other: object) -> Any:
        return _is_less(self, other, or_equal=True)

    def __gt__(self, other: object) -> Any:
        return _is_less(other, self)

    def __ge__(self, other: object) -> Any:
        return _is_less(other, self, or_equal=True)

    def __format__(self, form: str) -> str:
        """Format the number, such as ``.3f``; a form that only names a width pads the text."""
        return format(str(self), form) if re.fullmatch(r"(.?[<>^])?\d*s?", form) else self._formatted(form)

    def _formatted(self, form: str) -> str:
        return format(float(self), form)


def _is_less(one: object, other: object, *, or_equal: bool = False) -> Any:
    """Return whether a value is less than another one.  Raises `UsageError` if that is not known."""
    if not (isinstance(one, Known | Real) and isinstance(other, Known | Real)):
        return NotImplemented
    (low, high), (least, most) = _ends(one), _ends(other)
    if high < least or (or_equal and high == least):
        return True
    if low > most or (low == most and not or_equal):
        return False
    what, than = (f"the value {x}" if isinstance(x, Known) else str(x) for x in (one, other))
    raise UsageError(f"it is not known whether {what} is less than {than}: compare its float")


def _ends(value: Known | Real) -> tuple[Number, Number]:
    if isinstance(value, Known):
        return value.ends
    number = value if isinstance(value, int | Fraction) else float(value)
    return number, number


@dataclass(frozen=True)
class Exact(Known):
    """The optimum itself: an integer, a Boolean value or a fraction.

    A value of 1 or 0 is exact if it is certain: the position is won or lost, the win is forced, or `rounding`
    proves it.
    """

    value: int | bool | Fraction
    kind = "exact"

    def __repr__(self) -> str:
        return f"Exact({self.value!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Real):
            return self.ends[0] == other
        return isinstance(other, Exact) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.ends[0])

    def __float__(self) -> float:
        return float(self.ends[0])

    def _formatted(self, form: str) -> str:
        number = self.ends[0]
        return format(float(number) if isinstance(number, Fraction) else number, form)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __round__(self, digits: int | None = None) -> Any:
        return round(float(self), digits)

    @property
    def ends(self) -> tuple[Number, Number]:
        """Twice the number, which is infinite for `NEVER`."""
        number = math.inf if self.value == NEVER else self.value
        return number, number

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


@dataclass(frozen=True, repr=False)
class Rounded(Known):
    """The optimum up to rounding: a float that was computed step by step.

    Attributes
    ----------
    value, dtype:
        The number, and the type in which it was stored: the name of a float in `types.TYPES`.
    error:
        The largest possible distance from the optimum.  It is proved (`rounding`), and usually much too
        large; infinite if nothing is proved.
    most:
        The largest possible number: 1 for a probability, otherwise None.
    complement:
        1 minus the value, if it was computed separately (objective `loss`); else None.
    """

    value: float
    dtype: str
    error: float
    most: int | None = None
    complement: float | None = None
    kind = "rounded"

    def __float__(self) -> float:
        return self.value

    def __bool__(self) -> bool:
        return self.value != 0

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.value, digits)

    @property
    def ends(self) -> tuple[Number, Number]:
        """Twice the float, without its error."""
        return self.value, self.value

    def __str__(self) -> str:
        """Return the digits of its type (`numbers.rounded_text`)."""
        digits = TYPES[self.dtype].digits
        return rounded_text(self.value, self.error, digits, most=self.most, complement=self.complement)

    @property
    def is_near_one(self) -> bool:
        """Whether the complement is known, and has more digits than the value."""
        return self.complement is not None and 0 < self.complement < SMALL

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values; None for an infinite error."""
        error = self.error if math.isfinite(self.error) else None
        found = {"kind": self.kind, "type": self.dtype, "value": self.value, "error": error}
        return found if self.complement is None else found | {"complement": self.complement}


@dataclass(frozen=True, repr=False)
class Bound(Known):
    """A proved bound of a probability: `Lower` or `Upper`.  It is rounded to the side where it holds."""

    bound: Fraction
    kind: ClassVar[str]
    words: ClassVar[str]
    rounding: ClassVar[str]

    def __float__(self) -> float:
        return float(self.bound)

    def __round__(self, digits: int | None = None) -> Any:
        text = self._formatted(f".{digits or 0}f")
        if digits is None:
            return int(text)
        number, outside = float(text), math.inf if self.rounding == UP else -math.inf
        inside = number < self.bound if self.rounding == UP else number > self.bound
        return math.nextafter(number, outside) if inside else number

    def __str__(self) -> str:
        return f"{self.words} {cut(self.bound, up=self.rounding == UP)}"

    def _formatted(self, form: str) -> str:
        return _formatted(self.bound, form, self.rounding)

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"kind": self.kind, "bound": str(self.bound), "float": float(self.bound)}


class Lower(Bound):
    """The optimum is proved to be at least this."""

    kind, words, rounding = "lower", "at least", DOWN

    @property
    def ends(self) -> tuple[Number, Number]:
        """The bound and 1."""
        return self.bound, 1


class Upper(Bound):
    """The optimum is proved to be at most this."""

    kind, words, rounding = "upper", "at most", UP

    @property
    def ends(self) -> tuple[Number, Number]:
        """0 and the bound."""
        return 0, self.bound


def _formatted(bound: Fraction, form: str, rounding: str) -> str:
    """Format a bound as a decimal number, rounded to its safe side."""
    with localcontext(Context(prec=50, rounding=rounding)) as context:
        return format(context.divide(Decimal(bound.numerator), bound.denominator), form)


@dataclass(frozen=True, repr=False)
class Interval(Known):
    """The optimum is proved to be at least `low` and at most `high`."""

    low: Fraction
    high: Fraction
    kind = "interval"

    def __float__(self) -> float:
        return float((self.low + self.high) / 2)

    @property
    def ends(self) -> tuple[Number, Number]:
        """The proved ends."""
        return self.low, self.high

    def _formatted(self, form: str) -> str:
        return f"{_formatted(self.low, form, DOWN)} to {_formatted(self.high, form, UP)}"

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


@dataclass(frozen=True, repr=False)
class Below(Known):
    """The value of a board that a table omits because it is less than a bound.  It is not a number.

    If `reached` is false, the table does not show whether the board is worth less, or not reachable.
    """

    bound: float
    reached: bool = True
    kind = "below"

    def __str__(self) -> str:
        return f"below {digits_text(self.bound)}" + ("" if self.reached else ", or not reachable")

    def __float__(self) -> float:
        """Raise `UsageError`: the value is not known."""
        raise UsageError(f"a value {self} is not a number: ask for its bound, or for a table with this board")

    @property
    def ends(self) -> tuple[Number, Number]:
        """0 and the bound."""
        return 0, self.bound

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"kind": self.kind, "bound": self.bound, "reached": self.reached}


Value: TypeAlias = Exact | Rounded | Lower | Upper | Interval


@dataclass(frozen=True)
class Unknown(Known):
    """A value that was not computed."""

    kind = "unknown"

    def __float__(self) -> float:
        return math.nan

    @property
    def ends(self) -> tuple[Number, Number]:
        """Without ends: it can be any number."""
        return -math.inf, math.inf

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


def short_text(value: Found, unit: Unit, apart: float = 0.0) -> str:
    """Return a value with about as many digits as people read; with more if numbers lie so far `apart`.

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
    >>> [short_text(Rounded(p, "float64", 0.0, 1), "probability", 1.1e-4) for p in (0.73674, 0.73663)]
    ['73.674 %', '73.663 %']
    """
    if isinstance(value, Unknown):
        return str(value)
    if isinstance(value, Below):
        bound = f"{digits_text(100 * value.bound)} %" if unit == "probability" else digits_text(value.bound)
        return f"below {bound}" + ("" if value.reached else " or not reachable")
    if isinstance(value, Interval):
        return _interval_text(value, unit)
    if isinstance(value, Exact):
        certain = isinstance(value.value, bool) or value.value == NEVER
        return str(value) if certain else short_number(value.value, unit, apart=apart)
    if isinstance(value, Rounded) and value.is_near_one:
        return f"100 % - {short_number(value.complement or 0.0, unit, apart=apart)}"
    if isinstance(value, Rounded):
        certain = value.most is None or 0 < value.value < value.most
        if not certain:
            return "≈ 100 %" if value.value else "≈ 0 %"
        return short_number(value.value, unit, apart=apart)
    up = isinstance(value, Upper)
    return f"{'≤' if up else '≥'} {short_number(value.bound, unit, value.rounding, apart)}"


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
    return f"{low.removesuffix(' %') if high.endswith(' %') else low} to {high}"
