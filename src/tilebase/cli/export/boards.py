"""``tilebase export boards``: the boards of a layer as Parquet, for DuckDB, Polars and data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tilebase.errors import UsageError


def boards(
    folder: Annotated[
        str,
        Parameter(
            name="FOLDER",
            help="A table that tilebase solve -o wrote (folder, zip file or URL), or the folder of a run of "
            "tilebase count -o.",
        ),
    ],
    *,
    total: Annotated[int, Parameter(name="--sum", help="The sum of the layer.")],
    states: Annotated[
        bool,
        Parameter(negative=(), help="Its states, which count --keep states keeps; else its afterstates."),
    ] = False,
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The Parquet file to write.")],
) -> int:
    """Write the boards of a layer as Parquet: the packed key, and one column of exponents a cell.

    The file carries a checksum of the game, the kind of layer, the sum and all keys. tilebase export values
    writes what boards are worth.

    tilebase export boards 3x3-512/ --sum 88 -o 88.parquet
    """
    from tilebase.files.parquet import export_parquet
    from tilebase.tables.layers import open_layer

    if output.suffix.lower() not in ("", ".parquet", ".pq"):
        raise UsageError(f"{output} would hold Parquet: end it in .parquet")
    layer = open_layer(folder, total, "states" if states else "afterstates")
    rows = export_parquet(layer, output)
    print(f"{output}: {rows:,} boards up to symmetry")
    return 0
