"""Rows of numbers as a table, CSV, JSON or Parquet."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tilebase.errors import MissingExtraError, UsageError
from tilebase.storage import atomic_file, check_writable, write_whole

FORMATS = ("table", "csv", "json", "parquet")
Row = Mapping[str, Any]


def choose_format(chosen: str | None, file: Path | None) -> str:
    """The format asked for, or that of the file's suffix.

    Raises `UsageError`, or `StorageError` if there can be no such file: before any work is done for it.
    """
    by_suffix = {"": "table", ".txt": "table", ".csv": "csv", ".json": "json", ".parquet": "parquet"}
    form = chosen or (by_suffix.get(file.suffix.lower(), "") if file else "table")
    if not form:
        raise UsageError(f"{file} names no format: end it in .txt, .csv, .json or .parquet, or give -f")
    if form not in FORMATS:
        raise UsageError(f"format {form!r} is none of {', '.join(FORMATS)}")
    if form == "parquet" and file is None:
        raise UsageError("Parquet goes to a file: name one with -o")
    if file is not None:
        check_writable(file)
    return form


def write_rows(rows: Sequence[Row], document: Any, form: str, file: Path | None) -> None:
    """Write `rows` in a format to `file` or standard output; JSON writes `document` instead.

    Raises `StorageError` if the file cannot be written.
    """
    if form == "parquet":
        assert file is not None
        _write_parquet(rows, file)
        return
    if form == "json":
        write_text(json.dumps(document, indent=1) + "\n", file)
    else:
        write_text(_csv(rows) if form == "csv" else _table(rows), file)


def write_text(text: str, file: Path | None) -> None:
    """Write text to a file, or to standard output.  Raises `StorageError`."""
    if file is None:
        sys.stdout.write(text)
        return
    write_whole(file, text)


def _table(rows: Sequence[Row]) -> str:
    """Aligned columns with thousands separators."""
    if not rows:
        return "nothing to show\n"
    names = list(rows[0])
    cells = [
        [f"{row[name]:,}" if isinstance(row[name], int) else str(row[name]) for name in names] for row in rows
    ]
    widths = [max(len(name), *(len(line[i]) for line in cells)) for i, name in enumerate(names)]
    numeric = [isinstance(rows[0][name], int | float) for name in names]
    lines = [names, *cells]
    return "".join(
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(line, widths, numeric, strict=True)
        ).rstrip()
        + "\n"
        for line in lines
    )


def _csv(rows: Sequence[Row]) -> str:
    out = io.StringIO()
    if rows:
        writer = csv.DictWriter(out, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return out.getvalue()


def _write_parquet(rows: Sequence[Row], file: Path) -> None:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("Parquet needs pyarrow: pip install 'tilebase[parquet]'") from error
    with atomic_file(file) as whole:
        pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), whole)
