"""Opening what can be asked, whichever it is."""

from __future__ import annotations

from pathlib import Path

from tilebase.files.manifest import Manifest
from tilebase.files.source import is_certificate, local_path
from tilebase.files.winning import WinningManifest, is_winning
from tilebase.tables.certificates import open_certificate
from tilebase.tables.probe import Table, read_manifest
from tilebase.tables.solved import Solved
from tilebase.tables.winning import WinningSet


def open_solved(location: Path | str) -> Solved:
    """Open the table, winning set or certificate at a location.

    Raises the errors of `open_table` and `open_certificate`.
    """
    path = local_path(location)
    if path is not None and is_certificate(path):
        return open_certificate(path)
    opened, name, data = read_manifest(location)
    if is_winning(data):
        return WinningSet(opened, WinningManifest.parse(data, name))
    return Table(opened, Manifest.parse(data, name))
