"""The steps of the dense passes on layers in memory, shared out over threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tilebase._kernels import dense as kernels
from tilebase.dense.index import LayerMap
from tilebase.dense.tables import TILE, DenseLayer, DenseRules, Law, Memory, tasks
from tilebase.objectives.encoding import FIRST

Array = npt.NDArray[Any]
Tell = Callable[[float], None]
"""Called with the share of a step that is done."""


@dataclass
class DenseWork:
    """What a dense pass cost.

    Attributes
    ----------
    seconds:
        By step: tables, fold, rows, columns, disk.
    busy, span:
        Mean over threads and most of the seconds that jobs took: their ratio is the imbalance.
    boards:
        Boards solved.
    read, written:
        Bytes of layers from and to files, checkpoints in memory aside.
    least:
        Bytes that had to be read and written if W[s] never left memory: both layers above read
        once, one written.
    batches:
        The most batches that a layer was cut into.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    busy: float = 0.0
    span: float = 0.0
    boards: int = 0
    read: int = 0
    written: int = 0
    least: int = 0
    batches: int = 1

    @property
    def imbalance(self) -> float:
        """How much longer the busiest thread worked than the mean, as a share."""
        return self.span / self.busy - 1 if self.busy else 0.0

    def add(self, step: str, since: float) -> None:
        """Charge the time since `since` to a step."""
        self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - since


class Room(NamedTuple):
    """What a thread works in.

    Attributes
    ----------
    folds, free:
        Accumulators of both exponents and numbers of empty cells, for `DenseKernels.fold`.
    values, bases, ends:
        Values of a tile, and what its outer halves slide to, for `DenseKernels.slide`.
    """

    folds: Array
    free: Array
    values: Array
    bases: Array
    ends: Array


class DenseKernels:
    """The two steps on layers in memory: from states above to afterstates, from those to states."""

    def __init__(self, rules: DenseRules, law: Law) -> None:
        self.rules, self.law = rules, law
        self._exponents = sorted(rules.game.spawn_exponents, reverse=True)

    def room(self) -> Room:
        """What a thread works in."""
        size, parts = self.rules.room, self.rules.index.parts
        slides = max(len(outer.table) for _, outer, _ in self.rules.sides)
        classes = max(len(part.sums) for part in parts)
        return Room(
            np.empty((2, size), dtype=self.law.accumulator),
            np.empty(size, dtype=np.int64),
            np.empty((TILE, size), dtype=self.law.dtype),
            np.zeros((2, TILE, slides + 1, classes), dtype=np.uint64),
            np.zeros((TILE, slides), dtype=np.uint64),
        )

    def fold(self, job: Array, above: dict[int, DenseLayer], here: DenseLayer, room: Room) -> None:
        """Values of the afterstates whose top halves are in a job."""
        rules, law = self.rules, self.law
        ups = tuple((above[e].values, above[e].map.offsets, *rules.spawns[e]) for e in self._exponents)
        kernels.fold_spawns(
            job, here.map.half, rules.parts, ups, law.tunes, law.law, law.start, room.folds, room.free,
            here.map.offsets, here.values,
        )  # fmt: skip

    def slide(self, side: int, job: Array, afters: DenseLayer, states: DenseLayer, room: Room) -> None:
        """The best over slides along rows (0), which comes first, or columns (1)."""
        by_columns, outer, inner = self.rules.sides[side]
        parts = self.rules.parts
        x, y, z, w = (0, 2, 1, 3) if by_columns else (0, 1, 2, 3)
        kernels.best_slides(
            job, by_columns, states.map.half, outer.table, inner.table, outer.earned, inner.earned,
            outer.firsts, inner.firsts, (parts[x], parts[y]), (parts[z], parts[w]),
            afters.map.offsets, afters.values, room.values, room.bases, room.ends, states.map.offsets,
            states.values,
        )  # fmt: skip


class Sharing:
    """Jobs shared out over threads: each has a room to work in, and takes the next job when it is done."""

    def __init__(self, pool: ThreadPoolExecutor, rooms: Sequence[Any]) -> None:
        self._pool, self._rooms = pool, rooms
        self._stop = threading.Event()

    def stop(self) -> None:
        """Begin no more jobs."""
        self._stop.set()

    def run(
        self, step: str, do: Callable[[Array, Any], None], jobs: list[Array], work: DenseWork, tell: Tell
    ) -> None:
        """Do all jobs of a step."""
        since = time.perf_counter()
        if len(jobs) == 1:
            do(jobs[0], self._rooms[0])
        elif jobs:
            self._share(do, jobs, work, tell)
        work.add(step, since)

    def _share(self, do: Any, jobs: list[Array], work: DenseWork, tell: Tell) -> None:
        queue = iter(jobs)
        lock = threading.Lock()
        done = 0

        def drain(room: Any) -> float:
            nonlocal done
            since = time.perf_counter()
            while not self._stop.is_set():
                with lock:
                    job = next(queue, None)
                if job is None:
                    break
                do(job, room)
                done += 1
            return time.perf_counter() - since

        running = [self._pool.submit(drain, room) for room in self._rooms]
        pending: Any = running
        while pending:
            _, pending = wait(pending, timeout=0.25)
            tell(done / len(jobs))
        busy = [future.result() for future in running]
        work.busy += sum(busy) / len(busy)
        work.span += max(busy)


class Threads:
    """The steps on layers in memory.

    `largest` are the boards of the largest layer if layers are whole; then later ones take the memory of
    earlier ones.
    """

    layout = "values"

    def __init__(
        self,
        rules: DenseRules,
        law: Law,
        pool: ThreadPoolExecutor,
        threads: int,
        *,
        largest: int | None,
    ) -> None:
        self.rules, self.law, self.dtype = rules, law, law.dtype
        self.kernels = DenseKernels(rules, law)
        self._sharing = Sharing(pool, [self.kernels.room() for _ in range(threads)])
        self._memory = None if largest is None else Memory(law.dtype, FIRST + largest)
        self._sizes = lru_cache(maxsize=1)(rules.index.block_sizes)  # for all three steps of a layer

    def close(self) -> None:
        """Stop after the jobs now running."""
        self._sharing.stop()

    def map(self, total: int) -> LayerMap:
        """Where the boards of a sum are."""
        return self.rules.index.layer(total)

    def layer(self, blocks: LayerMap) -> DenseLayer:
        """Room for the values of a layer or a part of one."""
        return DenseLayer(blocks, self.law, self._memory)

    def fold(
        self, sizes: Array | None, above: dict[int, DenseLayer], here: DenseLayer, work: DenseWork, tell: Tell
    ) -> None:
        """Values of the afterstates of some blocks, those with a size, or of all."""
        jobs = self._jobs(sizes, here, by_columns=False)

        def do(job: Array, room: Room) -> None:
            self.kernels.fold(job, above, here, room)

        self._sharing.run("fold", do, jobs, work, tell)

    def slide(
        self,
        side: int,
        sizes: Array | None,
        afters: DenseLayer,
        states: DenseLayer,
        work: DenseWork,
        tell: Tell,
    ) -> None:
        """The best over slides along rows (0) or columns (1), for some blocks of states or all."""
        jobs = self._jobs(sizes, states, by_columns=bool(side))

        def do(job: Array, room: Room) -> None:
            self.kernels.slide(side, job, afters, states, room)

        self._sharing.run(("rows", "columns")[side], do, jobs, work, tell)

    def _jobs(self, sizes: Array | None, layer: DenseLayer, *, by_columns: bool) -> list[Array]:
        found = self._sizes(2 * layer.map.half) if sizes is None else sizes
        return tasks(self.rules.index, found, by_columns)
