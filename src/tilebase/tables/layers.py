"""What the layers of a table hold: how many boards there are of each sum, and how their values spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.errors import MissingLayerError, UsageError, check_first
from tilebase.files import places
from tilebase.files.format import Layer, cells_of
from tilebase.files.layers import LayerFolder
from tilebase.files.run import read_query
from tilebase.files.source import local_path
from tilebase.objectives.encoding import as_floats
from tilebase.objectives.numbers import NEVER
from tilebase.objectives.objective import Objective
from tilebase.tables.probe import Table, open_table

MOST_READ = 1_000_000
"""Most boards of a layer whose values are read; of larger layers, chunks at equal distances are."""
BINS = 20
"""Bars of a histogram."""


@dataclass(frozen=True)
class LayerValues:
    """The values of the afterstates of one sum.

    Attributes
    ----------
    sum, positions, read:
        The sum, how many boards have it, and of how many the values were read: all of them, or
        whole chunks at equal distances of a layer of more than 1,000,000 boards.
    edges, counts:
        ``counts[i]`` boards have a value from ``edges[i]`` to ``edges[i + 1]``.  The last edge is included.
        A value of "never" is in no bar.
    largest:
        ``(tile, boards, mean value)`` by the largest tile, ascending, the mean without values of "never",
        None without others; empty for a table of all boards, which keeps no boards.
    """

    sum: int
    positions: int
    read: int
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    largest: tuple[tuple[int, int, float | None], ...]

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "sum": self.sum,
            "positions": self.positions,
            "read": self.read,
            "histogram": {"edges": list(self.edges), "counts": list(self.counts)},
            "by_largest": [
                {"tile": tile, "positions": count, "mean": mean} for tile, count, mean in self.largest
            ],
        }


def open_layer(location: Path | str, total: int | None = None, kind: str = "afterstates") -> Layer:
    """Open the layer of one sum of a table, or of the folder of a run.

    Parameters
    ----------
    location:
        A table, or the folder in which a run keeps afterstates or states.
    total:
        The sum; None for the largest layer.
    kind:
        ``afterstates`` or ``states``; a table has afterstates.

    Raises
    ------
    MissingLayerError
        If there is no such layer.
    UsageError
        If there is no such kind, or the table holds all boards within limits, without keys.
    WrongGameError, CorruptError, StorageError
        If the location is neither a table nor a run, or cannot be read.
    """
    if kind not in ("afterstates", "states"):
        raise UsageError(f"kind must be afterstates or states, not {kind!r}")
    path = local_path(location)
    if path is not None and (path / places.QUERY).exists() and not (path / places.TABLE).exists():
        query, _ = read_query(path)
        with LayerFolder(path / kind, query.contents(kind)) as folder:
            sizes = {s: record.boards for s, record in folder.records.items()}
            advice = "tilebase count -o FOLDER --keep states writes some"
            return folder.layer(_chosen(sizes, total, f"{path / kind}", advice), hold=False)
    table = open_table(location)
    if kind == "states" or table.dense:
        raise UsageError(f"{table.name} holds {'no keys' if table.dense else 'afterstates, not states'}")
    return table.prober.layer(_chosen(layer_sizes(table), total, table.name, "it is empty"))


def _chosen(sizes: Mapping[int, int], total: int | None, name: str, advice: str) -> int:
    """Return the sum that is asked for, or that of the largest layer."""
    if total is None and sizes:
        return max(sizes, key=lambda s: (sizes[s], s))
    if total is None or total not in sizes:
        there = f"sums from {min(sizes)} to {max(sizes)} are there" if sizes else advice
        raise MissingLayerError(f"{name} has no layer{'' if total is None else f' of sum {total}'}: {there}")
    return total


def layer_sizes(table: Table) -> dict[int, int]:
    """Return ``sizes[s]``: how many afterstates of sum s have values in a table.  Opens every layer."""
    check_first(table, Table, "an open table: open_table(...)")
    return table.prober.sizes()


def layer_values(table: Table, total: int, objective: str | None = None) -> LayerValues:
    """Return how the values of one layer spread.

    Raises
    ------
    MissingLayerError
        If the table has no layer of this sum.
    UsageError
        If it has no values of the objective.
    CorruptError
        If a file is damaged.
    """
    check_first(table, Table, "an open table: open_table(...)")
    chosen = table.objective(objective)
    keys, values = _read(table, total, chosen)
    numbers = chosen.told(as_floats(chosen, values))  # a proved bound as the nearest float
    known = numbers < NEVER if chosen.counts_to_win else np.isfinite(numbers)
    share = chosen.unit in ("probability", "yes-no")
    counts, edges = np.histogram(numbers[known], BINS, (0.0, 1.0) if share else None)
    return LayerValues(
        total, table.prober.count(total), len(numbers), tuple(map(float, edges)), tuple(map(int, counts)),
        () if keys is None else _by_largest(table, keys, numbers, known),
    )  # fmt: skip


def _read(
    table: Table, total: int, objective: Objective
) -> tuple[npt.NDArray[np.uint64] | None, npt.NDArray[Any]]:
    """Keys and stored values of one layer, or of chunks of it; keys None in a table of all boards."""
    layer = table.prober.layer(total, objective)
    largest = max(np.diff(layer.starts).tolist(), default=1)  # boards of a chunk
    taken = min(layer.chunks, max(1, MOST_READ // largest))
    chunks = [layer.chunks * k // taken for k in range(taken)]
    values = np.concatenate([layer.values(chunk) for chunk in chunks]) if chunks else np.zeros(0)
    if table.dense:
        return None, values
    return np.concatenate([np.zeros(0, np.uint64), *map(layer.keys, chunks)]), values


def _by_largest(
    table: Table, keys: npt.NDArray[np.uint64], numbers: npt.NDArray[np.float64], known: npt.NDArray[np.bool_]
) -> tuple[tuple[int, int, float | None], ...]:
    cells = cells_of(table.game, keys)
    if table.game.unmergeable:
        cells[cells == table.game.x] = 0
    largest = cells.max(axis=0)
    counts = np.bincount(largest, minlength=1)
    valued = np.bincount(largest, known, minlength=1)
    sums = np.bincount(largest, np.where(known, numbers, 0), minlength=1)
    return tuple(
        (1 << e if e else 0, int(n), float(s / m) if m else None)
        for e, (n, m, s) in enumerate(zip(counts, valued, sums, strict=True))
        if n
    )
