"""Objectives as arrays and kernels: how the values of a layer are kept in memory and folded.

A fold has four pieces, each called with arrays:

    values(n, sum)             memory for the values of n afterstates of a layer, sentinels set
    start(n)                   accumulators of n afterstates
    add(acc, exponent, ...)    fold in what the spawns of one exponent lead to, largest exponent first
    finish(acc, spawns)        values, of the memory's type

Accumulators of a mean: after the spawns of 4s the mean over cells m4, after those of 2s
``m2 + p (m4 - m2)``, which is exact where both are equal: certain wins stay exactly 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tilebase._kernels import fold, half
from tilebase.game.game import Game
from tilebase.objectives.encoding import FIRST, NONE, WON, sentinels
from tilebase.objectives.objective import ONE, Objective

Array = npt.NDArray[Any]


class Fold(Protocol):
    """One objective of one game."""

    objective: Objective
    wants_gains: bool

    def values(self, n: int, total: int) -> Array:
        """Memory for the values of n afterstates of sum `total`, after the sentinels."""

    def nbytes(self, n: int) -> int:
        """Bytes of the values of n afterstates."""

    def start(self, n: int) -> Array:
        """Accumulators."""

    def add(
        self, acc: Array, exponent: int, slots: Array, n: int, gains: Array, values: Array, spawns: Array
    ) -> None:
        """Fold the states of `n` spawns into the accumulators of ``len(spawns)`` afterstates."""

    def finish(self, acc: Array, spawns: Array) -> Array:
        """The values of the afterstates."""

    def put(self, values: Array, place: int, found: Array) -> None:
        """Enter values from the `place`-th afterstate on."""


class _Plain:
    """Values that are elements of an array."""

    wants_gains = False

    def __init__(self, game: Game, objective: Objective) -> None:
        self.game, self.objective = game, objective
        self.dtype = np.dtype(objective.dtype)

    def nbytes(self, n: int) -> int:
        return self.dtype.itemsize * n

    def put(self, values: Array, place: int, found: Array) -> None:
        values[FIRST + place : FIRST + place + len(found)] = found


class MeanFold(_Plain):
    """Means in floating point: win, score, moves.  float16 is kept as its bits, which are ordered alike."""

    def __init__(self, game: Game, objective: Objective) -> None:
        super().__init__(game, objective)
        self.wants_gains = objective.name == "score"
        self.half = objective.dtype == "float16"
        self.factor = float(objective.discount)
        self.first = max(game.spawn_exponents)
        self.four = float(game.four)

    def values(self, n: int, total: int) -> Array:
        values = np.empty(FIRST + n, dtype=self.dtype)
        values[NONE], values[WON] = sentinels(self.objective)
        return values.view(np.uint16) if self.half else values

    def start(self, n: int) -> Array:
        return np.zeros(n)

    def add(
        self, acc: Array, exponent: int, slots: Array, n: int, gains: Array, values: Array, spawns: Array
    ) -> None:
        found = np.empty(n)
        if self.half:
            codes = np.empty(n, dtype=np.uint16)
            fold.best(slots, n, values, codes)
            half.from_halves(codes, found)
        elif self.wants_gains:
            fold.best_with_gain(slots, n, gains, values, found)
        else:
            fold.best(slots, n, values, found)
        if self.objective.name == "moves":
            found += 1
        fold.mix_means(found, spawns, exponent != self.first, self.four, acc)

    def finish(self, acc: Array, spawns: Array) -> Array:
        if self.factor != 1:
            acc *= self.factor
        if self.half:
            bits = np.empty(len(acc), dtype=np.uint16)
            half.to_halves(acc, bits)
            return bits
        return acc.astype(self.dtype, copy=False)


class BoundFold(_Plain):
    """Means in fixed point, each step rounded towards the safe side.

    A uint32 holds at most ``ONE - 1``.  As a lower bound that is safe as it stands; as an
    upper bound it is read as `ONE`.
    """

    def __init__(self, game: Game, objective: Objective) -> None:
        super().__init__(game, objective)
        self.up = objective.name == "upper"
        self.most = min(ONE[objective.dtype], int(np.iinfo(self.dtype).max))
        self.weights = {
            e: int(game.spawn_probability(e) * game.four.denominator) for e in game.spawn_exponents
        }

    def values(self, n: int, total: int) -> Array:
        values = np.empty(FIRST + n, dtype=self.dtype)
        values[NONE], values[WON] = 0, self.most
        return values

    def start(self, n: int) -> Array:
        return np.zeros(n, dtype=np.uint64)

    def add(
        self, acc: Array, exponent: int, slots: Array, n: int, gains: Array, values: Array, spawns: Array
    ) -> None:
        found = np.empty(n, dtype=np.uint64)
        fold.best(slots, n, values, found)
        one = ONE[self.objective.dtype]
        if self.up and self.most < one:
            found[found == self.most] = one
        found = self._divide(
            found * np.uint64(self.objective.discount.numerator), self.objective.discount.denominator
        )
        sums = np.empty(len(spawns), dtype=np.uint64)
        fold.sums(found, spawns, sums)
        acc += sums * np.uint64(self.weights[exponent])

    def finish(self, acc: Array, spawns: Array) -> Array:
        found = self._divide(
            acc, np.maximum(spawns, 1).astype(np.uint64) * np.uint64(self.game.four.denominator)
        )
        return np.minimum(found, np.uint64(self.most)).astype(self.dtype)

    def _divide(self, above: Array, below: Any) -> Array:
        if isinstance(below, int) and below == 1:
            return above
        below = np.asarray(below, dtype=np.uint64)
        whole: Array = above // below
        # Rounded up without an overflow of what is above.
        return whole + (above % below != 0) if self.up else whole


class ExtremeFold(_Plain):
    """The least or the largest number of slides: survival, longest."""

    def values(self, n: int, total: int) -> Array:
        values = np.empty(FIRST + n, dtype=np.int32)
        values[NONE], values[WON] = sentinels(self.objective)
        return values

    def start(self, n: int) -> Array:
        worst = np.iinfo(np.int32).max if self.objective.name == "survival" else 0
        return np.full(n, worst, dtype=np.int32)

    def add(
        self, acc: Array, exponent: int, slots: Array, n: int, gains: Array, values: Array, spawns: Array
    ) -> None:
        found = np.empty(n, dtype=np.int32)
        fold.best(slots, n, values, found)
        found += 1
        fold.extremes(found, spawns, self.objective.name == "longest", acc)

    def finish(self, acc: Array, spawns: Array) -> Array:
        acc[spawns == 0] = 0
        return acc


class BitFold:
    """True or false, one bit a position: guaranteed."""

    wants_gains = False

    def __init__(self, game: Game, objective: Objective) -> None:
        self.game, self.objective = game, objective

    def values(self, n: int, total: int) -> Array:
        words = np.zeros((FIRST + n + 63) // 64, dtype=np.uint64)
        words[0] = 1 << WON
        return words

    def nbytes(self, n: int) -> int:
        return n // 8

    def start(self, n: int) -> Array:
        return np.ones(n, dtype=np.uint8)

    def add(
        self, acc: Array, exponent: int, slots: Array, n: int, gains: Array, values: Array, spawns: Array
    ) -> None:
        found = np.empty(n, dtype=np.uint8)
        fold.best_bit(slots, n, values, found)
        fold.extremes(found, spawns, False, acc)

    def finish(self, acc: Array, spawns: Array) -> Array:
        acc[spawns == 0] = 0
        return acc

    def put(self, values: Array, place: int, found: Array) -> None:
        fold.put_bits(found, FIRST + place, values)


class PolicyFold(MeanFold):
    """What a policy is worth, instead of optimal play.

    The policy takes the slide that a guide holds best, and each of several with the same
    probability: the guide is another objective's value of the afterstate (``guide(total)``
    gives those of a layer; with `scored`, the tiles made by the slide are added), the tiles made by
    merging (`greedy`), or nothing, so that all slides are as good (neither).  Slides that differ from
    the best by `slack`, relative to it, are as good.  In memory, column 0 holds the guide's values,
    column 1 the policy's.
    """

    def __init__(
        self,
        game: Game,
        objective: Objective,
        *,
        guide: Callable[[int], Array] | None = None,
        scored: bool = False,
        slack: float = 0.0,
        greedy: bool = False,
    ) -> None:
        super().__init__(game, objective)
        self._guide, self._slack = guide, slack
        self._guide_gain = 1.0 if greedy or scored else 0.0
        self._gain = 1.0 if objective.name == "score" else 0.0
        self._step = 1.0 if objective.name == "moves" else 0.0
        self.wants_gains = self._guide_gain + self._gain > 0

    def values(self, n: int, total: int) -> Array:
        values = np.zeros((2, FIRST + n))
        values[1, WON] = 1.0 if self.objective.name == "win" else 0.0
        if self._guide is not None:
            values[0] = self._guide(total)
        return values

    def add(
        self, acc: Array, exponent: int, slots: Array, n: int, gains: Array, values: Array, spawns: Array
    ) -> None:
        found = np.empty(n)
        guide = values[0] if self._guide is not None else values[0, :0]
        fold.follow(
            slots, n, gains, guide, self._guide_gain, self._slack, values[1], self._gain, self._step, found
        )
        fold.mix_means(found, spawns, exponent != self.first, self.four, acc)

    def nbytes(self, n: int) -> int:
        return 16 * n

    def put(self, values: Array, place: int, found: Array) -> None:
        values[1, FIRST + place : FIRST + place + len(found)] = found


def make_fold(game: Game, objective: Objective) -> Fold:
    """The fold of an objective.  Raises `UsageError` if it does not fit the game."""
    objective.check(game)
    if objective.name == "guaranteed":
        return BitFold(game, objective)
    if objective.is_bound:
        return BoundFold(game, objective)
    return (MeanFold if objective.is_mean else ExtremeFold)(game, objective)
