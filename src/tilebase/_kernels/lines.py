"""Slides of boards without symmetries: from the lines of a board to the ranks of what slides make of it.

The rank of a board follows from the numbers of its two half boards (`_kernels.rank`).  These are sums over
cells, and so over lines, also over lines that were slid.  Where each board is its own canonical form, a table
can therefore hold what each slid line adds to both numbers.  Then no kernel puts a slid board together,
permutes it back, or takes it apart again for its rank.

Both numbers and counts of lines are fields of one word.  One addition for each line makes all of them:

    tail number    24 bits
    head number    24 bits
    lines that the slide changes    3 bits
    lines where it moves an x that must stand    3 bits
    lines where it breaks a limit    3 bits
    lines that hold their part of the pattern    4 bits; each of the n such lines adds 8 / n, rounded up
    lines with a tile that wins    3 bits

A slide is allowed if it changes a line and moves no x.  It wins by a tile whatever limits it breaks, as the
rules say, and by the pattern, of which there is at most one, only if it breaks none.
"""

from __future__ import annotations

import numpy as np
from numba import types

from tilebase._kernels.boards import permute
from tilebase._kernels.jit import WORDS, N, linked, scalar
from tilebase._kernels.scalar import U0, U1, free_cells, sum_pairs, trailing_zeros

HEAD_SHIFT, HEAD_BITS = 24, 24
CHANGED, MOVED, BROKEN, HELD, WINS = (1 << bit for bit in (48, 51, 54, 57, 61))
"""A line that changes, that moves an x, that breaks a limit; an eighth of the pattern; a tile that wins."""
MOST_LINES = 4
"""Most lines of a board along an axis."""
HEAD, FLAGS, WINNING = np.uint64(HEAD_SHIFT), np.uint64(HEAD_SHIFT + HEAD_BITS), np.uint64(60)
TAILS, HEADS = np.uint64((1 << HEAD_SHIFT) - 1), np.uint64((1 << HEAD_BITS) - 1)
CHANGES, BY_TILE = np.uint64(7), np.uint64(61)
MOVES, WHOLE = np.uint64(0o77), np.uint64(0o10000)
"""Of the counts, those of lines that change and that move an x; the bit of a whole pattern."""
BREAKS, DECIDES = np.uint64(0o10700), np.uint64(0o170777)
"""This bit and the count of lines that break a limit; all counts, and of the pattern this bit."""


@scalar
def rank_of(word, ranking):
    """Return the rank of a board from the numbers of its half boards."""
    head, tail = word >> HEAD & HEADS, np.uint64(ranking.tails[word & TAILS])
    return tail + (np.uint64(ranking.bases[head]) if len(ranking.bases) else ranking.head_base[head])


@scalar
def spawn_words(key, exponent, rules, ranking, out, n):
    """Append the words of the states that spawns make of one afterstate; return how many there are."""
    shifts, cells = ranking.shifts, ranking.cells
    part0, part1, part2, part3 = ranking.parts
    # The word of the afterstate, from the four parts of its halves.
    head = np.uint64(part0[key >> shifts[0] & np.uint64(len(part0) - 1)])
    head += np.uint64(part1[key >> shifts[1] & np.uint64(len(part1) - 1)])
    tail = np.uint64(part2[key >> shifts[2] & np.uint64(len(part2) - 1)])
    tail += np.uint64(part3[key >> shifts[3] & np.uint64(len(part3) - 1)])
    word = head << HEAD | tail
    # A tile of exponent e adds e times what the exponent 1 adds in its cell: numbers have the exponents as
    # digits.
    free = free_cells(key, rules.low_bits, rules.fold)
    while free:
        out[n] = word + np.uint64(exponent) * cells[trailing_zeros(free)]
        n += U1
        free &= free - U1
    return n


@scalar
def rank_words(words, n, ranking):
    """Replace the words of boards by their ranks."""
    for i in range(n):
        words[i] = rank_of(words[i], ranking)


@scalar
def is_allowed(word):
    """Return whether a slide is allowed and does not win."""
    # From 1 to 7 only lines that change, the lowest of the counts, are there.
    return (word >> FLAGS & DECIDES) - U1 < CHANGES


@scalar
def is_won(word):
    """Return whether a slide is allowed and wins."""
    counts = word >> FLAGS
    is_slide = (counts & MOVES) - U1 < CHANGES
    return is_slide & ((word >> BY_TILE != U0) | (counts & BREAKS == WHOLE))


@linked(types.void, WORDS, N, types.uint64, WORDS, WORDS, WORDS, WORDS, optional=True)
def add_lines(boards, n, line_bits, table, begins, out_first, out_last):
    """Write the words of both slides along the rows of `boards`; `table` is that of `Ranking.lines`."""
    mask = (U1 << line_bits) - U1 << U1  # entries are pairs of words
    s1, s2, s3 = line_bits - U1, line_bits * np.uint64(2) - U1, line_bits * np.uint64(3) - U1
    b0, b1, b2, b3 = begins[0], begins[1], begins[2], begins[3]
    for i in range(n):
        board = boards[i]
        # Rows that are not there are empty, and the entry with which the table begins is 0.
        e0, e1 = b0 + (board << U1 & mask), b1 + (board >> s1 & mask)
        e2, e3 = b2 + (board >> s2 & mask), b3 + (board >> s3 & mask)
        out_first[i], out_last[i] = sum_pairs(table, e0, e1, e2, e3)


@scalar
def _slide_lines(states, n, axis, rules, ranking, scratch):
    """Write to `scratch.first` and `scratch.last` the words of both slides of states along an axis."""
    rows, axes = states, rules.axes
    if axes.permuted[axis]:
        rows = scratch.permuted
        permute(states, n, axes.rows, axis, rows)
    line_bits = axes.cells[axis] * rules.bits
    add_lines(rows, n, line_bits, ranking.lines, ranking.begins[axis], scratch.first, scratch.last)


@scalar
def _list_allowed(words, n, kept, tags, out):
    """Append the words of the slides that are allowed and do not win, with their states; return how many."""
    # All words are written, and the position moves on for those that stay: no branch.
    for i in range(n):
        word = words[i]
        out[kept] = word
        tags[kept] = i
        kept += np.uint64(is_allowed(word))
    return kept


@scalar
def _mark_wins(first, last, n, won):
    """Mark the states with a slide that wins."""
    found = U0
    for i in range(n):
        found |= first[i] | last[i]
    if found >> WINNING:  # mostly no tile wins, and no pattern is whole
        for i in range(n):
            won[i] |= is_won(first[i]) | is_won(last[i])


@scalar
def slide_ranks(states, n, axis, rules, ranking, scratch, won):
    """Slide states along an axis: write ranks to `scratch.ranks`, states to `scratch.tags`, and mark wins.

    Returns how many slides are allowed and do not win.
    """
    _slide_lines(states, n, axis, rules, ranking, scratch)
    _mark_wins(scratch.first, scratch.last, n, won)
    kept = _list_allowed(scratch.first, n, U0, scratch.tags, scratch.ranks)
    m = np.int64(_list_allowed(scratch.last, n, kept, scratch.tags, scratch.ranks))
    rank_words(scratch.ranks, m, ranking)
    return m
