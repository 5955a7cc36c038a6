"""``tilebase export-page``: a folder with a page that plays a table, for any web host."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import FormatOption, QuietOption
from tilebase.cli.output import choose_format, write_rows
from tilebase.cli.probe import LabelOption, LocalTableArgument, game_of_table
from tilebase.cli.progress import counting_progress
from tilebase.cli.startup import prepare_kernels
from tilebase.objectives.numbers import byte_text, short_number


def export_page(
    table: LocalTableArgument,
    *,
    output: Annotated[
        Path,
        Parameter(name=["--output", "-o"], help="A new folder, or an exported page, which is replaced."),
    ],
    objective: LabelOption = None,
    values: Annotated[
        bool, Parameter(negative=(), help="Also the value of each state, within about 5 %: twice the size.")
    ] = False,
    anyway: Annotated[bool, Parameter(negative=(), help="Write a policy of more than 200 MB, too.")] = False,
    form: FormatOption = None,
    quiet: QuietOption = False,
) -> int:
    """Write a page that plays a table in the browser, to be copied to any web host.

    The folder holds the page and the best slide of each position, packed into a few bits. The page needs no
    program on the host. It reads the parts that it needs by ranges. A host that ignores ranges sends the
    whole file once.

    tilebase export-page 3x3-512/ -o page/
    """
    chosen = choose_format(form, None)
    prepare_kernels()
    from tilebase.web import export

    with counting_progress(quiet=quiet) as progress:
        page = export.export_page(
            table, output, objective=objective, values=values, anyway=anyway, progress=progress
        )
    rows: list[dict[str, Any]] = [
        {"": "states", page.objective: f"{page.states:,}"},
        {"": "policy", page.objective: byte_text(page.policy)},
        {"": "all files", page.objective: byte_text(page.size)},
        {"": "games that leave it", page.objective: short_number(page.leaves, "probability")},
    ]
    data, game = page.as_dict(), game_of_table(table)
    write_rows([data] if chosen in ("csv", "parquet") else rows, data, chosen, None, game=game)
    return 0
