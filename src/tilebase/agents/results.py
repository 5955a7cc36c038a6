"""What an agent is worth, and where it loses: results as data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote

from tilebase.arrays import Flags, Floats, Keys
from tilebase.game.board import Board
from tilebase.objectives.numbers import difference_text, digits_text, rounded_text, share_text
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Value
from tilebase.runtime.rows import html_text

SHOWN = 10
"""Decisions that a notebook shows."""


class Decision(NamedTuple):
    """A state in which an agent loses.

    Attributes
    ----------
    board:
        The state.
    visits:
        The probability that a game meets it, times the discount for each slide before it.
    loss:
        What the agent loses in this state: the mean over the slides that it may choose.
    chances:
        The directions that the agent may choose with their probabilities, the most probable first.
    best:
        The best directions.
    table:
        The name of the table, as the explorer knows it.
    """

    board: Board
    visits: float
    loss: float
    chances: dict[str, float]
    best: tuple[str, ...]
    table: str

    @property
    def address(self) -> str:
        """What follows the address of the explorer, so that it shows this state: ``?table=...&board=...``."""
        return f"?table={quote(self.table)}&board={self.board.text}"

    @property
    def chosen(self) -> str:
        """What the agent chooses, in words: ``left``, or ``left 50 %, down 50 %``."""
        if len(self.chances) == 1:
            return next(iter(self.chances))
        return ", ".join(f"{direction} {100 * p:.3g} %" for direction, p in self.chances.items())

    @property
    def statement(self) -> str:
        """The decision in words: ``left on 8,4/2,2, not right``."""
        only = "only " if self.chances.keys() & set(self.best) else ""
        return f"{self.chosen} on {self.board.text}, not {only}{' or '.join(self.best)}"

    @property
    def regret(self) -> float:
        """What the decision takes from the value of the start."""
        return self.visits * self.loss


class Visited(NamedTuple):
    """The n states of one sum that an agent meets and in which it slides.

    Attributes
    ----------
    sum:
        The sum of their tiles.
    keys, visits:
        ``uint64[n]``, ascending, and ``float64[n]``: the probability that a game meets each; in a `Judgement`
        as in `Decision`.
    value, q, best:
        What the table says of them, as in `Probed`.
    chances:
        ``float64[n, A]``: the probability of each slide.
    loss:
        ``float64[n]``: what the agent loses in each.
    own_value, own_q:
        ``float64[n]``, ``float64[n, A]``: the value of each state under the agent, and of each slide that it
        makes; NaN for other slides.  Only in `Judgement.layers`.
    """

    sum: int
    keys: Keys
    visits: Floats
    value: Floats
    q: Floats
    chances: Floats
    loss: Floats
    best: Flags
    own_value: Floats
    own_q: Floats


def worth_as_dict(policy: str, found: Any) -> dict[str, Any]:
    """What a `Judgement` and an `Evaluation` both say of a policy, as plain JSON values.

    None for an infinite rounding.
    """
    numbers = {name: getattr(found, name) for name in ("value", "optimum", "regret", "rounding", "states")}
    if numbers["rounding"] == math.inf:
        numbers["rounding"] = None
    played = None if found.by is None else found.by.identity
    return {"policy": policy, "plays_by": played, "objective": found.objective.identity} | numbers


def worth_text(value: float, error: float, objective: Objective) -> str:
    """Return the value of a policy as it is printed; it is wrong by at most `error`."""
    return rounded_text(value, error, most=1 if objective.unit == "probability" else None)


def regret_text(regret: float, error: float, objective: Objective) -> str:
    """Return what a policy loses as it is printed; it is wrong by at most `error`."""
    return difference_text(regret, error, most=1 if objective.unit == "probability" else None)


@dataclass(frozen=True)
class Judgement:
    """What an agent is worth, and where it loses.

    Attributes
    ----------
    name, objective:
        The agent, and the objective of the values.
    start, regret:
        The value of the start under optimal play, as the table has it, and what the agent loses against it.
    rounding:
        How far `value` and `regret` can be from the exact numbers by rounding.
    states:
        In how many states it can slide, up to symmetry unless it was asked without.
    optimal:
        The share of its slides that are the best, weighted by visits.
    by_sum:
        ``by_sum[s]``: the visits of states of sum s, and the regret there.
    by_tile:
        ``by_tile[t]``: the same of states whose largest tile is t.
    worst:
        The decisions that lose most, the worst first.
    layers:
        All states that it meets, if they were asked for: a `Visited` for each sum, ascending.
    by:
        The objective by which the agent plays, if it is a table.
    """

    name: str
    objective: Objective
    start: Value
    regret: float
    rounding: float
    states: int
    optimal: float
    by_sum: dict[int, tuple[float, float]]
    by_tile: dict[int, tuple[float, float]]
    worst: tuple[Decision, ...]
    layers: tuple[Visited, ...] = field(default=(), repr=False)
    by: Objective | None = None

    @property
    def optimum(self) -> float:
        """The value of the start under optimal play."""
        return float(self.start)

    @property
    def value(self) -> float:
        """The value of the start under the agent."""
        return self.optimum + self.regret if self.objective.is_cost else self.optimum - self.regret

    @property
    def text(self) -> str:
        """The value as it is printed: what cannot be told from 0 is less than the rounding."""
        return worth_text(self.value, self.rounding, self.objective)

    @property
    def regret_text(self) -> str:
        """The loss as it is printed."""
        return regret_text(self.regret, self.rounding, self.objective)

    @property
    def optimal_text(self) -> str:
        """The share of the best slides as it is printed."""
        return share_text(self.optimal) if self.optimal < 1 else "≈ 100 %"

    def __repr__(self) -> str:
        return f"<Judgement of {self.name}: {self.objective.label} {self.text}, regret {self.regret_text}>"

    def _repr_html_(self) -> str:
        rows = [
            {
                "costs most": one.board.text, "slides": one.chosen, "best": " or ".join(one.best),
                "visits": digits_text(one.visits, 3), "loss": digits_text(one.loss, 3),
                "regret": digits_text(one.regret, 3),
            }
            for one in self.worst[:SHOWN]
        ]  # fmt: skip
        caption = (
            f"{self.name}: {self.objective} {self.text}, optimum {self.start}, "
            f"{self.optimal_text} best slides, {self.states:,} states"
        )
        return html_text(caption, rows)

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return worth_as_dict(self.name, self) | {
            "optimal": self.optimal,
            "by_sum": [
                {"sum": total, "visits": visits, "regret": lost}
                for total, (visits, lost) in self.by_sum.items()
            ],
            "by_tile": [
                {"tile": tile, "visits": visits, "regret": lost}
                for tile, (visits, lost) in self.by_tile.items()
            ],
            "worst": [
                {
                    "board": one.board.text, "visits": one.visits, "loss": one.loss, "chances": one.chances,
                    "best": list(one.best), "address": one.address,
                }
                for one in self.worst
            ],
        }  # fmt: skip


@dataclass(frozen=True)
class Comparison:
    """What several agents are worth on one table.

    Attributes
    ----------
    judged:
        By name, what each agent is worth.
    random, optimum:
        The value of the start if every allowed slide has the same probability, and under optimal play.
    """

    judged: dict[str, Judgement]
    random: float
    optimum: float

    def __repr__(self) -> str:
        values = ", ".join(f"{row['policy']} {self.judged[row['policy']].text}" for row in self.rows())
        return f"<Comparison: {values}; {self._ends}>"

    @property
    def _ends(self) -> str:
        """The values of optimal and of random play, in words."""
        best = next(iter(self.judged.values())).start
        return f"optimum {best}, random {digits_text(self.random)}"

    def _repr_html_(self) -> str:
        rows = [
            row
            | {"value": one.text, "regret": one.regret_text, "score": digits_text(row["score"], 6)}
            | {"best slides": one.optimal_text}
            for row in self.rows()
            for one in [self.judged[row["policy"]]]
        ]
        return html_text(self._ends, rows)

    def score(self, name: str) -> float:
        """Return the normalised score of an agent: 0 for random slides, 1 for optimal play."""
        return normalised(self.judged[name].value, self.random, self.optimum)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each agent, the best first."""
        ranked = sorted(self.judged.items(), key=lambda item: item[1].regret)
        return [
            {
                "policy": name, "value": one.value, "regret": one.regret, "score": self.score(name),
                "best slides": one.optimal, "states": one.states,
            }
            for name, one in ranked
        ]  # fmt: skip


def normalised(value: float, random: float, optimum: float) -> float:
    """Return ``(value - random) / (optimum - random)``; NaN if every policy is worth the same."""
    return (value - random) / (optimum - random) if optimum != random else float("nan")
