"""Proved bounds of the probability to win, as statements that can be cited and computed again.

A bound is an integer divided by a power of two.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tilebase._version import version as program_version
from tilebase.game.findings import Finding
from tilebase.game.game import Game
from tilebase.game.names import board_words, rules_of, title_of, winning_words, within_words
from tilebase.objectives.numbers import cut
from tilebase.objectives.objective import Objective
from tilebase.objectives.results import Solution
from tilebase.objectives.types import TYPES
from tilebase.objectives.values import Lower, Upper
from tilebase.runtime.documents import checked_json

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
