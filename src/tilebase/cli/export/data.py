"""``tilebase export data``: all states of a table with the values of their slides, as Parquet by sum."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tilebase.cli.probe import LabelOption, TableArgument
from tilebase.cli.progress import counting_progress, prepare_kernels
from tilebase.runtime.measured import COMMAND


def data(
    table: TableArgument,
    *,
    output: Annotated[
        Path,
        Parameter(
            name=["--output", "-o"], help="A new folder, or one of an earlier call, which is replaced."
        ),
    ],
    visits: Annotated[
        bool, Parameter(negative=(), help="Add the probability that a game of optimal play meets each state.")
    ] = False,
    objective: LabelOption = None,
) -> int:
    """Write a data set of a table's states: Parquet files for each sum, in bounded memory.

    For training and large tables, with DuckDB or Polars: the cells as one list, the value of each slide, NULL
    if it is not allowed, which slides are the best, and how many boards a row stands for. For one file and a
    data frame take tilebase export values.

    tilebase export data 3x3-512/ --visits -o 3x3-512-data/
    """
    prepare_kernels()
    from tilebase.datasets import write_parquet
    from tilebase.tables.probe import open_table

    with open_table(table) as opened, counting_progress() as progress:
        rows = write_parquet(
            opened, output, objective=objective, visits=visits, command=COMMAND.get(), progress=progress
        )
    print(f"{output}: {rows:,} states up to symmetry")
    return 0
