"""Trains and judges the reference agents of benchmarks, and prints src/tilebase/datasets/agents.tsv.

    pip install sb3-contrib
    python examples/learner/reference.py                2x3-64-win, 2x4-256-win and 3x3-512-win
    python examples/learner/reference.py 2x3-128-win    another benchmark of wins

`n-tuple TD` is the network of `ntuples.py`, `PPO` the MaskablePPO of sb3-contrib, which sees exponents as
one-hot vectors.  Both learn from the score, since random play hardly ever wins.  Values are exact, seconds
are CPU seconds.  Seeds are fixed, but other processors and versions of Torch round otherwise, and PPO then
learns something else.
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from tempfile import TemporaryDirectory
from typing import Any

from ntuples import Network

import tilebase.envs
from tilebase import Game, Table, TilebaseError, evaluate, open_table, solve
from tilebase.datasets import Benchmark, benchmark
from tilebase.policies import judge
from tilebase.simulator import Simulator

TASKS = ("2x3-64-win", "2x4-256-win", "3x3-512-win")
TD_SLIDES, PPO_SLIDES = 16_000_000, 300_000
HEADS = ("benchmark", "agent", "value", "regret", "slides", "training", "judging", "version")


def learn_td(game: Game) -> Any:
    """An n-tuple network that has learned by TD(0) on afterstates, in 512 games at once."""
    network, games = Network(game), Simulator(game, 512)
    network.learn(games, TD_SLIDES // len(games), rate=0.5)
    return network.policy


def learn_ppo(game: Game) -> Any:
    """A MaskablePPO with the defaults of sb3-contrib, 64 games at once and scaled rewards."""
    import torch
    from sb3_contrib import MaskablePPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.vec_env import VecNormalize

    torch.set_num_threads(1)  # more round otherwise, and wait for each other on busy processors
    options = {"game": game, "reward": "score", "observation": "one-hot"}
    envs = make_vec_env("tilebase/2048-v0", n_envs=64, seed=0, env_kwargs=options)
    scaled = VecNormalize(envs, norm_obs=False)
    model = MaskablePPO("MlpPolicy", scaled, n_steps=128, batch_size=1024, seed=0)
    return model.learn(PPO_SLIDES)


AGENTS: dict[str, tuple[Callable[[Game], Any], int, str]] = {
    "random": (lambda _: "random", 0, "tilebase"),
    "greedy": (lambda _: "greedy", 0, "tilebase"),
    "n-tuple TD": (learn_td, TD_SLIDES, "tilebase"),
    "PPO": (learn_ppo, PPO_SLIDES, "sb3-contrib"),
}
"""By name: what trains the agent, on how many slides, and the package whose version is printed."""


def row(task: Benchmark, table: Table, name: str) -> list[Any]:
    """Train and judge an agent: the line of the table."""
    train, slides, package = AGENTS[name]
    moments = [time.process_time()]
    agent = train(task.game)
    moments.append(time.process_time())
    if isinstance(agent, str):  # without rounding by the regret, which is much larger
        found: Any = evaluate(table, agent)
        value = found.value
    else:
        found = judge(table, agent, symmetry="none" if name == "PPO" else "canonical")
        value = found.text
    moments.append(time.process_time())
    seconds = [f"{end - begin:.0f}" for begin, end in itertools.pairwise(moments)]
    made = tilebase.__version__ if package == "tilebase" else version(package)
    return [task.name, name, value, found.regret, slides, *seconds, f"{package} {made}"]


def main(names: list[str]) -> None:
    tasks = [benchmark(name) for name in names or TASKS]
    print(*HEADS, sep="\t")
    for task in tasks:
        with TemporaryDirectory() as folder:
            solve(task.game, task.objective, table=folder)
            with open_table(folder) as table:
                for name in AGENTS:
                    print(*row(task, table, name), sep="\t", flush=True)


if __name__ == "__main__":
    if "--help" in sys.argv:
        print(__doc__)
        sys.exit()
    try:
        main(sys.argv[1:])
    except ImportError as error:
        sys.exit(f"error: {error}: pip install sb3-contrib")
    except TilebaseError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_status)
