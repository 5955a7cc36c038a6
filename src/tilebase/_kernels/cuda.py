"""The kernels of the dense passes for CUDA: the loops of `_kernels.dense`, with one board per thread.

They take its tuples, with arrays on the device, and the same backup.  `blocks` are `PerfectIndex.blocks`.
Of its board a thread keeps the class ``k[p]`` and the position ``i[p]`` of each part p.  The arguments of a
kernel have to fit into 4 KiB on some devices, and those of `fold` take 4,008 bytes.

This module is imported only where a device is wanted; Numba's simulator looks for ``cuda`` in its globals.
"""

from __future__ import annotations

import numpy as np
from numba import cuda, int64

from tilebase._kernels.backup import FIRST, NONE, WON, combine, maximum, settled
from tilebase._kernels.dense import class_with
from tilebase._kernels.halves import BARRED, CLASS, ENDS, MOVED, POSITION, U20, U40, WIN
from tilebase._kernels.scalar import U0


@cuda.jit(device=True)
def unrank(blocks, parts, rank, k, i):
    """Write the classes and positions of the parts of a board."""
    classes, starts = blocks
    low, high = 0, len(starts)
    while high - low > 1:  # the last block that begins at or before the rank
        middle = (low + high) // 2
        if starts[middle] <= rank:
            low = middle
        else:
            high = middle
    rest = rank - starts[low]
    for p in range(3, -1, -1):
        k[p] = classes[low, p]
        count = parts[p].counts[k[p]]
        i[p] = rest % count
        rest //= count


@cuda.jit(device=True)
def value_of(layer, parts, k, i):
    """Return the value of a board, from `Above` or `Values`."""
    within = i[0]
    for p in range(1, 4):
        within = within * parts[p].counts[k[p]] + i[p]
    return layer.values[FIRST + layer.offsets[k[0], k[1], k[2]] + within]


@cuda.jit(device=True)
def gather(acc, k, i, parts, up, add):
    """Combine the states that the spawns of one exponent lead to."""
    for p in range(4):
        spawns, kp, ip = up.spawns[p], k[p], i[p]
        filling = parts[p].starts[kp] + ip
        for s in range(spawns.start[filling], spawns.start[filling + 1]):
            k[p], i[p] = spawns.classes[kp], spawns.target[s]
            acc = combine(acc, value_of(up, parts, k, i), add)
        k[p], i[p] = kp, ip
    return acc


@cuda.jit
def fold(blocks, size, parts, ups, adds, finish, start, afters):
    """Write the values of `size` afterstates: as `dense.fold_spawns`."""
    rank = cuda.grid(1)
    if rank >= size:
        return
    k, i = cuda.local.array(4, int64), cuda.local.array(4, int64)
    unrank(blocks, parts, rank, k, i)
    # What the fillings say: empty cells, patterns that the board holds, masks that it stands on.
    free, patterns, stands = np.int64(0), ~U0, ~U0
    for p in range(4):
        filling = parts[p].starts[k[p]] + i[p]
        free += np.int64(parts[p].free[filling])
        patterns &= parts[p].masks[filling]
        if len(parts[p].stands):
            stands &= parts[p].stands[filling]
    out, more = afters.values, len(ups) - 1
    if stands == U0:
        out[FIRST + rank] = 0
    elif patterns != U0:
        out[FIRST + rank] = out[WON]
    else:
        first = gather(start, k, i, parts, ups[0], adds[0])
        second = gather(start, k, i, parts, ups[more], adds[more]) if more else start
        out[FIRST + rank] = settled(first, second, free, finish, out[WON])


@cuda.jit(device=True)
def enter(half, entry, units, p, q, k, i):
    """Let parts p and q be what a slide makes of the half of their sum, from its entry in the table."""
    k[p] = entry >> U40 & CLASS
    k[q] = class_with(half.second, units - half.first.sums[k[p]])
    i[p], i[q] = entry >> U20 & POSITION, entry & POSITION


@cuda.jit
def slide(blocks, size, by_columns, outer, inner, afters, states):
    """Write the best over slides along rows to `states`; along columns, the maximum of that and those."""
    rank = cuda.grid(1)
    if rank >= size:
        return
    # The outer half is parts 0 and b, the inner half parts c and 3.
    b, c = (2, 1) if by_columns else (1, 2)
    parts = (outer.first, outer.second, inner.first, inner.second)
    if by_columns:
        parts = (outer.first, inner.first, outer.second, inner.second)
    k, i = cuda.local.array(4, int64), cuda.local.array(4, int64)
    unrank(blocks, parts, rank, k, i)
    # The numbers of both halves, and their sums.
    x = outer.firsts[k[0], k[b]] + i[0] * parts[b].counts[k[b]] + i[b]
    y = inner.firsts[k[c], k[3]] + i[c] * parts[3].counts[k[3]] + i[3]
    upper, lower = parts[0].sums[k[0]] + parts[b].sums[k[b]], parts[c].sums[k[c]] + parts[3].sums[k[3]]
    # Each slide.
    out = states.values
    best = out[FIRST + rank] if by_columns else out[NONE]
    for d in range(len(outer.table)):
        if outer.stands.shape[1] and outer.stands[d, x] & inner.stands[d, y] == U0:
            continue
        first, second = outer.table[d, x], inner.table[d, y]
        if (first | second) & (WIN | BARRED) == WIN:
            best = maximum(best, out[WON])
        elif (first | second) & ENDS == U0 and (first | second) & MOVED != U0:
            enter(outer, first, upper, 0, b, k, i)
            enter(inner, second, lower, c, 3, k, i)
            best = maximum(best, value_of(afters, parts, k, i))
    out[FIRST + rank] = best
