"""Which layer of a table or a run a command means: that of a sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

if TYPE_CHECKING:
    from tilebase.files.format import Layer

FolderArgument = Annotated[
    str,
    Parameter(
        name="FOLDER",
        help="A table that tilebase solve -o wrote (folder, zip file or URL), or the folder of a run of "
        "tilebase count -o.",
    ),
]
SumOption = Annotated[int, Parameter(name="--sum", help="The sum of the layer.")]
StatesOption = Annotated[
    bool,
    Parameter(negative=(), help="Its states, which count --keep states keeps; else its afterstates."),
]


def layer_of(location: str, total: int, *, states: bool) -> Layer:
    """Return the layer of a sum: of the states or the afterstates of a table or a run.

    Raises what `tables.layers.open_layer` raises.
    """
    from tilebase.tables.layers import open_layer

    return open_layer(location, total, "states" if states else "afterstates")
