"""Which boards a layer of the backward pass holds.

`Reachable`: the afterstates that occur, as the forward pass stored them: sorted canonical keys.
`All`: every board of the sum within the limits, by perfect index.  No keys are stored and no
forward pass is needed; a rank is a position.  Boards that no canonical board's first half has
are left out, as in the index.

A layer of either gives its boards in order, chunk by chunk; `find` is the way back, for single
boards.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from tilebase._kernels import backward, rank
from tilebase.errors import CorruptError
from tilebase.game import Cells, Game
from tilebase.layers.maps import Layout, Layouts
from tilebase.layers.store import decode
from tilebase.objectives import Objective
from tilebase.tables.format import CHUNK_KEYS, LayerFile, ValueFile
from tilebase.tables.probe import Prober
from tilebase.tables.source import Location

Array = npt.NDArray[Any]


class Boards(Protocol):
    """The boards of one layer, in ascending order."""

    meta: dict[str, Any]

    def __len__(self) -> int: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @property
    def chunks(self) -> int:
        """Number of chunks of `CHUNK_KEYS`, the last one shorter."""

    def read(self, span: range) -> Array:
        """The boards of some chunks."""

    def check(self, values: ValueFile) -> None:
        """Raise `CorruptError` unless these are the values of these boards."""


class StoredBoards:
    """Those of a layer file."""

    def __init__(self, path: Path) -> None:
        self.file = LayerFile(path)
        self.meta = self.file.meta

    def __len__(self) -> int:
        return len(self.file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return self.file.chunks

    def read(self, span: range) -> Array:
        """The boards of some chunks.  Raises `CorruptError`."""
        return np.concatenate([self.file.keys(chunk, decode) for chunk in span])

    def check(self, values: ValueFile) -> None:
        """Raise `CorruptError` unless these are the values of these boards."""
        values.check_pair(self.file)


class AllBoards:
    """All boards of a layout."""

    def __init__(self, game: Game, layout: Layout) -> None:
        self._layout = layout
        self.meta = {"game": game.identity, "kind": "all", "sum": layout.layer.total}

    def __len__(self) -> int:
        return self._layout.layer.size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return -(-len(self) // CHUNK_KEYS)

    def read(self, span: range) -> Array:
        """The boards of some chunks."""
        first, last = span.start * CHUNK_KEYS, min(span.stop * CHUNK_KEYS, len(self))
        keys = np.empty(last - first, dtype=np.uint64)
        index, layer = self._layout.index, self._layout.layer
        rank.list_all(
            np.uint64(first), np.uint64(last), layer.heads, layer.starts, index.head_key, layer.left,
            index.tail_start, index.tail_key, keys,
        )  # fmt: skip
        return keys

    def check(self, values: ValueFile) -> None:
        """Raise `CorruptError` unless these are the values of these boards."""
        if len(values) != len(self) or any(values.meta.get(name) != self.meta[name] for name in self.meta):
            raise CorruptError(f"{values.path} does not hold the values of sum {self.meta['sum']}")


class Reachable:
    """The afterstates in a folder that the forward pass filled."""

    def __init__(self, path: Path, sizes: dict[int, int]) -> None:
        self.path, self.sizes = path, sizes

    def boards(self, total: int, _layouts: Layouts) -> Boards:
        """The layer of one sum.  Raises `CorruptError` if it is not the one that was counted."""
        found = StoredBoards(self.path / "afterstates" / f"{total:06d}.tbl")
        if len(found) != self.sizes[total]:
            found.file.close()
            raise CorruptError(
                f"{found.file.path} holds {len(found)} keys where {self.sizes[total]} were counted: delete "
                f"{self.path} and solve again"
            )
        return found

    def records(self, ranks: int) -> int:
        """Records of the directory of a layer of so many ranks."""
        return ranks // int(backward.GROUP) + 1


class All:
    """Every board within the limits."""

    def __init__(self, game: Game) -> None:
        self.game = game
        layouts = Layouts(game)
        highest = sum(1 << top for top in game.tops if top)
        found = {total: layouts.at(total).layer.size for total in range(0, highest + 1, 2)}
        self.sizes = {total: size for total, size in found.items() if size}

    def boards(self, total: int, layouts: Layouts) -> Boards:
        """The layer of one sum."""
        return AllBoards(self.game, layouts.at(total))

    def records(self, _ranks: int) -> int:
        """None: a rank is a position."""
        return 0


class RankProber(Prober):
    """Values of single boards of the space of all boards."""

    def __init__(self, location: Location, game: Game, objectives: Sequence[Objective]) -> None:
        super().__init__(location, game, objectives)
        self._layouts = Layouts(game)

    def stored(self, after: Cells, objective: Objective) -> Any:
        """The stored value of an afterstate."""
        total = self.game.sum(after)
        layout = self._layouts.at(total)
        key = np.array([self.slider.key(self.slider.canonical(after))], dtype=np.uint64)
        chunk, place = divmod(int(layout.index.rank(layout.layer, key)[0]), CHUNK_KEYS)
        with ValueFile(self.location.open(f"values/{objective.label}/{total:06d}.val")) as file:
            return file.values(chunk)[place]


Space = Reachable | All
