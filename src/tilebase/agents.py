"""The exact value and loss of an agent that is asked for many boards at once.

Games are followed sum by sum: each state has the probability that a game meets it.  What a decision loses
is known from the table, so the value of the agent is that of optimal play less the sum of what it loses:

    V*(start) - V_agent(start) = sum over states of P(state) * (V*(state) - sum over slides of p * Q*(slide))

What is in memory is the states of a sum and of those that follow, and what is computed for `PIECE` states.

>>> from tempfile import TemporaryDirectory
>>> from tilebase import Game, open_table, solve
>>> def first_allowed(boards, allowed):
...     return allowed.argmax(axis=1)
>>> with TemporaryDirectory() as folder:
...     solution = solve(Game("2x2", 32), table=folder)
...     with open_table(folder) as table:
...         judged = judge(table, first_allowed, symmetry="none")
>>> f"{judged.value:.6f}", f"{judged.regret:.6f}", judged.states
('0.000247', '0.082640', 188)
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, Unpack
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from tilebase.arrays import BATCH, Flags, Floats, GameArrays, Keys, Probed, TableArrays, by_sum, sums_of
from tilebase.costs.estimate import Estimate, admit
from tilebase.costs.tables import judging
from tilebase.errors import UsageError
from tilebase.game.board import Board
from tilebase.objectives.numbers import digits_text
from tilebase.objectives.objective import Objective
from tilebase.policies import SUM_ERROR, ArrayPolicy, as_policy
from tilebase.runtime.html import table_html
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Allowance, Use
from tilebase.sparse.flow import Flow
from tilebase.sparse.reading import merge_weights
from tilebase.tables.probe import Table

Symmetry: TypeAlias = Literal["canonical", "check", "none"]

SYMMETRIES = ("canonical", "check", "none")
EPSILON = float(np.finfo(np.float64).eps)
SHOWN = 10
"""Decisions that a notebook shows."""
PIECE = 1 << 18
"""States of a sum that are followed at a time."""
CHECKED = 8
"""One of so many boards is also asked turned, where an agent is checked."""
TRIAL = 4096
"""Boards of one sum on which the time of an agent is measured before it is judged."""


class Decision(NamedTuple):
    """A state in which an agent loses.

    Attributes
    ----------
    board:
        The state.
    visits:
        The probability that a game meets it; the mean number of times, discounted if the objective is.
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
        ``uint64[n]``, ascending, and ``float64[n]``: as in `Decision`.
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
        return {
            "policy": self.name,
            "objective": self.objective.identity,
            "value": self.value,
            "optimum": self.optimum,
            "regret": self.regret,
            "rounding": self.rounding,
            "states": self.states,
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


def judge(
    table: Table,
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
        A table of reachable positions with values of `objective`.
    policy:
        What `as_policy` takes, or what it returned.  It must answer equally for equal boards.
    objective:
        Label of an objective of the table whose values are means in floats.  None: the first of the table.
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
    allowed, chosen = Allowance.of(**use), arrays.objective
    admit(_expected(arrays, agent, keep), allowed, lambda _: INSTEAD)
    tally, pace = _Tally(arrays, worst), Pace(allowed.progress, "states")
    layers: list[Visited] = []
    for layer in _walk(arrays, agent):
        tally.add(layer)
        layers += [layer] if keep else []
        if pace.due():
            share = float(np.searchsorted(arrays.sums, layer.sum)) / max(len(arrays.sums), 1)
            pace.report(layer.sum, "judge", tally.states, min(share, 0.999))
    pace.report(max(arrays.sums, default=0), "done", tally.states, 1.0)
    optimum, regret = float(table.start[chosen.label]), sum(lost for _, lost in tally.by_sum.values())
    # In each sum a visit takes at most eight roundings.
    rounding = table.rounding(chosen).error(optimum, 0) + 8 * len(tally.by_sum) * EPSILON * regret
    return Judgement(
        name=agent.policy.name, objective=chosen, optimum=optimum, regret=regret, rounding=rounding,
        states=tally.states, optimal=tally.optimal / tally.visits if tally.visits else 1.0,
        by_sum=tally.by_sum, by_tile=dict(sorted(tally.by_tile.items())), worst=tally.worst_decisions(),
        layers=_own_values(arrays, agent, layers),
    )  # fmt: skip


def cost_of(
    table: Table,
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
    table: Table, policies: Mapping[str, Any], *, objective: str | None = None, **options: Any
) -> Comparison:
    """Judge several agents on one table.

    `policies` gives each agent a name; `options` are those of `judge`.  Raises what `judge` raises.
    """
    if not policies:
        raise UsageError("name at least one policy to compare")
    judged = {name: judge(table, one, objective=objective, **options) for name, one in policies.items()}
    random = judge(table, "random", objective=objective, symmetry="canonical", worst=0)
    return Comparison(
        {name: replace(one, name=name) for name, one in judged.items()}, random.value, random.optimum
    )


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


INSTEAD = "play random games instead (games= of tilebase.evaluate), or judge it in a smaller game"


def _asked(
    table: Table, policy: Any, objective: str | None, symmetry: str, batch: int
) -> tuple[TableArrays, _Agent]:
    """Return the table and the agent as they are asked.  Raises `UsageError`."""
    if symmetry not in SYMMETRIES:
        raise UsageError(f"symmetry must be one of {', '.join(SYMMETRIES)}, not {symmetry!r}")
    arrays = TableArrays(table, objective)
    chosen = arrays.objective
    if not chosen.is_mean or chosen.is_bound:
        raise UsageError(f"an agent is judged by a mean in floats, as win or score, not by {chosen.label}")
    agent = _Agent(arrays.boards, as_policy(policy, table.game), symmetry, batch)
    return arrays, agent


def _expected(arrays: TableArrays, agent: _Agent, keep: bool) -> Estimate:
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
            own *= 1 + 1 / CHECKED if agent.symmetry == "check" else 1
    return judging(arrays.game, sizes, images, own, kept)


def optimal_visits(arrays: TableArrays) -> Iterator[tuple[int, Keys, Floats]]:
    """Yield the states that optimal play meets: sums, ascending, keys ``uint64[n]``, visits ``float64[n]``.

    Keys are canonical and ascending.  Visits are probabilities, discounted if the objective is.  Of several
    best slides, one is made that wins at once, else the first in the order of the directions, as `Table`
    chooses.  Raises `UsageError` if the values of the objective are not means.
    """
    if not arrays.objective.is_mean:
        raise UsageError(
            f"optimal play is followed by a mean, as win or score, not by {arrays.objective.label}"
        )
    layers = map(_joined, _by_sum(_walk(arrays, _Optimal(arrays.boards))))
    return ((layer.sum, layer.keys, layer.visits) for layer in layers)


class _Optimal:
    """Chooses the best slides."""

    def __init__(self, boards: GameArrays) -> None:
        self._boards = boards

    def canonical(self, keys: Keys) -> Keys:
        """The boards that are played."""
        return self._boards.canonical(keys)[0]

    def probabilities(self, keys: Keys, found: Probed) -> Floats:
        """``p[n, A]``: 1 for the slide that is made."""
        winning = found.best & self._boards.slide(keys).wins
        chances = np.zeros(found.best.shape)
        made = np.where(winning.any(axis=1, keepdims=True), winning, found.best).argmax(axis=1)
        chances[np.arange(len(keys)), made] = 1.0
        return chances


class _Agent:
    """Asks a policy and checks what it answers."""

    def __init__(self, boards: GameArrays, policy: ArrayPolicy, symmetry: str, batch: int) -> None:
        self.boards, self.symmetry, self.policy = boards, symmetry, policy
        self._batch = batch
        self._rng = np.random.default_rng(0)

    def canonical(self, keys: Keys) -> Keys:
        """The boards on which the agent is asked."""
        return keys if self.symmetry == "none" else self.boards.canonical(keys)[0]

    def probabilities(self, keys: Keys, found: Probed) -> Floats:
        """``p[n, A]``: the probability of each slide in states that have one."""
        allowed = found.allowed
        chances = self.ask(keys, allowed)
        if self.symmetry == "check":
            some = self._rng.random(len(keys)) * CHECKED < 1
            some[:1] = True
            self._compare(keys[some], allowed[some], chances[some])
        return chances

    def ask(self, keys: Keys, allowed: Flags) -> Floats:
        """The probability of each slide, asked for a batch of boards at a time."""
        pieces = [slice(at, at + self._batch) for at in range(0, len(keys), self._batch)]
        asked = [self.policy.probabilities(keys[part], allowed[part]) for part in pieces]
        return np.concatenate(asked) if asked else np.zeros(allowed.shape)

    def _compare(self, keys: Keys, allowed: Flags, chances: Floats) -> None:
        """Raise `UsageError` if the agent answers otherwise on boards turned at random."""
        maps = self.boards.action_maps
        turn = self._rng.integers(0, len(maps), len(keys))
        turned = self.boards.turned(keys, turn)
        expected, there = np.zeros_like(chances), np.zeros_like(allowed)
        rows = np.arange(len(keys))[:, None]
        expected[rows, maps[turn]], there[rows, maps[turn]] = chances, allowed
        found = self.ask(turned, there)
        # A board that is its own image under a symmetry may be played in either of the equivalent ways.
        plain = self.boards.stabilisers(keys) == 1
        wrong = plain & (np.abs(found - expected).max(axis=1) > SUM_ERROR)
        if wrong.any():
            at = int(wrong.argmax())
            raise UsageError(
                f"the policy plays otherwise on {self._text(turned[at])} than on {self._text(keys[at])}, "
                "which is the same board turned: judge it with the symmetry none"
            )

    def _text(self, key: Any) -> str:
        game = self.boards.game
        return game.format(game.unpack(int(key)))


def _walk(arrays: TableArrays, agent: _Agent | _Optimal) -> Iterator[Visited]:
    """Follow all games of an agent, from the smallest sum up; yield the states in which it slides."""
    game, flow = arrays.game, Flow()
    for board, p in game.starts():
        key = np.array([game.pack(board)], dtype=np.uint64)
        flow.add(game.sum(board), agent.canonical(key), np.array([float(p)]))
    while flow:
        total, columns = flow.pop()
        keys, visits = merge_weights(*columns)
        if game.reached(total):
            continue
        for begin in range(0, len(keys), PIECE):
            part = slice(begin, begin + PIECE)
            layer = _decided(arrays, agent, total, keys[part], visits[part])
            if len(layer.keys):
                yield layer
                if not game.ended(total):
                    _spread(arrays, agent, flow, layer)


def _decided(
    arrays: TableArrays, agent: _Agent | _Optimal, total: int, keys: Keys, visits: Floats
) -> Visited:
    """Return those of some states of a sum in which a slide is allowed, and what the agent does there."""
    found = arrays.probe_keys(keys)
    if not found.known.all():
        first = int(keys[int((~found.known).argmax())])
        raise arrays.table.prober.missing(arrays.game.unpack(first))
    going = found.allowed.any(axis=1)
    keys, visits = keys[going], visits[going]
    found = Probed._make(column[going] for column in found)
    chances = agent.probabilities(keys, found)
    below = found.value - (chances * np.nan_to_num(found.q)).sum(axis=1)
    loss = np.maximum(arrays.objective.told(below), 0)
    return Visited(
        total, keys, visits, found.value, found.q, chances, loss, found.best, found.value[:0], found.q[:0]
    )


def _spread(arrays: TableArrays, agent: _Agent | _Optimal, flow: Flow, layer: Visited) -> None:
    """Add the states that follow."""
    boards = arrays.boards
    slid = boards.slide(layer.keys)
    taken = (layer.chances > 0) & ~slid.wins
    weights = (layer.visits[:, None] * layer.chances)[taken] * float(arrays.objective.discount)
    afters, weights = merge_weights(agent.canonical(slid.after[taken]), weights)
    states, origin, chance = boards.spawns(afters)
    states, weights = merge_weights(agent.canonical(states), weights[origin] * chance)
    for following, mine in by_sum(arrays.game, states):
        flow.add(following, states[mine], weights[mine])
    flow.merge(PIECE)


def _by_sum(layers: Iterable[Visited]) -> Iterator[list[Visited]]:
    """Yield the pieces of each sum."""
    return (list(pieces) for _, pieces in groupby(layers, key=lambda layer: layer.sum))


def _joined(pieces: list[Visited]) -> Visited:
    """Return the pieces of one sum as one."""
    if len(pieces) == 1:
        return pieces[0]
    total, *columns = zip(*pieces, strict=True)
    return Visited(total[0], *map(np.concatenate, columns))


def _own_values(arrays: TableArrays, agent: _Agent, layers: Iterable[Visited]) -> tuple[Visited, ...]:
    """Add the values under the agent to all states that it meets, from the largest sum down.

    What it gets less than optimal play from a state on is what it loses there, and what it then gets less on
    average after its slides and the spawns.
    """
    behind: dict[int, tuple[Keys, Floats]] = {}
    done: list[Visited] = []
    told, discount = arrays.objective.told, float(arrays.objective.discount)
    for layer in map(_joined, reversed([*_by_sum(layers)])):
        later = np.zeros(layer.q.shape)
        slid = arrays.boards.slide(layer.keys)
        taken = (layer.chances > 0) & ~slid.wins
        if not arrays.game.ended(layer.sum):
            states, origin, chance = arrays.boards.spawns(slid.after[taken])
            states, lost = agent.canonical(states), np.zeros(len(states))
            for total, mine in by_sum(arrays.game, states):
                if total in behind:
                    keys, less = behind[total]
                    at = np.minimum(keys.searchsorted(states[mine]), len(keys) - 1)
                    lost[mine] = np.where(keys[at] == states[mine], less[at], 0.0)  # else the game is over
            later[taken] = discount * np.bincount(origin, lost * chance, minlength=int(taken.sum()))
        less = layer.loss + (layer.chances * later).sum(axis=1)
        behind[layer.sum] = layer.keys, less
        done.append(
            layer._replace(
                own_value=layer.value - told(less),
                own_q=np.where(layer.chances > 0, layer.q - told(later), np.nan),
            )
        )
    return tuple(reversed(done))


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
                actions[int(chances.argmax())],
                tuple(a for a, yes in zip(actions, best, strict=True) if yes), table,
            )
            for keys, *columns in self._found
            for key, visits, loss, chances, best in zip(keys, *columns, strict=True)
        )  # fmt: skip
