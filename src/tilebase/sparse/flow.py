"""Play over solved layers: the best slides of many states, and the states that games meet, sum by sum.

Slides whose values differ by at most the slack of a table are equally good (`Table.slack`).  Optimal play
makes each of the best slides of a state with the same probability (`even`).

A slide keeps the sum of a board and a spawn makes it larger, so a game meets at most one state of each
sum.  Who follows games takes the states of the lowest sum, and adds those that spawns make after the slides.
"""

from __future__ import annotations

from typing import Self

import numpy as np

from tilebase._kernels.arguments import Array
from tilebase.game.compiled import CompiledGame
from tilebase.game.game import Cells
from tilebase.objectives.encoding import NONE, slide_gains
from tilebase.objectives.objective import Objective
from tilebase.sparse.reading import MISSING, Links, ReadLayer, merge_weights, spawn_chances, spawns_of


class Walk:
    """All games of a policy at once: the states of each sum, with numbers such as how probable each is.

    Take the states of the lowest sum (`pop`), choose slides, and hand the afterstates on (`spread`).  A
    number may be a row of numbers.  If `turned`, keys are canonical, and boards that are turned are one.
    """

    def __init__(self, compiled: CompiledGame, *, turned: bool = True) -> None:
        self._compiled, self._turned = compiled, turned
        self._pieces: dict[int, list[tuple[Array, ...]]] = {}

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def __contains__(self, total: int) -> bool:
        return total in self._pieces

    def add(self, total: int, *columns: Array) -> None:
        """Add states of a sum."""
        if len(columns[0]):
            self._pieces.setdefault(total, []).append(columns)

    def merge(self, spare: int) -> None:
        """Add up what is known of equal states, of each sum with many more rows than after the last time.

        Many more are twice as many and `spare`, so that memory is bounded by the number of distinct states.
        """
        for total, pieces in self._pieces.items():
            rows = sum(len(piece[0]) for piece in pieces)
            if rows > 2 * len(pieces[0][0]) + spare:
                self._pieces[total] = [merge_weights(*map(np.concatenate, zip(*pieces, strict=True)))]

    def like(self, keys: Array) -> Array:
        """Return the keys under which boards are met."""
        return self._compiled.canonical(keys) if self._turned else keys

    def begin(self, ways: int = 1) -> Self:
        """Enter the starts with their probabilities, each the given number of times; return the walk."""
        for board, p in self._compiled.game.starts():
            self.enter(board, *[np.array([float(p)])] * ways)
        return self

    def enter(self, board: Cells, *weights: Array) -> None:
        """Add one state."""
        game = self._compiled.game
        self.add(game.sum(board), self.like(np.array([game.pack(board)], dtype=np.uint64)), *weights)

    def pop(self) -> tuple[int, tuple[Array, ...]]:
        """Remove the states of the lowest sum; return it, their keys, distinct and ascending, and numbers."""
        total = min(self._pieces)
        return total, merge_weights(*map(np.concatenate, zip(*self._pieces.pop(total), strict=True)))

    def spread(self, total: int, afters: Array, *weights: Array) -> None:
        """Spread the numbers of afterstates of a sum over their spawns, if games go on after these."""
        game = self._compiled.game
        if game.ended(total):
            return
        keys, *merged = merge_weights(afters, *weights)
        for exponent in game.spawn_exponents:
            states, origin = spawns_of(self._compiled, keys, exponent)
            chance = spawn_chances(game, origin, exponent)
            parts = [self.carried(total, exponent, (one[origin].T * chance).T) for one in merged]
            self.add(total + (1 << exponent), *merge_weights(self.like(states), *parts))

    def carried(self, total: int, exponent: int, weights: Array) -> Array:  # noqa: ARG002  (for subclasses)
        """Return the numbers of states after a spawn on afterstates of a sum."""
        return weights


# -- the best slides ---------------------------------------------------------------------------------


def ratings(objective: Objective, layer: ReadLayer, links: Links) -> Array:
    """Return ``q[k, x]``: the value of slide k of state x, without a discount.

    -inf if the slide is not allowed, or if the layer does not hold the board after it (`MISSING`).
    """
    q: Array = layer.values[links.slots]
    if objective.merge or objective.slide:
        added = slide_gains(objective, links.gains)
        q = q + (np.repeat(added, 2, axis=0) if objective.merge else added)
    q[(links.slots == NONE) | (links.slots == MISSING)] = -np.inf
    return q


def best_slides(q: Array, slack: float) -> Array:
    """``best[k, x]``: whether slide k of state x is one of the best; a state without a slide has no best."""
    most = q.max(axis=0)
    with np.errstate(invalid="ignore"):  # a state without a slide has the value -inf
        return (q >= most - slack * np.abs(most)) & (q != -np.inf)


def largest(scores: Array, allowed: Array, axis: int = 0) -> Array:
    """Return which allowed slides have the largest score of their state; the axes are those of `even`."""
    found = np.where(allowed, scores, -np.inf)
    return allowed & (found == found.max(axis=axis, keepdims=True))


def even(chosen: Array, axis: int = 0) -> Array:
    """Return equal probabilities of the slides that are chosen in each state; 0 where none is.

    ``chosen[k, x]``: whether slide k of state x is; with the axis 1, ``chosen[x, k]``.
    """
    return chosen / np.maximum(chosen.sum(axis=axis, keepdims=True), 1)


def drawn_slides(weights: Array, rng: np.random.Generator) -> Array:
    """Return ``k[x]``: a slide of state x, drawn in proportion to ``weights[k, x]``; 0 without a slide."""
    ways = weights.cumsum(axis=0)
    return (ways > rng.random(weights.shape[1]) * ways[-1]).argmax(axis=0)
