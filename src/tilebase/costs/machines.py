"""A pass over all boards on this machine and on a CUDA device: the rows of `tilebase plan`.

The rates of processors are measured here, that of the device was measured on one H200 (docs/solving.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tilebase.costs.batches import moved
from tilebase.costs.estimate import NO_FIT, duration
from tilebase.costs.rates import rates
from tilebase.counting.combinatorics import boards_by_sum, layers_together
from tilebase.dense.backends.cuda import is_built
from tilebase.dense.index import PerfectIndex
from tilebase.dense.plan import NO_BOUND, Plan
from tilebase.errors import ResourceError
from tilebase.game.game import Game
from tilebase.objectives.numbers import byte_text
from tilebase.objectives.objective import Objective
from tilebase.runtime.resources import Allowance

H200_BOARDS = 1.15e10
"""Boards per second of one H200: 48 ps a board for fold and 39 ps for slides, values of 4 bytes."""
MOST_INDEX_BYTES = 2 << 30
"""For an estimate; ten million blocks, which take half a minute (4x4 to 512 has eight)."""


@dataclass(frozen=True)
class Machine:
    """A machine to estimate a pass for.

    Attributes
    ----------
    name:
        What it is.
    allowed:
        Bytes for layers and tables, and threads of the processors.
    rate:
        Boards per second of a device; None for processors, where the plan knows.
    disk_rate:
        Bytes per second from and to its disks.
    """

    name: str
    allowed: Allowance
    rate: float | None
    disk_rate: float


def machines(allowed: Allowance) -> tuple[Machine, ...]:
    """Return this machine, and one H200; `costs.cores` is for several machines."""
    device = Allowance(memory=130 << 30, threads=1)
    return (
        Machine(this_machine(allowed), allowed, None, rates("dense").disk),
        Machine("one H200, two SSDs", device, H200_BOARDS, 6e9),
    )


def this_machine(allowed: Allowance) -> str:
    """Return what stands in the rows of this machine: the threads, and the processors if they are fewer."""
    few = (
        f" on {allowed.cores} processor{'s' * (allowed.cores > 1)}" if allowed.cores < allowed.threads else ""
    )
    return f"this machine, {allowed.threads} thread{'s' * (allowed.threads > 1)}{few}"


def planned_index(game: Game) -> PerfectIndex:
    """Return the index of a pass that is estimated.

    Raises `ResourceError` if there are too many boards for a pass, or if making the index would take minutes.
    """
    return PerfectIndex(game, MOST_INDEX_BYTES)


def rate_of(plan: Plan) -> float:
    """Return the boards per second and thread of a pass on processors."""
    return 1 / (rates("dense").boards if plan.words is None else rates("dense").bits)


def seconds_on(plan: Plan, machine: Machine, moving: float) -> float:
    """Return about how long a pass takes: the work, or what its disks read and write, if this is longer."""
    work = plan.boards / (machine.rate or rate_of(plan) * machine.allowed.cores)
    return max(work, moving / machine.disk_rate)


def estimate(index: PerfectIndex, objective: Objective, machine: Machine) -> dict[str, Any]:
    """Return what a machine would need: a row of a table."""
    row: dict[str, Any] = {"machine": machine.name}
    built = machine.rate is None or is_built(index.game, objective)
    try:
        plan = Plan.of(index, objective, machine.allowed, bits=machine.rate is None)
        moving = sum(moved(index, plan, objective))
    except ResourceError as error:
        return row | {"memory": "", "disk": "", "moved": "", "time": NO_FIT, "reason": str(error)}
    return row | {
        "memory": byte_text(min(plan.whole_bytes, machine.allowed.memory)),
        "disk": byte_text(plan.disk_bytes),
        "moved": byte_text(int(moving)),
        "time": duration(seconds_on(plan, machine, moving), 3) + ("" if built else " (not built)"),
        "reason": "",
    }


def seconds_here(game: Game, objective: Objective) -> float:
    """Estimate how long a pass takes on this machine, as `rows` says; infinite if its tables do not fit."""
    machine = machines(Allowance.of())[0]
    try:
        index = planned_index(game)
        plan = Plan.outline(index, objective, machine.allowed)
        return seconds_on(plan, machine, sum(moved(index, plan, objective)))
    except ResourceError:
        return math.inf


def layers_in_memory(game: Game, *objectives: Objective) -> list[int]:
    """Return `Plan.layer_bytes` for each objective.

    Where there are too many boards for a pass, it is what they would take: one bit for a Boolean value.
    """
    try:
        index = planned_index(game)
    except ResourceError:
        together = max(layers_together(boards_by_sum(game)).values())
        return [int(one.value_bytes * together) for one in objectives]
    return [Plan.outline(index, one, Allowance(memory=NO_BOUND, threads=1)).layer_bytes for one in objectives]


def rows(index: PerfectIndex, objective: Objective, allowed: Allowance) -> list[dict[str, Any]]:
    """Return the plan for each machine; `allowed` is what may be used of this one."""
    return [estimate(index, objective, machine) for machine in machines(allowed)]


def row_by_size(
    game: Game, objective: Objective, allowed: Allowance, reason: ResourceError
) -> dict[str, Any]:
    """Return the row of a pass that this machine cannot do: what it would take by size, and why it cannot."""
    machine, sizes = machines(allowed)[0], boards_by_sum(game)
    together = objective.value_bytes * max(layers_together(sizes).values())
    seconds = sum(sizes.values()) * rates("dense").boards / machine.allowed.cores
    return {
        "machine": machine.name,
        "memory": f"{byte_text(together)}, or batches",
        "disk": byte_text(together),
        "moved": byte_text(8 * objective.value_bytes * sum(sizes.values())),
        "time": "not possible",
        "reason": f"{reason}; by size alone it would take {duration(seconds, 3)}",
    }
