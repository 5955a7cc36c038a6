"""Rows of numbers as a table, CSV, JSON or Parquet."""

from __future__ import annotations

import codecs
import csv
import importlib.util
import io
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, TypeVar

from tilebase._version import version
from tilebase.errors import MissingExtraError, StorageError, UsageError
from tilebase.game.game import Game
from tilebase.game.names import game_text
from tilebase.runtime.command import COMMAND
from tilebase.runtime.documents import to_json
from tilebase.runtime.measured import run_facts
from tilebase.runtime.storage import atomic_file, check_writable, write_whole

FORMATS = ("table", "csv", "json", "parquet")
Result = TypeVar("Result")
PYARROW = "Parquet needs pyarrow: pip install 'tilebase[parquet]'"
Row = Mapping[str, Any]
PLACES = frozenset(
    ("--output", "-o", "--save", "--work", "-w", "--format", "-f", "--certificate", "-c", "--log")
)
"""The options that say where and how a result is written, each with a word behind it."""
SHOWING = frozenset(("--quiet", "-q", "--stats"))
"""The options that say what is shown beside a result."""


class OutputError(StorageError):
    """Standard output cannot be written."""


class Output:
    """Standard output that raises `OutputError`, since an `OSError` does not say which file failed."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write some text.  Raises `OutputError`, or `BrokenPipeError` if the reader has closed the pipe."""
        return _printed(lambda: self._stream.write(text))

    def flush(self) -> None:
        """Write buffered text.  Raises the same errors as `write`."""
        _printed(self._stream.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _printed(write: Callable[[], Result]) -> Result:
    try:
        return write()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write the output: {error.strerror or error}") from error


PLAIN = {
    **dict.fromkeys("┌┬┐├┼┤└┴┘", "+"), "─": "-", "│": "|", "▀": "#",
    "×": "x", "±": "+-", "≤": "<=", "≥": ">=", "µ": "u",
}  # fmt: skip
"""What is written for a character that standard output cannot show; a question mark for any other."""


def replace_unprintable(*streams: TextIO | None) -> None:
    """Let streams write `PLAIN` characters for those that their encoding lacks, instead of raising."""
    codecs.register_error("tilebase-plain", _plain)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="tilebase-plain")


def _plain(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(PLAIN.get(one, "?") for one in error.object[error.start : error.end]), error.end


def choose_format(chosen: str | None, file: Path | None) -> str:
    """Return the format that the user named, or that of the file's suffix.

    Raises `UsageError`, `MissingExtraError`, or `StorageError` if the file cannot be written: before any work
    is done for it.
    """
    by_suffix = {"": "table", ".txt": "table", ".csv": "csv", ".json": "json", ".parquet": "parquet"}
    form = chosen or (by_suffix.get(file.suffix.lower(), "") if file else "table")
    if not form:
        raise UsageError(
            f"the format of {file} is not known: end its name in .txt, .csv, .json or .parquet, or give -f"
        )
    if form not in FORMATS:
        raise UsageError(f"format {form!r} does not exist: choose one of {', '.join(FORMATS)}")
    if form == "parquet" and file is None:
        raise UsageError("Parquet is not printed but written to a file: name one with -o")
    if form == "parquet" and not is_installed("pyarrow"):
        raise MissingExtraError(PYARROW)
    if file is not None:
        check_writable(file)
    return form


def is_installed(module: str) -> bool:
    """Return whether a module can be imported, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def signature() -> str:
    """Return the program and its version, for statements that can be cited."""
    return f"(tilebase {version()})"


@contextmanager
def naming_command(words: Sequence[str]) -> Iterator[None]:
    """Name the command whose results are written meanwhile: its words, quoted as in a shell.

    What only says where and how the result is shown is left out, so that the same question has the same name.
    """
    kept, rest = ["tilebase"], iter(words)
    for word in rest:
        name, equals, _ = word.partition("=")
        if name in PLACES:
            if not equals:
                next(rest, None)
        elif word not in SHOWING:
            kept.append(word)
    token = COMMAND.set(shlex.join(kept))
    try:
        yield
    finally:
        COMMAND.reset(token)


def with_origin(document: Any, game: Game | str | None = None, *, text: bool = False) -> Any:
    """A JSON object, or each of a list of objects, with its game, its command and the program's version.

    The game is its identity or, as `text`, the words that name it on the command line.  An object that names
    its game itself keeps it.
    """
    if not isinstance(document, Mapping):
        return [with_origin(one, game, text=text) for one in document]
    named = game if game is None or isinstance(game, str) else game_text(game) if text else game.identity
    origin = {} if named is None or "game" in document else {"game": named}
    return {**document, **origin, "command": COMMAND.get(), "version": version()}


def write_document(document: Any, file: Path | None, game: Game | str | None = None) -> None:
    """Write a result as JSON, with its game, command and version; a file also says what the run took.

    Raises `StorageError`.
    """
    told = with_origin(document, game)
    if file is not None and isinstance(told, Mapping):
        told = {**told, "run": run_facts()}
    write_text(to_json(told, "pretty") + "\n", file)


def write_rows(
    rows: Sequence[Row],
    document: Any,
    form: str,
    file: Path | None,
    *,
    game: Game | str | None,
    signed: bool = False,
) -> None:
    """Write `rows` in a format to `file` or standard output; JSON writes `document` instead.

    CSV and Parquet name the game, the command and the version in columns, JSON in members.  A table names
    the version if it is `signed`.  `game` is None if the rows say themselves what they are about.  Raises
    `StorageError` if the file cannot be written.
    """
    if form == "json":
        write_document(document, file, game)
    elif form == "table":
        write_text(table_text(rows) + (f"{signature()}\n" if signed else ""), file)
    elif form == "csv":
        write_text(_csv(with_origin(rows, game, text=True)), file)
    else:
        assert file is not None
        _write_parquet(with_origin(rows, game, text=True), file)


def write_text(text: str, file: Path | None) -> None:
    """Write text to a file, or to standard output.  Raises `StorageError`."""
    if file is None:
        sys.stdout.write(text)
        return
    write_whole(file, text)


def table_text(rows: Sequence[Row]) -> str:
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
        raise MissingExtraError(PYARROW) from error
    with atomic_file(file) as whole:
        pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), whole)
