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
    tiles = drops.replace(" ", "")
    if tiles not in ("2", "2,4"):
        raise UsageError(f"drops {drops!r}: new tiles are 2 or 2,4")
    if convention not in CONVENTIONS:
        raise UsageError(f"convention {convention!r} does not exist: choose {' or '.join(CONVENTIONS)}")
    return Rules(
        *sides, (1,) if tiles == "2" else (1, 2), most, convention if deterministic else None
    )  # fmt: skip
