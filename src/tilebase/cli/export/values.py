"""``tilebase export values``: what the boards of a table are worth, as Parquet or CSV."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tilebase.cli.output import PICTURES
from tilebase.cli.probe import LabelOption, TableArgument
from tilebase.cli.progress import counting_progress, prepare_kernels
from tilebase.errors import UsageError

CELLS = "cells are exponents: 8 for the tile 256"
STATES = "; --states writes states, and what each slide is worth"


def values(
    table: TableArgument,
    *,
    output: Annotated[
        Path,
        Parameter(
            name=["--output", "-o"],
            help="The file to write: .parquet, .csv, or a picture; fractions: .csv or .jsonl.",
        ),
    ],
    total: Annotated[int | None, Parameter(name="--sum", help="Only the layer of this sum.")] = None,
    states: Annotated[
        bool,
        Parameter(
            negative=(),
            help="States, and what each slide is worth; else afterstates.",
        ),
    ] = False,
    exact: Annotated[
        bool,
        Parameter(
            negative=(), help="Values as reduced fractions, p/q: the game is solved again, in integers."
        ),
    ] = False,
    objective: LabelOption = None,
) -> int:
    """Write the boards of a table with their values, for a data frame: polars.read_parquet(FILE).

    A row is an afterstate up to symmetry, or a state with --states: its sum, its packed key, the exponent of
    each cell, row by row (8 is the tile 256, 0 is empty), and its value; of a state also the value of each
    slide, empty where it is not allowed. A picture (.svg, .pdf, .eps, .png) shows the values by sum: the
    mean, and from the least to the largest.

    tilebase export values 3x3-512/ -o values.parquet

    tilebase export values 3x3-512/ --states --sum 100 -o 100.csv

    tilebase export values 3x3-512/ -o values.svg

    tilebase export values 3x3-64/ --states --exact -o fractions.csv
    """
    drawn = output.suffix.lower() in PICTURES
    if drawn and (states or exact or total is not None):
        raise UsageError("a picture shows the afterstates of all sums: leave --sum, --states and --exact out")
    prepare_kernels()
    from tilebase.questions.exporting import export_fractions, export_values
    from tilebase.tables.probe import open_table

    with open_table(table) as opened:
        if drawn:
            from tilebase.pictures.plots import check_request, plot_values

            check_request(output)
            plot_values(opened, output, objective)
            print(f"{output}: values of {opened.objective(objective).label} by sum")
            return 0
        kind = "states" if states else "afterstates"
        if exact:
            with counting_progress() as progress:
                rows = export_fractions(
                    opened, output, objective=objective, total=total, states=states, progress=progress
                )
            print(f"{output}: {rows:,} {kind} up to symmetry with their values as fractions")
            return 0
        rows = export_values(opened, output, objective=objective, total=total, states=states)
    read = f"read_{'csv' if output.suffix == '.csv' else 'parquet'}"
    cells = f"{CELLS}{'' if states else STATES}"
    print(f"{output}: {rows:,} {kind} up to symmetry, which polars.{read} or pandas.{read} reads; {cells}")
    return 0
