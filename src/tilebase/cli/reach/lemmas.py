"""``tilebase reach lemmas``: check what holds for every position that a small board can reach."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from tilebase.cli.options import DEFAULT_SHOWN, ShownOptions
from tilebase.cli.output import planning
from tilebase.cli.progress import counting_progress
from tilebase.cli.reach.options import SizeArgument, print_plan
from tilebase.patterns.rules import parse_drops, parse_rules


def lemmas(
    size: SizeArgument,
    *,
    most_sum: Annotated[
        int | None,
        Parameter(
            name="--up-to", help="Play without a bound on tiles, up to this sum. Default: no 8 is made."
        ),
    ] = None,
    drops: Annotated[
        str,
        Parameter(
            help="Tiles that are dropped: 2 (the game of the thesis, whose lemmas these are) or 2,4 (the "
            "real game)."
        ),
    ] = "2",
    shown: ShownOptions = DEFAULT_SHOWN,
) -> int:
    """Check the lemmas of Edixhoven's thesis on every position that a small board can reach.

    Prints a row for each lemma: on how many occasions it was checked, on how many it fails, and the first of
    these. Exit status 1 if one fails. A lemma with no case was not tested by this board. A lemma that is not
    stated for these rules is not checked. With --drops 2,4 some lemmas have another statement: what is
    printed is what was checked.

    tilebase reach lemmas 3x3

    tilebase reach lemmas 2x3 --up-to 40
    """
    from tilebase.patterns.checking import check_lemmas

    show = shown.checked()
    if planning():
        return print_plan("lemmas", size, show)
    with counting_progress() as progress:
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
    from tilebase.questions.statements import of_lemmas

    document = of_lemmas(parse_rules(size, drops=drops), most_sum, checks).as_dict() | {
        "size": size,
        "drops": [1 << exponent for exponent in parse_drops(drops)],
        "sum": most_sum,
        "lemmas": [
            {**row, "exact_statement": check.lemma.statement} for row, check in zip(rows, checks, strict=True)
        ],
    }
    show.write(rows, document, game=f"{size} --drops {drops}")
    return int(any(check.failures for check in checks))
