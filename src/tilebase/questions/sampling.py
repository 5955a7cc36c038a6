"""Random games of a policy that is asked for many boards at once.

Games are played side by side, `WIDTH` at most; the policy is asked on the boards of those that go on, `BATCH`
at a time.  So what is done beside the policy takes less than a microsecond a slide.  Game i has a stream of
random numbers of its own for its spawns; slides that a policy draws are drawn from one stream for all.
"""

from __future__ import annotations

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
