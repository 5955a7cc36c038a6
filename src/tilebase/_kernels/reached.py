"""Kernels of the forward pass in bits: which boards play can reach, 64 boards at a time.

Layers are those of `_kernels.bits`, and so are the ways to read them by the other side's halves.  What is an
AND of rows there is an OR here, from the boards before to those after:

    spawn     a row of afterstates is added to the rows that a spawn in its outer half makes of it
    slide     a row of states is added to the row to which a slide leads; the transposed matrix first

It is a slide only if something moves: rows of outer halves that do not move are kept apart, and of them only
the inner halves that move count.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from tilebase._kernels.arguments import Array
from tilebase._kernels.bits import NUMBER, store
from tilebase._kernels.dense import Half, class_with
from tilebase._kernels.halves import ENDS, MOVED
from tilebase._kernels.jit import WORDS, N, kernel, linked, scalar
from tilebase._kernels.matrices import (
    MatrixScratch,
    Mirrors,
    and_row,
    copy_bits,
    copy_row,
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
from tilebase._kernels.scalar import U0, U1, ones


@scalar
def _or_spawns(h, half, units, spawns, below, below_at, wide, bits, out):
    """Add to `out` what spawns of one exponent make of the rows of `below`.

    The rows of `below`, which begin at `below_at`, are the half boards of `half` with the sum h.  Those of
    `out`, each of `wide` words, are the ones with the sum h + `units`; as many of their words are added to as
    hold their `bits`.
    """
    first, second = half.first, half.second
    here, after = half.begins[h], half.begins[h + units]
    for kx in range(len(first.sums)):
        ky = class_with(second, h - first.sums[kx])
        if ky < 0:
            continue
        nx, ny = first.counts[kx], second.counts[ky]
        row = half.firsts[kx, ky] - here
        # As in `bits._and_spawns`, with the rows before and after a spawn exchanged.
        in_first = spawns[0]
        if in_first.classes[kx] >= 0:
            there = half.firsts[in_first.classes[kx], ky] - after
            some = words_of(bits[there])
            for s in range(in_first.start[first.starts[kx]], in_first.start[first.starts[kx] + nx]):
                at, to = row + np.int64(in_first.source[s]) * ny, there + np.int64(in_first.target[s]) * ny
                for iy in range(ny):
                    or_row(out, (to + iy) * wide, below, below_at[at + iy], some)
        in_second = spawns[1]
        if in_second.classes[ky] >= 0:
            there = half.firsts[kx, in_second.classes[ky]] - after
            some = words_of(bits[there])
            more = second.counts[in_second.classes[ky]]
            for s in range(in_second.start[second.starts[ky]], in_second.start[second.starts[ky] + ny]):
                at, to = row + np.int64(in_second.source[s]), there + np.int64(in_second.target[s])
                for ix in range(nx):
                    or_row(out, (to + ix * more) * wide, below, below_at[at + ix * ny], some)


@kernel()
def spawn_states(sums, units, outer, inner, mirrors, downs, first, states, scratch):
    """Write the states of some matrices to a layer: what spawns make of afterstates.

    `sums` are the sums of their outer halves; ``downs[k]`` are `Successors`, the layers before a spawn of the
    k-th exponent.  The call that is not the `first` adds to what is there.
    """
    transposed, found, here = scratch.transposed, scratch.made, scratch.transposed
    at, bits, to, known = scratch.at, scratch.bits, scratch.to, scratch.known
    middle = middle_of(units, mirrors.parts)
    for h in sums:
        if h > middle_of(units, mirrors.halves):
            continue
        g = units - h
        rows, columns = outer.begins[h + 1] - outer.begins[h], inner.begins[g + 1] - inner.begins[g]
        wide, high = words_of(columns), words_of(rows)
        # Spawns in the inner half: rows of the transposed matrix.
        found[: columns * high] = U0
        count_columns(g, inner, h, outer, middle, known)
        for k in range(len(downs)):
            more, below = downs[k].units, downs[k].layer
            if g >= more:
                count = inner.begins[g - more + 1] - inner.begins[g - more]
                find_rows(h, outer, below, at)
                count_columns(h, outer, g - more, inner, middle, bits)
                space_rows(to, count, high)
                transposed[: count * high] = U0
                transpose(below.words, rows, transposed, False, scratch)
                _or_spawns(g - more, inner, more, downs[k].inner, transposed, to, high, known, found)
        # Spawns in the outer half: rows of the matrix.
        space_rows(at, columns, high)
        for column in range(columns):
            bits[column] = rows
        space_rows(to, rows, wide)
        transpose(found, columns, here, False, scratch)
        count_columns(h, outer, g, inner, middle, known)
        for k in range(len(downs)):
            more, below = downs[k].units, downs[k].layer
            if h >= more:
                find_rows(h - more, outer, below, at)
                _or_spawns(h - more, outer, more, downs[k].outer, below.words, at, wide, known, here)
        find_rows(h, outer, states, at)
        if not first:
            for row in range(rows):
                or_row(here, row * wide, states.words, at[row], words_of(known[row]))
        for row in range(rows):
            copy_bits(states.words, at[row], here, row * wide, known[row])


@linked(types.void, N, N, Half, Half, Mirrors, WORDS, WORDS, WORDS, MatrixScratch)
def _or_results(h, units, outer, inner, mirrors, source, out, spare, scratch):
    """Add to `out` what slides make of the boards of `source`.

    ``scratch.rows_at`` says where the rows of `source` begin.  The boards up to the middle are known there,
    and all are written.  `spare` is memory for a matrix.
    """
    transposed, at, bits, to, known = scratch.transposed, scratch.at, scratch.bits, scratch.to, scratch.known
    number, target, place = scratch.number, scratch.target, scratch.made_by
    g = units - h
    row0, column0 = outer.begins[h], inner.begins[g]
    rows, columns = outer.begins[h + 1] - row0, inner.begins[g + 1] - column0
    wide = words_of(columns)
    count_columns(h, outer, g, inner, middle_of(units, mirrors.parts), known)
    if mirrors.parts:
        find_images(h, outer, scratch.row_images)
        find_images(g, inner, scratch.column_images)
    # Rows are added first, then, transposed, columns:
    #
    #     source        spare                         transposed              spare, and transposed into `out`
    #     x1 | bits     d(x1), d(x2) | x1 or x2       y1 | d(x1)  x3          d(y1) | y1: all, if it moves;
    #     x2 | bits     x3           | x3             y2 | ...                      |     else not those of x3
    #     x3 | bits
    #
    # Here d moves x1 and x2, to the same half, and does not move x3: there something in y has to move.
    for d in range(len(outer.table)):
        number[:rows] = -1
        some = 0
        for row in range(rows):
            entry = outer.table[d, row0 + row]
            if entry & MOVED and not entry & ENDS:
                made = np.int64(entry & NUMBER)
                if number[made] < 0:
                    target[some], number[made] = made, some
                    some += 1
        every = some
        for row in range(rows):
            entry = outer.table[d, row0 + row]
            place[row] = -1
            if not entry & ENDS:
                place[row] = number[np.int64(entry & NUMBER)] if entry & MOVED else every
                if not entry & MOVED:
                    target[every] = row
                    every += 1
        high = words_of(every)
        transposed[: columns * high] = U0
        # The boards up to the middle, then those beyond it, which are images.
        for image in range(2 if mirrors.parts else 1):
            spare[: every * wide] = U0
            space_rows(at, every, wide)
            bits[:every] = 0
            for row in range(rows):
                if place[row] >= 0:
                    where = scratch.row_images[row] if image else row
                    or_row(spare, place[row] * wide, source, scratch.rows_at[where], words_of(known[where]))
                    bits[place[row]] = max(bits[place[row]], known[where])
            for column in range(columns):
                to[column] = (scratch.column_images[column] if image else column) * high
            transpose(spare, every, transposed, True, scratch)
        spare[: columns * high] = U0
        full, rest = some >> 6, (U1 << np.uint64(some & 63)) - U1
        for column in range(columns):
            entry = inner.table[d, column0 + column]
            at[column], bits[column] = column * high, every
            if not entry & ENDS:
                made = np.int64(entry & NUMBER) * high
                or_row(spare, made, transposed, column * high, high if entry & MOVED else full)
                if rest and not entry & MOVED:
                    spare[made + full] |= transposed[column * high + full] & rest
        for slot in range(every):
            to[slot] = target[slot] * wide
        transpose(spare, columns, out, True, scratch)


@kernel()
def slide_columns(sums, units, left, right, bottom, mirrors, states, columns, spare, scratch):
    """Write to `columns` what slides along columns make of states: matrices by the left half."""
    most = middle_of(units, mirrors.parts)
    for h in sums:
        low = min(h, units - h) if mirrors.halves else h
        rows = left.begins[low + 1] - left.begins[low]
        wide = words_of(right.begins[units - low + 1] - right.begins[units - low])
        rearrange(low, units, left, right, bottom, states, most, False, scratch.other, scratch)
        space_rows(scratch.rows_at, rows, wide)
        scratch.made[: rows * wide] = U0
        _or_results(low, units, left, right, mirrors, scratch.other, scratch.made, spare, scratch)
        store(h, units, left, right, mirrors, scratch.made, columns, scratch)


@kernel()
def slide_rows(sums, units, top, bottom, right, mirrors, columns, layer, spare, scratch):
    """Replace states in `layer` by afterstates: of a slide along columns, or now along rows."""
    most = last_of(units, mirrors.parts, mirrors)
    for h in sums:
        if h > middle_of(units, mirrors.halves):
            continue
        rearrange(h, units, top, bottom, right, columns, most, False, scratch.other, scratch)
        find_rows(h, top, layer, scratch.rows_at)
        _or_results(h, units, top, bottom, mirrors, layer.words, scratch.other, spare, scratch)
        store(h, units, top, bottom, mirrors, scratch.other, layer, scratch)
        if mirrors.halves and h < units - h <= last_of(units, True, mirrors):
            store(units - h, units, top, bottom, mirrors, scratch.other, layer, scratch)


# -- counting ------------------------------------------------------------------------------------


class Seen(NamedTuple):
    """What half boards of one side tell of boards; n numbers them as in `dense.Half`.

    Lines cross from outer to inner halves: `border` is what is on the cell of each where it does.
    """

    largest: Array  # uint8: largest[n] is the largest exponent
    stuck: Array  # bool: stuck[n] says that all cells are full, and no neighbours are equal
    wins: Array  # bool: wins[n] says that two tiles in it make the goal
    border: Array  # uint8: border[c, n] is the exponent on the border in the c-th line that crosses
    near: Array  # bool: near[c, n] says that the tile next to the border there is half of the goal


STATE, LOSING, WINNING = range(3)
"""The rows of what `count_kinds` counts."""


@scalar
def _count_row(words, at, known, rest, marks, mark):
    """Count the marked boards of a row, those before `rest` twice."""
    found: Any = 0
    for k in range(words_of(known)):
        found += np.int64(ones(word_of(words, at, k, known) & marks[mark + k]))
        if rest:
            found += np.int64(ones(word_of(words, at, k, rest) & marks[mark + k]))
    return found


@kernel()
def count_kinds(sums, units, outer, inner, mirrors, rows_seen, columns_seen, layer, marks, scratch, counts):
    """Count the boards of some matrices, all of them if only some are stored.

    ``counts[kind, e]`` grows by the boards without an exponent above e: by all, by those without a slide, and
    by those with a slide that makes the goal.  `marks` is memory for ``e (c + 1) + c + 2`` rows of bits, of e
    exponents, empty cells included, and c lines that cross.
    """
    middle, at, known, rest = middle_of(units, mirrors.parts), scratch.at, scratch.known, scratch.wanted
    exponents, lines, some = counts.shape[1], len(rows_seen.border), scratch.first_row
    for h in sums:
        if h > middle_of(units, mirrors.halves):
            continue
        g = units - h
        row0, column0 = outer.begins[h], inner.begins[g]
        rows, columns = outer.begins[h + 1] - row0, inner.begins[g + 1] - column0
        wide = words_of(columns)
        find_rows(h, outer, layer, at)
        count_columns(h, outer, g, inner, middle, known)
        # As in `bits.count_won`: boards in the middle are their own image, or are stored beside it.
        rest[:rows] = 0
        if mirrors.parts:
            count_columns(h, outer, g, inner, middle - (2 * middle == units), rest)
        weight = 1 if not mirrors.halves or 2 * h == units else 2
        # A bit for each inner half: up to an exponent, stuck, winning, near half of the goal, on the border.
        stuck, wins = exponents * wide, (exponents + 1) * wide
        near = wins + wide
        border = near + lines * wide
        marks[: border + lines * exponents * wide] = U0
        for column in range(columns):
            n, word, bit = column0 + column, column >> 6, U1 << np.uint64(column & 63)
            for e in range(columns_seen.largest[n], exponents):
                marks[e * wide + word] |= bit
            if columns_seen.stuck[n]:
                marks[stuck + word] |= bit
            if columns_seen.wins[n]:
                marks[wins + word] |= bit
            for c in range(lines):
                if columns_seen.near[c, n]:
                    marks[near + c * wide + word] |= bit
                marks[border + (c * exponents + columns_seen.border[c, n]) * wide + word] |= bit
        for row in range(rows):
            n, many = row0 + row, words_of(known[row])
            largest = np.int64(rows_seen.largest[n])
            for e in range(largest, exponents):
                found = _count_row(layer.words, at[row], known[row], rest[row], marks, e * wide)
                counts[STATE, e] += weight * found
            if rows_seen.stuck[n]:
                # No slide: neither half has one, and across the border no tiles are equal.
                copy_row(some, 0, layer.words, at[row], many)
                and_row(some, 0, marks, stuck, many)
                for c in range(lines):
                    equal = border + (c * exponents + np.int64(rows_seen.border[c, n])) * wide
                    for k in range(many):
                        some[k] &= ~marks[equal + k]
                for e in range(largest, exponents):
                    counts[LOSING, e] += weight * _count_row(some, 0, known[row], rest[row], marks, e * wide)
            # A slide makes the goal in one of the halves, or across the border; the tiles are the largest.
            copy_row(some, 0, marks, (exponents - 1) * wide if rows_seen.wins[n] else wins, many)
            for c in range(lines):
                if rows_seen.near[c, n]:
                    or_row(some, 0, marks, near + c * wide, many)
            and_row(some, 0, layer.words, at[row], many)
            top = (exponents - 1) * wide
            counts[WINNING, exponents - 1] += weight * _count_row(some, 0, known[row], rest[row], marks, top)
