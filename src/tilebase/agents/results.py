"""What an agent is worth, and where it loses: results as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import quote

from tilebase.arrays import Flags, Floats, Keys
from tilebase.game.board import Board
from tilebase.objectives.numbers import digits_text
from tilebase.objectives.objective import Objective
from tilebase.runtime.html import table_html

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
        What the decision loses in this state.
    chosen, best:
        The direction that the agent prefers, and the best ones.
    table:
        The name of the table, as the explorer knows it.
    """

    board: Board
    visits: float
    loss: float
    chosen: str
    best: tuple[str, ...]
    table: str

    @property
    def address(self) -> str:
        """What follows the address of the explorer, so that it shows this state: ``?table=...&board=...``."""
        return f"?table={quote(self.table)}&board={self.board.text}"

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
    """What a `Judgement` and an `Evaluation` both say of a policy, as plain JSON values."""
    numbers = ("value", "optimum", "regret", "rounding", "states")
    return {"policy": policy, "objective": found.objective.identity} | {
        name: getattr(found, name) for name in numbers
    }


@dataclass(frozen=True)
class Judgement:
    """What an agent is worth, and where it loses.

    Attributes
    ----------
    name, objective:
        The agent, and the objective of the values.
    optimum, regret:
        The value of the start under optimal play, and what the agent loses against it.
    rounding:
        How far `value` and `regret` can be from the exact numbers by rounding.
    states:
        How many states it can meet, up to symmetry unless it was asked without.
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
    """

    name: str
    objective: Objective
    optimum: float
    regret: float
    rounding: float
    states: int
    optimal: float
    by_sum: dict[int, tuple[float, float]]
    by_tile: dict[int, tuple[float, float]]
    worst: tuple[Decision, ...]
    layers: tuple[Visited, ...] = field(default=(), repr=False)

    @property
    def value(self) -> float:
        """The value of the start under the agent."""
        return self.optimum + self.regret if self.objective.is_cost else self.optimum - self.regret

    @property
    def text(self) -> str:
        """The value as it is printed: what cannot be told from 0 is less than the rounding."""
        small = abs(self.value) <= self.rounding
        return f"less than {self.rounding:.0e}" if small else digits_text(self.value)

    def __repr__(self) -> str:
        regret = digits_text(self.regret if self.regret > self.rounding else 0)
        return f"<Judgement of {self.name}: {self.objective.label} {self.text}, regret {regret}>"

    def _repr_html_(self) -> str:
        rows = [
            {
                "costs most": one.board.text, "slides": one.chosen, "best": " or ".join(one.best),
                "visits": f"{one.visits:.3g}", "loss": f"{one.loss:.3g}", "regret": f"{one.regret:.3g}",
            }
            for one in self.worst[:SHOWN]
        ]  # fmt: skip
        caption = (
            f"{self.name}: {self.objective} {self.text}, optimum {digits_text(self.optimum)}, "
            f"{self.optimal:.2%} best slides, {self.states:,} states"
        )
        return table_html(caption, rows)

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
                    "board": one.board.text, "visits": one.visits, "loss": one.loss, "chosen": one.chosen,
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
        return f"<Comparison of {', '.join(self.judged)}>"

    def _repr_html_(self) -> str:
        kept = ("value", "regret", "score", "best slides")
        rows = [row | {name: f"{row[name]:.6g}" for name in kept} for row in self.rows()]
        return table_html(f"optimum {digits_text(self.optimum)}, random {digits_text(self.random)}", rows)

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
