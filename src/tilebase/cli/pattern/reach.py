"""``tilebase pattern reach``: can play reach a given board, and how?"""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from tilebase.cli.options import FormatOption, OutputOption, parse_budget
from tilebase.cli.output import choose_format, write_rows
from tilebase.cli.pattern.options import (
    DEFAULT_SEARCH,
    DropsOption,
    SearchOptions,
    SeedOption,
    rules_text,
)
from tilebase.cli.progress import counting_progress
from tilebase.cli.startup import prepare_kernels


def reach(
    board: Annotated[str, Parameter(help="Rows of tiles, 0 for an empty cell: 2,4/4,2.")],
    *,
    drops: DropsOption = "2,4",
    afterstate: Annotated[
        bool, Parameter(negative=(), help="A drop follows; otherwise the player is to move.")
    ] = False,
    seed: SeedOption = 1,
    form: FormatOption = None,
    output: OutputOption = None,
    search: SearchOptions = DEFAULT_SEARCH,
) -> int:
    """Decide whether play can reach a board from the empty board, and print a game that ends with it.

    Both sides want it: a drop may be on any empty cell. "Cannot be reached" is proved: every position from
    which the board can be reached was listed. Exit status 1 if time or memory ran out before.

    tilebase pattern reach 2,4,2/4,2,4/2,4,2 --drops 2

    tilebase pattern reach 8,8/8,8
    """
    chosen = choose_format(form, output)
    prepare_kernels()
    from tilebase.patterns.reach import reach as ask

    with counting_progress(quiet=search.quiet) as progress:
        found = ask(
            board, drops=drops, afterstate=afterstate, seed=seed, memory=search.memory,
            seconds=parse_budget(search.budget), progress=progress,
        )  # fmt: skip
    document = found.as_dict()
    if chosen != "table" or output is not None:
        row = {key: value for key, value in document.items() if key != "drops"}
        write_rows([row], document, chosen, output, game=rules_text(found.rules))
    else:
        print(f"{found.statement}.")
        if found.moves is not None:
            print(document["moves"])
        print(f"{found.positions:,} positions in {found.seconds:.1f} s")
    if found.reachable is None:
        print(f"tilebase: {found.reason}", file=sys.stderr)
        return 1
    if found.reason and chosen == "table" and output is None:
        print(found.reason)
    return 0
