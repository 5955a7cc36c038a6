"""The options that subcommands of ``tilebase reach`` share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from tilebase.cli.options import QuietOption, TimeOption
from tilebase.cli.output import Shown
from tilebase.patterns.rules import Rules, parse_rules

SizeArgument = Annotated[str, Parameter(help="Rows x columns, as 4x4 or 10x10.")]
DropsOption = Annotated[str, Parameter(help="Tiles that are dropped: 2,4 (the real game) or 2.")]
ConventionOption = Annotated[
    str | None,
    Parameter(
        help="Where the deterministic game drops: rows (topmost, then leftmost; the default) or columns "
        "(leftmost, then topmost)."
    ),
]
SeedOption = Annotated[int, Parameter(help="Starts the random choices; the same number gives the same game.")]


@Parameter(name="*")
@dataclass(frozen=True)
class SearchOptions:
    """What a search may use, and whether it tells its progress."""

    budget: TimeOption = None
    memory: Annotated[str | None, Parameter(help="Stop, undecided, when the search needs more: 16GiB.")] = (
        None
    )
    quiet: QuietOption = False


DEFAULT_SEARCH = SearchOptions()


def print_plan(question: str, size: str, show: Shown, *, limit: float | None = None) -> int:
    """Print what a question takes, between sizes that were measured; nothing is begun.

    With a limit, it stops after so many seconds.
    """
    from tilebase.costs.estimate import duration, span_of

    rules = parse_rules(size)
    row = span_of(question, (rules.rows, rules.columns)).row(f"{question} {rules}")
    if limit is not None:
        row["time"] += f"; it stops after {duration(limit)} (--budget)"
    show.write([row], row, game=size)
    return 0


def rules_text(rules: Rules) -> str:
    """Rules as the subcommands name them: the size, and the options for drops."""
    words = [str(rules), "--drops", ",".join(str(1 << exponent) for exponent in rules.drops)]
    if rules.convention is not None:
        words += ["--deterministic", "--convention", rules.convention]
    return " ".join(words)
