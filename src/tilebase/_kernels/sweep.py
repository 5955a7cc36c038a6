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

from tilebase._kernels.bits import ALL, _or_row, _rearrange, _size, _transpose, _words
from tilebase._kernels.dense import Array
from tilebase._kernels.jit import kernel, scalar
from tilebase._kernels.scalar import U0, U1, U6, U63, ones, trailing_zeros

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


class Pairs(NamedTuple):
    """Where slides lead: a and b are the placements of the outer and of the inner half after slide d."""

    matrix: Array  # int64: matrix[d, a, b] is the row of `Stored` for both, -1 if every board is won
    outer: Array  # int64: outer[d, a, b] is the row of `Slides.at` for the outer half
    inner: Array  # int64: inner[d, a, b] is that for the inner half
    less: Array  # int64: less[d, a] is what merges into tiles k take from the sum of the outer half


class Stored(NamedTuple):
    """The matrices of the afterstates of a layer: row m is those of a placement by one of its halves."""

    words: Array  # uint64: the words of the matrices, one word after the other, behind those of ones
    at: Array  # int64: at[m, h] is the first word of the matrix whose outer halves have the sum h
    wide: Array  # int64: wide[m, h] is the number of words in one of its rows


class SweepScratch(NamedTuple):
    """What a thread works in."""

    possible: Array  # uint64: a bit for each column, of the boards of a row that are counted at all
    moving: Array  # uint64: moving[d, k] is word k of the columns that slide d changes
    some: Array  # uint64: some[e, t, k]: the columns with at least t cells lower than e
    fits: Array  # uint64: fits[e, t, k]: these, and the columns without exponent e
    base: Array  # uint64: base[b] is the bit where the row begins to which an inner placement b leads
    image: Array  # int64: image[b] is the row of `Slides.at` for it


# -- the player: slides --------------------------------------------------------------------------


@scalar
def _list_columns(first, columns, inner, fresh, scratch):
    """Note for the columns of a matrix which of them slides change, and how many low cells they have."""
    wide = _words(columns)
    free = len(scratch.some[0]) - 2
    scratch.moving[:, :wide] = U0
    if fresh >= 0:
        scratch.some[:, :, :wide] = U0
        scratch.fits[:, :, :wide] = U0
    for column in range(columns):
        n, k, bit = first + column, column >> 6, U1 << np.uint64(column & 63)
        for d in range(len(inner.to)):
            if inner.to[d, n] & MOVES:
                scratch.moving[d, k] |= bit
        if fresh >= 0:
            for e in range(fresh + 1, len(inner.lower)):
                low = np.int64(inner.lower[e, n])
                for t in range(1, low + 1):
                    scratch.some[e, t, k] |= bit
                    scratch.fits[e, t, k] |= bit
                if not inner.holds[n] >> np.uint32(e) & np.uint32(1):
                    for t in range(low + 1, free + 2):
                        scratch.fits[e, t, k] |= bit


@scalar
def _list_possible(row, columns, outer, fresh, scratch):
    """Set the bits of the boards of a row that are counted: all, or those that corollary 7 allows."""
    wide = _words(columns)
    possible = scratch.possible
    possible[:wide] = ALL
    if columns & 63:
        possible[wide - 1] = (U1 << np.uint64(columns & 63)) - U1
    if fresh < 0:
        return
    most = len(scratch.some[0]) - 1
    for e in range(fresh + 1, len(outer.lower)):
        # A tile e needs e - fresh lower cells; the outer half has some, the inner half must have the others.
        needed = min(e - fresh - np.int64(outer.lower[e, row]), most)
        if needed > 0:
            here = outer.holds[row] >> np.uint32(e) & np.uint32(1)
            columns_with = scratch.some[e, needed] if here else scratch.fits[e, needed]
            for k in range(wide):
                possible[k] &= columns_with[k]


@kernel()
def slide_sweep(sums, units, outer, inner, pairs, fresh, stored, out, scratch):
    """Write to `out` which states of a placement some slide along the lines of the halves wins.

    `fresh` is the largest exponent that is spawned, if only states are counted that corollary 7 allows, or
    -1.
    """
    base, image, possible, words = scratch.base, scratch.image, scratch.possible, stored.words
    for h in sums:
        row0, column0 = outer.begins[h], inner.begins[units - h]
        columns = inner.begins[units - h + 1] - column0
        wide = _words(columns)
        _list_columns(column0, columns, inner, fresh, scratch)
        for row in range(row0, outer.begins[h + 1]):
            to = out.at[h] + (row - row0) * wide
            for k in range(wide):
                out.words[to + k] = U0
            _list_possible(row, columns, outer, fresh, scratch)
            for d in range(len(outer.to)):
                a = np.int64(outer.to[d, row]) & (MOVES - 1)
                still = not outer.to[d, row] & MOVES
                # The row that the outer half leads to, for each placement that the inner half can lead to.
                for b in range(pairs.matrix.shape[2]):
                    m = pairs.matrix[d, a, b]
                    if m < 0:
                        base[b], image[b] = U0, 0
                    else:
                        left = h - pairs.less[d, a]
                        at = stored.at[m, left] + np.int64(outer.at[pairs.outer[d, a, b], row]) * stored.wide[m, left]
                        base[b], image[b] = np.uint64(at) << U6, pairs.inner[d, a, b]
                # The boards that are not won yet and that the slide changes, one by one.
                for k in range(wide):
                    found = out.words[to + k]
                    open_boards = possible[k] & ~found
                    if still:
                        open_boards &= scratch.moving[d, k]
                    first = np.uint64(column0 + 64 * k)
                    while open_boards:
                        j = trailing_zeros(open_boards)
                        n = first + j
                        b = np.uint64(inner.to[d, n] & np.uint8(MOVES - 1))
                        bit = base[b] + np.uint64(inner.at[np.uint64(image[b]), n])
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
