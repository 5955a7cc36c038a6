"""Counts and values of layers that are larger than memory: by windows through files, one layer at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tilebase.sparse import forward as engine
from tilebase.sparse import sizes
from tilebase.sparse.backward import BackwardPass
from tilebase.sparse.windows import SpilledSet, Windows


class TwoBlocks(SpilledSet):
    """A set that keeps two blocks in memory and spills the rest."""

    def __init__(self, size: int, storage: Any, folder: Path, name: str, *, direct: bool) -> None:
        super().__init__(size, storage[: 2 * Windows(size).block_words], folder, name, direct=direct)


def hold_little(put: Callable[[Any, str, Any], None], small_bits: int) -> None:
    """Keep two blocks of a layer of more than `small_bits` ranks, and no keys; `put` sets an attribute."""
    put(sizes, "SMALL_BITS", small_bits)
    put(engine, "KEPT_KEYS", 0)
    put(engine, "SpilledSet", TwoBlocks)


def keep_one_layer_above(put: Callable[[Any, str, Any], None]) -> None:
    """Solve each layer as if both layers above did not fit into memory; `put` sets an attribute."""
    needed = BackwardPass._needed
    put(BackwardPass, "_needed", lambda self, total: (True, needed(self, total)[1]))
