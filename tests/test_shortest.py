"""The shortest games, against a search from the empty board by the plain rules."""

from __future__ import annotations

from itertools import product

import pytest

from conformance.games import daily
from tilebase.patterns.moves import replay
from tilebase.patterns.rules import Position, Rules, drops_made
from tilebase.patterns.shortest import Shortest, built_game, end_positions, list_ends, shortest_game


def is_stuck(rules: Rules, position: Position) -> bool:
    """Whether no slide moves anything: the board is full and no neighbours are equal."""
    return 0 not in position and all(position[one] != position[other] for one, other in rules.grid.neighbours)


def fewest_drops(rules: Rules) -> int:
    """The fewest drops to an end position: all games, layer by layer."""
    layer, drops = {after for _, after in rules.spawns(rules.empty)}, 1
    while not any(is_stuck(rules, state) for state in layer):
        slid = {rules.canonical(after) for state in layer for _, after in rules.slides(state)}
        layer = {rules.canonical(state) for after in slid for _, state in rules.spawns(after)}
        drops += 1
    return drops


@pytest.mark.parametrize(
    ("rows", "columns"), [(1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (2, 2), (2, 3), (3, 2), (2, 4), (3, 3)]
)
def test_small_boards_against_all_games(rows, columns):
    found = shortest_game(f"{rows}x{columns}")
    assert found.proved
    assert found.drops == fewest_drops(Rules(rows, columns))
    assert is_stuck(found.rules, replay(found.rules, found.moves)[-1])


def test_end_positions_are_all_that_are_full_without_equal_neighbours():
    rules = Rules(2, 3)
    boards = [board for board in product(range(1, 4), repeat=6) if is_stuck(rules, board)]
    for drops in range(6, 14):
        expected = {board for board in boards if drops_made(board) == drops}
        found = {board for board in end_positions(rules, drops) if max(board) <= 3}
        assert found == expected
        assert set(list_ends(rules, drops)) == {
            rules.canonical(board) for board in end_positions(rules, drops)
        }


@pytest.mark.parametrize(
    ("rows", "columns", "drops"),
    [(3, 4, 20), (4, 4, 26), (3, 5, 22), (4, 5, 32), (6, 4, 38), (12, 4, 74), (9, 2, 27), (4, 11, 68)],
)
def test_games_that_are_proved_shortest(rows, columns, drops):
    found = shortest_game(f"{rows}x{columns}")
    assert found.proved
    assert found.drops == drops
    final = replay(found.rules, found.moves)[-1]
    assert is_stuck(found.rules, final)
    assert drops_made(final) == drops


@pytest.mark.parametrize(
    ("rows", "columns", "extra"), [(5, 6, 4), (6, 6, 4), (8, 8, 6), *daily([(10, 10, 6)], [])]
)
def test_games_on_larger_boards(rows, columns, extra):
    rules = Rules(rows, columns)
    final = replay(rules, built_game(rules))[-1]
    assert is_stuck(rules, final)
    assert drops_made(final) == 3 * rules.cells // 2 + extra < unsolved(rows, columns).conjectured


@pytest.mark.slow
def test_larger_proofs():
    assert shortest_game("3x6").drops == 29
    found = shortest_game("3x7")
    assert (found.drops, found.proved) == (31, True)


def test_published_bounds():
    found = unsolved(10, 10)
    assert (found.conjectured, found.zeegers) == (157, 228)


def unsolved(rows: int, columns: int) -> Shortest:
    return Shortest(Rules(rows, columns), 1, None, {}, 0.0, "")


def test_limits():
    found = shortest_game("6x6", seconds=0.2)
    assert not found.proved
    assert found.reason
    assert shortest_game("5x5", seconds=0.5).lower >= 37
