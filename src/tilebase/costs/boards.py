"""What a pass over all boards within the limits takes on one machine; its size is known exactly."""

from __future__ import annotations

from collections.abc import Sequence

from tilebase.costs.estimate import Estimate
from tilebase.costs.rates import rates
from tilebase.counting.combinatorics import boards_by_sum, layers_together
from tilebase.files.format import stored_bytes
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.runtime.resources import OVERHEAD, Allowance

MOVED = 11
"""So often a layer in batches is read or written, about: 8 to 14 times as `costs.batches` cuts layers."""


def passing(
    task: str,
    game: Game,
    objectives: Sequence[Objective],
    allowed: Allowance,
    *,
    down_to: int | None = None,
    keep: bool = False,
    value_bytes: int = 0,
    highest: int | None = None,
) -> Estimate:
    """Return the estimate for a pass over all boards within the limits, one objective after the other."""
    sizes = {
        s: n
        for s, n in boards_by_sum(game).items()
        if s >= (down_to or 0) and (highest is None or s <= highest)
    }
    boards, together = sum(sizes.values()), max(layers_together(sizes).values(), default=0)
    here = rates("dense")
    seconds = disk = 0.0
    for one in objectives:
        bits = (
            one.dtype == "bit" and not value_bytes and not keep and together // 6 + OVERHEAD < allowed.memory
        )
        size = value_bytes or max(1.0, one.value_bytes)
        batched = not bits and size * together + OVERHEAD > allowed.memory
        work = boards / allowed.cores * (here.bits if bits else here.values(len(game.masks)))
        seconds += max(work, MOVED * size * boards / here.disk if batched else 0.0)
        disk = max(disk, size * together if batched else 0.0)
    if keep:
        seconds += here.kept * sum(one.value_bytes for one in objectives) * boards / allowed.cores
        disk += stored_bytes(objectives) * boards
    return Estimate(task, game, boards, boards, "boards", seconds, allowed.threads, OVERHEAD, disk)
