"""How many boards there could be: published numbers, and every board of small games one by one."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest

from strategies import GAMES, SMALL_GAMES
from tilebase.counting.combinatorics import boards_by_sum, bound, convolved
from tilebase.counting.tiles import groups_of, least_expected_slides
from tilebase.errors import BoardError, ResourceError, UsageError
from tilebase.game.game import Cells, Game
from tilebase.game.symmetry import canonical, images
from tilebase.small.oracle import reachable


def is_board(game: Game, cells: Cells) -> bool:
    try:
        return bool(game.check(cells))
    except BoardError:
        return False


def all_boards(game: Game) -> list[Cells]:
    codes = [*range(max(game.tops) + 1), *([game.x] if game.unmergeable else [])]
    return [cells for cells in itertools.product(codes, repeat=game.cells) if is_board(game, cells)]


def possible_boards(game: Game) -> list[Cells]:
    """The module's rule, board by board."""
    starts = {image for board, _ in game.starts() for image in images(game, board)}
    tiles = {b: [e for e in b if e and not (game.unmergeable and e == game.x)] for b in all_boards(game)}
    least = min({game.spawn_exponents[0]} | {e for board in starts for e in tiles[board]})
    fewest = 2 if all(tiles[board] for board in starts) else 1
    sums: set[int] = set()
    found = []
    for board in sorted(tiles, key=game.sum):
        total, held = game.sum(board), tiles[board]
        follows = any(total - 2**e in sums for e in game.spawn_exponents)
        passes = len(held) >= fewest and min(held) >= least and set(held) & set(game.spawn_exponents)
        if board in starts or (follows and passes):
            sums.add(total)
            found.append(board)
    return found


def by_sum(game: Game, boards: Iterable[Cells]) -> dict[int, int]:
    return dict(sorted(Counter(map(game.sum, boards)).items()))


def orbits(game: Game, boards: Iterable[Cells]) -> set[Cells]:
    return {canonical(game, board) for board in boards}


def test_boards_that_no_board_can_follow() -> None:
    """No board of 2x2 to 32 has sum 46 or 48, so those of sum 50 and 52 cannot occur (Lees-Miller 2017)."""
    result = bound(Game("2x2", 32))
    assert {46, 48}.isdisjoint(result.possible_by_sum)
    assert (result.boards_by_sum[50], result.boards_by_sum[52]) == (4, 4)
    assert max(result.possible_by_sum) == 44


@pytest.mark.parametrize(
    ("game", "boards"),
    [
        (Game("4x4", 2048), 11**16),
        (Game("4x4", limits=32768), 2**64),  # every key is a board
        (Game("4x8", 8), 3**32),
        (Game("2x2", 32, limits="16,8/8,4"), 5 * 4 * 4 * 3),
        (Game("2x2", 16, walls=[0], limits="2,8/8,4"), 4 * 4 * 3),
        (Game("3x3", 32, unmergeable=[0, 1]), 36 * 5**7),
        (Game("3x3", 32, walls=[0, 1]), 5**7),
    ],
    ids=str,
)
def test_boards_are_a_product(game: Game, boards: int) -> None:
    assert bound(game).boards == boards


def test_orbits_of_free_boards() -> None:
    """Burnside for a square of side 4 with 11 contents: cycle counts 16, 8 (turns, flips), 4 and 10."""
    n = 11
    assert bound(Game("4x4", 2048)).canonical_boards == (n**16 + 2 * n**10 + 3 * n**8 + 2 * n**4) // 8


@pytest.mark.parametrize("game", [g for g in SMALL_GAMES if g.cells < 8], ids=str)
def test_counts_are_those_of_a_list(game: Game) -> None:
    boards, possible = all_boards(game), possible_boards(game)
    result = bound(game)
    assert result.boards_by_sum == boards_by_sum(game) == by_sum(game, boards)
    assert result.possible_by_sum == by_sum(game, possible)
    assert result.canonical_boards_by_sum == by_sum(game, orbits(game, boards))
    assert result.canonical_possible_by_sum == by_sum(game, orbits(game, possible))
    assert result.wins == (game.goal is not None or game.goal_sum is not None)
    assert result.possible == len(possible) + result.wins
    assert result.canonical_possible == len(orbits(game, possible)) + result.wins


@pytest.mark.parametrize("game", SMALL_GAMES, ids=str)
def test_reachable_states_are_possible(game: Game) -> None:
    result = bound(game)
    for symmetric, bounds in ((True, result.canonical_possible_by_sum), (False, result.possible_by_sum)):
        for total, layer in reachable(game, symmetric=symmetric).items():
            assert len(layer.states) <= bounds.get(total, 0)


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_tables_agree_with_each_other(game: Game) -> None:
    result = bound(game)
    for total, count in result.possible_by_sum.items():
        assert 0 < result.canonical_possible_by_sum[total] <= count <= result.boards_by_sum[total]
    assert result.canonical_possible_by_sum.keys() == result.possible_by_sum.keys()
    for total, count in result.boards_by_sum.items():
        assert 0 < result.canonical_boards_by_sum[total] <= count


@pytest.mark.parametrize("game", [g for g in SMALL_GAMES if g.cells < 8 and not g.unmergeable], ids=str)
def test_groups_are_those_of_all_boards(game: Game) -> None:
    groups, boards = groups_of(game), all_boards(game)
    boards = [board for board in boards if not game.has_goal_sum(board)]

    def tiles(board: Cells) -> Cells:
        return tuple(board.count(e) for e in range(1, max(game.tops) + 1))

    sizes = Counter(map(tiles, boards))
    assert dict(zip(map(tuple, groups.counts.tolist()), groups.sizes.tolist(), strict=True)) == sizes
    assert groups.largest == max(sizes.values())
    assert groups.sums.tolist() == [
        sum(m << e for e, m in enumerate(one, 1)) for one in groups.counts.tolist()
    ]


def test_groups_that_are_not_listed() -> None:
    with pytest.raises(UsageError, match="it has unmergeable tiles"):
        groups_of(Game("2x2", 16, unmergeable=[0]))
    with pytest.raises(ResourceError, match="300,540,195 groups"):
        groups_of(Game("4x4", 65536))


@pytest.mark.parametrize(("cells", "most"), [(2, 16384), (2, 8), (3, 512)])
def test_products_are_those_of_pairs(cells: int, most: int) -> None:
    """Of two halves of some cells, each empty or with a tile; the sums of pairs, one by one."""
    tiles = [0, *(1 << e for e in range(1, most.bit_length()))]
    half = Counter(sum(board) for board in itertools.product(tiles, repeat=cells))
    ways = np.zeros(max(half) // 2 + 1, dtype=np.int64)
    for total, count in half.items():
        ways[total // 2] = count
    wanted: Counter[int] = Counter()
    for (a, m), (b, n) in itertools.product(half.items(), repeat=2):
        wanted[a + b] += m * n
    found = convolved(ways, ways.astype(np.uint64))
    assert {2 * i: n for i, n in enumerate(found.tolist()) if n} == dict(wanted)
    most = (1 << 32) - 1
    assert convolved(np.array([0, most]), np.array([most, 0, 1])).tolist() == [0, most**2, 0, most]


def test_slides_without_a_board() -> None:
    """To 8 with 2s only: 2 2, 4 2, 4 2 2, 4 4 2, 8: one slide after the other, by hand."""
    assert least_expected_slides(Game("2x2", 8, spawn=0)) == 4
    # With 4s only the start merges at once.
    assert least_expected_slides(Game("2x2", 8, spawn=1)) == 1
    for game in (Game("2x2"), Game("2x2", 8, start="empty")):
        with pytest.raises(UsageError, match="are not known"):
            least_expected_slides(game)
