"""The manifest of a table: what was solved, how large it is, and where its layers are, with checksums.

``manifest.json`` is written last, so that a folder with a manifest is a complete table.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tilebase._version import version as program_version
from tilebase.errors import CorruptError, MissingLayerError
from tilebase.files import places
from tilebase.files.format import Contents
from tilebase.files.layers import Page, Pages
from tilebase.files.source import Location, local_path, open_location, read_document, read_file
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
from tilebase.runtime.storage import write_whole

FORMAT, VERSION = "tilebase table", 3
WINNING_SET = "tilebase winning set"
"""The format of a winning set, whose manifest has the same name."""
LEAST = "least_value"
"""The member of `Manifest.thinned` that holds the least value of the afterstates."""
MOST_COUNT = 10**30
"""Largest count of boards; counts without symmetry may need more than 64 bits."""


class LeastValue(NamedTuple):
    """The least value of the afterstates of a table that leaves out the others."""

    label: str  # of the objective
    bound: float  # above 0 and at most 1


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The contents of a table."""

    game: Game
    counts: Mapping[str, int]  # the total numbers of states, afterstates and so on
    objectives: tuple[Objective, ...]  # those with values
    starts: Mapping[str, Value]  # starts[label]: the value of the start
    layers: Mapping[str, Pages]  # layers[label]: the pages of the index of its layers, with checksums
    thinned: Mapping[str, Any] | None = None  # what was left out; None for a full table.  See `least`
    version: str = field(default_factory=program_version)
    # ``"reachable"``: the reachable afterstates, with keys; ``"all"``: all boards within the limits, in the
    # order of the perfect index, without keys.
    space: str = "reachable"

    def __repr__(self) -> str:
        return f"<Manifest of {self.game}: {', '.join(self.labels)}>"

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
            "layers": {label: _pages_as_dict(self.layers[label]) for label in self.labels},
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
    def of_folder(cls, folder: Path) -> Manifest | None:
        """Return the manifest in a folder; None if it has none.  Raises `CorruptError` or `StorageError`."""
        file = folder / places.TABLE
        try:
            return cls.parse(read_file(file), str(file))
        except MissingLayerError:
            return None

    def write(self, folder: Path) -> None:
        """Write it into a folder, which makes the table there complete.  Raises `StorageError`."""
        write_whole(folder / places.TABLE, self.text)

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
        found = mapping(values["layers"], "layers")
        layers = {label: _pages(mapping(found[label], f"the layers of {label}"), label) for label in labels}
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

    @property
    def least_sum(self) -> int:
        """The least sum of a layer; 0 if there is none."""
        return min((page.least for pages in self.layers.values() for page in pages.pages), default=0)

    def contents(self, label: str) -> Contents:
        """Return what the layers of an objective are."""
        objective = self.objectives[self.labels.index(label)]
        return Contents(self.game, "all" if self.space == "all" else "afterstates", objective=objective)


def read_manifest(location: Path | str) -> tuple[Location, str, bytes]:
    """Return an opened location, and the name and the content of its manifest.

    Raises `MissingLayerError`, `CorruptError` or `StorageError`.
    """
    opened = open_location(location)
    try:
        with closing(opened.open(places.TABLE)) as source:
            return opened, f"{opened.name}/{places.TABLE}", read_document(source)
    except MissingLayerError as error:  # a server says it only at the first request
        raise MissingLayerError(
            f"{opened.name} holds no finished table: make one with tilebase solve ... "
            f"-o {local_path(location) or 'FOLDER'}"
        ) from error


def is_winning(data: bytes) -> bool:
    """Return whether a manifest seems to be that of a winning set.

    It is not parsed here: a table's manifest may be long.  Whichever it seems to be is then checked in full.
    """
    return WINNING_SET.encode() in data[:200]


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


def _pages_as_dict(pages: Pages) -> dict[str, Any]:
    return {
        "check": f"{pages.check:08x}",
        "pages": [[*page[:-1], f"{page.crc:08x}"] for page in pages.pages],
    }


def _pages(written: Mapping[str, Any], label: str) -> Pages:
    """Return the pages that `_pages_as_dict` wrote.  Raises `CorruptError`."""
    found = []
    if type(written["pages"]) is not list:
        raise CorruptError(f"the pages of {label} must be a list")
    for row in written["pages"]:
        if type(row) is not list or len(row) != len(Page._fields):
            raise CorruptError(f"a page of {label} must be a list of {len(Page._fields)}")
        least, most, offset, nbytes = (whole(number, f"a page of {label}") for number in row[:-1])
        found.append(Page(least, most, offset, nbytes, _crc(row[-1])))
    if any(page.least > page.most for page in found) or any(
        before.most >= after.least for before, after in itertools.pairwise(found)
    ):
        raise CorruptError(
            f"the pages of {label} are not in the order of sums: {shown([page[:2] for page in found], 40)}"
        )
    return Pages(_crc(written["check"]), tuple(found))


def _crc(written: Any) -> int:
    """Return a checksum in eight hexadecimal digits as a number.  Raises `CorruptError`."""
    if not re.fullmatch(r"[0-9a-f]{8}", text(written, "a checksum")):
        raise CorruptError(f"a checksum must be 8 hexadecimal digits, not {shown(written, 40)!r}")
    return int(written, 16)
