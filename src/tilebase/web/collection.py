"""What a server serves: tables, winning sets and certificates by name, and games that it solves first.

Only what was named at the start can be reached, and what is in a folder that was named.  A table may be
removed, replaced or extended while it is served: before each request its manifest is looked at, and opened
again if it is another.  A table that comes into a folder of tables is served from then on.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tilebase.errors import MissingLayerError, StorageError, TilebaseError, UsageError
from tilebase.files import places
from tilebase.files.run import delete_run
from tilebase.files.source import CERTIFICATE, beginning, local_path
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective, objectives_of
from tilebase.runtime.documents import to_json
from tilebase.runtime.progress import Progress
from tilebase.runtime.resources import Use
from tilebase.runtime.threads import Recent, in_background
from tilebase.tables.folders import holds_tables, subfolders
from tilebase.tables.probe import Table, open_solved
from tilebase.tables.solved import Solved

LOG = logging.getLogger(__name__)
MOST_OPEN = 8
"""Most tables that are kept open.  Each keeps up to 256 MiB of decoded boards and values."""
MOST_SERVED = 1000
"""Most tables that are served.  Those that come later into a folder are left out beyond this number."""
SERVED = (CERTIFICATE, b"PK")
"""How a file that is served begins: a certificate or a zip file."""

State: TypeAlias = Literal["ready", "solving", "failed"]
Stamp: TypeAlias = tuple[int, int, int]
"""Inode, size and time of change of a file."""


class StoppedError(Exception):
    """Raised in a solver whose server is being closed."""


@dataclass
class Entry:
    """One thing that is served.

    Attributes
    ----------
    name, location:
        The name in addresses, and the folder, file or URL.
    state, problem:
        Whether it can be asked; if it failed, why, in one sentence.
    kind, game:
        What it is, and its game, once it has been opened or while it is being solved.
    progress:
        How far solving is.
    stamp:
        What its files were when it was last opened.
    """

    name: str
    location: str
    state: State = "ready"
    problem: str = ""
    kind: str = "table"
    game: Game | None = None
    progress: Progress | None = None
    stamp: Stamp | None = None


class Collection:
    """The things that a server serves.

    Parameters
    ----------
    locations:
        Folders, zip files or URLs of tables and winning sets, files of certificates, and folders that hold
        tables in subfolders.
    library:
        A folder whose tables are served, too; it may be empty, or not there yet.
    use:
        What a page may use that solves games into the library: the keywords of `Use`, except progress.
        None: pages solve nothing.

    Attributes
    ----------
    solves:
        Whether pages may solve games, and delete tables.
    failed:
        Why the last table that a page solved was not solved, in one sentence; empty unless it failed.
    reviews:
        How far the reviews are that are being made, by the names that the pages gave them.
    token:
        What a request must name that begins or stops work: other pages cannot read it.

    Raises
    ------
    MissingLayerError
        If one of them does not exist or is not one of these.  One that is damaged is not an error: its
        entry says what is wrong with it.
    UsageError
        If there are more than 1,000.
    """

    def __init__(
        self, locations: Sequence[Path | str], library: Path | None = None, use: Use | None = None
    ) -> None:
        self.library, self.token = library, secrets.token_urlsafe(16)
        self._use, self.solves = use, library is not None and use is not None
        self.entries: dict[str, Entry] = {}  # replaced, and never changed: other threads read it
        self._folders: list[Path] = []
        self._open = Recent(MOST_OPEN)
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._solver: Future[None] | None = None
        self.failed = ""
        self.reviews: dict[str, Progress] = {}
        for location in locations:
            path = local_path(location)
            if path is not None and holds_tables(path):
                self._folders.append(path)
            for name, found in _named(str(location) if path is None else path):
                if len(self.entries) == MOST_SERVED:
                    raise UsageError(f"more than {MOST_SERVED:,} tables cannot be served: name fewer of them")
                self._add(name, found)
        if library is not None:
            self._folders.append(library)
            self.refresh()

    def _add(self, name: str, location: str) -> None:
        """Serve what is at a location.  Raises `MissingLayerError` if it does not exist."""
        entry = Entry(_free(name, self.entries), location)
        self.entries = {**self.entries, entry.name: entry}
        try:
            self.open(entry.name)
        except MissingLayerError:
            raise
        except TilebaseError as error:
            entry.state, entry.problem = "failed", str(error)

    def refresh(self) -> None:
        """Serve also the tables that have come into the folders of tables since they were last read."""
        with self._lock:
            known = {entry.location for entry in self.entries.values()}
            if self.library is not None:  # a table is complete there before its solver has ended
                known |= {str(self.library / name) for name, one in self.entries.items() if not one.location}
            for folder in self._folders:
                for name, location in _tables_of(folder):
                    if location not in known and len(self.entries) < MOST_SERVED:
                        with suppress(MissingLayerError):  # it was removed again
                            self._add(name, location)

    def __repr__(self) -> str:
        return f"<Collection of {', '.join(self.entries)}>"

    def entry(self, name: str) -> Entry:
        """Return the entry of a name.  Raises `MissingLayerError`."""
        found = self.entries.get(name)
        if found is None:
            served = ", ".join(list(self.entries)[:8])
            raise MissingLayerError(
                f"no table with the name {name[:80]!r} is served here; there are: {served}"
            )
        return found

    def open(self, name: str) -> Solved:
        """Open the table, winning set or certificate of a name, as its files are now.

        Raises
        ------
        MissingLayerError
            If there is no such name, or its files were removed.
        UsageError
            If it is still being solved.
        CorruptError, StorageError
            If it cannot be read.
        """
        entry = self.entry(name)
        if entry.state == "solving":
            raise UsageError(f"{name} is still being solved: wait until it is ready")
        if not entry.location:  # solving failed
            raise StorageError(entry.problem)
        try:
            stamp = _stamp(entry.location)
            found: Solved = self._open.get((name, stamp), open_solved, entry.location)
        except TilebaseError as error:
            entry.state, entry.problem = "failed", str(error)
            raise
        entry.kind, entry.game, entry.stamp = found.kind, found.game, stamp
        entry.state, entry.problem = "ready", ""
        return found

    def tables(self) -> dict[str, Table]:
        """Open all tables that can be read, by name; not winning sets and certificates."""
        found: dict[str, Table] = {}
        for name, entry in list(self.entries.items()):
            if entry.state == "ready":
                with suppress(TilebaseError):  # the entry says what is wrong
                    opened = self.open(name)
                    if isinstance(opened, Table):
                        found[name] = opened
        return found

    def look(self, name: str) -> Entry:
        """Return the entry of a name; opened again only if its files have changed since."""
        entry = self.entry(name)
        if entry.location and not self._is_as_before(entry):
            with suppress(TilebaseError):  # the entry says what is wrong
                self.open(name)
        return entry

    @staticmethod
    def _is_as_before(entry: Entry) -> bool:
        try:
            return entry.state == "ready" and _stamp(entry.location) == entry.stamp
        except MissingLayerError:
            return False

    def public(self, text: str) -> str:
        """JSON text with the names of tables instead of their paths on this machine."""
        for entry in self.entries.values():
            path = to_json(entry.location)[1:-1]
            if path and path != entry.name:
                text = text.replace(path, entry.name)
        return text

    # -- solving -----------------------------------------------------------------------------------

    def solve(self, name: str, game: Game, folder: Path, objectives: Sequence[Objective], use: Use) -> Entry:
        """Serve a game after it has been solved into a folder, in a thread of its own; return its entry."""
        old = self.entries.get(name)
        if old is not None and old.location:
            name = _free(name, self.entries)  # else it was stopped before, and goes on
        entry = Entry(name, "", "solving", game=game)
        self.entries = {**self.entries, entry.name: entry}
        self._stopping.clear()
        self._solver = in_background(partial(self._solve, entry, game, folder, objectives, use))
        return entry

    def _solve(
        self, entry: Entry, game: Game, folder: Path, objectives: Sequence[Objective], use: Use
    ) -> None:
        allowed = use.copy()
        allowed["progress"] = partial(self._tell, entry)
        try:
            from tilebase.questions.solve import solve  # the compiler, which serving a table does not need

            solve(game, objectives, table=folder, **allowed)
            entry.location, entry.state = str(folder), "ready"
        except StoppedError:
            entry.state, entry.problem = "failed", "stopped; what is finished is kept"
        except TilebaseError as error:
            entry.state, entry.problem = "failed", str(error)
        except MemoryError:
            entry.state = "failed"
            entry.problem = "there is not enough memory to solve this game: give a smaller --memory"
        except Exception as error:
            entry.state, entry.problem = "failed", f"solving failed: {type(error).__name__}: {error}"
            LOG.exception("solving %s failed", entry.name)
        if entry.state == "failed" and self.library is not None:  # what is begun is offered again
            self.entries = {name: one for name, one in self.entries.items() if one is not entry}
            self.failed = "" if self._stopping.is_set() else f"{entry.name}: {entry.problem}"

    def _tell(self, entry: Entry, progress: Progress) -> None:
        if self._stopping.is_set():
            raise StoppedError
        entry.progress = progress

    @property
    def solving(self) -> bool:
        """Whether a game is being solved."""
        return self._solver is not None and not self._solver.done()

    def begin(self, name: str, game: Game) -> Entry:
        """Solve a game into the library, or go on where that was stopped; return its entry.

        Raises `UsageError` if pages may not, another game is being solved, or there is such a table.
        """
        library, use = self._check_solves()
        with self._lock:
            if self.solving:
                raise UsageError("another game is being solved: wait for it, or stop it")
            if name in self.entries and self.entries[name].state == "ready":
                raise UsageError(f"{name} is solved already")
            self.failed = ""
            return self.solve(name, game, library / name, objectives_of("win"), use)

    def _check_solves(self) -> tuple[Path, Use]:
        """Return where pages solve, and what they may use.  Raises `UsageError` if they may not."""
        if self.library is None or self._use is None:
            raise UsageError(
                "pages of this server solve nothing: start tilebase serve without tables and without --host"
            )
        return self.library, self._use

    def kept(self) -> dict[str, Path]:
        """Return the folders of the tables in the library, and of those that are begun, by name."""
        if self.library is None:
            return {}
        begun = {file.parent.name: file.parent for file in self.library.glob(f"*/{places.QUERY}")}
        tables = {name: Path(location) for name, location in _tables_of(self.library)}
        solving = {name for name, entry in self.entries.items() if entry.state == "solving"}
        return {name: path for name, path in (begun | tables).items() if name not in solving}

    def delete(self, name: str) -> None:
        """Delete a table of the library, or what is begun of one.

        Raises `UsageError` if pages may not, `MissingLayerError` if there is none, and `StorageError` if a
        process writes it, or its folder is a link, or holds something else: then nothing is deleted.
        """
        library, _ = self._check_solves()
        with self._lock:
            path = self.kept().get(name)
            if path is None:
                raise MissingLayerError(f"the library has no table {name[:80]!r} that can be deleted")
            if path.resolve() != library.resolve() / path.relative_to(library):
                raise StorageError(f"cannot delete {name}: it is a link to another folder")
            delete_run(path, damaged=True, table=True)
            self._open.clear()  # open files would keep the disk's space
            self.entries = {key: one for key, one in self.entries.items() if one.location != str(path)}

    def stop(self) -> None:
        """Stop solving after the present step.  What is finished is kept."""
        self._stopping.set()

    def is_begun(self, name: str) -> bool:
        """Return whether the library has layers of a game that is not solved yet."""
        return self.library is not None and (self.library / name / places.QUERY).exists()

    def close(self) -> None:
        """Stop solving after the present step, and release all tables."""
        self._stopping.set()
        if self._solver is not None:
            wait([self._solver])
        self._open.clear()


def _named(location: Path | str) -> Iterator[tuple[str, str]]:
    """Yield names and locations of what is at a path or a URL, or in the subfolders of a folder of tables."""
    if isinstance(location, str):
        yield location.rstrip("/").rpartition("/")[2] or "table", location
    elif holds_tables(location):
        yield from _tables_of(location)
    elif location.is_file() and location.suffix != ".zip" and not beginning(location, 21).startswith(SERVED):
        raise MissingLayerError(
            f"{location} is no table, winning set or certificate: name one, or a folder of tables"
        )
    else:
        name = location.name if location.name != ".." else ""
        yield name or location.resolve().name or "table", str(location)


def _tables_of(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield names and locations of the tables in the subfolders of a folder."""
    for subfolder, problem in subfolders(folder):
        if not problem:
            yield subfolder.relative_to(folder).as_posix().replace("/", "-"), str(subfolder)


def _free(name: str, taken: dict[str, Any]) -> str:
    """Return a name that is not taken: with a number behind it, if need be."""
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    return found


def _stamp(location: str) -> Stamp | None:
    """Return what changes when a table is written again; None for a URL.  Raises `MissingLayerError`."""
    path = local_path(location)
    if path is None:
        return None
    try:
        status = (path / places.TABLE if path.is_dir() else path).stat()
    except OSError as error:
        raise MissingLayerError(f"no finished table found at {location}") from error
    return status.st_ino, status.st_size, status.st_mtime_ns
