"""Opening what can be asked, whichever it is."""

from __future__ import annotations

from pathlib import Path

from tilebase.errors import StorageError
from tilebase.files.manifest import Manifest
from tilebase.files.source import local_path
from tilebase.files.winning import FORMAT, WinningManifest
from tilebase.tables.certificates import open_certificate
from tilebase.tables.probe import Table, read_manifest
from tilebase.tables.solved import Solved
from tilebase.tables.winning import WinningSet

CERTIFICATE = b"tilebase certificate "
"""How the file of a certificate begins."""


def open_solved(location: Path | str) -> Solved:
    """Open the table, winning set or certificate at a location.

    Raises the errors of `open_table` and `open_certificate`.
    """
    path = local_path(location)
    if path is not None and is_certificate(path):
        return open_certificate(path)
    opened, name, data = read_manifest(location)
    # Not parsed here: a table's manifest may be long.  Whichever it seems to be is then checked in full.
    if FORMAT.encode() in data[:200]:
        return WinningSet(opened, WinningManifest.parse(data, name))
    return Table(opened, Manifest.parse(data, name))


def is_certificate(path: Path) -> bool:
    """Return whether a path is a file that begins as certificates do.  Raises `StorageError`."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(CERTIFICATE)) == CERTIFICATE
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error
