"""Kernels that move ranks from one worker to another: out of the pages of an arena, window by window.

A *stream* holds the ranks of some blocks, one block after the other, in bytes:

    1 byte     how the block is written: RAW or GAPS
    4 bytes    how many ranks follow
    RAW        4 bytes for each: the offset within the block, in any order, with repetitions
    GAPS       for each rank in ascending order, without repetitions: the ranks between it and the one before,
               as bytes of 255 while there are 255 or more, and one byte for the rest

Numbers of 4 bytes begin with the lowest byte.  A block that holds at least one rank in `DENSE` is written as
gaps, which takes 1 to 3 bytes for each; to sort a block with fewer takes longer than to write its offsets.
"""

from __future__ import annotations

import numpy as np

from tilebase._kernels.forward import PAGE
from tilebase._kernels.jit import kernel, scalar
from tilebase._kernels.scalar import U1, U6, U63, trailing_zeros

RAW, GAPS = 0, 1
HEAD = 5
"""Bytes in front of the ranks of a block."""
DENSE = 512


@scalar
def _put_number(number, out, at):
    """Write a number in 4 bytes."""
    for k in range(4):
        out[at + k] = number >> 8 * k & 255


@scalar
def _number(data, at):
    """Read a number of 4 bytes."""
    low, high = np.int64(data[at]), np.int64(data[at + 3])
    return low | np.int64(data[at + 1]) << 8 | np.int64(data[at + 2]) << 16 | high << 24


@scalar
def _list_gaps(bits, words, out, at):
    """Write a set of bits as gaps and clear it; return where the stream goes on, and the number of bits."""
    n, last = 0, np.int64(-1)
    for w in range(words):
        # Most words are 0 in a set that is hardly dense: they are not written.
        word = bits[w]
        if word:
            bits[w] = 0
        # The bits of a word from the lowest up.
        while word:
            position = w * 64 + np.int64(trailing_zeros(word))
            # Ranks left out since the last one, in base 255 with a digit of 255 for each carry.
            gap = position - last - 1
            while gap >= 255:
                out[at] = 255
                at += 1
                gap -= 255
            out[at] = gap
            at += 1
            n += 1
            last = position
            word &= word - U1
    return at, n


@kernel()
def pack_offsets(first_block, last_block, block_bits, data, page_start, page_order, page_length, bits, out):
    """Write the ranks in the pages of blocks [first_block, last_block) as a stream; return its bytes.

    Pages are as in `forward.flush`.  `bits` are zeros for one block, and are zeros again afterwards.  `out`
    has memory for 4 bytes per rank and `HEAD` per block.
    """
    at = 0
    words = 1 << block_bits - 6
    for block in range(first_block, last_block):
        # How many ranks the block has decides how they are written.
        n = 0
        for j in range(page_start[block], page_start[block + 1]):
            n += page_length[page_order[j]]
        head = at
        at += HEAD
        # Many ranks become bits, which sorts them and drops repeats, and are listed as gaps; few are written
        # as they come.
        dense = n * DENSE >= 64 * words
        for j in range(page_start[block], page_start[block + 1]):
            begin = page_order[j] * PAGE
            for i in range(begin, begin + page_length[page_order[j]]):
                if dense:
                    r = np.uint64(data[i])
                    bits[r >> U6] |= U1 << (r & U63)
                else:
                    _put_number(np.int64(data[i]), out, at)
                    at += 4
        if dense:
            at, n = _list_gaps(bits, words, out, at)
        # The head says how many they are, which is known now that repetitions are gone.
        out[head] = GAPS if dense else RAW
        _put_number(n, out, head + 1)
    return at


@kernel()
def unpack_offsets(data, block_bits, bits):
    """Set the bits of the ranks in a stream, whose first block begins with the first of the bits."""
    at = 0
    block = 0
    while at < len(data):
        # The head of a block: how it is written, and how many ranks follow.
        base = np.int64(block) << block_bits
        gaps, n = data[at] == GAPS, _number(data, at + 1)
        at += HEAD
        position = base - 1
        for _ in range(n):
            # A gap counts the ranks left out since the last one; bytes of 255 are followed by another.
            if gaps:
                while data[at] == 255:
                    position += 255
                    at += 1
                position += np.int64(data[at]) + 1
                at += 1
                r = np.uint64(position)
            else:
                r = np.uint64(base + _number(data, at))
                at += 4
            bits[r >> U6] |= U1 << (r & U63)
        block += 1
