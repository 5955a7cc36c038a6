"""Packed values: afterstates with as many bits as order their slides, in a file that a page reads by ranges.

A block of the file begins at a board, and goes through the boards after it that a slide can leave: of each
it says whether it is an afterstate of the table (`_kernels.page`).  A reader finds the block of a board by
*ranks*.  The rank of a board is the number of boards that come before it in key order, among all boards of
this sum whose tiles do not exceed what each cell may hold.  With ``N(i, s)`` as the number of ways to fill
the cells from i on with tiles of the sum s, the rank of a board with the codes ``c[i]`` is

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
from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import codec, page
from tilebase._kernels.page import BLOCK, HALVINGS
from tilebase.errors import CorruptError, UsageError
from tilebase.files.format import cells_of
from tilebase.game.game import Game
from tilebase.game.symmetry import symmetries
from tilebase.objectives.encoding import FIRST
from tilebase.objectives.objective import Objective
from tilebase.runtime.storage import open_own

Array = npt.NDArray[Any]

FORMAT, VERSION = "tilebase policy", 3
MOST_RANK = 1 << 53
"""Ranks are below this number, so that the floats of JavaScript hold them exactly."""
PART = 1 << 14
"""States that are compared at a time, so that they stay in the caches of a processor."""
CELLS = 254
"""Cells of a scale between its ends, which are cells of their own: 0, and 255 for a certain win."""
LOGIT = 0.2
"""The least width of a cell of logits, log(p / (1 - p)): p and 1 - p differ by a fifth over a cell."""
_ENTRY = struct.Struct("<QLL")


class Ranks:
    """Ranks of the boards of a game of at most the sum `largest`.

    Raises `UsageError` if there are too many boards of one sum.
    """

    def __init__(self, game: Game, largest: int) -> None:
        self.game = game
        # codes[i]: the codes that cell i may hold, ascending: 0, exponents, and x.
        self.codes = [game.codes(cell) for cell in range(game.cells)]
        # half[i][k]: half of what codes[i][k] adds to the sum.
        self.half = [[0 if game.is_x(code) else 1 << code >> 1 for code in codes] for codes in self.codes]
        most = min(sum(max(half) for half in self.half), largest // 2)
        ways = np.zeros(most + 1, dtype=np.float64)  # floats, so that nothing overflows before the check
        ways[0] = 1
        below = []
        for half in reversed(self.half):
            shifted = np.stack([np.concatenate([np.zeros(min(h, most + 1)), ways])[: most + 1] for h in half])
            below.append(np.concatenate([np.zeros((1, most + 1)), np.cumsum(shifted, axis=0)]))
            ways = below[-1][-1]
        if ways.max() >= MOST_RANK:
            raise UsageError(f"{game} has more than 2^53 boards of one sum: a page cannot number them")
        # _below[i][k, s]: fillings of the cells from i on, of the sum 2 s, with one of the first k codes on
        # cell i.
        self._below = [table.astype(np.int64) for table in reversed(below)]
        # ways[i, s]: the number of ways to fill the cells from i on with tiles of the sum 2 s.
        self.ways = np.stack([*(table[-1] for table in self._below), np.arange(most + 1) == 0])

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
            left -= np.array(self.half[cell])[found]
        return ranks


@dataclass(frozen=True)
class Scale:
    """The cells of one layer: cell c, from 1 to `CELLS`, begins at ``low + (c - 1) step``."""

    low: float
    step: float
    # places[x]: the number of the cell of value x, with `HALVINGS` binary places behind the point.
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


class Packer:
    """Packs the afterstates of layers into blocks."""

    def __init__(self, ranks: Ranks) -> None:
        self.game = ranks.game
        self._sides = (1 << len(self.game.directions)) - 1
        self._space, self._coder = _space(ranks), page.coder(self.game.cells)

    def blocks(
        self, total: int, keys: Array, places: Array, halvings: Array, loose: bool
    ) -> Iterator[tuple[int, bytes]]:
        """Yield of each block the position of its first afterstate, and its bytes.

        A loose layer may have afterstates that no slide leaves.  Raises `CorruptError` if another has one.
        """
        words, at = keys.view(np.int64), 0
        sides = self._sides | loose << page.ANYTHING
        while at < len(keys):
            rest = words[at:], places[at:], halvings[at:]
            if not page.pack(*rest, total // 2, sides, BLOCK, self._space, self._coder):
                board = self.game.format(self.game.unpack(int(keys[at])))
                raise CorruptError(f"the table has the afterstate {board}, but no slide leads to it")
            yield at, self._coder.out[: self._coder.state[page.AT]].tobytes()
            at += int(self._coder.state[page.NEXT])


def _space(ranks: Ranks) -> page.Space:
    """Return what the kernel has to know of the boards of a game."""
    game = ranks.game
    opened = [cell for cell, codes in enumerate(ranks.codes) if len(codes) > 1]
    place = {cell: i for i, cell in enumerate(opened)}
    codes, halves = np.zeros((2, len(opened), max(map(len, ranks.codes))), dtype=np.int64)
    near = np.arange(len(opened))[:, None].repeat(len(game.shape), axis=1)
    lost, sides = np.zeros((len(opened), 2), dtype=np.int64), np.zeros((*near.shape, 2), dtype=np.int64)
    for i, cell in enumerate(opened):
        several = len(ranks.codes[cell])
        codes[i, :several], halves[i, :several] = ranks.codes[cell], ranks.half[cell]
    for side, direction in enumerate(game.directions):
        for line in game.segments[direction]:
            for before, behind in pairwise(line):
                # A board is not slid to this side if the cell before is empty and the cell behind is not.
                for cell, other, empty in ((before, behind, 1), (behind, before, 0)):
                    if cell not in place:
                        continue
                    i = place[cell]
                    if other not in place:
                        lost[i, empty] |= ((0 in ranks.codes[other]) != empty) << side
                    elif (j := place[other]) < i:
                        axis = int(np.argmax((near[i] == j) | (near[i] == i)))
                        near[i, axis] = j
                        sides[i, axis, empty] |= 1 << side
    images = np.array([[place[p[cell]] for cell in opened] for p in symmetries(game)], dtype=np.int64)
    # The first cell that a symmetry moves holds no larger code than the cell whose code comes there.
    moved = {(int(image[i]), int(i)) for image in images for i in np.flatnonzero(image != images[0])[:1]}
    below = [[i for source, i in sorted(moved) if source == cell] for cell in range(len(opened))]
    most = max(map(len, below))
    least = np.array([[*some, *[i] * (most - len(some))] for i, some in enumerate(below)], dtype=np.int64)
    return page.Space(
        codes,
        np.array([len(ranks.codes[cell]) for cell in opened]),
        halves,
        ranks.ways[[*opened, -1]],
        lost,
        near,
        sides,
        images[1:],
        least,
        game.bits * (game.cells - 1 - np.array(opened)),
        game.bits,
    )


class PolicyWriter:
    """Writes a policy into a folder, layer by layer, up to the sum `largest`."""

    def __init__(self, folder: Path, game: Game, largest: int) -> None:
        self._folder, self._ranks = folder, Ranks(game, largest)
        self._packer = Packer(self._ranks)
        # Of each layer, the sum, the number of blocks, `low` and `step` of its scale, and whether a start is
        # in it, which need not be what a slide leaves.
        self._layers: list[tuple[int, int, float, float, bool]] = []
        self._corrections: list[tuple[int, int]] = []
        self._corrected: list[bytes] = []
        self._size = 0
        self._index: list[bytes] = []
        self._file = open_own(folder / "policy.bin", "wb")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def add(self, total: int, keys: Array, scale: Scale, halvings: Array) -> None:
        """Add the afterstates of a sum: ascending keys, and the cells of values, sentinels first."""
        game = self._ranks.game
        loose = any(game.sum(board) == total for board in game.start_afters or ())
        begin = len(self._index)
        for at, data in self._packer.blocks(total, keys, scale.places[FIRST:], halvings[FIRST:], loose):
            self._file.write(data)
            self._size += len(data)
            rank = int(self._ranks.of(keys[at : at + 1], total)[0])
            self._index.append(_ENTRY.pack(rank, len(data), zlib.crc32(data)))
        self._layers.append((total, len(self._index) - begin, scale.low, scale.step, loose))

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
            "codes": self._ranks.codes,
            "block": BLOCK,
            "layers": self._layers,
            "corrections": self._corrections,
            "policy": {"name": name, "bytes": self._size + len(tail), "tail": len(tail), "check": check},
        }
