"""The backup of an objective as kernels take it: how the value of a board follows from those after it.

`_kernels.backup` has the arithmetic.  `make_backup` chooses among it for a game and an objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import backup as kernels
from tilebase.game.game import Game
from tilebase.objectives.encoding import FIRST, NONE, WON, decoded, encoded, stored_sentinels
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Number

Array = npt.NDArray[Any]


@dataclass
class Backup:
    """How values are combined.

    Attributes
    ----------
    dtype:
        Of the values in memory (`ValueType.kept`).
    none, won:
        What a slide that is not allowed and one that wins are worth.
    adds:
        How the value of a state is added to an accumulator, for each spawned exponent, the largest first:
        `kernels.AddMean`, `kernels.AddBound` or `kernels.TakeLargest`.
    finish:
        How accumulators become a value: `kernels.DivideMean`, `kernels.DivideBound` or another of these.
    start, accumulator:
        What accumulators begin with, and their type.
    ended:
        What accumulators begin with where nothing is spawned any more.
    ends:
        Whether a board is worth at least the largest tile on it (`Objective.counts_end`).
    """

    dtype: np.dtype[Any]
    none: Any
    won: Any
    adds: tuple[Any, ...]
    finish: (
        kernels.DivideMean
        | kernels.DivideMeanBy
        | kernels.DivideBound
        | kernels.DivideBoundBy
        | kernels.TruncateBound
        | kernels.KeepLargest
    )
    start: Any
    ended: Any
    accumulator: str
    ends: bool = False

    @property
    def front(self) -> Array:
        """What lies in memory in front of the values of a layer."""
        found = np.zeros(FIRST, dtype=self.dtype)
        found[NONE], found[WON] = self.none, self.won
        return found


def make_backup(game: Game, objective: Objective) -> Backup:
    """Choose how values are combined.  Raises `UsageError` if the objective does not fit the game."""
    objective.check(game)
    if objective.is_bound:
        return _bound_backup(game, objective)
    return (_mean_backup if objective.is_mean else _extreme_backup)(game, objective)


def _mean_backup(game: Game, objective: Objective) -> Backup:
    # To a state without a slide no step is added: what it is worth and the step make the value of its end.
    add = kernels.AddMean(float(objective.lost - objective.slide), float(objective.slide))
    # A state that its sum has won is not discounted: then states are, before they are read.
    factor = 1.0 if game.goal_sum is not None else float(objective.discount)
    exponents, fours = game.spawn_exponents, np.array(game.spawn_probabilities(2))
    finish: kernels.DivideMean | kernels.DivideMeanBy
    if game.spawn.depends:
        finish = kernels.DivideMeanBy(fours, factor)
    else:
        finish = kernels.DivideMean(float(fours[0]) if len(exponents) > 1 else 1.0, factor)
    return _backup(game, objective, (add,) * len(exponents), finish, 0.0, "f8")


def _extreme_backup(game: Game, objective: Objective) -> Backup:
    largest = objective.spawns == "largest"
    sign = np.int64(1 if largest else -1)
    take = kernels.TakeLargest(sign, np.int64(objective.slide))
    start = np.int64(first_extreme(objective))
    adds = (take,) * len(game.spawn_exponents)
    return _backup(game, objective, adds, kernels.KeepLargest(sign), start, "i8")


def first_extreme(objective: Objective) -> int:
    """Return what the largest or the least over spawns begins with: no value is beyond it."""
    return objective.lost if objective.spawns == "largest" else int(np.iinfo(np.int32).max)


def _bound_backup(game: Game, objective: Objective) -> Backup:
    one, most = objective.one, objective.most
    # With a discount, states are discounted before they are read: few leave anything to lift, but for those
    # that their sum has won.
    full = one * objective.discount > most or game.goal_sum is not None
    lift = one - most if objective.rounds_up and full else 0
    exponents = sorted(game.spawn_exponents, reverse=True)
    weights = [game.spawn.weights(e, game.cells) for e in exponents]
    number = sum_type(game, objective)
    finish: kernels.DivideBound | kernels.DivideBoundBy = divide_bound(game, objective)
    if game.spawn.depends:  # the weights differ from board to board, so the sums are weighted at the end
        first, second = (np.array(one, dtype=number) for one in weights)
        finish, added = kernels.DivideBoundBy(first, second, *finish), [1, 1]
    else:
        added = [one[0] for one in weights]
    adds = tuple(kernels.AddBound(number(weight), number(most), number(lift)) for weight in added)
    return _backup(game, objective, adds, finish, number(0), np.dtype(number).str[1:])


def sum_type(game: Game, objective: Objective) -> Any:
    """Return float64 or uint64, the type in which sums of a proved bound are divided.

    Floats divide several at once.  They are exact while each sum over spawns, of values of at most 1 with
    their weights, is an integer below 2**53: a quotient that is no integer then differs from the next one by
    more than it is rounded.
    """
    return np.float64 if objective.one * game.cells * game.spawn.denominator < 1 << 53 else np.uint64


def divide_bound(game: Game, objective: Objective) -> kernels.DivideBound:
    """Return how sums of a proved bound become a value; they have `sum_type`."""
    number = sum_type(game, objective)
    return kernels.DivideBound(
        number(game.spawn.denominator), number(objective.rounds_up), number(objective.most)
    )


def _backup(
    game: Game, objective: Objective, adds: tuple[Any, ...], finish: Any, start: Any, accumulator: str
) -> Backup:
    dtype, (none, won) = np.dtype(objective.type.kept), stored_sentinels(game, objective)
    ended = type(start)(objective.lost) if objective.is_mean and objective.is_float else start
    return Backup(dtype, none, won, adds, finish, start, ended, accumulator, ends=objective.counts_end)


# -- states --------------------------------------------------------------------------------------


def value_above(game: Game, objective: Objective, backup: Backup, total: int) -> Any:
    """Return the value of the states of a sum that is not solved, without what slides add."""
    won = game.reached(total) and objective.meaning.needs_goal
    return backup.won - objective.slide if won else backup.none


def state_value(objective: Objective, backup: Backup, stored: Any) -> Number:
    """Return the value of a state from what is stored of it: its best slide, without what slides add."""
    if stored == backup.none and not objective.is_win:
        return objective.number(objective.lost)
    if objective.type.is_coded:
        number = objective.number(decoded(np.array([stored], dtype=backup.dtype))[0])
    else:
        number = objective.read(stored)
    return objective.discounted(objective.number(objective.slide + number))


def discounts_states(game: Game, objective: Objective) -> bool:
    """Return whether values of states are to be discounted before they are read: others are in the fold."""
    return objective.discount != 1 and (objective.is_bound or game.goal_sum is not None)


def discounted(objective: Objective, values: Array, most: int) -> Array:
    """States times the discount, from what is stored of them; bounds are at most `most`."""
    if objective.is_bound:
        found = discounted_bounds(objective, values.astype(np.uint64))
        kept: Array = np.minimum(found, np.uint64(most)).astype(values.dtype)
        return kept
    coded = objective.type.is_coded
    numbers = decoded(values) if coded else values.astype(np.float64)
    factor = float(objective.discount)
    less: Array = factor * (numbers + objective.slide) - objective.slide
    return encoded(less, values.dtype) if coded else less.astype(values.dtype)


def discounted_bounds(objective: Objective, states: Array) -> Array:
    """Bounds of states (uint64, in units) times the discount, rounded outward.  Changes `states`."""
    up, discount = objective.rounds_up, objective.discount
    if up and objective.most < objective.one:
        states[states == objective.most] = objective.one
    if discount == 1:
        return states
    states *= np.uint64(discount.numerator)
    below = np.uint64(discount.denominator)
    whole: Array = states // below
    # Rounded up in a form in which the numerator cannot overflow.
    return whole + (states % below != 0) if up else whole
