"""Prove a bound of the probability to win (`questions.bounds`).

All values are fixed-point integers.  The probability of a 4 is an exact fraction.  Every division of a lower
bound is rounded down, of an upper bound up (`objectives`).  So no result depends on floating point.

Limits only forbid slides of the player.  So a lower bound within limits also holds without them.  A lower
bound with a pattern also holds without it if the pattern is a forced win, which
`questions.lemma.check_pattern` decides.  An upper bound holds only for the stated game, with its limits.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from tilebase.cluster.runs import run_in
from tilebase.errors import UsageError
from tilebase.game.game import Game, check_is_game
from tilebase.objectives.objective import Objective, check_goal_fits
from tilebase.questions.bounds import ProvedBound, bounds_of, rounding_loss
from tilebase.questions.running import DEVICE, Ask, choose_space
from tilebase.questions.solve import solve_in
from tilebase.runtime.measured import working_time
from tilebase.runtime.resources import Use

if TYPE_CHECKING:
    from tilebase.cluster.pieces import Executor


def prove(
    game: Game,
    *,
    direction: str = "lower",
    dtype: str | None = None,
    precision: float | None = None,
    space: str | None = None,
    folder: Path | str | None = None,
    cluster: str | Executor | None = None,
    checksums: bool = False,
    **use: Unpack[Use],
) -> ProvedBound:
    """Prove a bound of the probability to win.

    Parameters
    ----------
    game:
        The game.  Limits make it smaller; a lower bound within them also holds without them.
    direction:
        ``"lower"`` or ``"upper"``.
    dtype:
        ``"uint64"`` (steps of 2**-52; the default for None), ``"uint32"`` or ``"uint16"``.
    precision:
        Refuse a type whose rounding can change the bound by more than this.  None: accept any type.
    space:
        ``"all"``: every board within the limits, without counting; ``"cuda"``: the same, on a GPU;
        ``"reachable"``: the reachable boards.  None: ``"all"`` if there are limits.
    folder:
        The folder of layers, to continue after an interruption.  None: a temporary folder.
    cluster:
        Workers that do the large layers of reachable boards, as in `solve`.
    checksums:
        Fill `ProvedBound.layers`, in the space ``"all"``.  The checksums are the same on every machine: they
        are those of the values as bytes, in the order of `dense.index`.
    use:
        Memory, threads and the like: the keywords of `Use`.

    Raises
    ------
    UsageError
        If direction, type or space do not exist or do not fit the game.
    ResourceError
        If it does not fit into memory or on disk; then nothing was begun.
    StorageError, CorruptError, WrongGameError
        If the folder cannot be used.
    ClusterError, MissingExtraError
        If workers cannot be reached or used, or Dask is not installed.

    >>> prove(Game("2x2", 32, start="empty"), dtype="uint32").value
    355998190
    """
    check_is_game(game)
    if direction not in ("lower", "upper"):
        raise UsageError(f"direction {direction!r} does not exist: choose one of lower, upper")
    if space not in (None, "all", DEVICE, "reachable"):
        raise UsageError(f"space {space!r} does not exist: choose one of all, {DEVICE}, reachable")
    objective = Objective(direction, dtype or "")
    ask = Ask.on(space, game, (objective,), table=False)
    if checksums and ask.space != "all":
        raise UsageError("layers have checksums in the space all only: leave them out, or choose that space")
    _check_bound(game, objective, precision)
    with run_in(folder, cluster=cluster, space=ask.space, **use) as run:
        since = working_time()
        chosen = choose_space(ask, run, keep=False)
        solved = solve_in(replace(ask, space=chosen, summaries=False, checksums=checksums), run)
        (proved,) = bounds_of(solved, working_time() - since)
    return proved


def _check_bound(game: Game, objective: Objective, precision: float | None) -> None:
    """Raise `UsageError` if the game cannot be won, or if rounding can change the bound by too much."""
    check_goal_fits(game)
    if precision is None:
        return
    if not 0 < precision < math.inf:
        raise UsageError(f"the precision must be above 0, such as 1e-6, not {precision:g}")
    loss = rounding_loss(game, objective.dtype)
    if loss > Fraction(precision):
        raise UsageError(
            f"{objective.dtype} can lose up to {float(loss):.2g} by rounding, more than {precision:g}: "
            "choose a larger type"
        )
