"""Sets of boards of one layer, one bit per rank, filled through arenas; they may be larger than memory.

The ranks of a layer are divided into blocks of 2**block_bits, and the blocks into windows.  The bits
of one window are in memory.  When an arena is flushed, offsets of other windows are appended to the
spill files of those windows.  They are set when their window is read into memory.  Mostly a layer has
only one window and no spill files.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import forward, rank
from tilebase._kernels.arguments import Pages
from tilebase.errors import StorageError
from tilebase.runtime.storage import open_own

Array = npt.NDArray[Any]
PAGE_BYTES = 4 * forward.PAGE
PIECE_WORDS = 1 << 12


def block_bits_for(size: int) -> int:
    """log2 of the ranks per block: such that there are about 1000 blocks, none smaller than a memory page."""
    return min(max((size >> 10).bit_length(), 16), 26)


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


class BitSet:
    """The boards reached in one layer."""

    def __init__(self, size: int, storage: Array, folder: Path, name: str) -> None:
        """`storage`: zeroed uint64 words that this set may use; `folder`: the folder of spill files."""
        self.size = size
        self.block_bits = block_bits_for(size)
        self.blocks = max(1, (size + (1 << self.block_bits) - 1) >> self.block_bits)
        words_a_block = 1 << self.block_bits - 6
        self.window_blocks = min(self.blocks, len(storage) // words_a_block)
        self.bits = storage[: self.window_blocks * words_a_block]
        self.window = 0
        self._folder, self._name = folder, name
        self.spilled_bytes = 0
        self._spilled = False  # whether a spill file may exist

    @staticmethod
    def least_words(size: int) -> int:
        """Words of storage that a set of this size needs at least: two blocks."""
        return 2 << block_bits_for(size) - 6

    # -- windows -----------------------------------------------------------------------------

    @property
    def windows(self) -> int:
        """The number of windows."""
        return -(-self.blocks // self.window_blocks)

    @property
    def first_block(self) -> int:
        """The first block of the window in memory."""
        return self.window * self.window_blocks

    @property
    def last_block(self) -> int:
        """The block after the last one of the window in memory."""
        return min(self.first_block + self.window_blocks, self.blocks)

    @property
    def first_rank(self) -> int:
        """The rank of the first bit in memory."""
        return self.first_block << self.block_bits

    def ranges(self, parts: int) -> Iterator[tuple[int, int]]:
        """Yield about `parts` ranges of ranks that cover the window, each of whole blocks."""
        blocks = self.last_block - self.first_block
        step = max(1, blocks // parts)
        for block in range(self.first_block, self.last_block, step):
            end = min(block + step, self.last_block)
            yield block << self.block_bits, min(end << self.block_bits, self.size)

    def clear(self, begin: int, end: int) -> None:
        """Zero the bits of ranks [begin, end), whole blocks of the window in memory."""
        first = (begin - self.first_rank) >> 6
        self.bits[first : (end - self.first_rank + 63) >> 6] = 0

    def count(self, begin: int, end: int) -> int:
        """Return the boards among ranks [begin, end) of the window in memory, whole blocks."""
        words = self.bits[(begin - self.first_rank) >> 6 : (end - self.first_rank + 63) >> 6]
        counts = np.empty(-(-len(words) // PIECE_WORDS), dtype=np.uint64)
        rank.popcounts(words, PIECE_WORDS, counts)
        return int(counts.sum())

    def add(self, ranks: Array) -> None:
        """Set the bits of a few ranks, one by one.  Raises `StorageError`.

        Bits of the window in memory are set at once, the others when their window is read.
        """
        for r in ranks.tolist():
            block = int(r) >> self.block_bits
            if block < self.last_block:
                bit = int(r) - self.first_rank
                self.bits[bit >> 6] |= np.uint64(1 << (bit & 63))
            else:
                offset = np.array([int(r) - (block << self.block_bits)], dtype=np.uint32)
                with self._spill_file(block // self.window_blocks) as file:
                    self._spill_offsets(file, block, [offset])

    # -- spilling ----------------------------------------------------------------------------

    def _spill_path(self, window: int) -> Path:
        return self._folder / f".{self._name}-{window}.spill"

    def spill(self, arena: Arena, start: Array, order: Array, length: Array) -> None:
        """Append the offsets of other windows to their spill files.  Raises `StorageError`."""
        for window in range(self.window + 1, self.windows):
            first = window * self.window_blocks
            last = min(first + self.window_blocks, self.blocks)
            with self._spill_file(window) as file:
                for block in range(first, last):
                    pages = order[start[block] : start[block + 1]]
                    self._spill_offsets(file, block, [arena.offsets(page, length) for page in pages.tolist()])

    @contextmanager
    def _spill_file(self, window: int) -> Iterator[Any]:
        self._spilled = True
        try:
            with open_own(self._spill_path(window), "ab") as file:
                yield file
        except OSError as error:
            raise StorageError(f"cannot spill to {self._folder}: {error.strerror or error}") from error

    def _spill_offsets(self, file: Any, block: int, pieces: list[Array]) -> None:
        """Append offsets (uint32) within a block."""
        count = sum(map(len, pieces))
        if not count:
            return
        file.write(np.array([block, count], dtype=np.uint64).tobytes())
        for piece in pieces:
            file.write(piece.tobytes())
        self.spilled_bytes += 16 + 4 * count

    def advance(self) -> None:
        """Read the next window into memory.  The caller must have cleared the present one."""
        self.window += 1
        path = self._spill_path(self.window)
        if not path.exists():
            return
        with path.open("rb") as file:
            while head := file.read(16):
                block, count = np.frombuffer(head, dtype=np.uint64)
                data = np.frombuffer(bytearray(file.read(4 * int(count))), dtype=np.uint32)
                base = (block - np.uint64(self.first_block)) << np.uint64(self.block_bits)
                rank.set_bits(data + base, len(data), np.uint64(0), self.bits)
        path.unlink()

    def discard(self) -> None:
        """Delete the remaining spill files."""
        for window in range(self.windows if self._spilled else 0):
            self._spill_path(window).unlink(missing_ok=True)
