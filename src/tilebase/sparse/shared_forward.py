"""The forward pass shared out: a layer is made by four steps, each of which is cut into pieces.

    spawn    some chunks of a source layer      -> ranks of states, by window
    slide    a window of states                 -> their counts; ranks of afterstates, by window
    unite    a window of afterstates            -> their counts and keys
    encode   a range of keys, of whole chunks   -> the chunks of the layer

The first two steps do the tasks of `sparse.maps`, and send all ranks to parcel files (`sparse.windows`).  The
last parcel of a file holds keys, if any are kept.  A piece of the next step reads its window's streams of all
files of the step before, and sets bits: so the keys come out sorted.

The process that runs the pass holds no boards.  It copies the chunks into the layer, in order: so the
file is the one that it would have written alone.  It does small layers itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import numpy as np

from tilebase._kernels import forward
from tilebase._kernels.arguments import Array
from tilebase.cluster.pieces import Executor, PassJob, Piece
from tilebase.errors import ResourceError
from tilebase.files import places
from tilebase.files.format import CHUNK_KEYS, Chunk, Contents, Varying
from tilebase.files.keys import JOB_CHUNKS, BoardCheck, encode, read_keys
from tilebase.files.layers import LayerFolder
from tilebase.files.parcels import ParcelFile, ParcelWriter
from tilebase.files.run import RunFolder
from tilebase.game.compiled import CompiledGame
from tilebase.game.game import Game
from tilebase.runtime.resources import OVERHEAD
from tilebase.runtime.threads import Spares
from tilebase.sparse.index import GameIndex, IndexedLayer
from tilebase.sparse.maps import SlideTask, SpawnTask, Worker, listed, start_keys, undecided
from tilebase.sparse.sizes import SHARED_RANKS
from tilebase.sparse.windows import NONE_HERE, BitSet, Windows

PIECES = 4
"""Pieces of a step for each thread of the workers, so that all of them end at about the same time."""
LEAST_RANKS = 1 << 22
"""Ranks of a window at least: fewer take less time than handing over a piece."""
LEAST_CHUNKS = 8
"""The same for the chunks of a piece that spawns."""
MOST_ARENA = 1 << 28
"""Most bytes of the arena of a thread."""
ROW = np.dtype([("first", "<u8"), ("boards", "<u8")])
"""Of a chunk: its first key and its number of boards."""


@dataclass(eq=False)
class CountJob(PassJob):
    """Does the steps of the forward pass in a worker process: a `cluster.pieces.Job`."""

    folder: Path
    game: Game
    starts: dict[int, Array]  # the canonical start boards by sum
    lookahead: bool
    keep_states: bool
    arena: int  # bytes of the arena of each thread

    def prepare(self) -> None:
        """Make room for the index, which the first piece builds."""
        if self.lookahead:
            forward.collapse.want()
        self._compiled: CompiledGame | None = None
        self._indexed: IndexedLayer | None = None
        self._workers = Spares(make=Worker)

    def do(self, piece: Piece) -> Any:
        """Do a piece of any step; the methods say what it returns."""
        steps = {"spawn": self._spawn, "slide": self._slide, "unite": self._unite}
        with self._workers.one() as worker, ParcelWriter(self.folder / piece.writes) as file:
            if piece.step in steps:
                return steps[piece.step](piece, self._at(piece.total), worker, file)
            return self._encode(piece, file)

    def _at(self, total: int) -> IndexedLayer:
        """Return the index of the layer that is made now."""
        with self.lock:
            if self._compiled is None:
                self._compiled, self._game_index = CompiledGame(self.game), GameIndex(self.game)
                self._check = BoardCheck(self.game)
                contents = Contents(self.game, "afterstates", self.lookahead)
                self._boards = LayerFolder(self.folder / "afterstates", contents)
            if self._indexed is None or self._indexed.total != total:
                self._indexed = None  # release the old memory first
                self._indexed = self._game_index.at(total)
            return self._indexed

    @property
    def _game_rules(self) -> CompiledGame:
        assert self._compiled is not None
        return self._compiled

    def _elsewhere(self, piece: Piece, worker: Worker, file: ParcelWriter) -> BitSet:
        """Return the set that a piece fills: no window of it is in memory, so all ranks go to the file."""
        worker.grow_arena(self.arena)
        windows = Windows(self._at(piece.total).size, piece.width)
        return BitSet(windows, NONE_HERE, np.zeros(0, dtype=np.uint64), worker.mail, file)

    def _window(self, piece: Piece, worker: Worker, *, starts: bool) -> BitSet:
        """Return the window of a piece: what the step before has found, and the start boards if wanted."""
        indexed = self._at(piece.total)
        windows = Windows(indexed.size, piece.width)
        bits = worker.bits_for(windows.width * windows.block_words)
        bits[:] = 0
        found = BitSet(windows, piece.begin, bits, worker.mail)
        for name in piece.reads:
            with ParcelFile(self.folder / name) as file:
                found.receive(file, len(file) - 1)
        if starts and piece.total in self.starts:
            found.add(indexed.rank(self.starts[piece.total]))
        return found

    def _spawn(self, piece: Piece, indexed: IndexedLayer, worker: Worker, file: ParcelWriter) -> None:
        """Put a tile on the afterstates in some chunks."""
        (name,) = piece.reads
        before = places.sum_of(name)
        exponent = (piece.total - before).bit_length() - 1
        source = self._boards.layer(before)
        states = self._elsewhere(piece, worker, file)

        def read(first: int) -> Array:
            keys = read_keys(source, range(first, min(first + JOB_CHUNKS, piece.end)))
            self._check.demand(keys, before, source.name)
            return keys

        worker.send(
            (
                SpawnTask(self._game_rules, indexed, partial(read, first), exponent, states)
                for first in range(piece.begin, piece.end, JOB_CHUNKS)
            ),
            states,
        )
        file.add(b"")

    def _slide(
        self, piece: Piece, indexed: IndexedLayer, worker: Worker, file: ParcelWriter
    ) -> tuple[Array, int]:
        """Slide the states of a window: their counts, and how many there are."""
        states = self._window(piece, worker, starts=not self.game.start_afters)
        span, ended = (states.first_rank, states.last_rank), self.game.ended(piece.total)
        keys = np.zeros(0, dtype=np.uint64)
        if self.keep_states:  # before their bits are cleared
            keys, _ = listed(indexed, states, span, self.game.bounds.code + 1)
            if self.lookahead:
                keys = undecided(keys, self._game_rules.rules, ended)
        counts = np.zeros((self.game.bounds.code + 1, 5), dtype=np.int64)
        if not (self.lookahead and ended):  # else the next slide is the last one
            afters = self._elsewhere(piece, worker, file)
            task = SlideTask(self._game_rules, indexed, *span, states, afters, self.lookahead)
            worker.send([task], afters)
            counts = task.counts
        file.add(keys)
        return counts, len(keys)

    def _unite(
        self, piece: Piece, indexed: IndexedLayer, worker: Worker, file: ParcelWriter
    ) -> tuple[Array, int]:
        """List the afterstates of a window: counts by largest exponent, and how many."""
        afters = self._window(piece, worker, starts=bool(self.game.start_afters))
        span = afters.first_rank, afters.last_rank
        keys, counts = listed(indexed, afters, span, self.game.bounds.code + 1)
        file.add(keys)
        return counts, len(keys)

    def _encode(self, piece: Piece, file: ParcelWriter) -> None:
        """Encode the keys [begin, end) of those that the files hold one after the other."""
        parts = []
        for name in piece.reads:
            with ParcelFile(self.folder / name) as source:
                parts.append(source.read(len(source) - 1).view(np.uint64))
        chunks = encode(np.concatenate(parts)[piece.begin : piece.end], Varying.of(self.game))
        for chunk in chunks:
            file.add(chunk.frames[0])
        file.add(np.array([(chunk.first, chunk.boards) for chunk in chunks], dtype=ROW))


class SharedCount:
    """Shares the layers of a forward pass out to an executor."""

    def __init__(self, executor: Executor, folder: RunFolder) -> None:
        query = folder.query
        self.executor, self.folder, self.game = executor, folder.path, query.game
        self.boards = folder.layers("afterstates")
        self._keep_states = query.keep == "states"
        starts = start_keys(CompiledGame(query.game))
        parameters = self.folder.resolve(), self.game, starts, query.lookahead, self._keep_states
        self._job_with = cache(partial(CountJob, *parameters))  # by the bytes of an arena

    def wants(self, size: int) -> bool:
        """Return whether a layer of so many ranks is large enough to be shared out."""
        return size >= SHARED_RANKS

    # -- memory ------------------------------------------------------------------------------

    def _each(self, tables: int) -> int:
        return (self.executor.memory - OVERHEAD - tables) // self.executor.threads_each

    def check_memory(self, size: int, tables: int) -> None:
        """Raise `ResourceError` if a worker cannot make a layer of so many ranks."""
        each = 8 * Windows(size).least_arena
        if self._each(tables) < each:
            least = OVERHEAD + tables + each * self.executor.threads_each
            raise ResourceError(
                f"counting {self.game} needs {1 + (least >> 20):,} MiB of memory in each worker process, and "
                f"{self.executor.memory >> 20:,} MiB may be used: start workers with more memory"
            )

    def _width(self, size: int, tables: int) -> int:
        """Blocks in a window: few enough for memory, and for all threads to have work."""
        layer = Windows(size)
        most = min(self._each(tables) // 16 * 8, 1 << 32) >> layer.block_bits
        windows = max(1, min(PIECES * self.executor.threads, size // LEAST_RANKS))
        return max(1, min(most, -(-layer.blocks // windows)))

    def _job(self, size: int, tables: int) -> CountJob:
        arena = max(Windows(size).least_arena, min(self._each(tables) // 8, MOST_ARENA))
        return self._job_with(1 << arena.bit_length())

    # -- one layer ---------------------------------------------------------------------------

    def make(
        self,
        total: int,
        size: int,
        tables: int,
        sources: Sequence[int],
        write: Callable[[str, Iterator[Chunk]], None],
        report: Callable[[str, float], None],
    ) -> SharedSteps:
        """Make the layer of one sum, of `size` ranks, from the layers of the sums `sources`.

        ``write(kind, chunks)`` writes a layer, ``report(step, done)`` is called with shares of steps.
        Raises what a worker raises.
        """
        work = SharedSteps(self, total, self._width(size, tables), self._job(size, tables), report)
        try:
            spawned = work.spawn(sources)
            slid, states = work.by_window("slide", spawned, Windows(size, work.width).count, work.counts)
            work.delete(spawned)
            if self._keep_states:
                write("states", work.encode("states", slid, states))
            united, afterstates = work.by_window("unite", slid, len(slid), work.afterstates)
            work.delete(slid)
            if sum(afterstates):
                write("afterstates", work.encode("afterstates", united, afterstates))
        finally:
            work.delete(list(work.names))
        return work


class SharedSteps:
    """The steps of one layer.  Each returns the names of the files that its pieces wrote.

    Attributes
    ----------
    counts, afterstates:
        Counts of the states as in `_kernels.forward`, and of the afterstates by largest exponent.
    """

    def __init__(
        self, shared: SharedCount, total: int, width: int, job: CountJob, report: Callable[[str, float], None]
    ) -> None:
        self._shared, self._total, self.width, self._job, self._report = shared, total, width, job, report
        self.names: set[str] = set()
        codes = shared.game.bounds.code + 1
        self.counts, self.afterstates = np.zeros((codes, 5), np.int64), np.zeros(codes, np.int64)

    def _piece(self, step: str, number: int, begin: int, end: int, reads: Sequence[str]) -> Piece:
        name = f"{self._shared.executor.exchange.name}/{places.exchanged(self._total, step, number)}"
        self.names.add(name)
        return Piece(step, self._total, begin, end, tuple(reads), name, self.width)

    def _map(self, step: str, pieces: Sequence[Piece]) -> Iterator[Any]:
        with closing(self._shared.executor.map(self._job, pieces)) as results:
            for number, result in enumerate(results, 1):
                yield result
                self._report(step, number / len(pieces))

    def delete(self, names: Sequence[str]) -> None:
        """Delete files that no piece reads any more."""
        for name in names:
            (self._shared.folder / name).unlink(missing_ok=True)
            self.names.discard(name)

    def spawn(self, sources: Sequence[int]) -> list[str]:
        """Put tiles on the boards of the source layers."""
        chunks = {places.layer("afterstates", s): self._shared.boards.records[s].chunks for s in sources}
        step = max(LEAST_CHUNKS, -(-sum(chunks.values()) // (PIECES * self._shared.executor.threads)))
        spans = [
            (name, at, min(at + step, count))
            for name, count in chunks.items()
            for at in range(0, count, step)
        ]
        pieces = [
            self._piece("spawn", number, begin, end, [name])
            for number, (name, begin, end) in enumerate(spans)
        ]
        for _ in self._map("spawn", pieces):
            pass
        return [piece.writes for piece in pieces]

    def by_window(
        self, step: str, reads: Sequence[str], windows: int, counts: Array
    ) -> tuple[list[str], list[int]]:
        """Slide states or list afterstates, and count them; also returns how many keys each window keeps."""
        pieces = [self._piece(step, window, window, window + 1, reads) for window in range(windows)]
        kept = []
        for found, keys in self._map(step, pieces):
            counts += found
            kept.append(keys)
        return [piece.writes for piece in pieces], kept

    def encode(self, kind: str, names: Sequence[str], sizes: Sequence[int]) -> Iterator[Chunk]:
        """Return the chunks of a layer, from the keys that some files hold one after the other."""
        starts = [0, *accumulate(sizes)]
        chunks = -(-starts[-1] // CHUNK_KEYS)
        step = CHUNK_KEYS * min(JOB_CHUNKS, max(1, -(-chunks // (PIECES * self._shared.executor.threads))))
        pieces = []
        for number, begin in enumerate(range(0, starts[-1], step)):
            end = min(begin + step, starts[-1])
            mine = [k for k, n in enumerate(sizes) if n and starts[k] < end and starts[k + 1] > begin]
            at = starts[mine[0]]
            reads = [names[k] for k in mine]
            pieces.append(self._piece(kind, number, begin - at, end - at, reads))
        return chain.from_iterable(self._encoded(pieces))

    def _encoded(self, pieces: Sequence[Piece]) -> Iterator[Iterator[Chunk]]:
        for piece, _ in zip(pieces, self._map("write", pieces), strict=True):
            with ParcelFile(self._shared.folder / piece.writes) as file:
                rows = file.read(len(file) - 1).view(ROW)
                frames = [file.read(number).tobytes() for number in range(len(file) - 1)]
            yield (
                Chunk(int(row["first"]), int(row["boards"]), (frame,))
                for row, frame in zip(rows, frames, strict=True)
            )
            self.delete([piece.writes])
