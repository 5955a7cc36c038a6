"""Packed values: afterstates with as many bits as order their slides, in a file that a page reads by ranges.

The afterstates of one sum are a sorted list of *ranks*.  The rank of a board is the number of boards that
come before it in key order, among all boards of this sum whose tiles do not exceed what each cell may hold.
Ranks lie much closer together than keys: of formation 442 to 128, one board in 11 is an afterstate, and the
difference of two ranks takes 3 bits.  With ``N(i, s)`` as the number of ways to fill the cells from i on with
tiles of the sum s, the rank of a board with the codes ``c[i]`` is

    sum over cells i, and over codes c < c[i] that cell i may hold:  N(i + 1, s(i) - sum of c)

where ``s(i)`` is the sum of the cells from i on.  An unmergeable tile has the sum 0.

A value lies in a *cell* of a scale (`Scale`): of the logit of a probability, or of the value itself.  A cell
is halved as often as needed, until slides are ordered as in the table (`order`).  In a few states halving
does not help: slides are equally good and lie on both sides of an edge, or differ by less than the smallest
cell.  The best slides of these states are stored as *corrections*.

`docs/format.md` specifies the file.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import codec
from tilebase.errors import UsageError
from tilebase.files.format import cells_of
from tilebase.game.game import Game
from tilebase.objectives.encoding import FIRST
from tilebase.objectives.objective import Objective
from tilebase.runtime.storage import open_own

Array = npt.NDArray[Any]

FORMAT, VERSION = "tilebase policy", 2
BLOCK = 4096
"""Afterstates in a block: blocks of 1,024 take more, and a page loads larger ones for each slide."""
LEVEL = 6
"""The level of deflate; 9 saves 1 % and takes twice as long."""
MOST_RANK = 1 << 53
"""Ranks are below this number, so that the floats of JavaScript hold them exactly."""
PART = 1 << 14
"""States that are compared at a time, so that they stay in the caches of a processor."""
HALVINGS = 15
"""A cell is halved at most so often."""
CELLS = 254
"""Cells of a scale between its ends, which are cells of their own: 0, and 255 for a certain win."""
LOGIT = 0.2
"""The least width of a cell of logits, log(p / (1 - p)): p and 1 - p differ by a fifth over a cell."""
_ENTRY = struct.Struct("<QLL")


class Ranks:
    """Ranks of the boards of a game of at most the sum `largest`.

    Raises `UsageError` if there are too many boards of one sum.

    Attributes
    ----------
    codes:
        ``codes[i]``: the codes that cell i may hold, ascending: 0, exponents, and x.
    """

    def __init__(self, game: Game, largest: int) -> None:
        self.game = game
        self.codes = [game.codes(cell) for cell in range(game.cells)]
        self._half = [[0 if game.is_x(code) else 1 << code >> 1 for code in codes] for codes in self.codes]
        most = min(sum(max(half) for half in self._half), largest // 2)
        ways = np.zeros(most + 1, dtype=np.float64)  # floats, so that nothing overflows before the check
        ways[0] = 1
        below = []
        for half in reversed(self._half):
            shifted = np.stack([np.concatenate([np.zeros(min(h, most + 1)), ways])[: most + 1] for h in half])
            below.append(np.concatenate([np.zeros((1, most + 1)), np.cumsum(shifted, axis=0)]))
            ways = below[-1][-1]
        if ways.max() >= MOST_RANK:
            raise UsageError(f"{game} has more than 2^53 boards of one sum: a page cannot number them")
        # _below[i][k, s]: fillings of the cells from i on, of the sum 2 s, with one of the first k codes on
        # cell i.
        self._below = [table.astype(np.int64) for table in reversed(below)]

    def of(self, keys: Array, total: int) -> Array:
        """Return the ranks (int64) of boards of the sum `total`; all must be boards that play can make."""
        game = self.game
        ranks = np.zeros(len(keys), dtype=np.int64)
        left = np.full(len(keys), total // 2)
        for cell, (codes, column) in enumerate(zip(self.codes, cells_of(game, keys), strict=True)):
            if len(codes) == 1:
                continue
            index = np.zeros(game.x + 1, dtype=np.int64)  # index[code]: its position in `codes`
            index[list(codes)] = np.arange(len(codes))
            found = index[column]
            ranks += self._below[cell][found, left]
            left -= np.array(self._half[cell])[found]
        return ranks


@dataclass(frozen=True)
class Scale:
    """The cells of one layer: cell c, from 1 to `CELLS`, begins at ``low + (c - 1) step``.

    Attributes
    ----------
    places:
        ``places[x]``: the number of the cell of value x, with `HALVINGS` binary places behind the point.
    """

    low: float
    step: float
    places: npt.NDArray[np.int32]

    @classmethod
    def of(cls, objective: Objective, values: Array) -> Scale:
        """Place values on the scale of an objective.

        Probabilities are placed by their logits, with 0 and 1 in the cells at the ends; others linearly.
        What is never won is in cell 0.
        """
        never = values <= objective.lost if objective.counts_to_win else values == -np.inf
        if objective.unit in ("probability", "yes-no"):
            win, lose = (1 + values, -values) if objective.lost else (values, 1 - values)
            with np.errstate(divide="ignore", invalid="ignore"):
                numbers = np.log(win) - np.log(lose)
            never, certain = never | (win <= 0), lose <= 0
            # The first cell also has all lower chances; no win is so likely that it is above the last.
            low = -CELLS / 2 * LOGIT
            step = float(np.max(numbers, initial=-low, where=~(never | certain)) - low) / CELLS
        else:
            some = values[~never] if not never.all() else np.zeros(1)
            low, step = float(some.min()), float(some.max() - some.min()) / (CELLS - 1) or 1.0
            if not objective.is_float:
                step = float(np.ceil(step))
            numbers, certain = values, np.zeros(len(values), dtype=bool)
        places = np.clip((numbers - low) / step, 0, CELLS - 2.0**-HALVINGS) + 1
        places[never], places[certain] = 0, CELLS + 1
        return cls(low, step, np.floor(places * (1 << HALVINGS)).astype(np.int32))

    def edges(self, halvings: Array) -> tuple[Array, Array]:
        """Return where the cell of each value begins and ends, after it was halved so often."""
        first, unit = self.places >> HALVINGS - halvings, np.ldexp(1.0, -halvings)
        return self.low + (first * unit - 1) * self.step, self.low + ((first + 1) * unit - 1) * self.step


@dataclass(frozen=True)
class Slides:
    """The slides of some states: slide k of state x leads to the value at ``slots[k, x]``.

    ``gains[k, x]`` is what it adds.  ``there[k, x]`` says whether it is allowed and that value known, and
    ``best[k, x]`` whether it is one of the best.
    """

    slots: Array
    there: npt.NDArray[np.bool_]
    gains: Array
    best: npt.NDArray[np.bool_]

    def take(self, states: Any) -> Slides:
        """Return the slides of some of the states."""
        return Slides(*(array[:, states] for array in (self.slots, self.there, self.gains, self.best)))

    def read(self, begin: Array, end: Array) -> tuple[Array, Array]:
        """Return which slides a reader takes for the best, and which are first, by the edges of the cells.

        The best are those whose cells reach beyond the last of all beginnings.
        """
        begins = np.where(self.there, begin[self.slots] + self.gains, -np.inf)
        last = reduce(np.maximum, begins)  # faster than `max` along an axis of four
        return self.there & (end[self.slots] + self.gains > last), begins == last


def order(scale: Scale, slides: Slides) -> tuple[Array, Array]:
    """Halve cells until a reader finds the best slides.

    The scale begins with the sentinels of a layer.  Return how often each cell is halved, and the states
    whose best slides a reader does not find.
    """
    halvings = np.zeros(len(scale.places), dtype=np.int32)
    states = np.arange(slides.slots.shape[1])
    for times in range(1, HALVINGS + 1):
        edges = scale.edges(halvings)
        kept = [states[:0]]
        for at in range(0, len(states), PART):
            some = states[at : at + PART]
            part = slides.take(slice(some[0], some[-1] + 1) if times == 1 else some)
            taken, first = part.read(*edges)
            wrong = taken & ~part.best
            mixed = reduce(np.logical_or, wrong)
            halvings[part.slots[:, mixed][(wrong | first)[:, mixed]]] = times
            halvings[:FIRST] = 0  # a win has no afterstate
            kept.append(some[mixed])
        states = np.concatenate(kept)
    edges = scale.edges(halvings)
    parts = [slice(at, at + PART) for at in range(0, slides.slots.shape[1], PART)]
    missed = [reduce(np.logical_or, part.read(*edges)[0] != part.best) for part in map(slides.take, parts)]
    return halvings, np.flatnonzero(np.concatenate([np.zeros(0, dtype=bool), *missed]))


class PolicyWriter:
    """Writes a policy into a folder, layer by layer, up to the sum `largest`.

    Attributes
    ----------
    layers:
        Of each layer, the sum, the number of afterstates, and `low` and `step` of its scale.
    """

    def __init__(self, folder: Path, game: Game, largest: int) -> None:
        self._folder, self._ranks = folder, Ranks(game, largest)
        self.codes = self._ranks.codes
        self.layers: list[tuple[int, int, float, float]] = []
        self._corrections: list[tuple[int, int]] = []
        self._corrected: list[bytes] = []
        self._size = 0
        self._index: list[bytes] = []
        self._file = open_own(folder / "policy.bin", "wb")
        self._buffer = np.empty(10 * (BLOCK + 1), dtype=np.uint8)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def add(self, total: int, keys: Array, scale: Scale, halvings: Array) -> None:
        """Add the afterstates of a sum: ascending keys, and the cells of values, sentinels first."""
        ranks = self._ranks.of(keys, total).astype(np.uint64)
        all_places, halvings = scale.places[FIRST:], halvings[FIRST:]
        for at in range(0, len(ranks), BLOCK):
            part = slice(at, at + BLOCK)
            times, places = halvings[part], all_places[part]
            cells = (places >> HALVINGS).astype(np.uint8)
            self._block(ranks[part], cells, _nibbles(times), _bits(places, times))
        self.layers.append((total, len(keys), scale.low, scale.step))

    def correct(self, total: int, keys: Array, best: Array) -> None:
        """Add the states of a sum that are read wrongly: ascending keys, and which slides are best."""
        if len(keys):
            ranks = np.concatenate([[0], self._ranks.of(keys, total)]).astype(np.uint64)
            buffer = np.empty(10 * len(ranks), dtype=np.uint8)
            length = codec.encode_deltas(ranks, buffer)
            self._corrected += [
                np.packbits(best, axis=0, bitorder="little").tobytes(),
                buffer[:length].tobytes(),
            ]
            self._corrections.append((total, len(keys)))

    def _block(self, ranks: Array, *heads: Array) -> None:
        length = codec.encode_deltas(ranks, self._buffer)
        packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -15)
        # The parts of a block hold different things.  So each begins a new code of deflate (Z_BLOCK).
        parts = [packer.compress(head.tobytes()) + packer.flush(zlib.Z_BLOCK) for head in heads if len(head)]
        data = b"".join(parts) + packer.compress(self._buffer[:length].tobytes()) + packer.flush()
        self._file.write(data)
        self._size += len(data)
        self._index.append(_ENTRY.pack(int(ranks[0]), len(data), zlib.crc32(data)))

    def finish(self) -> dict[str, Any]:
        """Append index and corrections; name the file by their checksum; return what a header tells."""
        index = b"".join(self._index)
        tail = index + zlib.compress(b"".join(self._corrected), 9, -15)
        self._file.write(tail)
        self._file.close()
        check = f"{zlib.crc32(tail):08x}"
        name = f"policy-{check}.bin"
        (self._folder / "policy.bin").replace(self._folder / name)
        return {
            "codes": self.codes,
            "block": BLOCK,
            "layers": self.layers,
            "corrections": self._corrections,
            "policy": {"name": name, "bytes": self._size + len(tail), "tail": len(tail), "check": check},
        }


def _nibbles(numbers: Array) -> npt.NDArray[np.uint8]:
    """Two numbers below 16 in each byte, the first one low."""
    even = np.append(numbers, 0)[: len(numbers) + 1 & ~1].astype(np.uint8)
    packed: npt.NDArray[np.uint8] = even[::2] | even[1::2] << np.uint8(4)
    return packed


def _bits(places: Array, times: Array) -> npt.NDArray[np.uint8]:
    """So many bits of each place behind the point, the highest first, from the lowest of a byte up."""
    shifts = HALVINGS - 1 - np.arange(HALVINGS)
    bits = (places[:, None] >> shifts & 1).astype(np.uint8)
    return np.packbits(bits[np.arange(HALVINGS) < times[:, None]], bitorder="little")
