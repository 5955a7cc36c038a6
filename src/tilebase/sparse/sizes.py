"""How many bytes the engine takes for what it holds in memory; estimates read it, too."""

from __future__ import annotations

from typing import Any

SMALL_BITS = 1 << 24
"""The bits of a layer of at most this many ranks fit into the cache of a thread, which sets them at once."""
SMALL_PART = 1 << 13
"""States of a small layer that are worth a task.  A thread joins in for each two of them."""
KEPT_KEYS = 1 << 22
"""Layers of at most this many keys stay in memory for the next two layers."""
MOST_RECORDED = 1 << 31
"""Most bytes on disk of the slides that the forward pass records for the backward pass."""
TABLE_BYTES = 60
"""Bytes of the tables of the index for each filling of half a board, about; more if there are few."""


def ranks_of(boards: Any, symmetries: int) -> Any:
    """Return about how many ranks a layer of so many boards has: heads that no canonical board has get none.

    Numbers or arrays of them.
    """
    kept = {1: 1.0, 2: 1.5}.get(symmetries, 2.3)  # per board up to symmetry; measured: 2.0 to 2.5
    return boards / symmetries * kept


def block_bits_for(ranks: int) -> int:
    """log2 of the ranks per block: such that there are about 1000 blocks, none smaller than a memory page."""
    return min(max((ranks >> 10).bit_length(), 16), 26)


def least_windows(ranks: int, threads: int) -> int:
    """Return the bytes that a layer of so many ranks needs at least beside the tables; 0 for a small layer.

    They are those of two blocks of states and two of afterstates, and of an arena a thread and another.
    """
    if ranks <= SMALL_BITS:
        return 0
    bits = block_bits_for(ranks)
    return (32 << bits - 6) + 4 * 4096 * max(-(-ranks >> bits), 256) * (threads + 1)


def directory_bytes(ranks: int) -> int:
    """Return the bytes of a directory: a word of bits and a position of 32 bits for 64 ranks."""
    return 12 * (ranks // 64 + 1)


def lean_bytes(objectives: int) -> int:
    """The bytes for each afterstate of a layer that is solved with one layer above in memory at a time.

    Accumulators, and one byte for the number of spawns.
    """
    return 8 * objectives + 1
