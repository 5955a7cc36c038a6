"""Checkerboards: the plain rules, the constructions for any size, and which ones can be reached."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from test_reach import all_reachable
from tilebase.errors import ResourceError
from tilebase.game.game import Game, merge_line
from tilebase.patterns.checkerboards import (
    checkerboard,
    checkerboard_position,
    construct,
    decide,
    find_sequence,
    mirror,
    one_row,
    theorem,
    three_rows,
    two_columns,
    two_rows,
)
from tilebase.patterns.moves import moves_text, replay, with_drops
from tilebase.patterns.packed import LEAVES, _Back, make_boards, make_lines, search_back
from tilebase.patterns.rules import Position, Rules, drop, drops_made, push
from tilebase.patterns.searching import ANY, Effort
from tilebase.patterns.tallies import BitRows

DIRECTIONS = {"U": "up", "D": "down", "L": "left", "R": "right"}
TO_20_CELLS = [(m, n) for m in range(1, 21) for n in range(1, 20 // m + 1)]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=9).map(tuple), st.sampled_from([None, 2, 3, 4]))
def test_push_is_the_rule_of_the_game(line: Position, most: int | None) -> None:
    if most is not None:
        line = tuple(min(value, most) for value in line)
    expected = merge_line(line)
    assert push(line, most) == (None if most is not None and max(expected) > most else expected)


def test_slides_are_those_of_the_game() -> None:
    chance = random.Random(18)
    for shape in ((2, 3), (3, 3), (4, 2)):
        game = Game(f"{shape[0]}x{shape[1]}", spawn=0, start="empty", limits=4)
        rules = Rules(*shape, most=2)
        for _ in range(300):
            position = tuple(chance.choice((0, 1, 1, 2)) for _ in range(rules.cells))
            expected = {direction: tuple(after) for direction, after in game.slides(position).items()}
            assert {DIRECTIONS[letter]: after for letter, after in rules.slides(position)} == expected


@pytest.mark.parametrize("convention", [None, "rows", "columns"])
@pytest.mark.parametrize("shape", [(1, 5), (2, 4), (3, 4), (4, 3), (5, 1)])
def test_rows_of_bits_move_by_the_plain_rules(shape: tuple[int, int], convention: str | None) -> None:
    rules = Rules(*shape, (1, 2), 2, convention)
    board, chance = BitRows(rules), random.Random(3)

    def tiles(rows: tuple[int, ...]) -> Position:
        return tuple(tile for row in rows for tile in board.decode(row))

    for _ in range(400):
        position = tuple(chance.choice((0, 1, 2)) for _ in range(rules.cells))
        rows = board.rows_of(position)
        assert tiles(rows) == position
        assert sorted(map(tiles, board.slides(rows))) == sorted(after for _, after in rules.slides(position))
        dropped = {after for _, after in rules.spawns(position)}
        kept = set(map(tiles, board.every_drop(rows)))
        assert kept <= dropped
        assert not any(reaches_a_checkerboard(rules, state) for state in dropped - kept)


@cache
def reaches_a_checkerboard(rules: Rules, state: Position) -> bool:
    """Whether play can go on from a state to a checkerboard, by the plain rules."""
    if any(state == checkerboard_position(rules, colouring) for colouring in (2, 4)):
        return True
    return any(
        reaches_a_checkerboard(rules, after)
        for _, slid in rules.slides(state)
        for _, after in rules.spawns(slid)
    )


@pytest.mark.parametrize("colouring", [2, 4])
@pytest.mark.parametrize("length", range(2, 41))
def test_two_lines_are_filled_in_deterministic_games(length: int, colouring: int) -> None:
    for shape, convention, slides in (
        ((length, 2), "rows", two_columns(length, colouring)),
        ((2, length), "rows", two_rows(length, colouring) if length > 2 else ""),
        ((2, length), "columns", ""),
        ((length, 2), "columns", ""),
    ):
        rules = Rules(*shape, most=2, convention=convention)
        moves = with_drops(rules, slides) if slides else construct(rules, colouring)
        assert moves is not None
        assert replay(rules, moves)[-1] == checkerboard_position(rules, colouring)
        assert with_drops(rules, moves_text(rules, moves)) == moves


@pytest.mark.parametrize("columns", range(3, 41, 2))
def test_three_lines_are_filled(columns: int) -> None:
    rules = Rules(3, columns, most=2)
    moves = three_rows(columns)
    assert replay(rules, moves)[-1] == checkerboard_position(rules, 2)
    across = Rules(columns, 3, most=2)
    assert columns == 3 or construct(across, 2) == mirror(rules, moves)
    assert replay(across, mirror(rules, moves))[-1] == checkerboard_position(across, 2)


def test_single_lines_are_filled_up_to_three_cells() -> None:
    for columns in range(1, 8):
        for colouring in (2, 4):
            slides = one_row(columns, colouring)
            assert (slides is not None) == bool(reached_by_oracle(1, columns, colouring))
            for rules in (Rules(1, columns, most=2, convention="rows"), Rules(columns, 1, most=2)):
                moves = construct(rules, colouring)
                assert (moves is None) == (slides is None)
                if moves is not None:
                    assert replay(rules, moves)[-1] == checkerboard_position(rules, colouring)


def test_other_sizes_have_no_construction() -> None:
    assert construct(Rules(4, 4), 2) is None
    assert construct(Rules(3, 3, convention="rows"), 2) is None


def reached_by_oracle(rows: int, columns: int, colouring: int, drops: tuple[int, ...] = (1,)) -> bool:
    rules = Rules(rows, columns, drops, most=2)
    return checkerboard_position(rules, colouring) in all_reachable(rules, 2)[0]


@pytest.mark.parametrize("drops", [(1,), (1, 2)])
@pytest.mark.parametrize("shape", [(m, n) for m, n in TO_20_CELLS if m * n <= 9])
def test_verdicts_on_small_boards_are_those_of_the_plain_rules(shape, drops):
    for colouring in (2, 4):
        verdict = decide(Rules(*shape, drops), colouring)
        assert verdict.reachable is reached_by_oracle(*shape, colouring, drops)
        assert bool(verdict.moves) is verdict.reachable
        if verdict.reachable:
            assert replay(verdict.rules, verdict.moves)[-1] == verdict.position


SEARCHED = [(m, n) for m, n in TO_20_CELLS if m * n <= 12 or min(m, n) == 1]


@pytest.mark.parametrize(
    "shape", [pytest.param((m, n), marks=pytest.mark.all if m * n in (11, 12) else []) for m, n in SEARCHED]
)
def test_theorems_agree_with_the_search(shape: tuple[int, int]) -> None:
    for colouring in (2, 4):
        rules = Rules(*shape, most=2)
        moves = find_sequence(rules, colouring)
        assert (moves is None) == bool(theorem(rules, colouring))
        assert moves is None or replay(rules, moves)[-1] == checkerboard_position(rules, colouring)


@pytest.mark.parametrize("convention", ["rows", "columns"])
@pytest.mark.parametrize("shape", [(m, n) for m in range(1, 10) for n in range(1, 10)])
def test_deterministic_games_of_three_lines_and_more(shape: tuple[int, int], convention: str) -> None:
    """With both sides at least 3, only one size is an exception for each convention beside 3x3."""
    exceptions = {"rows": {(3, 3), (5, 3)}, "columns": {(3, 3), (3, 5)}}[convention]
    for colouring in (2, 4):
        rules = Rules(*shape, convention=convention)
        verdict = decide(rules, colouring)
        if min(shape) >= 3:
            assert verdict.reachable is (shape in exceptions and colouring == 2)
        else:
            assert verdict.reachable is decide(Rules(*shape), colouring).reachable
        if verdict.reachable:
            moves = with_drops(verdict.rules, moves_text(verdict.rules, verdict.moves))
            assert replay(verdict.rules, moves)[-1] == verdict.position


def test_a_search_finds_the_fewest_drops() -> None:
    rules = Rules(3, 3, (1, 2), 2)
    moves = find_sequence(rules, 4)
    assert moves is not None
    position = rules.empty
    for move in moves:
        position = (rules.slide(position, move) or ()) if isinstance(move, str) else drop(position, move)
    assert position == checkerboard_position(rules, 4)
    layer, drops = {state for _, state in rules.spawns(rules.empty)}, 1
    while position not in layer:
        layer = {
            after for state in layer for _, slid in rules.slides(state) for _, after in rules.spawns(slid)
        }
        drops += 1
    assert drops == sum(not isinstance(move, str) for move in moves)


def test_with_4s_both_checkerboards_of_every_size_are_reached() -> None:
    """With one drop for each cell, which is the least."""
    for shape in ((m, n) for m in range(1, 13) for n in range(1, 13)):
        for colouring in (2, 4):
            verdict = decide(Rules(*shape, (1, 2)), colouring)
            assert replay(verdict.rules, verdict.moves)[-1] == verdict.position
            assert sum(not isinstance(move, str) for move in verdict.moves) == verdict.rules.cells


@pytest.mark.parametrize(
    ("shape", "positions"),
    [
        ((3, 4), (127, 127)), ((4, 4), (9, 9)), ((4, 5), (194, 194)), ((5, 5), (203, 8)), ((6, 6), (34, 34)),
        ((3, 8), (7232, 7232)), ((8, 8), (125, 125)), ((10, 10), (461, 461)),
    ],
)  # fmt: skip
def test_the_theorem_agrees_with_searches_back(shape: tuple[int, int], positions: tuple[int, int]) -> None:
    for colouring, expected in zip((2, 4), positions, strict=True):
        found = search_back(Rules(*shape), [checkerboard_position(Rules(*shape), colouring)])
        assert (found.reachable, found.positions) == (False, expected)


@pytest.mark.slow
def test_the_theorem_agrees_with_searches_back_to_12x12() -> None:
    total = 0
    for shape in ((m, n) for m in range(3, 13) for n in range(m, 13)):
        for colouring in (2, 4):
            rules = Rules(*shape, most=2)
            if theorem(rules, colouring):
                verdict = decide(rules, colouring, Effort.within(600), search=True)
                assert verdict.reachable is False, verdict
                total += 1
    assert total == 105


@pytest.mark.parametrize("size", ["3x4", "3x5", "5x4"])
def test_searches_back_find_sequences(size: str) -> None:
    for colouring in (2, 4):
        verdict = checkerboard(size, colouring, drops="2,4", search=True)
        assert "back to the empty board" in verdict.reason
        assert replay(verdict.rules, verdict.moves)[-1] == verdict.position


def test_the_reason_names_the_construction_of_the_moves():
    reasons = [checkerboard("2x3", drops="2,4", deterministic=fixed).reason for fixed in (False, True)]
    assert [reason.split(":")[0] for reason in reasons] == ["4s are dropped", "two rows or columns"]


@pytest.mark.parametrize(
    ("size", "drops", "most"),
    [((1, 4), (1,), 3), ((1, 4), (1, 2), 3), ((2, 2), (1,), 3), ((2, 2), (1, 2), 3), ((2, 3), (1,), 2)],
)
def test_a_search_back_decides_every_position_of_a_small_board(size, drops, most):
    rules = Rules(*size, drops)
    states, _ = all_reachable(rules, most)
    positions = [position for position in product(range(most + 1), repeat=rules.cells) if any(position)]
    for position in random.Random(1).sample(positions, min(len(positions), 250)):
        found = search_back(rules, [position])
        assert found.reachable == (position in states), position
        if found.moves is not None:
            assert replay(rules, found.moves)[-1] == position


def test_every_line_of_the_tables_slides_to_its_code():
    lines = make_lines(4, 3, np.array([0, 1, 0], dtype=np.uint8))
    before = {}
    for line in product(range(3), repeat=4):
        pushed = push(line, 2)
        if pushed is not None:
            before.setdefault(pushed, set()).add(line)
    for line in product(range(3), repeat=4):
        code = sum(value * 3**k for k, value in enumerate(line))
        sources = lines.source[lines.first[code] : lines.first[code + 1]]
        assert {tuple(c // 3**k % 3 for k in range(4)) for c in sources.tolist()} == before.get(line, set())
        without = [line[:k] + (0,) + line[k + 1 :] for k in range(4) if line[k] == 1]
        cost = 0 if line in before else 1 if any(other in before for other in without) else 2
        assert lines.toward[code] == cost, line
        assert lines.away[sum(value * 3**k for k, value in enumerate(line[::-1]))] == cost, line


def test_every_layer_of_a_search_back_has_the_sum_that_it_says():
    rules, goal = Rules(3, 3), checkerboard_position(Rules(3, 3), 2)
    search = _Back(rules, [goal], make_boards(rules, max(goal) + 1), None, LEAVES, ANY)
    assert search.run().reachable
    assert max(search.kept) == drops_made(goal) == 13
    assert min(layer for layer, keys in search.kept.items() if len(keys)) == 1


def test_goals_of_several_sums_are_searched_together():
    rules = Rules(2, 3)
    goals = [(3, 3, 3, 3, 3, 3), checkerboard_position(Rules(2, 3), 2), checkerboard_position(Rules(2, 3), 4)]
    found = search_back(rules, goals)
    assert found.reachable
    assert replay(rules, found.moves)[-1] in goals[1:]


def test_a_search_with_little_width_memory_or_time_may_find_a_game_but_proves_nothing():
    rules = Rules(4, 4)
    goal = (1, 1, *checkerboard_position(Rules(4, 4), 4)[2:])  # a checkerboard but for a 2 in the corner
    found, again = (search_back(rules, [goal], replace(ANY, seed=3), width=500) for _ in range(2))
    assert found.reachable
    assert replay(rules, found.moves)[-1] == goal
    assert again.moves == found.moves
    undecided = search_back(rules, [checkerboard_position(Rules(4, 4), 2)], width=1)
    assert undecided.reachable is None
    assert "among 1 positions" in undecided.reason
    few = search_back(Rules(3, 10), [checkerboard_position(Rules(3, 10), 2)], replace(ANY, memory=100_000))
    assert few.reachable is None
    assert "too little memory" in few.reason
    late = search_back(Rules(3, 9), [checkerboard_position(Rules(3, 9), 2)], ANY.for_seconds(0))
    assert "time ran out" in late.reason


def test_what_is_too_large_is_not_searched_back():
    with pytest.raises(ResourceError, match="smaller board or smaller tiles"):
        search_back(Rules(20, 20), [(1, 2) * 200])


@pytest.mark.parametrize(
    ("words", "said"), [(["--count"], True), (["--count", "--drops", "2,4"], False), ([], False)]
)
def test_drops_of_2s_alone_are_said(words: list[str], said: bool, printed) -> None:
    assert ("These are drops of 2s only" in printed("reach", "checkerboard", "2x2", "-q", *words)) == said
