"""What is known of a value that was computed with floats: its error, and whether it is certain.

*How far.*  Let u = 2**-53, and let p be the probability of a 4.  The value of an afterstate with n empty
cells is ``m2 + p (m4 - m2)``.  Here m2 and m4 are means of n numbers that are not negative: n roundings
each.  The difference, p and the product are rounded, and ``p |m4 - m2|`` is at most ``max(1, p / (1 - p))``
times the result.  The sum is rounded once more.  So this step adds at most the relative error

    (n + 1 + 3 max(1, p / (1 - p)) + k) u,

where k is 0, or `OTHER` if slides or merges add something or the objective has a discount.  If values are
stored in a smaller type, the unit of that type is added, and in those cases twice: what the pass over all
boards stores of states then differs from what it stores of afterstates, and is rounded, too.  Means with
non-negative weights and maxima do not enlarge a relative error.  So what is wrong in a value is at most the
sum over the layers from its own sum up to the largest; with the products of errors, ``expm1`` of it.  At
least as many tiles stand on a board as its sum has binary digits 1, which bounds n.  Where a number is too
small for the exponents of its type, an absolute error is added, less than twice the least positive number
for each layer.

*What is certain.*  If a win can be reached at all, then by a sequence of spawns.  Its probability is at least
the product of ``p / n`` and ``(1 - p) / n`` over its spawns, and there are no more of them than layers.  So a
value that is certainly less than this product is 0.  For the same reason a value that is less than 1 is less
by at least this product, since a loss can be reached.  The same holds of the probability to lose.  In short
games this proves that a 0 is 0 and a 1 is 1.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Exact, Lower, Number, Rounded, Upper, Value

Array = npt.NDArray[Any]
DOUBLE = 2.0**-53
"""The unit of rounding of the sums and means, which are computed in float64."""
OTHER = 6
"""Further roundings of a step: of what slides and merges add, and of a discount."""


class Rounding:
    """What is known of the values of one objective of a game: the same for all tables and engines."""

    def __init__(self, game: Game, objective: Objective) -> None:
        self.game, self.objective = game, objective

    # -- values ----------------------------------------------------------------------------------

    def value(self, number: Number, total: int) -> Value:
        """Return the value of a board of this sum, from its number: exact, rounded, or a proved bound."""
        objective = self.objective
        if objective.is_bound:
            return (Upper if objective.rounds_up else Lower)(Fraction(number))
        assert not isinstance(number, Fraction)
        if not objective.is_float:
            return Exact(number if isinstance(number, bool) else int(objective.told(number)))
        return self._rounded(float(objective.told(number)), total, 0.0)

    def start(self, number: Number) -> Value:
        """Return the value of the start, a mean over the start states."""
        if not self.objective.is_float:
            return self.value(number, 0)
        starts = self.game.starts()
        # The mean over the states is rounded like a spawn on a board with the sum before.
        total = min(self.game.sum(board) for board, _ in starts) - 2
        return self._rounded(
            float(self.objective.told(number)), max(total, 0), math.log(min(p for _, p in starts))
        )

    def _rounded(self, number: float, total: int, log_start: float) -> Value:
        """Return the value under an objective in floats; `log_start` belongs to the choice of a start."""
        error = self.error(number, total)
        if self.objective.meaning.needs_goal:
            # A slide may be made after the last spawn: so the discount is counted once more.
            least = self._at(self._log_chances, total) + log_start + math.log(self.objective.discount)
            if not number and math.log(error) < least:
                return Exact(0)
            if number == 1 and self.objective.discount == 1 and math.log(error) < least:
                return Exact(1)
        most = 1 if self.objective.unit == "probability" else None
        return Rounded(number, self.objective.dtype, error, most)

    # -- errors ----------------------------------------------------------------------------------

    def error(self, number: float, total: int) -> float:
        """Prove how far the optimum can be from the value of a state or an afterstate of this sum.

        It is infinite if nothing is proved, as where a 4 is almost certain.
        """
        size = abs(number)
        # The value of a state follows from that of an afterstate by `OTHER` roundings at most.
        sums = self._at(self._sums, total) + OTHER * DOUBLE
        layers = max(len(self._sums) - total // 2, 0)
        error = 2 * self.objective.type.least * (layers + 1)
        error += _share(size, math.expm1(sums) if sums < 1 else math.inf)
        return min(error, max(size, 1 - size)) if self.objective.unit == "probability" else error

    def step_error(self, number: float, total: int) -> float:
        """Bound the distance of an afterstate's value from the exact mean of the stored values after it."""
        relative = self._at(self._steps, total) + OTHER * DOUBLE
        return _share(abs(number), relative) + 4 * self.objective.type.least

    def _at(self, array: Array, total: int) -> float:
        index = max(total, 0) // 2
        return float(array[index]) if index < len(array) else 0.0

    @cached_property
    def _empty(self) -> Array:
        """``[k]``: the most empty cells of a board of sum 2 k."""
        tiles = np.bitwise_count(np.arange(self.game.largest_sum // 2 + 1))
        return np.maximum(self.game.free_cells - tiles.astype(int), 1)

    @cached_property
    def _steps(self) -> Array:
        """``[k]``: the relative error that a step adds to the values of sum 2 k."""
        objective = self.objective
        plain = objective.discount == 1 and not objective.slide and not objective.merge
        four = self.game.spawn.four
        # The mean over 2s is mixed into that over 4s, where both are spawned.
        mixing = 3 * max(1.0, float(four / (1 - four))) if 0 < four < 1 else 0.0
        others = 1 + mixing + (0 if plain else OTHER)
        stored = objective.type.unit * (1 if plain else 2)
        return (self._empty + others) * DOUBLE + stored

    @cached_property
    def _sums(self) -> Array:
        """``[k]``: the errors of all steps from the sum 2 k on, added."""
        return np.cumsum(self._steps[::-1])[::-1]

    @cached_property
    def _log_chances(self) -> Array:
        """``[k]``: the logarithm of the least probability of the spawns from the sum 2 k on, discounted."""
        game, empty = self.game, self._empty
        logs = np.full(len(empty), np.inf)
        for exponent in game.spawn_exponents:
            # A tile of 2**e takes 2**(e - 1) layers; each bears a part of it.
            layers, wide = 1 << (exponent - 1), empty
            for back in range(1, layers):
                wide = np.maximum(wide, np.concatenate([empty[:1].repeat(back), empty[:-back]])[: len(empty)])
            logs = np.minimum(logs, (math.log(game.spawn.chance(exponent)) - np.log(wide)) / layers)
        logs = logs + math.log(self.objective.discount)
        return np.minimum(np.cumsum(logs[::-1])[::-1], 0.0)


def _share(size: float, relative: float) -> float:
    return size * relative / (1 - relative) if relative < 1 else math.inf
