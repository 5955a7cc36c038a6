"""``tilebase evaluate``: the value of a policy, computed and not sampled."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import (
    DEFAULT_ESTIMATED_RUN,
    EstimatedRunOptions,
    FormatOption,
    OutputOption,
    PlanHereOption,
)
from tilebase.cli.output import choose_format, write_rows
from tilebase.cli.probe import LabelOption, LocalTableArgument, game_of_table
from tilebase.cli.progress import counting_progress
from tilebase.cli.startup import prepare_kernels
from tilebase.objectives.numbers import digits_text


def evaluate(
    table: LocalTableArgument,
    policy: Annotated[
        str,
        Parameter(
            help="random, greedy, the folder of another table of the same game, or module:function, which "
            "runs the code of that module, from the current folder too."
        ),
    ],
    *,
    objective: LabelOption = None,
    states: Annotated[
        int, Parameter(help="Refuse a function that can reach more states: each takes about 1 kB of memory.")
    ] = 2_000_000,
    games: Annotated[
        int | None,
        Parameter(help="Play so many random games with a function, for a mean and its standard error."),
    ] = None,
    seed: Annotated[int, Parameter(help="The same seed gives the same games.")] = 0,
    form: FormatOption = None,
    output: OutputOption = None,
    plan: PlanHereOption = False,
    run: EstimatedRunOptions = DEFAULT_ESTIMATED_RUN,
) -> int:
    """Compute the value of a policy, without playing games, and what it loses against optimal play.

    A function takes a tilebase.Board and returns a direction, or directions with probabilities;
    it is evaluated in plain Python over the states that it can reach. Where these are too many, --games
    plays random games instead.

    tilebase evaluate 3x3-512/ random

    tilebase evaluate 3x3-512/ agent:corner --games 1000
    """
    chosen = choose_format(form, output)
    prepare_kernels()
    from tilebase.questions import policies

    if plan:
        from tilebase.runtime.resources import Allowance
        from tilebase.tables.probe import open_table

        with open_table(table) as opened:
            guide, allowed = policies.find_policy(policy), Allowance.of(**run.use())
            row = policies.expected_cost(opened, guide, allowed, states, games).row()
        write_rows([row], row, chosen, output, game=game_of_table(table))
        return 0
    with counting_progress(quiet=run.quiet) as progress:
        found = policies.evaluate(
            table, policy, objective=objective, states=states, games=games, seed=seed,
            **run.use(progress),
        )  # fmt: skip
    title = str(found.objective)
    rows: list[dict[str, Any]] = [
        {"": found.policy, title: found.text},
        {"": "optimal", title: digits_text(found.optimum, found.objective.type.digits)},
        {"": "regret", title: found.regret_text},
    ]
    if found.games is not None:
        rows.append({"": "games", title: f"{found.games:,}"})
    if found.states is not None:
        rows.append({"": "states reached", title: f"{found.states:,}"})
    data = found.as_dict()
    if chosen in ("csv", "parquet"):
        rows = [data | {"objective": found.objective.label}]
    write_rows(rows, data, chosen, output, game=game_of_table(table))
    return 0
