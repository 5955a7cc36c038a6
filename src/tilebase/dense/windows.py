"""Layers of a dense pass as bits in files: one layer is in memory, and a window of another one.

The matrices of a layer (`sizes.Matrices`) follow each other by the sum of their outer halves.  Some
of them, of neighbouring sums, are read and written as a *window*:

    fold       afterstates[s] are narrowed by states[s + 4], then by states[s + 2], window by window
    columns    what slides along columns win, by the left half: a window at a time, all but the last to a file
    rows       afterstates become states in place, with what is won in the last window
    rows       the other windows are read again and added

So a layer takes its own memory and that of a window.  The layers above are read once; the states are written;
the afterstates are in no file.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tilebase.dense.backends.bits import WORD, BitLayer, Bits
from tilebase.dense.backends.protocol import Tell
from tilebase.dense.layers import Memory, RawLayer, checksum_parts, joined_checksum, released_on_error
from tilebase.dense.sizes import Matrices
from tilebase.dense.steps import ALL, SHARES, Range, Source, Step
from tilebase.dense.values import LayerValues
from tilebase.dense.workspace import Shares, Stored
from tilebase.files import places
from tilebase.game.game import Cells
from tilebase.runtime.storage import part_path
from tilebase.runtime.threads import Pool

T = TypeVar("T")
ADDED = 0.1
"""The estimated share of adding windows in the work of a layer."""
PARTS = 4
"""Windows of states, about, that are read of a small layer: all but the first while others are worked."""


class InWindows(Stored[BitLayer, RawLayer]):
    """States as bits in files; `ahead`: a window is read or written while another one is worked."""

    def __init__(self, pool: Pool, ahead: bool, bits: Bits, *arguments: Any) -> None:
        super().__init__(bits, *arguments)
        self._bits, self._pool, self._ahead = bits, pool, ahead

    def solve(self, total: int, kept: LayerValues | None, tell: Tell) -> None:
        states = self._store(total, part_path(self._path(total)))
        won = self._file(part_path(self._folder / places.of_sum(total, "columns")), self._bits.by_left(total))
        layer, shares = self._bits.layer(Source(total)), Shares(tell)
        with released_on_error(states, won):
            self._fold(layer, shares)
            if kept is not None:
                kept.add(layer)
            self._slide(layer, won, shares)
            self.keep(layer, states)

    def layer(self, total: int) -> BitLayer:
        """Return the states of a sum, read from their file, which must be there."""
        layer = self._bits.layer(Source(total))
        self._states[total].read_at(0, layer.data)
        return layer

    def keep(self, layer: BitLayer, states: RawLayer | None = None) -> None:
        """Write the states of a whole layer to its file, and take it up."""
        path = self._path(layer.total)
        states = states or self._store(layer.total, part_path(path))
        with released_on_error(states):
            states.create()
            states.write_at(0, layer.data, self._pool.map)
            # Not of the file, so that write errors are detected.
            states.checksum = joined_checksum(checksum_parts(layer.data, self._pool))
            states.rename(path)
        self._states[layer.total] = states

    def _fold(self, afters: BitLayer, shares: Shares) -> None:
        """Afterstates: each exponent narrows them, the largest first."""
        exponents, way = self._bits.exponents(afters.total), -1 if self._bits.onward else 1
        if not exponents:
            self._bits.fold_window({}, ALL, afters, shares.next(SHARES[Step.FOLD]))
        last, end, of = np.empty(0, dtype=WORD), 0, -1

        def windows() -> Iterator[tuple[int, Range]]:
            for exponent in exponents:
                above = self._bits.by_top(afters.total + way * 2**exponent)
                words, more = self._bits.words(two=self._ahead), 1 << (exponent - 1)
                if self._ahead:
                    words = min(words, max(above.size // PARTS, above.largest(more)))
                yield from ((exponent, sums) for sums in above.cut(words, more))

        def read(memory: Memory, one: tuple[int, Range]) -> tuple[Range, dict[int, BitLayer]]:
            nonlocal last, end, of
            exponent, sums = one
            total = afters.total + way * 2**exponent
            window = self._bits.by_top(total).window(Range(sums.begin, sums.end + (1 << (exponent - 1))))
            layer = BitLayer(total, window, self._bits, memory)
            if total in self._states:
                # What the last window has, too, is not read again; it may lie in the same memory.
                known = max(0, end - window.first) if total == of else 0
                layer.data[:known] = last[len(last) - known :]
                self._states[total].read_at(window.first + known, layer.data[known:])
                last, end, of = layer.data, window.first + window.size, total
            else:  # no board has this sum, or all boards of it count for nothing
                layer.fill(self._above(total))
            if way < 0:  # what is made from these sums, and from those above them
                more = 1 << (exponent - 1)
                sums = Range(sums.begin + more if sums.begin else 0, sums.end + more)
            return sums, {exponent: layer}

        with self._bits.windows(two=self._ahead) as memory, Pool(1) as files:
            for sums, states in files.map(partial(read, memory), windows(), self._ahead):
                share = SHARES[Step.FOLD] / len(exponents) * _part(afters.map.window(sums), afters.map)
                self._bits.fold_window(states, sums, afters, shares.next(share))
                states.clear()  # before memory for another window is asked for

    def _slide(self, layer: BitLayer, file: RawLayer, shares: Shares) -> None:
        """Replace afterstates by states; what columns win goes through a file if one window is too small."""
        columns = self._bits.by_left(layer.total)
        ahead = self._ahead and columns.size > self._bits.words(two=False)
        *before, last = [columns.window(sums) for sums in columns.cut(self._bits.words(two=ahead))]

        def slid(memory: Memory, window: Matrices) -> list[BitLayer]:
            won = BitLayer(layer.total, window, self._bits, memory)
            tell = shares.next(SHARES[Step.COLUMNS] * _part(window, columns))
            self._bits.slide_window(layer, won, tell)
            return [won]

        def write(here: list[BitLayer]) -> None:
            file.write_at(here[0].map.first, here[0].data)
            here.clear()

        def read(memory: Memory, window: Matrices) -> list[BitLayer]:
            won = BitLayer(layer.total, window, self._bits, memory)
            file.read_at(window.first, won.data)
            return [won]

        if before:
            file.create()
        with self._bits.windows(two=ahead) as memory, Pool(1) as files:
            for _ in files.map(write, map(partial(slid, memory), before), ahead):
                pass
            (won,) = slid(memory, last)
            adding = ADDED if before else 0.0
            self._bits.slide_rows(layer, won, shares.next(SHARES[Step.ROWS] - adding))
            del won
            there = files.map(partial(read, memory), before, ahead)
            for window, here in zip(before, there, strict=True):
                share = adding * _part(window, columns)
                self._bits.add_window(layer, here[0], shares.next(share))
                here.clear()
        file.release()

    def _store(self, total: int, path: Path) -> RawLayer:
        return self._file(path, self._bits.by_top(total))

    def _file(self, path: Path, blocks: Matrices) -> RawLayer:
        return RawLayer(path, blocks.size, WORD, self.moved)

    def value(self, total: int, board: Cells) -> int:
        word, bit = self._bits.place(self._bits.by_top(total), board)
        found = np.empty(1, dtype=WORD)
        self._states[total].read_at(word, found)
        return int(found[0]) >> bit & 1

    def discount(self, total: int) -> None:
        raise NotImplementedError(f"the bits of sum {total} cannot be discounted")


def _part(window: Matrices, whole: Matrices) -> float:
    return window.size / max(whole.size, 1)
