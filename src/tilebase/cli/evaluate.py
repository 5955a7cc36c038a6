"""``tilebase evaluate``: the value of a policy, computed and not sampled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
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
    distribution: Annotated[
        str | None,
        Parameter(help="Print how games end instead: tile, length and score, several with commas."),
    ] = None,
    resolution: Annotated[
        int, Parameter(help="So many lengths or scores share a row of a distribution.")
    ] = 1,
    meets: Annotated[
        list[str] | None,
        Parameter(
            negative=(), help="A board: print the probability that a game comes to it; may be repeated."
        ),
    ] = None,
    picture: Annotated[
        Path | None, Parameter(help="File for a picture of the distributions: .svg, .pdf, .eps or .png.")
    ] = None,
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

    tilebase evaluate 3x3-score/ 3x3-score/ --distribution tile,score --resolution 100
    """
    chosen = choose_format(form, output)
    prepare_kernels()
    if distribution is not None or meets:
        return _print_distributions(
            table, policy, distribution, meets or [], resolution, picture, objective, states,
            chosen, output, run,
        )  # fmt: skip
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


def _print_distributions(
    table: str,
    policy: str,
    names: str | None,
    boards: Sequence[str],
    resolution: int,
    picture: Path | None,
    objective: str | None,
    states: int,
    form: str,
    output: Path | None,
    run: EstimatedRunOptions,
) -> int:
    """Print how games end, and the probabilities to meet boards; draw the distributions if asked."""
    from tilebase.game.names import title_of
    from tilebase.questions.distributions import distributions
    from tilebase.questions.plots import check_request, plot_distributions
    from tilebase.tables.probe import open_table

    if picture is not None:
        check_request(picture)
    with counting_progress(quiet=run.quiet) as progress, open_table(table) as opened:
        found = distributions(
            opened, policy, of=names.split(",") if names else (), resolution=resolution, boards=boards,
            objective=objective, states=states, **run.use(progress),
        )  # fmt: skip
        game = opened.game
    rows = [row for one in found.of.values() for row in one.rows()]
    rows += [
        {"of": "meets", "value": board, "probability": p, "at_least": p} for board, p in found.meets.items()
    ]
    if form == "table":
        rows = [
            row | {name: digits_text(row[name], 9) for name in ("probability", "at_least")} for row in rows
        ]
    write_rows(rows, found.as_dict(), form, output, game=game)
    if picture is not None:
        plot_distributions(list(found.of.values()), picture, f"{title_of(game)}, by {found.policy}")
    return 0
