"""The result of solving: the value of the start, and a summary of each layer.  Pure data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tilebase.errors import CorruptError, MissingObjectiveError
from tilebase.game.findings import Finding, Reported, claim_of, layers_checksum, plain
from tilebase.game.game import Game
from tilebase.game.names import rules_of, title_of
from tilebase.objectives.numbers import digits_text
from tilebase.objectives.objective import Objective, find_objective
from tilebase.objectives.values import (
    NEVER,
    Exact,
    Lower,
    Rounded,
    Upper,
    Value,
    join_bounds,
    with_complement,
)
from tilebase.runtime.documents import shown, whole
from tilebase.runtime.rows import html_text

ChunkSummary = tuple[float, float, float, int, int]
"""Of some positions: least, largest and sum of their values, how many are stored as 1, and as 0."""


@dataclass(frozen=True)
class LayerSummary:
    """The afterstates of one sum under one objective.

    Attributes
    ----------
    sum, positions:
        The sum of the tiles, and how many afterstates there are.
    least, mean, largest:
        Of their values, as floats; `NEVER` if it is of games that cannot be won, which the mean leaves out.
    won, lost:
        How many are worth as much as a win, and as a loss, after rounding to the type of the values.  The
        objective `guaranteed` counts forced wins exactly.  `won` is 0 for objectives without a win.
    """

    sum: int
    positions: int
    least: float
    mean: float
    largest: float
    won: int
    lost: int

    def __repr__(self) -> str:
        mean = digits_text(self.mean, 6)
        return f"<LayerSummary of sum {self.sum}: {self.positions:,} afterstates, mean value {mean}>"

    @classmethod
    def of(cls, total: int, positions: int, pieces: Sequence[ChunkSummary]) -> LayerSummary:
        """Return the summary of a layer from those of its pieces, whose sums are added exactly."""
        least, largest = min(piece[0] for piece in pieces), max(piece[1] for piece in pieces)
        won, lost = sum(piece[3] for piece in pieces), sum(piece[4] for piece in pieces)
        never = lost if largest == NEVER else 0
        whole = math.fsum([*(piece[2] for piece in pieces), -NEVER * never])
        mean = whole / (positions - never) if positions > never else NEVER
        return cls(total, positions, least, mean, largest, won, lost)

    @classmethod
    def empty(cls, total: int) -> LayerSummary:
        """Return the summary of no afterstates."""
        return cls(total, 0, 1.0, 0.0, 0.0, 0, 0)

    def with_won(self, more: int) -> LayerSummary:
        """Return the summary of these Boolean values and `more` that are 1."""
        positions, won = self.positions + more, self.won + more
        return replace(self, positions=positions, mean=won / positions, largest=1.0, won=won)

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return dict(self.__dict__)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> LayerSummary:
        """Return the summary from the values that `as_dict` made.  Raises `CorruptError` or KeyError."""
        for name in ("sum", "positions", "won", "lost"):
            whole(values[name], f"{name} of a layer")
        for name in ("least", "mean", "largest"):
            if type(values[name]) not in (int, float):
                raise CorruptError(f"{name} of a layer must be a number, not {shown(repr(values[name]), 40)}")
        return cls(**{name: values[name] for name in cls.__dataclass_fields__})


class StartValues(Mapping[str, Value]):
    """The values of the start, by the labels of the objectives; read only.

    A name that is not a label, such as ``"win"``, finds the first objective with that name.  If `guaranteed`
    says that a win can be forced, the probability to win is exactly 1.  Beside `loss`, it has its complement.

    >>> from tilebase.objectives.values import Rounded
    >>> start = StartValues((Objective("win", "float32"),), (Rounded(0.5, "float32", 1e-6, 1),))
    >>> list(start), float(start["win"])
    (['win-float32'], 0.5)
    """

    def __init__(self, objectives: Sequence[Objective], values: Sequence[Value]) -> None:
        found = dict(zip(objectives, values, strict=True))
        forced = any(one.name == "guaranteed" and value == Exact(True) for one, value in found.items())
        loss = next((value for one, value in found.items() if one.name == "loss"), None)
        for one, value in found.items():
            if proves_certain(one):
                found[one] = Exact(1) if forced else value if loss is None else with_complement(value, loss)
        self._values = found

    def __getitem__(self, label: object) -> Value:
        """Return the value under an objective.  Raises `MissingObjectiveError`, which is a KeyError."""
        found = find_objective(self._values, label) if isinstance(label, str) else None
        if found is None:
            raise MissingObjectiveError(
                f"{label!r} was not solved for: choose one of {', '.join(self) or 'no objectives'}"
            )
        return self._values[found]

    def __iter__(self) -> Iterator[str]:
        return (objective.label for objective in self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(tuple(self.items()))

    def __repr__(self) -> str:
        return f"<StartValues {', '.join(f'{label}: {value}' for label, value in self.items()) or 'none'}>"


def proves_certain(objective: Objective) -> bool:
    """Tell whether the value is 1 if a win can be forced: of the probability to win, computed with floats."""
    return objective.is_win and objective.is_float and objective.discount == 1


def _kind(value: Value) -> str:
    """Return the type of a value in words: of a rounded one with its float, if that is a small one."""
    if isinstance(value, Rounded) and value.dtype != "float64":
        return f"{value.kind} in {value.dtype}"
    return value.kind


@dataclass(frozen=True)
class Solution(Reported):
    """The result of the backward pass.

    Attributes
    ----------
    game, objectives:
        The game that was solved, and the objectives.
    layers:
        ``layers[i]``: summaries under the i-th objective, by ascending sum.
    start:
        ``start[label]``, such as ``start["win"]``: the value of the start under the objective with this
        label.  It is the mean over the start states with their probabilities, or the least or the
        largest of their values, as the objective says.  Empty if the pass stopped before the start.
    positions, unit:
        The number of solved afterstates, or of boards in a pass over all boards.
    starts_by_board:
        If the game starts from several boards after a slide, as formations do:
        ``starts_by_board[text][label]`` is the value of one of them.  `start` is their mean, least or largest
        value.  Empty for other games.
    checksums:
        ``checksums[i]``: under the i-th objective, for each layer from the largest sum down: the sum, the
        boards, and the CRC-32 of their values; if they were asked for, in place of the summaries in `layers`.
    bytes_moved:
        The bytes of layers that a pass over all boards read and wrote, without calls that it continued.
    """

    game: Game
    objectives: tuple[Objective, ...]
    layers: tuple[tuple[LayerSummary, ...], ...]
    start: StartValues
    positions: int
    starts_by_board: Mapping[str, StartValues] = field(default_factory=dict, hash=False)
    unit: str = "afterstates"
    checksums: tuple[tuple[tuple[int, int, str], ...], ...] = ()
    bytes_moved: int = field(default=0, compare=False)

    def __repr__(self) -> str:
        values = ", ".join(f"{label} {value}" for label, value in self.start.items())
        return f"<Solution of {self.game}: {values or 'not complete'}>"

    def _repr_html_(self) -> str:
        rows = [{"objective": label, "the start": str(value)} for label, value in self.start.items()]
        return html_text(f"{self.game}: {self.positions:,} {self.unit}", rows)

    @property
    def space(self) -> str:
        """``"all"`` boards within the limits or the ``"reachable"`` ones."""
        return "all" if self.unit == "boards" else "reachable"

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
            low, high = list(self.start.values())[:2]
            if isinstance(low, Lower) and isinstance(high, Upper):
                return join_bounds(low, high)
        return next(iter(self.start.values()))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield one dictionary per layer and objective, by ascending sum; `NEVER` is infinite.

        `LayerSummary.won` and `lost` are named ``won_rounded`` and ``lost_rounded``.
        """
        for objective, layers in zip(self.objectives, self.layers, strict=True):
            for layer in layers:
                row = layer.as_dict()
                row |= {f"{name}_rounded": row.pop(name) for name in ("won", "lost")}
                row |= {name: math.inf for name in ("least", "mean", "largest") if row[name] == NEVER}
                yield {"objective": objective.label} | row

    def asked(self) -> tuple[Finding, ...]:
        """Return the value of the start under each objective, or how far the pass came."""
        board, rules = title_of(self.game), rules_of(self.game)
        if self.complete:
            return tuple(
                Finding(board, one.text, str(value), _kind(value), rules)
                for one, value in zip(self.objectives, self.start.values(), strict=True)
            )
        reached = [layer.sum for layer in self.layers[0]]
        most = f" of the sum {min(reached)} or more" if reached else ""
        what = ", ".join(one.text for one in self.objectives)
        solved = f"{self.positions:,} {self.unit} solved"
        return (Finding(board, f"{what}, of {self.unit}{most} (not complete)", solved, "exact", rules),)

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values; None for infinite numbers."""
        layers = plain(list(self.rows())) or [
            {"objective": one.label, "sum": total, "boards": boards, "crc32": crc}
            for one, known in zip(self.objectives, self.checksums, strict=False)
            for total, boards, crc in known
        ]
        boards = {board: plain(list(values.values())) for board, values in self.starts_by_board.items()}
        return claim_of(self.asked()) | {
            "game": self.game.identity,
            "objectives": plain(self.objectives),
            "start": plain(list(self.start.values())),
            **({"starts_by_board": boards} if boards else {}),
            "positions": self.positions,
            "complete": self.complete,
            "layers": layers,
            "checksum": layers_checksum(layers),
        }
