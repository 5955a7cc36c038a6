"""``tilebase thin``: the part of a table that optimal play visits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import ShownOptions
from tilebase.cli.output import PLANNING, Shown, plannable
from tilebase.cli.probe import LabelOption, LocalTableArgument, game_of_table
from tilebase.cli.progress import counting_progress, prepare_kernels
from tilebase.errors import UsageError
from tilebase.objectives.numbers import digits_text, summed_text
from tilebase.runtime.measured import ANYWAY


@plannable
def thin(
    table: LocalTableArgument,
    *,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="A new folder for the smaller table.")],
    visited: Annotated[
        float | None,
        Parameter(help="Keep states that optimal play visits with at least this probability: 1e-7."),
    ] = None,
    above: Annotated[
        float | None, Parameter(help="Keep boards of at least this value, visited or not: 0.5.")
    ] = None,
    objective: LabelOption = None,
    shown: ShownOptions = ShownOptions(),
) -> int:
    """Write a smaller table, and print what it omits.

    --visited keeps the states that optimal play visits, with probabilities computed exactly. A probe of such
    a state prints the same as with the whole table.

    --above keeps the boards that are worth at least a value. A probe of another board prints that its value
    is below. tilebase solve --above writes such a table at once.

    tilebase thin 3x3-512/ --visited 1e-7 -o 3x3-512-thin/

    tilebase thin 3x3-512/ --above 0.5 -o 3x3-512-half/
    """
    if (above is None) == (visited is None):
        raise UsageError("say what to keep: give --visited 0.01 or --above 0.5, one of the two")
    show = shown.checked()
    prepare_kernels()
    if PLANNING.get():
        from tilebase.costs.reachable import thinning as expected
        from tilebase.tables.probe import afterstate_counts, open_table

        with open_table(table) as opened:
            sizes, by_visits = afterstate_counts(opened), visited is not None
            row = expected(opened.game, sizes, opened.objectives, visits=by_visits).row()
        return show.plan(row, game=opened.game)
    if above is not None:
        return _prune(table, output, above, objective, show)
    assert visited is not None
    from tilebase.tables import thinning

    with counting_progress() as progress:
        found = thinning.thin(
            table, output, above=visited, objective=objective, anyway=ANYWAY.get(), progress=progress
        )
    title = f"visited: {digits_text(visited)} and more"
    rows: list[dict[str, Any]] = [
        {"": "states kept, up to symmetry", title: f"{found.states:,}"},
        {"": "states optimal play can visit, up to symmetry", title: f"{found.visited:,}"},
        {"": "afterstates kept, up to symmetry", title: f"{found.afterstates:,}"},
        {"": "afterstates before, up to symmetry", title: f"{found.before:,}"},
        {"": "probability left out", title: summed_text(found.left_out)},
    ]
    data, game = found.as_dict(), game_of_table(table)
    show.write(rows, data, data=[data], game=game)
    return 0


def _prune(table: str, output: Path, bound: float, objective: str | None, show: Shown) -> int:
    from tilebase.tables.pruning import prune

    with counting_progress() as progress:
        found = prune(table, output, above=bound, objective=objective, anyway=ANYWAY.get(), progress=progress)
    title = f"{found.objective} {digits_text(bound)} and more"
    rows: list[dict[str, Any]] = [
        {"": "afterstates kept, up to symmetry", title: f"{found.afterstates:,}"},
        {"": "afterstates before, up to symmetry", title: f"{found.before:,}"},
    ]
    data = found.as_dict()
    show.write(rows, data, data=[data], game=game_of_table(table))
    return 0
