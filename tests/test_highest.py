"""The highest score of a game, with luck: what a search over all games finds, in both engines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import cached_oracle as oracle
from tilebase.cli import main
from tilebase.errors import UsageError
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Exact
from tilebase.questions.solve import solve
from tilebase.tables.probe import open_table
from tilebase.tables.verify import verify_table

Rows = tuple[tuple[int, ...], ...]
"""A board of tiles, 0 for an empty cell."""


def pushed(row: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """A row after a slide to the left, and the tiles made."""
    tiles, made, score = [tile for tile in row if tile], list[int](), 0
    while tiles:
        tile = tiles.pop(0)
        if tiles and tiles[0] == tile:
            tile += tiles.pop(0)
            score += tile
        made.append(tile)
    return (*made, *[0] * (len(row) - len(made))), score


def turned(board: Rows) -> Rows:
    """A quarter of a turn."""
    return tuple(zip(*board[::-1], strict=True))


def slid(board: Rows) -> Iterator[tuple[Rows, int]]:
    """The boards after slides, turned in any way, and the scores."""
    for _ in range(4):
        rows = [pushed(row) for row in board]
        after = tuple(row for row, _ in rows)
        if after != board:
            yield after, sum(score for _, score in rows)
        board = turned(board)


def spawned(board: Rows) -> Iterator[Rows]:
    for r, row in enumerate(board):
        for c, tile in enumerate(row):
            if not tile:
                for new in (2, 4):
                    yield (*board[:r], (*row[:c], new, *row[c + 1 :]), *board[r + 1 :])


def highest(rows: int, columns: int, goal: float = float("inf")) -> int:
    """The highest score of any game from two random tiles that ends at the goal: all games are tried."""

    @cache
    def most(board: Rows) -> int:
        found = [0]
        for after, score in slid(board):
            ends = max(map(max, after)) >= goal
            found.append(score + (0 if ends else max(map(most, spawned(after)))))
        return max(found)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    try:
        empty = ((0,) * columns,) * rows
        return max(most(board) for one in spawned(empty) for board in spawned(one))
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize(
    ("rows", "columns", "goal", "score"),
    [(1, 3, None, 56), (2, 2, 8, 20), (2, 2, 16, 56), (2, 2, 32, 132), (2, 2, None, 180), (2, 3, 16, 88)],
)
def test_it_is_what_a_search_finds(rows: int, columns: int, goal: int | None, score: int) -> None:
    game = Game((rows, columns), goal)
    assert highest(rows, columns, goal or float("inf")) == score
    assert oracle.values(game, "highest").start == score
    for space in ("reachable", *(["all"] if goal else [])):
        assert solve(game, "highest", space=space, threads=1).value == Exact(score)


def test_six_cells_without_a_goal() -> None:
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


def test_it_takes_a_goal_whose_tile_has_a_code_and_no_discount() -> None:
    with pytest.raises(
        UsageError, match="highest adds merges, and the goal 65536 does not fit 4 bits per cell"
    ):
        Objective("highest").check(Game("4x4", 65536))
    with pytest.raises(UsageError, match="highest takes no discount"):
        Objective("highest", discount="0.9")  # type: ignore[arg-type]
