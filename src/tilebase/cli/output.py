"""What commands print and record: rows as a table, CSV, JSON, Markdown, LaTeX or Parquet."""

from __future__ import annotations

import codecs
import io
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

from tilebase._version import version
from tilebase.errors import StorageError, readable
from tilebase.game.findings import with_origin
from tilebase.game.game import Game
from tilebase.runtime.documents import to_json
from tilebase.runtime.measured import COMMAND, run_facts
from tilebase.runtime.rows import Row, csv_text, latex_text, markdown_text, table_text
from tilebase.runtime.storage import write_whole

if TYPE_CHECKING:
    from rich.console import Console

FORMATS = ("table", "csv", "json", "markdown", "latex")
"""What is printed."""
SUFFIXES = {
    ".txt": "table", ".csv": "csv", ".json": "json", ".md": "markdown", ".tex": "latex",
    ".parquet": "parquet",
}  # fmt: skip
"""What a record holds, by the suffix of its file."""
Result = TypeVar("Result")
PLACES = frozenset(
    ("--output", "-o", "--record", "--work", "-w", "--format", "-f", "--certificate", "-c", "--log")
)
"""The options that say where and how a result is written, each with a word behind it."""
SHOWING = frozenset(("--quiet", "-q"))
"""The options that say what is shown beside a result."""
STDIN = "/dev/stdin"
"""The file that a command is given as -."""
MOST_ROWS = 40
"""Rows that are printed if a record has them, too."""


class OutputError(StorageError):
    """Standard output cannot be written."""


class Readable:
    """A standard stream that writes text as `readable`: whatever a stranger wrote is printed through it."""

    def __init__(self, stream: TextIO | Output) -> None:
        self.rich_proxied_file = stream  # for escape sequences of this program; Rich looks for this name

    def write(self, text: str) -> int:
        """Write some text."""
        return self.rich_proxied_file.write(readable(text))

    def flush(self) -> None:
        """Hand over what was written."""
        self.rich_proxied_file.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


def terminal() -> Console:
    """Return what draws on standard error, while that may be replaced by what Rich puts in its place."""
    from rich.console import Console

    return Console(file=getattr(sys.stderr, "rich_proxied_file", sys.stderr))


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
LEAST_COLUMNS = 20
"""Columns of the narrowest terminal for which help is laid out."""


def replace_unprintable(*streams: TextIO | None) -> None:
    """Let streams write `PLAIN` characters for those that their encoding lacks, instead of raising."""
    codecs.register_error("tilebase-plain", _plain)
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="tilebase-plain")


def widen_terminal() -> None:
    """Let lines have at least `LEAST_COLUMNS`: narrower help would wrap without an end."""
    wide, given = shutil.get_terminal_size().columns, os.environ.get("COLUMNS", "")
    if wide < LEAST_COLUMNS or (given.isdecimal() and int(given) < LEAST_COLUMNS):
        os.environ["COLUMNS"] = str(max(wide, LEAST_COLUMNS))


def _plain(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(PLAIN.get(one, "?") for one in error.object[error.start : error.end]), error.end


def signature() -> str:
    """Return the program and its version, for statements that can be cited."""
    return f"(tilebase {version()})"


def signed(statement: str) -> str:
    """Return a sentence that can be cited, with the program and its version before the full stop."""
    return f"{statement.removesuffix('.')} {signature()}."


def how_certain(values: Iterable[object], how: str) -> str:
    """Return how to learn whether rounded probabilities are 1, if one of the values may be; else nothing."""
    if not any(str(value).startswith("more than 1 - ") for value in values):
        return ""
    return f"whether a win is certain: {how}\n"


PLANNING: ContextVar[bool] = ContextVar("PLANNING", default=False)
"""Whether the command stands behind ``tilebase plan``: then it writes its estimate (`Shown.plan`)."""
Question = TypeVar("Question", bound=Callable[..., int])


def plannable(question: Question) -> Question:
    """Mark a command or subcommand that can stand behind ``tilebase plan``, unless its options say more."""
    question.__dict__["plannable"] = True
    return question


def name_command(words: Sequence[str]) -> None:
    """Name the command whose results are written in this context: its words, quoted as in a shell.

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
    COMMAND.set(shlex.join(kept))


def write_document(document: Any, file: Path | None, game: Game | str | None = None) -> None:
    """Write a result as JSON, with its game, command and version; a file also says what the run took.

    Raises `StorageError`.
    """
    told = with_origin(document, game)
    if file is not None and isinstance(told, Mapping):
        told = {**told, "run": run_facts()}
    elif file is not None:  # of a list, what can be cited
        told = [{**one, "run": run_facts()} if "claim" in one else one for one in told]
    write_text(to_json(told, "pretty") + "\n", file)


@dataclass(frozen=True)
class Shown:
    """How a result is printed, and the file that it is written to, too."""

    form: str = "table"
    record: Path | None = None
    recorded: str = "table"

    @property
    def as_json(self) -> bool:
        """Whether the result is printed or recorded as JSON."""
        return "json" in (self.form, self.recorded)

    def write(
        self,
        rows: Sequence[Row],
        document: Any,
        *,
        game: Game | str | None,
        data: Sequence[Row] | None = None,
        text: str | None = None,
        totals: str | None = None,
        draw: Callable[[Any, Path], object] | None = None,
    ) -> None:
        """Print `rows`, and write the record if one is wanted.

        JSON holds `document`, or what a function returns in its place; CSV and Parquet hold `data`, if it is
        given, in place of the rows; a table is `text`, if it is given.  `totals` are printed in place of more
        than `MOST_ROWS` rows that the record has.  `draw` draws the record if it is a picture, with the
        module `pictures.plots`.  CSV and Parquet name the game, the command and the version in columns, JSON
        in members.  `game` is None if the rows say themselves what they are about.
        Raises `StorageError` if the file cannot be written.
        """
        files = [(self.recorded, self.record)] if self.record else []
        brief = self.record is not None and self.recorded != "picture" and len(rows) > MOST_ROWS
        for form, file in [*files, (self.form, None)]:  # what is printed may be cut off, so it is last
            if form == "json":
                write_document(document() if callable(document) else document, file, game)
            elif form == "picture":
                assert file is not None
                assert draw is not None
                from tilebase.pictures import plots

                draw(plots, file)
            elif form == "csv":
                write_text(csv_text(with_origin(rows if data is None else data, game, text=True)), file)
            elif form == "parquet":
                assert file is not None
                _write_parquet(with_origin(rows if data is None else data, game, text=True), file)
            elif form == "table" and file is None and totals is not None and brief:
                write_text(f"{totals}\n{len(rows):,} rows are in {self.record}\n", file)
            elif form == "table" and text is not None:
                write_text(text, file)
            else:
                write_text(DRAWN[form](rows), file)
        if self.record is not None and self.form == "table":
            print(f"{self.record} is written", file=sys.stderr)

    def plan(self, estimate: Row | Sequence[Row], *, game: Game | str | None, more: str = "") -> int:
        """Write what a question takes, and say on standard error where it may not hold; return 0.

        A table is without empty columns.  Below it stand the reasons, which are in its last, and `more`.
        """
        rows = [estimate] if isinstance(estimate, Mapping) else estimate
        told = [name for name in rows[0] if name != "reason" and any(row[name] for row in rows)]
        why = [f"{row['what']}, {row['on']}: {row['reason']}\n" for row in rows if row.get("reason")]
        text = table_text([{name: row[name] for name in told} for row in rows])
        self.write(rows, estimate, text=text + "\n" * bool(why) + "".join(why) + more, game=game)
        tell_doubts()
        return 0


def tell_doubts() -> None:
    """Say on standard error where the estimates of a plan may not hold."""
    from tilebase.costs.rates import doubts

    if found := doubts():
        print(*found, sep="\n", file=sys.stderr)


def write_text(text: str, file: Path | None) -> None:
    """Write text to a file, or to standard output.  Raises `StorageError`."""
    if file is None:
        sys.stdout.write(text)
        return
    write_whole(file, readable(text))


DRAWN: dict[str, Callable[[Sequence[Row]], str]] = {
    "table": table_text, "markdown": markdown_text, "latex": latex_text,
}  # fmt: skip
"""How rows are written for a reader."""


def _write_parquet(rows: Sequence[Row], file: Path) -> None:
    from tilebase.files.parquet import load_pyarrow, parquet_file

    pa, _ = load_pyarrow()
    plain = [{n: readable(v) if isinstance(v, str) else v for n, v in row.items()} for row in rows]
    table = pa.Table.from_pylist(plain)
    with parquet_file(file, table.schema) as writer:
        writer.write_table(table)
