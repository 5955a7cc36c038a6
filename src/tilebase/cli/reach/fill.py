"""``tilebase reach fill``: fill a board with 2s and 4s."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from tilebase.cli.options import (
    DEFAULT_SHOWN,
    ShownOptions,
    TimeOption,
    parse_budget,
    parse_seconds,
)
from tilebase.cli.output import planning
from tilebase.cli.progress import counting_progress
from tilebase.cli.reach.options import SizeArgument, print_plan
from tilebase.cli.startup import prepare_kernels


def fill(
    size: SizeArgument,
    *,
    seed: Annotated[int, Parameter(help="Of the random choices: the same seed gives the same game.")] = 1,
    budget: TimeOption = None,
    shown: ShownOptions = DEFAULT_SHOWN,
) -> int:
    """Print a game that fills a board with 2s and 4s: drops of 2s, and no 8 is ever made.

    That no such game exists is an answer, too. Exit status 1 if none was found.

    tilebase reach fill 6x6

    tilebase reach fill 10x10 --seed 2
    """
    show = shown.checked()
    if planning():
        return print_plan("fill", size, show, limit=parse_seconds(budget))
    prepare_kernels()
    from tilebase.patterns.filling import fill_board

    with counting_progress() as progress:
        found = fill_board(size, seed=seed, seconds=parse_budget(budget), progress=progress)
    from tilebase.questions.statements import of_filled

    document = found.as_dict()
    lines = [f"{found.statement}."]
    if found.moves is not None:
        lines += [*document["board"].split("/"), document["moves"]]
    elif found.possible is False:
        lines.append(found.reason)
    text = "".join(f"{line}\n" for line in lines)
    show.write([document], document | of_filled(found).as_dict(), text=text, game=str(found.rules))
    if found.possible is None:
        print(f"tilebase: {found.reason}", file=sys.stderr)
        return 1
    return 0
