"""``tilebase export page``: a folder with a page that plays a table, for any web host."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from tilebase.cli.options import DEFAULT_SHOWN, ShownOptions
from tilebase.cli.probe import LabelOption, LocalTableArgument, game_of_table
from tilebase.cli.progress import counting_progress, prepare_kernels
from tilebase.objectives.numbers import byte_text, summed_text
from tilebase.runtime.measured import ANYWAY
from tilebase.runtime.rows import table_text


def page(
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
    shown: ShownOptions = DEFAULT_SHOWN,
) -> int:
    """Write a page that plays a table in the browser, to be copied to any web host.

    The folder holds the page and the best slides of each position, packed into a few bits. The page needs no
    program on the host. It reads the parts that it needs by ranges. A host that ignores ranges sends the
    whole file once.

    tilebase export page 3x3-512/ -o page/
    """
    show = shown.checked()
    prepare_kernels()
    from tilebase.web import export

    with counting_progress() as progress:
        found = export.export_page(
            table, output, objective=objective, values=values, anyway=ANYWAY.get(), progress=progress
        )
    rows: list[dict[str, Any]] = [
        {"": "live states, up to symmetry", found.objective: f"{found.states:,}"},
        {"": "policy", found.objective: byte_text(found.policy)},
        {"": "all files", found.objective: byte_text(found.size)},
        {"": "chance to reach a state without a known slide"} | {found.objective: summed_text(found.leaves)},
    ]
    data, game = found.as_dict(), game_of_table(table)
    files = sum(file.is_file() for file in found.folder.rglob("*"))
    text = (
        f"{table_text(rows)}\n{output}/ has {files} files, {byte_text(found.size)}; try it with "
        f"{shlex.join(['python3', '-m', 'http.server', '-d', str(output)])}, or copy it to any web host\n"
    )
    show.write(rows, data, data=[data], text=text, game=game)
    return 0
