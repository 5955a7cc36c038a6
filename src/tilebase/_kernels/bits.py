"""Kernels of the dense pass over Boolean values: one bit per board, 64 boards at a time.

Layers are matrices of bits, of which a half or a quarter is stored (`_kernels.matrices`).

What happens in the outer half alone is the same for a whole row, and what happens in the inner half alone
for a whole column, which is a row of the transposed matrix.  So a spawn is the AND of rows of one or of the
other, and a slide takes rows of the transposed matrix, then rows of the matrix that this is transposed back
to.  Slides along columns want the left and the right half instead of the top and the bottom one: to
`rearrange` a matrix moves the boards that differ in D only, neighbours in both orders.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from tilebase._kernels.dense import Half, Spawns, class_with
from tilebase._kernels.halves import BARRED, CLASS, ENDS, MOVED, NUMBER, POSITION, U20, U40, WIN
from tilebase._kernels.jit import WORDS, N, kernel, linked, scalar
from tilebase._kernels.matrices import (
    ALL,
    Matrices,
    MatrixScratch,
    Mirrors,
    and_row,
    copy_bits,
    count_columns,
    find_images,
    find_rows,
    last_of,
    middle_of,
    or_row,
    rearrange,
    space_rows,
    transpose,
    word_of,
    words_of,
)
from tilebase._kernels.reached import or_results
from tilebase._kernels.scalar import U0, U1, ones


class Successors(NamedTuple):
    """A layer of states, to which the spawns of one exponent lead."""

    units: int  # what such a spawn adds to a sum
    outer: tuple[Spawns, Spawns]  # the spawns in the first and the second part of outer halves
    inner: tuple[Spawns, Spawns]  # and of inner halves
    layer: Matrices


# -- the adversary: all spawns -------------------------------------------------------------------


@scalar
def _take_spawns(h, half, units, spawns, source, source_at, wide, bits, out, onward):
    """Narrow the rows of `out` to what spawns of one exponent lead to; or, `onward`, add what they make.

    Spawns lead from the half boards of `half` with the sum h to those with the sum h + `units`.  The rows of
    `out`, each of `wide` words, are the former, or onward the latter; of each, as many words are changed as
    hold its `bits`.  The rows of `source`, which begin at `source_at`, are the others.
    """
    first, second = half.first, half.second
    # The halves of one sum are blocks, one for each class of the first part: row + ix * ny + iy.
    for kx in range(len(first.sums)):
        ky = class_with(second, h - first.sums[kx])
        if ky < 0:
            continue
        nx, ny = first.counts[kx], second.counts[ky]
        row = half.firsts[kx, ky] - half.begins[h]
        if not (onward or words_of(bits[row])):
            continue
        # A spawn in the first part takes all ny rows of a filling to ny neighbouring rows.
        in_first = spawns[0]
        if in_first.classes[kx] >= 0:
            there = half.firsts[in_first.classes[kx], ky] - half.begins[h + units]
            some = words_of(bits[there if onward else row])
            for s in range(in_first.start[first.starts[kx]], in_first.start[first.starts[kx] + nx]):
                low, high = row + np.int64(in_first.source[s]) * ny, there + np.int64(in_first.target[s]) * ny
                for iy in range(ny):
                    if onward:
                        or_row(out, (high + iy) * wide, source, source_at[low + iy], some)
                    else:
                        and_row(out, (low + iy) * wide, source, source_at[high + iy], some)
        # One in the second part takes one row of each filling of the first part to one row: nx rows.
        in_second = spawns[1]
        if in_second.classes[ky] >= 0:
            there = half.firsts[kx, in_second.classes[ky]] - half.begins[h + units]
            some = words_of(bits[there if onward else row])
            more = second.counts[in_second.classes[ky]]
            for s in range(in_second.start[second.starts[ky]], in_second.start[second.starts[ky] + ny]):
                low, high = row + np.int64(in_second.source[s]), there + np.int64(in_second.target[s])
                for ix in range(nx):
                    if onward:
                        or_row(out, (high + ix * more) * wide, source, source_at[low + ix * ny], some)
                    else:
                        and_row(out, (low + ix * ny) * wide, source, source_at[high + ix * more], some)


@scalar
def _mark(h, half, pattern, out):
    """Set bits for the half boards that fit a pattern, or for those without an empty cell if it is -1.

    Returns whether there is one.
    """
    first, second = half.first, half.second
    n, found = 0, False
    out[:] = U0
    # All pairs of fillings in the order of the half boards, of which n counts the number.
    for kx in range(len(first.sums)):
        ky = class_with(second, h - first.sums[kx])
        if ky >= 0:
            for g in range(first.starts[kx], first.starts[kx + 1]):
                for k in range(second.starts[ky], second.starts[ky + 1]):
                    if pattern < 0:
                        bit = first.free[g] == 0 and second.free[k] == 0
                    else:
                        bit = bool((first.masks[g] & second.masks[k]) >> np.uint64(pattern) & U1)
                    if bit:
                        out[n >> 6] |= U1 << np.uint64(n & 63)
                        found = True
                    n += 1
    return found


@scalar
def _change(h, units, outer, inner, pattern, won, words, at, known, scratch):
    """Let boards of a matrix that `_mark` finds be won or not; `at` and `known` are those of its rows."""
    rows_marked, columns_marked, g = scratch.second_row, scratch.first_row, units - h
    rows, columns = outer.begins[h + 1] - outer.begins[h], inner.begins[g + 1] - inner.begins[g]
    if _mark(h, outer, pattern, rows_marked[: words_of(rows)]) and _mark(
        g, inner, pattern, columns_marked[: words_of(columns)]
    ):
        for row in range(rows):
            if rows_marked[row >> 6] >> np.uint64(row & 63) & U1:
                for k in range(words_of(known[row])):
                    if won:
                        words[at[row] + k] |= columns_marked[k]
                    else:
                        words[at[row] + k] &= ~columns_marked[k]


@kernel()
def fold_spawns(sums, units, outer, inner, mirrors, patterns, ups, first, last, afters, scratch):
    """Write the afterstates of some matrices to a layer: won if all spawns leave a state that is won.

    `sums` are the sums of their outer halves, ``ups[k]`` are the `Successors` by the k-th exponent.  A board
    without an empty cell counts as lost, one that holds a pattern as won.  Where not all exponents are given
    at once, the call that is not the `first` narrows what is there; only the `last` looks for such boards.

    Onward, with a ``scratch.spare``, it writes the states that spawns make of afterstates: those of `ups`,
    whose sums are smaller.  No call is the `last`.
    """
    transposed, found, here = scratch.transposed, scratch.made, scratch.transposed
    at, bits, to, known = scratch.at, scratch.bits, scratch.to, scratch.known
    middle, onward = middle_of(units, mirrors.parts), len(scratch.spare) > 0
    for h in sums:
        if h > middle_of(units, mirrors.halves):
            continue
        g = units - h
        rows, columns = outer.begins[h + 1] - outer.begins[h], inner.begins[g + 1] - inner.begins[g]
        wide, high = words_of(columns), words_of(rows)
        # Spawns in the inner half: rows of the transposed matrix, each with a bit for each outer half.
        found[: columns * high] = U0 if onward else ALL
        count_columns(g, inner, h, outer, middle, known)
        for k in range(len(ups)):
            more, layer = ups[k].units, ups[k].layer
            low = g - more if onward else g
            if low >= 0 and low + more + 1 < len(inner.begins):
                there = low if onward else low + more
                find_rows(h, outer, layer, at)
                count_columns(h, outer, there, inner, middle if onward else middle + more, bits)
                space_rows(to, inner.begins[there + 1] - inner.begins[there], high)
                transpose(layer.words, rows, transposed, False, scratch)
                _take_spawns(low, inner, more, ups[k].inner, transposed, to, high, known, found, onward)
        # Spawns in the outer half: rows of the matrix.
        space_rows(at, columns, high)
        count_columns(g, inner, h, outer, middle, bits)
        space_rows(to, rows, wide)
        transpose(found, columns, here, False, scratch)
        count_columns(h, outer, g, inner, middle, known)
        for k in range(len(ups)):
            more, layer = ups[k].units, ups[k].layer
            low = h - more if onward else h
            if low >= 0 and low + more + 1 < len(outer.begins):
                find_rows(low if onward else low + more, outer, layer, at)
                _take_spawns(low, outer, more, ups[k].outer, layer.words, at, wide, known, here, onward)
        find_rows(h, outer, afters, at)
        if not first:
            for row in range(rows):
                if onward:
                    or_row(here, row * wide, afters.words, at[row], words_of(known[row]))
                else:
                    and_row(here, row * wide, afters.words, at[row], words_of(known[row]))
        if last:
            # Boards without an empty cell are lost, and those that hold a pattern are won.
            for pattern in range(-1, patterns):
                _change(h, units, outer, inner, pattern, pattern >= 0, here, to, known, scratch)
        for row in range(rows):
            copy_bits(afters.words, at[row], here, row * wide, known[row])


@kernel()
def leave_out(sums, units, outer, inner, mirrors, patterns, layer, scratch):
    """Remove the boards that hold a pattern from some matrices of a whole layer."""
    for h in sums:
        if h <= last_of(units, mirrors.halves, mirrors):
            find_rows(h, outer, layer, scratch.at)
            last = last_of(units, mirrors.parts, mirrors)
            count_columns(h, outer, units - h, inner, last, scratch.known)
            for pattern in range(patterns):
                _change(
                    h, units, outer, inner, pattern, False, layer.words, scratch.at, scratch.known, scratch
                )


# -- the player: the best slide ------------------------------------------------------------------


@kernel()
def number_targets(half):
    """Write to the table where slides of the half boards lead: their number, not classes and positions."""
    first, second, begins, table = half.first, half.second, half.begins, half.table
    for d in range(len(table)):
        for h in range(len(begins) - 1):
            for n in range(begins[h], begins[h + 1]):
                entry = table[d, n]
                if not entry & ENDS:
                    # A slide keeps the sum h of its half, so the class of the second part follows.
                    kx = np.int64(entry >> U40 & CLASS)
                    ky = np.int64(second.class_of[h - first.sums[kx]])
                    number = half.firsts[kx, ky] - begins[h] + np.int64(entry & POSITION)
                    number += np.int64(entry >> U20 & POSITION) * second.counts[ky]
                    table[d, n] = entry & MOVED | np.uint64(number)


@scalar
def _find_targets(d, h, half, scratch):
    """List the halves to which slide `d` leads from those with the sum h, and return how many there are.

    ``made_by[j]`` becomes the least sum of a first part from which it leads to the j-th or a later one.
    """
    first, second, number, target, made_by = (
        half.first, half.second, scratch.number, scratch.target, scratch.made_by,
    )  # fmt: skip
    begin, count = half.begins[h], half.begins[h + 1] - half.begins[h]
    number[:count] = -1
    n = 0
    for kx in range(len(first.sums)):
        ky = class_with(second, h - first.sums[kx])
        if ky >= 0:
            for _ in range(first.counts[kx] * second.counts[ky]):
                entry = half.table[d, begin + n]
                n += 1
                # The first from which it leads there has the least sum: the halves are in this order.
                if not entry & (ENDS | BARRED) and number[np.int64(entry & NUMBER)] < 0:
                    number[np.int64(entry & NUMBER)] = first.sums[kx]
    found = 0
    for n in range(count):
        if number[n] >= 0:
            target[found], made_by[found] = n, number[n]
            number[n] = found
            found += 1
    for j in range(found - 2, -1, -1):
        made_by[j] = min(made_by[j], made_by[j + 1])
    return found


@scalar
def _take_targets(found, columns, complete, source, scratch):
    """Write the rows of `source` to which a slide leads, transposed.

    If they are not `complete`, the bits that are not known are those of the images.
    """
    transposed, at, bits, to = scratch.transposed, scratch.at, scratch.bits, scratch.to
    target, rows_at, known = scratch.target, scratch.rows_at, scratch.known
    high = words_of(found)
    transposed[(0 if not complete else columns * high) : (columns + 1) * high] = U0
    for j in range(found):
        at[j], bits[j] = rows_at[target[j]], known[target[j]]
    space_rows(to, columns, high)
    transpose(source, found, transposed, False, scratch)
    if not complete:
        #                                 y1 y2 y3 y4                            y3'y4'y1'y2'
        #     x                            1  0  .  .    x', its image            .  .  1  1
        for j in range(found):
            image = scratch.row_images[target[j]]
            at[j], bits[j] = rows_at[image], known[image]
        for y in range(columns):
            to[y] = scratch.column_images[y] * high
        transpose(source, found, transposed, True, scratch)


@linked(types.void, N, N, Half, Half, Mirrors, WORDS, WORDS, MatrixScratch)
def _or_slides(h, units, outer, inner, mirrors, source, out, scratch):
    """Add to `out` the boards from which some slide leads to one that is won in `source`.

    ``scratch.rows_at`` says where the rows of `source` begin.  The boards up to the middle are known there,
    and all that are stored are written.
    """
    transposed, back = scratch.transposed, scratch.back
    at, bits, to = scratch.at, scratch.bits, scratch.to
    moved, won, standing = scratch.first_row, scratch.second_row, scratch.third_row
    targets = scratch.target
    g = units - h
    row0, column0 = outer.begins[h], inner.begins[g]
    rows, columns = outer.begins[h + 1] - row0, inner.begins[g + 1] - column0
    wide = words_of(columns)
    block = len(back) // max(wide, 1) >> 6 << 6
    last = last_of(units, mirrors.parts, mirrors)
    count_columns(h, outer, g, inner, middle_of(units, mirrors.parts), scratch.known)
    count_columns(h, outer, g, inner, last, scratch.wanted)
    if mirrors.parts:
        find_images(h, outer, scratch.row_images)
        find_images(g, inner, scratch.column_images)
    # A row of `source` is an outer half, a column an inner one.  A slide takes each inner half to another:
    # the columns are made rows, and those to which it leads are made columns again.
    #
    #     source         transposed       back                   out
    #     x | y1 y2 y3   y1 | x1 x2       x | column of d(y1)    x |= row of d(x) in `back`
    #     ..| bits       y2 | bits        ..| column of d(y2)
    #
    # So bit (x, y) of `out` becomes bit (d(x), d(y)) of `source`, where d is the slide of a half.  Of the x
    # only those are taken to which the slide leads, about a third, and transposed back block by block.
    for d in range(len(outer.table)):
        found = _find_targets(d, h, outer, scratch)
        high = words_of(found)
        _take_targets(found, columns, not mirrors.parts, source, scratch)
        # The inner halves: masks of what the slide does to them, and the row of each of those that it makes.
        moved[:wide] = U0
        won[:wide] = U0
        standing[:wide] = U0
        wins = False
        column, some = 0, found
        for kz in range(len(inner.first.sums)):
            kw = class_with(inner.second, g - inner.first.sums[kz])
            if kw < 0:
                continue
            # The columns of a row end where both first parts have more than is stored: of the targets only
            # those are needed to which the slide leads from rows that have the column.
            while some and mirrors.parts and inner.first.sums[kz] + scratch.made_by[some - 1] > last:
                some -= 1
            for _ in range(inner.first.counts[kz] * inner.second.counts[kw]):
                entry = inner.table[d, column0 + column]
                bit = U1 << np.uint64(column & 63)
                if entry & MOVED:
                    moved[column >> 6] |= bit
                if entry & WIN:
                    won[column >> 6] |= bit
                    wins = True
                if not entry & BARRED:
                    standing[column >> 6] |= bit
                at[column] = (columns if entry & ENDS else np.int64(entry & NUMBER)) * high
                targets[column] = some
                column += 1
        # The outer halves: what wins or stands in their own, or a row of what is transposed back for each.
        # The order of the tests is that of the rules: x that leave their mask bar the slide, even if it makes
        # the goal; a goal wins whatever the other half does; then a limit that is broken bars the slide.
        for row in range(rows):
            entry = outer.table[d, row0 + row]
            if entry & BARRED:
                continue
            if entry & WIN:
                or_row(out, row * wide, standing, 0, words_of(scratch.wanted[row]))
            elif wins:
                or_row(out, row * wide, won, 0, words_of(scratch.wanted[row]))
        for first in range(0, found, block):
            count = min(block, found - first)
            for column in range(columns):
                bits[column] = min(max(targets[column] - first, 0), count)
            space_rows(to, count, wide)
            transpose(transposed, columns, back, False, scratch)
            for column in range(columns):
                at[column] += block >> 6
            for row in range(rows):
                entry = outer.table[d, row0 + row]
                if entry & (BARRED | WIN | ENDS):
                    continue
                begin, place = scratch.number[np.int64(entry & NUMBER)] - first, row * wide
                if not 0 <= begin < count:
                    continue
                # If the outer half does not move, the slide is one only where the inner half moves.
                some = words_of(scratch.wanted[row])
                if entry & MOVED:
                    or_row(out, place, back, begin * wide, some)
                else:
                    begin, end = np.uint64(begin * wide), np.uint64(place)
                    for k in range(np.uint64(some)):
                        out[end + k] |= back[begin + k] & moved[k]


@linked(types.void, N, N, Half, Half, Mirrors, WORDS, Matrices, MatrixScratch)
def store(h, units, outer, inner, mirrors, source, layer, scratch):
    """Write a matrix to a layer; `source` is that of its image if h is above the middle."""
    at, bits, to, wanted = scratch.at, scratch.bits, scratch.to, scratch.wanted
    g = units - h
    rows, columns = outer.begins[h + 1] - outer.begins[h], inner.begins[g + 1] - inner.begins[g]
    wide, last = words_of(columns), last_of(units, mirrors.parts, mirrors)
    if h > middle_of(units, mirrors.halves):
        # `source` is that of g, whose columns are the rows here.
        space_rows(at, columns, words_of(rows))
        count_columns(g, outer, h, inner, last, bits)
        space_rows(to, rows, wide)
        transpose(source, columns, scratch.transposed, False, scratch)
        source = scratch.transposed
    count_columns(h, outer, g, inner, last, wanted)
    find_rows(h, outer, layer, to)
    for row in range(rows):
        copy_bits(layer.words, to[row], source, row * wide, wanted[row])


@kernel()
def slide_columns(sums, units, left, right, bottom, mirrors, afters, columns, scratch):
    """Write to `columns` which boards some slide along columns wins: matrices by the left half.

    Onward, with a ``scratch.spare``, what slides along columns make of states.
    """
    most = middle_of(units, mirrors.parts)
    for h in sums:
        # Above the middle it is the matrix of the mirror image, which `store` exchanges.
        low = min(h, units - h) if mirrors.halves else h
        rows = left.begins[low + 1] - left.begins[low]
        wide = words_of(right.begins[units - low + 1] - right.begins[units - low])
        rearrange(low, units, left, right, bottom, afters, most, False, scratch.other, scratch)
        space_rows(scratch.rows_at, rows, wide)
        scratch.made[: rows * wide] = U0
        if len(scratch.spare):
            or_results(low, units, left, right, mirrors, scratch.other, scratch.made, scratch)
        else:
            _or_slides(low, units, left, right, mirrors, scratch.other, scratch.made, scratch)
        store(h, units, left, right, mirrors, scratch.made, columns, scratch)


@kernel()
def slide_rows(sums, units, top, bottom, right, mirrors, columns, layer, scratch):
    """Replace afterstates in `layer` by states: won by a slide along columns, or now along rows.

    Onward, with a ``scratch.spare``, states by afterstates that such slides make of them.
    """
    most = last_of(units, mirrors.parts, mirrors)
    for h in sums:
        if h > middle_of(units, mirrors.halves):
            continue
        rearrange(h, units, top, bottom, right, columns, most, False, scratch.other, scratch)
        find_rows(h, top, layer, scratch.rows_at)
        if len(scratch.spare):
            or_results(h, units, top, bottom, mirrors, layer.words, scratch.other, scratch)
        else:
            _or_slides(h, units, top, bottom, mirrors, layer.words, scratch.other, scratch)
        store(h, units, top, bottom, mirrors, scratch.other, layer, scratch)
        # The image beyond the middle: its afterstates were not worked out, and nobody reads them.
        if mirrors.halves and h < units - h <= last_of(units, True, mirrors):
            store(units - h, units, top, bottom, mirrors, scratch.other, layer, scratch)


@kernel()
def join_columns(sums, units, top, bottom, right, mirrors, columns, layer, scratch):
    """Add to states of `layer`, after `slide_rows`, what slides along other columns win."""
    most = last_of(units, mirrors.parts, mirrors)
    to, begins, ends, other = scratch.to, scratch.known, scratch.wanted, scratch.other
    for h in sums:
        wide = words_of(bottom.begins[units - h + 1] - bottom.begins[units - h])
        find_rows(h, top, layer, to)
        rearrange(h, units, top, bottom, right, columns, most, True, other, scratch)
        for row in range(top.begins[h + 1] - top.begins[h]):
            begin = begins[row]
            or_row(layer.words, to[row] + begin, other, row * wide + begin, ends[row] - begin)


# -- reading -------------------------------------------------------------------------------------


@kernel()
def count_won(sums, units, outer, inner, mirrors, layer, scratch):
    """Return how many boards of some matrices are won, all of them if only some are stored."""
    middle, at, known, rest = middle_of(units, mirrors.parts), scratch.at, scratch.known, scratch.wanted
    found: Any = 0
    for h in sums:
        if h > middle_of(units, mirrors.halves):
            continue
        g = units - h
        here: Any = 0
        find_rows(h, outer, layer, at)
        count_columns(h, outer, g, inner, middle, known)
        # Boards in the middle are their own image, or are stored beside it.
        own = 2 * middle == units
        if mirrors.parts:
            count_columns(h, outer, g, inner, middle - own, rest)
        for row in range(outer.begins[h + 1] - outer.begins[h]):
            for k in range(words_of(known[row])):
                here += np.int64(ones(word_of(layer.words, at[row], k, known[row])))
                if mirrors.parts:
                    here += np.int64(ones(word_of(layer.words, at[row], k, rest[row])))
        found += here if not mirrors.halves or 2 * h == units else 2 * here
    return found
