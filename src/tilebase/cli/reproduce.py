"""``tilebase reproduce``: recompute published numbers."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import ShownOptions, parse_time
from tilebase.cli.output import Shown
from tilebase.cli.progress import prepare_kernels
from tilebase.game.names import game_text
from tilebase.runtime.measured import QUIET, clock

if TYPE_CHECKING:
    from tilebase.questions.reproduce import Verdict


def reproduce(
    source: Annotated[
        str | None,
        Parameter(
            help="lees-miller, slizkov, edixhoven, endgames, yamashita, dabish or galebach. Default: all."
        ),
    ] = None,
    *,
    budget: Annotated[str, Parameter(help="Longest time for one number, such as 60s, 10min or 2h.")] = "60s",
    shown: ShownOptions = ShownOptions(),
) -> int:
    """Recompute published numbers, and compare them.

    Prints a row for each published number: the game, the published and the computed number, the verdict and
    the time. A number that is estimated to take longer than the budget is not computed, and most runs that
    exceed it are stopped. These rows have the time, and the recorded result of an earlier run, if there is
    one. If a number differs because the source is wrong, the verdict is erratum, with a link to
    docs/errata.md. If the source leaves open what it counts, the verdict is our own reading. Times and
    numbers of nodes are compared without a verdict on the source. If a number differs without an explanation,
    the exit status is 1.

    tilebase reproduce lees-miller --budget 10min
    """
    show = shown.checked()
    prepare_kernels()
    from tilebase.claims.facts import read_claims
    from tilebase.questions import reproduce as questions

    limit = parse_time(budget)
    if not QUIET.get():
        lines = len(read_claims(source))
        print(f"{lines} lines, each of at most {budget}; Ctrl-C prints what is done", file=sys.stderr)
    verdicts: list[Verdict] = []
    try:
        for verdict in questions.reproduce(source, budget=limit):
            verdicts.append(verdict)
            if sys.stderr.isatty() and not QUIET.get():
                claim = verdict.claim
                print(f"{claim.board} {claim.question}: {verdict.verdict}", file=sys.stderr)
    finally:  # also if it is stopped
        if verdicts:
            _write(verdicts, show)
            if not QUIET.get():
                print(questions.summary(verdicts), file=sys.stderr)
    return 1 if any(verdict.verdict == "differs" for verdict in verdicts) else 0


def _write(verdicts: list[Verdict], show: Shown) -> None:
    """Write a row for each line; a record has what a table has no space for."""
    rows, document, data = [], [], []
    for one in verdicts:
        claim = one.claim
        row = {
            "line": f"{claim.file}:{claim.number}", "board": claim.board, "question": claim.question,
            "published": claim.stated, "computed": one.computed, "verdict": one.verdict,
        }  # fmt: skip
        place = f"own reading, {claim.place}" if claim.is_reading else claim.place
        run = f"{one.record['command']} ({one.record['date']})" if one.record else ""
        rows.append(row | {"time": _time(one), "see": "; ".join(filter(None, (place, run)))})
        ran = one.verdict not in NOT_RUN
        more: dict[str, Any] = row | {
            "seconds": round(one.seconds, 2) if ran else None,
            "estimated_seconds": None if ran or one.seconds == math.inf else round(one.seconds, 1),
            "relation": claim.relation, "note": claim.note, "erratum": claim.place if claim.right else None,
            "recorded_by": one.record.get("command"), "recorded_on": one.record.get("date"),
            "recorded_version": one.record.get("version"),
        }  # fmt: skip
        document.append(more | {"game": one.game and one.game.identity})
        data.append(more | {"game": one.game and game_text(one.game)})
    show.write(rows, document, data=data, game=None)


NOT_RUN = ("recorded", "over budget", "not in this version")


def _time(verdict: Verdict) -> str:
    if verdict.verdict == "not in this version":
        return ""
    if verdict.seconds == math.inf:
        return "does not fit here"
    about = "about " if verdict.verdict in NOT_RUN else ""
    return about + (clock(verdict.seconds) if verdict.seconds >= 60 else f"{verdict.seconds:.2f} s")
