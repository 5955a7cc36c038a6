"""Kernels of the dense pass over truths: a bit a board, 64 boards at a time.

The boards of a layer whose outer half has one sum are a *matrix* of bits: a row for each outer half, a
column for each inner half of the sum that is left, both in the order of `layers.dense.Half`.  Rows are
whole words, the lowest bit first; bits behind the last column are 0.

What happens in the outer half alone is the same for a whole row, and what happens in the inner half alone
for a whole column, which is a row of the matrix turned over.  So a spawn is the AND of rows of one or of the
other, and a slide takes rows of the turned matrix, then rows of that turned back.  Slides along
columns want the left and the right half instead of the top and the bottom one: to `rearrange` a matrix
moves the boards that differ in D only, neighbours in both orders.

What a kernel takes of one side are the tuples

    outer, inner    the first and the second part as in `_kernels.dense`; firsts as there;
                    ``begins[h]``, the first half whose half sum is h; the table of slides
    layer           words; ``at[h]``, where the matrix begins whose outer halves have the half sum h, -1 if
                    there is none; ``wide[h]``, the words of its rows
"""

from __future__ import annotations

import numpy as np

from tilebase._kernels.dense import ENDS, KIND, MOVED, PLACE, U20, U40, WIN, _kind
from tilebase._kernels.jit import kernel, scalar
from tilebase._kernels.scalar import U0, U1, ones

ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)
U63 = np.uint64(63)
NUMBER = MOVED - U1
LANES = 8
"""Words of a row that are turned at a time: as many as a processor's widest registers have."""
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


@scalar
def _words(bits):
    """The words that hold so many bits."""
    return (bits + 63) >> 6


@scalar
def _size(h, g, outer, inner):
    """The words of a matrix whose outer and inner halves have the half sums h and g."""
    return (outer[3][h + 1] - outer[3][h]) * _words(inner[3][g + 1] - inner[3][g])


# -- turning a matrix over -----------------------------------------------------------------------


@scalar
def _swap(upper, lower, shift, mask):
    """Exchange the bits of `upper` that lie `shift` above the mask with those of `lower` in it."""
    for k in range(len(upper)):
        moved = (upper[k] >> shift ^ lower[k]) & mask
        lower[k] ^= moved
        upper[k] ^= moved << shift


@scalar
def _turn_square(square):
    """Turn over 64 x 64 bits, `LANES` such squares beside each other."""
    rows = 32
    for mask in MASKS:
        for base in range(0, 64 * LANES, 2 * rows * LANES):
            middle = base + rows * LANES
            _swap(square[base:middle], square[middle : middle + rows * LANES], np.uint64(rows), mask)
        rows >>= 1


@scalar
def _turn(source, rows, columns, out, square):
    """Turn over a matrix of some rows and columns: `out` gets the columns as rows."""
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
                _turn_square(square)
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
            for k in range(n):
                row = (64 * i + k) * wide + w
                for lane in range(lanes):
                    square[LANES * k + lane] = source[row + lane]
            _turn_square(square)
            for lane in range(lanes):
                first = 64 * (w + lane)
                for bit in range(min(64, columns - first)):
                    out[(first + bit) * high + i] = square[LANES * bit + lane]


# -- the computer: all drops ---------------------------------------------------------------------


@scalar
def _and_row(out, to, source, row, wide):
    for k in range(wide):
        out[to + k] &= source[row + k]


@scalar
def _and_spawns(h, half, step, spawns, above, wide, out):
    """Narrow the rows of `out` to what spawns of one exponent lead to.

    `half` is an outer half with the half sum h, `step` what the spawn adds to that; `spawns` are those
    in both of its parts (`_kernels.dense`), and `above` the rows of the halves with the sum h + step.
    """
    first, second, firsts, begins = half[0], half[1], half[2], half[3]
    here = begins[h]
    for kx in range(len(first[1])):
        ky = _kind(second[2], h - first[1][kx])
        if ky < 0:
            continue
        nx, ny = first[3][kx], second[3][ky]
        row = firsts[kx, ky] - here
        start, place, source, kind = spawns[0]
        if kind[kx] >= 0:
            there = firsts[kind[kx], ky] - begins[h + step]
            for s in range(start[first[0][kx]], start[first[0][kx] + nx]):
                to, at = row + np.int64(source[s]) * ny, there + np.int64(place[s]) * ny
                _and_row(out, to * wide, above, at * wide, ny * wide)
        start, place, source, kind = spawns[1]
        if kind[ky] >= 0:
            there, more = firsts[kx, kind[ky]] - begins[h + step], second[3][kind[ky]]
            for s in range(start[second[0][ky]], start[second[0][ky] + ny]):
                to, at = row + np.int64(source[s]), there + np.int64(place[s])
                for ix in range(nx):
                    _and_row(out, (to + ix * ny) * wide, above, (at + ix * more) * wide, wide)


@scalar
def _mark(h, half, pattern, out):
    """Set bits for the halves that fit a pattern, or for those without an empty cell if it is -1.

    Returns whether there is one.
    """
    first, second = half[0], half[1]
    n, found = 0, False
    out[:] = U0
    for kx in range(len(first[1])):
        ky = _kind(second[2], h - first[1][kx])
        if ky >= 0:
            for g in range(first[0][kx], first[0][kx + 1]):
                for k in range(second[0][ky], second[0][ky + 1]):
                    if pattern < 0:
                        bit = first[4][g] == 0 and second[4][k] == 0
                    else:
                        bit = bool((first[5][g] & second[5][k]) >> np.uint64(pattern) & U1)
                    if bit:
                        out[n >> 6] |= U1 << np.uint64(n & 63)
                        found = True
                    n += 1
    return found


@kernel()
def fold_spawns(
    sums, half, outer, inner, outer_spawns, inner_spawns, steps, patterns, ups, out, room, square
):
    """Write the afterstates of some matrices to a layer: won if all drops leave a state that is won.

    `sums` are the half sums of their outer halves, `half` that of the boards.  ``steps[k]`` is what the k-th
    kind of spawn adds to that, ``ups[k]`` the layer of states that it leads to.  A board without an empty
    cell counts as lost, one that holds a pattern as won.  `room`: four matrices and two rows; `square`: 64
    rows of `LANES` words.
    """
    words, at, wides = out[0], out[1], out[2]
    turned, found, marks, other = room[0], room[1], room[4], room[5]
    for h in sums:
        g = half - h
        rows, columns = outer[3][h + 1] - outer[3][h], inner[3][g + 1] - inner[3][g]
        wide, high = wides[h], _words(rows)
        found[: columns * high] = ALL
        for k in range(len(steps)):
            step, above = steps[k], ups[k]
            if g + step + 1 < len(inner[3]) and above[1][h] >= 0:
                more = inner[3][g + step + 1] - inner[3][g + step]
                _turn(above[0][above[1][h] :], rows, more, turned, square)
                _and_spawns(g, inner, step, inner_spawns[k], turned, high, found)
        here = words[at[h] : at[h] + rows * wide]
        _turn(found, columns, rows, here, square)
        for k in range(len(steps)):
            step, above = steps[k], ups[k]
            if h + step + 1 < len(outer[3]) and above[1][h + step] >= 0:
                _and_spawns(h, outer, step, outer_spawns[k], above[0][above[1][h + step] :], wide, here)
        for pattern in range(-1, patterns):
            if _mark(h, outer, pattern, other[:high]) and _mark(g, inner, pattern, marks[:wide]):
                for row in range(rows):
                    if other[row >> 6] >> np.uint64(row & 63) & U1:
                        for k in range(wide):
                            if pattern < 0:
                                here[row * wide + k] &= ~marks[k]
                            else:
                                here[row * wide + k] |= marks[k]


# -- the player: the best slide ------------------------------------------------------------------


@kernel()
def number_targets(half, h):
    """Write to the table where slides of the halves of one sum lead: their number, not classes and places."""
    first, second, firsts, begins, table = half
    for d in range(len(table)):
        for n in range(begins[h], begins[h + 1]):
            entry = table[d, n]
            if not entry & ENDS:
                kind = np.int64(entry >> U40 & KIND)
                other = np.int64(second[2][h - first[1][kind]])
                place = np.int64(entry >> U20 & PLACE) * second[3][other] + np.int64(entry & PLACE)
                table[d, n] = entry & MOVED | np.uint64(firsts[kind, other] - begins[h] + place)


@scalar
def _raise_to_slides(h, g, outer, inner, here, out, room, square):
    """Add to `out` the boards from which some slide leads to one that is won `here`.

    h and g are the half sums of the outer and the inner halves.
    """
    turned, taken, back, moved, won = room[0], room[1], room[2], room[4], room[5]
    row0, column0 = outer[3][h], inner[3][g]
    rows, columns = outer[3][h + 1] - row0, inner[3][g + 1] - column0
    wide, high = _words(columns), _words(rows)
    _turn(here, rows, columns, turned, square)
    for d in range(len(outer[4])):
        moved[:wide] = U0
        won[:wide] = U0
        for column in range(columns):
            entry = inner[4][d, column0 + column]
            bit = U1 << np.uint64(column & 63)
            to = column * high
            if entry & MOVED:
                moved[column >> 6] |= bit
            if entry & WIN:
                won[column >> 6] |= bit
            if entry & ENDS:
                taken[to : to + high] = U0
            else:
                source = np.int64(entry & NUMBER) * high
                for k in range(high):
                    taken[to + k] = turned[source + k]
        _turn(taken, columns, rows, back, square)
        for row in range(rows):
            entry = outer[4][d, row0 + row]
            to = row * wide
            if entry & WIN:
                for k in range(wide):
                    out[to + k] = ALL
                if columns & 63:
                    out[to + wide - 1] = (U1 << np.uint64(columns & 63)) - U1
                continue
            for k in range(wide):
                out[to + k] |= won[k]
            if not entry & ENDS:
                source = np.int64(entry & NUMBER) * wide
                if entry & MOVED:
                    for k in range(wide):
                        out[to + k] |= back[source + k]
                else:
                    for k in range(wide):
                        out[to + k] |= back[source + k] & moved[k]


@scalar
def _rearrange(h, half, outer, inner, from_outer, from_inner, layer, out, runs):
    """Write the matrix with the outer halves x, y and the inner halves z, w to `out`.

    It is taken from matrices with the outer halves x, z and the inner halves y, w; `runs` is room.
    """
    x, y, z, w = outer[0], outer[1], inner[0], inner[1]
    words, at, wides = layer[0], layer[1], layer[2]
    left = half - h
    wide = _words(inner[3][left + 1] - inner[3][left])
    to = 0
    for kx in range(len(x[1])):
        ky = _kind(y[2], h - x[1][kx])
        if ky < 0:
            continue
        blocks = 0
        for kz in range(len(z[1])):
            kw = _kind(w[2], left - z[1][kz])
            if kw >= 0:
                s = x[1][kx] + z[1][kz]
                runs[blocks, 0] = at[s] + (from_outer[2][kx, kz] - from_outer[3][s]) * wides[s]
                runs[blocks, 1] = wides[s]
                runs[blocks, 2] = from_inner[2][ky, kw] - from_inner[3][half - s]
                runs[blocks, 3] = z[3][kz]
                runs[blocks, 4] = w[3][kw]
                blocks += 1
        for ix in range(x[3][kx]):
            for iy in range(y[3][ky]):
                _gather_row(words, runs, blocks, ix, iy, out, to)
                to += wide


@scalar
def _gather_row(words, runs, blocks, ix, iy, out, to):
    """Write a row from runs of bits, one below the other in each block."""
    gathered, filled = U0, np.int64(0)
    for block in range(blocks):
        step, rows, n = runs[block, 1], runs[block, 3], runs[block, 4]
        source = runs[block, 0] + ix * rows * step
        column = runs[block, 2] + iy * n
        for _ in range(rows):
            for begin in range(column, column + n, 64):
                count = min(column + n - begin, 64)
                k, shift = source + (begin >> 6), np.uint64(begin & 63)
                run = words[k] >> shift | words[k + 1] << U1 << U63 - shift
                run &= ALL >> np.uint64(64 - count)
                gathered |= run << np.uint64(filled)
                if filled + count >= 64:
                    out[to] = gathered
                    to += 1
                    gathered = run >> U1 >> np.uint64(63 - filled)
                filled = filled + count & 63
            source += step
    if filled:
        out[to] = gathered


@kernel()
def slide_columns(sums, half, outer, inner, top, bottom, afters, out, room, square, runs):
    """Which boards some slide along columns wins, in matrices by the left half (`outer`), to `out`."""
    words, at = out[0], out[1]
    for h in sums:
        size = _size(h, half - h, outer, inner)
        _rearrange(h, half, outer, inner, top, bottom, afters, room[3], runs)
        here = words[at[h] : at[h] + size]
        here[:] = U0
        _raise_to_slides(h, half - h, outer, inner, room[3], here, room, square)


@kernel()
def slide_rows(sums, half, outer, inner, left, right, columns, layer, room, square, runs):
    """Put states in the place of afterstates: won by a slide along columns, or now along rows."""
    words, at = layer[0], layer[1]
    for h in sums:
        size = _size(h, half - h, outer, inner)
        _rearrange(h, half, outer, inner, left, right, columns, room[3], runs)
        here = words[at[h] : at[h] + size]
        _raise_to_slides(h, half - h, outer, inner, here, room[3], room, square)
        for k in range(size):  # as a slice Numba would copy it first, for which it has no memory
            here[k] = room[3][k]


@kernel()
def slide_alike(sums, half, outer, inner, afters, out, room, square):
    """`slide_columns` where a board and its mirror image, B and C exchanged, are worth the same.

    Then the matrix of the left halves is that of the top halves, and so are the slides.
    """
    words, at = out[0], out[1]
    for h in sums:
        size = _size(h, half - h, outer, inner)
        here = words[at[h] : at[h] + size]
        here[:] = U0
        _raise_to_slides(h, half - h, outer, inner, afters[0][at[h] :], here, room, square)


@kernel()
def join_alike(sums, half, outer, inner, columns, layer, room, runs):
    """`slide_rows` after `slide_alike`: what rows win is what columns win of the mirror images."""
    words, at = layer[0], layer[1]
    for h in sums:
        size = _size(h, half - h, outer, inner)
        _rearrange(h, half, outer, inner, outer, inner, columns, room[3], runs)
        for k in range(size):
            words[at[h] + k] = room[3][k] | columns[0][at[h] + k]


# -- reading -------------------------------------------------------------------------------------


@kernel()
def count_ones(words):
    """The number of bits that are set."""
    found = U0
    for k in range(len(words)):
        found += ones(words[k])
    return found
