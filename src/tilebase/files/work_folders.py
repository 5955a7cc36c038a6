"""Folders of runs that nobody named: one for each question, used by one process at a time.

A command that is given no folder works in one in `paths.runs_folder`, so that the same command goes on after
a kill, and deletes it in the end.  Until then it holds the lock ``.NAME.lock`` beside the folder; another
process with the same question takes the folder NAME-2, and so on.  What killed runs left is listed by
`list_runs` and deleted by `remove_runs`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

from tilebase.errors import MissingLayerError, StorageError, WrongGameError
from tilebase.files.run import BEFORE_MANIFEST, DECIDED, DELETED, KNOWN, delete_run, read_manifest
from tilebase.runtime.paths import runs_folder
from tilebase.runtime.storage import FileLock, is_locked, storage_errors


class WorkFolder:
    """The folder that a command works in; `finish` deletes it unless the user named it."""

    def __init__(self, path: Path, *, named: bool) -> None:
        self.path, self._named = path, named

    def finish(self) -> None:
        """The question is answered, and the answer written: the folder is needed no more."""
        if not self._named:
            delete_run(self.path)


@contextmanager
def work_folder(named: Path | None, name: str) -> Iterator[WorkFolder]:
    """The folder that the user named, or one for the question `name` that no other process uses.

    Raises `StorageError` if there can be none.
    """
    if named is not None:
        yield WorkFolder(named, named=True)
        return
    with storage_errors(runs_folder(), "use"):
        path, lock = _take(runs_folder(), name)
    try:
        yield WorkFolder(path, named=False)
    finally:
        lock.release(delete=True)


def _take(base: Path, name: str) -> tuple[Path, FileLock]:
    """A free folder for a question and its lock: first those that a kill left, then a new one."""
    base.mkdir(parents=True, exist_ok=True)
    pattern = re.compile(rf"{re.escape(name)}(-[2-9]|-[1-9]\d+)?")
    left = sorted(
        (entry for entry in base.iterdir() if pattern.fullmatch(entry.name)),
        key=lambda entry: (len(entry.name), entry.name),
    )
    new = (base / (name if number == 1 else f"{name}-{number}") for number in count(1))
    candidates = chain(left, new)
    while True:
        path = next(candidates)
        lock = FileLock.take(_lock_path(path))
        if lock is None:
            continue
        if _is_usable(path):
            return path, lock
        lock.release(delete=True)


def _lock_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def _is_usable(path: Path) -> bool:
    """Whether a run can begin or go on in a folder: not if somebody named it, or it is damaged."""
    return not path.exists() or (path.is_dir() and not is_locked(path / "lock") and _state(path) != "damaged")


def _state(path: Path) -> str:
    """``begun``, ``deleted`` (but not to the end), or ``damaged``."""
    if (path / DELETED).exists():
        return "deleted"
    if all(entry.name in BEFORE_MANIFEST for entry in path.iterdir()):
        return "begun"
    try:
        read_manifest(path)
    except WrongGameError:
        return "damaged"
    return "begun"


# -- what killed runs left ------------------------------------------------------------------------


@dataclass(frozen=True)
class LeftRun:
    """The folder of a run that nobody named.

    Attributes
    ----------
    name, path:
        Of the folder.
    question:
        What is asked, in words.
    nbytes:
        What its files take.
    changed:
        When the youngest of them was written, in seconds since 1970.
    in_use:
        Whether a process works in it.
    """

    name: str
    path: Path
    question: str
    nbytes: int
    changed: float
    in_use: bool

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {**self.__dict__, "path": str(self.path)}


def list_runs() -> tuple[LeftRun, ...]:
    """The folders of runs that were given none, the oldest first: in use, or left by a kill.

    Raises `StorageError` if they cannot be read.
    """
    base = runs_folder()
    with storage_errors(base, "read"):
        folders = [path for path in base.iterdir() if _is_run(path)] if base.is_dir() else []
        found = [run for run in map(_describe, folders) if run is not None]
    return tuple(sorted(found, key=lambda run: (run.changed, run.name)))


def _is_run(path: Path) -> bool:
    """Whether a folder holds nothing but what runs write."""
    return path.is_dir() and all(KNOWN.fullmatch(entry.name) for entry in path.iterdir())


def _describe(path: Path) -> LeftRun | None:
    """What is known of a folder; None if it has just been deleted."""
    nbytes = 0
    try:
        changed = path.stat().st_mtime
        question = _question(path)
        for entry in path.rglob("*"):
            about = entry.lstat()
            if not entry.is_dir():
                nbytes, changed = nbytes + about.st_size, max(changed, about.st_mtime)
    except FileNotFoundError:
        if not path.exists():
            return None
        return _describe(path)  # a file was deleted meanwhile
    return LeftRun(path.name, path, question, nbytes, changed, _is_in_use(path))


def _is_in_use(path: Path) -> bool:
    return is_locked(_lock_path(path)) or is_locked(path / "lock")


def _question(path: Path) -> str:
    """The question of a run in words."""
    state = _state(path)
    if state == "deleted":
        return "answered; its deletion was stopped"
    if state == "damaged":
        return "damaged"
    if not (path / "run.json").exists():
        return "nothing yet"
    question = read_manifest(path)[0]
    game = question.game
    labels = sorted(entry.name for entry in (path / "values").glob("*"))
    if labels:
        return f"{game}: values of {', '.join(labels)}"
    return f"{game}: {'what can be forced' if (path / DECIDED).exists() else question.keep}"


def remove_runs(names: Sequence[str] = (), *, older_than: float = 0.0) -> tuple[LeftRun, ...]:
    """Delete folders of runs that nobody named, and return what was deleted; never one in use.

    Parameters
    ----------
    names:
        Which ones, as `list_runs` names them; all that are not in use if there are none.
    older_than:
        Only those of which no file was written for so many seconds.

    Raises
    ------
    MissingLayerError
        If there is no such run; then nothing is deleted.
    StorageError
        If one that is named is in use, or one cannot be deleted.
    """
    chosen = select_runs(list_runs(), names, older_than)
    for run in chosen:
        if names and run.in_use:
            raise StorageError(f"the run {run.name} is in use: stop its process first")
    if not names:
        _remove_locks()
    return tuple(run for run in chosen if _remove(run))


def select_runs(runs: Sequence[LeftRun], names: Sequence[str], older_than: float) -> tuple[LeftRun, ...]:
    """Those with these names, or all, of which no file was written for so many seconds.

    Raises `MissingLayerError` if there is no run of a name.
    """
    for name in names:
        if name not in {run.name for run in runs}:
            raise MissingLayerError(f"there is no run {name!r}: tilebase runs lists those that there are")
    until = time.time() - older_than
    return tuple(run for run in runs if (not names or run.name in names) and run.changed <= until)


def _remove_locks() -> None:
    """Delete the locks that a kill left without a folder."""
    base = runs_folder()
    with storage_errors(base, "delete locks in"):
        for path in base.glob(".*.lock"):
            if lock := FileLock.take(path):
                lock.release(delete=True)


def _remove(run: LeftRun) -> bool:
    """Delete a run, or return False if a process uses it."""
    with storage_errors(run.path, "delete"):
        lock = FileLock.take(_lock_path(run.path))
    if lock is None:
        return False
    try:
        if is_locked(run.path / "lock"):
            return False
        if run.path.exists():
            delete_run(run.path, damaged=True)
    finally:
        lock.release(delete=True)
    return True
