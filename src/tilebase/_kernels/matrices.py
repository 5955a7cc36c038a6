"""Matrices of bits: how the dense pass over Boolean values (`_kernels.bits`) keeps the boards of a layer.

The boards of a layer whose outer half has one sum are a *matrix* of bits: a row for each outer half, a
column for each inner half of the sum that is left, both in the order of `_kernels.dense.Half`.  Rows are
whole words, the lowest bit first; bits behind the last column are 0.

As in `_kernels.dense`, sums are counted in units of 2: `units` is that of the boards, h that of an outer and
g that of an inner half.

Two matrices of the same boards, by the top and by the left halves.  Parts are A, B above C, D; a letter with
a number is a filling:

    top halves are rows          c1d1 c1d2 c2d1 c2d2      left halves are rows       b1d1 b1d2 b2d1 b2d2
    a1b1                          1    0    1    1        a1c1                        1    0    0    1
    a1b2                          0    1    0    0        a1c2                        1    1    0    0

In both, boards that differ in D only are neighbours: both have the runs ``1 0``, ``1 1``, ``0 1``, ``0 0``.
A word of `Matrices.words` is 64 columns of a row, column 0 in its lowest bit.

Where the game keeps a mirror image (`Mirrors`), half of the boards are enough.  The parts have their fillings
in the same order then, and an image exchanges parts:

    top and bottom    A B  ->  C D     the matrix of h is the transposed one of units - h: only h up to the
                      C D      A B     middle, units // 2, is stored
    left and right    A B  ->  B A     only boards whose left half has no more than units // 2: in the row of
                      C D      D C     A, B the columns up to some C, since columns are in the order of C

So rows get shorter, the larger A is, and with both images a quarter of a layer is stored.  The two images
change their roles in matrices by the left half.  A slide that leaves what is stored leads to an image that
is there: a second transposed matrix, made of the images of the rows, completes the first
(`bits._take_targets`).  A spawn leaves it by a few sums at most: states are stored as far beyond the middle
as the largest spawn leads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import types

from tilebase._kernels.dense import Array, Half, class_with
from tilebase._kernels.jit import WORDS, N, kernel, linked, scalar
from tilebase._kernels.scalar import U0, U1, U63, U64, request
from tilebase._kernels.vectors import (
    BYTE,
    BYTES,
    DONE,
    EIGHT,
    LANES,
    MOST_ROWS,
    SEVEN,
    SHIFT,
    add_runs,
    copy_lanes,
    transpose_squares,
)

ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
BEGIN, APART, COLUMN, ROWS, WIDTH = range(5)
"""The columns of `MatrixScratch.runs`."""
NO_ROW = -(1 << 40)
"""A number that makes any sum of others negative."""
AHEAD = np.uint64(4)
"""Rows of another matrix that are requested before they are read."""


# -- what kernels take ---------------------------------------------------------------------------


class Matrices(NamedTuple):
    """The matrices of a layer, or some of them: those rows of them that are stored, as far as they are."""

    words: Array  # uint64: the rows; between the matrices of large layers are words with anything in them
    at: Array  # int64: at[h, k] is the first word of the rows whose outer half has the sum h, its first part
    #            the class k; -1 if there are none
    wide: Array  # int64: wide[h, k] is the number of words in one of these rows


class Mirrors(NamedTuple):
    """The mirror images that keep the values, for matrices by the top or by the left half."""

    halves: bool  # outer and inner half exchanged
    parts: bool  # first and second part of both halves exchanged
    more: int  # the largest spawn, in units


class Fillings(NamedTuple):
    """The fillings of the four parts in rows, to find boards by them."""

    cells: Array  # int64: the cells of A, of B, of C and of D
    ends: Array  # int64: ends[p] says where those of part p end
    begins: Array  # int64: begins[p]: the first row of part p
    weights: (
        Array  # int64: weights[j, code]: what a code on the j-th of these cells adds to a row, or `NO_ROW`
    )
    classes: Array  # int64: classes[r]: the class of the filling with the row r
    positions: Array  # int64: its position there
    sums: Array  # int64: its sum; `NO_ROW` if no board has this filling


class MatrixScratch(NamedTuple):
    """The scratch buffers of a thread: three matrices, some rows, a square and lists of half boards."""

    transposed: Array  # uint64: the matrix in work, transposed, and a row of zeros
    made: Array  # uint64: the matrix that is made
    other: Array  # uint64: a matrix in the order of the other side's halves
    back: Array  # uint64: rows that `transposed` is transposed back to
    spare: Array  # uint64: one more matrix, for a pass onward, from small sums to large ones; else empty
    first_row: Array  # uint64: a bit for each inner half
    second_row: Array  # uint64: a bit for each half, inner or outer
    third_row: Array  # uint64: a bit for each inner half
    square: Array  # uint64: 64 rows of `LANES` words; what `add_runs` has for each lane
    runs: Array  # int64: runs[k] describes the k-th block that `_gather_rows` reads, see there
    at: Array  # int64: at[n] is the first word of the n-th row that is transposed
    bits: Array  # int64: bits[n] is the number of its bits
    to: Array  # int64: to[n] is the first word of the row that the n-th column becomes
    rows_at: Array  # int64: the same of the rows of the matrix in work
    known: Array  # int64: known[n] is the number of bits of its n-th row
    wanted: Array  # int64: so many are written
    row_images: Array  # int64: the number of the image of each outer half
    column_images: Array  # int64: and of each inner half
    made_by: Array  # int64: the least sum of the first part from which a slide leads to a half
    target: Array  # int64: target[j] is the j-th outer half to which a slide leads; once these rows are
    #                taken, target[n] is the number of them that the n-th column needs
    number: Array  # int64: number[n] is the j of such a half
    most: Array  # int64: most[i] is the number of bits of the longest of 64 rows
    least: Array  # int64: and of the shortest


@scalar
def words_of(bits):
    """Return the words that hold so many bits."""
    return (bits + 63) >> 6


# -- boards ----------------------------------------------------------------------------------------


@scalar
def _row_of(board, part, fillings):
    """Return the row of the filling of a part."""
    row = fillings.begins[part]
    for j in range(fillings.ends[part - 1] if part else 0, fillings.ends[part]):
        row += fillings.weights[j, board[fillings.cells[j]]]
    return row


@kernel()
def find_bits(boards, units, fillings, mirrors, top, bottom, at, wide, out):
    """Write ``out[i]``: the bit of a whole layer that stands for board i or its image.

    Word w has the bits from 64 w on.  `at` and `wide` are those of `Matrices` by the top half.  Returns how
    many boards are not of the game or have another sum; their bits mean nothing.
    """
    classes, positions, sums, wrong = fillings.classes, fillings.positions, fillings.sums, 0
    for i in range(len(boards)):
        a, b = _row_of(boards[i], 0, fillings), _row_of(boards[i], 1, fillings)
        c, d = _row_of(boards[i], 2, fillings), _row_of(boards[i], 3, fillings)
        if min(a, b, c, d) < 0 or sums[a] + sums[b] + sums[c] + sums[d] != units:
            wrong += 1
            continue
        # The sums say which image is stored.
        if mirrors.halves and 2 * (sums[a] + sums[b]) > units:
            a, b, c, d = c, d, a, b
        if mirrors.parts and 2 * (sums[a] + sums[c]) > units:
            a, b, c, d = b, a, d, c
        h = sums[a] + sums[b]
        row = positions[a] * top.second.counts[classes[b]] + positions[b]
        column = bottom.firsts[classes[c], classes[d]] - bottom.begins[units - h]
        column += positions[c] * bottom.second.counts[classes[d]] + positions[d]
        out[i] = np.uint64(64 * (at[h, classes[a]] + row * wide[h, classes[a]]) + column)
    return wrong


# -- what is stored ------------------------------------------------------------------------------


@scalar
def middle_of(units, mirrored):
    """Return the largest sum of a half of which the boards are worked out, if others are their images."""
    return units >> 1 if mirrored else units


@scalar
def last_of(units, mirrored, mirrors):
    """Return the same of the boards that are stored: all to which spawns lead from those of layers below."""
    return (units + mirrors.more) >> 1 if mirrored else units


@scalar
def count_columns(h, half, g, inner, most, bits):
    """Write for each half with the sum h how many columns its row has.

    These are the inner halves with the sum g, in order, as long as both first parts have at most the sum
    `most` together.
    """
    x, y, z, w = half.first, half.second, inner.first, inner.second
    n, kz = 0, len(z.sums)
    columns = inner.begins[g + 1] - inner.begins[g]
    # The larger x, the fewer columns: those of the last z are taken off.
    for kx in range(len(x.sums)):
        ky = class_with(y, h - x.sums[kx])
        if ky < 0:
            continue
        while kz and x.sums[kx] + z.sums[kz - 1] > most:
            kz -= 1
            kw = class_with(w, g - z.sums[kz])
            if kw >= 0:
                columns -= z.counts[kz] * w.counts[kw]
        for _ in range(x.counts[kx] * y.counts[ky]):
            bits[n] = columns
            n += 1


@scalar
def find_rows(h, half, layer, at):
    """Write where the rows of a matrix begin in a layer."""
    n = 0
    for kx in range(len(half.first.sums)):
        ky = class_with(half.second, h - half.first.sums[kx])
        if ky >= 0:
            row = layer.at[h, kx]
            for _ in range(half.first.counts[kx] * half.second.counts[ky]):
                at[n] = row
                row += layer.wide[h, kx]
                n += 1


@scalar
def find_images(h, half, images):
    """Write the numbers of the halves with the sum h whose parts are exchanged."""
    first, second = half.first, half.second
    n = 0
    for kx in range(len(first.sums)):
        ky = class_with(second, h - first.sums[kx])
        if ky >= 0:
            begin = half.firsts[ky, kx] - half.begins[h]
            for ix in range(first.counts[kx]):
                for iy in range(second.counts[ky]):
                    images[n] = begin + iy * second.counts[kx] + ix
                    n += 1


@scalar
def space_rows(at, count, wide):
    """Write where rows of the same width begin."""
    for n in range(count):
        at[n] = n * wide


# -- transposing a matrix ------------------------------------------------------------------------


@scalar
def word_of(source, at, k, bits):
    """Return the k-th word of a row of so many bits; others are 0."""
    left = bits - 64 * k
    if left <= 0:
        return U0
    word = source[np.uint64(at + k)]
    return word if left >= 64 else word & (U1 << np.uint64(left)) - U1


@linked(types.void, WORDS, N, WORDS, types.boolean, MatrixScratch)
def transpose(source, rows, out, add, scratch):
    """Transpose a matrix of some rows, which ``scratch.at`` and ``scratch.bits`` describe.

    Column c becomes the row of `out` that begins at ``to[c]``, or is added to what is there.  Words of `out`
    that would hold no bit are not written.
    """
    at, bits, to, square = scratch.at, scratch.bits, scratch.to, scratch.square
    most, least = scratch.most, scratch.least
    high, columns = words_of(rows), 0
    for i in range(high):
        most[i], least[i] = 0, bits[64 * i]
        for row in range(64 * i, min(64 * i + 64, rows)):
            most[i], least[i] = max(most[i], bits[row]), min(least[i], bits[row])
        columns = max(columns, most[i])
    wide = words_of(columns)
    # Few words a row: the squares of the lanes lie below each other, or most lanes would be empty.
    if wide < LANES:
        for i in range(0, high, LANES):
            lanes = min(LANES, high - i)
            for w in range(wide):
                # Rows that do not exist are zeros, and so the bits behind the last column of the result.
                if lanes < LANES or rows < 64 * (i + LANES):
                    square[:] = U0
                for lane in range(lanes):
                    row, full = 64 * (i + lane), least[i + lane] >= 64 * (w + 1)
                    for k in range(min(64, rows - row)):
                        if full:
                            square[LANES * k + lane] = source[np.uint64(at[row + k] + w)]
                        else:
                            square[LANES * k + lane] = word_of(source, at[row + k], w, bits[row + k])
                transpose_squares(square)
                for bit in range(min(64, columns - 64 * w)):
                    place = to[64 * w + bit] + i
                    for lane in range(lanes):
                        if add:
                            out[place + lane] |= square[LANES * bit + lane]
                        else:
                            out[place + lane] = square[LANES * bit + lane]
        return
    # Many words a row: they lie beside each other.  The loop over words is the outer one, so that what is
    # written of `out` stays in a cache.
    for w in range(0, wide, LANES):
        lanes = min(LANES, wide - w)
        for i in range(high):
            if most[i] <= 64 * w:
                continue
            # Unsigned: an index that is not negative for certain.
            n = np.uint64(min(64, rows - 64 * i))
            row, end = np.uint64(64 * i), np.uint64(min(64 * (i + 2), rows))
            if n < U64 or least[i] < 64 * (w + LANES):
                square[:] = U0
            if least[i] >= 64 * (w + LANES):
                for k in range(n):
                    copy_lanes(square, EIGHT * k, source, np.uint64(at[row + k] + w))
            else:
                for k in range(n):
                    for lane in range(min(lanes, words_of(bits[row + k]) - w)):
                        square[EIGHT * k + np.uint64(lane)] = word_of(
                            source, at[row + k], w + lane, bits[row + k]
                        )
            # Large matrices are in no cache: what the next squares read and write is requested meanwhile.
            for k in range(row + n, end):
                if bits[k] > 64 * w:
                    request(source, np.uint64(at[k] + w))
                    request(source, np.uint64(at[k] + w + LANES - 1))
            ahead, column = i // LANES * LANES + LANES, 64 * (w + i % LANES)
            if ahead < high:
                for k in range(np.uint64(column), np.uint64(min(column + 64, columns))):
                    request(out, np.uint64(to[k] + ahead))
            transpose_squares(square)
            # The bits of a lane's columns are rows now: write each that exists.
            for lane in range(lanes):
                column, word = np.uint64(64 * (w + lane)), np.uint64(lane)
                for k in range(np.uint64(max(0, min(64, most[i] - 64 * (w + lane))))):
                    place = np.uint64(to[column + k] + i)
                    if add:
                        out[place] |= square[word]
                    else:
                        out[place] = square[word]
                    word += EIGHT


# -- rows ----------------------------------------------------------------------------------------


@scalar
def and_row(out, to, source, row, wide):
    to, row = np.uint64(to), np.uint64(row)
    for k in range(np.uint64(wide)):
        out[to + k] &= source[row + k]


@scalar
def copy_row(out, to, source, row, wide):
    to, row = np.uint64(to), np.uint64(row)
    for k in range(np.uint64(wide)):
        out[to + k] = source[row + k]


@scalar
def copy_bits(out, to, source, row, bits):
    """Copy a row of so many bits; those behind them in its last word become 0."""
    if bits:
        last = words_of(bits) - 1
        copy_row(out, to, source, row, last)
        out[to + last] = word_of(source, row, last, bits)


@scalar
def or_row(out, to, source, row, wide):
    to, row = np.uint64(to), np.uint64(row)
    for k in range(np.uint64(wide)):
        out[to + k] |= source[row + k]


# -- the order of the other side's halves ------------------------------------------------------


@linked(types.void, N, N, Half, Half, Half, Matrices, N, types.boolean, WORDS, MatrixScratch)
def rearrange(h, units, outer, inner, from_inner, layer, most, some, out, scratch):
    """Write the matrix with the outer halves x, y and the inner halves z, w to `out`.

    It is taken from matrices with the outer halves x, z and the inner halves y, w, as long as these have at
    most the sum `most`; the boards of those that `layer` has not are not won.  If only `some` are wanted, the
    words of a row before and behind those that `layer` has are not written: what is written begins with the
    word ``scratch.known`` of a row and ends before ``scratch.wanted``.
    """
    runs, begins, ends = scratch.runs, scratch.known, scratch.wanted
    x, y, z, w = outer.first, outer.second, inner.first, inner.second
    g = units - h
    wide = words_of(inner.begins[g + 1] - inner.begins[g])
    row = 0
    # The rows of `out` by the classes of x and y; all rows of one pair of classes read the same blocks.
    for kx in range(len(x.sums)):
        ky = class_with(y, h - x.sums[kx])
        if ky < 0:
            continue
        # The columns of such a row are blocks by the class of z, and so of w.  In the source, the sum of x
        # and z says in which matrix the block is, x and z in which row it begins, y and w in which column.
        blocks, before, columns, end = 0, 0, 0, 0
        for kz in range(len(z.sums)):
            kw = class_with(w, g - z.sums[kz])
            s = x.sums[kx] + z.sums[kz]
            if kw >= 0 and s <= most:
                columns += z.counts[kz] * w.counts[kw]
                if layer.at[s, kx] >= 0:
                    end = columns
                elif some and not end:
                    before = columns
                    continue
                runs[blocks, BEGIN] = layer.at[s, kx]
                runs[blocks, APART] = layer.wide[s, kx]
                runs[blocks, COLUMN] = from_inner.firsts[ky, kw] - from_inner.begins[units - s]
                runs[blocks, ROWS] = z.counts[kz]
                runs[blocks, WIDTH] = w.counts[kw]
                blocks += 1
        while some and blocks and runs[blocks - 1, BEGIN] < 0:
            blocks -= 1
        if not blocks:
            before = 0
        # One row for each filling of x and y.
        for ix in range(x.counts[kx]):
            for iy in range(0, y.counts[ky], MOST_ROWS):
                count = min(MOST_ROWS, y.counts[ky] - iy)
                _gather_rows(layer.words, blocks, ix, iy, count, out[row * wide :], wide, before, scratch)
                if some:
                    begins[row : row + count], ends[row : row + count] = before >> 6, words_of(end)
                row += count


@scalar
def _gather_rows(words, blocks, ix, iy, count, out, wide, before, scratch):
    """Write rows from the column `before` on, from runs of bits, one below the other in each block.

    A block is a row of ``scratch.runs``: its first word and a column there, the number of its rows for each
    ix, how many words they are apart, and the bits in each run.  The runs of one that begins at -1 are 0.
    The rows that are written are those of iy and the next ones, `count` and at most `MOST_ROWS`.
    """
    # A block of two rows and three bits a run in the source, and two rows that are written:
    #
    #     word BEGIN            . . . a b c A B C .
    #     word BEGIN + APART    . . . d e f D E F .        ... a b c d e f | runs of the next block ...
    #                                 ^ COLUMN             ... A B C D E F |
    #                                                                      ^ `filled` bits of `lanes`
    #
    # Rows of the source are in no cache, and in different pages: each is read once for all these rows.
    runs, lanes, count, wide = scratch.runs, scratch.square, np.uint64(count), np.uint64(wide)
    filled, at, end = np.uint64(before) & U63, np.uint64(before >> 6), count + SEVEN & ~SEVEN
    for row in range(end):
        lanes[row] = U0
    for block in range(blocks):
        rows, n = np.uint64(runs[block, ROWS]), np.uint64(runs[block, WIDTH])
        # A block that does not exist is so many zeros: full words are written, the rest stays for later.
        if runs[block, BEGIN] < 0:
            filled += rows * n
            while filled >= U64:
                for row in range(count):
                    out[at + row * wide] = lanes[row]
                    lanes[row] = U0
                at += U1
                filled -= U64
            continue
        # The filling ix of x comes so many rows later, and the filling iy of y so many columns.
        step = BYTES * np.uint64(runs[block, APART])
        source = BYTES * np.uint64(runs[block, BEGIN]) + np.uint64(ix) * rows * step
        column = np.uint64(runs[block, COLUMN]) + np.uint64(iy) * n
        for row in range(end):
            # A lane without a row takes the run of the first one.
            bit = column + (row if row < count else U0) * n
            lanes[BYTE + row], lanes[SHIFT + row] = bit // BYTES, bit % BYTES
        first, last = column // BYTES // BYTES, (column + count * n) // BYTES // BYTES
        for _ in range(rows):
            ahead = (source + AHEAD * step) // BYTES
            for word in range(ahead + first, ahead + last + BYTES, BYTES):
                request(words, word)
            rest, begin = n, source
            while rest:
                # At most 56 bits of the run: they lie in eight bytes, wherever they begin.
                some = min(rest, SEVEN * BYTES)
                for lane in range(U0, end, EIGHT):
                    add_runs(words, begin, some, filled, lanes, lane)
                if filled + some >= U64:
                    for row in range(count):
                        out[at + row * wide] = lanes[DONE + row]
                    at += U1
                filled = filled + some & U63
                rest -= some
                begin += SEVEN
            source += step
    # The last word, if it is not full.
    if filled:
        for row in range(count):
            out[at + row * wide] = lanes[row]
