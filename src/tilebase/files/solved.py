"""The values of one objective in a folder: its journal, and the check of files against the journal.

values/LABEL/layers.jsonl    one line per finished layer: its summary and the checksum of its file
values/LABEL/S.val           the values of sum S
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tilebase.files import places
from tilebase.files.format import ValueFile
from tilebase.files.reachable import Reachable
from tilebase.files.run import Journal, sound_checksum
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.objectives.results import LayerSummary
from tilebase.runtime.documents import text, understood, whole
from tilebase.runtime.storage import make_folder, remove_parts, storage_errors
from tilebase.runtime.threads import map_in_threads


class StoredValues:
    """Layers of values of the reachable afterstates under one objective.

    Attributes
    ----------
    layers:
        ``layers[s]``: the summary of the finished layer of sum s.
    checksums:
        ``checksums[s]``: the checksum of its file.

    Raises `WrongGameError` if the journal belongs to another game or objective, and `CorruptError` if it is
    damaged.
    """

    def __init__(self, folder: Path, game: Game, objective: Objective) -> None:
        self.folder, self.objective = folder, objective
        with storage_errors(folder, "use"):
            for one in (folder.parent, folder):
                make_folder(one)
            remove_parts(folder)
        identity = {"game": game.identity, "objective": objective.identity, "space": "reachable"}
        self._journal = Journal(folder / places.SOLVED, identity)
        lines = self._journal.read()
        with understood(str(self._journal.path)):
            self.layers = {whole(line["sum"], "a sum"): LayerSummary.from_dict(line) for line in lines}
            self.checksums = {line["sum"]: text(line["file"], "a checksum") for line in lines}

    def path(self, total: int) -> Path:
        """Return the file of one sum."""
        return self.folder / places.of_sum(total, "val")

    def compare(self, space: Reachable, totals: Iterable[int], threads: int) -> bool:
        """Return whether the files of finished layers are undamaged.

        Damaged ones are forgotten, to be made again.

        Every byte is compared.  Raises `WrongGameError` if a file belongs to another game or objective.
        """
        wanted = [total for total in totals if total in self.layers and total in space.sizes]

        def check(total: int) -> str | None:
            expected = space.meta(total) | {"objective": self.objective.identity}
            size, promised = space.sizes[total], self.checksums[total]
            return sound_checksum(self.path(total), ValueFile, expected, size, promised)

        found = map_in_threads(check, wanted, threads)
        for total, checksum in zip(wanted, found, strict=True):
            if checksum is None:
                del self.layers[total]
            else:
                self.checksums[total] = checksum
        return None not in found

    def add(self, summary: LayerSummary, checksum: str, *, durable: bool) -> None:
        """Add a layer to the journal, after its file was renamed.  Raises `StorageError`."""
        self.layers[summary.sum], self.checksums[summary.sum] = summary, checksum
        self._journal.append(self._line(summary.sum), durable=durable)

    def settle(self) -> None:
        """Rewrite the journal so that it lists each finished layer once, from the largest sum down."""
        self._journal.rewrite(self._line(total) for total in sorted(self.layers, reverse=True))

    def _line(self, total: int) -> dict[str, object]:
        return self.layers[total].as_dict() | {"file": self.checksums[total]}

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()
