"""The mailbox of ranks: how ranks of a layer come to windows that are not in memory.

A window is a range of blocks of a layer (`sparse.bitset`).  Ranks for another window, a later one of this
process or one of another worker, go through a parcel file: each time an arena is emptied, it gets one stream
(`_kernels.exchange`) for each window.  Who has the window in memory sets the bits of its streams, so neither
the order nor repetitions matter.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import exchange
from tilebase.files.parcels import ParcelFile, ParcelWriter
from tilebase.sparse.arenas import Arena, Windows

Array = npt.NDArray[Any]
NO_WORDS, NO_BYTES = np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint8)


class Mailbox:
    """Memory of one thread that sends and receives ranks."""

    def __init__(self) -> None:
        self._block = NO_WORDS  # the bits of one block, which are zero between two calls
        self._stream = self._parcel = NO_BYTES

    def send(
        self,
        file: ParcelWriter,
        windows: Windows,
        arena: Arena,
        pages: tuple[Array, Array, Array],
        first: int = 0,
    ) -> None:
        """Write the offsets in an arena, a parcel for each window; those before `first` get an empty one.

        `pages` as `Arena.by_block` returns them.  Raises `StorageError`.
        """
        start, order, length = pages
        words = windows.block_words
        if len(self._block) != words:
            self._block = np.zeros(words, dtype=np.uint64)
        for window in range(windows.count):
            if window < first:
                file.add(b"")
                continue
            begin, end = windows.blocks_of(window)
            ranks = int(length[order[start[begin] : start[end]]].sum())
            most = 4 * ranks + exchange.HEAD * (end - begin)
            if len(self._stream) < most:
                self._stream = np.empty(most * 5 // 4, dtype=np.uint8)
            n = exchange.pack_offsets(
                begin, end, windows.block_bits, arena.data, start, order, length, self._block, self._stream
            )
            file.add(self._stream[:n])

    def receive(self, file: ParcelFile, parcels: int, windows: Windows, window: int, bits: Array) -> None:
        """Set the bits of the ranks that were sent to a window; the first `parcels` parcels are streams.

        Raises `CorruptError` or `StorageError`.
        """
        numbers = range(window, parcels, windows.count)
        largest = int(file.sizes()[numbers].max(initial=0))
        if len(self._parcel) < largest:
            self._parcel = np.empty(largest * 5 // 4, dtype=np.uint8)
        for number in numbers:
            exchange.unpack_offsets(file.read(number, self._parcel), windows.block_bits, bits)
