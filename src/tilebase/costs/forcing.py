"""What deciding whether a goal is forced takes: by a search, and by a pass over all boards in its place."""

from __future__ import annotations

import math

from tilebase._kernels.jit import is_compiled
from tilebase.costs.boards import planned_index
from tilebase.costs.machines import seconds_here
from tilebase.costs.rates import pass_seconds, rates
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.dense.plan import Plan
from tilebase.errors import ResourceError, UsageError
from tilebase.game.game import Game
from tilebase.game.symmetry import symmetries
from tilebase.objectives.objective import Objective
from tilebase.runtime.resources import Allowance

MEASURED_CELLS = 14
"""Cells of the largest boards whose searches were measured to their ends."""
SEARCHED_SHARE = 0.02
"""The share of the boards up to symmetry that a search opens on larger boards: nobody knows it."""
LARGE_SEARCH = 1e7
"""Afterstates from which on the table of a search is too large for caches."""
OPENED_BYTES = 16
"""Bytes of the table of a search for each afterstate that it opens."""
FEWEST_BOARDS = 1 << 20
"""Least boards for a dense pass; with fewer, a search that takes long is still being compiled."""
FIRST_PATIENCE = 1.0
"""Seconds of search before a dense pass is considered."""
PASS_KERNELS = ("dense", "halves", "bits")
"""The modules of kernels that such a pass takes."""
COMPILING = 19.0
"""CPU seconds to compile them, where the fixed rates were measured."""


def opened_afterstates(game: Game) -> int:
    """Return how many afterstates a search probably opens, by the searches of docs/records.md.

    Their share of the boards up to symmetry is 0.07 with 8 cells, 0.04 to 0.08 with 9, 0.02 to 0.04 with 10,
    0.016 to 0.032 with 12 and 0.005 with 14; 0.16 and 0.08 with 8 and 12 cells on three axes.
    """
    share = SEARCHED_SHARE
    if game.free_cells <= MEASURED_CELLS:
        axes = sum(length > 1 for length in game.shape)
        share = 0.07 * math.exp(-0.4 * (game.free_cells - 8)) * (3 if axes > 2 else 1)
    return int(min(share, 1.0) * sum(boards_by_sum(game).values()) / len(symmetries(game)))


def search_seconds(game: Game, allowed: Allowance) -> float:
    """Estimate roughly the seconds of a search; each afterstate takes longer if the table is large."""
    opened = opened_afterstates(game)
    slower = 1 + min(max(math.log10(max(opened, 1) / LARGE_SEARCH), 0.0), 2.5) * 0.7
    return opened * slower * rates("sparse").opened / allowed.cores


def replacing_pass(game: Game, allowed: Allowance) -> Plan | None:
    """Return the plan of the dense pass that replaces a search which takes long.

    None if there are too few boards to be worth it, or its layers or tables do not fit into memory.
    """
    sizes = boards_by_sum(game)
    if sum(sizes.values()) < FEWEST_BOARDS or max(sizes.values()) / 8 > allowed.memory:
        return None  # without an index, which takes seconds where a layer of bits does not fit
    try:
        plan = Plan.outline(planned_index(game), Objective("guaranteed"), allowed)
    except (ResourceError, UsageError):
        return None
    return None if plan.batched else plan


def replacing_seconds(plan: Plan, allowed: Allowance) -> float:
    """Estimate the seconds of such a pass, once its kernels are compiled."""
    return pass_seconds(plan.boards, allowed.cores, bits=plan.as_bits)


def compile_seconds() -> float:
    """Return the seconds until the kernels of a pass are compiled: 0 if they are kept."""
    return 0.0 if all(map(is_compiled, PASS_KERNELS)) else COMPILING


def patience_for(game: Game, allowed: Allowance, seconds: float = math.inf) -> float:
    """Return the seconds of search, after the first, before a dense pass is tried; infinite if none is.

    It is 1/10 of the estimated time of the pass, and as long as its kernels take to compile.  No pass is
    tried if it would take more than 1/2 of `seconds`.
    """
    plan = replacing_pass(game, allowed)
    if plan is None or 2 * (replacing_seconds(plan, allowed) + compile_seconds()) > seconds:
        return math.inf
    return patience_of(plan, allowed)


def patience_of(plan: Plan, allowed: Allowance) -> float:
    """Return the same of a pass that is to be tried."""
    return 0.1 * replacing_seconds(plan, allowed) + compile_seconds()


def forcing_seconds(game: Game, *, most: float = math.inf) -> float:
    """Estimate roughly the seconds to decide whether a goal is forced: by search, or by a pass after it.

    A search that opens more afterstates than fit into memory forgets them, and takes longer than can be said.
    A pass of more than `most` seconds is estimated by its boards alone (`seconds_here`).
    """
    allowed = Allowance.of()
    search = search_seconds(game, allowed)
    if search < 1:
        return search + 0.1
    in_memory = opened_afterstates(game) * OPENED_BYTES <= allowed.memory
    passing = 1.1 * seconds_here(game, Objective("guaranteed"), most=most)
    return min(search if in_memory else math.inf, passing) + 0.1
