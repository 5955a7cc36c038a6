"""``tilebase reproduce``: recompute published numbers."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import DEFAULT_SHOWN, ShownOptions, parse_seconds
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
    budget: Annotated[str, Parameter(help="Longest time for one line, as 60s, 10min or 2h.")] = "60s",
    shown: ShownOptions = DEFAULT_SHOWN,
) -> int:
    """Recompute every published number, and compare.

    Prints one row a line of the fact files: what is played, published, computed, verdict, time. Lines that
    would take longer than the budget, by a rough estimate, are not run: they are listed with the estimate,
    and with the result of an earlier run if one was recorded. A number that differs because the source is
    wrong is called an erratum, with its place in docs/errata.md. Where a source leaves open what it counts,
    the number is called our own reading, and agrees with nothing. What a run costs, in seconds or nodes, is
    compared only. Exits with 1 if a number differs and nothing explains it.

    tilebase reproduce lees-miller --budget 10min
    """
    show = shown.checked()
    prepare_kernels()
    from tilebase.questions import reproduce as facts

    limit = parse_seconds(budget)
    assert limit is not None
    verdicts: list[Verdict] = []
    try:
        for verdict in facts.reproduce(source, budget=limit):
            verdicts.append(verdict)
            if sys.stderr.isatty() and not QUIET.get():
                print(f"{verdict.fact.board} {verdict.fact.question}: {verdict.verdict}", file=sys.stderr)
    finally:  # also if it is stopped
        if verdicts:
            _write(verdicts, show)
    return 1 if any(verdict.verdict == "differs" for verdict in verdicts) else 0


def _write(verdicts: list[Verdict], show: Shown) -> None:
    """Write a row for each line, and how many there are of each verdict."""
    from tilebase.questions.reproduce import summary

    rows = [_row(verdict) | {"time": _time(verdict), "see": _reference(verdict)} for verdict in verdicts]
    document = [_row(verdict) | _data(verdict, text=False) for verdict in verdicts]
    data = [_row(verdict) | _data(verdict, text=True) for verdict in verdicts]
    show.write(rows, document, data=data, game=None)
    if not QUIET.get():
        print(summary(verdicts), file=sys.stderr)


def _row(verdict: Verdict) -> dict[str, Any]:
    fact = verdict.fact
    return {
        "line": f"{fact.file}:{fact.number}", "board": fact.board, "question": fact.question,
        "published": fact.stated, "computed": verdict.computed, "verdict": verdict.verdict,
    }  # fmt: skip


def _reference(verdict: Verdict) -> str:
    """Return where the reader of a row finds more: the page, and the run that was recorded."""
    run = "" if verdict.record is None else f"{verdict.record.command} ({verdict.record.date})"
    place = f"own reading, {verdict.fact.place}" if verdict.fact.reading else verdict.fact.place
    return "; ".join(filter(None, (place, run)))


def _data(verdict: Verdict, *, text: bool) -> dict[str, Any]:
    """Return what a table has no space for; the game as text or as its identity."""
    record, game = verdict.record, verdict.game
    ran = verdict.verdict not in NOT_RUN
    return {
        "seconds": round(verdict.seconds, 2) if ran else None,
        "estimated_seconds": None if ran or verdict.seconds == math.inf else round(verdict.seconds, 1),
        "relation": verdict.fact.relation, "note": verdict.fact.note,
        "erratum": verdict.fact.erratum[0] if verdict.fact.erratum else None,
        "recorded_by": record and record.command, "recorded_on": record and record.date,
        "recorded_version": record and record.version,
        "game": None if game is None else game_text(game) if text else game.identity,
    }  # fmt: skip


NOT_RUN = ("recorded", "over budget", "not in this version")


def _time(verdict: Verdict) -> str:
    if verdict.verdict == "not in this version":
        return ""
    if verdict.seconds == math.inf:
        return "does not fit here"
    about = "about " if verdict.verdict in NOT_RUN else ""
    return about + (clock(verdict.seconds) if verdict.seconds >= 60 else f"{verdict.seconds:.2f} s")
