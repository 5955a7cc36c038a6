"""The fewest slides to a win, with luck: exact, "never" where no win can be reached, and found by search."""

from __future__ import annotations

from pathlib import Path

import pytest

import cached_oracle as oracle
from tilebase.errors import UsageError
from tilebase.game.game import Cells, Game
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import NEVER, Exact, short_text
from tilebase.questions.solve import solve
from tilebase.tables.probe import open_table

GAME = Game("2x2", 32)


def shortest(game: Game) -> int:
    """The fewest slides to a win, by breadth-first search over boards without symmetry."""
    states: set[Cells] = {state for state, _ in game.starts()}
    slides = 0
    while states:
        slides += 1
        afters = {after for state in states for after in game.slides(state).values()}
        if any(game.wins(after) for after in afters):
            return slides
        states = {state for after in afters for state, _ in game.spawns(after)}
    return NEVER


@pytest.mark.parametrize(
    "game",
    [Game("2x2", 16), GAME, Game("2x3", 16, spawn=0), Game("2x2", 16, spawn=0), Game("1x4", 8)],
    ids=str,
)
def test_it_is_what_a_search_finds(game: Game) -> None:
    found = solve(game, "fewest", threads=1).value
    assert found == Exact(shortest(game))
    assert -oracle.values(game, "fewest").start == shortest(game)


def test_what_cannot_be_won_is_never(tmp_path: Path) -> None:
    solve(GAME, "fewest", table=tmp_path, threads=1)
    exact, never = oracle.values(GAME, "fewest"), 0
    with open_table(tmp_path) as table:
        for state, value in exact.states.items():
            answer = table.probe(GAME.format(state))
            assert answer.value == Exact(int(-value))
            assert answer.cost
            if -value == NEVER:
                never += 1
                assert str(answer.value) == short_text(answer.value, "slides") == "never"
    assert 0 < never < len(exact.states)
    assert solve(Game("1x4", 8), "fewest", threads=1).value == Exact(shortest(Game("1x4", 8)))


def test_layers_count_what_is_never_won() -> None:
    found = solve(GAME, "fewest", threads=1)
    exact = oracle.values(GAME, "fewest").afterstates
    for layer in found.layers[0]:
        here = [-value for board, value in exact.items() if GAME.sum(board) == layer.sum]
        assert (layer.won, layer.lost) == (0, here.count(NEVER))
        assert (layer.least, layer.largest) == (min(here), max(here))


def test_it_needs_a_goal_and_no_horizon() -> None:
    with pytest.raises(UsageError, match="fewest needs a goal"):
        Objective("fewest").check(Game("2x2"))
    with pytest.raises(UsageError, match="fewest fits games without a horizon"):
        Objective("fewest").check(Game("2x2", 32, horizon=18))
