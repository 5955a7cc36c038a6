"""``tilebase pattern lemmas``: check what holds for every position that a small board can reach."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from tilebase.cli.options import FormatOption, OutputOption, PlanHereOption, QuietOption
from tilebase.cli.output import choose_format, write_rows
from tilebase.cli.pattern.options import DropsOption, SizeArgument, print_plan
from tilebase.cli.progress import counting_progress
from tilebase.patterns.rules import parse_drops


def lemmas(
    size: SizeArgument,
    *,
    most_sum: Annotated[
        int | None,
        Parameter(
            name="--sum", help="Play without a bound on tiles, up to this sum. Left out: no 8 is made."
        ),
    ] = None,
    drops: DropsOption = "2",
    plan: PlanHereOption = False,
    form: FormatOption = None,
    output: OutputOption = None,
    quiet: QuietOption = False,
) -> int:
    """Check the lemmas of Edixhoven's thesis on every position that a small board can reach.

    Prints a row for each lemma: on how many occasions it was checked, on how many it fails, and the first of
    these. Exit status 1 if one fails. A lemma with no case was not tested by this board. A lemma that is not
    stated for these rules is not checked. With --drops 2,4 some lemmas have another statement: what is
    printed is what was checked.

    tilebase pattern lemmas 3x3

    tilebase pattern lemmas 2x3 --sum 40
    """
    from tilebase.patterns.checking import check_lemmas

    chosen = choose_format(form, output)
    if plan:
        return print_plan("lemmas", size, chosen, output)
    with counting_progress(quiet=quiet) as progress:
        checks = check_lemmas(size, drops=drops, most_sum=most_sum, progress=progress)
    rows = [
        {
            "lemma": check.lemma.number,
            "statement": check.title,
            "checked": check.checked,
            "failures": check.failures,
            "verdict": check.verdict,
            "first": check.first,
        }
        for check in checks
    ]
    document = {
        "size": size,
        "drops": [1 << exponent for exponent in parse_drops(drops)],
        "sum": most_sum,
        "lemmas": [
            {**row, "exact_statement": check.lemma.statement} for row, check in zip(rows, checks, strict=True)
        ],
    }
    write_rows(rows, document, chosen, output, game=f"{size} --drops {drops}")
    return int(any(check.failures for check in checks))
