"""Proved bounds of the probability to win: how they are computed, and as statements that can be cited.

All values are fixed-point integers, so a bound is an integer divided by a power of two.  The probability of a
4 is an exact fraction.  Every division of a lower bound is rounded down, of an upper bound up (`objectives`).
So no result depends on floating point.

Limits only forbid slides of the player.  So a lower bound within limits also holds without them.  A lower
bound with a pattern also holds without it if the pattern is a forced win, which
`questions.lemma.check_pattern` decides.  An upper bound holds only for the stated game, with its limits.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from tilebase._version import version as program_version
from tilebase.errors import UsageError
from tilebase.game.findings import Finding
from tilebase.game.game import Game, check_is_game
from tilebase.game.names import board_words, rules_of, title_of, winning_words, within_words
from tilebase.objectives.numbers import cut
from tilebase.objectives.objective import Objective, check_goal_fits
from tilebase.objectives.results import Solution
from tilebase.objectives.types import TYPES
from tilebase.objectives.values import Lower, Upper
from tilebase.questions.running import DEVICE, Ask
from tilebase.questions.solve import solve_asked
from tilebase.runtime.documents import checked_json
from tilebase.runtime.measured import working_time
from tilebase.runtime.resources import Use

if TYPE_CHECKING:
    from tilebase.cluster.pieces import Executor

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
        The time, and the bytes of layers read and written, of the last call, without calls that it continued.
    layers:
        For each layer, from the largest sum down: the sum, the boards, and the CRC-32 of the values of its
        afterstates.  Empty without `checksums`, or if layers had been solved before without them.
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
        """The largest distance from the optimum that rounding can have caused."""
        return rounding_loss(self.game, self.dtype)

    @property
    def statement(self) -> str:
        """The bound in words."""
        game, up = self.game, self.direction == "upper"
        who = "no strategy makes" if up else "there is a strategy that makes"
        power = self.one.bit_length() - 1
        return (
            f"2048 on {board_words(game)}{rules_of(game)}: "
            f"{who} {winning_words(game)}{within_words(game)} "
            f"with probability {'above' if up else 'at least'} "
            f"{self.value} / 2^{power}, which is {cut(self.bound, up=up)} "
            f"(proved in integers, rounded {'up' if up else 'down'})."
        )

    def asked(self) -> tuple[Finding, ...]:
        """Return the bound; a vacuous bound has no sentence of its own."""
        sentence = "" if self.is_vacuous else self.statement
        bound, rules = str(self.bounded), rules_of(self.game)
        return (Finding(title_of(self.game), self.objective.text, bound, self.direction, rules, sentence),)

    @property
    def is_vacuous(self) -> bool:
        """Whether the bound holds for every probability: at most 1, or at least 0."""
        return self.value >= self.one if self.direction == "upper" else self.value <= 0

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


def rounding_loss(game: Game, dtype: str) -> Fraction:
    """Return the most that rounding can move a bound from the optimum of its game.

    Rounding changes the value of an afterstate by less than one unit of the fixed-point type.  A win loses
    at most one unit, if the type cannot hold 1.  Means and the best over slides do not make a loss larger.
    Each spawn adds 2 or more, so at most (largest sum) // 2 afterstates follow each other.
    """
    steps = sum((1 << top) // 2 for top in game.tops if top)
    return Fraction(steps + 1, TYPES[dtype].one)


def bounds_of(solution: Solution, seconds: float) -> tuple[ProvedBound, ...]:
    """Return what a solution proves: a bound for each objective that is one.

    A bound is an integer over the power of two of its type, rounded outward.
    """
    found, layers = solution.start.values(), solution.checksums or itertools.repeat(())
    bounds = []
    for objective, value, known in zip(solution.objectives, found, layers, strict=False):
        if isinstance(value, Lower | Upper) and objective.discount == 1:
            units = value.bound * objective.one
            units = math.ceil(units) if objective.rounds_up else math.floor(units)
            bounds.append(
                ProvedBound(
                    solution.game, objective.name, objective.dtype, units, objective.one, solution.space,
                    solution.positions, seconds, solution.bytes_moved, known,
                )
            )  # fmt: skip
    return tuple(bounds)


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
    check_goal_fits(game)
    if precision is not None:
        if not 0 < precision < math.inf:
            raise UsageError(f"the precision must be above 0, such as 1e-6, not {precision:g}")
        loss = rounding_loss(game, objective.dtype)
        if loss > Fraction(precision):
            raise UsageError(
                f"{objective.dtype} can lose up to {float(loss):.2g} by rounding, more than {precision:g}: "
                "choose a larger type"
            )
    since = working_time()
    ask = replace(ask, summaries=False, checksums=checksums)
    solved = solve_asked(ask, folder=folder, cluster=cluster, **use)
    (proved,) = bounds_of(solved, working_time() - since)
    return proved
