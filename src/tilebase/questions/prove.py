"""Proved bounds of the probability to win, as statements that can be cited and computed again.

A bound is an integer divided by a power of two.  All values are fixed-point integers.  The probability
of a 4 is an exact fraction.  Every division of a lower bound is rounded down, of an upper bound up
(`objectives`).  So no result depends on floating point.

Limits only forbid slides of the player.  So a lower bound within limits also holds without them.  A lower
bound with a pattern also holds without it if the pattern is a forced win, which
`questions.lemma.check_pattern` decides.  An upper bound holds only for the stated game, with its limits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from tilebase._version import version as program_version
from tilebase.cluster.executors import Executor
from tilebase.cluster.opening import attached
from tilebase.cluster.runs import Run, run_in
from tilebase.dense.backends.protocol import DenseWork
from tilebase.dense.index import PerfectIndex
from tilebase.dense.passes import DensePass
from tilebase.dense.values import Wanted
from tilebase.errors import UsageError
from tilebase.files import places
from tilebase.files.run import Query, RunFolder
from tilebase.game.game import Game
from tilebase.game.names import board_words, random_start_words, winning_words, within_words
from tilebase.objectives.numbers import cut
from tilebase.objectives.objective import Objective, check_goal_fits
from tilebase.objectives.results import Solution
from tilebase.objectives.types import TYPES
from tilebase.objectives.values import Lower, Upper
from tilebase.questions.running import Ask, usual_space
from tilebase.questions.solve import check_solving, solve_in
from tilebase.questions.spaces import choose_space
from tilebase.runtime.documents import checked_json
from tilebase.runtime.resources import Use

FORMAT, VERSION = "tilebase bound", 1


@dataclass(frozen=True)
class ProvedBound:
    """One proved bound.

    Attributes
    ----------
    game:
        The game, with its limits and pattern.
    direction:
        ``"lower"`` or ``"upper"``.
    dtype:
        Type of the fixed-point values.
    value, one:
        The bound is ``value / one``.
    space:
        ``"all"`` boards within the limits or the ``"reachable"`` ones.
    positions:
        How many positions have values.
    seconds, bytes_moved:
        The time, and bytes of layers read and written; of the last call, without earlier calls that it
        continued.
    layers:
        The sum of each layer, its boards, and the CRC-32 of the values of its afterstates, from the largest
        sum down, if checksums were asked for; empty if layers were solved before they were.
    version:
        The version of this program.
    """

    game: Game
    direction: str
    dtype: str
    value: int
    one: int
    space: str
    positions: int
    seconds: float
    bytes_moved: int
    layers: tuple[tuple[int, int, str], ...] = ()
    version: str = field(default_factory=program_version)

    def __repr__(self) -> str:
        up = self.direction == "upper"
        return f"<ProvedBound of {self.game}: at {'most' if up else 'least'} {cut(self.bound, up=up)}>"

    @property
    def bound(self) -> Fraction:
        """The bound as a fraction."""
        return Fraction(self.value, self.one)

    @property
    def objective(self) -> Objective:
        """The objective that was solved for."""
        return Objective(self.direction, self.dtype)

    @property
    def bounded(self) -> Lower | Upper:
        """The bound as a value."""
        return Upper(self.bound) if self.direction == "upper" else Lower(self.bound)

    @property
    def loss(self) -> Fraction:
        """The most that rounding can have changed the bound: it is at most so far from the optimum."""
        return rounding_loss(self.game, self.dtype)

    @property
    def statement(self) -> str:
        """The bound in words."""
        game, up = self.game, self.direction == "upper"
        who = "no strategy makes" if up else "there is a strategy that makes"
        power = self.one.bit_length() - 1
        return (
            f"2048 on {board_words(game)} from {random_start_words(game)}, spawns of {game.spawn.words}: "
            f"{who} {winning_words(game)}{within_words(game)} "
            f"with probability {'above' if up else 'at least'} "
            f"{self.value} / 2^{power}, which is {cut(self.bound, up=up)} "
            f"(proved in integers, rounded {'up' if up else 'down'})."
        )

    @property
    def is_vacuous(self) -> bool:
        """Whether the bound holds for every probability: at most 1, or at least 0."""
        return says_nothing(self.direction, self.value, self.one)

    @property
    def text(self) -> str:
        """The record of this bound, a document of docs/format.md."""
        return checked_json({"format": FORMAT, "version": VERSION} | self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "statement": self.statement,
            "game": self.game.identity,
            "direction": self.direction,
            "type": self.dtype,
            "rounding": "up" if self.direction == "upper" else "down",
            "value": self.value,
            "one": self.one,
            "rounding_loss_at_most": float(self.loss),
            "decimal": cut(self.bound, up=self.direction == "upper"),
            "space": self.space,
            "positions": self.positions,
            "seconds": round(self.seconds, 1),
            "bytes_moved": self.bytes_moved,
            "program": self.version,
        }


def says_nothing(direction: str, value: int, one: int) -> bool:
    """Return whether a bound ``value / one`` of a probability holds for every one: at most 1, at least 0."""
    return value >= one if direction == "upper" else value <= 0


def rounding_loss(game: Game, dtype: str) -> Fraction:
    """Return the most that rounding can move a bound from the optimum of its game.

    Rounding changes the value of an afterstate by less than one unit of the fixed-point type.  A win loses
    at most one unit, if the type cannot hold 1.  Means and the best over slides do not make a loss larger.
    Each spawn adds 2 or more, so at most (largest sum) // 2 afterstates follow each other.
    """
    steps = sum((1 << top) // 2 for top in game.tops if top)
    return Fraction(steps + 1, TYPES[dtype].one)


def prove(
    game: Game,
    *,
    direction: str = "lower",
    dtype: str | None = None,
    precision: float | None = None,
    space: str | None = None,
    folder: Path | str | None = None,
    backend: str = "threads",
    work: Callable[[DenseWork], None] | None = None,
    cluster: str | Executor | None = None,
    checksums: bool = False,
    **use: Unpack[Use],
) -> ProvedBound:
    """Prove a bound of the probability to win.

    Parameters
    ----------
    game:
        The game; limits make it smaller, and a lower bound within them holds without them.
    direction:
        ``"lower"`` or ``"upper"``.
    dtype:
        ``"uint64"`` (steps of 2**-52; the default for None), ``"uint32"`` or ``"uint16"``.
    precision:
        Refuse a type whose rounding can change the bound by more; None: accept any type.
    space:
        ``"all"``: every board within the limits, without counting; ``"reachable"``: the reachable ones.
        None: all if there are limits.
    folder:
        The folder of layers, to continue after an interruption.  None: a temporary folder.
    backend:
        ``"threads"`` or ``"cuda"``, for the space ``"all"``.
    work:
        Called with the cost of the dense pass.
    cluster:
        Workers that do the large layers, as in `solve`.
    checksums:
        Fill `ProvedBound.layers`, in the space ``"all"``.  The values, as many bytes as the type has, in the
        order of `dense.index`, have the same checksums on every machine.
    use:
        Memory, threads and the like: the keywords of `Use`.

    Raises
    ------
    UsageError
        If direction, type, space or backend do not exist or do not fit the game.
    ResourceError
        If it does not fit into memory or on disk; then nothing was begun.
    StorageError, CorruptError, WrongGameError
        If the folder cannot be used.
    ClusterError, MissingExtraError
        If workers cannot be reached or used, or Dask is not installed.

    >>> prove(Game("2x2", 32, start="empty"), dtype="uint32").value
    355998190
    """
    chosen = _check_ways(game, direction, space, backend, work, checksums=checksums)
    objective = Objective(direction, dtype or "")
    objective.check(game)
    _check_bound(game, objective, precision)
    ask = Ask(game, (objective,), chosen, backend=backend)
    with run_in(folder, cluster=cluster, **use) as run:
        since = time.perf_counter()
        chosen = choose_space(ask, run, keep=False)
        if chosen == "all":
            spent = _prove_all(ask, run, checksums=checksums)
            found, positions, layers = spent.bound, spent.positions, spent.layers
            moved = spent.work.read + spent.work.written
            if work is not None:
                work(spent.work)
        else:
            solved = solve_in(replace(ask, space=chosen), run)
            assert isinstance(solved.value, Lower | Upper)
            found, positions, moved, layers = solved.value.bound, solved.positions, 0, ()
        seconds = time.perf_counter() - since
    proved = _bound_of(game, objective, found, chosen, positions, seconds, moved)
    return replace(proved, layers=layers)


def bounds_of(solution: Solution, space: str, seconds: float) -> tuple[ProvedBound, ...]:
    """Return what a solution on the boards of a space proves: a bound for each objective that is one."""
    return tuple(
        _bound_of(solution.game, objective, value.bound, space, solution.positions, seconds)
        for objective, value in zip(solution.objectives, solution.start.values(), strict=solution.complete)
        if isinstance(value, Lower | Upper) and objective.discount == 1
    )


def _bound_of(
    game: Game, objective: Objective, found: Fraction, space: str, positions: int, seconds: float,
    moved: int = 0,
) -> ProvedBound:  # fmt: skip
    """Return a bound as an integer over the power of two of its type, rounded the safe way."""
    one = objective.one
    value = math.ceil(found * one) if objective.rounds_up else math.floor(found * one)
    return ProvedBound(game, objective.name, objective.dtype, value, one, space, positions, seconds, moved)


def _check_ways(
    game: Game, direction: str, space: str | None, backend: str, work: object, *, checksums: bool
) -> str:
    """Return the space to prove on.

    Raises `UsageError` for ways that do not exist or do not fit each other.
    """
    if direction not in ("lower", "upper"):
        raise UsageError(f"direction {direction!r} does not exist: choose one of lower, upper")
    if space not in (None, "all", "reachable"):
        raise UsageError(f"space {space!r} does not exist: choose one of all, reachable")
    chosen = space or usual_space(game, (Objective(direction),), table=False, backend=backend)
    if work is not None and chosen != "all":
        raise UsageError(
            "steps are measured in the space all only: leave out the stats, or choose that space"
        )
    if checksums and chosen != "all":
        raise UsageError("layers have checksums in the space all only: leave them out, or choose that space")
    return chosen


def _check_bound(game: Game, objective: Objective, precision: float | None) -> None:
    """Raise `UsageError` if the game cannot be won, or if rounding can change the bound by too much."""
    check_goal_fits(game)
    if precision is None:
        return
    if not 0 < precision < math.inf:
        raise UsageError(f"the precision must be above 0, as 1e-6, not {precision:g}")
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
    work: DenseWork
    layers: tuple[tuple[int, int, str], ...]


def _prove_all(ask: Ask, run: Run, *, checksums: bool) -> _Proof:
    """Return the bound by a pass over all boards within the limits."""
    (objective,) = ask.objectives
    check_solving(ask, run)
    with (
        RunFolder(run.folder, Query(ask.game)),
        attached(run.cluster, run.folder),
        DensePass(
            run.within(places.values_folder(objective.label)), PerfectIndex(ask.game), objective,
            wanted=Wanted(summaries=False, checksums=checksums), backend=ask.backend,
        ) as dense,
    ):  # fmt: skip
        dense.run()
    known = dense.checksums if checksums and dense.checksums.keys() == dense.found.keys() else {}
    layers = tuple((total, dense.sizes[total], known[total]) for total in sorted(known, reverse=True))
    return _Proof(Fraction(dense.start()), sum(dense.sizes.values()), dense.work, layers)
