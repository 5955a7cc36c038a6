"""The default folders, for files whose place the user does not name, and all environment variables."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tilebase.errors import StorageError

OTHER_RUNS = "set TILEBASE_RUNS_DIR to a folder that can be written, or give --work or -o where there is one"
"""What to do where the folder for runs cannot be used."""
NO_CACHE = (
    "every command compiles its kernels again, which takes seconds: set TILEBASE_CACHE_DIR to a folder that "
    "you, and nobody else, can write"
)
"""What it means that `cache_folder` is None, and what to do."""
VARIABLES = {
    "TILEBASE_CACHE_DIR": (
        "the folder for compiled kernels and measured speeds. Kernels in it are executed, so nobody else may "
        "be able to write there. Default: tilebase in $NUMBA_CACHE_DIR, $XDG_CACHE_HOME or ~/.cache; if none "
        "of them can be written, a private folder in that of TILEBASE_RUNS_DIR or of temporary files"
    ),
    "TILEBASE_RUNS_DIR": (
        "the folder for runs for which no folder is named. Default: tilebase/runs in $XDG_STATE_HOME or "
        "~/.local/state"
    ),
    "TILEBASE_TABLES_DIR": (
        "the library: the folder of tables that probe, review, play and serve ask where no table is named. "
        "Default: tilebase/tables in $XDG_DATA_HOME or ~/.local/share"
    ),
    "TILEBASE_TIMEOUT": "the most seconds that one request to a server with a table may take. Default: 30",
    "TILEBASE_DEBUG": (
        "1: kernels check the bounds of arrays; python: Python runs them, a thousand times slower, for a "
        "debugger"
    ),
}
"""The environment variables that tilebase reads, and what each means."""


def cache_folder() -> Path | None:
    """Return the folder for compiled kernels: that of TILEBASE_CACHE_DIR, or a default; make it if need be.

    What lies in the folder is executed.  So where the defaults in the home cannot be written, a folder that
    others may reach is used only if it is private.  None if no folder can be used.
    """
    if chosen := os.environ.get("TILEBASE_CACHE_DIR"):
        return Path(chosen) if _can_be_written(Path(chosen)) else None
    defaults = [_below("NUMBA_CACHE_DIR"), _below("XDG_CACHE_HOME") or _in_home(".cache")]
    usual = next(filter(_can_be_written, filter(None, defaults)), None)
    return usual or next(filter(_is_private, _shared_folders()), None)


def runs_folder() -> Path:
    """Return the folder for runs without a folder of their own: TILEBASE_RUNS_DIR, or one in the home.

    Raises `StorageError` if the user has no home.
    """
    missing = f"there is no home folder, in which a run would be kept: {OTHER_RUNS}"
    return _chosen("TILEBASE_RUNS_DIR", "XDG_STATE_HOME", ".local/state", "runs", missing)


def library_folder() -> Path:
    """Return the folder of the tables that are asked where none is named: TILEBASE_TABLES_DIR, or a default.

    Raises `StorageError` if the user has no home.
    """
    missing = "there is no home folder with a library of tables: set TILEBASE_TABLES_DIR to one"
    return _chosen("TILEBASE_TABLES_DIR", "XDG_DATA_HOME", ".local/share", "tables", missing)


def _chosen(variable: str, base: str, usual: str, name: str, missing: str) -> Path:
    """Return the folder that a variable names; else one of this name, in a base folder or in the home."""
    if chosen := os.environ.get(variable):
        return Path(chosen)
    found = _below(base) or _in_home(usual)
    if found is None:
        raise StorageError(missing)
    return found / name


def _below(variable: str) -> Path | None:
    """Return the folder tilebase in the one that a variable names."""
    chosen = os.environ.get(variable)
    return Path(chosen) / "tilebase" if chosen else None


def _in_home(folder: str) -> Path | None:
    """Return the folder tilebase in one of the home."""
    try:
        return Path.home() / folder / "tilebase"
    except RuntimeError:  # no HOME, and no entry of this user
        return None


def _can_be_written(folder: Path) -> bool:
    """Make a folder unless it exists; return whether files can be made in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def _shared_folders() -> Iterator[Path]:
    """Yield folders of this user in folders in which others may write, too."""
    with suppress(StorageError):  # no home
        yield runs_folder() / ".kernels"
    yield Path(tempfile.gettempdir()) / f"tilebase-{os.getuid()}"


def _is_private(folder: Path) -> bool:
    """Make a folder unless it exists; return whether only this user can write in it, rename or replace it."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        about, above = folder.lstat(), [parent.stat() for parent in folder.resolve().parents]
    except OSError:
        return False
    own = stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid() and not about.st_mode & 0o077
    return own and _can_be_written(folder) and not any(map(_lets_others_rename, above))


def _lets_others_rename(about: os.stat_result) -> bool:
    """Return whether another user can rename what others own in a folder."""
    shared = about.st_mode & 0o022 and not about.st_mode & stat.S_ISVTX
    return bool(shared) or about.st_uid not in (0, os.getuid())
