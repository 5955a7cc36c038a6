"""The layers of a dense pass while it runs: the states of the last layers, and the layer in work.

They are in memory (`InMemory`), where each step of a layer is one step, or in files: in batches (`InFiles`),
or as bits of which one layer is in memory (`InWindows`).  To a pass all look alike.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Container, Iterator
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from tilebase.dense.backends.bits import WORD, BitLayer, Bits
from tilebase.dense.backends.protocol import Backend, L, Tell
from tilebase.dense.index import PerfectIndex
from tilebase.dense.layers import (
    DenseLayer,
    DiskStore,
    Memory,
    Moved,
    RawLayer,
    change,
    checksum_parts,
    joined_checksum,
    released_on_error,
    states_path,
)
from tilebase.dense.plan import Plan
from tilebase.dense.sizes import Matrices
from tilebase.dense.steps import ALL, SHARES, BlockStep, Range, Source, Step, spawned, whole_steps
from tilebase.dense.values import LayerValues
from tilebase.files import places
from tilebase.game.game import Cells
from tilebase.objectives.encoding import Backup, discounted, value_above
from tilebase.objectives.objective import Objective
from tilebase.runtime.storage import part_path
from tilebase.runtime.threads import Pool

D = TypeVar("D", bound=DenseLayer)
S = TypeVar("S")
R = TypeVar("R", bound=RawLayer)


class Shares:
    """Tells how much of a layer is done, while its parts are done one after the other."""

    def __init__(self, tell: Tell) -> None:
        self._tell, self._done = tell, 0.0

    def next(self, share: float) -> Tell:
        """Return what the next part, which is such a share of the layer, tells its own share."""
        done, self._done = self._done, self._done + share
        return lambda part: self._tell(done + part * share)


class Workspace(ABC, Generic[L, S]):
    """A backend, and the states of the last layers by sum: `InMemory`, `InFiles` and `InWindows`.

    States of a sum above the highest layer have the value ``_above(sum)``; ``_discounted(values)`` are states
    times the discount.  `moved` counts what goes through files.
    """

    def __init__(
        self,
        backend: Backend[L],
        index: PerfectIndex,
        folder: Path,
        objective: Objective,
        backup: Backup,
    ) -> None:
        self._backend, self._index, self._folder = backend, index, folder
        self.layout = backend.layout
        self._objective = objective
        self._above = partial(value_above, index.game, objective, backup)
        self._discounted = partial(discounted, objective, most=backup.won)
        self.moved = Moved()
        self._sizes = index.sizes()
        self._states: dict[int, S] = {}

    @property
    def totals(self) -> Container[int]:
        """The sums whose states there are."""
        return self._states.keys()

    def bytes_of(self, value_bytes: float) -> int:
        """Return the bytes of the states that there are, if they are kept in files."""
        return sum(int(value_bytes * self._sizes.get(total, 0)) for total in self._states)

    @abstractmethod
    def load(self, total: int, crc: str) -> None:
        """Take up a checkpoint.  Raises `CorruptError` or `StorageError`."""

    @abstractmethod
    def save(self, total: int) -> str:
        """Make sure that the states of a sum are in a file that lasts; return its checksum."""

    @abstractmethod
    def solve(self, total: int, kept: LayerValues, tell: Tell) -> None:
        """Make the states of a sum from those above it.

        `kept` gets the afterstates in the order of ranks, `tell` the share of the work that is done.
        """

    @abstractmethod
    def discount(self, total: int) -> None:
        """Multiply the states of a sum by the discount."""

    @abstractmethod
    def release_above(self, total: int) -> None:
        """Release the layers of larger sums."""

    def value(self, total: int, board: Cells) -> Any:
        """Return what one state is worth."""
        state: Any = self._states[total]
        return state.value(board if self.layout == "bits" else self._index.rank(board))


class InMemory(Workspace[L, L]):
    """Whole layers in memory.

    If it is `lean`, the states that only the fold of a layer reads are released before its slides; an error
    or an interruption during the slides leaves no states, since nothing could go on from those left.
    """

    def __init__(self, *arguments: Any, lean: bool = False) -> None:
        super().__init__(*arguments)
        self._lean = lean

    def layer(self, total: int) -> L:
        """Return the states of a sum."""
        if total not in self._states:  # no board has this sum, or all boards of it count for nothing
            layer = self._backend.layer(Source(total))
            layer.fill(self._above(total))
            self._states[total] = layer
        return self._states[total]

    def load(self, total: int, crc: str) -> None:
        layer = self._backend.layer(Source(total))
        file = self._file(states_path(self._folder, total, self.layout), layer)
        file.check(crc)
        layer.load(file.read_all())
        self._states[total] = layer

    def save(self, total: int) -> str:
        layer, path = self._states[total], states_path(self._folder, total, self.layout)
        file = self._file(part_path(path), layer)
        data = layer.data  # a device copies them here each time
        with released_on_error(file):
            file.create()
            file.write_at(0, data)
            file.rename(path)
        return f"{zlib.crc32(data.data):08x}"  # not of the file, so that write errors are detected

    def _file(self, path: Path, layer: L) -> RawLayer:
        dtype = self._backend.dtype
        return RawLayer(path, layer.nbytes // dtype.itemsize, dtype, self.moved)

    def solve(self, total: int, kept: LayerValues, tell: Tell) -> None:
        backend, exponents, shares = self._backend, spawned(self._index.game, total), Shares(tell)
        fold, *slides = whole_steps(backend.steps, exponents, total)
        afters = backend.layer(Source(total))
        try:
            # A list without a name: it would keep the states that are released.
            backend.do(fold, [self.layer(one.total) for one in fold.reads], afters, shares.next(fold.share))
            kept.add(afters)
            if self._lean:
                self.release_above(total + 2)
            states = backend.layer(Source(total))
            for step in slides:
                backend.do(step, [afters], states, shares.next(step.share))
        except BaseException:
            if self._lean:
                self._states.clear()
            raise
        self._states[total] = states

    def discount(self, total: int) -> None:
        values = self._states[total].data
        change(values, self._discounted)
        self._states[total].load(values)

    def release_above(self, total: int) -> None:
        for old in [s for s in self._states if s > total]:
            del self._states[old]


class Stored(Workspace[L, R]):
    """States in files, which are the checkpoints."""

    def load(self, total: int, crc: str) -> None:
        store = self._store(total, self._path(total))
        store.check(crc)
        self._states[total] = store

    def save(self, total: int) -> str:
        return self._states[total].checksum  # the file is there

    def release_above(self, total: int) -> None:
        for old in [s for s in self._states if s > total]:
            self._states.pop(old).release()

    def _path(self, total: int) -> Path:
        return states_path(self._folder, total, self.layout)

    @abstractmethod
    def _store(self, total: int, path: Path) -> R:
        """Return the file of a layer."""


class InFiles(Stored[D, DiskStore]):
    """Layers in files; one batch of afterstates at a time is in memory."""

    def __init__(self, plan: Plan, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._plan = plan

    def _store(self, total: int, path: Path) -> DiskStore:
        return DiskStore(path, self._index.layer(total), self._backend.dtype, self.moved)

    def solve(self, total: int, kept: LayerValues, tell: Tell) -> None:
        afters = self._store(total, part_path(self._folder / places.of_sum(total, "afterstates")))
        states = self._store(total, part_path(self._path(total)))
        shares, cut = Shares(tell), self._plan.cut(self._index, total)
        with released_on_error(afters, states):
            afters.create()
            states.create()
            for blocks, steps in groupby(cut.steps(), key=lambda step: step.batch):
                self._batch(Source(total, blocks), list(steps), afters, states, kept, shares)
            afters.release()
            states.rename(self._path(total))
        self._states[total] = states

    def _batch(
        self, batch: Source, steps: list[BlockStep], afters: DiskStore, states: DiskStore, kept: LayerValues,
        shares: Shares,
    ) -> None:  # fmt: skip
        """Do the steps of a batch: those that fold its afterstates come first; else these are read."""
        folds = sum(step.kind is Step.FOLD for step in steps)
        layer = self._backend.layer(batch) if folds else afters.read(self._backend, batch)
        for step in steps[:folds]:
            self._fold(step, layer, shares.next(step.share))
        if folds:
            afters.write(layer)
            kept.add(layer)
        for step in steps[folds:]:
            self._slide(step, layer, states, shares.next(step.share))

    def _fold(self, step: BlockStep, layer: D, tell: Tell) -> None:
        above = [self._read(source) for source in step.reads]
        part = self._backend.layer(step.writes)
        self._backend.do(step, above, part, tell)
        layer.take(part)

    def _slide(self, step: BlockStep, layer: D, states: DiskStore, tell: Tell) -> None:
        if step.kind is Step.ROWS:
            part = self._backend.layer(step.writes)
        else:
            part = states.read(self._backend, step.writes)
        self._backend.do(step, [layer], part, tell)
        states.write(part)

    def _read(self, source: Source) -> D:
        if source.total in self._states:
            return self._states[source.total].read(self._backend, source)
        layer = self._backend.layer(source)  # no board has this sum
        layer.fill(self._above(source.total))
        return layer

    def discount(self, total: int) -> None:
        self._states[total].change(self._discounted)


# -- bits in files ---------------------------------------------------------------------------------

ADDED = 0.1
"""The estimated share of adding windows in the work of a layer."""
PARTS = 4
"""Windows of states, about, that are read of a small layer: all but the first while others are worked."""


class InWindows(Stored[BitLayer, RawLayer]):
    """States as bits in files: one layer is in memory, and a window of another one.

    The matrices of a layer (`sizes.Matrices`) follow each other by the sum of their outer halves.  Some of
    them, of neighbouring sums, are read and written as a *window*:

        fold       afterstates[s] are narrowed by states[s + 4], then by states[s + 2], window by window
        columns    what slides along columns win, by the left half: a window at a time, all but the last to a
                   file
        rows       afterstates become states in place, with what is won in the last window
        rows       the other windows are read again and added

    So a layer takes its own memory and that of a window.  The layers above are read once; the states are
    written; the afterstates are in no file.  `ahead`: a window is read or written while another is worked.
    """

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
