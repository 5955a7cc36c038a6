"""The result of solving: the start's value, and what each layer is worth.  Pure data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tilebase.errors import CorruptError
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Lower, Upper, Value, join_bounds
from tilebase.runtime.documents import shown, whole

Piece = tuple[float, float, float, int, int]
"""Least, largest, sum, won for certain, lost for certain: of some positions."""


@dataclass(frozen=True)
class LayerSummary:
    """The afterstates of one sum under one objective.

    Attributes
    ----------
    sum, positions:
        The sum of the tiles, and how many afterstates there are.
    least, mean, largest:
        Of their values, as floats.
    won, lost:
        How many have the value 1 and 0, after rounding to the type of the values: ask for
        `guaranteed` to have wins that are certain counted exactly.  `won` is 0 where winning
        is not the objective.
    """

    sum: int
    positions: int
    least: float
    mean: float
    largest: float
    won: int
    lost: int

    @classmethod
    def of(cls, total: int, positions: int, pieces: Sequence[Piece]) -> LayerSummary:
        """The summary of a layer from those of its pieces, whose sums are added exactly."""
        return cls(
            total,
            positions,
            min(piece[0] for piece in pieces),
            math.fsum(piece[2] for piece in pieces) / positions,
            max(piece[1] for piece in pieces),
            sum(piece[3] for piece in pieces),
            sum(piece[4] for piece in pieces),
        )

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return dict(self.__dict__)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> LayerSummary:
        """The summary of which `as_dict` made these values.  Raises `CorruptError` or KeyError."""
        for name in ("sum", "positions", "won", "lost"):
            whole(values[name], f"{name} of a layer")
        for name in ("least", "mean", "largest"):
            if type(values[name]) not in (int, float):
                raise CorruptError(f"{name} of a layer is {shown(repr(values[name]), 40)}")
        return cls(**{name: values[name] for name in cls.__dataclass_fields__})


@dataclass(frozen=True)
class Solution:
    """What the backward pass found.

    Attributes
    ----------
    game, objectives:
        What was asked.
    layers:
        ``layers[i]``: summaries under the i-th objective, by ascending sum.
    start:
        ``start[i]``: the value of the start under the i-th objective, averaged over the starts
        with their probabilities (the least or largest of them where the objective is).  Empty if
        the pass stopped before.
    positions:
        Afterstates solved.
    """

    game: Game
    objectives: tuple[Objective, ...]
    layers: tuple[tuple[LayerSummary, ...], ...]
    start: tuple[Value, ...]
    positions: int

    @property
    def complete(self) -> bool:
        """Whether every layer was solved."""
        return bool(self.start)

    @property
    def value(self) -> Value:
        """The value of the start under the first objective; an interval if the first two are its bounds.

        Raises LookupError if not complete.
        """
        if not self.start:
            raise LookupError("the start has no value: the pass stopped before it")
        if len(self.start) > 1 and self.objectives[0].discount == self.objectives[1].discount:
            low, high = self.start[:2]
            if isinstance(low, Lower) and isinstance(high, Upper):
                return join_bounds(low, high)
        return self.start[0]

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dictionary a layer and objective, by ascending sum."""
        for objective, layers in zip(self.objectives, self.layers, strict=True):
            for layer in layers:
                yield {"objective": objective.label} | layer.as_dict()

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        return {
            "game": self.game.identity,
            "objectives": [objective.identity for objective in self.objectives],
            "start": [value.as_dict() for value in self.start],
            "positions": self.positions,
            "complete": self.complete,
            "layers": list(self.rows()),
        }
