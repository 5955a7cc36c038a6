"""A pass over all boards on this machine and on a CUDA device: for the rows of `tilebase plan`.

The rates of processors are measured here, that of the device was measured on one H200 (docs/solving.md).
"""

from __future__ import annotations

import math
from typing import Any

from tilebase.costs.batches import alone
from tilebase.costs.boards import passing, planned_index
from tilebase.costs.estimate import NO_FIT
from tilebase.costs.rates import pass_seconds
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.dense.backends.cuda import is_built
from tilebase.dense.index import PerfectIndex
from tilebase.dense.plan import NO_BOUND, Plan
from tilebase.errors import ResourceError, UsageError
from tilebase.game.game import Game
from tilebase.objectives.numbers import byte_text
from tilebase.objectives.objective import Objective
from tilebase.runtime.measured import duration
from tilebase.runtime.resources import Allowance

H200 = Allowance(memory=130 << 30, threads=1)
"""The memory of the device that is left for layers and tables."""
H200_BOARDS, H200_DISK = 1.15e10, 6e9
"""Boards per second of one H200: 48 ps a board for fold and 39 ps for slides, values of 4 bytes; and bytes
per second from and to its two SSDs."""
ENDLESS = Allowance(memory=NO_BOUND, threads=1)
"""All memory that is needed."""


def this_machine(allowed: Allowance) -> str:
    """Return what stands in the rows of this machine: the threads, and the processors if they are fewer."""
    few = (
        f" on {allowed.cores} processor{'s' * (allowed.cores > 1)}" if allowed.cores < allowed.threads else ""
    )
    return f"this machine, {allowed.threads} thread{'s' * (allowed.threads > 1)}{few}"


def device_row(
    index: PerfectIndex, objective: Objective, device: Allowance = H200, *, lowest: int = 0
) -> dict[str, Any]:
    """Return what a pass on the device would need: a row of a table."""
    row = {"on": "one H200, two SSDs"}
    try:
        plan = Plan.of(index, objective, device, bits=False, lowest=lowest)
        found = alone(plan, index, objective, 1, keep=False, lowest=lowest)
    except ResourceError as error:
        return row | no_fit(error)
    moved = found.read + found.written
    seconds = max(plan.boards / H200_BOARDS, moved / H200_DISK)
    return row | {
        "memory": byte_text(int(found.memory)), "disk": byte_text(int(found.disk)),
        "moved": byte_text(int(moved)),
        "time": duration(seconds, 3) + ("" if is_built(index.game, objective) else " (not built)"),
        "reason": "",
    }  # fmt: skip


def no_fit(error: ResourceError) -> dict[str, Any]:
    """Return the columns of a pass that does not fit."""
    return {"memory": "", "disk": "", "moved": "", "time": NO_FIT, "reason": str(error)}


def seconds_here(game: Game, objective: Objective, *, most: float = math.inf) -> float:
    """Estimate how long a pass takes on this machine, as its row says; infinite if there can be none.

    Where it takes more than `most` seconds by the number of its boards alone, that estimate is enough: then
    no index is made, which takes seconds.
    """
    allowed = Allowance.of()
    boards = sum(boards_by_sum(game).values())
    if (by_size := pass_seconds(boards, allowed.cores, bits=objective.is_boolean)) > most:
        return by_size
    try:
        return passing("", game, [objective], allowed, index=planned_index(game)).seconds
    except (ResourceError, UsageError):
        return math.inf


def layers_in_memory(game: Game, *objectives: Objective) -> list[int]:
    """Return `Plan.layer_bytes` for each objective.

    Where there are too many boards for a pass, it is what they would take: one bit for a Boolean value.
    """
    try:
        index = planned_index(game)
    except (ResourceError, UsageError):
        sizes = boards_by_sum(game)
        return [Plan.by_size(sizes, one, ENDLESS).layer_bytes for one in objectives]
    return [Plan.outline(index, one, ENDLESS).layer_bytes for one in objectives]


def row_by_size(
    game: Game, objective: Objective, allowed: Allowance, reason: ResourceError
) -> dict[str, Any]:
    """Return the row of a pass that this machine cannot do: what it would take by size, and why it cannot."""
    found = passing("", game, [objective], allowed)
    return {
        "on": this_machine(allowed),
        "memory": f"{byte_text(layers_in_memory(game, objective)[0])}, or batches",
        "disk": byte_text(int(found.disk)),
        "moved": byte_text(int(found.moved)),
        "time": "not possible",
        "reason": f"{reason}; by size alone it would take {duration(found.seconds, 3)}",
    }
