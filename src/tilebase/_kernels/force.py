"""Kernels of the forced-win search: depth first over afterstates, with a table of what is decided.

An afterstate is *won* if after every drop some slide makes the goal or leads to a won afterstate; it
is *lost* if after some drop no slide does.  Sums grow with each drop, so there are no cycles.

The table has lines of eight entries of 64 bits.  `mix` is a bijection of keys; its highest bits are the
line, or one of the three behind it if that is full.  An entry holds, from the highest bit: two for the
number of lines that it stands behind its own, the other bits of the mixed key, one that is always set,
and whether the afterstate is won.  It is written at once, so threads share a table without locks; one
that another thread overwrites is only forgotten, never wrong.

A path is a stack of frames.  Frame d is the afterstate ``path[d]``; what is open about it are records in
`pool` from ``spans[d, 0]`` to ``spans[d, 1]``: for each drop that is not answered, the number of
afterstates that its slides lead to, and those, 0 where one turned out lost.
"""

from __future__ import annotations

import numpy as np

from tilebase._kernels.boards import (
    FORBIDDEN,
    WIN,
    canonicalise,
    keep_open,
    keep_within,
    permute,
    slide_states,
)
from tilebase._kernels.jit import kernel, scalar
from tilebase._kernels.scalar import U0, U1, U2, U64, free_cells, ones, trailing_zeros

LAYOUT = 1
"""Of the table: another number if `mix` or the bits of an entry change, for tables that were saved."""
UNKNOWN, LOST, WON = 0, 1, 2
OVER, FULL = -1, -2

A = np.uint64(0x7FB5D329728EA185)
B = np.uint64(0x81DADEF4BC2DD44D)
A_INVERSE = np.uint64(pow(int(A), -1, 1 << 64))
B_INVERSE = np.uint64(pow(int(B), -1, 1 << 64))
U4, U27, U31, U33, U54, U62 = (np.uint64(n) for n in (4, 27, 31, 33, 54, 62))
BEHIND = np.uint64(1 << 60)
LINE, LINES = 8, 4
"""Entries in a line, and lines in which an afterstate may stand: a table has 16 lines at least."""
ROOM = 512
"""At least the boards that slides after all drops lead to, 64 drops times 6 slides, and the drops."""


@scalar
def mix(key):
    """A bijection of 64-bit numbers that spreads keys over the table (constants: Pelle Evensen's moremur)."""
    key = (key ^ key >> U31) * A
    key = (key ^ key >> U27) * B
    return key ^ key >> U33


@scalar
def unmix(mixed):
    """The key of a mixed one."""
    mixed ^= mixed >> U33
    mixed *= B_INVERSE
    mixed ^= mixed >> U27 ^ mixed >> U54
    mixed *= A_INVERSE
    return mixed ^ mixed >> U31 ^ mixed >> U62


@scalar
def _home(mixed, line_bits):
    """Where the line of a mixed key begins."""
    return np.int64(mixed >> (U64 - line_bits)) * LINE


@scalar
def _touch(table, line_bits, keys, n):
    """Read the lines of `n` keys; the result has no meaning.

    Looking a key up is full of branches, so that processors hardly begin with the next before one is
    done. Here they wait for all lines at once.
    """
    touched = U0
    for k in range(n):
        touched ^= table[_home(mix(keys[k]), line_bits)]
    return touched


@scalar
def look_up(table, line_bits, key):
    """`WON`, `LOST` or `UNKNOWN`."""
    mixed = mix(key)
    home = _home(mixed, line_bits)
    wanted = mixed << line_bits >> line_bits
    for behind in range(LINES):
        line = home + behind * LINE & len(table) - 1
        for k in range(line, line + LINE):
            entry = table[k]
            if entry == U0:
                return UNKNOWN
            if entry >> U2 == wanted:
                return WON if entry & U1 else LOST
        wanted += BEHIND
    return UNKNOWN


@scalar
def _enter(table, line_bits, key, won):
    """Write what is known of an afterstate; return whether an older entry had to go."""
    mixed = mix(key)
    home = _home(mixed, line_bits)
    first = mixed << line_bits >> line_bits
    wanted = first
    for behind in range(LINES):
        line = home + behind * LINE & len(table) - 1
        for k in range(line, line + LINE):
            if table[k] == U0 or table[k] >> U2 == wanted:
                table[k] = wanted << U2 | U2 | np.uint64(won)
                return False
        wanted += BEHIND
    # Any of its own line, but the same in each run.
    table[home + np.int64(first & np.uint64(LINE - 1))] = first << U2 | U2 | np.uint64(won)
    return True


@kernel()
def enter_all(table, line_bits, keys, won):
    """Write many."""
    for k in range(len(keys)):
        _enter(table, line_bits, keys[k], won[k])


@kernel()
def look_up_all(table, line_bits, keys, out):
    """``out[k]``: what is known of ``keys[k]``."""
    for k in range(len(keys)):
        out[k] = look_up(table, line_bits, keys[k])


@kernel()
def list_entries(part, line_bits, first, out_keys, out_won):
    """List the afterstates of a part of a table, whose first line is `first`; return how many."""
    n = 0
    last = np.int64((U1 << line_bits) - U1)
    for line in range(len(part) // LINE):
        for k in range(line * LINE, (line + 1) * LINE):
            entry = part[k]
            if entry:
                home = first + line - np.int64(entry >> U62) & last
                rest = entry << U2 >> U4
                out_keys[n] = unmix(np.uint64(home) << (U64 - line_bits) | rest)
                out_won[n] = entry & U1
                n += 1
    return n


@scalar
def _liveliness(key, low_bits, fold, neighbours):
    """Empty cells and mergeable neighbours: the more, the likelier a win.

    ``neighbours[k]``: a distance in bits, and the lowest bit of each cell that has a neighbour so far above.
    """
    found = ones(free_cells(key, low_bits, fold))
    for k in range(len(neighbours)):
        distance, cells = neighbours[k, 0], neighbours[k, 1]
        found += ones(free_cells(key ^ key >> distance, cells, fold) & ~free_cells(key, cells, fold))
    return np.int64(found)


@scalar
def follow(
    key, exponents, low_bits, fold, axes, moves, rules, tables, obstacles, limited, limits, patterns, sym,
    scratch, states, origin, boards, won,
):  # fmt: skip
    """All drops on an afterstate and where slides lead then.

    ``states[i]`` is the i-th drop, ``won[i]`` whether a slide wins at once; ``boards[j]`` are canonical
    afterstates, and ``origin[j]`` the drops they follow.  Returns the numbers of both.
    """
    turned, first, last, flags = scratch[0], scratch[1], scratch[2], scratch[3]
    source, spare = scratch[4], scratch[5:7]
    free = free_cells(key, low_bits, fold)
    n = 0
    while free:
        lowest = free & (~free + U1)
        free ^= lowest
        for exponent in exponents:
            states[n] = key | lowest << np.uint64(exponent - 1)
            won[n] = False
            n += 1
    m = 0
    for axis in range(axes):
        turn = slide_states(states, n, axis, moves, rules, tables, obstacles, turned, first, last, flags)
        here = turned if turn else states
        begin = m
        for i in range(n):
            if flags[i] & WIN:
                won[i] = True
            elif flags[i] & FORBIDDEN == U0:
                boards[m] = first[i]
                origin[m] = i
                m += first[i] != here[i]
                boards[m] = last[i]
                origin[m] = i
                m += (last[i] != here[i]) & (last[i] != first[i])
        fresh, tags = boards[begin:], origin[begin:]
        if moves[6][axis] & 2:
            for j in range(m - begin):
                source[j] = fresh[j]
            permute(source, m - begin, moves[3][axis], moves[4][axis], moves[5][axis], fresh)
        if limited:
            m = begin + keep_within(fresh, m - begin, tags, limits, rules[axis, 3])
        if len(patterns):
            m = begin + keep_open(fresh, m - begin, tags, patterns, won, 1)
    canonicalise(boards, m, sym[0], sym[1], sym[2], spare)
    return n, m


@scalar
def _open(
    key, exponents, low_bits, fold, axes, moves, rules, tables, obstacles, limited, limits, patterns, sym,
    neighbours, seed, table, line_bits, scratch, tiny, pool, at,
):  # fmt: skip
    """Write the open drops of an afterstate to ``pool[at:]``, the most dangerous first.

    Returns whether it is won, lost or unknown, and where the records end.
    """
    states, boards, rows = scratch[7], scratch[8], scratch[9]
    origin, won, known, left, scores, order = tiny[0], tiny[1], tiny[2], tiny[3], tiny[4], tiny[5]
    n, m = follow(
        key, exponents, low_bits, fold, axes, moves, rules, tables, obstacles, limited, limits, patterns, sym,
        scratch, states, origin, boards, won,
    )  # fmt: skip
    states[0] = _touch(table, line_bits, boards, m)  # kept, or it would not be done
    for i in range(n):
        left[i] = 0
    for j in range(m):
        known[j] = look_up(table, line_bits, boards[j])
        won[origin[j]] |= known[j] == WON
        left[origin[j]] += known[j] == UNKNOWN
    open_drops = 0
    for i in range(n):
        if not won[i]:
            if left[i] == 0:
                return LOST, at
            open_drops += 1
    if open_drops == 0:
        return WON, at
    # Each open drop gets a row of its boards, the best first; rows are ordered by their best.
    for i in range(n):
        left[i] = 0
    for j in range(m):
        i = origin[j]
        if won[i] or known[j] != UNKNOWN:
            continue
        board = boards[j]
        score = _liveliness(board, low_bits, fold, neighbours) * 16
        if seed:
            score += np.int64(mix(board ^ seed) >> np.uint64(60))
        row = 6 * i
        place = left[i]
        twice = False
        for k in range(row, row + left[i]):
            twice |= rows[k] == board
        if twice:
            continue
        while place > 0 and scores[row + place - 1] < score:
            rows[row + place] = rows[row + place - 1]
            scores[row + place] = scores[row + place - 1]
            place -= 1
        rows[row + place] = board
        scores[row + place] = score
        left[i] += 1
    open_drops = 0
    for i in range(n):
        if not won[i]:
            place = open_drops
            while place > 0 and scores[6 * order[place - 1]] > scores[6 * i]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = i
            open_drops += 1
    for k in range(open_drops):
        i = order[k]
        pool[at] = np.uint64(left[i])
        at += 1
        for j in range(6 * i, 6 * i + left[i]):
            pool[at] = rows[j]
            at += 1
    return UNKNOWN, at


@scalar
def _review(pool, first, end, table, line_bits):
    """Go on with the open drops of a frame after more has become known.

    Returns what the afterstate is, and where the first record begins that is still open.
    """
    while first < end:
        count = np.int64(pool[first])
        answered, left = False, 0
        for j in range(first + 1, first + 1 + count):
            if pool[j]:
                known = look_up(table, line_bits, pool[j])
                if known == WON:
                    answered = True
                    break
                if known == LOST:
                    pool[j] = U0
                else:
                    left += 1
        if not answered:
            return (UNKNOWN if left else LOST), first
        first += 1 + count
    return WON, first


@kernel()
def search(
    depth, budget, exponents, low_bits, fold, axes, moves, rules, tables, obstacles, limited, limits,
    patterns, sym, neighbours, seed, table, line_bits, path, spans, pool, scratch, tiny, counts,
):  # fmt: skip
    """Search on from frame `depth` until ``path[0]`` is decided or `budget` afterstates were opened.

    A frame whose ``spans[d, 1]`` is -1 is not open yet.  ``counts``: afterstates opened, lost, won,
    entries forgotten, greatest depth.  Returns the depth to go on with, `OVER`, or `FULL` and the depth in
    ``counts[5]`` if `path` or `pool` are too short.
    """
    opened = 0
    while opened < budget:
        if depth + 1 >= len(path) or spans[depth, 0] + ROOM > len(pool):
            counts[5] = depth
            return FULL
        if spans[depth, 1] < 0:
            known, end = _open(
                path[depth], exponents, low_bits, fold, axes, moves, rules, tables, obstacles, limited,
                limits, patterns, sym, neighbours, seed, table, line_bits, scratch, tiny, pool,
                spans[depth, 0],
            )  # fmt: skip
            spans[depth, 1] = end
            opened += 1
            counts[0] += 1
        else:
            known, begin = _review(pool, spans[depth, 0], spans[depth, 1], table, line_bits)
            spans[depth, 0] = begin
        if known == UNKNOWN:
            at = spans[depth, 0] + 1
            while pool[at] == U0:
                at += 1
            depth += 1
            path[depth] = pool[at]
            spans[depth, 0], spans[depth, 1] = spans[depth - 1, 1], -1
            counts[4] = max(counts[4], depth)
            continue
        counts[known] += 1
        counts[3] += _enter(table, line_bits, path[depth], known == WON)
        if depth == 0:
            spans[0, 1] = -1  # to be opened again, should the entry be lost before anybody looks it up
            return OVER
        depth -= 1
    return depth


@kernel()
def follow_all(
    keys, exponents, low_bits, fold, axes, moves, rules, tables, obstacles, limited, limits, patterns, sym,
    scratch, tiny, out_drops, out_boards,
):  # fmt: skip
    """What follows each drop on some afterstates, for certificates.

    ``out_drops[d]``: which afterstate; the drop, twice its cell, and 1 for a 4; where the canonical
    afterstates that slides make then begin and end in `out_boards`; whether a slide wins at once.
    Returns the numbers of drops and boards.
    """
    states, boards, origin, won = scratch[7], scratch[8], tiny[0], tiny[1]
    bits, last = np.int64(rules[0, 3]), np.int64(rules[0, 0] * rules[0, 1]) - 1
    drops, total = 0, 0
    for k in range(len(keys)):
        n, m = follow(
            keys[k], exponents, low_bits, fold, axes, moves, rules, tables, obstacles, limited, limits,
            patterns, sym, scratch, states, origin, boards, won,
        )  # fmt: skip
        free = free_cells(keys[k], low_bits, fold)
        for i in range(n):
            cell = last - np.int64(trailing_zeros(free)) // bits
            exponent = exponents[i % len(exponents)]
            if exponent == exponents[len(exponents) - 1]:
                free &= free - U1
            out_drops[drops, 0] = k
            out_drops[drops, 1] = 2 * cell + exponent - 1
            out_drops[drops, 2] = total
            for j in range(m):
                if origin[j] == i:
                    out_boards[total] = boards[j]
                    total += 1
            out_drops[drops, 3] = total
            out_drops[drops, 4] = won[i]
            drops += 1
    return drops, total
