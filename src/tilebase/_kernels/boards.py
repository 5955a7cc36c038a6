"""Kernels on buffers of keys: permuting cells, canonical form, orbit sizes, slide tables.

A permutation of cells is a few swaps, or a union of masked rotations (`arguments.Permutations`).  Loops run
over the buffer inside the loop over these, so LLVM vectorises them; a buffer of 1024 keys stays in the
first-level cache.  Of the usual boards, one loop makes all images: it keeps them in registers, and takes
a third (4x4) to three quarters (3x3) of the time.
"""

from __future__ import annotations

import numpy as np
from numba import types

from tilebase._kernels.arguments import (
    BY_BYTES,
    RECTANGLE,
    SQUARE,
    BoardRules,
    Permutations,
    Scratch,
)
from tilebase._kernels.jit import WORDS, WORDS_2, N, kernel, linked, scalar
from tilebase._kernels.scalar import (
    U0,
    U1,
    U63,
    U64,
    free_cells,
    has_spot,
    holds,
    ones,
    reverse_line,
    slide_line,
    stands,
    swap_bytes,
    within,
)

WIN = np.uint64(1 << 62)
FORBIDDEN = np.uint64(1 << 63)
GATHER = np.uint64(0x0102040810204080)
"""Times a word of eight bytes that are 0 or 1: the highest byte of the product has them as bits, in order."""
SEVEN_BYTES = np.uint64(56)
RIGHT = np.uint64(24)
U4, U8, U12, U24 = np.uint64(4), np.uint64(8), np.uint64(12), np.uint64(24)
NIBBLES, BYTES = np.uint64(0x0F0F_0F0F_0F0F_0F0F), np.uint64(0x00FF_00FF_00FF_00FF)
IN_BLOCKS, BLOCKS = np.uint64(0x0000_F0F0_0000_F0F0), np.uint64(0xFF00_FF00)
"""What a reflection over the diagonal of a 4x4 board swaps: two cells of each 2x2 block, and two blocks."""
LINE = np.uint64((1 << 20) - 1)


@scalar
def _rotl(value, r):
    return value << r | value >> ((U64 - r) & U63)


@scalar
def _swapped(key, mask, distance):
    """Exchange the cells of a mask with those `distance` bits above them."""
    differing = (key ^ key >> distance) & mask
    return key ^ differing ^ differing << distance


@linked(types.void, WORDS, N, Permutations, N, WORDS)
def permute(source, n, way, j, out):
    """Move cells: ``out[i]`` is ``source[i]`` under permutation `j`; see `arguments.Permutations`."""
    masks, shifts, swaps = way.masks[j], way.rotations[j], way.swaps[j]
    if swaps == 0:
        _rotate(source, n, masks, shifts, way.terms[j], out)
        return
    m0, m1, m2 = masks[0], masks[1], masks[2]
    r0, r1, r2 = shifts[0], shifts[1], shifts[2]
    if swaps == 1:
        for i in range(n):
            out[i] = _swapped(source[i], m0, r0)
    elif swaps == 2:
        for i in range(n):
            out[i] = _swapped(_swapped(source[i], m0, r0), m1, r1)
    else:
        for i in range(n):
            out[i] = _swapped(_swapped(_swapped(source[i], m0, r0), m1, r1), m2, r2)


@scalar
def _rotate(source, n, masks, rotations, terms, out):
    for t in range(0, terms, 4):
        m0, m1, m2, m3 = masks[t], masks[t + 1], masks[t + 2], masks[t + 3]
        r0, r1, r2, r3 = rotations[t], rotations[t + 1], rotations[t + 2], rotations[t + 3]
        if t == 0:
            for i in range(n):
                k = source[i]
                out[i] = _rotl(k & m0, r0) | _rotl(k & m1, r1) | _rotl(k & m2, r2) | _rotl(k & m3, r3)
        else:
            for i in range(n):
                k = source[i]
                out[i] |= _rotl(k & m0, r0) | _rotl(k & m1, r1) | _rotl(k & m2, r2) | _rotl(k & m3, r3)


@scalar
def _swap_images(here, n, masks, shifts, swaps, there, keys):
    """Permute by swaps, and lower `keys` to the result, in one loop."""
    m0, m1, m2 = masks[0], masks[1], masks[2]
    r0, r1, r2 = shifts[0], shifts[1], shifts[2]
    if swaps == 1:
        for i in range(n):
            image = _swapped(here[i], m0, r0)
            there[i] = image
            keys[i] = min(keys[i], image)
    elif swaps == 2:
        for i in range(n):
            image = _swapped(_swapped(here[i], m0, r0), m1, r1)
            there[i] = image
            keys[i] = min(keys[i], image)
    else:
        for i in range(n):
            image = _swapped(_swapped(_swapped(here[i], m0, r0), m1, r1), m2, r2)
            there[i] = image
            keys[i] = min(keys[i], image)


@scalar
def _least_flip(board):
    """Return the least of a 4x4 board of four bits a cell flipped left to right, top to bottom, and both."""
    # A row is two bytes of two cells.  To swap all bytes of the key reverses the rows, and the bytes within
    # each; to swap neighbouring bytes, or the cells of each byte, then reverses one of both again.
    reverse = swap_bytes(board)  # rows from the last to the first, and both bytes of each in turn
    rows = reverse >> U8 & BYTES | (reverse & BYTES) << U8
    both = reverse >> U4 & NIBBLES | (reverse & NIBBLES) << U4
    reverse = swap_bytes(rows)  # both bytes of each row in turn
    return min(min(rows, both), reverse >> U4 & NIBBLES | (reverse & NIBBLES) << U4)


@linked(types.void, WORDS, N, WORDS, optional=True)
def fold_bytes(boards, n, keys):
    """Do as `fold_images` for all symmetries of 4x4 boards of four bits a cell: 46 operations, not 84."""
    for i in range(n):
        board = boards[i]
        mirrored = _swapped(_swapped(board, IN_BLOCKS, U12), BLOCKS, U24)
        keys[i] = min(min(keys[i], mirrored), min(_least_flip(board), _least_flip(mirrored)))


@linked(types.void, WORDS, N, Permutations, WORDS, optional=True)
def fold_square(boards, n, symmetries, keys):
    """Do as `fold_images` for seven steps of one swap, the middle one of two, or one and no mask."""
    masks, shifts = symmetries.masks, symmetries.rotations
    m0, m1, m2, m3, m4 = masks[0, 0], masks[1, 0], masks[2, 0], masks[3, 0], masks[3, 1]
    r0, r1, r2, r3, r4 = shifts[0, 0], shifts[1, 0], shifts[2, 0], shifts[3, 0], shifts[3, 1]
    m5, m6, m7 = masks[4, 0], masks[5, 0], masks[6, 0]
    r5, r6, r7 = shifts[4, 0], shifts[5, 0], shifts[6, 0]
    for i in range(n):
        first = _swapped(boards[i], m0, r0)
        second = _swapped(first, m1, r1)
        third = _swapped(second, m2, r2)
        fourth = _swapped(_swapped(third, m3, r3), m4, r4)
        fifth = _swapped(fourth, m5, r5)
        sixth = _swapped(fifth, m6, r6)
        seventh = _swapped(sixth, m7, r7)
        least = min(min(first, second), min(third, fourth))
        keys[i] = min(min(keys[i], least), min(min(fifth, sixth), seventh))


@linked(types.void, WORDS, N, Permutations, WORDS, optional=True)
def fold_rectangle(boards, n, symmetries, keys):
    """Do as `fold_images` for three steps, of which the second has two swaps, or one and no mask."""
    masks, shifts = symmetries.masks, symmetries.rotations
    m0, m1, m2, m3 = masks[0, 0], masks[1, 0], masks[1, 1], masks[2, 0]
    r0, r1, r2, r3 = shifts[0, 0], shifts[1, 0], shifts[1, 1], shifts[2, 0]
    for i in range(n):
        first = _swapped(boards[i], m0, r0)
        second = _swapped(_swapped(first, m1, r1), m2, r2)
        keys[i] = min(min(keys[i], first), min(second, _swapped(second, m3, r3)))


@scalar
def _fold_stepwise(n, symmetries, images, keys):
    """Do as `fold_images`, one image of all boards after the other."""
    # The j-th permutation makes image j + 1 from image j: both buffers change roles in each step.
    here, there = images[0], images[1]
    for j in range(len(symmetries.terms)):
        if symmetries.swaps[j]:
            _swap_images(
                here, n, symmetries.masks[j], symmetries.rotations[j], symmetries.swaps[j], there, keys
            )
        else:
            permute(here, n, symmetries, j, there)
            for i in range(n):
                keys[i] = min(keys[i], there[i])
        here, there = there, here


@linked(types.void, N, Permutations, WORDS_2, WORDS)
def fold_images(n, symmetries, images, keys):
    """Lower each of `keys` to the least image, the board itself left out, of the board in ``images[0]``."""
    if symmetries.way == BY_BYTES:
        fold_bytes(images[0], n, keys)
    elif symmetries.way == SQUARE:
        fold_square(images[0], n, symmetries, keys)
    elif symmetries.way == RECTANGLE:
        fold_rectangle(images[0], n, symmetries, keys)
    else:
        _fold_stepwise(n, symmetries, images, keys)


@linked(types.void, WORDS, N, Permutations, WORDS_2)
def canonicalise(keys, n, symmetries, images):
    """Replace keys by the least of their orbits; `images` is two buffers."""
    if len(symmetries.terms) == 0:
        return
    here = images[0]
    for i in range(n):
        here[i] = keys[i]
    fold_images(n, symmetries, images, keys)


@linked(N, types.uint64, Permutations, WORDS_2)
def stabiliser(key, symmetries, images):
    """Count the symmetries that leave a board as it is, the identity included."""
    here, there = images[0], images[1]
    here[0] = key
    count = 1
    for j in range(len(symmetries.terms)):
        permute(here, 1, symmetries, j, there)
        count += there[0] == key
        here, there = there, here
    return count


@kernel()
def build_line_table(cells, bits, unmergeable, goal, top, walls, out):
    """Write ``out[word]``: both slides of a line, and what they make.

    Bits 0..19 hold the slide towards the first cell, bits 24..43 the one towards the last;
    `WIN` is set if a merge makes `goal` (0: none) or more, `FORBIDDEN` if one makes more
    than `top`.  Both slides make the same tiles: each run of k equal tiles merges k // 2 times.
    """
    for w in range(len(out)):
        # The slide towards the last cell is that of the reversed line towards the first, reversed again.
        word = np.uint64(w)
        left, made = slide_line(word, cells, bits, walls, unmergeable)
        right, _ = slide_line(
            reverse_line(word, cells, bits), cells, bits, reverse_line(walls, cells, U1), unmergeable
        )
        entry = left | reverse_line(right, cells, bits) << RIGHT
        if goal and made >= goal:
            entry |= WIN
        elif made > top:
            entry |= FORBIDDEN
        out[w] = entry


@linked(types.void, WORDS, N, types.uint64, types.uint64, WORDS, WORDS, WORDS, WORDS, WORDS, optional=True)
def slide_by_table(boards, n, lines, line_bits, table, begins, out_first, out_last, out_flags):
    """Slide along the rows of `boards` both ways; a row is `line_bits` wide, the last row lowest."""
    mask = (U1 << line_bits) - U1
    b0, b1, b2, b3 = begins[0], begins[1], begins[2], begins[3]
    # Up to four rows: one loop looks all of them up and keeps the results in registers.
    if lines <= 3:
        # Rows that are not there are empty, and the entry of an empty row is 0.
        s1, s2 = line_bits, line_bits * np.uint64(2)
        for i in range(n):
            board = boards[i]
            e0, e1 = table[b0 + (board & mask)], table[b1 + (board >> s1 & mask)]
            e2 = table[b2 + (board >> s2 & mask)]
            out_first[i] = e0 & LINE | (e1 & LINE) << s1 | (e2 & LINE) << s2
            e0, e1, e2 = e0 >> RIGHT, e1 >> RIGHT, e2 >> RIGHT
            out_last[i] = e0 & LINE | (e1 & LINE) << s1 | (e2 & LINE) << s2
            # Shifted like this, the flags are still above everything else.
            out_flags[i] = (e0 | e1 | e2) << RIGHT
        return
    if lines == 4:
        s1, s2, s3 = line_bits, line_bits * np.uint64(2), line_bits * np.uint64(3)
        for i in range(n):
            board = boards[i]
            e0, e1 = table[b0 + (board & mask)], table[b1 + (board >> s1 & mask)]
            e2, e3 = table[b2 + (board >> s2 & mask)], table[b3 + (board >> s3 & mask)]
            out_first[i] = e0 & LINE | (e1 & LINE) << s1 | (e2 & LINE) << s2 | (e3 & LINE) << s3
            e0, e1, e2, e3 = e0 >> RIGHT, e1 >> RIGHT, e2 >> RIGHT, e3 >> RIGHT
            out_last[i] = e0 & LINE | (e1 & LINE) << s1 | (e2 & LINE) << s2 | (e3 & LINE) << s3
            out_flags[i] = (e0 | e1 | e2 | e3) << RIGHT
        return
    # More rows: one loop for each adds its slides to what is there.
    for i in range(n):
        out_first[i] = U0
        out_last[i] = U0
        out_flags[i] = U0
    for k in range(lines):
        shift = np.uint64(k) * line_bits
        for i in range(n):
            entry = table[begins[k] + (boards[i] >> shift & mask)]
            out_first[i] |= (entry & LINE) << shift
            out_last[i] |= (entry >> RIGHT & LINE) << shift
            out_flags[i] |= entry


@linked(
    types.void, WORDS, N, types.uint64, types.uint64, types.uint32[::1], WORDS, WORDS, WORDS, optional=True
)
def slide_by_pair(boards, n, lines, line_bits, pairs, begins, out_first, out_last):
    """Slide lines of at most 16 bits without flags, as `slide_by_table`; smaller tables stay in cache.

    Up to four lines are put together at once: the entries of lines 0 and 2 in one word, and those of lines
    1 and 3 in another, take turns with `line_bits` of the slide to either end.
    """
    mask = (U1 << line_bits) - U1
    s1, s2, s3 = line_bits, line_bits * np.uint64(2), line_bits * np.uint64(3)
    b0, b1, b2, b3 = begins[0], begins[1], begins[2], begins[3]
    even = mask | mask << s2
    odd = even << s1
    # An entry is the slide to the last cell above that to the first; l0 is line 0 slid to its last cell:
    #
    #     e0 | e2 << 2 s:   l2  f2  l0  f0       & even  ->   .   f2  .   f0
    #     e1 | e3 << 2 s:   l3  f3  l1  f1       & odd   ->   l3  .   l1  .
    if lines == 4:
        for i in range(n):
            board = boards[i]
            e0, e1 = np.uint64(pairs[b0 + (board & mask)]), np.uint64(pairs[b1 + (board >> s1 & mask)])
            e2, e3 = np.uint64(pairs[b2 + (board >> s2 & mask)]), np.uint64(pairs[b3 + (board >> s3 & mask)])
            e0 |= e2 << s2
            e1 |= e3 << s2
            out_first[i] = e0 & even | (e1 & even) << s1
            out_last[i] = e0 >> s1 & even | e1 & odd
        return
    if lines <= 3:
        # Rows that are not there are empty, and the entry of an empty row is 0.
        for i in range(n):
            board = boards[i]
            e0, e1 = np.uint64(pairs[b0 + (board & mask)]), np.uint64(pairs[b1 + (board >> s1 & mask)])
            e0 |= np.uint64(pairs[b2 + (board >> s2 & mask)]) << s2
            out_first[i] = e0 & even | (e1 & even) << s1
            out_last[i] = e0 >> s1 & even | e1 & odd
        return
    # More rows: one loop for each.
    for i in range(n):
        out_first[i] = U0
        out_last[i] = U0
    for k in range(lines):
        shift = np.uint64(k) * line_bits
        for i in range(n):
            entry = np.uint64(pairs[begins[k] + (boards[i] >> shift & mask)])
            out_first[i] |= (entry & mask) << shift
            out_last[i] |= entry >> line_bits << shift


@linked(types.void, WORDS, N, N, BoardRules, WORDS, WORDS, WORDS, optional=True)
def slide_by_cell(boards, n, axis, rules, out_first, out_last, out_flags):
    """Slide lines that are too long for a table, as `slide_by_table`."""
    lines, cells, walls = rules.axes.lines[axis], rules.axes.cells[axis], rules.axes.walls[axis]
    bits, unmergeable, goal, top = rules.bits, rules.unmergeable, rules.goal, rules.top
    line_bits = cells * bits
    # A shift by 64 is undefined, and a 1 x 16 board has a line of 64 bits.
    mask = ~U0 if line_bits >= U64 else (U1 << line_bits) - U1
    for i in range(n):
        first, last, flags = U0, U0, U0
        # Line by line, as `build_line_table` does it for all words.
        for k in range(lines):
            shift = np.uint64(k) * line_bits
            word = boards[i] >> shift & mask
            left, made = slide_line(word, cells, bits, walls[k], unmergeable)
            right, _ = slide_line(
                reverse_line(word, cells, bits), cells, bits, reverse_line(walls[k], cells, U1), unmergeable
            )
            first |= left << shift
            last |= reverse_line(right, cells, bits) << shift
            if goal and made >= goal:
                flags |= WIN
            elif made > top:
                flags |= FORBIDDEN
        out_first[i], out_last[i], out_flags[i] = first, last, flags


@scalar
def _slide_rows(boards, n, axis, rules, scratch):
    """Slide boards whose rows are the lines of an axis: by table where those are short and free."""
    first, last, flags, axes = scratch.first, scratch.last, scratch.flags, rules.axes
    begins = axes.begins[axis]
    if axes.by_pair[axis]:
        line_bits = axes.cells[axis] * rules.bits
        slide_by_pair(boards, n, axes.lines[axis], line_bits, axes.pairs[axis], begins, first, last)
    elif axes.by_table[axis]:
        line_bits = axes.cells[axis] * rules.bits
        slide_by_table(boards, n, axes.lines[axis], line_bits, axes.tables[axis], begins, first, last, flags)
    else:
        slide_by_cell(boards, n, axis, rules, first, last, flags)


@scalar
def _judge(slid, n, rows, flags, flagged, masks, keep):
    """Write ``keep[i]``: 1 if a slide is allowed and changes the board, otherwise 0.

    With one mask, its x must stand.  LLVM vectorises these loops, since they only judge and do not collect.
    """
    if len(masks) == 1:
        mask = masks[0]
        for i in range(n):
            keep[i] = np.uint8((slid[i] & mask == mask) & (slid[i] != rows[i]))
    else:
        for i in range(n):
            keep[i] = np.uint8(slid[i] != rows[i])
    if flagged:
        for i in range(n):
            keep[i] &= np.uint8(flags[i] & (WIN | FORBIDDEN) == U0)


@scalar
def _collect(slid, n, scratch, kept, tag, out):
    """Append to `out` the slides that are kept, with their tags; return how many there are.

    First the tags are collected, then the boards.  Eight slides are collected at once: their bytes become
    eight bits, and `picks` has the numbers of the bits that are set.
    """
    keep, eights, picks, tags = scratch.keep, scratch.eights, scratch.picks, scratch.tags
    first, at = kept, np.uint64(kept)  # unsigned: an index that is not negative for certain
    # The last word may have fewer than eight slides.
    for i in range(n, (n + 7) & ~7):
        keep[i] = 0
    # Eight tags are written for each word, of which the next word overwrites those behind the ones kept:
    #
    #     keep      1 0 0 1 0 0 0 0 | 0 1 ...       bits of the first word: 0 and 3
    #     tags      t+0 t+3 (t+0 six times)         the next word begins at the third
    for g in range((n + 7) >> 3):
        word = eights[g]
        bits = word * GATHER >> SEVEN_BYTES
        for k in range(8):
            tags[at + np.uint64(k)] = tag + (g << 3) + np.int64(picks[bits, k])
        at += ones(word)
    # The boards that these tags name.
    kept = np.int64(at)
    for j in range(first, kept):
        out[j] = slid[np.uint64(tags[j] - tag)]
    return kept


@scalar
def _allowed(rows, n, flagged, scratch, stride, masks, out):
    """Collect in `out` the allowed slides that change a board, with their tags; return how many.

    With masks, boards whose x do not cover one of them are left out here, since most are with few masks.
    """
    tags, flags, keep = scratch.tags, scratch.flags, scratch.keep
    _judge(scratch.first, n, rows, flags, flagged, masks, keep)
    m = _collect(scratch.first, n, scratch, np.int64(0), np.int64(0), out)
    _judge(scratch.last, n, rows, flags, flagged, masks, keep)
    m = _collect(scratch.last, n, scratch, m, stride, out)
    # Here and below, all boards are written and the position moves on for those that stay: no branch.
    if len(masks) > 1:
        kept = 0
        for j in range(m):
            board = out[j]
            out[kept] = board
            tags[kept] = tags[j]
            kept += stands(board, masks)
        m = kept
    return m


@scalar
def _mark_wins(flags, n, stride, marks):
    """Mark the slides that win; most batches have none."""
    found = U0
    for i in range(n):
        found |= flags[i]
    if found & WIN:
        for i in range(n):
            if flags[i] & WIN:
                marks[i] = 1
                marks[stride + i] = 1


@linked(N, WORDS, N, types.int64[::1], BoardRules, optional=True)
def keep_within(boards, n, tags, rules):
    """Remove boards that exceed a cell's limit, and their tags."""
    kept = 0
    for j in range(n):
        boards[kept] = boards[j]
        tags[kept] = tags[j]
        kept += within(boards[j], rules)
    return kept


@scalar
def _keep_unwon(boards, n, tags, rules, marks):
    """Remove boards with a tile on a cell where it wins, and their tags; mark the slides that make them."""
    spots, fold = rules.spots, rules.fold
    kept = 0
    # One tile: a cell that holds it is empty after an XOR with that tile on every cell.  Most batches have
    # none, which a loop that only collects bits finds fast.
    if len(spots) == 1:
        tile, cells = spots[0, 0], spots[0, 1]
        found = U0
        for j in range(n):
            found |= free_cells(boards[j] ^ tile, cells, fold)
        if found == U0:
            return n
        for j in range(n):
            board, tag = boards[j], tags[j]
            won = free_cells(board ^ tile, cells, fold) != U0
            boards[kept] = board
            tags[kept] = tag
            kept += not won
            if won:  # seldom
                marks[tag] = 1
        return kept
    # Several tiles, each on cells of its own.
    for j in range(n):
        board, tag = boards[j], tags[j]
        won = has_spot(board, spots, fold)
        boards[kept] = board
        tags[kept] = tag
        kept += not won
        if won:
            marks[tag] = 1
    return kept


@linked(N, WORDS, N, types.int64[::1], WORDS_2, types.uint8[::1], optional=True)
def keep_open(boards, n, tags, patterns, marks):
    """Remove boards that hold a pattern, and their tags; mark the slides that make them."""
    kept = 0
    for j in range(n):
        if holds(boards[j], patterns):
            marks[tags[j]] = 1
        else:
            boards[kept] = boards[j]
            tags[kept] = tags[j]
            kept += 1
    return kept


@linked(N, WORDS, N, N, BoardRules, Scratch, N, types.uint8[::1])
def slide_states(states, n, axis, rules, scratch, stride, marks):
    """Slide states along one axis: the one way from states to afterstates.

    The afterstates of allowed slides that do not win come to `scratch.boards`, not canonical yet.
    The slide of ``states[i]`` towards the first cells has the tag i, the other one ``stride + i``;
    ``scratch.tags[j]`` is that of the j-th afterstate, and ``marks[tag]`` becomes 1 where a slide wins.
    Returns how many afterstates there are.
    """
    boards, tags, axes = scratch.boards, scratch.tags, rules.axes
    # Rearrange the cells so that the lines along the axis are rows of the key.
    rows = states
    if axes.permuted[axis]:
        rows = scratch.permuted
        permute(states, n, axes.rows, axis, rows)
    _slide_rows(rows, n, axis, rules, scratch)
    if rules.goal:
        _mark_wins(scratch.flags, n, stride, marks)
    # Drop slides that change nothing, are flagged, or leave every mask; then give the cells their order.
    # A permutation that is a symmetry needs no such step, since boards become canonical afterwards.
    flagged = not axes.by_pair[axis]
    if axes.restored[axis]:
        m = _allowed(rows, n, flagged, scratch, stride, axes.masks[axis], scratch.slid)
        permute(scratch.slid, m, axes.back, axis, boards)
    else:
        m = _allowed(rows, n, flagged, scratch, stride, axes.masks[axis], boards)
    # Mark and drop what wins by the goal or a pattern of one tile, then drop what breaks a limit, and only
    # then look for patterns: a pattern wins only if it breaks no limit.
    if len(rules.spots):
        m = _keep_unwon(boards, m, tags, rules, marks)
    if rules.limited:
        m = keep_within(boards, m, tags, rules)
    if len(rules.patterns):
        m = keep_open(boards, m, tags, rules.patterns, marks)
    return m
