"""Environments: how many steps a CPU second many games make on one core, through the interface of Gymnasium.

    scripts/bench --environments

Goal: 5 million steps a CPU second of `GameVectorEnv` on one core, on 4x4 to 2048 and on 3x3 to 512.  Actions
are random and allowed, and are chosen outside the measured time.  Games that end begin anew.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from tilebase import Game
from tilebase.envs import GameEnv, GameVectorEnv

GAMES, STEPS = 4096, 300
GOAL = 5e6


def allowed_actions(masks: Any, weights: Any) -> Any:
    """A random allowed action for each mask; 0 where none is."""
    return (masks * weights).argmax(axis=-1)


def vector_rate(env: GameVectorEnv) -> float:
    """Steps a CPU second of all games."""
    rng, seconds = np.random.default_rng(0), 0.0
    _, infos = env.reset(seed=1)
    for step in range(STEPS + 20):
        actions = allowed_actions(infos["action_mask"], rng.random((env.num_envs, 4)))
        began = time.process_time()
        _, _, _, _, infos = env.step(actions)
        seconds += time.process_time() - began if step >= 20 else 0.0  # the first steps compile
    return STEPS * env.num_envs / seconds


def single_rate(env: GameEnv, steps: int = 20_000) -> float:
    """Steps a CPU second of one game."""
    rng, seconds = np.random.default_rng(0), 0.0
    _, info = env.reset(seed=1)
    for _ in range(steps):
        action = int(allowed_actions(info["action_mask"], rng.random(4)))
        began = time.process_time()
        _, _, ended, _, info = env.step(action)
        if ended:
            _, info = env.reset()
        seconds += time.process_time() - began
    return steps / seconds


def main() -> int:
    reached = True
    for game in (Game("4x4", 2048), Game("3x3", 512)):
        for mode in ("NextStep", "SameStep"):
            rate = vector_rate(GameVectorEnv(game, num_envs=GAMES, autoreset_mode=mode))
            reached &= rate >= GOAL
            word = "reached" if rate >= GOAL else "MISSED"
            print(
                f"{game}, {GAMES:,} games, {mode:8} {rate / 1e6:6.2f} M steps a CPU second (goal 5: {word})"
            )
        print(f"{game}, one game {single_rate(GameEnv(game)) / 1e6:6.3f} M steps a CPU second")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
