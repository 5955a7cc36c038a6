"""With luck: the fewest slides to a win, or "never", and the highest score.  Both are exact."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest

import cached_oracle as oracle
from tilebase import open_table, solve
from tilebase.counting.tiles import least_slides
from tilebase.datasets.exporting import export_values
from tilebase.game.game import Game
from tilebase.objectives.values import NEVER, Exact, short_text

GAME = Game("2x2", 32)


@pytest.mark.parametrize(
    ("shape", "goal", "slides"),
    [
        ("2x2", 8, 1),
        ("2x2", 16, 4),
        ("2x2", 32, 9),
        ("2x3", 64, 18),
        ("3x3", 16, 4),
        ("3x3", 32, 9),
        ("3x3", 64, 18),
    ],
)
def test_small_boards_need_no_more_slides_than_the_theorem_says(shape: str, goal: int, slides: int) -> None:
    """Dabish 2026: (goal - 8)/4 + n - 2 for the tile 2^n; every board of at most nine cells attains it."""
    game = Game(shape, goal)
    assert least_slides(game) == slides
    assert solve(game, "fewest", threads=1).value == Exact(slides)


@pytest.mark.parametrize("game", [Game("2x2", 16, spawn=0), Game("2x3", 16, start="empty")], ids=str)
def test_other_spawns_and_starts_need_more_slides_than_the_theorem_says(game: Game) -> None:
    assert (least_slides(game) or 0) < -oracle.values(game, "fewest").start


@pytest.mark.parametrize(
    "rules", [{"start": "8,8/0,0"}, {"pattern": "8,*/*,*"}, {"goal_sum": 12}, {"goal": None}], ids=str
)
def test_the_theorem_is_about_two_small_tiles_and_one_way_to_win(rules: dict[str, object]) -> None:
    assert least_slides(Game("2x2", **{"goal": 16, **rules})) is None  # type: ignore[arg-type]


def test_what_cannot_be_won_is_never(solved) -> None:
    exact = oracle.values(GAME, "fewest").states
    lost = [state for state, value in exact.items() if -value == NEVER]
    assert 0 < len(lost) < len(exact)
    with open_table(solved(GAME, "fewest")) as table:
        for answer in (table.probe(GAME.format(state)) for state in lost):
            assert str(answer.value) == short_text(answer.value, "slides") == "never"
            assert answer.cost


def test_layers_count_what_is_never_won() -> None:
    found = solve(GAME, "fewest", threads=1)
    exact = oracle.values(GAME, "fewest").afterstates
    for layer in found.layers[0]:
        here = [-value for board, value in exact.items() if GAME.sum(board) == layer.sum]
        assert (layer.won, layer.lost) == (0, here.count(NEVER))
        assert (layer.least, layer.largest) == (min(here), max(here))
        able = [value for value in here if value != NEVER]
        assert layer.mean == (pytest.approx(float(sum(able) / len(able))) if able else NEVER)
    rows, told = list(found.rows()), found.as_dict()["layers"]
    assert any(row["largest"] == math.inf for row in rows)
    assert [row["largest"] for row in told] == [
        None if row["largest"] == math.inf else row["largest"] for row in rows
    ]


def test_never_is_infinite_in_data(solved, tmp_path: Path, printed) -> None:
    """So that no mean of a column is a number that means nothing."""
    file = tmp_path / "v.csv"
    with open_table(solved(GAME, "fewest")) as table:
        export_values(table, file, states=True)
    values = [row["v"] for row in csv.DictReader(file.read_text().splitlines())]
    assert values.count("inf") == list(oracle.values(GAME, "fewest").states.values()).count(-NEVER) > 0
    (row,) = csv.DictReader(printed("solve 2x2 32 --start 4,2/2,4 --objective fewest -f csv -q").splitlines())
    assert row["value"] == "inf"
    board = json.loads(printed(f"probe {solved(Game('2x3', 64), 'fewest')} 2,8,8/32,8,32 -f json"))
    assert [slide["loss_text"] for slide in board["slides"]] == ["the win", "0", "the win", "0"]


@pytest.mark.parametrize(
    ("shape", "goal", "score"),
    [
        ("1x3", None, 56), ("2x2", 8, 20), ("2x2", 16, 56), ("2x2", 32, 132), ("2x2", None, 180),
        ("2x3", 16, 88),
    ],
)  # fmt: skip
def test_the_highest_score_is_that_of_all_games(shape: str, goal: int | None, score: int) -> None:
    """The numbers are those of a search over all games, by rules of its own."""
    assert oracle.values(Game(shape, goal), "highest").start == score


def test_the_highest_score_of_six_cells_without_a_goal() -> None:
    assert solve(Game("2x3"), "highest", threads=1).value == Exact(1260)


def test_the_command_says_with_luck(solved, printed) -> None:
    found = printed(f"probe {solved(GAME, 'score,highest')} 8,16/0,8 --objective highest")
    assert "highest score, with luck: 56\n* left  56" in found
