"""Kernels of the dense passes: every board of a layer, by perfect index (`tilebase.dense.index`).

A board is four parts A, B, C, D, each a filling with a *class* (its sum) and a position within that class.
All tiles are even: kernels count sums in units of 2, so that `units` is a board's sum // 2.

A slide acts on two halves of the board that do not touch: on A, B and C, D, or on A, C and B, D.
``table[d, n]`` holds what slide d makes of half n:

    bits  0..19   position of the second part in its class
    bits 20..39   position of the first
    bits 40..55   class of the first; the sum of both is kept, so it gives that of the second
    bit  60       the x of the half stand as in no mask: the slide is not allowed, even if it makes the goal
    bit  61       something moved
    bit  62, 63   a tile of the goal is made; a limit is broken

Halves are numbered by their sum, the class of the first part, and the positions of both; those with the
classes x and y begin at ``firsts[x, y]``.  So neighbours in a table are neighbours in a layer, or at least
belong to the boards that have one outer half in common: the loops that count run along them.

If a game has several masks, the x of both halves may be those of two different ones.  So fillings and
halves also have a set of masks that their x agree with, one bit for each: a board stands on a mask if the
sets of its fillings, or of its two halves, have one in common.  Boards of the index that stand on none are
worth 0, and no slide leads to them.

Values are kept by rank behind `FIRST` others, of which two have a meaning: ``values[NONE]`` is what a
slide that is not allowed is worth, ``values[WON]`` one that wins.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from tilebase._kernels.backward import FIRST, FIRST64, NONE, WON
from tilebase._kernels.coded import number, stored
from tilebase._kernels.jit import chosen, kernel, scalar
from tilebase._kernels.scalar import U0, U1

Array = npt.NDArray[Any]
BARRED = np.uint64(1 << 60)
MOVED = np.uint64(1 << 61)
WIN = np.uint64(1 << 62)
FORBIDDEN = np.uint64(1 << 63)
ENDS = WIN | FORBIDDEN
POSITION = np.uint64((1 << 20) - 1)
NO_FILLING = np.int64(0xFFFF_FFFF)
CLASS = np.uint64((1 << 16) - 1)
U20, U40, U61, U62, U63 = (np.uint64(shift) for shift in (20, 40, 61, 62, 63))


# -- what kernels take ---------------------------------------------------------------------------


class Part(NamedTuple):
    """One of the four parts of a board (`tilebase.dense.index.Part`)."""

    starts: Array  # int64: starts[k] is the first filling of class k; starts[-1] is how many there are
    sums: Array  # int64: sums[k] is the sum of class k in units of 2
    class_of: Array  # int32: class_of[s] is the class with the sum s in units of 2, -1 if there is none
    counts: Array  # int64: counts[k] is the number of fillings of class k
    free: Array  # uint8: free[g] is the number of empty cells of filling g, walls aside
    masks: Array  # uint64: bit k of masks[g] is set if filling g fits the k-th pattern
    stands: Array  # uint64: bit k of stands[g] is set if x of filling g stand as in the k-th mask; or empty


class Fillings(NamedTuple):
    """The fillings of a part, for the tables of slides."""

    cells: Array  # uint8: cells[g, i] is the code of the tile that filling g has on the i-th cell
    of_number: Array  # uint32: of_number[n] is the filling whose digits make the number n, or NO_FILLING
    classes: Array  # uint16: classes[g] is the class of filling g
    starts: Array  # int64: starts[k] is the first filling of class k


class Lines(NamedTuple):
    """How one slide acts on the cells of a half, those of the first part before those of the second."""

    lines: Array  # int64: lines[l, i] is the i-th cell of line l, from where tiles slide to
    blocked: Array  # bool: blocked[cell] says that tiles stop before the cell: a wall, or a fixed tile
    weights: Array  # int64: weights[cell, code] is what a tile adds to a filling's number, -1 if illegal
    masks: Array  # uint64: bit i of masks[k] is set if the i-th cell must hold an x for the k-th mask


class Spawns(NamedTuple):
    """The spawns of one exponent on the fillings of one part."""

    start: Array  # int64: those on filling g are start[g] to start[g + 1]
    target: Array  # uint32: target[s] is the position, in its class, of the filling that spawn s makes
    source: Array  # uint32: source[s] is the position, in its class, of the filling before spawn s
    classes: Array  # int64: classes[k] is the class that class k becomes, -1 if there is none


class Above(NamedTuple):
    """A layer of states, to which the spawns of one exponent lead."""

    values: Array  # values[FIRST + rank] is what the state is worth
    offsets: Array  # int64: offsets[a, b, c] is the first rank of a block (`dense.index.LayerMap`)
    spawns: tuple[Spawns, Spawns, Spawns, Spawns]  # in A, B, C and D


class Values(NamedTuple):
    """The values of a layer, or of some blocks of one."""

    values: Array  # values[FIRST + rank] is what the board is worth
    offsets: Array  # int64: offsets[a, b, c] is the first rank of a block, -1 if it is not there


class Half(NamedTuple):
    """A half of the board, its two parts and the slides within it; n numbers the half boards."""

    first: Part
    second: Part
    firsts: Array  # int64: firsts[x, y] is the first n whose parts have the classes x and y
    begins: Array  # int64: begins[s] is the first n whose sum is at least s in units of 2
    table: Array  # uint64: table[d, n] is what slide d makes of the half, see above
    earned: Array  # int32: earned[d, n] is what the merges of slide d add; no columns if they add nothing
    stands: Array  # uint64: bit k of stands[d, n] says that x then stand as in the k-th mask; or no columns


class Scratch(NamedTuple):
    """The scratch buffers of a thread; a tile is `TILE` rows of values."""

    folds: Array  # folds[k, j] is the accumulator of the j-th board in work for the k-th exponent
    free: Array  # int64: free[j] is the number of empty cells of the j-th pair of fillings of C and D
    values: Array  # values[k, j] is the value of the j-th board in the k-th row of a tile
    bases: Array  # uint64: bases[0, k, d, z] and bases[1, k, d, z] are base and step of `_bases`
    ends: Array  # uint64: ends[k, d] is what slide d makes of the outer half of the k-th row


# -- tables of half boards ----------------------------------------------------------------------------


@scalar
def _slide_cells(board, line, blocked, x, worths):
    """Slide the cells of a line towards its first; return what merges add and the largest tile made.

    ``worths[e]`` is what a merge adds that makes the exponent e.
    """
    put = 0
    last: Any = 0
    earned: Any = 0
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
                earned += worths[tile + 1]
                largest = max(largest, tile + 1)
                last = 0
            else:
                board[line[put]] = tile
                put += 1
                last = tile
    return earned, largest


@kernel()
def tabulate(begin, end, first, second, slide, firsts, x, goal, worths, board, out, out_earned, out_stands):
    """Fill the rows [begin, end) of a table of halves.

    Also fill those of what merges add, and of the masks that the x agree with, if these have columns.

    Halves beyond the end of the table are left out.

    `first` and `second` are `Fillings`, `slide` is `Lines`.  `goal` is an exponent, 0 for none; `worths`
    are those of `_slide_cells`; `board` is a scratch buffer for the cells.
    """
    cells0, cells1 = first.cells.shape[1], second.cells.shape[1]
    weights = slide.weights
    for g in range(begin, end):
        kx = np.int64(first.classes[g])
        for h in range(len(second.cells)):
            ky = np.int64(second.classes[h])
            wide = second.starts[ky + 1] - second.starts[ky]
            n = firsts[kx, ky] + (g - first.starts[kx]) * wide + h - second.starts[ky]
            if n >= len(out):
                continue
            for cell in range(cells0):
                board[cell] = first.cells[g, cell]
            for cell in range(cells1):
                board[cells0 + cell] = second.cells[h, cell]
            earned, largest = 0, 0
            for line in slide.lines:
                more, tile = _slide_cells(board, line, slide.blocked, x, worths)
                earned += more
                largest = max(largest, tile)
            number0, number1, held = 0, 0, U0
            sound = True
            for cell in range(cells0):
                sound &= weights[cell, board[cell]] >= 0
                number0 += weights[cell, board[cell]]
            for cell in range(cells0, cells0 + cells1):
                sound &= weights[cell, board[cell]] >= 0
                number1 += weights[cell, board[cell]]
            for cell in range(cells0 + cells1):
                held |= np.uint64(board[cell] == x) << np.uint64(cell)
            stands = U0
            for k in range(len(slide.masks)):
                stands |= np.uint64(held & slide.masks[k] == slide.masks[k]) << np.uint64(k)
            entry, to0, to1 = FORBIDDEN, NO_FILLING, NO_FILLING
            if sound:
                to0, to1 = np.int64(first.of_number[number0]), np.int64(second.of_number[number1])
            if not stands:
                entry = FORBIDDEN | BARRED
            elif goal and largest >= goal:
                entry = WIN | MOVED
            elif to0 != NO_FILLING and to1 != NO_FILLING:
                k0, k1 = np.int64(first.classes[to0]), np.int64(second.classes[to1])
                entry = np.uint64(to1 - second.starts[k1]) | np.uint64(to0 - first.starts[k0]) << U20
                entry |= np.uint64(k0) << U40
                if to0 != g or to1 != h:
                    entry |= MOVED
            out[n] = entry
            if len(out_earned):
                out_earned[n] = earned
            if len(out_stands):
                out_stands[n] = stands


# -- the player: the best over slides ------------------------------------------------------------


@scalar
def class_with(part, units):
    """The class of a part with this sum, -1 if no filling has it."""
    return np.int64(part.class_of[units]) if 0 <= units < len(part.class_of) else np.int64(-1)


@scalar
def _bases(by_columns, units, kx, ix, ky, iy, outer, inner, offsets, out_base, out_step):
    """Where boards with a given outer half begin in the values, for each class of the first inner part.

    A board is at ``out_base[class] + position of the first inner part * out_step[class] + position of
    the second``.  Blocks that are not in the layer have the step 0.
    """
    left = units - outer.first.sums[kx] - outer.second.sums[ky]
    ny = outer.second.counts[ky]
    for kz in range(len(inner.first.sums)):
        kw = class_with(inner.second, left - inner.first.sums[kz])
        out_step[kz] = U0
        begin = offsets[kx, kz, ky] if by_columns else offsets[kx, ky, kz]
        if kw >= 0 and begin >= 0:
            nz, nw = inner.first.counts[kz], inner.second.counts[kw]
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
    kz = entry >> U40 & CLASS
    at = base[kz] + (entry >> U20 & POSITION) * step[kz] + (entry & POSITION)
    # NONE is 0 and WON is 1.  Branches here would be mispredicted more often than not.
    allowed = (entry | moved) >> U61 & ~(entry >> U62 | entry >> U63) & U1
    return at & (U0 - allowed) | entry >> U62 & U1


def maximum(old, _value):  # pragma: no cover - replaced by Numba
    """The larger of two values."""
    raise NotImplementedError


@chosen(maximum)
def _maximum(old, _value):
    if isinstance(old, types.Float):
        return lambda old, _value: max(old, _value)

    def larger(old, _value):  # without a branch
        more = np.int64(_value) - np.int64(old)
        return old + type(old)(more & ~(more >> np.int64(63)))

    return larger


@scalar
def _take_slide(entries, earned, n, outer_entry, outer_earned, base, step, afters, out):
    """Let ``out[j]`` be the maximum of itself and one slide of the j-th of `n` boards with one outer half.

    `earned` is empty where merges add nothing.
    """
    if outer_entry & BARRED:
        return
    if outer_entry & ENDS:
        for j in range(n):
            if (outer_entry | entries[j]) & (WIN | BARRED) == WIN:
                value = afters[WON] + (earned[j] + outer_earned) if len(earned) else afters[WON]
                out[j] = maximum(out[j], value)
    elif len(earned):
        for j in range(n):
            value = afters[_target(entries[j], outer_entry & MOVED, base, step)]
            out[j] = maximum(out[j], value + (earned[j] + outer_earned))
    else:
        for j in range(n):
            out[j] = maximum(out[j], afters[_target(entries[j], outer_entry & MOVED, base, step)])


@scalar
def _take_standing(
    entries, earned, stands, n, outer_entry, outer_earned, outer_stands, base, step, afters, out
):
    """`_take_slide` if there are several masks: both halves must stand as in the same one."""
    for j in range(n):
        if outer_entry & ENDS:
            at = (outer_entry | entries[j]) >> U62 & U1
        else:
            at = _target(entries[j], outer_entry & MOVED, base, step)
        value = afters[at if stands[j] & outer_stands else U0]  # NONE is 0
        if len(earned):
            out[j] = maximum(out[j], value + (earned[j] + outer_earned))
        else:
            out[j] = maximum(out[j], value)


@scalar
def _slide_outer(d, by_columns, units, kx, ix, ky, iy, outer, inner, offsets, base, step):
    """What slide `d` makes of an outer half, and where boards with that half begin (`_bases`).

    A half whose own x stand as in no mask is left out: no board with it is asked for.
    """
    if len(outer.first.stands):
        g, h = outer.first.starts[kx] + ix, outer.second.starts[ky] + iy
        if outer.first.stands[g] & outer.second.stands[h] == U0:
            return FORBIDDEN | BARRED
    entry = outer.table[d, outer.firsts[kx, ky] + ix * outer.second.counts[ky] + iy]
    if not entry & ENDS:
        to = np.int64(entry >> U40 & CLASS)
        other = outer.first.sums[kx] + outer.second.sums[ky] - outer.first.sums[to]
        _bases(
            by_columns, units, to, np.int64(entry >> U20 & POSITION), class_with(outer.second, other),
            np.int64(entry & POSITION), outer, inner, offsets, base, step,
        )  # fmt: skip
    return entry


@scalar
def _reach(begin, left, inner, step, most):
    """The classes of the first inner part up to which a tile goes, how many halves that is, and the first.

    It ends before classes whose boards are not in the layer, and at `most` halves.
    """
    n, first = 0, np.int64(0)
    classes = len(inner.first.sums)
    for kz in range(begin, classes):
        kw = class_with(inner.second, left - inner.first.sums[kz])
        if kw >= 0:
            more = inner.first.counts[kz] * inner.second.counts[kw]
            if n and (step[kz] == U0 or n + more > most):
                return kz, n, first
            if step[kz]:
                first = first if n else inner.firsts[kz, kw]
                n += more
    return classes, n, first


@scalar
def _move_tile(begin, end, left, inner, base, step, many, out, tile, back):
    """Move the values of a tile from a layer to the scratch buffer `tile`, or `back`."""
    n = 0
    for kz in range(begin, end):
        kw = class_with(inner.second, left - inner.first.sums[kz])
        if kw >= 0 and step[kz]:
            nw = inner.second.counts[kw]
            for iz in range(inner.first.counts[kz]):
                at = np.int64(base[kz]) + iz * np.int64(step[kz])
                for k in range(many):
                    for j in range(nw):
                        if back:
                            out[at + k * nw + j] = tile[k, n + j]
                        else:
                            tile[k, n + j] = out[at + k * nw + j]
                n += nw


@kernel()
def best_slides(tasks, by_columns, units, outer, inner, afters, states, scratch):
    """Write the best over slides along rows to `states`, or let those along columns improve what is there.

    `tasks` lists outer halves: classes of both parts, and a range of positions of the first.  `outer` and
    `inner` are `Half`, `afters` and `states` are `Values`.  A tile of work is some outer halves that differ
    in the second part, and inner halves of one sum, no more than go into ``scratch.values[k]`` for the k-th
    of these outer halves; what depends on the outer half alone goes into ``bases[:, k]`` and ``ends[k]``.
    """
    slides, classes = len(outer.table), len(inner.first.sums)
    tile, ends = scratch.values, scratch.ends
    rows = len(tile) if by_columns else 1  # along rows they have no neighbours in `states`
    base, step = scratch.bases[0], scratch.bases[1]
    for t in range(len(tasks)):
        kx, ky = tasks[t, 0], tasks[t, 1]
        left = units - outer.first.sums[kx] - outer.second.sums[ky]
        ny = outer.second.counts[ky]
        for ix in range(tasks[t, 2], tasks[t, 3]):
            for y in range(0, ny, rows):
                many = min(rows, ny - y)
                here, apart = base[0, slides], step[0, slides]
                _bases(by_columns, units, kx, ix, ky, y, outer, inner, states.offsets, here, apart)
                for k in range(many):
                    for d in range(slides):
                        ends[k, d] = _slide_outer(
                            d, by_columns, units, kx, ix, ky, y + k, outer, inner, afters.offsets,
                            base[k, d], step[k, d],
                        )  # fmt: skip
                begin = 0
                while begin < classes:
                    end, n, first = _reach(begin, left, inner, apart, tile.shape[1])
                    if by_columns:
                        _move_tile(begin, end, left, inner, here, apart, many, states.values, tile, False)
                    else:
                        tile[0, :n] = afters.values[NONE]
                    for k in range(many):
                        outer_half = outer.firsts[kx, ky] + ix * ny + y + k
                        for d in range(slides):
                            entries = inner.table[d, first : first + n]
                            earned = inner.earned[d, first : first + n]
                            more = outer.earned[d, outer_half] if outer.earned.shape[1] else 0
                            if not outer.stands.shape[1]:
                                _take_slide(
                                    entries, earned, n, ends[k, d], more, base[k, d], step[k, d],
                                    afters.values, tile[k],
                                )  # fmt: skip
                            elif not ends[k, d] & BARRED:
                                _take_standing(
                                    entries, earned, inner.stands[d, first : first + n], n, ends[k, d], more,
                                    outer.stands[d, outer_half], base[k, d], step[k, d], afters.values,
                                    tile[k],
                                )  # fmt: skip
                    _move_tile(begin, end, left, inner, here, apart, many, states.values, tile, True)
                    begin = end


# -- the adversary or chance: the fold over spawns -----------------------------------------------


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


class DivideMeanBy(NamedTuple):
    """As `DivideMean`, with a weight for each number of spawns."""

    weights: Any
    factor: float


class DivideBound(NamedTuple):
    """Proved bound: the sum over `denominator`, rounded up if `up` is not 0; at most `most`.

    Floats are exact if ten times the sum stays below 2**53.
    """

    denominator: Any
    up: Any
    most: Any


class DivideBoundBy(NamedTuple):
    """As `DivideBound`, with weights of both exponents for each number of spawns."""

    first: Any
    second: Any
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


@chosen(combine)
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


def settled(_first, _second, _spawns, _finish, _like):  # pragma: no cover - replaced by Numba
    """The value of an afterstate, kept like `_like`, from the accumulators of both exponents.

    The type of `finish` says how.
    """
    raise NotImplementedError


@chosen(settled)
def _settled(_first, _second, _spawns, finish, _like):
    if finish.instance_class is DivideMean:

        def value(_first, _second, _spawns, finish, _like):
            return stored(_mixed(_first, _second, _spawns, finish.weight) * finish.factor, _like)
    elif finish.instance_class is DivideMeanBy:

        def value(_first, _second, _spawns, finish, _like):
            return stored(_mixed(_first, _second, _spawns, finish.weights[_spawns]) * finish.factor, _like)
    elif finish.instance_class is DivideBound:

        def value(_first, _second, _spawns, finish, _like):
            return divided(_first + _second, _spawns, finish)
    elif finish.instance_class is DivideBoundBy:

        def value(_first, _second, _spawns, finish, _like):
            return divided(finish.first[_spawns] * _first + finish.second[_spawns] * _second, _spawns, finish)
    else:

        def value(_first, _second, _spawns, finish, _like):
            found = max(_first, _second) if finish.sign > 0 else min(_first, _second)
            return found if _spawns else np.int64(0)

    return value


@scalar
def _mixed(first, second, spawns, weight):
    """The mean over all spawns from the sums over those of each exponent."""
    below = np.float64(max(spawns, 1))
    mean = second / below
    return mean + weight * (first / below - mean)


def divided(_sum, _spawns, _finish):  # pragma: no cover - replaced by Numba
    """A weighted sum over the spawns and the denominator of the weights, rounded as `finish` says."""
    raise NotImplementedError


@chosen(divided)
def _divided_by(_sum, _spawns, _finish):
    if isinstance(_sum, types.Float):

        def value(_sum, _spawns, _finish):
            found = _sum / (np.float64(max(_spawns, 1)) * _finish.denominator)
            return min(np.ceil(found) if _finish.up else np.floor(found), _finish.most)
    else:

        def value(_sum, _spawns, _finish):
            below = np.uint64(max(_spawns, 1)) * _finish.denominator
            found = _sum // below
            if _finish.up and found * below != _sum:
                found += U1
            return min(found, _finish.most)

    return value


@scalar
def _gather(acc, ka, ia, kb, first, last, kc, kd, parts, up, tune):
    """Fold the states that the spawns of one exponent (`Above`) lead to into boards of a block.

    These boards have one filling of A and those of B with the positions from `first` to `last`.  The same
    spawn goes along as many neighbours as it can.
    """
    values, offsets = up.values, up.offsets
    a, b, c, d = parts[0], parts[1], parts[2], parts[3]
    nb, nc, nd = b.counts[kb], c.counts[kc], d.counts[kd]
    rows, wide = last - first, nc * nd
    spawns = up.spawns[0]
    g = a.starts[ka] + ia
    for s in range(spawns.start[g], spawns.start[g + 1]):
        at = FIRST + offsets[spawns.classes[ka], kb, kc] + (np.int64(spawns.target[s]) * nb + first) * wide
        for j in range(rows * wide):
            acc[j] = combine(acc[j], values[at + j], tune)
    spawns = up.spawns[1]
    g = b.starts[kb]
    for s in range(spawns.start[g + first], spawns.start[g + last]):
        here = (np.int64(spawns.source[s]) - first) * wide
        above = ia * b.counts[spawns.classes[kb]] + np.int64(spawns.target[s])
        at = FIRST + offsets[ka, spawns.classes[kb], kc] + above * wide
        for j in range(wide):
            acc[here + j] = combine(acc[here + j], values[at + j], tune)
    spawns = up.spawns[2]
    to = spawns.classes[kc]
    if to >= 0:
        above = c.counts[to] * nd
        at = FIRST + offsets[ka, kb, to] + (ia * nb + first) * above
        for s in range(spawns.start[c.starts[kc]], spawns.start[c.starts[kc] + nc]):
            here, there = np.int64(spawns.source[s]) * nd, at + np.int64(spawns.target[s]) * nd
            for i in range(rows):
                for j in range(nd):
                    k = here + i * wide + j
                    acc[k] = combine(acc[k], values[there + i * above + j], tune)
    spawns = up.spawns[3]
    to = spawns.classes[kd]
    if to >= 0:
        above = d.counts[to]
        at = FIRST + offsets[ka, kb, kc] + (ia * nb + first) * nc * above
        for s in range(spawns.start[d.starts[kd]], spawns.start[d.starts[kd] + nd]):
            here, there = np.int64(spawns.source[s]), at + np.int64(spawns.target[s])
            for i in range(rows * nc):
                k = here + i * nd
                acc[k] = combine(acc[k], values[there + i * above], tune)


@kernel()
def fold_spawns(tasks, units, parts, ups, tunes, finish, start, scratch, afters):
    """Write the values of afterstates (`Values`): folds over spawns.

    `tasks` lists top halves: classes of A and B, and a range of positions of A.  `parts` are four `Part`;
    `ups` is `Above` for one exponent or two, the larger first, with their `tunes`; accumulators begin with
    `start`.  A board that holds a pattern is worth what a win is.  The rows of ``scratch.folds`` and
    ``scratch.free`` are no shorter than the largest block of C, D.
    """
    low, high, free = scratch.folds[0], scratch.folds[1], scratch.free
    a, b, c, d = parts[0], parts[1], parts[2], parts[3]
    offsets, out = afters.offsets, afters.values
    more = len(ups) - 1
    won = out[WON]
    for t in range(len(tasks)):
        ka, kb = tasks[t, 0], tasks[t, 1]
        left = units - a.sums[ka] - b.sums[kb]
        nb = b.counts[kb]
        for kc in range(len(c.sums)):
            kd = class_with(d, left - c.sums[kc])
            if kd < 0 or offsets[ka, kb, kc] < 0:
                continue
            c0, d0, nc, nd = c.starts[kc], d.starts[kd], c.counts[kc], d.counts[kd]
            wide = nc * nd
            for ic in range(nc):
                for j in range(nd):
                    free[ic * nd + j] = np.int64(c.free[c0 + ic]) + np.int64(d.free[d0 + j])
            some = max(1, len(low) // wide)
            for ia in range(tasks[t, 2], tasks[t, 3]):
                ga = a.starts[ka] + ia
                for begin in range(0, nb, some):
                    end = min(begin + some, nb)
                    low[: (end - begin) * wide] = start
                    high[: (end - begin) * wide] = start
                    _gather(low, ka, ia, kb, begin, end, kc, kd, parts, ups[0], tunes[0])
                    if more:
                        _gather(high, ka, ia, kb, begin, end, kc, kd, parts, ups[more], tunes[more])
                    for ib in range(begin, end):
                        gb = b.starts[kb] + ib
                        here = np.int64(a.free[ga]) + np.int64(b.free[gb])
                        at, row = FIRST + offsets[ka, kb, kc] + (ia * nb + ib) * wide, (ib - begin) * wide
                        for j in range(wide):
                            out[at + j] = settled(low[row + j], high[row + j], here + free[j], finish, won)
                        mask = a.masks[ga] & b.masks[gb]
                        if mask:
                            _mark_won(mask, c.masks[c0 : c0 + nc], d.masks[d0 : d0 + nd], won, out[at:])
                        if len(a.stands):
                            stands = a.stands[ga] & b.stands[gb]
                            _clear_off(stands, c.stands[c0 : c0 + nc], d.stands[d0 : d0 + nd], out[at:])


@scalar
def _mark_won(mask, masks_c, masks_d, won, out):
    """Boards that hold a pattern are won: all of one block and top half."""
    for i in range(len(masks_c)):
        both = mask & masks_c[i]
        if both:
            for j in range(len(masks_d)):
                if both & masks_d[j]:
                    out[i * len(masks_d) + j] = won


@scalar
def _clear_off(stands, stands_c, stands_d, out):
    """Boards that stand on no mask are worth 0: all of one block and top half."""
    for i in range(len(stands_c)):
        both = stands & stands_c[i]
        for j in range(len(stands_d)):
            if both & stands_d[j] == U0:
                out[i * len(stands_d) + j] = 0


@kernel()
def raise_to_tops(tasks, units, parts, tops, layer):
    """Raise the values of some top halves to the largest tile on each board, if it is larger.

    `tasks` and `parts` are those of `fold_spawns`, `layer` is `Values`; ``tops[p][g]`` is the largest
    exponent of filling g of part p.
    """
    a, b, c, d = parts[0], parts[1], parts[2], parts[3]
    values, offsets = layer.values, layer.offsets
    for t in range(len(tasks)):
        ka, kb = tasks[t, 0], tasks[t, 1]
        left = units - a.sums[ka] - b.sums[kb]
        nb = b.counts[kb]
        for kc in range(len(c.sums)):
            kd = class_with(d, left - c.sums[kc])
            if kd < 0 or offsets[ka, kb, kc] < 0:
                continue
            nc, nd = c.counts[kc], d.counts[kd]
            for ia in range(tasks[t, 2], tasks[t, 3]):
                for ib in range(nb):
                    outer = max(tops[0][a.starts[ka] + ia], tops[1][b.starts[kb] + ib])
                    at = FIRST + offsets[ka, kb, kc] + (ia * nb + ib) * nc * nd
                    for ic in range(nc):
                        row = max(outer, tops[2][c.starts[kc] + ic])
                        for j in range(nd):
                            top = max(row, tops[3][d.starts[kd] + j])
                            k = at + ic * nd + j
                            values[k] = max(values[k], float((U1 << np.uint64(top)) & ~U1))


# -- boards that hold a pattern ------------------------------------------------------------------


@kernel()
def least_where(tasks, units, parts, layer):
    """How many boards of some top halves fit a pattern, their least value, and a rank that has it.

    `tasks` and `parts` are those of `fold_spawns`, `layer` is `Values`.
    """
    a, b, c, d = parts[0], parts[1], parts[2], parts[3]
    count = 0
    least = np.int64(1) << np.int64(62)
    where = np.int64(-1)
    for t in range(len(tasks)):
        ka, kb = tasks[t, 0], tasks[t, 1]
        left = units - a.sums[ka] - b.sums[kb]
        for ia in range(tasks[t, 2], tasks[t, 3]):
            for ib in range(b.counts[kb]):
                mask = a.masks[a.starts[ka] + ia] & b.masks[b.starts[kb] + ib]
                if not mask:
                    continue
                for kc in range(len(c.sums)):
                    kd = class_with(d, left - c.sums[kc])
                    if kd < 0:
                        continue
                    nc, nd = c.counts[kc], d.counts[kd]
                    at = layer.offsets[ka, kb, kc] + (ia * b.counts[kb] + ib) * nc * nd
                    for ic in range(nc):
                        both = mask & c.masks[c.starts[kc] + ic]
                        if not both:
                            continue
                        for j in range(nd):
                            if both & d.masks[d.starts[kd] + j]:
                                count += 1
                                value = np.int64(layer.values[FIRST + at + ic * nd + j])
                                if value < least:
                                    least = value
                                    where = at + ic * nd + j
    return count, least, where
