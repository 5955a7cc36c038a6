"""The values of one objective in a folder: the layers, their journal, and the check against the journal.

values/LABEL/                the layers: keys and values of the afterstates (`files.layers`)
values/LABEL/layers.jsonl    one line per finished layer: its summary and the checksum of the layer
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tilebase.files import places
from tilebase.files.format import Contents, Layer
from tilebase.files.layers import LayerFolder, read_contents
from tilebase.files.run import (
    ANEW,
    Findings,
    Journal,
    has_segment,
    lacks,
    other_layers,
    read_journal,
    verify_layer,
)
from tilebase.files.store import RELEASED_BYTES, SEGMENT_BYTES, LayerStore
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.objectives.results import LayerSummary
from tilebase.runtime.documents import digest_of, text, understood, whole
from tilebase.runtime.storage import make_folder, remove_parts, storage_errors
from tilebase.runtime.threads import map_in_threads


class StoredValues:
    """Layers of values of the reachable afterstates under one objective.

    With `release`, layers are given up while the game is solved; if `shared`, workers read them.  `before` is
    called with the sum of each layer and with `durable` before the journal says that it is solved.

    Raises `WrongGameError` if the journal belongs to another game or objective, and `CorruptError` if it is
    damaged.
    """

    def __init__(
        self,
        folder: Path,
        game: Game,
        objective: Objective,
        *,
        release: bool = False,
        shared: bool = False,
        before: Callable[[int, bool], None] | None = None,
    ) -> None:
        self.folder, self.objective, self._before = folder, objective, before
        with storage_errors(folder, "use"):
            for one in (folder.parent, folder):
                make_folder(one)
            remove_parts(folder)
        self._journal = Journal(folder / places.SOLVED, identity_of(game, objective, "reachable"))
        lines = self._journal.read()
        contents = Contents(game, objective=objective)
        self.files = LayerStore(
            folder, contents, segment_bytes=RELEASED_BYTES if release else SEGMENT_BYTES,
            read_again=release or shared,
        )  # fmt: skip
        with understood(str(self._journal.path)):
            # layers[s]: the summary of the finished layer of sum s.
            self.layers = {whole(line["sum"], "a sum"): LayerSummary.from_dict(line) for line in lines}
            self._checksums = {line["sum"]: text(line["file"], "a checksum") for line in lines}
        self.files.keep(self._checksums)

    def layer(self, total: int) -> Layer:
        """Return a finished layer.  Raises `MissingLayerError` or `CorruptError`."""
        return self.files.layer(total)

    def compare(self, sizes: Mapping[int, int], totals: Iterable[int], threads: int) -> bool:
        """Return whether finished layers are undamaged.  Damaged ones are forgotten, to be made again.

        ``sizes[s]`` is the number of boards of sum s that were counted.  Every byte is compared.
        """
        wanted = [total for total in totals if total in self.layers and total in sizes]

        def check(total: int) -> bool:
            return self.files.is_sound(total, sizes[total], self._checksums[total])

        found = map_in_threads(check, wanted, threads)
        for total, sound in zip(wanted, found, strict=True):
            if not sound:
                del self.layers[total]
        return all(found)

    def add(self, summary: LayerSummary, *, durable: bool) -> None:
        """Add a layer to the journal, after it was written.  Raises `StorageError`."""
        total = summary.sum
        if self._before is not None:
            self._before(total, durable)
        self.layers[total], self._checksums[total] = summary, self.files.records[total].text
        self._journal.append(self._line(total), durable=durable)

    def settle(self) -> None:
        """Rewrite the journal so that it lists each finished layer once, from the largest sum down."""
        self._journal.rewrite(self._line(total) for total in sorted(self.layers, reverse=True))

    def _line(self, total: int) -> dict[str, object]:
        return self.layers[total].as_dict() | {"file": self._checksums[total]}

    def close(self) -> None:
        """Close the files."""
        self._journal.close()
        self.files.close()


def identity_of(game: Game, objective: Objective, space: str) -> dict[str, Any]:
    """Return the query that the journal of an objective belongs to."""
    return {"game": game.identity, "objective": objective.identity, "space": space}


def verify_solved(journal: Path, identity: Mapping[str, Any], layers: Mapping[int, str]) -> Iterator[str]:
    """Yield a sentence unless the journal of an objective is that of a finished table.

    `identity` is the query that it belongs to, `layers` are the checksums of its layers by sum.  Raises
    `CorruptError` or `StorageError`.
    """
    lines, _, torn = read_journal(journal)
    listed = _listed(lines, journal)
    if any(line.get("of") != digest_of(identity) for line in lines):
        yield f"{journal} belongs to another game or objective: {ANEW}"
    elif torn or not layers.items() <= listed.items():
        yield other_layers(journal)


def verify_values(folder: Path, found: Findings) -> None:
    """Read every byte of the layers of values in the folder of an unfinished run; add the faults to `found`.

    Raises `StopCheckError`.
    """
    with found.checking():
        journal = folder / places.SOLVED
        listed = _listed(read_journal(journal)[0], journal)
        contents = read_contents(folder) if (folder / places.INDEX).exists() else None
        if contents is None:
            found.wrong += [lacks(folder, total) for total in sorted(listed)]
            return
        with LayerFolder(folder, contents) as layers:
            for total in sorted(listed.keys() | layers.records.keys()):
                record = layers.records.get(total)
                if record is not None and not has_segment(layers, record):
                    continue  # a run without a table has given it up
                with found.checking():
                    found.wrong += verify_layer(layers, total, listed.get(total))


def _listed(lines: Iterable[dict[str, Any]], journal: Path) -> dict[int, str]:
    """Return the checksums of the layers that the lines of a journal list, by sum.  Raises `CorruptError`."""
    with understood(str(journal)):
        return {
            whole(line["sum"], "a sum"): text(line["file"], "a checksum") for line in lines if "file" in line
        }
