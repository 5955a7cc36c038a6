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

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tilebase.arrays import BATCH, Flags, Floats, GameArrays, Keys, TableArrays, by_sum
from tilebase.errors import UsageError
from tilebase.game.board import Board
from tilebase.game.game import Game
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
    """

    board: Board
    visits: float
    loss: float
    chosen: str
    best: tuple[str, ...]

    @property
    def regret(self) -> float:
        """What the decision takes from the value of the start."""
        return self.visits * self.loss


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
    worst:
        The decisions that lose most, the worst first.
    """

    name: str
    objective: Objective
    optimum: float
    regret: float
    rounding: float
    states: int
    optimal: float
    by_sum: dict[int, tuple[float, float]]
    worst: tuple[Decision, ...]

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
            "worst": [
                {
                    "board": one.board.text, "visits": one.visits, "loss": one.loss, "chosen": one.chosen,
                    "best": list(one.best),
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
    walk = _Walk(arrays, agent, worst, Pace(progress, "states"))
    walk.run()
    optimum, regret = float(table.start[chosen.label]), sum(lost for _, lost in walk.by_sum.values())
    # In each sum a visit takes at most eight roundings.
    rounding = table.rounding(chosen).error(optimum, 0) + 8 * len(walk.by_sum) * EPSILON * regret
    return Judgement(
        name=getattr(policy, "__name__", type(policy).__name__), objective=chosen, optimum=optimum,
        regret=regret, rounding=rounding, states=walk.states,
        optimal=walk.optimal / walk.visits if walk.visits else 1.0, by_sum=walk.by_sum,
        worst=walk.worst_decisions(),
    )  # fmt: skip


class _Agent:
    """Asks a policy and checks what it answers."""

    def __init__(self, boards: GameArrays, policy: BatchPolicy, symmetry: str, batch: int) -> None:
        self.boards, self.symmetry = boards, symmetry
        self._policy, self._batch = policy, batch
        self._rng = np.random.default_rng(0)

    def canonical(self, keys: Keys) -> Keys:
        """The boards on which the agent is asked."""
        return keys if self.symmetry == "none" else self.boards.canonical(keys)[0]

    def probabilities(self, keys: Keys, allowed: Flags) -> Floats:
        """``p[n, A]``: the probability of each slide in states that have one."""
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


class _Walk:
    """Follows the games of an agent, from the smallest sum up."""

    def __init__(self, arrays: TableArrays, agent: _Agent, worst: int, pace: Pace) -> None:
        self.by_sum: dict[int, tuple[float, float]] = {}
        self.states, self.visits, self.optimal = 0, 0.0, 0.0
        self._arrays, self._agent, self._worst, self._pace = arrays, agent, worst, pace
        self._game: Game = arrays.game
        self._found: list[tuple[Keys, Floats, Floats, Floats, Flags]] = []
        self._flow = Flow()

    def run(self) -> None:
        """Follow all games."""
        for board, p in self._game.starts():
            key = np.array([self._game.pack(board)], dtype=np.uint64)
            self._flow.add(self._game.sum(board), self._agent.canonical(key), np.array([float(p)]))
        sums = self._arrays.sums
        while self._flow:
            total, columns = self._flow.pop()
            self._layer(total, *merge_weights(*columns))
            if self._pace.due():
                share = float(np.searchsorted(sums, total)) / max(len(sums), 1)
                self._pace.report(total, "judge", self.states, min(share, 0.999))
        self._pace.report(max(sums, default=0), "done", self.states, 1.0)

    def _layer(self, total: int, keys: Keys, visits: Floats) -> None:
        """The states of one sum, with their visits."""
        if self._game.reached(total):
            return
        found = self._arrays.probe_keys(keys)
        if not found.known.all():
            first = int(keys[int((~found.known).argmax())])
            raise self._arrays.table.prober.missing(self._game.unpack(first))
        going = found.allowed.any(axis=1)
        keys, visits, value, best = keys[going], visits[going], found.value[going], found.best[going]
        self.states += len(keys)
        if not len(keys):
            return
        chances = self._agent.probabilities(keys, found.allowed[going])
        below = value - (chances * np.nan_to_num(found.q[going])).sum(axis=1)
        loss = np.maximum(self._arrays.objective.told(below), 0)
        self.by_sum[total] = float(visits.sum()), float((visits * loss).sum())
        self.visits += float(visits.sum())
        self.optimal += float((visits * np.where(best, chances, 0).sum(axis=1)).sum())
        self._keep_worst(keys, visits, loss, chances, best)
        self._spread(total, keys, visits, chances)

    def _spread(self, total: int, keys: Keys, visits: Floats, chances: Floats) -> None:
        """Add the states that follow."""
        if self._game.ended(total):
            return
        boards = self._arrays.boards
        slid = boards.slide(keys)
        taken = (chances > 0) & ~slid.wins
        weights = (visits[:, None] * chances)[taken] * float(self._arrays.objective.discount)
        afters, weights = merge_weights(self._agent.canonical(slid.after[taken]), weights)
        states, origin, chance = boards.spawns(afters)
        states, weights = merge_weights(self._agent.canonical(states), weights[origin] * chance)
        for following, mine in by_sum(self._game, states):
            self._flow.add(following, states[mine], weights[mine])

    def _keep_worst(self, keys: Keys, visits: Floats, loss: Floats, chances: Floats, best: Flags) -> None:
        """Keep the worst decisions up to here."""
        self._found.append((keys, visits, loss, chances, best))
        columns = [np.concatenate(parts) for parts in zip(*self._found, strict=True)]
        regret = columns[1] * columns[2]
        order = np.lexsort((columns[0], -regret))[: self._worst]
        order = order[regret[order] > 0]
        keys, visits, loss, chances, best = (column[order] for column in columns)
        self._found = [(keys, visits, loss, chances, best)]

    def worst_decisions(self) -> tuple[Decision, ...]:
        """The worst decisions, the worst first."""
        actions = self._arrays.boards.actions
        return tuple(
            Decision(
                Board(self._game, self._game.unpack(int(key))), float(visits), float(loss),
                actions[int(chances.argmax())], tuple(a for a, yes in zip(actions, best, strict=True) if yes),
            )
            for keys, *columns in self._found
            for key, visits, loss, chances, best in zip(keys, *columns, strict=True)
        )  # fmt: skip
