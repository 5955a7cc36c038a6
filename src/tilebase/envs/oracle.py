"""Values of a table beside each step of an environment: what a state is worth, and what an action lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.utils import RecordConstructorArgs
from gymnasium.vector import VectorWrapper

from tilebase.arrays import Flags, Floats, Keys, TableArrays
from tilebase.envs.single import GameEnv, Observation
from tilebase.envs.vector import GameVectorEnv, infos_of
from tilebase.errors import UsageError
from tilebase.files.source import address
from tilebase.simulator import REWARDS, Simulator
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
        self.arrays = TableArrays(opened, games.reward if objective is None else objective, returns=True)
        if self.arrays.objective.name not in REWARDS:
            label = self.arrays.objective.label
            raise UsageError(f"{label} is not the mean of a reward: name an objective as win or score")
        self._games, self._discount = games, float(self.arrays.objective.discount)
        self._seen: tuple[Keys, Flags] | None = None

    def look(self) -> _Known:
        """Return what the games are worth; those that were looked up last are not looked up again."""
        seen = self._games.keys, self._games.going
        if self._seen is None or not all(map(np.array_equal, seen, self._seen)):
            self._known, self._seen = self.known(*seen), (seen[0].copy(), seen[1])
        return self._known

    def known(self, keys: Keys, going: Flags) -> _Known:
        """Return what packed boards are worth; one on which the game has ended is worth 0."""
        known = _Known(np.zeros(len(keys)), np.full((len(keys), len(self._games.actions)), -np.inf))
        if going.any():
            found = self.arrays.probe_keys(keys[going])
            known.v[going] = found.value
            known.q[going] = np.where(found.allowed, found.q, -np.inf)
        return known

    def regret(self, before: _Known, actions: npt.NDArray[np.int64], stepped: Flags, ended: Any) -> Floats:
        """Return what actions have lost: V less Q.

        An action that is not allowed loses V if it ended the game, else what the discount takes from V.
        """
        q = before.q[np.arange(len(actions)), actions]
        lost = np.where(ended, before.v, (1 - self._discount) * before.v)  # V is 0 if the game had ended
        return np.where(stepped, np.where(q == -np.inf, lost, before.v - q), 0.0)


def _unwrapped(env: Any, kind: type[Unwrapped]) -> Unwrapped:
    if not isinstance(env.unwrapped, kind):
        raise UsageError(f"values need an environment of tilebase, a {kind.__name__}, not {env.unwrapped!r}")
    return env.unwrapped


class OracleInfo(gymnasium.Wrapper[Observation, Any, Observation, Any], RecordConstructorArgs):
    """Add what a table knows to each ``info`` of a `GameEnv`.

    ``v`` is the value of the board, 0.0 if the game has ended; ``q`` (``float64[A]``) that of each action,
    -inf if it is not allowed; ``regret`` what the last action lost, 0.0 after `reset`.  Both are NaN where
    the table lacks the board.  The mean of the sum of rewards is the value of the first board less the mean
    of the sum of regrets.

    If the objective has a discount g, these are sums of discounted returns: reward and regret of the first
    step count whole, those of the next g times, and so on: see ``returns`` of `TableArrays`.  An action that
    does nothing loses a step: (1 - g) v.

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
        If this is another environment, the table is of another game or lacks the objective, or this is not
        one of `REWARDS`.
    """

    def __init__(
        self, env: gymnasium.Env[Observation, Any], table: Table | Path | str, *, objective: str | None = None
    ) -> None:
        super().__init__(env)
        self._oracle = _Oracle(_unwrapped(env, GameEnv).games, table, objective)
        where = address(self._oracle.arrays.table.location)
        RecordConstructorArgs.__init__(self, table=where, objective=objective)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a game."""
        board, info = self.env.reset(seed=seed, options=options)
        return board, info | self._said(0.0)

    def step(self, action: Any) -> tuple[Observation, Any, bool, bool, dict[str, Any]]:
        """Slide and spawn."""
        before = self._oracle.look()
        board, reward, terminated, truncated, info = self.env.step(action)
        actions = np.array([int(action)], dtype=np.int64)
        lost = self._oracle.regret(before, actions, np.ones(1, dtype=np.bool_), terminated)
        return board, reward, terminated, truncated, info | self._said(float(lost[0]))

    def _said(self, regret: float) -> dict[str, Any]:
        known = self._oracle.look()
        return {"v": float(known.v[0]), "q": known.q[0].copy(), "regret": regret}


class VectorOracleInfo(VectorWrapper):
    """Add what a table knows to the ``infos`` of a `GameVectorEnv`: ``v[n]``, ``q[n, A]``, ``regret[n]``.

    They mean what they mean in `OracleInfo`.  ``v`` and ``q`` are those of the boards that are returned,
    `regret` that of the actions.  Parameters and errors are those of `OracleInfo`.
    """

    def __init__(self, env: Any, table: Table | Path | str, *, objective: str | None = None) -> None:
        super().__init__(env)
        self._inner = _unwrapped(env, GameVectorEnv)
        self._oracle = _Oracle(self._inner.games, table, objective)

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begin games."""
        boards, infos = self.env.reset(seed=seed, options=options)
        return boards, infos | _said(infos["_won"], self._oracle.look(), np.zeros(self.num_envs))

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Slide and spawn in each game."""
        before, stepped = self._oracle.look(), ~self._inner.ended
        boards, rewards, terminated, truncated, infos = self.env.step(actions)
        lost = self._oracle.regret(before, np.asarray(actions).astype(np.int64), stepped, terminated)
        final = infos.get("_final_info")
        if final is not None:  # these games have begun again
            keys, going = np.zeros(self.num_envs, dtype=np.uint64), final & ~terminated
            keys[going] = self._oracle.arrays.boards.pack(self._inner.final_boards[going])
            infos["final_info"] |= _said(final, self._oracle.known(keys, going), lost)
            lost = np.where(final, 0.0, lost)
        said = _said(infos["_won"], self._oracle.look(), lost)
        return boards, rewards, terminated, truncated, infos | said


def _said(which: Flags, known: _Known, regret: Floats) -> dict[str, Any]:
    return infos_of(which, {"v": known.v, "q": known.q, "regret": regret})
