"""Values of single positions, from the files of a run or a table.

This loads neither Numba nor the solver.  Objects here are safe to share between threads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tilebase.dense.index import PerfectIndex
from tilebase.errors import BoardError, CorruptError, MissingBoardError, MissingLayerError
from tilebase.files.format import Layer
from tilebase.files.layers import Layers
from tilebase.files.manifest import LeastValue
from tilebase.game.game import Cells, Game
from tilebase.objectives.numbers import digits_text
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Number
from tilebase.runtime.threads import Recent
from tilebase.tables.slides import Evaluator, Slider, Worth

CACHED_LAYERS = 4096
"""Layers whose rows a table keeps in memory; no file stays open."""
MOST_INDEX_BYTES = 1 << 30
"""Memory in bytes of the perfect index of a table of all boards."""
CACHED_BYTES = 1 << 28
"""Bytes of decoded chunks that a table keeps: 1024 chunks of `CHUNK_KEYS` keys with values."""

Column: TypeAlias = npt.NDArray[Any]


class Prober:
    """Values of single positions from the layers of a run or a table.

    `objectives` are those with values there, and ``layers[label]`` the layers of each.  `name` is that of the
    table in messages.  Boards are tuples of exponents.  The caller must check them.
    """

    def __init__(
        self,
        name: str,
        game: Game,
        objectives: Sequence[Objective],
        layers: Mapping[str, Layers],
        *,
        thinned: bool = False,
        least: LeastValue | None = None,
    ) -> None:
        self.name, self.game, self.objectives, self.layers = name, game, tuple(objectives), layers
        self.slider = Slider(game)
        self._thinned, self.least = thinned, least
        self._evaluators = {one.label: Evaluator(self.slider, one) for one in self.objectives}
        self._layers = Recent(CACHED_LAYERS)
        self._chunks = Recent(CACHED_BYTES, lambda chunk: sum(column.nbytes for column in chunk))

    def close(self) -> None:
        """Release memory."""
        self._layers.clear()
        self._chunks.clear()

    def sums(self) -> list[int]:
        """Return the sums of all layers, ascending."""
        return self.layers[self.objectives[0].label].sums()

    def layer(self, total: int, objective: Objective | None = None) -> Layer:
        """Return the layer of one sum under an objective, the first if none is named.

        Raises `MissingLayerError` or `CorruptError`.
        """
        label = (objective or self.objectives[0]).label
        return self._layers.get((label, total), self._layer, label, total)

    def _layer(self, label: str, total: int) -> Layer:
        return self.layers[label].layer(total)

    def _chunk(self, layer: Layer, chunk: int) -> tuple[Column, Column]:
        """Return the keys and the values of a chunk; in a table of all boards, the first are empty."""
        return self._chunks.get((layer.name, chunk), self._read, layer, chunk)

    def _read(self, layer: Layer, chunk: int) -> tuple[Column, Column]:
        return layer.both(chunk)

    def find(self, after: Cells, objective: Objective | None = None) -> Any:
        """Return the stored value of an afterstate, the first if no objective is named; None without one."""
        try:
            layer = self.layer(self.game.sum(after), objective)
        except MissingLayerError:
            return None
        key = self.game.pack(self.slider.canonical(after))
        chunk = layer.chunk_of(key)
        if chunk < 0:
            return None
        keys, values = self._chunk(layer, chunk)
        at = int(keys.searchsorted(np.uint64(key)))
        return values[at] if at < len(keys) and int(keys[at]) == key else None

    def count(self, total: int) -> int:
        """Return how many afterstates of a sum have values."""
        return len(self.layer(total))

    def sizes(self) -> dict[int, int]:
        """Return `count` of every sum, ascending."""
        return {total: self.count(total) for total in self.sums()}

    def at(self, total: int, position: int) -> Cells:
        """Return the afterstate at a position of the layer of a sum, counted from 0."""
        layer = self.layer(total)
        chunk = int(layer.starts.searchsorted(position, side="right")) - 1
        keys, _ = self._chunk(layer, chunk)
        key = int(keys[position - int(layer.starts[chunk])])
        try:
            board = self.game.check(self.game.unpack(key))
        except BoardError as error:
            raise CorruptError(
                f"{layer.name} holds a key that is not a board of this game: {error}"
            ) from error
        if self.game.sum(board) != total:
            raise CorruptError(f"{layer.name} holds a board of sum {self.game.sum(board)}, not {total}")
        return board

    def missing(self, board: Cells) -> MissingBoardError:
        """Return the error for a board that the table does not hold, with the reason."""
        why = f"this position cannot occur in {self.game}"
        if self.least is not None:
            bound = digits_text(self.least.bound)
            why += f", or boards after it were left out, whose value ({self.least.label}) is below {bound}"
        elif self._thinned:
            why += ", or it was thinned out"
        return MissingBoardError(f"{self.game.format(board)} is not in {self.name}: {why}")

    def stored(self, after: Cells, objective: Objective) -> Any:
        """Return the stored value of an afterstate.  Raises `MissingBoardError`."""
        found = self.find(after, objective)
        if found is None:
            raise self.missing(after)
        return found

    def afterstate(self, after: Cells, objective: Objective) -> Number:
        """Return the value of an afterstate.  Raises `MissingBoardError`."""
        return objective.read(self.stored(after, objective))

    def slides(self, board: Cells, objective: Objective, *, known: bool = False) -> list[Worth]:
        """Return the slides of a state: direction, afterstate, whether it wins, value.

        The value includes what the slide itself adds, and the discount.  Where the table leaves out an
        afterstate for its low value, the value is None if only `known` ones are wanted.  Otherwise raises
        `MissingBoardError`.
        """

        def value_of(after: Cells) -> Number | None:
            stored = self.find(after, objective)
            if stored is None and not known:
                raise self.missing(after)
            return None if stored is None else objective.read(stored)

        return [
            (direction, after, wins, None if worth is None else objective.discounted(worth))
            for direction, after, wins, worth in self.evaluator(objective).slides(board, value_of)
        ]

    def evaluator(self, objective: Objective) -> Evaluator:
        """Return what computes values from those that follow."""
        return self._evaluators[objective.label]

    @cached_property
    def _starts(self) -> frozenset[Cells]:
        return frozenset(self.slider.canonical(start) for start, _ in self.game.starts())

    def is_reached(self, board: Cells) -> bool:
        """Return whether the table shows that play makes a state: as a start, or by a spawn."""
        if self.slider.canonical(board) in self._starts:
            return True
        spawned = [cell for cell, e in enumerate(board) if e in self.game.spawn_exponents]
        before = (board[:cell] + (0,) + board[cell + 1 :] for cell in spawned)
        return any(not self.game.ended(self.game.sum(one)) and self.find(one) is not None for one in before)

    def state(self, board: Cells, objective: Objective) -> Number:
        """Return the value of a state.  Raises `MissingBoardError`."""
        return self.evaluator(objective).state(board, lambda after: self.afterstate(after, objective))

    def start(self, objective: Objective) -> Number:
        """Return the value of the start: the mean, the least or the largest over the start states."""
        return objective.over_spawns((self.state(board, objective), p) for board, p in self.game.starts())


class DenseProber(Prober):
    """A prober of a table of all boards within the limits, in the order of the perfect index."""

    def __init__(
        self, name: str, game: Game, objectives: Sequence[Objective], layers: Mapping[str, Layers]
    ) -> None:
        super().__init__(name, game, objectives, layers)
        self._index = PerfectIndex(game, MOST_INDEX_BYTES)
        self._sizes = self._index.sizes()

    def _layer(self, label: str, total: int) -> Layer:
        layer = super()._layer(label, total)
        layer.check_ranks()
        boards = self._sizes.get(total, 0)
        if len(layer) != boards:
            raise CorruptError(
                f"{layer.name} has {len(layer):,} values, but there are {boards:,} boards: delete the table "
                "and solve again"
            )
        return layer

    def _read(self, layer: Layer, chunk: int) -> tuple[Column, Column]:
        return np.zeros(0, dtype=np.uint64), layer.values(chunk)

    def find(self, after: Cells, objective: Objective | None = None) -> Any:
        """As `Prober.find`; None if the board breaks a limit or its sum was not solved."""
        try:
            layer, rank = self.layer(self.game.sum(after), objective), self._index.rank(after)
        except (MissingLayerError, BoardError):
            return None
        chunk = int(layer.starts.searchsorted(rank, side="right")) - 1
        _, values = self._chunk(layer, chunk)
        return values[rank - int(layer.starts[chunk])]

    def count(self, total: int) -> int:
        """Return how many boards of a sum have values."""
        return self._index.layer(total).size

    def at(self, total: int, position: int) -> Cells:
        """Return the board of a rank."""
        return self._index.unrank(total, position)
