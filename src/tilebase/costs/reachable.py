"""What counting and solving the reachable boards takes.

The number of boards of each sum within the limits is computed exactly, in a moment
(`counting.combinatorics`).  How many of them play reaches is counted or estimated (`costs.shares`); each
layer is taken to have the same share.  Then the CPU seconds of a layer are, with the rates of `costs.rates`,

    counting   layer + (states × state + ranks × rank) × slides
    solving    layer + afterstates × (after + spawns × (spawn × slides + fold × further objectives))

`slides` is 1 for two axes of short lines and for symmetries; longer lines are slid cell by cell.  One thread
does the layers of at most `SMALL_BITS` ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from tilebase.costs.estimate import Estimate
from tilebase.costs.rates import rates
from tilebase.costs.shares import empty_cells, share_of
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.errors import ResourceError
from tilebase.files.format import CHUNK_KEYS
from tilebase.game.game import Game
from tilebase.game.symmetry import symmetries
from tilebase.objectives.numbers import byte_text
from tilebase.objectives.objective import Objective
from tilebase.runtime.resources import OVERHEAD
from tilebase.sparse.halves import Halves
from tilebase.sparse.sizes import SMALL_BITS, TABLE_BYTES, directory_bytes, lean_bytes, ranks_of

KEY_BYTES = 0.75
"""Bytes on disk per key of an afterstate."""
VALUE_SHARE = 0.55
"""Size of a compressed value on disk, as a share of the size in memory."""
SHORT_LINE = 5
"""Cells of a line that is slid by a table."""
LONG_LINES = 2.5
"""So many times the work of an axis of short lines is that of one of longer lines."""
WITHOUT_SYMMETRY = 0.75
"""The work for a board of a game without symmetries: it is canonical as it is."""
SLIDE_BYTES = 10
"""Bytes of the recorded slides of a state, on average."""
RECORDED = 1 / 32
"""The share of the memory that slides may be expected to take if they are recorded."""


@dataclass(frozen=True)
class Layer:
    """The size of one layer: ranks of the index, states and afterstates."""

    ranks: float
    states: float
    afterstates: float


@lru_cache(maxsize=16)
def layers_of(game: Game) -> dict[int, Layer]:
    """The expected sizes of the layers of a game, by sum."""
    order, share = len(symmetries(game)), share_of(game)
    return {
        total: Layer(
            ranks_of(boards, order), share.states * boards / order, share.afterstates * boards / order
        )
        for total, boards in boards_by_sum(game).items()
    }


def slides_of(game: Game) -> float:
    """The work for the slides of a board of a game; 1 for two axes of short lines and symmetries."""
    axes = [1.0 if length <= SHORT_LINE else LONG_LINES for length in game.shape if length > 1]
    return sum(axes) / 2 * (WITHOUT_SYMMETRY if len(symmetries(game)) == 1 else 1.0)


def count_seconds(layer: Layer, slides: float) -> float:
    """CPU seconds to count a layer of a game whose slides take so much."""
    rate = rates()
    return rate.layer + layer.states * rate.state * slides + layer.ranks * rate.rank


def solve_seconds(game: Game, objectives: int, *, recorded: bool = False) -> float:
    """CPU seconds to solve an afterstate for so many objectives, with or without recorded slides."""
    rate = rates()
    tops = [top for top in game.tops if top]
    empty = game.free_cells / max(len(tops), 1) * empty_cells(tops)
    spawn = rate.known_spawn if recorded else rate.spawn * slides_of(game)
    # A slide leaves more cells empty than a board has on average.
    spawns = (empty + 0.5) * len(game.spawn_exponents)
    return rate.after + spawns * (spawn + rate.fold * (objectives - 1))


def counting(game: Game, threads: int, *, up_to: int | None = None, keep: str = "counts") -> Estimate:
    """The estimate for counting the reachable states."""
    layers = {s: layer for s, layer in layers_of(game).items() if up_to is None or s <= up_to}
    states = sum(layer.states for layer in layers.values())
    afters = sum(layer.afterstates for layer in layers.values())
    # At least the keys of two layers are on disk.
    kept = {"counts": 0.04 * afters, "afterstates": afters, "states": states + afters}[keep]
    slides, seconds = slides_of(game), 0.0
    for layer in layers.values():
        seconds += count_seconds(layer, slides) / (threads if layer.ranks > SMALL_BITS else 1)
    return Estimate(
        "counting", game, _canonical(game, up_to), states, "states", seconds, threads, OVERHEAD,
        KEY_BYTES * kept, share_of(game).spread,
    )  # fmt: skip


def solving(
    game: Game,
    objectives: Sequence[Objective],
    threads: int,
    *,
    down_to: int | None = None,
    table: bool,
    memory: int = 0,
) -> Estimate:
    """The estimate for counting and solving, with so many bytes of memory.

    The largest layers need 4/3 bits of memory per rank.
    """
    before = counting(game, threads, keep="afterstates")
    recorded = records_slides(game, objectives, memory)
    each = solve_seconds(game, len(objectives), recorded=recorded)
    seconds, afters, largest = before.seconds, 0.0, 0.0
    for total, layer in layers_of(game).items():
        if total >= (down_to or 0):
            afters, largest = afters + layer.afterstates, max(largest, layer.ranks)
            used = min(threads, layer.afterstates // CHUNK_KEYS) or 1
            seconds += rates().layer + layer.afterstates * each / used
    disk = before.disk + stored_bytes(objectives) * afters * (1 if table else 0.05)
    least = OVERHEAD + directory_bytes(int(largest))
    return Estimate(
        "solving", game, before.bound, before.positions, "states", seconds, threads, least, disk,
        before.spread,
    )  # fmt: skip


def records_slides(game: Game, objectives: Sequence[Objective], memory: int) -> bool:
    """Whether slides of one objective, that add nothing to it, are few enough to be recorded.

    Memory that is used for the first time costs time, too.
    """
    layers = layers_of(game).values()
    if len(objectives) > 1 or objectives[0].meaning.merge or max(one.ranks for one in layers) > SMALL_BITS:
        return False
    return SLIDE_BYTES * sum(one.states for one in layers) <= RECORDED * memory


def stored_bytes(objectives: Sequence[Objective]) -> float:
    """Bytes on disk of the compressed values of a board."""
    return VALUE_SHARE * sum(one.value_bytes for one in objectives)


def table_bytes(game: Game) -> int:
    """Bytes of the tables of the index, about."""
    return TABLE_BYTES * Halves(game).largest


def least_memory(game: Game, objectives: Sequence[Objective]) -> int:
    """The bytes with which solving begins, with one layer above in memory at a time."""
    largest = max(layers_of(game).values(), key=lambda layer: layer.ranks)
    each = sum(one.value_bytes for one in objectives) + lean_bytes(len(objectives))
    held = directory_bytes(int(largest.ranks)) + int(each * largest.afterstates)
    return OVERHEAD + table_bytes(game) + held


def check_memory(game: Game, objectives: Sequence[Objective], memory: int, lean: bool | None) -> None:
    """Raise `ResourceError`, before any layer is counted, if solving probably does not fit into memory.

    The number of ranks of a layer is known exactly, the number of its afterstates is estimated.
    """
    layers, spread = layers_of(game), share_of(game).spread
    largest = max(layers, key=lambda total: layers[total].ranks)
    above = 1 if lean is not False else 3
    each = above * sum(one.value_bytes for one in objectives)
    if lean is not False:
        each += lean_bytes(len(objectives))
    more = each * layers[largest].afterstates
    if OVERHEAD + above * boards_by_sum(game)[largest] // 6 + more * spread < memory:
        return  # before the sizes of layers are computed, which takes a while
    from tilebase.sparse.maps import Layouts

    layouts = Layouts(game)
    layouts.index_at(max(layers))
    fixed = OVERHEAD + layouts.nbytes + above * directory_bytes(layouts.at(largest).layer.size)
    if fixed + more > memory:
        raise ResourceError(
            f"solving {game} is expected to need {byte_text(fixed + more)} of memory "
            f"({byte_text(fixed + more * spread)} is enough), and {byte_text(memory)} may be used: "
            "give more memory, choose a smaller type of value, give limits on cells, or begin it all the "
            "same with --anyway (in Python anyway=True)"
        )


def _canonical(game: Game, up_to: int | None) -> int:
    """How many boards up to symmetry lie within the limits, about, with sums up to `up_to`."""
    boards = sum(n for s, n in boards_by_sum(game).items() if up_to is None or s <= up_to)
    return -(-boards // len(symmetries(game)))
