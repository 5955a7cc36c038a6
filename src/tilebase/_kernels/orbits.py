"""Orbits of many boards under the symmetries of their game: their sizes, and canonical boards."""

from __future__ import annotations

from tilebase._kernels.boards import permute
from tilebase._kernels.jit import kernel


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
