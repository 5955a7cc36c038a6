"""Which layer of a table or a run a command means: that of a sum."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tilebase.errors import MissingLayerError, UsageError
from tilebase.files import places

FolderArgument = Annotated[
    Path, Parameter(help="Folder of a table that tilebase solve -o wrote, or of a run of tilebase count -o.")
]
SumOption = Annotated[int, Parameter(name="--sum", help="The sum of the layer.")]
StatesOption = Annotated[
    bool,
    Parameter(negative=(), help="Its states, which count --keep states keeps; else its afterstates."),
]


def layer_of(folder: Path, total: int, *, states: bool) -> Path:
    """Return the file with the layer of a sum: of the states or the afterstates of a table or a run.

    Raises `UsageError` for what is no such folder, and `MissingLayerError` for a sum that it does not have.
    """
    kind = "states" if states else "afterstates"
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder: name that of a table or a run, and a layer with --sum")
    sums = sorted(int(path.stem) for path in (folder / kind).glob("*.tbl") if path.stem.isdecimal())
    if not sums:
        how = "tilebase count ... -o FOLDER --keep states" if states else "tilebase solve ... -o FOLDER"
        raise UsageError(f"{folder} keeps no {kind}: {how} keeps them")
    if total not in sums:
        raise MissingLayerError(
            f"{folder} has no {kind} of sum {total}: its {len(sums)} sums are {sums[0]} to {sums[-1]}"
        )
    return folder / places.boards_file(total, kind)
