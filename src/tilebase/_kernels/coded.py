"""Floats by their bits: Numba has no float16, and NumPy converts them one by one.

Kernels that take means take such values as unsigned integers: `number` decodes one, and `stored` encodes one,
by its type.  Numbers must not be negative, and codes must have the order of the numbers.
"""

from __future__ import annotations

import numpy as np
from numba import types

from tilebase._kernels.jit import chosen, kernel, scalar
from tilebase._kernels.scalar import U1

# A float64 has 42 more bits of fraction than a float16, and exponents that are larger by 1008.
MORE = np.uint64(42)
HIGHER, HIGHER_SMALL = np.uint64(1008 << 52), np.uint64(1009 << 52)
NEARLY_HALF = np.uint64((1 << 41) - 1)
SMALL = 2.0**-14
"""Numbers below this are multiples of 2^-24 in float16, kept with an exponent of 0."""
TO_INTEGER = 2.0**52
"""From here on neighbouring float64 are 1 apart: adding it rounds a small number, as devices do, too."""


@scalar
def from_half(bits):
    """Return the number that a float16 is, not negative and finite, from its bits.

    Only arithmetic, which takes several at once; a table would be read one by one.
    """
    # The bits of the fraction and of the exponent move to their places in a float64, whose exponents are
    # larger.  A small float16 has no leading 1: read with one, it is too large by `SMALL`.
    wide = np.uint64(bits) << MORE
    if bits < 1 << 10:
        return np.uint64(wide + HIGHER_SMALL).view(np.float64) - SMALL
    return np.uint64(wide + HIGHER).view(np.float64)


@scalar
def to_half(value):
    """Return a number of [0, 1] as the bits of the nearest float16, ties to even."""
    # Half of the last bit that stays is added, and a little less if that bit is even: ties go to even.
    wide = np.float64(max(value, SMALL)).view(np.uint64) - HIGHER
    near = (wide + (NEARLY_HALF + (wide >> MORE & U1))) >> MORE
    return np.uint16(np.uint64((value * 2.0**24 + TO_INTEGER) - TO_INTEGER) if value < SMALL else near)


@chosen
def number(_value):
    """Return a kept mean as a float64."""
    if _value == types.uint16:
        return lambda _value: from_half(_value)
    return lambda _value: np.float64(_value)


@chosen
def stored(_value, _like):
    """Return a mean in the form in which `_like` is kept: unchanged, or as a code."""
    if _like == types.uint16:
        return lambda _value, _like: to_half(_value)
    return lambda _value, _like: _value


@kernel()
def decode(codes, out):
    """Write numbers, from their codes."""
    for i in range(len(codes)):
        out[i] = number(codes[i])


@kernel()
def encode(values, out):
    """Write the codes that are nearest to numbers of [0, 1]."""
    for i in range(len(values)):
        out[i] = stored(values[i], out[i])
