"""Values of single positions, from the files of a run or a table.

This loads neither Numba nor the solver.  Objects here are safe to share between threads.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.dense.index import PerfectIndex
from tilebase.errors import BoardError, CorruptError, MissingBoardError, MissingLayerError
from tilebase.files import places
from tilebase.files.format import LayerFile, ValueFile
from tilebase.files.manifest import LeastValue
from tilebase.files.recent import Recent
from tilebase.files.source import Location
from tilebase.game.game import Cells, Game
from tilebase.objectives.numbers import digits_text
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Number
from tilebase.tables.evaluator import Evaluator, Worth
from tilebase.tables.slides import Slider

CACHED_LAYERS = 4096
"""Layers whose indexes a table keeps in memory; no file stays open."""
MOST_INDEX_BYTES = 1 << 30
"""Memory in bytes of the perfect index of a table of all boards."""
CACHED_BYTES = 1 << 27
"""Bytes of decoded chunks of keys, and as many of values, that a table keeps: 1024 chunks of `CHUNK_KEYS`."""


def _nbytes(array: npt.NDArray[Any]) -> int:
    return int(array.nbytes)


class _Layer:
    """The open files of one layer."""

    def __init__(
        self,
        location: Location,
        game: Game,
        total: int,
        objectives: Sequence[Objective],
        checks: dict[str, str] | None,
        *,
        dense: bool = False,
    ) -> None:
        self.total = total
        self._keys = None if dense else LayerFile(location.open(places.boards_file(total)))
        self.values: dict[str, ValueFile] = {}
        try:
            for objective in objectives:
                label = objective.label
                self.values[label] = ValueFile(location.open(places.values_file(label, total)))
                self.values[label].check_objective(objective)
                if self._keys is not None:
                    self.values[label].check_pair(self._keys)
                else:
                    self.values[label].check_ranks()
            self._check(game, checks)
        except BaseException:
            self.close()
            raise
        self.firsts: list[int] = [] if dense else self.keys.index["first"].tolist()
        # Where each chunk begins.  In a table of all boards, the files of objectives may have other chunks.
        starts = None if dense else self.keys.starts.tolist()
        self.starts: dict[str, list[int]] = {
            label: file.starts.tolist() if starts is None else starts for label, file in self.values.items()
        }

    def chunk_of(self, label: str, position: int) -> tuple[int, int]:
        """Return the chunk with the value of the board at a position, and the position in the chunk."""
        starts = self.starts[label]
        if position >= starts[-1]:
            raise CorruptError(
                f"{self.values[label].path} has {starts[-1]} values, fewer than there are boards"
            )
        chunk = bisect_right(starts, position) - 1
        return chunk, position - starts[chunk]

    @property
    def keys(self) -> LayerFile:
        """The file of keys; a layer of all boards has none."""
        assert self._keys is not None
        return self._keys

    def _check(self, game: Game, checks: dict[str, str] | None) -> None:
        """Compare with the game, and with the checksums of a manifest."""
        files: dict[str, LayerFile | ValueFile] = dict(self.values)
        if self._keys is not None:
            files["afterstates"] = self._keys
        for label, file in files.items():
            if checks is not None and checks.get(label) != file.checksum:
                raise CorruptError(
                    f"{file.path} is not the file that the manifest names: files of different runs are mixed"
                )
            kind = "all" if self._keys is None else "afterstates"
            expected = {"game": game.identity, "kind": kind, "sum": self.total}
            if any(file.meta.get(name) != value for name, value in expected.items()):
                raise CorruptError(
                    f"{file.path} belongs to another game or sum: files of different runs are mixed"
                )

    def close(self) -> None:
        """Close the files."""
        if self._keys is not None:
            self._keys.close()
        for file in self.values.values():
            file.close()


class Prober:
    """Values of single positions from the files of a run or a table.

    `objectives` are those with values there.  Boards are tuples of exponents.  The caller must check
    them.
    """

    def __init__(
        self,
        location: Location,
        game: Game,
        objectives: Sequence[Objective],
        layers: dict[int, dict[str, str]] | None = None,
        *,
        thinned: bool = False,
        least: LeastValue | None = None,
    ) -> None:
        self.location, self.game, self.objectives = location, game, tuple(objectives)
        self.slider = Slider(game)
        self._checks = layers
        self._thinned, self.least = thinned, least
        self._dense = False
        self._starts: frozenset[Cells] | None = None
        self._layers = Recent(CACHED_LAYERS)
        self._keys = Recent(CACHED_BYTES, _nbytes)
        self._values = Recent(CACHED_BYTES, _nbytes)

    def close(self) -> None:
        """Release files and memory."""
        self._layers.clear()
        self._keys.clear()
        self._values.clear()
        self.location.close()

    def _layer(self, total: int) -> _Layer:
        checks = None
        if self._checks is not None:
            if total not in self._checks:
                raise MissingLayerError(f"{self.location.name} has no layer of sum {total}")
            checks = self._checks[total]
        return _Layer(self.location, self.game, total, self.objectives, checks, dense=self._dense)

    def layer(self, total: int) -> _Layer:
        """Return the files of one sum.  Raises `MissingLayerError` or `CorruptError`."""
        found: _Layer = self._layers.get(total, self._layer, total)
        return found

    def find(self, after: Cells) -> tuple[_Layer, int] | None:
        """Layer of an afterstate and its position there, counted from 0; None if it is not there."""
        total = self.game.sum(after)
        try:
            layer = self.layer(total)
        except MissingLayerError:
            if self._checks is not None and total in self._checks:
                raise
            return None
        key = self.slider.key(self.slider.canonical(after))
        chunk = bisect_right(layer.firsts, key) - 1
        if chunk < 0:
            return None
        keys: npt.NDArray[np.uint64] = self._keys.get((total, chunk), layer.keys.keys, chunk)
        position = int(keys.searchsorted(np.uint64(key)))
        if position == len(keys) or int(keys[position]) != key:
            return None
        return layer, int(layer.keys.starts[chunk]) + position

    def count(self, total: int) -> int:
        """Return how many afterstates of a sum have values."""
        return len(self.layer(total).keys)

    def at(self, total: int, position: int) -> Cells:
        """Return the afterstate at a position of the layer of a sum, counted from 0."""
        layer = self.layer(total)
        chunk = int(layer.keys.starts.searchsorted(position, side="right")) - 1
        keys: npt.NDArray[np.uint64] = self._keys.get((total, chunk), layer.keys.keys, chunk)
        key = int(keys[position - int(layer.keys.starts[chunk])])
        try:
            board = self.game.check(self.game.unpack(key))
        except BoardError as error:
            raise CorruptError(
                f"{layer.keys.path} holds a key that is not a board of this game: {error}"
            ) from error
        if self.game.sum(board) != total:
            raise CorruptError(f"{layer.keys.path} holds a board of sum {self.game.sum(board)}, not {total}")
        return board

    def missing(self, board: Cells) -> MissingBoardError:
        """Return the error for a board that the table does not hold, with the reason."""
        why = f"no play of {self.game} makes it"
        if self.least is not None:
            bound = digits_text(self.least.bound)
            why += f", or boards after it were left out, whose value ({self.least.label}) is below {bound}"
        elif self._thinned:
            why += ", or it was thinned out"
        return MissingBoardError(f"{self.game.format(board)} is not in {self.location.name}: {why}")

    def stored(self, after: Cells, objective: Objective) -> Any:
        """Return the stored value of an afterstate.  Raises `MissingBoardError`."""
        found = self.find(after)
        if found is None:
            raise self.missing(after)
        layer, position = found
        label = objective.label
        chunk, rest = layer.chunk_of(label, position)
        values = self._values.get((label, layer.total, chunk), layer.values[label].values, chunk)
        return values[rest]

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
            return None if known and self.find(after) is None else self.afterstate(after, objective)

        return [
            (direction, after, wins, None if worth is None else objective.discounted(worth))
            for direction, after, wins, worth in self.evaluator(objective).slides(board, value_of)
        ]

    def evaluator(self, objective: Objective) -> Evaluator:
        """Return what computes values from those that follow."""
        return Evaluator(self.slider, objective)

    def is_reached(self, board: Cells) -> bool:
        """Return whether the table shows that play makes a state: as a start, or by a spawn."""
        if self._starts is None:
            self._starts = frozenset(self.slider.canonical(start) for start, _ in self.game.starts())
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
        self,
        location: Location,
        game: Game,
        objectives: Sequence[Objective],
        layers: dict[int, dict[str, str]] | None = None,
    ) -> None:
        super().__init__(location, game, objectives, layers)
        self._dense = True
        self._index = PerfectIndex(game, MOST_INDEX_BYTES)
        self._sizes = self._index.sizes()

    def _layer(self, total: int) -> _Layer:
        layer = super()._layer(total)
        boards = self._sizes.get(total, 0)
        for file in layer.values.values():
            if len(file) != boards:
                found = f"{file.path} holds {len(file):,} values, but there are {boards:,} boards"
                layer.close()
                raise CorruptError(f"{found}: delete the table and solve again")
        return layer

    def find(self, after: Cells) -> tuple[_Layer, int] | None:
        """Layer and rank of a board; None if it breaks a limit or its sum was not solved."""
        total = self.game.sum(after)
        try:
            layer = self.layer(total)
            return layer, self._index.rank(after)
        except MissingLayerError:
            if self._checks is not None and total in self._checks:
                raise
            return None
        except BoardError:
            return None

    def count(self, total: int) -> int:
        """Return how many boards of a sum have values."""
        return self._index.layer(total).size

    def at(self, total: int, position: int) -> Cells:
        """Return the board of a rank."""
        return self._index.unrank(total, position)
