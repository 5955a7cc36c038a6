"""Where files that nobody named go, and whether those that somebody named can be written."""

from __future__ import annotations

import os
from pathlib import Path

from tilebase.errors import StorageError


def cache_folder() -> Path:
    """The folder for compiled kernels: TILEBASE_CACHE_DIR, or tilebase in the user's cache."""
    chosen = os.environ.get("TILEBASE_CACHE_DIR")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tilebase"


def runs_folder() -> Path:
    """The folder for runs that were given no folder of their own."""
    chosen = os.environ.get("TILEBASE_RUNS_DIR")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "tilebase" / "runs"


def check_writable(path: Path) -> None:
    """Raise `StorageError` if a file of this name cannot be written, before any work is done for it."""
    reason = ""
    if not path.name or path.is_dir():
        reason = "it is a folder"
    elif not path.parent.is_dir():
        reason = f"the folder {path.parent} does not exist"
    elif path.exists() and not os.access(path, os.W_OK):
        reason = "you have no permission to write this file"
    elif not path.exists() and not os.access(path.parent, os.W_OK):
        reason = f"you have no permission to write into the folder {path.parent}"
    if reason:
        raise StorageError(f"cannot write {path}: {reason}")
