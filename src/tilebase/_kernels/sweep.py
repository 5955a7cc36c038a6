"""Kernels of sweep lines in bits: boards whose largest tiles, of exponent k, stand on given cells.

The boards of a *placement*, a set of cells with tiles k, are matrices as in `_kernels.bits`, by the sum of
the other tiles of an outer half.  A slide can move tiles k, and make some.  So it leads from one matrix to
several: those of other placements, or of their images under a symmetry, which are stored by all four halves.
Where tiles k stay, 64 boards are done at a time; others are looked up one by one, if they are not won yet.

No mirror image is used: the rows of a matrix follow each other, from the first word of class 0 on.

The words of all matrices begin with words of ones, which stand for boards with neighbouring tiles k.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tilebase._kernels.dense import Array
from tilebase._kernels.jit import kernel, scalar
from tilebase._kernels.matrices import ALL, copy_row, or_row, rearrange, space_rows, transpose, words_of
from tilebase._kernels.scalar import U0, U1, U6, U63, ones, trailing_zeros

MOVES = 128
"""Added in `Slides.to` if the slide changes the half board."""
U24, LOW = np.uint32(24), np.uint32(0xFF_FFFF)


class Slides(NamedTuple):
    """What slides make of the half boards of a placement; n numbers them as in `_kernels.dense.Half`."""

    begins: Array  # int64: begins[h] is the first n whose other tiles have the sum h, in units of 2
    to: Array  # uint8: to[d, n] is the placement after slide d, 0 if the board is won, plus `MOVES`
    at: Array  # uint32: at[v, n] is the row or column of the half board after a slide, in image v
    lower: Array  # uint64: four bits e of lower[n] are the number of cells that are empty or hold less than e
    word: Array  # int64: word[h] is where the sum h begins in the rows of bits below, of inner halves
    moving: Array  # uint64: moving[d, w]: the half boards that slide d changes
    leaving: Array  # uint64: leaving[d, w]: those of which slide d moves tiles k, or makes some
    some: Array  # uint64: some[e, t, w]: those with at least t cells lower than e


class Pairs(NamedTuple):
    """Where slides lead: a and b are the placements of the outer and of the inner half after slide d."""

    matrix: Array  # int64: matrix[d, a, b] is the row of `Stored` for both, -1 if every board is won
    outer: Array  # int64: outer[d, a, b] is the row of `Slides.at` for the outer half
    inner: Array  # int64: inner[d, a, b] is that for the inner half
    own: Array  # int64: own[d] are a and b if slide d moves no tile k, -1 if it always moves one
    less: Array  # int64: less[d, a] is what merges into tiles k take from the sum of the outer half


class Stored(NamedTuple):
    """The matrices of the afterstates of a layer: row m is those of a placement by one of its halves."""

    words: Array  # uint64: words of ones, then the words of the matrices, one after the other
    at: Array  # int64: at[m, h] is the first word of the matrix whose outer halves have the sum h
    wide: Array  # int64: wide[m, h] is the number of words in one of its rows


class SweepScratch(NamedTuple):
    """What a thread works in."""

    possible: Array  # uint64: a bit for each column, of the boards of a row that are counted
    begin: Array  # uint64: begin[d, a, b] is the bit where the matrix begins to which a pair leads
    step: Array  # uint64: step[d, a, b] is the number of bits in one of its rows; 0 if all boards are won
    base: Array  # uint64: base[b] is the bit where the row begins to which a row leads
    lead: Array  # uint32: lead[d, a, c] is b for column c, in 8 bits, and its column there, in 24


@scalar
def _transpose(source, rows, columns, out, scratch):
    """Transpose a matrix whose rows follow each other."""
    space_rows(scratch.at, rows, words_of(columns))
    _transpose_rows(source, rows, columns, out, scratch)


@scalar
def _transpose_rows(source, rows, columns, out, scratch):
    """Transpose rows that begin where ``scratch.at`` says."""
    scratch.bits[:rows] = columns
    space_rows(scratch.to, columns, words_of(rows))
    transpose(source, rows, out, False, scratch)


@scalar
def _list_targets(h, first, columns, outer, inner, pairs, stored, scratch):
    """Note where slides lead from a matrix: the matrix of each pair of placements, and each column."""
    for d in range(len(outer.to)):
        for a in range(pairs.matrix.shape[1]):
            for b in range(pairs.matrix.shape[2]):
                m, least = pairs.matrix[d, a, b], h - pairs.less[d, a]
                there = m >= 0 and least >= 0 and stored.at[m, least] >= 0
                scratch.begin[d, a, b] = np.uint64(stored.at[m, least]) << U6 if there else U0
                scratch.step[d, a, b] = np.uint64(stored.wide[m, least]) << U6 if there else U0
            for column in range(columns):
                slot = np.int64(inner.to[d, first + column]) & (MOVES - 1)
                at = inner.at[pairs.inner[d, a, slot], first + column]
                scratch.lead[d, a, column] = np.uint32(slot) << U24 | at


@scalar
def _low(lower, e):
    """Return the number of cells that are empty or hold less than exponent e."""
    return np.int64(lower >> np.uint64(4 * e) & np.uint64(15))


@scalar
def _list_possible(row, columns, k, outer, inner, word, fresh, possible):
    """Set the bits of the boards of a row that are counted: all, or those that corollary 7 allows."""
    wide = words_of(columns)
    possible[:wide] = ALL
    if columns & 63:
        possible[wide - 1] = (U1 << np.uint64(columns & 63)) - U1
    # If some cell holds e or more, e - fresh cells hold less; the outer half has some of them.
    cells = _low(outer.lower[row], k) + _low(inner.lower[0], k)
    for e in range(fresh + 1, k if fresh >= 0 else 0):
        needed = min(e - fresh, cells) - _low(outer.lower[row], e)
        if needed > 0:
            needed = min(needed, inner.some.shape[1] - 1)  # more than all of them
            for w in range(wide):
                possible[w] &= inner.some[e, needed, word + w]


@scalar
def _or_own_slides(h, g, outer, inner, pairs, here, out, to, work):
    """Add to `out`, from word `to`, what is won by slides that move no tile k: `_kernels.bits._or_slides`."""
    row0, column0 = outer.begins[h], inner.begins[g]
    rows, columns = outer.begins[h + 1] - row0, inner.begins[g + 1] - column0
    wide, high = words_of(columns), words_of(rows)
    _transpose(here, rows, columns, work.transposed, work)
    work.transposed[columns * high : (columns + 1) * high] = U0
    for d in range(len(outer.to)):
        a, b = pairs.own[d, 0], pairs.own[d, 1]
        if a < 0:
            continue
        # The columns are rows of the transposed matrix; then the rows of what is transposed back.
        of_outer, of_inner = pairs.outer[d, a, b], pairs.inner[d, a, b]
        for column in range(columns):
            n = column0 + column
            leads = np.int64(inner.to[d, n]) & (MOVES - 1) == b
            work.at[column] = (np.int64(inner.at[of_inner, n]) if leads else columns) * high
        _transpose_rows(work.transposed, columns, rows, work.back, work)
        for row in range(rows):
            n = row0 + row
            if np.int64(outer.to[d, n]) & (MOVES - 1) == a:
                source, at = np.int64(outer.at[of_outer, n]) * wide, to + row * wide
                for k in range(wide):
                    moved = ALL if outer.to[d, n] & MOVES else inner.moving[d, inner.word[g] + k]
                    out[at + k] |= work.back[source + k] & moved


@kernel()
def slide_sweep(sums, units, outer, inner, pairs, fresh, own, stored, out, work, scratch):
    """Write to `out` which states of a placement some slide along the lines of the halves wins.

    `own` is the row of `stored` for the placement.  `fresh` is the largest exponent that is spawned if only
    states are counted that corollary 7 allows, otherwise -1.
    """
    base, possible, words = scratch.base, scratch.possible, stored.words
    for h in sums:
        row0, column0 = outer.begins[h], inner.begins[units - h]
        columns, word = inner.begins[units - h + 1] - column0, inner.word[units - h]
        wide, begin = words_of(columns), out.at[h, 0]
        for k in range(begin, begin + (outer.begins[h + 1] - row0) * wide):
            out.words[k] = U0
        _or_own_slides(h, units - h, outer, inner, pairs, words[stored.at[own, h] :], out.words, begin, work)
        _list_targets(h, column0, columns, outer, inner, pairs, stored, scratch)
        for row in range(row0, outer.begins[h + 1]):
            to = begin + (row - row0) * wide
            if row == row0 or outer.lower[row] != outer.lower[row - 1]:
                _list_possible(row, columns, len(inner.some) - 1, outer, inner, word, fresh, possible)
            counted = U0
            for k in range(wide):
                counted |= possible[k]
                out.words[to + k] &= possible[k]
            for d in range(len(outer.to) if counted else 0):
                a = np.int64(outer.to[d, row]) & (MOVES - 1)
                still, stays = not outer.to[d, row] & MOVES, a == pairs.own[d, 0]
                # The row to which this one leads, for each placement to which the inner half can lead.
                for b in range(pairs.matrix.shape[2]):
                    at = np.uint64(outer.at[pairs.outer[d, a, b], row])
                    base[b] = scratch.begin[d, a, b] + at * scratch.step[d, a, b]
                # The boards that are not won yet and whose tiles k the slide moves, one by one.
                for k in range(wide):
                    found = out.words[to + k]
                    left = possible[k] & ~found
                    if still:
                        left &= inner.moving[d, word + k]
                    if stays:
                        left &= inner.leaving[d, word + k]
                    while left:
                        j = trailing_zeros(left)
                        lead = scratch.lead[d, a, np.uint64(64 * k) + j]
                        bit = base[np.uint64(lead >> U24)] + np.uint64(lead & LOW)
                        found |= (words[bit >> U6] >> (bit & U63) & U1) << j
                        left &= left - U1
                    out.words[to + k] = found


@kernel()
def turn(sums, units, left, right, bottom, afters, out, work):
    """Write afterstates by the left halves, from matrices by the top halves."""
    for h in sums:
        rearrange(h, units, left, right, bottom, afters, units, out.words[out.at[h, 0] :], work)


@kernel()
def exchange(sums, units, outer, inner, layer, out, work):
    """Write matrices with rows and columns exchanged."""
    for h in sums:
        g = units - h
        rows, columns = outer.begins[h + 1] - outer.begins[h], inner.begins[g + 1] - inner.begins[g]
        source, to = layer.words[layer.at[h, 0] :], out.words[out.at[g, 0] :]
        _transpose(source, rows, columns, to, work)


@kernel()
def copy_image(sums, units, left, right, rows_of, columns_of, layer, out, work):
    """Write states by the left halves that are images of those by the top halves.

    ``rows_of[n]`` and ``columns_of[n]`` are the row and the column of the image of a half board.
    """
    for h in sums:
        row0, column0 = left.begins[h], right.begins[units - h]
        rows, columns = left.begins[h + 1] - row0, right.begins[units - h + 1] - column0
        wide, high, begin = words_of(columns), words_of(rows), out.at[h, 0]
        _transpose(layer.words[layer.at[h, 0] :], rows, columns, work.transposed, work)
        for column in range(columns):
            work.at[column] = np.int64(columns_of[column0 + column]) * high
        _transpose_rows(work.transposed, columns, rows, work.back, work)
        for row in range(rows):
            source = np.int64(rows_of[row0 + row]) * wide
            copy_row(out.words, begin + row * wide, work.back, source, wide)


@kernel()
def join_sweep(sums, units, halves, outer, inner, fresh, columns, afters, layer, counts, work):
    """Add to states by the top halves those that slides along columns win, and count.

    ``counts[h]`` gets the won afterstates, the won states, and those of them without a spawned tile.
    """
    top, bottom, right = halves
    last = max(1, fresh + 1)
    for h in sums:
        row0, column0, old = outer.begins[h], inner.begins[units - h], work.first_row
        rows, width = outer.begins[h + 1] - row0, inner.begins[units - h + 1] - column0
        wide, begin, below = words_of(width), layer.at[h, 0], afters.at[h, 0]
        rearrange(h, units, top, bottom, right, columns, units, work.other, work)
        or_row(layer.words, begin, work.other, 0, rows * wide)
        # The columns without a spawned tile, as one row: no cell holds more than nothing and at most that.
        old[:wide] = U0
        for column in range(width):
            low = inner.lower[column0 + column]
            if _low(low, last) == _low(low, 1):
                old[column >> 6] |= U1 << np.uint64(column & 63)
        won_afters, won, won_old = U0, U0, U0
        for row in range(rows):
            low = outer.lower[row0 + row]
            lacks = ALL if _low(low, last) == _low(low, 1) else U0
            for k in range(wide):
                word = layer.words[begin + row * wide + k]
                won_afters += ones(afters.words[below + row * wide + k])
                won += ones(word)
                won_old += ones(word & old[k] & lacks)
        counts[h, 0], counts[h, 1], counts[h, 2] = won_afters, won, won_old
