"""What a pass over all boards takes, as its plan says (`dense.plan`), and a search for a forced win.

The time of a pass is its boards times a rate, or the bytes that it moves through files if that takes longer;
with little memory for bits it is both.  Where there are too many boards for an index, sizes alone say what it
takes.  Nobody knows how many afterstates a search opens; `opened_afterstates` goes by the searches of
docs/results.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from tilebase.costs.estimate import WEEK, WORTH_TELLING, Estimate
from tilebase.costs.rates import DISK, of_cores, seconds
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.dense.index import PerfectIndex
from tilebase.dense.plan import NO_BOUND, Plan
from tilebase.dense.sizes import check_index
from tilebase.errors import ResourceError, UsageError
from tilebase.files.format import stored_bytes
from tilebase.game.game import Game
from tilebase.game.symmetry import symmetries
from tilebase.objectives.objective import Objective
from tilebase.runtime.resources import Allowance

PLANNED_BLOCKS = 10**7
"""Most blocks that are cut for a plan, which takes seconds (4x4 to 512 has eight million)."""
ENDLESS = Allowance(memory=NO_BOUND, threads=1)
"""All memory that is needed."""
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
TIMES = 0.7
"""The seconds of a pass that counts, as a multiple of those of one that forces a goal; 4x4 to 64: 368 s."""
LAYER_SECONDS, COUNTED_SECONDS = 0.0045, 0.007
"""CPU seconds for a layer of bits of any size, and what a pass that counts adds: 3x3 to 1024 has 1,536
layers, and took 7.8 and 16 s."""
COMPILING = 19.0
"""CPU seconds to compile them, where the fixed rates were measured."""


def planned_index(game: Game, *, open_only: bool = False) -> PerfectIndex:
    """Return the index of a pass that is estimated.

    Raises `ResourceError` if there are too many boards for a pass, and `UsageError` if there is no such pass.
    """
    index = PerfectIndex(game, open_only=open_only)
    check_index(index)
    return index


def layers_within(game: Game, lowest: int, highest: int | None) -> dict[int, int]:
    """Return the boards of each sum from one to another, or to the largest."""
    return {s: n for s, n in boards_by_sum(game).items() if lowest <= s and (highest is None or s <= highest)}


def pass_seconds(boards: float, cores: float, *, bits: bool = False) -> float:
    """Return about how long a pass over all boards in memory takes one process on the given cores."""
    return float(seconds("bits" if bits else "pass", boards)) / of_cores(cores)


def plan_seconds(plan: Plan, allowed: Allowance) -> float:
    """Return about how long a pass takes by its plan, once its kernels are compiled.

    It works while files are read and written, unless it waits for them.
    """
    cores = min(allowed.cores, plan.threads or allowed.cores)
    work, files = pass_seconds(plan.worked, cores, bits=plan.as_bits), plan.moved_bytes / DISK
    work += LAYER_SECONDS * plan.layers
    return work + files if plan.waits else max(work, files)


def passing(
    game: Game,
    objectives: Sequence[Objective],
    allowed: Allowance,
    *,
    sums: tuple[int, int | None] = (0, None),
    keep: bool = False,
    value_bytes: int = 0,
    thorough: bool = False,
) -> Estimate:
    """Return the estimate for a pass over all boards within the limits, one objective after the other.

    The pass is over the boards from the first of `sums` to the second, or to the largest.

    An index is made if the pass takes less than a week, or the estimate is to be `thorough`: without one, the
    memory lacks the tables.  Only a thorough one says the least memory.  Raises as `Plan.of` does, and as
    `planned_index` if it is to be thorough.
    """
    sizes, index = layers_within(game, *sums), None
    boards = sum(sizes.values())
    bits = not (value_bytes or keep)
    boolean = bits and all(one.is_boolean for one in objectives)
    if thorough:
        index = planned_index(game, open_only=boolean)
    elif pass_seconds(boards, allowed.cores, bits=boolean) < WEEK:
        with suppress(ResourceError, UsageError):
            index = planned_index(game, open_only=boolean)
    if index is not None and index.block_count > PLANNED_BLOCKS:
        index = None
    options: dict[str, Any] = {"value_bytes": value_bytes, "bits": bits}
    takes = disk = moved = 0.0
    least = peak = bits_memory = 0
    for one in objectives:
        if index is None:
            plan = Plan.by_size(sizes, one, allowed, **options)
        else:
            plan = Plan.of(index, one, allowed, sums=sums, **options)
        takes += plan_seconds(plan, allowed)
        moved += plan.moved_bytes
        peak = max(peak, min(plan.whole_bytes, plan.memory))
        bits_memory = max(bits_memory, plan.bits_memory)
        if thorough and index is not None:
            enough, as_bits = Plan.least(index, one, allowed, sums=sums, **options)
            least = max(least, enough)
            bits_memory = bits_memory if plan.as_bits else max(bits_memory, as_bits)
        disk = max(disk, plan.disk_bytes + plan.mapped + (stored_bytes([one]) * plan.boards if keep else 0.0))
    return Estimate(
        "solving all boards of", game, boards, boards, "boards", takes, allowed.threads, least, disk,
        moved=moved, peak=peak, bits_memory=bits_memory,
    )  # fmt: skip


def counted_sooner(game: Game, allowed: Allowance, reachable: Estimate, up_to: int | None) -> bool:
    """Return whether counting over all boards may take less time than over the reachable ones.

    That is seen without an index, which takes seconds.  It may not where the latter takes a moment, or where
    its estimate is only an upper bound.
    """
    boards = sum(layers_within(game, 0, up_to).values())
    least = TIMES * pass_seconds(boards / len(symmetries(game)), allowed.cores, bits=True)
    return not reachable.upper and reachable.seconds >= max(WORTH_TELLING, least)


def counting_all(game: Game, allowed: Allowance, *, up_to: int | None = None) -> Estimate:
    """Return the estimate for counting the reachable states by a pass over all boards.

    Raises as `planned_index` and `count_plan` do.
    """
    from tilebase.dense.reached import check_counted, count_plan, game_until  # only this needs its kernels

    check_counted(game)
    try:
        index = planned_index(game_until(game, up_to))
    except ResourceError as error:
        raise ResourceError(
            f"all boards of {game} are too many for a pass over them: count the reachable ones"
        ) from error
    plan, words = count_plan(index, allowed)
    least, _ = count_plan(index, replace(allowed, memory=0), words)
    takes = TIMES * plan_seconds(plan, allowed) + COUNTED_SECONDS * plan.layers
    return Estimate(
        "counting over all boards of", game, plan.boards, plan.boards, "boards", takes, allowed.threads,
        least.whole_bytes, plan.disk_bytes, moved=plan.moved_bytes, peak=min(plan.whole_bytes, plan.memory),
    )  # fmt: skip


def marking_seconds(
    game: Game, allowed: Allowance, counting: float, afterstates: float
) -> tuple[float, float] | None:
    """Return how long it takes to find the reachable boards in bits, and to list their afterstates.

    None where `counting` takes fewer seconds, or bits do not fit or do not know the rules
    (`dense.reached.Marks`).
    """
    every = TIMES * pass_seconds(sum(boards_by_sum(game).values()), allowed.cores, bits=True)
    ends = game.goal_sum is not None or game.horizon is not None
    if counting < every or len(symmetries(game)) > 1 or game.unmergeable or ends:
        return None
    from tilebase.dense.reached import count_plan  # only this needs its kernels

    given = replace(allowed, memory=allowed.memory // 2)
    try:
        plan, _ = count_plan(planned_index(game), given)
    except (ResourceError, UsageError):
        return None
    takes = TIMES * plan_seconds(plan, given) + COUNTED_SECONDS * plan.layers
    if plan.whole_bytes > given.memory or takes > counting:
        return None
    return takes, float(seconds("enter", afterstates)) / of_cores(allowed.cores)


def seconds_here(game: Game, objective: Objective, *, most: float) -> float:
    """Estimate how long a pass takes on this machine, as its row says; infinite if there can be none.

    Where it takes more than `most` seconds by the number of its boards alone, that estimate is enough: then
    no index is made, which takes seconds.
    """
    allowed = Allowance.of()
    boards = sum(boards_by_sum(game).values())
    if (by_size := pass_seconds(boards, allowed.cores, bits=objective.is_boolean)) > most:
        return by_size
    try:
        planned_index(game)
        return passing(game, [objective], allowed).seconds
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


def opened_afterstates(game: Game) -> int:
    """Return how many afterstates a search probably opens, by the searches of docs/results.md.

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
    return float(seconds("search", opened * slower)) / of_cores(allowed.cores)


def replacing_pass(game: Game, allowed: Allowance) -> Plan | None:
    """Return the plan of the dense pass that replaces a search which takes long.

    None if there are too few boards to be worth it, or its layers or tables do not fit into memory.
    """
    sizes = boards_by_sum(game)
    if sum(sizes.values()) < FEWEST_BOARDS or max(sizes.values()) / 8 > allowed.memory:
        return None  # without an index, which takes seconds where a layer of bits does not fit
    try:
        plan = Plan.outline(planned_index(game, open_only=True), Objective("guaranteed"), allowed)
    except (ResourceError, UsageError):
        return None
    return None if plan.batched else plan


def compile_seconds() -> float:
    """Return the seconds until the kernels of a pass are compiled: 0 if they are kept."""
    from tilebase._kernels.jit import is_compiled  # loads Numba, which other plans do without

    return 0.0 if all(map(is_compiled, PASS_KERNELS)) else COMPILING


def patience_for(game: Game, allowed: Allowance, most: float = math.inf) -> float:
    """Return the seconds of search, after the first, before a dense pass is tried; infinite if none is.

    It is 1/10 of the estimated time of the pass, and as long as its kernels take to compile.  No pass is
    tried if it would take more than 1/2 of `most` seconds.
    """
    plan = replacing_pass(game, allowed)
    if plan is None or 2 * (plan_seconds(plan, allowed) + compile_seconds()) > most:
        return math.inf
    return patience_of(plan, allowed)


def patience_of(plan: Plan, allowed: Allowance) -> float:
    """Return the same of a pass that is to be tried."""
    return 0.1 * plan_seconds(plan, allowed) + compile_seconds()


def forcing_seconds(game: Game, *, most: float) -> float:
    """Estimate roughly the seconds to decide whether a goal is forced: by search, or by a pass after it.

    A search that opens more afterstates than fit into memory forgets them, and takes longer than can be said.
    A pass of more than `most` seconds is estimated by its boards alone (`seconds_here`).
    """
    allowed = Allowance.of()
    search = search_seconds(game, allowed)
    if search < 1:
        return search + 0.1
    in_memory = opened_afterstates(game) * OPENED_BYTES <= allowed.memory
    whole = 1.1 * seconds_here(game, Objective("guaranteed"), most=most)
    return min(search if in_memory else math.inf, whole) + 0.1
