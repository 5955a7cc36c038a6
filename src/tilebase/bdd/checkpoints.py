"""Checkpoints of a run: the diagrams that what is left needs, from which the same command continues.

A file in the folder of the run holds them; the journal ``diagrams.jsonl`` lists the lines until then, and
its last entry names the file, with its checksum, and what each diagram is.  Within a line that is iterated,
the entry says how far it came.  A new checkpoint is complete before the one before is deleted.  A run that
was killed between continues at the last entry whose file is whole.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from tilebase.bdd.library import Library
from tilebase.bdd.sets import Diagram
from tilebase.bdd.strategies import Line
from tilebase.files.run import Journal
from tilebase.runtime.measured import SaveClock
from tilebase.runtime.storage import part_path, publish, storage_errors

OFTEN = 60.0
"""Seconds between two checkpoints, at least."""
TIMES = 20.0
"""How many times as long as a checkpoint takes a run works before the next one, at least."""


class Checkpoints:
    """The checkpoints of a run.  `identity` is all that decides what is computed, and in which variables.

    Attributes
    ----------
    lines:
        The lines that earlier runs have finished.
    begun:
        The line that an earlier run was iterating, as far as it came; None if there is none.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any], library: Library) -> None:
        self._folder, self._library = folder, library
        self._journal = Journal(folder / "diagrams.jsonl", identity)
        self._pending: list[dict[str, Any]] = []
        self._save_clock = SaveClock()
        noted = self._journal.read()
        last = next((n for n in range(len(noted), 0, -1) if self._is_whole(noted[n - 1])), 0)
        self._entries = noted[:last]
        if last < len(noted):
            self._journal.rewrite(self._entries)
        self._written = last
        self.lines = [Line(**entry["line"]) for entry in self._entries if "line" in entry]
        begun = self._entries[-1].get("begun") if self._entries else None
        self.begun = Line(**begun) if begun else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()

    def _is_whole(self, entry: dict[str, Any]) -> bool:
        """Return whether a line names a file, and the file is as it was written."""
        if "file" not in entry:
            return False
        path = self._folder / entry["file"]
        return path.is_file() and bool(_digest(path) == entry["sha256"])

    def load(self) -> dict[str, Diagram]:
        """Return the diagrams of the last checkpoint by name; empty if there is none.

        To be called after `add_vars`.
        """
        if not self._entries:
            return {}
        entry = self._entries[-1]
        return dict(zip(entry["held"], self._library.read(self._folder / entry["file"]), strict=True))

    def add(self, line: Line, held: Mapping[str, Diagram]) -> None:
        """Note a finished line; write a checkpoint if the last one is old.  Raises `StorageError`."""
        self._pending.append({"line": asdict(line)})
        if self._is_due():
            self._write(held)

    def save(self, begun: Line, held: Mapping[str, Diagram]) -> None:
        """Write a checkpoint within a line if the last one is old.  Raises `StorageError`."""
        if self._is_due():
            self._pending.append({"begun": asdict(begun)})
            self._write(held)

    def _is_due(self) -> bool:
        return self._save_clock.is_due(OFTEN, TIMES)

    def _write(self, held: Mapping[str, Diagram]) -> None:
        self._written += len(self._pending)
        path = self._folder / f"diagrams-{self._written}.dddmp"
        part = part_path(path)
        with self._save_clock.saving():
            with storage_errors(path):
                self._library.write(part, held.values())
                publish(part, path)
            self._pending[-1] |= {"file": path.name, "sha256": _digest(path), "held": list(held)}
            self._journal.append(*self._pending, durable=True)
        self._pending = []
        for old in self._folder.glob("diagrams-*.dddmp"):
            if old != path:
                old.unlink()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
