"""A winning set in a folder: all boards from which one side wins, as decision diagrams.

manifest.json    what is in the set, and the SHA-256 sum of the other file; it is written last
winning.dddmp    for each layer a diagram of the states and one of the afterstates (`files.dddmp`)

What a *layer* is depends on the strategy that made the set: all boards of one sum, all boards with the same
largest tile and the same number of it, or all boards.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._version import version as program_version
from tilebase.errors import CorruptError, UsageError
from tilebase.files.dddmp import Diagrams, read_dddmp
from tilebase.files.manifest import MOST_COUNT, WINNING_SET
from tilebase.files.source import Location
from tilebase.game.game import Cells, Game
from tilebase.runtime.documents import checked_json, mapping, parse_checked, text, understood, whole

VERSION = 1
FILE = "winning.dddmp"
STATES, AFTERSTATES = "states", "afterstates"
FREE = "*"
"""Stands for a bit of a code that may be 0 or 1; boards are written with 0 there."""
MOST_WIDTH = 64
"""Most bits of a cell."""

MEANINGS = {
    ("adversarial", "slider"): "the player can force a win",
    ("adversarial", "dropper"): "the adversary can prevent a win",
    ("cooperative", "slider"): "the player can win if the spawns help",
    ("cooperative", "dropper"): "the spawns can prevent a win",
    ("deterministic", "slider"): "the player can force a win if spawns are on the first empty cell",
    ("deterministic", "dropper"): "spawns on the first empty cell can prevent a win",
}
"""By variant and player of `bdd.strategies.Rules`: what is said of a board in the set."""


@dataclass(frozen=True)
class Layer:
    """The numbers of won states and afterstates of one layer."""

    name: str
    states: int
    afterstates: int


@dataclass(frozen=True, kw_only=True)
class WinningManifest:
    """What is in a winning set."""

    game: Game
    variant: str  # who spawns, as in `bdd.strategies.Rules`; with the player a key of `MEANINGS`
    player: str  # whose winning set it is
    strategy: str  # how the boards are cut into layers: ``sum``, ``sweep`` or ``accumulative``
    strong: bool  # whether all boards were solved, and not only what the start needs
    corollary7: bool  # whether boards that break corollary 7 of Edixhoven were left out: see `possible`
    # Whether the player of the set wins from the start; None if the work stopped before that was known.
    verdict: bool | None
    encoding: str  # the name of the codes
    order: str  # the name of the order of the variables
    codes: Mapping[int, str]  # codes[v]: the bits of a cell that holds v, the most significant first
    # The cell and the bit of each variable of states, from the top of the diagrams to the bottom.  Variable
    # 2n of the file stands for variables[n] of a state, and 2n + 1 for that of an afterstate.
    variables: Sequence[tuple[int, int]]
    layers: Sequence[Layer]  # those that were solved
    nodes: int  # of the file of diagrams
    size: int  # its bytes
    sha256: str  # its SHA-256 sum
    version: str = field(default_factory=program_version)

    @property
    def complete(self) -> bool:
        """Whether a board of a layer that is not in the set is not won.

        Only for the start, iteration ends as soon as its result is known.
        """
        return self.strong or self.verdict is False or self.strategy == "sum"

    @property
    def meaning(self) -> str:
        """What is said of a board in the set."""
        return MEANINGS[self.variant, self.player]

    @property
    def width(self) -> int:
        """Bits of a cell."""
        return len(self.variables) // self.game.cells

    def total(self, what: str) -> int:
        """Return how many `STATES` or `AFTERSTATES` there are."""
        return sum(getattr(layer, what) for layer in self.layers)

    def layer_of(self, board: Cells) -> str:
        """Return the name of the layer of a board."""
        if self.strategy == "accumulative":
            return "all"
        if self.strategy == "sum":
            return str(self.game.sum(board))
        most = self.game.max_exponent(board)
        return f"({most},{board.count(most) if most else 0})"

    def possible(self, board: Cells, *, after: bool = False) -> bool:
        """Return whether a board was among those that were solved, as far as `corollary7` decides.

        A state holds a tile that was just spawned.

        Corollary 7: beside a tile of exponent k there are k - 1 cells that are empty or hold less, k - 2 if
        4s are spawned.  If a board has this property, so has every board that play makes of it.
        """
        game, given = self.game, self.game.spawn_exponents[-1]
        tiles = {e for e in board if e > given and not game.is_x(e)}
        spawned = after or any(e in game.spawn_exponents for e in board)
        return not self.corollary7 or (spawned and all(sum(e < k for e in board) >= k - given for k in tiles))

    # -- as a file -----------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The content of the file."""
        values: dict[str, Any] = {
            "format": WINNING_SET,
            "version": VERSION,
            "program": self.version,
            "game": self.game.identity,
            **{name: getattr(self, name) for name in (*_WORDS, *_FLAGS, "verdict")},
            "counts": {what: self.total(what) for what in (STATES, AFTERSTATES)} | {"nodes": self.nodes},
            "codes": {str(value): code for value, code in self.codes.items()},
            "variables": [list(variable) for variable in self.variables],
            "layers": [asdict(layer) for layer in self.layers],
            "file": {"name": FILE, "size": self.size, "sha256": self.sha256},
        }
        return checked_json(values)

    @classmethod
    def parse(cls, data: bytes, name: str) -> WinningManifest:
        """Return the manifest in a file.  Raises `CorruptError`."""
        values = parse_checked(
            data,
            name,
            WINNING_SET,
            VERSION,
            what="the manifest of a winning set",
            advice="make the set again",
        )
        with understood(name):
            return cls._from_values(values)

    @classmethod
    def _from_values(cls, values: dict[str, Any]) -> WinningManifest:
        """Return the manifest in a JSON object.  Every member is checked."""
        words: dict[str, Any] = {name: text(values[name], name) for name in _WORDS}
        if (words["variant"], words["player"]) not in MEANINGS or words["strategy"] not in STRATEGIES:
            raise CorruptError("its variant, player or strategy does not exist")
        if any(type(values[name]) is not bool for name in _FLAGS):
            raise CorruptError(f"one of {', '.join(_FLAGS)} is neither true nor false")
        if values["verdict"] not in (True, False, None) or type(values["verdict"]) is int:
            raise CorruptError("its verdict is neither true nor false nor null")
        flags: dict[str, Any] = {name: values[name] for name in _FLAGS}
        game = Game.from_identity(mapping(values["game"], "game"))
        layers = [_layer(one) for one in values["layers"]]
        file = mapping(values["file"], "file")
        if len({layer.name for layer in layers}) != len(layers):
            raise CorruptError("a layer occurs twice")
        if not re.fullmatch(r"[0-9a-f]{64}", text(file["sha256"], "a SHA-256 sum"), re.ASCII):
            raise CorruptError("the SHA-256 sum of its file is malformed")
        if not all(re.fullmatch(STRATEGIES[words["strategy"]], layer.name, re.ASCII) for layer in layers):
            raise CorruptError(f"a name is not that of a layer of the strategy {words['strategy']}")
        codes = {
            int(value): text(code, "a code") for value, code in mapping(values["codes"], "codes").items()
        }
        for what in (STATES, AFTERSTATES):
            every = sum(getattr(layer, what) for layer in layers)
            whole(every, f"the number of {what}", len(codes) ** game.cells)
        return cls(
            game=game, **words, **flags, verdict=values["verdict"], codes=codes,
            variables=_variables(values["variables"], codes, game), layers=layers,
            nodes=whole(mapping(values["counts"], "counts")["nodes"], "the number of nodes"),
            size=whole(file["size"], "the size of its file"), sha256=file["sha256"],
            version=text(values["program"], "program"),
        )  # fmt: skip


_WORDS = ("variant", "player", "strategy", "encoding", "order")
_FLAGS = ("strong", "corollary7")
STRATEGIES = {"sum": r"\d{1,9}", "sweep": r"\(\d{1,2},\d{1,2}\)", "accumulative": "all"}
"""The names of layers by strategy, as `WinningManifest.layer_of` makes them."""


def _layer(values: Any) -> Layer:
    found = mapping(values, "a layer")
    counts = [whole(found[what], f"the number of {what}", MOST_COUNT) for what in (STATES, AFTERSTATES)]
    return Layer(text(found["name"], "the name of a layer"), *counts)


def _variables(values: Any, codes: Mapping[int, str], game: Game) -> list[tuple[int, int]]:
    """Return the variables, checked with the codes.  Raises `CorruptError`."""
    width = len(next(iter(codes.values()), ""))
    if (
        not 1 <= width <= MOST_WIDTH
        or any(len(code) != width for code in codes.values())
        or not set("".join(codes.values())) <= set("01*")
    ):
        raise CorruptError("its codes do not have the same number of bits")
    if any(value < 0 for value in codes) or not set(game.tops) <= codes.keys():
        raise CorruptError("a value of a cell has no code")
    found = [(cell, bit) for cell, bit in values]
    every = [(cell, bit) for cell in range(game.cells) for bit in range(width)]
    if any(type(number) is not int for pair in found for number in pair) or sorted(found) != every:
        raise CorruptError("its variables are not one for each bit of each cell")
    return found


class StoredSet:
    """The diagrams of a winning set.  Safe to share between threads."""

    def __init__(self, location: Location, manifest: WinningManifest) -> None:
        self.location, self.manifest = location, manifest
        self._layers = {layer.name for layer in manifest.layers}
        game = manifest.game
        # codes[v]: the bits of a cell that holds v; 2 if v has no code.
        self._codes = np.full((game.x + 2, manifest.width), 2, dtype=np.uint8)
        for value, code in manifest.codes.items():
            if value <= game.x + 1:
                self._codes[value] = [bit == "1" for bit in code]

    @cached_property
    def diagrams(self) -> Diagrams:
        """The file of diagrams, read when it is first needed.

        Raises `CorruptError`, `MissingLayerError` or `StorageError`.
        """
        manifest = self.manifest
        with closing(self.location.open(FILE)) as source:
            if source.size != manifest.size:
                raise CorruptError(
                    f"{source.name} has {source.size} bytes, but its manifest says {manifest.size}: "
                    "make the winning set again"
                )
            found = read_dddmp(source)
        if found.sha256 != manifest.sha256:
            raise CorruptError(f"{source.name} is not the file that the manifest names: make the set again")
        names = {root_name(what, name) for what in (STATES, AFTERSTATES) for name in self._layers}
        sizes = (found.variables, len(found))
        if found.roots.keys() != names or sizes != (2 * len(manifest.variables), manifest.nodes):
            raise CorruptError(f"{source.name} has other layers, variables or nodes than its manifest")
        return found

    def has_layer(self, board: Cells) -> bool:
        """Return whether the layer of a board was solved, and all that the board holds has a code."""
        manifest = self.manifest
        coded = all(value in manifest.codes for value in board)
        return coded and manifest.layer_of(board) in self._layers

    def holds(self, boards: npt.NDArray[Any], *, after: bool) -> npt.NDArray[np.bool_]:
        """Return whether each of some boards, codes of cells as [board, cell], is in the set.

        Boards of layers that were not solved are in no set: see `has_layer`.
        """
        found = np.zeros(len(boards), dtype=bool)
        what = AFTERSTATES if after else STATES
        _, first, part = np.unique(self._parts(boards), return_index=True, return_inverse=True)
        for index, row in enumerate(first.tolist()):
            name = self.manifest.layer_of(tuple(boards[row].tolist()))
            if name in self._layers:
                rows = np.flatnonzero(part == index)
                found[rows] = self.diagrams.holds(
                    root_name(what, name), self._bits(boards[rows], after=after)
                )
        return found

    def count(self, layer: str, choices: Sequence[Sequence[int]]) -> tuple[int, int, Cells | None]:
        """Count the states of a layer by sum whose cells hold one of some codes.

        Returns how many there are, how many are in the set, and one that is not.  `choices[cell]` are the
        codes of a cell.  Boards that lead to the same node with the same sum are counted together, cell by
        cell in the order of the variables.  Raises `UsageError` if these do not lie cell by cell.
        """
        manifest, game, total = self.manifest, self.manifest.game, int(layer)
        cells = [cell for cell, _ in manifest.variables][:: manifest.width]
        if [cell for cell, _ in manifest.variables] != [c for c in cells for _ in range(manifest.width)]:
            raise UsageError(
                f"a set in the order {manifest.order} is not counted: make it in rows or columns"
            )
        diagrams = self.diagrams
        refs = np.array([diagrams.roots[root_name(STATES, layer)]], dtype=np.int64)
        sums, often, boards = np.zeros(1, np.int64), np.ones(1, np.int64), np.zeros((1, game.cells), np.uint8)
        for place, cell in enumerate(cells):
            found = []
            for value in choices[cell]:
                more = sums + (1 << value if value and not game.is_x(value) else 0)
                fits = more <= total
                after, held = refs[fits], boards[fits]
                for number in range(place * manifest.width, (place + 1) * manifest.width):
                    bit = manifest.codes[value][manifest.variables[number][1]]
                    after = diagrams.below(after, 2 * number, int(bit == "1"))  # 0 where the code is free
                held[:, cell] = value
                found.append((after, more[fits], often[fits], held))
            refs, sums, often, boards = (np.concatenate(part) for part in zip(*found, strict=True))
            _, first, same = np.unique(refs * (total + 1) + sums, return_index=True, return_inverse=True)
            counted = np.zeros(len(first), np.int64)
            np.add.at(counted, same, often)
            refs, sums, often, boards = refs[first], sums[first], counted, boards[first]
        here, won = sums == total, refs > 0
        lost = boards[here & ~won]
        return (
            int(often[here].sum()),
            int(often[here & won].sum()),
            tuple(lost[0].tolist()) if len(lost) else None,
        )

    def _parts(self, boards: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return a number for each board, the same for boards of one layer."""
        game, strategy = self.manifest.game, self.manifest.strategy
        tiles = np.where(boards == game.x, 0, boards) if game.unmergeable else boards
        if strategy == "accumulative":
            return np.zeros(len(boards), dtype=np.int64)
        if strategy == "sum":
            return np.where(tiles, 1 << tiles.astype(np.int64), 0).sum(axis=1)
        most = tiles.max(axis=1, keepdims=True)
        return most[:, 0].astype(np.int64) * MOST_WIDTH + (tiles == most).sum(axis=1)

    def _bits(self, boards: npt.NDArray[Any], *, after: bool) -> npt.NDArray[np.uint8]:
        """Return the variables of some boards, uint8[board, variable]."""
        variables = self.manifest.variables
        cells, bits = (np.array(part) for part in zip(*variables, strict=True))
        found = np.zeros((len(boards), 2 * len(variables)), dtype=np.uint8)
        found[:, int(after) :: 2] = self._codes[boards[:, cells], bits]
        return found


def root_name(what: str, layer: str) -> str:
    """Return the name of a diagram in the file."""
    return f"{what}:{layer}"
