"""``tilebase simulate``: games played by the policy of a table, compared with its value."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import FormatOption, OutputOption, QuietOption
from tilebase.cli.output import choose_format, write_rows
from tilebase.cli.probe import LabelOption, LocalTableArgument, game_of_table
from tilebase.cli.progress import counting_progress
from tilebase.cli.startup import prepare_kernels
from tilebase.objectives.numbers import digits_text, ends_text, estimate_text


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
    """Play random games by a table's policy and compare their mean with the table's value.

    z is the difference in standard errors, beyond what rounding explains: beyond 4 something is wrong. From
    the wins follows an interval (Clopper-Pearson) that holds the probability to win with a confidence of
    99.99 %, however rare wins are; it takes the place of z where few are expected. Bounds, forced wins and
    numbers of slides that are no means have no value to compare with.

    tilebase simulate 3x3-512/ --games 100000
    """
    chosen = choose_format(form, output)
    prepare_kernels()
    from tilebase.questions import simulation

    with counting_progress(quiet=quiet) as progress:
        found = simulation.simulate(table, games, seed=seed, objective=objective, progress=progress)
    title = str(found.objective)
    rows: list[dict[str, Any]] = [
        {"": "games", title: f"{found.games:,}"},
        {"": "won", title: f"{found.wins:,}"},
        {"": "slides a game", title: digits_text(found.slides / found.games, 6)},
        {"": "mean", title: estimate_text(found.mean, found.error)},
    ]
    if found.objective.is_win:
        sure = digits_text(100 * simulation.CONFIDENCE)
        rows.append({"": f"to win, {sure} % sure", title: ends_text(*found.interval)})
    if found.value is not None:
        rows.append({"": f"table ({found.objective.dtype})", title: str(found.value)})
    if found.z is not None:
        rows.append({"": "z", title: f"{found.z:.2f}"})
    data = found.as_dict()
    if chosen in ("csv", "parquet"):
        low, high = found.interval
        value = None if found.value is None else float(found.value)
        rows = [data | {"objective": found.objective.label, "value": value, "low": low, "high": high}]
        del rows[0]["interval"]
    write_rows(rows, data, chosen, output, game=game_of_table(table))
    return 0
