"""Arenas: where a thread collects ranks of a layer, block by block, before they go where they belong.

The ranks of a layer are divided into blocks of 2**block_bits, and the blocks into windows, of which one is
in memory at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import forward
from tilebase._kernels.arguments import Pages
from tilebase.sparse.sizes import PAGE_BYTES, block_bits_for, least_arena

Array = npt.NDArray[Any]


class Windows:
    """How the ranks of a layer are divided into blocks, and the blocks into windows."""

    def __init__(self, size: int, width: int | None = None) -> None:
        """`size`: the ranks of the layer; `width`: the blocks of a window, by default all."""
        self.size = size
        self.block_bits = block_bits_for(size)
        self.blocks = max(1, -(-size >> self.block_bits))
        self.width = min(width or self.blocks, self.blocks)

    @property
    def count(self) -> int:
        """The number of windows."""
        return -(-self.blocks // self.width)

    @property
    def block_words(self) -> int:
        """The words (uint64) of the bits of a block."""
        return 1 << self.block_bits - 6

    @property
    def least_arena(self) -> int:
        """The bytes that the arena of a thread needs at least."""
        return least_arena(self.blocks)

    def blocks_of(self, window: int) -> tuple[int, int]:
        """Return the first block of a window, and the block after its last one."""
        first = window * self.width
        return first, min(first + self.width, self.blocks)

    def ranks_of(self, window: int) -> tuple[int, int]:
        """Return the first rank of a window, and the rank after its last one."""
        first, last = self.blocks_of(window)
        return first << self.block_bits, min(last << self.block_bits, self.size)


class Arena:
    """Pages of one thread that collect offsets before they are set in a bit set."""

    def __init__(self, nbytes: int) -> None:
        self.pages = nbytes // PAGE_BYTES
        self.data = np.empty(self.pages * forward.PAGE, dtype=np.uint32)
        self.page_block = np.zeros(self.pages, dtype=np.int64)
        self.used = np.zeros(1, dtype=np.int64)
        self.cursor = np.zeros(0, dtype=np.int64)

    def reset(self, blocks: int) -> None:
        """Empty all pages; block b begins with page b."""
        self.cursor = np.arange(blocks, dtype=np.int64) * forward.PAGE
        self.page_block[:blocks] = np.arange(blocks)
        self.used[0] = blocks

    def pages_for(self, block_bits: int) -> Pages:
        """Return the pages as an argument of kernels."""
        return Pages(np.uint64(block_bits), self.data, self.cursor, self.page_block, self.used)

    def offsets(self, page: int, length: Array) -> Array:
        """Return the offsets of a page; ``length`` as `by_block` returns it."""
        begin = page * forward.PAGE
        return self.data[begin : begin + int(length[page])]

    def by_block(self, blocks: int) -> tuple[Array, Array, Array]:
        """Return ``(start, order, length)``: pages of block b are ``order[start[b]:start[b + 1]]``."""
        used = int(self.used[0])
        start = np.empty(blocks + 1, dtype=np.int64)
        order = np.empty(used, dtype=np.int64)
        forward.pages_by_block(self.page_block, used, blocks, start, order)
        length = np.full(used, forward.PAGE, dtype=np.int64)
        current = self.cursor // forward.PAGE
        length[current] = self.cursor % forward.PAGE
        return start, order, length
