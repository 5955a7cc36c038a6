"""``tilebase reproduce``: recompute published numbers."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import ShownOptions, parse_seconds
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
    budget: Annotated[str, Parameter(help="Longest time for one line, such as 60s, 10min or 2h.")] = "60s",
    shown: ShownOptions = ShownOptions(),
) -> int:
    """Recompute every published number, and compare.

    Prints one row a line of the fact files: what is played, published, computed, verdict, time. Lines that
    would take longer than the budget, by a rough estimate, are not run, and most that take longer all the
    same are stopped: they are listed with the time, and with the result of an earlier run if one was
    recorded. A number that differs because the source is wrong is called an erratum, with its place in
    docs/errata.md. Where a source leaves open what it counts, the number is called our own reading, and
    agrees with nothing. What a run costs, in seconds or nodes, is compared only. Exits with 1 if a number
    differs and nothing explains it.

    tilebase reproduce lees-miller --budget 10min
    """
    show = shown.checked()
    prepare_kernels()
    from tilebase.claims.facts import read_claims
    from tilebase.questions import reproduce as questions

    limit = parse_seconds(budget)
    assert limit is not None
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
