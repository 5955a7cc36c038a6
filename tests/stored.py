"""What lies in files: all files of a folder, and all values of a table by board."""

from __future__ import annotations

import itertools
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from tilebase.dense.index import PerfectIndex
from tilebase.files.format import LayerFile, ValueFile
from tilebase.game.game import Cells, Game
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Lower, Number, Upper, Value
from tilebase.runtime.documents import sealed


def contents(folder: Path) -> dict[str, bytes]:
    """The files below a folder by their path in it, but not the lock."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "lock"
    }


def sign(path: Path, values: dict[str, Any]) -> None:
    """Write a manifest with the checksum that it ought to have; `values` may hold an old one."""
    path.write_text(sealed(json.dumps({name: value for name, value in values.items() if name != "check"})))


def number_of(value: Value) -> Number:
    """The number of an exact value or of a bound."""
    assert not hasattr(value, "low"), "an interval is two numbers"
    return value.bound if isinstance(value, Lower | Upper) else value.value  # type: ignore[union-attr]


def reachable_values(folder: Path, game: Game, objective: Objective) -> dict[Cells, Number]:
    """The values of the afterstates that play makes."""
    found = {}
    for path in sorted((folder / "afterstates").glob("*.tbl")):
        value_path = folder / "values" / objective.label / f"{path.stem}.val"
        with LayerFile(path) as layer, ValueFile(value_path) as values:
            values.check_pair(layer)
            for chunk in range(layer.chunks):
                for key, value in zip(layer.keys(chunk), values.values(chunk), strict=True):
                    found[game.unpack(int(key))] = objective.told(objective.read(value))
    return found


def all_values(folder: Path, game: Game, objective: Objective) -> dict[Cells, Number]:
    """The values of all boards within the limits, as afterstates; `folder` is that of the objective."""
    found = {}
    for total, boards in in_order(game).items():
        with ValueFile(folder / f"{total:06d}.val") as values:
            chunks = itertools.chain.from_iterable(values.values(chunk) for chunk in range(values.chunks))
            found |= dict(zip(boards, (objective.told(objective.read(v)) for v in chunks), strict=True))
    return found


@lru_cache(maxsize=4)
def in_order(game: Game) -> dict[int, list[Cells]]:
    """The boards of each sum, in the order of the perfect index."""
    index = PerfectIndex(game)
    return {total: list(index.boards(total)) for total in index.sizes()}
