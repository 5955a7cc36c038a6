"""Kernels of the forward pass: spawn on afterstates, slide states, mark what is reached.

Both maps work in batches that stay in the first-level cache: emit boards, make them
canonical, rank them.  The ranks then take one of two ways:

* a layer whose bits fit into the cache needs no more: they are set at once (``direct``);
* otherwise ranks go, as 32-bit offsets, into the pages of their block: block ``r >> block_bits``
  owns a chain of pages of 1024 offsets in the arena of the thread (`arguments.Pages`).  When an
  arena is full, or the map is done, `flush` sets the bits block by block, so that no write misses the cache.
  Layers with a thousand blocks fill as many lines at once, so the next line of a page is requested early.

Slides reach the same afterstate often within a short time, so between the two they pass a
filter of recent keys.  It is lossy and direct-mapped: a hit proves a duplicate, a miss
proves nothing.  It holds for one target layer only and must be cleared before the next.
Spawns repeat themselves too seldom (one in a hundred at 65536 slots) to pay for a filter.
"""

from __future__ import annotations

import numpy as np
from numba import types

from tilebase._kernels.arguments import BoardRules, Scratch
from tilebase._kernels.boards import canonicalise, fold_images, slide_states, stabiliser
from tilebase._kernels.jit import WORDS, N, kernel, linked, scalar
from tilebase._kernels.lines import rank_words, slide_ranks, spawn_words
from tilebase._kernels.rank import list_bits, rank_keys, set_bits
from tilebase._kernels.scalar import U0, U1, U6, U63, free_cells, request

PAGE = 1024
"""Offsets in a page; a power of two."""

BATCH = 1024
"""Boards in a batch of either map, and of the backward pass."""

STATES = 256
"""States listed at a time: each gives at most two boards an axis."""

BYTES = types.uint8[::1]
LINE = np.uint64(16)
"""Offsets in a cache line."""
MOST_SPAWNED = BATCH - 32
"""Spawned states with which a batch takes another afterstate: at most 32 come from one."""
HASH = np.uint64(0x9E3779B97F4A7C15)

# Columns of the counts that `slide_map` adds to, one row an exponent.
STATE, LIVE, WINNING, RAW_STATE, RAW_LIVE = range(5)


@kernel()
def filter_recent(keys, n, recent):
    """Remove keys that were found a short time ago, keep the others in order; return how many."""
    kept = 0
    slots, shift = recent.slots, np.uint64(64) - recent.bits
    for i in range(n):
        key = keys[i]
        slot = (key * HASH) >> shift
        # Branch-free: the write is harmless where the key is dropped.
        keys[kept] = key
        kept += slots[slot] != key
        slots[slot] = key
    return kept


@kernel()
def push(ranks, n, pages):
    """Append ranks to the pages of their blocks.  The caller has made sure there are enough."""
    offsets, cursor = pages.offsets, pages.cursor
    block_bits = pages.block_bits
    mask = (U1 << block_bits) - U1
    taken = pages.used[0]
    for i in range(n):
        # The next free place in the last page of the block; the line after it will be needed soon.
        block = ranks[i] >> block_bits
        at = cursor[block]
        offsets[np.uint64(at)] = np.uint32(ranks[i] & mask)
        request(offsets, np.uint64(at) + LINE)
        at += 1
        # A full page: the block goes on with the next page that nobody uses.
        if at & (PAGE - 1) == 0:
            pages.page_block[taken] = np.int64(block)
            at = taken * PAGE
            taken += 1
        cursor[block] = at
    pages.used[0] = taken


@scalar
def _mark(ranks, n, target):
    """Set the bits of ranks, or push the offsets."""
    if target.direct:
        set_bits(ranks, n, target.bits)
    else:
        push(ranks, n, target.pages)


@scalar
def _deliver(keys, n, target, ranks):
    """Rank canonical boards, and set the bits or push the offsets."""
    rank_keys(keys, n, target.ranking, ranks)
    _mark(ranks, n, target)


@scalar
def _takes_batch(target):
    """Return whether there is memory for another batch even if each offset fills a page."""
    pages = target.pages
    free = len(pages.page_block) - pages.used[0]
    return target.direct or free >= min(BATCH, len(pages.cursor)) + BATCH // PAGE + 1


@scalar
def spawn_states(key, code, rules, out, n):
    """Append the states that spawns of a tile make of an afterstate, from its lowest free cell up.

    Without a tile, of code 0, that is the board itself.
    """
    if not code:
        out[n] = key
        return n + 1
    free = free_cells(key, rules.low_bits, rules.fold)
    while free:
        lowest = free & (~free + U1)
        out[n] = key | lowest * code
        n += 1
        free ^= lowest
    return n


@kernel()
def spawn_map(keys, position, exponent, rules, target, scratch):
    """Put a tile on every empty cell of the afterstates from `position` on; mark the states reached.

    With the exponent 0, the boards themselves are marked, or the least of their images.  Returns the position
    to continue from: ``len(keys)``, or less if the arena is full.
    """
    states = scratch.states
    code = np.uint64(exponent)
    while position < len(keys):
        if not _takes_batch(target):
            break
        # Where lines say how boards slide, a spawn adds to the numbers of the half boards: no state is made.
        if code and len(target.ranking.cells):
            m = U0
            while position < len(keys) and m <= np.uint64(MOST_SPAWNED):
                m = spawn_words(keys[position], exponent, rules, target.ranking, scratch.ranks, m)
                position += 1
            rank_words(scratch.ranks, np.int64(m), target.ranking)
            _mark(scratch.ranks, np.int64(m), target)
            continue
        # Elsewhere: a batch of states, their least images, and the ranks of these.
        n = 0
        while position < len(keys) and n <= MOST_SPAWNED:
            n = spawn_states(keys[position], code, rules, states, n)
            position += 1
        canonicalise(states, n, rules.symmetries, scratch.images)
        _deliver(states, n, target, scratch.ranks)
    return position


@scalar
def _has_two(cells):
    """Return whether a word has two bits or more."""
    return cells & (cells - U1) != U0


@scalar
def _settle(spawned, n, owners, rules, is_open):
    """Set ``is_open[owners[i]]`` where the i-th of the spawned states has a slide."""
    won = spawned.won
    for i in range(n):
        won[i] = 0
    # Both slides along an axis have the state's number as their tag: a slide to either end makes it open.
    for axis in range(rules.dimensions):
        m = slide_states(spawned.states, n, axis, rules, spawned, 0, won)
        for j in range(m):
            is_open[owners[np.uint64(spawned.tags[j])]] = 1
    for i in range(n):
        if won[i]:
            is_open[owners[i]] = 1


@scalar
def _look_ahead(states, n, rules, scratch, spawned, in_one_cell, is_open):
    """Set ``is_open[i]`` if some slide of state i leads to an afterstate of which a spawn leaves a slide.

    With `in_one_cell`, only the spawns in the first empty cell of each afterstate are tried.
    """
    owners, waiting = spawned.ranks, 0
    most = len(spawned.states) // 2 - len(rules.exponents)  # a state slides to both ends of an axis
    # The spawned states of many afterstates wait until a batch is full; `owners` names the state of each.
    for axis in range(rules.dimensions):
        m = slide_states(states, n, axis, rules, scratch, 0, scratch.won)
        for j in range(m):
            board, owner = scratch.boards[j], np.uint64(scratch.tags[j])
            free = free_cells(board, rules.low_bits, rules.fold)
            if in_one_cell:
                free &= ~free + U1
            # One spawn that leaves a slide suffices: a state that is open by now needs no more.
            while free and not is_open[owner]:
                lowest = free & (~free + U1)
                free ^= lowest
                for exponent in rules.exponents:
                    spawned.states[waiting] = board | lowest * np.uint64(exponent)
                    owners[waiting] = owner
                    waiting += 1
                if waiting > most:
                    _settle(spawned, waiting, owners, rules, is_open)
                    waiting = 0
    _settle(spawned, waiting, owners, rules, is_open)


@scalar
def _divide(left, tops, n, won, is_open, keys, maxima, kept):
    """Append the open states to `keys`, keep those that are neither open nor won in `left`; count both."""
    # States that are won leave both lists.  The others move forward in place: `doubtful` is never beyond i.
    doubtful = 0
    for i in range(n):
        if won[i]:
            continue
        if is_open[i]:
            keys[kept] = left[i]
            maxima[kept] = tops[i]
            kept += 1
        else:
            left[doubtful] = left[i]
            tops[doubtful] = tops[i]
            doubtful += 1
    for i in range(doubtful):
        won[i] = is_open[i] = 0
    return kept, doubtful


@linked(N, WORDS, N, BoardRules, Scratch, Scratch, BYTES, BYTES, BYTES, optional=True)
def collapse(keys, n, rules, scratch, spawned, maxima, won, is_open):
    """Remove states that are won or lost within one move (``--lookahead``); return how many stay.

    Won: a slide makes the goal.  Lost: no slide, or every slide leads to an afterstate all of whose spawns
    leave no slide.  Where nothing forbids slides, two empty cells suffice: a spawn leaves one, into which a
    tile can slide.  The others are slid together; of what is still not clear, first the spawns in one cell of
    each afterstate are tried, and then all.

    ``maxima[i]`` is the largest exponent of state i, and is kept in step; the order of the states changes.
    `keys` may be ``scratch.states``, and n is at most half the width of `scratch`; `spawned` is a second
    `Scratch`, and `won` and `is_open` are memory of a byte for each state.
    """
    # The states that are not clear yet, and their largest exponents, lie in memory that slides do not use.
    #
    #     keys, maxima    | open: kept as they are found ... |      `kept` grows
    #     left, tops      | not clear yet ........... |             `unclear` shrinks from step to step
    left, tops = scratch.images[0], scratch.ranks
    kept = unclear = 0
    # 1. States with two empty cells are open.
    for i in range(n):
        if 0 < maxima[i] <= rules.open_top and _has_two(free_cells(keys[i], rules.low_bits, rules.fold)):
            keys[kept] = keys[i]
            maxima[kept] = maxima[i]
            kept += 1
        else:
            left[unclear] = keys[i]
            tops[unclear] = maxima[i]
            won[unclear] = is_open[unclear] = 0
            unclear += 1
    # 2. So are states with a slide to an afterstate with two empty cells; wins are left out.
    for axis in range(rules.dimensions):
        m = slide_states(left, unclear, axis, rules, scratch, 0, won)
        for j in range(m):
            if rules.open_top and _has_two(free_cells(scratch.boards[j], rules.low_bits, rules.fold)):
                is_open[scratch.tags[j]] = 1
    kept, unclear = _divide(left, tops, unclear, won, is_open, keys, maxima, kept)
    # 3. The others are tried spawn by spawn.  What is left after that is lost.
    for in_one_cell in (True, False):
        _look_ahead(left, unclear, rules, scratch, spawned, in_one_cell, is_open)
        kept, unclear = _divide(left, tops, unclear, won, is_open, keys, maxima, kept)
    return kept


@scalar
def _count(n, marks, rules, scratch, out_counts):
    """Add a batch to ``out_counts``.

    A canonical board with a symmetry equals its least other image; only those few need
    their stabiliser, and correct what the others add without symmetry.  States, live and
    winning ones are counted in three fields of one word.
    """
    states, least, here = scratch.states, scratch.boards, scratch.images[0]
    alive, won, maxima, tally = marks.alive, marks.won, marks.maxima, marks.tally
    order = rules.order
    # By largest exponent, without symmetry.  A word of the tally has three counts:
    #
    #     bits 32..47 states that win    16..31 live states    0..15 states
    for e in range(len(tally)):
        tally[e] = U0
    for i in range(n):
        lively = np.uint64(alive[i] | won[i])
        tally[maxima[i]] += U1 | lively << np.uint64(16) | np.uint64(won[i]) << np.uint64(32)
    # Boards with a symmetry have fewer images.
    if order > 1:
        for i in range(n):
            here[i] = states[i]
            least[i] = ~U0
        fold_images(n, rules.symmetries, scratch.images, least)
    for i in range(n if order > 1 else 0):
        if least[i] == states[i]:
            fewer = order - order // stabiliser(states[i], rules.symmetries, scratch.images)
            out_counts[maxima[i], RAW_STATE] -= fewer
            if alive[i] | won[i]:
                out_counts[maxima[i], RAW_LIVE] -= fewer
    # The fields of the words, and the images of all boards.
    field = np.uint64(0xFFFF)
    for e in range(len(out_counts)):  # fewer than `tally` has where a cell has few bits
        lives = np.int64(tally[e] >> np.uint64(16) & field)
        out_counts[e, STATE] += np.int64(tally[e] & field)
        out_counts[e, LIVE] += lives
        out_counts[e, WINNING] += np.int64(tally[e] >> np.uint64(32))
        out_counts[e, RAW_STATE] += np.int64(tally[e] & field) * order
        out_counts[e, RAW_LIVE] += lives * order


@kernel()
def slide_map(source, position, stop, rules, lookahead, target, recent, scratch, marks, spawned, out_counts):
    """Slide the states of a set with ranks [position, stop); count them, mark the afterstates.

    ``out_counts[e]``: counts of states with largest exponent e, columns as named above; `spawned`
    is a second `Scratch`, for `collapse`.  Returns the rank to go on with: `stop`, or less if
    the arena is full.
    """
    states, boards = scratch.states, scratch.boards
    alive, won, maxima = marks.alive, marks.won, marks.maxima
    head = np.int64(-1)
    while position < stop:
        if not _takes_batch(target):
            break
        # A batch of states; with lookahead those that are not decided.
        n, position, head = list_bits(source, position, stop, head, np.int64(STATES), states, maxima)
        if lookahead:
            n = collapse(states, n, rules, scratch, spawned, maxima, won, alive)
        # Their slides, axis by axis.
        for i in range(n):
            alive[i] = 0
            won[i] = 0
        for axis in range(rules.dimensions):
            # Where lines say how boards slide, slides become ranks at once; bits that are set at once need no
            # filter, since to set one twice costs as little.
            if len(target.ranking.cells):
                m = slide_ranks(states, n, axis, rules, target.ranking, scratch, won)
                for j in range(m):
                    alive[np.uint64(scratch.tags[j])] = 1
                m = m if target.direct else filter_recent(scratch.ranks, m, recent)
                _mark(scratch.ranks, m, target)
                continue
            # Elsewhere: slide, take the least image, drop what was found a short time ago, rank, mark.
            m = slide_states(states, n, axis, rules, scratch, 0, won)
            for j in range(m):
                alive[np.uint64(scratch.tags[j])] = 1
            canonicalise(boards, m, rules.symmetries, scratch.images)
            m = filter_recent(boards, m, recent)
            _deliver(boards, m, target, scratch.ranks)
        _count(n, marks, rules, scratch, out_counts)
    return position


@kernel()
def flush(first_block, last_block, block0, block_bits, data, page_start, page_order, page_length, bits):
    """Set the bits of blocks [first_block, last_block); `bits` begins with block `block0`.

    Pages of block b are ``page_order[page_start[b] : page_start[b + 1]]``;
    ``page_length[p]`` offsets of page p count.
    """
    # Block by block: the bits of one fit into a cache, whichever order its ranks have.
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
    """Sort pages by block: those of b are ``out_order[out_start[b] : out_start[b + 1]]``, oldest first."""
    # A counting sort: how many pages each block has, then where each ends.
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
def list_layer(source, position, stop, out_keys, maxima, out_counts):
    """List all boards of a set with ranks [position, stop) and count them by largest exponent.

    `out_keys` has memory for them and 64 more.  Returns how many.
    """
    total = 0
    head = np.int64(-1)
    while position < stop:
        n, position, head = list_bits(source, position, stop, head, len(maxima), out_keys[total:], maxima)
        for i in range(n):
            out_counts[maxima[i]] += 1
        total += n
    return total
