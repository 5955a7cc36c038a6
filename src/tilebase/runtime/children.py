"""Child processes that run Python: what they search for modules.

Python puts the current folder, or the folder of a script, first on the path.  A file ``json.py`` that lies
there by chance or by intent would then be run instead of Python's.  A child is started so that neither it nor
its own children search the current folder.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO


def python(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of this package in a child, with `environment`."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """Return the environment of such a child: it finds what this process finds, but not in this folder.

    The folder that this package lies in is always searched.
    """
    current = os.path.realpath(os.curdir)
    home = os.path.realpath(Path(__file__).parents[2])
    searched = [
        entry for entry in filter(None, sys.path) if os.path.realpath(entry) != current or current == home
    ]
    return os.environ | {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(searched)}


def last_words(complaints: IO[bytes], cause: str) -> str:
    """Say why a child ended: the last line that it wrote to its standard error, and `cause` in brackets."""
    complaints.seek(0)
    lines = complaints.read().decode(errors="replace").strip().splitlines()
    return f"{lines[-1].strip()} ({cause})" if lines else cause
