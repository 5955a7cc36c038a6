"""Kernels of the dense passes: every board of a layer, by perfect index (`tilebase.dense.index`).

A board is four parts A, B, C, D, each a filling with a *class* (its sum) and a place in it.
What a kernel takes of a part is the tuple

    starts, sums, class_of, counts      as in `perfect.Part`
    free                                free[g]: empty cells of filling g
    masks                               masks[g]: bit k if the filling fits the k-th pattern

A slide acts on two halves of the board that do not touch: on A, B and C, D, or on A, C and B, D.
``table[d, n]`` holds what slide d makes of half n:

    bits  0..19   place of the second part in its class
    bits 20..39   place of the first
    bits 40..55   class of the first; the sum of both is kept, so it gives that of the second
    bit  61       something moved
    bit  62, 63   a tile of the goal is made; a limit is broken

Halves are numbered by their sum, the class of the first part, and the places of both; those with the
classes x and y begin at ``firsts[x, y]``.  So neighbours in a table are neighbours in a layer, or at least
belong to the boards that have one outer half in common: the loops that count run along them.

Values are kept by rank behind `FIRST` others, of which two have a meaning: ``values[NONE]`` is what a
slide that is not allowed is worth, ``values[WON]`` one that wins.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from tilebase._kernels.backward import FIRST, FIRST64, NONE, WON
from tilebase._kernels.half import from_half, to_half
from tilebase._kernels.jit import kernel, scalar
from tilebase._kernels.scalar import U0, U1

MOVED = np.uint64(1 << 61)
WIN = np.uint64(1 << 62)
FORBIDDEN = np.uint64(1 << 63)
ENDS = WIN | FORBIDDEN
PLACE = np.uint64((1 << 20) - 1)
KIND = np.uint64((1 << 16) - 1)
U20, U40, U61, U62, U63 = (np.uint64(shift) for shift in (20, 40, 61, 62, 63))


# -- tables of halves ----------------------------------------------------------------------------


@scalar
def _slide_cells(board, line, blocked, x, worths):
    """Slide the cells of a line towards its first; return what merges add and the largest tile made.

    ``worths[e]``: what a merge adds that makes the exponent e.
    """
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
                made += worths[tile + 1]
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
    firsts, x, goal, worths, board, out, out_made,
):  # fmt: skip
    """Fill the rows [begin, end) of a table of halves, and of what merges add if `out_made` has columns.

    Cells of the first part are numbered before those of the second.  ``weights[cell, code]`` is
    what a tile adds to the number of a filling, -1 if it may not be there; ``place0[number]`` is the
    filling.  `goal` is an exponent, 0 for none; `board` is room for the cells.
    """
    cells0, cells1 = fillings0.shape[1], fillings1.shape[1]
    for g in range(begin, end):
        for h in range(len(fillings1)):
            for cell in range(cells0):
                board[cell] = fillings0[g, cell]
            for cell in range(cells1):
                board[cells0 + cell] = fillings1[h, cell]
            made, largest = 0, 0
            for line in lines:
                more, tile = _slide_cells(board, line, blocked, x, worths)
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
            kx, ky = np.int64(kind0[g]), np.int64(kind1[h])
            wide = starts1[ky + 1] - starts1[ky]
            n = firsts[kx, ky] + (g - starts0[kx]) * wide + h - starts1[ky]
            out[n] = entry
            if len(out_made):
                out_made[n] = made


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
def _target(entry, moved, base, step):
    """Where the value of what a slide makes of a board is, from what it makes of both halves."""
    kind = entry >> U40 & KIND
    place = base[kind] + (entry >> U20 & PLACE) * step[kind] + (entry & PLACE)
    # NONE is 0 and WON is 1.  Branches here would be mispredicted more often than not.
    allowed = (entry | moved) >> U61 & ~(entry >> U62 | entry >> U63) & U1
    return place & (U0 - allowed) | entry >> U62 & U1


def raised(old, _value):  # pragma: no cover - replaced by Numba
    """The larger of two values."""
    raise NotImplementedError


@overload(raised)
def _raised(old, _value):
    if isinstance(old, types.Float):
        return lambda old, _value: max(old, _value)

    def larger(old, _value):  # without a branch
        more = np.int64(_value) - np.int64(old)
        return old + type(old)(more & ~(more >> np.int64(63)))

    return larger


@scalar
def _raise_to_slide(entries, made, n, outer_entry, outer_made, base, step, afters, out):
    """Raise ``out[j]`` to what one slide of the j-th of `n` boards with one outer half is worth.

    `made` is empty where the tiles made are worth nothing.
    """
    if outer_entry & ENDS:
        for j in range(n):
            if (outer_entry | entries[j]) & WIN:
                out[j] = raised(out[j], afters[WON] + (made[j] + outer_made) if len(made) else afters[WON])
    elif len(made):
        for j in range(n):
            value = afters[_target(entries[j], outer_entry & MOVED, base, step)]
            out[j] = raised(out[j], value + (made[j] + outer_made))
    else:
        for j in range(n):
            out[j] = raised(out[j], afters[_target(entries[j], outer_entry & MOVED, base, step)])


@scalar
def _tile_slides(d, by_columns, half, kx, ix, ky, iy, table, firsts, outer, inner, offsets, base, step):
    """What slide `d` makes of an outer half, and where boards with that half begin (`_bases`)."""
    entry = table[d, firsts[kx, ky] + ix * outer[1][3][ky] + iy]
    if not entry & ENDS:
        kind = np.int64(entry >> U40 & KIND)
        other = outer[0][1][kx] + outer[1][1][ky] - outer[0][1][kind]
        _bases(
            by_columns, half, kind, np.int64(entry >> U20 & PLACE), _kind(outer[1][2], other),
            np.int64(entry & PLACE), outer, inner, offsets, base, step,
        )  # fmt: skip
    return entry


@scalar
def _reach(begin, left, inner, firsts, step, room):
    """The classes of the first inner part up to which a tile goes, how many halves that is, and the first.

    It ends before classes whose boards are not in the layer, and where there is no room for more.
    """
    n, first = 0, np.int64(0)
    classes = len(inner[0][1])
    for kz in range(begin, classes):
        kw = _kind(inner[1][2], left - inner[0][1][kz])
        if kw >= 0:
            more = inner[0][3][kz] * inner[1][3][kw]
            if n and (step[kz] == U0 or n + more > room):
                return kz, n, first
            if step[kz]:
                first = first if n else firsts[kz, kw]
                n += more
    return classes, n, first


@scalar
def _move_tile(begin, end, left, inner, base, step, many, out, room, back):
    """Move the values of a tile from a layer to `room`, or `back`."""
    n = 0
    for kz in range(begin, end):
        kw = _kind(inner[1][2], left - inner[0][1][kz])
        if kw >= 0 and step[kz]:
            nw = inner[1][3][kw]
            for iz in range(inner[0][3][kz]):
                at = np.int64(base[kz]) + iz * np.int64(step[kz])
                for k in range(many):
                    for j in range(nw):
                        if back:
                            out[at + k * nw + j] = room[k, n + j]
                        else:
                            room[k, n + j] = out[at + k * nw + j]
                n += nw


@kernel()
def best_slides(
    tasks, by_columns, half, outer_table, inner_table, outer_made, inner_made, outer_firsts, inner_firsts,
    outer, inner, offsets, afters, room, bases, ends, out_offsets, out,
):  # fmt: skip
    """Write the best over slides along rows to `out`, or raise what is there to that along columns.

    `tasks` lists outer halves: classes of both parts, and a range of places of the first.
    `afters` and `out` are the values of afterstates and states; each has its own offsets.  Tables of
    tiles made may have no columns.  A tile of work is some outer halves that differ in the second part, and
    inner halves of one sum, no more than go into ``room[k]`` for the k-th of these outer halves; what
    depends on the outer half alone goes into ``bases[:, k]`` and ``ends[k]``.
    """
    slides, classes = len(outer_table), len(inner[0][1])
    tile = len(room) if by_columns else 1  # along rows they have no neighbours in `out`
    base, step = bases[0], bases[1]
    for t in range(len(tasks)):
        kx, ky = tasks[t, 0], tasks[t, 1]
        left = half - outer[0][1][kx] - outer[1][1][ky]
        ny = outer[1][3][ky]
        for ix in range(tasks[t, 2], tasks[t, 3]):
            for y in range(0, ny, tile):
                many = min(tile, ny - y)
                here, apart = base[0, slides], step[0, slides]
                _bases(by_columns, half, kx, ix, ky, y, outer, inner, out_offsets, here, apart)
                for k in range(many):
                    for d in range(slides):
                        ends[k, d] = _tile_slides(
                            d, by_columns, half, kx, ix, ky, y + k, outer_table, outer_firsts, outer, inner,
                            offsets, base[k, d], step[k, d],
                        )  # fmt: skip
                begin = 0
                while begin < classes:
                    end, n, first = _reach(begin, left, inner, inner_firsts, apart, room.shape[1])
                    if by_columns:
                        _move_tile(begin, end, left, inner, here, apart, many, out, room, False)
                    else:
                        room[0, :n] = afters[NONE]
                    for k in range(many):
                        outer_half = outer_firsts[kx, ky] + ix * ny + y + k
                        for d in range(slides):
                            _raise_to_slide(
                                inner_table[d, first : first + n],
                                inner_made[d, first : first + n], n, ends[k, d],
                                outer_made[d, outer_half] if outer_made.shape[1] else 0,
                                base[k, d], step[k, d], afters, room[k],
                            )  # fmt: skip
                    _move_tile(begin, end, left, inner, here, apart, many, out, room, True)
                    begin = end


# -- the computer: the fold over spawns ----------------------------------------------------------


def number(_value):  # pragma: no cover - replaced by Numba
    """A kept mean as a float64: integers are the bits of a float16."""
    raise NotImplementedError


@overload(number)
def _number(_value):
    if isinstance(_value, types.Integer):
        return lambda _value: from_half(_value)
    return lambda _value: np.float64(_value)


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
    """Mean: the first exponent's mean has this weight; the result is multiplied by `factor`."""

    weight: float
    factor: float


class DivideBound(NamedTuple):
    """Proved bound: the sum over `denominator`, rounded up if `up` is not 0; at most `most`.

    Floats are exact if ten times the sum stays below 2**53.
    """

    denominator: Any
    up: Any
    most: Any


class KeepLargest(NamedTuple):
    """The largest, or the least where `sign` is negative; 0 without a spawn."""

    sign: Any
    start: Any


def combine(_acc, _value, _tune):  # pragma: no cover - replaced by Numba
    """Fold one value into an accumulator, as the type of `tune` says."""
    raise NotImplementedError


@overload(combine)
def _combine(_acc, _value, tune):
    if tune.instance_class is AddBound:

        def folded(_acc, _value, tune):
            value = type(tune.weight)(_value)
            return _acc + tune.weight * (value + (tune.lift if value == tune.most else type(tune.weight)(0)))
    elif tune.instance_class is AddMean:

        def folded(_acc, _value, tune):
            return _acc + (max(number(_value), tune.least) + tune.step)
    else:

        def folded(_acc, _value, tune):
            value = np.int64(_value) + tune.step
            return max(_acc, value) if tune.sign > 0 else min(_acc, value)

    return folded


def stored(_value, _like):  # pragma: no cover - replaced by Numba
    """A mean as it is kept: as it is, or as the bits of a float16 if what is kept are integers."""
    raise NotImplementedError


@overload(stored)
def _stored(_value, _like):
    if isinstance(_like, types.Integer):
        return lambda _value, _like: to_half(_value)
    return lambda _value, _like: _value


def settled(_first, _second, _spawns, _law, _like):  # pragma: no cover - replaced by Numba
    """The value of an afterstate, kept like `_like`, from the accumulators of both exponents.

    The type of `law` says how.
    """
    raise NotImplementedError


@overload(settled)
def _settled(_first, _second, _spawns, law, _like):
    if law.instance_class is DivideBound and isinstance(law.dtype, types.Float):

        def value(_first, _second, _spawns, law, _like):
            found = (_first + _second) / (np.float64(max(_spawns, 1)) * law.denominator)
            return min(np.ceil(found) if law.up else np.floor(found), law.most)
    elif law.instance_class is DivideMean:

        def value(_first, _second, _spawns, law, _like):
            below = np.float64(max(_spawns, 1))
            mean = _second / below
            return stored((mean + law.weight * (_first / below - mean)) * law.factor, _like)
    elif law.instance_class is DivideBound:

        def value(_first, _second, _spawns, law, _like):
            below = np.uint64(max(_spawns, 1)) * law.denominator
            found = (_first + _second) // below
            if law.up and found * below != _first + _second:
                found += U1
            return min(found, law.most)
    else:

        def value(_first, _second, _spawns, law, _like):
            found = max(_first, _second) if law.sign > 0 else min(_first, _second)
            return found if _spawns else np.int64(0)

    return value


@scalar
def _gather(acc, ka, ia, kb, first, last, kc, kd, parts, up, tune):
    """Fold what the spawns of one exponent lead to into boards of a block: one place of A, some of B.

    ``up``: the values and offsets of the layer above, and for each part ``start, place, source, kind``:
    the spawns on filling g are ``start[g]`` to ``start[g + 1]``, ``place[s]`` the place of what comes
    of it, ``source[s]`` that of g; ``kind[k]`` is the class that class k becomes.  The same spawn goes
    along as many neighbours as it can.
    """
    values, offsets = up[0], up[1]
    a, b, c, d = parts[0], parts[1], parts[2], parts[3]
    nb, nc, nd = b[3][kb], c[3][kc], d[3][kd]
    rows, wide = last - first, nc * nd
    start, place, _, kind = up[2]
    g = a[0][ka] + ia
    for s in range(start[g], start[g + 1]):
        at = FIRST + offsets[kind[ka], kb, kc] + (np.int64(place[s]) * nb + first) * wide
        for j in range(rows * wide):
            acc[j] = combine(acc[j], values[at + j], tune)
    start, place, source, kind = up[3]
    g = b[0][kb]
    for s in range(start[g + first], start[g + last]):
        here = (np.int64(source[s]) - first) * wide
        at = FIRST + offsets[ka, kind[kb], kc] + (ia * b[3][kind[kb]] + np.int64(place[s])) * wide
        for j in range(wide):
            acc[here + j] = combine(acc[here + j], values[at + j], tune)
    start, place, source, kind = up[4]
    if kind[kc] >= 0:
        above = c[3][kind[kc]] * nd
        at = FIRST + offsets[ka, kb, kind[kc]] + (ia * nb + first) * above
        for s in range(start[c[0][kc]], start[c[0][kc] + nc]):
            here, there = np.int64(source[s]) * nd, at + np.int64(place[s]) * nd
            for i in range(rows):
                for j in range(nd):
                    k = here + i * wide + j
                    acc[k] = combine(acc[k], values[there + i * above + j], tune)
    start, place, source, kind = up[5]
    if kind[kd] >= 0:
        above = d[3][kind[kd]]
        at = FIRST + offsets[ka, kb, kc] + (ia * nb + first) * nc * above
        for s in range(start[d[0][kd]], start[d[0][kd] + nd]):
            here, there = np.int64(source[s]), at + np.int64(place[s])
            for i in range(rows * nc):
                k = here + i * nd
                acc[k] = combine(acc[k], values[there + i * above], tune)


@kernel()
def fold_spawns(tasks, half, parts, ups, tunes, law, start, room, free, offsets, out):
    """The values of afterstates: folds over spawns.

    `tasks` lists top halves: classes of A and B, and a range of places of A.  ``ups`` is one exponent or
    two, the larger first, with their `tunes`; accumulators begin with `start`.  A board that holds a
    pattern is worth what a win is.  `room` has two rows for accumulators, no shorter than the
    largest block of C, D, and `free` is room for its numbers of empty cells.
    """
    low, high = room[0], room[1]
    a, b, c, d = parts[0], parts[1], parts[2], parts[3]
    more = len(ups) - 1
    won = out[WON]
    for t in range(len(tasks)):
        ka, kb = tasks[t, 0], tasks[t, 1]
        left = half - a[1][ka] - b[1][kb]
        nb = b[3][kb]
        for kc in range(len(c[1])):
            kd = _kind(d[2], left - c[1][kc])
            if kd < 0 or offsets[ka, kb, kc] < 0:
                continue
            c0, d0, nc, nd = c[0][kc], d[0][kd], c[3][kc], d[3][kd]
            wide = nc * nd
            for ic in range(nc):
                for j in range(nd):
                    free[ic * nd + j] = np.int64(c[4][c0 + ic]) + np.int64(d[4][d0 + j])
            some = max(1, len(low) // wide)
            for ia in range(tasks[t, 2], tasks[t, 3]):
                ga = a[0][ka] + ia
                for begin in range(0, nb, some):
                    end = min(begin + some, nb)
                    low[: (end - begin) * wide] = start
                    high[: (end - begin) * wide] = start
                    _gather(low, ka, ia, kb, begin, end, kc, kd, parts, ups[0], tunes[0])
                    if more:
                        _gather(high, ka, ia, kb, begin, end, kc, kd, parts, ups[more], tunes[more])
                    for ib in range(begin, end):
                        gb = b[0][kb] + ib
                        here = np.int64(a[4][ga]) + np.int64(b[4][gb])
                        at, row = FIRST + offsets[ka, kb, kc] + (ia * nb + ib) * wide, (ib - begin) * wide
                        for j in range(wide):
                            out[at + j] = settled(low[row + j], high[row + j], here + free[j], law, won)
                        mask = a[5][ga] & b[5][gb]
                        if mask:
                            _mark_won(mask, c[5][c0 : c0 + nc], d[5][d0 : d0 + nd], won, out[at:])


@scalar
def _mark_won(mask, masks_c, masks_d, won, out):
    """Boards that hold a pattern are won: all of one block and top half."""
    for i in range(len(masks_c)):
        both = mask & masks_c[i]
        if both:
            for j in range(len(masks_d)):
                if both & masks_d[j]:
                    out[i * len(masks_d) + j] = won


# -- boards that hold a pattern ------------------------------------------------------------------


@kernel()
def least_where(tasks, half, parts, offsets, values):
    """How many boards of some top halves fit a pattern, their least value, and a place that has it.

    ``parts[p]``: starts, sums, classes and counts as in `fold_spawns`, and a mask of each filling, a bit a
    pattern that it fits.
    """
    a, b, c, d = parts[0], parts[1], parts[2], parts[3]
    count = 0
    least = np.int64(1) << np.int64(62)
    where = np.int64(-1)
    for t in range(len(tasks)):
        ka, kb = tasks[t, 0], tasks[t, 1]
        left = half - a[1][ka] - b[1][kb]
        for ia in range(tasks[t, 2], tasks[t, 3]):
            for ib in range(b[3][kb]):
                mask = a[4][a[0][ka] + ia] & b[4][b[0][kb] + ib]
                if not mask:
                    continue
                for kc in range(len(c[1])):
                    kd = _kind(d[2], left - c[1][kc])
                    if kd < 0:
                        continue
                    nc, nd = c[3][kc], d[3][kd]
                    at = offsets[ka, kb, kc] + (ia * b[3][kb] + ib) * nc * nd
                    for ic in range(nc):
                        both = mask & c[4][c[0][kc] + ic]
                        if not both:
                            continue
                        for j in range(nd):
                            if both & d[4][d[0][kd] + j]:
                                count += 1
                                value = np.int64(values[FIRST + at + ic * nd + j])
                                if value < least:
                                    least = value
                                    where = at + ic * nd + j
    return count, least, where
