"""What a pass over all boards within the limits takes on one machine: as its plan says (`dense.plan`).

Where there are too many boards for an index, or for an estimate to make one, sizes alone say it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from tilebase.costs.batches import alone
from tilebase.costs.estimate import WEEK, Estimate
from tilebase.costs.rates import pass_seconds
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.dense.index import PerfectIndex
from tilebase.dense.plan import Plan
from tilebase.dense.tables import check_index
from tilebase.errors import ResourceError, UsageError
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.runtime.resources import OVERHEAD, Allowance

MOST_INDEX_BYTES = 2 << 30
"""For an estimate; ten million blocks, which take half a minute (4x4 to 512 has eight)."""


def planned_index(game: Game) -> PerfectIndex:
    """Return the index of a pass that is estimated.

    Raises `ResourceError` if there are too many boards for a pass, or if making the index would take minutes,
    and `UsageError` if there is no such pass.
    """
    index = PerfectIndex(game, MOST_INDEX_BYTES)
    check_index(index)
    return index


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
    index: PerfectIndex | None = None,
) -> Estimate:
    """Return the estimate for a pass over all boards within the limits, one objective after the other.

    An index that is not given is made if the pass takes less than a week.  Raises as `Plan.of` does.
    """
    lowest = down_to or 0
    sizes = {
        s: n for s, n in boards_by_sum(game).items() if lowest <= s and (highest is None or s <= highest)
    }
    boards = sum(sizes.values())
    if index is None and pass_seconds(boards, allowed.cores) < WEEK:
        with suppress(ResourceError, UsageError):
            index = planned_index(game)
    options: dict[str, Any] = {"value_bytes": value_bytes, "bits": not (value_bytes or keep)}
    seconds = disk = moved = 0.0
    memory = OVERHEAD
    for one in objectives:
        if index is None:
            plan = Plan.by_size(sizes, one, allowed, **options)
        else:
            plan = Plan.of(index, one, allowed, lowest=lowest, highest=highest, **options)
        found = alone(plan, index, one, allowed.cores, keep=keep, lowest=lowest)
        seconds, moved = seconds + found.seconds, moved + found.read + found.written
        memory, disk = max(memory, int(found.memory)), max(disk, found.disk)
    return Estimate(task, game, boards, boards, "boards", seconds, allowed.threads, memory, disk, moved=moved)
