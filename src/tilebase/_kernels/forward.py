"""Kernels of the forward pass: spawn on afterstates, slide states, mark what is reached.

Both maps work in batches that stay in the first-level cache: emit boards, make them
canonical, rank them.  The ranks then take one of two ways:

* a small layer is one bit set in cache, and bits are set at once (``direct``);
* otherwise ranks go, as 32-bit offsets, into the pages of their block: block ``r >> block_bits``
  owns a chain of pages of 1024 offsets in the arena of the thread.  When an arena is full,
  or the map is done, `flush` sets the bits block by block, so that no write misses the cache.

Arguments that travel together are tuples, built once by `tilebase.game.compiled`:

    sym     masks, turns, terms of the steps through the symmetry group
    index   shifts, four part tables, head_base, tail_rank of the layer that boards go to
    layout  heads, starts, head_key, head_max, left, tail_start, tail_key, tail_max of the
            layer that boards come from
    moves   masks, turns, terms that make the lines of an axis rows, the same back, and which
            of the two are needed (bits 1 and 2)
    arena   block_bits, data, cursor, page_block, used: see `push`

Slides reach the same afterstate often within a short time, so between the two they pass a
filter of recent keys.  It is lossy and direct-mapped: a hit proves a duplicate, a miss
proves nothing.  It holds for one target layer only and must be cleared before the next.
Spawns repeat themselves too seldom (one in a hundred at 65536 slots) to pay for a filter.
"""

from __future__ import annotations

import numpy as np

from tilebase._kernels.boards import (
    FORBIDDEN,
    WIN,
    canonicalise,
    fold_images,
    keep_open,
    permute,
    slide_axis,
    slide_states,
    stabiliser,
)
from tilebase._kernels.jit import kernel, scalar
from tilebase._kernels.rank import list_bits, rank_keys, set_bits
from tilebase._kernels.scalar import U0, U1, U63, free_cells, holds, within

PAGE = 1024
"""Offsets in a page; a power of two."""

BATCH = 1024
"""Boards in a batch of either map."""

STATES = 512
"""States listed at a time: each gives at most two boards an axis."""

U6 = np.uint64(6)
HASH = np.uint64(0x9E3779B97F4A7C15)

# Columns of the counts that `slide_map` adds to, one row an exponent.
STATE, LIVE, WINNING, RAW_STATE, RAW_LIVE = range(5)


@kernel()
def filter_recent(keys, n, recent, bits):
    """Drop keys found in `recent` (2**bits slots), keep the others in order; return how many."""
    kept = 0
    shift = np.uint64(64) - bits
    for i in range(n):
        key = keys[i]
        slot = (key * HASH) >> shift
        # Branch-free: the write is harmless where the key is dropped.
        keys[kept] = key
        kept += recent[slot] != key
        recent[slot] = key
    return kept


@kernel()
def push(ranks, n, block_bits, data, cursor, page_block, used):
    """Append ranks to the pages of their blocks.

    ``cursor[b]``: place in `data` for the next offset of block b; ``page_block[p]``: block
    that owns page p; ``used[0]``: pages taken.  The caller has made sure there are enough.
    """
    mask = (U1 << block_bits) - U1
    taken = used[0]
    for i in range(n):
        block = np.int64(ranks[i] >> block_bits)
        at = cursor[block]
        data[at] = np.uint32(ranks[i] & mask)
        at += 1
        if at & (PAGE - 1) == 0:
            page_block[taken] = block
            at = taken * PAGE
            taken += 1
        cursor[block] = at
    used[0] = taken


@scalar
def _deliver(keys, n, index, direct, bits, arena, ranks):
    """Rank canonical boards, and set the bits or push the offsets."""
    rank_keys(keys, n, index[0], index[1], index[2], index[3], index[4], index[5], index[6], ranks)
    if direct:
        set_bits(ranks, n, U0, bits)
    else:
        push(ranks, n, arena[0], arena[1], arena[2], arena[3], arena[4])


@scalar
def _room(arena, batch):
    """Whether the arena takes another batch even if each offset fills a page."""
    pages = len(arena[3]) - arena[4][0]
    return pages >= min(batch, len(arena[2])) + batch // PAGE + 1


@kernel()
def spawn_map(keys, place, exponent, low_bits, fold, sym, index, direct, bits, arena, scratch):
    """Put a tile on every empty cell of the afterstates from `place` on; mark the states reached.

    Returns the place to go on with: ``len(keys)``, or less if the arena is full.
    """
    boards, ranks, spare = scratch[0], scratch[1], scratch[2:4]
    turn = np.uint64(exponent - 1)
    while place < len(keys):
        if not direct and not _room(arena, BATCH):
            break
        n = 0
        while place < len(keys) and n + 32 <= BATCH:
            key = keys[place]
            free = free_cells(key, low_bits, fold)
            while free:
                lowest = free & (~free + U1)
                boards[n] = key | lowest << turn
                n += 1
                free ^= lowest
            place += 1
        canonicalise(boards, n, sym[0], sym[1], sym[2], spare)
        _deliver(boards, n, index, direct, bits, arena, ranks)
    return place


@scalar
def _emit(boards, n, first, last, flags, out_boards, out_from, alive, won):
    """Collect the afterstates of allowed slides that do not win; mark states that can slide or win."""
    m = 0
    for i in range(n):
        board = boards[i]
        wins = flags[i] & WIN != U0
        allowed = flags[i] & (WIN | FORBIDDEN) == U0
        out_boards[m] = first[i]
        out_from[m] = i
        moved = first[i] != board
        m += allowed & moved
        out_boards[m] = last[i]
        out_from[m] = i
        moves = last[i] != board
        m += allowed & moves
        alive[i] |= wins | (allowed & (moved | moves))
        won[i] |= wins
    return m


@scalar
def _keep_within(boards, n, origin, limits, bits, alive):
    """Drop boards that exceed a cell's limit, and their origins; mark the states of the others."""
    kept = 0
    for j in range(n):
        if within(boards[j], limits, bits):
            boards[kept] = boards[j]
            origin[kept] = origin[j]
            alive[origin[j]] = 1
            kept += 1
    return kept


@scalar
def _afterstates_of(key, axes, moves, rules, tables, obstacles, limited, limits, patterns, tiny, out):
    """The allowed afterstates of one state, written to `out`; a batch of one.

    Returns how many, or -1 if a slide wins.  `tiny` holds six buffers.
    """
    n = 0
    tiny[0, 0] = key
    for axis in range(axes):
        permute(tiny[0], 1, moves[0][axis], moves[1][axis], moves[2][axis], tiny[1])
        slide_axis(tiny[1], 1, axis, rules, tables, obstacles, tiny[2], tiny[3], tiny[4])
        if tiny[4, 0] & WIN:
            return -1
        for slid in (tiny[2, 0], tiny[3, 0]):
            if slid != tiny[1, 0] and not tiny[4, 0] & FORBIDDEN:
                tiny[4, 1] = slid
                permute(tiny[4, 1:], 1, moves[3][axis], moves[4][axis], moves[5][axis], tiny[5])
                after = tiny[5, 0]
                if not limited or within(after, limits, rules[axis, 3]):
                    if holds(after, patterns):
                        return -1
                    out[n] = after
                    n += 1
    return n


@kernel()
def collapse(
    keys, maxima, n, axes, moves, rules, tables, obstacles, limited, limits, patterns, exponents, low_bits,
    fold, tiny, found,
):  # fmt: skip
    """Drop states that are won or lost within one move (``--lookahead``); return how many stay.

    Won: a slide makes the goal.  Lost: no slide, or every slide leads to an afterstate all
    of whose spawns leave no slide.  Written for clarity; it runs on request only.
    """
    kept = 0
    for i in range(n):
        after = _afterstates_of(
            keys[i], axes, moves, rules, tables, obstacles, limited, limits, patterns, tiny, found[0]
        )
        keep = False
        for j in range(after):
            free = free_cells(found[0, j], low_bits, fold)
            while free and not keep:
                lowest = free & (~free + U1)
                free ^= lowest
                for exponent in exponents:
                    state = found[0, j] | lowest << np.uint64(exponent - 1)
                    keep |= 0 != _afterstates_of(
                        state, axes, moves, rules, tables, obstacles, limited, limits, patterns, tiny,
                        found[1],
                    )  # fmt: skip
        if keep:
            keys[kept] = keys[i]
            maxima[kept] = maxima[i]
            kept += 1
    return kept


@scalar
def _count(states, n, maxima, alive, won, sym, order, spare, least, tally, out_counts):
    """Add a batch to ``out_counts``.

    A canonical board with a symmetry equals its least other image; only those few need
    their stabiliser, and correct what the others add without symmetry.  States, live and
    winning ones are counted in three fields of one word.
    """
    here = spare[0]
    for i in range(n):
        here[i] = states[i]
        least[i] = ~U0
    fold_images(n, sym[0], sym[1], sym[2], spare, least)
    for e in range(len(tally)):
        tally[e] = U0
    for i in range(n):
        lively = np.uint64(alive[i] | won[i])
        tally[maxima[i]] += U1 | lively << np.uint64(16) | np.uint64(won[i]) << np.uint64(32)
    for i in range(n):
        if least[i] == states[i]:
            fewer = order - order // stabiliser(states[i], sym[0], sym[1], sym[2], spare)
            out_counts[maxima[i], RAW_STATE] -= fewer
            if alive[i] | won[i]:
                out_counts[maxima[i], RAW_LIVE] -= fewer
    field = np.uint64(0xFFFF)
    for e in range(len(out_counts)):  # fewer than `tally` has where a cell has few bits
        lives = np.int64(tally[e] >> np.uint64(16) & field)
        out_counts[e, STATE] += np.int64(tally[e] & field)
        out_counts[e, LIVE] += lives
        out_counts[e, WINNING] += np.int64(tally[e] >> np.uint64(32))
        out_counts[e, RAW_STATE] += np.int64(tally[e] & field) * order
        out_counts[e, RAW_LIVE] += lives * order


@kernel()
def slide_map(
    bits_in, bit0, place, stop, layout, axes, moves, rules, tables, obstacles, limited, limits, patterns,
    order, lookahead, exponents, low_bits, fold,
    sym, index, recent, recent_bits, direct, bits, arena, scratch, tiny, marks, origin, tally, out_counts,
):  # fmt: skip
    """Slide the states whose bits are set in ranks [place, stop); count them, mark the afterstates.

    ``out_counts[e]``: counts of states with largest exponent e, columns as named above.
    Returns the rank to go on with: `stop`, or less if the arena is full.
    """
    states, ranks, spare = scratch[0], scratch[1], scratch[2:4]
    turned, first, last, flags, boards = scratch[4], scratch[5], scratch[6], scratch[7], scratch[8]
    alive, won, maxima, kept = marks[0], marks[1], marks[2], marks[3]
    head = -1
    while place < stop:
        if not direct and not _room(arena, BATCH):
            break
        n, place, head = list_bits(
            bits_in, bit0, place, stop, head, STATES, layout[0], layout[1], layout[2], layout[3], layout[4],
            layout[5], layout[6], layout[7], states, maxima,
        )  # fmt: skip
        if lookahead:
            n = collapse(
                states, maxima, n, axes, moves, rules, tables, obstacles, limited, limits, patterns,
                exponents, low_bits, fold, tiny, scratch[9:11],
            )  # fmt: skip
        for i in range(n):
            alive[i] = 0
            won[i] = 0
        for axis in range(axes):
            turn = slide_states(states, n, axis, moves, rules, tables, obstacles, turned, first, last, flags)
            source = turned if turn else states
            if limited:
                m = _emit(source, n, first, last, flags, boards, origin, kept, won)
            else:
                m = _emit(source, n, first, last, flags, boards, origin, alive, won)
            if moves[6][axis] & 2:
                permute(boards, m, moves[3][axis], moves[4][axis], moves[5][axis], ranks)
                boards, ranks = ranks, boards
            if limited:
                m = _keep_within(boards, m, origin, limits, rules[axis, 3], alive)
            if len(patterns):
                m = keep_open(boards, m, origin, patterns, won, 1)
            canonicalise(boards, m, sym[0], sym[1], sym[2], spare)
            m = filter_recent(boards, m, recent, recent_bits)
            _deliver(boards, m, index, direct, bits, arena, ranks)
        _count(states, n, maxima, alive, won, sym, order, spare, ranks, tally, out_counts)
    return place


@kernel()
def flush(first_block, last_block, block0, block_bits, data, page_start, page_order, page_length, bits):
    """Set the bits of blocks [first_block, last_block); `bits` begins with block `block0`.

    Pages of block b are ``page_order[page_start[b] : page_start[b + 1]]``;
    ``page_length[p]`` offsets of page p count.
    """
    for block in range(first_block, last_block):
        base = np.uint64(block - block0) << block_bits
        for j in range(page_start[block], page_start[block + 1]):
            page = page_order[j]
            begin = page * PAGE
            for i in range(begin, begin + page_length[page]):
                r = base + np.uint64(data[i])
                bits[r >> U6] |= U1 << (r & U63)


@kernel()
def pages_by_block(page_block, used, blocks, out_start, out_order):
    """Counting sort: pages of block b are ``out_order[out_start[b] : out_start[b + 1]]``, oldest first."""
    for b in range(blocks + 1):
        out_start[b] = 0
    for p in range(used):
        out_start[page_block[p] + 1] += 1
    for b in range(blocks):
        out_start[b + 1] += out_start[b]
    # From the last page down, ends become beginnings, which then move to where they belong.
    for p in range(used - 1, -1, -1):
        end = page_block[p] + 1
        out_start[end] -= 1
        out_order[out_start[end]] = p
    for b in range(blocks):
        out_start[b] = out_start[b + 1]
    out_start[blocks] = used


@kernel()
def list_layer(bits_in, bit0, place, stop, layout, out_keys, maxima, out_counts):
    """List all boards whose bits are set in ranks [place, stop) and count them by largest exponent.

    `out_keys` has room for them and 64 more.  Returns how many.
    """
    total = 0
    head = -1
    while place < stop:
        n, place, head = list_bits(
            bits_in, bit0, place, stop, head, len(maxima), layout[0], layout[1], layout[2], layout[3],
            layout[4], layout[5], layout[6], layout[7], out_keys[total:], maxima,
        )  # fmt: skip
        for i in range(n):
            out_counts[maxima[i]] += 1
        total += n
    return total
