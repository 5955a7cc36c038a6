"""How boards become Boolean variables: the code of a cell's content, and the order of the variables.

A *code* gives each value of a cell, an exponent or the tile x, a tuple of bits, the most significant
first.  A bit may be `FREE`: then both of its values mean the same, and a diagram has no node for it.
In every code, whether a bit is free depends only on the bits before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod

from tilebase.errors import UsageError

Code = tuple[int, ...]
FREE = 2
"""A bit that may be 0 or 1."""


def _binary(count: int) -> tuple[Code, ...]:
    """Return numbers with as many bits as the largest one needs, as in the thesis."""
    width = max(1, (count - 1).bit_length())
    return tuple(tuple(value >> bit & 1 for bit in reversed(range(width))) for value in range(count))


def _short(count: int) -> tuple[Code, ...]:
    """Binary numbers, but bits that would leave a code unused are free.

    Nine values need four bits, which have sixteen codes.  Here the last value has the code ``1***``.
    """
    if count == 1:
        return ((FREE,),)
    low = 1 << (count - 1).bit_length() - 1  # the values that begin with a 0
    width = low.bit_length() - 1
    high = _short(count - low) if count > low + 1 else ((),)
    return (
        *((0, *code) for code in (_binary(low) if width else ((),))),
        *((1, *code, *(FREE,) * (width - len(code))) for code in high),
    )


ENCODINGS: dict[str, Callable[[int], tuple[Code, ...]]] = {"short": _short, "binary": _binary}


def codes_of(encoding: str, count: int) -> tuple[Code, ...]:
    """Return the codes of `count` values of a cell.  Raises `UsageError`.

    >>> codes_of("binary", 3)
    ((0, 0), (0, 1), (1, 0))
    >>> codes_of("short", 3)
    ((0, 0), (0, 1), (1, 2))
    """
    if encoding not in ENCODINGS:
        raise UsageError(f"encoding {encoding!r} does not exist: choose one of {', '.join(ENCODINGS)}")
    return ENCODINGS[encoding](count)


# -- orders ----------------------------------------------------------------------------------------

Bit = tuple[int, int]
"""A cell and the number of a bit of its code, 0 for the most significant."""
ORDERS = {"rows": -1, "columns": 0}
"""The orders of the variables, cell by cell, and the axis whose lines have their variables side by side."""


def lines_first(shape: Sequence[int], axis: int) -> tuple[int, ...]:
    """Return all cells, line by line along an axis.

    >>> lines_first((2, 3), 0)
    (0, 3, 1, 4, 2, 5)
    """
    axis %= len(shape)
    others = [range(size) for place, size in enumerate(shape) if place != axis]
    strides = [prod(shape[place + 1 :]) for place in range(len(shape))]
    cells = []
    for fixed in product(*others):
        for moving in range(shape[axis]):
            place = (*fixed[:axis], moving, *fixed[axis:])
            cells.append(sum(index * stride for index, stride in zip(place, strides, strict=True)))
    return tuple(cells)


def order_of(order: str, shape: Sequence[int], width: int) -> list[Bit]:
    """Return the variables of all cells from the top of a diagram to its bottom.  Raises `UsageError`."""
    if order not in ORDERS:
        raise UsageError(f"order {order!r} does not exist: choose one of {', '.join(ORDERS)}")
    return [(cell, bit) for cell in lines_first(shape, ORDERS[order]) for bit in range(width)]
