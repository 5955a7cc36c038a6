"""How many bytes the engine takes for what it holds in memory; estimates read it, too."""

from __future__ import annotations

from typing import Any

SMALL_BITS = 1 << 24
"""A layer of at most this many ranks is small: few tasks share its work."""
SMALL_PART = 1 << 13
"""States of a small layer that are worth a task.  A thread joins in for each two of them."""
PAGE_BYTES = 4096
"""Bytes of a page of an arena: 32-bit offsets (`_kernels.forward.PAGE`)."""
KEPT_KEYS = 1 << 22
"""Layers of at most this many keys stay in memory for the next two layers."""
TABLE_BYTES = 60
"""Bytes of the tables of the index for each filling of half a board, about; more if there are few."""


def ranks_of(boards: Any, symmetries: int) -> Any:
    """Return about how many ranks a layer of so many boards has: heads that no canonical board has get none.

    Numbers or arrays of them.
    """
    kept = {1: 1.0, 2: 1.5}.get(symmetries, 2.3)  # per board up to symmetry; measured: 2.0 to 2.5
    return boards / symmetries * kept


def is_direct(ranks: int, threads: int, free: int) -> bool:
    """Return whether threads set the bits of a layer of so many ranks at once, without arenas.

    Each thread has bits of its own.  Together they take at most 32 MiB, a common size of the last cache, and
    16 for a single thread: from there on arenas are as fast.  With those of the states they take at most 30 %
    of the `free` bytes.
    """
    most = min(8 * SMALL_BITS, 16 * SMALL_BITS // threads, free * 8 * 3 // 10 // (threads + 1))
    return ranks <= max(SMALL_BITS, most)


def block_bits_for(ranks: int) -> int:
    """log2 of the ranks per block: such that there are about 1000 blocks, none smaller than a memory page."""
    return min(max((ranks >> 10).bit_length(), 16), 26)


def least_arena(blocks: int) -> int:
    """Return the bytes that the arena of a thread needs at least for a layer of so many blocks."""
    return 4 * max(blocks, 256) * PAGE_BYTES


def least_windows(ranks: int, threads: int, *, whole: bool = False) -> int:
    """Return the bytes that a layer of so many ranks needs at least beside the tables; 0 for a small layer.

    They are those of two blocks of states and two of afterstates, or of the `whole` layer, and of an arena a
    thread and another.
    """
    if ranks <= SMALL_BITS:
        return 0
    block = block_bits_for(ranks)
    bits = max(32 << block - 6, ranks // 8 * 10 // 3 if whole else 0)
    return bits + least_arena(-(-ranks >> block)) * (threads + 1)


def directory_bytes(ranks: int) -> int:
    """Return the bytes of a directory: a word of bits and a position of 32 bits for 64 ranks."""
    return 12 * (ranks // 64 + 1)


def lean_bytes(objectives: int) -> int:
    """The bytes for each afterstate of a layer that is solved with one layer above in memory at a time.

    Accumulators, and one byte for the number of spawns.
    """
    return 8 * objectives + 1
