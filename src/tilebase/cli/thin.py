"""``tilebase thin``: the part of a table that optimal play visits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import AnywayOption, FormatOption, PlanHereOption, QuietOption
from tilebase.cli.output import choose_format, write_rows
from tilebase.cli.probe import LabelOption, LocalTableArgument, game_of_table
from tilebase.cli.progress import counting_progress
from tilebase.cli.startup import prepare_kernels
from tilebase.errors import UsageError
from tilebase.objectives.numbers import digits_text, short_number


def thin(
    table: LocalTableArgument,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="A new folder for the smaller table.")],
    above: Annotated[
        float | None, Parameter(help="Keep states visited with at least this probability: 1e-7.")
    ] = None,
    least_value: Annotated[
        float | None, Parameter(help="Keep boards of at least this value instead, whoever visits them: 0.5.")
    ] = None,
    objective: LabelOption = None,
    plan: PlanHereOption = False,
    form: FormatOption = None,
    anyway: AnywayOption = False,
    quiet: QuietOption = False,
) -> int:
    """Write a smaller table, and say what is left out.

    With --above: the states that optimal play visits. The probability of a visit is computed exactly,
    forward over the layers. Probing a state that was kept says all that the whole table says.

    With --least-value: the boards that are worth at least so much. Probing another board says that its
    value is below. tilebase solve --above writes such a table at once.

    tilebase thin 3x3-512/ --above 1e-7 -o 3x3-512-thin/

    tilebase thin 3x3-512/ --least-value 0.5 -o 3x3-512-half/
    """
    if (above is None) == (least_value is None):
        raise UsageError("say what to keep: give --above or --least-value, one of the two")
    chosen = choose_format(form, None)
    prepare_kernels()
    if plan:
        return _print_plan(table, chosen, visits=above is not None)
    if least_value is not None:
        return _prune(table, output, least_value, objective, chosen, quiet=quiet, anyway=anyway)
    assert above is not None
    from tilebase.questions import thinning

    with counting_progress(quiet=quiet) as progress:
        found = thinning.thin(
            table, output, above=above, objective=objective, anyway=anyway, progress=progress
        )
    title = f"above {digits_text(above)}"
    rows: list[dict[str, Any]] = [
        {"": "states kept", title: f"{found.states:,}"},
        {"": "states optimal play can visit", title: f"{found.visited:,}"},
        {"": "afterstates kept", title: f"{found.afterstates:,}"},
        {"": "afterstates before", title: f"{found.before:,}"},
        {"": "probability left out", title: short_number(found.left_out, "probability")},
    ]
    data, game = found.as_dict(), game_of_table(table)
    write_rows([data] if chosen in ("csv", "parquet") else rows, data, chosen, None, game=game)
    return 0


def _print_plan(table: str, form: str, *, visits: bool) -> int:
    from tilebase.costs.tables import thinning
    from tilebase.questions.policies import afterstate_counts
    from tilebase.tables.probe import open_table

    with open_table(table) as opened:
        sizes = afterstate_counts(opened)
        row = thinning(opened.game, sizes, opened.objectives, visits=visits).row()
    write_rows([row], row, form, None, game=game_of_table(table))
    return 0


def _prune(
    table: str, output: Path, bound: float, objective: str | None, form: str, *, quiet: bool, anyway: bool
) -> int:
    from tilebase.questions.pruning import prune

    with counting_progress(quiet=quiet) as progress:
        found = prune(table, output, above=bound, objective=objective, anyway=anyway, progress=progress)
    title = f"{found.objective} {digits_text(bound)} and more"
    rows: list[dict[str, Any]] = [
        {"": "afterstates kept", title: f"{found.afterstates:,}"},
        {"": "afterstates before", title: f"{found.before:,}"},
    ]
    data = found.as_dict()
    write_rows([data] if form in ("csv", "parquet") else rows, data, form, None, game=game_of_table(table))
    return 0
