"""What a query costs: sizes that are estimated, and rates of machines."""

from __future__ import annotations

from math import exp, log, sqrt

import pytest

from tilebase import Game, count, formation, solve, symmetries
from tilebase.costs.reachable import layers_of, records_slides, solving
from tilebase.costs.shares import COUNTED, FITTED, MASKED, Fit, counted, share_of
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.objectives.objective import parse_objectives

LIMITED = {
    # states and afterstates as counted
    Game("3x3", 64, walls=[4]): (145_312, 0.496),
    Game("3x3", 256, limits="128,64,64/64,32,32/32,16,16"): (7_127_153, 0.511),
    Game("2x4", 256, limits="16,16,8,8/16,8,8,4"): (69_016, 0.434),
    Game("3x4", 64, limits="32,32,16,16/16,16,8,8/8,8,4,4"): (15_805_713, 0.286),
    Game("3x4", 64, limits="32,32,32,16/32,16,16,16/8,8,8,8"): (60_847_345, 0.345),
    Game("3x4", 64, walls=[0, 5]): (33_398_976, 0.513),
    Game("3x3", 64, spawn=0): (258_270, 0.775),
    Game("3x4", 32, spawn=0): (7_299_231, 0.556),
    Game("3x3", 128, pattern="lemma1"): (17_239_928, 0.553),
}


def boards_of(game: Game) -> float:
    """Boards up to symmetry."""
    return sum(boards_by_sum(game).values()) / len(symmetries(game))


def test_counted_games_are_those_that_are_counted() -> None:
    for shape, goal in (("2x3", 32), ("2x4", 32), ("3x3", 16), ("2x2x2", 64)):
        game = Game(shape, goal)
        result, share = count(game), share_of(game)
        assert share.spread == COUNTED
        assert result.total("states") == round(share.states * boards_of(game))
        assert result.afterstates.sum() == round(share.afterstates * boards_of(game))


def test_expected_errors_of_fitted_games() -> None:
    """Each counted game, estimated from all others: as the module says."""
    errors = []
    for key, line in counted().items():
        shape, goal = key
        if goal is not None and goal > 8 and shape != (2, 2):
            others = Fit({other: share for other, share in counted().items() if other != key})
            found = others.share(shape, [goal.bit_length() - 2] * Game(shape, goal).cells)
            errors.append(abs(log(found.states / line.states)))
            assert exp(abs(log(found.afterstates / found.states / (line.afterstates / line.states)))) < 1.2
    assert len(errors) > 30
    assert exp(max(errors)) < 1.7 < FITTED
    assert exp(sqrt(sum(error**2 for error in errors) / len(errors))) < 1.25


@pytest.mark.parametrize("game", LIMITED, ids=str)
def test_shares_of_games_with_limits_walls_and_one_tile(game: Game) -> None:
    states, ratio = LIMITED[game]
    found = share_of(game)
    assert 1 / FITTED < found.states * boards_of(game) / states < FITTED
    assert 1 / 1.5 < found.afterstates / found.states / ratio < 1.5


def test_shares_of_games_far_from_those_counted() -> None:
    games = [Game(shape, goal) for shape, goal in (("1x4", 8), ("4x4", 2048), ("3x3x3", 8), ("5x5", 8))]
    for game in [*games, Game("1x1", start="empty", largest=4), formation("3x405").game(8192)]:
        found = share_of(game)
        assert 0 < found.afterstates <= found.states <= 1


def test_tables_of_formations_are_known() -> None:
    game = formation("44").game(64)
    assert solve(game).positions == round(sum(layer.afterstates for layer in layers_of(game).values()))
    assert share_of(game).spread == COUNTED
    assert share_of(formation("442").game(1024)).spread == FITTED
    own = Game("3x3", 16, start="after 2,0,0/0,0,x/0,x,x", masks=".../..x/.xx", horizon=30)
    assert share_of(own).spread == MASKED


def test_recorded_slides_make_solving_faster() -> None:
    game, win = Game("3x3", 512), parse_objectives("win")
    assert records_slides(game, win, 16 << 30)
    assert not records_slides(game, win, 1 << 30)
    assert not records_slides(game, parse_objectives("win,lower"), 16 << 30)
    assert not records_slides(game, parse_objectives("score"), 16 << 30)
    assert not records_slides(Game("4x4", 16), win, 16 << 30)  # its layers are large
    fast, slow = (solving(game, win, 1, table=False, memory=memory) for memory in (16 << 30, 1 << 30))
    assert fast.seconds < slow.seconds
    assert fast.positions == slow.positions
