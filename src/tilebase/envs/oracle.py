"""Values of a table beside each step of an environment: what a state is worth, and what an action lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorWrapper

from tilebase.arrays import Flags, Floats, TableArrays
from tilebase.envs.single import GameEnv
from tilebase.envs.spaces import Observation
from tilebase.envs.vector import GameVectorEnv
from tilebase.errors import UsageError
from tilebase.simulator import Simulator
from tilebase.tables.probe import Table, open_table

Unwrapped = TypeVar("Unwrapped")


class _Known(NamedTuple):
    """What a table says of n states: ``v[n]``, ``q[n, A]``."""

    v: Floats
    q: Floats


class _Oracle:
    """Looks the games of a simulator up in a table."""

    def __init__(self, games: Simulator, table: Table | Path | str, objective: str | None) -> None:
        opened = open_table(table)
        if opened.game != games.game:
            raise UsageError(f"{opened.location.name} is a table of {opened.game}, not of {games.game}")
        self.arrays = TableArrays(opened, games.reward if objective is None else objective)
        if not self.arrays.objective.is_mean or self.arrays.objective.is_cost:
            label = self.arrays.objective.label
            raise UsageError(f"{label} is not the mean of a reward: name an objective as win or score")
        self._games = games

    def look(self) -> _Known:
        """Return what the games are worth that go on; a game that has ended is worth 0."""
        going, actions = self._games.going, len(self._games.actions)
        known = _Known(np.zeros(len(going)), np.full((len(going), actions), np.nan))
        if going.any():
            found = self.arrays.probe_keys(self._games.keys[going])
            known.v[going], known.q[going] = found.value, found.q
        return known

    def regret(self, before: _Known, actions: npt.NDArray[np.int64], stepped: Flags, ended: Any) -> Floats:
        """What actions have lost: V less Q; V if a refused action ended the game, 0 if nothing slid."""
        games = self._games
        lost = before.v - before.q[np.arange(len(games)), actions]
        lost = np.where(games.refused, np.where(ended, before.v, 0.0), lost)
        return np.where(stepped, lost, 0.0)


def _unwrapped(env: Any, kind: type[Unwrapped]) -> Unwrapped:
    if not isinstance(env.unwrapped, kind):
        raise UsageError(f"values need an environment of tilebase, a {kind.__name__}, not {env.unwrapped!r}")
    return env.unwrapped


class OracleInfo(gymnasium.Wrapper[Observation, Any, Observation, Any]):
    """Add what a table knows to each ``info`` of a `GameEnv`.

    ``v`` is the value of the board, 0.0 if the game has ended; ``q`` (``float64[A]``) that of each action,
    NaN if it is not allowed; ``regret`` what the last action lost, 0.0 after `reset`.  The mean of the sum
    of rewards is the value of the first board less the mean of the sum of regrets.

    Parameters
    ----------
    env:
        A `GameEnv`, or wrappers around one.
    table:
        A table of the same game, or its folder.
    objective:
        Label of an objective of the table; None: that of the reward.

    Raises
    ------
    UsageError
        If this is another environment, or the table is of another game or lacks the objective.
    """

    def __init__(
        self, env: gymnasium.Env[Observation, Any], table: Table | Path | str, *, objective: str | None = None
    ) -> None:
        super().__init__(env)
        self._games = _unwrapped(env, GameEnv).games
        self._oracle = _Oracle(self._games, table, objective)
        self._known = self._oracle.look()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a game."""
        board, info = self.env.reset(seed=seed, options=options)
        return board, info | self._said(0.0)

    def step(self, action: Any) -> tuple[Observation, Any, bool, bool, dict[str, Any]]:
        """Slide and spawn."""
        before = self._known
        board, reward, terminated, truncated, info = self.env.step(action)
        actions = np.array([int(action)], dtype=np.int64)
        lost = self._oracle.regret(before, actions, np.ones(1, dtype=np.bool_), terminated)
        return board, reward, terminated, truncated, info | self._said(float(lost[0]))

    def _said(self, regret: float) -> dict[str, Any]:
        self._known = self._oracle.look()
        return {"v": float(self._known.v[0]), "q": self._known.q[0].copy(), "regret": regret}


class VectorOracleInfo(VectorWrapper):
    """Add what a table knows to the ``infos`` of a `GameVectorEnv`: ``v[n]``, ``q[n, A]``, ``regret[n]``.

    They mean what they mean in `OracleInfo`.  ``v`` and ``q`` are those of the boards that are returned,
    `regret` that of the actions.  Parameters and errors are those of `OracleInfo`.
    """

    def __init__(self, env: Any, table: Table | Path | str, *, objective: str | None = None) -> None:
        super().__init__(env)
        inner = _unwrapped(env, GameVectorEnv)
        self._games = inner.games
        self._next = inner.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
        self._oracle = _Oracle(self._games, table, objective)
        self._known = self._oracle.look()
        self._ended: Flags = np.zeros(self.num_envs, dtype=np.bool_)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin games."""
        boards, infos = self.env.reset(seed=seed, options=options)
        self._ended[:] = False
        return boards, infos | self._said(np.zeros(self.num_envs))

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Slide and spawn in each game."""
        before, stepped = self._known, ~self._ended
        boards, rewards, terminated, truncated, infos = self.env.step(actions)
        lost = self._oracle.regret(before, np.asarray(actions).astype(np.int64), stepped, terminated)
        if self._next:
            self._ended = terminated | truncated
        return boards, rewards, terminated, truncated, infos | self._said(lost)

    def _said(self, regret: Floats) -> dict[str, Any]:
        self._known = self._oracle.look()
        every = np.ones(self.num_envs, dtype=np.bool_)
        return {
            "v": self._known.v.copy(), "q": self._known.q.copy(), "regret": regret,
            "_v": every, "_q": every, "_regret": every,
        }  # fmt: skip
