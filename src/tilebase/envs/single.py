"""One game as an environment of Gymnasium."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, SupportsInt

import gymnasium
import numpy as np

from tilebase.arrays import Flags
from tilebase.envs.spaces import (
    Illegal,
    Observation,
    Playing,
    checked_options,
    keys_of,
)
from tilebase.errors import UsageError
from tilebase.game.game import Game


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
