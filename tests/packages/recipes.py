"""Judge small agents of other packages with examples/judge_agents.py, each in an environment of its own.

    python tests/packages/recipes.py best_logit

`RECIPES` says what is needed beside tilebase[rl].  Values are compared with those of the same agent in NumPy,
or of optimal play.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import gymnasium
import numpy as np

import tilebase.envs
from tilebase import Game, open_table, solve
from tilebase.arrays import TableArrays
from tilebase.policies import as_policy, judge

GAME = Game("2x2", 32)
AGENTS = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "judge_agents.py"))
RECIPES = {**AGENTS["NEEDS"], "video": ["moviepy", "gymnasium[other]"]}
WEIGHTS = np.random.default_rng(0).normal(size=(2, 2, 31, 4)).astype(np.float32)


def scores(boards: Any, weights: Any) -> Any:
    return np.einsum("nrce,rcea->na", np.eye(weights.shape[2])[boards], weights)


def softmax_of(boards: Any, allowed: Any) -> Any:
    weighed = np.exp(scores(boards, WEIGHTS)) * allowed
    return weighed / weighed.sum(axis=1, keepdims=True)


def value(table: Any, agent: Any, objective: str = "win") -> float:
    judged = judge(table, agent, symmetry="none", objective=objective)
    print(judged)
    return judged.value


def sampled(table: Any) -> None:
    """An agent that has learned a little is another one than random play; its actions are judged, too."""
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.env_util import make_vec_env

    envs = make_vec_env("tilebase/2x2-32-v0", seed=1, env_kwargs={"observation": "one-hot"})
    model = MaskablePPO("MlpPolicy", envs, n_steps=64, seed=1)
    model.learn(128)
    values = [value(table, agent) for agent in (model, AGENTS["sampled"](model), "random")]
    assert len(set(values)) == 3


def best_logit(table: Any) -> None:
    """A loop as those of CleanRL: policy gradients in 64 games; then the same weights in NumPy."""
    import torch

    envs = gymnasium.make_vec("tilebase/2x2-32-v0", num_envs=64, reward="score", observation="one-hot")
    shape = envs.single_observation_space.shape
    assert shape is not None
    weights = torch.zeros((*shape, 4), requires_grad=True)
    optimizer = torch.optim.Adam([weights], lr=0.05)

    def network(seen: Any) -> Any:
        return torch.einsum("nrce,rcea->na", seen.float(), weights)

    seen, infos = envs.reset(seed=1)
    for _ in range(100):
        logits = network(torch.as_tensor(seen)).masked_fill(
            ~torch.as_tensor(infos["action_mask"]).bool(), -1e9
        )
        drawn = torch.distributions.Categorical(logits=logits)
        actions = drawn.sample()
        seen, rewards, _, _, infos = envs.step(actions.numpy())
        loss = -(drawn.log_prob(actions) * torch.as_tensor(rewards - rewards.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    learnt = weights.detach().numpy()
    same = as_policy(lambda boards, _: scores(boards, learnt), GAME, output="scores")
    found = value(table, AGENTS["best_logit"](network, GAME), "score")
    assert np.isclose(found, value(table, same, "score"), rtol=1e-4)
    assert found > value(table, "random", "score")


def softmax(table: Any) -> None:
    """A network with the actions of pgx: left, up, right, down."""
    import jax.numpy as jnp

    jitted = AGENTS["softmax"](
        lambda params, seen: jnp.einsum("nrce,rcea->na", jnp.asarray(seen, float), params),
        jnp.asarray(WEIGHTS[..., [0, 2, 1, 3]]), GAME,
    )  # fmt: skip
    assert np.isclose(value(table, jitted), value(table, softmax_of), rtol=1e-4)


def tabular(table: Any) -> None:
    """With the values of optimal play."""
    arrays = TableArrays(table)
    states = arrays.to_arrays("states")
    boards = arrays.boards.unpack(states["keys"])
    q = {board.tobytes(): np.nan_to_num(q) for board, q in zip(boards, states["q"], strict=True)}
    assert abs(judge(table, AGENTS["tabular"](q, GAME), symmetry="canonical").regret) < 1e-12


def afterstates(table: Any) -> None:
    """With the values of optimal play; a game that is won earns nothing more."""
    arrays = TableArrays(table, "score")
    agent = AGENTS["afterstates"](lambda boards: np.nan_to_num(arrays.probe_after(boards)), GAME)
    assert np.isclose(value(table, agent, "score"), float(table.start["score"]), rtol=1e-12)


def video(_: Any) -> None:
    """Gymnasium records a game."""
    env: Any = gymnasium.make("tilebase/4x4-v0", render_mode="rgb_array")
    with TemporaryDirectory() as folder:
        env = gymnasium.wrappers.RecordVideo(env, folder, episode_trigger=lambda _: True)
        env.reset(seed=1)
        for action in [0, 3] * 5:
            env.step(action)
        env.close()
        assert [path.stat().st_size > 1000 for path in Path(folder).glob("*.mp4")] == [True]


def main(recipe: str) -> None:
    with TemporaryDirectory() as folder:
        solve(GAME, "win,score", table=folder)
        with open_table(folder) as table:
            globals()[recipe](table)


if __name__ == "__main__":
    assert tilebase.envs
    main(sys.argv[1])
