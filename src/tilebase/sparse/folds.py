"""Objectives as arrays and kernels: how the values of a layer are stored in memory and combined.

A `Fold` combines values over spawns.  It adds the values after spawns of one exponent to accumulators, the
largest exponent first, and makes the values of afterstates of them.  `objectives.encoding` says what is the
same in the pass over all boards; there all spawns of a board are added at once.

The accumulator of a mean is first the mean m4 over the cells where a 4 can spawn.  The spawns of 2s
change it to ``m2 + p (m4 - m2)``, where p is the probability of a 4.  This is exact if both means are
equal, so forced wins stay exactly 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from tilebase._kernels import fold as kernels
from tilebase._kernels.arguments import Array
from tilebase.game.game import Game
from tilebase.objectives.encoding import (
    FIRST,
    NONE,
    WON,
    decoded,
    discounted_bounds,
    divide_bound,
    encoded,
    first_extreme,
    sentinels,
    stored_sentinels,
)
from tilebase.objectives.objective import Objective

NO_GAINS = np.zeros((0, 0), dtype=np.int32)


class Spawned(NamedTuple):
    """The states that spawns of one exponent on some afterstates lead to."""

    exponent: int  # of the spawned tile
    slots: Array  # slots[k, x]: where the afterstate is that slide k makes of spawn x (`_kernels.backward`)
    n: int  # the number of spawns
    # gains[merge][a, x]: what the merges along axis a after spawn x add, under `Objective.merge`
    gains: Mapping[str, Array]
    spawns: Array  # spawns[a]: how many spawns afterstate a has
    # ends[a]: what afterstate a is worth if the game ends there (`Objective.end`); None where that is
    # nothing under every objective.
    ends: Array | None = None
    # best[x]: the largest value over slides, if it is known already (`Fold.best_type`); then there are no
    # slots and gains.
    best: Array | None = None


class Fold:
    """One objective of one game.  Subclasses define `best`, `fold` and `finish`.

    Attributes
    ----------
    merges:
        The values of `Objective.merge` for which `add` needs gains.
    best_type:
        The type of `Spawned.best`; None if the best slide is not that of the largest value of an array.
    accumulator:
        The type of accumulators.
    begin:
        What accumulators begin with.
    """

    accumulator: Any = np.float64
    best_type: Any = None
    begin: int = 0

    def __init__(self, game: Game, objective: Objective) -> None:
        self.game, self.objective = game, objective
        self.dtype = np.dtype(objective.type.kept)
        self.merges: tuple[str, ...] = (objective.merge,) if objective.merge else ()

    def values(self, n: int, total: int) -> Array:
        """Return the memory for the values of n afterstates of sum `total`, after the sentinels."""
        values = np.empty(FIRST + n, dtype=self.dtype)
        values[NONE], values[WON] = stored_sentinels(self.game, self.objective)
        return values

    def nbytes(self, n: int) -> int:
        """Return the bytes of the values of n afterstates."""
        return self.dtype.itemsize * n

    def put(self, values: Array, position: int, found: Array) -> None:
        """Store the values `found` of afterstates from `position` on."""
        values[FIRST + position : FIRST + position + len(found)] = found

    def start(self, n: int) -> Array:
        """Return the accumulators of n afterstates."""
        return np.full(n, self.begin, dtype=self.accumulator)

    def add(self, acc: Array, spawned: Spawned, values: Array) -> None:
        """Add the values of the spawned states to the accumulators of ``len(spawned.spawns)`` afterstates."""
        self.fold(acc, spawned.exponent, self.best(spawned, values), spawned.spawns)

    def add_won(self, acc: Array, exponent: int, spawns: Array) -> None:
        """Do the same for an exponent whose spawns all win."""
        found = np.full(int(spawns.sum()), self.won(), dtype=self.accumulator)
        self.fold(acc, exponent, found, spawns)

    def best_slide(self, spawned: Spawned, values: Array) -> Array:
        """Return the largest value over the slides of each spawned state."""
        if spawned.best is not None:
            return spawned.best
        found = np.empty(spawned.n, dtype=self.best_type)
        kernels.best(spawned.slots, spawned.n, values, found)
        return found

    def best_with_gain(self, spawned: Spawned, values: Array) -> Array:
        """Return the same with what slides and merges add; what a lost game is worth without a slide."""
        found = np.empty(spawned.n, dtype=self.accumulator)
        step, lost = self.accumulator(self.objective.slide), self.accumulator(self.objective.lost)
        gains = spawned.gains[self.objective.merge]
        kernels.best_with_gain(spawned.slots, spawned.n, gains, values, step, lost, found)
        return found

    def won(self) -> Any:
        """Return the value of a won state, as `best` returns it."""
        return sentinels(self.game, self.objective)[1]

    def best(self, spawned: Spawned, values: Array) -> Array:
        """Return the value of each spawned state."""
        raise NotImplementedError

    def fold(self, acc: Array, exponent: int, found: Array, spawns: Array) -> None:
        """Combine the values of states with the accumulators."""
        raise NotImplementedError

    def finish(self, acc: Array, spawns: Array, ends: Array | None) -> Array:
        """Return the values of the afterstates; `ends` is that of `Spawned`."""
        raise NotImplementedError


class MeanFold(Fold):
    """Means in floating point.  Coded ones are compared as they are: their order is that of the values."""

    def __init__(self, game: Game, objective: Objective) -> None:
        super().__init__(game, objective)
        self.coded = objective.type.is_coded
        if not objective.merge:
            self.best_type = self.dtype if self.coded else np.float64
        self.factor = float(objective.discount)
        # A state that is won by its sum is not discounted, since no slide follows.
        self.early = game.goal_sum is not None and self.factor != 1
        self.first = max(game.spawn_exponents)
        self.four = float(game.spawn.four)

    def best(self, spawned: Spawned, values: Array) -> Array:
        if self.coded:
            found = decoded(self.best_slide(spawned, values))
        elif self.objective.merge:
            found = self.best_with_gain(spawned, values)
        else:
            found = self.best_slide(spawned, values)
            if self.objective.slide:
                found += self.objective.slide
        return self.ended(found, spawned)

    def ended(self, found: Array, spawned: Spawned) -> Array:
        """Return the values of states from those of their best slides."""
        if self.objective.counts_end and spawned.ends is not None:
            # The spawned tile may be the largest.  A state is worth at least what its board is at an end.
            ends = np.maximum(spawned.ends, 1 << spawned.exponent)
            np.maximum(found, np.repeat(ends, spawned.spawns), out=found)
        if self.early:
            found *= self.factor
        return found

    def fold(self, acc: Array, exponent: int, found: Array, spawns: Array) -> None:
        kernels.mix_means(found, spawns, exponent != self.first, self.four, acc)

    def finish(self, acc: Array, spawns: Array, ends: Array | None) -> Array:
        if self.factor != 1 and not self.early:
            acc *= self.factor
        if self.objective.counts_end and ends is not None:
            np.copyto(acc, ends, where=spawns == 0)
        elif self.objective.lost:
            acc[spawns == 0] = self.objective.lost
        if self.coded:
            return encoded(acc, self.dtype)
        return acc.astype(self.dtype, copy=False)


class BoundFold(Fold):
    """Means in fixed point: each step of a lower bound is rounded down, of an upper bound up."""

    accumulator = np.uint64
    best_type = np.uint64

    def __init__(self, game: Game, objective: Objective) -> None:
        super().__init__(game, objective)
        self.up, self.one, self.most = objective.rounds_up, objective.one, objective.most
        self.weights = {e: np.uint64(game.spawn.weight(e)) for e in game.spawn_exponents}
        self.divide = divide_bound(game, objective)

    def won(self) -> Any:
        return self.one if self.up else self.most

    def best(self, spawned: Spawned, values: Array) -> Array:
        return discounted_bounds(self.objective, self.best_slide(spawned, values))

    def fold(self, acc: Array, exponent: int, found: Array, spawns: Array) -> None:
        kernels.add_sums(found, spawns, self.weights[exponent], acc)

    def finish(self, acc: Array, spawns: Array, ends: Array | None) -> Array:
        out = np.empty(len(acc), dtype=self.dtype)
        kernels.divide_sums(acc, spawns, self.divide, out)
        return out


class ExtremeFold(Fold):
    """The least or the largest over spawns, as integers."""

    accumulator = np.int32

    def __init__(self, game: Game, objective: Objective) -> None:
        super().__init__(game, objective)
        if not objective.merge:
            self.best_type = np.int32
        self.largest = objective.spawns == "largest"
        self.begin = first_extreme(objective)

    def best(self, spawned: Spawned, values: Array) -> Array:
        if self.objective.merge:
            return self.best_with_gain(spawned, values)
        found = self.best_slide(spawned, values)
        found += self.objective.slide
        return found

    def fold(self, acc: Array, exponent: int, found: Array, spawns: Array) -> None:
        kernels.extremes(found, spawns, self.largest, acc)

    def finish(self, acc: Array, spawns: Array, ends: Array | None) -> Array:
        acc[spawns == 0] = self.objective.lost
        return acc


class BitFold(Fold):
    """Boolean values, one bit per position."""

    accumulator = np.uint8
    begin = 1

    def values(self, n: int, total: int) -> Array:
        words = np.zeros((FIRST + n + 63) // 64, dtype=np.uint64)
        words[0] = 1 << WON
        return words

    def nbytes(self, n: int) -> int:
        return n // 8

    def best(self, spawned: Spawned, values: Array) -> Array:
        found = np.empty(spawned.n, dtype=np.uint8)
        kernels.best_bit(spawned.slots, spawned.n, values, found)
        return found

    def fold(self, acc: Array, exponent: int, found: Array, spawns: Array) -> None:
        kernels.extremes(found, spawns, False, acc)

    def finish(self, acc: Array, spawns: Array, ends: Array | None) -> Array:
        acc[spawns == 0] = 0
        return acc

    def put(self, values: Array, position: int, found: Array) -> None:
        kernels.put_bits(found, FIRST + position, values)


class PolicyFold(MeanFold):
    """The value of a policy, instead of optimal play.

    The policy takes the slide that a guide rates best; among equally good slides it takes each with the same
    probability.  The rating is the afterstate's value under another objective (``guide(total)`` returns those
    of a layer), plus what the merges add under `guide_merge`.  Without both, all slides are equally good.
    Slides whose rating differs from the best by at most the relative `slack` are also equally good.  In
    memory, column 0 holds the guide's values, column 1 the policy's.
    """

    def __init__(
        self,
        game: Game,
        objective: Objective,
        *,
        guide: Callable[[int], Array] | None = None,
        guide_merge: str = "",
        slack: float = 0.0,
    ) -> None:
        super().__init__(game, objective)
        self.best_type = None
        self._guide, self._guide_merge, self._slack = guide, guide_merge, slack
        self.merges = tuple({guide_merge, *self.merges} - {""})

    def values(self, n: int, total: int) -> Array:
        values = np.zeros((2, FIRST + n))
        values[1, NONE], values[1, WON] = sentinels(self.game, self.objective)
        if self._guide is not None:
            values[0] = self._guide(total)
        return values

    def best(self, spawned: Spawned, values: Array) -> Array:
        found = np.empty(spawned.n)
        guide = values[0] if self._guide is not None else values[0, :0]
        guide_gains = spawned.gains.get(self._guide_merge, NO_GAINS)
        gains = spawned.gains.get(self.objective.merge, NO_GAINS)
        kernels.follow(
            spawned.slots, spawned.n, guide, guide_gains, self._slack, values[1], gains,
            float(self.objective.slide), float(self.objective.lost), found,
        )  # fmt: skip
        return self.ended(found, spawned)

    def nbytes(self, n: int) -> int:
        return 16 * n

    def put(self, values: Array, position: int, found: Array) -> None:
        values[1, FIRST + position : FIRST + position + len(found)] = found


def make_fold(game: Game, objective: Objective) -> Fold:
    """Return the fold of an objective.  Raises `UsageError` if it does not fit the game."""
    objective.check(game)
    if objective.is_boolean:
        return BitFold(game, objective)
    if objective.is_bound:
        return BoundFold(game, objective)
    return (MeanFold if objective.is_mean else ExtremeFold)(game, objective)
