"""The options that subcommands of ``tilebase pattern`` share."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from tilebase.errors import UsageError
from tilebase.game.notation import parse_shape
from tilebase.patterns.rules import CONVENTIONS, Rules

SizeArgument = Annotated[str, Parameter(help="Rows x columns, as 4x4 or 10x10.")]
DropsOption = Annotated[str, Parameter(help="Tiles that are dropped: 2 or 2,4.")]
ConventionOption = Annotated[
    str,
    Parameter(
        help="Where the deterministic game drops: rows (topmost, then leftmost) or columns (leftmost, then "
        "topmost)."
    ),
]


def make_rules(
    size: str,
    *,
    drops: str = "2",
    most: int | None = None,
    deterministic: bool = False,
    convention: str = "rows",
) -> Rules:
    """The rules of a game on a board with two sides.  Raises `UsageError`."""
    sides = parse_shape(size)
    if len(sides) != 2:
        raise UsageError(f"{size} has {len(sides)} sides: these boards have rows and columns, as in 4x4")
    if convention not in CONVENTIONS:
        raise UsageError(f"convention {convention!r} does not exist: choose {' or '.join(CONVENTIONS)}")
    exponents = tuple(tile >> 1 for tile in parse_drops(drops))
    return Rules(*sides, exponents, most, convention if deterministic else None)


def parse_drops(text: str) -> tuple[int, ...]:
    """The tiles that are dropped: 2, or 2 and 4.  Raises `UsageError`."""
    tiles = {"2": (2,), "2,4": (2, 4)}.get(text.replace(" ", ""))
    if tiles is None:
        raise UsageError(f"drops {text!r}: new tiles are 2 or 2,4")
    return tiles
