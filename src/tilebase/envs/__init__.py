"""Environments for reinforcement learning, with the interface of Gymnasium.  Needs the extra ``rl``.

    single.py   `GameEnv`: one game; what both environments have: spaces, start boards, checks of actions
    vector.py   `GameVectorEnv`: many games in one call, compiled
    oracle.py   `OracleInfo`, `VectorOracleInfo`: values and regret of a table beside each step
    drawing.py  boards as pixels and text

Importing this package registers with Gymnasium: ``tilebase/2048-v0``; ``tilebase/4x4-v0``, the whole game
without a goal, which rewards the score; and a name for each game of `BENCHMARKS`: ``tilebase/3x3-512-v0``.

>>> import gymnasium
>>> from tilebase import Game
>>> env = gymnasium.make("tilebase.envs:tilebase/2048-v0", game=Game("3x3", 512))
>>> board, info = env.reset(seed=3)
>>> board
array([[0, 0, 0],
       [1, 0, 0],
       [1, 0, 0]], dtype=uint8)
>>> info["action_mask"]  # left, right, up, down
array([0, 1, 1, 1], dtype=int8)
"""

from __future__ import annotations

from typing import Any

from tilebase.errors import MissingExtraError

try:
    import gymnasium
except ImportError as error:
    raise MissingExtraError.of("environments need the package gymnasium", "rl") from error

from tilebase.datasets import BENCHMARKS
from tilebase.envs.oracle import OracleInfo, VectorOracleInfo
from tilebase.envs.single import GameEnv
from tilebase.envs.vector import GameVectorEnv
from tilebase.game.game import WideGame

__all__ = ["GameEnv", "GameVectorEnv", "OracleInfo", "VectorOracleInfo", "WideGame"]

NAMES: dict[str, dict[str, Any]] = {
    "2048": {},
    "4x4": {"game": WideGame("4x4").identity, "reward": "score"},
    **{task.table: {"game": task.game.identity} for task in BENCHMARKS.values()},
}
for name, options in NAMES.items():
    gymnasium.register(
        id=f"tilebase/{name}-v0",
        entry_point="tilebase.envs.single:GameEnv",
        vector_entry_point="tilebase.envs.vector:GameVectorEnv",
        kwargs=options,
    )
