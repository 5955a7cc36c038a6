"""The kernels of the dense passes for CUDA; see `dense.executors.cuda`, which is where they are called from.

They are the loops of `_kernels.dense` for one board a thread.  Numba's simulator runs a kernel as
plain Python and finds ``cuda`` in the globals of its module, hence this module of its own, which is only
imported where a device is wanted.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from numba import cuda

from tilebase._kernels.backward import FIRST, NONE, WON
from tilebase._kernels.dense import ENDS, KIND, MOVED, PLACE, U20, U40, WIN
from tilebase._kernels.scalar import U0, U1


@cache
def make_kernels(kind: str) -> SimpleNamespace:
    """The kernels for ``"means"``, ``"bounds"`` or ``"extremes"``: `fold` and `slide`."""

    @cuda.jit(device=True)
    def unrank(blocks: Any, starts: Any, counts: Any, rank: Any) -> Any:
        """The classes and the places of the four parts of a board."""
        low, high = 0, len(starts)
        while high - low > 1:  # the last block that begins at or before the rank
            middle = (low + high) // 2
            if starts[middle] <= rank:
                low = middle
            else:
                high = middle
        ka, kb, kc, kd = blocks[low, 0], blocks[low, 1], blocks[low, 2], blocks[low, 3]
        rest = rank - starts[low]
        id_ = rest % counts[3][kd]
        rest //= counts[3][kd]
        ic = rest % counts[2][kc]
        rest //= counts[2][kc]
        return ka, kb, kc, kd, rest // counts[1][kb], rest % counts[1][kb], ic, id_

    if kind == "means":

        @cuda.jit(device=True)
        def combine(acc: Any, value: Any, a: Any, b: Any, _c: Any) -> Any:
            return acc + (max(np.float64(value), a) + b)

        @cuda.jit(device=True)
        def settle(first: Any, second: Any, spawns: Any, a: Any, b: Any, _c: Any) -> Any:
            below = np.float64(max(spawns, 1))
            mean = second / below
            return (mean + a * (first / below - mean)) * b
    elif kind == "bounds":

        @cuda.jit(device=True)
        def combine(acc: Any, value: Any, a: Any, b: Any, c: Any) -> Any:
            whole = np.uint64(value)
            if whole == b:
                whole += c
            return acc + a * whole

        @cuda.jit(device=True)
        def settle(first: Any, second: Any, spawns: Any, a: Any, b: Any, c: Any) -> Any:
            below = np.uint64(max(spawns, 1)) * a
            found = (first + second) // below
            if b != U0 and found * below != first + second:
                found += U1
            return min(found, c)
    else:

        @cuda.jit(device=True)
        def combine(acc: Any, value: Any, a: Any, b: Any, _c: Any) -> Any:
            found = np.int64(value) + b
            return max(acc, found) if a > 0 else min(acc, found)

        @cuda.jit(device=True)
        def settle(first: Any, second: Any, spawns: Any, a: Any, _b: Any, _c: Any) -> Any:
            if spawns == 0:
                return np.int64(0)
            return max(first, second) if a > 0 else min(first, second)

    @cuda.jit(device=True)
    def gather(acc, ka, ia, kb, ib, kc, ic, kd, id_, counts, begins, up, t0, t1, t2):
        values, offsets = up[0], up[1]
        nb, nc, nd = counts[1][kb], counts[2][kc], counts[3][kd]
        start, place, kinds = up[2], up[3], up[4]
        g = begins[0][ka] + ia
        for s in range(start[g], start[g + 1]):
            at = offsets[kinds[ka], kb, kc] + ((np.int64(place[s]) * nb + ib) * nc + ic) * nd + id_
            acc = combine(acc, values[FIRST + at], t0, t1, t2)
        start, place, kinds = up[5], up[6], up[7]
        g = begins[1][kb] + ib
        for s in range(start[g], start[g + 1]):
            wide = counts[1][kinds[kb]]
            at = offsets[ka, kinds[kb], kc] + ((ia * wide + np.int64(place[s])) * nc + ic) * nd + id_
            acc = combine(acc, values[FIRST + at], t0, t1, t2)
        start, place, kinds = up[8], up[9], up[10]
        g = begins[2][kc] + ic
        for s in range(start[g], start[g + 1]):
            wide = counts[2][kinds[kc]]
            at = offsets[ka, kb, kinds[kc]] + ((ia * nb + ib) * wide + np.int64(place[s])) * nd + id_
            acc = combine(acc, values[FIRST + at], t0, t1, t2)
        start, place, kinds = up[11], up[12], up[13]
        g = begins[3][kd] + id_
        for s in range(start[g], start[g + 1]):
            wide = counts[3][kinds[kd]]
            at = offsets[ka, kb, kc] + ((ia * nb + ib) * nc + ic) * wide + np.int64(place[s])
            acc = combine(acc, values[FIRST + at], t0, t1, t2)
        return acc

    @cuda.jit
    def fold(
        blocks, starts, size, counts, begins, free, masks, up0, up1, both, tune0, tune1, law, begin, out
    ):
        rank = cuda.grid(1)
        if rank >= size:
            return
        ka, kb, kc, kd, ia, ib, ic, id_ = unrank(blocks, starts, counts, rank)
        ga, gb = begins[0][ka] + ia, begins[1][kb] + ib
        gc, gd = begins[2][kc] + ic, begins[3][kd] + id_
        if masks[0][ga] & masks[1][gb] & masks[2][gc] & masks[3][gd]:
            out[FIRST + rank] = out[WON]
            return
        first = gather(
            begin[0], ka, ia, kb, ib, kc, ic, kd, id_, counts, begins, up0, tune0[0], tune0[1], tune0[2]
        )
        second = begin[0]
        if both:
            second = gather(
                begin[0], ka, ia, kb, ib, kc, ic, kd, id_, counts, begins, up1, tune1[0], tune1[1], tune1[2]
            )
        spawns = np.int64(free[0][ga]) + np.int64(free[1][gb]) + np.int64(free[2][gc]) + np.int64(free[3][gd])
        out[FIRST + rank] = settle(first, second, spawns, law[0], law[1], law[2])

    @cuda.jit
    def slide(
        blocks,
        starts,
        size,
        counts,
        sums,
        classes,
        by_columns,
        outer,
        inner,
        outer_firsts,
        inner_firsts,
        offsets,
        afters,
        out,
    ):
        rank = cuda.grid(1)
        if rank >= size:
            return
        ka, kb, kc, kd, ia, ib, ic, id_ = unrank(blocks, starts, counts, rank)
        if by_columns:
            first = outer_firsts[ka, kc] + ia * counts[2][kc] + ic
            second = inner_firsts[kb, kd] + ib * counts[3][kd] + id_
            upper, lower = sums[0][ka] + sums[2][kc], sums[1][kb] + sums[3][kd]
        else:
            first = outer_firsts[ka, kb] + ia * counts[1][kb] + ib
            second = inner_firsts[kc, kd] + ic * counts[3][kd] + id_
            upper, lower = sums[0][ka] + sums[1][kb], sums[2][kc] + sums[3][kd]
        best = out[FIRST + rank] if by_columns else out[NONE]
        for d in range(len(outer)):
            x, y = outer[d, first], inner[d, second]
            if (x | y) & WIN:
                best = max(best, out[WON])
            elif not (x | y) & ENDS and (x | y) & MOVED:
                x0, y0 = np.int64(x >> U40 & KIND), np.int64(y >> U40 & KIND)
                xi, xj = np.int64(x >> U20 & PLACE), np.int64(x & PLACE)
                yi, yj = np.int64(y >> U20 & PLACE), np.int64(y & PLACE)
                if by_columns:
                    a, b = x0, y0
                    c = np.int64(classes[2][upper - sums[0][a]])
                    k = np.int64(classes[3][lower - sums[1][b]])
                    ia, ib, ic, id_ = xi, yi, xj, yj
                else:
                    a, c = x0, y0
                    b = np.int64(classes[1][upper - sums[0][a]])
                    k = np.int64(classes[3][lower - sums[2][c]])
                    ia, ib, ic, id_ = xi, xj, yi, yj
                at = offsets[a, b, c] + ((ia * counts[1][b] + ib) * counts[2][c] + ic) * counts[3][k] + id_
                best = max(best, afters[FIRST + at])
        out[FIRST + rank] = best

    return SimpleNamespace(fold=fold, slide=slide)
