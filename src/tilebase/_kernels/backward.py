"""Kernels of the backward pass: from afterstates to the positions of the afterstates that can follow.

A *directory* turns the rank of a board into its position among the afterstates of its layer.
Each group of 64 ranks has one bit per rank, and the position of its first board in 32 bits.  Groups
that hold no board are never read.

*Links* hold the afterstates that can follow the spawns of one exponent.  Spawns are numbered
afterstate by afterstate, and for each afterstate from the lowest free bit up.  ``slots[k, x]`` is the
position of the afterstate that slide k makes of spawn x, where slides 2 a and 2 a + 1 go to
the two ends of axis a; `NONE` if the slide is not allowed, `WON` if it wins.

These kernels do not use values; those of `_kernels.fold` do.
"""

from __future__ import annotations

import numpy as np

from tilebase._kernels.backup import NONE, WON
from tilebase._kernels.boards import canonicalise, slide_states
from tilebase._kernels.forward import BATCH, MOST_SPAWNED, spawn_states
from tilebase._kernels.jit import kernel, scalar
from tilebase._kernels.lines import slide_ranks
from tilebase._kernels.rank import rank_keys
from tilebase._kernels.scalar import U0, U1, U6, U63, free_cells, ones, potential_of, request

REQUESTED = 128
"""Values that are requested from memory before the first of them is used."""
FAR = 1 << 19
"""Values of a layer that leave the second-level cache: there all that a look-up reads is requested first."""
GROUP = 64
"""Ranks that share a group of a directory."""


@kernel()
def index_keys(ranks, n, position, directory, edge):
    """Enter the boards of ascending `ranks` in the directory; the first board has this position.

    All groups but the first are written.  The first may also belong to the boards before, so it is
    written to ``edge``: group, position, bits.
    """
    bits, counts = directory.bits, directory.counts
    edge[1], edge[2] = np.uint64(position), U0
    i = 0
    # The first group goes to the edge.
    if n:
        edge[0] = ranks[0] >> U6
    while i < n and ranks[i] >> U6 == edge[0]:
        edge[2] |= U1 << (ranks[i] & U63)
        i += 1
    # Of each other group: the position of its first board, and its bits.
    while i < n:
        group = ranks[i] >> U6
        counts[group] = np.uint32(position + i)
        word = U0
        while i < n and ranks[i] >> U6 == group:
            word |= U1 << (ranks[i] & U63)
            i += 1
        bits[group] = word


@scalar
def _position(rank, directory):
    """Return the position of a rank, and a number whose lowest bit is set if the directory lacks the rank."""
    # The boards of the group before this one are the bits that are set below its own.
    group, bit = rank >> U6, rank & U63
    word = directory.bits[group]
    return np.uint64(directory.counts[group]) + ones(word & ((U1 << bit) - U1)), ~(word >> bit)


@scalar
def _locate(ranks, n, directory, tags, out_slots):
    """Write ``out_slots[tags[j]]``: the position of the j-th rank; return whether the directory has all."""
    missing = U0
    for j in range(n):
        position, absent = _position(ranks[j], directory)
        missing |= absent
        out_slots[tags[j]] = np.uint32(position)
    return missing & U1 == U0


@scalar
def _raise_best(ranks, n, directory, tags, values, out):
    """Raise ``out[tags[j]]`` to the value of the j-th rank; return whether the directory has all.

    The ranks are overwritten.
    """
    missing, is_far = U0, len(values) >= FAR
    for begin in range(0, n, REQUESTED):
        end = min(begin + REQUESTED, n)
        # A look-up waits for memory twice: for the directory, and for the value at the position that it has.
        # Where both are far, all of a stretch are requested before the first is used.
        if is_far:
            for j in range(begin, end):
                request(directory.bits, ranks[j] >> U6)
                request(directory.counts, ranks[j] >> U6)
        # Positions take the place of ranks.  Missing boards are collected in one bit, without branches.
        for j in range(begin, end):
            ranks[j], absent = _position(ranks[j], directory)
            missing |= absent
            if is_far:
                request(values, ranks[j])
        for j in range(begin, end):
            tag = np.uint64(tags[j])
            out[tag] = max(out[tag], values[ranks[j]])
    return missing & U1 == U0


@scalar
def _gains(states, n, slid, potential, out):
    """Write ``out[i]``: the tiles made by merging along an axis, from either result of the slide.

    Slides to both ends make the same tiles; one without a merge makes none.
    """
    for i in range(n):
        out[i] = potential_of(slid[i], potential) - potential_of(states[i], potential)


@scalar
def _link_batch(states, n, at, rules, ranking, directory, potential, scratch, links):
    """Link `n` states, the first of which has position `at` in the links; return whether all is there."""
    boards, ranks, tags, won = scratch.boards, scratch.ranks, scratch.tags, scratch.won
    stride = links.slots.shape[1]
    slots = links.slots.reshape(-1)
    afters = links.afters.reshape(-1)
    sound = True
    for axis in range(rules.dimensions):
        # What no slide overwrites is not allowed.
        begin = 2 * axis * stride + at
        slots[begin : begin + n] = NONE
        slots[begin + stride : begin + stride + n] = NONE
        # Slide along the axis; wins first, which most batches do not have.
        for i in range(2 * n):
            won[i] = 0
        m = slide_states(states, n, axis, rules, scratch, n, won)
        wins = 0
        for i in range(2 * n):
            wins += won[i]
        for i in range(n if wins else 0):
            if won[i]:
                slots[begin + i] = WON
            if won[n + i]:
                slots[begin + stride + i] = WON
        # Tags become positions in the slots.
        first = 0  # of the slides to the other end, which come last
        for j in range(m):
            first += tags[j] < n
        for j in range(first):
            tags[j] += begin
        for j in range(first, m):
            tags[j] += begin + stride - n
        # What the merges add, and the afterstates.
        for kind in range(len(potential)):
            _gains(states, n, scratch.first, potential[kind], links.gains[kind, axis, at:])
        canonicalise(boards, m, rules.symmetries, scratch.images)
        if links.afters.shape[1]:
            for j in range(m):
                afters[tags[j]] = boards[j]
        rank_keys(boards, m, ranking, ranks)
        sound &= _locate(ranks, m, directory, tags, slots)
    return sound


@scalar
def _spawn_batch(keys, position, begin, code, rules, states, out_spawns):
    """Write a batch of states that spawns make of afterstates from `position` on; return its end and size."""
    n = 0
    while position < len(keys) and n <= MOST_SPAWNED:
        have = n
        n = spawn_states(keys[position], code, rules, states, n)
        out_spawns[position - begin] = n - have
        position += 1
    return position, n


@kernel()
def link(keys, position, exponent, rules, ranking, directory, potential, scratch, out_spawns, links):
    """Link the afterstates ``keys[position:]`` to the afterstates that follow a spawn of `exponent`.

    ``out_spawns[a]``: free cells of afterstate a of the chunk, in each of which the tile may
    be spawned; ``links.gains[j, a, x]`` is what merges along axis a add under ``potential[j]``.  Stops
    before the links are full.  Returns how many afterstates and spawns were linked, and whether all
    successors are in the directory (if not, a layer is damaged).
    """
    states = scratch.states
    most = links.slots.shape[1]
    code = np.uint64(exponent)
    begin = position
    spawns = 0
    sound = True
    while position < len(keys) and spawns + BATCH <= most:
        position, n = _spawn_batch(keys, position, begin, code, rules, states, out_spawns)
        sound &= _link_batch(states, n, spawns, rules, ranking, directory, potential, scratch, links)
        spawns += n
    return position - begin, spawns, sound


@scalar
def _best_of_batch(states, n, rules, ranking, directory, values, scratch, out):
    """Write ``out[i]``: the largest value over the slides of ``states[i]``; return whether all is there."""
    boards, ranks, tags, won = scratch.boards, scratch.ranks, scratch.tags, scratch.won
    # A state without a slide is worth what a slide that is not allowed is worth.
    for i in range(n):
        won[i] = 0
        out[i] = values[NONE]
    sound = True
    for axis in range(rules.dimensions):
        # Where lines say how boards slide, ranks follow from states without a slid board (`lines`).
        if len(ranking.cells):
            m = slide_ranks(states, n, axis, rules, ranking, scratch, won)
            sound &= _raise_best(ranks, m, directory, tags, values, out)
            continue
        # Elsewhere: slide, take the least image, rank it, look its value up.
        m = slide_states(states, n, axis, rules, scratch, 0, won)
        canonicalise(boards, m, rules.symmetries, scratch.images)
        rank_keys(boards, m, ranking, ranks)
        sound &= _raise_best(ranks, m, directory, tags, values, out)
    # Slides that win have no afterstate that was looked up.
    for i in range(n):
        if won[i]:
            out[i] = max(out[i], values[WON])
    return sound


@kernel()
def best_after(keys, position, exponent, rules, ranking, directory, values, scratch, out_spawns, out_best):
    """Do `link` and `fold.best` in one, for one objective whose slides add nothing.

    ``out_best[x]``: the largest value over the slides of the state that spawn x makes.
    """
    states = scratch.states
    code = np.uint64(exponent)
    begin = position
    spawns = 0
    sound = True
    while position < len(keys) and spawns + BATCH <= len(out_best):
        position, n = _spawn_batch(keys, position, begin, code, rules, states, out_spawns)
        sound &= _best_of_batch(states, n, rules, ranking, directory, values, scratch, out_best[spawns:])
        spawns += n
    return position - begin, spawns, sound


@kernel()
def link_states(states, rules, ranking, directory, potential, scratch, links):
    """Link given states of one layer; the links take all.  Return whether all is there."""
    sound = True
    at = 0
    while at < len(states):
        n = min(BATCH, len(states) - at)
        for i in range(n):
            scratch.states[i] = states[at + i]
        sound &= _link_batch(scratch.states, n, at, rules, ranking, directory, potential, scratch, links)
        at += n
    return sound


@kernel()
def count_spawns(keys, rules, out_spawns):
    """Write ``out_spawns[a]``: free cells of afterstate a."""
    for a in range(len(keys)):
        out_spawns[a] = ones(free_cells(keys[a], rules.low_bits, rules.fold))


@kernel()
def spawn_all(keys, exponent, rules, out_states):
    """Write every spawn of one exponent on every afterstate; return how many."""
    n = 0
    code = np.uint64(exponent)
    for a in range(len(keys)):
        n = spawn_states(keys[a], code, rules, out_states, n)
    return n
