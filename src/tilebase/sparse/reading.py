"""Solved layers read from disk: keys, their directory, and values.

Thinning and policies use them to look up many positions of a layer at once.
`tables.prober` looks up single positions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from tilebase._kernels import arguments, backward
from tilebase._kernels.arguments import Array
from tilebase._kernels.forward import BATCH
from tilebase._kernels.packed import packed
from tilebase.errors import CorruptError, MissingLayerError
from tilebase.files.format import Layer
from tilebase.files.keys import BoardCheck, read_keys
from tilebase.files.layers import Layers, same_boards
from tilebase.game.compiled import CompiledGame
from tilebase.game.game import Game
from tilebase.objectives.encoding import FIRST, NONE, WON, as_floats, sentinels
from tilebase.objectives.objective import Objective, potentials
from tilebase.runtime.threads import Spares
from tilebase.sparse.index import GameIndex, enter, join, new_directory

MISSING = 2
"""The position of an afterstate that a thinned layer lacks; `encoding` has those of other slides."""


class Links(NamedTuple):
    """For states of one layer, the afterstates that each slide leads to."""

    slots: Array  # slots[k, x]: position of the afterstate that slide k makes of state x
    gains: Array  # gains[a, x]: what merges along axis a add; without axes if they add nothing
    afters: Array  # afters[k, x]: the canonical afterstate


class ReadLayer:
    """The afterstates of one sum with their values as floats."""

    def __init__(self, reader: LayerReader, total: int) -> None:
        self.total = total
        self._reader = reader
        indexed = reader.game_index.at(total)
        self._ranking = indexed.ranking
        self.directory = new_directory(indexed.size)
        self.keys = reader.keys(total)
        self.values = reader.values(total)
        if len(self.keys):
            join(self.directory, enter(self.directory, indexed.checked_rank(self.keys), FIRST))

    def link(self, states: Array) -> Links:
        """Link states of this sum.  Raises `CorruptError` if an afterstate is not in the layer."""
        links, sound = self._link(states)
        if not sound:
            raise CorruptError(
                f"{self._reader.name} lacks afterstates of sum {self.total}: files of "
                "different runs are mixed; solve again"
            )
        return links

    def link_known(self, states: Array) -> Links:
        """As `link`, for thinned layers: the position of an afterstate that is not there is `MISSING`."""
        links = self.link_unchecked(states)
        made = links.afters != 0  # an afterstate has tiles, so its key is not 0
        slots, afters = links.slots[made].astype(np.int64), links.afters[made]
        there = (slots >= FIRST) & (slots < FIRST + len(self.keys))
        there[there] = self.keys[slots[there] - FIRST] == afters[there]
        links.slots[made] = np.where(there, slots, MISSING)
        return links

    def link_unchecked(self, states: Array) -> Links:
        """As `link`, without a check: the position of an afterstate that is not there means nothing."""
        return self._link(states)[0]

    def _link(self, states: Array) -> tuple[Links, bool]:
        """The links, and whether all afterstates are in the layer; positions of others mean nothing."""
        reader, axes, n = self._reader, len(self._reader.game.shape), len(states)
        links = arguments.Links(
            np.empty((2 * axes, n), dtype=np.uint32),
            np.empty((len(reader.potentials), axes, n), dtype=np.int32),
            np.zeros((2 * axes, n), dtype=np.uint64),  # what no slide makes is 0
        )
        with reader.scratch.one() as scratch:
            sound = backward.link_states(
                states, reader.compiled.rules, self._ranking, self.directory, reader.potentials,
                scratch, links,
            )  # fmt: skip
        gains = links.gains.reshape(len(reader.potentials) * axes, n)
        return Links(links.slots, gains, links.afters), sound


class LayerReader:
    """The layers of a run or table with the values of one objective, one by one.

    ``layers[label]`` are those of an objective; all have the same boards.
    """

    def __init__(self, name: str, game: Game, layers: Mapping[str, Layers], objective: Objective) -> None:
        self.name, self.game, self.layers, self.objective = name, game, layers, objective
        self.compiled = CompiledGame(game)
        self.check = BoardCheck(game)
        self.game_index = GameIndex(game)
        self.potentials = word_potentials(game, (objective.merge,) if objective.merge else ())
        # To make one takes as long as to link a thousand states.
        self.scratch = Spares(make=lambda: packed(arguments.Scratch.of(2 * BATCH + 2)))

    def _find(self, label: str, total: int) -> Layer | None:
        """Return the layer of one sum; None if there are no such boards."""
        try:
            return self.layers[label].layer(total)
        except MissingLayerError:
            return None

    def keys(self, total: int) -> Array:
        """The afterstates of one sum, ascending; none if there is no such layer.  Raises `CorruptError`."""
        layer = self._find(next(iter(self.layers)), total)
        if layer is None:
            return np.empty(0, dtype=np.uint64)
        keys = read_keys(layer, range(layer.chunks))
        self.check.demand(keys, total, layer.name)
        return keys

    def values(self, total: int) -> Array:
        """Return the values of one layer as floats, sentinels first."""
        objective, found = self.objective, [np.zeros(FIRST)]
        found[0][[NONE, WON]] = sentinels(self.game, objective)
        layer, first = (self._find(label, total) for label in (objective.label, next(iter(self.layers))))
        if layer is not None:
            if first is None or not same_boards(layer, first):
                raise CorruptError(f"{self.name} has other boards of sum {total} under each objective")
            found += [as_floats(objective, layer.values(chunk)) for chunk in range(layer.chunks)]
        return np.concatenate(found)

    def layer(self, total: int) -> ReadLayer:
        """Return the layer of one sum; it may be empty."""
        return ReadLayer(self, total)

    def spawns(self, keys: Array, exponent: int) -> tuple[Array, Array]:
        """The canonical states that spawns make of afterstates, and the index of the afterstate of each."""
        states, origin = spawns_of(self.compiled, keys, exponent)
        return self.compiled.canonical(states), origin


def spawns_of(compiled: CompiledGame, keys: Array, exponent: int) -> tuple[Array, Array]:
    """Spawn on afterstates: return the states, not turned, and the index of the afterstate of each."""
    spawns = np.empty(len(keys), dtype=np.uint8)
    backward.count_spawns(keys, compiled.rules, spawns)
    states = np.empty(int(spawns.sum()), dtype=np.uint64)
    backward.spawn_all(keys, exponent, compiled.rules, states)
    return states, np.repeat(np.arange(len(keys)), spawns)


def spawn_chances(game: Game, origin: Array, exponent: int) -> Array:
    """Return the probability of each spawn on afterstates, from the index of its afterstate.

    No spawn of them is missing.
    """
    empty = np.bincount(origin)[origin]
    return float(game.spawn.chance(exponent)) / empty


def word_potentials(game: Game, merges: Sequence[str]) -> Array:
    """``table[j, w]``: `potentials` under ``merges[j]``, summed over the cells of a word of up to 16 bits."""
    rows = [_word_potentials(game, merge) for merge in merges]
    return np.array(rows, dtype=np.int32).reshape(len(rows), -1 if rows else 0)


def board_potentials(game: Game, keys: Array, merge: str = "tile") -> Array:
    """Return what all merges that made the tiles of each board have added, as `Meaning.merge` counts them."""
    table, width = _word_potentials(game, merge), 16 // game.bits * game.bits
    total = np.zeros(len(keys), dtype=np.int64)
    for begin in range(0, game.bits * game.cells, width):
        total += table[(keys >> np.uint64(begin) & np.uint64((1 << width) - 1)).astype(np.int64)]
    return total


@lru_cache(maxsize=8)
def _word_potentials(game: Game, merge: str) -> Array:
    table = potentials(merge)
    codes = [0 if game.unmergeable and e == game.x else table[e] for e in range(game.x + 1)]
    one = np.array(codes, dtype=np.int32)
    sums = np.zeros(1, dtype=np.int32)
    for _ in range(16 // game.bits):
        sums = (sums[:, None] + one).ravel()
    sums.flags.writeable = False
    return sums


def merge_weights(keys: Array, *weights: Array) -> tuple[Array, ...]:
    """Return the distinct keys, ascending, and the summed weights of equal keys: ``(keys, weights, ...)``."""
    if not len(keys):
        return (keys, *weights)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return (keys[first], *(np.add.reduceat(weight[order], first) for weight in weights))


def distinct(numbers: Array) -> Array:
    """Return the distinct numbers, ascending; `np.unique` would hash them, which takes four times as long."""
    ordered = np.sort(numbers)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered
