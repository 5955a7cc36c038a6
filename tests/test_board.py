"""Boards: every form is read back to the same board, and every bad one is refused in a sentence."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import GAMES, games_and_boards
from tilebase.errors import BoardError, UsageError
from tilebase.game import board as drawing
from tilebase.game.board import Board
from tilebase.game.game import Cells, Game, WideGame

SMALL = Game("2x2", 32)
BOX = Game("2x2x3", 64, walls=[0], unmergeable=[5])
SVG = "{http://www.w3.org/2000/svg}"


@given(games_and_boards())
def test_every_form_is_read_back(drawn: tuple[Game, Cells]) -> None:
    game, cells = drawn
    board = Board(game, cells)
    assert Board.parse(game, board.text) == board
    assert Board.parse(game, str(board)) == board
    assert Board.parse(game, hex(board.key)) == board
    assert Board.parse(game, board.unicode()) == board
    assert Board.from_key(game, board.key) == board
    assert Board.from_numpy(game, board.to_numpy()) == board
    assert Board.from_numpy(game, board.to_numpy(exponents=True), exponents=True) == board


@given(games_and_boards())
def test_what_a_board_says_of_itself(drawn: tuple[Game, Cells]) -> None:
    game, cells = drawn
    board = Board(game, cells)
    tiles = board.to_numpy()
    assert tiles.shape == game.shape
    assert board.sum == tiles[tiles > 0].sum()
    assert board.max_tile == max(tiles.max(), 0)
    assert board.canonical().canonical() == board.canonical()
    assert board.orbit_size() == board.canonical().orbit_size()
    assert not board.won
    assert {name: after.cells for name, after in board.slides().items()} == game.slides(cells)


def test_a_board_is_a_value() -> None:
    board = Board(SMALL, (1, 2, 0, 3))
    assert {board: "seen"}[Board.parse(SMALL, "2,4/0,8")] == "seen"
    assert board != Board(Game("2x2", 16), (1, 2, 0, 3))
    assert Board(SMALL, [np.int64(1), 2, 0, 3]).cells == (1, 2, 0, 3)  # type: ignore[arg-type, list-item]
    with pytest.raises(FrozenInstanceError):
        board.cells = (0, 0, 0, 0)  # type: ignore[misc]


def test_a_won_board_can_be_seen_but_not_played() -> None:
    won = Board.parse(SMALL, "16,16/2,0").slides()["left"]
    assert (won.text, won.won, won.max_tile, won.sum) == ("32,0/2,0", True, 32, 34)
    assert won.slides() == {}
    assert "32" in won.unicode()
    assert won.to_numpy().tolist() == [[32, 0], [2, 0]]
    largest = Board(WideGame("8x8"), (63,) + (0,) * 63)
    assert largest.to_numpy(exponents=True).max() == 63
    with pytest.raises(UsageError, match="9223372036854775808 does not fit"):
        largest.to_numpy()
    with pytest.raises(BoardError, match="holds the goal: the game is over"):
        _ = won.key
    with pytest.raises(BoardError, match="tile 32 on cell 0 is not part of the game"):
        Board.parse(SMALL, won.text)


def test_a_won_board_beside_unmergeable_tiles_shows_the_goal() -> None:
    game = Game("1x4", 8, unmergeable=[3])
    assert Board.parse(game, "4,4,0,x").slides()["left"].text == "8,x,0,0"
    game = Game("4x4", 32768, unmergeable=[15])  # whose goal would have the code of x
    won = Board(game, (14, 14) + (0,) * 13 + (15,)).slides()["left"]
    assert (won.max_tile, won.to_numpy()[0, 0], won.text[:5]) == (32768, 32768, "32768")


def test_arrays_and_lists() -> None:
    board = Board.parse(BOX, "#,2,4/8,16,x/2,0,0/4,4,0")
    assert board.to_numpy().tolist() == [[[0, 2, 4], [8, 16, -1]], [[2, 0, 0], [4, 4, 0]]]
    assert board.to_numpy(exponents=True)[0, 1].tolist() == [3, 4, 15]
    assert Board.from_numpy(SMALL, [[2, 4], [0, 8]]).text == "2,4/0,8"
    assert Board.from_numpy(SMALL, [[1, 2], [0, 3]], exponents=True).text == "2,4/0,8"
    assert Board.from_numpy(SMALL, np.array([[2, 4], [0, 8]], dtype=np.uint8)).text == "2,4/0,8"


def test_picture_of_a_box() -> None:
    assert Board.parse(BOX, "#,2,4/8,16,x/2,0,0/4,4,0").unicode() == (
        "┌─────┬─────┬─────┐\n"
        "│ ### │   2 │   4 │\n"
        "├─────┼─────┼─────┤\n"
        "│   8 │  16 │   x │\n"
        "└─────┴─────┴─────┘\n"
        "┌─────┬─────┬─────┐\n"
        "│   2 │     │     │\n"
        "├─────┼─────┼─────┤\n"
        "│   4 │   4 │     │\n"
        "└─────┴─────┴─────┘"
    )
    lines = Board.parse(Game("4x4", limits=32768), "32768" + ",0" * 15).unicode().splitlines()
    assert lines[1] == "│ 32768 │       │       │       │"
    assert len(set(map(len, lines))) == 1


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_drawing_is_whole(game: Game) -> None:
    board = Board(game, game.starts()[-1][0])
    root = ET.fromstring(board.svg())
    cells = [rect for rect in root.iter(f"{SVG}rect") if rect.get("rx") == "6"]
    shown = [text.text for text in root.iter(f"{SVG}text")]
    assert root.findtext(f"{SVG}title") == board.text
    assert len(cells) == game.cells
    assert len(list(root.iter(f"{SVG}path"))) == len(game.walls)
    words = board.text.replace("/", ",").replace("x", "×").split(",")
    assert shown == [word for word in words if word not in "#0"]


@pytest.mark.parametrize("game", [SMALL, BOX], ids=str)
def test_cells_of_a_drawing_lie_side_by_side_with_their_numbers_in_the_middle(game: Game) -> None:
    root = ET.fromstring(Board(game, game.starts()[-1][0]).svg())
    boxes = {
        rx: [
            [float(rect.get(name, 0)) for name in ("x", "y", "width", "height")]
            for rect in root.iter(f"{SVG}rect")
            if rect.get("rx") == rx
        ]
        for rx in ("6", "10")
    }
    rows, columns = game.shape[-2:]
    for plane, (left, top, width, height) in enumerate(boxes["10"]):
        cells = boxes["6"][plane * rows * columns : (plane + 1) * rows * columns]
        size, gap = cells[0][2], cells[0][0] - left
        assert cells == [
            [left + gap + column * (size + gap), top + gap + row * (size + gap), size, size]
            for row in range(rows)
            for column in range(columns)
        ]
        assert (width, height) == (gap + columns * (size + gap), gap + rows * (size + gap))
    middles = {(x + width / 2, y + height / 2) for x, y, width, height in boxes["6"]}
    for text in root.iter(f"{SVG}text"):
        x, baseline, height = (float(text.get(name, 0)) for name in ("x", "y", "font-size"))
        assert any(x == middle and 0 < baseline - y < height / 2 for middle, y in middles)


@given(st.floats(1, 5000))
def test_drawing_has_the_size_asked_for(size: float) -> None:
    root = ET.fromstring(Board.parse(BOX, "#,2,4/8,16,x/2,0,0/4,4,0").svg(size))
    assert float(root.get("width", 0)) == pytest.approx(size, rel=1e-4)
    assert float(root.get("height", 0)) < size


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, 1 to 21, as WCAG 2.2 defines it."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_tiles_can_be_read() -> None:
    """Text stands out from its tile as WCAG 2.2 asks (4.5 to 1), and no two tiles look alike."""
    fills = [drawing.tile_color(exponent) for exponent in range(1, 18)] + [drawing.X_FILL]
    assert all(contrast(fill, drawing.ink_color(fill)) >= 4.5 for fill in fills)
    for fill in (*fills, drawing.EMPTY, drawing.WALL, drawing.GRID):
        best = max((drawing.DARK, drawing.LIGHT), key=lambda ink: contrast(ink, fill))
        assert drawing.ink_color(fill) == best
    assert len({*fills, drawing.EMPTY, drawing.WALL, drawing.GRID}) == len(fills) + 3


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Board(SMALL, (1, 2, 3)), "3 cells; a 2x2 board has 4"),
        (lambda: Board(SMALL, (1, 2, 3, 6)), "tile 64 on cell 3 is not part of the game"),
        (lambda: Board(SMALL, (1, 2, 3, -1)), "tile -1 on cell 3 is not part of the game"),
        (lambda: Board(Game("2x2"), (1, 2, 3, -1)), "tile -1 on cell 3 is not part of the game"),
        (lambda: Board.parse(SMALL, "│ 2 │ 4 │"), "has 2 cells; a 2x2 board has 4"),
        (lambda: Board.from_key(SMALL, -1), "does not fit a 2x2 board"),
        (lambda: Board.from_numpy(SMALL, [2, 4, 0]), "the shape (3,), but a 2x2 board has (2, 2)"),
        (lambda: Board.from_numpy(SMALL, [[2], [4, 0]]), "not an array of shape (2, 2)"),
        (lambda: Board.from_numpy(SMALL, np.ones((2, 2))), "an array of float64, but a board holds integers"),
        (lambda: Board.from_numpy(SMALL, np.ones((2, 2), dtype=bool)), "an array of bool"),
        (lambda: Board.from_numpy(SMALL, [[2, 4], [0, 3]]), "tile 3 is not a power of two"),
        (lambda: Board.from_numpy(SMALL, [[2, 4], [0, -1]]), "tile -1 is not a power of two"),
        (lambda: Board.from_numpy(SMALL, [[2, 4], [0, 32]]), "tile 32 on cell 3"),
        (lambda: Board.from_numpy(SMALL, [[1, 2], [0, 5]], exponents=True), "tile 32 on cell 3"),
        (lambda: Board.from_numpy(BOX, np.full(BOX.shape, -1)), "tile x on cell 0"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_board_that_cannot_be(make: Callable[[], Board], says: str) -> None:
    with pytest.raises(BoardError) as caught:
        make()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("size", [0, -5, float("nan")])
def test_a_drawing_that_cannot_be(size: float) -> None:
    with pytest.raises(UsageError, match="must be above 0 and below 1,000,000 pixels"):
        Board.parse(SMALL, "2,4/0,8").svg(size)
