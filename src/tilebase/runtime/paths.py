"""The default folders, for files whose place the user does not name."""

from __future__ import annotations

import os
from pathlib import Path

from tilebase.errors import StorageError

OTHER_RUNS = "set TILEBASE_RUNS_DIR to a folder that can be written, or name one with --work or -o"
"""What to do where the folder for runs cannot be used."""


def cache_folder() -> Path | None:
    """Return the folder for compiled kernels: TILEBASE_CACHE_DIR, or tilebase in the user's cache.

    None if the user has no home.
    """
    chosen = os.environ.get("TILEBASE_CACHE_DIR")
    if chosen:
        return Path(chosen)
    return _in_home("XDG_CACHE_HOME", ".cache")


def runs_folder() -> Path:
    """Return the folder for runs without a folder of their own: TILEBASE_RUNS_DIR, or one in the home.

    Raises `StorageError` if the user has no home.
    """
    chosen = os.environ.get("TILEBASE_RUNS_DIR")
    if chosen:
        return Path(chosen)
    found = _in_home("XDG_STATE_HOME", ".local/state")
    if found is None:
        raise StorageError(f"there is no home folder, in which a run would be kept: {OTHER_RUNS}")
    return found / "runs"


def _in_home(variable: str, default: str) -> Path | None:
    """Return the folder tilebase in the one that a variable names, or in the home; None without both."""
    chosen = os.environ.get(variable)
    if chosen:
        return Path(chosen) / "tilebase"
    try:
        return Path.home() / default / "tilebase"
    except RuntimeError:  # no HOME, and no entry of this user
        return None
