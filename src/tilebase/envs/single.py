"""One game as an environment of Gymnasium, and what it shares with the environment of many games."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, SupportsInt, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode

from tilebase.arrays import Flags
from tilebase.envs import drawing
from tilebase.errors import GameError, UsageError
from tilebase.game.game import Game, WideGame
from tilebase.policies.asking import largest_exponent, shown
from tilebase.simulator import Simulator, State, simulator_of

Observation: TypeAlias = npt.NDArray[np.uint8]
Illegal: TypeAlias = Literal["noop", "raise", "terminate"]
Shown: TypeAlias = Literal["exponents", "one-hot"]

ILLEGAL = ("noop", "raise", "terminate")
"""What an action does that is not allowed: nothing, an error, or it ends the game without a reward."""
ORIGINAL = Game("4x4", 2048)


def game_of(game: Game | Mapping[str, Any] | None) -> Game:
    """Return the game of a `Game` or `WideGame`, of its identity, or the original one: 4x4 to 2048."""
    if game is None:
        return ORIGINAL
    if isinstance(game, Mapping):
        try:
            return Game.from_identity(dict(game))
        except GameError:
            return WideGame.from_identity(dict(game))
    if isinstance(game, Game):
        return game
    raise UsageError(f"the game must be a Game or its identity, not {game!r}")


class Described:
    """What both environments are: games, how boards are observed, and a specification that is JSON."""

    np_random: np.random.Generator
    _spec: EnvSpec | None = None
    _observation: Callable[[Observation], Observation]
    _seeded = False

    def _make_games(
        self, game: Game | Mapping[str, Any] | None, n: int, *, reward: str, illegal: Illegal
    ) -> None:
        self.game, self.reward = game_of(game), reward
        self.games = simulator_of(self.game, n, reward=reward)
        if illegal not in ILLEGAL:
            raise UsageError(f"illegal must be one of {', '.join(ILLEGAL)}, not {illegal!r}")
        self._illegal = illegal

    def _seed(self, seed: int | Sequence[int] | None, which: Flags | None = None) -> None:
        """Seed the spawns; without a seed, with one that is drawn, unless they were seeded before."""
        if seed is not None or not self._seeded:
            self.games.seed(int(self.np_random.integers(1 << 62)) if seed is None else seed, which)
            self._seeded = True

    def _observe_as(self, observation: Shown) -> spaces.Box:
        """Set how boards are observed; return the space of one."""
        if observation not in ("exponents", "one-hot"):
            raise UsageError(f"the observation must be exponents or one-hot, not {observation!r}")
        game = self.games.game
        self._observation, high = shown(observation, game), largest_exponent(game)
        if observation == "exponents":
            return spaces.Box(0, high, game.shape, np.uint8)
        return spaces.Box(0, 1, (*game.shape, high + 1), np.uint8)

    def _observe(self, boards: Observation) -> Observation:
        """Return the observations of boards ``uint8[n, *shape]``, which later steps do not change."""
        return self._observation(boards.copy())

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

    Observations are the exponents of the cells, ``uint8[*shape]``: 3 for an 8, 0 for an empty cell; if they
    are ``one-hot``, ``uint8[*shape, K]``, with a 1 at the exponent of each cell.  Actions are numbered in the
    order of ``game.directions``: left, right, up, down, and in a box front and back.
    ``info["action_mask"]`` (``int8[A]``) says which are allowed, ``info["won"]`` whether the game is won.  A
    game terminates when it is won or no slide is allowed.  It is truncated only by wrappers.

    Parameters
    ----------
    game:
        A `Game` or `WideGame`, or its `Game.identity`.  None: 4x4 to 2048.
    reward:
        ``win``: 1 for a win.  ``score``: the tiles that merges make.  ``merges``: 1 for each.  ``moves``: 1
        for each slide.  The mean of their sum is the objective of this name.
    illegal:
        What a slide does that is not allowed.  ``noop``: nothing, with the reward 0.  ``raise``: an error.
        ``terminate``: it ends the game.
    observation:
        ``exponents`` or ``one-hot``.
    render_mode:
        `render` returns the board as text (``ansi``) or as ``uint8[height, width, 3]`` (``rgb_array``).
        ``human``: `reset` and `step` print it, and wait a quarter of a second.

    Raises
    ------
    UsageError
        If a parameter has another value, or the game cannot be won and the reward is ``win``.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": list(drawing.MODES), "render_fps": drawing.FPS}  # type: ignore[misc]

    def __init__(
        self,
        game: Game | Mapping[str, Any] | None = None,
        *,
        reward: str = "win",
        illegal: Illegal = "noop",
        observation: Shown = "exponents",
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, *drawing.MODES):
            modes = ", ".join(drawing.MODES)
            raise UsageError(f"the render mode must be {modes} or None, not {render_mode!r}")
        self.render_mode = render_mode
        self._make_games(game, 1, reward=reward, illegal=illegal)
        self.observation_space = self._observe_as(observation)
        self.action_space = spaces.Discrete(len(self.game.directions))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a game; return its board and what is allowed.

        Parameters
        ----------
        seed:
            The seed of all spawns from now on, by SplitMix64: a cell is at most 2^-27 more probable than
            another.  None: they continue.
        options:
            ``{"board": board}``: begin with this state: a `Board`, its text, or an array of exponents.

        Raises
        ------
        UsageError
            If the board does not fit the game (`GameArrays.pack`), or there is another option.
        """
        board = checked_options(options, ("board",)).get("board")
        super().reset(seed=seed)
        self._seed(seed)
        self.games.begin()
        if board is not None:
            self.games.place(self.games.pack([board]))
        return self._seen()

    def clone_state(self, *, include_rng: bool = False) -> State:
        """Copy the game for `restore_state`; with `include_rng`, also which spawns follow.

        What wrappers count, such as the steps of a time limit, is not copied.
        """
        return self.games.clone_state(include_rng=include_rng)

    def restore_state(self, state: State) -> tuple[Observation, dict[str, Any]]:
        """Continue from a state of `clone_state`, of this or another environment of the game.

        Returns what `reset` returns.  Raises `UsageError` if it is a state of another game.
        """
        self.games.restore_state(state)
        return self._seen()

    def step(self, action: SupportsInt) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Slide and spawn; return the board, the reward, whether the game has ended, False, the info.

        Raises `UsageError` if this is no action, or not allowed and so to be refused.
        """
        games = self.games
        actions = games.checked(np.asarray(action)[None])
        if self._illegal == "raise":
            demand_allowed(games, actions, np.ones(1, dtype=np.bool_))
        games.step(actions, illegal="terminate" if self._illegal == "terminate" else "noop")
        board, info = self._seen()
        return board, float(games.rewards[0]), not games.going[0], False, info

    def render(self) -> Any:
        """Return or print the board as the render mode says."""
        return drawing.render(self.game, self.games.boards[0], self.render_mode)

    def action_masks(self) -> Flags:
        """``bool[A]``: which actions are allowed, as maskable policies ask."""
        return self.games.allowed[0].copy()

    def _seen(self) -> tuple[Observation, dict[str, Any]]:
        """Return the observation and the info of the board."""
        if self.render_mode == "human":
            self.render()
        info = {"action_mask": self.games.allowed[0].astype(np.int8), "won": bool(self.games.won[0])}
        return self._observe(self.games.boards)[0], info
