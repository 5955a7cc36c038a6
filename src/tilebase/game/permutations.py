"""Permutations of the cells of packed keys, in the few operations that the kernels do them with.

There are two ways to move the cells of a key.  Either each distance that cells travel is a *masked
rotation* of the key, and the union of these is the result.  Or the key passes through *swaps*: a swap
exchanges pairs of cells that are equally far apart, in six operations.  Reflections and transpositions
need one or two swaps, where they would need three to seven rotations.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from tilebase._kernels.arguments import BY_BYTES, RECTANGLE, SQUARE, STEPWISE, Permutations
from tilebase.game.game import Cells, Game

Swap: TypeAlias = tuple[int, frozenset[int]]
"""A distance in cells, and the cells that are exchanged with those so far behind them."""

SWAP_COST, TERM_COST, PADDED = 6, 5, 4
"""Operations of a swap and of a rotation, and the multiple to which rotations are filled up."""
MOST_CHOICES = 1 << 10
"""Most ways of dividing a permutation between two swaps that are tried."""
MOST_SWAPS = {SQUARE: (1, 1, 1, 2, 1, 1, 1), RECTANGLE: (1, 2, 1)}
"""Most swaps of each step, where one loop makes all images of a board: as on 3x3 and 2x2, and on 3x4."""


def permutations(game: Game, steps: Sequence[Cells]) -> Permutations:
    """Permutations as the kernels take them; each is a tuple of source cells."""
    found = [(swaps_of(step), _rotations(game, step)) for step in steps]
    longest = max((max(len(swaps or ()), len(masks)) for swaps, masks in found), default=0)
    width = max(-(-longest // PADDED) * PADDED, PADDED)
    result = Permutations(
        np.zeros((len(steps), width), dtype=np.uint64),
        np.zeros((len(steps), width), dtype=np.uint64),
        np.array([len(masks) for _, masks in found], dtype=np.int64),
        np.array([len(swaps or ()) for swaps, _ in found], dtype=np.int64),
        _way(game, [len(swaps or ()) for swaps, _ in found]),
    )
    for j, (swaps, masks) in enumerate(found):
        if swaps is None:
            result.masks[j, : len(masks)] = list(masks.values())
            result.rotations[j, : len(masks)] = list(masks)
        for k, (distance, firsts) in enumerate(swaps or ()):
            result.masks[j, k] = game.cell_bits(cell + distance for cell in firsts)
            result.rotations[j, k] = game.bits * distance
    return result


def _way(game: Game, swaps: Sequence[int]) -> int:
    """Return how to make all images of a board, if these are the swaps of the steps of a `short_path`."""
    if (game.shape, game.bits, len(swaps)) == ((4, 4), 4, 7):  # then the group has all eight symmetries
        return BY_BYTES
    for way, most in MOST_SWAPS.items():
        if len(swaps) == len(most) and all(0 < count <= top for count, top in zip(swaps, most, strict=True)):
            return way
    return STEPWISE


def short_path(group: Sequence[Cells]) -> list[Cells]:
    """Permutations that lead from each element of the group to the next, cheap ones first.

    Applied one after the other to a board, they make all its images.  The order is greedy: each step
    goes to the element that takes the fewest operations.
    """

    def step(source: Cells, target: Cells) -> Cells:
        # The image under `target` holds b[target[i]] = image[j] where source[j] = target[i].
        where = {cell: j for j, cell in enumerate(source)}
        return tuple(where[cell] for cell in target)

    steps, here, left = [], group[0], list(group[1:])
    while left:
        nearest = min(left, key=lambda target: cost(step(here, target)))
        steps.append(step(here, nearest))
        left.remove(nearest)
        here = nearest
    return steps


def cost(permutation: Cells) -> int:
    """Return how many operations a permutation takes."""
    swaps = swaps_of(permutation)
    return _term_cost(permutation) if swaps is None else SWAP_COST * len(swaps)


def _term_cost(permutation: Cells) -> int:
    terms = len({cell - source for cell, source in enumerate(permutation)})
    return TERM_COST * -(-terms // PADDED) * PADDED


@lru_cache(maxsize=256)
def swaps_of(permutation: Cells) -> tuple[Swap, ...] | None:
    """At most three swaps that make a permutation one after the other; None if rotations are cheaper.

    >>> [distance for distance, _ in swaps_of((3, 2, 1, 0))]
    [1, 3]
    """
    travelled = {source - cell for cell, source in enumerate(permutation)} - {0}
    distances = sorted({abs(way) for way in travelled})
    if not distances:
        return None  # nothing moves, which no symmetry but the first does
    found = None
    if all(permutation[source] == cell for cell, source in enumerate(permutation)) and len(distances) <= 3:
        found = tuple(
            (d, frozenset(cell for cell, source in enumerate(permutation) if source - cell == d))
            for d in distances
        )
    if found is None or len(found) > 2:
        found = _two_swaps(permutation, distances) or found
    return found if found and SWAP_COST * len(found) <= _term_cost(permutation) else None


def _two_swaps(permutation: Cells, distances: list[int]) -> tuple[Swap, ...] | None:
    """Two swaps at different distances that make a permutation, or None."""
    cells = len(permutation)
    target = {source: cell for cell, source in enumerate(permutation)}
    for first, second in itertools.permutations(range(1, distances[-1] + 1), 2):
        if not {0, first, second, first + second, abs(first - second)}.issuperset(distances):
            continue
        ways = [
            [e for e in (0, first, -first) if abs(target[cell] - cell - e) in (0, second)]
            for cell in range(cells)
        ]
        if not all(ways) or np.prod([float(len(way)) for way in ways]) > MOST_CHOICES:
            continue
        for chosen in itertools.product(*ways):
            middle = [cell + e for cell, e in enumerate(chosen)]
            if sorted(middle) != list(range(cells)):
                continue
            after = [0] * cells
            for cell, there in enumerate(middle):
                after[there] = target[cell] - there
            pair = _swap(first, chosen), _swap(second, after)
            if pair[0] and pair[1]:
                return pair[0], pair[1]
    return None


def _swap(distance: int, ways: Sequence[int]) -> Swap | None:
    """Return the swap that moves cell c by ``ways[c]``; None if this is not one."""
    firsts = {cell for cell, way in enumerate(ways) if way == distance}
    if {cell + distance for cell in firsts} != {cell for cell, way in enumerate(ways) if way == -distance}:
        return None
    return distance, frozenset(firsts)


def _rotations(game: Game, permutation: Cells) -> dict[int, int]:
    """Return the masks by left rotation whose union moves cell permutation[i] to cell i."""
    masks: dict[int, int] = {}
    for cell, source in enumerate(permutation):
        rotation = game.bits * (source - cell) % 64
        masks[rotation] = masks.get(rotation, 0) | game.cell_bits([source])
    return masks
