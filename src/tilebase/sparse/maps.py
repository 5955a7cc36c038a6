"""The two maps of the forward pass, divided into tasks for several threads.

A task works until it is done or the arena of its thread is full.  Then all threads pause, the
arenas are flushed into the target set, and the tasks continue.  Target sets that fit into the cache
(`sizes.is_direct`) need no arenas: each thread sets bits directly, the first one those of the target, the
others their own, which are united at the end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Protocol, TypeAlias

import numpy as np

from tilebase._kernels import forward
from tilebase._kernels.arguments import Array, BoardRules, Marks, Recent, Scratch, Target
from tilebase._kernels.packed import packed
from tilebase.files.keys import StoredLayer, Take
from tilebase.game.compiled import CompiledGame
from tilebase.runtime.threads import Pool, drain
from tilebase.sparse.index import IndexedLayer
from tilebase.sparse.sizes import PAGE_BYTES
from tilebase.sparse.windows import Arena, BitSet, Mailbox

PARTS = 128
"""Ranges per thread into which a large layer is divided."""
SMALL_PARTS = 8
"""The most ranges per thread into which a small layer is divided."""
UNITED_WORDS = 1 << 14
"""Words of bits that one thread unites at a time."""
RECENT_BITS = 14
"""log2 of the slots of the filter of recent afterstates; a larger filter finds more and takes longer."""

NOTHING = np.uint64((1 << 64) - 1)
"""Marks a free slot: no rank, and the key of a board full of x, which no slide makes."""


def parts_of(boards: BitSet, threads: int, least: int) -> int:
    """Return into about how many ranges of ranks so many threads divide the work for a set.

    Those of a small set have at least so many boards.
    """
    if not boards.is_small:
        return PARTS * threads
    if threads == 1:
        return 1
    return min(max(boards.count(0, boards.size) // least, 1), SMALL_PARTS * threads)


class Worker:
    """Buffers of one thread."""

    def __init__(self) -> None:
        self.scratch = packed(Scratch.of(forward.BATCH))
        self.spawned = packed(Scratch.of(forward.BATCH))
        self.marks = Marks.of(forward.BATCH)
        self.mail = Mailbox()
        self.arena = Arena(0)
        self._bits = np.zeros(0, dtype=np.uint64)
        self._own = False
        self._slots = np.full(1 << RECENT_BITS, NOTHING)
        self.recent = Recent(self._slots, np.uint64(RECENT_BITS))

    def forget(self, size: int) -> None:
        """Clear the filter, which is valid for one target set only; make it smaller for a small set."""
        bits = min(max(size.bit_length() - 6, 8), RECENT_BITS)
        self.recent = Recent(self._slots, np.uint64(bits))
        self._slots[: 1 << bits] = NOTHING

    def grow_arena(self, nbytes: int) -> None:
        """Take an arena of about `nbytes`; unused pages take no memory."""
        have = self.arena.pages * PAGE_BYTES
        if have > nbytes or 2 * have <= nbytes:
            self.arena = Arena(0)  # release the old arena first, to save memory
            self.arena = Arena(nbytes)

    def target(self, boards: BitSet, indexed: IndexedLayer) -> Target:
        """Return a set that this worker fills."""
        pages = self.arena.pages_for(boards.block_bits)
        bits = self.bits_for(len(boards.bits)) if self._own else boards.bits
        return Target(indexed.ranking, boards.direct, bits, pages)

    def bits_for(self, words: int) -> Array:
        """Return bits of its own for a set of so many words, zero until `target` gives them."""
        if len(self._bits) < words:
            self._bits = np.zeros(0, dtype=np.uint64)  # release the old memory first
            self._bits = np.zeros(words, dtype=np.uint64)
        return self._bits[:words]

    def drain(self, tasks: deque[MapTask], stop: Event, *, own: bool = False) -> None:
        """Do tasks until none is left, the arena is full, or `stop` is set; set `own` bits (`bits_for`)."""
        self._own = own
        drain(tasks, lambda task: not task.run(self), stop)

    def send(self, tasks: Iterable[MapTask], target: BitSet) -> None:
        """Do tasks one after the other; all ranks go to the file of the target.  Raises `StorageError`."""
        self.forget(target.size)
        blocks = target.windows.blocks
        self.arena.reset(blocks)

        def flush() -> None:
            target.send(self.arena, self.arena.by_block(blocks))
            self.arena.reset(blocks)

        for task in tasks:
            while not task.run(self):
                flush()
        flush()


def undecided(keys: Array, rules: BoardRules, ended: bool) -> Array:
    """Which of some states of one sum are not decided within one move; with lookahead only these count.

    `ended`: whether the sum has reached the horizon, so that the next slide is the last.  Changes `keys`.
    """
    if ended:
        return keys[:0]
    scratch, spawned = packed(Scratch.of(forward.BATCH)), packed(Scratch.of(forward.BATCH))
    marks, kept = Marks.of(forward.STATES), 0
    marks.maxima.fill(255)  # the largest tiles are not known, so none is small
    for begin in range(0, len(keys), forward.STATES):
        batch = keys[begin : begin + forward.STATES].copy()
        n = forward.collapse(batch, len(batch), rules, scratch, spawned, marks.maxima, marks.won, marks.alive)
        keys[kept : kept + n] = batch[:n]
        kept += n
    return np.sort(keys[:kept])


def start_keys(compiled: CompiledGame) -> dict[int, Array]:
    """Canonical start states by sum; afterstates if a spawn comes first."""
    game = compiled.game
    by_sum: dict[int, list[int]] = {}
    for board in game.start_afters or tuple(board for board, _ in game.starts()):
        by_sum.setdefault(game.sum(board), []).append(game.pack(board))
    return {s: compiled.canonical(np.array(keys, dtype=np.uint64)) for s, keys in by_sum.items()}


@dataclass
class SpawnTask:
    """Put one exponent, or nothing with 0, on the empty cells of some afterstates, which `read` returns."""

    compiled: CompiledGame
    indexed: IndexedLayer
    read: Callable[[], Array]
    exponent: int
    states: BitSet
    position: int = 0
    keys: Array | None = None

    def run(self, worker: Worker) -> bool:
        """Work until done (True) or the arena is full (False).  Raises `CorruptError`."""
        if self.keys is None:
            self.keys = self.read()
        target = worker.target(self.states, self.indexed)
        self.position = forward.spawn_map(
            self.keys, self.position, self.exponent, self.compiled.rules, target, worker.scratch
        )
        return bool(self.position == len(self.keys))


@dataclass
class SlideTask:
    """Slide the states of one range of ranks; count them; clear their bits when done."""

    compiled: CompiledGame
    indexed: IndexedLayer
    begin: int
    end: int
    states: BitSet
    afters: BitSet
    lookahead: bool

    def __post_init__(self) -> None:
        self.position = self.begin
        # counts[e]: counts of the states whose largest exponent is e; columns as in _kernels.forward.
        self.counts = np.zeros((self.compiled.game.bounds.code + 1, 5), dtype=np.int64)
        if self.lookahead:
            forward.collapse.want()

    def run(self, worker: Worker) -> bool:
        """Work until done (True) or the arena is full (False)."""
        position = forward.slide_map(
            self.indexed.source(self.states), np.uint64(self.position), np.uint64(self.end),
            self.compiled.rules, self.lookahead, worker.target(self.afters, self.indexed), worker.recent,
            worker.scratch, worker.marks, worker.spawned, self.counts,
        )  # fmt: skip
        self.position = int(position)
        if self.position < self.end:
            return False
        self.states.clear(self.begin, self.end)
        return True


MapTask: TypeAlias = SpawnTask | SlideTask
"""A piece of a map."""


class Finder(Protocol):
    """What finds the boards of layers in place of the two maps, in bits: `dense.reached.Marks`."""

    def make(
        self, total: int, sources: Mapping[int, StoredLayer], take: Take | None, tell: Callable[[float], None]
    ) -> tuple[int, int]:
        """Make a layer; see there."""

    def close(self) -> None:
        """Stop the threads, and delete files."""


class Team:
    """Threads that do tasks and flush their arenas together."""

    def __init__(self, threads: int) -> None:
        self.workers = [Worker() for _ in range(threads)]
        self.pool = Pool(threads)

    def close(self) -> None:
        """Stop the threads and release the arenas."""
        self.pool.close()
        self.release()

    def release(self) -> None:
        """Release the arenas."""
        for worker in self.workers:
            worker.arena = Arena(0)

    def map(self, tasks: deque[MapTask], target: BitSet, report: Callable[[float], None]) -> None:
        """Do all tasks; `report` is called at times with the share that is done."""
        workers = self.workers[: max(len(tasks) // 2, 1)] if target.direct else self.workers
        for worker in workers:
            worker.forget(target.size)
        if target.direct:
            self._map_directly(tasks, target, workers)
            return
        for worker in workers:
            worker.arena.reset(target.windows.blocks)
        count = max(len(tasks), 1)
        while tasks:
            self.pool.together(
                lambda worker, stop: worker.drain(tasks, stop), workers,
                tell=lambda: report(1 - len(tasks) / count),
            )  # fmt: skip
            self._flush(target)

    def _map_directly(self, tasks: deque[MapTask], target: BitSet, workers: Sequence[Worker]) -> None:
        """Do tasks whose bits fit into cache: the first worker sets those of the target."""
        stop = Event()
        with ExitStack() as stack:
            for worker in workers[1:]:
                stack.enter_context(self.pool.beside(partial(worker.drain, tasks, stop, own=True)))
            try:
                workers[0].drain(tasks, stop)
            except BaseException:
                stop.set()
                raise
        words = len(target.bits)
        own = [worker.bits_for(words) for worker in workers[1:]]

        def unite(first: int) -> None:
            span = slice(first, first + UNITED_WORDS)
            for bits in own:
                target.bits[span] |= bits[span]
                bits[span] = 0

        spans = range(0, words if own else 0, UNITED_WORDS)
        for _ in map(unite, spans) if len(spans) <= 2 else self.pool.map(unite, spans):
            pass

    def _flush(self, target: BitSet) -> None:
        """Move all offsets from the arenas into the set."""
        arenas = [worker.arena for worker in self.workers]
        views = list(self.pool.map(lambda arena: arena.by_block(target.windows.blocks), arenas))
        if target.windows.count > 1:
            for arena, view in zip(arenas, views, strict=True):
                target.send(arena, view)

        def part(first: int, last: int) -> None:
            for arena, (start, order, length) in zip(arenas, views, strict=True):
                forward.flush(
                    first, last, target.first_block, np.uint64(target.block_bits), arena.data, start, order,
                    length, target.bits,
                )  # fmt: skip

        step = max(1, (target.last_block - target.first_block) // (16 * self.pool.threads))
        blocks = range(target.first_block, target.last_block, step)
        for _ in self.pool.map(lambda first: part(first, min(first + step, target.last_block)), blocks):
            pass
        for arena in arenas:
            arena.reset(target.windows.blocks)


def listed(indexed: IndexedLayer, boards: BitSet, span: tuple[int, int], codes: int) -> tuple[Array, Array]:
    """Return the boards of a set in a span of ranks, in order, and how many have each largest exponent."""
    begin, end = span
    n = boards.count(begin, end)
    keys, counts = np.empty(n + 64, dtype=np.uint64), np.zeros(codes, dtype=np.int64)
    if n:
        maxima = np.empty(forward.BATCH, dtype=np.uint8)
        forward.list_layer(indexed.source(boards), np.uint64(begin), np.uint64(end), keys, maxima, counts)
    return keys[:n], counts
