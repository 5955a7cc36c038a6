"""``tilebase pattern fill``: fill a board with 2s and 4s."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from tilebase.cli.options import (
    FormatOption,
    OutputOption,
    PlanHereOption,
    QuietOption,
    TimeOption,
    parse_budget,
)
from tilebase.cli.output import choose_format, write_rows
from tilebase.cli.pattern.options import SizeArgument, print_plan
from tilebase.cli.progress import counting_progress
from tilebase.cli.startup import prepare_kernels


def fill(
    size: SizeArgument,
    *,
    seed: Annotated[int, Parameter(help="Of the random choices: the same seed gives the same game.")] = 1,
    budget: TimeOption = None,
    plan: PlanHereOption = False,
    form: FormatOption = None,
    output: OutputOption = None,
    quiet: QuietOption = False,
) -> int:
    """Print a game that fills a board with 2s and 4s: drops of 2s, and no 8 is ever made.

    That no such game exists is an answer, too. Exit status 1 if none was found.

    tilebase pattern fill 6x6

    tilebase pattern fill 10x10 --seed 2
    """
    chosen = choose_format(form, output)
    if plan:
        return print_plan("fill", size, chosen, output)
    prepare_kernels()
    from tilebase.patterns.filling import fill_board

    with counting_progress(quiet=quiet) as progress:
        found = fill_board(size, seed=seed, seconds=parse_budget(budget), progress=progress)
    document = found.as_dict()
    if chosen != "table" or output is not None:
        write_rows([document], document, chosen, output, game=str(found.rules))
    else:
        print(f"{found.statement}.")
        if found.moves is not None:
            print(document["board"].replace("/", "\n"))
            print(document["moves"])
        elif found.possible is False:
            print(found.reason)
    if found.possible is None:
        print(f"tilebase: {found.reason}", file=sys.stderr)
        return 1
    return 0
