"""Random games, many at once, and what follows from how many are won.

`sample_games` plays by a policy that is asked for many boards at once.  Games are played side by side,
`WIDTH` at most; those whose boards have the least sum slide next, so that a table reads each layer once for
all of them.  The policy is asked on `BATCH` boards at a time.  So what is done beside the policy takes less
than a microsecond a slide.  Each game has a stream of random numbers of its own for its spawns; the seeds of
these, and slides that a policy draws, are drawn from one stream.  The same seed gives the same games.

`binomial_interval` is the exact interval of a probability by Clopper and Pearson (1934).  Of n independent
trials k had the result.  The lower end of the interval is the probability under which k or more results would
be as rare as half of what is left to 1, and the upper end that under which k or fewer would be.  So an
interval misses the true probability at most as often as it says, however small this is.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from tilebase.arrays import Floats, GameArrays, Keys, sums_of
from tilebase.errors import UsageError
from tilebase.objectives.encoding import end_values, sentinels
from tilebase.objectives.objective import Objective
from tilebase.policies.asking import ArrayPolicy
from tilebase.policies.following import Agent
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Allowance
from tilebase.simulator import REWARDS, Simulator
from tilebase.sparse.flow import drawn_slides

WIDTH = 1 << 16
"""Most games that are played side by side."""
CONFIDENCE = 0.9999
"""With this probability an interval of played games holds the probability to win."""
STEPS = 200
"""Bisections of an interval; fewer are made where neighbouring floats are reached."""


def counts_wins(objective: Objective) -> bool:
    """Return whether a game pays 1 if it is won and else 0."""
    return objective.is_win and objective.discount == 1


def standard_error(payoffs: Floats) -> float:
    """Return the standard error of the mean of two numbers or more."""
    # The mean of equal numbers is rounded, and so would be their deviation, which is 0.
    same = bool(payoffs.min() == payoffs.max())
    return 0.0 if same else float(payoffs.std(ddof=1)) / math.sqrt(len(payoffs))


def sample_games(
    policy: ArrayPolicy, objective: Objective, games: int, allowed: Allowance, *, seed: int = 0
) -> tuple[Floats, int]:
    """Play games; return what each pays, ``float64[games]`` (1 or 0 for a win, a score), and how many won.

    The values of the objective are means.  Raises `UsageError` as `ArrayPolicy.probabilities` does.
    """
    pace, paid, wins = Pace(allowed.progress, "games"), np.zeros(games), 0
    rng = np.random.default_rng(seed)
    rounds = -(-games // WIDTH)  # of equal size, since a round takes as many steps as its longest game
    ends = [games * i // rounds for i in range(rounds + 1)]
    for begin, end in pairwise(ends):
        wins += _play_round(policy, objective, paid, range(begin, end), rng, pace)
    pace.report(0, "done", games, 1.0)
    return paid, wins


def _play_round(
    policy: ArrayPolicy,
    objective: Objective,
    paid: Floats,
    games: range,
    rng: np.random.Generator,
    pace: Pace,
) -> int:
    """Play some of the games, write what they pay, and return how many are won."""
    boards, agent, earned = policy.boards, Agent(policy, "none"), objective.name in REWARDS
    reward, n = objective.name if earned else "moves", len(games)
    playing = Simulator(boards.game, n, reward=reward, seed=rng.integers(1 << 62, size=n))
    actions, mine, factors = np.zeros(n, dtype=np.int64), paid[games.start : games.stop], np.ones(n)
    while (going := playing.going).any():
        sums = sums_of(boards.game, playing.keys)
        total = int(sums[going].min())
        if pace.due():
            ended = games.stop - int(going.sum())
            pace.report(total, "play", ended, ended / len(paid))
        which = going & (sums == total)
        rows = np.flatnonzero(which)
        chances = agent.ask(playing.keys[rows], playing.allowed[rows])
        actions[rows] = drawn_slides(chances.T, rng)
        playing.step(actions, which=which)
        factors[rows] *= float(objective.discount)
        mine += factors * playing.rewards
    if not earned:
        ends = (worth_at_end(boards, objective, playing.keys, won=won) for won in (True, False))
        mine[:] = np.where(playing.won, *ends)
    return int(playing.won.sum())


def worth_at_end(boards: GameArrays, objective: Objective, keys: Keys, *, won: bool) -> Floats:
    """Return what boards are worth on which games end, as `Objective.end` does of one."""
    if won and objective.counts_end and boards.wide_goal:  # a key has no room for the tile
        return np.full(len(keys), sentinels(boards.game, objective)[1])
    if won and not objective.counts_end:
        return np.full(len(keys), float(objective.meaning.win))
    return end_values(objective, boards.tops(keys))


# -- the interval of a probability ------------------------------------------------------------------


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
    """Return the largest probability under which `successes` or more are at most as rare as `rare`."""
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
    """Return the probability of this number of successes or more, where fewer are expected."""
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
