"""The boards of the sparse backward pass: the afterstates that the forward pass stored.

The dense pass (`tilebase.dense.passes`) works on all boards within the limits and needs no keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tilebase.errors import CorruptError
from tilebase.files import places
from tilebase.files.format import LayerFile
from tilebase.files.keys import decode
from tilebase.game.game import Game

Array = npt.NDArray[Any]


class StoredBoards:
    """The boards of a layer file, in ascending order.  Raises `CorruptError` or `MissingLayerError`.

    Attributes
    ----------
    meta:
        What the files of keys and of values say of their layer.
    own:
        Whether this process wrote the file.  Then its keys are boards of the game and the sum, and need no
        check.
    starts:
        The position of the first board of each chunk, and where the last one ends.
    """

    def __init__(self, path: Path, written: str | None = None) -> None:
        self.file = LayerFile(path)
        self.own = self.file.checksum == written
        self.meta = {name: value for name, value in self.file.meta.items() if name != "varying"}
        self.starts: list[int] = self.file.starts.tolist()

    def __len__(self) -> int:
        return self.starts[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self.file.close()

    @property
    def chunks(self) -> int:
        """Number of chunks, of any sizes."""
        return len(self.starts) - 1

    def read(self, span: range) -> Array:
        """Return the boards of some chunks.  Raises `CorruptError`."""
        return np.concatenate([self.file.keys(chunk, decode) for chunk in span])


class Reachable:
    """The afterstates of a game, in a folder that the forward pass filled.

    ``written[s]`` is the checksum of the file of sum s if this process has written it.
    """

    def __init__(
        self, path: Path, sizes: dict[int, int], game: Game, written: Mapping[int, str] | None = None
    ) -> None:
        self.path, self.sizes, self.game, self.written = path, sizes, game, written or {}

    def meta(self, total: int) -> dict[str, Any]:
        """Return the part of the meta that the files of keys and of values of one sum share."""
        return {"game": self.game.identity, "kind": "afterstates", "sum": total}

    def boards(self, total: int) -> StoredBoards:
        """Return the layer of one sum.  Raises `CorruptError` if it is not the one that was counted."""
        found = StoredBoards(self.path / places.boards_file(total), self.written.get(total))
        if len(found) != self.sizes[total]:
            found.close()
            raise CorruptError(
                f"{found.file.path} holds {len(found)} keys where {self.sizes[total]} were counted: delete "
                f"{self.path} and solve again"
            )
        return found
