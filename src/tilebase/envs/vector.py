"""Many games as one environment of Gymnasium: each step slides and spawns in all of them, compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from tilebase.arrays import Flags
from tilebase.envs.single import Described, Illegal, Observation, Shown, checked_options, demand_allowed
from tilebase.errors import UsageError
from tilebase.game.game import Game
from tilebase.simulator import State

MODES = tuple(mode.value for mode in AutoresetMode)


class GameVectorEnv(Described, VectorEnv[Observation, npt.NDArray[np.int64], npt.NDArray[Any]]):
    """Games of 2048 that are played at once, for ``gymnasium.make_vec("tilebase/2048-v0", num_envs=n)``.

    Observations, actions and rewards are those of `GameEnv`, with one axis more.  Game i with the seed s is
    the game of a `GameEnv` with this seed.  ``infos["action_mask"]`` is ``int8[n, A]``, ``infos["won"]``
    ``bool[n]``.  What is returned is not changed by later steps.

    Parameters
    ----------
    game, reward, illegal, observation:
        As for `GameEnv`.
    num_envs:
        How many games.
    autoreset_mode:
        ``NextStep``: a game that has ended begins again in the next step, whose action is not read.
        ``SameStep``: it begins again at once, and the last board and info are ``final_obs`` and
        ``final_info``.  ``Disabled``: it waits for ``reset(options={"reset_mask": mask})``.
    max_episode_steps:
        Steps after which a game is truncated; None for no bound.

    Attributes
    ----------
    ended:
        ``bool[n]``: the games that were terminated or truncated and have not begun again.
    final_boards:
        ``uint8[n, *shape]``: in the mode ``SameStep``, the boards before games began again.

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
        observation: Shown = "exponents",
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
    ) -> None:
        if isinstance(autoreset_mode, str) and autoreset_mode not in MODES:
            raise UsageError(f"the autoreset mode must be one of {', '.join(MODES)}, not {autoreset_mode!r}")
        if max_episode_steps is not None and max_episode_steps < 1:
            raise UsageError(f"the most steps of an episode must be 1 or more, not {max_episode_steps}")
        self._make_games(game, num_envs, reward=reward, illegal=illegal)
        self.num_envs, self._most = num_envs, max_episode_steps
        self._mode = AutoresetMode(autoreset_mode)
        self.metadata = {"autoreset_mode": self._mode}  # type: ignore[misc]
        self.single_observation_space = self._observe_as(observation)
        self.single_action_space = spaces.Discrete(len(self.game.directions))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.ended: Flags = np.zeros(num_envs, dtype=np.bool_)
        self.final_boards = self.games.boards
        self._steps = np.zeros(num_envs, dtype=np.int64)  # of the game that is played

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin games; return the boards and what is allowed.

        Boards are those of all games.  Infos are 0 for games that do not begin: `action_masks` has all masks.

        Parameters
        ----------
        seed:
            The seed of the first game, the next number for the next game; or one seed for each game.  None:
            spawns continue.
        options:
            ``reset_mask``: ``bool[n]``, the games that begin; without it all do.  ``boards``: n states to
            begin with, exponents ``uint8[n, *shape]`` or a list of what `GameEnv` takes.

        Raises
        ------
        UsageError
            If the mask has another shape or type or is false everywhere, a board does not fit the game, or
            there is another option.
        """
        given = checked_options(options, ("reset_mask", "boards"))
        which = self._mask(given.get("reset_mask"))
        super().reset(seed=seed if isinstance(seed, int) else None)
        self._seed(seed, which)
        if given.get("boards") is None:
            self.games.begin(which)
        else:
            self.games.place(self.games.pack(given["boards"]), which)
        self.ended[which], self._steps[which] = False, 0
        return self._observe(self.games.boards), self._infos(which)

    def clone_state(self, *, include_rng: bool = False) -> State:
        """Copy the state of all games for `restore_state`; with `include_rng`, also which spawns follow."""
        state = self.games.clone_state(include_rng=include_rng)
        return replace(state, steps=(self.ended.copy(), self._steps.copy()))

    def restore_state(self, state: State) -> tuple[Observation, dict[str, Any]]:
        """Continue from a state of `clone_state`.  Returns and raises what `GameEnv.restore_state` does."""
        self.games.restore_state(state)
        ended, steps = state.steps or (~self.games.going, np.zeros_like(self._steps))
        self.ended, self._steps = ended.copy(), steps.copy()
        return self._observe(self.games.boards), self._infos(np.ones(self.num_envs, dtype=np.bool_))

    def step(
        self, actions: npt.ArrayLike
    ) -> tuple[Observation, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Slide and spawn in each game.

        Returns boards ``uint8[n, *shape]``, rewards ``float64[n]``, terminated ``bool[n]``, truncated
        ``bool[n]`` and infos.  Raises `UsageError` if the actions are not n numbers below A, one is not
        allowed and so to be refused, or a game has ended and nothing begins it again.
        """
        games, begin = self.games, self.ended
        given = games.checked(actions)
        if self._mode is AutoresetMode.DISABLED and begin.any():
            raise UsageError(
                f"game {int(begin.argmax())} has ended: restart it with reset(options={{'reset_mask': mask}})"
                ", or let games restart by themselves (autoreset_mode='NextStep')"
            )
        if self._illegal == "raise":
            demand_allowed(games, given, ~begin)
        games.step(given, begin=begin, illegal="terminate" if self._illegal == "terminate" else "noop")
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
        return self._observe(games.boards), rewards, terminated, truncated, self._infos(every) | final

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
        self.final_boards = self.games.boards.copy()
        boards, seen = np.full(self.num_envs, None, dtype=object), self._observe(self.final_boards)
        for i in np.flatnonzero(ended):
            boards[i] = seen[i].copy()
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
