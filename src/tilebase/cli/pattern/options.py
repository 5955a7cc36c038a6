"""The options that subcommands of ``tilebase pattern`` share."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

SizeArgument = Annotated[str, Parameter(help="Rows x columns, as 4x4 or 10x10.")]
DropsOption = Annotated[str, Parameter(help="Tiles that are dropped: 2 or 2,4.")]
ConventionOption = Annotated[
    str,
    Parameter(
        help="Where the deterministic game drops: rows (topmost, then leftmost) or columns (leftmost, then "
        "topmost)."
    ),
]
