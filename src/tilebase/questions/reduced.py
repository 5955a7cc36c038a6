"""Folders of tables that leave boards out, as `thinning` and `pruning` make them from a whole table."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from tilebase.errors import StorageError, WrongGameError
from tilebase.files import places
from tilebase.files.manifest import Manifest
from tilebase.files.store import LayerStore
from tilebase.runtime.documents import understood
from tilebase.runtime.storage import FileLock, make_folder, storage_errors

Summary = TypeVar("Summary")
UNFINISHED = "thin.json"
"""The name of a file that marks an unfinished folder; it holds the arguments of the call."""


def instead(_: object) -> str:
    """Return what to do if a table is too large for this machine."""
    return "name another disk or a smaller table"


def find_finished(target: Path, query: Mapping[str, Any], summary: Callable[..., Summary]) -> Summary | None:
    """Return the summary of a finished earlier call with the same arguments; None without one."""
    manifest = None if (target / UNFINISHED).exists() else Manifest.of_folder(target)
    thinned = {} if manifest is None else manifest.thinned or {}
    if any(thinned.get(name) != value for name, value in query.items()):
        return None
    with understood(f"{target}/{places.TABLE}"):
        return summary(**thinned)


@contextmanager
def stores_of(target: Path, manifest: Manifest) -> Iterator[dict[str, LayerStore]]:
    """Return the layers of each objective in the folder of a table that is written, by label."""
    with ExitStack() as stack:
        yield {
            label: stack.enter_context(
                LayerStore(target / places.values_folder(label), manifest.contents(label))
            )
            for label in manifest.labels
        }


def write_manifest(target: Path, manifest: Manifest, stores: Mapping[str, LayerStore]) -> None:
    """Flush all layers of a table, and write its manifest, with their pages."""
    for store in stores.values():
        store.sync()
    pages = {label: store.pages() for label, store in stores.items()}
    replace(manifest, layers=pages).write(target)


@contextmanager
def unfinished(target: Path, query: str) -> Iterator[None]:
    """Mark a folder as unfinished inside the block.

    An error empties the folder.  After a kill, a call with the same arguments takes the folder over.

    Raises `WrongGameError` if the folder holds other files, `StorageError` if another process writes it.
    """
    with storage_errors(target, "use"):
        lock = _claim(target, query)
        try:
            _empty(target)  # delete what a killed call left
            make_folder(target / places.VALUES)
            yield
        except BaseException:
            _empty(target)
            lock.release(delete=not any(path.name != UNFINISHED for path in target.iterdir()))
            raise
        lock.release(delete=True)


def _claim(target: Path, query: str) -> FileLock:
    """Take the lock on the marker of a folder, which holds the arguments of the call."""
    target.mkdir(parents=True, exist_ok=True)
    marker = target / UNFINISHED
    if not marker.exists() and any(target.iterdir()):
        raise WrongGameError(f"{target} holds files: choose a new folder")
    lock = FileLock.take(marker)
    if lock is None:
        raise StorageError(f"another process is writing {target}: wait for it or stop it")
    if not query.startswith(lock.file.read().decode(errors="replace")):  # a kill may have cut it off
        lock.release()
        raise WrongGameError(f"{target} holds another unfinished table: delete it, or choose a new folder")
    lock.file.seek(0)
    lock.file.write(query.encode())
    lock.file.flush()
    return lock


def _empty(target: Path) -> None:
    """Delete an unfinished table, the manifest first."""
    (target / places.TABLE).unlink(missing_ok=True)
    shutil.rmtree(target / places.VALUES, ignore_errors=True)
