"""Kernels that list the half boards of the perfect index, from all fillings of the two parts of each.

A half is numbered in key order: that with filling a of its first part and b of its second has the number
``a * len(second) + b``.
"""

from __future__ import annotations

import numpy as np

from tilebase._kernels.jit import kernel, scalar


@scalar
def _may_be_least(key, bits, cells, images):
    """Return whether some board that begins with these cells may be the least of its images.

    ``images[p, t]`` is the cell that comes to cell t.  A cell of the other half decides nothing.
    """
    mask = (np.uint64(1) << bits) - np.uint64(1)
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
            s = np.uint64(sums[h]) >> np.uint64(1)
            at = ends[s]
            ends[s] = at + np.uint64(1)
            out_keys[at] = keys[h]
            out_maxima[at] = maxima[h]
            if len(out_ranks):
                out_ranks[h] = at - starts[s]
