"""Kernels of the backward pass: from afterstates to the positions of what can follow them.

A *directory* turns the rank of a board into its position among the afterstates of its layer.
It has one record of 128 bits for each 96 ranks: the position of the record's first board in
32 bits, and one bit a rank.  A record never crosses a cache line, so that a position costs
one miss.  Records of ranks that hold no board are never looked at.

*Links* say what may follow the spawns of one exponent.  Spawns are numbered as they come:
afterstate by afterstate, and for each from the lowest free bit up.  ``slots[k, x]`` is the
position of the afterstate that slide k makes of spawn x, where slides 2 a and 2 a + 1 go to
the two ends of axis a; `NONE` if the slide is not allowed, `WON` if it wins.

Nothing here knows what a value is: `_kernels.fold` does.
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
from tilebase._kernels.rank import rank_keys
from tilebase._kernels.scalar import U0, U1, U63, free_cells, ones

BATCH = 1024
"""Spawns in a batch; at most 32 come from one afterstate."""
GROUP = np.uint64(96)
"""Ranks that share a record of a directory."""
HALF = np.uint64(32)
LOW = np.uint64(0xFFFFFFFF)
NONE, WON = 0, 1
"""The first two positions are no afterstates: a slide that is not allowed, and one that wins."""
FIRST = 64
FIRST64 = np.uint64(FIRST)
"""Position of the first afterstate of a layer: a multiple of 64, so that threads share no word of bits."""


@kernel()
def index_keys(ranks, n, position, directory, edge):
    """Enter the boards of ascending `ranks`, the first of which has this position.

    The records of all groups but the first are written.  That of the first may belong to the
    boards before as well, so it is left in ``edge``: group, then the two words.
    """
    group = ~U0
    count = U0
    bits0 = U0
    bits1 = U0
    first = True
    for i in range(n):
        g = ranks[i] // GROUP
        place = ranks[i] - g * GROUP
        if g != group:
            if i:
                if first:
                    edge[0], edge[1], edge[2] = group, count | bits0 << HALF, bits1
                    first = False
                else:
                    directory[group, 0] = count | bits0 << HALF
                    directory[group, 1] = bits1
            group = g
            count = np.uint64(position + i)
            bits0 = U0
            bits1 = U0
        if place < HALF:
            bits0 |= U1 << place
        else:
            bits1 |= U1 << (place - HALF)
    if first:
        edge[0], edge[1], edge[2] = group, count | bits0 << HALF, bits1
    else:
        directory[group, 0] = count | bits0 << HALF
        directory[group, 1] = bits1


@scalar
def _locate(ranks, n, directory, where, out_slots):
    """Write the position of each rank to its place in `out_slots`; return whether all are there."""
    missing = U0
    for j in range(n):
        g = ranks[j] // GROUP
        place = ranks[j] - g * GROUP
        word0, word1 = directory[g, 0], directory[g, 1]
        # Without branches: the first 32 ranks are in the one word, the others in the other.
        before = ones(word0 >> HALF & ((U1 << min(place, HALF)) - U1))
        before += ones(word1 & ((U1 << (max(place, HALF) - HALF)) - U1))
        word = word0 if place < HALF else word1
        missing |= ~(word >> (place + HALF & U63)) & U1
        out_slots[where[j]] = np.uint32((word0 & LOW) + before)
    return missing == U0


@scalar
def _successors(boards, n, axis, room, first, last, flags, x0, out_boards, out_where, out_slots):
    """Collect the afterstates of allowed slides along an axis, and where their positions belong."""
    m = 0
    low = 2 * axis * room + x0
    for i in range(n):
        board = boards[i]
        wins = flags[i] & WIN != U0
        allowed = flags[i] & (WIN | FORBIDDEN) == U0
        blank = np.uint32(WON if wins else NONE)
        out_slots[low + i] = blank
        out_slots[low + room + i] = blank
        out_boards[m] = first[i]
        out_where[m] = low + i
        m += allowed & (first[i] != board)
        out_boards[m] = last[i]
        out_where[m] = low + room + i
        m += allowed & (last[i] != board)
    return m


@scalar
def _potential(key, table):
    """What merging 2s into the tiles of a board earns; ``table[w]``: into those of a word."""
    mask = np.uint64(len(table) - 1)
    width = ones(mask)
    total = 0
    while key:
        total += table[key & mask]
        key >>= width
    return total


@scalar
def _link_batch(
    states, n, at, axes, moves, rules, tables, obstacles, limited, limits, patterns, sym, index, directory,
    potential, scratch, where, out_slots, out_gains, out_afters,
):  # fmt: skip
    """Link `n` states, the first of which has place `at` in the results; return whether all is there."""
    turned, first, last, flags, boards, ranks = (
        scratch[1], scratch[2], scratch[3], scratch[4], scratch[5], scratch[6],
    )  # fmt: skip
    spare = scratch[7:9]
    room = out_slots.shape[1]
    slots = out_slots.reshape(-1)
    afters = out_afters.reshape(-1)
    sound = True
    for axis in range(axes):
        turn = slide_states(states, n, axis, moves, rules, tables, obstacles, turned, first, last, flags)
        source = turned if turn else states
        for kind in range(len(potential)):
            # Slides to both ends make the same tiles; one without a merge makes none.
            table = potential[kind]
            for i in range(n):
                before, after = _potential(source[i], table), _potential(first[i], table)
                out_gains[kind, axis, at + i] = after - before
        m = _successors(source, n, axis, room, first, last, flags, at, boards, where, slots)
        if moves[6][axis] & 2:
            permute(boards, m, moves[3][axis], moves[4][axis], moves[5][axis], ranks)
            boards, ranks = ranks, boards
        if limited:
            m = keep_within(boards, m, where, limits, rules[axis, 3])
        if len(patterns):
            m = keep_open(boards, m, where, patterns, slots, WON)
        canonicalise(boards, m, sym[0], sym[1], sym[2], spare)
        if out_afters.shape[1]:
            for j in range(m):
                afters[where[j]] = boards[j]
        rank_keys(boards, m, index[0], index[1], index[2], index[3], index[4], index[5], index[6], ranks)
        sound &= _locate(ranks, m, directory, where, slots)
    return sound


@kernel()
def link(
    keys, place, exponent, low_bits, fold, axes, moves, rules, tables, obstacles, limited, limits, patterns,
    sym, index, directory, potential, scratch, where, out_spawns, out_slots, out_gains, out_afters,
):  # fmt: skip
    """Link the afterstates ``keys[place:]`` to what follows a spawn of `exponent`.

    ``out_spawns[a]``: free cells of afterstate a of the chunk, in each of which the tile may
    be spawned; ``out_slots[k, x]`` as above; ``out_gains[j, a, x]``: what merges along axis a add under
    ``potential[j]``; and ``out_afters[k, x]``: the canonical afterstate, if it has any columns.  Stops
    before `out_slots` is full.  Returns how many afterstates and spawns were linked, and
    whether all successors are in the directory (if not, a layer is damaged).
    """
    states = scratch[0]
    room = out_slots.shape[1]
    turn = np.uint64(exponent - 1)
    begin = place
    spawns = 0
    sound = True
    while place < len(keys) and spawns + BATCH <= room:
        n = 0
        while place < len(keys) and n + 32 <= BATCH:
            key = keys[place]
            free = free_cells(key, low_bits, fold)
            have = n
            while free:
                lowest = free & (~free + U1)
                states[n] = key | lowest << turn
                n += 1
                free ^= lowest
            out_spawns[place - begin] = n - have
            place += 1
        sound &= _link_batch(
            states, n, spawns, axes, moves, rules, tables, obstacles, limited, limits, patterns, sym, index,
            directory, potential, scratch, where, out_slots, out_gains, out_afters,
        )  # fmt: skip
        spawns += n
    return place - begin, spawns, sound


@kernel()
def link_states(
    states, axes, moves, rules, tables, obstacles, limited, limits, patterns, sym, index, directory,
    potential, scratch, where, out_slots, out_gains, out_afters,
):  # fmt: skip
    """The same for given states of one layer; there is room for all.  Returns whether all is there."""
    sound = True
    at = 0
    while at < len(states):
        n = min(BATCH, len(states) - at)
        sound &= _link_batch(
            states[at:], n, at, axes, moves, rules, tables, obstacles, limited, limits, patterns, sym, index,
            directory, potential, scratch, where, out_slots, out_gains, out_afters,
        )  # fmt: skip
        at += n
    return sound


@kernel()
def count_spawns(keys, low_bits, fold, out_spawns):
    """``out_spawns[a]``: free cells of afterstate a."""
    for a in range(len(keys)):
        out_spawns[a] = ones(free_cells(keys[a], low_bits, fold))


@kernel()
def spawn_all(keys, exponent, low_bits, fold, out_states, out_from):
    """Every spawn of one exponent on every afterstate; return how many (counted only, without room)."""
    n = 0
    turn = np.uint64(exponent - 1)
    for a in range(len(keys)):
        free = free_cells(keys[a], low_bits, fold)
        if len(out_states) == 0:
            n += int(ones(free))
            continue
        while free:
            lowest = free & (~free + U1)
            out_states[n] = keys[a] | lowest << turn
            out_from[n] = a
            n += 1
            free ^= lowest
    return n


@kernel()
def spawn_one(keys, chances, fours, low_bits, fold, out_states):
    """One spawn on each afterstate: on the free cell that a number of [0, 1) picks, a 4 where `fours`."""
    for a in range(len(keys)):
        free = free_cells(keys[a], low_bits, fold)
        skip = np.int64(chances[a] * ones(free))
        for _ in range(skip):
            free &= free - U1
        lowest = free & (~free + U1)
        out_states[a] = keys[a] | (lowest << U1 if fours[a] else lowest)
