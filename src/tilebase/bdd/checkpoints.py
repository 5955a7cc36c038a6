"""Checkpoints of a run by sums: the diagrams of the last layers, from which the same command continues.

A file in the folder of the run holds the states that are won of the last two sums; the journal
``diagrams.jsonl`` lists the layers until then, and its last line names the file, with its checksum.  A new
checkpoint is complete before the one before is deleted.  A run that was killed between continues at the last
line whose file is whole.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from tilebase.bdd.library import Library
from tilebase.bdd.sets import Diagram
from tilebase.bdd.strategies import Line
from tilebase.files.run import Journal
from tilebase.runtime.storage import part_path, publish, storage_errors

OFTEN = 60.0
"""Seconds between two checkpoints."""


class Checkpoints:
    """The checkpoints of a run.  `identity` is all that decides what is computed, and in which variables.

    Attributes
    ----------
    lines:
        The layers that earlier runs have finished.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any], library: Library) -> None:
        self._folder, self._library = folder, library
        self._journal = Journal(folder / "diagrams.jsonl", identity)
        self._pending: list[dict[str, Any]] = []
        self._written = time.perf_counter()
        noted = self._journal.read()
        last = next((n for n in range(len(noted), 0, -1) if self._is_whole(noted[n - 1])), 0)
        self._entries = noted[:last]
        if last < len(noted):
            self._journal.rewrite(self._entries)
        self.lines = [Line(**entry["line"]) for entry in self._entries]

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

    def load(self) -> dict[int, Diagram]:
        """Return the won states of the last sums; empty if nothing was finished.

        To be called after `add_vars`.
        """
        if not self._entries:
            return {}
        entry = self._entries[-1]
        return dict(zip(entry["sums"], self._library.read(self._folder / entry["file"]), strict=True))

    def add(self, line: Line, above: Mapping[int, Diagram]) -> None:
        """Note a finished layer; write a checkpoint if the last one is old.  Raises `StorageError`."""
        self._pending.append({"line": asdict(line)})
        if time.perf_counter() - self._written < OFTEN:
            return
        path = self._folder / f"diagrams-{line.name}.dddmp"
        part = part_path(path)
        with storage_errors(path):
            self._library.write(part, above.values())
            publish(part, path)
        self._pending[-1] |= {"file": path.name, "sha256": _digest(path), "sums": list(above)}
        self._journal.append(*self._pending, durable=True)
        self._pending = []
        for old in self._folder.glob("diagrams-*.dddmp"):
            if old != path:
                old.unlink()
        self._written = time.perf_counter()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
