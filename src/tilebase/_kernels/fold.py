"""Kernels that fold values: the best over slides, then the mean, least or largest over spawns.

Links are those of `_kernels.backward`.  ``values[NONE]`` and ``values[WON]`` hold what a slide
that is not allowed and one that wins are worth, so that the best of a state is a plain maximum.
"""

from __future__ import annotations

import numpy as np

from tilebase._kernels.backup import NONE, divided, mean_over, mixed_mean
from tilebase._kernels.jit import kernel, scalar
from tilebase._kernels.scalar import U0, U1, U6, U63


@kernel()
def best(slots, n, values, out):
    """Write ``out[x]``: the largest value over slides."""
    # Slide by slide, so that the inner loop reads the slots one after the other and has no branch.
    for x in range(n):
        out[x] = values[slots[0, x]]
    for k in range(1, len(slots)):
        for x in range(n):
            out[x] = max(out[x], values[slots[k, x]])


@kernel()
def best_bit(slots, n, bits, out):
    """Write the same for values of one bit each, packed into words."""
    for x in range(n):
        out[x] = 0
    for k in range(len(slots)):
        for x in range(n):
            position = np.uint64(slots[k, x])
            out[x] |= np.uint8(bits[position >> U6] >> (position & U63) & U1)


@kernel()
def best_with_gain(slots, n, gains, values, step, lost, out):
    """Write ``out[x]``: the largest value over slides, with what they gain and `step`.

    Without a slide it is `lost`: one that is not allowed is worth less than any number, whatever it gains.
    """
    # Both slides along an axis merge the same tiles, so there is one gain for two slides.
    for x in range(n):
        out[x] = values[slots[0, x]] + gains[0, x]
    for k in range(1, len(slots)):
        for x in range(n):
            out[x] = max(out[x], values[slots[k, x]] + gains[k // 2, x])
    # A slide that is not allowed has a gain, too: its value is so small that the sum is less than `lost`.
    for x in range(n):
        out[x] = max(out[x] + step, lost)


@scalar
def _opinion(position, k, x, guide, guide_gains):
    opinion = guide[position] if len(guide) else 0.0
    if len(guide_gains):
        opinion += guide_gains[k // 2, x]
    return opinion


@kernel()
def follow(slots, n, guide, guide_gains, slack, values, gains, step, lost, out):
    """Write ``out[x]``: the mean of `values` over the slides that a guide rates best, or over all.

    The guide's opinion of slide k is ``guide[slots[k, x]] + guide_gains[k // 2, x]``; either may be
    empty.  Opinions closer than `slack`, relative to the best, are ties.  A slide adds
    ``gains[k // 2, x] + step``; `gains` may be empty.  Without a slide the value is `lost`.
    """
    for x in range(n):
        # The best opinion of the slides that are allowed, and which opinions are as good.
        best_opinion = -np.inf
        for k in range(len(slots)):
            position = slots[k, x]
            if position != NONE:
                best_opinion = max(best_opinion, _opinion(position, k, x, guide, guide_gains))
        least = best_opinion - slack * abs(best_opinion)
        # The mean over these slides.
        total = 0.0
        ties = 0
        for k in range(len(slots)):
            position = slots[k, x]
            if position != NONE:
                if _opinion(position, k, x, guide, guide_gains) >= least:
                    ties += 1
                    total += values[position] + step
                    if len(gains):
                        total += gains[k // 2, x]
        out[x] = total / ties if ties else lost


@kernel()
def mix_means(values, spawns, mix, weight, out):
    """Write ``out[a]``: the mean of `values` over spawns; to `mix` it in, out of that and the mean before it.

    The mean before, over the spawns of the other exponent, has the weight `weight`.
    """
    # The spawns of one afterstate lie one after the other, behind those of the afterstates before.
    x = 0
    for a in range(len(spawns)):
        total = 0.0
        for _ in range(spawns[a]):
            total += values[x]
            x += 1
        # The second exponent mixes its mean into that of the first, which `out` has.
        if mix:
            out[a] = mixed_mean(out[a], total, spawns[a], weight)
        else:
            out[a] = mean_over(total, spawns[a])


@kernel()
def add_sums(values, spawns, weight, out):
    """Add to ``out[a]`` the sum of `values` over the ``spawns[a]`` spawns of board a, times `weight`."""
    x = 0
    for a in range(len(spawns)):
        total = U0
        for _ in range(spawns[a]):
            total += values[x]
            x += 1
        out[a] += total * weight


@kernel()
def divide_sums(sums, spawns, finish, out):
    """Write ``out[a]``: the bound that ``sums[a]`` is, as `finish` says (`backup.DivideBound`)."""
    for a in range(len(out)):
        total = type(finish.most)(np.int64(sums[a]))  # LLVM converts several signed integers at once
        out[a] = np.int64(divided(total, spawns[a], finish))


@kernel()
def extremes(values, spawns, up, out):
    """Lower ``out[a]`` to the least of `values` over the spawns of afterstate a, or raise it if `up`."""
    x = 0
    for a in range(len(spawns)):
        extreme = out[a]
        for _ in range(spawns[a]):
            extreme = max(extreme, values[x]) if up else min(extreme, values[x])
            x += 1
        out[a] = extreme


@kernel()
def put_bits(values, position, out_bits):
    """Set the bits from `position` on where `values` is true; they must be zero before."""
    for i in range(len(values)):
        at = np.uint64(position + i)
        out_bits[at >> U6] |= np.uint64(values[i]) << (at & U63)


@kernel()
def summaries(values, size, most, one, out):
    """Write ``out[k]``: least, largest and sum of the k-th `size` values, and how many are `one` and 0.

    Values of `most` count as `one`.
    """
    for k in range(len(out)):
        # Float64 is exact for the integers of bounds, of which `most` is the one that stands for 1.
        least, largest, total, ones, zeros = np.inf, -np.inf, 0.0, 0, 0
        for i in range(k * size, min((k + 1) * size, len(values))):
            value = np.float64(values[i])
            value = one if value == most else value
            least, largest = min(least, value), max(largest, value)
            total += value
            ones += value == one
            zeros += value == 0.0
        out[k, 0], out[k, 1], out[k, 2], out[k, 3], out[k, 4] = least, largest, total, ones, zeros
