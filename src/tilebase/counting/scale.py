"""What a query takes on many cores: a model of time, memory, bytes and files of layers that are shared out.

The sum over layers of

    counting   states × `COUNT` / cores + pieces × `PIECE`             (`sparse.shared_forward`)
    solving    afterstates × `SOLVE` / cores + afterstates × `LOAD` / cores of a machine + pieces × `PIECE`

where each machine has one worker process, which loads every layer once, and pieces go through one
scheduler.  Layers that are too small to be shared out take the time of one machine.  What machines read
and write together takes at least bytes / (machines × `RATE`).

The constants were measured with 4x4 to 32 on two cores (docs/scale.md).  The sizes of layers are those of a
finished run, or estimates (`counting.estimates`), which may be wrong by a factor of 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilebase.counting import estimates
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.counting.estimates import DISK_RATE, KEY_BYTES, VALUE_SHARE
from tilebase.game.game import Game
from tilebase.game.symmetry import symmetries
from tilebase.objectives.numbers import byte_text
from tilebase.objectives.objective import Objective
from tilebase.runtime.resources import OVERHEAD

COUNT = 1.1e-7
"""CPU seconds per state to count, handing ranks to other workers included."""
SOLVE = 4.2e-7
"""CPU seconds per afterstate to solve the first objective; as estimated for games with masks."""
LOAD = 1.5e-8
"""CPU seconds per afterstate to load a solved layer: keys, directory and values."""
PIECE = 1e-3
"""Seconds of the scheduler for a piece."""
STEP = 0.05
"""Seconds from the last piece of a step to the first of the next."""
EXCHANGED = (4.5, 16.0)
"""Bytes per state that workers hand to each other through files: ranks as gaps or offsets, and keys."""
DENSE = 512 * 1.7
"""Ranks per state of a piece from which on ranks travel as offsets (`_kernels.exchange`)."""
RANKS = 2.3
"""Ranks per board up to symmetry, on boards with symmetries; without, there is one per board."""
SHARED_RANKS, LEAST_RANKS, SHARED_KEYS, PIECES, PART_KEYS = 1 << 26, 1 << 22, 1 << 19, 4, 1 << 19
"""As in `sparse.shared_forward`, `sparse.shared_backward` and `sparse.backward`."""
CORES = (1, 16, 256)
"""The numbers of cores of which a plan is printed."""
MACHINE_CORES = 16
"""Cores of a machine, at most."""


@dataclass(frozen=True)
class Layer:
    """The size of one layer."""

    ranks: float
    states: float
    afterstates: float


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
    read, written:
        Bytes from and to the folder, by all machines.
    files:
        The most files of one layer at the same time.
    """

    cores: int
    machines: int
    seconds: float
    memory: float
    read: float
    written: float
    files: int

    def row(self) -> dict[str, Any]:
        """As a row of a table."""
        return {
            "cores": self.cores,
            "machines": self.machines,
            "time": estimates.duration(self.seconds),
            "memory a worker": byte_text(int(self.memory)),
            "read": byte_text(int(self.read)),
            "written": byte_text(int(self.written)),
            "files a layer": self.files,
        }


def expected_layers(game: Game, up_to: int | None = None) -> dict[int, Layer]:
    """The estimated sizes of the layers of a game, by sum."""
    order = len(symmetries(game))
    found = {}
    for total, boards in boards_by_sum(game).items():
        if up_to is None or total <= up_to:
            afters = estimates.afterstates(game, total)
            ranks = boards / order * (RANKS if order > 1 else 1)
            found[total] = Layer(ranks, afters / estimates.AFTERSTATES, afters)
    return found


def counting(layers: Mapping[int, Layer], cores: int) -> Scale:
    """What counting the states of some layers takes."""
    machines = -(-cores // MACHINE_CORES)
    here = min(cores, MACHINE_CORES)
    seconds = read = written = 0.0
    files = 1
    for layer in layers.values():
        keys = KEY_BYTES * layer.afterstates
        read, written = read + 2 * keys, written + keys
        if cores == 1 or layer.ranks < SHARED_RANKS:
            seconds += layer.states * estimates.COUNT_SECONDS / (here if layer.ranks > 1 << 24 else 1)
            continue
        pieces = max(1, min(PIECES * cores, int(layer.ranks / LEAST_RANKS)))
        moved = EXCHANGED[layer.ranks * pieces > DENSE * layer.states] * layer.states + keys
        read, written = read + moved, written + moved
        work = layer.states * COUNT / min(cores, pieces)
        seconds += max(work, moved / (machines * DISK_RATE)) + 4 * (pieces * PIECE + STEP)
        files = max(files, 2 * pieces + 3)
    largest = max((layer.ranks for layer in layers.values()), default=0.0)
    memory = OVERHEAD + here * (largest / 8 / (PIECES * cores) * 10 + (64 << 20))
    return Scale(cores, machines, seconds, memory, read, written, files)


def solving(
    layers: Mapping[int, Layer], cores: int, objectives: Sequence[Objective], *, masks: bool
) -> Scale:
    """What solving some layers takes, after they were counted."""
    machines = -(-cores // MACHINE_CORES)
    here = min(cores, MACHINE_CORES)
    width = sum(one.value_bytes for one in objectives)
    each = (estimates.MASKED_SECONDS if masks else SOLVE) + estimates.FOLD_SECONDS * (len(objectives) - 1)
    seconds = read = written = 0.0
    files = 1
    for layer in layers.values():
        n = layer.afterstates
        keys, values = KEY_BYTES * n, VALUE_SHARE * width * n
        read, written = read + keys, written + values
        if cores == 1 or n < SHARED_KEYS:
            seconds += n * each / (here if n > 1 << 16 else 1)
            continue
        moved = machines * (keys + values) + values  # each machine loads the layer for those below
        read, written = read + moved, written + values
        pieces = (
            max(PIECES * cores, int(n / PART_KEYS))
            if n > PIECES * cores * (1 << 14)
            else int(n / (1 << 14)) + 1
        )
        work = n * (each / cores + LOAD / here)
        seconds += max(work, (moved + values) / (machines * DISK_RATE)) + pieces * PIECE + STEP
        files = max(files, pieces + 2)
    return Scale(cores, machines, seconds, _solving_memory(layers, width, here), read, written, files)


def _solving_memory(layers: Mapping[int, Layer], width: float, threads: int) -> float:
    """Bytes of a worker process with the two layers above in memory."""

    def held(total: int) -> float:
        layer = layers.get(total)
        return 0.0 if layer is None else width * layer.afterstates + 12 * layer.ranks / 64

    return OVERHEAD + threads * (32 << 20) + max((held(s) + held(s + 2) for s in layers), default=0.0)


def plan(
    game: Game, objectives: Sequence[Objective] = (), *, up_to: int | None = None
) -> list[dict[str, Any]]:
    """Rows for `CORES`: counting, and with objectives solving, too."""
    layers, rows = expected_layers(game, up_to), []
    for cores in CORES:
        rows.append({"step": "count"} | counting(layers, cores).row())
        if objectives:
            rows.append({"step": "solve"} | solving(layers, cores, objectives, masks=bool(game.masks)).row())
    return rows
