"""``tilebase simulate``: games played by the policy of a table, compared with its exact value."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import FormatOption, OutputOption, QuietOption
from tilebase.cli.output import choose_format, write_rows
from tilebase.cli.probe import LabelOption, LocalTableArgument, game_of_table
from tilebase.cli.progress import counting_progress
from tilebase.cli.startup import prepare_kernels
from tilebase.objectives.values import number_text


def simulate(
    table: LocalTableArgument,
    *,
    games: Annotated[int, Parameter(help="How many games to play.")] = 100_000,
    seed: Annotated[int, Parameter(help="The same seed gives the same games.")] = 0,
    objective: LabelOption = None,
    form: FormatOption = None,
    output: OutputOption = None,
    quiet: QuietOption = False,
) -> int:
    """Play random games by a table's policy and compare their mean with the exact value.

    z is the difference in standard errors: beyond 4 something is wrong. Bounds, forced wins and
    numbers of slides that are no means have no exact value to compare with.

    tilebase simulate 3x3-512/ --games 100000
    """
    chosen = choose_format(form, output)
    prepare_kernels()
    from tilebase.questions import simulation

    with counting_progress(quiet=quiet) as progress:
        found = simulation.simulate(table, games, seed=seed, objective=objective, progress=progress)
    title = str(found.objective)
    error = "" if found.error is None else f" ± {found.error:.2g}"
    rows: list[dict[str, Any]] = [
        {"": "games", title: f"{found.games:,}"},
        {"": "won", title: f"{found.wins:,}"},
        {"": "slides a game", title: f"{found.slides / found.games:.6g}"},
        {"": "mean", title: f"{found.mean:.6g}{error}"},
    ]
    if found.exact is not None:
        rows.append({"": "exact", title: number_text(found.exact)})
    if found.z is not None:
        rows.append({"": "z", title: f"{found.z:.2f}"})
    data = found.as_dict()
    if chosen in ("csv", "parquet"):
        rows = [data | {"objective": found.objective.label}]
    write_rows(rows, data, chosen, output, game=game_of_table(table))
    return 0
