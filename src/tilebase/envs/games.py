"""Environments of Gymnasium: one game, and many games in which each step slides and spawns, compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, SupportsInt, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

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


# -- one game --------------------------------------------------------------------------------------


class GameEnv(Playing, gymnasium.Env[Any, Any]):
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
        If a parameter is none of these, or the game cannot be won and the reward is ``win``.
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
        self.render_mode = render_mode
        self.observation_space, self.action_space = self._begin(game, 1, reward, illegal)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin a game; return its board and what is allowed.

        Parameters
        ----------
        seed:
            The seed of all spawns from now on.  None: they go on as they were.
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
        self._slide(actions, np.zeros(1, dtype=np.bool_))
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


# -- many games ------------------------------------------------------------------------------------


MODES = tuple(mode.value for mode in AutoresetMode)


class GameVectorEnv(Playing, VectorEnv[Observation, npt.NDArray[np.int64], npt.NDArray[Any]]):
    """Games of 2048 that are played at once, for ``gymnasium.make_vec("tilebase/2048-v0", num_envs=n)``.

    Observations, actions and rewards are those of `GameEnv`, with one axis more.  Game i with the seed s is
    the game of a `GameEnv` with this seed.  ``infos["action_mask"]`` is ``int8[n, A]``, ``infos["won"]``
    ``bool[n]``.  What is returned is not changed by later steps.

    Parameters
    ----------
    game, reward, illegal:
        As for `GameEnv`.
    num_envs:
        How many games.
    autoreset_mode:
        ``NextStep``: a game that has ended begins anew in the next step, whose action is not read.
        ``SameStep``: it begins anew at once, and the last board and info are ``final_obs`` and
        ``final_info``.  ``Disabled``: it waits for ``reset(options={"reset_mask": mask})``.
    max_episode_steps:
        Steps after which a game is truncated; None for no bound.

    Attributes
    ----------
    ended:
        ``bool[n]``: the games that were terminated or truncated and have not begun again.

    Raises
    ------
    UsageError
        As `GameEnv` does.

    >>> envs = GameVectorEnv(Game("2x2", 32), num_envs=2, autoreset_mode="SameStep")
    >>> boards, infos = envs.reset(seed=1, options={"boards": ["2,4/0,8", "2,2/0,0"]})
    >>> infos["action_mask"].tolist()  # left, right, up, down
    [[1, 0, 0, 1], [1, 1, 0, 1]]
    """

    metadata: ClassVar[dict[str, Any]] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # type: ignore[misc]

    def __init__(
        self,
        game: Game | Mapping[str, Any] | None = None,
        *,
        num_envs: int = 1,
        reward: str = "win",
        illegal: Illegal = "noop",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
    ) -> None:
        if isinstance(autoreset_mode, str) and autoreset_mode not in MODES:
            raise UsageError(f"the autoreset mode must be one of {', '.join(MODES)}, not {autoreset_mode!r}")
        if max_episode_steps is not None and max_episode_steps < 1:
            raise UsageError(f"the most steps of an episode must be 1 or more, not {max_episode_steps}")
        self.num_envs, self._mode, self._most = num_envs, AutoresetMode(autoreset_mode), max_episode_steps
        self.metadata = {"autoreset_mode": self._mode}  # type: ignore[misc]
        board, action = self._begin(game, num_envs, reward, illegal)
        self.single_observation_space, self.single_action_space = board, action
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.ended: Flags = np.zeros(num_envs, dtype=np.bool_)
        self._steps = np.zeros(num_envs, dtype=np.int64)  # of the game that is played

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin games; return the boards and what is allowed.

        Parameters
        ----------
        seed:
            The seed of the first game, the next number for the next game; or one seed for each game.  None:
            spawns go on as they were.
        options:
            ``reset_mask``: ``bool[n]``, the games that begin; without it all do.  ``boards``: n states to
            begin with, exponents ``uint8[n, *shape]`` or a list of what `GameEnv` takes.

        Raises
        ------
        UsageError
            If the mask has another shape or type or is false everywhere, a board is not a state, or
            there is another option.
        """
        given = checked_options(options, ("reset_mask", "boards"))
        which = self._mask(given.get("reset_mask"))
        if seed is not None or not self._seeded:
            super().reset(seed=seed if isinstance(seed, int) else None)
            self.games.seed(
                int(self.np_random.integers(1 << 62)) if seed is None else np.asarray(seed), which
            )
            self._seeded = True
        if given.get("boards") is None:
            self.games.begin(which)
        else:
            self.games.place(keys_of(self.games, given["boards"]), which)
        self.ended[which], self._steps[which] = False, 0
        return self.games.boards.copy(), self._infos(which)

    def step(
        self, actions: npt.ArrayLike
    ) -> tuple[Observation, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Slide and spawn in each game.

        Returns boards ``uint8[n, *shape]``, rewards ``float64[n]``, terminated ``bool[n]``, truncated
        ``bool[n]`` and infos.  Raises `UsageError` if the actions are not n numbers below A, one is not
        allowed and so to be refused, or a game has ended and nothing begins it anew.
        """
        games, begin = self.games, self.ended
        given = games.checked(actions)
        if self._mode is AutoresetMode.DISABLED and begin.any():
            raise UsageError(
                f"game {int(begin.argmax())} has ended: restart it with reset(options={{'reset_mask': mask}})"
            )
        self._slide(given, begin)
        self._steps += 1
        self._steps[begin] = 0
        # A game that begins without a slide is terminated by its first step, as a single one is.
        terminated = ~games.going & ~begin
        truncated: Flags = np.zeros(self.num_envs, dtype=np.bool_)
        if self._most is not None:
            truncated = self._steps >= self._most
        rewards, ended, final = games.rewards.copy(), terminated | truncated, {}
        if self._mode is AutoresetMode.SAME_STEP:
            if ended.any():
                final = self._final(ended)
                games.begin(ended)
                self._steps[ended] = 0
        else:
            self.ended = ended
        every = np.ones(self.num_envs, dtype=np.bool_)
        return games.boards.copy(), rewards, terminated, truncated, self._infos(every) | final

    def action_masks(self) -> Flags:
        """``bool[n, A]``: which actions are allowed."""
        return self.games.allowed.copy()

    def _mask(self, mask: Any) -> Flags:
        """Return the games that begin."""
        if mask is None:
            return np.ones(self.num_envs, dtype=np.bool_)
        if not (isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and mask.shape == (self.num_envs,)):
            raise UsageError(f"the reset_mask must be an array of {self.num_envs} booleans, not {mask!r}")
        if not mask.any():
            raise UsageError("the reset_mask chooses no game: choose one or more")
        return mask

    def _infos(self, which: Flags) -> dict[str, Any]:
        """Return the infos of some games."""
        allowed = self.games.allowed.astype(np.int8)
        return infos_of(which, {"action_mask": allowed, "won": self.games.won})

    def _final(self, ended: Flags) -> dict[str, Any]:
        """Return the last boards and infos of games that have ended, as Gymnasium names them."""
        boards = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(ended):
            boards[i] = self.games.boards[i].copy()
        return {
            "final_obs": boards, "_final_obs": ended.copy(),
            "final_info": self._infos(ended), "_final_info": ended.copy(),
        }  # fmt: skip


def infos_of(which: Flags, columns: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
    """Return infos as Gymnasium batches them: 0 for the games that they say nothing of, and flags."""
    infos: dict[str, Any] = {}
    for name, column in columns.items():
        infos[name] = column.copy()
        if not which.all():
            infos[name][~which] = 0
        infos[f"_{name}"] = which.copy()
    return infos
