"""The kernels of the dense passes for CUDA: the loops of `_kernels.dense`, with one board per thread.

They take its tuples, with arrays on the device, and the same backup.  `blocks` are `PerfectIndex.blocks`; of
halves they take `dense.backends.cuda.Slides`.

A thread works `SPAN` boards, `THREADS` ranks apart, so that the threads of a warp have neighbouring boards.
These are mostly of one block: what the block says is read when a thread enters it.  Within a block a
rank has 32 bits (`MOST_BLOCK`), since a device multiplies and divides these faster; all other numbers are
unsigned, since Numba lets negative ones count from the end of an array.  The arguments of a kernel have to
fit into 4 KiB on some devices, and those of `fold` take 4,008 bytes.

This module is imported only where a device is wanted; Numba's simulator looks for ``cuda`` in its globals.
"""

from __future__ import annotations

import numpy as np
from numba import config, cuda

from tilebase._kernels.backup import FIRST, NONE, WON, combine, settled
from tilebase._kernels.halves import BARRED, CLASS, ENDS, MOVED, POSITION, U20, U40, WIN
from tilebase._kernels.scalar import U0, U1

THREADS = 256
"""Threads of a block of the device."""
SPAN = 16
"""Boards that a thread works."""
MOST_BLOCK = (1 << 32) - 1
"""Boards of a block of the index, at most."""
REGISTERS = {} if config.ENABLE_CUDASIM else {"max_registers": 64}
"""Without a limit `fold` takes 102 registers, and half as many threads are at work."""
FIRST64 = np.uint64(FIRST)
U24, U48 = np.uint64(24), np.uint64(48)
COUNT = np.uint64((1 << 24) - 1)


# -- blocks and ranks ----------------------------------------------------------------------------


@cuda.jit(device=True)
def block_at(starts, rank):
    """Return the last block that begins at or before a rank."""
    # Bisection: blocks before `low` begin at or before the rank, those from `high` on after it.
    low, high = 0, len(starts)
    while high - low > 1:
        middle = (low + high) // 2
        if starts[middle] <= rank:
            low = middle
        else:
            high = middle
    return low


@cuda.jit(device=True)
def span_of(blocks, size, rank, block):
    """Return the block that holds a rank, from `block` on, where it begins and ends, and its classes."""
    classes, starts = blocks
    while block + 1 < len(starts) and starts[block + 1] <= rank:
        block += 1
    end = starts[block + 1] if block + 1 < len(starts) else size
    k, m = np.uint64(classes[block, 0]), np.uint64(classes[block, 1])
    n, o = np.uint64(classes[block, 2]), np.uint64(classes[block, 3])
    return block, starts[block], end, k, m, n, o


@cuda.jit(device=True)
def digits_of(within, nb, nc, nd):
    """Return the positions of A, B, C and D, the number that those of A and B make, and of A, B and C.

    `within` is the rank within the block, and nb, nc and nd are the numbers of fillings.
    """
    abc = over(within, nd)
    ab = over(abc, nc)
    ia = over(ab, nb)
    return ia, ab - times(ia, nb), abc - times(ab, nc), within - times(abc, nd), ab, abc


@cuda.jit(device=True)
def times(x, y):
    """Return the product of two numbers of 32 bits."""
    return np.uint64(np.uint32(x)) * np.uint64(np.uint32(y))


@cuda.jit(device=True)
def over(x, y):
    """Return the quotient of two numbers of 32 bits."""
    return np.uint64(np.uint32(x) // np.uint32(y))


# -- the adversary or chance: the fold over spawns -----------------------------------------------


@cuda.jit(device=True)
def or_any(number):
    """Return a class or an offset; any, for -1, which is never used."""
    return np.uint64(max(number, 0))


@cuda.jit(device=True)
def spots(up, parts, k, m, n, o):
    """Return where boards begin that have one more tile in A, B, C or D, and how many fillings it then has.

    k, m, n and o are the classes of the parts.  In A the number of fillings does not matter.
    """
    offsets = up.offsets
    _, b, c, d = parts
    in_a, in_b, in_c, in_d = up.spawns
    kk, mm = or_any(in_a.classes[k]), or_any(in_b.classes[m])
    nn, oo = or_any(in_c.classes[n]), or_any(in_d.classes[o])
    return (
        FIRST64 + or_any(offsets[kk, m, n]),
        FIRST64 + or_any(offsets[k, mm, n]), np.uint64(b.counts[mm]),
        FIRST64 + or_any(offsets[k, m, nn]), np.uint64(c.counts[nn]),
        FIRST64 + or_any(offsets[k, m, n]), np.uint64(d.counts[oo]),
    )  # fmt: skip


@cuda.jit(device=True)
def gather(acc, values, spawns, filling, begin, step, add):
    """Combine the states that the spawns of one exponent in one part of the board lead to.

    They are at `begin`, and `step` apart.
    """
    for s in range(np.uint64(spawns.start[filling]), np.uint64(spawns.start[filling + U1])):
        acc = combine(acc, values[begin + times(spawns.target[s], step)], add)
    return acc


@cuda.jit(device=True)
def gather_all(acc, up, spots, digits, fillings, add):
    """Combine the states that the spawns of one exponent lead to.

    `digits` are the numbers of the positions of A and B and of A, B and C, what of the rank the positions
    after A, B and C make, and how many boards there are for each of these.
    """
    values = up.values
    # A spawn in a part changes its position and its number of fillings; the positions after it stay.
    ab, abc, ia, rest_bcd, rest_cd, rest_d, bcd, cd, d = digits
    in_a, in_b, in_c, in_d = up.spawns
    acc = gather(acc, values, in_a, fillings[0], spots[0] + rest_bcd, bcd, add)
    acc = gather(acc, values, in_b, fillings[1], spots[1] + times(times(ia, spots[2]), cd) + rest_cd, cd, add)
    acc = gather(acc, values, in_c, fillings[2], spots[3] + times(times(ab, spots[4]), d) + rest_d, d, add)
    return gather(acc, values, in_d, fillings[3], spots[5] + times(abc, spots[6]), U1, add)


@cuda.jit(**REGISTERS)
def fold(blocks, size, parts, ups, adds, finish, start, afters):
    """Write the values of `size` afterstates: as `dense.fold_spawns`."""
    a, b, c, d = parts
    out, more = afters.values, len(ups) - 1
    rank = np.int64(cuda.blockIdx.x) * (THREADS * SPAN) + cuda.threadIdx.x
    last = min(size, rank + THREADS * SPAN)
    block = block_at(blocks[1], rank)
    while rank < last:
        # What the block says of all its boards: numbers of fillings, and where spawns lead.
        block, begin, end, k, m, n, o = span_of(blocks, size, rank, block)
        nb, nc, nd = np.uint64(b.counts[m]), np.uint64(c.counts[n]), np.uint64(d.counts[o])
        ncd = times(nc, nd)
        nbcd = times(nb, ncd)
        ga, gb = np.uint64(a.starts[k]), np.uint64(b.starts[m])
        gc, gd = np.uint64(c.starts[n]), np.uint64(d.starts[o])
        first_spots = spots(ups[0], parts, k, m, n, o)
        second_spots = spots(ups[more], parts, k, m, n, o)
        # The boards of the block that this thread works, `THREADS` ranks apart.
        while rank < min(end, last):
            within = np.uint64(rank - begin)
            ia, ib, ic, rest_d, ab, abc = digits_of(within, nb, nc, nd)
            digits = (
                ab, abc, ia, within - times(ia, nbcd), within - times(ab, ncd), rest_d, nbcd, ncd, nd
            )  # fmt: skip
            fillings = (ga + ia, gb + ib, gc + ic, gd + rest_d)
            # What the fillings say: empty cells, patterns that the board holds.
            free = np.int64(a.free[fillings[0]]) + np.int64(b.free[fillings[1]])
            free += np.int64(c.free[fillings[2]]) + np.int64(d.free[fillings[3]])
            patterns = (
                a.masks[fillings[0]] & b.masks[fillings[1]] & c.masks[fillings[2]] & d.masks[fillings[3]]
            )
            if patterns != U0:
                out[FIRST + rank] = out[WON]
            else:
                first = gather_all(start, ups[0], first_spots, digits, fillings, adds[0])
                second = start
                if more:
                    second = gather_all(start, ups[more], second_spots, digits, fillings, adds[more])
                out[FIRST + rank] = settled(first, second, free, finish, out[WON])
            rank += THREADS


# -- the player: the best over slides ------------------------------------------------------------


@cuda.jit(device=True)
def best_along(best, by_columns, outer, inner, x, y, x_row, y_row, afters):
    """Return the largest of `best` and of what the slides along rows or columns lead to.

    x and y are the numbers of the halves, x_row and y_row the rows of their sums in `Slides.pairs`.
    """
    values, offsets = afters.values, afters.offsets
    for s in range(len(outer.table)):
        first, second = outer.table[s, x], inner.table[s, y]
        # A goal in one half wins, unless x leave their mask; a limit that is broken bars the slide.
        both = first | second
        if both & (WIN | BARRED) == WIN:
            best = max(best, values[WON])
        elif both & ENDS == U0 and both & MOVED != U0:
            # The classes, positions and numbers of fillings of the parts: p, q of the outer half, then u, v.
            p_class, u_class = first >> U40 & CLASS, second >> U40 & CLASS
            p, q, u, v = (
                first >> U20 & POSITION,
                first & POSITION,
                second >> U20 & POSITION,
                second & POSITION,
            )
            outer_pair, inner_pair = outer.pairs[x_row, p_class], inner.pairs[y_row, u_class]
            nq, nu, nv = outer_pair & COUNT, inner_pair >> U24 & COUNT, inner_pair & COUNT
            if by_columns:  # A and C; B and D
                begin = offsets[p_class, u_class, outer_pair >> U48]
                at = times(times(times(p, nu) + u, nq) + q, nv) + v
            else:
                begin = offsets[p_class, outer_pair >> U48, u_class]
                at = times(times(times(p, nq) + q, nu) + u, nv) + v
            best = max(best, values[FIRST64 + np.uint64(begin) + at])
    return best


@cuda.jit(**REGISTERS)
def slide(blocks, size, along_rows, along_columns, parts, rows, columns, afters, states):
    """Write the best over slides to `states`; over those along columns alone, of this and what is there."""
    a, b, c, d = parts
    top, bottom = rows
    left, right = columns
    out = states.values
    rank = np.int64(cuda.blockIdx.x) * (THREADS * SPAN) + cuda.threadIdx.x
    last = min(size, rank + THREADS * SPAN)
    block = block_at(blocks[1], rank)
    while rank < last:
        block, begin, end, k, m, n, o = span_of(blocks, size, rank, block)
        nb, nc, nd = np.uint64(b.counts[m]), np.uint64(c.counts[n]), np.uint64(d.counts[o])
        # Where the halves with these classes begin in their tables, and their rows.
        at_top, at_bottom = np.uint64(top.firsts[k, m]), np.uint64(bottom.firsts[n, o])
        at_left, at_right = np.uint64(left.firsts[k, n]), np.uint64(right.firsts[m, o])
        top_row = np.uint64(top.rows[a.sums[k] + b.sums[m]])
        bottom_row = np.uint64(bottom.rows[c.sums[n] + d.sums[o]])
        left_row = np.uint64(left.rows[a.sums[k] + c.sums[n]])
        right_row = np.uint64(right.rows[b.sums[m] + d.sums[o]])
        # Board by board: the halves that it consists of along rows, and along columns.
        while rank < min(end, last):
            ia, ib, ic, i_d, ab, _ = digits_of(np.uint64(rank - begin), nb, nc, nd)
            best = out[NONE] if along_rows else out[FIRST + rank]
            if along_rows:
                x, y = at_top + ab, at_bottom + times(ic, nd) + i_d
                best = best_along(best, False, top, bottom, x, y, top_row, bottom_row, afters)
            if along_columns:
                x, y = at_left + times(ia, nc) + ic, at_right + times(ib, nd) + i_d
                best = best_along(best, True, left, right, x, y, left_row, right_row, afters)
            out[FIRST + rank] = best
            rank += THREADS
