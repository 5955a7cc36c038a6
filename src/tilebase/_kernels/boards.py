"""Kernels on buffers of keys: permuting cells, canonical form, orbit sizes, slide tables.

A permutation of cells is a sum of masked rotations, ``rotl(key & mask, r)``, one term for
each distance that cells travel.  Loops run over the buffer inside the loop over terms, so
LLVM vectorises them; a buffer of 1024 keys stays in the first-level cache.
"""

from __future__ import annotations

import numpy as np

from tilebase._kernels.jit import kernel, scalar
from tilebase._kernels.scalar import (
    U0,
    U1,
    U63,
    U64,
    holds,
    reverse_flags,
    reverse_line,
    slide_line,
    within,
)

WIN = np.uint64(1 << 62)
FORBIDDEN = np.uint64(1 << 63)
RIGHT = np.uint64(24)
LINE = np.uint64((1 << 20) - 1)


@scalar
def _rotl(value, r):
    return value << r | value >> ((U64 - r) & U63)


@kernel()
def permute(source, n, masks, turns, terms, out):
    """Move cells: ``out[i]`` is ``source[i]`` permuted; terms come in groups of four, zero padded."""
    for t in range(0, terms, 4):
        m0, m1, m2, m3 = masks[t], masks[t + 1], masks[t + 2], masks[t + 3]
        r0, r1, r2, r3 = turns[t], turns[t + 1], turns[t + 2], turns[t + 3]
        if t == 0:
            for i in range(n):
                k = source[i]
                out[i] = _rotl(k & m0, r0) | _rotl(k & m1, r1) | _rotl(k & m2, r2) | _rotl(k & m3, r3)
        else:
            for i in range(n):
                k = source[i]
                out[i] |= _rotl(k & m0, r0) | _rotl(k & m1, r1) | _rotl(k & m2, r2) | _rotl(k & m3, r3)


@kernel()
def _step2(here, n, masks, turns, there, keys):
    m0, m1, r0, r1 = masks[0], masks[1], turns[0], turns[1]
    for i in range(n):
        k = here[i]
        image = _rotl(k & m0, r0) | _rotl(k & m1, r1)
        there[i] = image
        keys[i] = min(keys[i], image)


@kernel()
def _step4(here, n, masks, turns, there, keys):
    m0, m1, m2, m3 = masks[0], masks[1], masks[2], masks[3]
    r0, r1, r2, r3 = turns[0], turns[1], turns[2], turns[3]
    for i in range(n):
        k = here[i]
        image = _rotl(k & m0, r0) | _rotl(k & m1, r1) | _rotl(k & m2, r2) | _rotl(k & m3, r3)
        there[i] = image
        keys[i] = min(keys[i], image)


@kernel()
def _step8(here, n, masks, turns, there, keys):
    m0, m1, m2, m3 = masks[0], masks[1], masks[2], masks[3]
    m4, m5, m6, m7 = masks[4], masks[5], masks[6], masks[7]
    r0, r1, r2, r3 = turns[0], turns[1], turns[2], turns[3]
    r4, r5, r6, r7 = turns[4], turns[5], turns[6], turns[7]
    for i in range(n):
        k = here[i]
        image = _rotl(k & m0, r0) | _rotl(k & m1, r1) | _rotl(k & m2, r2) | _rotl(k & m3, r3)
        image |= _rotl(k & m4, r4) | _rotl(k & m5, r5) | _rotl(k & m6, r6) | _rotl(k & m7, r7)
        there[i] = image
        keys[i] = min(keys[i], image)


@kernel()
def fold_images(n, masks, turns, terms, spare, keys):
    """Lower each of `keys` to the least image, the board itself left out, of the board in ``spare[0]``.

    ``masks[j], turns[j], terms[j]`` permute the j-th image into the next.  Steps of up to
    eight terms are unrolled and take the minimum on the way, a third faster than `permute`
    and a loop.
    """
    here, there = spare[0], spare[1]
    for j in range(len(terms)):
        if terms[j] <= 2:
            _step2(here, n, masks[j], turns[j], there, keys)
        elif terms[j] <= 4:
            _step4(here, n, masks[j], turns[j], there, keys)
        elif terms[j] <= 8:
            _step8(here, n, masks[j], turns[j], there, keys)
        else:
            permute(here, n, masks[j], turns[j], terms[j], there)
            for i in range(n):
                keys[i] = min(keys[i], there[i])
        here, there = there, here


@kernel()
def canonicalise(keys, n, masks, turns, terms, spare):
    """Replace keys by the least of their orbits; `spare` is two buffers."""
    here = spare[0]
    for i in range(n):
        here[i] = keys[i]
    fold_images(n, masks, turns, terms, spare, keys)


@kernel()
def stabiliser(key, masks, turns, terms, spare):
    """How many symmetries leave a board as it is, the identity included."""
    here, there = spare[0], spare[1]
    here[0] = key
    count = 1
    for j in range(len(terms)):
        permute(here, 1, masks[j], turns[j], terms[j], there)
        count += there[0] == key
        here, there = there, here
    return count


@kernel()
def build_line_table(cells, bits, x, goal, top, out):
    """``out[word]``: both slides of a line without obstacles, and what they make.

    Bits 0..19 hold the slide towards the first cell, bits 24..43 the one towards the last;
    `WIN` is set if a merge makes `goal` (0: none) or more, `FORBIDDEN` if one makes more
    than `top`.  Both slides make the same tiles: each run of k equal tiles merges k // 2 times.
    """
    for w in range(len(out)):
        word = np.uint64(w)
        left, made = slide_line(word, cells, bits, U0, x)
        right, _ = slide_line(reverse_line(word, cells, bits), cells, bits, U0, x)
        entry = left | reverse_line(right, cells, bits) << RIGHT
        if goal and made >= goal:
            entry |= WIN
        elif made > top:
            entry |= FORBIDDEN
        out[w] = entry


@kernel()
def slide_by_table(boards, n, lines, line_bits, table, out_first, out_last, out_flags):
    """Slide along the rows of `boards` both ways; a row is `line_bits` wide, the last row lowest."""
    mask = (U1 << line_bits) - U1
    if lines <= 4:
        # Rows that are not there are empty, and the entry of an empty row is 0.
        s1, s2, s3 = line_bits, line_bits * np.uint64(2), line_bits * np.uint64(3)
        for i in range(n):
            board = boards[i]
            e0, e1 = table[board & mask], table[board >> s1 & mask]
            e2, e3 = table[board >> s2 & mask], table[board >> s3 & mask]
            out_first[i] = e0 & LINE | (e1 & LINE) << s1 | (e2 & LINE) << s2 | (e3 & LINE) << s3
            e0, e1, e2, e3 = e0 >> RIGHT, e1 >> RIGHT, e2 >> RIGHT, e3 >> RIGHT
            out_last[i] = e0 & LINE | (e1 & LINE) << s1 | (e2 & LINE) << s2 | (e3 & LINE) << s3
            # Shifted like this, the flags are still above everything else.
            out_flags[i] = (e0 | e1 | e2 | e3) << RIGHT
        return
    for i in range(n):
        out_first[i] = U0
        out_last[i] = U0
        out_flags[i] = U0
    for k in range(lines):
        shift = np.uint64(k) * line_bits
        for i in range(n):
            entry = table[boards[i] >> shift & mask]
            out_first[i] |= (entry & LINE) << shift
            out_last[i] |= (entry >> RIGHT & LINE) << shift
            out_flags[i] |= entry


@kernel()
def slide_by_cell(boards, n, lines, cells, bits, obstacles, x, goal, top, out_first, out_last, out_flags):
    """The same for lines too long for a table, or with obstacles; ``obstacles[k]``: row k from the last."""
    line_bits = cells * bits
    # A shift by 64 is undefined, and a 1 x 16 board has a line of 64 bits.
    mask = ~U0 if line_bits >= U64 else (U1 << line_bits) - U1
    for i in range(n):
        first, last, flags = U0, U0, U0
        for k in range(lines):
            shift = np.uint64(k) * line_bits
            word = boards[i] >> shift & mask
            left, made = slide_line(word, cells, bits, obstacles[k], x)
            right, _ = slide_line(
                reverse_line(word, cells, bits), cells, bits, reverse_flags(obstacles[k], cells), x
            )
            first |= left << shift
            last |= reverse_line(right, cells, bits) << shift
            if goal and made >= goal:
                flags |= WIN
            elif made > top:
                flags |= FORBIDDEN
        out_first[i], out_last[i], out_flags[i] = first, last, flags


@scalar
def slide_axis(boards, n, axis, rules, tables, obstacles, first, last, flags):
    """Slide along one axis, rows being lines: by table where the lines are short and free."""
    lines, cells, by_table = rules[axis, 0], rules[axis, 1], rules[axis, 2]
    bits, x, goal, top = rules[axis, 3], rules[axis, 4], rules[axis, 5], rules[axis, 6]
    if by_table:
        slide_by_table(boards, n, lines, cells * bits, tables[axis], first, last, flags)
    else:
        slide_by_cell(boards, n, lines, cells, bits, obstacles[axis], x, goal, top, first, last, flags)


@scalar
def slide_states(states, n, axis, moves, rules, tables, obstacles, turned, first, last, flags):
    """Slide states along any axis; the results have lines as rows.

    Returns whether the states had to be turned for it: then `turned` are they, with lines as rows.
    """
    turn = moves[6][axis] & 1 != 0
    if turn:
        permute(states, n, moves[0][axis], moves[1][axis], moves[2][axis], turned)
    slide_axis(turned if turn else states, n, axis, rules, tables, obstacles, first, last, flags)
    return turn


@scalar
def keep_within(boards, n, tags, limits, bits):
    """Drop boards that exceed a cell's limit, and their tags."""
    kept = 0
    for j in range(n):
        boards[kept] = boards[j]
        tags[kept] = tags[j]
        kept += within(boards[j], limits, bits)
    return kept


@scalar
def keep_open(boards, n, tags, patterns, out, mark):
    """Drop boards that hold a pattern, and their tags; write `mark` to ``out[tag]`` of each."""
    kept = 0
    for j in range(n):
        if holds(boards[j], patterns):
            out[tags[j]] = mark
        else:
            boards[kept] = boards[j]
            tags[kept] = tags[j]
            kept += 1
    return kept
