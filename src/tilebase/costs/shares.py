"""Which share of the boards within the limits play reaches, up to symmetry: counted, or else estimated.

**Plain games** of `counted.tsv` were counted once.  The logarithms of other games' shares are linear in

    small    1 / (tiles 2 and 4 of a board, on average)
    lengths  the mean logarithm of the lengths of a line, over the axes of the shape
    moves    empty cells of a board on average / mean length of a line
    extent   the sum of these lengths
    planes   the sum of: empty cells / length

and the logarithm of afterstates per state in empty cells, longest line, mean of 1 / length and number of
cells.  "On average" is over all boards within the limits.  `STATES_FIT` and `RATIO_FIT` are the coefficients
of least squares over `counted.tsv` (benchmarks/shares.py computes them again).  Where only one tile is
spawned, a game has `ONE_TILE` times as many states.  Fitted states of a counted game are wrong by a factor of
1.2, at most 1.6; the shares of games with limits or walls are similar (tests/test_costs.py).

**Formations** of `formations.tsv` were solved once.  Others have the share of the largest smaller goal of the
same formation, times a factor for each doubling of the goal.  The factor is the geometric mean of those
measured, apart for formations that win anywhere.  One that was never measured has the geometric mean of the
measured shares in place of its own.  Estimated from other tables (tests/test_formations.py), a
measured one is wrong by a factor of 1.1 to the next goal (at most 1.3, but 2.1 for LL from 128 to 512), 1.2
three goals further (at most 1.7, but 3.0 for LL to 512), and 1.6 without any table of its formation (at most
2.7).  A formation that goes on from a large position, such as 3x405, has fewer positions.

Bytes on disk are those of the measured table.  To another goal they grow as the median of all tables does,
from the largest smaller goal of the formation, but not beyond that median: nearly all values of a small goal
are 1, which take little, and the more so the more cells are free.  free8 to 64 took 0.98 GB where 0.93 are
said, 4431 to 128 took 4.3 GB where 4.7 are said.

**Other games with tiles x** have the share of a formation that was never measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from itertools import pairwise
from statistics import geometric_mean, median
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.counting.combinatorics import boards_by_sum
from tilebase.game.formations import Formation, formation_of, formations
from tilebase.game.game import Game
from tilebase.game.symmetry import symmetries
from tilebase.runtime.rows import read_rows
from tilebase.sparse.sizes import ranks_of

Array = npt.NDArray[Any]

ONE_TILE = 0.45
"""States where only one tile is spawned, as a share of those with two."""
ONE_TILE_RATIO = 1.6
"""The same for afterstates per state."""
MASKED_RATIO = 0.5
"""Afterstates per state of games with masks."""
STATES_FIT = (9.16669, -7.26598, -1.25039, -7.19305, -0.689613, 1.65261)
"""Coefficients of the logarithm of the share of states: of 1, small, lengths, moves, extent and planes."""
RATIO_FIT = (-1.42675, -0.491857, 0.0438548, 2.34214, 0.0581046)
"""Those of afterstates per state: of 1, empty cells, longest line, mean of 1 / length and cells."""
LEAST = 1e-4
"""Estimated shares are not smaller, whatever the fit says."""
COUNTED, FITTED, MASKED = 1.25, 2.0, 3.0
"""The factor by which an estimate may be wrong: for a counted game (its time), for games like those, and for
other games with tiles x."""


@dataclass(frozen=True)
class Share:
    """Which share of its boards within the limits a game reaches, up to symmetry."""

    states: float
    afterstates: float
    spread: float  # what is estimated from these may be smaller or larger by this factor
    stored: float | None = None
    """Bytes on disk of an afterstate in a table, its key and its probability to win in float64; None where no
    measured table says it."""


@lru_cache(maxsize=256)
def share_of(game: Game) -> Share:
    """Return the share of the boards of a game that play reaches."""
    named = formation_of(game)
    if named is not None or game.unmergeable:
        return _masked(game, named)
    one_tile = len(game.spawn_exponents) == 1
    exact = counted().get((game.shape, game.goal))
    rules = (one for one in fields(game) if one.name not in ("shape", "goal", "start"))
    if exact is not None and not one_tile and all(getattr(game, one.name) == one.default for one in rules):
        return exact
    found = fitted(game.shape, [top for top in game.tops if top])
    if not one_tile:
        return found
    states = ONE_TILE * found.states
    return Share(states, states * min(ONE_TILE_RATIO * found.afterstates / found.states, 0.8), found.spread)


def _masked(game: Game, named: Formation | None) -> Share:
    """Return the share of a game of a formation, or of another one with tiles x."""
    tiles = [e for pattern in game.patterns for e in pattern if e] or [max(game.tops) + 1]
    goal = game.goal or 1 << min(tiles)
    afters = table_share(table_shares(), named.name if named else "", game.goal is not None, goal)
    states = min(afters / MASKED_RATIO, 1.0)
    if named is None:
        return Share(states, afters, MASKED)
    exact = measured().get((named.name, goal))
    if exact is not None and named.game(goal) != game:
        exact = None
    stored = exact.disk / exact.positions if exact and exact.disk else _stored(named.name, goal)
    return Share(states, afters, COUNTED if exact else FITTED, stored)


def _stored(name: str, goal: int) -> float:
    """Estimate `Share.stored` of a formation: it grows as the median does, and not beyond that."""
    each = {key: one.disk / one.positions for key, one in measured().items() if one.disk is not None}

    def usual(goal: int) -> float:
        large = [key for key in each if measured()[key].positions > 1e6]
        nearest = max((to for _, to in large if to <= goal), default=min(to for _, to in large))
        return median(each[key] for key in large if key[1] == nearest)

    smaller = max((to for own, to in each if own == name and to < goal), default=None)
    most = usual(goal)
    return most if smaller is None else min(most, each[name, smaller] * most / usual(smaller))


# -- plain games -------------------------------------------------------------------------------------


@cache
def counted() -> dict[tuple[tuple[int, ...], int | None], Share]:
    """Return the shares of the plain games that were counted, by shape and goal."""
    found: dict[tuple[tuple[int, ...], int | None], Share] = {}
    for row in read_rows("costs", "counted.tsv"):
        boards = int(row["boards"]) / int(row["symmetries"])
        shape = tuple(map(int, row["shape"].split("x")))
        found[shape, None if row["goal"] == "-" else int(row["goal"])] = Share(
            int(row["states"]) / boards, int(row["afterstates"]) / boards, COUNTED
        )
    return found


def fitted(shape: Sequence[int], tops: Sequence[int]) -> Share:
    """Return the share of a game of a shape whose cells may hold exponents up to `tops`, by the fit."""
    if max(shape) == 1 or not tops:
        return Share(1.0, 0.5, MASKED)
    for_states, for_ratio = features(shape, tops)
    states = min(max(math.exp(_product(STATES_FIT, for_states)), LEAST), 1.0)
    ratio = min(math.exp(_product(RATIO_FIT, for_ratio)), 0.8)
    return Share(states, states * ratio, FITTED)


def _product(coefficients: Sequence[float], numbers: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(coefficients, numbers, strict=True))


def features(shape: Sequence[int], tops: Sequence[int]) -> tuple[list[float], list[float]]:
    """Return what the logarithms of the share of states, and of afterstates per state, depend on linearly."""
    lengths = [length for length in shape if length > 1]
    empty = empty_cells(tops)
    small = sum(min(top, 2) / (top + 1) for top in tops)
    mean = sum(lengths) / len(lengths)
    logarithms = sum(map(math.log, lengths)) / len(lengths)
    inverse = sum(1 / length for length in lengths)
    return (
        [1.0, 1 / small, logarithms, empty / mean, sum(lengths), empty * inverse],
        [1.0, empty, max(lengths), inverse / len(lengths), len(tops)],
    )


def empty_cells(tops: Iterable[int]) -> float:
    """Return how many cells are empty on average, of boards whose cells hold exponents up to `tops`."""
    return sum(1 / (top + 1) for top in tops)


# -- formations --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """One line of `formations.tsv`; disk and chance are None if the positions were only counted."""

    boards: int
    positions: int
    disk: int | None
    win: float | None


@cache
def measured() -> dict[tuple[str, int], Measured]:
    """Return all measured tables by formation and goal."""
    found = {}
    for row in read_rows("costs", "formations.tsv"):
        keys, win = row["keys_bytes"], row["win"]
        found[row["formation"], int(row["goal"])] = Measured(
            int(row["boards"]),
            int(row["positions"]),
            None if keys == "-" else int(keys) + int(row["values_bytes"]),
            None if win == "-" else float(win),
        )
    return found


@cache
def table_shares() -> dict[str, dict[int, float]]:
    """Return the share of each measured table by formation and goal: positions × symmetries / boards."""
    return shares_of_tables(measured())


def shares_of_tables(lines: Mapping[tuple[str, int], Measured]) -> dict[str, dict[int, float]]:
    """Return the same of some measured tables."""
    named, found = {one.name: one for one in formations()}, dict[str, dict[int, float]]()
    for (name, goal), line in lines.items():
        group = len(symmetries(named[name].game(goal)))
        found.setdefault(name, {})[goal] = line.positions * group / line.boards
    return found


def table_share(known: Mapping[str, Mapping[int, float]], name: str, anywhere: bool, goal: int) -> float:
    """Return the share of a table of a formation, from shares that are known.

    `anywhere` says whether the goal wins on any cell.  A formation without a name was never measured.
    """
    own = known.get(name, {})
    if goal in own:
        return own[goal]
    classes = {one.name: one.wins_anywhere for one in formations()}
    alike = [shares for other, shares in known.items() if classes[other] == anywhere]
    # growth[g]: the factors for the last doubling to the goal g, of each formation that has a smaller one
    growth = dict[int, list[float]]()
    for shares in alike:
        for smaller, larger in pairwise(sorted(shares)):
            doublings = (larger // smaller).bit_length() - 1
            growth.setdefault(larger, []).append((shares[larger] / shares[smaller]) ** (1 / doublings))
    begin = max((one for one in own if one < goal), default=64)
    share = own[begin] if begin in own else geometric_mean([s[begin] for s in alike if begin in s] or [0.1])
    while begin < goal:
        begin *= 2
        nearest = max((one for one in growth if one <= begin), default=None)
        share *= geometric_mean(growth[nearest]) if nearest else 1.0
    return share


# -- layers ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layers:
    """The expected sizes of the layers of a game, by ascending sum: arrays with a number for each layer."""

    boards: dict[int, int]  # by sum, how many boards lie within the limits; exact
    sums: Array
    ranks: Array
    states: Array
    afterstates: Array


@lru_cache(maxsize=32)
def layers_of(game: Game) -> Layers:
    """Return the expected sizes of the layers of a game."""
    boards, share, order = boards_by_sum(game), share_of(game), len(symmetries(game))
    boards = {total: count for total, count in boards.items() if total >= game.first_sum}
    sums, counts = np.array(list(boards), dtype=np.int64), np.array(list(boards.values()), dtype=np.float64)
    images = counts / order
    return Layers(boards, sums, ranks_of(counts, order), share.states * images, share.afterstates * images)
