"""Kernels of the dense pass over Boolean values: one bit per board, 64 boards at a time.

The boards of a layer whose outer half has one sum are a *matrix* of bits: a row for each outer half, a
column for each inner half of the sum that is left, both in the order of `_kernels.dense.Half`.  Rows are
whole words, the lowest bit first; bits behind the last column are 0.

What happens in the outer half alone is the same for a whole row, and what happens in the inner half alone
for a whole column, which is a row of the transposed matrix.  So a spawn is the AND of rows of one or of the
other, and a slide takes rows of the transposed matrix, then rows of the matrix that this is transposed back
to.  Slides along columns want the left and the right half instead of the top and the bottom one: to
`rearrange` a matrix moves the boards that differ in D only, neighbours in both orders.

As in `_kernels.dense`, sums are counted in units of 2: `units` is that of the boards, h that of an outer and
g that of an inner half.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tilebase._kernels.dense import Array, Spawns, class_with
from tilebase._kernels.halves import BARRED, CLASS, ENDS, MOVED, POSITION, U20, U40, WIN
from tilebase._kernels.jit import kernel, scalar
from tilebase._kernels.scalar import U0, U1, U63, U64, ones

ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
U6 = np.uint64(6)
NUMBER = MOVED - U1
LANES = 8
"""Words of a row that are transposed at a time: as many as a processor's widest registers have."""
EIGHT = np.uint64(LANES)
BEGIN, APART, COLUMN, ROWS, WIDTH = range(5)
"""The columns of `Scratch.runs`."""
MASKS = tuple(
    np.uint64(mask)
    for mask in (
        0x0000_0000_FFFF_FFFF,
        0x0000_FFFF_0000_FFFF,
        0x00FF_00FF_00FF_00FF,
        0x0F0F_0F0F_0F0F_0F0F,
        0x3333_3333_3333_3333,
        0x5555_5555_5555_5555,
    )
)


# -- what kernels take ---------------------------------------------------------------------------


class Matrices(NamedTuple):
    """The matrices of a layer, or some of them."""

    words: Array  # uint64: the words of the matrices, one word after the other
    at: Array  # int64: at[h] is the first word of the matrix whose outer halves have the sum h, -1 if none
    wide: Array  # int64: wide[h] is the number of words in one of its rows


class Above(NamedTuple):
    """A layer of states, to which the spawns of one exponent lead."""

    units: int  # what such a spawn adds to a sum
    outer: tuple[Spawns, Spawns]  # the spawns in the first and the second part of outer halves
    inner: tuple[Spawns, Spawns]  # and of inner halves
    layer: Matrices


class Scratch(NamedTuple):
    """The scratch buffers of a thread: four matrices, three rows, a square and a list."""

    transposed: Array  # uint64: the matrix in work, transposed
    taken: Array  # uint64: another transposed matrix, made of rows of that one
    back: Array  # uint64: the matrix that `taken` is transposed back to
    other: Array  # uint64: a matrix in the order of the other side's halves, or one that is not stored yet
    first_row: Array  # uint64: a bit for each inner half
    second_row: Array  # uint64: a bit for each half, inner or outer
    third_row: Array  # uint64: a bit for each inner half
    square: Array  # uint64: 64 rows of `LANES` words
    runs: Array  # int64: runs[k] describes the k-th block that `_gather_row` reads, see there


@scalar
def _words(bits):
    """Return the words that hold so many bits."""
    return (bits + 63) >> 6


@scalar
def _size(h, g, outer, inner):
    """Return the words of a matrix whose outer and inner halves have the sums h and g."""
    return (outer.begins[h + 1] - outer.begins[h]) * _words(inner.begins[g + 1] - inner.begins[g])


# -- transposing a matrix ------------------------------------------------------------------------


@scalar
def _swap(upper, lower, shift, mask):
    """Exchange the bits of `upper` that lie `shift` above the mask with those of `lower` in it."""
    for k in range(len(upper)):
        moved = (upper[k] >> shift ^ lower[k]) & mask
        lower[k] ^= moved
        upper[k] ^= moved << shift


@scalar
def _transpose_square(square):
    """Transpose 64 x 64 bits, `LANES` such squares beside each other."""
    rows = 32
    for mask in MASKS:
        for base in range(0, 64 * LANES, 2 * rows * LANES):
            middle = base + rows * LANES
            _swap(square[base:middle], square[middle : middle + rows * LANES], np.uint64(rows), mask)
        rows >>= 1


@scalar
def _transpose(source, rows, columns, out, square):
    """Transpose a matrix of some rows and columns: `out` gets the columns as rows."""
    wide, high = _words(columns), _words(rows)
    if wide < LANES:  # squares below each other, or most lanes would be empty
        for i in range(0, high, LANES):
            lanes = min(LANES, high - i)
            for w in range(wide):
                if lanes < LANES or rows < 64 * (i + LANES):
                    square[:] = U0
                for lane in range(lanes):
                    row = 64 * (i + lane)
                    for k in range(min(64, rows - row)):
                        square[LANES * k + lane] = source[(row + k) * wide + w]
                _transpose_square(square)
                for bit in range(min(64, columns - 64 * w)):
                    to = (64 * w + bit) * high + i
                    for lane in range(lanes):
                        out[to + lane] = square[LANES * bit + lane]
        return
    for w in range(0, wide, LANES):  # outside, so that what is written of `out` stays in a cache
        lanes = min(LANES, wide - w)
        for i in range(high):
            n = min(64, rows - 64 * i)
            if n < 64 or lanes < LANES:
                square[:] = U0
            # Unsigned: an index that is not negative for certain; and of a number of lanes that is known.
            at = np.uint64(64 * i * wide + w)
            if lanes == LANES:
                for k in range(n):
                    for lane in range(EIGHT):
                        square[EIGHT * np.uint64(k) + lane] = source[at + lane]
                    at += np.uint64(wide)
            else:
                for k in range(n):
                    for lane in range(np.uint64(lanes)):
                        square[EIGHT * np.uint64(k) + lane] = source[at + lane]
                    at += np.uint64(wide)
            _transpose_square(square)
            for lane in range(lanes):
                first = 64 * (w + lane)
                to, word = np.uint64(first * high + i), np.uint64(lane)
                for _ in range(min(64, columns - first)):
                    out[to] = square[word]
                    to += np.uint64(high)
                    word += EIGHT


# -- the adversary: all spawns -------------------------------------------------------------------


@scalar
def _and_row(out, to, source, row, wide):
    to, row = np.uint64(to), np.uint64(row)
    for k in range(np.uint64(wide)):
        out[to + k] &= source[row + k]


@scalar
def _copy_row(out, to, source, row, wide):
    to, row = np.uint64(to), np.uint64(row)
    for k in range(np.uint64(wide)):
        out[to + k] = source[row + k]


@scalar
def _or_row(out, to, source, row, wide):
    to, row = np.uint64(to), np.uint64(row)
    for k in range(np.uint64(wide)):
        out[to + k] |= source[row + k]


@scalar
def _and_spawns(h, half, units, spawns, above, wide, out):
    """Narrow the rows of `out` to what spawns of one exponent lead to.

    The rows of `out` are the half boards of `half` with the sum h, those of `above` the ones with the sum
    h + `units`, and `spawns` lead from these to those.
    """
    first, second = half.first, half.second
    here = half.begins[h]
    for kx in range(len(first.sums)):
        ky = class_with(second, h - first.sums[kx])
        if ky < 0:
            continue
        nx, ny = first.counts[kx], second.counts[ky]
        row = half.firsts[kx, ky] - here
        in_first = spawns[0]
        if in_first.classes[kx] >= 0:
            there = half.firsts[in_first.classes[kx], ky] - half.begins[h + units]
            for s in range(in_first.start[first.starts[kx]], in_first.start[first.starts[kx] + nx]):
                to, at = row + np.int64(in_first.source[s]) * ny, there + np.int64(in_first.target[s]) * ny
                _and_row(out, to * wide, above, at * wide, ny * wide)
        in_second = spawns[1]
        if in_second.classes[ky] >= 0:
            there = half.firsts[kx, in_second.classes[ky]] - half.begins[h + units]
            more = second.counts[in_second.classes[ky]]
            for s in range(in_second.start[second.starts[ky]], in_second.start[second.starts[ky] + ny]):
                to, at = row + np.int64(in_second.source[s]), there + np.int64(in_second.target[s])
                for ix in range(nx):
                    _and_row(out, (to + ix * ny) * wide, above, (at + ix * more) * wide, wide)


@scalar
def _mark(h, half, masks, pattern, out):
    """Set bits for the half boards that fit a pattern, or for those without an empty cell if it is -1.

    `masks` are those of both parts (`Part.masks` or `Part.stands`).  Returns whether there is one.
    """
    first, second = half.first, half.second
    n, found = 0, False
    out[:] = U0
    for kx in range(len(first.sums)):
        ky = class_with(second, h - first.sums[kx])
        if ky >= 0:
            for g in range(first.starts[kx], first.starts[kx + 1]):
                for k in range(second.starts[ky], second.starts[ky + 1]):
                    if pattern < 0:
                        bit = first.free[g] == 0 and second.free[k] == 0
                    else:
                        bit = bool((masks[0][g] & masks[1][k]) >> np.uint64(pattern) & U1)
                    if bit:
                        out[n >> 6] |= U1 << np.uint64(n & 63)
                        found = True
                    n += 1
    return found


@kernel()
def fold_spawns(sums, units, outer, inner, patterns, ups, first, last, afters, scratch):
    """Write the afterstates of some matrices to a layer: won if all spawns leave a state that is won.

    `sums` are the sums of their outer halves, ``ups[k]`` is `Above` for the k-th exponent.  A board without
    an empty cell counts as lost, one that holds a pattern as won.  Where not all exponents are given at once,
    the call that is not the `first` narrows what is there, and only the `last` looks for such boards.
    """
    transposed, found, back, square = scratch.transposed, scratch.taken, scratch.back, scratch.square
    columns_marked, rows_marked = scratch.first_row, scratch.second_row
    for h in sums:
        g = units - h
        rows, columns = outer.begins[h + 1] - outer.begins[h], inner.begins[g + 1] - inner.begins[g]
        wide, high = afters.wide[h], _words(rows)
        # Spawns in the inner half: rows of the transposed matrix.
        found[: columns * high] = ALL
        for k in range(len(ups)):
            more, above = ups[k].units, ups[k].layer
            if g + more + 1 < len(inner.begins) and above.at[h] >= 0:
                wider = inner.begins[g + more + 1] - inner.begins[g + more]
                _transpose(above.words[above.at[h] :], rows, wider, transposed, square)
                _and_spawns(g, inner, more, ups[k].inner, transposed, high, found)
        # Spawns in the outer half: rows of the matrix.
        here = afters.words[afters.at[h] : afters.at[h] + rows * wide]
        if first:
            _transpose(found, columns, rows, here, square)
        else:
            _transpose(found, columns, rows, back, square)
            _and_row(here, 0, back, 0, rows * wide)
        for k in range(len(ups)):
            more, above = ups[k].units, ups[k].layer
            if h + more + 1 < len(outer.begins) and above.at[h + more] >= 0:
                _and_spawns(h, outer, more, ups[k].outer, above.words[above.at[h + more] :], wide, here)
        if not last:
            continue
        # Boards without an empty cell are lost, and those that hold a pattern are won.
        for pattern in range(-1, patterns):
            masks = (outer.first.masks, outer.second.masks), (inner.first.masks, inner.second.masks)
            if _mark(h, outer, masks[0], pattern, rows_marked[:high]) and _mark(
                g, inner, masks[1], pattern, columns_marked[:wide]
            ):
                for row in range(rows):
                    if rows_marked[row >> 6] >> np.uint64(row & 63) & U1:
                        for k in range(wide):
                            if pattern < 0:
                                here[row * wide + k] &= ~columns_marked[k]
                            else:
                                here[row * wide + k] |= columns_marked[k]
        if len(outer.first.stands):
            _clear_off(h, g, outer, inner, here, scratch)


@scalar
def _clear_off(h, g, outer, inner, here, scratch):
    """Clear the boards of a matrix that stand on none of several masks."""
    standing, columns_marked, rows_marked = scratch.transposed, scratch.first_row, scratch.second_row
    rows = outer.begins[h + 1] - outer.begins[h]
    wide, high = _words(inner.begins[g + 1] - inner.begins[g]), _words(rows)
    of_rows, of_columns = (outer.first.stands, outer.second.stands), (inner.first.stands, inner.second.stands)
    standing[: rows * wide] = U0
    every = U0
    for filling in range(len(outer.first.stands)):
        every |= outer.first.stands[filling]
    for mask in range(64):
        if not every >> np.uint64(mask) & U1:
            continue
        if _mark(h, outer, of_rows, mask, rows_marked[:high]) and _mark(
            g, inner, of_columns, mask, columns_marked[:wide]
        ):
            for row in range(rows):
                if rows_marked[row >> 6] >> np.uint64(row & 63) & U1:
                    for k in range(wide):
                        standing[row * wide + k] |= columns_marked[k]
    for k in range(rows * wide):
        here[k] &= standing[k]


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
                    kx = np.int64(entry >> U40 & CLASS)
                    ky = np.int64(second.class_of[h - first.sums[kx]])
                    number = half.firsts[kx, ky] - begins[h] + np.int64(entry & POSITION)
                    number += np.int64(entry >> U20 & POSITION) * second.counts[ky]
                    table[d, n] = entry & MOVED | np.uint64(number)


@scalar
def _or_standing_wins(d, row0, rows, column0, columns, outer, inner, out, won, standing):
    """Add to `out` the boards that slide `d` wins, if there are several masks: both halves agree with one."""
    wide = _words(columns)
    every = U0
    for column in range(columns):
        every |= inner.stands[d, column0 + column]
    for mask in range(64):
        if not every >> np.uint64(mask) & U1:
            continue
        won[:wide] = U0
        standing[:wide] = U0
        for column in range(columns):
            if inner.stands[d, column0 + column] >> np.uint64(mask) & U1:
                bit = U1 << np.uint64(column & 63)
                standing[column >> 6] |= bit
                if inner.table[d, column0 + column] & WIN:
                    won[column >> 6] |= bit
        for row in range(rows):
            if outer.stands[d, row0 + row] >> np.uint64(mask) & U1:
                winning = bool(outer.table[d, row0 + row] & WIN)
                for k in range(wide):
                    out[row * wide + k] |= standing[k] if winning else won[k]


@scalar
def _or_slides(h, g, outer, inner, here, out, scratch):
    """Add to `out` the boards from which some slide leads to one that is won `here`."""
    transposed, taken, back, square = scratch.transposed, scratch.taken, scratch.back, scratch.square
    moved, won, standing = scratch.first_row, scratch.second_row, scratch.third_row
    row0, column0 = outer.begins[h], inner.begins[g]
    rows, columns = outer.begins[h + 1] - row0, inner.begins[g + 1] - column0
    wide, high = _words(columns), _words(rows)
    # A row of `here` is an outer half, a column an inner one.  A slide takes each inner half to another: the
    # columns are made rows, copied as rows, and made columns again.
    _transpose(here, rows, columns, transposed, square)
    for d in range(len(outer.table)):
        # The inner halves: masks of what the slide does to them, and a row for each of those that it makes.
        moved[:wide] = U0
        won[:wide] = U0
        standing[:wide] = U0
        wins = False
        for column in range(columns):
            entry = inner.table[d, column0 + column]
            bit = U1 << np.uint64(column & 63)
            to = column * high
            if entry & MOVED:
                moved[column >> 6] |= bit
            if entry & WIN:
                won[column >> 6] |= bit
                wins = True
            if not entry & BARRED:
                standing[column >> 6] |= bit
            if entry & ENDS:
                taken[to : to + high] = U0
            else:
                _copy_row(taken, to, transposed, np.int64(entry & NUMBER) * high, high)
        # The outer halves: a row of what was transposed back for each, or what wins or stands in their own.
        _transpose(taken, columns, rows, back, square)
        if outer.stands.shape[1]:
            _or_standing_wins(d, row0, rows, column0, columns, outer, inner, out, won, standing)
            won[:wide] = U0
            standing[:wide] = U0
        for row in range(rows):
            entry = outer.table[d, row0 + row]
            to = row * wide
            if entry & BARRED:
                continue
            if entry & WIN:
                _or_row(out, to, standing, 0, wide)
                continue
            if wins:
                _or_row(out, to, won, 0, wide)
            if not entry & ENDS:
                source = np.int64(entry & NUMBER) * wide
                if entry & MOVED:
                    _or_row(out, to, back, source, wide)
                else:
                    at, begin = np.uint64(to), np.uint64(source)
                    for k in range(np.uint64(wide)):
                        out[at + k] |= back[begin + k] & moved[k]


@scalar
def _rearrange(h, units, outer, inner, from_outer, from_inner, layer, out, runs):
    """Write the matrix with the outer halves x, y and the inner halves z, w to `out`.

    It is taken from matrices with the outer halves x, z and the inner halves y, w; the boards of those that
    `layer` has not are not won.  `runs` is scratch.
    """
    x, y, z, w = outer.first, outer.second, inner.first, inner.second
    left = units - h
    wide = _words(inner.begins[left + 1] - inner.begins[left])
    to = 0
    for kx in range(len(x.sums)):
        ky = class_with(y, h - x.sums[kx])
        if ky < 0:
            continue
        blocks = 0
        for kz in range(len(z.sums)):
            kw = class_with(w, left - z.sums[kz])
            if kw >= 0:
                s = x.sums[kx] + z.sums[kz]
                row = from_outer.firsts[kx, kz] - from_outer.begins[s]
                runs[blocks, BEGIN] = layer.at[s] + row * layer.wide[s] if layer.at[s] >= 0 else -1
                runs[blocks, APART] = layer.wide[s]
                runs[blocks, COLUMN] = from_inner.firsts[ky, kw] - from_inner.begins[units - s]
                runs[blocks, ROWS] = z.counts[kz]
                runs[blocks, WIDTH] = w.counts[kw]
                blocks += 1
        for ix in range(x.counts[kx]):
            for iy in range(y.counts[ky]):
                _gather_row(layer.words, runs, blocks, ix, iy, out, to)
                to += wide


@scalar
def _gather_row(words, runs, blocks, ix, iy, out, to):
    """Write a row from runs of bits, one below the other in each block.

    A block begins at a word and a column there, has so many rows for each ix and so many bits in each run,
    and its rows are so many words apart.  The runs of one that begins at -1 are 0.
    """
    gathered, filled, at = U0, U0, np.uint64(to)
    for block in range(blocks):
        rows, n = np.uint64(runs[block, ROWS]), np.uint64(runs[block, WIDTH])
        # A block that does not exist is so many zeros: full words are written, the rest stays for later.
        if runs[block, BEGIN] < 0:
            filled += rows * n
            while filled >= U64:
                out[at] = gathered
                gathered = U0
                at += U1
                filled -= U64
            continue
        step = np.uint64(runs[block, APART])
        source = np.uint64(runs[block, BEGIN]) + np.uint64(ix) * rows * step
        column = np.uint64(runs[block, COLUMN]) + np.uint64(iy) * n
        for _ in range(rows):
            left, begin = n, column
            while left:
                # At most 64 bits of the run, from two words.  Shifts by 1 and by 63 - n make one by
                # 64 - n, which is not defined for n = 0.
                count = min(left, U64)
                k, shift = source + (begin >> U6), begin & U63
                run = (words[k] >> shift | words[k + U1] << U1 << U63 - shift) & ALL >> U64 - count
                # Without a branch, which nothing could predict: a word that is not full is written again.
                gathered |= run << filled
                out[at] = gathered
                full = filled + count >> U6
                gathered = run >> U1 >> U63 - filled if full else gathered
                filled = filled + count & U63
                at += full
                left -= count
                begin += count
            source += step
    if filled:
        out[at] = gathered


@kernel()
def slide_columns(sums, units, left, right, top, bottom, afters, columns, scratch):
    """Write to `columns` which boards some slide along columns wins: matrices by the left half."""
    for h in sums:
        size = _size(h, units - h, left, right)
        _rearrange(h, units, left, right, top, bottom, afters, scratch.other, scratch.runs)
        here = columns.words[columns.at[h] : columns.at[h] + size]
        here[:] = U0
        _or_slides(h, units - h, left, right, scratch.other, here, scratch)


@kernel()
def slide_rows(sums, units, top, bottom, left, right, columns, layer, scratch):
    """Replace afterstates in `layer` by states: won by a slide along columns, or now along rows."""
    for h in sums:
        size = _size(h, units - h, top, bottom)
        _rearrange(h, units, top, bottom, left, right, columns, scratch.other, scratch.runs)
        here = layer.words[layer.at[h] : layer.at[h] + size]
        _or_slides(h, units - h, top, bottom, here, scratch.other, scratch)
        # As a slice Numba would copy it first, for which it has no memory.
        _copy_row(here, 0, scratch.other, 0, size)


@kernel()
def join_columns(sums, units, top, bottom, left, right, columns, layer, scratch):
    """Add to states of `layer`, after `slide_rows`, what slides along other columns win."""
    for h in sums:
        size = _size(h, units - h, top, bottom)
        _rearrange(h, units, top, bottom, left, right, columns, scratch.other, scratch.runs)
        _or_row(layer.words, layer.at[h], scratch.other, 0, size)


@kernel()
def slide_alike(sums, units, top, bottom, afters, columns, scratch):
    """Do `slide_columns` where a board and its mirror image, B and C exchanged, have the same value.

    Then the matrix of the left halves is that of the top halves, and so are the slides.
    """
    for h in sums:
        size = _size(h, units - h, top, bottom)
        here = columns.words[columns.at[h] : columns.at[h] + size]
        here[:] = U0
        _or_slides(h, units - h, top, bottom, afters.words[columns.at[h] :], here, scratch)


@kernel()
def join_alike(sums, units, top, bottom, columns, layer, scratch):
    """Do `slide_rows` after `slide_alike`: what rows win is what columns win of the mirror images."""
    for h in sums:
        size = _size(h, units - h, top, bottom)
        _rearrange(h, units, top, bottom, top, bottom, columns, scratch.other, scratch.runs)
        _copy_row(layer.words, layer.at[h], scratch.other, 0, size)
        _or_row(layer.words, layer.at[h], columns.words, layer.at[h], size)


# -- reading -------------------------------------------------------------------------------------


@kernel()
def count_ones(words):
    """Count the bits that are set."""
    found = U0
    for k in range(len(words)):
        found += ones(words[k])
    return found
