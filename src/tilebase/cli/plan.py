"""``tilebase plan``: time, memory and disk of solving every board within the limits."""

from __future__ import annotations

from dataclasses import replace

from tilebase.cli.options import (
    DEFAULT_GAME,
    DEFAULT_USE,
    FormatOption,
    GameOptions,
    GoalArgument,
    OutputOption,
    ShapeOrGoal,
    UseOptions,
    make_game,
)
from tilebase.cli.output import choose_format, write_rows
from tilebase.cli.progress import showing_notes
from tilebase.cli.solve import ObjectiveOption
from tilebase.errors import UsageError
from tilebase.objectives.objective import parse_objectives
from tilebase.runtime.resources import Allowance, parse_bytes


def plan(
    shape: ShapeOrGoal = "",
    goal: GoalArgument = None,
    *,
    game: GameOptions = DEFAULT_GAME,
    objective: ObjectiveOption = "win",
    form: FormatOption = None,
    output: OutputOption = None,
    use: UseOptions = DEFAULT_USE,
) -> int:
    """Print what a pass over all boards within the limits would take on some machines; nothing is solved.

    Such a pass is what tilebase prove does within limits (objective lower or upper), tilebase force with
    --engine dense (objective guaranteed), and tilebase solve with --space all. Counting and solving what play
    reaches needs no such pass: tilebase count and solve say with --plan what they take.

    tilebase plan 3x4 512 --limits 256,128,64,64/64,64,64,64/64,64,64,64 --objective lower:uint32
    """
    question = make_game(shape, goal, game)
    chosen = choose_format(form, output)
    objectives = parse_objectives(objective)
    if len(objectives) > 1:
        raise UsageError(f"a plan is for one objective: choose one of {objective}")
    objectives[0].check(question)
    from tilebase.costs import machines

    allowed = Allowance.of(threads=use.threads)
    if (asked := parse_bytes(use.memory)) is not None:  # also more than this machine has
        allowed = replace(allowed, memory=asked)
    with showing_notes():
        rows = machines.rows(question, objectives[0], allowed)
    write_rows(rows, rows, chosen, output, game=question)
    return 0
