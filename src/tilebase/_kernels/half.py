"""float16 by its bits: Numba has no such numbers, and NumPy converts them one by one.

Only numbers that are not negative: their bits are ordered as they are.
"""

from __future__ import annotations

import numpy as np

from tilebase._kernels.jit import kernel, scalar
from tilebase._kernels.scalar import U1

# A float64 has 42 more bits of fraction than a float16, and exponents that are larger by 1008.
MORE = np.uint64(42)
HIGHER, HIGHER_SMALL = np.uint64(1008 << 52), np.uint64(1009 << 52)
NEARLY_HALF = np.uint64((1 << 41) - 1)
SMALL = 2.0**-14
"""Numbers below this are multiples of 2^-24 in float16, kept with an exponent of 0."""


@scalar
def from_half(bits):
    """The number that a float16 is, not negative and finite, from its bits.

    Only arithmetic, which takes several at once; a table would be read one by one.
    """
    wide = np.uint64(bits) << MORE
    if bits < 1 << 10:
        return np.uint64(wide + HIGHER_SMALL).view(np.float64) - SMALL
    return np.uint64(wide + HIGHER).view(np.float64)


@scalar
def to_half(value):
    """A number of [0, 1] as the bits of the nearest float16, ties to even."""
    wide = np.float64(value).view(np.uint64) - HIGHER
    near = (wide + (NEARLY_HALF + (wide >> MORE & U1))) >> MORE
    return np.uint16(np.uint64(np.int64(np.rint(value * 2.0**24))) if value < SMALL else near)


@kernel()
def from_halves(bits, out):
    """Numbers, from the bits of float16s."""
    for i in range(len(bits)):
        out[i] = from_half(bits[i])


@kernel()
def to_halves(values, out):
    """Bits of the float16s that are nearest to numbers of [0, 1]."""
    for i in range(len(values)):
        out[i] = to_half(values[i])
