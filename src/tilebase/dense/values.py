"""What a dense pass keeps of its afterstates: summaries of layers, and values in the order of ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tilebase.dense.backends.protocol import Layer
from tilebase.dense.layers import checksum_parts, joined_checksum
from tilebase.files.format import CHUNK_KEYS, Chunk, Contents, value_chunk
from tilebase.files.source import Closing
from tilebase.files.store import LayerStore, LayerWriter
from tilebase.game.game import Game
from tilebase.objectives.encoding import summarise
from tilebase.objectives.objective import Objective
from tilebase.objectives.results import ChunkSummary, LayerSummary
from tilebase.runtime.threads import Pool

Array = npt.NDArray[Any]
SUMMARY_BOARDS = 64 * CHUNK_KEYS
"""Values that one thread sums up at a time."""


class Wanted(NamedTuple):
    """What is kept of the afterstates: a summary of each layer, files of their values, checksums of these.

    A checksum is the CRC-32 of all values of a layer by rank, which every backend but `Bits` has.
    """

    summaries: bool = True
    files: bool = False
    checksums: bool = False


@dataclass
class KeptValues:
    """Where the afterstates of all layers of a pass go."""

    folder: Path
    game: Game
    objective: Objective
    sizes: Mapping[int, int]  # the boards of each sum
    dtype: np.dtype[Any]  # of the values in memory
    wanted: Wanted  # what is kept
    pool: Pool  # who sums up and compresses

    @cached_property
    def files(self) -> LayerStore:
        """The layers of values."""
        return LayerStore(self.folder, Contents(self.game, "all", objective=self.objective), read_again=False)

    def close(self) -> None:
        """Close the files."""
        if self.wanted.files:
            self.files.close()

    def have(self, lines: Mapping[int, dict[str, Any]]) -> bool:
        """Return whether the finished layers of a journal have all that is wanted, and sound files."""
        if self.wanted.summaries and any(line.get("summary") is None for line in lines.values()):
            return False
        if not self.wanted.files:
            return True

        def check(line: dict[str, Any]) -> bool:
            total = line["sum"]
            return self.files.is_sound(total, self.sizes.get(total, 0), line.get("file"))

        self.keep(lines)
        return all(self.pool.map(check, lines.values()))

    def keep(self, lines: Mapping[int, dict[str, Any]]) -> None:
        """Forget the layers of which the journal has no line."""
        if self.wanted.files:
            self.files.keep({total: line["file"] for total, line in lines.items() if "file" in line})

    def sync(self) -> None:
        """Flush the values to disk."""
        if self.wanted.files:
            self.files.sync()


class LayerValues(Closing):
    """Takes the afterstates of one layer; a context manager that forgets them unless it is finished."""

    def __init__(self, kept: KeptValues, total: int) -> None:
        self._kept, self._total, self._size = kept, total, kept.sizes[total]
        self._pieces: list[ChunkSummary] = []
        self._parts: list[tuple[int, int]] = []
        self._rest = np.empty(0, dtype=kept.dtype)
        self._at = 0
        self._writer = kept.files.writer(total) if kept.wanted.files else None

    def close(self) -> None:
        """Forget an unfinished layer."""
        if self._writer is not None:
            self._writer.__exit__()

    def add(self, layer: Layer) -> None:
        """Take the next afterstates, in order."""
        if not any(self._kept.wanted):
            return
        piece = layer.summary()
        if piece is not None:
            self._pieces.append(piece)
            return
        values = layer.data
        if len(self._rest):  # no copy of more than a chunk
            missing = CHUNK_KEYS - len(self._rest)
            self._rest = np.concatenate([self._rest, values[:missing]])
            values = values[missing:]
            if len(self._rest) == CHUNK_KEYS:
                self._take(self._rest)
                self._rest = self._rest[:0]
        whole = len(values) // CHUNK_KEYS * CHUNK_KEYS
        self._take(values[:whole])
        if whole < len(values):
            self._rest = values[whole:].copy()

    def _take(self, values: Array) -> None:
        """Sum up and write whole chunks, or the last piece: batches change neither sums nor files."""
        objective, pool = self._kept.objective, self._kept.pool
        if self._kept.wanted.summaries:
            parts = (values[at : at + SUMMARY_BOARDS] for at in range(0, len(values), SUMMARY_BOARDS))
            for pieces in pool.map(lambda part: summarise(objective, part, CHUNK_KEYS), parts):
                self._pieces += pieces
        if self._kept.wanted.checksums:
            self._parts += checksum_parts(values, pool)
        if self._writer is not None:
            self._write(values, self._writer)

    def _write(self, values: Array, writer: LayerWriter) -> None:
        objective = self._kept.objective

        def encode(at: int) -> Chunk:
            return value_chunk(self._at + at, values[at : at + CHUNK_KEYS], objective.is_boolean)

        for chunk in self._kept.pool.map(encode, range(0, len(values), CHUNK_KEYS), ahead=16):
            writer.add(chunk)
        self._at += len(values)

    def finish(self) -> LayerSummary | None:
        """Return the summary, if it was asked for; the layer is complete."""
        self._take(self._rest)
        if self._writer is not None:
            self._writer.finish(durable=self._size > 1 << 17)
        if not self._kept.wanted.summaries:
            return None
        return LayerSummary.of(self._total, self._size, self._pieces)

    @property
    def checksum(self) -> str | None:
        """The checksum of the finished layer, if it was asked for."""
        return joined_checksum(self._parts) if self._kept.wanted.checksums else None
