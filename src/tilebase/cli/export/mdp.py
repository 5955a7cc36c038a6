"""``tilebase export mdp``: the decision process of a small game, for the model checker PRISM."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tilebase.cli.options import DEFAULT_GAME, GameOptions, solved_first
from tilebase.cli.probe import game_of_table
from tilebase.cli.progress import counting_progress, prepare_kernels
from tilebase.errors import UsageError
from tilebase.runtime.measured import ANYWAY


def mdp(
    what: Annotated[
        tuple[str, ...],
        Parameter(help="A table, whose game is taken; or a shape and a goal, or with --formation a goal."),
    ] = (),
    /,
    *,
    game: GameOptions = DEFAULT_GAME,
    output: Annotated[
        Path,
        Parameter(
            name=["--output", "-o"], help="A new folder, or one of an earlier call, which is replaced."
        ),
    ],
) -> int:
    """Write the decision process of a small game for the model checker PRISM.

    The states up to symmetry, their slides, and what each leads to, in its explicit format: mdp.sta,
    mdp.tra and mdp.lab. State 0 draws the start. The labels are init, win and lose.

    tilebase export mdp 2x2 32 -o 2x2-32-mdp/

    tilebase export mdp 2x3-64/ -o 2x3-64-mdp/
    """
    question = solved_first(what, game)
    if question is None:
        if len(what) != 1:
            raise UsageError("name one table, or a shape and a goal, as 2x2 32")
        question = game_of_table(what[0])
    prepare_kernels()
    from tilebase.questions.prism import export_mdp

    with counting_progress() as progress:
        found = export_mdp(question, output, anyway=ANYWAY.get(), progress=progress)
    print(
        f"{output}: {found.states:,} states up to symmetry, {found.choices:,} choices, "
        f"{found.transitions:,} transitions"
    )
    return 0
