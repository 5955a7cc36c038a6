"""Exact values, bounds and intervals as different types, so that a bound cannot be taken for a value.

An `Exact` value is the optimum, up to the rounding of the type in which it was computed.  A
`Lower` or `Upper` bound is proved.  An `Interval` is proved to hold the optimum.

`str` of a value has all its digits; `short_text` has as many as people read.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from tilebase.game.notation import fraction_of

Number: TypeAlias = float | int | bool | Fraction
Unit: TypeAlias = Literal["probability", "score", "merges", "slides", "yes-no"]
"""What a value counts."""


@dataclass(frozen=True)
class Exact:
    """The optimum: a float up to its rounding, an integer, or a Boolean value."""

    value: float | int | bool
    kind = "exact"

    def __repr__(self) -> str:
        return f"Exact({self.value!r})"

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        if isinstance(self.value, bool):
            return "yes" if self.value else "no"
        return number_text(self.value)

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"kind": self.kind, "value": self.value}


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
        """As plain JSON values."""
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
        """As plain JSON values."""
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
        """As plain JSON values."""
        return {
            "kind": self.kind,
            "low": str(self.low),
            "high": str(self.high),
            "floats": [float(self.low), float(self.high)],
        }


@dataclass(frozen=True)
class Below:
    """The value of a board that a table leaves out, since it is less than a bound.  It is no number.

    If `reached` is false, the table does not show that play makes the board.  Then it is either worth less
    than the bound, or not reachable.
    """

    bound: float
    reached: bool = True
    kind = "below"

    def __repr__(self) -> str:
        return f"<Below: {self}>"

    def __str__(self) -> str:
        return f"below {number_text(self.bound)}" + ("" if self.reached else ", or not reachable")

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"kind": self.kind, "bound": self.bound, "reached": self.reached}


Value: TypeAlias = Exact | Lower | Upper | Interval
Found: TypeAlias = Value | Below
"""What a probe finds: a value, or that it is below the bound of the table."""


def sort_key(found: Found) -> float:
    """A number that sorts what probes find; what is below a bound comes before all values."""
    return float("-inf") if isinstance(found, Below) else float(found)


def value_from_dict(values: Any) -> Value:
    """The value of which `as_dict` made these.  Raises ValueError, KeyError or TypeError."""
    kind = values["kind"]
    if kind == "exact":
        if not isinstance(values["value"], float | int | bool):
            raise TypeError(f"{values['value']!r} is not a number")
        return Exact(values["value"])
    if kind in ("lower", "upper"):
        return (Lower if kind == "lower" else Upper)(fraction_of(values["bound"]))
    if kind == "interval":
        return Interval(fraction_of(values["low"]), fraction_of(values["high"]))
    raise ValueError(f"a value is exact, lower, upper or interval, not {kind!r}")


def join_bounds(low: Found, high: Found) -> Interval:
    """The interval between two bounds."""
    assert isinstance(low, Lower)
    assert isinstance(high, Upper)
    return Interval(low.bound, high.bound)


def number_text(number: float) -> str:
    """A number with twelve digits; with all its digits if twelve would show 1 for a number that is not 1.

    >>> number_text(2 / 3), number_text(1 - 2**-50)
    ('0.666666666667', '0.9999999999999991')
    """
    text = f"{number:.12g}"
    return repr(float(number)) if text == "1" and number != 1 else text


def cut(number: Fraction, *, up: bool, digits: int = 15) -> str:
    """A proved bound in decimals; a lower bound is rounded down, an upper bound up (`up`).

    >>> cut(Fraction(2, 3), up=False, digits=3), cut(Fraction(2, 3), up=True, digits=3)
    ('0.666', '0.667')
    """
    scaled = number * 10**digits
    whole = -(-scaled.numerator // scaled.denominator) if up else scaled.numerator // scaled.denominator
    text = f"{whole:0{digits + 1}d}"
    return f"{text[:-digits]}.{text[-digits:]}".rstrip("0").rstrip(".")


def byte_text(count: float) -> str:
    """A number of bytes with three digits and a unit: ``1.65 GB``."""
    for unit in ("B", "kB", "MB", "GB", "TB", "PB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} EB"


# -- as people read values -------------------------------------------------------------------------

FINE = Fraction(1, 10**4)
"""A probability nearer to 0 or 1 is written with a power of ten, not in percent."""
NEAR, DOWN, UP = ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING
_OPPOSITE = {NEAR: NEAR, DOWN: UP, UP: DOWN}


def short_text(value: Found, unit: Unit) -> str:
    """A value with about as many digits as people read.

    A lower bound is rounded down and an upper bound up, so no bound is shown better than proved.  Of an
    interval whose ends read alike, only this one text is shown.  `str` of a value has all digits.

    >>> for value in (Exact(0.73677), Exact(1 - 2e-7), Exact(3.14e-6), Lower(Fraction(99999, 100000))):
    ...     print(short_text(value, "probability"))
    73.7 %
    1 - 2e-7
    3.1e-6
    ≥ 1 - 1e-5
    >>> for value in (Lower(Fraction("0.99996")), Upper(Fraction("0.99991")), Below(0.5)):
    ...     print(short_text(value, "probability"))
    ≥ 1 - 4e-5
    ≤ 1 - 9e-5
    below 50 %
    >>> short_text(Interval(Fraction("0.73651"), Fraction("0.73652")), "probability")
    '73.7 %'
    >>> short_text(Interval(Fraction("0.736"), Fraction("0.738")), "probability")
    '73.6 to 73.8 %'
    >>> short_text(Exact(True), "yes-no"), short_text(Exact(1234.52), "score"), short_text(Exact(7), "slides")
    ('yes', '1,234.5', '7')
    """
    if isinstance(value, Below):
        return f"below {_bound_text(value.bound, unit)}" + ("" if value.reached else " or not reachable")
    if isinstance(value, Interval):
        return _interval_text(value, unit)
    if isinstance(value, Exact):
        return str(value) if isinstance(value.value, bool) else _number(value.value, unit, NEAR)
    up = isinstance(value, Upper)
    return f"{'≤' if up else '≥'} {_number(value.bound, unit, UP if up else DOWN)}"


def loss_text(loss: float, unit: Unit) -> str:
    """A difference of two values, 0 or more, as people read it: ``0``, ``1.3 %``, ``3.1e-6`` or ``12.5``.

    >>> loss_text(0.0, "probability"), loss_text(0.99999, "probability"), loss_text(4e-7, "probability")
    ('0', '100.0 %', '4e-7')
    """
    if not loss:
        return "0"
    if unit == "yes-no":
        return "the forced win"
    if unit == "probability" and 0.1 <= loss <= 1:
        return f"{100 * loss:.1f} %"
    number = Fraction(loss)
    if unit == "probability":
        return _percent(number, number, NEAR) if number >= FINE else _power(number, NEAR)
    return _amount(number, NEAR)


def value_document(value: Found | None, unit: Unit) -> dict[str, Any]:
    """A value as plain JSON values, with its texts: ``text`` with all digits, ``short`` as people read it.

    None is a value that is not known.

    >>> value_document(Exact(0.75), "probability")
    {'kind': 'exact', 'value': 0.75, 'text': '0.75', 'short': '75.0 %'}
    """
    if value is None:
        return {"kind": "unknown", "text": "unknown", "short": "unknown"}
    return value.as_dict() | {"text": str(value), "short": short_text(value, unit)}


def _number(number: float | Fraction, unit: Unit, rounding: str) -> str:
    if rounding == NEAR and isinstance(number, float) and unit == "probability" and 0.1 <= number <= 0.9:
        return f"{100 * number:.1f} %"  # as below, at a tenth of the time: a page asks for thousands a second
    exact = Fraction(number)
    if unit != "probability" or not 0 <= exact <= 1:
        return _amount(exact, rounding)
    if exact in (0, 1):
        return f"{100 * exact} %"
    if exact < FINE:
        return _power(exact, rounding)
    if 1 - exact < FINE:
        return f"1 - {_power(1 - exact, _OPPOSITE[rounding])}"
    return _percent(exact, min(exact, 1 - exact), rounding)


def _percent(number: Fraction, margin: Fraction, rounding: str) -> str:
    """A number in percent: one decimal, or so many that a margin has two significant digits."""
    margin *= 100
    decimals = 1
    while 0 < margin < 1:
        margin *= 10
        decimals += 1
    whole, _, behind = _fixed(100 * number, decimals, rounding).partition(".")
    return f"{whole}.{behind.rstrip('0') or '0'} %"


def _power(number: Fraction, rounding: str) -> str:
    """Two significant digits: ``3.1e-6``; 0 stays 0."""
    rounded = Context(prec=2, rounding=rounding).divide(Decimal(number.numerator), number.denominator)
    if not rounded:
        return "0"
    digits, _, exponent = f"{rounded.normalize():e}".partition("e")
    return f"{digits}e{int(exponent)}"


def _amount(number: Fraction, rounding: str) -> str:
    """A score, or a number of slides: one decimal, two below 100; a whole number without decimals."""
    if number.denominator == 1:
        return f"{number.numerator:,}"
    if 0 < number < Fraction(1, 100):
        return _power(number, rounding)
    text = _fixed(number, 1 if abs(number) >= 100 else 2, rounding)
    return f"{Decimal(text):,}"


def _fixed(number: Fraction, decimals: int, rounding: str) -> str:
    """A number with so many decimals."""
    scaled = number * 10**decimals
    whole = {DOWN: scaled.__floor__, UP: scaled.__ceil__, NEAR: scaled.__round__}[rounding]()
    return f"{Decimal(whole).scaleb(-decimals, Context(prec=100)):f}"


def _interval_text(value: Interval, unit: Unit) -> str:
    alike = _number(value.low, unit, NEAR)
    if alike == _number(value.high, unit, NEAR):
        return alike
    low, high = _number(value.low, unit, DOWN), _number(value.high, unit, UP)
    if low.endswith(" %") and high.endswith(" %"):
        low = low.removesuffix(" %")
    return f"{low} to {high}"


def _bound_text(bound: float, unit: Unit) -> str:
    """The bound of a table that leaves out boards, with all its digits."""
    if unit != "probability" or not FINE <= bound <= 1 - FINE:
        return number_text(bound).replace("e-0", "e-")
    return f"{number_text(100 * bound)} %"
