"""The manifest of a table: what was solved, how large it is, and a checksum of every layer.

``manifest.json`` is written last, so that a folder with a manifest is a complete table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilebase._version import version as program_version
from tilebase.errors import CorruptError
from tilebase.files import places
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.objectives.rounding import Rounding
from tilebase.objectives.values import Exact, Lower, Rounded, Upper, Value, value_from_dict
from tilebase.runtime.documents import (
    checked_json,
    digest_of,
    mapping,
    parse_checked,
    shown,
    text,
    understood,
    whole,
)

FORMAT, VERSION = "tilebase table", 1
LEAST = "least_value"
"""The member of `Manifest.thinned` that holds the least value of the afterstates."""
MOST_COUNT = 10**30
"""Largest count of boards; counts without symmetry may need more than 64 bits."""


@dataclass(frozen=True)
class LeastValue:
    """The least value of the afterstates of a table that leaves out the others.

    Attributes
    ----------
    label:
        The label of the objective.
    bound:
        The least value, above 0 and at most 1.
    """

    label: str
    bound: float


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The contents of a table.

    Attributes
    ----------
    game:
        The game.
    counts:
        The total numbers of states, afterstates and so on.
    objectives:
        The objectives with values; ``starts[label]`` is the value of the start.
    layers:
        ``layers[s]``: checksums of the files of sum s by folder: ``afterstates``, then labels.
    thinned:
        Which boards or values were left out; None for a full table.  See `least`.
    space:
        ``"reachable"``: the reachable afterstates, with files of keys; ``"all"``: all boards within
        the limits, in the order of the perfect index, without files of keys.
    """

    game: Game
    counts: Mapping[str, int]
    objectives: tuple[Objective, ...]
    starts: Mapping[str, Value]
    layers: Mapping[int, Mapping[str, str]]
    thinned: Mapping[str, Any] | None = None
    version: str = field(default_factory=program_version)
    space: str = "reachable"

    def __repr__(self) -> str:
        labels = ", ".join(self.labels)
        return f"<Manifest of {self.game}: {labels}; {len(self.layers):,} layers>"

    @property
    def text(self) -> str:
        """The content of the file."""
        return checked_json(self._values)

    @property
    def check(self) -> str:
        """The checksum in the file, which names the table."""
        return digest_of(self._values)

    @property
    def _values(self) -> dict[str, Any]:
        values: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "program": self.version,
            "game": self.game.identity,
            "counts": dict(self.counts),
            "objectives": {
                o.label: o.identity | {"start": _written(o, self.starts[o.label])} for o in self.objectives
            },
            # Named in this order, not in that of a journal: a run that was stopped writes the same bytes.
            "layers": {
                str(total): {name: files[name] for name in ("afterstates", *self.labels) if name in files}
                for total, files in sorted(self.layers.items())
            },
        }
        if self.thinned is not None:
            values["thinned"] = dict(self.thinned)
        if self.space != "reachable":
            values["space"] = self.space
        return values

    @classmethod
    def parse(cls, data: bytes, name: str) -> Manifest:
        """Return the manifest in a file.  Raises `CorruptError`."""
        values = parse_checked(
            data, name, FORMAT, VERSION, what="the manifest of a table", advice="solve again to repair it"
        )
        with understood(name):
            return cls._from_values(values)

    @classmethod
    def _from_values(cls, values: dict[str, Any]) -> Manifest:
        """Return the manifest in a JSON object.  Every member is checked."""
        labels = mapping(values["objectives"], "objectives")
        objectives = tuple(Objective.from_identity(identity) for identity in labels.values())
        if list(labels) != [one.label for one in objectives] or not objectives:
            raise CorruptError("the objectives are missing, or not named by their labels")
        game = Game.from_identity(mapping(values["game"], "game"))
        for one in objectives:
            one.check(game)
        counts = mapping(values["counts"], "counts")
        for what, count in counts.items():
            whole(count, f"the count of {what}", MOST_COUNT)
        space = values.get("space", "reachable")
        if space not in ("reachable", "all"):
            raise CorruptError(f"the space must be reachable or all, not {space!r}")
        files = [*labels, *(["afterstates"] if space == "reachable" else [])]
        layers = dict(
            _layer(total, checks, files) for total, checks in mapping(values["layers"], "layers").items()
        )
        thinned = values.get("thinned")
        if thinned is not None:
            _check_least(mapping(thinned, "thinned"), objectives)
        starts = {
            one.label: _start(Rounding(game, one), mapping(identity["start"], "start"))
            for one, identity in zip(objectives, labels.values(), strict=True)
        }
        program = text(values["program"], "program")
        return cls(
            game=game, counts=counts, objectives=objectives, starts=starts, layers=layers, thinned=thinned,
            version=program, space=space,
        )  # fmt: skip

    @property
    def least(self) -> LeastValue | None:
        """The least value of the afterstates, if the others were left out."""
        if self.thinned is None or LEAST not in self.thinned:
            return None
        return LeastValue(self.thinned["objective"], self.thinned[LEAST])

    @property
    def labels(self) -> Sequence[str]:
        """The folders of values."""
        return [objective.label for objective in self.objectives]


def file_name(label: str, total: int) -> str:
    """Return the path, in the folder of the table, of the file of a label and a sum."""
    return places.boards_file(total) if label == "afterstates" else places.values_file(label, total)


def _written(objective: Objective, value: Value) -> dict[str, Any]:
    """Return the value of a start in the file: of a float only the number, since the layers say the rest."""
    if not objective.is_float:
        return value.as_dict()
    return {"kind": Rounded.kind, "type": objective.dtype, "value": float(value)}


def _start(rounding: Rounding, written: Mapping[str, Any]) -> Value:
    """Return the value that `_written` wrote.  Raises `CorruptError` unless it fits the objective."""
    objective = rounding.objective
    bound = Upper.kind if objective.rounds_up else Lower.kind
    kind = bound if objective.is_bound else Rounded.kind if objective.is_float else Exact.kind
    if written["kind"] != kind:
        raise CorruptError(
            f"the value of the start under {objective.label} has the wrong type, "
            f"{shown(str(written['kind']), 40)}"
        )
    if objective.is_float:
        number = written["value"]
        if written["type"] != objective.dtype or type(number) not in (int, float):
            raise CorruptError(
                f"the value of the start under {objective.label} must be a number in {objective.dtype}"
            )
        return rounding.start(objective.told(number))
    value = value_from_dict(written)
    if isinstance(value, Exact) and type(value.value) is not (bool if objective.is_boolean else int):
        raise CorruptError(
            f"the value of the start under {objective.label} has the wrong type: {value.value!r}"
        )
    if isinstance(value, Lower | Upper) and not 0 <= value.bound <= 1:
        raise CorruptError(f"the value of the start under {objective.label} must be from 0 to 1")
    return value


def _check_least(thinned: Mapping[str, Any], objectives: Sequence[Objective]) -> None:
    """Raise `CorruptError` unless the least value, if there is one, goes with an objective of the table."""
    if LEAST not in thinned:
        return
    if thinned.get("objective") not in [one.label for one in objectives if one.is_win]:
        raise CorruptError("the least value of its boards belongs to no objective with values from 0 to 1")
    bound = thinned[LEAST]
    if type(bound) not in (int, float) or not 0 < bound <= 1:
        raise CorruptError(
            f"the least value of its boards must be above 0 and at most 1, not {shown(repr(bound), 40)}"
        )


def _layer(total: str, checks: Any, files: Sequence[str]) -> tuple[int, dict[str, str]]:
    """Return the sum of a layer and the checksums of its files."""
    if not re.fullmatch(r"0|[1-9]\d{0,9}", total, re.ASCII):
        raise CorruptError(f"the sum of a layer must be a whole number, not {total!r}")
    found = mapping(checks, f"the layer of sum {total}")
    for name in files:
        if not re.fullmatch(r"[0-9a-f]{8}", text(found[name], f"the checksum of {name} of sum {total}")):
            raise CorruptError(
                f"the checksum of {name} of sum {total} must be 8 hexadecimal digits, not {found[name]!r}"
            )
    return int(total), found
