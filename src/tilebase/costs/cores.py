"""What the reachable boards take on many cores: a model of time, memory, bytes and files of shared layers.

The sum over layers of, with the rates of `costs.rates` and the CPU seconds of `costs.reachable`,

    counting   (CPU seconds + states × `exchange`) / cores + pieces × `piece`   (`sparse.shared_forward`)
    solving    CPU seconds / cores + afterstates × `load` / cores of a machine
               + pieces × `piece`                                               (`sparse.shared_backward`)

where each machine has one worker process, which loads every layer once, and pieces go through one
scheduler.  Layers that are too small to be shared out take the time of one machine.  What machines read
and write together takes at least bytes / (machines × `disk`).

The rates were measured with 4x4 to 32 on two cores (docs/scale.md).  The sizes of layers are those of a
finished run, or estimates (`costs.shares`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilebase.costs.rates import rates
from tilebase.costs.reachable import (
    KEY_BYTES,
    Layer,
    count_seconds,
    counting_threads,
    slides_of,
    solve_seconds,
    solving_memory,
    table_bytes,
)  # fmt: skip
from tilebase.files.format import CHUNK_KEYS
from tilebase.game.game import Game
from tilebase.objectives.numbers import byte_text
from tilebase.objectives.objective import Objective
from tilebase.runtime.measured import duration
from tilebase.runtime.resources import OVERHEAD
from tilebase.sparse import shared_backward, shared_forward
from tilebase.sparse.backward import PART_KEYS

EXCHANGED = (4.5, 16.0)
"""Bytes per state that workers hand to each other through files: ranks as gaps or offsets, and keys."""
DENSE = 512 * 1.7
"""Ranks per state of a piece from which on ranks travel as offsets (`_kernels.exchange`)."""
MACHINE_CORES, MOST_CORES = 16, 256
"""The cores of a machine, at most, and those of many: of both a plan is printed."""


@dataclass(frozen=True)
class Scale:
    """What a query takes on so many cores.

    Attributes
    ----------
    cores, machines:
        The cores, and the machines that have them.
    seconds:
        Wall time.
    memory:
        Bytes of each worker process, one a machine.
    disk:
        Bytes of the files that exist only during the run, at the same time; a table that is kept counts, too,
        for a pass over all boards.
    read, written:
        Bytes from and to the folder, by all machines.
    files:
        The most files of one layer at the same time.
    shared:
        How many layers are large enough to be shared out; one process does the others.
    """

    cores: int
    machines: int
    seconds: float
    memory: float
    disk: float
    read: float
    written: float
    files: int
    shared: int = 0

    def row(self) -> dict[str, Any]:
        """Return it as a row of a table."""
        return {
            "cores": self.cores,
            "machines": self.machines,
            "time": duration(self.seconds),
            "memory a worker": byte_text(int(self.memory)),
            "disk": byte_text(int(self.disk)),
            "read": byte_text(int(self.read)),
            "written": byte_text(int(self.written)),
            "files a layer": self.files,
        }


def counting(game: Game, cores: int, layers: Mapping[int, Layer], each: int = MACHINE_CORES) -> Scale:
    """Return what counting the states of some layers takes, with so many cores in each machine."""
    machines, threads, rate = -(-cores // each), min(cores, each), rates("sparse")
    slides, wanted = slides_of(game), shared_forward.PIECES * cores
    seconds = read = written = disk = 0.0
    files, large = 1, 0
    for layer in layers.values():
        keys, work = KEY_BYTES * layer.afterstates, count_seconds(layer, slides)
        read, written = read + 2 * keys, written + keys
        if cores == 1 or layer.ranks < shared_forward.SHARED_RANKS:
            seconds += work / min(threads, float(counting_threads(layer)))
            continue
        pieces = max(1, min(wanted, int(layer.ranks / shared_forward.LEAST_RANKS)))
        moved = EXCHANGED[layer.ranks * pieces > DENSE * layer.states] * layer.states + keys
        read, written, disk = read + moved, written + moved, max(disk, moved)
        work += layer.states * rate.exchange
        takes = max(work / min(cores, pieces), moved / (machines * rate.disk))
        seconds, large = seconds + takes + 4 * (pieces * rate.piece + rate.step), large + 1
        files = max(files, 2 * pieces + 3)
    largest = max((layer.ranks for layer in layers.values()), default=0.0)
    memory = OVERHEAD + threads * (largest / 8 / wanted * 10 + (64 << 20))
    return Scale(cores, machines, seconds, memory, disk, read, written, files, large)


def solving(
    game: Game,
    objectives: Sequence[Objective],
    cores: int,
    layers: Mapping[int, Layer],
    each: int = MACHINE_CORES,
) -> Scale:
    """Return what solving some layers takes, after they were counted, with so many cores in each machine."""
    machines, threads, rate = -(-cores // each), min(cores, each), rates("sparse")
    wanted = shared_forward.PIECES * cores
    stored, after = table_bytes(objectives), solve_seconds(game, len(objectives))
    seconds = read = written = disk = 0.0
    files, large = 1, 0
    for layer in layers.values():
        n = layer.afterstates
        keys, values = KEY_BYTES * n, stored * n
        read, written = read + keys, written + values
        if cores == 1 or n < shared_backward.SHARED_KEYS:
            seconds += rate.layer + n * after / (min(threads, n // CHUNK_KEYS) or 1)
            continue
        moved = machines * (keys + values) + values  # each machine loads the layer for those below
        read, written, disk = read + moved, written + values, max(disk, values)
        # A span has whole chunks, and at most `PART_KEYS` boards.
        pieces = max(wanted, int(n / PART_KEYS)) if n > wanted * CHUNK_KEYS else int(n / CHUNK_KEYS) + 1
        work, large = n * (after / cores + rate.load / threads), large + 1
        seconds += max(work, (moved + values) / (machines * rate.disk)) + pieces * rate.piece + rate.step
        files = max(files, pieces + 2)
    memory = threads * (32 << 20) + solving_memory(game, objectives, 2)  # both layers above
    return Scale(cores, machines, seconds, memory, disk, read, written, files, large)
