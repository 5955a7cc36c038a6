"""What the forward pass leaves for the backward pass: the afterstates of a game, layer by layer.

If the disk does not hold all layers, the forward pass keeps the first two of every k; the others are counted
once more when the backward pass asks for them (`Recount`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from tilebase.cluster.runs import Run
from tilebase.errors import CorruptError
from tilebase.files.format import Layer
from tilebase.files.layers import Layers
from tilebase.files.run import RunFolder, count_lines
from tilebase.sparse.forward import ForwardPass
from tilebase.sparse.maps import Finder


class Recount:
    """Counts layers of afterstates once more, of which only every k-th pair is kept.

    The layers from one pair to the next are on disk at a time.  `index` has tables that the caller shares.
    """

    def __init__(
        self, folder: RunFolder, run: Run, written: dict[int, str], apart: int,
        marking: Callable[[int], Finder] | None = None,
    ) -> None:  # fmt: skip
        self._folder, self._layers, self._written = folder, folder.layers("afterstates"), written
        self._tell: Callable[[int], None] = lambda _: None
        run = replace(run, progress=lambda progress: self._tell(progress.total))
        self._pass = ForwardPass(folder, run, apart=apart, marking=marking)
        self.index = self._pass.game_index

    def lacks(self, total: int) -> bool:
        """Return whether the layer of a sum is missing."""
        return total not in self._layers.records

    def make(self, total: int, tell: Callable[[int], None]) -> None:
        """Count a layer that it lacks, from the pair below it, and give up those above it.

        `tell` is called with the sum that is in work, at times.  Raises `CorruptError` or `StorageError`.
        """
        self._tell = tell
        for old in [s for s in self._layers.records if s > total and self._pass.gives_up(s)]:
            self._layers.release(old)
        try:
            self._pass.make_again(total, self._counted)
        finally:
            self._pass.release()
        self._written.update(self._pass.written)

    @cached_property
    def _counted(self) -> dict[int, dict[str, Any]]:
        """The lines of the journal, by sum."""
        journal = self._folder.journal
        return {s["sum"]: s for s in count_lines(journal.read(), self._folder.query.game, journal.path)}

    def close(self) -> None:
        """Stop the threads and release memory."""
        self._pass.close()


class Reachable:
    """The afterstates of a game, in a folder of layers.

    ``written[s]`` is the checksum of the layer of sum s if this process has written it.  `again` makes layers
    that were given up; None if all are kept.
    """

    def __init__(
        self,
        layers: Layers,
        sizes: dict[int, int],
        written: Mapping[int, str] | None = None,
        again: Recount | None = None,
    ) -> None:
        self.layers, self.sizes, self.game, self.written = layers, sizes, layers.contents.game, written or {}
        self.again = again

    def boards(self, total: int) -> Layer:
        """Return the layer of one sum.  Raises `CorruptError` if it is not the one that was counted."""
        found = self.layers.layer(total)
        if len(found) != self.sizes[total]:
            raise CorruptError(
                f"{found.name} has {len(found)} boards where {self.sizes[total]} were counted: solve again"
            )
        return found
