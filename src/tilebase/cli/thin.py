"""``tilebase thin``: the part of a table that optimal play visits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tilebase.cli.options import ShownOptions
from tilebase.cli.output import PLANNING, plannable
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

    --visited keeps the states that optimal play visits, with probabilities that are computed, not sampled. A
    probe of such a state prints the same as with the whole table.

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
    from tilebase.tables.pruning import prune
    from tilebase.tables.thinning import Thinning
    from tilebase.tables.thinning import thin as keep_visited

    make, bound = (keep_visited, visited) if above is None else (prune, above)
    assert bound is not None
    with counting_progress() as progress:
        found = make(table, output, above=bound, objective=objective, anyway=ANYWAY.get(), progress=progress)
    told = {
        "afterstates kept, up to symmetry": f"{found.afterstates:,}",
        "afterstates before, up to symmetry": f"{found.before:,}",
    }
    if isinstance(found, Thinning):
        told = {
            "states kept, up to symmetry": f"{found.states:,}",
            "states optimal play can visit, up to symmetry": f"{found.visited:,}",
            **told,
            "probability left out": summed_text(found.left_out),
        }
    title = f"{found.objective if above is not None else 'visited:'} {digits_text(bound)} and more"
    rows = [{"": name, title: text} for name, text in told.items()]
    data = found.as_dict()
    show.write(rows, data, data=[data], game=game_of_table(table))
    return 0
