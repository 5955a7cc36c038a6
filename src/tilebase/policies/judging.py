"""What an agent is worth, and where it loses: judged after an estimate of what this takes."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Unpack
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from tilebase.arrays import BATCH, Encoding, Floats, GameArrays, TableArrays, sums_of
from tilebase.costs.estimate import Estimate, admit
from tilebase.costs.reachable import judging
from tilebase.errors import UsageError
from tilebase.game.board import Board
from tilebase.game.findings import Finding, Reported
from tilebase.game.game import Game
from tilebase.objectives.numbers import difference_text, digits_text, rounded_text, share_text, short_number
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Rounded, Value
from tilebase.policies.asking import as_policy, findings_of, player_text
from tilebase.policies.following import (
    CHECKED,
    Agent,
    Symmetry,
    Visited,
    joined,
    own_values,
    walk,
)
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Allowance, Use
from tilebase.runtime.rows import html_text
from tilebase.tables.probe import Table, open_table

EPSILON = float(np.finfo(np.float64).eps)
TRIAL = 4096
"""Boards of one sum on which the time of an agent is measured before it is judged."""
SOONER = "random games (--games, games=) are sooner, and functions of many boards (--asked batch) are fast"
INSTEAD = "play random games instead (games= of tilebase.evaluate), or judge it in a smaller game"

SHOWN = 10
"""Decisions that a notebook shows."""
RARE = 1e-3
"""A slide that an agent chooses less often is not named in a sentence."""


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
        """What the agent chooses: ``left``, or ``left 50.0 %, down 50.0 %`` without rare slides."""
        if len(self.chances) == 1:
            return next(iter(self.chances))
        return ", ".join(f"{one} {short_number(self.chances[one], 'probability')}" for one in self._named)

    @property
    def _named(self) -> list[str]:
        return [direction for direction, p in self.chances.items() if p >= RARE]

    @property
    def statement(self) -> str:
        """The decision in words: ``left on 8,4/2,2, not right``."""
        only = "only " if set(self._named) & set(self.best) else ""
        return f"{self.chosen} on {self.board.text}, not {only}{' or '.join(self.best)}"

    @property
    def regret(self) -> float:
        """What the decision takes from the value of the start."""
        return self.visits * self.loss


def worth_text(value: float, error: float, objective: Objective) -> str:
    """Return the value of a policy as it is printed; it is wrong by at most `error`."""
    return rounded_text(value, error, most=1 if objective.unit == "probability" else None)


def regret_text(regret: float, error: float, objective: Objective) -> str:
    """Return what a policy loses as it is printed; it is wrong by at most `error`."""
    return difference_text(regret, error, most=1 if objective.unit == "probability" else None)


@dataclass(frozen=True)
class Judgement(Reported):
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
    plays_by:
        The objective by which the agent plays, if it is a table.
    boards, turned:
        The rules of the game, and whether states are up to symmetry.
    returns:
        Whether the values are returns, as in `TableArrays`.
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
    boards: GameArrays = field(repr=False, compare=False)
    turned: bool = field(repr=False)
    layers: tuple[Visited, ...] = field(default=(), repr=False)
    plays_by: Objective | None = None
    returns: bool = False

    @cached_property
    def visited(self) -> Visited:
        """All of `layers` as one, with the sum 0, by key.  Raises `UsageError` if they were not kept."""
        if not self.layers:
            raise UsageError("judge with keep=True, so that the states that the agent meets are kept")
        every = joined([layer._replace(sum=0) for layer in self.layers])
        order = np.argsort(every.keys)
        return Visited._make((0, *(column[order] for column in every[1:])))

    def probe(self, boards: Any, *, encoding: Encoding = "exponents") -> tuple[Floats, Floats]:
        """Return V and Q of the agent on boards as `TableArrays.probe` takes them, in their orientation.

        ``float64[*batch]`` and ``float64[*batch, A]``: NaN in states that no game of the agent meets or in
        which no slide is allowed, and for slides that it never makes.  Raises `UsageError` without `layers`.
        """
        packed, won = self.boards.pack_played(boards, encoding=encoding)
        shape = (*packed.shape, len(self.boards.actions))
        if not self.states:
            return np.full(packed.shape, np.nan), np.full(shape, np.nan)
        known = self.visited
        keys, turn = self.boards.canonical(packed.ravel()) if self.turned else (packed.ravel(), 0)
        at = np.minimum(known.keys.searchsorted(keys), len(known.keys) - 1)
        there = (known.keys[at] == keys) & ~won.ravel()  # the key of a board that is won means nothing
        value = np.where(there, known.own_value[at], np.nan)
        q = np.where(there[:, None], known.own_q[at], np.nan)
        q = np.take_along_axis(q, self.boards.action_maps[turn].reshape(-1, q.shape[1]), axis=1)
        return value.reshape(packed.shape), q.reshape(shape)

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
        """The value as it is printed: a value that rounding may have made is less than the rounding."""
        return worth_text(self.value, self.rounding, self.objective)

    @property
    def regret_text(self) -> str:
        """The loss as it is printed."""
        return regret_text(self.regret, self.rounding, self.objective)

    @property
    def optimal_text(self) -> str:
        """The share of the best slides as it is printed."""
        return share_text(self.optimal) if self.optimal < 1 else "≈ 100 %"

    @property
    def game(self) -> Game:
        """What is played."""
        return self.boards.game

    def asked(self) -> tuple[Finding, ...]:
        """Return what the agent is worth, and optimal play."""
        player, what = player_text(self.name, self.plays_by), self.objective.text
        what = f"{what} after the first" if self.returns and self.objective.discount != 1 else what
        return findings_of(self.game, what, player, self.text, self.start)

    def __repr__(self) -> str:
        what = f"{'return, ' * self.returns}{self.objective.label}"
        return f"<Judgement of {self.name}: {what} {self.text}, regret {self.regret_text}>"

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
        """As plain JSON values, without the claim: an `Evaluation` that contains this makes it."""
        return {
            "policy": self.name,
            "plays_by": None if self.plays_by is None else self.plays_by.identity,
            "objective": self.objective.identity,
            "returns": self.returns,
            "value": self.value,
            "optimum": self.optimum,
            "regret": self.regret,
            "rounding": None if self.rounding == math.inf else self.rounding,
            "states": self.states,
            "optimal": self.optimal,
            "by_sum": [{"sum": s, "visits": p, "regret": lost} for s, (p, lost) in self.by_sum.items()],
            "by_tile": [{"tile": t, "visits": p, "regret": lost} for t, (p, lost) in self.by_tile.items()],
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
        if name not in self.judged:
            raise UsageError(f"no agent is named {name!r}: the agents are {', '.join(self.judged)}")
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


def judge(
    table: Table | Path | str,
    policy: Any,
    *,
    objective: str | None = None,
    symmetry: Symmetry = "check",
    worst: int = 100,
    batch: int = BATCH,
    keep: bool = False,
    returns: bool = False,
    name: str | None = None,
    **use: Unpack[Use],
) -> Judgement:
    """Compute the value of an agent, what it loses, and where, exactly but for the rounding of floats.

    Parameters
    ----------
    table:
        A table of reachable positions with values of `objective`, or where `open_table` finds it.
    policy:
        What `as_policy` takes, or what it returned.  It must answer equally for equal boards: one of
        `CHECKED`, or more, is asked again in another batch, and `UsageError` says if the answer differs.
    objective:
        Label of an objective of the table whose values are means in floats.  None: the first of the table.
        A table as the policy plays by its values of this objective if it has them, else by its first.
    symmetry:
        How turned boards are met.  ``canonical``: the agent is asked on the canonical board only, and its
        answer is turned.  ``check``: the same, but for one of `CHECKED` boards it is asked on a turned board,
        too, and `UsageError` says if it plays otherwise there.  ``none``: it is asked on every board, up to
        eight times as many.
    worst:
        How many of the worst decisions to return.
    batch:
        Most boards for which the agent is asked at once.
    keep:
        Whether to keep all states that the agent meets, as `Judgement.layers`: for A actions 40 + 33 A bytes
        each.
    returns:
        Whether values, losses and regrets are those of reinforcement learning, as in `TableArrays`.
    name:
        What the policy is called.  None: as its function or class.
    use:
        Memory, progress and the like: the keywords of `Use`.  One thread works.

    Raises
    ------
    UsageError
        If the agent answers with a wrong shape or a slide that is not allowed, or the table does not have
        such an objective.
    MissingBoardError
        If the table lacks a state that the agent meets.
    ResourceError
        Before it begins, if it is expected to take more than a week or more memory than there is (`cost_of`).
    """
    if worst < 0:
        raise UsageError(f"give at least 0 worst decisions, not {worst}")
    arrays, agent = _asked(table, policy, objective, symmetry, batch, returns=returns)
    table = arrays.table
    allowed, chosen = Allowance.of(**use), arrays.objective
    admit(_expected(arrays, agent, keep), allowed, lambda _: INSTEAD, sooner=SOONER)
    tally, pace = _Tally(arrays, worst), Pace(allowed.progress, "states")
    layers: list[Visited] = []
    for layer in walk(arrays, agent, discount=float(chosen.discount)):
        tally.add(layer)
        layers += [layer] if keep else []
        if pace.due():
            share = float(np.searchsorted(arrays.sums, layer.sum)) / max(len(arrays.sums), 1)
            pace.report(layer.sum, "judge", tally.states, min(share, 0.999))
    pace.report(max(arrays.sums, default=0), "done", tally.states, 1.0)
    start, regret = table.start[chosen.label], sum(lost for _, lost in tally.by_sum.values())
    error = table.rounding(chosen).error(float(start), 0)
    if returns and isinstance(start, Rounded):
        by = float(chosen.discount)
        start, error = replace(start, value=start.value / by, error=start.error / by), error / by
    # In each sum a visit takes at most eight roundings.
    rounding = error + 8 * len(tally.by_sum) * EPSILON * regret
    return Judgement(
        name=name or agent.policy.name, objective=chosen, start=start, regret=regret, rounding=rounding,
        states=tally.states, optimal=tally.optimal / tally.visits if tally.visits else 1.0,
        by_sum=tally.by_sum, by_tile=dict(sorted(tally.by_tile.items())), worst=tally.worst_decisions(),
        boards=arrays.boards, turned=agent.turned, layers=own_values(arrays, agent, layers),
        plays_by=agent.policy.by, returns=returns,
    )  # fmt: skip


def cost_of(
    table: Table | Path | str,
    policy: Any,
    *,
    objective: str | None = None,
    symmetry: Symmetry = "check",
    keep: bool = False,
) -> Estimate:
    """Estimate what `judge` takes.  The agent is asked on at most `TRIAL` boards to measure its time.

    How many states it meets is not known before: the estimate counts all states of the table.  Raises
    `UsageError` as `judge` does.
    """
    arrays, agent = _asked(table, policy, objective, symmetry, BATCH)
    return _expected(arrays, agent, keep)


def compare(
    table: Table | Path | str, policies: Mapping[str, Any], *, objective: str | None = None, **options: Any
) -> Comparison:
    """Judge several agents on one table.

    `policies` gives each agent a name; `options` are the others of `judge`.  Raises what `judge` raises.
    """
    if not policies or not isinstance(policies, Mapping):
        raise UsageError("name at least one policy to compare, as {name: policy}")
    table = open_table(table)
    options |= {"objective": objective}
    judged = {name: judge(table, one, name=name, **options) for name, one in policies.items()}
    random = judge(table, "random", **options | {"symmetry": "canonical", "worst": 0, "keep": False})
    return Comparison(judged, random.value, random.optimum)


def _asked(
    table: Table | Path | str,
    policy: Any,
    objective: str | None,
    symmetry: str,
    batch: int,
    *,
    returns: bool = False,
) -> tuple[TableArrays, Agent]:
    """Return the table and the agent as they are asked.  Raises `UsageError`."""
    arrays = TableArrays(table, objective, returns=returns)
    chosen = arrays.objective
    if not chosen.is_mean or chosen.is_bound:
        raise UsageError(f"an agent is judged by a mean in floats, as win or score, not by {chosen.label}")
    agent = Agent(as_policy(policy, arrays.game, objective=objective), symmetry, batch)
    return arrays, agent


def _expected(arrays: TableArrays, agent: Agent, keep: bool) -> Estimate:
    """Estimate what judging takes, with the time that the agent takes on boards of the largest layer."""
    sizes, boards, own = arrays.layer_sizes, arrays.boards, 0.0
    images = boards.order if agent.symmetry == "none" else 1
    kept = 40 + 33 * len(boards.actions) if keep else 0
    if sizes:
        afters = arrays.afterstates(max(sizes, key=lambda total: sizes[total]))[:TRIAL]
        states = boards.spawns(afters)[0]
        states = boards.least(states) if agent.turned else states
        won = np.array(
            [arrays.game.reached(int(total)) for total in sums_of(arrays.game, states)], dtype=bool
        )
        may = boards.slide(states).allowed
        playing = np.flatnonzero(may.any(axis=1) & ~won)[:TRIAL]
        if len(playing):
            began = time.process_time()
            agent.ask(states[playing], may[playing])
            own = (time.process_time() - began) / len(playing)
            own *= 1 + (2 if agent.symmetry == "check" else 1) / CHECKED
    live = arrays.table.manifest.counts.get("raw_live" if agent.symmetry == "none" else "live")
    return judging(arrays.game, sizes, live, images, own, kept)


def _chances(actions: tuple[str, ...], chances: Floats) -> dict[str, float]:
    """Return the slides that an agent may choose, the most probable first."""
    return {actions[a]: float(chances[a]) for a in np.argsort(-chances, kind="stable") if chances[a]}


class _Tally:
    """Adds up what an agent loses."""

    def __init__(self, arrays: TableArrays, worst: int) -> None:
        self.by_sum: dict[int, tuple[float, float]] = {}
        self.by_tile: dict[int, tuple[float, float]] = {}
        self.states, self.visits, self.optimal = 0, 0.0, 0.0
        self._arrays, self._worst = arrays, worst
        self._found: list[tuple[npt.NDArray[Any], ...]] = []

    def add(self, layer: Visited) -> None:
        """Add the states of one sum."""
        lost = layer.visits * layer.loss
        self.states += len(layer.keys)
        visits, regret = self.by_sum.get(layer.sum, (0.0, 0.0))
        self.by_sum[layer.sum] = visits + float(layer.visits.sum()), regret + float(lost.sum())
        self.visits += float(layer.visits.sum())
        self.optimal += float((layer.visits * np.where(layer.best, layer.chances, 0).sum(axis=1)).sum())
        tops = self._arrays.boards.tops(layer.keys)
        for top in np.unique(tops):
            mine, (visits, regret) = tops == top, self.by_tile.get(1 << int(top), (0.0, 0.0))
            self.by_tile[1 << int(top)] = (
                visits + float(layer.visits[mine].sum()), regret + float(lost[mine].sum())
            )  # fmt: skip
        self._keep_worst(layer)

    def _keep_worst(self, layer: Visited) -> None:
        """Keep the worst decisions up to here."""
        self._found.append((layer.keys, layer.visits, layer.loss, layer.chances, layer.best))
        columns = [np.concatenate(parts) for parts in zip(*self._found, strict=True)]
        regret = columns[1] * columns[2]
        order = np.lexsort((columns[0], -regret))[: self._worst]
        order = order[regret[order] > 0]
        self._found = [tuple(column[order] for column in columns)]

    def worst_decisions(self) -> tuple[Decision, ...]:
        """The worst decisions, the worst first."""
        game, actions = self._arrays.game, self._arrays.boards.actions
        table = Path(self._arrays.table.location.name).name
        return tuple(
            Decision(
                Board(game, game.unpack(int(key))), float(visits), float(loss),
                _chances(actions, chances),
                tuple(a for a, yes in zip(actions, best, strict=True) if yes), table,
            )
            for keys, *columns in self._found
            for key, visits, loss, chances, best in zip(keys, *columns, strict=True)
        )  # fmt: skip
