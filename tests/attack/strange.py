"""Values that nobody expects, for whatever takes a number, a text or a JSON value."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any


def words(text: str) -> list[str]:
    """The words of a text."""
    return text.split()


def members(values: Any, path: str = "") -> Iterator[tuple[Any, Any, str]]:
    """All members of a document: what holds each, its name there, and its path."""
    for name, inner in values.items() if isinstance(values, dict) else enumerate(values):
        yield values, name, f"{path}.{name}"
        if isinstance(inner, dict | list):
            yield from members(inner, f"{path}.{name}")


EVIL = "\x1b]0;owned\x07\x1b[31m\x9b2J\u202e\u2066"
"""A text that sets the title, the colour and the direction of writing of a terminal that it reaches."""
NUMBERS: tuple[Any, ...] = (
    0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 32, 64, 255, 1024, 2048, 32768, 65536, -1, -2, -(2**63),
    2**31, 2**32, 2**63 - 1, 2**63, 2**64, 10**30, 10**400, -(10**400), True, False,
    0.0, 0.5, -0.5, 1e-300, 1e308, -1e308, math.inf, -math.inf, math.nan,
)  # fmt: skip
FRACTIONS = words("1/10 1/3 -1/10 1/0 0.1 nan inf -inf 1e-999999999 1e999999999 1e400")
SIZES = words("""2x2 3x3 4x4 0x0 1x1 2x2x2 9x9 32x1 0x2 -1x2 2x x2 2X3 2\u00d72 1e1x2 999x999 99999x99999
    99999999999999999999x1""")
BOARDS = words("2,4/0,8 2,4,8/16 2,4,0/0,0,3 0x1203 1203 [[2,4],[0,8]] {} [[[ x,2/0,0 # *,4/*,* | *|* 4,,4")
WORDS: tuple[str, ...] = (
    "", " ", "x", "-", "--", "0", "2", "-1", "-0", "a b", "*", "'", ".", ":", "\0", "\n", "\u00e9", "\u202e",
    "\U0001d7da", "\u0662", "\u00b2", EVIL, "9" * 5000, "1/" + "9" * 4000, "[" * 5000, "0x" + "f" * 99,
    "x" * 100_000, "../../../../etc/hostname", "win", "win,win", "two-tiles", "lemma1", "upper:uint64",
    *FRACTIONS, *SIZES, *BOARDS,
)  # fmt: skip
JSON: tuple[Any, ...] = (
    None, *NUMBERS, *WORDS, [], [[]], {}, [None], [0], [1, 2, 3], {"a": 1}, {"": {}}, [0] * 1000,
    [[[[[[[[[[[[[]]]]]]]]]]]]], ["1e-999999999"], [10**400, 10**400], {"kind": "exact", "value": "x"},
    {"kind": "exact", "value": {}}, {"kind": "upper"}, {"kind": "lower", "bound": "1e-999999999"},
    {"kind": "interval", "low": "0", "high": "1"},
)  # fmt: skip
