"""Certificates from winning sets: the afterstates of a set take the place of those that a search decides.

The diagrams are written to a temporary file and read back as arrays.  Then many boards are looked up at
once, which takes about a microsecond for each; OxiDD looks up one board at a time.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import force as kernels
from tilebase.bdd.export import MANIFEST, write_files
from tilebase.bdd.strategies import Analysis
from tilebase.errors import UsageError
from tilebase.files.format import cells_of
from tilebase.files.source import Folder, read_file
from tilebase.files.winning import StoredSet, WinningManifest
from tilebase.game.compiled import CompiledGame
from tilebase.game.game import Game
from tilebase.runtime.storage import temporary_folder
from tilebase.search.certificates import check_target, write_certificate

MOST_LISTED = 2_000_000
"""Boards of a certificate, at most."""


class SetResults:
    """The afterstates of a winning set, as the results of a search (`search.certificates.Results`)."""

    def __init__(self, stored: StoredSet) -> None:
        self.game: Game = stored.manifest.game
        self.compiled = CompiledGame(self.game)
        self._stored = stored
        self._of_slider = stored.manifest.player == "slider"

    def known(self, keys: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """For each key, `WON` or `LOST` of `_kernels.force`: all afterstates of play are decided."""
        won = self._stored.holds(cells_of(self.game, keys).T, after=True) == self._of_slider
        return np.where(won, kernels.WON, kernels.LOST)

    def decide(self, key: int) -> bool:
        """Return whether the player wins from an afterstate."""
        return bool(self.known(np.array([key], dtype=np.uint64))[0] == kernels.WON)


def check_proof(path: Path, game: Game, variant: str) -> None:
    """Raise `UsageError` or `StorageError` if a set cannot become a certificate, before the work begins."""
    if variant != "adversarial":
        raise UsageError("a certificate is a proof against every spawn: leave the variant out")
    check_target(path, game)


def write_proof(path: Path, analysis: Analysis, verdict: bool | None, *, most: int = MOST_LISTED) -> int:
    """Write the certificate of what an analysis, run with `keep`, has found; return the boards it lists.

    Raises the errors of `check_proof` and `tilebase.search.certificates.write_certificate`.
    """
    sets, method = analysis.sets, analysis.method
    check_proof(path, sets.game, method.variant)
    if verdict is None:
        raise UsageError("the work stopped before the start was decided, so there is nothing to prove")
    with temporary_folder() as folder:
        write_files(folder, analysis, verdict)
        manifest = WinningManifest.parse(read_file(folder / MANIFEST), str(folder))
        results = SetResults(StoredSet(Folder(folder), manifest))
        forced = verdict == (method.player == "slider")
        return write_certificate(path, results, forced, most=most)
