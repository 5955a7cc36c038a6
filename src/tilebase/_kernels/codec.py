"""LEB128 deltas of sorted keys, for the chunks of layers (docs/format.md), their short forms, and checks."""

from __future__ import annotations

import numpy as np

from tilebase._kernels.jit import kernel
from tilebase._kernels.scalar import U0, U63, stands

U7 = np.uint64(7)
LOW = np.uint64(0x7F)
MORE = np.uint64(0x80)


@kernel()
def encode_deltas(keys, out):
    """Write the differences between neighbours of ascending `keys`; return the bytes written.

    `out` has ten bytes for each key.  The first key is not written: the index holds it.
    """
    at = 0
    for i in range(1, len(keys)):
        delta = keys[i] - keys[i - 1]
        # Seven bits at a time, the lowest first; the highest bit of a byte says that more follow.
        while delta > LOW:
            out[at] = np.uint8(delta & LOW | MORE)
            delta >>= U7
            at += 1
        out[at] = np.uint8(delta)
        at += 1
    return at


@kernel()
def decode_deltas(first, data, out):
    """Fill `out` with the keys that `data` encodes; return how many.

    -1 if the data is malformed, -2 if keys are not ascending: a difference is too large to add.
    """
    # The first key is known, and each difference leads to the next.
    key = first
    out[0] = key
    n = 1
    delta = shift = U0
    for i in range(len(data)):
        # Put the next seven bits above those before.
        byte = np.uint64(data[i])
        delta |= (byte & LOW) << shift
        if byte & MORE:
            # A difference has at most ten bytes.
            shift += U7
            if shift > U63:
                return -1
        else:
            # The difference is complete: keys ascend, so it is not 0 and does not wrap around.
            if n >= len(out) or delta == U0:
                return -1
            if key + delta < key:
                return -2
            key += delta
            out[n] = key
            n += 1
            delta = shift = U0
    # The last byte must end a difference.
    return n if shift == U0 else -1


@kernel()
def move_bits(keys, masks, down, up, base, out):
    """Fill `out` with `base` and, for each mask, the bits of each key under it, moved down and then up."""
    for i in range(len(keys)):
        out[i] = base
    # Stretch by stretch, so that the inner loop has no branch and is vectorised.
    for g in range(len(masks)):
        mask, less, more = masks[g], down[g], up[g]
        for i in range(len(keys)):
            out[i] |= (keys[i] & mask) >> less << more


@kernel()
def are_boards(keys, sums, starts, masks, width, unused, x_masks, total):
    """Return whether all keys are boards of one sum.

    A key is cut into groups of `width` bits, the last cells first; ``sums[starts[g] + word]`` is what group g
    adds to the sum if it is `word`, at most ``masks[g]``.  `unused` are the bits that no cell has.  One of
    `x_masks`, if there are any, must be covered (`scalar.stands`).
    """
    sound = True
    for i in range(len(keys)):
        # Add up what the groups of cells, the last first, add to the sum; a forbidden code adds too much.
        left = keys[i]
        found = 0
        for g in range(len(starts)):
            found += sums[starts[g] + (left & masks[g])]
            left >>= width
        # Do not stop at a wrong key: a branch for each key would cost more.
        sound &= (found == total) & (keys[i] & unused == U0)
        if len(x_masks):
            sound &= stands(keys[i], x_masks)
    return sound
