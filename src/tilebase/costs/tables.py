"""What commands on a finished table take: evaluating a policy, thinning, and verifying.

The sizes of its layers are known exactly.  With the rates of `costs.rates` the CPU seconds are

    evaluating   layer + afterstates × (after + spawns × followed × slides)     for each layer
    thinning     layer + afterstates × read × objectives + states that are visited × visit
    verifying    bytes × checked + values × spawns × derived (+ sampled)
    a function   states that it reaches × called
    an agent     layer + states × (judged + the time that it takes)

as in `costs.reachable`.  How many states optimal play visits is known only afterwards; `VISITED` of the
afterstates is the share that was measured.  All but evaluating is done by one thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tilebase.costs.estimate import Estimate
from tilebase.costs.rates import rates
from tilebase.costs.reachable import (
    Work,
    held_memory,
    slides_of,
    solving_threads,
    spawns_after,
    table_bytes,
)
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.files.format import VALUE_SHARE
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.runtime.resources import OVERHEAD, Allowance

VISITED, VISITED_SPREAD = 0.5, 2.0
"""The states that optimal play visits, as a share of the afterstates of a table, and the factor by which that
may be wrong."""
STATES = 1.6
"""The states that lead to the afterstates of a table, for each of them (3x3 to 512: 1.63)."""
AFTER_BYTES, LAYER_BYTES = 20, 1 << 31
"""Bytes of memory of an afterstate with its value, and those of all layers that are kept in memory."""
JUDGED_BYTES = 150
"""Bytes of memory of a state of the largest sum: it waits with those of the next sums, in several pieces."""
FOLLOWED_BYTES = 16
"""Bytes of memory of an afterstate: the value that a policy follows, and its own."""


def evaluating(game: Game, sizes: Mapping[int, int], allowed: Allowance) -> Estimate:
    """Return the estimate for evaluating a policy that is not a function."""
    rate, counts = rates("sparse"), np.array(list(sizes.values()), dtype=np.float64)
    each = rate.after + spawns_after(game) * rate.followed * slides_of(game)
    work = Work(rate.layer + counts * each, solving_threads(counts))
    largest = int(counts.max(initial=0))
    return Estimate(
        "evaluating a policy of", game, sum(sizes.values()), counts.sum(), "afterstates",
        work.seconds(allowed.cores), allowed.threads,
        held_memory(game, 1, FOLLOWED_BYTES * largest), 3 * 8 * VALUE_SHARE * largest,
    )  # fmt: skip


def thinning(
    game: Game, sizes: Mapping[int, int], objectives: Sequence[Objective], *, visits: bool
) -> Estimate:
    """Return the estimate for thinning a table by visits, or by values."""
    rate, afters = rates("sparse"), sum(sizes.values())
    seconds = len(sizes) * rate.layer + afters * rate.read * (len(objectives) + 1)
    seconds += VISITED * afters * rate.visit if visits else 0.0
    largest = max(sizes.values(), default=0)
    width = sum(max(one.value_bytes, 1) for one in objectives)
    return Estimate(
        "thinning a table of", game, afters, afters, "afterstates", seconds, 1,
        OVERHEAD + int(width * largest), table_bytes(objectives) * afters,
        VISITED_SPREAD if visits else 1.0,
    )  # fmt: skip


def verifying(
    game: Game, boards: int, objectives: Sequence[Objective], sample: int | None, threads: int = 1
) -> Estimate:
    """Return the estimate for comparing all bytes, and deriving a sample of values, or all, again."""
    rate, values = rates("sparse"), (boards if sample is None else min(sample, boards)) * len(objectives)
    derived = values * (spawns_after(game) * rate.derived + (0.0 if sample is None else rate.sampled))
    seconds = table_bytes(objectives) * boards * rate.checked + derived / threads
    return Estimate("verifying a table of", game, boards, boards, "boards", seconds, threads, OVERHEAD, 0.0)


def judging(
    game: Game, sizes: Mapping[int, int], live: int | None, images: int, own: float, state_bytes: int
) -> Estimate:
    """Return the estimate for judging an agent that takes `own` seconds for a board.

    It meets at most the `live` states of a table of these afterstates, of `images` for each where it is asked
    without symmetry; None if they were not counted.  How many it does meet is not known: often it is a small
    part.  `state_bytes` are kept of each.
    """
    rate, afters = rates("sparse"), sum(sizes.values())
    states = round(STATES * afters * images) if live is None else live
    largest = states * max(sizes.values(), default=0) / max(afters, 1)
    layers = min(LAYER_BYTES, AFTER_BYTES * afters)
    return Estimate(
        "judging an agent in", game, states, states, "states, those of the table",
        len(sizes) * rate.layer + states * (rate.judged + own), 1,
        OVERHEAD + layers + int(JUDGED_BYTES * largest + state_bytes * states), 0.0, upper=True,
    )  # fmt: skip


def calling(game: Game, states: float, state_bytes: int) -> Estimate:
    """Return the estimate for evaluating a function that reaches at most so many states."""
    reached = int(min(states, sum(boards_by_sum(game).values())))
    return Estimate(
        "evaluating a function in", game, reached, reached, "states", reached * rates("sparse").called,
        1, OVERHEAD + int(state_bytes * reached), 0.0, upper=True,
    )  # fmt: skip
