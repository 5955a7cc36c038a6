"""``tilebase reach checkerboard``: which checkerboards can be reached, and by how many sequences."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import DEFAULT_SHOWN, ShownOptions, parse_seconds
from tilebase.cli.output import Shown, planning
from tilebase.cli.progress import counting_progress
from tilebase.cli.reach.options import (
    DEFAULT_SEARCH,
    ConventionOption,
    SearchOptions,
    SizeArgument,
    print_plan,
    rules_text,
)
from tilebase.cli.startup import prepare_kernels
from tilebase.errors import ResourceError, UsageError
from tilebase.patterns.checkerboards import BACK_SECONDS, COLOURINGS, Checkerboard, decide
from tilebase.patterns.rules import Rules, parse_rules
from tilebase.patterns.tallies import Tally, tally
from tilebase.runtime.rows import table_text

VERDICTS = {True: "yes", False: "no", None: "not decided"}


def checkerboard(
    size: SizeArgument,
    *,
    deterministic: Annotated[
        bool, Parameter(negative=(), help="Drops are in the first empty cell, not where they help.")
    ] = False,
    convention: ConventionOption = None,
    drops: Annotated[
        str | None,
        Parameter(
            help="Tiles that are dropped: 2 (the game of the thesis) or 2,4 (the real game). Default: rows "
            "for both; with --deterministic, --count or --search 2 alone."
        ),
    ] = None,
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
    """Say whether a board can be filled with a checkerboard of 2s and 4s.

    The drops (spawns) help, unless the game is deterministic. Prints the verdict for each colouring with its
    reason, first in the real game, then if only 2s are dropped; and a sequence of moves that `tilebase reach
    replay` accepts (without --deterministic if it shows drops). With --count, also how many sequences there
    are, those that are symmetric to each other included.

    Exit status 1 if a verdict is not decided, or if the sequences cannot be counted.

    tilebase reach checkerboard 3x5

    tilebase reach checkerboard 10x10 --search

    tilebase reach checkerboard 2x20 --deterministic --count
    """
    show = shown.checked()
    alone = deterministic or count or search
    games = [
        parse_rules(size, drops=some, most=2, deterministic=deterministic, convention=convention)
        for some in (("2,4", "2") if drops is None and not alone else (drops or "2",))
    ]
    seconds = parse_seconds(run.budget)
    if planning():
        named = ("search", search), ("count", count), ("deterministic", deterministic)
        words = ["checkerboard", *(name for name, asked in named if asked)]
        if not alone:
            return _print_moment(games[0], show)
        limit = BACK_SECONDS if seconds is None and search and not deterministic else seconds
        return print_plan(" ".join(words), size, show, limit=limit)
    if search and not deterministic:
        prepare_kernels()  # of the search from the checkerboard
    began = time.perf_counter()

    def left() -> float | None:
        """Return the time that is left for all that follows."""
        return None if seconds is None else max(seconds - (time.perf_counter() - began), 0.0)

    verdicts = [
        decide(rules, tile, search=search, seconds=left(), memory=run.memory)
        for rules in games
        for tile in _colourings(colouring)
    ]
    counted, failed = None, ""
    if count and all(verdict.reachable is False for verdict in verdicts):
        counted = Tally(games[0], 0, 0, 0, 0)
    elif count:
        try:
            with counting_progress(quiet=run.quiet) as progress:
                counted = tally(games[0], seconds=left(), progress=progress)
        except ResourceError as error:  # the verdicts are still true
            failed = str(error)
    rows = [_row(verdict, counted) for verdict in verdicts]
    played = rules_text(games[0]) if len(games) == 1 else str(games[0])
    from tilebase.questions.statements import of_checkerboards

    document = of_checkerboards(verdicts, counted).as_dict() | _document(verdicts, rows)
    text = _described(rows, real=not deterministic)
    if drops is None and alone and not deterministic:
        text += "\nThese are drops of 2s only, as in the thesis: --drops 2,4 asks about the real game.\n"
    show.write(rows, document, text=text, game=played)
    if failed:
        print(f"tilebase: {failed}", file=sys.stderr)
    return 1 if failed or any(verdict.reachable is None for verdict in verdicts) else 0


def _print_moment(rules: Rules, show: Shown) -> int:
    """Print that theorems and constructions decide without a search."""
    time = "a moment: a theorem or a construction decides it, without a search"
    row = {"question": f"checkerboard {rules}", "time": time, "memory": "that of the program alone"}
    show.write([row], row, game=str(rules))
    return 0


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


def _described(rows: list[dict[str, Any]], *, real: bool) -> str:
    """Return the verdicts as a table, and below it the moves, which are long; `real`: drops are anywhere."""
    told = [
        {name: value for name, value in row.items() if name != "moves"}
        | {"drops": f"{row['drops']} (the real game)" if real and row["drops"] == "2,4" else row["drops"]}
        for row in rows
    ]
    moves = [
        f"{row['corner']} in the corners, drops of {row['drops']}:\n{row['moves']}\n"
        for row in rows
        if row["moves"]
    ]
    in_play = [row for row in rows if real and row["drops"] == "2,4"]
    answer = "; ".join(f"{row['reachable']} with a {row['corner']} in the corner" for row in in_play)
    return (
        (f"In the real game: {answer}.\n\n" if answer else "")
        + table_text(told)
        + (f"\nmoves, which tilebase reach replay plays:\n{''.join(moves)}" if moves else "")
    )


def _document(verdicts: list[Checkerboard], rows: list[dict[str, Any]]) -> dict[str, Any]:
    rules = verdicts[0].rules
    return {
        "size": str(rules),
        "convention": rules.convention,
        "checkerboards": [
            row | {"reachable": verdict.reachable, "board": verdict.rules.text(verdict.position)}
            for verdict, row in zip(verdicts, rows, strict=True)
        ],
    }
