"""What the reachable boards take: counting and solving them, and a finished table.

The number of boards of each sum within the limits is computed exactly, in a moment
(`counting.combinatorics`).  How many of them play reaches is counted or estimated (`costs.shares`); each
layer is taken to have the same share.  The layers of a finished table are known exactly.  The CPU seconds are
the work of `costs.rates`:

    counting     states + ranks × `RANK`
    solving      afterstates × spawns × (1 + `FURTHER` for each further objective)
    evaluating   afterstates × spawns
    thinning     values that are read, and states that optimal play visits: `VISITED` of the afterstates
    verifying    bytes, and boards of a sample × spawns
    games        their slides at most
    an agent     states that it meets, and the time that it takes

Threads share the layers that are large enough; all but counting, solving and evaluating is done by one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from tilebase.costs.estimate import Estimate
from tilebase.costs.rates import LAYER_SECONDS, RANK, of_cores, seconds
from tilebase.costs.shares import Array, Layers, empty_cells, layers_of, share_of
from tilebase.files.format import CHUNK_KEYS
from tilebase.game.game import Game
from tilebase.game.symmetry import symmetries
from tilebase.objectives.objective import Objective
from tilebase.runtime.resources import OVERHEAD, Allowance
from tilebase.sparse.halves import Halves
from tilebase.sparse.sizes import (
    KEPT_KEYS,
    SHARED_KEYS,
    SHARED_RANKS,
    SMALL_BITS,
    SMALL_PART,
    TABLE_BYTES,
    directory_bytes,
    lean_bytes,
    least_windows,
)

KEY_BYTES = 0.75
"""Bytes on disk per key of an afterstate."""
VALUE_SHARE = 0.72
"""Size of a compressed value in a table, as a share of the size in memory, at most: 0.54 for win of 4x4 to
32, 0.63 of 3x3 to 512, and 0.72 for bounds in uint32 of 442 to 512."""
PAIR_SLIDES, ENTRY_BYTES = 3.0, 45
"""Slides of a state in a decision process, and bytes of memory for each state that may follow one."""
FURTHER = 0.6
"""The work for a spawn for each further objective."""
FEW_BYTES = 4 << 20
"""So much more tables take if there are few half boards."""
WIN = (Objective("win"),)
"""What measured tables hold."""
VISITED, VISITED_SPREAD = 0.5, 2.0
"""The states that optimal play visits, as a share of the afterstates of a table, and the factor by which that
may be wrong."""
STATES = 1.6
"""The states that lead to the afterstates of a table, for each of them (3x3 to 512: 1.63)."""
AFTER_BYTES, LAYER_BYTES = 20, 1 << 31
"""Bytes of memory of an afterstate with its value, and those of all layers that are kept in memory."""
PAID_BYTES = 8
"""Bytes of memory of a random game that is over."""
JUDGED_BYTES = 150
"""Bytes of memory of a state of the largest sum: it waits with those of the next sums, in several pieces."""
FOLLOWED_BYTES = 16
"""Bytes of memory of an afterstate: the value that a policy follows, and its own."""
PART = 3.5
"""The spread where layers to a sum are counted: their shares of boards are not that of all layers."""
WORTH_MARKING = 60.0
"""Seconds of counting from which on the boards that are solved may be found in bits."""
HELD = 4
"""Layers of values that a run without a table keeps at most."""
ONE = Allowance(memory=0, threads=1)
"""One thread, which needs the least memory."""


def count_seconds(layers: Layers, up_to: int | None, cores: float) -> float:
    """Return the time to count the layers of sums to `up_to`."""
    shared = (layers.ranks > SMALL_BITS) | (layers.states >= 4 * SMALL_PART)
    work = seconds("count", layers.states + RANK * layers.ranks)
    return _together(work[layers.sums <= _or_all(up_to)], shared[layers.sums <= _or_all(up_to)], cores)


def count_work(game: Game, states: int, up_to: int | None = None) -> float:
    """Return the work of a run that counted a number of states."""
    layers = layers_of(game)
    return states + RANK * float(layers.ranks[layers.sums <= _or_all(up_to)].sum())


def solve_seconds(game: Game, objectives: Sequence[Objective], down_to: int | None, cores: float) -> float:
    """Return the time to solve the layers of sums from `down_to`."""
    layers = layers_of(game)
    afters = layers.afterstates[layers.sums >= (down_to or 0)]
    work = seconds("solve", afters * spawns_of(game, len(objectives)))
    return _together(work, afters >= 2 * CHUNK_KEYS, cores)


def is_shared(game: Game, up_to: int | None = None, *, solved: bool = True) -> bool:
    """Return whether workers do a part of counting to a sum, or of solving after it."""
    layers = layers_of(game)
    counted = layers.ranks[layers.sums <= _or_all(up_to)].max(initial=0) >= SHARED_RANKS
    return bool(counted or (solved and layers.afterstates.max(initial=0) >= SHARED_KEYS))


def _together(work: Array, shared: Array, cores: float) -> float:
    """Return the time of layers with the given CPU seconds each, of which the cores share some."""
    return LAYER_SECONDS * len(work) + float(np.where(shared, work / of_cores(cores), work).sum())


def _or_all(up_to: int | None) -> float:
    return math.inf if up_to is None else up_to


def spawns_of(game: Game, objectives: int) -> float:
    """Return the work to solve an afterstate: its spawns, and more for each further objective."""
    return spawns_after(game) * (1 + FURTHER * (objectives - 1))


def spawns_after(game: Game) -> float:
    """Return how many spawns follow an afterstate, on average."""
    tops = [top for top in game.tops if top]
    empty = game.free_cells / max(len(tops), 1) * empty_cells(tops)
    # A slide leaves more cells empty than a board has on average.
    return (empty + 0.5) * len(game.spawn_exponents)


def counting(game: Game, allowed: Allowance, *, up_to: int | None = None, keep: str = "counts") -> Estimate:
    """Return the estimate for counting the reachable states."""
    layers = layers_of(game)
    wanted = layers.sums <= _or_all(up_to)
    states, afters = float(layers.states[wanted].sum()), float(layers.afterstates[wanted].sum())
    bound = sum(boards for total, boards in layers.boards.items() if up_to is None or total <= up_to)
    # At least the keys of two layers are on disk.
    kept = {"counts": 0.04 * afters, "afterstates": afters, "states": states + afters}[keep]
    ranks = int(layers.ranks[wanted].max(initial=0))
    last = int(layers.sums[wanted].max(initial=4))  # no tile of a table is larger
    fixed = 16 * KEPT_KEYS + TABLE_BYTES * half_boards(game, last.bit_length() - 1) + FEW_BYTES
    # The layer in two windows at least, or in one if memory allows.
    memory, peak = (
        OVERHEAD + (fixed + windows if windows else 0)
        for windows in (least_windows(ranks, allowed.threads, whole=whole) for whole in (False, True))
    )
    return Estimate(
        "counting", game, -(-bound // len(symmetries(game))), states, "states",
        count_seconds(layers, up_to, allowed.cores), allowed.threads, memory, KEY_BYTES * kept,
        share_of(game).spread if wanted.all() else PART, peak=min(peak, allowed.memory),
        upper=bool(game.first_sum),
    )  # fmt: skip


def listing_pairs(game: Game, *, symmetric: bool) -> Estimate:
    """Return the estimate for listing all states and slides as a decision process, in memory."""
    before = counting(game, ONE)
    images = 1 if symmetric else len(symmetries(game))
    states = images * before.positions
    each = PAIR_SLIDES * spawns_after(game) * ENTRY_BYTES
    return replace(
        before, task="listing the slides of", bound=images * before.bound, positions=states,
        seconds=seconds("list", states), memory=OVERHEAD + int(states * each), disk=0.0, peak=0,
    )  # fmt: skip


def solving(
    game: Game,
    objectives: Sequence[Objective],
    allowed: Allowance,
    *,
    down_to: int | None = None,
    table: bool | None,
    shared: bool = False,
) -> Estimate:
    """Return the estimate for counting and solving, with the memory that both are expected to need.

    Workers (`shared`) keep both layers above in memory; one process does where they fit.  A `table` of None
    leaves boards out.  Without one, boards are found in bits where that is quicker.
    """
    before, layers = counting(game, allowed, keep="afterstates"), layers_of(game)
    solved = layers.sums >= (down_to or 0)
    stored = share_of(game).stored
    each = stored if stored and tuple(objectives) == WIN else table_bytes(objectives)
    # The afterstates that were counted stay beside the table until it is complete: they are in `before`.
    afters = layers.afterstates[solved]
    # Without a table, the values of the layer in work and of those that it follows from are on disk.
    values = each * float(afters.sum() if table else min(afters.sum(), HELD * afters.max(initial=0.0)))
    least, most = (solving_memory(game, objectives, above, down_to) for above in (1, 3))
    # Where they do not fit, pairs of layers are kept, and the others are counted once more.
    most_disk = math.inf if allowed.disk is None else allowed.disk
    apart, kept = pairs_kept(layers.afterstates, (most_disk - values) / KEY_BYTES)
    marking = None
    if table is False and not shared and before.seconds >= WORTH_MARKING:
        from tilebase.costs.passes import marking_seconds  # the other engine is loaded if it is asked

        marking = marking_seconds(game, allowed, before.seconds, float(layers.afterstates.sum()))
    if marking and apart:
        apart, kept = pairs_kept(layers.afterstates, 0)  # each pair is entered in bits again
    find, enter = marking or (before.seconds, 0.0)
    return replace(
        before,
        task="solving",
        seconds=(2 if apart else 1) * find + enter + solve_seconds(game, objectives, down_to, allowed.cores),
        memory=max(before.memory, most if shared else least),
        peak=max(before.peak, min(most, allowed.memory)),
        disk=KEY_BYTES * kept + values,
        apart=apart,
        marked=marking is not None,
    )


def pairs_kept(afterstates: Array, most: float) -> tuple[int, float]:
    """Return of how many layers each the first two are kept, 0 for all, and the boards on disk at a time.

    The least number that keeps at most `most` boards, or the one that keeps fewest.  Beside the pairs, the
    layers from one pair to the next are there while they are solved.
    """
    whole = float(afterstates.sum())
    if whole <= most:
        return 0, whole
    best, few = (0, whole), 64  # distances below are all tried, then steps of a sixteenth
    steps = itertools.accumulate(itertools.repeat(few), lambda apart, _: apart + apart // 16)
    longest = min(len(afterstates), few + 8 * math.isqrt(len(afterstates)))
    for apart in (*range(4, min(few, longest)), *itertools.takewhile(lambda apart: apart < longest, steps)):
        between = np.where(np.arange(len(afterstates)) % apart < 2, 0.0, afterstates)
        largest = np.add.reduceat(between, np.arange(0, len(between), apart)).max()
        best = min(best, (apart, whole - float(between.sum()) + float(largest)), key=lambda one: one[1])
        if best[1] <= most:
            break
    return best


def table_bytes(objectives: Sequence[Objective]) -> float:
    """Return the bytes on disk of a reachable board: its compressed values, with its key beside each."""
    return KEY_BYTES * len(objectives) + VALUE_SHARE * sum(one.value_bytes for one in objectives)


def solving_memory(game: Game, objectives: Sequence[Objective], above: int, down_to: int | None) -> int:
    """Return the bytes that solving is expected to take with so many layers in memory.

    One is that above the one in work, which then has accumulators; three are both above and the one in work.
    """
    layers = layers_of(game)
    each = above * sum(one.value_bytes for one in objectives)
    each += lean_bytes(len(objectives)) if above == 1 else 0
    most = float(layers.afterstates[layers.sums >= (down_to or 0)].max(initial=0.0))
    return held_memory(game, above, each * most, down_to)


def held_memory(game: Game, above: int, values: float, down_to: int | None = None) -> int:
    """Return the bytes of the tables of the index, the directories of so many layers, and their values."""
    layers = layers_of(game)
    ranks = int(layers.ranks[layers.sums >= (down_to or 0)].max(initial=0))
    return OVERHEAD + TABLE_BYTES * half_boards(game) + above * directory_bytes(ranks) + int(values)


@lru_cache(maxsize=32)
def half_boards(game: Game, cap: int | None = None) -> int:
    """Return how many fillings half a board has, which the engine tabulates; of exponents to `cap`."""
    return Halves(game, cap).largest


# -- finished tables ------------------------------------------------------------------------------


def evaluating(game: Game, sizes: Mapping[int, int], allowed: Allowance) -> Estimate:
    """Return the estimate for evaluating a policy that is not a function."""
    counts = np.array(list(sizes.values()), dtype=np.float64)
    work = seconds("evaluate", counts * spawns_after(game))
    largest = int(counts.max(initial=0))
    return Estimate(
        "evaluating a policy of", game, sum(sizes.values()), counts.sum(), "afterstates",
        _together(work, counts >= 2 * CHUNK_KEYS, allowed.cores), allowed.threads,
        held_memory(game, 1, FOLLOWED_BYTES * largest), 3 * 8 * VALUE_SHARE * largest,
    )  # fmt: skip


def thinning(
    game: Game, sizes: Mapping[int, int], objectives: Sequence[Objective], *, visits: bool
) -> Estimate:
    """Return the estimate for thinning a table by visits, or by values."""
    afters = sum(sizes.values())
    work = LAYER_SECONDS * len(sizes) + seconds("read", afters * (len(objectives) + 1))
    work += seconds("visit", VISITED * afters) if visits else 0.0
    largest = max(sizes.values(), default=0)
    width = sum(max(one.value_bytes, 1) for one in objectives)
    return Estimate(
        "thinning a table of", game, afters, afters, "afterstates", work, 1,
        OVERHEAD + int(width * largest), table_bytes(objectives) * afters,
        VISITED_SPREAD if visits else 1.0,
    )  # fmt: skip


def verifying(
    game: Game, boards: int, objectives: Sequence[Objective], sample: int | None, threads: int = 1
) -> Estimate:
    """Return the estimate for comparing all bytes, and deriving a sample of values, or all, again."""
    values = (boards if sample is None else min(sample, boards)) * len(objectives)
    derived = seconds("derive", values * spawns_after(game))
    derived += 0.0 if sample is None else seconds("sample", values)
    work = seconds("check", table_bytes(objectives) * boards) + derived / of_cores(threads)
    return Estimate("verifying a table of", game, boards, boards, "boards", work, threads, OVERHEAD, 0.0)


def judging(
    game: Game, sizes: Mapping[int, int], live: int | None, images: int, own: float, state_bytes: int
) -> Estimate:
    """Return the estimate for judging an agent that takes `own` seconds for a board.

    It meets at most the `live` states of a table of these afterstates, of `images` for each where it is asked
    without symmetry; None if they were not counted.  How many it does meet is not known: often it is a small
    part.  `state_bytes` are kept of each.
    """
    afters = sum(sizes.values())
    states = round(STATES * afters * images) if live is None else live
    largest = states * max(sizes.values(), default=0) / max(afters, 1)
    layers = min(LAYER_BYTES, AFTER_BYTES * afters)
    return Estimate(
        "judging an agent in", game, states, states, "states, those of the table",
        len(sizes) * LAYER_SECONDS + seconds("judge", states) + states * own, 1,
        OVERHEAD + layers + int(JUDGED_BYTES * largest + state_bytes * states), 0.0, upper=True,
    )  # fmt: skip


def playing(game: Game, games: int, afters: int, rate: str) -> Estimate:
    """Return the estimate for random games of a policy: of a table of so many afterstates, or 0."""
    slides = games * (game.largest_sum >> game.spawn_exponents[0])
    return Estimate(
        "playing games of", game, slides, slides, "slides", seconds(rate, slides), 1,
        OVERHEAD + PAID_BYTES * games + min(LAYER_BYTES, AFTER_BYTES * afters), 0.0, upper=True,
    )  # fmt: skip
