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
from typing import TYPE_CHECKING, NamedTuple, Unpack

from tilebase.cluster.runs import Run, run_in
from tilebase.dense.index import PerfectIndex
from tilebase.dense.passes import DensePass
from tilebase.dense.values import Wanted
from tilebase.errors import UsageError
from tilebase.files import places
from tilebase.files.run import Query, RunFolder
from tilebase.game.game import Game, check_is_game
from tilebase.objectives.objective import Objective, check_goal_fits
from tilebase.objectives.values import Lower, Upper
from tilebase.questions.bounds import ProvedBound, bound_of, rounding_loss
from tilebase.questions.running import DEVICE, Ask, choose_space
from tilebase.questions.solve import check_solving, solve_in
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
    ask = _checked(game, direction, space, checksums=checksums)
    objective = Objective(direction, dtype or "")
    objective.check(game)
    _check_bound(game, objective, precision)
    ask = replace(ask, objectives=(objective,))
    with run_in(folder, cluster=cluster, **use) as run:
        since = working_time()
        chosen = choose_space(ask, run, keep=False)
        if chosen == "all":
            spent = _prove_all(ask, run, checksums=checksums)
            found, positions, moved, layers = spent
        else:
            solved = solve_in(replace(ask, space=chosen), run)
            assert isinstance(solved.value, Lower | Upper)
            found, positions, moved, layers = solved.value.bound, solved.positions, 0, ()
        seconds = working_time() - since
    proved = bound_of(game, objective, found, chosen, positions, seconds, moved)
    return replace(proved, layers=layers)


def _checked(game: Game, direction: str, space: str | None, *, checksums: bool) -> Ask:
    """Return what is asked, for the usual type.

    Raises `UsageError` for ways that do not exist or do not go together.
    """
    if direction not in ("lower", "upper"):
        raise UsageError(f"direction {direction!r} does not exist: choose one of lower, upper")
    if space not in (None, "all", DEVICE, "reachable"):
        raise UsageError(f"space {space!r} does not exist: choose one of all, {DEVICE}, reachable")
    ask = Ask.on(space, game, (Objective(direction),), table=False)
    if checksums and ask.space != "all":
        raise UsageError("layers have checksums in the space all only: leave them out, or choose that space")
    return ask


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


class _Proof(NamedTuple):
    """What a pass over all boards found."""

    bound: Fraction
    positions: int
    moved: int
    layers: tuple[tuple[int, int, str], ...]


def _prove_all(ask: Ask, run: Run, *, checksums: bool) -> _Proof:
    """Return the bound by a pass over all boards within the limits."""
    (objective,) = ask.objectives
    check_solving(ask, run)
    with (
        RunFolder(run.folder, Query(ask.game)),
        DensePass(
            run.within(places.values_folder(objective.label)), PerfectIndex(ask.game), objective,
            wanted=Wanted(summaries=False, checksums=checksums), backend=ask.backend,
        ) as dense,
    ):  # fmt: skip
        dense.run()
    known = dense.checksums if checksums and dense.checksums.keys() == dense.found.keys() else {}
    layers = tuple((total, dense.sizes[total], known[total]) for total in sorted(known, reverse=True))
    return _Proof(Fraction(dense.start()), sum(dense.sizes.values()), dense.bytes_moved, layers)
