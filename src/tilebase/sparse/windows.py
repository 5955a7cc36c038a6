"""Sets of boards of one layer, one bit per rank, of which one window is in memory.

    ranks of a layer    | block | block | block | block | block | block |     2**block_bits ranks each
    windows             |       window 0        |       window 1        |     one of them as bits in memory

Threads collect ranks in arenas, block by block.  When an arena is emptied, the bits of the window in memory
are set, and the ranks of later windows go to a parcel file: one stream (`_kernels.exchange`) for each window.
Whoever has a window in memory sets the bits of its streams, so neither the order nor repetitions matter.

A process that makes a layer alone takes one window after the other (`SpilledSet`).  Mostly a layer has only
one window and no file.  Workers that share a layer send all ranks to files, and each reads those of its
window.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from tilebase._kernels import exchange, forward, rank
from tilebase._kernels.arguments import Array, Pages
from tilebase.files.parcels import ParcelFile, ParcelWriter
from tilebase.sparse import sizes
from tilebase.sparse.sizes import PAGE_BYTES, block_bits_for, least_arena

NO_WORDS, NO_BYTES = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint8)
NONE_HERE = -1
"""The window in memory of a set all of whose ranks go to a file: all windows are later ones."""
PIECE_WORDS = 1 << 12
"""Words whose bits are counted by one call of a kernel's loop."""


class Windows:
    """How the ranks of a layer are divided into blocks, and the blocks into windows."""

    def __init__(self, size: int, width: int | None = None) -> None:
        """`size`: the ranks of the layer; `width`: the blocks of a window, by default all."""
        self.size = size
        self.block_bits = block_bits_for(size)
        self.blocks = max(1, -(-size >> self.block_bits))
        self.width = min(width or self.blocks, self.blocks)
        self.count = -(-self.blocks // self.width)
        self.block_words = 1 << self.block_bits - 6  # uint64
        self.least_arena = least_arena(self.blocks)  # bytes, for each thread

    def blocks_of(self, window: int) -> tuple[int, int]:
        """Return the first block of a window, and the block after its last one."""
        first = window * self.width
        return first, min(first + self.width, self.blocks)


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


class Mailbox:
    """Memory of one thread that sends and receives ranks."""

    def __init__(self) -> None:
        self.block = NO_WORDS  # the bits of one block, which are zero between two calls
        self.stream = self.parcel = NO_BYTES


class BitSet:
    """The boards of a layer in one window as bits, and the file of the ranks that belong to later windows."""

    def __init__(
        self, windows: Windows, window: int, bits: Array, mail: Mailbox, file: ParcelWriter | None = None, *,
        direct: bool = False,
    ) -> None:  # fmt: skip
        """`bits`: zeroed uint64 words for a window; none if no window is in memory (`NONE_HERE`).

        `direct`: whether bits are set at once, without arenas; then there is only one window.
        """
        self.windows, self.size, self.block_bits = windows, windows.size, windows.block_bits
        self.direct, self.mail, self.file = direct, mail, file
        self.is_small = self.size <= sizes.SMALL_BITS  # whether it is the set of a small layer
        self.bits = bits[: windows.width * windows.block_words]
        self._enter(window)

    def _enter(self, window: int) -> None:
        """Have another window in memory: its first block and rank, and those after its last ones."""
        self.window = window
        self.first_block, self.last_block = self.windows.blocks_of(window)
        self.first_rank = self.first_block << self.block_bits
        self.last_rank = min(self.last_block << self.block_bits, self.size)

    def ranges(self, parts: int) -> Iterator[tuple[int, int]]:
        """Yield about `parts` ranges of ranks that cover the window, each of whole blocks."""
        step = max(1, (self.last_block - self.first_block) // parts)
        for block in range(self.first_block, self.last_block, step):
            end = min(block + step, self.last_block)
            yield block << self.block_bits, min(end << self.block_bits, self.size)

    def clear(self, begin: int, end: int) -> None:
        """Zero the bits of ranks [begin, end), whole blocks of the window in memory."""
        self._words(begin, end)[:] = 0

    def count(self, begin: int, end: int) -> int:
        """Return the boards among ranks [begin, end) of the window in memory, whole blocks."""
        words = self._words(begin, end)
        counts = np.empty(-(-len(words) // PIECE_WORDS), dtype=np.uint64)
        rank.popcounts(words, PIECE_WORDS, counts)
        return int(counts.sum())

    def _words(self, begin: int, end: int) -> Array:
        return self.bits[(begin - self.first_rank) >> 6 : (end - self.first_rank + 63) >> 6]

    def add(self, ranks: Array) -> None:
        """Set the bits of those of a few ranks that lie in the window."""
        mine = ranks[(ranks >= self.first_rank) & (ranks < self.last_rank)] - np.uint64(self.first_rank)
        rank.set_bits(mine, len(mine), self.bits)

    def send(self, arena: Arena, pages: tuple[Array, Array, Array]) -> None:
        """Write the ranks of later windows to the file, a parcel for each window: others get an empty one.

        `pages` as `Arena.by_block` returns them.  Raises `StorageError`.
        """
        assert self.file is not None
        mail, windows, (start, order, length) = self.mail, self.windows, pages
        if len(mail.block) != windows.block_words:
            mail.block = np.zeros(windows.block_words, dtype=np.uint64)
        for window in range(windows.count):
            if window <= self.window:
                self.file.add(b"")
                continue
            begin, end = windows.blocks_of(window)
            ranks = int(length[order[start[begin] : start[end]]].sum())
            most = 4 * ranks + exchange.HEAD * (end - begin)
            if len(mail.stream) < most:
                mail.stream = np.empty(most * 5 // 4, dtype=np.uint8)
            n = exchange.pack_offsets(
                begin, end, windows.block_bits, arena.data, start, order, length, mail.block, mail.stream
            )
            self.file.add(mail.stream[:n])

    def receive(self, file: ParcelFile, parcels: int) -> None:
        """Set the bits of the ranks that a file holds for this window, in its first `parcels` parcels.

        Raises `CorruptError` or `StorageError`.
        """
        mail, numbers = self.mail, range(self.window, parcels, self.windows.count)
        largest = int(file.sizes()[numbers].max(initial=0))
        if len(mail.parcel) < largest:
            mail.parcel = np.empty(largest * 5 // 4, dtype=np.uint8)
        for number in numbers:
            exchange.unpack_offsets(file.read(number, mail.parcel), self.block_bits, self.bits)


class SpilledSet(BitSet):
    """The boards of a layer, window after window: ranks of later windows are spilled to a file of its own."""

    def __init__(self, size: int, storage: Array, folder: Path, name: str, *, direct: bool = False) -> None:
        """`storage`: zeroed uint64 words of two blocks at least; a window has as many as they hold."""
        windows = Windows(size, len(storage) // Windows(size).block_words)
        super().__init__(windows, 0, storage, Mailbox(), direct=direct)
        self._path = folder / f".{name}.spill"
        self._received: ParcelFile | None = None
        self._later = NO_WORDS  # ranks in later windows that `add` was given

    def add(self, ranks: Array) -> None:
        """Set the bits of a few ranks; those of later windows are set when their window is read."""
        super().add(ranks)
        self._later = np.concatenate([self._later, ranks])

    def send(self, arena: Arena, pages: tuple[Array, Array, Array]) -> None:
        """Spill the ranks of later windows.  Raises `StorageError`."""
        if self.file is None:
            self.file = ParcelWriter(self._path).__enter__()
        super().send(arena, pages)

    def advance(self) -> None:
        """Read the next window into memory.  The caller must have cleared the present one.

        From then on, nothing can be spilled.  Raises `StorageError` or `CorruptError`.
        """
        if self.file is not None:
            sent, self.file = self.file, None
            sent.__exit__(None, None, None)
            self._received = ParcelFile(self._path)
        self._enter(self.window + 1)
        if self._received is not None:
            self.receive(self._received, len(self._received))
        super().add(self._later)

    def discard(self) -> None:
        """Delete the file of later windows."""
        if self.file is not None:
            self.file.abandon()
        if self._received is not None:
            self._received.close()
            self._path.unlink(missing_ok=True)
        self.file = self._received = None
