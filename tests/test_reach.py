"""Which boards can be reached, and which can be filled: against a search by the plain rules."""

from __future__ import annotations

import random
from functools import cache
from itertools import pairwise, product

import pytest

from conformance.games import daily
from repetition import one_in
from tilebase.errors import ResourceError
from tilebase.patterns.checkerboards import mirror
from tilebase.patterns.filling import LONGEST_LINE, complete_rows, figure, fill_board, game_by_filling
from tilebase.patterns.moves import replay
from tilebase.patterns.packed import Aim, search_on
from tilebase.patterns.reach import crowded, reach
from tilebase.patterns.rules import Drop, Position, Rules, pull, push
from tilebase.patterns.searching import Effort


@cache
def all_reachable(rules: Rules, most: int) -> tuple[set[Position], set[Position]]:
    """The states and afterstates of play from the empty board without tiles above `most`."""
    states: set[Position] = set()
    afterstates = {rules.empty}
    new = [rules.empty]
    while new:
        reached = {state for after in new for _, state in rules.spawns(after)} - states
        states |= reached
        new = [after for state in reached for _, after in rules.slides(state) if max(after) <= most]
        new = list(set(new) - afterstates)
        afterstates |= set(new)
    return states, afterstates


@pytest.mark.parametrize(
    ("size", "drops", "most"),
    [((1, 4), (1,), 3), ((1, 4), (1, 2), 4), ((2, 2), (1,), 4), ((2, 2), (1, 2), 5), ((2, 3), (1, 2), 3)],
)
def test_every_board_of_a_small_game(size, drops, most):
    rules = Rules(*size, drops)
    states, afterstates = all_reachable(rules, most)
    wrong = []
    every = product(range(most + 1), repeat=rules.cells)
    positions = [position for position in every if position == rules.canonical(position)]
    for position in positions[one_in(9)] if len(positions) > 500 else positions:
        for known, is_after in ((states, False), (afterstates, True)):
            found = reach(rules.text(position), drops="2,4" if drops == (1, 2) else "2", afterstate=is_after)
            ends = found.moves is None or not found.moves or replay(rules, found.moves)[-1] == position
            if found.reachable != (position in known) or not ends:
                wrong.append((position, is_after, found))
    assert not wrong


def test_boards_of_random_games_are_reached():
    rules = Rules(4, 4, (1, 2))
    rng = random.Random(3)
    for _ in range(3):
        position, state = rules.empty, rules.empty
        for _ in range(rng.randrange(20, 60)):
            _, state = rng.choice(list(rules.spawns(position)))
            slides = list(rules.slides(state))
            if not slides:
                break
            _, position = rng.choice(slides)
        found = reach(rules.text(state), seconds=60)
        assert found.reachable
        assert replay(rules, found.moves)[-1] == state


def test_pulling_undoes_pushing():
    for length, most in ((3, 4), (4, 3), (5, 2)):
        for line in product(range(most + 1), repeat=length):
            assert set(pull(line)) == {
                other for other in product(range(most + 1), repeat=length) if push(other) == line
            }


def test_too_many_large_tiles():
    why = "beside a tile 8, at least 1 cell must be empty or hold a smaller tile; this board has 0"
    assert crowded(Rules(2, 2, (1, 2)), (3, 3, 3, 3)) == why
    assert crowded(Rules(2, 2, (1, 2)), (3, 3, 3, 2)) == ""
    assert crowded(Rules(2, 2, (1,)), (3, 3, 3, 2)) != ""


def test_a_search_that_is_stopped_is_not_an_answer():
    found = reach("2048,2048,2,4/4,2,4,2/2,4,2,4/4,2,4,2", seconds=0.01)
    assert (found.reachable, found.reason) == (None, "time ran out: allow more time")
    assert "can be reached with 2s and 4s: undecided" in found.statement


def test_long_lines_are_refused_at_once():
    """With drops of 4 a cell has three values, whatever the board holds."""
    assert reach("2" + ",0" * 9).sequence == "(1,1)"
    with pytest.raises(ResourceError, match="a line of 120 cells"):
        reach("/".join([",".join(["2", "4"] * 60)] * 2))
    with pytest.raises(ResourceError, match="positions can be before this afterstate"):
        reach("4" + ",4" * 5 + ",0" * 9, drops="2", afterstate=True)


@pytest.mark.parametrize(
    ("number", "side", "drops"),
    [
        (7, 6, 53),
        (8, 6, 61),
        pytest.param(7, 10, 149, marks=pytest.mark.all),
        pytest.param(8, 10, 157, marks=pytest.mark.all),
    ],
)
def test_the_boards_of_two_figures_are_reached(number: int, side: int, drops: int) -> None:
    """Edixhoven, section 4.4: figure 8 takes 157 drops; 3mn/2 + 7 on other boards with even sides."""
    board = figure(number, side)
    rules = Rules(side, side)
    found = reach(rules.text(board), drops="2", seconds=300)
    assert found.moves is not None
    assert replay(rules, found.moves)[-1] == board
    assert sum(isinstance(move, Drop) for move in found.moves) == drops
    # The game is found for each image of the board.
    image = tuple(board[cell] for cell in rules.symmetries[5])
    turned = game_by_filling(rules, image, Effort.within(300)) if side == 6 else found.moves
    assert turned is not None
    assert replay(rules, turned)[-1] == (image if side == 6 else board)


def test_boards_that_no_filling_is_near_are_left_to_the_search_back() -> None:
    rules, effort = Rules(6, 6), Effort.within(60)
    assert game_by_filling(rules, (*figure(7, 6)[:-1], 0), effort) is None
    assert game_by_filling(rules, (4,) * 36, effort) is None
    assert game_by_filling(Rules(5, 5), figure(7, 5), effort) is None
    assert game_by_filling(rules, figure(7, 6)[::-1][:18] + figure(7, 6)[:18], effort) is None


TO_6X6 = [(m, n) for m in range(2, 7) for n in range(2, 7)]


@pytest.mark.parametrize(
    ("rows", "columns"), [*TO_6X6, *daily([(8, 8), (9, 10), (10, 10), (2, 12), (12, 2)], [(8, 8), (2, 12)])]
)
def test_boards_are_filled(rows, columns):
    found = fill_board(f"{rows}x{columns}")
    assert found.possible
    final = replay(Rules(rows, columns, most=2), found.moves)[-1]
    assert final == found.last
    assert set(final) <= {1, 2}
    assert found.drops == sum(final)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "columns"), [(5, 9), (7, 7), (7, 9)])
def test_large_boards_are_filled(rows, columns):
    found = fill_board(f"{rows}x{columns}")
    assert found.possible
    assert set(replay(Rules(rows, columns, most=2), found.moves)[-1]) <= {1, 2}


def test_one_row_is_filled_up_to_four_cells():
    for cells in range(1, 11):
        states, _ = all_reachable(Rules(1, cells, most=2), 2)
        full = any(0 not in state for state in states)
        assert fill_board(f"1x{cells}").possible == fill_board(f"{cells}x1").possible == full == (cells <= 4)
        assert max(sum(value > 0 for value in state) for state in states) <= LONGEST_LINE


def test_no_order_of_tiles_on_one_line_is_longer():
    """Every order that a drop at either end and a slide make, even if on some line it would move nothing."""
    found = {(1,)}
    waiting = [(1,)]
    while waiting:
        line = waiting.pop()
        for pushed in (push(line, 2), push(line[::-1], 2)):
            if pushed is not None:
                tiles = tuple(value for value in pushed if value)
                new = {(*tiles, 1), (1, *tiles)} - found
                found |= new
                waiting += new
    assert max(map(len, found)) == LONGEST_LINE


@pytest.mark.parametrize("columns", [2, 4, 6, 8, 10, 30])
def test_complete_rows_of_any_even_length(columns):
    rules = Rules(7, columns, most=2)
    moves = tuple(complete_rows(7, columns, 6))
    final = replay(rules, moves)[-1]
    rows = [final[at : at + columns] for at in range(0, rules.cells, columns)]
    assert not any(rows[0])
    assert all(set(row[::2]) != set(row[1::2]) and set(row) == {1, 2} for row in rows[1:])
    for above, below in pairwise(rows[1:]):
        assert all(one != other for one, other in zip(above, below, strict=True))
    assert sum(not isinstance(move, str) for move in moves) == 6 * columns * 3 // 2


def test_a_mirrored_game_ends_with_the_mirrored_board():
    found = fill_board("3x4")
    final = replay(Rules(4, 3, most=2), mirror(Rules(3, 4), found.moves))[-1]
    assert final == tuple(found.last[column * 4 + row] for row in range(4) for column in range(3))


def test_a_forward_search_that_finds_nothing_proves_nothing():
    found = search_on(Rules(1, 6), Aim((0,) * 6), width=1000)
    assert (found.reachable, found.moves, found.reason) == (None, None, "")


def test_seeds_and_budgets_of_fillings():
    assert fill_board("4x4", seed=4).moves == fill_board("4x4", seed=4).moves
    late = fill_board("9x9", seconds=0)
    assert late.possible is None
    assert late.reason == "time ran out: allow more time"
