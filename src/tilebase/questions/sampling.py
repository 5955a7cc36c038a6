"""Random games of a policy that is asked for many boards at once, and what follows from how many are won.

Games are played side by side, `WIDTH` at most; the policy is asked on the boards of those that go on, `BATCH`
at a time.  So what is done beside the policy takes less than a microsecond a slide.  Game i has a stream of
random numbers of its own for its spawns; slides that a policy draws are drawn from one stream for all.

`binomial_interval` is the exact interval of a probability by Clopper and Pearson (1934).  Of n independent
trials k had the result.  The lower end of the interval is the probability under which k or more results would
be as rare as half of what is left to 1, and the upper end that under which k or fewer would be.  So an
interval misses the true probability at most as often as it says, however small this is.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from tilebase.arrays import BATCH, Floats
from tilebase.errors import UsageError
from tilebase.objectives.objective import Objective
from tilebase.policies import ArrayPolicy
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Allowance
from tilebase.simulator import REWARDS, Simulator

WIDTH = 1 << 16
"""Most games that are played side by side."""
PICKS = 1 << 62
"""The seed of the slides that are drawn is this plus that of the games."""
CONFIDENCE = 0.9999
"""With this probability an interval of played games holds the probability to win."""
STEPS = 200
"""Bisections of an interval; fewer are made where neighbouring floats are reached."""


def sample_games(
    policy: ArrayPolicy, objective: Objective, games: int, allowed: Allowance, *, seed: int = 0
) -> Floats:
    """Play games; return what each pays, ``float64[games]``: 1 or 0 for a win, a score and so on.

    Raises `UsageError` if the objective is not one of `REWARDS`, or as `ArrayPolicy.probabilities` does.
    """
    if objective.name not in REWARDS:
        raise UsageError(
            f"games are sampled by {', '.join(REWARDS)}, not by {objective.label}: name one of the table"
        )
    pace, paid = Pace(allowed.progress, "games"), np.zeros(games)
    rng = np.random.default_rng(PICKS + seed)
    rounds = -(-games // WIDTH)  # of equal size, since a round takes as many steps as its longest game
    ends = [games * i // rounds for i in range(rounds + 1)]
    for begin, end in pairwise(ends):
        part = slice(begin, end)
        paid[part] = _play(policy, objective, part.stop - begin, seed + begin, rng)
        if pace.due() or part.stop == games:
            pace.report(0, "play", part.stop, part.stop / games)
    return paid


def _play(
    policy: ArrayPolicy, objective: Objective, games: int, seed: int, rng: np.random.Generator
) -> Floats:
    playing = Simulator(policy.boards.game, games, reward=objective.name, seed=seed)
    actions, paid, factor = np.zeros(games, dtype=np.int64), np.zeros(games), 1.0
    going = playing.going.copy()
    while going.any():
        keys, may = playing.keys[going], playing.allowed[going]
        asked = [slice(at, at + BATCH) for at in range(0, len(keys), BATCH)]
        chances = np.concatenate([policy.probabilities(keys[part], may[part]) for part in asked])
        drawn = rng.random((len(chances), 1)) * chances.sum(axis=1, keepdims=True)
        picked = (np.cumsum(chances, axis=1) > drawn).argmax(axis=1)
        actions[going] = picked
        playing.step(actions)
        factor *= float(objective.discount)
        paid[going] += factor * playing.rewards[going]
        going = playing.going.copy()
    return paid


def binomial_interval(successes: int, trials: int, confidence: float) -> tuple[float, float]:
    """Return the ends of the interval that holds the probability with this confidence.

    Raises `UsageError` unless there are trials, no more successes than trials, and the confidence lies
    between 0 and 1.

    >>> [round(end, 6) for end in binomial_interval(0, 1000, 0.95)]
    [0.0, 0.003682]
    """
    if not 0 <= successes <= trials or trials < 1 or not 0 < confidence < 1:
        raise UsageError(
            f"{successes} of {trials} with confidence {confidence} has no interval: give 1 trial or more, "
            "at most as many successes, and a confidence between 0 and 1"
        )
    rare = (1 - confidence) / 2
    return _lower(successes, trials, rare), 1 - _lower(trials - successes, trials, rare)


def _lower(successes: int, trials: int, rare: float) -> float:
    """Return the largest probability under which so many successes or more are at most as rare as `rare`."""
    if not successes:
        return 0.0
    low, high = 0.0, successes / trials
    for _ in range(STEPS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if _at_least(successes, trials, middle) > rare:
            high = middle
        else:
            low = middle
    return low


def _at_least(successes: int, trials: int, p: float) -> float:
    """Return the probability of so many successes or more, where fewer are expected."""
    log_term = (
        math.lgamma(trials + 1) - math.lgamma(successes + 1) - math.lgamma(trials - successes + 1)
        + successes * math.log(p) + (trials - successes) * math.log1p(-p)
    )  # fmt: skip
    # Each term is smaller than the one before it, so the sum may end where terms do not count any more.
    term = total = 1.0
    odds = p / (1 - p)
    for k in range(successes, trials):
        term *= (trials - k) / (k + 1) * odds
        total += term
        if term < 1e-17 * total:
            break
    return math.exp(log_term) * total
