"""The boards of the sparse backward pass: the afterstates that the forward pass stored.

The dense pass (`tilebase.dense.passes`) works on all boards within the limits and needs no keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy.typing as npt

from tilebase.errors import CorruptError
from tilebase.files.format import Layer
from tilebase.files.keys import decode, joined
from tilebase.files.layers import LayerFolder, PagedLayers

Array = npt.NDArray[Any]


class BoardsRead(NamedTuple):
    """Some chunks of a layer: their boards as they are stored, and as keys."""

    span: range
    frames: list[bytes]
    keys: Array


class StoredBoards:
    """The boards of a layer, in ascending order.

    Attributes
    ----------
    own:
        Whether this process wrote the layer.  Then its keys are boards of the game and the sum, and need no
        check.
    starts:
        The position of the first board of each chunk, and where the last one ends.
    """

    def __init__(self, layer: Layer, written: str | None = None) -> None:
        self.layer = layer
        self.own = layer.record.text == written
        self.starts: list[int] = layer.starts.tolist()

    def __len__(self) -> int:
        return self.starts[-1]

    @property
    def chunks(self) -> int:
        """Number of chunks, of any sizes."""
        return len(self.starts) - 1

    def frames(self, span: range) -> list[bytes]:
        """Return the boards of some chunks as they are stored.  Raises `CorruptError`."""
        return [self.layer.frames(chunk, ("keys",))[0] for chunk in span]

    def read(self, span: range) -> BoardsRead:
        """Read the boards of some chunks.  Raises `CorruptError`."""
        frames = self.frames(span)
        keys = [self.layer.keys_in(frame, chunk, decode) for frame, chunk in zip(frames, span, strict=True)]
        return BoardsRead(span, frames, joined(keys))


class Reachable:
    """The afterstates of a game, in a folder of layers.

    ``written[s]`` is the checksum of the layer of sum s if this process has written it.
    """

    def __init__(
        self,
        layers: LayerFolder | PagedLayers,
        sizes: dict[int, int],
        written: Mapping[int, str] | None = None,
    ) -> None:
        self.layers, self.sizes, self.game, self.written = layers, sizes, layers.contents.game, written or {}

    def boards(self, total: int) -> StoredBoards:
        """Return the layer of one sum.  Raises `CorruptError` if it is not the one that was counted."""
        found = StoredBoards(self.layers.layer(total), self.written.get(total))
        if len(found) != self.sizes[total]:
            raise CorruptError(
                f"{found.layer.name} has {len(found)} boards where {self.sizes[total]} were counted: solve "
                "again"
            )
        return found
