"""One game as an environment of Gymnasium, and what it shares with the environment of many games."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, SupportsInt, TypeAlias

import gymnasium
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


class GameEnv(Described, gymnasium.Env[Any, Any]):
    """One game of 2048, for ``gymnasium.make("tilebase/2048-v0")``.

    Observations are the exponents of the cells, ``uint8[*shape]``: 3 for an 8, 0 for an empty cell.  Actions
    are numbered in the order of ``game.directions``: left, right, up, down, and in a box front and back.
    ``info["action_mask"]`` (``int8[A]``) says which are allowed, ``info["won"]`` whether the game is won.  A
    game terminates when it is won or no slide is allowed.  It is truncated only by wrappers.

    Parameters
    ----------
    game:
        A `Game`, or its `Game.identity`.  None: 4x4 to 2048.
    reward:
        ``win``: 1 for a win.  ``score``: the tiles that merges make.  ``merges``: 1 for each.  ``moves``: 1
        for each slide.  The mean of their sum is the objective of this name.
    illegal:
        What a slide does that is not allowed.  ``noop``: nothing, with the reward 0.  ``raise``: an error.
        ``terminate``: it ends the game.
    render_mode:
        ``ansi``: `render` returns the board as text.

    Raises
    ------
    UsageError
        If a parameter has another value, or the game cannot be won and the reward is ``win``.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 4}  # type: ignore[misc]

    def __init__(
        self,
        game: Game | Mapping[str, Any] | None = None,
        *,
        reward: str = "win",
        illegal: Illegal = "noop",
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, "ansi"):
            raise UsageError(f"the render mode must be ansi or None, not {render_mode!r}")
        self.game, self.reward = game_of(game), reward
        self.render_mode = render_mode
        self.games = Simulator(self.game, 1, reward=reward)
        self._illegal = checked_illegal(illegal)
        self._seeded = False
        self.observation_space = observation_space(self.game)
        self.action_space = spaces.Discrete(len(self.game.directions))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a game; return its board and what is allowed.

        Parameters
        ----------
        seed:
            The seed of all spawns from now on.  None: they continue.
        options:
            ``{"board": board}``: begin with this state: a `Board`, its text, or an array of exponents.

        Raises
        ------
        UsageError
            If the board is not a state of the game, or there is another option.
        """
        board = checked_options(options, ("board",)).get("board")
        super().reset(seed=seed)
        if seed is not None or not self._seeded:
            self.games.seed(int(self.np_random.integers(1 << 62)) if seed is None else seed)
            self._seeded = True
        self.games.begin()
        if board is not None:
            self.games.place(keys_of(self.games, [board]))
        return self.games.boards[0].copy(), self._info()

    def step(self, action: SupportsInt) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Slide and spawn; return the board, the reward, whether the game has ended, False, the info.

        Raises `UsageError` if this is no action, or not allowed and so to be refused.
        """
        games = self.games
        actions = games.checked(np.asarray(action)[None])
        if self._illegal == "raise":
            demand_allowed(games, actions, np.ones(1, dtype=np.bool_))
        games.step(actions, illegal="terminate" if self._illegal == "terminate" else "noop")
        return games.boards[0].copy(), float(games.rewards[0]), not games.going[0], False, self._info()

    def render(self) -> str | None:
        """Return the board as text if the render mode is ``ansi``."""
        return self.game.format(self.games.boards[0].ravel().tolist()) if self.render_mode else None

    def action_masks(self) -> Flags:
        """``bool[A]``: which actions are allowed, as maskable policies ask."""
        masks: Flags = self.games.allowed[0].copy()
        return masks

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.games.allowed[0].astype(np.int8), "won": bool(self.games.won[0])}
