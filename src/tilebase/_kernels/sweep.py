"""Kernels of sweep lines in bits: boards whose largest tiles, of exponent k, stand on given cells.

The boards of a *placement*, a set of cells with tiles k, are matrices as in `_kernels.bits`, by the sum of
the other tiles of an outer half.  A slide can move tiles k, and make some.  So it leads from one matrix to
several: those of other placements, or of their images under a symmetry, which are stored by all four halves.
Boards are looked up one by one, if they are not won yet.

No mirror image is used: the rows of a matrix follow each other, from the first word of class 0 on.

The words of all matrices begin with words of ones, which stand for boards with neighbouring tiles k.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tilebase._kernels.arguments import Array
from tilebase._kernels.jit import kernel, scalar
from tilebase._kernels.matrices import ALL, or_row, rearrange, space_rows, transpose, words_of
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
    some: Array  # uint64: some[e, t, w]: those with at least t cells lower than e


class Pairs(NamedTuple):
    """Where slides lead: a and b are the placements of the outer and of the inner half after slide d."""

    matrix: Array  # int64: matrix[d, a, b] is the row of `Stored` for both, -1 if every board is won
    outer: Array  # int64: outer[d, a, b] is the row of `Slides.at` for the outer half
    inner: Array  # int64: inner[d, a, b] is that for the inner half
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


@kernel()
def slide_sweep(sums, units, outer, inner, pairs, fresh, stored, out, scratch):
    """Write to `out` which states of a placement some slide along the lines of the halves wins.

    `fresh` is the largest exponent that is spawned if only states are counted that corollary 7 allows,
    otherwise -1.
    """
    base, possible, words = scratch.base, scratch.possible, stored.words
    for h in sums:
        row0, column0 = outer.begins[h], inner.begins[units - h]
        columns, word = inner.begins[units - h + 1] - column0, inner.word[units - h]
        wide, begin = words_of(columns), out.at[h, 0]
        _list_targets(h, column0, columns, outer, inner, pairs, stored, scratch)
        for row in range(row0, outer.begins[h + 1]):
            to = begin + (row - row0) * wide
            if row == row0 or outer.lower[row] != outer.lower[row - 1]:
                _list_possible(row, columns, len(inner.some) - 1, outer, inner, word, fresh, possible)
            counted = U0
            for k in range(wide):
                counted |= possible[k]
                out.words[to + k] = U0
            for d in range(len(outer.to) if counted else 0):
                a = np.int64(outer.to[d, row]) & (MOVES - 1)
                still = not outer.to[d, row] & MOVES
                # The row to which this one leads, for each placement to which the inner half can lead.
                for b in range(pairs.matrix.shape[2]):
                    at = np.uint64(outer.at[pairs.outer[d, a, b], row])
                    base[b] = scratch.begin[d, a, b] + at * scratch.step[d, a, b]
                # The boards that are not won yet and that the slide moves, one by one.
                for k in range(wide):
                    found = out.words[to + k]
                    left = possible[k] & ~found
                    if still:
                        left &= inner.moving[d, word + k]
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
        rearrange(h, units, left, right, bottom, afters, units, False, out.words[out.at[h, 0] :], work)


@kernel()
def exchange(sums, units, outer, inner, layer, out, work):
    """Write matrices with rows and columns exchanged."""
    for h in sums:
        g = units - h
        rows, columns = outer.begins[h + 1] - outer.begins[h], inner.begins[g + 1] - inner.begins[g]
        source, to = layer.words[layer.at[h, 0] :], out.words[out.at[g, 0] :]
        work.bits[:rows] = columns
        space_rows(work.at, rows, words_of(columns))
        space_rows(work.to, columns, words_of(rows))
        transpose(source, rows, to, False, work)


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
        rearrange(h, units, top, bottom, right, columns, units, False, work.other, work)
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
