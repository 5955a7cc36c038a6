"""The result of counting: how many states each layer holds, by largest tile.

Pure data.  The arrays have one row per layer and one column per exponent:
``states[i, e]`` counts the states of sum ``sums[i]`` whose largest tile is 2**e.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.errors import CorruptError
from tilebase.game.findings import Finding, Reported, layers_checksum
from tilebase.game.game import Game
from tilebase.game.names import title_of
from tilebase.game.symmetry import start_symmetries, symmetries
from tilebase.runtime.rows import html_text

IntArray = npt.NDArray[np.int64]

FIELDS = ("states", "live", "losing", "winning", "afterstates", "raw_states", "raw_live")
"""The counted quantities, in the order in which tables show them."""

STORED = ("states", "live", "winning", "afterstates", "raw_states", "raw_live")
"""The quantities that are stored; losing states are computed as states minus live states."""

OF_IMAGES = "_of_images"
"""What is added to the names of raw counts if some symmetry changes the start."""


def shown_names(game: Game) -> dict[str, str]:
    """By field, the name under which it is shown: raw counts of a start that is not symmetric say so.

    >>> shown_names(Game("2x2", 32, start="2,0/0,4"))["raw_live"]
    'raw_live_of_images'
    """
    changes = len(start_symmetries(game)) < len(symmetries(game))
    return {field: field + OF_IMAGES * (changes and field.startswith("raw_")) for field in FIELDS}


@dataclass(frozen=True, eq=False)
class CountResult(Reported):
    """Counts of reachable positions, canonical up to symmetry unless they are called raw.

    Attributes
    ----------
    game, lookahead:
        The counted game.  `lookahead` omits states that are won or lost within one move, as Lees-Miller's
        partial build does.
    sums:
        ``sums[i]`` is the tile sum of layer i, ascending.
    states:
        Boards with the player to move, not holding the goal; ``live + losing``.
    live:
        States with an allowed slide.
    winning:
        Live states with a slide that makes the goal.  Boards that hold the goal are not
        counted, since the game is over.
    afterstates:
        Boards after a slide, without the goal; with an empty start, also the empty board.
    raw_states, raw_live:
        The same without symmetry: every state has the weight of its orbit size.  If a symmetry changes the
        start, these count the boards that are reachable from the start or one of its images, and are shown
        under other names (`shown_names`).  Those reachable from the start alone are not counted.
    complete:
        False if counting stopped at ``up_to`` before the last layer.
    """

    facts = ("game", "lookahead", "complete", "totals", "layers", "checksum")

    game: Game
    lookahead: bool
    sums: IntArray
    states: IntArray
    live: IntArray
    winning: IntArray
    afterstates: IntArray
    raw_states: IntArray
    raw_live: IntArray
    complete: bool = True

    def __eq__(self, other: object) -> bool:
        return self.as_dict() == other.as_dict() if isinstance(other, CountResult) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.game)

    def __repr__(self) -> str:
        counted = f"{self.total('states'):,} states, {self.total('live'):,} live"
        return f"<CountResult of {self.game}: {counted}{'' if self.complete else ', not complete'}>"

    def _repr_html_(self) -> str:
        rows = list(self.rows(by=("max",)))
        end = "" if self.complete else ", not complete"
        return html_text(f"{self.game}: {self.total('states'):,} states by largest tile{end}", rows)

    @property
    def losing(self) -> IntArray:
        """States without an allowed slide."""
        return self.states - self.live

    def total(self, field: str) -> int:
        """Return the sum of one of `FIELDS` over all layers."""
        return int(np.sum(getattr(self, field), dtype=np.int64))

    @property
    def totals(self) -> dict[str, int]:
        """The sums of all `FIELDS` over all layers, by the names under which they are shown."""
        return {name: self.total(field) for field, name in shown_names(self.game).items()}

    def rows(self, by: tuple[str, ...] = ("sum",)) -> Iterator[dict[str, int]]:
        """Yield a dictionary for each row of the table, grouped by ``sum``, ``max``, both or neither.

        Rows with only zeros are left out.  ``max`` is a tile, not an exponent (0 for a board
        without tiles).
        """
        axes = {"sum": 0, "max": 1}
        dropped = tuple(axis for name, axis in axes.items() if name not in by)
        tables = {
            name: np.sum(getattr(self, field), axis=dropped, keepdims=True)
            for field, name in shown_names(self.game).items()
        }
        counted = sum(np.abs(table) for table in tables.values())
        for layer, exponent in np.argwhere(counted):
            row = {"sum": int(self.sums[layer])} if "sum" in by else {}
            if "max" in by:
                row["max"] = 2 ** int(exponent) if exponent else 0
            yield row | {name: int(table[layer, exponent]) for name, table in tables.items()}

    @property
    def layers(self) -> list[dict[str, int]]:
        """The table by sum and largest tile."""
        return list(self.rows(("sum", "max")))

    @property
    def checksum(self) -> str:
        """The checksum of the table."""
        return layers_checksum(self.layers)

    def asked(self) -> tuple[Finding, ...]:
        """Return the counts of all layers that were counted."""
        what = "states, live states and afterstates, up to symmetry"
        if self.lookahead:
            what += ", without states that are won or lost within one move"
        if not self.complete:
            what += f", of the sums up to {max(self.sums, default=0)} (not complete)"
        value = ", ".join(f"{self.total(name):,} {name}" for name in ("states", "live", "afterstates"))
        return (Finding(title_of(self.game), what, value, "exact"),)

    @classmethod
    def from_dict(cls, values: Any) -> CountResult:
        """Return the result from which `as_dict` made these values.  Raises `CorruptError` for other values.

        >>> game = {"game": Game("2x2", 32).identity, "lookahead": False, "complete": True}
        >>> CountResult.from_dict(game | {"layers": [], "totals": dict.fromkeys(FIELDS, 0)}).total("live")
        0
        """
        if not isinstance(values, dict):
            raise CorruptError("these are not counts: not a JSON object")
        try:
            game = Game.from_identity(values["game"])
            sums, arrays = _arrays(game, values["layers"])
            lookahead, complete = bool(values["lookahead"]), bool(values["complete"])
            result = cls(game, lookahead, sums, **arrays, complete=complete)
            result.assert_consistent()
            agree = values["totals"] == result.totals
        except KeyError as error:
            raise CorruptError(f"these are not counts: {error} is missing") from error
        except TypeError as error:
            raise CorruptError("these are not counts: something in them has the wrong type") from error
        except (AssertionError, OverflowError, ValueError) as error:
            raise CorruptError(f"these are not counts: {error}") from error
        if not agree:
            raise CorruptError("these are not counts: their totals are not the sums of their layers")
        return result

    def assert_consistent(self) -> None:
        """Raise AssertionError if the arrays contradict each other; for tests and resumed runs."""
        shape = (len(self.sums), self.game.bounds.code + 1)
        for field in STORED:
            value = getattr(self, field)
            assert value.shape == shape, f"{field} has shape {value.shape}, not {shape}"
            assert (value >= 0).all(), f"{field} has negative counts"
        assert (np.diff(self.sums) > 0).all(), "layers are not in ascending order"
        assert (self.live <= self.states).all(), "more live states than states"
        assert (self.winning <= self.live).all(), "more winning states than live ones"
        assert (self.raw_states >= self.states).all(), "fewer states without symmetry than with"
        assert (self.raw_live >= self.live).all(), "fewer live states without symmetry than with"


def _arrays(game: Game, rows: Sequence[Mapping[str, int]]) -> tuple[IntArray, dict[str, IntArray]]:
    """Return the sums of the rows of a table, and for each of `STORED` the array that they fill."""
    sums = sorted({index(row["sum"]) for row in rows})
    if sums and not 0 <= sums[0] <= sums[-1] <= game.cells << game.bounds.code:
        raise ValueError(f"no board of {game} has the sum {sums[0] if sums[0] < 0 else sums[-1]}")
    layers = {total: layer for layer, total in enumerate(sums)}
    arrays = {field: np.zeros((len(sums), game.bounds.code + 1), dtype=np.int64) for field in STORED}
    cells, names = set(), shown_names(game)
    for row in rows:
        tile = index(row["max"])
        cell = layers[row["sum"]], max(tile.bit_length() - 1, 0)
        if (
            tile != (1 << cell[1] if cell[1] else 0)
            or (tile == 0) != (row["sum"] == 0)
            or cell[1] > game.bounds.code
            or cell in cells
        ):
            raise ValueError(
                f"the largest tile {tile} in sum {row['sum']} must be a tile of the game, and listed once"
            )
        cells.add(cell)
        for field in STORED:
            arrays[field][cell] = index(row[names[field]])
    return np.array(sums, dtype=np.int64), arrays


def trimmed(counts: IntArray) -> list[int]:
    """Return counts by exponent as a line of a layer holds them: without the zeros at the end."""
    return np.trim_zeros(counts, "b").tolist()


def counts_of(
    game: Game, lookahead: bool, lines: Sequence[Mapping[str, Any]], *, complete: bool
) -> CountResult:
    """Return the counts in the lines of layers, which are ascending; those without boards are left out."""
    lines = [line for line in lines if any(line[name] for name in STORED)]
    arrays = {name: np.zeros((len(lines), game.bounds.code + 1), dtype=np.int64) for name in STORED}
    for i, line in enumerate(lines):
        for name in STORED:
            arrays[name][i, : len(line[name])] = line[name]
    sums = np.array([line["sum"] for line in lines], dtype=np.int64)
    return CountResult(game=game, lookahead=lookahead, sums=sums, complete=complete, **arrays)
