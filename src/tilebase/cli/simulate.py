"""``tilebase simulate``: games played by a table's policy, against its exact value."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from tilebase.cli.options import FormatOption, OutputOption, QuietOption
from tilebase.cli.output import choose_format, write_rows
from tilebase.cli.probe import LabelOption, TableArgument
from tilebase.cli.progress import counting_progress


def simulate(
    table: TableArgument,
    *,
    games: Annotated[int, Parameter(help="How many games to play.")] = 100_000,
    seed: Annotated[int, Parameter(help="The same seed gives the same games.")] = 0,
    objective: LabelOption = None,
    form: FormatOption = None,
    output: OutputOption = None,
    quiet: QuietOption = False,
) -> int:
    """Play random games by a table's policy and compare their mean with the exact value.

    z is the difference in standard errors: beyond 4 something is wrong.

    tilebase simulate 3x3-512/ --games 100000
    """
    from tilebase import simulation

    chosen = choose_format(form, output)
    with counting_progress(quiet=quiet) as progress:
        found = simulation.simulate(table, games, seed=seed, objective=objective, progress=progress)
    title = str(found.objective)
    rows = [
        {"": "games", title: f"{found.games:,}"},
        {"": "won", title: f"{found.wins:,}"},
        {"": "slides a game", title: f"{found.slides / found.games:.6g}"},
        {"": "mean", title: f"{found.mean:.6g} ± {found.error:.2g}"},
    ]
    if found.exact is not None:
        rows += [{"": "exact", title: f"{found.exact:.12g}"}, {"": "z", title: f"{found.z:.2f}"}]
    write_rows(rows, found.as_dict(), chosen, output)
    return 0
