"""Environments for reinforcement learning, with the interface of Gymnasium.  Needs the extra ``rl``.

    games.py    `GameEnv`: one game; `GameVectorEnv`: many games in one call, compiled
    oracle.py   `OracleInfo`, `VectorOracleInfo`: values and regret of a table beside each step

Importing this package registers ``tilebase/2048-v0`` with Gymnasium.

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

from tilebase.errors import MissingExtraError

try:
    import gymnasium
except ImportError as error:
    raise MissingExtraError("environments need the package gymnasium: install tilebase[rl]") from error

from tilebase.envs.games import GameEnv, GameVectorEnv
from tilebase.envs.oracle import OracleInfo, VectorOracleInfo

__all__ = ["GameEnv", "GameVectorEnv", "OracleInfo", "VectorOracleInfo"]

gymnasium.register(
    id="tilebase/2048-v0",
    entry_point="tilebase.envs.games:GameEnv",
    vector_entry_point="tilebase.envs.games:GameVectorEnv",
)
