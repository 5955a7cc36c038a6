"""Small games as Markov decision processes, for public solvers and for teaching.

The process is a list of state-action pairs.  Pair i is action ``actions[i]`` in state
``pair_states[i]``, has the reward ``rewards[i]`` and leads to state j with probability
``transitions[i, j]``.  The last two states, won and lost, are absorbing: each has one action that changes
nothing and has reward 0.  A slide that wins leads to won.  A spawn after which no slide is possible leads to
lost, and so does a slide at the horizon.  The reward of a pair is what its slide adds to the value on
average: under `win` the probability that it wins.

With a discount d, the value of a state in a public solver is V / d, where V is the value of
`solve`, since V includes the discount of the first slide.  Without a discount they are equal.

States are followed sum by sum, as arrays.  What a pair leads to is written once for each afterstate.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from tilebase.arrays import Floats, GameArrays, Keys, Slid, by_sum
from tilebase.costs.estimate import admit
from tilebase.costs.reachable import listing_pairs
from tilebase.errors import MissingExtraError, UsageError
from tilebase.game.game import Cells, Game, check_is_game
from tilebase.objectives.objective import DISCOUNTED, Objective, parse_discount
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Allowance, Use

Numbers = npt.NDArray[np.int64]

WIN, LOSE = -1, -2
"""The last two states, and the pairs that stay there, before their numbers are known."""
REWARDED = tuple(name for name in DISCOUNTED if Objective(name).is_float)
"""The objectives whose values are sums of rewards."""


@dataclass(frozen=True)
class MDP:
    """A Markov decision process.

    Attributes
    ----------
    game, symmetric:
        The game, and whether each state stands for its orbit.
    objective:
        What the rewards count, and their discount.
    keys:
        ``uint64[n]``: the packed live states by ascending sum and key, without the last two states, won and
        lost.
    start:
        ``start[j]``: the probability that a game starts in state j; of all n + 2 states.
    pair_states:
        ``pair_states[i]``: the state of pair i, ascending.
    pair_slides:
        ``uint8[pairs]``: bit a is set if pair i stands for the direction ``game.directions[a]``; 0 for the
        pairs that stay, at the end.
    transitions:
        scipy.sparse.csr_array of shape (pairs, states + 2); rows sum to 1.
    rewards:
        ``rewards[i]``: what pair i adds to the value, on average.
    """

    game: Game
    symmetric: bool
    objective: Objective
    keys: Keys
    start: Floats
    pair_states: Numbers
    pair_slides: npt.NDArray[np.uint8]
    transitions: Any
    rewards: Floats

    def __repr__(self) -> str:
        return f"<MDP of {self.game}: {len(self.keys):,} states, {len(self.pair_slides):,} actions>"

    @cached_property
    def states(self) -> tuple[Cells, ...]:
        """The exponents of the live states: made when they are first asked for."""
        return tuple(map(self.game.unpack, self.keys.tolist()))

    @cached_property
    def actions(self) -> tuple[str, ...]:
        """The directions of each pair, joined by "=" where equivalent slides are merged; ``stay``."""
        directions = self.game.directions
        names = [
            "=".join(d for a, d in enumerate(directions) if bits >> a & 1) or "stay"
            for bits in range(1 << len(directions))
        ]
        return tuple(names[bits] for bits in self.pair_slides.tolist())

    @property
    def action_numbers(self) -> Numbers:
        """``action_numbers[i]``: the index of pair i among the pairs of its state."""
        first = np.searchsorted(self.pair_states, self.pair_states)
        return np.arange(len(self.pair_states)) - first

    @property
    def labels(self) -> dict[str, list[int]]:
        """The states of each label: ``init`` where a game can start, ``won`` and ``lost``."""
        n = len(self.keys)
        return {"init": np.flatnonzero(self.start).tolist(), "won": [n], "lost": [n + 1]}

    @property
    def direction_pairs(self) -> Numbers:
        """``pairs[a, j]``: the pair of direction a in state j; if it is not allowed, the first pair of j.

        So each action exists in each state, and no value changes: see `by_direction`.
        """
        first = np.searchsorted(self.pair_states, np.arange(len(self.keys) + 2))
        pairs = np.tile(first, (len(self.game.directions), 1))
        for action, row in enumerate(pairs):
            mine = np.flatnonzero(self.pair_slides >> np.uint8(action) & 1)
            row[self.pair_states[mine]] = mine
        return pairs

    def by_direction(self) -> tuple[list[Any], Floats]:
        """Return transitions and rewards as MDPToolbox takes them.

        A csr_array of shape (states + 2, states + 2) for each direction, and ``float64[states + 2, A]``.  A
        direction that is not allowed does what the first action of the state does.
        """
        pairs = self.direction_pairs
        return [self.transitions[mine] for mine in pairs], self.rewards[pairs].T

    def assert_consistent(self) -> None:
        """Raise AssertionError if the arrays contradict each other."""
        pairs = len(self.pair_slides)
        assert self.transitions.shape == (pairs, len(self.keys) + 2), "transitions have a wrong shape"
        assert abs(self.start.sum() - 1) < 1e-12, "the start has no probability of 1"
        assert len(self.pair_states) == len(self.rewards) == pairs, "pairs are not as many everywhere"
        assert (np.diff(self.pair_states) >= 0).all(), "pairs are not in the order of states"
        assert len(set(self.pair_states.tolist())) == len(self.keys) + 2, "a state has no action"
        assert np.allclose(self.transitions.sum(axis=1), 1), "probabilities do not sum to 1"


def to_mdp(
    game: Game,
    objective: Objective | str = "win",
    *,
    discount: Fraction | str | float = 1,
    symmetric: bool = True,
    merge: bool = True,
    **use: Unpack[Use],
) -> MDP:
    """Return the Markov decision process of a game.

    Parameters
    ----------
    game:
        The game.
    objective:
        What the rewards count: one of `REWARDED`.  ``win`` needs a goal.
    discount:
        That of an objective given by name, in (0, 1].
    symmetric:
        One state for each orbit; otherwise all reachable states.
    merge:
        Treat slides of a state that lead to equivalent afterstates as one action.
    use:
        Memory, progress and the like: the keywords of `Use`.  One thread works.

    Raises
    ------
    UsageError
        If the objective has no rewards or does not fit the game.
    ResourceError
        Before it begins, if it is expected to need more memory than there is, or more than a week.
    MissingExtraError
        If scipy is not installed.

    >>> mdp = to_mdp(Game("2x2", 8), symmetric=False)
    >>> len(mdp.states) + 2
    70
    """
    check_is_game(game)
    chosen = objective
    if not isinstance(chosen, Objective):
        chosen = Objective(chosen, discount=parse_discount(discount))
    if chosen.name not in REWARDED:
        raise UsageError(f"{chosen.name} is no sum of rewards: choose one of {', '.join(REWARDED)}")
    chosen.check(game)
    try:
        import scipy.sparse  # noqa: F401
    except ImportError as error:
        raise MissingExtraError.of("decision processes need scipy", "mdp") from error
    allowed = Allowance.of(**use)
    admit(listing_pairs(game, symmetric=symmetric), allowed, lambda _: "choose a smaller game")
    listed = _Listed(GameArrays(game), chosen, symmetric, merge)
    listed.follow(Pace(allowed.progress, "states"))
    return listed.process()


class _Listed:
    """What was listed up to a sum: states, pairs, and where afterstates lead."""

    def __init__(self, boards: GameArrays, objective: Objective, symmetric: bool, merge: bool) -> None:
        self._boards, self._objective, self._symmetric, self._merge = boards, objective, symmetric, merge
        self._waiting: dict[int, list[tuple[Keys, Numbers, Floats]]] = {}  # states, afterstates, chances
        self._states: list[Keys] = []
        # State, slides, afterstate, and what the slide adds.
        self._pairs: list[tuple[Numbers, npt.NDArray[np.uint8], Numbers, Floats]] = []
        # Afterstate, state, chance; the first afterstate is none: states follow it as starts.
        self._leads: list[tuple[Numbers, Numbers, Floats]] = []
        self._count, self._afters = 0, 1
        starts, chances = zip(*boards.game.starts(), strict=True)
        keys = boards.pack(np.array(starts))
        self._wait(keys, np.zeros(len(keys), dtype=np.int64), np.array([float(p) for p in chances]))

    def _wait(self, keys: Keys, afters: Numbers, chances: Floats) -> None:
        """Keep states, with the afterstates that they follow, until their sum is reached."""
        keys = self._boards.least(keys) if self._symmetric else keys
        for total, mine in by_sum(self._boards.game, keys):
            self._waiting.setdefault(total, []).append((keys[mine], afters[mine], chances[mine]))

    def follow(self, pace: Pace) -> None:
        """List the states and pairs of all sums, the smallest first."""
        while self._waiting:
            total = min(self._waiting)
            given, afters, chances = map(np.concatenate, zip(*self._waiting.pop(total), strict=True))
            states, each = np.unique(given, return_inverse=True)
            if self._boards.game.reached(total):
                numbers = np.full(len(states), WIN)
            else:
                numbers = self._list_states(total, states)
            self._leads.append((afters, numbers[each], chances))
            if pace.due():
                pace.report(total, "list", self._count, 0.0)

    def _list_states(self, total: int, states: Keys) -> Numbers:
        """List the live states of a sum with their pairs; return the number of each state."""
        slid = self._boards.slide(states)
        live = slid.allowed.any(axis=1)
        numbers = np.full(len(states), LOSE)
        numbers[live] = self._count + np.arange(int(live.sum()))
        self._states.append(states[live])
        self._list_pairs(total, states[live], Slid._make(column[live] for column in slid))
        self._count += int(live.sum())
        return numbers

    def _list_pairs(self, total: int, keys: Keys, slid: Slid) -> None:
        boards, game = self._boards, self._boards.game
        after = slid.after.copy()
        if self._symmetric:
            after[slid.allowed] = boards.least(slid.after[slid.allowed])
        mergeable = slid.allowed & ~slid.wins if boards.wide_goal else slid.allowed
        slides = np.zeros(after.shape, dtype=np.uint8)
        for action in range(after.shape[1]):
            mine = np.full(len(after), action)  # the first action that leads to the same board
            for before in range(action - 1, -1, -1) if self._merge else ():
                same = mergeable[:, before] & mergeable[:, action]
                mine[same & (after[:, before] == after[:, action])] = before
            rows = np.flatnonzero(slid.allowed[:, action])
            slides[rows, mine[rows]] |= np.uint8(1 << action)
        states, actions = np.nonzero(slides)
        leads = np.full(len(states), LOSE)
        leads[slid.wins[states, actions]] = WIN
        if not game.ended(total):
            spawning = leads == LOSE
            different, each = np.unique(after[states, actions][spawning], return_inverse=True)
            leads[spawning] = self._afters + each
            spawned, origin, chances = boards.spawns(different)
            self._wait(spawned, self._afters + origin, chances)
            self._afters += len(different)
        gains = boards.gains(self._objective, keys, slid)[states, actions]
        self._pairs.append((self._count + states, slides[states, actions], leads, gains))

    def process(self) -> MDP:
        """Return the process."""
        from scipy.sparse import csr_array

        states, afters = self._count, self._afters
        pair_states, slides, leads, gains = (np.concatenate(part) for part in zip(*self._pairs, strict=True))
        rows, targets, chances = (np.concatenate(part) for part in zip(*self._leads, strict=True))
        self._pairs.clear()
        self._leads.clear()
        targets[targets == WIN] = states
        targets[targets == LOSE] = states + 1
        # Behind the afterstates two rows that lead to the win and to the loss: those of pairs that stay, too.
        shape = (afters + 2, states + 2)
        ends = np.arange(2)
        after_leads = csr_array(
            (np.append(chances, [1.0, 1.0]),
             (np.append(rows, afters + ends), np.append(targets, states + ends))), shape=shape,
        )  # fmt: skip
        after_leads.sum_duplicates()
        won = np.append(np.bincount(rows, chances * (targets == states), minlength=afters), [1.0, 0.0])
        leads = np.where(leads == WIN, afters, np.where(leads == LOSE, afters + 1, leads))
        return MDP(
            self._boards.game, self._symmetric, self._objective, np.concatenate(self._states),
            after_leads[[0]].toarray()[0],
            np.append(pair_states, states + ends), np.append(slides, np.zeros(2, dtype=np.uint8)),
            after_leads[np.append(leads, afters + ends)],
            np.append(gains + self._objective.meaning.win * won[leads], [0.0, 0.0]),
        )  # fmt: skip
