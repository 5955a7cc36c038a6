"""Judges an agent: what it is worth, and where it loses, after an estimate of what this takes.

A value function is compared with the exact values of a table, over the states that matter.

>>> from tempfile import TemporaryDirectory
>>> from tilebase import Game, open_table, solve
>>> with TemporaryDirectory() as folder:
...     solution = solve(Game("2x2", 32), table=folder)
...     with open_table(folder) as table:
...         found = value_error(table, lambda boards: np.full(len(boards), 0.1), weights="optimal")
>>> f"{found.absolute:.6f}", found.states
('0.032623', 57)
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from tilebase.agents.following import (
    CHECKED,
    PIECE,
    SYMMETRIES,
    Agent,
    Symmetry,
    checked_rows,
    own_values,
    visited_states,
    walk,
)
from tilebase.agents.results import Comparison, Decision, Judgement, Visited
from tilebase.arrays import BATCH, Floats, Keys, TableArrays, sums_of
from tilebase.costs.estimate import Estimate, admit
from tilebase.costs.reachable import judging
from tilebase.errors import UsageError
from tilebase.game.board import Board
from tilebase.policies import as_policy
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Allowance, Use
from tilebase.tables.probe import Table, open_table

EPSILON = float(np.finfo(np.float64).eps)
TRIAL = 4096
"""Boards of one sum on which the time of an agent is measured before it is judged."""
INSTEAD = "play random games instead (games= of tilebase.evaluate), or judge it in a smaller game"


def judge(
    table: Table | Path | str,
    policy: Any,
    *,
    objective: str | None = None,
    symmetry: Symmetry = "check",
    worst: int = 100,
    batch: int = BATCH,
    keep: bool = False,
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
    use:
        Memory, progress and the like: the keywords of `Use`.  One thread works.

    Raises
    ------
    UsageError
        If the agent answers with a wrong shape or a slide that is not allowed, or the table does not have
        such an objective or lacks a state that the agent meets.
    ResourceError
        Before it begins, if it is expected to take more than a week or more memory than there is (`cost_of`).
    """
    if worst < 0 or batch < 1:
        raise UsageError("give at least 0 worst decisions, and at least 1 board a batch")
    arrays, agent = _asked(table, policy, objective, symmetry, batch)
    table = arrays.table
    allowed, chosen = Allowance.of(**use), arrays.objective
    admit(_expected(arrays, agent, keep), allowed, lambda _: INSTEAD)
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
    # In each sum a visit takes at most eight roundings.
    rounding = table.rounding(chosen).error(float(start), 0) + 8 * len(tally.by_sum) * EPSILON * regret
    return Judgement(
        name=agent.policy.name, objective=chosen, start=start, regret=regret, rounding=rounding,
        states=tally.states, optimal=tally.optimal / tally.visits if tally.visits else 1.0,
        by_sum=tally.by_sum, by_tile=dict(sorted(tally.by_tile.items())), worst=tally.worst_decisions(),
        layers=own_values(arrays, agent, layers), by=agent.policy.by,
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

    `policies` gives each agent a name; `options` are those of `judge`.  Raises what `judge` raises.
    """
    if not policies or not isinstance(policies, Mapping):
        raise UsageError("name at least one policy to compare, as {name: policy}")
    table = open_table(table)
    judged = {name: judge(table, one, objective=objective, **options) for name, one in policies.items()}
    random = judge(table, "random", objective=objective, symmetry="canonical", worst=0)
    return Comparison(
        {name: replace(one, name=name) for name, one in judged.items()}, random.value, random.optimum
    )


def _asked(
    table: Table | Path | str, policy: Any, objective: str | None, symmetry: str, batch: int
) -> tuple[TableArrays, Agent]:
    """Return the table and the agent as they are asked.  Raises `UsageError`."""
    if symmetry not in SYMMETRIES:
        raise UsageError(f"symmetry must be one of {', '.join(SYMMETRIES)}, not {symmetry!r}")
    arrays = TableArrays(table, objective)
    chosen = arrays.objective
    if not chosen.is_mean or chosen.is_bound:
        raise UsageError(f"an agent is judged by a mean in floats, as win or score, not by {chosen.label}")
    agent = Agent(arrays.boards, as_policy(policy, arrays.game, objective=objective), symmetry, batch)
    return arrays, agent


def _expected(arrays: TableArrays, agent: Agent, keep: bool) -> Estimate:
    """Estimate what judging takes, with the time that the agent takes on boards of the largest layer."""
    sizes, boards, own = arrays.layer_sizes, arrays.boards, 0.0
    images = boards.order if agent.symmetry == "none" else 1
    kept = 40 + 33 * len(boards.actions) if keep else 0
    if sizes:
        afters = arrays.afterstates(max(sizes, key=lambda total: sizes[total]))[:TRIAL]
        states = agent.canonical(boards.spawns(afters)[0])
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
                {actions[a]: float(chances[a]) for a in np.argsort(-chances, kind="stable") if chances[a]},
                tuple(a for a, yes in zip(actions, best, strict=True) if yes), table,
            )
            for keys, *columns in self._found
            for key, visits, loss, chances, best in zip(keys, *columns, strict=True)
        )  # fmt: skip


# -- value functions -------------------------------------------------------------------------------


ValueFunction = Callable[[npt.NDArray[np.uint8]], npt.ArrayLike]
"""``function(boards)``: exponents ``uint8[n, *shape]`` to values ``float[n]``."""
REPEATED = 1e-4
"""How far an answer may be from the first one, in relation to the largest: networks round."""


@dataclass(frozen=True)
class ValueErrors:
    """The errors of a value function: what it says less the value of the table.

    Attributes
    ----------
    states:
        How many states were compared.
    bias, absolute, squared:
        The mean error, the mean of its size, and the root of the mean of its square, by weight.
    largest, board:
        The error that is the largest in size, and where it is.
    by_sum:
        ``by_sum[s]``: the weight of the states of sum s, and the mean size of their errors.
    """

    states: int
    bias: float
    absolute: float
    squared: float
    largest: float
    board: Board
    by_sum: dict[int, tuple[float, float]] = field(repr=False)


def value_error(
    table: Table | Path | str,
    function: ValueFunction,
    *,
    weights: Any = "uniform",
    objective: str | None = None,
    symmetry: Symmetry = "check",
    batch: int = BATCH,
) -> ValueErrors:
    """Compare a value function with a table, on states in which a slide is allowed.

    Parameters
    ----------
    table:
        A table of reachable positions, or where `open_table` finds it.
    function:
        A `ValueFunction`; it is asked on canonical boards, and on all boards with the symmetry ``none``.
        As of an agent, some boards are asked again.
    weights:
        ``uniform``: each state of the table up to symmetry has the weight 1; ``optimal``: how often optimal
        play meets it; or a policy, as `judge` takes it: how often this meets it.
    objective:
        Label of an objective of the table; None for the first.
    symmetry, batch:
        As in `judge`, of the policy.

    Raises
    ------
    UsageError
        If the function answers with a wrong shape or NaN, does not repeat its answers, or as `judge` does.
    """
    arrays, boards = TableArrays(table, objective), 0
    total = bias = absolute = squared = 0.0
    worst, where = 0.0, np.uint64(0)
    by_sum: dict[int, tuple[float, float]] = {}
    for at, keys, value, weight in _weighed(arrays, weights, symmetry, batch):
        given = _answers(function, arrays, keys, batch)
        some = checked_rows(np.random.default_rng(at), len(keys))
        differ = np.abs(_answers(function, arrays, keys[some], batch) - given[some])
        if differ.max() > REPEATED * np.abs(given).max():
            board = arrays.game.format(arrays.game.unpack(int(keys[some[differ.argmax()]])))
            raise UsageError(
                f"the value function answers otherwise when it is asked again about {board}: switch off what "
                "is random in it, such as dropout"
            )
        error = given - value
        size = np.abs(error)
        if boards == 0 or size.max() > abs(worst):
            worst, where = float(error[size.argmax()]), keys[size.argmax()]
        boards += len(keys)
        here, lost = float(weight.sum()), float((weight * size).sum())
        before = by_sum.get(at, (0.0, 0.0))
        by_sum[at] = before[0] + here, before[1] + lost
        total, absolute = total + here, absolute + lost
        bias, squared = bias + float((weight * error).sum()), squared + float((weight * error**2).sum())
    if not total:
        raise UsageError(f"{arrays.table.location.name} has no state in which a slide is allowed")
    return ValueErrors(
        boards, bias / total, absolute / total, math.sqrt(squared / total), worst,
        Board(arrays.game, arrays.game.unpack(int(where))),
        {at: (here, lost / here if here else 0.0) for at, (here, lost) in by_sum.items()},
    )  # fmt: skip


def _weighed(
    arrays: TableArrays, weights: Any, symmetry: Symmetry, batch: int
) -> Iterator[tuple[int, Keys, Floats, Floats]]:
    """Yield sums, states, their values and weights, in pieces."""
    if isinstance(weights, str) and weights == "uniform":
        for layer in arrays.iter_layers("states", most=PIECE):
            live = layer.allowed.any(axis=1)
            if live.any():
                yield layer.sum, layer.keys[live], layer.value[live], np.ones(int(live.sum()))
        return
    for met in visited_states(arrays, weights, symmetry=symmetry, batch=batch):
        yield met.sum, met.keys, met.value, met.visits


def _answers(function: ValueFunction, arrays: TableArrays, keys: Keys, batch: int) -> Floats:
    """Return the values that a function gives to states.  Raises `UsageError`."""
    found = []
    for at in range(0, len(keys), batch):
        part = keys[at : at + batch]
        try:
            answer = np.asarray(function(arrays.boards.unpack(part)))
        except Exception as error:  # the user's function may raise anything
            raise UsageError(
                f"the value function fails on {len(part)} boards: {type(error).__name__}: {error}"
            ) from error
        if answer.dtype.kind not in "iuf" or answer.shape != (len(part),):
            raise UsageError(
                f"the value function answers an array {list(answer.shape)} of {answer.dtype}; "
                f"{len(part)} boards need {len(part)} numbers"
            )
        if np.isnan(answer).any():
            raise UsageError("the value function answers NaN")
        found.append(answer.astype(np.float64))
    return np.concatenate(found)
