"""What counting and solving the reachable boards takes.

The number of boards of each sum within the limits is computed exactly, in a moment
(`counting.combinatorics`).  How many of them play reaches is counted or estimated (`costs.shares`); each
layer is taken to have the same share.  Then the CPU seconds of a layer are, with the rates of `costs.rates`,

    counting   layer + (states × state + ranks × rank) × slides
    solving    layer + afterstates × (after + spawns × (spawn × slides + fold × further objectives))

`slides` is 1 for two axes of short lines; longer lines are slid cell by cell.  One thread
does the layers of few states.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.costs.estimate import Estimate
from tilebase.costs.rates import rates
from tilebase.costs.shares import empty_cells, share_of
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.files.format import CHUNK_KEYS, stored_bytes
from tilebase.game.game import Game
from tilebase.game.symmetry import symmetries
from tilebase.objectives.objective import Objective
from tilebase.runtime.resources import OVERHEAD, Allowance
from tilebase.sparse.halves import Halves
from tilebase.sparse.sizes import (
    KEPT_KEYS,
    SMALL_BITS,
    SMALL_PART,
    TABLE_BYTES,
    directory_bytes,
    lean_bytes,
    least_windows,
    ranks_of,
)

Array = npt.NDArray[Any]

KEY_BYTES = 0.75
"""Bytes on disk per key of an afterstate."""
PAIR_SLIDES, ENTRY_BYTES = 3.0, 45
"""Slides of a state in a decision process, and bytes of memory for each state that may follow one."""
SHORT_LINE = 5
"""Cells of a line that is slid by a table."""
LONG_LINES = 2.5
"""So many times the work of an axis of short lines is that of one of longer lines."""
BY_LINE = 0.55
"""The work for a board or a spawn of a game whose slides are judged line by line (`sparse.lines`)."""
FEW_BYTES = 4 << 20
"""So much more tables take if there are few half boards."""
WIN = (Objective("win"),)
"""What measured tables hold."""


@dataclass(frozen=True)
class Layer:
    """The size of one layer: ranks of the index, states and afterstates."""

    ranks: float
    states: float
    afterstates: float


class Layers:
    """The expected sizes of the layers of a game, by ascending sum.

    Attributes
    ----------
    boards:
        By sum, how many boards lie within the limits; exact.
    sums, ranks, states, afterstates:
        Arrays with a number for each layer.
    """

    def __init__(self, game: Game) -> None:
        order, share = len(symmetries(game)), share_of(game)
        self.boards = boards_by_sum(game)
        self.sums = np.array(list(self.boards), dtype=np.int64)
        counts = np.array(list(self.boards.values()), dtype=np.float64)
        self.ranks = ranks_of(counts, order)
        self.states, self.afterstates = share.states * counts / order, share.afterstates * counts / order

    def by_sum(self, up_to: int | None = None) -> dict[int, Layer]:
        """Return the layers one by one."""
        columns = (self.sums, self.ranks, self.states, self.afterstates)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {total: Layer(*sizes) for total, *sizes in rows if up_to is None or total <= up_to}


@lru_cache(maxsize=32)
def layers_of(game: Game) -> Layers:
    """Return the expected sizes of the layers of a game."""
    return Layers(game)


@dataclass(frozen=True)
class Work:
    """CPU seconds of each layer, and how many threads share its work at most."""

    each: Array
    threads: Array

    def __add__(self, other: Work) -> Work:
        return Work(np.append(self.each, other.each), np.append(self.threads, other.threads))

    def seconds(self, cores: int) -> float:
        """Return the time with a thread on each of so many cores."""
        return float((self.each / np.minimum(self.threads, cores)).sum())


def line_share(game: Game) -> float:
    """Return `BY_LINE` for a game whose slides are judged line by line; 1 for others.

    About as `sparse.lines.judged_by_line` says of compiled rules, which an estimate does without.
    """
    free = game.limits is None and game.pattern is None and len(game.masks) < 2
    by_line = free and len(symmetries(game)) == 1 and max(game.shape) <= SHORT_LINE
    return BY_LINE if by_line else 1.0


def slides_of(game: Game) -> float:
    """Return the work for the slides of a board of a game; 1 for two axes of short lines."""
    axes = [1.0 if length <= SHORT_LINE else LONG_LINES for length in game.shape if length > 1]
    return sum(axes) / 2 * line_share(game)


def count_seconds(layers: Any, slides: float) -> Any:
    """CPU seconds to count a layer, or each of some layers, of a game whose slides take so much."""
    rate = rates("sparse")
    return rate.layer + layers.states * rate.state * slides + layers.ranks * rate.rank


def counting_threads(layers: Any) -> Any:
    """Return how many threads share the work of counting a layer, or each of some layers, at most."""
    few = np.maximum(layers.states // (2 * SMALL_PART), 1.0)
    return np.where(layers.ranks > SMALL_BITS, np.inf, few)


def solving_threads(afterstates: Array) -> Array:
    """Return how many threads share the work for the stored afterstates of each layer, at most."""
    return np.where(afterstates >= 2 * CHUNK_KEYS, np.inf, 1.0)


def solve_seconds(game: Game, objectives: int) -> float:
    """CPU seconds to solve an afterstate for so many objectives."""
    rate = rates("sparse")
    return rate.after + spawns_after(game) * (rate.spawn * slides_of(game) + rate.fold * (objectives - 1))


def spawns_after(game: Game) -> float:
    """Return how many spawns follow an afterstate, on average."""
    tops = [top for top in game.tops if top]
    empty = game.free_cells / max(len(tops), 1) * empty_cells(tops)
    # A slide leaves more cells empty than a board has on average.
    return (empty + 0.5) * len(game.spawn_exponents)


def count_work(game: Game, up_to: int | None = None) -> Work:
    """Return what counting the layers of sums to `up_to` takes."""
    layers = layers_of(game)
    wanted = layers.sums <= (math.inf if up_to is None else up_to)
    return Work(count_seconds(layers, slides_of(game))[wanted], counting_threads(layers)[wanted])


def solve_work(game: Game, objectives: Sequence[Objective], down_to: int | None = None) -> Work:
    """Return what solving the layers of sums from `down_to` takes."""
    layers = layers_of(game)
    afters = layers.afterstates[layers.sums >= (down_to or 0)]
    each = solve_seconds(game, len(objectives))
    return Work(rates("sparse").layer + afters * each, solving_threads(afters))


def counting(game: Game, allowed: Allowance, *, up_to: int | None = None, keep: str = "counts") -> Estimate:
    """Return the estimate for counting the reachable states."""
    layers = layers_of(game)
    wanted = layers.sums <= (math.inf if up_to is None else up_to)
    states, afters = float(layers.states[wanted].sum()), float(layers.afterstates[wanted].sum())
    bound = sum(boards for total, boards in layers.boards.items() if up_to is None or total <= up_to)
    # At least the keys of two layers are on disk.
    kept = {"counts": 0.04 * afters, "afterstates": afters, "states": states + afters}[keep]
    windows = least_windows(int(layers.ranks[wanted].max(initial=0)), allowed.threads)
    last = int(layers.sums[wanted].max(initial=4))  # no tile of a table is larger
    tables = TABLE_BYTES * half_boards(game, last.bit_length() - 1) + FEW_BYTES
    memory = OVERHEAD + (16 * KEPT_KEYS + tables + windows if windows else 0)
    return Estimate(
        "counting", game, -(-bound // len(symmetries(game))), states, "states",
        count_work(game, up_to).seconds(allowed.cores), allowed.threads, memory, KEY_BYTES * kept,
        share_of(game).spread,
    )  # fmt: skip


def listing_pairs(game: Game, *, symmetric: bool) -> Estimate:
    """Return the estimate for listing all states and slides as a decision process, in memory."""
    before = counting(game, Allowance(memory=0, threads=1))
    images = 1 if symmetric else len(symmetries(game))
    states = images * before.positions
    each = PAIR_SLIDES * spawns_after(game) * ENTRY_BYTES
    return replace(
        before, task="listing the slides of", bound=images * before.bound, positions=states,
        seconds=states * rates("sparse").listed, memory=OVERHEAD + int(states * each), disk=0.0,
    )  # fmt: skip


def solving(
    game: Game,
    objectives: Sequence[Objective],
    allowed: Allowance,
    *,
    down_to: int | None = None,
    table: bool,
    lean: bool | None = None,
) -> Estimate:
    """Return the estimate for counting and solving, with the memory that both are expected to need."""
    before, layers = counting(game, allowed, keep="afterstates"), layers_of(game)
    work = count_work(game) + solve_work(game, objectives, down_to)
    solved = layers.sums >= (down_to or 0)
    stored = share_of(game).stored
    each = stored - KEY_BYTES if stored and tuple(objectives) == WIN else table_bytes(objectives)
    values = each * float(layers.afterstates[solved].sum()) * (1 if table else 0.05)
    return replace(
        before,
        task="solving",
        seconds=work.seconds(allowed.cores),
        memory=max(before.memory, solving_memory(game, objectives, 3 if lean is False else 1, down_to)),
        disk=before.disk + values,
    )


def table_bytes(objectives: Sequence[Objective]) -> float:
    """Return the bytes on disk of a reachable board: its compressed values, with its key beside each."""
    return KEY_BYTES * len(objectives) + stored_bytes(objectives)


def solving_memory(
    game: Game, objectives: Sequence[Objective], above: int, down_to: int | None = None
) -> int:
    """Return the bytes that solving is expected to take with so many layers in memory.

    One is that above the one in work, which then has accumulators; three are both above and the one in work.
    """
    layers = layers_of(game)
    each = above * sum(one.value_bytes for one in objectives)
    each += lean_bytes(len(objectives)) if above == 1 else 0
    most = float(layers.afterstates[layers.sums >= (down_to or 0)].max(initial=0.0))
    return held_memory(game, above, each * most, down_to)


def held_memory(game: Game, above: int, values: float, down_to: int | None = None) -> int:
    """Return the bytes of the tables of the index, the directories of so many layers, and their values."""
    layers = layers_of(game)
    ranks = int(layers.ranks[layers.sums >= (down_to or 0)].max(initial=0))
    return OVERHEAD + TABLE_BYTES * half_boards(game) + above * directory_bytes(ranks) + int(values)


@lru_cache(maxsize=32)
def half_boards(game: Game, cap: int | None = None) -> int:
    """Return how many fillings half a board has, which the engine tabulates; of exponents to `cap`."""
    return Halves(game, cap).largest
