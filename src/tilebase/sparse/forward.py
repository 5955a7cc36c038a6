"""The forward pass: every reachable state, layer by layer.

    states[s]      = starts[s] + spawn2(afterstates[s - 2]) + spawn4(afterstates[s - 4])
    afterstates[s] = slides(states[s])            (sets of canonical boards, goal not reached)

Each layer is made by two maps over sets.  A set has one bit per rank of the perfect index
(`sparse.index`).  A duplicate sets a bit that is already set, and reading the bits in order gives
sorted keys.  Only afterstates are written, since states follow from them.
Where the disk does not hold all layers, only the first of every k are kept (`sparse.recount`).

Layers are divided among threads, apart from those of few boards, since starting another thread would take
longer.  Files and counts are the same for any number of threads and any memory.
"""

from __future__ import annotations

import itertools
import logging
import math
import threading
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tilebase._kernels.arguments import Array
from tilebase.cluster.runs import Run
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.counting.counts import STORED, CountResult, counts_of, trimmed
from tilebase.errors import CorruptError, MissingLayerError, ResourceError, WrongGameError
from tilebase.files.format import CHUNK_KEYS, Chunk
from tilebase.files.keys import JOB_CHUNKS, KEPT_JOBS, BoardCheck, StoredLayer, encoded, joined
from tilebase.files.run import KEEP, RunFolder, count_lines, is_given_up, is_marked, layers_before
from tilebase.game.compiled import CompiledGame
from tilebase.game.notation import count_of
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import OVERHEAD
from tilebase.runtime.threads import map_in_threads
from tilebase.sparse import maps, sizes
from tilebase.sparse.index import GameIndex, Index, IndexedLayer
from tilebase.sparse.maps import Finder, MapTask, SlideTask, SpawnTask, Team
from tilebase.sparse.sizes import KEPT_KEYS
from tilebase.sparse.windows import NO_WORDS, SpilledSet, Windows

if TYPE_CHECKING:
    from tilebase.sparse.shared_forward import SharedCount

LOG = logging.getLogger(__name__)

WRITTEN, SMALL_JOB = 2 * CHUNK_KEYS, 2
"""Least boards of a small layer that one task lists, and chunks that one encodes."""
SET_SHARE = Fraction(3, 10)
"""The share of the free memory that each of the two sets of a layer takes at most; arenas take the rest."""
ARENA_SHARE = Fraction(7, 8)
"""The share of that rest which arenas take: what they send to later windows is packed in the other part."""
SPARE_SHARE = Fraction(1, 4)
"""So much more memory a set takes than it needs, for the layers after it, which are larger."""
STEPS = {"spawn": (0.0, 0.3), "slide": (0.3, 0.5), "unite": (0.8, 0.1)}
"""When each step of a layer that is shared out begins, and its share of the work; others come last."""
DURABLE_BYTES = 1 << 22
"""Layers of at least this size are flushed to disk.

Smaller ones, which take a tenth of a second to make again, survive a kill, but not a power failure.
"""


class ForwardPass:
    """One run of the forward pass in a folder, which this process holds; `count` is the public function.

    Of the layers of afterstates the first two of every `apart` are kept, all with 0.  With `marking`, which
    is called with the bytes of memory that it may take, layers are made in bits.  Then states and afterstates
    are counted, not by largest tile, and nothing else is.
    """

    def __init__(
        self, folder: RunFolder, run: Run, *, apart: int = 0, marking: Callable[[int], Finder] | None = None
    ) -> None:
        self.folder = folder
        self.apart = apart
        self._marking = marking
        self._marks: Finder | None = None
        self.game = folder.query.game
        self.lookahead = folder.query.lookahead
        self.keep = folder.query.keep
        self.memory = run.memory if marking is None else run.memory // 2  # bits take the rest
        self.threads = run.threads
        self._pace = Pace(run.progress, "states")
        self._compiled = CompiledGame(self.game)
        # How many layers the next one follows from: a spawn makes the sum larger by at most twice as much.
        self._needed = layers_before(self.game)
        self.game_index = GameIndex(self.game)
        self._team = Team(run.threads)
        self._storage = [NO_WORDS, NO_WORDS]
        self._sources: dict[int, StoredLayer] = {}
        self._files: dict[str, str] = {}  # checksums of the files of the present layer
        self.written: dict[int, str] = {}  # checksums of the afterstates that this pass wrote, by sum
        self._starts = maps.start_keys(self._compiled)
        boards = boards_by_sum(self.game)
        self._sums = sorted(boards)  # of the layers that are wanted
        self._up_to = list(itertools.accumulate((boards[s] for s in self._sums), initial=0))
        self._done_states = 0
        self._run_states = 0
        self._checked: Index | None = None
        self._sharing: SharedCount | None = None  # makes large layers
        if run.cluster is not None:
            from tilebase.sparse.shared_forward import SharedCount  # only workers need it

            self._sharing = SharedCount(run.cluster, folder)

    # -- the whole pass ----------------------------------------------------------------------

    def run(self, up_to: int | None = None) -> CountResult:
        """Count all layers, or those of sums to `up_to`; continue after the last layer in the folder."""
        if up_to is not None:
            wanted = bisect_right(self._sums, up_to)
            del self._sums[wanted:], self._up_to[wanted + 1 :]
        lines = self.folder.journal.read()
        done = bool(lines) and lines[-1].get("complete", False)
        if is_marked(lines) and self._marking is None:
            raise WrongGameError(
                f"{self.folder.path} holds boards that were found in bits to be solved, without counts of "
                "states: choose another folder"
            )
        if not lines and self._first:
            self.folder.journal.append(*self._first, durable=False)
        lines = count_lines(lines, self.game, self.folder.journal.path)
        LOG.log(
            logging.INFO if lines and not done else logging.DEBUG,  # users see that a run goes on
            "counting %s in %s with %s: %d layers are there%s",
            self.game, self.folder.path, count_of(self.threads, "thread"), len(lines),
            ", which are all" if done else "",
        )  # fmt: skip
        if self.keep != "counts":
            self._mend(lines, done)
        elif done:  # a kill may have left some
            self.folder.layers("afterstates").clear()
        if not done:
            self._resume(lines)
            if lines:
                self._pace.start(self._share(lines[-1]["sum"], 1.0))
            done = self._advance(lines, up_to)
        LOG.debug("%d layers are counted, in %.2f s", len(lines), self._pace.seconds)
        if up_to is not None:
            done = done and all(line["sum"] <= up_to for line in lines)
            lines = [line for line in lines if line["sum"] <= up_to]
        return counts_of(self.game, self.lookahead, lines, complete=done)

    @property
    def _first(self) -> list[dict[str, Any]]:
        """What the journal says before the layers."""
        marked = {"marked": True} if self._marking else {}
        return [{"apart": self.apart} | marked] if self.apart or marked else []

    def close(self) -> None:
        """Stop the threads and release files and memory."""
        self._team.close()
        self.release()

    def release(self) -> None:
        """Release files and memory; the threads stay."""
        if self._marks is not None:
            self._marks.close()
            self._marks = None
        self._team.release()
        self._sources.clear()
        self._storage = [NO_WORDS, NO_WORDS]

    def _mend(self, lines: list[dict[str, Any]], done: bool) -> None:
        """Check the layers that the journal lists, and make damaged and missing ones again.

        The lines then hold the checksums of the layers.  Where only every k-th pair is kept, the others are
        not missing, unless the next layer follows from them.  Raises `CorruptError` if a layer that was made
        again has other counts.
        """
        kept = [kind for kind in ("afterstates", "states") if KEEP.index(kind) <= KEEP.index(self.keep)]
        for kind in kept:
            self._forget_unfinished(kind, lines)
        there = self.folder.layers("afterstates").records.keys()
        by_sum = {line["sum"]: line for line in lines}
        last = {line["sum"] for line in lines[-self._needed :]}
        wanted = there | last if self.apart else by_sum.keys()
        jobs = [(line, kind) for line in lines for kind in kept if line["sum"] in wanted and sum(line[kind])]
        found = map_in_threads(lambda job: self._is_sound(*job), jobs, self.threads)
        wrong = {line["sum"] for (line, _), sound in zip(jobs, found, strict=True) if not sound}
        for total in sorted(wrong):
            LOG.debug("sum %d: its boards are missing or damaged, and are made again", total)
            self.make_again(total, by_sum)
            self._sources.clear()
        if wrong:
            self._sync()
        self.folder.journal.rewrite([*self._first, *lines, *([{"complete": True}] if done else [])])

    def make_again(self, total: int, by_sum: dict[int, dict[str, Any]]) -> None:
        """Make the layer of a sum again, and before it those from which it follows and that are missing.

        ``by_sum[s]`` are lines of the journal.  Raises `CorruptError` if a layer then has other counts.
        """
        there = self.folder.layers("afterstates").records

        def before(s: int) -> list[int]:
            near = (s - 2**e for e in reversed(self.game.spawn_exponents))
            return [s for s in near if s in by_sum and sum(by_sum[s]["afterstates"])]

        again, waiting = set[int](), [total]
        while waiting:
            again.add(s := waiting.pop())
            waiting += [near for near in before(s) if near not in there and near not in again]
        for s in sorted(again):
            self._sources = {near: self._sources.get(near) or self._stored(near) for near in before(s)}
            found, _ = self._make(s)
            if any(found[name] != by_sum[s][name] for name in STORED):
                raise CorruptError(
                    f"the layer of sum {s} made again has not the counts that {self.folder.journal.path} "
                    f"says: delete {self.folder.path} and count again"
                )
            by_sum[s]["files"] = found["files"]

    def gives_up(self, total: int) -> bool:
        """Return whether a layer is deleted when the next ones are made: it is in no k-th pair."""
        return self.keep == "counts" or is_given_up(self.game, self.apart, total)

    def _forget_unfinished(self, kind: str, lines: list[dict[str, Any]]) -> None:
        """Forget the layers that a killed run wrote, but which its journal does not list."""
        listed = {line["sum"]: line["files"][kind] for line in lines if kind in line["files"]}
        self.folder.layers(kind).keep(listed)

    def _is_sound(self, line: dict[str, Any], kind: str) -> bool:
        return self.folder.layers(kind).is_sound(line["sum"], sum(line[kind]), line["files"].get(kind))

    def _stored(self, total: int, keys: Array | None = None) -> StoredLayer:
        jobs = KEPT_JOBS if self.threads > 1 else 1
        return StoredLayer(self.folder.layers("afterstates"), total, keys, jobs)

    def _sync(self) -> None:
        """Flush all layers to disk."""
        for kind in ("afterstates", "states"):
            self.folder.layers(kind).sync()

    def _resume(self, lines: list[dict[str, Any]]) -> None:
        """Open the layers that the next one follows from; forget layers that a killed run left."""
        if self.keep == "counts":
            self._forget_unfinished("afterstates", lines[-self._needed :])
        check = BoardCheck(self.game)
        for line in lines[-self._needed :]:
            if not sum(line["afterstates"]):
                continue
            source, folder = self._stored(line["sum"]), self.folder.path
            sound = self.keep != "counts" or self._is_sound(line, "afterstates")
            try:
                for job in range(source.jobs if sound else 0):
                    check.demand(source.read(job), line["sum"], source.layer.name)
            except (CorruptError, MissingLayerError):
                sound = False
            if not sound:
                raise CorruptError(
                    f"{folder / 'afterstates'}, sum {line['sum']}, is damaged or does not exist, so the run "
                    f"cannot continue: delete {folder} and count again"
                )
            self._sources[line["sum"]] = source
        self._done_states = sum(sum(line["states"]) for line in lines)

    def _advance(self, lines: list[dict[str, Any]], up_to: int | None) -> bool:
        """Make the missing layers; return whether the last one was reached."""
        total = lines[-1]["sum"] + 2 if lines else min(self._starts)
        # Spawns lead on from a finished layer, or a start is still to come.
        while not self.game.reached(total) and (
            not all(map(self.game.ended, self._sources)) or total <= max(self._starts)
        ):
            if up_to is not None and total > up_to:
                return False
            self._check_memory(total, up_to)
            lines.append(self._layer(total))
            # Release the layers that the next one does not need.
            for old in [s for s in self._sources if s <= total - 2 * self._needed]:
                del self._sources[old]
                if self.gives_up(old):
                    self.folder.layers("afterstates").release(old)
            total += 2
        if self.keep != "counts":
            self._sync()
        self.folder.journal.append({"complete": True}, durable=True)
        if self.keep == "counts":
            self._sources.clear()
            self.folder.layers("afterstates").clear()
        self._report(total - 2, "done", 0.0, final=True)
        return True

    # -- one layer ---------------------------------------------------------------------------

    def _layer(self, total: int) -> dict[str, Any]:
        """Make the layer of one sum, enter it in the journal, and return its line."""
        line, size = self._make(total, wanted=not self.gives_up(total))
        self.folder.journal.append(line, durable=size >= DURABLE_BYTES)
        states, afterstates = sum(line["states"]), sum(line["afterstates"])
        LOG.debug("sum %d: %d states, %d afterstates in %d bytes", total, states, afterstates, size)
        self._done_states += states
        self._run_states += states
        self._report(total, "write", 1.0)
        return line

    def _make(self, total: int, *, wanted: bool = True) -> tuple[dict[str, Any], int]:
        """Make the layer of one sum and write it; return its line of the journal and its bytes.

        One that is not `wanted` later is not written where the next one can be made without it.
        """
        indexed = self.game_index.at(total)
        if self._marking is not None:
            return self._make_marked(self._marking, indexed, wanted)
        if self._sharing is not None and self._sharing.wants(indexed.size):
            return self._make_shared(self._sharing, total, indexed.size)
        after_counts = np.zeros(self.game.bounds.code + 1, dtype=np.int64)
        self._files = {}
        with self._bit_sets(indexed) as (states, afters):
            self._spawn(total, indexed, states)
            counts = self._slide(total, indexed, states, afters)
            if self.game.start_afters and total in self._starts:
                afters.add(indexed.rank(self._starts[total]))
            size = self._write(total, indexed, afters, after_counts)
        return self._line(total, counts, after_counts), size

    def _line(self, total: int, counts: Array, after_counts: Array) -> dict[str, Any]:
        """Return the line of a layer in the journal."""
        line: dict[str, Any] = {"sum": total, "afterstates": trimmed(after_counts), "files": self._files}
        for name, column in zip(
            ("states", "live", "winning", "raw_states", "raw_live"), counts.T, strict=True
        ):
            line[name] = trimmed(column)
        return line

    def _make_shared(self, sharing: SharedCount, total: int, ranks: int) -> tuple[dict[str, Any], int]:
        """Make a layer as `_make` does, by workers."""
        self._files, size = {}, 0
        self._storage = [NO_WORDS, NO_WORDS]
        near = [total - 2**exponent for exponent in self.game.spawn_exponents]
        sources = [s for s in near if s in self._sources and not self.game.ended(s)]

        def write(kind: str, chunks: Iterator[Chunk]) -> None:
            nonlocal size
            size = self._store(kind, total, chunks, ranks)

        def report(step: str, done: float) -> None:
            begin, share = STEPS.get(step, (0.9, 0.1))
            self._report(total, step, begin + share * done)

        found = sharing.make(total, ranks, self.game_index.nbytes, sources, write, report)
        if found.afterstates.any():
            self._sources[total] = self._stored(total)
        return self._line(total, found.counts, found.afterstates), size

    def _make_marked(
        self, marking: Callable[[int], Finder], indexed: IndexedLayer, wanted: bool
    ) -> tuple[dict[str, Any], int]:
        """Make a layer as `_make` does, in bits."""
        if self._marks is None:
            self._marks = marking(self.memory)
        total, self._files, size = indexed.total, {}, 0

        def report(part: float) -> None:
            self._report(total, "mark", 0.5 * part)

        def take(jobs: Iterable[Callable[[], Array]]) -> None:
            nonlocal size
            counts = np.zeros(self.game.bounds.code + 1, dtype=np.int64)
            with self._bit_sets(indexed) as (_, afters):
                tasks = deque[MapTask](SpawnTask(self._compiled, indexed, read, 0, afters) for read in jobs)
                self._team.map(tasks, afters, lambda done: self._report(total, "list", 0.5 + 0.4 * done))
                size = self._write(total, indexed, afters, counts)

        found = self._marks.make(total, self._sources, take if wanted else None, report)
        if found[1]:
            self._sources[total] = self._stored(total)
        line: dict[str, Any] = {name: [] for name in STORED} | {"sum": total, "files": self._files}
        return line | {"states": [found[0]], "afterstates": [found[1]]}, size

    @contextmanager
    def _bit_sets(self, layer: IndexedLayer) -> Iterator[tuple[SpilledSet, SpilledSet]]:
        """Give two bit sets, for states and afterstates; threads get arenas from the rest of the memory."""
        # A layer that threads set directly:    | states | afterstates |                  (both whole)
        # Another one:                          | states | afterstates | arenas ... | packed ranks |
        #                                         each at most `SET_SHARE`, whole or a window of it
        windows = Windows(layer.size)
        free = self.memory - self._fixed_memory
        direct = sizes.is_direct(layer.size, self.threads, free)
        whole = nbytes = 8 * windows.blocks * windows.block_words
        if not direct:
            # Two blocks at least.
            nbytes = min(whole, max(int(free * SET_SHARE), 2 * 8 * windows.block_words))
        words = nbytes // 8
        # Both sets keep their memory from layer to layer; it is released first where it is too small.
        spare = int(words * SPARE_SHARE) if direct else 0
        for i in range(2):
            if self._storage[i].nbytes < nbytes:
                self._storage[i] = NO_WORDS
                self._storage[i] = np.zeros(words + spare + 1024, dtype=np.uint64)
        # Arenas share the rest.  What one holds for later windows is packed in memory before it is spilled,
        # which takes as much as another arena.
        if not direct:
            shares = self.threads + (nbytes < whole)
            rest = min(int((free - 2 * nbytes) * ARENA_SHARE), self.memory // 3)
            allowed = max(rest // shares, windows.least_arena)
            nbytes = min(allowed, 1 << max(layer.size // 4, 64 << 20).bit_length())
            for worker in self._team.workers:
                worker.grow_arena(nbytes)
        first, second = (
            SpilledSet(
                layer.size, bits[: max(words, 1024)], self.folder.path, f"{name}-{layer.total}", direct=direct
            )
            for bits, name in zip(self._storage, ("states", "afterstates"), strict=True)
        )
        try:
            yield first, second
        finally:
            first.discard()
            second.discard()

    @property
    def _fixed_memory(self) -> int:
        return OVERHEAD + self.game_index.nbytes + 2 * 8 * KEPT_KEYS

    def _check_memory(self, total: int, up_to: int | None) -> None:
        """Raise `ResourceError` if a layer from `total` on does not fit, of those that use these tables."""
        index = self.game_index.index_at(total)
        if index is self._checked:
            return
        self._checked = index
        end = math.inf if index.cap == max(self.game.tops) else 2 << index.cap
        wanted = [n for s, n in index.sizes.items() if total <= s < end and (up_to is None or s <= up_to)]
        if self._sharing is not None:
            self._sharing.check_memory(max(wanted, default=0), self.game_index.nbytes)
            wanted = [n for n in wanted if not self._sharing.wants(n)]
        # States that are kept must be in memory together.
        windows = sizes.least_windows(max(wanted, default=0), self.threads, whole=self.keep == "states")
        least = self._fixed_memory + windows
        if windows and least > self.memory:
            raise ResourceError(
                f"counting {self.game} needs at least {(least >> 20) + 1:,} MiB of memory, and "
                f"{self.memory >> 20:,} MiB may be used: give more memory, fewer threads, or lower limits"
            )

    # -- the maps ----------------------------------------------------------------------------

    def _spawn(self, total: int, indexed: IndexedLayer, states: SpilledSet) -> None:
        """Mark the states of a layer: start states, and the states that spawns make of afterstates."""
        if total in self._starts and not self.game.start_afters:
            states.add(indexed.rank(self._starts[total]))
        tasks: deque[MapTask] = deque()
        for exponent in self.game.spawn_exponents:
            source = self._sources.get(total - 2**exponent)
            if source is not None and not self.game.ended(total - 2**exponent):
                tasks.extend(
                    SpawnTask(self._compiled, indexed, partial(source.read, job), exponent, states)
                    for job in range(source.jobs)
                )
        self._team.map(tasks, states, lambda done: self._report(total, "spawn", 0.4 * done))

    def _slide(self, total: int, indexed: IndexedLayer, states: SpilledSet, afters: SpilledSet) -> Array:
        """Mark the afterstates of a layer, window by window; return the counts of its states."""
        counts = np.zeros((self.game.bounds.code + 1, 5), dtype=np.int64)
        if self.keep == "states":
            self._write_states(total, indexed, states)
        if self.lookahead and self.game.ended(total):
            return counts  # the next slide is the last one, so every state is decided
        share = 0.5 / states.windows.count
        for window in range(states.windows.count):
            if window:
                states.advance()
            ranges = states.ranges(maps.parts_of(states, self.threads, sizes.SMALL_PART))
            slides = [
                SlideTask(self._compiled, indexed, begin, end, states, afters, self.lookahead)
                for begin, end in ranges
            ]

            def report(done: float, begun: float = 0.4 + share * window) -> None:
                self._report(total, "slide", begun + share * done)

            self._team.map(deque(slides), afters, report)
            counts += sum(task.counts for task in slides)
        return counts

    # -- writing -----------------------------------------------------------------------------

    def _store(self, kind: str, total: int, chunks: Iterable[Chunk], ranks: int) -> int:
        """Write the layer of one sum, which has so many ranks; return its bytes."""
        store = self.folder.layers(kind)
        record = store.write(total, chunks, durable=ranks >= 8 * DURABLE_BYTES)
        if record is None:
            return 0
        self._files[kind] = record.text
        return record.nbytes + record.size(store.contents)

    def _write_layer(self, kind: str, total: int, boards: SpilledSet, parts: Iterable[Array]) -> int:
        """Write the keys in `parts` as the layer of one sum; return its bytes."""
        varying = self.folder.layers(kind).contents.varying
        pool = None if maps.parts_of(boards, self.threads, WRITTEN) == 1 else self._team.pool
        chunks = encoded(parts, varying, pool, SMALL_JOB if boards.is_small else JOB_CHUNKS)
        return self._store(kind, total, chunks, boards.size)

    def _write(self, total: int, indexed: IndexedLayer, boards: SpilledSet, counts: Array) -> int:
        """Write the afterstates of a layer, if there are any, and keep them as a source."""
        self._report(total, "write", 0.9)
        is_kept = boards.windows.count == 1 and boards.count(0, boards.size) <= KEPT_KEYS
        kept: list[Array] | None = [] if is_kept else None
        parts = self._listed(indexed, boards, counts, kept, clear=True)
        size = self._write_layer("afterstates", total, boards, parts)
        if not counts.sum():
            return 0
        keys = joined(kept) if kept else None
        self._sources[total] = self._stored(total, keys)
        self.written[total] = self._files["afterstates"]
        return size

    def _write_states(self, total: int, indexed: IndexedLayer, states: SpilledSet) -> None:
        """Write the counted states of a layer.  Raises `ResourceError` if they need several windows."""
        if states.windows.count > 1:
            raise ResourceError(
                f"keeping the states of sum {total} needs more memory than was given: give more"
            )
        uncounted = np.zeros(self.game.bounds.code + 1, dtype=np.int64)
        parts = self._listed(indexed, states, uncounted, None, clear=False)
        if self.lookahead:
            parts = (maps.undecided(keys, self._compiled.rules, self.game.ended(total)) for keys in parts)
        self._write_layer("states", total, states, parts)

    def _listed(
        self,
        indexed: IndexedLayer,
        boards: SpilledSet,
        counts: Array,
        kept: list[Array] | None,
        *,
        clear: bool,
    ) -> Iterator[Array]:
        """Yield the keys of a set in order, as arrays; also counts them by largest exponent."""
        lock = threading.Lock()

        def listed(span: tuple[int, int]) -> Array:
            keys, mine = maps.listed(indexed, boards, span, len(counts))
            with lock:
                counts[...] += mine
            if clear:
                boards.clear(*span)
            return keys

        for window in range(boards.windows.count):
            if window:
                boards.advance()
            parts = maps.parts_of(boards, self.threads, WRITTEN)
            ranges = boards.ranges(parts)
            each = self._team.pool.map(listed, ranges, 4 * self.threads) if parts > 1 else map(listed, ranges)
            for keys in each:
                if kept is not None:
                    kept.append(keys)
                yield keys

    # -- progress ----------------------------------------------------------------------------

    def _report(self, total: int, step: str, done: float, *, final: bool = False) -> None:
        if final or self._pace.due():
            share = 1.0 if final else self._share(total, done)
            self._pace.report(total, step, self._done_states, share, new=self._run_states)

    def _share(self, total: int, done: float) -> float:
        """Return the share of all states that is counted when the share `done` of a layer is counted."""
        at = bisect_left(self._sums, total), bisect_right(self._sums, total)
        before, until = (self._up_to[i] for i in at)
        here, after = until - before, self._up_to[-1] - until
        expected = (after + (1 - done) * here) * self._done_states / max(before + done * here, 1)
        return self._done_states / max(self._done_states + expected, 1)
