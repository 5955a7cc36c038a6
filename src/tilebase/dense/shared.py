"""The dense passes shared out: batches of a layer are done by workers.

A layer is made in these steps, each of which is cut into pieces:

    fold        some sums of the top half     -> their afterstates, and their states after slides along rows
    columns     some sums of the left half    -> their states
    encode      a range of afterstates        -> their summaries, checksum, and chunks of values
    discount    a range of states             -> the same times the discount, if the objective has one
    check       a range of states             -> their checksum

Afterstates, states after rows, states, and discounted states lie in four files of the full size, which the
first process makes in the exchange folder of the workers.  Each piece writes its own ranges of them.  No
piece reads a file that a piece of the same step writes, so a piece that is done twice writes the same bytes
twice.  A worker opens these files only if they are there: so one that was given up cannot bring back a file
of a finished layer.

The first process copies the chunks into the value file, in order: so the file is the one that it would have
written alone.  It does small layers itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy.typing as npt

from tilebase.cluster.pieces import Executor, PassJob, Piece
from tilebase.dense.backends.protocol import DenseWork, Tell
from tilebase.dense.backends.threads import Threads
from tilebase.dense.index import PerfectIndex
from tilebase.dense.layers import (
    DenseLayer,
    DiskStore,
    change,
    checksum_part,
    joined_checksum,
    released_on_error,
    states_path,
)
from tilebase.dense.plan import Plan
from tilebase.dense.sizes import SHARED_BOARDS
from tilebase.dense.steps import SHARES, Blocks, Cut, Range, Source, Step
from tilebase.dense.tables import DenseRules
from tilebase.dense.values import LayerValues, Wanted
from tilebase.dense.workspace import Batches, InFiles
from tilebase.errors import ResourceError
from tilebase.files import places
from tilebase.files.format import CHUNK_KEYS, Chunk, value_chunk
from tilebase.files.parcels import ParcelFile, ParcelWriter
from tilebase.game.game import Game
from tilebase.objectives.encoding import discounted, make_backup, summarise, value_above
from tilebase.objectives.numbers import byte_text
from tilebase.objectives.objective import Objective
from tilebase.objectives.results import ChunkSummary
from tilebase.runtime.resources import Allowance
from tilebase.runtime.threads import Pool, Spares

Array = npt.NDArray[Any]

PIECES = 4
"""Pieces of a step for each thread of the workers, so that all of them end at about the same time."""
LEAST_BOARDS = 1 << 20
"""Boards of a piece at least: fewer take less time than handing over a piece."""
MOST_CHUNKS = 512
"""Chunks of values that one piece reads at once, at most."""


class Files(NamedTuple):
    """The files of a layer while it is made."""

    afters: DiskStore
    rows: DiskStore
    states: DiskStore

    @classmethod
    def of(cls, exchange: Path, total: int, store: Callable[[Path], DiskStore]) -> Files:
        """Their stores, as ``store(path)`` makes them."""
        names = ("afterstates", "rows", "columns")
        return cls(*(store(exchange / places.exchanged(total, name)) for name in names))


def discounted_path(exchange: Path, total: int) -> Path:
    """Return where the discounted states of a sum are written."""
    return exchange / places.exchanged(total, "discounted")


@dataclass(eq=False)
class DenseJob(PassJob):
    """Does the steps of a dense pass in a worker process: a `cluster.pieces.Job`.

    `plan` is for one worker process with so many threads.  Batches take much memory: so many as the plan says
    are in work at the same time, each by some of the threads.
    """

    folder: Path
    exchange: Path
    game: Game
    objective: Objective
    plan: Plan
    threads: int
    wanted: Wanted

    def prepare(self) -> None:
        """Make room for the tables, which the first piece builds."""
        self._tables: _Tables | None = None

    def do(self, piece: Piece) -> Any:
        """Do a piece of any step: what the step finds, and the work."""
        with self.lock:
            if self._tables is None:
                self._tables = _Tables(self.game, self.objective, self.plan, self.threads)
        here, work = self._tables, DenseWork()
        store = partial(here.store, total=piece.total, work=work)
        files = Files.of(self.exchange, piece.total, store)
        states = store(states_path(self.folder, piece.total))
        found: Any = None
        if piece.step == "encode":
            found = self._encode(piece, files.afters, work)
        elif piece.step == "discount":
            values = states.read_ranks(piece.begin, piece.end)
            change(values, partial(discounted, self.objective, most=here.backup.won))
            store(discounted_path(self.exchange, piece.total)).write_at(piece.begin, values)
        elif piece.step == "check":
            found = checksum_part(states.read_ranks(piece.begin, piece.end))
        else:
            self._work(piece, here, files, work)
        return found, work

    def _work(self, piece: Piece, here: _Tables, files: Files, work: DenseWork) -> None:
        """Do the step fold or columns of a batch."""

        def read(source: Source) -> DenseLayer:
            path = states_path(self.folder, source.total)
            if path.name in piece.reads:
                return here.store(path, source.total, work).read(backend, source)
            layer = backend.layer(source)  # no board has this sum
            layer.fill(value_above(self.game, self.objective, here.backup, source.total))
            return layer

        with here.backends.one() as backend:
            # Afterstates are encoded from their file, since batches do not end where chunks do.
            batches = Batches(backend, read, files, lambda _: None, work)
            cut, batch = here.cut(piece.total), Range(piece.begin, piece.end)
            for one in cut.of_top(batch) if piece.step == "fold" else cut.of_left(batch):
                batches.do(one, lambda _: None)  # a worker is silent while it does a piece

    def _encode(
        self, piece: Piece, afters: DiskStore, work: DenseWork
    ) -> tuple[list[ChunkSummary], list[tuple[int, int]]]:
        """Return the summaries of some afterstates, and their checksum; their chunks are written."""
        values, objective = afters.read_ranks(piece.begin, piece.end), self.objective
        if self.wanted.files:
            with ParcelWriter(self.exchange / piece.writes) as file:
                for at in range(0, len(values), CHUNK_KEYS):
                    chunk = value_chunk(piece.begin + at, values[at : at + CHUNK_KEYS], objective.is_boolean)
                    file.add(chunk.frames[0])
            work.written += file.nbytes
        summaries = summarise(objective, values, CHUNK_KEYS) if self.wanted.summaries else []
        return summaries, [checksum_part(values)] if self.wanted.checksums else []


class _Tables:
    """What a worker process has in memory for all pieces of a pass."""

    def __init__(self, game: Game, objective: Objective, plan: Plan, threads: int) -> None:
        self.index, self.backup, self._plan = PerfectIndex(game), make_backup(game, objective), plan
        pool = Pool(threads)
        rules = DenseRules(self.index, pool, merge=objective.merge)
        self.backends = Spares(
            Threads(rules, self.backup, pool, threads // plan.at_once, largest=None)
            for _ in range(plan.at_once)
        )
        self._map = lru_cache(4)(self.index.layer)
        self._cut = lru_cache(1)(partial(plan.cut, self.index))
        self._lock = threading.Lock()

    def store(self, path: Path, total: int, work: DenseWork) -> DiskStore:
        """Return a layer of this sum in a file."""
        with self._lock:  # one thread finds the blocks of a layer, and the others wait for it
            return DiskStore(path, self._map(total), self.backup.dtype, work)

    def cut(self, total: int) -> Cut:
        """Return how batches of a layer are cut into pieces."""
        with self._lock:
            return self._cut(total)


class Shared(InFiles[DenseLayer]):
    """Layers in files, of which the workers of an executor do the large ones: a `workspace.Workspace`.

    Raises `ResourceError` if a batch does not fit into the memory of a worker process.
    """

    def __init__(self, executor: Executor, wanted: Wanted, lowest: int, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._executor, self._wanted = executor, wanted
        allowed = Allowance(memory=executor.memory, threads=executor.threads_each)
        self._of_worker = worker_plan(self._index, self._objective, allowed, lowest=lowest)
        self._job = DenseJob(
            self._folder.resolve(), executor.exchange, self._index.game, self._objective, self._of_worker,
            allowed.threads, wanted,
        )  # fmt: skip

    def save(self, total: int) -> str:
        store = self._states[total]
        if self._wants(total) and "checksum" not in store.__dict__:
            parts = self._results(self._ranges("check", total, store.size))
            store.checksum = f"{joined_checksum(parts):08x}"
        return store.checksum

    def solve(self, total: int, kept: LayerValues, tell: Tell) -> None:
        if not self._wants(total):
            super().solve(total, kept, tell)
            return
        files = Files.of(self._executor.exchange, total, partial(self._store, total))
        cut = self._cut(total)
        with released_on_error(*files):
            for file in files:
                file.create()
            self._solve(total, cut, tell)
            files.rows.release()
            self._keep(total, files.afters.size, kept)
            files.afters.release()
            files.states.rename(states_path(self._folder, total))
        self._states[total] = files.states
        self._count(total, cut.batches)

    def _cut(self, total: int) -> Cut:
        """Return the batches of a layer: enough for all workers."""
        at_once = self._executor.threads * self._of_worker.at_once // self._executor.threads_each
        boards = int(self._index.by_halves.boards(total).sum())
        parts = max(1, min(PIECES * at_once, boards // LEAST_BOARDS))
        return replace(self._of_worker, parts=parts).cut(self._index, total)

    def _solve(self, total: int, cut: Cut, tell: Tell) -> None:
        """Do the pieces of the steps fold and columns."""
        above = [states_path(self._folder, s).name for s in sorted(self._states) if s > total]
        steps = (
            ("fold", [(top, Blocks(tops=top)) for top in cut.tops], above, 1 - SHARES[Step.COLUMNS]),
            ("columns", [(left, Blocks(lefts=left)) for left in cut.lefts], (), SHARES[Step.COLUMNS]),
        )
        done = 0.0
        for step, parts, reads, share in steps:
            pieces = [Piece(step, total, *bounds, tuple(reads), "") for bounds, _ in parts]
            for (_, blocks), _ in zip(parts, self._results(pieces), strict=True):
                done += share * cut.share(blocks)
                tell(done)

    def _ranges(self, step: str, total: int, size: int) -> list[Piece]:
        """Return the pieces of a step that takes ranges of whole chunks, small enough for memory."""
        chunks = -(-size // CHUNK_KEYS)
        count = max(1, min(PIECES * self._executor.threads, size // LEAST_BOARDS), -(-chunks // MOST_CHUNKS))
        width = CHUNK_KEYS * -(-size // (CHUNK_KEYS * count))
        return [Piece(step, total, at, min(at + width, size), (), "") for at in range(0, size, width)]

    def _results(self, pieces: Sequence[Piece]) -> Iterator[Any]:
        """Yield what pieces find, in order; their work is counted."""
        with closing(self._executor.map(self._job, pieces)) as results:
            for found, work in results:
                self._work.include(work)
                yield found

    def _keep(self, total: int, size: int, kept: LayerValues) -> None:
        """Keep what is wanted of the afterstates."""
        if not kept.wanted:
            return
        ranges = enumerate(self._ranges("encode", total, size))
        pieces = [replace(piece, writes=places.exchanged(total, number)) for number, piece in ranges]
        try:
            for piece, (summaries, parts) in zip(pieces, self._results(pieces), strict=True):
                path = self._executor.exchange / piece.writes
                kept.take(summaries, self._chunks(piece, path) if self._wanted.files else (), parts)
                path.unlink(missing_ok=True)
        finally:
            for piece in pieces:
                (self._executor.exchange / piece.writes).unlink(missing_ok=True)

    def _chunks(self, piece: Piece, path: Path) -> Iterator[Chunk]:
        with ParcelFile(path) as file:
            for number, first in enumerate(range(piece.begin, piece.end, CHUNK_KEYS)):
                frame = file.read(number).tobytes()
                self._work.read += len(frame)
                yield Chunk(first, min(CHUNK_KEYS, piece.end - first), (frame,))

    def discount(self, total: int) -> None:
        if not self._wants(total):
            super().discount(total)
            return
        store = self._store(total, discounted_path(self._executor.exchange, total))
        with released_on_error(store):
            store.create()
            for _ in self._results(self._ranges("discount", total, store.size)):
                pass
            store.rename(states_path(self._folder, total))
        self._states[total] = store

    def _wants(self, total: int) -> bool:
        return self._sizes[total] >= SHARED_BOARDS


def worker_plan(index: PerfectIndex, objective: Objective, allowed: Allowance, *, lowest: int = 0) -> Plan:
    """The plan of a worker process: as many batches at the same time as fit.  Raises `ResourceError`."""
    at_once = allowed.threads
    with suppress(ResourceError):  # the tables do not fit
        while at_once:
            plan = Plan.outline(index, objective, allowed, sums=(lowest, None), bits=False, at_once=at_once)
            if plan.can_be_cut(index, allowed.memory, lowest):
                return plan
            at_once //= 2
    raise ResourceError(
        f"all boards of {index.game} need more than {byte_text(allowed.memory)} of memory in each worker "
        "process, even in batches: start fewer workers on a machine, or choose a smaller type of value"
    )
