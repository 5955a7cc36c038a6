"""The manifest of a table: what was solved, how large it is, and a checksum of every layer.

``manifest.json`` is written last, so that a folder with one is a whole table.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilebase._version import __version__
from tilebase.errors import CorruptError, UsageError
from tilebase.game import Game
from tilebase.objectives import Objective
from tilebase.values import Value, value_from_dict

VERSION = 1


@dataclass(frozen=True)
class Manifest:
    """What a table holds.

    Attributes
    ----------
    game:
        The game.
    counts:
        States, afterstates and so on, in total.
    objectives:
        Those with values; ``starts[label]`` is the value of the start.
    layers:
        ``layers[s]``: checksums of the files of sum s by folder: ``afterstates``, then labels.
    thinned:
        What was left out, if anything was.
    space:
        ``"reachable"``: the afterstates that occur, with files of keys; ``"all"``: all boards within
        the limits, by perfect index, without.
    """

    game: Game
    counts: Mapping[str, int]
    objectives: tuple[Objective, ...]
    starts: Mapping[str, Value]
    layers: Mapping[int, Mapping[str, str]]
    thinned: Mapping[str, Any] | None = None
    version: str = __version__
    space: str = "reachable"

    @property
    def text(self) -> str:
        """The file."""
        values: dict[str, Any] = {
            "format": "tilebase table",
            "version": VERSION,
            "program": self.version,
            "game": self.game.identity,
            "counts": dict(self.counts),
            "objectives": {
                o.label: o.identity | {"start": self.starts[o.label].as_dict()} for o in self.objectives
            },
            "layers": {str(total): dict(files) for total, files in sorted(self.layers.items())},
        }
        if self.thinned is not None:
            values["thinned"] = dict(self.thinned)
        if self.space != "reachable":
            values["space"] = self.space
        return json.dumps(values | {"check": _check(values)}, indent=1) + "\n"

    @classmethod
    def parse(cls, data: bytes, name: str) -> Manifest:
        """The manifest in a file.  Raises `CorruptError`."""
        try:
            values = json.loads(data)
            check = values.pop("check", None)
            if values.get("format") != "tilebase table":
                raise CorruptError(f"{name} is not the manifest of a table")
            if values["version"] != VERSION:
                raise CorruptError(
                    f"{name} is of version {values['version']}, this program reads {VERSION}: update it"
                )
            if check != _check(values):
                raise CorruptError(f"{name} is damaged: solve again to mend it")
            labels = values["objectives"]
            return cls(
                Game.from_identity(values["game"]),
                values["counts"],
                tuple(Objective.from_identity(identity) for identity in labels.values()),
                {label: value_from_dict(identity["start"]) for label, identity in labels.items()},
                {int(total): files for total, files in values["layers"].items()},
                values.get("thinned"),
                values["program"],
                values.get("space", "reachable"),
            )
        except CorruptError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError, UsageError) as error:
            raise CorruptError(f"{name} is not the manifest of a table, or a damaged one: {error}") from error

    @property
    def labels(self) -> Sequence[str]:
        """The folders of values."""
        return [objective.label for objective in self.objectives]


def file_name(label: str, total: int) -> str:
    """The file that the checksum of a label and a sum belongs to, as a path in the folder of the table."""
    if label == "afterstates":
        return f"afterstates/{total:06d}.tbl"
    return f"values/{label}/{total:06d}.val"


def _check(values: Mapping[str, Any]) -> str:
    return f"{zlib.crc32(json.dumps(values, sort_keys=True).encode()):08x}"
