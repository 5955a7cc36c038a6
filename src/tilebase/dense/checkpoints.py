"""The journal of a dense pass, and the states beside it from which a pass goes on.

``layers.jsonl`` has a line for each finished layer, and lines that name the states of the last layers, the
checkpoint.  The states lie in files of the same folder.  Only the last checkpoint counts; what is older is
deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilebase.dense.stores import LAYOUTS, states_path
from tilebase.errors import CorruptError
from tilebase.files import places
from tilebase.files.run import Journal
from tilebase.game.game import Game
from tilebase.runtime.documents import text, understood, whole

Lines = dict[int, dict[str, Any]]
"""Finished layers by sum, as the journal has them."""


@dataclass(frozen=True)
class Checkpoint:
    """The states from which a pass can go on.

    Attributes
    ----------
    saved:
        Checksums of their files, by sum.
    layout:
        That of the backend which wrote them.
    """

    saved: dict[int, str]
    layout: str

    @classmethod
    def parse(cls, line: Mapping[str, Any]) -> Checkpoint:
        """From its line in the journal, which anybody may have written."""
        saved = {int(total): text(crc, "a checksum") for total, crc in line["saved"].items()}
        layout = line.get("layout", "values")
        if layout not in LAYOUTS:
            raise CorruptError(f"its layout {layout!r} does not exist")
        return cls(saved, layout)

    @property
    def line(self) -> dict[str, Any]:
        """Its line in the journal."""
        return {"saved": {str(total): crc for total, crc in self.saved.items()}, "layout": self.layout}


class Checkpoints:
    """The journal and the states of a pass in its folder; `sizes` are the boards of each sum."""

    def __init__(self, folder: Path, identity: dict[str, Any], game: Game, sizes: Mapping[int, int]) -> None:
        self.folder, self._game, self._sizes = folder, game, sizes
        self.journal = Journal(folder / places.SOLVED, identity)

    def close(self) -> None:
        """Close the journal."""
        self.journal.close()

    def understood(self) -> AbstractContextManager[None]:
        """Return what cannot be understood in here is damage of the journal: `CorruptError`."""
        return understood(str(self.journal.path))

    def read(self) -> tuple[Lines, Checkpoint | None]:
        """Return the finished layers, and the last checkpoint if there is one.  Raises `CorruptError`."""
        with self.understood():
            lines = self.journal.read()
            finished = {whole(line["sum"], "a sum"): line for line in lines if "sum" in line}
            last = [line for line in lines if "saved" in line][-1:]
            checkpoint = Checkpoint.parse(last[0]) if last else None
            if checkpoint is not None and not self._suffices(checkpoint, finished):
                raise CorruptError("its checkpoint lacks a layer")
        return finished, checkpoint

    def _suffices(self, checkpoint: Checkpoint, finished: Lines) -> bool:
        """Return whether it has all that the next layer needs."""
        least = min(checkpoint.saved, default=0)
        following = max((s for s in self._sizes if s < least), default=None)
        if following is None:
            return True
        needed = {following + 2**e for e in self._game.spawn_exponents}
        return needed & finished.keys() <= checkpoint.saved.keys()

    def has_files(self, checkpoint: Checkpoint) -> bool:
        """Return whether the files of a checkpoint are there."""
        return all(path.exists() for path in self._files(checkpoint))

    def _files(self, checkpoint: Checkpoint) -> set[Path]:
        return {states_path(self.folder, total, checkpoint.layout) for total in checkpoint.saved}

    def rewrite(self, finished: Lines, checkpoint: Checkpoint | None) -> None:
        """Let the journal have these lines only."""
        self.journal.rewrite([*finished.values(), *([checkpoint.line] if checkpoint else [])])

    def finish(self, line: dict[str, Any], *, durable: bool) -> None:
        """Declare a layer finished."""
        self.journal.append(line, durable=durable)

    def declare(self, checkpoint: Checkpoint) -> None:
        """Let a pass go on from these states, whose files last, and delete older ones."""
        self.journal.append(checkpoint.line, durable=True)
        self._clean(self._files(checkpoint))

    def complete(self) -> None:
        """End the pass: the journal keeps the layers, and no states are needed."""
        finished, checkpoint = self.read()
        if checkpoint is not None:
            self.rewrite(finished, None)
        self._clean(set())

    def _clean(self, keep: set[Path]) -> None:
        """Delete other states."""
        for ending in LAYOUTS.values():
            for old in set(self.folder.glob(f"*.{ending}")) - keep:
                old.unlink()
