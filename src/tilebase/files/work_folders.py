"""Folders of runs for which the user named no folder: one for each query, used by one process at a time.

A command without a folder argument makes a folder in `paths.runs_folder`.  So the same command can continue
after a kill.  It deletes the folder at its end, and where it refuses what was asked.  Until then it holds the
lock ``.NAME.lock`` beside the folder; another process with the same query takes the folder NAME-2, and so on.
`list_runs` lists the folders that killed runs left, and `remove_runs` deletes them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any

from tilebase.errors import MissingLayerError, RefusedError, StorageError, UsageError, WrongGameError
from tilebase.files import places
from tilebase.files.run import check_query, delete_run, read_query
from tilebase.game.game import Game
from tilebase.game.names import title_of
from tilebase.objectives.objective import Objective
from tilebase.runtime.paths import OTHER_RUNS, runs_folder
from tilebase.runtime.storage import FileLock, is_locked, storage_errors

STATES = {
    "deleted": "answered; its deletion was stopped", "damaged": "damaged",
    "foreign": "of another version of tilebase",
}  # fmt: skip
"""Folders of runs that cannot go on, in words."""


class WorkFolder:
    """The folder that a command works in; `finish` deletes it unless the user named it."""

    def __init__(self, path: Path, lock: FileLock | None) -> None:
        self.path, self._lock = path, lock

    def finish(self) -> None:
        """Delete the folder, unless the user named it.  To be called after the result was written.

        It must still be held: after that, another process may have begun the same query in it.
        """
        if self._lock is not None:
            assert not self._lock.file.closed, "the folder is no longer locked"
            delete_run(self.path, table=True)  # a table in it was for one process only


@contextmanager
def work_folder(named: Path | None, what: str, game: Game, *words: str) -> Iterator[WorkFolder]:
    """The folder that the user named, or one for `what` is asked of a game that no other process uses.

    The folder has a name of `what`, the game and the words, which tell its queries apart.

    One that was made here is deleted if the query is refused: there is nothing to continue.  Raises
    `StorageError` if no folder can be made.
    """
    if named is not None:
        yield WorkFolder(named, None)
        return
    base = runs_folder()
    try:
        path, lock = _take(base, "-".join((what, game.shape_text, game.digest, *words)))
    except OSError as error:
        raise StorageError(f"cannot use {base}: {error.strerror or error}; {OTHER_RUNS}") from error
    begun = path.exists()
    try:
        yield WorkFolder(path, lock)
    except (RefusedError, UsageError):
        if path.exists() and not begun:
            delete_run(path, table=True)
        raise
    finally:
        lock.release(delete=True)


def table_folder(
    named: Path | None, game: Game, objectives: Iterable[Objective]
) -> AbstractContextManager[WorkFolder]:
    """Return the `work_folder` for the table of a game that is solved first, then played or served."""
    return work_folder(named, "table", game, *(one.label for one in objectives))


def _take(base: Path, name: str) -> tuple[Path, FileLock]:
    """Return a free folder for a query, and its lock: one that a killed run left, or else a new one.

    What is damaged, or was left by another version with other files, cannot go on.
    """
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
        if not path.exists():
            return path, lock
        named = is_locked(path / places.LOCK)  # by a user, who works in it now
        if path.is_dir() and not named and _state(path) in ("begun", "deleted"):
            return path, lock
        lock.release(delete=True)


def _lock_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def _state(path: Path) -> str:
    """Return ``begun``, ``deleted`` (in part, or all), ``damaged``, or ``foreign``: another version's."""
    if (path / places.DELETED).exists():
        return "deleted"
    if all(entry.name in places.BEFORE_QUESTION for entry in path.iterdir()):
        return "begun"
    try:
        query, _ = read_query(path)
    except WrongGameError:
        return "damaged"
    try:
        check_query(path / places.QUERY, query)
    except WrongGameError:
        return "foreign"
    return "begun"


# -- what killed runs left ------------------------------------------------------------------------


@dataclass(frozen=True)
class LeftRun:
    """The folder of a run for which the user named no folder.

    Attributes
    ----------
    name, path:
        Name and path of the folder.
    question:
        The query of the run, in words.
    nbytes:
        Bytes that its files take.
    changed:
        When the newest of them was written, in seconds since 1970.
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
        """Return plain JSON values."""
        return {**self.__dict__, "path": str(self.path)}


def list_runs() -> tuple[LeftRun, ...]:
    """List the folders of runs without a folder argument, the oldest first: in use, or left by a killed run.

    Raises `StorageError` if they cannot be read.
    """
    base = runs_folder()
    with storage_errors(base, "read"):
        # Folders with only files that runs write; compiled kernels lie in a hidden one.
        folders = [
            path
            for path in (base.iterdir() if base.is_dir() else ())
            if not path.name.startswith(".") and path.is_dir()
            and all(places.KNOWN.fullmatch(entry.name) for entry in path.iterdir())
        ]  # fmt: skip
        found = [run for run in map(_describe, folders) if run is not None]
    return tuple(sorted(found, key=lambda run: (run.changed, run.name)))


def _describe(path: Path) -> LeftRun | None:
    """Return the description of a folder; None if it has just been deleted."""
    nbytes = 0
    try:
        changed = path.stat().st_mtime
        in_use = is_locked(_lock_path(path)) or is_locked(path / places.LOCK)
        question = _question(path, in_use=in_use)
        for entry in path.rglob("*"):
            about = entry.lstat()
            if not entry.is_dir():
                nbytes, changed = nbytes + about.st_size, max(changed, about.st_mtime)
    except FileNotFoundError:
        if not path.exists():
            return None
        return _describe(path)  # a file was deleted meanwhile
    return LeftRun(path.name, path, question, nbytes, changed, in_use)


def _question(path: Path, *, in_use: bool) -> str:
    """Return the query of a run in words.  What a process works in is not damaged, but of its version."""
    state = _state(path)
    if state != "begun":
        return STATES["foreign" if in_use and state == "damaged" else state]
    if not (path / places.QUERY).exists():
        return "nothing yet"
    query = read_query(path)[0]
    game = title_of(query.game)
    labels = sorted(entry.name for entry in (path / places.VALUES).glob("*"))
    if labels:
        return f"{game}: values of {', '.join(labels)}"
    return f"{game}: {'what can be forced' if (path / places.DECIDED).exists() else query.keep}"


def remove_runs(names: Sequence[str] = (), *, older_than: float = 0.0) -> tuple[LeftRun, ...]:
    """Delete folders of runs for which no folder was named; return them.  Folders in use are not deleted.

    Parameters
    ----------
    names:
        The names of the folders, as `list_runs` gives them; empty for all that are not in use.
    older_than:
        Delete only folders in which no file was written for this number of seconds.

    Raises
    ------
    MissingLayerError
        If a named run does not exist; then nothing is deleted.
    StorageError
        If a named run is in use, or a run cannot be deleted.
    """
    chosen = select_runs(list_runs(), names, older_than)
    for run in chosen:
        if names and run.in_use:
            raise StorageError(f"the run {run.name} is in use: stop its process first")
    if not names:
        _remove_locks()
    return tuple(run for run in chosen if _remove(run))


def select_runs(runs: Sequence[LeftRun], names: Sequence[str], older_than: float) -> tuple[LeftRun, ...]:
    """Return the runs with these names, or all, in which no file was written for this number of seconds.

    Raises `MissingLayerError` if a named run does not exist.
    """
    for name in names:
        if name not in {run.name for run in runs}:
            raise MissingLayerError(f"there is no run {name!r}: tilebase runs lists those that there are")
    until = time.time() - older_than
    return tuple(run for run in runs if (not names or run.name in names) and run.changed <= until)


def _remove_locks() -> None:
    """Delete the lock files whose folder does not exist."""
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
        if is_locked(run.path / places.LOCK):
            return False
        if run.path.exists():
            delete_run(run.path, damaged=True, table=True)
    finally:
        lock.release(delete=True)
    return True
