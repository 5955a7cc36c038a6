"""An n-tuple network for any flat board, learned by TD(0) on afterstates.

The value of an afterstate is the sum of one weight for each of its tuples: groups of cells whose tiles are
an index into a table of weights (Szubert and Jaskowski, CIG 2014).  All images of a tuple under symmetries
of the game share one table, so turned boards have one value.  The network learns the score still to come, and
a win counts like a score of `WIN`.  At first every board is worth `FIRST`, so that slides that were not tried
seem better, and are tried (optimistic TD: Guei, Chen and Wu, IEEE Transactions on Games 2022).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from tilebase import Game
from tilebase.arrays import GameArrays
from tilebase.errors import UsageError
from tilebase.game.symmetry import symmetries
from tilebase.simulator import Simulator

TUPLES = {
    "2x2": ((0, 1, 2, 3),),
    "2x3": ((0, 1, 2, 3, 4, 5),),
    "2x4": ((0, 1, 2, 3, 4, 5), (0, 1, 2, 4, 5, 6), (1, 2, 3, 5, 6, 7)),
    "3x3": ((0, 1, 2, 3, 4, 5), (3, 4, 5, 6, 7, 8), (0, 1, 2, 3, 4, 6)),
    "4x4": (
        (0, 1, 2, 4, 5, 6),
        (1, 2, 3, 5, 6, 7),
        (0, 1, 4, 5, 8, 9),
        (0, 1, 2, 3, 4, 5),
        (2, 3, 4, 5, 6, 7),
    ),
}
"""The cells of the tuples, by shape."""
WIN = 20_000.0
"""What a win is worth: much more than a game can score by putting the win off."""
FIRST = 2_000.0
"""Larger values try more slides, and learn later."""
CODE = np.uint64(15)


class Network:
    """The weights of a game."""

    def __init__(self, game: Game) -> None:
        self.game, self.arrays = game, GameArrays(game)
        if game.shape_text not in TUPLES:
            raise UsageError(f"a board of {game.shape_text} has no tuples: add some to TUPLES")
        tuples = TUPLES[game.shape_text]
        images = [(t, [way[c] for c in cells]) for t, cells in enumerate(tuples) for way in symmetries(game)]
        shifts = [[game.bits * (game.cells - 1 - c) for c in cells] for _, cells in images]
        base = game.x + 1 if game.unmergeable else max(game.tops) + 1
        self.weights = np.full((len(tuples), base ** len(tuples[0])), FIRST / len(images), dtype=np.float32)
        # shifts[j, k]: where cell k of image j is in a key; table[j]: whose weights image j uses.
        self._images = np.array(shifts, dtype=np.uint64), np.array([t for t, _ in images]), base

    def values(self, keys: Any, after: Any, wins: Any, allowed: Any) -> Any:
        """``float32[n, A]``: what each slide earns, and the value after it; -inf if it is not allowed."""
        out = np.empty(after.shape, dtype=np.float32)
        _values(keys, after, wins, allowed, self.weights, *self._images, self.game.cells, self.game.x, out)
        return out

    def policy(self, boards: Any, allowed: Any) -> Any:
        """The best slide of each board, as `tilebase.policies.judge` asks for it."""
        keys = self.arrays.pack(boards)
        slid = self.arrays.slide(keys)
        return self.values(keys, slid.after, slid.wins, allowed).argmax(axis=1)

    def learn(self, games: Simulator, steps: int, rate: float) -> int:
        """Play so many steps in all games by the best slides, and learn; return how many games ended."""
        ended, n = 0, np.arange(len(games))
        before = np.zeros(
            len(games), dtype=np.uint64
        )  # the afterstates of the last step; 0: nothing to learn
        for _ in range(steps):
            values = self.values(games.keys, games.after, games.wins, games.allowed)
            chosen, over = values.argmax(axis=1), ~games.going
            # A game that is over earns nothing more.
            target = np.where(over, np.float32(0), values[n, chosen])
            _learn(before, target, self.weights, *self._images, np.float32(rate / len(self._images[1])))
            before = np.where(over | games.wins[n, chosen], np.uint64(0), games.after[n, chosen])
            ended += int(over.sum())
            games.step(chosen, begin=over)
        return ended


@njit(nogil=True, cache=True)
def _index(key: Any, shifts: Any, base: int) -> int:
    index = 0
    for k in range(len(shifts)):
        index = index * base + np.int64(key >> shifts[k] & CODE)
    return index


@njit(nogil=True, cache=True)
def _value(key: Any, weights: Any, shifts: Any, table: Any, base: int) -> Any:
    total = np.float32(0)
    for j in range(len(table)):
        total += weights[table[j], _index(key, shifts[j], base)]
    return total


@njit(nogil=True, cache=True)
def _earned(key: Any, cells: int, code: int) -> int:
    """What all merges have earned that made the tiles of a board, from 2s."""
    total = 0
    for _ in range(cells):
        exponent = np.int64(key & CODE)
        total += (exponent - 1) << exponent if 1 < exponent < code else 0
        key >>= np.uint64(4)
    return total


@njit(nogil=True, cache=True)
def _values(
    keys: Any, after: Any, wins: Any, allowed: Any, weights: Any, shifts: Any, table: Any, base: int,
    cells: int, code: int, out: Any,
) -> None:  # fmt: skip
    for i in range(after.shape[0]):
        before = _earned(keys[i], cells, code)
        for a in range(after.shape[1]):
            if not allowed[i, a]:
                out[i, a] = -np.inf
            elif wins[i, a]:
                out[i, a] = WIN
            else:
                earned = _earned(after[i, a], cells, code) - before
                out[i, a] = earned + _value(after[i, a], weights, shifts, table, base)


@njit(nogil=True, cache=True)
def _learn(before: Any, target: Any, weights: Any, shifts: Any, table: Any, base: int, rate: Any) -> None:
    for i in range(len(before)):
        if before[i]:
            step = rate * (target[i] - _value(before[i], weights, shifts, table, base))
            for j in range(len(table)):
                weights[table[j], _index(before[i], shifts[j], base)] += step
