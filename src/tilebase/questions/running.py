"""What is asked and what remains of a run, and on which boards a game is solved.

The reachable boards, or all within the limits: the value of the start is the same.  To solve the reachable
boards (`sparse`), they are counted first, and their keys are stored.  A pass over all boards (`dense`) does
neither and takes about a tenth of the time per board, but there are more boards.  Which of the two takes less
time is estimated (`costs`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tilebase.cluster.runs import Run
from tilebase.costs.estimate import Estimate
from tilebase.costs.rows import check_space, expected
from tilebase.errors import ResourceError, UsageError
from tilebase.files import places
from tilebase.files.run import Query
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.runtime.measured import duration

if TYPE_CHECKING:
    from tilebase.objectives.results import Solution
    from tilebase.tables.pruning import Pruning

LOG = logging.getLogger("tilebase")
BACKENDS = ("threads", "cuda")
WORTH_CHOOSING = 1.0
"""Seconds: where the reachable boards take less, they are solved."""


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


def choose_space(ask: Ask, run: Run, *, keep: bool) -> str:
    """Return the space that solves a game: the one that is asked for, or for ``"auto"`` the one of less time.

    A run that was begun in the folder keeps its space, and a table (`keep`) is of the reachable boards.  The
    log says what was chosen, and why.
    """
    if ask.space != "auto":
        LOG.debug("solving on %s boards, as was asked or is usual for such games", ask.space)
        return ask.space
    game = ask.game
    if (begun := run.folder / places.QUERY).exists():
        return "all" if begun.read_bytes() == Query(game).text.encode() else "reachable"
    if keep:
        LOG.info("solving the reachable boards: their table is smaller, and every command takes it")
        return "reachable"
    reachable = expected("reachable", ask.objectives, run.most, down_to=ask.down_to)(game)
    return _faster(game, reachable, partial(expected("all", ask.objectives, run, down_to=ask.down_to), game))


def _faster(game: Game, reachable: Estimate, whole: Callable[[], Estimate]) -> str:
    """Return the space that takes less time."""
    if reachable.seconds < WORTH_CHOOSING:
        return "reachable"
    from tilebase.costs.passes import planned_index

    try:
        every = whole()
        times = (
            f"{duration(reachable.seconds)} for the reachable, {duration(every.seconds)} for all {every.size}"
        )
        if every.seconds >= reachable.seconds:
            LOG.info("solving the reachable boards: expected are %s", times)
            return "reachable"
        planned_index(game)
    except (ResourceError, UsageError) as error:
        LOG.info("solving the reachable boards: %s", error)
        return "reachable"
    LOG.info("solving all boards: expected are %s", times)
    return "all"
