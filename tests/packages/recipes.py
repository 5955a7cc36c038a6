"""Judge small models of other packages with examples/judge_agents.py: as functions of NumPy, they are equal.

    python tests/packages/recipes.py

needs tilebase, sb3-contrib, torch, jax and moviepy.  A video of a game is recorded, too.
"""

from __future__ import annotations

import runpy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gymnasium
import jax.numpy as jnp
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

import tilebase.envs
from tilebase import Game, solve
from tilebase.policies import as_policy, judge

GAME = Game("2x2", 32)
AGENTS = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "judge_agents.py"))
WEIGHTS = np.random.default_rng(0).normal(size=(2, 2, 31, 4)).astype(np.float32)
DEPTH = tilebase.envs.GameEnv(GAME, observation="one-hot").observation_space.shape[-1]
LEARNT = torch.tensor(WEIGHTS[:, :, :DEPTH], requires_grad=True)


def scores(boards: Any, _: Any) -> Any:
    return np.einsum("nrce,rcea->na", np.eye(31)[boards], WEIGHTS)


def softmax(boards: Any, allowed: Any) -> Any:
    weighed = np.exp(scores(boards, allowed)) * allowed
    return weighed / weighed.sum(axis=1, keepdims=True)


def main() -> None:
    network = AGENTS["best_logit"](lambda seen: torch.einsum("nrce,rcea->na", seen.float(), LEARNT), GAME)
    jitted = AGENTS["softmax"](
        lambda params, seen: jnp.einsum("nrce,rcea->na", jnp.asarray(seen, float), params),
        jnp.asarray(WEIGHTS[..., [0, 2, 1, 3]]), GAME,  # pgx: left, up, right, down
    )  # fmt: skip
    pairs = {"torch": (network, as_policy(scores, GAME, output="scores")), "jax": (jitted, softmax)}
    model = MaskablePPO("MlpPolicy", make_vec_env("tilebase/2x2-32-v0"), n_steps=64).learn(128)
    with TemporaryDirectory() as folder:
        solve(GAME, table=folder)
        for name, pair in pairs.items():
            values = [judge(folder, one, symmetry="none").value for one in pair]
            print(name, *values)
            assert np.isclose(*values, rtol=1e-4)
        for agent in (model, AGENTS["sampled"](model)):
            print(judge(folder, agent, symmetry="none"))
        video = Path(folder) / "video"
        env = gymnasium.make("tilebase/4x4-v0", render_mode="rgb_array")
        env = gymnasium.wrappers.RecordVideo(env, str(video), episode_trigger=lambda _: True)
        env.reset(seed=1)
        for action in [0, 3] * 5:
            env.step(action)
        env.close()
        print(*(f"{one.name}: {one.stat().st_size} bytes" for one in video.glob("*.mp4")))


if __name__ == "__main__":
    main()
