"""SHA-256 sums of the files of a table, to be published apart from the table.

A list has the format of the program sha256sum, with paths in the folder of the table.  So
``sha256sum -c LIST`` works there, too:

    64 hexadecimal digits, two spaces, a path, a line feed

A checksum in a file only detects damage.  A list that was published elsewhere also detects that a table is
not the published one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tilebase.errors import CorruptError, MissingLayerError
from tilebase.files import places
from tilebase.runtime.documents import shown
from tilebase.runtime.storage import storage_errors
from tilebase.tables.probe import Table, open_table

LINE = re.compile(r"([0-9a-fA-F]{64}) [ *](\S.*)")
PIECE = 1 << 22
"""Bytes per read."""


def table_sums(location: Path | str, *, progress: Callable[[int, int], None] | None = None) -> dict[str, str]:
    """Return the SHA-256 sum of each file of a table in hexadecimal digits, by its path in the table, sorted.

    These files are the manifest and those that it names.  `progress` is called with the number of finished
    files and of all files.  Raises `MissingLayerError`, `CorruptError` or `StorageError`.
    """
    with open_table(location) as table:
        names = _names(table)
        sums = {}
        for done, name in enumerate(names, 1):
            sums[name] = _sum(table, name)
            if progress is not None:
                progress(done, len(names))
        return sums


def compare_sums(
    location: Path | str,
    sums: Mapping[str, str],
    *,
    progress: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Compare a table with a list of sums: a sentence for each file that differs or is in one alone.

    Raises the same errors as `table_sums`.
    """
    with open_table(location) as table:
        names = _names(table)
        missing = sorted(sums.keys() - set(names))
        wrong = [f"{shown(name)} is in the list, but not in {table.location.name}" for name in missing]
        for done, name in enumerate(names, 1):
            wrong += _compare(table, name, sums.get(name))
            if progress is not None:
                progress(done, len(names))
        return wrong


def _compare(table: Table, name: str, expected: str | None) -> Iterator[str]:
    where = f"{table.location.name}/{name}"
    if expected is None:
        yield f"{where} is not in the list"
        return
    try:
        if _sum(table, name) != expected.lower():
            yield f"{where} is not the file in the list: its SHA-256 sum is another one"
    except MissingLayerError as error:
        yield str(error)


def _names(table: Table) -> list[str]:
    """Return the files of a table, sorted."""
    files = [name for label in table.manifest.labels for name in table.layers[label].names()]
    return sorted([places.TABLE, *files])


def _sum(table: Table, name: str) -> str:
    source = table.location.open(name)
    try:
        digest = hashlib.sha256()
        for at in range(0, source.size, PIECE):
            digest.update(source.read(at, min(PIECE, source.size - at)))
        return digest.hexdigest()
    finally:
        source.close()


def format_sums(sums: Mapping[str, str]) -> str:
    """Return a list of sums as text."""
    return "".join(f"{digest}  {name}\n" for name, digest in sums.items())


def read_sums(file: Path) -> dict[str, str]:
    """Return the sums in a list, by path.  Raises `CorruptError` or `StorageError`."""
    sums: dict[str, str] = {}
    with storage_errors(file, "read"):
        data = file.read_bytes()
    for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
        match = LINE.fullmatch(line)
        if match is None:
            raise CorruptError(
                f"line {number} of {file} is not the SHA-256 sum of a file: "
                "tilebase verify --list writes a list"
            )
        name = match[2].removeprefix("./")
        if sums.setdefault(name, match[1].lower()) != match[1].lower():
            raise CorruptError(f"line {number} of {file} gives another sum for {name} than an earlier line")
    if not sums:
        raise CorruptError(f"{file} lists no files: tilebase verify --list writes a list")
    return sums
