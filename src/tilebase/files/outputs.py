"""Files that a user names for a result: none of them replaces a part of a table, a run, or a proof."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tilebase.errors import StorageError, TilebaseError, UsageError
from tilebase.files import places
from tilebase.files.source import beginning, is_certificate
from tilebase.runtime.storage import atomic_folder, check_writable, storage_errors

MARKS = (places.QUERY, places.TABLE, places.POLICY)
"""Names of the files that say what a folder of tilebase is, if they name one of its formats."""
FORMATS = re.compile(rb'"format":\s*"tilebase (run|table|winning set|policy)"')


def check_output(path: Path, *, over_proof: bool = False) -> None:
    """Raise an error unless a result may be written to a file; to be called before it is computed.

    That is a `UsageError` if the file lies in the folder of a table, a run, a winning set or an exported
    page, or is a certificate; with `over_proof` it may be one.  Raises `StorageError` if it cannot be
    written.
    """
    check_writable(path)
    refuse_kept(path, over_proof=over_proof)


@contextmanager
def new_folder(path: Path, is_replaced: Callable[[Path], bool], refused: TilebaseError) -> Iterator[Path]:
    """Write a folder of results whole or not at all: the block fills the folder that it is given.

    Before, it raises `refused` if the folder holds something and `is_replaced` does not say that it may be
    replaced, `UsageError` if it is the current folder, or lies in one that `check_output` refuses, and
    `StorageError` if the folder around it does not exist, or another process writes it.
    """
    refuse_kept(path)
    with storage_errors(path):
        if not path.parent.is_dir():
            raise StorageError(f"cannot write {path}: the folder {path.parent} does not exist")
        if path.resolve() == Path.cwd():
            raise UsageError(
                "the folder is written as a whole: name another folder than the current one for it"
            )
        is_folder = path.is_dir()
        if path.exists() and not (is_folder and (is_replaced(path) or not any(path.iterdir()))):
            raise refused
    with atomic_folder(path) as part:
        yield part


def refuse_kept(path: Path, *, over_proof: bool = False) -> None:
    """As `check_output`, for a file that is appended to: whether the system lets us write is not asked."""
    for folder in Path(os.path.realpath(path)).parents:
        for found in filter(None, (FORMATS.search(beginning(folder / name, 200)) for name in MARKS)):
            raise UsageError(
                f"{path} lies in {folder}, the folder of a {found[1].decode()}: name a file outside of it"
            )
    if not over_proof and is_certificate(path):
        raise UsageError(f"{path} is a certificate: name another file, or delete it")
