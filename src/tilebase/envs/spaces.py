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


class Playing:
    """What the environments of one game and of many have: their games, and a specification that is JSON."""

    _spec: EnvSpec | None = None

    def _begin(
        self, game: Game | Mapping[str, Any] | None, count: int, reward: str, illegal: str
    ) -> tuple[spaces.Box, spaces.Discrete[np.int64]]:
        """Make so many games; return the spaces of the boards and the actions of one.  Raises `UsageError`.

        `game` may also be a `Game.identity`, or None for the original one.
        """
        if isinstance(game, Mapping):
            game = Game.from_identity(dict(game))
        elif game is None:
            game = ORIGINAL
        if not isinstance(game, Game):
            raise UsageError(f"the game must be a Game or its identity, not {game!r}")
        if illegal not in ILLEGAL:
            raise UsageError(f"illegal must be one of {', '.join(ILLEGAL)}, not {illegal!r}")
        self.game, self.reward, self._illegal, self._seeded = game, reward, illegal, False
        self.games = Simulator(game, count, reward=reward)
        goal = game.goal_exponent or 0
        high = max(*game.bounds.packed, goal)
        if game.unmergeable:
            high = max(high, game.x, goal + (goal == game.x))
        return spaces.Box(0, high, game.shape, np.uint8), spaces.Discrete(len(game.directions))

    def _slide(self, actions: npt.NDArray[np.int64], begin: Flags) -> None:
        """Slide and spawn in each game, but for those that begin anew.  Raises `UsageError`."""
        games = self.games
        if self._illegal == "raise":
            wrong = ~begin & games.going & ~games.allowed[np.arange(len(games)), actions]
            if wrong.any():
                i = int(wrong.argmax())
                board = games.game.format(games.boards[i].ravel().tolist())
                raise UsageError(f"{games.actions[actions[i]]} is not allowed on {board}, in game {i}")
        games.step(actions, begin=begin, illegal="terminate" if self._illegal == "terminate" else "noop")

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
