"""How tiles, probabilities and boards are written and read, and the messages about wrong ones."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction
from operator import index
from typing import Any

from tilebase.errors import GameError


def exponent_of(tile: int, what: str = "tile") -> int:
    """The exponent of a tile.  Raises `GameError` unless `tile` is a power of two above 1."""
    if tile < 2 or tile & (tile - 1):
        raise GameError(f"{what} {tile} is not a power of two above 1: write 2, 4, 8 and so on")
    return tile.bit_length() - 1


def tile_text(exponent: int) -> str:
    """The tile of an exponent as it is written: its number, or the power where that is too long to read.

    >>> tile_text(11), tile_text(1000)
    ('2048', '2^1000')
    """
    return str(1 << exponent) if 0 <= exponent <= 64 else f"2^{exponent}"


def integer_of(value: Any, what: str) -> int:
    """A whole number.  Raises `GameError` on anything else."""
    try:
        return index(value)
    except TypeError as error:
        raise GameError(f"{what} {value!r} is not a number: write 2, 4, 8 and so on") from error


MOST_DIGITS = 1000
"""Most characters of an exact number, and its largest decimal exponent; proved bounds have about 200."""


def fraction_of(value: Any) -> Fraction:
    """An exact number: text as ``0.1``, ``1/10`` or ``1e-9``, a float as it is printed, or a number.

    Long texts and large exponents are refused first, since ``Fraction("1e-999999999")`` would take all
    memory.  Raises ValueError, also for a denominator of 0, or TypeError.
    """
    if isinstance(value, float | Decimal):
        value = str(value)
    if isinstance(value, str):
        if len(value) > MOST_DIGITS:
            raise ValueError(f"a number of {len(value)} characters; at most {MOST_DIGITS} are read")
        exponent = re.search(r"[eE]([-+]?[\d_]+)\s*$", value)
        if exponent and abs(int(exponent[1])) > MOST_DIGITS:
            raise ValueError(f"the exponent {exponent[1]} is not from {-MOST_DIGITS} to {MOST_DIGITS}")
    try:
        return Fraction(value)
    except (ZeroDivisionError, OverflowError) as error:
        raise ValueError(f"{value!r} is not a number") from error


def count_of(number: int, what: str) -> str:
    """``1 cell`` or ``2 cells``."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def split_cells(text: str) -> list[str]:
    """The words of a board or of limits: split at blanks, commas, slashes and semicolons."""
    return [word for word in re.split(r"[\s,;/]+", text.strip()) if word]
