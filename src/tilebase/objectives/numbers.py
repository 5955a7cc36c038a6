"""How numbers are printed: the only place that says so for the terminal, the commands and the documents.

`web/explorer/text.js` says the same for numbers that the page computes; `tests/numbers.tsv` holds the cases
that both must print alike.

*With all digits* a number has twelve significant digits, or fewer if it was stored in a smaller type
(`digits_text`, `types`).  A number that is not 1 is not printed as 1: it has more digits then.  A number that
was rounded is printed as 1 or 0 only where this is certain (`rounded_text`, `difference_text`).

*As people read it* (`short_number`) a probability is always written in percent, with one decimal, or so many
that the smaller of it and its complement has two significant digits: 73.7 %, 99.97 %, 0.026 %.  Below 0.0001
% it has two significant digits and a power of ten: 3.1e-7 %.  Above 99.9999999 % it is ≈ 100 %.  0 % and 100
% are certain. Other numbers have one decimal, or two below 100.

*A difference* (`loss_text`) is written in the same way.  One that is less than a millionth of the value from
which it was lost is ≈ 0.  A *mistake* loses at least a thousandth of it (`is_mistake`).

*A part* of some slides or games has one decimal (`share_text`), a mean of games two significant digits of its
standard error (`estimate_text`), and an end of an interval four significant digits (`ends_text`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from itertools import combinations, starmap
from typing import Literal, TypeAlias

Unit: TypeAlias = Literal["probability", "score", "merges", "slides", "tile", "yes-no"]
"""What a value counts."""

NEVER = 1 << 30
"""The number of slides to a win that stands for "never"."""
SMALL = 1e-6
"""A smaller probability is written with a power of ten."""
NEAR_ONE = Fraction(1e-9)
"""A probability whose complement is smaller is ≈ 100 %."""
LEAST_APART = Fraction(1e-13)
"""Two numbers that lie closer have the digits of numbers that lie so far apart."""
NEGLIGIBLE = 1e-6
"""A loss of a smaller part of the value is ≈ 0."""
MISTAKE = 1e-3
"""A loss of at least this part of the value is a mistake."""
MISTAKE_TEXT = "a thousandth of the value or more"
"""`MISTAKE` in words."""

NEAR, DOWN, UP = ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING


def digits_text(number: float | Fraction, digits: int = 12) -> str:
    """Return a number with so many significant digits; with more if it would be shown as 1 without being 1.

    A fraction that is nearer to 1 than any float is shown by its distance.

    >>> digits_text(2 / 3), digits_text(1 - 2**-50), digits_text(0.7367, 4)
    ('0.666666666667', '0.999999999999999', '0.7367')
    >>> digits_text(1 - Fraction(1, 10**20))
    '1 - 1e-20'
    """
    text = f"{float(number):.{digits}g}"
    while text == "1" and number != 1 and digits < 17:
        digits += 1
        text = f"{float(number):.{digits}g}"
    if text == "1" and number != 1:
        return f"1 - {power(1 - Fraction(number))}"
    return text.replace("e-0", "e-").replace("e+0", "e+")


def rounded_text(
    number: float, error: float, digits: int = 12, *, most: int | None = None, complement: float | None = None
) -> str:
    """Return a number that was rounded and is wrong by at most `error`; `most` is 1 for a probability.

    1 or 0 is the nearest certain number, or 1 minus its `complement` where that was computed by itself.

    >>> rounded_text(1.0, 9.5e-14, most=1), rounded_text(1.0, 1e-13, most=1, complement=7e-18)
    ('more than 1 - 9.5e-14', '1 - 7e-18')
    >>> rounded_text(0.0, 3e-320, most=1), rounded_text(0.3, 1e-14, most=1), rounded_text(136.0, math.inf)
    ('less than 3e-320', '0.3', 'about 136 (no error is proved)')
    """
    if complement is not None and 0 < complement < SMALL:
        return f"1 - {digits_text(complement, digits)}"
    text = digits_text(number, digits)
    if not error:
        return text
    if error == math.inf or (most is not None and error >= max(number, most - number)):
        return f"about {text} (no error is proved)"
    if most is not None and number + error >= most and f"{min(number, 1.0):.{digits}g}" == "1":
        less = 1 - Fraction(number) + Fraction(error)
        bound = f"1 - {power(less, UP)}" if less < 0.001 else cut(1 - less, up=False, digits=3)
        return f"more than {bound}"
    if (most is not None and text == "0") or 0 < abs(number) <= error:
        return f"less than {power(Fraction(abs(number)) + Fraction(error), UP)}"
    return text


def difference_text(number: float, error: float, *, most: int | None = None) -> str:
    """Return the difference of two rounded numbers: what cannot be told from 0 is less than its error.

    `most` is 1 for a difference of probabilities.

    >>> difference_text(0.25, 1e-12), difference_text(3e-14, 4.1e-13), difference_text(0, 0)
    ('0.25', 'less than 4.5e-13', '0')
    >>> difference_text(0.4, 3.2, most=1)
    'about 0.4 (no error is proved)'
    """
    if error == math.inf or (most is not None and error >= most):
        return f"about {digits_text(number)} (no error is proved)"
    if not error < abs(number) and error > 0:
        return f"less than {power(Fraction(abs(number)) + Fraction(error), UP)}"
    return digits_text(number)


def cut(number: Fraction, *, up: bool, digits: int = 15) -> str:
    """Return a proved bound in decimals; a lower bound is rounded down, an upper bound up (`up`).

    >>> cut(Fraction(2, 3), up=False, digits=3), cut(Fraction(2, 3), up=True, digits=3)
    ('0.666', '0.667')
    """
    return _fixed(number, digits, UP if up else DOWN).rstrip("0").rstrip(".")


def byte_text(count: float) -> str:
    """Return a number of bytes with three digits and a unit: ``1.65 GB``."""
    for unit in ("B", "kB", "MB", "GB", "TB", "PB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} EB"


def enough_text(count: int) -> str:
    """Return the same rounded up, for bytes that are needed: the number told is enough.

    >>> byte_text(3_892_635_280), enough_text(3_892_635_280), enough_text(999_600_000)
    ('3.89 GB', '3.9 GB', '1 GB')
    """
    step = 10 ** max(len(str(count)) - 3, 0)
    return byte_text(-(-count // step) * step)


# -- as people read them ---------------------------------------------------------------------------


def short_number(number: float | Fraction, unit: Unit, rounding: str = NEAR, apart: float = 0.0) -> str:
    """Return a number with about as many digits as people read, rounded to the nearest, `DOWN` or `UP`.

    Two numbers that lie so far `apart`, if that is not 0, have two digits in which they can differ.

    >>> [short_number(p, "probability") for p in (0.73677, 1 - 4.5e-6, 2.6e-4, 3.14e-9, 1 - 7e-12)]
    ['73.7 %', '99.99955 %', '0.026 %', '3.1e-7 %', '≈ 100 %']
    >>> short_number(1234.52, "score"), short_number(7, "slides"), short_number(1, "probability")
    ('1,234.5', '7', '100 %')
    """
    plain = rounding == NEAR and not apart and unit == "probability"
    if plain and isinstance(number, float) and 0.1 <= number <= 0.9:
        return f"{100 * number:.1f} %"  # as below, at a tenth of the time: a page asks for thousands a second
    if unit == "yes-no":
        return "yes" if number >= 0.5 else "no"
    exact = Fraction(number)
    if unit != "probability" or not 0 <= exact <= 1:
        return _amount(exact, rounding, Fraction(apart))
    if exact in (0, 1):
        return f"{100 * exact} %"
    margin = min(exact, 1 - exact)
    if 0 < apart < margin and exact >= SMALL:
        return _percent(exact, max(Fraction(apart), LEAST_APART), rounding)
    if 1 - exact < NEAR_ONE and rounding == NEAR:
        return "≈ 100 %"
    if exact < SMALL:
        more = math.floor(math.log10(exact / Fraction(apart))) if 0 < apart < exact else 0
        return f"{power(100 * exact, rounding, min(2 + more, 12))} %"
    return _percent(exact, max(margin, NEAR_ONE), rounding)


def texts_apart(texts: list[str], numbers: Sequence[float]) -> list[str]:
    """Return texts of rounded probabilities, with more digits if some are alike that are not negligibly near.

    >>> texts_apart(["93.6 %"] * 3, [0.93613, 0.93574, 0.93641])
    ['93.61 %', '93.57 %', '93.64 %']
    >>> texts_apart(["≈ 100 %"] * 3, [1 - 3e-12, 1 - 8e-12, 1 - 3.01e-12])
    ['≈ 100 %', '99.999999999 %', '≈ 100 %']
    """

    def alike(one: int, other: int) -> bool:
        least, most = sorted((numbers[one], numbers[other]))
        near = min(NEGLIGIBLE * least, (1 - least) / 10)
        return texts[one] == texts[other] and least < most and most - least >= near

    decimals = 0
    while decimals < 13 and any(starmap(alike, combinations(range(len(texts)), 2))):
        decimals += 1
        texts = [f"{100 * one:.{decimals}f} %" for one in numbers]
        texts = ["≈ 100 %" if text.startswith("100.") else text for text in texts]  # none is certain
    return texts


def summed_text(chance: float) -> str:
    """Return a probability that is a sum of rounded ones, of which 1 is not certain.

    >>> summed_text(0.99836), summed_text(1.0000000000000002), summed_text(0)
    ('99.84 %', '≈ 100 %', '0 %')
    """
    return short_number(min(chance, math.nextafter(1.0, 0.0)), "probability")


def loss_text(loss: float, unit: Unit, of: float) -> str:
    """Write what was lost of a value `of`: ``0``, ``1.3 %``, ``12.5``; ``≈ 0`` below a millionth of it.

    >>> [loss_text(loss, "probability", 0.9997) for loss in (0, 0.02, 8.6e-5, 1.8e-6, 6.6e-12)]
    ['0', '2.0 %', '0.0086 %', '0.00018 %', '≈ 0']
    >>> loss_text(5e-10, "probability", 1e-9), loss_text(1.0, "yes-no", 1)
    ('5e-8 %', 'the forced win')
    """
    if not loss:
        return "0"
    if unit == "yes-no":
        return "the forced win"
    if unit == "slides" and loss >= NEVER:
        return "the win"
    if loss < NEGLIGIBLE * of:
        return "≈ 0"
    number = Fraction(loss)
    if unit != "probability":
        return _amount(number, NEAR)
    return f"{power(100 * number, NEAR)} %" if number < SMALL else _percent(number, number, NEAR)


def less_text(loss: float, unit: Unit, of: float, minus: str = "-") -> str:
    """Return a loss with a minus sign, for the side of a value.

    A negligible one has no sign, and 0 no text.
    """
    text = loss_text(loss, unit, of)
    return {"0": "", "≈ 0": text}.get(text, minus + text)


def is_mistake(loss: float, of: float) -> bool:
    """Return whether a slide that lost so much of a value `of` is a mistake: `MISTAKE_TEXT`."""
    return loss > 0 and loss >= MISTAKE * of


def share_text(part: float | None) -> str:
    """Return a part of some slides or games: ``92.3 %``; ``–`` of no slides.

    >>> share_text(0.92345), share_text(0.99996), share_text(1.0), share_text(None)
    ('92.3 %', '99.996 %', '100.0 %', '–')
    """
    if part is None:
        return "–"
    text = f"{100 * part:.1f} %"
    almost = part not in (0, 1) and text in ("0.0 %", "100.0 %")
    return short_number(part, "probability") if almost else text


def chance_text(chance: float | None) -> str:
    """Return a chance with two digits of its distance from 1, so that those near 1 differ; "" of None.

    >>> chance_text(0.722), chance_text(0.99999923), chance_text(1.0)
    ('72.2 %', '99.999923 %', '100 %')
    """
    if chance is None:
        return ""
    lost = 1.0 - chance
    digits = 1 - math.floor(math.log10(lost)) if lost else 16
    return f"{100 * chance:.{max(digits - 2, 1)}f} %" if lost else "100 %"


def estimate_text(mean: float, error: float | None) -> str:
    """Return a mean of games and its standard error, both with two significant digits of the error.

    An error of 0 says that all games paid the same.

    >>> estimate_text(0.736521, 0.00139), estimate_text(1234.5, 21.3), estimate_text(0.5, None)
    ('0.7365 ± 0.0014', '1234 ± 21', '0.5')
    >>> estimate_text(1.0, 0.0)
    '1 in each game'
    """
    if not error:
        return digits_text(mean, 6) + ("" if error is None else " in each game")
    decimals = max(1 - Decimal(f"{error:.1e}").adjusted(), 0)
    return f"{mean:.{decimals}f} ± {error:.{decimals}f}"


def ends_text(low: float, high: float) -> str:
    """Write the ends of an interval with four significant digits, the lower one rounded down, the upper up.

    >>> ends_text(1.23456e-7, 0.123456), ends_text(0, 1)
    ('1.234e-7 to 0.1235', '0 to 1')
    """

    def text(end: float, rounding: str) -> str:
        return f"{Context(prec=4, rounding=rounding).create_decimal(Decimal(end)).normalize():g}"

    return f"{text(low, DOWN)} to {text(high, UP)}"


def power(number: Fraction, rounding: str = NEAR, digits: int = 2) -> str:
    """Two significant digits or more, with a power of ten: ``3.1e-7``; 0 stays 0."""
    rounded = Context(prec=digits, rounding=rounding).divide(Decimal(number.numerator), number.denominator)
    if not rounded:
        return "0"
    mantissa, _, exponent = f"{rounded.normalize():e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def _percent(number: Fraction, margin: Fraction, rounding: str) -> str:
    """Return a number in percent: one decimal, or so many that a margin has two significant digits."""
    margin *= 100
    decimals = 1
    while 0 < margin < 1:
        margin *= 10
        decimals += 1
    whole, _, behind = _fixed(100 * number, decimals, rounding).partition(".")
    return f"{whole}.{behind.rstrip('0') or '0'} %"


def _amount(number: Fraction, rounding: str, apart: Fraction = Fraction(0)) -> str:
    """Return a score, or a number of slides: one decimal, two below 100; a whole number without decimals."""
    if number.denominator == 1:
        return f"{number.numerator:,}"
    if 0 < number < Fraction(1, 100):
        return power(number, rounding)
    decimals = 1 if abs(number) >= 100 else 2
    if apart:
        decimals = max(decimals, 1 - Decimal(f"{float(max(apart, LEAST_APART)):.1e}").adjusted())
    return f"{Decimal(_fixed(number, decimals, rounding)):,}"


def _fixed(number: Fraction, decimals: int, rounding: str) -> str:
    scaled = number * 10**decimals
    whole = {DOWN: scaled.__floor__, UP: scaled.__ceil__, NEAR: scaled.__round__}[rounding]()
    return f"{Decimal(whole).scaleb(-decimals, Context(prec=100)):f}"
