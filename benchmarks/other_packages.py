"""How many steps a CPU second environments make on one core: run it in an environment that has the package.

    python benchmarks/other_packages.py pgx
    python benchmarks/other_packages.py jumanji
    python benchmarks/other_packages.py tilebase

Many games of 4x4 are played at once by random allowed actions, which are chosen within the measured time;
games that end begin anew.  What is compiled is compiled before.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
import time
from collections.abc import Callable
from typing import Any

GAMES = (1024, 8192)
STEPS, ROUNDS = 20, 3


def pgx(games: int) -> Callable[[int], None]:
    import pgx as package
    from pgx.experimental.wrappers import auto_reset

    env = package.make("2048")
    step = auto_reset(env.step, env.init)
    return _jax(games, env.init, step, lambda state: state.legal_action_mask)


def jumanji(games: int) -> Callable[[int], None]:
    import jumanji as package
    from jumanji.wrappers import AutoResetWrapper

    env = AutoResetWrapper(package.make("Game2048-v1"))
    return _jax(
        games, env.reset, lambda carry, action, _: env.step(carry[0], action),
        lambda carry: carry[1].observation.action_mask,
    )  # fmt: skip


def _jax(games: int, begin: Any, step: Any, mask_of: Any) -> Callable[[int], None]:
    """Return what plays some steps of JAX environments, with a seed."""
    import jax
    import jax.numpy as jnp

    def one(carry: Any, key: Any) -> Any:
        choice, spawn = jax.random.split(key)
        actions = jax.random.categorical(choice, jnp.log(mask_of(carry).astype(jnp.float32)), axis=1)
        return jax.vmap(step)(carry, actions, jax.random.split(spawn, games)), None

    play = jax.jit(lambda carry, key: jax.lax.scan(one, carry, jax.random.split(key, STEPS))[0])
    held = [jax.jit(jax.vmap(begin))(jax.random.split(jax.random.PRNGKey(0), games))]

    def run(seed: int) -> None:
        held[0] = jax.block_until_ready(play(held[0], jax.random.PRNGKey(seed)))

    return run


def tilebase(games: int) -> Callable[[int], None]:
    import numpy as np

    from tilebase import Game
    from tilebase.envs import GameVectorEnv

    envs, rng = GameVectorEnv(Game("4x4", 65536), num_envs=games, reward="score"), np.random.default_rng(0)
    held = [envs.reset(seed=1)[1]["action_mask"]]

    def run(_: int) -> None:
        for _ in range(STEPS):
            actions = (rng.random(held[0].shape) * held[0]).argmax(axis=1)
            held[0] = envs.step(actions)[4]["action_mask"]

    return run


def main(package: str) -> int:
    os.sched_setaffinity(0, {0})
    os.environ.update(
        JAX_PLATFORMS="cpu", XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    )
    for games in GAMES:
        run = {"pgx": pgx, "jumanji": jumanji, "tilebase": tilebase}[package](games)
        run(0)
        best = 0.0
        for seed in range(1, ROUNDS + 1):
            began = time.process_time()
            run(seed)
            best = max(best, STEPS * games / (time.process_time() - began))
        version = importlib.metadata.version(package)
        print(f"{package} {version}, {games:,} games: {best / 1e6:.2f} M steps a CPU second")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
