"""``tilebase thin``: the part of a table that optimal play visits."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import FormatOption, QuietOption
from tilebase.cli.output import choose_format, write_rows
from tilebase.cli.probe import LabelOption, LocalTableArgument
from tilebase.cli.progress import counting_progress
from tilebase.cli.startup import prepare_kernels


def thin(
    table: LocalTableArgument,
    *,
    above: Annotated[float, Parameter(help="Keep states visited with at least this probability: 1e-7.")],
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="A new folder for the smaller table.")],
    objective: LabelOption = None,
    form: FormatOption = None,
    quiet: QuietOption = False,
) -> int:
    """Write a smaller table of the states that optimal play visits, and say what is left out.

    The probability of a visit is computed exactly, forward over the layers. Probing a state that
    was kept says all that the whole table says.

    tilebase thin 3x3-512/ --above 1e-7 -o 3x3-512-thin/
    """
    chosen = choose_format(form, None)
    prepare_kernels()
    from tilebase.questions import thinning

    with counting_progress(quiet=quiet) as progress:
        found = thinning.thin(table, output, above=above, objective=objective, progress=progress)
    title = f"above {above:g}"
    rows: list[dict[str, Any]] = [
        {"": "states kept", title: f"{found.states:,}"},
        {"": "states optimal play can visit", title: f"{found.visited:,}"},
        {"": "afterstates kept", title: f"{found.afterstates:,}"},
        {"": "afterstates before", title: f"{found.before:,}"},
        {"": "probability left out", title: f"{found.left_out:.6g}"},
    ]
    data = found.as_dict()
    write_rows([data] if chosen in ("csv", "parquet") else rows, data, chosen, None)
    return 0
