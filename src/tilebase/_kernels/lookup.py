"""Kernels on arrays of boards: packing cells, orbits, texts, sums, and the values of the slides of states.

A cell is a byte: the exponent of its tile, 0 if it is empty.
"""

from __future__ import annotations

import numpy as np

from tilebase._kernels.backup import FIRST, NONE
from tilebase._kernels.boards import permute
from tilebase._kernels.jit import kernel
from tilebase._kernels.scalar import U0, U1, largest_of, sum_of, trailing_zeros

NO_TILE = np.uint8(255)
"""What `read_tiles` writes for a number that is not a tile; no cell holds this exponent."""


@kernel()
def read_tiles(tiles, out_cells):
    """Write the exponents of tiles, 0 for 0; return how many numbers are not tiles."""
    wrong = 0
    # A tile is a power of two from 2 on; its exponent is the number of zeros below its bit.
    for i in range(len(tiles)):
        tile = np.uint64(tiles[i])
        exponent = U0
        if tile:
            exponent = trailing_zeros(tile)
            if tiles[i] < 2 or tile != U1 << exponent:
                exponent = np.uint64(NO_TILE)
                wrong += 1
        out_cells[i] = np.uint8(exponent)
    return wrong


@kernel()
def pack_cells(cells, codes, bits, out_keys):
    """Pack boards; return how many hold what they must not: ``codes[c, e]`` says that cell c may hold e."""
    wrong = 0
    for i in range(len(cells)):
        key, good = U0, True
        for c in range(cells.shape[1]):
            exponent = cells[i, c]
            good &= exponent < codes.shape[1] and codes[c, exponent]
            key = key << bits | np.uint64(exponent)
        out_keys[i] = key
        wrong += not good
    return wrong


@kernel()
def unpack_keys(keys, bits, out_cells):
    """Write the cells of boards; return how many boards."""
    mask, cells = (U1 << bits) - U1, out_cells.shape[1]
    for i in range(len(keys)):
        key = keys[i]
        for c in range(cells):
            out_cells[i, cells - 1 - c] = np.uint8(key & mask)
            key >>= bits
    return len(keys)


@kernel()
def count_stabilisers(keys, symmetries, images, out):
    """Write ``out[i]``: how many symmetries leave board i as it is, the identity too; return their number.

    `images` is two buffers, whose width is how many boards are turned at a time.
    """
    width = images.shape[1]
    for begin in range(0, len(keys), width):
        n = min(width, len(keys) - begin)
        here, there = images[0], images[1]
        # The identity leaves each board as it is; then image by image, each made from the one before.
        for i in range(n):
            here[i] = keys[begin + i]
            out[begin + i] = 1
        for j in range(len(symmetries.terms)):
            permute(here, n, symmetries, j, there)
            for i in range(n):
                out[begin + i] += there[i] == keys[begin + i]
            here, there = there, here
    return len(keys)


@kernel()
def find_least(keys, symmetries, images, out_least, out_which):
    """Write the least image of each board, and the first symmetry that makes it; return the boards' number.

    Symmetry 0 is the identity, and permutation j of `symmetries` is number j + 1.  `images` is a buffer, as
    long as the boards that are turned at a time.
    """
    width = len(images)
    for begin in range(0, len(keys), width):
        n = min(width, len(keys) - begin)
        here = keys[begin : begin + n]
        least, which = out_least[begin : begin + n], out_which[begin : begin + n]
        for i in range(n):
            least[i], which[i] = here[i], 0
        # Here the j-th permutation makes its image from the board itself.
        for j in range(len(symmetries.terms)):
            permute(here, n, symmetries, j, images)
            for i in range(n):
                if images[i] < least[i]:
                    least[i], which[i] = images[i], j + 1
    return len(keys)


@kernel()
def write_words(cells, words, lengths, out_ends, out_letters):
    """Write a word for each cell of boards, one after the other; return how many letters.

    ``words[c, e]`` is what cell c with the exponent e is called, of ``lengths[c, e]`` letters.  Board i ends
    before letter ``out_ends[i]``.
    """
    at = 0
    for i in range(len(cells)):
        for c in range(cells.shape[1]):
            exponent = cells[i, c]
            for k in range(lengths[c, exponent]):
                out_letters[at + k] = words[c, exponent, k]
            at += lengths[c, exponent]
        out_ends[i] = at
    return at


@kernel()
def sum_tiles(keys, bits, unmergeable, out_sums):
    """Write the sum of the tiles of each board; return the largest."""
    largest = U0
    for i in range(len(keys)):
        out_sums[i] = sum_of(keys[i], bits, unmergeable)
        largest = max(largest, out_sums[i])
    return largest


@kernel()
def rate_slides(
    states, slots, afters, gains, keys, values, worth, ends, bits, unmergeable, rows,
    out_value, out_q, out_allowed, out_best, out_known,
):  # fmt: skip
    """Write the values of states and of their slides; return how many have an afterstate that is missing.

    `slots` and `afters` are those of `backward.link_states`, and ``gains[a, x]`` is what merges along axis a
    add, without axes if they add nothing.  The layer has ``keys[j]``, whose value is ``values[FIRST + j]``.
    `worth` is what each slide adds, the slack of the best slides, and the discount; ``ends[e]`` is the value
    of a state without a slide whose largest exponent is e.  State x is written to row ``rows[x]``.
    """
    actions, missing = slots.shape[0], 0
    slide, slack, discount = worth[0], worth[1], worth[2]
    for x in range(len(states)):
        row, known, moves, most = rows[x], True, False, -np.inf
        # The value of each slide, before the discount.
        for k in range(actions):
            slot, q = np.int64(slots[k, x]), -np.inf
            allowed = slot != NONE
            # An afterstate says that the slide is allowed and does not win.  The layer may lack it: the slot
            # then names another board, or none.
            if afters[k, x] != U0:
                allowed = True
                there = FIRST <= slot < FIRST + len(keys)
                if there:
                    there = keys[slot - FIRST] == afters[k, x]
                if not there:
                    known, slot = False, np.int64(NONE)
            if slot != NONE:
                q = values[slot] + (slide + (gains[k >> 1, x] if len(gains) else 0))
            moves |= allowed
            most = max(most, q)
            out_allowed[row, k] = allowed
            out_q[row, k] = q
        # Which are the best.
        for k in range(actions):
            q = out_q[row, k]
            has_value = q != -np.inf
            out_best[row, k] = known and has_value and q >= most - slack * abs(most)
            out_q[row, k] = q * discount if has_value else np.nan
        # The value of the state.
        out_known[row] = known
        if not known:
            missing += 1
            out_value[row] = np.nan
        elif moves:
            out_value[row] = most * discount
        else:
            out_value[row] = ends[largest_of(states[x], bits, unmergeable)]
    return missing
