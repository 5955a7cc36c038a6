"""What is asked and what remains of a run: values that a question makes at its door, with its `Run`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tilebase.costs.rows import check_space
from tilebase.errors import UsageError
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective

if TYPE_CHECKING:
    from tilebase.objectives.results import Solution
    from tilebase.questions.pruning import Pruning

BACKENDS = ("threads", "cuda")


def usual_space(
    game: Game, objectives: Sequence[Objective], *, table: bool, backend: str = BACKENDS[0]
) -> str:
    """Return on which boards a game is solved if nobody says: reachable, all or auto.

    Bounds within limits are proved on all boards, unless a table is kept, whose size is that of its boards.
    """
    if backend != BACKENDS[0]:
        return "all"
    bounds = all(one.is_bound and one.discount == 1 for one in objectives)
    if game.limits is not None and bounds and not table:
        return "all"
    return "auto" if game.masks else "reachable"


@dataclass(frozen=True)
class Ask:
    """Which values are asked for.

    Attributes
    ----------
    game, objectives:
        The game, and the objectives, which fit it.
    space:
        On which boards: reachable, all or auto.
    down_to:
        The sum of the last layer that is solved; None for all.
    backend:
        Who does the steps of a pass over all boards, one of `BACKENDS`.

    Raises
    ------
    UsageError
        If the space or the backend does not exist, or they do not fit each other.
    """

    game: Game
    objectives: tuple[Objective, ...]
    space: str
    down_to: int | None = None
    backend: str = BACKENDS[0]

    def __post_init__(self) -> None:
        check_space(self.space)
        if self.backend not in BACKENDS:
            raise UsageError(f"backend {self.backend!r} does not exist: choose one of {', '.join(BACKENDS)}")
        if self.on_device and self.space != "all":
            raise UsageError(f"{self.backend} works on all boards within limits: choose the space all")

    @property
    def on_device(self) -> bool:
        """Whether a device does the steps, and not the processors."""
        return self.backend != BACKENDS[0]

    @property
    def least(self) -> int:
        """The least sum of a layer that is solved."""
        return 0 if self.down_to is None else self.down_to


@dataclass(frozen=True)
class Keep:
    """What remains of a run: nothing, a table, or a table that leaves boards out (`pruning`)."""

    table: Path | None = None
    pruning: Pruning | None = None

    @property
    def whole(self) -> bool:
        """Whether the values of all layers remain."""
        return self.table is not None and self.pruning is None

    @property
    def folder(self) -> Path | None:
        """The folder of the run; None if any will do."""
        return self.table if self.pruning is None else self.pruning.work

    def finished(self) -> Solution | None:
        """Return the result of an earlier call that has finished a table that leaves boards out."""
        done = None if self.pruning is None else self.pruning.finished()
        if self.pruning is not None and done is not None:
            self.pruning.clean()
        return done


NOTHING = Keep()
