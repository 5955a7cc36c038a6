"""Small games as Markov decision processes, for public solvers and for teaching.

The process is a list of state-action pairs.  Pair i is action ``actions[i]`` in state
``pair_states[i]``, has the reward ``rewards[i]`` and leads to state j with probability
``transitions[i, j]``.  The last two states, ``win`` and ``lose``, are absorbing: each has one
action that changes nothing and has reward 0.  A slide that wins has reward 1 and leads to ``win``.
A spawn after which no slide is possible leads to ``lose``, and so does a slide at the horizon.

With a discount d, the value of a state in a public solver is V / d, where V is the value of
`solve`, since V includes the discount of the last slide.  Without a discount they are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.errors import MissingExtraError, UsageError
from tilebase.game.game import Cells, Game
from tilebase.game.symmetry import canonical
from tilebase.small.oracle import reachable

MAX_STATES = 100_000
"""States that `to_mdp` accepts by default; these take some seconds."""


@dataclass(frozen=True)
class MDP:
    """A Markov decision process.

    Attributes
    ----------
    game, symmetric:
        The game, and whether each state stands for its orbit.
    states:
        The live states by ascending sum and key, without the last two states, win and lose.
    pair_states, actions:
        ``pair_states[i]``: the state of pair i, ascending; ``actions[i]``: the directions that
        pair i stands for, joined by "=" where equivalent slides are merged, ``stay`` at the end.
    transitions:
        scipy.sparse.csr_array of shape (pairs, states + 2); rows sum to 1.
    rewards:
        ``rewards[i]``: 1 if pair i wins.
    """

    game: Game
    symmetric: bool
    states: tuple[Cells, ...]
    pair_states: npt.NDArray[np.int64]
    actions: tuple[str, ...]
    transitions: Any
    rewards: npt.NDArray[np.float64]

    def __repr__(self) -> str:
        return f"<MDP of {self.game}: {len(self.states):,} states, {len(self.actions):,} actions>"

    @property
    def action_numbers(self) -> npt.NDArray[np.int64]:
        """``action_numbers[i]``: the index of pair i among the pairs of its state."""
        first = np.searchsorted(self.pair_states, self.pair_states)
        return np.arange(len(self.pair_states)) - first

    def assert_consistent(self) -> None:
        """Raise AssertionError if the arrays contradict each other."""
        pairs = len(self.actions)
        assert self.transitions.shape == (pairs, len(self.states) + 2), "transitions have a wrong shape"
        assert len(self.pair_states) == len(self.rewards) == pairs, "pairs are not as many everywhere"
        assert (np.diff(self.pair_states) >= 0).all(), "pairs are not in the order of states"
        assert len(set(self.pair_states.tolist())) == len(self.states) + 2, "a state has no action"
        assert np.allclose(self.transitions.sum(axis=1), 1), "probabilities do not sum to 1"


def to_mdp(game: Game, *, symmetric: bool = True, merge: bool = True, max_states: int = MAX_STATES) -> MDP:
    """Return the Markov decision process of a small game with a goal.

    Parameters
    ----------
    game:
        The game; it must have a goal.
    symmetric:
        One state for each orbit; otherwise all reachable states.
    merge:
        Treat slides of a state that lead to equivalent afterstates as one action.
    max_states:
        Refuse games with more live states.

    Raises
    ------
    UsageError
        If the game has no goal or too many states.
    MissingExtraError
        If scipy is not installed.

    >>> mdp = to_mdp(Game("2x2", 8), symmetric=False)
    >>> len(mdp.states) + 2
    70
    """
    if not game.can_win:
        raise UsageError("a decision process needs a goal: name one")
    try:
        from scipy.sparse import csr_array
    except ImportError as error:
        raise MissingExtraError("decision processes need scipy: pip install 'tilebase[mdp]'") from error
    states = _live_states(game, symmetric, max_states)
    index_of = {state: i for i, state in enumerate(states)}
    win, lose = len(states), len(states) + 1
    pair_states: list[int] = []
    actions: list[str] = []
    rewards: list[float] = []
    rows: list[tuple[int, int, float]] = []
    for state in states:
        for name, after in _actions(game, state, symmetric, merge):
            pair = len(actions)
            pair_states.append(index_of[state])
            actions.append(name)
            rewards.append(1.0 if game.wins(after) else 0.0)
            if game.wins(after):
                rows.append((pair, win, 1.0))
                continue
            if game.ended(game.sum(after)):
                rows.append((pair, lose, 1.0))
                continue
            for board, p in game.spawns(after):
                stood = canonical(game, board) if symmetric else board
                won = game.has_goal_sum(board)
                rewards[-1] += float(p) * won
                rows.append((pair, win if won else index_of.get(stood, lose), float(p)))
    for end in (win, lose):
        rows.append((len(actions), end, 1.0))
        pair_states.append(end)
        actions.append("stay")
        rewards.append(0.0)
    pairs, targets, chances = zip(*rows, strict=True)
    shape = (len(actions), len(states) + 2)
    transitions = csr_array((np.array(chances), (np.array(pairs), np.array(targets))), shape=shape)
    transitions.sum_duplicates()
    return MDP(
        game, symmetric, tuple(states), np.array(pair_states), tuple(actions), transitions, np.array(rewards)
    )


def _live_states(game: Game, symmetric: bool, max_states: int) -> list[Cells]:
    from tilebase.counting.combinatorics import bound

    sizes = bound(game)
    possible = sizes.canonical_possible if symmetric else sizes.possible
    if possible > 20 * max_states:
        raise UsageError(
            f"{game} may have {possible:,} states, more than {max_states:,}: choose a "
            "smaller game, or give a larger max_states"
        )
    found = [
        state
        for layer in reachable(game, symmetric=symmetric).values()
        for state in sorted(layer.states)
        if game.slides(state)
    ]
    if len(found) > max_states:
        raise UsageError(
            f"{game} has {len(found):,} live states, more than {max_states:,}: give a larger max_states"
        )
    return found


def _actions(game: Game, state: Cells, symmetric: bool, merge: bool) -> list[tuple[str, Cells]]:
    """Names and afterstates of the actions of a state."""
    if not merge:
        return list(game.slides(state).items())
    merged: dict[Cells, list[str]] = {}
    for direction, after in game.slides(state).items():
        merged.setdefault(canonical(game, after) if symmetric else after, []).append(direction)
    return [("=".join(directions), after) for after, directions in merged.items()]
