"""The boards of the sparse backward pass: the afterstates that the forward pass stored.

The dense pass (`tilebase.dense.passes`) works on all boards within the limits and needs no keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tilebase._kernels.arguments import Slides
from tilebase.errors import CorruptError
from tilebase.files import places
from tilebase.files.format import CHUNK_KEYS, LayerFile
from tilebase.files.keys import decode
from tilebase.game.game import Game

Array = npt.NDArray[Any]


@dataclass
class Written:
    """A layer file that this process has written.

    Attributes
    ----------
    checksum, meta:
        Those of the file.
    keys:
        Its keys if they are held in memory.
    slides:
        The slides of the states of the same sum, if they are held, too.
    """

    checksum: str
    meta: dict[str, Any]
    keys: Array | None = None
    slides: Slides | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of what is held."""
        return sum(held.nbytes for held in (self.keys, self.slides) if held is not None)

    def release(self) -> None:
        """Hold nothing any longer."""
        self.keys = self.slides = None


class StoredBoards:
    """The boards of a layer file, in ascending order.  The file is opened when it is needed.

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

    def __init__(self, path: Path, written: Written | None = None) -> None:
        self._path, self._keys = path, None if written is None else written.keys
        if written is not None and self._keys is not None:
            self.own, self.meta = True, written.meta
            self.starts: list[int] = [*range(0, len(self._keys), CHUNK_KEYS), len(self._keys)]
            return
        self.own = written is not None and self.file.checksum == written.checksum
        self.meta = {name: value for name, value in self.file.meta.items() if name != "varying"}
        self.starts = self.file.starts.tolist()

    @cached_property
    def file(self) -> LayerFile:
        """The open file.  Raises `CorruptError` or `MissingLayerError`."""
        return LayerFile(self._path)

    def __len__(self) -> int:
        return self.starts[-1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file if it was opened."""
        if "file" in self.__dict__:
            self.file.close()

    @property
    def chunks(self) -> int:
        """Number of chunks, of any sizes."""
        return len(self.starts) - 1

    def read(self, span: range) -> Array:
        """The boards of some chunks.  Raises `CorruptError`."""
        if self._keys is not None:
            return self._keys[self.starts[span.start] : self.starts[span.stop]]
        return np.concatenate([self.file.keys(chunk, decode) for chunk in span])


class Reachable:
    """The afterstates of a game, in a folder that the forward pass filled.

    ``written[s]`` is known of the file of sum s if this process has written it.
    """

    def __init__(
        self, path: Path, sizes: dict[int, int], game: Game, written: Mapping[int, Written] | None = None
    ) -> None:
        self.path, self.sizes, self.game, self.written = path, sizes, game, written or {}

    def meta(self, total: int) -> dict[str, Any]:
        """The part of the meta that the files of keys and of values of one sum share."""
        return {"game": self.game.identity, "kind": "afterstates", "sum": total}

    def boards(self, total: int) -> StoredBoards:
        """The layer of one sum.  Raises `CorruptError` if it is not the one that was counted."""
        found = StoredBoards(self.path / places.boards_file(total), self.written.get(total))
        if len(found) != self.sizes[total]:
            found.close()
            raise CorruptError(
                f"{found.file.path} holds {len(found)} keys where {self.sizes[total]} were counted: delete "
                f"{self.path} and solve again"
            )
        return found

    @property
    def held(self) -> int:
        """Bytes of the keys and slides that are held in memory."""
        return sum(one.nbytes for one in self.written.values())

    def slides(self, total: int) -> Slides | None:
        """The slides of the states of one sum, if they are held."""
        return self.written[total].slides if total in self.written else None

    def release(self, total: int | None = None) -> None:
        """Hold keys and slides of one sum, or of all, no longer: keys are read from the file again."""
        for s in self.written if total is None else self.written.keys() & {total}:
            self.written[s].release()
