"""``tilebase reach board``: can play reach a given board, and how?"""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from tilebase.cli.options import DEFAULT_SHOWN, ShownOptions, parse_budget
from tilebase.cli.output import planning
from tilebase.cli.progress import counting_progress
from tilebase.cli.reach.options import (
    DEFAULT_SEARCH,
    DropsOption,
    SearchOptions,
    SeedOption,
    rules_text,
)
from tilebase.cli.startup import prepare_kernels
from tilebase.errors import UsageError


def board(
    wanted: Annotated[str, Parameter(name="BOARD", help="Rows of tiles, 0 for an empty cell: 2,4/4,2.")],
    *,
    drops: DropsOption = "2,4",
    afterstate: Annotated[
        bool, Parameter(negative=(), help="A drop follows; otherwise the player is to move.")
    ] = False,
    seed: SeedOption = 1,
    shown: ShownOptions = DEFAULT_SHOWN,
    search: SearchOptions = DEFAULT_SEARCH,
) -> int:
    """Decide whether play can reach a board from the empty board, and print a game that ends with it.

    Both sides want it: a drop may be on any empty cell. "Cannot be reached" is proved: every position from
    which the board can be reached was listed. Exit status 1 if time or memory ran out before.

    tilebase reach board 2,4,2/4,2,4/2,4,2 --drops 2

    tilebase reach board 8,8/8,8
    """
    show = shown.checked()
    if planning():
        raise UsageError(
            "plan does not plan reach board: the number of positions that its search keeps cannot be "
            "estimated; ask it with --budget 10min, which stops it"
        )
    prepare_kernels()
    from tilebase.patterns.reach import reach as ask

    with counting_progress() as progress:
        found = ask(
            wanted, drops=drops, afterstate=afterstate, seed=seed, memory=search.memory,
            seconds=parse_budget(search.budget), progress=progress,
        )  # fmt: skip
    from tilebase.questions.statements import of_reach

    document = found.as_dict()
    row = {key: value for key, value in document.items() if key != "drops"}
    document |= of_reach(found).as_dict()
    lines = [f"{found.statement}."]
    if found.moves is not None:
        lines.append(document["moves"])
    lines.append(f"{found.positions:,} positions in {found.seconds:.1f} s")
    if found.reason and found.reachable is not None:
        lines.append(found.reason)
    text = "".join(f"{line}\n" for line in lines)
    show.write([row], document, text=text, game=rules_text(found.rules))
    if found.reachable is None:
        print(f"tilebase: {found.reason}", file=sys.stderr)
        return 1
    return 0
