"""The steps of the dense passes on layers in memory, shared out over threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import dense as kernels
from tilebase.layers.dense import DenseLayer, DenseRules, Law, tasks
from tilebase.perfect import LayerMap

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


class DenseKernels:
    """The two steps on layers in memory: from states above to afterstates, from those to states."""

    def __init__(self, rules: DenseRules, law: Law, gains: bool) -> None:
        self.rules, self.law = rules, law
        self._none = np.zeros((0, 0, 0), dtype=np.int32)
        self._gains = gains
        self._exponents = sorted(rules.game.spawn_exponents, reverse=True)

    def room(self) -> Array:
        """Accumulators of a thread."""
        return np.empty((2, self.rules.room), dtype=self.law.accumulator)

    def fold(self, job: Array, above: dict[int, DenseLayer], here: DenseLayer, room: Array) -> None:
        """Values of the afterstates whose top halves are in a job."""
        rules, law = self.rules, self.law
        ups = tuple((above[e].values, above[e].map.offsets, *rules.spawns[e]) for e in self._exponents)
        kernels.fold_spawns(
            job, here.map.half, rules.parts, ups, law.tunes, law.law, law.start, room, here.map.offsets,
            here.values,
        )  # fmt: skip

    def slide(self, side: int, job: Array, afters: DenseLayer, states: DenseLayer) -> None:
        """The best over slides along rows (0), which comes first, or columns (1)."""
        by_columns, outer, inner = self.rules.sides[side]
        parts = self.rules.parts
        x, y, z, w = (0, 2, 1, 3) if by_columns else (0, 1, 2, 3)
        kernels.best_slides(
            job, by_columns, states.map.half, outer.table, inner.table,
            outer.made if self._gains else self._none, inner.made if self._gains else self._none,
            (parts[x], parts[y]), (parts[z], parts[w]), afters.map.offsets, afters.values, side == 0,
            states.map.offsets, states.values,
        )  # fmt: skip


class Threads:
    """The steps on layers in memory, shared out over threads: each takes the next job when it is done."""

    def __init__(
        self, rules: DenseRules, law: Law, pool: ThreadPoolExecutor, threads: int, gains: bool
    ) -> None:
        self.rules, self.law = rules, law
        self.kernels = DenseKernels(rules, law, gains)
        self._pool, self._rooms = pool, [self.kernels.room() for _ in range(threads)]
        self._stop = threading.Event()

    def close(self) -> None:
        """Stop after the jobs now running."""
        self._stop.set()

    def layer(self, blocks: LayerMap) -> DenseLayer:
        """Room for the values of a layer or a part of one."""
        return DenseLayer(blocks, self.law)

    def fold(
        self, sizes: Array, above: dict[int, DenseLayer], here: DenseLayer, work: DenseWork, tell: Tell
    ) -> None:
        """Values of the afterstates of some blocks."""
        jobs = tasks(self.rules.index, sizes, by_columns=False)
        self._map("fold", lambda job, room: self.kernels.fold(job, above, here, room), jobs, work, tell)

    def slide(
        self, side: int, sizes: Array, afters: DenseLayer, states: DenseLayer, work: DenseWork, tell: Tell
    ) -> None:
        """The best over slides along rows (0) or columns (1), for some blocks of states."""
        jobs = tasks(self.rules.index, sizes, by_columns=bool(side))
        name = ("rows", "columns")[side]
        self._map(name, lambda job, _: self.kernels.slide(side, job, afters, states), jobs, work, tell)

    def _map(self, step: str, do: Any, jobs: list[Array], work: DenseWork, tell: Tell) -> None:
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

        def drain(room: Array) -> float:
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
