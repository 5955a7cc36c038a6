"""What counting and solving the reachable boards takes on one machine.

The number of boards within the limits is computed exactly, in a moment (`counting.combinatorics`).  The
share of them, up to symmetry, that play can reach is estimated.  It was counted for 28 games (states times
symmetries, divided by boards):

    3x3 to 128 0.43, 3x3 to 1024 0.23, 2x5 to 128 0.37, 3x4 to 16 0.21, 3x4 to 64 0.29   up to 13 cells: 0.3
    3x5 to 16 0.08, 4x4 to 16 0.04, 4x4 to 64 0.12                                       more: 0.1

With limits the shares are similar (3x4 to 128 within 64,64,32,16/32,32,16,8/16,8,8,8: 0.31).  An estimate
uses the share of the right column; its bounds are 1/3 of that and 3 times as much.  In games with masks
and a horizon, it was counted for some formations:

    L3 to 64 0.29, L3 to 256 0.31, L3f to 32 0.27                                     goal anywhere: 0.28
    442 to 64 0.15, 442 to 128 0.13, 442 to 512 0.07, 4421 to 64 0.22, t to 64 0.11   goal on cells: 0.13
    44 to 64 0.13, 442t to 32 0.07

The counted shares lie within these bounds, except for games of one row, of 4 cells or to 8.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilebase.costs.estimate import Estimate
from tilebase.costs.rates import rates
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.errors import ResourceError
from tilebase.game.game import Game
from tilebase.game.symmetry import symmetries
from tilebase.objectives.numbers import byte_text
from tilebase.objectives.objective import Objective
from tilebase.runtime.resources import OVERHEAD

SHARES = ((13, 0.3), (32, 0.1))
"""Pairs: for up to so many cells, the share of the boards up to symmetry that play reaches."""
MASKED_SHARES = (0.28, 0.13)
"""The same for games with masks: with a goal on any cell, and without."""
SPREAD = 3.0
"""The share may be smaller or larger by this factor."""
AFTERSTATES = 0.45
"""Afterstates per state.  Measured: 0.2 to 0.65, more for larger goals."""
KEY_BYTES = 0.65
"""Bytes on disk per key of an afterstate."""
VALUE_SHARE = 0.55
"""Size of a compressed value on disk, as a share of the size in memory."""


def counting(game: Game, threads: int, *, up_to: int | None = None, keep: str = "counts") -> Estimate:
    """The estimate for counting the reachable states."""
    bound, share = _canonical(game, up_to), _share(game)
    states = share * bound
    kept = {"counts": 0.0, "afterstates": AFTERSTATES, "states": 1 + AFTERSTATES}[keep]
    # At least the keys of two layers are on disk.
    disk = KEY_BYTES * states * max(kept, 0.04 * AFTERSTATES)
    work = states * rates().count
    seconds = work / _used(work, threads)
    return Estimate("counting", game, bound, states, "states", seconds, threads, OVERHEAD, disk, SPREAD)


def solving(
    game: Game, objectives: Sequence[Objective], threads: int, *, down_to: int | None = None, table: bool
) -> Estimate:
    """The estimate for counting and solving; the largest layers need 4/3 bits of memory per rank."""
    before = counting(game, threads, keep="afterstates")
    done = _canonical(game, None, down_to) / max(before.bound, 1)
    afters = AFTERSTATES * before.positions * done
    here = rates()
    work = afters * ((here.masked_solve if game.masks else here.solve) + here.fold * (len(objectives) - 1))
    values = stored_bytes(objectives) * afters * (1 if table else 0.05)
    largest = max(boards_by_sum(game).values()) // len(symmetries(game))
    return Estimate(
        "solving", game, before.bound, before.positions, "states",
        before.seconds + work / _used(work, threads), threads, OVERHEAD + largest // 6,
        before.disk + values, SPREAD,
    )  # fmt: skip


def afterstates(game: Game, total: int) -> float:
    """The expected number of afterstates in the layer of one sum."""
    return AFTERSTATES * _share(game) * boards_by_sum(game)[total] / len(symmetries(game))


def stored_bytes(objectives: Sequence[Objective]) -> float:
    """Bytes on disk of the compressed values of a board."""
    return VALUE_SHARE * sum(one.value_bytes for one in objectives)


def check_memory(game: Game, objectives: Sequence[Objective], memory: int, lean: bool | None) -> None:
    """Raise `ResourceError`, before any layer is counted, if solving probably does not fit into memory.

    The number of ranks of a layer is known exactly, the number of its afterstates is estimated.
    """
    sizes = boards_by_sum(game)
    largest = max(sizes, key=lambda total: sizes[total])
    above = 1 if lean is not False else 3
    each = above * sum(one.value_bytes for one in objectives)
    if lean is not False:  # accumulators, and the number of spawns
        each += 8 * len(objectives) + 1
    more = each * afterstates(game, largest)
    if OVERHEAD + above * sizes[largest] // 6 + more * SPREAD < memory:
        return  # before the sizes of layers are computed, which takes a while
    from tilebase.sparse.directory import directory_bytes
    from tilebase.sparse.maps import Layouts

    layouts = Layouts(game)
    layouts.index_at(max(sizes))
    fixed = OVERHEAD + layouts.nbytes + above * directory_bytes(layouts.at(largest).layer.size)
    if fixed + more > memory:
        raise ResourceError(
            f"solving {game} is expected to need {byte_text(fixed + more)} of memory "
            f"({byte_text(fixed + more * SPREAD)} is enough), and {byte_text(memory)} may be used: "
            "give more memory, choose a smaller type of value, give limits on cells, or begin it all the "
            "same with --anyway (in Python anyway=True)"
        )


def _canonical(game: Game, up_to: int | None, down_to: int | None = None) -> int:
    """How many boards up to symmetry lie within the limits, about, with sums from `down_to` to `up_to`."""
    sizes = boards_by_sum(game).items()
    boards = sum(n for s, n in sizes if s >= (down_to or 0) and (up_to is None or s <= up_to))
    return -(-boards // len(symmetries(game)))


def _share(game: Game) -> float:
    if game.masks:
        return MASKED_SHARES[game.goal is None]
    return next(share for cells, share in SHARES if game.free_cells <= cells)


def _used(seconds: float, threads: int) -> int:
    """Threads that speed the run up: the layers of short runs are too small to be shared."""
    return threads if seconds > 10 else 1
