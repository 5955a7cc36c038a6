"""What a pass by groups (`dense.groups`) takes: what `solve_by_groups` expects, and a row of `tilebase plan`.

A group is read once for each group whose spawns or slides lead to it, and W and V are written once.  Each
value that is read takes its time, or what the disks move if that takes longer.  Memory holds W of a group
with V of those that its spawns lead to, or V of a group with W of one more; and what is held for later
groups, which goes to files if memory is too small.
"""

from __future__ import annotations

import numpy as np

from tilebase.costs.estimate import Estimate
from tilebase.costs.rates import rates
from tilebase.counting.combinatorics import boards_by_sum, layers_together
from tilebase.dense.group_rules import groups_to_solve
from tilebase.dense.held import WAITING_BYTES
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.runtime.resources import OVERHEAD, Allowance


def grouping(
    game: Game,
    objective: Objective,
    allowed: Allowance,
    *,
    shared: bool = False,
    cores: int | None = None,
    machines: int = 1,
) -> Estimate:
    """Return the estimate for a pass by groups.

    With `shared` for workers: `allowed` has the memory of each and the threads of all.  `cores` are those of
    this machine, or of so many such machines.  The disk is 0 if all fits into memory.  Raises `UsageError` or
    `ResourceError` of `groups_to_solve`.
    """
    groups, here = groups_to_solve(game, objective), rates("dense")
    spawned = [groups.after_spawn(e) for e in game.spawn_exponents]
    in_work = int((groups.sizes + np.sum(spawned, axis=0)).max())
    memory = OVERHEAD + np.dtype(objective.type.kept).itemsize * in_work  # Boolean values in work are bytes
    held = int(objective.value_bytes * max(layers_together(boards_by_sum(game)).values()))
    boards = int(groups.sizes.sum())
    read = float((groups.sizes * groups.sources()).sum()) + sum(float(one.sum()) for one in spawned)
    in_files = shared or memory + held > allowed.memory
    moved = objective.value_bytes * (read + 2.0 * boards) if in_files else 0.0
    # Values that were read for the last time are deleted only when the pass is saved.
    waiting = min(held, int(WAITING_BYTES + objective.value_bytes * in_work))
    return Estimate(
        "solving by groups", game, boards, boards, f"boards in {len(groups):,} groups",
        max(read * game.cells * here.grouped / (cores or allowed.cores), moved / (here.disk * machines)),
        allowed.threads,
        memory if in_files else memory + held, held + waiting if in_files else 0, moved=moved,
    )  # fmt: skip
