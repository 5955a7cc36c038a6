"""The search back, against a search from the empty board by the plain rules."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

import pytest

from test_reach import all_reachable
from tilebase.errors import ResourceError, UsageError
from tilebase.patterns.checkerboards import checkerboard_position
from tilebase.patterns.moves import replay
from tilebase.patterns.packed import make_lines, search_back
from tilebase.patterns.rules import Rules, drops_made, push
from tilebase.patterns.searching import ANY


@pytest.mark.parametrize(
    ("size", "drops", "most"),
    [((1, 4), (1,), 3), ((1, 4), (1, 2), 3), ((2, 2), (1,), 3), ((2, 2), (1, 2), 3), ((2, 3), (1,), 2)],
)
def test_it_decides_every_position_of_a_small_board(size, drops, most):
    rules = Rules(*size, drops)
    states, _ = all_reachable(rules, most)
    positions = [position for position in product(range(most + 1), repeat=rules.cells) if any(position)]
    for position in random.Random(1).sample(positions, min(len(positions), 250)):
        found = search_back(rules, [position])
        assert found.reachable == (position in states), position
        assert found.exhaustive
        if found.moves is not None:
            assert replay(rules, found.moves)[-1] == position


def test_every_line_of_the_tables_slides_to_its_code():
    import numpy as np

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
        reverse = sum(value * 3**k for k, value in enumerate(line[::-1]))
        assert lines.away[reverse] == cost, line


@pytest.mark.parametrize(
    ("rows", "columns", "corner", "positions"),
    [(4, 4, 1, 9), (5, 5, 1, 203), (5, 5, 2, 8), (3, 8, 1, 7232), (10, 10, 1, 461), (11, 11, 2, 883)],
)
def test_checkerboards_that_cannot_be_reached(rows, columns, corner, positions):
    found = search_back(Rules(rows, columns), [checkerboard_position(Rules(rows, columns), 2 * corner)])
    assert found.reachable is False
    assert found.positions == positions


def test_every_layer_has_the_sum_that_it_says():
    found = search_back(Rules(3, 3), [checkerboard_position(Rules(3, 3), 2)])
    assert found.reachable
    assert max(found.layers) == drops_made(checkerboard_position(Rules(3, 3), 2)) == 13
    assert min(found.layers) == 1


def test_a_checkerboard_with_drops_of_2_and_4():
    rules = Rules(4, 4, (1, 2))
    goal = checkerboard_position(Rules(4, 4), 2)
    found = search_back(rules, [goal], width=2000, leaves=8)
    assert found.reachable
    assert replay(rules, found.moves)[-1] == goal


def test_goals_of_several_sums_are_searched_together():
    rules = Rules(2, 3)
    goals = [(3, 3, 3, 3, 3, 3), checkerboard_position(Rules(2, 3), 2), checkerboard_position(Rules(2, 3), 4)]
    found = search_back(rules, goals)
    assert found.reachable
    assert replay(rules, found.moves)[-1] in goals[1:]


def test_a_narrow_search_finds_a_game_but_proves_nothing():
    """The same seed gives the same game."""
    rules = Rules(4, 4)
    goal = (1, 1, *checkerboard_position(Rules(4, 4), 4)[2:])  # a checkerboard but for a 2 in the corner
    found, again = (search_back(rules, [goal], replace(ANY, seed=3), width=500) for _ in range(2))
    assert found.reachable
    assert not found.exhaustive
    assert replay(rules, found.moves)[-1] == goal
    assert again.moves == found.moves
    undecided = search_back(rules, [checkerboard_position(Rules(4, 4), 2)], width=1)
    assert undecided.reachable is None
    assert "among 1 positions" in undecided.reason


def test_limits_leave_it_undecided():
    goal = [checkerboard_position(Rules(3, 9), 2)]
    assert "time ran out" in search_back(Rules(3, 9), goal, ANY.for_seconds(0)).reason
    few = search_back(Rules(3, 10), [checkerboard_position(Rules(3, 10), 2)], replace(ANY, memory=100_000))
    assert few.reachable is None
    assert "too little memory" in few.reason


@pytest.mark.parametrize(
    ("rules", "positions", "error", "sentence"),
    [
        (Rules(2, 2, convention="rows"), [(1, 2, 2, 1)], UsageError, "drops on any empty cell"),
        (Rules(2, 2), [], UsageError, "no position is given"),
        (Rules(2, 2), [(0, 0, 0, 0)], UsageError, "4 cells, and a tile"),
        (
            Rules(20, 20),
            [(1, 2) * 200],
            ResourceError,
            "smaller board or smaller tiles",
        ),
    ],
)
def test_refusals(rules, positions, error, sentence):
    with pytest.raises(error, match=sentence):
        search_back(rules, positions)
