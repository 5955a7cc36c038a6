"""The protocol of backends of the dense passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from tilebase.dense.steps import BlockStep, Source, Step
from tilebase.objectives.results import ChunkSummary

Array = npt.NDArray[Any]
Tell = Callable[[float], None]
"""Called with the share of a step that is done."""


class Layer(Protocol):
    """The values of some blocks of a layer, where a backend works with them."""

    @property
    def data(self) -> Array:
        """The values as a file has them, in the order of ranks or of the backend's layout."""

    @property
    def nbytes(self) -> int:
        """How many bytes `data` has."""

    def load(self, values: Array) -> None:
        """Take all values."""

    def fill(self, value: Any) -> None:
        """Give all boards one value."""

    def value(self, where: Any) -> Any:
        """Return the value of one board, by its rank, or as bits by the board itself."""

    def summary(self) -> ChunkSummary | None:
        """What is to be known of the values, if the layer counts them faster than one by one; else None."""


L = TypeVar("L", bound=Layer)


class Backend(Protocol[L]):
    """Does the steps of a dense pass.  Every implementer gives the same values."""

    @property
    def layout(self) -> str:
        """How `Layer.data` is ordered: "values" by rank, "bits" as matrices of bits.

        A pass does not continue from a checkpoint of the other layout.
        """

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of `Layer.data`."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """The order of the steps of a layer."""

    def layer(self, source: Source) -> L:
        """Return the memory for some blocks of a layer, with anything in it.  Raises `ResourceError`."""

    def do(self, step: BlockStep, reads: Sequence[L], writes: L, tell: Tell) -> None:
        """Do a step: `reads` and `writes` are the layers that it names, in their order.

        After the first of the steps rows and columns, `writes` belongs to the backend until it has done the
        other one with the same layers.
        """
