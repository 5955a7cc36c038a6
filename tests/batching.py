"""Dense passes with so little memory that layers are cut into batches."""

from __future__ import annotations

from tilebase.dense.index import PerfectIndex
from tilebase.dense.plan import Plan
from tilebase.errors import ResourceError
from tilebase.game.game import Game
from tilebase.objectives.objective import parse_objectives
from tilebase.runtime.resources import OVERHEAD

BATCHED = Game("3x3", 64, limits="32,32,16/16,16,16/8,8,8", start="empty")


def small_memory(game: Game, text: str) -> int:
    """As little memory as lets batches through: found by asking."""
    (objective,) = parse_objectives(text)
    index = PerfectIndex(game)
    whole = Plan.of(index, objective, 1 << 40, 2, bits=False)
    least = OVERHEAD + whole.table_bytes
    for memory in range(least, whole.whole_bytes, max((whole.whole_bytes - least) // 500, 1)):
        try:
            if Plan.of(index, objective, memory, 2, bits=False).batched:
                return memory
        except ResourceError:
            continue
    raise AssertionError("no memory is too little")
