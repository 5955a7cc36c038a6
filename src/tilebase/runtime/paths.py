"""The default folders, for files whose place the user does not name."""

from __future__ import annotations

import os
from pathlib import Path


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
