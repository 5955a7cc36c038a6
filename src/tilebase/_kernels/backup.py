"""The backup of one board, which the kernels of both engines and of CUDA inline.

The value of an afterstate follows from the values of the states after each spawn.  There is an accumulator
for each spawned exponent: `combine` adds the value of a state to it, as a tuple `Add...` or `Take...` says,
and `settled` makes the value of the afterstate of both, as a tuple `Divide...` or `Keep...` says.  The value
of a state is the maximum over its slides: ``values[NONE]`` is what a slide that is not allowed is worth, and
``values[WON]`` one that wins.

Accumulators of means are floats, and each engine adds in its own order, so their last digits differ.  Bounds
and extremes are exact.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from tilebase._kernels.coded import number, stored
from tilebase._kernels.jit import chosen, scalar
from tilebase._kernels.scalar import U1

NONE, WON = 0, 1
"""The first two positions of a layer are no boards: a slide that is not allowed, and a slide that wins."""
FIRST = 64
"""Position of the first board of a layer: a multiple of 64, so that threads share no word of bits."""


# -- how values are combined ---------------------------------------------------------------------


class AddMean(NamedTuple):
    """Mean: add the value, at least `least`, and `step`."""

    least: float
    step: float


class AddBound(NamedTuple):
    """Proved bound: add the value times `weight`; one that is `most` stands for `lift` more."""

    weight: Any
    most: Any
    lift: Any


class TakeLargest(NamedTuple):
    """The largest, or the least where `sign` is negative, of values and `step`."""

    sign: Any
    step: Any


class DivideMean(NamedTuple):
    """Mean: the mean of the first exponent has this weight; the result is multiplied by `factor`."""

    weight: float
    factor: float


class DivideBound(NamedTuple):
    """Proved bound: the sum over `denominator`, rounded up if `up` is not 0; at most `most`.

    Floats are exact if the sum is below 2**53.
    """

    denominator: Any
    up: Any
    most: Any


class TruncateBound(NamedTuple):
    """As `DivideBound`, of sums that are floats, without a function that rounds: Numba has none for devices.

    Sums must be below 2**53.
    """

    denominator: float
    up: float
    most: float


class KeepLargest(NamedTuple):
    """The largest, or the least where `sign` is negative; 0 without a spawn."""

    sign: Any


# -- the player: the best over slides ------------------------------------------------------------


@chosen
def maximum(old, _value):
    """Return the larger of two values."""
    if isinstance(old, types.Float):
        return lambda old, _value: max(old, _value)

    def larger(old, _value):
        # Without a branch: the sign bit, spread over the word, masks a difference that is negative.
        more = np.int64(_value) - np.int64(old)
        return old + type(old)(more & ~(more >> np.int64(63)))

    return larger


# -- the adversary or chance: over spawns --------------------------------------------------------


@chosen
def combine(_acc, _value, add):
    """Add the value of a state to an accumulator, as the type of `add` says."""
    if add.instance_class is AddBound:

        def folded(_acc, _value, add):
            value = type(add.weight)(_value)
            return _acc + add.weight * (value + (add.lift if value == add.most else type(add.weight)(0)))
    elif add.instance_class is AddMean:

        def folded(_acc, _value, add):
            return _acc + (max(number(_value), add.least) + add.step)
    else:

        def folded(_acc, _value, add):
            value = np.int64(_value) + add.step
            return max(_acc, value) if add.sign > 0 else min(_acc, value)

    return folded


@chosen
def settled(_first, _second, _spawns, finish, _like):
    """Return the value of an afterstate, kept like `_like`, from the accumulators of both exponents.

    The type of `finish` says how.
    """
    # Means: the mean of the first exponent and that of the second, mixed by the probability of the first.
    if finish.instance_class is DivideMean:

        def value(_first, _second, _spawns, finish, _like):
            mean = mixed_mean(mean_over(_first, _spawns), _second, _spawns, finish.weight)
            return stored(mean * finish.factor, _like)
    # Bounds: the weighted sum of both exponents over the sum of the weights, rounded in one direction.
    elif finish.instance_class is DivideBound:

        def value(_first, _second, _spawns, finish, _like):
            return divided(_first + _second, _spawns, finish)
    elif finish.instance_class is TruncateBound:

        def value(_first, _second, _spawns, finish, _like):
            below = np.float64(max(_spawns, 1)) * finish.denominator
            # The conversion to an integer truncates; what it cut off is added back as 1 if bounds go up.
            found = np.float64(np.int64((_first + _second) / below))
            if finish.up > 0 and found * below != _first + _second:
                found += 1.0
            return min(found, finish.most)
    # Extremes: the worse of both exponents for whoever moves.
    else:

        def value(_first, _second, _spawns, finish, _like):
            found = max(_first, _second) if finish.sign > 0 else min(_first, _second)
            return found if _spawns else np.int64(0)

    return value


@scalar
def mean_over(total, spawns):
    """Return the mean of a sum over spawns; a full board is no afterstate, but has a rank."""
    return total / np.float64(max(spawns, 1))


@scalar
def mixed_mean(first, total, spawns, weight):
    """Return the mean over the spawns of both exponents: from the mean of the first, the sum of the second.

    If both means are equal, so is the result: a forced win stays exactly 1.
    """
    mean = mean_over(total, spawns)
    return mean + weight * (first - mean)


@chosen
def divided(_sum, _spawns, _finish):
    """Divide a weighted sum over spawns by the sum of the weights, rounded as `_finish` says."""
    if isinstance(_sum, types.Float):

        def value(_sum, _spawns, _finish):
            found = _sum / (np.float64(max(_spawns, 1)) * _finish.denominator)
            return min(np.ceil(found) if _finish.up else np.floor(found), _finish.most)
    else:

        def value(_sum, _spawns, _finish):
            # In integers a remainder says whether the quotient was rounded.
            below = np.uint64(max(_spawns, 1)) * _finish.denominator
            found = _sum // below
            if _finish.up and found * below != _sum:
                found += U1
            return min(found, _finish.most)

    return value
