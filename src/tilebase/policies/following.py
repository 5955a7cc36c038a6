"""Follows the games of an agent, or of optimal play, sum by sum: the states that they meet, and how often."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tilebase.arrays import BATCH, Flags, Floats, Keys, Probed, Slid, TableArrays, by_sum
from tilebase.errors import UsageError
from tilebase.policies.asking import SUM_ERROR, ArrayPolicy, as_policy
from tilebase.sparse.flow import Walk, even

Symmetry: TypeAlias = Literal["canonical", "check", "none"]

SYMMETRIES = ("canonical", "check", "none")
PIECE = 1 << 18
"""States of a sum that are followed at a time."""
CHECKED = 8
"""Of this number of boards, one is asked a second time, and turned where an agent is checked."""
LEAST_CHECKED = 64
"""At least this number of the boards of a sum, or all of them."""
REPEATED = 10_000
"""Of this number of answers, one may differ the second time: a network rounds otherwise in another batch."""


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
    layers = map(joined, pieces_by_sum(walk(arrays, Optimal(), ended=True)))
    return ((layer.sum, layer.keys, layer.visits) for layer in layers)


def visited_states(
    arrays: TableArrays, policy: Any = "optimal", *, symmetry: Symmetry = "check", batch: int = BATCH
) -> Iterator[Visited]:
    """Yield the states that a policy meets and in which it slides, ascending by sum, in pieces.

    `policy`, `symmetry` and `batch` are those of `judge`; ``optimal`` is optimal play.  Visits are
    probabilities.  Raises `UsageError` as `judge` does.
    """
    if isinstance(policy, str) and policy == "optimal":
        return walk(arrays, Optimal())
    asked = as_policy(policy, arrays.game, objective=arrays.objective)
    return walk(arrays, Agent(asked, symmetry, batch))


class Optimal:
    """Makes each of the best slides with the same probability."""

    turned = True

    def probabilities(self, _: Keys, found: Probed) -> Floats:
        """``p[n, A]``: the probability of each slide."""
        return even(found.best, axis=1)


class Agent:
    """Asks a policy, and checks what it answers by asking `again`.

    Raises `UsageError` if there is no such symmetry, or a batch has no board.
    """

    def __init__(self, policy: ArrayPolicy, symmetry: str, batch: int = BATCH, *, again: bool = True) -> None:
        if symmetry not in SYMMETRIES:
            raise UsageError(f"symmetry must be one of {', '.join(SYMMETRIES)}, not {symmetry!r}")
        if batch < 1:
            raise UsageError(f"ask about 1 board or more at once, not {batch}")
        self.policy, self.boards, self.symmetry, self._again = policy, policy.boards, symmetry, again
        self.turned = symmetry != "none"
        self._batch = batch
        self._rng = np.random.default_rng(0)
        self._asked_again = self._differ = 0

    def probabilities(self, keys: Keys, found: Probed | Slid) -> Floats:
        """``p[n, A]``: the probability of each slide in states that have one."""
        allowed = found.allowed
        chances = self.ask(keys, allowed)
        if not self._again:
            return chances
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
            board = self._text(keys[wrong.argmax()])
            raise UsageError(
                f"the policy answers otherwise when it is asked again about {board}, so it has no exact "
                "value: let it return the probabilities of the slides instead of drawing one (and switch off "
                "dropout and memory of earlier boards), or play games with it (games=, --games)"
            )

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
                "which is the same board turned: judge it with --symmetry none (symmetry='none'), or with "
                "canonical, which plays canonical boards only"
            )

    def _text(self, key: Any) -> str:
        game = self.boards.game
        return game.format(game.unpack(int(key)))


def checked_rows(rng: np.random.Generator, n: int) -> npt.NDArray[np.int64]:
    """Return which of n boards are asked a second time, in random order."""
    return rng.permutation(n)[: max(n // CHECKED, LEAST_CHECKED)]


def of_rows(found: Any, rows: npt.NDArray[Any]) -> Any:
    """Return what was found of some states."""
    return found._make(column[rows] for column in found)


def chances_of(agent: Agent | Optimal, keys: Keys, found: Any) -> Floats:
    """Ask an agent on the states that have a slide; return the probabilities of slides, 0 in the others."""
    live = found.allowed.any(axis=1)
    if live.all():
        return agent.probabilities(keys, found)
    chances = np.zeros(found.allowed.shape)
    chances[live] = agent.probabilities(keys[live], of_rows(found, live))
    return chances


def walk(
    arrays: TableArrays, agent: Agent | Optimal, *, discount: float = 1.0, ended: bool = False
) -> Iterator[Visited]:
    """Follow all games of an agent, from the smallest sum up; yield the states in which it slides.

    A visit is the probability that a game meets a state, times the `discount` for each slide before.  If
    `ended`, the states without a slide are yielded, too.
    """
    boards = arrays.boards
    flow = Walk(boards.compiled, turned=agent.turned).begin()
    while flow:
        total, (every, visited) = flow.pop()
        if boards.game.reached(total):
            continue
        for begin in range(0, len(every), PIECE):
            keys, visits = every[begin : begin + PIECE], visited[begin : begin + PIECE]
            found = arrays.probe_known(keys)
            if not ended:
                live = np.flatnonzero(found.allowed.any(axis=1))
                keys, visits, found = keys[live], visits[live], of_rows(found, live)
            if not len(keys):
                continue
            chances = chances_of(agent, keys, found)
            below = found.value - (chances * np.nan_to_num(found.q)).sum(axis=1)
            loss = np.maximum(arrays.objective.told(below), 0)
            none = found.value[:0], found.q[:0]
            yield Visited(total, keys, visits, found.value, found.q, chances, loss, found.best, *none)
            slid = boards.slide(keys)
            taken = (chances > 0) & ~slid.wins
            weights = (visits[:, None] * chances)[taken] * discount
            flow.spread(total, flow.like(slid.after[taken]), weights)
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
    """Add the values under the agent to all states that it meets.

    What it gets less than optimal play from a state on is what it loses there, and what it then gets less on
    average after its slides and the spawns.
    """
    boards, told, discount = arrays.boards, arrays.objective.told, float(arrays.objective.discount)
    flow, behind = Walk(boards.compiled, turned=agent.turned), dict[int, tuple[Keys, Floats]]()
    done: list[Visited] = []
    for layer in reversed([joined(pieces) for pieces in pieces_by_sum(layers)]):
        later = np.zeros(layer.chances.shape)
        slid = boards.slide(layer.keys)
        taken = (layer.chances > 0) & ~slid.wins
        if not boards.game.ended(layer.sum):
            states, origin, chance = boards.spawns(slid.after[taken])
            states, less = flow.like(states), np.zeros(len(states))  # 0 of states where the game is over
            for total, mine in by_sum(boards.game, states):
                if total in behind:
                    keys, values = behind[total]
                    at = np.minimum(keys.searchsorted(states[mine]), len(keys) - 1)
                    less[mine] = np.where(keys[at] == states[mine], values[at], 0)
            later[taken] = discount * np.bincount(origin, less * chance, minlength=int(taken.sum()))
        here = layer.loss + (layer.chances * later).sum(axis=1)
        behind[layer.sum] = layer.keys, here
        own_q = np.where(layer.chances > 0, layer.q - told(later), np.nan)
        done.append(layer._replace(own_value=layer.value - told(here), own_q=own_q))
    return tuple(reversed(done))
