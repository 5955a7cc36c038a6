"""The backward pass shared out: pieces of a layer are some of its chunks.

The process that runs the pass cuts a layer into spans of chunks.  A worker loads the two layers above, once
for all pieces of the layer that it does, solves its span, and writes the encoded chunks as a parcel file.
The first process copies the chunks into the value file, in order: so the file is the one that it would have
written alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tilebase.cluster.executors import Executor
from tilebase.cluster.pieces import Piece
from tilebase.cluster.runs import Run
from tilebase.files import places
from tilebase.files.format import Chunk
from tilebase.files.parcels import ParcelFile, ParcelWriter
from tilebase.files.reachable import Reachable, StoredBoards
from tilebase.files.solved import StoredValues
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.objectives.results import ChunkSummary
from tilebase.runtime.threads import Spares
from tilebase.sparse import backward

SHARED_KEYS = 1 << 19
"""Layers of fewer afterstates are solved by the process that runs the pass: sharing them takes longer."""

Summaries = list[list[ChunkSummary]]
"""For each objective, the summary of each chunk of a piece."""


class _ReadValues(StoredValues):
    """Files of values that are only read, without their journal."""

    def __init__(self, folder: Path, objective: Objective) -> None:
        self.folder, self.objective = folder, objective
        self.layers, self.checksums = {}, {}

    def close(self) -> None:
        """Nothing is open."""


class SolveJob:
    """Solves spans of chunks in a worker process: a `cluster.pieces.Job`."""

    def __init__(
        self, run: Run, game: Game, objectives: Sequence[Objective], sizes: Mapping[int, int], release: bool
    ) -> None:
        self._parameters = (run, game, tuple(objectives), dict(sizes), release)
        self._lock = threading.Lock()
        self._pass: backward.BackwardPass | None = None
        self._boards: dict[int, StoredBoards] = {}
        self._workers = Spares(make=lambda: self._engine().new_worker())

    def __reduce__(self) -> Any:
        return SolveJob, self._parameters

    def do(self, piece: Piece) -> Summaries:
        """Solve the chunks [begin, end) of a layer, write their values, and return their summaries."""
        with self._lock:  # one thread loads the layers above, and the others wait for it
            engine = self._engine()
            keys, above = self._layers(engine, piece.total)
        with self._workers.one() as worker:
            part = engine.solve_span(worker, piece.total, keys, range(piece.begin, piece.end), above, None)
        with ParcelWriter(engine.path / piece.writes) as file:
            for chunks in part.chunks:
                for chunk in chunks:
                    file.add(chunk.frame)
        return part.summaries

    def _engine(self) -> backward.BackwardPass:
        if self._pass is None:
            run, game, objectives, sizes, release = self._parameters
            stored = [_ReadValues(run.folder / places.values_folder(one.label), one) for one in objectives]
            self._pass = backward.BackwardPass(run, game, stored, lean=False, release=release)
            self._pass.begin(Reachable(run.folder, sizes, game))
        return self._pass

    def _layers(self, engine: backward.BackwardPass, total: int) -> tuple[StoredBoards, backward.Above]:
        """Return the boards of a layer, and the layers above; those of other sums are released."""
        if total not in self._boards:
            for boards in self._boards.values():
                boards.close()
            self._boards = {total: engine.space.boards(total)}
        return self._boards[total], engine.layers_above(total)


class SharedLayers:
    """Shares the layers of a backward pass out to an executor."""

    def __init__(
        self,
        executor: Executor,
        folder: Path,
        game: Game,
        objectives: Sequence[Objective],
        sizes: Mapping[int, int],
        *,
        release: bool,
    ) -> None:
        self.executor, self.folder = executor, folder
        self.objectives = tuple(objectives)
        there = Run(folder=folder.resolve(), memory=executor.memory, threads=executor.threads_each)
        self._job = SolveJob(there, game, objectives, sizes, release)

    def wants(self, n: int) -> bool:
        """Return whether a layer of n afterstates is large enough to be shared out."""
        return n >= SHARED_KEYS

    def parts(self, total: int, keys: StoredBoards) -> Iterator[backward.Part]:
        """Yield the parts of a layer, in order.  Raises what a worker raises."""
        spans = backward.spans_of(keys, self.executor.threads)
        pieces = [self._piece(total, number, span) for number, span in enumerate(spans)]
        try:
            with closing(self.executor.map(self._job, pieces)) as results:
                for piece, summaries in zip(pieces, results, strict=True):
                    yield self._part(piece, keys, summaries)
                    (self.folder / piece.writes).unlink()
        finally:
            for piece in pieces:
                (self.folder / piece.writes).unlink(missing_ok=True)

    def _piece(self, total: int, number: int, span: range) -> Piece:
        reads = [places.boards_file(total)]
        for above in (total + 2, total + 4):
            reads += [
                places.boards_file(above),
                *(places.values_file(one.label, above) for one in self.objectives),
            ]
        writes = f"{self.executor.exchange.name}/{places.exchanged(total, number)}"
        return Piece("solve", total, span.start, span.stop, tuple(reads), writes)

    def _part(self, piece: Piece, keys: StoredBoards, summaries: Summaries) -> backward.Part:
        rows = keys.file.index[piece.begin : piece.end]
        firsts, counts = rows["first"].tolist(), rows["keys"].tolist()
        with ParcelFile(self.folder / piece.writes) as file:
            frames = [file.read(number).tobytes() for number in range(len(file))]
        width = len(rows)
        chunks = [
            [Chunk(*row) for row in zip(firsts, counts, frames[at : at + width], strict=True)]
            for at in range(0, len(frames), width)
        ]
        return backward.Part(chunks, summaries, (0, 0, 0))
