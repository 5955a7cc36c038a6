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
from pathlib import Path
from typing import TYPE_CHECKING

from tilebase.cluster.runs import Run
from tilebase.costs.estimate import WEEK, Estimate
from tilebase.costs.rows import SPACES, expected
from tilebase.errors import ResourceError, UsageError
from tilebase.files import places
from tilebase.files.run import Query
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.runtime.measured import duration

if TYPE_CHECKING:
    from tilebase.tables.pruning import Pruning

LOG = logging.getLogger("tilebase")
DEVICE = "cuda"
"""The space of all boards where a device does the steps of a pass, and not the processors."""
WORTH_CHOOSING = 1.0
"""Seconds: where the reachable boards take less, they are solved."""


def _usual_space(game: Game, objectives: Sequence[Objective], *, table: bool) -> str:
    """Return on which boards a game is solved if nobody says: reachable, all or auto.

    Bounds within limits are proved on all boards, unless a table is kept, whose size is that of its boards.
    """
    bounds = all(one.is_bound and one.discount == 1 for one in objectives)
    if game.limits is not None and bounds and not table and len(game.masks) < 2:
        return "all"
    return "auto" if game.masks else "reachable"


@dataclass(frozen=True)
class Ask:
    """Which values are asked for.  Raises `UsageError` if the space does not exist."""

    game: Game
    objectives: tuple[Objective, ...]  # they fit the game
    space: str  # on which boards: reachable, all or auto
    down_to: int | None = None  # the sum of the last layer that is solved; None for all
    on_device: bool = False  # whether a device does a pass over all boards, and not the processors
    summaries: bool = True  # whether layers of a pass over all boards without a table are summed up
    checksums: bool = False  # and whether they get checksums

    @classmethod
    def on(
        cls, space: str | None, game: Game, objectives: Sequence[Objective], down_to: int | None = None, *,
        table: bool,
    ) -> Ask:  # fmt: skip
        """Return what is asked on the boards that a caller names, or on the usual ones.

        Raises `UsageError` if an objective does not fit the game.
        """
        for one in objectives:
            one.check(game)
        chosen = space or _usual_space(game, objectives, table=table)
        on_device = chosen == DEVICE
        return cls(game, tuple(objectives), "all" if on_device else chosen, down_to, on_device)

    def __post_init__(self) -> None:
        if self.space not in SPACES:
            spaces = ", ".join((*SPACES, DEVICE))
            raise UsageError(f"space {self.space!r} does not exist: choose one of {spaces}")

    @property
    def backend(self) -> str:
        """The name of what does the steps of a pass over all boards."""
        return DEVICE if self.on_device else "threads"

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


def choose_space(ask: Ask, run: Run, *, keep: bool) -> str:
    """Return the space that solves a game: the one that is asked for, or for ``"auto"`` the one of less time.

    A run that was begun in the folder keeps its space, and a table (`keep`) is of the reachable boards, which
    workers share, too.  The log says what was chosen, and why.
    """
    if ask.space != "auto":
        LOG.debug("solving on %s boards, as was asked or is usual for such games", ask.space)
        return ask.space
    if (begun := run.folder / places.QUERY).exists():
        return "all" if begun.read_bytes() == Query(ask.game).text.encode() else "reachable"
    if keep:
        LOG.info("solving the reachable boards: their table is smaller, and every command takes it")
        return "reachable"
    return _faster(ask, run) if run.cluster is None else "reachable"


def _faster(ask: Ask, run: Run) -> str:
    """Return the space that takes less time."""
    reachable = expected("reachable", ask.objectives, run.most, down_to=ask.down_to)(ask.game)

    def every() -> Estimate:
        from tilebase.costs.passes import planned_index

        found = expected("all", ask.objectives, run, down_to=ask.down_to)(ask.game)
        if found.seconds < reachable.seconds:
            planned_index(ask.game)
        return found

    return faster("solving", reachable, every) if reachable.seconds >= WORTH_CHOOSING else "reachable"


def faster(task: str, reachable: Estimate, every: Callable[[], Estimate]) -> str:
    """Return the space that takes less time: `every` estimates a pass over all boards, unless it raises.

    The log says what was chosen, and why.
    """
    try:
        found = every()
    except (ResourceError, UsageError) as error:
        if reachable.seconds <= WEEK:  # else it is refused, too, which says enough
            LOG.info("%s the reachable boards: %s", task, error)
        return "reachable"
    times = f"{duration(reachable.seconds)} for the reachable, {duration(found.seconds)} for all {found.size}"
    less = found.seconds < reachable.seconds
    LOG.info("%s %s boards: expected are %s", task, "all" if less else "the reachable", times)
    return "all" if less else "reachable"
