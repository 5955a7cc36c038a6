"""Games that fill a board with 2s and 4s."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from daily import daily
from tilebase.cli import main
from tilebase.errors import ResourceError, UsageError
from tilebase.patterns.checkerboards import mirror
from tilebase.patterns.filling import complete_rows, fill_board, longest_line
from tilebase.patterns.moves import parse_moves, replay
from tilebase.patterns.packed import Aim, search_on
from tilebase.patterns.rules import Rules

SMALL = [(m, n) for m in range(2, 7) for n in range(2, 7)]


@pytest.mark.parametrize(
    ("rows", "columns"), [*SMALL, *daily([(8, 8), (9, 10), (10, 10), (2, 12), (12, 2)], [(8, 8), (2, 12)])]
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


def states_of_one_row(cells: int) -> set[tuple[int, ...]]:
    """All positions of play on one row without an 8."""
    rules = Rules(1, cells, most=2)
    states: set[tuple[int, ...]] = set()
    new = {after for _, after in rules.spawns(rules.empty)}
    while new:
        states |= new
        slid = {after for state in new for _, after in rules.slides(state)}
        new = {state for after in slid for _, state in rules.spawns(after)} - states
    return states


def test_one_row_is_filled_up_to_four_cells():
    for cells in range(1, 11):
        states = states_of_one_row(cells)
        full = any(0 not in state for state in states)
        assert fill_board(f"1x{cells}").possible == fill_board(f"{cells}x1").possible == full == (cells <= 4)
        assert max(sum(value > 0 for value in state) for state in states) <= longest_line() == 4


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


def test_an_exhaustive_forward_search_knows_that_nothing_fills():
    found = search_on(Rules(1, 6), Aim((0,) * 6), width=1000)
    assert found.moves is None
    assert found.exhaustive


def test_seeds_and_budgets():
    assert fill_board("4x4", seed=4).moves == fill_board("4x4", seed=4).moves
    late = fill_board("9x9", seconds=0)
    assert late.possible is None
    assert late.reason == "time ran out: allow more time"


def test_refusals():
    with pytest.raises(UsageError, match="'0x4' is not a size"):
        fill_board("0x4")
    with pytest.raises(ResourceError, match="a side above 12"):
        fill_board("13x13")
    with pytest.raises(UsageError, match="even number of columns"):
        list(complete_rows(4, 3, 2))


def test_the_command(capsys):
    assert main(["reach", "fill", "3x4", "-q"]) == 0
    text = capsys.readouterr().out.splitlines()
    assert text[0].endswith("fill the board with 2s and 4s, without an 8: yes, by 17 drops (verdict).")
    rules = Rules(3, 4, most=2)
    assert rules.text(replay(rules, parse_moves(rules, text[-1]))[-1]) == "/".join(text[1:4])
    assert main(["reach", "fill", "3x4", "-q", "-f", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["drops"] == 17
    assert main(["reach", "fill", "1x5", "-q"]) == 0
    captured = capsys.readouterr()
    assert "without an 8: no (verdict)." in captured.out
    assert "never more than 4 tiles" in captured.out
