"""What a pass by groups would take: the row of `tilebase plan` beside those of a pass by layers.

No engine does such a pass.  Its time is that of the boards at the rate of a pass by layers, or that of its
files.  A group is read once for each group whose spawns or slides lead to it, and W and V are written once.
Memory holds W of a group with V of those that its spawns lead to, or V of a group with W of one more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilebase.costs.estimate import duration
from tilebase.costs.rates import pass_seconds
from tilebase.counting.combinatorics import boards_by_sum, layers_together
from tilebase.counting.groups import groups_of
from tilebase.game.game import Game
from tilebase.objectives.numbers import byte_text
from tilebase.objectives.objective import Objective
from tilebase.runtime.resources import OVERHEAD, Allowance


def row_by_groups(game: Game, objective: Objective, allowed: Allowance) -> dict[str, Any]:
    """Return the row of a pass by groups.  Raises `UsageError` or `ResourceError` of `groups_of`."""
    groups = groups_of(game)
    spawned = [groups.after_spawn(e) for e in game.spawn_exponents]
    memory = OVERHEAD + int(objective.value_bytes * (groups.sizes + np.sum(spawned, axis=0)).max())
    boards = int(groups.sizes.sum())
    read = float((groups.sizes * groups.sources()).sum()) + sum(float(one.sum()) for one in spawned)
    moved = objective.value_bytes * (read + 2.0 * boards)
    seconds = pass_seconds(boards, allowed.cores, bits=objective.is_boolean, moved=moved)
    return {
        "boards": f"{len(groups):,} groups, the largest {groups.largest:,} boards",
        "time": "not built",
        "memory": byte_text(memory),
        "disk": byte_text(int(objective.value_bytes * max(layers_together(boards_by_sum(game)).values()))),
        "moved": byte_text(int(moved)),
        "reason": f"no engine passes by groups; one would take {duration(seconds, 3)}",
    }
