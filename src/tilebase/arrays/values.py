"""The values of a table for arrays of boards."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tilebase._kernels.lookup import rate_slides
from tilebase.arrays.boards import Encoding, Flags, Floats, GameArrays, Keys, by_sum
from tilebase.costs.reachable import LAYER_BYTES
from tilebase.errors import MissingBoardError, ResourceError, UsageError
from tilebase.objectives.encoding import FIRST, WON, end_values, sentinels
from tilebase.runtime.resources import available_memory, check_threads
from tilebase.runtime.threads import Recent, map_in_threads
from tilebase.sparse.reading import LayerReader, ReadLayer, distinct
from tilebase.tables.layers import layer_sizes
from tilebase.tables.probe import Table, open_table

SHARE = 1 << 14
"""Boards of one sum that a thread looks up at a time."""


class Probed(NamedTuple):
    """What a table says of n boards with the player to move, for each of A actions.

    In place of n there are the axes of the batch: none for one board.

    Attributes
    ----------
    value:
        ``float64[n]``: the value; NaN if the table does not hold the board.
    q:
        ``float64[n, A]``: the value of each slide, with what the slide adds, and discounted; NaN if it is not
        allowed or its afterstate is not stored.
    allowed:
        ``bool[n, A]``: whether the slide is allowed.
    best:
        ``bool[n, A]``: whether the slide is one of the best, as `Table.probe` says.
    known:
        ``bool[n]``: whether the table holds all afterstates of the board.  It is false for a board with the
        goal, and for the board without tiles, on which a tile is spawned before the player slides.
    """

    value: Floats
    q: Floats
    allowed: Flags
    best: Flags
    known: Flags

    @property
    def advantage(self) -> Floats:
        """``float64[n, A]``: ``q`` less ``value``: 0 for the best slides, NaN where ``q`` is."""
        return self.q - self.value[..., None]


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
    after:
        ``uint64[n, A]``: for states the canonical afterstate of each slide; 0 if it wins or is not allowed.
    """

    sum: int
    keys: Keys
    value: Floats
    q: Floats
    allowed: Flags
    best: Flags
    after: Keys


class TableArrays:
    """The values of a table, or of what `open_table` opens, for arrays of boards.

    Layers are read whole when they are needed, from a folder, a zip file or a server.  The last are kept.
    The best slides follow from the values of one objective: of an almost certain win, ask `loss`.
    `threads` share the boards that are asked at once; None: one for each processor.
    With `returns`, values of states and slides are those of reinforcement learning, which does not discount
    the reward of the first slide: with a discount g, 1/g times those of the table.  Values of afterstates are
    the same in both: such a ``q`` is the reward of the slide and the value of its afterstate.
    It is pickled as the table is; a deep copy is itself.
    Raises `UsageError` for a table of all boards (``space="all"``), which keeps no keys, and for an objective
    that the table does not have.
    """

    def __init__(
        self,
        table: Table | Path | str,
        objective: str | None = None,
        *,
        threads: int | None = 1,
        returns: bool = False,
    ) -> None:
        table = open_table(table)
        if table.dense:
            raise UsageError(
                f"{table.location.name} holds all boards without keys, which arrays cannot read: solve it "
                "with the space reachable"
            )
        self.table, self.game, self._threads = table, table.game, check_threads(threads)
        self.objective = table.objective(objective)
        self.boards = GameArrays(table.game)
        self._reader = LayerReader(table.name, table.game, table.layers, self.objective)
        self._layers = Recent(
            LAYER_BYTES, lambda layer: sum(a.nbytes for a in (layer.values, layer.keys, *layer.directory))
        )
        chosen = self.objective
        self._returns = returns
        self._worth = np.array([chosen.slide, table.slack(chosen), chosen.discount], dtype=np.float64)
        self._ends = end_values(chosen, np.arange(self.game.x + 1))

    def __repr__(self) -> str:
        return f"<TableArrays of {self.table.location.name}: {self.objective.label}>"

    def __reduce__(self) -> Any:
        made = partial(TableArrays, threads=self._threads, returns=self._returns)
        return made, (self.table, self.objective.label)

    def __deepcopy__(self, _memo: Any) -> TableArrays:
        return self

    def __len__(self) -> int:
        """Return how many afterstates have values.  Opens every layer."""
        return sum(self.layer_sizes.values())

    @property
    def sums(self) -> tuple[int, ...]:
        """The sums of the layers, ascending."""
        return tuple(self.table.prober.sums())

    def probe(
        self,
        boards: Any,
        *,
        encoding: Encoding = "exponents",
        missing: Literal["nan", "raise"] = "nan",
    ) -> Probed:
        """Return the values of states and of their slides, in the orientation given.  See `Probed`.

        Parameters
        ----------
        boards, encoding:
            As in `GameArrays.pack`: boards with the player to move, or on which the goal is made.
        missing:
            What a board gets that the table does not hold, as one on which the goal is made: ``nan`` or an
            error.

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
        packed, won = self.boards.pack_played(boards, encoding=encoding)
        keys = np.where(won, np.uint64(0), packed).ravel()
        found = self.probe_keys(keys)
        if won.any():
            if missing == "raise":
                name = self.table.location.name
                raise MissingBoardError(f"board {int(won.argmax())} is not in {name}: it is won")
            for column, none in zip(found, (np.nan, np.nan, False, False, False), strict=True):
                column[won.ravel()] = none
        if missing == "raise":
            self._check_known(keys, found)
        return Probed._make(column.reshape(packed.shape + column.shape[1:]) for column in found)

    def probe_after(self, boards: Any, *, encoding: Encoding = "exponents") -> Floats:
        """``float64[*batch]``: the values of boards after a slide, before the spawn; NaN if it has none.

        Parameters and errors are those of `GameArrays.pack`.  A board on which the goal is made has none.
        """
        packed, won = self.boards.pack_played(boards, encoding=encoding)
        keys = np.where(won, np.uint64(0), packed)
        found = np.full(keys.size, np.nan)
        for total, rows, at in self._find(keys.ravel()):
            found[rows] = self.objective.told(self._layer(total).values[FIRST:][at])
        found[won.ravel()] = np.nan
        return found.reshape(keys.shape)

    def locate(self, keys: Keys) -> npt.NDArray[np.int64]:
        """``int64[*batch]``: the number of each afterstate, turned in any way; -1 if the table lacks it.

        Afterstates are numbered from 0 in the order of `iter_layers`.
        """
        found = np.full(np.size(keys), -1, dtype=np.int64)
        firsts = dict(zip(self.layer_sizes, np.cumsum([0, *self.layer_sizes.values()]), strict=False))
        for total, rows, at in self._find(np.ravel(keys)):
            found[rows] = firsts[total] + at
        return found.reshape(np.shape(keys))

    def _find(self, keys: Keys) -> Iterator[tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """Yield sums, the numbers of the afterstates that the table has, and their places in the layer."""
        canonical = self.boards.least(keys)
        for total, mine in by_sum(self.game, canonical):
            if total in self.layer_sizes:
                layer, wanted = self._layer(total).keys, canonical[mine]
                at = np.minimum(layer.searchsorted(wanted), len(layer) - 1)
                there = layer[at] == wanted
                yield total, mine[there], at[there]

    def iter_layers(
        self, kind: Literal["afterstates", "states"] = "afterstates", *, most: int | None = None
    ) -> Iterator[LayerArrays]:
        """Yield the boards of each sum with their values, the smallest sum first.

        States are those that play from the start reaches and that are not won: starts, and spawns on the
        afterstates of the table.  With `most`, the boards of a sum come in pieces of at most this number.
        """
        if kind not in ("afterstates", "states"):
            raise UsageError(f"kind must be afterstates or states, not {kind!r}")
        if most is not None and most < 1:
            raise UsageError(f"most must be 1 or more, not {most}")
        none = np.zeros((0, len(self.boards.actions)))
        flags = none.astype(np.bool_)
        spawned = {s + (1 << e) for s in self.sums for e in self.game.spawn_exponents}
        states = sorted(s for s in spawned | set(self._starts) if not self.game.reached(s))
        for total in self.sums if kind == "afterstates" else states:
            keys = self._layer(total).keys if kind == "afterstates" else self._states(total)
            for begin in range(0, len(keys), most or len(keys) or 1):
                part = slice(begin, begin + (most or len(keys)))
                if kind == "afterstates":
                    values = self.objective.told(self._layer(total).values[FIRST:][part])
                    yield LayerArrays(total, keys[part], values, none, flags, flags, none.astype(np.uint64))
                else:
                    here = keys[part]
                    found = self._room(len(here))
                    after = self._look_up(total, here, np.arange(len(here)), found)
                    value, q, allowed, best, _ = self._told(found)
                    yield LayerArrays(total, here, value, q, allowed, best, after)

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
        """The number of afterstates of each sum."""
        return layer_sizes(self.table)

    def afterstates(self, total: int) -> Keys:
        """``uint64[n]``: the canonical afterstates of one sum, ascending."""
        return self._layer(total).keys

    # -- how it is done ------------------------------------------------------------------------

    def _layer(self, total: int) -> ReadLayer:
        return self._layers.get(total, self._reader.layer, total)

    def _check_known(self, keys: Keys, found: Probed) -> None:
        if not found.known.all():
            first = int(keys[int((~found.known).argmax())])
            raise self.table.prober.missing(self.game.unpack(first))

    def probe_known(self, keys: Keys) -> Probed:
        """As `probe_keys`.  Raises `MissingBoardError` if the table lacks one of the boards."""
        found = self.probe_keys(keys)
        self._check_known(keys, found)
        return found

    def probe_keys(self, keys: Keys) -> Probed:
        """`probe` of packed boards, which are not checked."""
        found = self._room(len(keys))
        parts = [
            (total, mine[begin : begin + SHARE])
            for total, mine in by_sum(self.game, keys)
            for begin in range(0, len(mine), SHARE)
        ]

        def look_up(part: tuple[int, npt.NDArray[np.int64]]) -> None:
            total, rows = part
            self._look_up(total, keys[rows], rows, found)

        if self._threads > 1 and len(parts) > 1:
            map_in_threads(look_up, parts, self._threads)
        else:
            for part in parts:
                look_up(part)
        return self._told(found)

    def _room(self, n: int) -> Probed:
        """Return arrays for so many states."""
        shape = n, len(self.boards.actions)
        allowed, best = np.empty((2, *shape), dtype=np.bool_)
        return Probed(np.empty(n), np.empty(shape), allowed, best, np.empty(n, dtype=np.bool_))

    def _told(self, found: Probed) -> Probed:
        value, q = self.objective.told(found.value), self.objective.told(found.q)
        if self._returns and self.objective.discount != 1:
            value, q = value / float(self.objective.discount), q / float(self.objective.discount)
        return found._replace(value=value, q=q)

    def _look_up(self, total: int, states: Keys, rows: npt.NDArray[np.int64], found: Probed) -> Keys:
        """Write what the engine holds of states of one sum to these rows; return `LayerArrays.after`."""
        game, won = self.game, self.game.reached(total)  # by the goal sum: won as they are
        if won or (total == 0 and not game.empty_is_state):
            found.value[rows] = sentinels(game, self.objective)[1] if won else np.nan
            found.q[rows], found.known[rows] = np.nan, won
            found.allowed[rows], found.best[rows] = False, False
            return np.zeros((len(states), len(self.boards.actions)), dtype=np.uint64)
        layer = self._layer(total)
        links = layer.link_unchecked(states)
        rate_slides(
            states, links.slots, links.afters, links.gains, layer.keys, layer.values, self._worth,
            self._ends, self.boards.rules.bits, self.boards.rules.unmergeable, rows, *found,
        )  # fmt: skip
        return np.where(links.slots == WON, np.uint64(0), links.afters).T

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
        return distinct(self._reader.compiled.canonical(np.concatenate(made)))
