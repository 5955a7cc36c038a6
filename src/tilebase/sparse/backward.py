"""The backward pass: the value of every reachable afterstate.

    W[s](a) = over spawns, the mean or the least or the largest of V[s + 2](a + 2), V[s + 4](a + 4)
    V[s](x) = the largest of W[s](slide(x)) over slides

The objective says what a win and a board without a slide are worth (`objectives/objective.py`).

Layers are solved from the largest sum down.  Only afterstates have stored values.  Each state that
a spawn leads to is slid at once, and its afterstates are looked up by rank in the layer above
(`_kernels.backward`).  On average 1.4 (4x4) to 2.5 (3x3) spawns reach each state.  So it takes less
time to slide a state several times than to find each state once and to look it up.

A finished layer is on disk before the next one needs it: keys as the forward pass wrote them, and
values beside them.  The values do not depend on the number of threads or on the memory.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tilebase._kernels import backward
from tilebase._kernels.arguments import Array, Directory, Links, Scratch
from tilebase._kernels.forward import BATCH
from tilebase._kernels.packed import packed
from tilebase.cluster.runs import Run
from tilebase.errors import CorruptError, ResourceError
from tilebase.files.format import CHUNK_KEYS, Chunk, Layer, value_chunk
from tilebase.files.keys import BoardCheck, BoardsRead, read_boards
from tilebase.files.layers import same_boards
from tilebase.files.solved import StoredValues
from tilebase.game.compiled import CompiledGame
from tilebase.game.notation import count_of
from tilebase.objectives.encoding import FIRST, end_values, summarise_cut
from tilebase.objectives.results import ChunkSummary, LayerSummary
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import OVERHEAD
from tilebase.runtime.threads import Pool, Spares
from tilebase.sparse.folds import Fold, Spawned, make_fold
from tilebase.sparse.forward import DURABLE_BYTES
from tilebase.sparse.index import Edge, GameIndex, IndexedLayer, enter, join, new_directory
from tilebase.sparse.reading import word_potentials
from tilebase.sparse.recount import Reachable
from tilebase.sparse.sizes import directory_bytes, lean_bytes

if TYPE_CHECKING:
    from tilebase.sparse.shared_backward import SharedLayers

LOG = logging.getLogger(__name__)

LINKED = 1 << 15
"""Spawns that are linked and then folded together; their positions fit into the second-level cache."""
RATED = 1 << 17
"""Spawns whose best values are found and then folded together: one number each, which is read in order."""
PART_KEYS = 32 * CHUNK_KEYS
"""Boards in a part of a large layer, rounded to whole chunks."""


@dataclass
class _Solved:
    """A finished layer in memory."""

    indexed: IndexedLayer
    directory: Directory
    values: list[Array]  # one array per objective, sentinels first


Above = dict[int, _Solved | None]
"""By exponent, the layer that its spawns lead to; None if they win."""


class _Worker:
    """Buffers of one thread."""

    def __init__(self, axes: int, merges: Sequence[str], best_type: Any) -> None:
        self.scratch = packed(Scratch.of(2 * BATCH + 2))
        self.links = Links(
            np.zeros((2 * axes, LINKED), dtype=np.uint32),
            np.zeros((len(merges), axes, LINKED), dtype=np.int32),
            np.zeros((1, 0), dtype=np.uint64),
        )
        self.gains_of = dict(zip(merges, self.links.gains, strict=True))
        self.best = None if best_type is None else np.empty(RATED, dtype=best_type)


@dataclass
class Part:
    """The results of one part of a layer."""

    chunks: list[list[Chunk]]  # for each objective, keys and encoded values
    summaries: list[list[ChunkSummary]]  # for each objective, the summary of each chunk
    edge: Edge  # the group of the directory that may be shared with the part before


class BackwardPass:
    """One run of the backward pass over the layers in a folder; `solve` is the public function."""

    def __init__(
        self,
        run: Run,
        space: Reachable,
        stored: Sequence[StoredValues],
        *,
        release: bool = False,
        folds: Sequence[Fold] | None = None,
        sharing: SharedLayers | None = None,
    ) -> None:
        self.sharing = sharing
        self.path, self.space, self.stored = run.folder, space, tuple(stored)
        self.game = game = space.game
        self.memory, self.threads, self.release = run.memory, run.threads, release
        self.folds = list(folds) if folds else [make_fold(game, values.objective) for values in stored]
        self._compiled = CompiledGame(game)
        # Counting layers again needs the tables, too.
        self._game_index = GameIndex(game) if space.again is None else space.again.index
        self._check = BoardCheck(game)
        self._merges = sorted({merge for fold in self.folds for merge in fold.merges})
        self._potentials = word_potentials(game, self._merges)
        # By how much spawns make the sum larger.
        self._steps = sorted({2, 4} | {1 << e for e in game.spawn_exponents})
        self._ending = next((fold.objective for fold in self.folds if fold.objective.counts_end), None)
        self._workers = Spares(self.new_worker)
        self._pool = Pool(run.threads)
        self._pace = Pace(run.progress, "afterstates")
        self._done = self._most = 0  # afterstates solved in this run, and to be solved
        self._starts = {game.sum(board) for board, _ in game.starts()}
        self._on_disk: set[int] = set()  # sums whose values are on disk
        # The layers above: both in memory, or one at a time if memory is too small.
        self._solved: dict[int, _Solved] = {}

    def close(self) -> None:
        """Stop the threads and release memory."""
        self._pool.close()
        for stored in self.stored:
            stored.close()
        self._solved.clear()

    # -- the whole pass ----------------------------------------------------------------------

    def run(self, down_to: int | None = None) -> None:
        """Solve the layers that are not stored, and store them.

        Raises `CorruptError`, `WrongGameError`, `StorageError` or `ResourceError`.
        """
        sizes = self.space.sizes
        wanted = sorted((s for s in sizes if sizes[s] and (down_to is None or s >= down_to)), reverse=True)
        if self.release:
            self._compare(wanted)
        for stored in self.stored:
            stored.settle()
        self._on_disk = set().union(*(stored.layers for stored in self.stored))
        missing = self._missing(wanted)
        self._done = 0
        self._pace.start()
        self._most = sum(sizes[s] for s in missing)
        self._check_memory(missing)
        LOG.log(
            logging.INFO if 0 < len(missing) < len(wanted) else logging.DEBUG,
            "solving %s in %s for %s with %s: %d layers of %d are there",
            self.game, self.path, ", ".join(values.objective.label for values in self.stored),
            count_of(self.threads, "thread"), len(wanted) - len(missing), len(wanted),
        )  # fmt: skip
        for total in missing:
            self._retire(total)
            self._layer(total)
            self._on_disk.add(total)
        self._solved.clear()
        for stored in self.stored:
            stored.settle()
            if not self.release:
                stored.files.sync()
        LOG.debug("%d afterstates are solved, in %.2f s", self._done, self._pace.seconds)

    def _missing(self, wanted: Sequence[int]) -> list[int]:
        return [total for total in wanted if any(total not in stored.layers for stored in self.stored)]

    def _compare(self, wanted: Sequence[int]) -> None:
        """Compare the files that this run continues from with their checksums.

        If one is damaged, all layers are solved again, since the layers above were deleted.
        """
        missing = self._missing(wanted)
        near = {total + 2**exponent for total in missing for exponent in self.game.spawn_exponents}
        needed = (near | self._starts) - set(missing)
        sound = [stored.compare(self.space.sizes, needed, self.threads) for stored in self.stored]
        if not all(sound):
            LOG.debug("files from which this run would continue are damaged: all layers are solved again")
            for stored in self.stored:
                stored.layers.clear()

    def _retire(self, total: int) -> None:
        """Release the layers that layer `total` and those below do not need."""
        for old in [s for s in self._solved if s > total + self._steps[-1]]:
            del self._solved[old]
        if self.release:
            for old in [s for s in self._on_disk if s > total + self._steps[-1] and s not in self._starts]:
                for stored in self.stored:
                    stored.files.release(old)
                self._on_disk.remove(old)

    def _report(self, total: int, more: int) -> None:
        """Report the progress, after `more` afterstates were solved."""
        self._done += more
        if self._pace.due() or self._done == self._most:
            self._pace.report(total, "solve", self._done, self._done / self._most)

    # -- memory ------------------------------------------------------------------------------

    def _bytes(self, total: int) -> int:
        """Return the bytes of memory of a solved layer."""
        values = sum(fold.nbytes(self.space.sizes[total]) for fold in self.folds)
        return directory_bytes(self._game_index.size(total)) + values

    def _bytes_above(self, total: int) -> list[int]:
        """Return the bytes of each layer that spawns on a layer lead to."""
        return [self._bytes(s) for step in self._steps if self.space.sizes.get(s := total + step)]

    def _check_memory(self, totals: Sequence[int]) -> None:
        """Raise `ResourceError`, before any layer is solved, if a layer does not fit into memory."""
        if self.sharing is not None:
            shared = [total for total in totals if self.sharing.wants(self.space.sizes[total])]
            totals = [total for total in totals if total not in shared]
            self._check_workers(self.sharing.executor.memory, shared)
        needed = max((self._needed(total)[1] for total in totals), default=0)
        if needed > self.memory:
            raise ResourceError(
                f"solving {self.game} needs at least {1 + (needed >> 20):,} MiB of memory, and "
                f"{self.memory >> 20:,} MiB may be used: give more memory, or choose a smaller type of value"
            )

    def _check_workers(self, memory: int, shared: Sequence[int]) -> None:
        """Do the same for layers that are shared out: a worker process has both layers above in memory."""
        most = max((sum(self._bytes_above(total)) for total in shared), default=0)
        needed = OVERHEAD + self._game_index.nbytes + most
        if shared and needed > memory:
            raise ResourceError(
                f"solving {self.game} needs {1 + (needed >> 20):,} MiB of memory in each worker process, and "
                f"{memory >> 20:,} MiB may be used: start fewer workers on a machine, "
                "with more threads each, or choose a smaller type of value"
            )

    def _needed(self, total: int) -> tuple[bool, int]:
        """Return whether a layer is solved with one layer above in memory at a time, and the bytes needed."""
        above = self._bytes_above(total)
        whole = sum(above) + self._bytes(total)
        fixed = OVERHEAD + self._game_index.nbytes
        least = max(above, default=0) + lean_bytes(len(self.folds)) * self.space.sizes[total]
        lean = whole + fixed > self.memory
        return lean, fixed + (least if lean else whole)

    # -- one layer ---------------------------------------------------------------------------

    def _layer(self, total: int) -> None:
        """Solve the layer of one sum, write its values, and enter it in the journal."""
        if (again := self.space.again) is not None and again.lacks(total):
            self._solved.clear()  # counting takes their memory
            share = self._done / self._most
            again.make(total, lambda lower: self._pace.report(lower, "recount", self._done, share))
        keys = self.space.boards(total)
        if self.sharing is not None and self.sharing.wants(len(keys)):
            self._solved.clear()
            parts, here, how = self.sharing.parts(total, keys), None, "by workers"
        elif self._needed(total)[0]:
            parts, here, how = self._lean_parts(total, keys), None, "with one layer above at once"
        else:
            here, how = self._new_layer(total, len(keys)), "in memory"
            parts = self._parts(total, keys, here)
        self._write(total, keys, parts, here)
        LOG.debug("sum %d: %d afterstates solved %s", total, len(keys), how)
        if here is not None:
            self._solved[total] = here

    def _mixed(self, total: int) -> CorruptError:
        return CorruptError(
            f"{self.path} lacks afterstates of sum {total}: files of different "
            "runs are mixed; delete it and solve again"
        )

    def _new_layer(self, total: int, n: int) -> _Solved:
        indexed = self._game_index.at(total)
        directory = new_directory(indexed.size)
        return _Solved(indexed, directory, [fold.values(n, total) for fold in self.folds])

    def _read(self, total: int, file: Layer, span: range) -> BoardsRead:
        """Some chunks of a layer.  Raises `CorruptError` if boards are not of the game and the sum."""
        found = read_boards(file, span)
        if self.space.written.get(total) != file.record.text:  # else this process wrote it
            self._check.demand(found.keys, total, file.name)
        return found

    def _map(self, work: Callable[[_Worker, range], Any], spans: list[range]) -> Iterator[Any]:
        """Return the results of ``work(worker, span)`` for all spans, in order.

        This thread does a single span, and all of them if the run has no other: to hand them over takes time.
        """

        def run(span: range) -> Any:
            with self._workers.one() as worker:
                return work(worker, span)

        if min(len(spans), self.threads) <= 1:
            return map(run, spans)
        return self._pool.map(run, spans, ahead=2 * self.threads)

    def _parts(self, total: int, file: Layer, here: _Solved) -> Iterator[Part]:
        """Solve a layer with both layers above in memory."""
        above = self.layers_above(total)

        def work(worker: _Worker, span: range) -> Part:
            return self.solve_span(worker, total, file, span, above, here)

        return self._map(work, spans_of(file, self.threads))

    def solve_span(
        self, worker: _Worker, total: int, file: Layer, span: range, above: Above, here: _Solved | None
    ) -> Part:
        """Solve some chunks of a layer with both layers above in memory."""
        boards = self._read(total, file, span)
        accs = [fold.start(len(boards.keys)) for fold in self.folds]
        spawns = np.zeros(len(boards.keys), dtype=np.uint8)
        for exponent, layer in above.items():
            self._add(worker, total, boards.keys, accs, spawns, exponent, layer)
        return self._finish(file, boards, accs, spawns, here)

    def layers_above(self, total: int) -> Above:
        """The layers that spawns lead to, read from files unless in memory; other layers are released."""
        for old in [s for s in self._solved if s - total not in self._steps]:
            del self._solved[old]
        return {e: self._above(total + 2**e) for e in self._spawned(total)}

    def new_worker(self) -> _Worker:
        """Buffers of one more thread."""
        # With one objective whose slides add nothing, one kernel finds the best values; otherwise links do.
        best_type = self.folds[0].best_type if len(self.folds) == 1 else None
        return _Worker(len(self.game.shape), self._merges, best_type)

    def _spawned(self, total: int) -> list[int]:
        return [] if self.game.ended(total) else sorted(self.game.spawn_exponents, reverse=True)

    def _lean_parts(self, total: int, file: Layer) -> Iterator[Part]:
        """Solve a layer with one layer above in memory at a time."""
        n = len(file)
        accs = [fold.start(n) for fold in self.folds]
        spawns = np.zeros(n, dtype=np.uint8)
        for exponent in self._spawned(total):
            self._solved.clear()
            above = self._above(total + 2**exponent)

            def work(
                worker: _Worker, span: range, exponent: int = exponent, above: _Solved | None = above
            ) -> None:
                keys = self._read(total, file, span).keys
                at = slice(file.starts[span.start], file.starts[span.stop])
                self._add(worker, total, keys, [acc[at] for acc in accs], spawns[at], exponent, above)

            for _ in self._map(work, spans_of(file, self.threads)):
                pass
            del above, work

        self._solved.clear()

        def finish(_: _Worker, span: range) -> Part:
            at = slice(file.starts[span.start], file.starts[span.stop])
            return self._finish(file, read_boards(file, span), [acc[at] for acc in accs], spawns[at], None)

        yield from self._map(finish, spans_of(file, self.threads))

    def _add(
        self, worker: _Worker, total: int, keys: Array, accs: list[Array], spawns: Array, exponent: int,
        above: _Solved | None,
    ) -> None:  # fmt: skip
        """Add the values after spawns of one exponent to the accumulators; all win if `above` is None."""
        rules, links, best = self._compiled.rules, worker.links, worker.best
        if above is None:
            backward.count_spawns(keys, rules, spawns)
            for fold, acc in zip(self.folds, accs, strict=True):
                fold.add_won(acc, exponent, spawns)
            return
        position, ends = 0, self._ends(keys)
        while position < len(keys):
            if best is None:
                count, n, sound = backward.link(
                    keys, position, exponent, rules, above.indexed.ranking, above.directory, self._potentials,
                    worker.scratch, spawns[position:], links,
                )  # fmt: skip
            else:
                count, n, sound = backward.best_after(
                    keys, position, exponent, rules, above.indexed.ranking, above.directory, above.values[0],
                    worker.scratch, spawns[position:], best,
                )  # fmt: skip
            if not sound:
                raise self._mixed(total + 2**exponent)
            end = position + count
            known = None if best is None else best[:n]
            here = None if ends is None else ends[position:end]
            spawned = Spawned(exponent, links.slots, n, worker.gains_of, spawns[position:end], here, known)
            for fold, acc, values in zip(self.folds, accs, above.values, strict=True):
                fold.add(acc[position:end], spawned, values)
            position = end

    def _ends(self, keys: Array) -> Array | None:
        return None if self._ending is None else end_values(self._ending, self._compiled.tops(keys))

    def _above(self, total: int) -> _Solved | None:
        """Return a finished layer: in memory, read from disk (after an interruption, or if lean), or empty.

        None for a sum that wins.
        """
        if self.game.reached(total):
            return None
        if not self.space.sizes.get(total):
            # No afterstate has this sum: every state that spawns lead to is won or has no slide.
            # The files of a stranger may lack a layer, too: so the directory has all ranks.
            return self._new_layer(total, 0)
        if total not in self._solved:
            LOG.debug("sum %d: the values of %d afterstates are read", total, self.space.sizes[total])
            self._solved[total] = self._load(total, self.space.sizes[total])
        return self._solved[total]

    def _finish(
        self, file: Layer, boards: BoardsRead, accs: list[Array], spawns: Array, here: _Solved | None
    ) -> Part:
        """Store the values of some chunks in memory, encode them beside their keys, and summarise them."""
        part, keys = Part([], [], (0, 0, 0)), boards.keys
        starts = file.starts[boards.span.start : boards.span.stop + 1].tolist()
        first = starts[0]
        cuts = [(at - first, end - first) for at, end in itertools.pairwise(starts)]
        ends = self._ends(keys)
        for i, (fold, acc) in enumerate(zip(self.folds, accs, strict=True)):
            found = fold.finish(acc, spawns, ends)
            if here is not None:
                fold.put(here.values[i], first, found)
            bits = fold.objective.is_boolean
            part.chunks.append(
                [
                    value_chunk(int(keys[at]), found[at:end], bits, (frame,))
                    for frame, (at, end) in zip(boards.frames, cuts, strict=True)
                ]
            )
            part.summaries.append(summarise_cut(fold.objective, found, cuts, CHUNK_KEYS))
        if here is not None:
            part.edge = _enter(here, keys, first)
        return part

    def _write(self, total: int, keys: Layer, parts: Iterable[Part], here: _Solved | None) -> None:
        """Write the values of a layer under each objective, and a line in each journal."""
        summaries: list[list[ChunkSummary]] = [[] for _ in self.folds]
        with ExitStack() as stack:
            writers = [stack.enter_context(stored.files.writer(total)) for stored in self.stored]
            for part in parts:
                for writer, chunks, mine, new in zip(
                    writers, part.chunks, summaries, part.summaries, strict=True
                ):
                    for chunk in chunks:
                        writer.add(chunk)
                    mine += new
                if here is not None:
                    join(here.directory, part.edge)
                self._report(total, sum(chunk.boards for chunk in part.chunks[0]))
            durable = len(keys) * 8 >= DURABLE_BYTES
            for writer, stored, mine in zip(writers, self.stored, summaries, strict=True):
                writer.finish(durable=durable)
                stored.add(LayerSummary.of(total, len(keys), mine), durable=durable)

    # -- layers from disk --------------------------------------------------------------------

    def _load(self, total: int, n: int) -> _Solved:
        """Return a finished layer from its files.  Raises `CorruptError` or `MissingLayerError`."""
        here = self._new_layer(total, n)
        layers = [stored.layer(total) for stored in self.stored]
        keys = layers[0]
        if len(keys) != n or any(not same_boards(layers[0], other) for other in layers):
            raise self._mixed(total)

        def work(_: _Worker, span: range) -> Edge:
            found = self._read(total, keys, span).keys
            first = int(keys.starts[span.start])
            edge = _enter(here, found, first)
            for fold, layer, values in zip(self.folds, layers, here.values, strict=True):
                stored = np.concatenate([layer.values(chunk) for chunk in span])
                fold.put(values, first, stored.view(values.dtype) if stored.dtype.kind == "f" else stored)
            return edge

        for edge in self._map(work, spans_of(keys, self.threads)):
            join(here.directory, edge)
        return here


def spans_of(keys: Layer, threads: int) -> list[range]:
    """Return the chunks of a layer, divided into parts: several per thread if there are several threads."""
    parts = 4 * threads if threads > 1 else 1
    least = min(max(len(keys) // parts, 1), PART_KEYS)
    spans, begin, starts = [], 0, keys.starts.tolist()
    for chunk in range(keys.chunks):
        if starts[chunk + 1] - starts[begin] >= least or chunk + 1 == keys.chunks:
            spans.append(range(begin, chunk + 1))
            begin = chunk + 1
    return spans


def _enter(here: _Solved, keys: Array, first: int) -> Edge:
    """Enter boards into a layer's directory.  Raises `CorruptError` if they are not canonical."""
    ranks = here.indexed.checked_rank(keys)
    return enter(here.directory, ranks, FIRST + first)
