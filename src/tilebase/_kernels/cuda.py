"""The kernels of the dense passes for CUDA; see `dense.backends.cuda`, which is where they are called from.

They are the loops of `_kernels.dense` for one board per thread.  Numba's simulator runs a kernel as
plain Python and finds ``cuda`` in the globals of its module, hence this module of its own, which is only
imported where a device is wanted.

What they take are the tuples below, of arrays on the device.  They name less than those of `_kernels.dense`,
as the arguments of a kernel have to fit into 4 KiB on some devices, and an array of one dimension takes 56
bytes of them.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numba import cuda

from tilebase._kernels.backward import FIRST, NONE, WON
from tilebase._kernels.dense import BARRED, CLASS, ENDS, MOVED, POSITION, U20, U40, WIN, Array
from tilebase._kernels.scalar import U0, U1


class Blocks(NamedTuple):
    """The blocks of a layer in the order of ranks."""

    classes: Array  # int64: classes[n, p] is the class of the p-th part in block n
    starts: Array  # int64: starts[n] is the first rank of block n


class FoldPart(NamedTuple):
    """A part of the board, as `fold` takes it."""

    counts: Array  # int64: counts[k] is the number of fillings of class k
    starts: Array  # int64: starts[k] is the first filling of class k
    free: Array  # uint8: free[g] is the number of empty cells of filling g, walls aside
    masks: Array  # uint64: bit k of masks[g] is set if filling g fits the k-th pattern
    stands: Array  # uint64: bit k of stands[g] is set if x of filling g stand as in the k-th mask; or empty


class SlidePart(NamedTuple):
    """A part of the board, as `slide` takes it."""

    counts: Array  # int64: counts[k] is the number of fillings of class k
    sums: Array  # int64: sums[k] is the sum of class k in units of 2
    class_of: Array  # int32: class_of[s] is the class with the sum s in units of 2, -1 if there is none


class Spawns(NamedTuple):
    """The spawns of one exponent on the fillings of one part."""

    start: Array  # int64: those on filling g are start[g] to start[g + 1]
    target: Array  # uint32: target[s] is the position, in its class, of the filling that spawn s makes
    classes: Array  # int64: classes[k] is the class that class k becomes, -1 if there is none


class Above(NamedTuple):
    """A layer of states, to which the spawns of one exponent lead."""

    values: Array  # values[FIRST + rank] is what the state is worth
    offsets: Array  # int64: offsets[a, b, c] is the first rank of a block (`dense.index.LayerMap`)
    spawns: tuple[Spawns, Spawns, Spawns, Spawns]  # in A, B, C and D


class Slides(NamedTuple):
    """What slides make of the half boards of one side; n numbers them."""

    table: Array  # uint64: table[d, n] is what slide d makes of the half (`_kernels.dense`)
    firsts: Array  # int64: firsts[x, y] is the first n whose parts have the classes x and y
    stands: Array  # uint64: bit k of stands[d, n] says that x then stand as in the k-th mask; or no columns


class Values(NamedTuple):
    """The values of a layer, or of some blocks of one."""

    values: Array  # values[FIRST + rank] is what the board is worth
    offsets: Array  # int64: offsets[a, b, c] is the first rank of a block, -1 if it is not there


@cache
def make_kernels(kind: str) -> SimpleNamespace:
    """The kernels for ``"means"``, ``"bounds"`` or ``"extremes"``: `fold` and `slide`."""

    @cuda.jit(device=True)
    def unrank(blocks: Any, parts: Any, rank: Any) -> Any:
        """The classes and the positions of the four parts of a board."""
        low, high = 0, len(blocks.starts)
        while high - low > 1:  # the last block that begins at or before the rank
            middle = (low + high) // 2
            if blocks.starts[middle] <= rank:
                low = middle
            else:
                high = middle
        ka, kb = blocks.classes[low, 0], blocks.classes[low, 1]
        kc, kd = blocks.classes[low, 2], blocks.classes[low, 3]
        nb, nc, nd = parts[1].counts[kb], parts[2].counts[kc], parts[3].counts[kd]
        rest = rank - blocks.starts[low]
        id_ = rest % nd
        rest //= nd
        ic = rest % nc
        rest //= nc
        return ka, kb, kc, kd, rest // nb, rest % nb, ic, id_

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
    def gather(acc, ka, ia, kb, ib, kc, ic, kd, id_, parts, up, t0, t1, t2):
        """Fold the states that the spawns of one exponent lead to into an accumulator."""
        values, offsets = up.values, up.offsets
        nb, nc, nd = parts[1].counts[kb], parts[2].counts[kc], parts[3].counts[kd]
        spawns = up.spawns[0]
        g = parts[0].starts[ka] + ia
        for s in range(spawns.start[g], spawns.start[g + 1]):
            above = (np.int64(spawns.target[s]) * nb + ib) * nc + ic
            at = offsets[spawns.classes[ka], kb, kc] + above * nd + id_
            acc = combine(acc, values[FIRST + at], t0, t1, t2)
        spawns = up.spawns[1]
        g = parts[1].starts[kb] + ib
        for s in range(spawns.start[g], spawns.start[g + 1]):
            wide = parts[1].counts[spawns.classes[kb]]
            above = (ia * wide + np.int64(spawns.target[s])) * nc + ic
            at = offsets[ka, spawns.classes[kb], kc] + above * nd + id_
            acc = combine(acc, values[FIRST + at], t0, t1, t2)
        spawns = up.spawns[2]
        g = parts[2].starts[kc] + ic
        for s in range(spawns.start[g], spawns.start[g + 1]):
            wide = parts[2].counts[spawns.classes[kc]]
            above = (ia * nb + ib) * wide + np.int64(spawns.target[s])
            at = offsets[ka, kb, spawns.classes[kc]] + above * nd + id_
            acc = combine(acc, values[FIRST + at], t0, t1, t2)
        spawns = up.spawns[3]
        g = parts[3].starts[kd] + id_
        for s in range(spawns.start[g], spawns.start[g + 1]):
            wide = parts[3].counts[spawns.classes[kd]]
            at = offsets[ka, kb, kc] + ((ia * nb + ib) * nc + ic) * wide + np.int64(spawns.target[s])
            acc = combine(acc, values[FIRST + at], t0, t1, t2)
        return acc

    @cuda.jit
    def fold(blocks, size, parts, up0, up1, both, tune0, tune1, finish, begin, afters):
        """Write the values of `size` afterstates: folds over the spawns of one exponent or of both."""
        rank = cuda.grid(1)
        if rank >= size:
            return
        ka, kb, kc, kd, ia, ib, ic, id_ = unrank(blocks, parts, rank)
        a, b, c, d = parts[0], parts[1], parts[2], parts[3]
        ga, gb, gc, gd = a.starts[ka] + ia, b.starts[kb] + ib, c.starts[kc] + ic, d.starts[kd] + id_
        out = afters.values
        if len(a.stands) and not a.stands[ga] & b.stands[gb] & c.stands[gc] & d.stands[gd]:
            out[FIRST + rank] = 0
            return
        if a.masks[ga] & b.masks[gb] & c.masks[gc] & d.masks[gd]:
            out[FIRST + rank] = out[WON]
            return
        first = gather(
            begin[0], ka, ia, kb, ib, kc, ic, kd, id_, parts, up0, tune0[0], tune0[1], tune0[2]
        )  # fmt: skip
        second = begin[0]
        if both:
            second = gather(
                begin[0], ka, ia, kb, ib, kc, ic, kd, id_, parts, up1, tune1[0], tune1[1], tune1[2]
            )  # fmt: skip
        free = np.int64(a.free[ga]) + np.int64(b.free[gb]) + np.int64(c.free[gc]) + np.int64(d.free[gd])
        out[FIRST + rank] = settle(first, second, free, finish[0], finish[1], finish[2])

    @cuda.jit
    def slide(blocks, size, parts, by_columns, outer, inner, afters, states):
        """Write the best over slides along rows to `states`; along columns, the maximum of that and those."""
        rank = cuda.grid(1)
        if rank >= size:
            return
        ka, kb, kc, kd, ia, ib, ic, id_ = unrank(blocks, parts, rank)
        a, b, c, d = parts[0], parts[1], parts[2], parts[3]
        if by_columns:
            first = outer.firsts[ka, kc] + ia * c.counts[kc] + ic
            second = inner.firsts[kb, kd] + ib * d.counts[kd] + id_
            upper, lower = a.sums[ka] + c.sums[kc], b.sums[kb] + d.sums[kd]
        else:
            first = outer.firsts[ka, kb] + ia * b.counts[kb] + ib
            second = inner.firsts[kc, kd] + ic * d.counts[kd] + id_
            upper, lower = a.sums[ka] + b.sums[kb], c.sums[kc] + d.sums[kd]
        out = states.values
        best = out[FIRST + rank] if by_columns else out[NONE]
        for s in range(len(outer.table)):
            x, y = outer.table[s, first], inner.table[s, second]
            if outer.stands.shape[1] and not outer.stands[s, first] & inner.stands[s, second]:
                continue
            if (x | y) & (WIN | BARRED) == WIN:
                best = max(best, out[WON])
            elif not (x | y) & ENDS and (x | y) & MOVED:
                x0, y0 = np.int64(x >> U40 & CLASS), np.int64(y >> U40 & CLASS)
                xi, xj = np.int64(x >> U20 & POSITION), np.int64(x & POSITION)
                yi, yj = np.int64(y >> U20 & POSITION), np.int64(y & POSITION)
                ka = x0
                if by_columns:
                    kb = y0
                    kc = np.int64(c.class_of[upper - a.sums[ka]])
                    kd = np.int64(d.class_of[lower - b.sums[kb]])
                    ia, ib, ic, id_ = xi, yi, xj, yj
                else:
                    kc = y0
                    kb = np.int64(b.class_of[upper - a.sums[ka]])
                    kd = np.int64(d.class_of[lower - c.sums[kc]])
                    ia, ib, ic, id_ = xi, xj, yi, yj
                nb, nc, nd = b.counts[kb], c.counts[kc], d.counts[kd]
                at = afters.offsets[ka, kb, kc] + ((ia * nb + ib) * nc + ic) * nd + id_
                best = max(best, afters.values[FIRST + at])
        out[FIRST + rank] = best

    return SimpleNamespace(fold=fold, slide=slide)
