"""Kernels of the dense passes: every board of a layer, by perfect index (`tilebase.perfect`).

A board is four parts A, B, C, D, each a filling with a *class* (its sum) and a place in it.
What a kernel takes of a part is the tuple

    starts, sums, class_of, counts      as in `perfect.Part`
    free                                free[g]: empty cells of filling g
    masks                               masks[g]: bit k if the filling fits the k-th pattern

A slide acts on two halves of the board that do not touch: on A, B and C, D, or on A, C and B, D.
``table[d, g, h]`` holds what slide d makes of the half whose parts are the fillings g and h:

    bits  0..19   place of the second part in its class
    bits 20..39   place of the first
    bits 40..55   class of the first; the sum of both is kept, so it gives that of the second
    bit  61       something moved
    bit  62, 63   a tile of the goal is made; a limit is broken

Values are kept by rank behind `FIRST` others, of which two have a meaning: ``values[NONE]`` is what a
slide that is not allowed is worth, ``values[WON]`` one that wins.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from tilebase._kernels.backward import FIRST, NONE, WON
from tilebase._kernels.jit import kernel, scalar
from tilebase._kernels.scalar import U0, U1

MOVED = np.uint64(1 << 61)
WIN = np.uint64(1 << 62)
FORBIDDEN = np.uint64(1 << 63)
ENDS = WIN | FORBIDDEN
PLACE = np.uint64((1 << 20) - 1)
KIND = np.uint64((1 << 16) - 1)
U20, U40 = np.uint64(20), np.uint64(40)
FIRST64, NONE64, WON64 = np.uint64(FIRST), np.uint64(NONE), np.uint64(WON)


# -- tables of halves ----------------------------------------------------------------------------


@scalar
def _slide_cells(board, line, blocked, x):
    """Slide the cells of a line towards its first; return the sum and the largest of the tiles made."""
    put = 0
    last: Any = 0
    made: Any = 0
    largest: Any = 0
    for k in range(len(line)):
        cell = line[k]
        tile = np.int64(board[cell])
        if blocked[cell]:
            put = k + 1
            last = 0
        elif tile:
            board[cell] = 0
            if tile == last and tile != x:
                board[line[put - 1]] = tile + 1 if tile + 1 != x else tile + 2
                made += 2 << tile
                largest = max(largest, tile + 1)
                last = 0
            else:
                board[line[put]] = tile
                put += 1
                last = tile
    return made, largest


@kernel()
def tabulate(
    begin, end, fillings0, fillings1, lines, blocked, weights, place0, place1, kind0, kind1, starts0, starts1,
    x, goal, out, out_made,
):  # fmt: skip
    """Fill the rows [begin, end) of a table of halves, and of the tiles made if there is room.

    Cells of the first part are numbered before those of the second.  ``weights[cell, code]`` is
    what a tile adds to the number of a filling, -1 if it may not be there; ``place0[number]`` is the
    filling.  `goal` is an exponent, 0 for none.
    """
    cells0, cells1 = fillings0.shape[1], fillings1.shape[1]
    board = np.zeros(cells0 + cells1, dtype=np.uint8)
    for g in range(begin, end):
        for h in range(len(fillings1)):
            for cell in range(cells0):
                board[cell] = fillings0[g, cell]
            for cell in range(cells1):
                board[cells0 + cell] = fillings1[h, cell]
            made, largest = 0, 0
            for line in lines:
                more, tile = _slide_cells(board, line, blocked, x)
                made += more
                largest = max(largest, tile)
            number0, number1 = 0, 0
            sound = True
            for cell in range(cells0):
                sound &= weights[cell, board[cell]] >= 0
                number0 += weights[cell, board[cell]]
            for cell in range(cells0, cells0 + cells1):
                sound &= weights[cell, board[cell]] >= 0
                number1 += weights[cell, board[cell]]
            entry = FORBIDDEN
            if goal and largest >= goal:
                entry = WIN | MOVED
            elif sound:
                to0, to1 = np.int64(place0[number0]), np.int64(place1[number1])
                k0, k1 = np.int64(kind0[to0]), np.int64(kind1[to1])
                entry = np.uint64(to1 - starts1[k1]) | np.uint64(to0 - starts0[k0]) << U20
                entry |= np.uint64(k0) << U40
                if to0 != g or to1 != h:
                    entry |= MOVED
            out[g, h] = entry
            if len(out_made):
                out_made[g, h] = made


# -- the player: the best over slides ------------------------------------------------------------


@scalar
def _kind(class_of, half):
    """The class of half a sum, -1 if no filling has it."""
    return np.int64(class_of[half]) if 0 <= half < len(class_of) else np.int64(-1)


@scalar
def _bases(by_columns, half, kx, ix, ky, iy, outer, inner, offsets, out_base, out_step):
    """Where boards with a given outer half begin in the values, for each class of the first inner part.

    A board is at ``out_base[class] + place of the first inner part * out_step[class] + place of
    the second``.  Blocks that are not in the layer have the step 0.
    """
    y_counts = outer[1][3]
    left = half - outer[0][1][kx] - outer[1][1][ky]
    sums, counts = inner[0][1], inner[0][3]
    ny = y_counts[ky]
    for kz in range(len(sums)):
        kw = _kind(inner[1][2], left - sums[kz])
        out_step[kz] = U0
        begin = offsets[kx, kz, ky] if by_columns else offsets[kx, ky, kz]
        if kw >= 0 and begin >= 0:
            nz, nw = counts[kz], inner[1][3][kw]
            if by_columns:
                begin += (ix * nz * ny + iy) * nw
                out_step[kz] = np.uint64(ny * nw)
            else:
                begin += (ix * ny + iy) * nz * nw
                out_step[kz] = np.uint64(nw)
            out_base[kz] = np.uint64(begin) + FIRST64


@scalar
def _best_row(entries, n, outer_entry, base, step, afters, out):
    """Raise ``out[j]`` to what one slide of the j-th of `n` neighbouring boards is worth."""
    # The same five lines are in `_best_row_made`: as a function they make the loop half as fast.
    moved = outer_entry & MOVED
    for j in range(n):
        entry = entries[j]
        place = WON64 if entry & WIN else NONE64
        if not entry & ENDS and (entry | moved) & MOVED:
            kind = entry >> U40 & KIND
            place = base[kind] + (entry >> U20 & PLACE) * step[kind] + (entry & PLACE)
        out[j] = max(out[j], afters[place])


@scalar
def _best_row_made(entries, made, n, outer_entry, outer_made, base, step, afters, out):
    """The same where the tiles made are worth their sum."""
    moved = outer_entry & MOVED
    for j in range(n):
        entry = entries[j]
        place = WON64 if entry & WIN else NONE64
        if not entry & ENDS and (entry | moved) & MOVED:
            kind = entry >> U40 & KIND
            place = base[kind] + (entry >> U20 & PLACE) * step[kind] + (entry & PLACE)
        out[j] = max(out[j], afters[place] + (made[j] + outer_made))


@kernel()
def best_slides(
    tasks, by_columns, half, outer_table, inner_table, outer_made, inner_made, outer, inner, offsets, afters,
    fresh, out_offsets, out,
):  # fmt: skip
    """Write the best over some slides of each state to `out`, or raise what is there unless `fresh`.

    `tasks` lists outer halves: classes of both parts, and a range of places of the first.
    `afters` and `out` are the values of afterstates and states; each has its own offsets.  Tables of
    tiles made may be empty.
    """
    slides = len(outer_table)
    classes = len(inner[0][1])
    base = np.zeros((slides + 1, classes), dtype=np.uint64)
    step = np.zeros((slides + 1, classes), dtype=np.uint64)
    none, won = afters[NONE], afters[WON]
    for t in range(len(tasks)):
        kx, ky = tasks[t, 0], tasks[t, 1]
        for ix in range(tasks[t, 2], tasks[t, 3]):
            gx = outer[0][0][kx] + ix
            for iy in range(outer[1][3][ky]):
                gy = outer[1][0][ky] + iy
                _bases(
                    by_columns, half, kx, ix, ky, iy, outer, inner, out_offsets, base[slides], step[slides]
                )
                for d in range(slides):
                    entry = outer_table[d, gx, gy]
                    if not entry & ENDS:
                        kind = np.int64(entry >> U40 & KIND)
                        other = outer[0][1][kx] + outer[1][1][ky] - outer[0][1][kind]
                        _bases(
                            by_columns, half, kind, np.int64(entry >> U20 & PLACE),
                            _kind(outer[1][2], other), np.int64(entry & PLACE), outer, inner, offsets,
                            base[d], step[d],
                        )  # fmt: skip
                left = half - outer[0][1][kx] - outer[1][1][ky]
                for kz in range(classes):
                    if step[slides, kz] == U0:
                        continue
                    kw = _kind(inner[1][2], left - inner[0][1][kz])
                    w0 = inner[1][0][kw]
                    nw = inner[1][3][kw]
                    for iz in range(inner[0][3][kz]):
                        gz = inner[0][0][kz] + iz
                        at = base[slides, kz] + np.uint64(iz) * step[slides, kz]
                        row = out[at : at + np.uint64(nw)]
                        if fresh:
                            row[:] = none
                        for d in range(slides):
                            entry = outer_table[d, gx, gy]
                            entries = inner_table[d, gz, w0 : w0 + nw]
                            if len(outer_made):
                                if entry & ENDS:
                                    for j in range(nw):
                                        if (entry | entries[j]) & WIN:
                                            more = outer_made[d, gx, gy] + inner_made[d, gz, w0 + j]
                                            row[j] = max(row[j], won + more)
                                else:
                                    _best_row_made(
                                        entries, inner_made[d, gz, w0 : w0 + nw], nw, entry,
                                        outer_made[d, gx, gy], base[d], step[d], afters, row,
                                    )  # fmt: skip
                            elif entry & WIN:
                                for j in range(nw):
                                    row[j] = max(row[j], won)
                            elif entry & FORBIDDEN:
                                for j in range(nw):
                                    if entries[j] & WIN:
                                        row[j] = max(row[j], won)
                            else:
                                _best_row(entries, nw, entry, base[d], step[d], afters, row)


# -- the computer: the fold over spawns ----------------------------------------------------------


@scalar
def to_half(value):
    """A number of [0, 1] as the bits of the nearest float16, ties to even."""
    fraction, exponent = math.frexp(value)
    if value == 0.0 or exponent + 14 < 1:  # below 2**-14 all are multiples of 2**-24
        return np.uint16(np.rint(math.ldexp(value, 24)))
    return np.uint16(((exponent + 14) << 10) + np.int64(np.rint((fraction * 2 - 1) * 1024)))


def combine(_acc, _value, _tune):  # pragma: no cover - replaced by Numba
    """Fold one value into an accumulator; what `tune` is decides how.

    Two floats, a least value and a step: add the value raised to the least, and the step.  An array
    of floats: add what it has for a value's bits.  Three numbers, a weight, a most and a lift: add the
    value, increased by the lift if it is the most, times the weight.  Two int64, a sign and a step: the
    larger if the sign is positive, else the smaller.
    """
    raise NotImplementedError


@overload(combine)
def _combine(_acc, _value, tune):
    if isinstance(tune, types.Array):

        def folded(_acc, _value, tune):
            return _acc + tune[_value]
    elif tune.count == 3:

        def folded(_acc, _value, tune):
            value = type(tune[0])(_value)
            return _acc + tune[0] * (value + (tune[2] if value == tune[1] else type(tune[0])(0)))
    elif isinstance(tune.dtype, types.Float):

        def folded(_acc, _value, tune):
            return _acc + (max(np.float64(_value), tune[0]) + tune[1])
    else:

        def folded(_acc, _value, tune):
            value = np.int64(_value) + tune[1]
            return max(_acc, value) if tune[0] > 0 else min(_acc, value)

    return folded


def stored(_value, _tune):  # pragma: no cover - replaced by Numba
    """A mean as it is kept: as it is, or as the bits of a float16 if `tune` is an array."""
    raise NotImplementedError


@overload(stored)
def _stored(_value, _tune):
    if isinstance(_tune, types.Array):
        return lambda _value, _tune: to_half(_value)
    return lambda _value, _tune: _value


def settled(_first, _second, _spawns, _law, _tune):  # pragma: no cover - replaced by Numba
    """The value of an afterstate from the accumulators of both exponents; what `law` is decides how.

    Two floats, a weight and a factor: the mean over spawns, the first exponent's having this weight.
    Three numbers, a denominator, a direction and a most: the sum of both, divided and rounded up if
    the direction is not 0; floats are exact if ten times the sum stays below 2**53.  Two int64,
    a sign and a start: the larger or smaller; 0 without a spawn.
    """
    raise NotImplementedError


@overload(settled)
def _settled(_first, _second, _spawns, law, _tune):
    if law.count == 3 and isinstance(law.dtype, types.Float):

        def value(_first, _second, _spawns, law, _tune):
            found = (_first + _second) / (np.float64(max(_spawns, 1)) * law[0])
            return min(np.ceil(found) if law[1] else np.floor(found), law[2])
    elif isinstance(law.dtype, types.Float):

        def value(_first, _second, _spawns, law, _tune):
            below = np.float64(max(_spawns, 1))
            mean = _second / below
            return stored((mean + law[0] * (_first / below - mean)) * law[1], _tune)
    elif law.count == 3:

        def value(_first, _second, _spawns, law, _tune):
            below = np.uint64(max(_spawns, 1)) * law[0]
            found = (_first + _second) // below
            if law[1] and found * below != _first + _second:
                found += U1
            return min(found, law[2])
    else:

        def value(_first, _second, _spawns, law, _tune):
            found = max(_first, _second) if law[0] > 0 else min(_first, _second)
            return found if _spawns else np.int64(0)

    return value


@scalar
def _gather(acc, ka, ia, kb, ib, kc, kd, parts, up, tune):
    """Fold what the spawns of one exponent lead to into the boards of one block of C, D.

    ``up``: the values and offsets of the layer above, and for each part ``start, place, source, kind``:
    the spawns on filling g are ``start[g]`` to ``start[g + 1]``, ``place[s]`` the place of what comes
    of it, ``source[s]`` that of g; ``kind[k]`` is the class that class k becomes.
    """
    values, offsets = up[0], up[1]
    a, b, c, d = parts[0], parts[1], parts[2], parts[3]
    nb, nc, nd = b[3][kb], c[3][kc], d[3][kd]
    block = nc * nd
    start, place, _, kind = up[2]
    g = a[0][ka] + ia
    for s in range(start[g], start[g + 1]):
        at = FIRST + offsets[kind[ka], kb, kc] + (np.int64(place[s]) * nb + ib) * block
        for j in range(block):
            acc[j] = combine(acc[j], values[at + j], tune)
    start, place, _, kind = up[3]
    g = b[0][kb] + ib
    for s in range(start[g], start[g + 1]):
        at = FIRST + offsets[ka, kind[kb], kc] + (ia * b[3][kind[kb]] + np.int64(place[s])) * block
        for j in range(block):
            acc[j] = combine(acc[j], values[at + j], tune)
    start, place, source, kind = up[4]
    if kind[kc] >= 0:
        at = FIRST + offsets[ka, kb, kind[kc]] + (ia * nb + ib) * c[3][kind[kc]] * nd
        for s in range(start[c[0][kc]], start[c[0][kc] + nc]):
            here = np.int64(source[s]) * nd
            there = at + np.int64(place[s]) * nd
            for j in range(nd):
                acc[here + j] = combine(acc[here + j], values[there + j], tune)
    start, place, source, kind = up[5]
    if kind[kd] >= 0:
        wide = d[3][kind[kd]]
        at = FIRST + offsets[ka, kb, kc] + (ia * nb + ib) * nc * wide
        for ic in range(nc):
            here, there = ic * nd, at + ic * wide
            for s in range(start[d[0][kd]], start[d[0][kd] + nd]):
                j = here + np.int64(source[s])
                acc[j] = combine(acc[j], values[there + np.int64(place[s])], tune)


@kernel()
def fold_spawns(tasks, half, parts, ups, tunes, law, start, room, offsets, out):
    """The values of afterstates: folds over spawns.

    `tasks` lists top halves: classes of A and B, and a range of places of A.  ``ups`` is one exponent or
    two, the larger first, with their `tunes`; accumulators begin with `start`.  A board that holds a
    pattern is worth what a win is.
    """
    first, second = room[0], room[1]
    a, b, c, d = parts[0], parts[1], parts[2], parts[3]
    last = len(ups) - 1
    won = out[WON]
    for t in range(len(tasks)):
        ka, kb = tasks[t, 0], tasks[t, 1]
        left = half - a[1][ka] - b[1][kb]
        for ia in range(tasks[t, 2], tasks[t, 3]):
            for ib in range(b[3][kb]):
                ga, gb = a[0][ka] + ia, b[0][kb] + ib
                free, mask = np.int64(a[4][ga]) + np.int64(b[4][gb]), a[5][ga] & b[5][gb]
                for kc in range(len(c[1])):
                    kd = _kind(d[2], left - c[1][kc])
                    if kd < 0 or offsets[ka, kb, kc] < 0:
                        continue
                    nc, nd = c[3][kc], d[3][kd]
                    first[: nc * nd] = start
                    second[: nc * nd] = start
                    _gather(first, ka, ia, kb, ib, kc, kd, parts, ups[0], tunes[0])
                    if last:
                        _gather(second, ka, ia, kb, ib, kc, kd, parts, ups[last], tunes[last])
                    at = FIRST + offsets[ka, kb, kc] + (ia * b[3][kb] + ib) * nc * nd
                    c0, d0 = c[0][kc], d[0][kd]
                    for ic in range(nc):
                        here = free + np.int64(c[4][c0 + ic])
                        row, low, high = at + ic * nd, first[ic * nd :], second[ic * nd :]
                        for j in range(nd):
                            spawns = here + np.int64(d[4][d0 + j])
                            out[row + j] = settled(low[j], high[j], spawns, law, tunes[0])
                        both = mask & c[5][c0 + ic]
                        if both:
                            for j in range(nd):
                                if both & d[5][d0 + j]:
                                    out[row + j] = won


# -- boards that hold a pattern ------------------------------------------------------------------


@kernel()
def least_where(tasks, half, parts, offsets, values):
    """How many boards of some top halves fit a pattern, their least value, and a place that has it."""
    a, b, c, d = parts[0], parts[1], parts[2], parts[3]
    count = 0
    least = np.int64(1) << np.int64(62)
    where = np.int64(-1)
    for t in range(len(tasks)):
        ka, kb = tasks[t, 0], tasks[t, 1]
        left = half - a[1][ka] - b[1][kb]
        for ia in range(tasks[t, 2], tasks[t, 3]):
            for ib in range(b[3][kb]):
                mask = a[5][a[0][ka] + ia] & b[5][b[0][kb] + ib]
                if not mask:
                    continue
                for kc in range(len(c[1])):
                    kd = _kind(d[2], left - c[1][kc])
                    if kd < 0:
                        continue
                    nc, nd = c[3][kc], d[3][kd]
                    at = offsets[ka, kb, kc] + (ia * b[3][kb] + ib) * nc * nd
                    for ic in range(nc):
                        both = mask & c[5][c[0][kc] + ic]
                        if not both:
                            continue
                        for j in range(nd):
                            if both & d[5][d[0][kd] + j]:
                                count += 1
                                value = np.int64(values[FIRST + at + ic * nd + j])
                                if value < least:
                                    least = value
                                    where = at + ic * nd + j
    return count, least, where
