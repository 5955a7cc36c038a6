"""Sound tables, runs and certificates, which attacks change."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from attack.processes import put
from stored import contents, zipped
from tilebase import Game, count, force, solve, symbolic, thin

GAME, OBJECTIVES = Game("2x3", 16), "win,lower,guaranteed"
Files = dict[str, bytes]


@cache
def made(name: str) -> Files:
    """The files of one of `MAKERS`."""
    with tempfile.TemporaryDirectory(prefix="attack-") as temporary:
        folder = Path(temporary) / "t"
        MAKERS[name](folder)
        return contents(folder)


def _zip(folder: Path) -> None:
    put(folder.parent / "whole", made("table"))
    folder.mkdir()
    zipped(folder.parent / "whole", folder / "t.zip")


def _thin(folder: Path) -> None:
    put(folder.parent / "whole", made("table"))
    thin(folder.parent / "whole", folder, above=0.001)


def _certificate(folder: Path) -> None:
    folder.mkdir()
    force(Game("2x3", 16, start="empty"), threads=1, certificate=folder / "p.cert")


MAKERS: dict[str, Callable[[Path], Any]] = {
    "table": lambda folder: solve(GAME, OBJECTIVES, table=folder, threads=1),
    "dense": lambda folder: solve(GAME, OBJECTIVES, table=folder, threads=1, space="all"),
    "run": lambda folder: count(GAME, folder=folder, keep="states", threads=1),
    "thin": _thin,
    "zip": _zip,
    "certificate": _certificate,
    "winning": lambda folder: symbolic(GAME, export=folder),
}
