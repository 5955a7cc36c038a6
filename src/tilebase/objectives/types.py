"""The types in which values are kept: how large they are, how they are rounded, and how they are printed.

A new type is a line of `TYPES`, and its name in the line of `MEANINGS` of an objective.  A short form of
floats is also a pair of functions in `_kernels.coded`.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ValueType:
    """One type of values."""

    name: str  # as users write it, and as files name it
    bits: int  # per value, not compressed
    # The NumPy types of values in memory and in files.  They differ where memory holds the bits of a float
    # that kernels decode; a Boolean value has a bit in files.
    kept: str
    filed: str
    digits: int = 0  # significant digits that are printed; 0 for integers and Boolean values
    unit: float = 0.0  # the relative error of storing a mean, beyond that of float64
    least: float = 0.0  # the least positive number
    one: int = 1  # what stands for 1: an integer for proved bounds, 1 for other types

    @property
    def is_float(self) -> bool:
        """Whether values are numbers that were rounded to the nearest."""
        return self.digits > 0

    @property
    def is_coded(self) -> bool:
        """Whether memory holds the bits of floats, which kernels decode."""
        return self.is_float and self.kept.startswith("u")

    @property
    def tie(self) -> float:
        """The distance of neighbouring numbers close to 1, relative: twice the error of a rounding."""
        return 2 * max(self.unit, 2.0**-53) if self.is_float else 0.0


TYPES = {
    one.name: one
    for one in (
        ValueType("float64", 64, "f8", "f8", digits=12, least=2.0**-1074),
        ValueType("float32", 32, "f4", "f4", digits=8, unit=2.0**-24, least=2.0**-149),
        ValueType("float16", 16, "u2", "f2", digits=4, unit=2.0**-11, least=2.0**-24),
        # A uint16 or uint32 cannot hold what stands for 1: see `Objective.most`.
        ValueType("uint64", 64, "u8", "u8", one=1 << 52),
        ValueType("uint32", 32, "u4", "u4", one=1 << 32),
        ValueType("uint16", 16, "u2", "u2", one=1 << 16),
        ValueType("int32", 32, "i4", "i4"),
        ValueType("bit", 1, "u1", "u1"),
    )
}
"""All types, by name."""
