"""What solving takes on the boards of a space: what `solve` expects when it begins, and its row of a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from tilebase.costs.estimate import Estimate
from tilebase.costs.reachable import solving
from tilebase.errors import UsageError
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.runtime.resources import Allowance

SPACES = ("reachable", "all", "auto")


def check_space(space: str) -> None:
    """Raise `UsageError` unless boards can be solved in this way, one of `SPACES`."""
    if space not in SPACES:
        raise UsageError(f"space {space!r} does not exist: choose one of {', '.join(SPACES)}")


def expected(
    space: str,
    objectives: Sequence[Objective],
    allowed: Allowance,
    *,
    down_to: int | None = None,
    keep: bool = False,
    lean: bool | None = None,
) -> Callable[[Game], Estimate]:
    """Return the estimate for solving a game on the boards of a space.

    `keep` says that a table is written.
    """
    if space == "all":
        from tilebase.costs.boards import passing  # the other engine is loaded if it is asked

        return partial(
            passing, "solving all boards of", objectives=objectives, allowed=allowed, down_to=down_to,
            keep=keep,
        )  # fmt: skip
    return partial(solving, objectives=objectives, allowed=allowed, down_to=down_to, table=keep, lean=lean)
