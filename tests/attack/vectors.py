"""Environments of many games against Gymnasium's own of single ones: the same in every step and mode."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import TimeLimit

from attack.case import REFUSED, Case
from attack.random_games import random_game
from tilebase.envs import GameEnv, GameVectorEnv

STEPS, GAMES = 40, 8
NAMES = {
    1: ("observation",),
    2: ("observation", "info"),
    5: ("observation", "reward", "terminated", "truncated", "info"),
}
"""What `reset` and `step` return, by how much that is."""


def attack(case: Case) -> None:
    """One game, played many times at once by random actions."""
    rng = case.rng
    drawn = random_game(rng)
    mode = rng.choice(list(AutoresetMode))
    most = rng.choice((None, 1, 2, 3, 5, 10))
    options = {
        "reward": rng.choice(("score", "moves", "merges")),
        "illegal": rng.choice(("noop", "terminate")),
    }
    lines = f"{drawn.lines}\nGameVectorEnv(game, num_envs={GAMES}, autoreset_mode={mode.value!r}, "
    lines += f"max_episode_steps={most}, **{options})"
    ours = case.call(
        "vector environment", lines, GameVectorEnv, drawn.game, num_envs=GAMES, autoreset_mode=mode,
        max_episode_steps=most, **options,
    )  # fmt: skip
    if ours is REFUSED:
        return

    def single() -> Any:
        env = GameEnv(drawn.game, **options)
        return env if most is None else TimeLimit(env, most)

    theirs = SyncVectorEnv([single] * GAMES, autoreset_mode=mode)
    seed = rng.randrange(1 << 30)
    found, wanted = ours.reset(seed=seed), theirs.reset(seed=seed)
    for step in range(STEPS):
        for name, one, other in zip(NAMES[len(found)], found, wanted, strict=True):
            what = f"step {step}: {one!r}, by Gymnasium {other!r}"[:600]
            if not case.expect(plain(one) == plain(other), f"vectors: {name}", what, f"{lines}, seed {seed}"):
                return
        case.done["steps"] += GAMES
        ended = wanted[2] | wanted[3] if len(wanted) == 5 else np.zeros(GAMES, dtype=bool)
        if mode is AutoresetMode.DISABLED and ended.any():
            found, wanted = (env.reset(options={"reset_mask": ended})[:1] for env in (ours, theirs))
            continue  # Gymnasium's infos are then of the games that begin
        actions = np.array([rng.randrange(int(ours.single_action_space.n)) for _ in range(GAMES)])
        found, wanted = ours.step(actions), theirs.step(actions)


def plain(thing: Any) -> Any:
    """As lists, infos only where their masks say that they are there."""
    if isinstance(thing, dict):
        return {
            name: plain([one for one, there in zip(value, thing[f"_{name}"], strict=True) if there])
            if isinstance(value, np.ndarray) and f"_{name}" in thing
            else plain(value)
            for name, value in thing.items()
        }
    if isinstance(thing, list):
        return [plain(one) for one in thing]
    return np.asarray(thing).tolist()
