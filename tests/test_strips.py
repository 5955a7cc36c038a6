"""Games as pictures: strips show every position."""

from __future__ import annotations

import random
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tilebase._version import version
from tilebase.cli import main
from tilebase.errors import UsageError
from tilebase.game.board import CELL, GAP
from tilebase.patterns import strips
from tilebase.patterns.moves import moves_text, replay
from tilebase.patterns.rules import Drop, Move, Rules
from tilebase.patterns.strips import draw_strip

IMAGES = Path(__file__).parents[1] / "docs/img"
SVG = "{http://www.w3.org/2000/svg}"
CHECKERBOARD = "RRRDRDUDURRL"
"""A deterministic game of 3x3 that ends with a checkerboard."""


def random_game(rules: Rules, drops: int, seed: int) -> tuple[Move, ...]:
    """A game of at most so many drops; half of them end with a slide."""
    choose = random.Random(seed)
    moves: list[Move] = []
    position = rules.empty
    for _ in range(drops):
        new, position = choose.choice(list(rules.spawns(position)))
        moves.append(new)
        slides = list(rules.slides(position))
        if not slides:
            return tuple(moves)
        direction, position = choose.choice(slides)
        moves.append(direction)
    return tuple(moves[: len(moves) - seed % 2])


GAMES = [
    (Rules(rows, columns, drops), random_game(Rules(rows, columns, drops), count, seed))
    for seed, (rows, columns, drops, count) in enumerate(
        [
            (1, 1, (1,), 1),
            (1, 4, (1, 2), 9),
            (3, 3, (1,), 9),
            (2, 8, (1, 2), 40),
            (4, 4, (1,), 100),
            (5, 2, (1, 2), 60),
        ]
    )
]


def boards_of(rules: Rules, text: str) -> list[tuple[str, str, list[int]]]:
    """For each board of a strip, its caption, its position and the cells with a frame."""
    root = ET.fromstring(text)
    found = []
    for caption, board in zip(root.findall(f"{SVG}text"), root.findall(f"{SVG}svg"), strict=True):
        framed = []
        for frame in board.findall(f"{SVG}rect[@fill='none']"):
            middle = [float(frame.get(at, "")) + float(frame.get("width", "")) / 2 for at in "yx"]
            row, column = ((place - GAP - CELL / 2) / (CELL + GAP) for place in middle)
            framed.append(round(row * rules.columns + column, 3))
        found.append((str(caption.text), str(board.findtext(f"{SVG}title")), framed))
    return found


@pytest.mark.parametrize(("rules", "moves"), GAMES, ids=lambda value: str(value)[:9])
def test_strips_show_the_board_after_each_drop(rules: Rules, moves: tuple[Move, ...]) -> None:
    positions = replay(rules, moves)
    expected = []
    for number, move in enumerate(moves):
        count = len(expected) + 1
        if isinstance(move, Drop):
            slide = f" {moves[number - 1]}" if number else ""
            expected.append((f"{count}.{slide}", rules.text(positions[number + 1]), [move.cell]))
        elif number == len(moves) - 1:
            expected.append((f"{count}. {move}", rules.text(positions[number + 1]), []))
    assert boards_of(rules, draw_strip(rules, moves)) == expected


@pytest.mark.parametrize(("rules", "moves"), GAMES, ids=lambda value: str(value)[:9])
def test_boards_lie_within_the_strip_and_apart(rules: Rules, moves: tuple[Move, ...]) -> None:
    root = ET.fromstring(draw_strip(rules, moves))
    boards = root.findall(f"{SVG}svg")
    width, height = (float(boards[0].get(name, "")) for name in ("width", "height"))
    corners = [(float(board.get("x", "")), float(board.get("y", ""))) for board in boards]
    assert all(x + width < float(root.get("width", "")) for x, _ in corners)
    assert all(y + height < float(root.get("height", "")) for _, y in corners)
    assert float(root.get("width", "")) <= max(strips.STRIP_WIDTH, width + 32)
    for at, (x, y) in enumerate(corners):
        assert all(abs(x - a) > width or abs(y - b) > height + 20 for a, b in corners[at + 1 :])


def test_a_long_game_on_a_large_board() -> None:
    rules = Rules(10, 10)
    text = draw_strip(rules, random_game(rules, 157, 1))
    assert len(text) < 2_000_000
    ET.fromstring(text)
    assert "<script" not in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_titles() -> None:
    strip = draw_strip(Rules(2, 2), (Drop(0), "R", Drop(0)))
    assert "<title>2x2: a game of 1 slides and 2 drops</title>" in strip


def test_strips_that_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(strips, "MOST_MOVES", 2)
        with pytest.raises(UsageError, match="a game of 3 moves is too long for a picture: at most 2 fit"):
            draw_strip(Rules(2, 2), (Drop(0), "R", Drop(0)))
    monkeypatch.setattr(strips, "MOST_SQUARES", 4)
    with pytest.raises(UsageError, match="a strip of 2 boards of 2x2 is too large: it may have 1 of them"):
        draw_strip(Rules(2, 2), (Drop(0), "R", Drop(0)))


def without_metadata(picture: Path) -> str:
    return re.sub("<metadata>.*?</metadata>", "", picture.read_text())


def test_a_picture_names_its_command_and_the_version(folder: Path) -> None:
    assert main(["reach", "replay", "2x2", "(1,1)R", "--record", "a.svg"]) == 0
    found = {
        one.tag.rpartition("}")[2]: one.text for one in ET.parse("a.svg").getroot().find(".//{*}Work").iter()
    }
    assert found["description"] == "tilebase reach replay 2x2 '(1,1)R'"
    assert found["title"] == f"tilebase {version()}"


def test_the_picture_of_the_documentation(folder: Path) -> None:
    name = "checkerboard-3x3.svg"
    assert main(["reach", "replay", "3x3", CHECKERBOARD, "--deterministic", "--record", name]) == 0
    assert without_metadata(Path(name)) == without_metadata(IMAGES / name)


def test_the_picture_is_that_of_the_functions_and_needs_no_matplotlib(folder: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    rules, moves = GAMES[2]
    command = ["reach", "replay", "3x3", moves_text(rules, moves), "--format", "json", "--record", "a.SVG"]
    assert main(command) == 0
    assert without_metadata(Path("a.SVG")) == draw_strip(rules, moves)
