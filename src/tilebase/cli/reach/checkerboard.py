"""``tilebase reach checkerboard``: which checkerboards can be reached, and by how many sequences."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import DEFAULT_SHOWN, ShownOptions, parse_seconds
from tilebase.cli.output import planning
from tilebase.cli.progress import counting_progress
from tilebase.cli.reach.options import (
    DEFAULT_SEARCH,
    ConventionOption,
    DropsOption,
    SearchOptions,
    SizeArgument,
    print_plan,
    rules_text,
)
from tilebase.cli.startup import prepare_kernels
from tilebase.errors import ResourceError, UsageError
from tilebase.patterns.checkerboards import COLOURINGS, Checkerboard, decide
from tilebase.patterns.rules import parse_rules
from tilebase.patterns.tallies import Tally, tally

VERDICTS = {True: "yes", False: "no", None: "not decided"}


def checkerboard(
    size: SizeArgument,
    *,
    deterministic: Annotated[
        bool, Parameter(negative=(), help="Drops are in the first empty cell, not where they help.")
    ] = False,
    convention: ConventionOption = None,
    drops: DropsOption = "2",
    colouring: Annotated[str, Parameter(help="The tile in the upper left corner: 2, 4 or both.")] = "both",
    count: Annotated[
        bool, Parameter(negative=(), help="Count the sequences of moves to each checkerboard.")
    ] = False,
    search: Annotated[
        bool, Parameter(negative=(), help="Decide by searches alone, without theorems and constructions.")
    ] = False,
    shown: ShownOptions = DEFAULT_SHOWN,
    run: SearchOptions = DEFAULT_SEARCH,
) -> int:
    """Say whether a board can be filled with a checkerboard of 2s and 4s, if no 8 may ever be made.

    The drops help, unless the game is deterministic. Prints the verdict for each colouring with its reason,
    and a sequence of moves that `tilebase reach replay` accepts (without --deterministic if it shows
    drops). With --count, also how many sequences
    there are, those that are symmetric to each other included.

    Exit status 1 if a verdict is not decided, or if the sequences cannot be counted.

    tilebase reach checkerboard 3x5

    tilebase reach checkerboard 10x10 --search

    tilebase reach checkerboard 2x20 --deterministic --count
    """
    show = shown.checked()
    if planning():
        named = ("search", search), ("count", count), ("deterministic", deterministic)
        words = ["checkerboard", *(name for name, asked in named if asked)]
        return print_plan(" ".join(words), size, show)
    rules = parse_rules(size, drops=drops, most=2, deterministic=deterministic, convention=convention)
    seconds = parse_seconds(run.budget)
    if search and not deterministic:
        prepare_kernels()  # of the search from the checkerboard
    began = time.perf_counter()

    def left() -> float | None:
        """Return the time that is left for all that follows."""
        return None if seconds is None else max(seconds - (time.perf_counter() - began), 0.0)

    verdicts = [
        decide(rules, tile, search=search, seconds=left(), memory=run.memory)
        for tile in _colourings(colouring)
    ]
    counted, failed = None, ""
    if count and all(verdict.reachable is False for verdict in verdicts):
        counted = Tally(rules, 0, 0, 0, 0)
    elif count:
        try:
            with counting_progress(quiet=run.quiet) as progress:
                counted = tally(rules, seconds=left(), progress=progress)
        except ResourceError as error:  # the verdicts are still true
            failed = str(error)
    rows = [_row(verdict, counted) for verdict in verdicts]
    show.write(rows, _document(verdicts, rows), game=rules_text(rules))
    if failed:
        print(f"tilebase: {failed}", file=sys.stderr)
    return 1 if failed or any(verdict.reachable is None for verdict in verdicts) else 0


def _colourings(text: str) -> tuple[int, ...]:
    known = {"both": COLOURINGS, "2": (2,), "4": (4,)}
    if text not in known:
        raise UsageError(f"colouring {text!r} does not exist: choose both, 2 or 4")
    return known[text]


def _row(verdict: Checkerboard, counted: Tally | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "corner": verdict.colouring,
        "drops": ",".join(str(1 << exponent) for exponent in verdict.rules.drops),
        "reachable": VERDICTS[verdict.reachable],
    }
    if counted is not None:
        row["sequences"] = counted[verdict.colouring]
    return row | {"moves": verdict.sequence, "reason": verdict.reason}


def _document(verdicts: list[Checkerboard], rows: list[dict[str, Any]]) -> dict[str, Any]:
    rules = verdicts[0].rules
    return {
        "size": str(rules),
        "drops": [1 << exponent for exponent in rules.drops],
        "convention": rules.convention,
        "checkerboards": [
            row | {"reachable": verdict.reachable, "board": verdict.rules.text(verdict.position)}
            for verdict, row in zip(verdicts, rows, strict=True)
        ],
    }
