"""Many boards at once, as NumPy arrays: packing, sliding, and the values of a table.

>>> import numpy as np
>>> from tilebase import Game
>>> from tilebase.arrays import GameArrays
>>> arrays = GameArrays(Game("2x2", 16))
>>> keys = arrays.pack(np.array([[[2, 2], [0, 4]], [[8, 4], [2, 4]]]), encoding="tiles")
>>> slid = arrays.slide(keys)
>>> slid.allowed  # left, right, up, down
array([[ True,  True, False,  True],
       [False, False,  True,  True]])
>>> slid.reward[1]
array([0, 0, 8, 8], dtype=int32)
>>> arrays.unpack(slid.after[1, 2:3])
array([[[3, 3],
        [1, 0]]], dtype=uint8)

A board is the same in every call: an array of the shape of the game, or of all cells in one row.  An array
of boards has one axis more.  `ENCODINGS` says how a cell is written.  Actions are numbered in the order of
``game.directions``: left, right, up, down, and in a box back and front.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tilebase._kernels.arguments import Scratch
from tilebase._kernels.orbits import count_stabilisers
from tilebase._kernels.packed import packed
from tilebase._kernels.play import REFUSED, WINS, slide_all
from tilebase.costs.tables import LAYER_BYTES
from tilebase.errors import ResourceError, UsageError
from tilebase.files.recent import Recent
from tilebase.game.compiled import CompiledGame
from tilebase.game.game import Game
from tilebase.game.symmetry import symmetries
from tilebase.objectives.encoding import FIRST, NONE, end_values, sentinels
from tilebase.runtime.resources import available_memory
from tilebase.sparse.choosing import best_slides, ratings
from tilebase.sparse.reading import (
    MISSING,
    LayerReader,
    ReadLayer,
    merge_weights,
    spawn_chances,
    spawns_of,
    word_potentials,
)
from tilebase.tables.layers import layer_sizes
from tilebase.tables.probe import Table

Keys: TypeAlias = npt.NDArray[np.uint64]
Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Encoding: TypeAlias = Literal["exponents", "tiles", "keys"]

ENCODINGS = ("exponents", "tiles", "keys")
"""How boards are written: ``exponents``, 3 for an 8 and 0 for an empty cell or a wall; ``tiles``, 8 for an 8;
``keys``, one packed number for each board.  A tile that never merges is the exponent ``game.x``."""
BATCH = 1 << 15
"""Boards for which an agent is asked at a time."""
CACHED = 1 << 10
"""Boards that are slid at a time, so that their buffers stay in the first caches."""


class Slid(NamedTuple):
    """What slides make of n boards, for each of A actions.

    Attributes
    ----------
    after:
        ``uint64[n, A]``: the packed board after the slide, not turned; 0 if the slide is not allowed.
    reward:
        ``int32[n, A]``: the sum of the tiles that merges make.
    allowed:
        ``bool[n, A]``: whether the slide changes the board and breaks no limit.
    wins:
        ``bool[n, A]``: whether it wins.
    """

    after: Keys
    reward: npt.NDArray[np.int32]
    allowed: Flags
    wins: Flags


class Probed(NamedTuple):
    """What a table says of n boards with the player to move, for each of A actions.

    Attributes
    ----------
    value:
        ``float64[n]``: the value; NaN if the table does not hold the board.
    q:
        ``float64[n, A]``: the value of each slide, with what the slide adds, and discounted; NaN if it is not
        allowed or its afterstate is not held.
    allowed:
        ``bool[n, A]``: whether the slide is allowed.
    best:
        ``bool[n, A]``: whether the slide is one of the best, as `Table.probe` says.
    known:
        ``bool[n]``: whether the table holds all afterstates of the board.
    """

    value: Floats
    q: Floats
    allowed: Flags
    best: Flags
    known: Flags


class LayerArrays(NamedTuple):
    """The n boards of one sum, ascending by key.

    Attributes
    ----------
    sum:
        The sum of their tiles.
    keys:
        ``uint64[n]``: the canonical boards.
    value:
        ``float64[n]``: their values.
    q, allowed, best:
        As in `Probed`, for states; without rows for afterstates.
    """

    sum: int
    keys: Keys
    value: Floats
    q: Floats
    allowed: Flags
    best: Flags


class GameArrays:
    """The rules of a game for arrays of boards.  Safe to share between threads."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.actions = game.directions
        self._compiled = CompiledGame(game)
        self.rules = self._compiled.rules

    def __repr__(self) -> str:
        return f"<GameArrays of {self.game}>"

    def pack(self, boards: npt.ArrayLike, *, encoding: Encoding = "exponents") -> Keys:
        """Pack boards: ``uint64[n]``.

        Parameters
        ----------
        boards:
            ``[n, *shape]`` or ``[n, cells]``; ``[n]`` of keys.  Whole numbers of any type.
        encoding:
            One of `ENCODINGS`.

        Raises
        ------
        UsageError
            If the array has another shape or numbers that are not whole, or a cell holds what the game
            does not allow there.  The message names the first such board.
        """
        if encoding not in ENCODINGS:
            raise UsageError(f"the encoding must be one of {', '.join(ENCODINGS)}, not {encoding!r}")
        given = self._whole_numbers(boards)
        if encoding == "keys":
            if given.ndim != 1:
                raise UsageError(f"keys must be an array with one axis, not {given.ndim}")
            keys = given.astype(np.uint64)
            self._check(self._cells(keys), keys)
            return keys
        cells = self._in_rows(given)
        exponents = self._exponents(cells) if encoding == "tiles" else cells
        self._check(exponents, None)
        return self._packed(exponents.astype(np.uint8))

    def unpack(self, keys: npt.ArrayLike, *, encoding: Literal["exponents", "tiles"] = "exponents") -> Any:
        """Return the boards of keys: ``uint8[n, *shape]`` of exponents, or ``int64[n, *shape]`` of tiles."""
        cells = self._cells(np.asarray(keys, dtype=np.uint64).ravel())
        shaped = cells.reshape(len(cells), *self.game.shape)
        return np.where(shaped, np.int64(1) << shaped.astype(np.int64), 0) if encoding == "tiles" else shaped

    def canonical(self, keys: Keys) -> tuple[Keys, npt.NDArray[np.uint8]]:
        """Return the canonical boards ``uint64[n]``, and for each the symmetry ``uint8[n]`` that makes it.

        Symmetry g is ``symmetries(game)[g]``, and ``action_maps[g]`` turns actions.
        """
        cells = self._cells(keys)
        least, found = keys.copy(), np.zeros(len(keys), dtype=np.uint8)
        for g, permutation in enumerate(symmetries(self.game)[1:], 1):
            image = self._packed(cells[:, list(permutation)])
            better = image < least
            least[better], found[better] = image[better], g
        return least, found

    def turned(self, keys: Keys, symmetry: npt.NDArray[np.integer[Any]]) -> Keys:
        """The boards that symmetries make: for each board the number of one, as in `canonical`."""
        sources = np.array(symmetries(self.game))[symmetry]
        return self._packed(np.take_along_axis(self._cells(keys), sources, axis=1))

    def stabilisers(self, keys: Keys) -> npt.NDArray[np.int64]:
        """``int64[n]``: how many symmetries leave each board as it is."""
        found = np.empty(len(keys), dtype=np.int64)
        images = np.empty((2, CACHED), dtype=np.uint64)
        count_stabilisers(np.ascontiguousarray(keys), self.rules.symmetries, images, found)
        return found

    @property
    def order(self) -> int:
        """How many symmetries the game has."""
        return len(symmetries(self.game))

    @property
    def wide_goal(self) -> bool:
        """Whether a packed board has no room for the goal, as for 65,536 on 4x4."""
        return self.game.goal_exponent is not None and self.game.goal_exponent > self.game.bounds.code

    def tops(self, keys: Keys) -> npt.NDArray[np.uint8]:
        """``uint8[n]``: the exponent of the largest tile of each board; 0 on an empty board."""
        return self._compiled.tops(keys)

    @cached_property
    def action_maps(self) -> npt.NDArray[np.uint8]:
        """``maps[g, a]``: the action on the board that symmetry g makes, which corresponds to action a."""
        lines = self.game.grid.lines
        maps = np.empty((len(symmetries(self.game)), len(self.actions)), dtype=np.uint8)
        for g, permutation in enumerate(symmetries(self.game)):
            for k, turned in enumerate(self.actions):
                before = {tuple(permutation[cell] for cell in line) for line in lines[turned]}
                same = [a for a, direction in enumerate(self.actions) if set(lines[direction]) == before]
                maps[g, k if k in same else same[0]] = k  # two are the same along an axis of one cell
        return maps

    def slide(self, keys: Keys) -> Slid:
        """Slide boards in all directions.  See `Slid`."""
        n, actions = len(keys), len(self.actions)
        keys, kinds = np.ascontiguousarray(keys), np.zeros((n, actions), dtype=np.uint8)
        found = Slid(
            np.zeros((n, actions), dtype=np.uint64), np.zeros((n, actions), dtype=np.int32),
            np.zeros((n, actions), dtype=np.bool_), np.zeros((n, actions), dtype=np.bool_),
        )  # fmt: skip
        width = min(n, CACHED)
        scratch, marks = packed(Scratch.of(2 * width + 8)), np.zeros(2 * width, dtype=np.uint8)
        for begin in range(0, n, CACHED):
            part = slice(begin, min(begin + CACHED, n))
            here = keys[part]
            slide_all(here, len(here), self.rules, scratch, marks, found.after[part], kinds[part])
        np.not_equal(kinds, REFUSED, out=found.allowed)
        np.equal(kinds, WINS, out=found.wins)
        before = self._potential(keys)
        for action in range(actions):
            gain = self._potential(found.after[:, action]) - before
            found.reward[:, action] = np.where(found.allowed[:, action], gain, 0)
        return found

    def spawns(self, keys: Keys) -> tuple[Keys, npt.NDArray[np.int64], Floats]:
        """Spawn on boards after a slide: return all states by their keys, the boards, the probabilities.

        State i follows from board ``boards[i]``.  The states are not turned.  None follows where the game has
        ended by its horizon.
        """
        if self.game.horizon is not None:
            going = np.flatnonzero(sums_of(self.game, keys) < self.game.horizon)
            made, boards, chances = self._spawns(keys[going])
            return made, going[boards], chances
        return self._spawns(keys)

    def _spawns(self, keys: Keys) -> tuple[Keys, npt.NDArray[np.int64], Floats]:
        made, boards, chances = [], [], []
        for exponent in self.game.spawn_exponents:
            states, origin = spawns_of(self._compiled, keys, exponent)
            made.append(states)
            boards.append(origin)
            chances.append(spawn_chances(self.game, origin, exponent))
        return np.concatenate(made), np.concatenate(boards), np.concatenate(chances)

    # -- how it is done ------------------------------------------------------------------------

    @cached_property
    def _potentials(self) -> npt.NDArray[np.int64]:
        table: npt.NDArray[np.int64] = word_potentials(self.game, ("tile",))[0].astype(np.int64)
        return table

    def _potential(self, keys: Keys) -> npt.NDArray[np.int64]:
        """Return what all merges that made the tiles of boards have earned."""
        total = np.zeros(len(keys), dtype=np.int64)
        width = 16 // self.game.bits * self.game.bits
        for begin in range(0, self.game.bits * self.game.cells, width):
            word = keys >> np.uint64(begin) & np.uint64((1 << width) - 1)
            total += self._potentials[word.astype(np.int64)]
        return total

    def _cells(self, keys: Keys) -> npt.NDArray[np.uint8]:
        """Return the exponents of keys, ``[n, cells]``."""
        cells, code = np.empty((len(keys), self.game.cells), dtype=np.uint8), np.uint64(self.game.x)
        for cell in range(self.game.cells):
            cells[:, cell] = keys >> np.uint64(self.game.bits * (self.game.cells - 1 - cell)) & code
        return cells

    def _packed(self, cells: npt.NDArray[np.uint8]) -> Keys:
        keys = np.zeros(len(cells), dtype=np.uint64)
        for cell in range(self.game.cells):
            keys = keys << np.uint64(self.game.bits) | cells[:, cell]
        return keys

    def _whole_numbers(self, boards: npt.ArrayLike) -> npt.NDArray[Any]:
        given = np.asarray(boards)
        if given.dtype.kind in "biu":
            return given
        if given.dtype.kind == "f" and np.isfinite(given).all() and (given == np.floor(given)).all():
            return given.astype(np.int64)
        raise UsageError(f"boards must be whole numbers, not an array of {given.dtype}")

    def _in_rows(self, given: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return boards as ``[n, cells]``."""
        shape, cells = self.game.shape, self.game.cells
        if given.ndim > 1 and given.shape[1:] in (shape, (cells,)):
            return given.reshape(len(given), cells)
        wanted = " or ".join(str(["n", *one]).replace("'", "") for one in (shape, (cells,)))
        raise UsageError(f"boards of {self.game} must be an array {wanted}, not {list(given.shape)}")

    def _exponents(self, tiles: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the exponents of tiles; -1 for a number that is not a tile."""
        given = tiles.astype(np.int64)
        found = np.where(given > 0, np.log2(np.maximum(given, 1)).round(), 0).astype(np.int64)
        return np.where(np.where(given, np.int64(1) << np.clip(found, 0, 62), 0) == given, found, -1)

    @cached_property
    def _allowed_codes(self) -> Flags:
        """``codes[c, e]``: whether cell c may hold the exponent e on a state of the game."""
        codes = np.zeros((self.game.cells, self.game.x + 1), dtype=np.bool_)
        for cell in range(self.game.cells):
            codes[cell, list(self.game.codes(cell))] = True
        return codes

    def _check(self, exponents: npt.NDArray[Any], keys: Keys | None) -> None:
        """Raise `UsageError` unless each cell holds what it may hold."""
        codes = self._allowed_codes
        inside = (exponents >= 0) & (exponents < codes.shape[1])
        good = inside & codes[np.arange(self.game.cells), np.where(inside, exponents, 0).astype(np.int64)]
        wrong = ~good.all(axis=1)
        if keys is not None and self.game.bits * self.game.cells < 64:
            wrong |= keys >> np.uint64(self.game.bits * self.game.cells) != 0
        if wrong.any():
            first = int(wrong.argmax())
            cell = int((~good[first]).argmax())
            raise UsageError(
                f"board {first} is not a board of {self.game}: cell {cell} must not hold what it holds"
                if not good[first].all()
                else f"key {first} is not a board of {self.game}: it has too many bits"
            )


class TableArrays:
    """The values of a table for arrays of boards.

    Layers are read whole when they are needed, from a folder, a zip file or a server.  The last are kept.
    The best slides follow from the values of one objective: of an almost certain win, ask `loss`.
    Raises `UsageError` for a table of all boards (``space="all"``), which keeps no keys, and for an objective
    that the table does not have.
    """

    def __init__(self, table: Table, objective: str | None = None) -> None:
        if table.dense:
            raise UsageError(
                f"{table.location.name} holds all boards without keys, which arrays cannot read: solve it "
                "with the space reachable"
            )
        self.table, self.game = table, table.game
        self.objective = table.objective(objective)
        self.boards = GameArrays(table.game)
        self._reader = LayerReader(table.name, table.game, table.layers, (self.objective,))
        self._layers = Recent(LAYER_BYTES, _layer_bytes)
        self._slack = table.slack(self.objective)

    def __repr__(self) -> str:
        return f"<TableArrays of {self.table.location.name}: {self.objective.label}>"

    def __len__(self) -> int:
        """Return how many afterstates have values.  Opens every layer."""
        return sum(self.layer_sizes.values())

    @property
    def sums(self) -> tuple[int, ...]:
        """The sums of the layers, ascending."""
        return tuple(self.table.prober.sums())

    def probe(
        self,
        boards: npt.ArrayLike,
        *,
        encoding: Encoding = "exponents",
        missing: Literal["nan", "raise"] = "nan",
    ) -> Probed:
        """Return the values of states and of their slides, in the orientation given.  See `Probed`.

        Parameters
        ----------
        boards, encoding:
            As in `GameArrays.pack`: boards with the player to move.
        missing:
            What a board gets that the table does not hold: ``nan`` or an error.

        Raises
        ------
        UsageError
            As `GameArrays.pack` says.
        MissingBoardError
            If a board is not in the table, and `missing` is ``raise``.
        CorruptError
            If a file is damaged.
        """
        if missing not in ("nan", "raise"):
            raise UsageError(f"missing must be nan or raise, not {missing!r}")
        keys = self.boards.pack(boards, encoding=encoding)
        found = self.probe_keys(keys)
        if missing == "raise" and not found.known.all():
            first = int(keys[int((~found.known).argmax())])
            raise self.table.prober.missing(self.game.unpack(first))
        return found

    def locate(self, keys: Keys) -> npt.NDArray[np.int64]:
        """``int64[n]``: the number of each afterstate, turned in any way; -1 if the table does not hold it.

        Afterstates are numbered from 0 in the order of `iter_layers`.
        """
        canonical, _ = self.boards.canonical(np.asarray(keys, dtype=np.uint64))
        found = np.full(len(canonical), -1, dtype=np.int64)
        firsts = dict(zip(self.layer_sizes, np.cumsum([0, *self.layer_sizes.values()]), strict=False))
        for total, mine in by_sum(self.game, canonical):
            if total in self.layer_sizes:
                layer, wanted = self._layer(total).keys, canonical[mine]
                at = layer.searchsorted(wanted)
                there = at < len(layer)
                there[there] = layer[at[there]] == wanted[there]
                found[mine] = np.where(there, firsts[total] + at, -1)
        return found

    def iter_layers(
        self, kind: Literal["afterstates", "states"] = "afterstates", *, most: int | None = None
    ) -> Iterator[LayerArrays]:
        """Yield the boards of each sum with their values, the smallest sum first.

        States are those that play from the start reaches and that are not won: starts, and spawns on the
        afterstates of the table.  With `most`, the boards of a sum come in pieces of at most so many.
        """
        if kind not in ("afterstates", "states"):
            raise UsageError(f"kind must be afterstates or states, not {kind!r}")
        none = np.zeros((0, len(self.boards.actions)))
        flags = none.astype(np.bool_)
        for total in self.sums if kind == "afterstates" else self._state_sums():
            keys = self._layer(total).keys if kind == "afterstates" else self._states(total)
            for begin in range(0, len(keys), most or len(keys) or 1):
                part = slice(begin, begin + (most or len(keys)))
                if kind == "afterstates":
                    values = self._layer(total).values[0][FIRST:][part]
                    yield LayerArrays(total, keys[part], values, none, flags, flags)
                else:
                    found = self._probe_layer(total, keys[part])
                    yield LayerArrays(total, keys[part], found.value, found.q, found.allowed, found.best)

    def to_arrays(self, kind: Literal["afterstates", "states"] = "afterstates") -> dict[str, Any]:
        """Return all boards of the table at once: ``sum`` and the columns of `LayerArrays` by their names.

        Raises `ResourceError` if they do not fit into 3/4 of the available memory; `iter_layers` needs less.
        """
        each = 20 if kind == "afterstates" else 3 * (20 + 10 * len(self.boards.actions))
        if len(self) * each > available_memory() * 3 // 4:
            raise ResourceError(
                f"the arrays of {self.table.location.name} take about {len(self) * each >> 20:,} MiB, "
                "more than 3/4 of the memory: take layer by layer with iter_layers"
            )
        layers = list(self.iter_layers(kind))
        sums = [np.full(len(layer.keys), layer.sum, dtype=np.int64) for layer in layers]
        found: dict[str, Any] = {"sum": np.concatenate([np.zeros(0, dtype=np.int64), *sums])}
        for name in LayerArrays._fields[1:] if kind == "states" else ("keys", "value"):
            found[name] = np.concatenate([getattr(layer, name) for layer in layers])
        return found

    @cached_property
    def layer_sizes(self) -> dict[int, int]:
        """How many afterstates each sum has."""
        return layer_sizes(self.table)

    def afterstates(self, total: int) -> Keys:
        """``uint64[n]``: the canonical afterstates of one sum, ascending."""
        return self._layer(total).keys

    # -- how it is done ------------------------------------------------------------------------

    def _layer(self, total: int) -> ReadLayer:
        found: ReadLayer = self._layers.get(total, self._reader.layer, total)
        return found

    def probe_keys(self, keys: Keys) -> Probed:
        """`probe` of packed boards, which are not checked."""
        n, actions = len(keys), len(self.boards.actions)
        found = Probed(
            np.zeros(n), np.full((n, actions), np.nan), np.zeros((n, actions), dtype=np.bool_),
            np.zeros((n, actions), dtype=np.bool_), np.zeros(n, dtype=np.bool_),
        )  # fmt: skip
        for total, mine in by_sum(self.game, keys):
            part = self._probe_layer(total, keys[mine])
            for column, values in zip(found, part, strict=True):
                column[mine] = values
        return found

    def _probe_layer(self, total: int, states: Keys) -> Probed:
        """Return the states of one sum."""
        n, actions = len(states), len(self.boards.actions)
        if self.game.reached(total):  # by the goal sum: won as they are
            won = sentinels(self.game, self.objective)[1]
            flags = np.zeros((n, actions), dtype=np.bool_)
            return Probed(
                np.full(n, self.objective.told(won)),
                np.full((n, actions), np.nan),
                flags,
                flags,
                np.ones(n, dtype=np.bool_),
            )
        layer = self._layer(total)
        links = layer.link_known(states)
        q = ratings(self.objective, layer, links)
        allowed, absent = links.slots != NONE, links.slots == MISSING
        best = best_slides(q, self._slack)
        q = q * float(self.objective.discount)
        known, moves = ~absent.any(axis=0), allowed.any(axis=0)
        most = np.where(moves, np.where(allowed & ~absent, q, -np.inf).max(axis=0), 0.0)
        ends = end_values(self.objective, self._reader.compiled.tops(states))
        value = np.where(known, np.where(moves, most, ends), np.nan)
        q = np.where(allowed & ~absent, q, np.nan)
        value, q = self.objective.told(value), self.objective.told(q)
        return Probed(value, q.T, allowed.T, best.T & known[:, None], known)

    def _state_sums(self) -> list[int]:
        """Return the sums that states of the table may have."""
        spawned = {s + (1 << e) for s in self.sums for e in self.game.spawn_exponents}
        return sorted(s for s in spawned | set(self._starts) if not self.game.reached(s))

    @cached_property
    def _starts(self) -> dict[int, Keys]:
        """The start boards of each sum."""
        keys = np.array([self.game.pack(board) for board, _ in self.game.starts()], dtype=np.uint64)
        return {total: keys[mine] for total, mine in by_sum(self.game, keys)}

    def _states(self, total: int) -> Keys:
        """Return the canonical states of one sum."""
        made = [self._starts.get(total, np.zeros(0, dtype=np.uint64))]
        for exponent in self.game.spawn_exponents:
            before = total - (1 << exponent)
            if before in self.layer_sizes and not self.game.ended(before):
                made.append(self._reader.spawns(self._layer(before).keys, exponent)[0])
        return merge_weights(self._reader.compiled.canonical(np.concatenate(made)))[0]


def _layer_bytes(layer: ReadLayer) -> int:
    arrays = (*layer.values, layer.keys, *layer.directory)
    return sum(int(array.nbytes) for array in arrays)


def sums_of(game: Game, keys: Keys) -> npt.NDArray[np.int64]:
    """Return the sum of the tiles of each board."""
    sums = np.zeros(len(keys), dtype=np.int64)
    code = np.uint64(game.x)
    for cell in range(game.cells):
        tiles = (keys >> np.uint64(game.bits * (game.cells - 1 - cell)) & code).astype(np.int64)
        worth = np.where(tiles > 0, np.int64(1) << tiles, 0)
        sums += np.where(tiles == game.x, 0, worth) if game.unmergeable else worth
    return sums


def by_sum(game: Game, keys: Keys) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Yield the sums of boards, and for each the numbers of the boards that have it."""
    sums = sums_of(game, keys)
    order = np.argsort(sums, kind="stable")
    changes = np.flatnonzero(np.diff(sums[order])) + 1
    for mine in np.split(order, changes) if len(keys) else ():
        yield int(sums[mine[0]]), mine
