"""The rows of `--plan`: what a query takes on 1, 16 and 256 cores."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from tilebase.costs import cores
from tilebase.costs.cores import CORES
from tilebase.costs.reachable import layers_of
from tilebase.errors import ResourceError, UsageError
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective


def counting(
    game: Game, objectives: Sequence[Objective] = (), *, up_to: int | None = None
) -> list[dict[str, Any]]:
    """Return rows for counting, and with objectives for solving, too."""
    layers, rows = layers_of(game).by_sum(up_to), []
    for number in CORES:
        rows.append({"step": "count"} | cores.counting(game, number, layers).row())
        if objectives:
            rows.append({"step": "solve"} | cores.solving(game, objectives, number, layers).row())
    return rows


def solving(
    game: Game, objectives: Sequence[Objective], space: str, *, keep: bool = False, summaries: bool = True
) -> list[dict[str, Any]]:
    """Return rows for counting and solving the reachable boards, or for a pass over all for each objective.

    With ``"auto"`` the rows of both, unless a table is kept, which holds the reachable ones.

    Raises `UsageError` or `ResourceError` if there cannot be such a pass.
    """
    if space not in ("reachable", "all", "auto"):
        raise UsageError(f"space {space!r} does not exist: choose one of reachable, all, auto")
    for one in objectives:
        one.check(game)
    if space == "all":
        return _passes(game, objectives, "", keep=keep, summaries=summaries)
    rows = counting(game, objectives)
    if space == "auto" and not keep:
        with suppress(ResourceError, UsageError):  # then the reachable boards are solved
            rows += _passes(game, objectives, "all boards, ", keep=keep, summaries=summaries)
    return rows


def _passes(
    game: Game, objectives: Sequence[Objective], name: str, *, keep: bool, summaries: bool
) -> list[dict[str, Any]]:
    from tilebase.costs.batches import passing  # the other engine is loaded if it is asked
    from tilebase.dense.index import PerfectIndex
    from tilebase.dense.tables import check_index
    from tilebase.dense.values import Wanted

    index = PerfectIndex(game)
    check_index(index)
    wanted = Wanted(summaries, keep)
    return [
        {"step": name + one.label} | passing(index, one, number, wanted=wanted).row()
        for number in CORES
        for one in objectives
    ]
