"""Sets of boards of one layer, one bit per rank, filled through arenas; they may be larger than memory.

The bits of one window are in memory.  When an arena is emptied, the offsets of later windows go to a parcel
file (`sparse.mailbox`), and their bits are set when their window comes into memory.  Mostly a layer has only
one window and no file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import rank
from tilebase.files.parcels import ParcelFile, ParcelWriter
from tilebase.sparse.arenas import Arena, Windows
from tilebase.sparse.mailbox import Mailbox

Array = npt.NDArray[Any]
PIECE_WORDS = 1 << 12


class BitSet:
    """The boards reached in one layer."""

    def __init__(self, size: int, storage: Array, folder: Path, name: str, *, direct: bool = False) -> None:
        """`storage`: zeroed uint64 words that this set may use; `folder`: the folder of spill files.

        `direct`: whether bits are set at once, without arenas; then the storage is that of one window.
        """
        block_words = Windows(size).block_words
        self.windows = Windows(size, len(storage) // block_words)
        self.size, self.block_bits = size, self.windows.block_bits
        self.direct = direct
        self.bits = storage[: self.windows.width * block_words]
        self.window = 0
        self.spilled_bytes = 0
        self._path = folder / f".{name}.spill"
        self._mail = Mailbox()
        self._sent: ParcelWriter | None = None
        self._received: ParcelFile | None = None
        self._later: list[int] = []  # ranks in later windows that `add` was given

    @staticmethod
    def least_words(size: int) -> int:
        """Words of storage that a set of this size needs at least: two blocks."""
        return 2 * Windows(size).block_words

    # -- the window in memory ----------------------------------------------------------------

    @property
    def first_block(self) -> int:
        """The first block of the window in memory."""
        return self.windows.blocks_of(self.window)[0]

    @property
    def last_block(self) -> int:
        """The block after the last one of the window in memory."""
        return self.windows.blocks_of(self.window)[1]

    @property
    def first_rank(self) -> int:
        """The rank of the first bit in memory."""
        return self.first_block << self.block_bits

    def ranges(self, parts: int) -> Iterator[tuple[int, int]]:
        """Yield about `parts` ranges of ranks that cover the window, each of whole blocks."""
        first, last = self.windows.blocks_of(self.window)
        step = max(1, (last - first) // parts)
        for block in range(first, last, step):
            end = min(block + step, last)
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
        """Set the bits of a few ranks; those of later windows are set when their window is read."""
        end = self.windows.ranks_of(self.window)[1]
        self._set([r for r in ranks.tolist() if r < end])
        self._later += [r for r in ranks.tolist() if r >= end]

    def _set(self, ranks: list[int]) -> None:
        for r in ranks:
            bit = r - self.first_rank
            self.bits[bit >> 6] |= np.uint64(1 << (bit & 63))

    # -- later windows -----------------------------------------------------------------------

    def spill(self, arena: Arena, pages: tuple[Array, Array, Array]) -> None:
        """Write the offsets of later windows to a file; `pages` as `Arena.by_block` returns them.

        Raises `StorageError`.
        """
        if self._sent is None:
            self._sent = ParcelWriter(self._path).__enter__()
        before = self._sent.nbytes
        self._mail.send(self._sent, self.windows, arena, pages, self.window + 1)
        self.spilled_bytes += self._sent.nbytes - before

    def advance(self) -> None:
        """Read the next window into memory.  The caller must have cleared the present one.

        From then on, nothing can be spilled.  Raises `StorageError` or `CorruptError`.
        """
        if self._sent is not None:
            sent, self._sent = self._sent, None
            sent.__exit__(None, None, None)
            self._received = ParcelFile(self._path)
        self.window += 1
        if self._received is not None:
            parcels = len(self._received)
            self._mail.receive(self._received, parcels, self.windows, self.window, self.bits)
        end = self.windows.ranks_of(self.window)[1]
        self._set([r for r in self._later if r < end])
        self._later = [r for r in self._later if r >= end]

    def discard(self) -> None:
        """Delete the file of later windows."""
        if self._sent is not None:
            self._sent.abandon()
        if self._received is not None:
            self._received.close()
            self._path.unlink(missing_ok=True)
        self._sent = self._received = None
