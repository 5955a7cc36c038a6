"""Kernels of sweep lines in bits: boards whose largest tiles stand on given cells (`tilebase.dense.sweep`).

The boards of a *placement*, a set of cells with tiles of exponent k, are matrices as in `_kernels.bits`, by the
sum of the other tiles of an outer half.  A slide can move and add tiles k.  So it leads from one matrix to
several, which are those of other placements, or of their images under a symmetry of the board: each is stored
by the top, bottom, left and right half.  Only boards that nothing has decided are looked up, one by one.

The words of all matrices begin with `ONES`, words of ones that stand for every board with neighbouring tiles k.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tilebase._kernels.bits import ALL, _copy_row, _or_row, _rearrange, _size, _transpose, _words
from tilebase._kernels.dense import Array
from tilebase._kernels.jit import kernel, scalar
from tilebase._kernels.scalar import U0, U1, U6, U63, ones, trailing_zeros

U24, LOW = np.uint32(24), np.uint32(0xFF_FFFF)
MOVES = 128
"""Added in `Slides.to` if the slide changes the half board."""


# -- what kernels take ---------------------------------------------------------------------------


class Slides(NamedTuple):
    """What slides make of the half boards of a placement; n numbers them as in `_kernels.dense.Half`."""

    begins: Array  # int64: begins[h] is the first n whose other tiles have the sum h, in units of 2
    to: Array  # uint8: to[d, n] is the placement after slide d, 0 if the board is won, plus `MOVES`
    at: Array  # uint32: at[v, n] is the row or column of the half board after a slide, in an image
    lower: Array  # uint8: lower[e, n] is the number of cells that are empty or hold less than exponent e
    holds: Array  # uint32: bit e of holds[n] is set if a cell holds exponent e
    word: Array  # int64: word[h] is where the sum h begins in rows of bits, one for each half board
    moving: Array  # uint64: moving[d, w]: the half boards that slide d changes, as rows of bits
    leaving: Array  # uint64: leaving[d, w]: those of which slide d moves tiles k, or makes some
    some: Array  # uint64: some[e, t, w]: those with at least t cells lower than e
    fits: Array  # uint64: fits[e, t, w]: these, and those without exponent e


class Pairs(NamedTuple):
    """Where slides lead: a and b are the placements of the outer and of the inner half after slide d."""

    matrix: Array  # int64: matrix[d, a, b] is the row of `Stored` for both, -1 if every board is won
    outer: Array  # int64: outer[d, a, b] is the row of `Slides.at` for the outer half
    inner: Array  # int64: inner[d, a, b] is that for the inner half
    own: Array  # int64: own[d] are the placements a and b if slide d moves no tile k, -1 if it always does
    less: Array  # int64: less[d, a] is what merges into tiles k take from the sum of the outer half


class Stored(NamedTuple):
    """The matrices of the afterstates of a layer: row m is those of a placement by one of its halves."""

    words: Array  # uint64: the words of the matrices, one word after the other, behind those of ones
    at: Array  # int64: at[m, h] is the first word of the matrix whose outer halves have the sum h
    wide: Array  # int64: wide[m, h] is the number of words in one of its rows


class SweepScratch(NamedTuple):
    """What a thread works in."""

    possible: Array  # uint64: a bit for each column, of the boards of a row that are counted at all
    begin: Array  # uint64: begin[d, a, b] is the bit where the matrix begins to which a pair leads
    step: Array  # uint64: step[d, a, b] is the number of bits in one of its rows; 0 if all boards are won
    lead: Array  # uint32: lead[d, a, c] is the placement after slide d of column c, and 24 bits for where it is
    base: Array  # uint64: base[b] is the bit where the row begins to which an inner placement b leads


# -- the player: slides --------------------------------------------------------------------------


@scalar
def _list_targets(h, first, columns, outer, inner, pairs, stored, scratch):
    """Note for a matrix where slides lead: the matrices of each pair of placements, and each column's place."""
    for d in range(len(outer.to)):
        for a in range(pairs.matrix.shape[1]):
            for b in range(pairs.matrix.shape[2]):
                m, left = pairs.matrix[d, a, b], h - pairs.less[d, a]
                there = m >= 0 and left >= 0 and stored.at[m, left] >= 0
                scratch.begin[d, a, b] = np.uint64(stored.at[m, left]) << U6 if there else U0
                scratch.step[d, a, b] = np.uint64(stored.wide[m, left]) << U6 if there else U0
            for column in range(columns):
                n = first + column
                b = np.int64(inner.to[d, n]) & (MOVES - 1)
                scratch.lead[d, a, column] = np.uint32(b) << U24 | inner.at[pairs.inner[d, a, b], n]


@scalar
def _list_possible(row, columns, outer, inner, word, fresh, possible):
    """Set the bits of the boards of a row that are counted: all, or those that corollary 7 allows."""
    wide = _words(columns)
    possible[:wide] = ALL
    if columns & 63:
        possible[wide - 1] = (U1 << np.uint64(columns & 63)) - U1
    if fresh < 0:
        return
    most = inner.some.shape[1] - 1
    for e in range(fresh + 1, len(outer.lower)):
        # A tile e needs e - fresh lower cells; the outer half has some, the inner half must have the others.
        needed = min(e - fresh - np.int64(outer.lower[e, row]), most)
        if needed > 0:
            if outer.holds[row] >> np.uint32(e) & np.uint32(1):
                for k in range(wide):
                    possible[k] &= inner.some[e, needed, word + k]
            else:
                for k in range(wide):
                    possible[k] &= inner.fits[e, needed, word + k]


@scalar
def _or_own_slides(h, g, outer, inner, pairs, here, out, to, work):
    """Add to `out`, from word `to`, the states from which a slide that moves no tile k leads to a won board.

    As `_kernels.bits._or_slides`: columns are copied as rows of the transposed matrix, then rows.
    """
    row0, column0 = outer.begins[h], inner.begins[g]
    rows, columns = outer.begins[h + 1] - row0, inner.begins[g + 1] - column0
    wide, high, word = _words(columns), _words(rows), inner.word[g]
    _transpose(here, rows, columns, work.transposed, work.square)
    for d in range(len(outer.to)):
        a, b = pairs.own[d, 0], pairs.own[d, 1]
        if a < 0:
            continue
        of_outer, of_inner = pairs.outer[d, a, b], pairs.inner[d, a, b]
        for column in range(columns):
            n = column0 + column
            if np.int64(inner.to[d, n]) & (MOVES - 1) == b:
                _copy_row(work.taken, column * high, work.transposed, np.int64(inner.at[of_inner, n]) * high, high)
            else:
                work.taken[column * high : (column + 1) * high] = U0
        _transpose(work.taken, columns, rows, work.back, work.square)
        for row in range(rows):
            n = row0 + row
            if np.int64(outer.to[d, n]) & (MOVES - 1) != a:
                continue
            source, at = np.int64(outer.at[of_outer, n]) * wide, to + row * wide
            if outer.to[d, n] & MOVES:
                _or_row(out, at, work.back, source, wide)
            else:
                for k in range(wide):
                    out[at + k] |= work.back[source + k] & inner.moving[d, word + k]


@kernel()
def slide_sweep(sums, units, outer, inner, pairs, fresh, own, stored, out, scratch, work):
    """Write to `out` which states of a placement some slide along the lines of the halves wins.

    `own` is the row of `stored` for the placement itself.  `fresh` is the largest exponent that is spawned, if
    only states are counted that corollary 7 allows, or -1.
    """
    base, possible, words = scratch.base, scratch.possible, stored.words
    for h in sums:
        row0, column0 = outer.begins[h], inner.begins[units - h]
        columns, word = inner.begins[units - h + 1] - column0, inner.word[units - h]
        wide, begin = _words(columns), out.at[h]
        for k in range(begin, begin + (outer.begins[h + 1] - row0) * wide):
            out.words[k] = U0
        _or_own_slides(h, units - h, outer, inner, pairs, words[stored.at[own, h] :], out.words, begin, work)
        _list_targets(h, column0, columns, outer, inner, pairs, stored, scratch)
        for row in range(row0, outer.begins[h + 1]):
            to = begin + (row - row0) * wide
            _list_possible(row, columns, outer, inner, word, fresh, possible)
            counted = U0
            for k in range(wide):
                counted |= possible[k]
                out.words[to + k] &= possible[k]
            if not counted:
                continue
            for d in range(len(outer.to)):
                a = np.int64(outer.to[d, row]) & (MOVES - 1)
                still, stays = not outer.to[d, row] & MOVES, a == pairs.own[d, 0]
                # The row that the outer half leads to, for each placement that the inner half can lead to.
                for b in range(pairs.matrix.shape[2]):
                    at = np.uint64(outer.at[pairs.outer[d, a, b], row])
                    base[b] = scratch.begin[d, a, b] + at * scratch.step[d, a, b]
                # The boards that are not won yet and whose tiles k the slide moves, one by one.
                for k in range(wide):
                    found = out.words[to + k]
                    open_boards = possible[k] & ~found
                    if still:
                        open_boards &= inner.moving[d, word + k]
                    if stays:
                        open_boards &= inner.leaving[d, word + k]
                    first = np.uint64(64 * k)
                    while open_boards:
                        j = trailing_zeros(open_boards)
                        lead = scratch.lead[d, a, first + j]
                        bit = base[np.uint64(lead >> U24)] + np.uint64(lead & LOW)
                        found |= (words[bit >> U6] >> (bit & U63) & U1) << j
                        open_boards &= open_boards - U1
                    out.words[to + k] = found


# -- the same boards by other halves -------------------------------------------------------------


@kernel()
def turn(sums, units, outer, inner, from_outer, from_inner, layer, out, square, runs):
    """Write afterstates by the left halves; from matrices by the top halves."""
    for h in sums:
        _rearrange(h, units, outer, inner, from_outer, from_inner, layer, out.words[out.at[h] :], runs)


@kernel()
def transpose_layer(sums, units, outer, inner, layer, out, square):
    """Write matrices by the outer halves with rows and columns exchanged."""
    for h in sums:
        g = units - h
        rows, columns = outer.begins[h + 1] - outer.begins[h], inner.begins[g + 1] - inner.begins[g]
        _transpose(layer.words[layer.at[h] :], rows, columns, out.words[out.at[g] :], square)


@kernel()
def copy_image(sums, units, left, right, of_left, of_right, layer, out, work):
    """Write states by the left halves that are images of those by the top halves.

    ``of_left[n]`` and ``of_right[n]`` are the row and the column of the image of a half board.
    """
    for h in sums:
        g = units - h
        rows, columns = left.begins[h + 1] - left.begins[h], right.begins[g + 1] - right.begins[g]
        wide, high = _words(columns), _words(rows)
        _transpose(layer.words[layer.at[h] :], rows, columns, work.transposed, work.square)
        for column in range(columns):
            source = np.int64(of_right[right.begins[g] + column]) * high
            _copy_row(work.taken, column * high, work.transposed, source, high)
        _transpose(work.taken, columns, rows, work.back, work.square)
        for row in range(rows):
            source = np.int64(of_left[left.begins[h] + row]) * wide
            _copy_row(out.words, out.at[h] + row * wide, work.back, source, wide)


@kernel()
def join_sweep(sums, units, halves, slides, fresh, columns, afters, layer, other, runs, counts):
    """Add to states by the top half those that slides along columns win, and count.

    ``counts[h]`` gets the won afterstates, the won states, and those of them without a spawned tile.
    """
    top, bottom, left, right = halves
    outer, inner = slides
    young = np.uint32(0)
    for e in range(1, fresh + 1):
        young |= np.uint32(1) << np.uint32(e)
    for h in sums:
        size = _size(h, units - h, top, bottom)
        _rearrange(h, units, top, bottom, left, right, columns, other, runs)
        _or_row(layer.words, layer.at[h], other, 0, size)
        row0, column0 = outer.begins[h], inner.begins[units - h]
        wide = layer.wide[h]
        # The columns without a spawned tile, as one row.
        other[:wide] = U0
        for column in range(inner.begins[units - h + 1] - column0):
            if not inner.holds[column0 + column] & young:
                other[column >> 6] |= U1 << np.uint64(column & 63)
        won_afters, won, old = U0, U0, U0
        for row in range(outer.begins[h + 1] - row0):
            lacks = not outer.holds[row0 + row] & young
            for k in range(row * wide, (row + 1) * wide):
                won_afters += ones(afters.words[afters.at[h] + k])
                word = layer.words[layer.at[h] + k]
                won += ones(word)
                if lacks:
                    old += ones(word & other[k - row * wide])
        counts[h, 0], counts[h, 1], counts[h, 2] = won_afters, won, old
