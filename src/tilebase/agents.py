"""The exact value and loss of an agent that is asked for many boards at once.

Games are followed sum by sum: each state has the probability that a game meets it.  What a decision loses
is known from the table, so the value of the agent is that of optimal play less the sum of what it loses:

    V*(start) - V_agent(start) = sum over states of P(state) * (V*(state) - sum over slides of p * Q*(slide))

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

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from tilebase.arrays import BATCH, Flags, Floats, GameArrays, Keys, Probed, TableArrays, by_sum
from tilebase.errors import UsageError
from tilebase.game.board import Board
from tilebase.objectives.numbers import digits_text
from tilebase.objectives.objective import Objective
from tilebase.runtime.progress import Pace, Progress
from tilebase.sparse.flow import Flow
from tilebase.sparse.reading import merge_weights
from tilebase.tables.probe import Table

BatchPolicy: TypeAlias = Callable[[npt.NDArray[np.uint8], Flags], npt.ArrayLike]
"""``policy(boards, allowed)``: exponents ``uint8[n, *shape]`` and allowed actions ``bool[n, A]``, to actions
``int[n]`` or to probabilities ``float[n, A]``."""
Symmetry: TypeAlias = Literal["canonical", "check", "none"]

SYMMETRIES = ("canonical", "check", "none")
EPSILON = float(np.finfo(np.float64).eps)
SUM_ERROR = 1e-6
"""How far the probabilities of a state may be from the sum 1, since agents compute in 32 bits."""


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
    """

    sum: int
    keys: Keys
    visits: Floats
    value: Floats
    q: Floats
    chances: Floats
    loss: Floats
    best: Flags


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
    policy: BatchPolicy,
    *,
    objective: str | None = None,
    symmetry: Symmetry = "canonical",
    worst: int = 100,
    batch: int = BATCH,
    keep: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Judgement:
    """Compute the value of an agent, what it loses, and where, exactly but for the rounding of floats.

    Parameters
    ----------
    table:
        A table of reachable positions with values of `objective`.
    policy:
        A `BatchPolicy`.  It must answer equally for equal boards.
    objective:
        Label of an objective of the table whose values are means in floats.  None: the first of the table.
    symmetry:
        How turned boards are met.  ``canonical``: the agent is asked on the canonical board only, and its
        answer is turned.  ``check``: the same, but it is asked on a turned board, too, and `UsageError` says
        if it plays otherwise there.  ``none``: it is asked on every board, up to eight times as many.
    worst:
        How many of the worst decisions to return.
    batch:
        Most boards for which the agent is asked at once.
    keep:
        Whether to keep all states that the agent meets, as `Judgement.layers`: for A actions 25 + 18 A bytes
        each.
    progress:
        Called with a `Progress` several times a second.

    Raises
    ------
    UsageError
        If the agent answers with a wrong shape or a slide that is not allowed, or the table does not have
        such an objective or lacks a state that the agent meets.
    """
    if symmetry not in SYMMETRIES:
        raise UsageError(f"symmetry must be one of {', '.join(SYMMETRIES)}, not {symmetry!r}")
    if not callable(policy):
        raise UsageError(f"the policy must be a function of boards and allowed actions, not {policy!r}")
    if worst < 0 or batch < 1:
        raise UsageError("give at least 0 worst decisions, and at least 1 board a batch")
    arrays = TableArrays(table, objective)
    chosen = arrays.objective
    if not chosen.is_mean or chosen.is_bound:
        raise UsageError(f"an agent is judged by a mean in floats, as win or score, not by {chosen.label}")
    agent = _Agent(arrays.boards, policy, symmetry, batch)
    tally, pace = _Tally(arrays, worst), Pace(progress, "states")
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
        name=getattr(policy, "__name__", type(policy).__name__), objective=chosen, optimum=optimum,
        regret=regret, rounding=rounding, states=tally.states,
        optimal=tally.optimal / tally.visits if tally.visits else 1.0, by_sum=tally.by_sum,
        by_tile=dict(sorted(tally.by_tile.items())), worst=tally.worst_decisions(), layers=tuple(layers),
    )  # fmt: skip


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
    layers = _walk(arrays, _Optimal(arrays.boards))
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

    def __init__(self, boards: GameArrays, policy: BatchPolicy, symmetry: str, batch: int) -> None:
        self.boards, self.symmetry = boards, symmetry
        self._policy, self._batch = policy, batch
        self._rng = np.random.default_rng(0)

    def canonical(self, keys: Keys) -> Keys:
        """The boards on which the agent is asked."""
        return keys if self.symmetry == "none" else self.boards.canonical(keys)[0]

    def probabilities(self, keys: Keys, found: Probed) -> Floats:
        """``p[n, A]``: the probability of each slide in states that have one."""
        allowed = found.allowed
        chances = np.concatenate(
            [np.zeros((0, allowed.shape[1]))]
            + [
                self._ask(keys[at : at + self._batch], allowed[at : at + self._batch])
                for at in range(0, len(keys), self._batch)
            ]
        )
        if self.symmetry == "check" and len(keys):
            self._compare(keys, allowed, chances)
        return chances

    def _ask(self, keys: Keys, allowed: Flags) -> Floats:
        n, actions = allowed.shape
        answer = np.asarray(self._policy(self.boards.unpack(keys), allowed.copy()))
        if answer.dtype.kind in "iu" and answer.shape == (n,):
            outside = (answer < 0) | (answer >= actions)
            if outside.any():
                raise UsageError(
                    f"the policy answers {int(answer[outside][0])}, but actions are 0 to {actions - 1}"
                )
            chances = np.zeros((n, actions))
            chances[np.arange(n), answer] = 1.0
        elif answer.dtype.kind == "f" and answer.shape == (n, actions):
            chances = answer.astype(np.float64)
            # Written in this form so that NaN is refused, too.
            if not ((chances >= 0).all() and (np.abs(chances.sum(axis=1) - 1) <= SUM_ERROR).all()):
                raise UsageError("the probabilities of the policy must be at least 0 and add up to 1")
            chances /= chances.sum(axis=1, keepdims=True)
        else:
            raise UsageError(
                f"the policy answers an array {list(answer.shape)} of {answer.dtype}; {n} boards need "
                f"{n} whole numbers, or floats [{n}, {actions}]"
            )
        wrong = (chances > 0) & ~allowed
        if wrong.any():
            at, action = np.argwhere(wrong)[0]
            raise UsageError(
                f"the policy slides {self.boards.actions[action]} on {self._text(keys[at])}, "
                "which is not allowed"
            )
        return chances

    def _compare(self, keys: Keys, allowed: Flags, chances: Floats) -> None:
        """Raise `UsageError` if the agent answers otherwise on boards turned at random."""
        maps = self.boards.action_maps
        turn = self._rng.integers(0, len(maps), len(keys))
        turned = self.boards.turned(keys, turn)
        expected, there = np.zeros_like(chances), np.zeros_like(allowed)
        rows = np.arange(len(keys))[:, None]
        expected[rows, maps[turn]], there[rows, maps[turn]] = chances, allowed
        found = np.concatenate(
            [self._ask(turned[at : at + self._batch], there[at : at + self._batch])
             for at in range(0, len(keys), self._batch)]
        )  # fmt: skip
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
        found = arrays.probe_keys(keys)
        if not found.known.all():
            first = int(keys[int((~found.known).argmax())])
            raise arrays.table.prober.missing(game.unpack(first))
        going = found.allowed.any(axis=1)
        if going.any():
            keys, visits = keys[going], visits[going]
            found = Probed._make(column[going] for column in found)
            chances = agent.probabilities(keys, found)
            below = found.value - (chances * np.nan_to_num(found.q)).sum(axis=1)
            loss = np.maximum(arrays.objective.told(below), 0)
            yield Visited(total, keys, visits, found.value, found.q, chances, loss, found.best)
            if not game.ended(total):
                _spread(arrays, agent, flow, keys, visits, chances)


def _spread(
    arrays: TableArrays, agent: _Agent | _Optimal, flow: Flow, keys: Keys, visits: Floats, chances: Floats
) -> None:
    """Add the states that follow."""
    boards = arrays.boards
    slid = boards.slide(keys)
    taken = (chances > 0) & ~slid.wins
    weights = (visits[:, None] * chances)[taken] * float(arrays.objective.discount)
    afters, weights = merge_weights(agent.canonical(slid.after[taken]), weights)
    states, origin, chance = boards.spawns(afters)
    states, weights = merge_weights(agent.canonical(states), weights[origin] * chance)
    for following, mine in by_sum(arrays.game, states):
        flow.add(following, states[mine], weights[mine])


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
        self.by_sum[layer.sum] = float(layer.visits.sum()), float(lost.sum())
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
