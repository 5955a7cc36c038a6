"""``tilebase codecs``: the size of a layer on disk, and the speed of writing and reading it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from tilebase.cli.options import QuietOption
from tilebase.cli.output import write_rows
from tilebase.errors import UsageError
from tilebase.game.game import Game

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tilebase.questions.codecs import CodecRow

FORMATS = ("table", "json", "csv")


def codecs(
    layer: Annotated[Path, Parameter(help="A layer file (*.tbl).")],
    *,
    limit: Annotated[
        int, Parameter(help="Keys to take from a larger layer, spread evenly; 0 for all of them.")
    ] = 2_000_000,
    names: Annotated[
        str, Parameter(name="--codecs", help="Which to compare: raw, zstd, brotli, xz.")
    ] = "raw,zstd,brotli,xz",
    whole: Annotated[
        bool, Parameter(negative=(), help="One stream of all keys, instead of chunks that can be looked up.")
    ] = False,
    repeat: Annotated[int, Parameter(help="Measure so often; the shortest time counts.")] = 1,
    form: Annotated[str, Parameter(name=["--format", "-f"], help="table, json or csv.")] = "table",
    output: Annotated[
        Path | None,
        Parameter(name=["--output", "-o"], help="Draw size against speed as a file, .svg or .png."),
    ] = None,
    quiet: QuietOption = False,
) -> int:
    """Compare the ways to store a layer: levels of zstd, brotli and xz, with and without deltas.

    A row is marked with * if no other is smaller and as fast to compress, or faster and as small.

    tilebase codecs run/afterstates/000088.tbl -o pareto.svg
    """
    if form not in FORMATS:
        raise UsageError(f"format {form!r} does not exist: choose one of {', '.join(FORMATS)}")
    if limit < 0:
        raise UsageError(f"the limit must be 1 key or more, or 0 for all keys, not {limit}")
    rows = _compare(layer, names, limit, whole, repeat, quiet, output)
    values = [row.as_dict() for row in rows]
    if form == "table":
        Console(highlight=False).print(_table(rows))
    else:
        from tilebase.files.format import LayerFile

        with LayerFile(layer) as opened:
            game = Game.from_identity(opened.meta["game"])
        write_rows(values, values, form, None, game=game)
    return 0


def _compare(
    layer: Path, names: str, limit: int, whole: bool, repeat: int, quiet: bool, output: Path | None
) -> list[CodecRow]:
    """Measure, show a line of progress, and draw the picture."""
    from tilebase.questions import codecs as engine
    from tilebase.questions import plots

    if output is not None:
        plots.check_request(output)
    chosen = [word.strip() for word in names.split(",") if word.strip()]
    terminal = Console(stderr=True, quiet=quiet or not sys.stderr.isatty())
    with terminal.status("compiling") as status:
        rows = engine.compare(
            layer,
            codecs=chosen,
            limit_keys=limit or None,
            whole=whole,
            repeat=repeat,
            progress=lambda row: status.update(f"measured {row.codec} {row.level or ''}"),
        )
    if output is not None:
        plots.plot_pareto(rows, output)
    return rows


def _table(rows: Sequence[CodecRow]) -> Table:
    table = Table(box=None, header_style="bold", caption=f"{rows[0].keys:,} keys; MB/s of 8 bytes a key")
    for name in ("", "codec"):
        table.add_column(name)
    for name in ("level", "deltas", "bytes", "bits/key", "compress MB/s", "decompress MB/s"):
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            "*" if row.pareto else "",
            row.codec,
            "" if row.level is None else str(row.level),
            "yes" if row.delta else "no",
            f"{row.bytes:,}",
            f"{row.bits_per_key:.2f}",
            f"{row.compress_mb_per_s:,.1f}",
            f"{row.decompress_mb_per_s:,.1f}",
            style="bold" if row.pareto else None,
        )
    return table
