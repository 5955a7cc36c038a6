"""``tilebase export codecs``: the size of a layer on disk, and the speed of writing and reading it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tilebase.cli.export.layers import FolderArgument, StatesOption, SumOption, layer_of
from tilebase.cli.options import DEFAULT_SHOWN, QuietOption, ShownOptions
from tilebase.cli.output import PICTURES, terminal
from tilebase.errors import UsageError
from tilebase.runtime.rows import table_text

if TYPE_CHECKING:
    from tilebase.questions.codecs import CodecRow


def codecs(
    folder: FolderArgument,
    *,
    total: SumOption,
    states: StatesOption = False,
    most: Annotated[
        int, Parameter(help="Keys to take from a larger layer, spread evenly; 0 for all of them.")
    ] = 2_000_000,
    names: Annotated[
        str, Parameter(name="--codecs", help="Which to compare: raw, zstd, brotli, xz.")
    ] = "raw,zstd,brotli,xz",
    whole: Annotated[
        bool, Parameter(negative=(), help="One stream of all keys, instead of chunks that can be looked up.")
    ] = False,
    repeat: Annotated[int, Parameter(help="Measure so often; the shortest time counts.")] = 1,
    shown: ShownOptions = DEFAULT_SHOWN,
    quiet: QuietOption = False,
) -> int:
    """Compare the ways to store a layer: levels of zstd, brotli and xz, with and without deltas.

    A row is marked with * if no other is smaller and as fast to compress, or faster and as small.

    tilebase export codecs 3x3-512/ --sum 88 --record pareto.svg
    """
    show = shown.checked(PICTURES)
    if most < 0:
        raise UsageError(f"--most must be 1 key or more, or 0 for all keys, not {most}")
    from tilebase.questions import codecs as engine

    layer = layer_of(folder, total, states=states)
    chosen = [word.strip() for word in names.split(",") if word.strip()]
    with terminal(quiet=quiet or not sys.stderr.isatty()).status("compiling") as status:
        found = engine.compare(
            layer,
            codecs=chosen,
            limit_keys=most or None,
            whole=whole,
            repeat=repeat,
            progress=lambda row: status.update(f"measured {row.codec} {row.level or ''}"),
        )
    game = layer.contents.game
    data = [row.as_dict() for row in found]
    from tilebase.questions import codec_plots

    rows = [_row(row) for row in found]
    text = f"{table_text(rows)}{found[0].keys:,} keys; MB/s of 8 bytes a key\n"
    show.write(
        rows, data, data=data, text=text, game=game, draw=lambda file: codec_plots.plot_pareto(found, file)
    )
    return 0


def _row(row: CodecRow) -> dict[str, Any]:
    return {
        "": "*" if row.pareto else "",
        "codec": row.codec,
        "level": "" if row.level is None else str(row.level),
        "deltas": "yes" if row.delta else "no",
        "bytes": row.bytes,
        "bits/key": f"{row.bits_per_key:.2f}",
        "compress MB/s": f"{row.compress_mb_per_s:,.1f}",
        "decompress MB/s": f"{row.decompress_mb_per_s:,.1f}",
    }
