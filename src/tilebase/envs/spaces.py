"""What the environments of one game and of many have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode

from tilebase.arrays import Flags, Keys
from tilebase.errors import UsageError
from tilebase.game.board import Board
from tilebase.game.game import Game
from tilebase.simulator import Simulator

Observation: TypeAlias = npt.NDArray[np.uint8]
Illegal: TypeAlias = Literal["noop", "raise", "terminate"]

ILLEGAL = ("noop", "raise", "terminate")
"""What an action does that is not allowed: nothing, an error, or it ends the game without a reward."""
ORIGINAL = Game("4x4", 2048)


def game_of(game: Game | Mapping[str, Any] | None) -> Game:
    """Return the game of a `Game`, of its `Game.identity`, or the original one: 4x4 to 2048."""
    if game is None:
        return ORIGINAL
    if isinstance(game, Mapping):
        return Game.from_identity(dict(game))
    if isinstance(game, Game):
        return game
    raise UsageError(f"the game must be a Game or its identity, not {game!r}")


def checked_illegal(illegal: str) -> str:
    """Return a word of `ILLEGAL`.  Raises `UsageError`."""
    if illegal not in ILLEGAL:
        raise UsageError(f"illegal must be one of {', '.join(ILLEGAL)}, not {illegal!r}")
    return illegal


def observation_space(game: Game) -> spaces.Box:
    """Return the space of boards: the exponent of each cell."""
    goal = game.goal_exponent or 0
    high = max(*game.bounds.packed, goal)
    if game.unmergeable:
        high = max(high, game.x, goal + (goal == game.x))
    return spaces.Box(0, high, game.shape, np.uint8)


def keys_of(games: Simulator, boards: Any) -> Keys:
    """``uint64[n]``: the keys of n start boards: each a `Board`, text, or an array of exponents.

    Raises `UsageError` if there are not as many as games, or one is not a state of the game.
    """
    given = boards.tolist() if isinstance(boards, np.ndarray) and boards.dtype.kind in "OU" else boards
    if isinstance(given, list | tuple) and any(isinstance(one, Board | str) for one in given):
        given = [
            Board.read(games.game, one).cells if isinstance(one, Board | str) else np.asarray(one).ravel()
            for one in given
        ]
    keys = games.arrays.pack(given)
    if len(keys) != len(games):
        raise UsageError(f"give {len(games)} boards to begin with, one for each game, not {len(keys)}")
    return keys


class Described:
    """An environment whose specification is JSON: it names the game by its identity."""

    _spec: EnvSpec | None = None

    @property
    def spec(self) -> EnvSpec | None:
        """How Gymnasium makes the environment; ``spec.to_json()`` is text."""
        return self._spec

    @spec.setter
    def spec(self, spec: EnvSpec | None) -> None:
        if spec is not None:
            spec.kwargs = {
                name: value.identity if isinstance(value, Game)
                else value.value if isinstance(value, AutoresetMode)
                else value
                for name, value in spec.kwargs.items()
            }  # fmt: skip
        self._spec = spec


def checked_options(options: Mapping[str, Any] | None, known: Sequence[str]) -> Mapping[str, Any]:
    """Return the options of a reset.  Raises `UsageError` for one that is not known."""
    found = options or {}
    for name in found:
        if name not in known:
            raise UsageError(f"reset has no option {name!r}; it has {', '.join(known)}")
    return found


def demand_allowed(games: Simulator, actions: npt.NDArray[np.int64], steps: Flags) -> None:
    """Raise `UsageError` if an action is not allowed in one of the games that step."""
    wrong = steps & games.going & ~games.allowed[np.arange(len(games)), actions]
    if wrong.any():
        i = int(wrong.argmax())
        board = games.game.format(games.boards[i].ravel().tolist())
        raise UsageError(f"{games.actions[actions[i]]} is not allowed on {board}, in game {i}")
