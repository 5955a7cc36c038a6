"""The flow of play: the states that games meet, sum by sum.

A slide keeps the sum of a board and a spawn makes it larger, so a game meets at most one state of each
sum.  Who follows games takes the states of the lowest sum, and adds those that spawns make after the slides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.sparse.reading import LayerReader, merge_weights

Array = npt.NDArray[Any]


class Flow:
    """States that games come to next, by sum, each with some numbers: ``columns[0]`` has the keys."""

    def __init__(self) -> None:
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

    def pop(self) -> tuple[int, tuple[Array, ...]]:
        """Remove the states of the lowest sum; return the sum and the columns."""
        total = min(self._pieces)
        return total, tuple(map(np.concatenate, zip(*self._pieces.pop(total), strict=True)))


class Visits(Flow):
    """Probabilities that a game visits states, up to symmetry, counted in one or more ways."""

    def __init__(self, reader: LayerReader, ways: int = 1) -> None:
        super().__init__()
        self._reader = reader
        for board, p in reader.game.starts():
            keys = reader.compiled.canonical(np.array([reader.game.pack(board)], dtype=np.uint64))
            self.add(reader.game.sum(board), keys, *[np.array([float(p)])] * ways)

    def pop(self) -> tuple[int, tuple[Array, ...]]:
        """Remove and return states as `Flow.pop` does; the keys are distinct and ascending."""
        total, columns = super().pop()
        return total, merge_weights(*columns)

    def spread(self, total: int, afters: Array, *visits: Array) -> None:
        """Spread the probabilities of afterstates of a sum over their spawns, if games go on after these."""
        game = self._reader.game
        if game.ended(total):
            return
        keys, *weights = merge_weights(afters, *visits)
        for exponent in game.spawn_exponents:
            after = total + (1 << exponent)
            if not game.reached(after):
                states, origin, chance = self._reader.random_spawns(keys, exponent)
                self.add(after, states, *(visit[origin] * chance for visit in weights))
