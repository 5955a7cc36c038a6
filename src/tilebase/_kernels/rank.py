"""Kernels of the perfect index: list half boards, rank a board within its layer, list bits as boards.

A board is split into two half boards: the head (the first cells) and the tail.  Within a layer of
one sum, boards are in key order: heads in key order, and for each head all tails of the remaining
sum, in key order.  Hence

    rank(board) = head_base[head] + tail_rank[tail]

where `head_base` is computed for each layer and `tail_rank` is the same for all layers.  Each half
board is cut into two parts, whose tables convert packed bits into mixed-radix digits.  So a rank
costs four small look-ups and two large ones.

Where half boards are so many that the large tables leave the cache, the parts (a, b, c, d) serve longer:

    rank(board) = firsts[a] + rests[a, b] + smaller[sum of c and d, c] + (d among those of its sum)

which is the same number.  `rests` has half the bytes of `head_base`, `smaller` far fewer than `tail_rank`.
Where x move, a sum says also how many x there are.
On 4x4 to 64 a rank takes 10 to 14 ns then, not 34 to 49 (random boards).  With 4x4 to 32, whose large
tables have 4.7 MB, a count up to the sum 78 takes 51.6 CPU seconds, not 56.0.
"""

from __future__ import annotations

import numpy as np

from tilebase._kernels.jit import kernel, scalar
from tilebase._kernels.scalar import U0, U1, U6, U63, U64, ones, trailing_zeros

MANY_TAILS = 1 << 18
"""Half boards whose tables leave the second-level cache: 4x4 to 32 has 390,625."""
U16, LOW = np.uint32(16), np.uint32(0xFFFF)


# -- half boards -----------------------------------------------------------------------------------


@scalar
def _may_be_least(key, bits, cells, images):
    """Return whether some board that begins with these cells may be the least of its images.

    ``images[p, t]`` is the cell that comes to cell t.  A cell of the other half decides nothing.
    """
    mask = (U1 << bits) - U1
    # Compare the half with the same cells of each image, from the first cell on, as keys are compared: the
    # first cell that differs decides, and one that comes from the other half leaves the image undecided.
    for p in range(len(images)):
        for target in range(cells):
            source = images[p, target]
            if source >= cells:
                break
            here = key >> bits * np.uint64(cells - 1 - target) & mask
            there = key >> bits * np.uint64(cells - 1 - source) & mask
            if there < here:
                return False
            if there > here:
                break
    return True


@kernel()
def list_halves(first, second, together, bits, cells, images, out_keys, out_sums, out_maxima, out_usable):
    """Write keys, sums and largest exponents of all halves, and whether a canonical board may have them.

    `first` and `second` are (keys, sums, maxima, sets) of the fillings of the parts, keys at their place in
    the half; ``together[s, t]`` says whether a board may hold its x on the sets s and t of cells at once.
    Without `images` nothing is asked of the cells.
    """
    keys1, sums1, maxima1, sets1 = first
    keys2, sums2, maxima2, sets2 = second
    n = 0
    for a in range(len(keys1)):
        fits = together[sets1[a]]
        for b in range(len(keys2)):
            key = keys1[a] | keys2[b]
            out_keys[n] = key
            out_sums[n] = sums1[a] + sums2[b]
            out_maxima[n] = max(maxima1[a], maxima2[b])
            out_usable[n] = fits[sets2[b]] and _may_be_least(key, bits, cells, images)
            n += 1


@kernel()
def sort_halves(keys, sums, maxima, usable, starts, ends, out_keys, out_maxima, out_ranks):
    """List the usable halves by sum, those of one sum in key order.

    ``starts[s]`` and ``ends[s]`` say where those of the sum 2 s begin; the ends are moved to where they end.
    ``out_ranks[h]``, if it has memory, becomes the position of half h among those of its sum.
    """
    # A counting sort: halves come in key order, and each goes behind the last one of its sum.
    for h in range(len(keys)):
        if usable[h]:
            s = np.uint64(sums[h]) >> U1
            at = ends[s]
            ends[s] = at + U1
            out_keys[at] = keys[h]
            out_maxima[at] = maxima[h]
            if len(out_ranks):
                out_ranks[h] = at - starts[s]


# -- ranks and bits ----------------------------------------------------------------------------------


@kernel()
def layer_heads(
    head_sum, usable, tail_count, total, out_base, out_bases, out_firsts, out_rests, out_heads, out_starts
):
    """Lay out a layer of sum `total`.

    The rank of the first board with head h goes to ``out_base[h]``, or to ``out_bases[h]``, or in parts to
    `out_firsts` and `out_rests`, as in `Ranking`: to those that have memory.  ``out_heads[i]`` and
    ``out_starts[i]`` list the heads that have boards, and where each begins.  Returns the number of those
    heads and of the layer's boards.
    """
    count = 0
    rank = first = np.uint64(0)
    is_cut = len(out_rests) > 0
    others = len(out_rests) // max(len(out_firsts), 1)
    for h in range(len(head_sum)):
        # As many boards as there are tails with the rest of the sum; none if the head is not usable.
        left = total - head_sum[h]
        boards = np.uint64(0)
        if usable[h] and 0 <= left and left >> 1 < len(tail_count):
            boards = tail_count[left >> 1]
        # The rank of its first board: relative to that of the head's first part, in 32 bits, or in 64 bits.
        if is_cut:
            if h % others == 0:
                first = rank
                out_firsts[h // others] = rank
            out_rests[h] = np.uint32(rank - first)
        elif len(out_bases):
            out_bases[h] = np.uint32(rank)
        else:
            out_base[h] = rank
        if boards:
            out_heads[count] = h
            out_starts[count] = rank
            count += 1
            rank += boards
    return count, rank


@kernel()
def rank_keys(keys, n, ranking, out):
    """Write ``out[i]``: rank of ``keys[i]``; all keys must be canonical boards of the layer laid out."""
    shifts, parts = ranking.shifts, ranking.parts
    head_base, bases, tail_rank, tails = ranking.head_base, ranking.bases, ranking.tail_rank, ranking.tails
    part0, part1, part2, part3 = parts
    s0, s1, s2, s3 = shifts[0], shifts[1], shifts[2], shifts[3]
    m0 = np.uint64(len(part0) - 1)
    m1 = np.uint64(len(part1) - 1)
    m2 = np.uint64(len(part2) - 1)
    m3 = np.uint64(len(part3) - 1)
    # Many half boards: the rank in four terms, from tables that stay in a cache.
    if len(ranking.firsts):
        firsts, rests, smaller = ranking.firsts, ranking.rests, ranking.smaller
        others = np.uint64(len(rests) // len(firsts))
        # Each half in a loop of its own: together they need more registers than there are.
        for i in range(n):
            key = keys[i]
            a = np.uint64(part0[key >> s0 & m0])
            out[i] = firsts[a] + rests[a * others + part1[key >> s1 & m1]]
        for i in range(n):
            key = keys[i]
            d = part3[key >> s3 & m3]
            out[i] += smaller[part2[key >> s2 & m2] + (d & LOW)] + (d >> U16)
        return
    # Few: the rank of the head's first board plus the position of the tail, each in the narrowest table that
    # holds it.  A shift by 64 is undefined; a part without cells has its mask 0 instead.
    if len(bases):
        for i in range(n):
            key = keys[i]
            out[i] = bases[part0[key >> s0 & m0] + part1[key >> s1 & m1]]
    else:
        for i in range(n):
            key = keys[i]
            out[i] = head_base[part0[key >> s0 & m0] + part1[key >> s1 & m1]]
    if len(tails):
        for i in range(n):
            key = keys[i]
            out[i] += tails[part2[key >> s2 & m2] + part3[key >> s3 & m3]]
    else:
        for i in range(n):
            key = keys[i]
            out[i] += tail_rank[part2[key >> s2 & m2] + part3[key >> s3 & m3]]


@kernel()
def set_bits(ranks, n, bits):
    """Set the bit of each rank."""
    for i in range(n):
        r = ranks[i]
        bits[r >> U6] |= U1 << (r & U63)


@kernel()
def popcounts(bits, words, out):
    """Write ``out[j]``: ones in the j-th piece of `words` words."""
    for j in range(len(out)):
        count = np.uint64(0)
        for w in range(j * words, min((j + 1) * words, len(bits))):
            count += ones(bits[w])
        out[j] = count


@scalar
def _add_tails(keys, maxima, n, listing):
    """Put the tails into keys that hold their numbers, and their largest exponents into `maxima`."""
    tail_key, tail_max, tail_bits = listing.tail_key, listing.tail_max, listing.tail_bits
    tail_shift, tail_rest = listing.tail_shift, listing.tail_rest
    # No look-up waits for another, so a processor has many of them under way.
    for i in range(n):
        t = keys[i] & tail_bits
        keys[i] = keys[i] & ~tail_bits | tail_rest | np.uint64(tail_key[t]) << tail_shift
        maxima[i] = max(maxima[i], tail_max[t])


@scalar
def list_bits(source, position, stop, head, most, out_keys, out_max):
    """List boards of a set from rank `position` up to `stop`, until there are nearly `most`: 64 less.

    `head` is the position in `listing.heads` to begin at, or -1 to search for it.  Returns how many
    were listed and the rank and head to go on with.

    Where tails are many, keys first hold their numbers, which always fit into their bits.  They are looked up
    together at the end: then many look-ups wait for memory at once.
    """
    bits, listing = source.bits, source.listing
    starts, heads, tail_key, tail_max = listing.starts, listing.heads, listing.tail_key, listing.tail_max
    tail_shift = listing.tail_shift
    later = len(tail_key) >= MANY_TAILS
    rest = U0 if later else listing.tail_rest
    n = U0  # unsigned: an index that is not negative for certain
    # The last head that begins at `position` or before, by bisection.
    if head < 0:
        first, beyond = 0, len(starts)
        while first < beyond:
            middle = (first + beyond) // 2
            if starts[middle] <= position:
                first = middle + 1
            else:
                beyond = middle
        head = first - 1
    end = position  # the head's boards end here; its tables are read when its first board is listed
    shift, key, key_max = U0, U0, np.uint8(0)
    while position < stop and n + U64 <= np.uint64(most):
        # The bits from `position` on in their word, without those from `stop` on.
        offset = position - source.first_rank
        word = bits[offset >> U6] >> (offset & U63)
        width = min(np.uint64(64) - (offset & U63), stop - position)
        if width < np.uint64(64):
            word &= (U1 << width) - U1
        # Each bit is a board.  Ranks ascend, so its head is that of the board before, or one after it:
        #
        #     ranks    starts[head] ............. starts[head + 1] ....
        #     tails    tail_start[rest of the sum] + 0, 1, 2, ..          t = rank + shift
        while word:
            rank = position + trailing_zeros(word)
            if rank >= end:
                while head + 1 < len(heads) and starts[head + 1] <= rank:
                    head += 1
                end = starts[head + 1] if head + 1 < len(heads) else ~U0
                h = heads[head]
                key, key_max = listing.head_key[h] | rest, listing.head_max[h]
                shift = listing.tail_start[listing.tail_sums[head]] - starts[head]
            t = rank + shift
            if later:
                out_keys[n] = key | t
                out_max[n] = key_max
            else:
                out_keys[n] = key | np.uint64(tail_key[t]) << tail_shift
                out_max[n] = max(key_max, tail_max[t])
            n += U1
            word &= word - U1
        position += width
    if later:
        _add_tails(out_keys, out_max, np.int64(n), listing)
    return np.int64(n), position, head
