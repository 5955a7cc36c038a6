"""How many boards there could be, without playing: exact counts by sum, and bounds.

A cell whose limit is 2**t is empty or holds a tile of at most 2**t.  So its generating function is
1 + z**2 + z**4 + ... + z**(2**t).  A movable unmergeable tile is the term y instead, which adds
nothing to the sum.  The product over the cells counts the boards by sum: the coefficient of z**s y**k, k
being the number of unmergeable tiles, is the size of the dense layer s.  With masks, each set of cells that
may hold the x is counted alone.

*Possible* boards are those that pass three tests.  Every state of a played game passes them
(Lees-Miller, The Mathematics of 2048: Counting States with Combinatorics, 2017):

* it holds at least two tiles: one that was slid, and the spawned one;
* it holds a tile of a spawned size, the last one spawned;
* it follows another state: layer s can only hold states if layer s - 2 or s - 4 does (according
  to the tiles that are spawned).  On 2x2 to 32 no board of sum 46 or 48 passes.  So no board of
  sum 50 or 52 does, although three 16s and a 2 or a 4 would pass the first two tests.

The start states are always possible, and so are their images under the symmetries.  Boards that
hold the goal are not counted one by one: together they are one more possible state, the win.
Every reachable state is possible, but not every possible board is reachable.

Boards up to symmetry are counted by Burnside's lemma: the number of orbits is the mean, over
the symmetries, of the number of boards that a symmetry leaves unchanged.  Such a board is
constant on each cycle of cells, so a cycle of length n counts as one cell with weight n.

Everything is exact.  A board fits into 64 bits, so no coefficient exceeds what an unsigned
64-bit integer holds; sums of coefficients are Python integers.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tilebase.game.findings import Finding, Reported, layers_checksum
from tilebase.game.game import Cells, Game, check_is_game
from tilebase.game.names import title_of
from tilebase.game.symmetry import images, symmetries

Cycles: TypeAlias = tuple[tuple[int, int], ...]
"""The cycles of a symmetry without walls: the largest exponent and the length of each, sorted."""

Places: TypeAlias = tuple[tuple[Cycles, int], ...]
"""The cycles around each set of cells that may hold the x, and how many sets have them; one without masks."""

Ways: TypeAlias = npt.NDArray[np.uint64]
"""``ways[i]``: number of boards of sum 2 * i."""


COUNTED = {
    "boards": "boards",
    "canonical_boards": "boards, up to symmetry",
    "possible": "possible states",
    "canonical_possible": "possible states, up to symmetry",
}
"""What a `BoundResult` counts, and in words."""


@dataclass(frozen=True, repr=False)
class BoundResult(Reported):
    """Upper bounds on the number of states, without and with symmetry.

    Attributes
    ----------
    game:
        The game whose boards were counted.
    boards_by_sum:
        For each sum, the boards within the limits: what a dense layer holds.
    possible_by_sum:
        For each sum, the possible boards (see the module), without the win.  There are at
        least as many as reachable states.
    canonical_boards_by_sum, canonical_possible_by_sum:
        The same up to symmetry: numbers of orbits.

    Sums without a board are left out.
    """

    facts = ("game", "totals", "layers", "checksum")

    game: Game
    boards_by_sum: dict[int, int]
    possible_by_sum: dict[int, int]
    canonical_boards_by_sum: dict[int, int]
    canonical_possible_by_sum: dict[int, int]

    @property
    def wins(self) -> int:
        """1 if the game has a goal or a goal sum, since all won boards count as one state; else 0."""
        return int(self.game.goal is not None or self.game.goal_sum is not None)

    @property
    def boards(self) -> int:
        """All boards within the limits, with the empty board and without the win."""
        return sum(self.boards_by_sum.values())

    @property
    def possible(self) -> int:
        """All possible boards, and the win: Lees-Miller's combinatorial bound."""
        return sum(self.possible_by_sum.values()) + self.wins

    @property
    def canonical_boards(self) -> int:
        """All boards within the limits up to symmetry, without the win."""
        return sum(self.canonical_boards_by_sum.values())

    @property
    def canonical_possible(self) -> int:
        """All possible boards up to symmetry, and the win."""
        return sum(self.canonical_possible_by_sum.values()) + self.wins

    @property
    def totals(self) -> dict[str, int]:
        """The four numbers, by name."""
        return {name: getattr(self, name) for name in COUNTED}

    @property
    def layers(self) -> list[dict[str, int]]:
        """The four numbers of each sum, without the win."""
        return [
            {"sum": total} | {name: getattr(self, f"{name}_by_sum").get(total, 0) for name in COUNTED}
            for total in sorted(self.boards_by_sum)
        ]

    @property
    def checksum(self) -> str:
        """The checksum of the layers."""
        return layers_checksum(self.layers)

    def asked(self) -> tuple[Finding, ...]:
        """Return the four numbers."""
        board = title_of(self.game)
        return (
            Finding(board, "boards within the limits", f"{self.boards:,}", "exact"),
            Finding(board, "upper bound of the number of states", f"{self.possible:,}", "upper"),
            Finding(board, "boards up to symmetry", f"{self.canonical_boards:,}", "exact"),
            Finding(
                board, "upper bound of the number of states up to symmetry", f"{self.canonical_possible:,}",
                "upper",
            ),
        )  # fmt: skip


def boards_by_sum(game: Game) -> dict[int, int]:
    """For each sum, ascending, how many boards lie within the limits of a game.

    Walls are empty.  Unmergeable tiles may be
    on any cells, as many as the game has.  Sums without a board and sums that win are left out.

    >>> boards_by_sum(Game("1x2", 8))
    {0: 1, 2: 2, 4: 3, 6: 2, 8: 1}
    """
    return _played(game, fillings_by_sum(game))


def _played(game: Game, counts: dict[int, int]) -> dict[int, int]:
    """Counts by sum without the sums that win, or that lie beyond the horizon."""
    most = game.largest_sum
    return {total: count for total, count in counts.items() if total <= most and not game.reached(total)}


def fillings_by_sum(game: Game) -> dict[int, int]:
    """`boards_by_sum` with the sums that win."""
    return _by_sum(_ways(game, _single_cells(game), range(1, max(game.tops) + 1)))


def bound(game: Game) -> BoundResult:
    """Return upper bounds of the number of states, by sum, without and with symmetry.

    >>> bound(Game("2x2", 32)).possible
    529
    """
    check_is_game(game)
    test = _test_of(game)
    group = Counter(_places(game, permutation) for permutation in symmetries(game))
    exponents = range(1, max(game.tops) + 1)
    raw = _played(game, _by_sum(_passing_ways(game, test, _single_cells(game))))
    passing = _orbits((_passing_ways(game, test, places), times) for places, times in group.items())
    every = _orbits((_ways(game, places, exponents), times) for places, times in group.items())
    sums = _possible_sums(game, raw, test.starts)
    canonical_starts = {min(images(game, board)) for board in test.starts}
    return BoundResult(
        game,
        boards_by_sum(game),
        _possible(game, test, raw, sums, test.starts),
        _played(game, every),
        _possible(game, test, _played(game, passing), sums, canonical_starts),
    )


# -- generating functions ---------------------------------------------------------------------


def _ways(game: Game, places: Places, exponents: Sequence[int]) -> Ways:
    """Counts of the boards that are constant on each cycle, with tiles of these ascending exponents."""
    found = [np.uint64(times) * _ways_around(game, cycles, exponents) for cycles, times in places]
    result = np.zeros(max(map(len, found), default=1), dtype=np.uint64)
    for ways in found:
        result[: len(ways)] += ways
    return result


def _ways_around(game: Game, cycles: Cycles, exponents: Sequence[int]) -> Ways:
    movable = 0 if game.masks else len(game.unmergeable)
    # ways[k, i]: boards of sum 2 * i with k movable unmergeable tiles, on the cycles so far.
    ways = np.zeros((movable + 1, 1), dtype=np.uint64)
    ways[0, 0] = 1
    for top, length in cycles:
        ways = _with_cycle(ways, length, [e for e in exponents if e <= top])
    return ways[movable]


def convolved(ways: npt.NDArray[Any], other: npt.NDArray[Any]) -> Ways:
    """Return the sums over ``i + j = n`` of ``ways[i] * other[j]``, exact where they have 64 bits.

    It takes as many products as there are pairs of entries that are not 0.  Large tiles have few sums: two
    cells with tiles to 16384 have 107 of 16,385.

    >>> convolved(np.array([1, 0, 2]), np.array([3, 1])).tolist()
    [3, 1, 6, 2]
    """
    if np.count_nonzero(ways) > np.count_nonzero(other):
        ways, other = other, ways
    found = np.zeros(max(len(ways) + len(other) - 1, 1), dtype=np.uint64)
    places = np.flatnonzero(other)
    counts = other[places].astype(np.uint64)
    for place in np.flatnonzero(ways):
        found[place + places] += np.uint64(ways[place]) * counts
    return found


def _with_cycle(ways: Ways, length: int, exponents: Sequence[int]) -> Ways:
    shifts = [0, *(length << exponent - 1 for exponent in exponents)]
    sums = ways.shape[1]
    result = np.zeros((len(ways), sums + shifts[-1]), dtype=np.uint64)
    for shift in shifts:
        result[:, shift : shift + sums] += ways
    if length < len(ways):
        result[length:, :sums] += ways[:-length]
    return result


def _by_sum(ways: npt.NDArray[Any]) -> dict[int, int]:
    return {2 * i: count for i, count in enumerate(ways.tolist()) if count}


def _places(game: Game, permutation: Iterable[int]) -> Places:
    source = tuple(permutation)
    open_cells = frozenset(range(game.cells)).difference(game.walls)
    if not game.masks:
        return ((_cycles(game, source, set(open_cells)), 1),)
    kept = (x for x in game.x_placements(range(game.cells)) if {source[cell] for cell in x} == x)
    return tuple(sorted(Counter(_cycles(game, source, set(open_cells - x)) for x in kept).items()))


def _cycles(game: Game, source: tuple[int, ...], left: set[int]) -> Cycles:
    result = []
    while left:
        cell = first = min(left)
        before = len(left)
        while cell in left:
            left.remove(cell)
            cell = source[cell]
        result.append((game.tops[first], before - len(left)))
    return tuple(sorted(result))


def _single_cells(game: Game) -> Places:
    return _places(game, range(game.cells))


def _orbits(fixed: Iterable[tuple[Ways, int]]) -> dict[int, int]:
    """Return numbers of orbits by Burnside's lemma.

    Each item of `fixed`: the counts of the boards that a symmetry leaves unchanged, and how many
    symmetries have these counts.
    """
    terms = list(fixed)
    # The upper and the lower 32 bits are summed apart, so that at most 48 symmetries cannot overflow them.
    words = np.zeros((2, max(len(ways) for ways, _ in terms)), dtype=np.uint64)
    for ways, times in terms:
        words[0, : len(ways)] += (ways >> np.uint64(32)) * np.uint64(times)
        words[1, : len(ways)] += (ways & np.uint64(0xFFFFFFFF)) * np.uint64(times)
    high, low = words.astype(object)
    return _by_sum((high * 2**32 + low) // sum(times for _, times in terms))


# -- possible boards ---------------------------------------------------------------------------


@dataclass(frozen=True)
class _Test:
    """The test that every state passes, except start states."""

    starts: set[Cells]  # images included
    tiles: int  # the fewest it holds, unmergeable ones aside
    least: int  # the least exponent it may hold


def _test_of(game: Game) -> _Test:
    starts = {image for board, _ in game.starts() for image in images(game, board)}
    # From a start without ordinary tiles, the first spawn leads to a state with a single tile.
    tiles = 2 if all(game.sum(board) for board in starts) else 1
    least = min({game.spawn_exponents[0]} | {e for board in starts for e in board if e})
    return _Test(starts, tiles, least)


def _passing_ways(game: Game, test: _Test, places: Places) -> Ways:
    """Return boards by sum that pass the test.

    `_possible_sums` removes the sums that do not follow another.
    """
    exponents = range(test.least, max(game.tops) + 1)
    result = _ways(game, places, exponents)
    unspawned = _ways(game, places, [e for e in exponents if e not in game.spawn_exponents])
    result[: len(unspawned)] -= unspawned
    for exponent in game.spawn_exponents if test.tiles > 1 else ():
        if 1 << exponent - 1 < len(result):
            result[1 << exponent - 1] -= _lone_ways(game, places, exponent)
    return result


def _lone_ways(game: Game, places: Places, exponent: int) -> np.uint64:
    """Return how many boards have one tile of this exponent, and no others but unmergeable tiles."""
    total = np.uint64(0)
    for cycles, times in places:
        for i, (top, length) in enumerate(cycles):
            if length == 1 and exponent <= top:
                total += _ways(game, ((cycles[:i] + cycles[i + 1 :], times),), ())[0]
    return total


def _possible_sums(game: Game, raw: dict[int, int], starts: set[Cells]) -> dict[int, bool]:
    """List the sums of layers that can hold states; true if a state can come before those of the layer."""
    started = {game.sum(board) for board in starts}
    result: dict[int, bool] = {}
    for total in sorted(raw.keys() | started):
        follows = any(total - 2**e in result for e in game.spawn_exponents)
        if total in started or (follows and total in raw):
            result[total] = follows
    return result


def _possible(
    game: Game, test: _Test, counts: dict[int, int], sums: dict[int, bool], starts: set[Cells]
) -> dict[int, int]:
    """Return the counts of the sums that follow others, plus the start states that these do not include."""
    result = {total: counts.get(total, 0) if follows else 0 for total, follows in sums.items()}
    for board in starts:
        total = game.sum(board)
        tiles = [e for e in board if e and not game.is_x(e)]
        passes = len(tiles) >= test.tiles and any(e in game.spawn_exponents for e in tiles)
        result[total] += not (sums[total] and passes)
    return result


def layers_together(sizes: dict[int, int], *, lean: bool = False) -> dict[int, int]:
    """By sum, the boards in memory while a layer is made: two layers above, its afterstates and states.

    If it is `lean`, the states take the memory of the upper one of both, which only the afterstates need.
    """
    joined = max if lean else operator.add
    return {s: joined(sizes.get(s + 4, 0), size) + sizes.get(s + 2, 0) + size for s, size in sizes.items()}
