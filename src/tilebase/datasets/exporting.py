"""Tables as data frames: all boards with their values, as Parquet or CSV; or with fractions, as text."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Unpack

from tilebase.datasets.columns import DICTIONARIES, Columns, board_texts, list_texts
from tilebase.errors import MissingLayerError, UsageError
from tilebase.files.format import cells_of
from tilebase.files.parquet import load_pyarrow, parquet_file
from tilebase.files.source import check_output
from tilebase.game.game import Game
from tilebase.questions.exact import ExactLayer, check_exact, solve_exactly
from tilebase.runtime.documents import to_json
from tilebase.runtime.resources import Use
from tilebase.runtime.storage import atomic_file
from tilebase.tables.probe import Table

SUFFIXES = (".parquet", ".csv")
FRACTIONS = (".csv", ".jsonl")
"""The suffixes of files of fractions, which are text."""


def export_values(
    table: Table,
    output: Path | str,
    *,
    objective: str | None = None,
    total: int | None = None,
    states: bool = False,
    command: str = "",
) -> int:
    """Write the boards of a table with their values; return how many.

    The columns are those of `files.schema`, also in CSV, where a list is JSON.  Boards ascend by sum and key.
    The suffix of the file, .parquet or .csv, is its format.

    Parameters
    ----------
    objective:
        Label of one of the table's objectives; None for the first.
    total:
        Only the layer of this sum; None for all.
    states:
        Whether the boards are those with the player to move, and not those after a slide.
    command:
        What is written into the metadata of Parquet as the command that made the file.

    Raises
    ------
    UsageError
        For another suffix, a table of all boards, or an objective that the table does not have.
    MissingLayerError
        If no board has the sum.
    MissingExtraError, StorageError, CorruptError
        If pyarrow is not installed, the file cannot be written, or the table is damaged.
    """
    file = Path(output)
    if file.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{file} is neither Parquet nor CSV: end its name in .parquet or .csv")
    check_output(file)
    columns = Columns(table, objective, "states" if states else "afterstates", command=command)
    layers = columns.layers(total)
    first = list(itertools.islice(layers, 1))  # before a file is written
    if not first and total is not None:
        raise MissingLayerError(f"{table.location.name} has no boards of sum {total}")
    batches = (batch for _, batch in columns.arrow(itertools.chain(first, layers)))
    if file.suffix.lower() == ".csv":
        return _write_csv(batches, columns.schema.names, file)
    rows = 0
    with parquet_file(file, columns.schema, use_dictionary=DICTIONARIES) as writer:
        for batch in batches:
            writer.write_batch(batch)
            rows += len(batch)
    return rows


def export_fractions(
    table: Table,
    output: Path | str,
    *,
    objective: str | None = None,
    total: int | None = None,
    states: bool = False,
    **use: Unpack[Use],
) -> int:
    """Write the boards of a table with their values as fractions; return how many.

    The game of the table is solved again in integers, so that nothing is rounded.  Columns are
    some of those of `export_values`; a value is the text of a reduced fraction, such as ``3/4``, or of a
    whole number.  Sums descend, keys of a sum ascend.  Boards that the table leaves out are here, too.
    The file is CSV, or JSON lines (.jsonl), in which a slide that is not allowed is null.

    Parameters
    ----------
    objective, total, states:
        As for `export_values`.
    use:
        Memory, threads and the like: the keywords of `Use`.

    Raises
    ------
    UsageError
        For another suffix, or an objective that the table does not have or that has no fractions.
    ResourceError
        If the game is too large for fractions.
    MissingLayerError
        If no board has the sum.
    StorageError
        If the file cannot be written.
    """
    file, game, chosen = Path(output), table.game, table.objective(objective)
    if file.suffix.lower() not in FRACTIONS:
        raise UsageError(f"{file} is not a file of fractions: end its name in .csv or .jsonl")
    check_output(file)
    check_exact(game, chosen, "best")
    names = ["key", "board", "cells", "sum", "v", *(f"q_{one}" for one in game.directions if states)]
    rows = 0
    with atomic_file(file) as whole:
        out = io.TextIOWrapper(whole, "utf-8", newline="", write_through=True)
        writer = csv.writer(out, lineterminator="\n")
        if file.suffix.lower() == ".csv":
            writer.writerow(names)

        def write(layer: ExactLayer) -> None:
            nonlocal rows
            if total is not None and layer.sum != total:
                return
            for row in _fractions(game, layer):
                if file.suffix.lower() == ".csv":
                    writer.writerow(row)
                else:
                    out.write(to_json(dict(zip(names, row, strict=True))) + "\n")
            rows += len(layer.keys)

        solve_exactly(game, chosen, **{"states" if states else "layer": write}, **use)  # type: ignore[arg-type]
        if not rows and total is not None:
            raise MissingLayerError(f"{table.location.name} has no boards of sum {total}")
        out.detach()  # the file is finished by its owner
    return rows


def _fractions(game: Game, layer: ExactLayer) -> Iterator[list[Any]]:
    """Yield the rows of a layer of fractions."""
    cells = cells_of(game, layer.keys).T
    boards = zip(layer.keys.tolist(), board_texts(game, cells).to_list(), cells.tolist(), strict=True)
    slides = [()] * len(layer.keys) if layer.slides is None else layer.slides.tolist()
    for board, value, worths in zip(boards, layer.numerators, slides, strict=True):
        told = [None if one is None else str(Fraction(one, layer.denominator)) for one in (value, *worths)]
        yield [*board, layer.sum, *told]


def _write_csv(batches: Iterator[Any], names: list[str], file: Path) -> int:
    """Write lines of Arrow: it spells and joins texts five times as fast as Python."""
    load_pyarrow()
    from pyarrow.compute import binary_join_element_wise as join

    rows = 0
    with atomic_file(file) as out:
        out.write(f"{','.join(names)}\n".encode())
        for batch in batches:
            *texts, last = map(_as_csv, batch.columns)
            ended = join(last, "", "\n", null_handling="replace")
            lines = join(*texts, ended, ",", null_handling="replace")
            out.write(lines.buffers()[2])
            rows += len(batch)
    return rows


def _as_csv(column: Any) -> Any:
    """Return the texts of a column; what has commas is in quotes, and a list is JSON.

    Arrow spells floats in the fewest digits that are read as the same float, but 1.0 as 1; from the first
    rows of such a column readers would conclude that all its numbers are whole.
    """
    import pyarrow as pa
    from pyarrow import compute

    text = column
    if pa.types.is_fixed_size_list(column.type):
        text = list_texts(column.flatten().to_numpy().reshape(len(column), -1)).to_arrow()
    if pa.types.is_string(text.type):
        return compute.binary_join_element_wise("", text, "", '"')
    text = column.cast(pa.string())
    if not pa.types.is_floating(column.type):
        return text
    whole = compute.match_substring_regex(text, r"^-?\d+$")
    return compute.if_else(whole, compute.binary_join_element_wise(text, ".0", ""), text)
