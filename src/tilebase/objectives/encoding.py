"""Values as arrays: sentinels in front of a layer, stored types read as floats, summaries of chunks, backups.

A *backup* says how the value of a board follows from those after it.  `_kernels.backup` has the arithmetic;
`make_backup` chooses among it for a game and an objective.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import backup as kernels
from tilebase._kernels import coded, fold
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.objectives.results import ChunkSummary
from tilebase.objectives.values import NEVER, Number

Array = npt.NDArray[Any]
NONE, WON, FIRST = kernels.NONE, kernels.WON, kernels.FIRST


def sentinels(game: Game, objective: Objective) -> tuple[float, float]:
    """Return what a slide that is not allowed and one that wins are worth: the best is then the maximum.

    Engines look these up like the value of an afterstate and add what the slide adds.  So a slide that is not
    allowed is worth minus infinity, -2**30 as an integer, where merges add something, and else so much less
    than a lost game that what each slide adds makes it equal.  `state_value` reads that as a lost game.
    """
    if objective.counts_end:
        return 0.0, float(1 << game.goal_exponent) if game.goal_exponent else 0.0
    if objective.is_win:
        return 0.0, 1.0
    return (-np.inf if objective.merge else float(objective.lost - objective.slide)), 0.0


def slide_gains(objective: Objective, merges: Array) -> Array | int:
    """Return what slides add, if their merges add `merges` under `Objective.merge`."""
    return merges + objective.slide if objective.merge else objective.slide


def end_values(objective: Objective, tops: Array) -> Array:
    """`Objective.end` of boards that are not won, as floats, from the largest exponent of each."""
    if not objective.counts_end:
        return np.full(len(tops), float(objective.lost))
    return np.where(tops, np.exp2(tops, dtype=np.float64), 0.0)


def stored_sentinels(game: Game, objective: Objective) -> tuple[Any, Any]:
    """Return the same as they lie before a layer in memory: bounds in units, coded floats as their codes."""
    none, won = sentinels(game, objective)
    if objective.is_bound:
        return 0, objective.most
    if objective.type.is_coded:
        codes = encoded(np.array([none, won]), objective.type.kept)
        return int(codes[0]), int(codes[1])
    if objective.is_float:
        return none, won
    # Integers have no infinity: `NEVER` is more than all merges of a board that has a key can add.
    return int(max(none, -NEVER)), int(won)


def decoded(codes: Array) -> Array:
    """Coded floats as numbers."""
    numbers = np.empty(len(codes))
    coded.decode(codes, numbers)
    return numbers


def encoded(numbers: Array, kept: Any) -> Array:
    """Return numbers of [0, 1] as codes, integers of the type `kept`."""
    codes = np.empty(len(numbers), dtype=kept)
    coded.encode(numbers, codes)
    return codes


def as_floats(objective: Objective, stored: Array) -> Array:
    """Stored values as float64: bounds as fractions of 1, Boolean values as 0 and 1."""
    values: Array = stored.astype(np.float64)
    if objective.rounds_up:
        values[stored == objective.most] = objective.one
    values /= objective.one
    return values


def summarise(objective: Objective, stored: Array, size: int) -> list[ChunkSummary]:
    """Return the summaries of chunks of `size` stored values.

    They do not depend on how the work was divided.  Of a cost, they are of the values that users see.
    """
    stored, one = objective.told(stored), objective.one
    lost = NEVER if objective.counts_to_win else one  # what a lost game costs, or a won one is worth
    if objective.type.is_coded:
        stored, one = decoded(stored), 1
    full = objective.most if objective.rounds_up else one  # the stored integer that is read as 1
    found = np.empty((-(-len(stored) // size), 5))
    fold.summaries(stored, size, float(full if lost == one else lost), float(lost), found)
    found[:, :3] /= one  # a power of two
    return [
        (least, largest, total, *_won_and_lost(objective, int(ones), int(zeros)))
        for least, largest, total, ones, zeros in found.tolist()
    ]


def summarise_cut(
    objective: Objective, stored: Array, cuts: Sequence[tuple[int, int]], size: int
) -> list[ChunkSummary]:
    """Do so from each cut on; at once if all but the last have the size, as they mostly do."""
    if all(end - at == size for at, end in cuts[:-1]):
        return summarise(objective, stored, size)
    return [piece for at, end in cuts for piece in summarise(objective, stored[at:end], size)]


def _won_and_lost(objective: Objective, ones: int, zeros: int) -> tuple[int, int]:
    """Return how many values are those of won and of lost games; none is won if a win is worth nothing."""
    if objective.counts_to_win:
        return 0, ones
    if objective.is_cost:
        return zeros, ones
    return (ones if objective.is_win else 0), zeros


# -- how values are combined -----------------------------------------------------------------------


@dataclass
class Backup:
    """How values are combined."""

    dtype: np.dtype[Any]  # of the values in memory (`ValueType.kept`)
    none: Any  # what a slide that is not allowed is worth
    won: Any  # and one that wins
    # How the value of a state is added to an accumulator, for each spawned exponent, the largest first:
    # `kernels.AddMean`, `kernels.AddBound` or `kernels.TakeLargest`.
    adds: tuple[Any, ...]
    # How accumulators become a value.
    finish: kernels.DivideMean | kernels.DivideBound | kernels.TruncateBound | kernels.KeepLargest
    start: Any  # what accumulators begin with
    ended: Any  # the same where nothing is spawned any more
    accumulator: str  # the type of accumulators
    ends: bool = False  # whether a board is worth at least the largest tile on it (`Objective.counts_end`)

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
    exponents = game.spawn_exponents
    finish = kernels.DivideMean(float(game.spawn.four) if len(exponents) > 1 else 1.0, factor)
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
    number, finish = sum_type(game, objective), divide_bound(game, objective)
    adds = tuple(
        kernels.AddBound(number(game.spawn.weight(e)), number(most), number(lift)) for e in exponents
    )
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
    # A slide that is not allowed is worth no more than this, even with what its merges would add.
    if not objective.is_win and stored <= objective.lost - objective.slide:
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
        return np.minimum(found, np.uint64(most)).astype(values.dtype)
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
