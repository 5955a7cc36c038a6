"""Exact values, bounds and intervals as different types, so that a bound cannot be taken for a value.

An `Exact` value is the optimum, up to the rounding of the type in which it was computed.  A
`Lower` or `Upper` bound is proved.  An `Interval` is proved to hold the optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from tilebase.game.notation import fraction_of

Number: TypeAlias = float | int | bool | Fraction


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
