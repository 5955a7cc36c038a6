"""Follows the games of an agent, or of optimal play, sum by sum: the states that they meet, and how often."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tilebase.arrays import BATCH, Flags, Floats, GameArrays, Keys, Probed, TableArrays, by_sum
from tilebase.errors import UsageError
from tilebase.policies import SUM_ERROR, ArrayPolicy, answers_differ, as_policy
from tilebase.sparse.flow import Flow, even
from tilebase.sparse.reading import merge_weights

Symmetry: TypeAlias = Literal["canonical", "check", "none"]

SYMMETRIES = ("canonical", "check", "none")
PIECE = 1 << 18
"""States of a sum that are followed at a time."""
CHECKED = 8
"""One of so many boards is asked a second time, and turned where an agent is checked."""
LEAST_CHECKED = 64
"""At least so many of the boards of a sum, or all of them."""
REPEATED = 10_000
"""One of so many answers may differ the second time: a network rounds otherwise in another batch."""


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


def optimal_visits(arrays: TableArrays) -> Iterator[tuple[int, Keys, Floats]]:
    """Yield the states that optimal play meets: sums, ascending, keys ``uint64[n]``, visits ``float64[n]``.

    Keys are canonical and ascending.  A visit is the probability that a game meets the state, also under an
    objective with a discount.  States in which no slide is allowed are met, too; boards that have won are no
    states.  Raises `UsageError` if the values of the objective are not means.
    """
    if not arrays.objective.is_mean:
        raise UsageError(
            f"optimal play is followed by a mean, as win or score, not by {arrays.objective.label}"
        )
    layers = map(joined, pieces_by_sum(walk(arrays, Optimal(arrays.boards), ended=True)))
    return ((layer.sum, layer.keys, layer.visits) for layer in layers)


def visited_states(
    arrays: TableArrays, policy: Any = "optimal", *, symmetry: Symmetry = "check", batch: int = BATCH
) -> Iterator[Visited]:
    """Yield the states that a policy meets and in which it slides, ascending by sum, in pieces.

    `policy` and `symmetry` are those of `judge`; ``optimal`` is optimal play.  Visits are probabilities.
    """
    if isinstance(policy, str) and policy == "optimal":
        return walk(arrays, Optimal(arrays.boards))
    asked = as_policy(policy, arrays.game, objective=arrays.objective)
    return walk(arrays, Agent(arrays.boards, asked, symmetry, batch))


class Optimal:
    """Makes each of the best slides with the same probability."""

    def __init__(self, boards: GameArrays) -> None:
        self._boards = boards

    def canonical(self, keys: Keys) -> Keys:
        """The boards that are played."""
        return self._boards.least(keys)

    def probabilities(self, _: Keys, found: Probed) -> Floats:
        """``p[n, A]``: the probability of each slide."""
        return even(found.best, axis=1)


class Agent:
    """Asks a policy and checks what it answers."""

    def __init__(self, boards: GameArrays, policy: ArrayPolicy, symmetry: str, batch: int) -> None:
        self.boards, self.symmetry, self.policy = boards, symmetry, policy
        self._batch = batch
        self._rng = np.random.default_rng(0)
        self._asked_again = self._differ = 0

    def canonical(self, keys: Keys) -> Keys:
        """The boards on which the agent is asked."""
        return keys if self.symmetry == "none" else self.boards.least(keys)

    def probabilities(self, keys: Keys, found: Probed) -> Floats:
        """``p[n, A]``: the probability of each slide in states that have one."""
        allowed = found.allowed
        chances = self.ask(keys, allowed)
        some = checked_rows(self._rng, len(keys))
        self._ask_again(keys[some], allowed[some], chances[some])
        if self.symmetry == "check":
            self._compare(keys[some], allowed[some], chances[some])
        return chances

    def ask(self, keys: Keys, allowed: Flags) -> Floats:
        """The probability of each slide, asked for a batch of boards at a time."""
        pieces = [slice(at, at + self._batch) for at in range(0, len(keys), self._batch)]
        asked = [self.policy.probabilities(keys[part], allowed[part]) for part in pieces]
        return np.concatenate(asked) if asked else np.zeros(allowed.shape)

    def _ask_again(self, keys: Keys, allowed: Flags, chances: Floats) -> None:
        """Raise `UsageError` if the agent does not repeat what it has answered in another order."""
        wrong = np.abs(self.ask(keys, allowed) - chances).max(axis=1, initial=0) > SUM_ERROR
        self._asked_again += len(keys)
        self._differ += int(wrong.sum())
        if self._differ * REPEATED > self._asked_again:
            raise answers_differ(self._text(keys[wrong.argmax()]))

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
                "which is the same board turned: judge it with the symmetry none, or with canonical, which "
                "plays canonical boards only"
            )

    def _text(self, key: Any) -> str:
        game = self.boards.game
        return game.format(game.unpack(int(key)))


def checked_rows(rng: np.random.Generator, n: int) -> npt.NDArray[np.int64]:
    """Return which of n boards are asked a second time, in random order."""
    return rng.permutation(n)[: max(n // CHECKED, LEAST_CHECKED)]


def walk(
    arrays: TableArrays, agent: Agent | Optimal, *, discount: float = 1.0, ended: bool = False
) -> Iterator[Visited]:
    """Follow all games of an agent, from the smallest sum up; yield the states in which it slides.

    A visit is the probability that a game meets a state, times the `discount` for each slide before.  If
    `ended`, the states without a slide are yielded, too.
    """
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
            layer = _decided(arrays, agent, total, keys[part], visits[part], ended)
            if len(layer.keys):
                yield layer
                if not game.ended(total):
                    _spread(arrays, agent, flow, layer, discount)


def _decided(
    arrays: TableArrays, agent: Agent | Optimal, total: int, keys: Keys, visits: Floats, ended: bool
) -> Visited:
    """Return some states of a sum, those without a slide only if `ended`, and what the agent does there."""
    found = arrays.probe_keys(keys)
    if not found.known.all():
        first = int(keys[int((~found.known).argmax())])
        raise arrays.table.prober.missing(arrays.game.unpack(first))
    going = found.allowed.any(axis=1) | ended
    keys, visits = keys[going], visits[going]
    found = Probed._make(column[going] for column in found)
    chances = agent.probabilities(keys, found)
    below = found.value - (chances * np.nan_to_num(found.q)).sum(axis=1)
    loss = np.maximum(arrays.objective.told(below), 0)
    return Visited(
        total, keys, visits, found.value, found.q, chances, loss, found.best, found.value[:0], found.q[:0]
    )


def _spread(arrays: TableArrays, agent: Agent | Optimal, flow: Flow, layer: Visited, discount: float) -> None:
    """Add the states that follow."""
    boards = arrays.boards
    slid = boards.slide(layer.keys)
    taken = (layer.chances > 0) & ~slid.wins
    weights = (layer.visits[:, None] * layer.chances)[taken] * discount
    afters, weights = merge_weights(agent.canonical(slid.after[taken]), weights)
    states, origin, chance = boards.spawns(afters)
    states, weights = merge_weights(agent.canonical(states), weights[origin] * chance)
    for following, mine in by_sum(arrays.game, states):
        flow.add(following, states[mine], weights[mine])
    flow.merge(PIECE)


def pieces_by_sum(layers: Iterable[Visited]) -> Iterator[list[Visited]]:
    """Yield the pieces of each sum."""
    return (list(pieces) for _, pieces in groupby(layers, key=lambda layer: layer.sum))


def joined(pieces: list[Visited]) -> Visited:
    """Return the pieces of one sum as one."""
    if len(pieces) == 1:
        return pieces[0]
    total, *columns = zip(*pieces, strict=True)
    return Visited(total[0], *map(np.concatenate, columns))


def own_values(arrays: TableArrays, agent: Agent, layers: Iterable[Visited]) -> tuple[Visited, ...]:
    """Add the values under the agent to all states that it meets, from the largest sum down.

    What it gets less than optimal play from a state on is what it loses there, and what it then gets less on
    average after its slides and the spawns.
    """
    behind: dict[int, tuple[Keys, Floats]] = {}
    done: list[Visited] = []
    told, discount = arrays.objective.told, float(arrays.objective.discount)
    for layer in map(joined, reversed([*pieces_by_sum(layers)])):
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
