"""``tilebase export``: a layer file as Parquet, for DuckDB, Polars and data sets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tilebase.errors import UsageError


def export(
    layer: Annotated[Path, Parameter(help="A layer file (*.tbl).")],
    output: Annotated[Path, Parameter(name=["--output", "-o"], help="The Parquet file to write.")],
) -> int:
    """Write the boards of a layer as Parquet: the packed key, and one column of exponents a cell.

    The file carries a checksum of the game, the kind of layer, the sum and all keys.

    tilebase export run/afterstates/000088.tbl -o 88.parquet
    """
    from tilebase.files.parquet import export_parquet

    if output.suffix.lower() not in ("", ".parquet", ".pq"):
        raise UsageError(f"{output} would hold Parquet: end it in .parquet")
    if layer.is_dir():
        raise UsageError(f"{layer} is a folder, and a layer file is exported: {_layer_in(layer)}")
    if layer.suffix == ".val":
        raise UsageError(
            f"{layer} holds values, and boards are exported: {_layer_in(layer.parent.parent.parent)}; "
            "tilebase.ValueFile reads values from Python"
        )
    rows = export_parquet(layer, output)
    print(f"{output}: {rows:,} boards")
    return 0


def _layer_in(folder: Path) -> str:
    """Return what to write for a layer of a table or a run: its largest, or that it is empty."""
    layers = [path for kind in ("states", "afterstates") for path in (folder / kind).glob("*.tbl")]
    if not layers:
        return f"{folder} holds none; tilebase count --work FOLDER --keep states writes some"
    return f"name one, as {max(layers, key=lambda path: (path.stat().st_size, path.name))}"
