"""On which boards a game is solved: the reachable ones, or all within the limits.

The value of the start is the same.  To solve the reachable boards (`sparse`), they are counted first, and
their keys are stored.  A pass over all boards (`dense`) does neither and takes about a tenth of the time per
board, but there are more boards.  Which of the two takes less time is estimated (`costs`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from tilebase.cluster.runs import Run
from tilebase.costs.estimate import Estimate, duration
from tilebase.costs.rows import expected
from tilebase.errors import ResourceError, UsageError
from tilebase.files import places
from tilebase.files.run import Query
from tilebase.game.game import Game
from tilebase.questions.running import Ask

LOG = logging.getLogger("tilebase")
WORTH_CHOOSING = 1.0
"""Seconds: where the reachable boards take less, they are solved."""


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
