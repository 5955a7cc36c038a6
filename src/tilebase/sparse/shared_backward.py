"""The backward pass shared out: pieces of a layer are some of its chunks.

The process that runs the pass cuts a layer into spans of chunks.  A worker loads the two layers above, once
for all pieces of the layer that it does, solves its span, and writes the encoded chunks as a parcel file.
The first process adds the chunks to the layer, beside the keys, in order: so it is the one that it would have
written alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tilebase.cluster.pieces import Executor, PassJob, Piece
from tilebase.cluster.runs import Run
from tilebase.files import places
from tilebase.files.format import Chunk, Contents, Layer
from tilebase.files.keys import frames_of
from tilebase.files.layers import LayerFolder
from tilebase.files.parcels import ParcelFile, ParcelWriter
from tilebase.files.solved import StoredValues
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.objectives.results import ChunkSummary
from tilebase.runtime.threads import Spares
from tilebase.sparse import backward
from tilebase.sparse.recount import Reachable
from tilebase.sparse.sizes import SHARED_KEYS

Summaries = list[list[ChunkSummary]]
"""For each objective, the summary of each chunk of a piece."""


class _ReadValues(StoredValues):
    """Layers of values that are only read, without their journal."""

    def __init__(self, folder: Path, game: Game, objective: Objective) -> None:
        self.folder, self.objective, self.layers = folder, objective, {}
        self.read = LayerFolder(folder, Contents(game, objective=objective))

    def layer(self, total: int) -> Layer:
        return self.read.layer(total)

    def close(self) -> None:
        self.read.close()


@dataclass(eq=False)
class SolveJob(PassJob):
    """Solves spans of chunks in a worker process: a `cluster.pieces.Job`."""

    run: Run
    keys: Path  # the folder of the boards
    contents: Contents  # what it holds
    objectives: tuple[Objective, ...]
    sizes: dict[int, int]

    def prepare(self) -> None:
        """Make room for the pass, which the first piece begins, and for the boards of one layer."""
        self._pass: backward.BackwardPass | None = None
        self._boards: tuple[int, Layer] | None = None
        self._workers = Spares(make=lambda: self._engine().new_worker())

    def do(self, piece: Piece) -> Summaries:
        """Solve the chunks [begin, end) of a layer, write their values, and return their summaries."""
        with self.lock:  # one thread loads the layers above, and the others wait for it
            engine = self._engine()
            if self._boards is None or self._boards[0] != piece.total:
                self._boards = piece.total, engine.space.boards(piece.total)
            keys, above = self._boards[1], engine.layers_above(piece.total)
        with self._workers.one() as worker:
            part = engine.solve_span(worker, piece.total, keys, range(piece.begin, piece.end), above, None)
        with ParcelWriter(engine.path / piece.writes) as file:
            for chunks in part.chunks:
                for chunk in chunks:
                    file.add(chunk.frames[-1])
        return part.summaries

    def _engine(self) -> backward.BackwardPass:
        if self._pass is None:
            game = self.contents.game
            stored = [
                _ReadValues(self.run.folder / places.values_folder(one.label), game, one)
                for one in self.objectives
            ]
            space = Reachable(LayerFolder(self.keys, self.contents), self.sizes)
            self._pass = backward.BackwardPass(self.run, space, stored)
        return self._pass


class SharedLayers:
    """Shares the layers of a backward pass out to an executor."""

    def __init__(
        self,
        executor: Executor,
        folder: Path,
        space: Reachable,
        objectives: Sequence[Objective],
    ) -> None:
        self.executor, self.folder = executor, folder
        assert isinstance(space.layers, LayerFolder)
        there = Run(folder=folder.resolve(), memory=executor.memory, threads=executor.threads_each)
        keys = space.layers.folder.resolve()
        self._job = SolveJob(there, keys, space.layers.contents, tuple(objectives), dict(space.sizes))

    def wants(self, n: int) -> bool:
        """Return whether a layer of n afterstates is large enough to be shared out."""
        return n >= SHARED_KEYS

    def parts(self, total: int, keys: Layer) -> Iterator[backward.Part]:
        """Yield the parts of a layer, in order.  Raises what a worker raises."""
        exchange = self.executor.exchange.name
        pieces = [
            Piece("solve", total, span.start, span.stop, (), f"{exchange}/{places.exchanged(total, number)}")
            for number, span in enumerate(backward.spans_of(keys, self.executor.threads))
        ]
        try:
            with closing(self.executor.map(self._job, pieces)) as results:
                for piece, summaries in zip(pieces, results, strict=True):
                    yield self._part(piece, keys, summaries)
                    (self.folder / piece.writes).unlink()
        finally:
            for piece in pieces:
                (self.folder / piece.writes).unlink(missing_ok=True)

    def _part(self, piece: Piece, keys: Layer, summaries: Summaries) -> backward.Part:
        span = range(piece.begin, piece.end)
        rows = keys.index[span.start : span.stop]
        boards = frames_of(keys, span)
        firsts, counts = rows["first"].tolist(), rows["boards"].tolist()
        with ParcelFile(self.folder / piece.writes) as file:
            values = [file.read(number).tobytes() for number in range(len(file))]
        chunks = [
            [
                Chunk(first, count, (keys_frame, values_frame))
                for first, count, keys_frame, values_frame in zip(
                    firsts, counts, boards, values[at : at + len(span)], strict=True
                )
            ]
            for at in range(0, len(values), len(span))
        ]
        return backward.Part(chunks, summaries, (0, 0, 0))
