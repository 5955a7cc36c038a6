"""With luck: the fewest slides to a win, or "never", and the highest score.  Both are exact."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import pytest

import cached_oracle as oracle
from tilebase.cli import main
from tilebase.counting.tiles import least_slides
from tilebase.datasets.exporting import export_values
from tilebase.errors import UsageError
from tilebase.game.game import Cells, Game
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import NEVER, Exact, short_text
from tilebase.questions.solve import solve
from tilebase.tables.probe import open_table
from tilebase.tables.verify import verify_table

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
def test_the_fewest_slides_are_what_a_search_finds(game: Game) -> None:
    found = solve(game, "fewest", threads=1).value
    assert found == Exact(shortest(game))
    assert -oracle.values(game, "fewest").start == shortest(game)


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
    assert (least_slides(game) or 0) < shortest(game)


@pytest.mark.parametrize(
    "rules", [{"start": "8,8/0,0"}, {"pattern": "8,*/*,*"}, {"goal_sum": 12}, {"goal": None}], ids=str
)
def test_the_theorem_is_about_two_small_tiles_and_one_way_to_win(rules: dict[str, object]) -> None:
    assert least_slides(Game("2x2", **{"goal": 16, **rules})) is None  # type: ignore[arg-type]


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
        able = [value for value in here if value != NEVER]
        assert layer.mean == (pytest.approx(float(sum(able) / len(able))) if able else NEVER)
    rows, told = list(found.rows()), found.as_dict()["layers"]
    assert any(row["largest"] == math.inf for row in rows)
    assert [row["largest"] for row in told] == [
        None if row["largest"] == math.inf else row["largest"] for row in rows
    ]


def test_never_is_infinite_in_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So that no mean of a column is a number that means nothing."""
    solve(GAME, "fewest", table=tmp_path / "t", threads=1)
    file = tmp_path / "v.csv"
    with open_table(tmp_path / "t") as table:
        export_values(table, file, states=True)
    values = [row["v"] for row in csv.DictReader(file.read_text().splitlines())]
    never = list(oracle.values(GAME, "fewest").states.values()).count(-NEVER)
    assert values.count("inf") == never > 0
    assert main(["solve", "2x2", "32", "--start", "4,2/2,4", "--objective", "fewest", "-f", "csv", "-q"]) == 0
    assert next(csv.DictReader(capsys.readouterr().out.splitlines()))["value"] == "inf"


def test_fewest_needs_a_goal_and_no_horizon() -> None:
    with pytest.raises(UsageError, match="fewest needs a goal"):
        Objective("fewest").check(Game("2x2"))
    with pytest.raises(UsageError, match="fewest fits games without a horizon"):
        Objective("fewest").check(Game("2x2", 32, horizon=18))


# -- the highest score --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "goal", "score"),
    [
        ("1x3", None, 56), ("2x2", 8, 20), ("2x2", 16, 56), ("2x2", 32, 132), ("2x2", None, 180),
        ("2x3", 16, 88),
    ],
)  # fmt: skip
def test_the_highest_score_is_that_of_all_games(shape: str, goal: int | None, score: int) -> None:
    """The numbers are those of a search over all games, by rules of its own."""
    game = Game(shape, goal)
    assert oracle.values(game, "highest").start == score
    for space in ("reachable", *(["all"] if goal else [])):
        assert solve(game, "highest", space=space, threads=1).value == Exact(score)


def test_the_highest_score_of_six_cells_without_a_goal() -> None:
    assert solve(Game("2x3"), "highest", threads=1).value == Exact(1260)


@pytest.mark.parametrize("space", ["reachable", "all"])
@pytest.mark.parametrize(
    ("game", "score"),
    [
        (Game("2x2", 32, start="2,4/4,2"), 0),
        (Game("1x3", 16, start="4,4,2", limits="4,4,4"), 0),
        (Game("1x3", 16, start="4,4,2", limits="8,4,4"), 12),
        (Game("1x3", 8, start="4,4,2", limits="4,4,4"), 8),
    ],
    ids=str,
)
def test_a_slide_that_is_not_allowed_earns_nothing(game: Game, score: int, space: str) -> None:
    """Limits forbid slides whose merges would add something, which kernels add to a very small number."""
    assert oracle.values(game, "highest").start == score
    assert solve(game, "highest", space=space, threads=1).value == Exact(score)


@pytest.mark.parametrize("space", ["reachable", "all"])
def test_tables_are_probed_and_verified(space: str, tmp_path: Path, capsys) -> None:
    game = Game("2x2", 32)
    solve(game, "score,highest", space=space, table=tmp_path / "t", threads=1)
    exact = oracle.values(game, "highest")
    with open_table(tmp_path / "t") as table:
        for state, value in exact.states.items():
            assert table.probe(game.format(state), "highest").value == Exact(int(value))
    assert verify_table(tmp_path / "t", sample=None).wrong == ()
    assert main(["probe", str(tmp_path / "t"), "8,16/0,8", "--objective", "highest"]) == 0
    assert "highest score, with luck: 56\n* left  56" in capsys.readouterr().out


def test_highest_takes_a_goal_whose_tile_has_a_code_and_no_discount() -> None:
    with pytest.raises(
        UsageError, match="highest counts tiles, and the goal 65536 does not fit 4 bits per cell"
    ):
        Objective("highest").check(Game("4x4", 65536))
    with pytest.raises(UsageError, match="highest takes no discount"):
        Objective("highest", discount="0.9")  # type: ignore[arg-type]
