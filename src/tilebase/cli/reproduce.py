"""``tilebase reproduce``: recompute published numbers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tilebase.cli.options import FormatOption, OutputOption, parse_seconds
from tilebase.cli.output import choose_format, write_rows
from tilebase.cli.startup import prepare_kernels
from tilebase.runtime.progress import clock

if TYPE_CHECKING:
    from tilebase.questions.reproduce import Verdict


def reproduce(
    source: Annotated[
        str | None, Parameter(help="lees-miller, slizkov, edixhoven or endgames; all if left out.")
    ] = None,
    *,
    budget: Annotated[str, Parameter(help="Longest time for one line, as 60s, 10min or 2h.")] = "60s",
    form: FormatOption = None,
    output: OutputOption = None,
) -> int:
    """Recompute every published number that this version can, and compare.

    Prints one row a line of the fact files: published, computed, verdict, seconds. Lines that
    would take longer than the budget, by a rough estimate, are listed with the estimate.
    Exits with 1 if a number differs.

    tilebase reproduce lees-miller --budget 10min
    """
    chosen = choose_format(form, output)
    prepare_kernels()
    from tilebase.questions import reproduce as facts

    limit = parse_seconds(budget)
    assert limit is not None
    verdicts = []
    for verdict in facts.reproduce(source, budget=limit):
        verdicts.append(verdict)
        if sys.stderr.isatty():
            print(f"{verdict.fact.question}: {verdict.verdict}", file=sys.stderr)
    rows = [
        {
            "line": f"{verdict.fact.file}:{verdict.fact.number}",
            "question": verdict.fact.question,
            "published": verdict.fact.published,
            "computed": verdict.computed,
            "verdict": verdict.verdict,
            "time": _time(verdict),
        }
        for verdict in verdicts
    ]
    write_rows(rows, rows, chosen, output, game=None)
    print(facts.summary(verdicts), file=sys.stderr)
    return 1 if any(verdict.verdict == "differs" for verdict in verdicts) else 0


def _time(verdict: Verdict) -> str:
    about = "about " if verdict.verdict == "over budget" else ""
    return about + (clock(verdict.seconds) if verdict.seconds >= 60 else f"{verdict.seconds:.2f} s")
