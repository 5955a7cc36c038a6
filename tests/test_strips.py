"""Games as pictures: tiles keep their identity, strips and animations show every position."""

from __future__ import annotations

import random
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from tilebase._version import version
from tilebase.cli import main
from tilebase.errors import UsageError
from tilebase.patterns import strips
from tilebase.patterns.moves import moves_text, replay, with_drops
from tilebase.patterns.rules import Drop, Move, Position, Rules
from tilebase.patterns.strips import Trace, draw_animation, draw_strip, trace

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


def tile_at(game: Trace, number: int) -> list[tuple[int, int]]:
    """Cell and exponent of each tile after a move."""
    return [
        ([cell for move, cell in tile.way if move <= number][-1], tile.exponent)
        for tile in game.tiles
        if tile.born <= number and (tile.died is None or tile.died > number)
    ]


@pytest.mark.parametrize(("rules", "moves"), GAMES, ids=lambda value: str(value)[:9])
def test_tiles_make_up_every_position(rules: Rules, moves: tuple[Move, ...]) -> None:
    game = trace(rules, moves)
    positions = replay(rules, moves)
    assert list(game.positions) == positions
    for number, position in enumerate(positions[1:]):
        found = tile_at(game, number)
        assert sorted(found) == [(cell, value) for cell, value in enumerate(position) if value]


@pytest.mark.parametrize(("rules", "moves"), GAMES, ids=lambda value: str(value)[:9])
def test_two_tiles_end_where_a_merge_begins(rules: Rules, moves: tuple[Move, ...]) -> None:
    tiles = trace(rules, moves).tiles
    for made in tiles:
        if made.merged:
            ends = [tile for tile in tiles if tile.died == made.born and tile.cell == made.way[0][1]]
            assert [tile.exponent for tile in ends] == [made.exponent - 1] * 2
        else:
            assert moves[made.born] == Drop(made.way[0][1], made.exponent)
    assert sum(tile.died is not None for tile in tiles) == 2 * sum(tile.merged for tile in tiles)


def test_tiles_move_along_the_slide_only() -> None:
    rules, moves = GAMES[4]
    for tile in trace(rules, moves).tiles:
        for (_, before), (number, after) in zip(tile.way, tile.way[1:], strict=False):
            along = [line for line in rules.lines[str(moves[number])] if {before, after} <= set(line)]
            assert len(along) == 1
            assert along[0].index(after) < along[0].index(before)


# -- strips ------------------------------------------------------------------------------------------


def cell_at(rules: Rules, side: int, left: float, top: float) -> int:
    gap = max(2, side // 10)
    column, over = divmod(left - gap - side // 2, side + gap)
    row, below = divmod(top - gap - side // 2, side + gap)
    assert not over
    assert not below
    return int(row * rules.columns + column)


def side_of(root: ET.Element) -> int:
    """The side of a cell."""
    frame = root.find(f"{SVG}defs/{SVG}g/{SVG}rect[2]")
    assert frame is not None
    return int(frame.get("width", ""))


def boards_of(rules: Rules, text: str) -> list[tuple[str, Position, list[int]]]:
    """For each board of a strip, its caption, its position and the cells with a frame."""
    root = ET.fromstring(text)
    found = []
    for group in root.findall(f"{SVG}g"):
        board, framed = [0] * rules.cells, []
        for use in group.findall(f"{SVG}use"):
            name = use.get("href", "")[1:]
            if name == "b":
                continue
            cell = cell_at(rules, side_of(root), float(use.get("x", "")), float(use.get("y", "")))
            if name == "n":
                framed.append(cell)
            else:
                board[cell] = int(name[1:])
        caption = group.find(f"{SVG}text")
        assert caption is not None
        found.append((str(caption.text), tuple(board), framed))
    return found


@pytest.mark.parametrize(("rules", "moves"), GAMES, ids=lambda value: str(value)[:9])
def test_strips_show_the_board_after_each_drop(rules: Rules, moves: tuple[Move, ...]) -> None:
    positions = replay(rules, moves)
    expected = []
    for number, move in enumerate(moves):
        count = len(expected) + 1
        if isinstance(move, Drop):
            slide = f" {moves[number - 1]}" if number else ""
            expected.append((f"{count}.{slide}", positions[number + 1], [move.cell]))
        elif number == len(moves) - 1:
            expected.append((f"{count}. {move}", positions[number + 1], []))
    assert boards_of(rules, draw_strip(rules, moves)) == expected


@pytest.mark.parametrize(("rules", "moves"), GAMES, ids=lambda value: str(value)[:9])
def test_boards_lie_within_the_strip_and_apart(rules: Rules, moves: tuple[Move, ...]) -> None:
    root = ET.fromstring(draw_strip(rules, moves))
    back = root.find(f"{SVG}defs/{SVG}g/{SVG}rect")
    assert back is not None
    width, height = int(back.get("width", "")), int(back.get("height", ""))
    corners = [
        tuple(map(int, re.findall(r"\d+", group.get("transform", "")))) for group in root.findall(f"{SVG}g")
    ]
    assert all(x + width < int(root.get("width", "")) for x, _ in corners)
    assert all(y + height < int(root.get("height", "")) for _, y in corners)
    assert int(root.get("width", "")) <= max(strips.STRIP_WIDTH, width + 32)
    for at, (x, y) in enumerate(corners):
        assert all(abs(x - a) > width or abs(y - b) > height + 20 for a, b in corners[at + 1 :])


# -- animations --------------------------------------------------------------------------------------

STYLE = re.compile(r"translate\((\d+)px,(\d+)px\) scale\(([\d.]+)\)")


def keyframes(text: str) -> dict[str, list[tuple[float, str]]]:
    """Of each animation, the percents and the styles."""
    return {
        name: [(float(percent), style) for percent, style in re.findall(r"([\d.]+)%\{([^}]*)\}", body)]
        for name, body in re.findall(r"@keyframes (\w+)\{((?:[\d.]+%(?:,100%)?\{[^}]*\})*)\}", text)
    }


def tiles_of(text: str) -> list[tuple[int, str, str]]:
    """Of each tile, its exponent, the name of its animation, and its style at rest."""
    found = re.findall(r'<use href="#t(\d+)" class="a" style="animation-name:(\w+);transform:([^"]*)"', text)
    return [(int(exponent), name, rest) for exponent, name, rest in found]


def board_of(rules: Rules, side: int, seen: list[tuple[int, str]]) -> Position:
    """The board that tiles of some styles make."""
    board = [0] * rules.cells
    for exponent, style in seen:
        place = STYLE.search(style)
        assert place
        if float(place[3]):
            assert place[3] == "1"
            cell = cell_at(rules, side, int(place[1]), int(place[2]))
            assert not board[cell]
            board[cell] = exponent
    return tuple(board)


@pytest.mark.parametrize("speed", [0.1, 2, 20])
@pytest.mark.parametrize(("rules", "moves"), GAMES, ids=lambda value: str(value)[:9])
def test_animations_show_every_position(rules: Rules, moves: tuple[Move, ...], speed: float) -> None:
    text = draw_animation(rules, moves, speed=speed)
    side = side_of(ET.fromstring(text))
    frames, tiles = keyframes(text), tiles_of(text)
    seconds = float(re.findall(r"\.a\{animation:([\d.]+)s", text)[0])
    turns = 1 + sum(isinstance(move, str) for move in moves)
    assert seconds == pytest.approx(turns / speed + 3)
    for turn in range(turns):
        percent = 100 * (turn + 0.95) / speed / seconds
        seen = []
        for exponent, name, _ in tiles:
            before = [style for at, style in frames[name] if at <= percent][-1]
            assert before == next(style for at, style in frames[name] if at >= percent)
            seen.append((exponent, before))
        slides = [number for number, move in enumerate(moves) if isinstance(move, str)]
        last = len(moves) if turn + 1 == turns else slides[turn]
        assert board_of(rules, side, seen) == replay(rules, moves)[last]


@pytest.mark.parametrize(("rules", "moves"), GAMES, ids=lambda value: str(value)[:9])
def test_frames_follow_each_other(rules: Rules, moves: tuple[Move, ...]) -> None:
    frames = keyframes(draw_animation(rules, moves, speed=20))
    assert {"U", "D", "L", "R"} <= set(frames)
    for shown in frames.values():
        percents = [percent for percent, _ in shown]
        assert percents == sorted(set(percents))
        assert percents[0] == 0


def test_at_rest_the_last_board_is_seen() -> None:
    for rules, moves in GAMES:
        text = draw_animation(rules, moves)
        seen = [(exponent, rest) for exponent, _, rest in tiles_of(text)]
        assert board_of(rules, side_of(ET.fromstring(text)), seen) == replay(rules, moves)[-1]
        assert "@media(prefers-reduced-motion:reduce){.a{animation:none!important}}" in text


def test_triangles_show_the_slides() -> None:
    rules = Rules(2, 2, convention="rows")
    frames = keyframes(draw_animation(rules, with_drops(rules, "RRDRL"), speed=1))
    begins = {name: [at for at, style in frames[name] if style == "opacity:1"][::2] for name in "UDLR"}
    assert [len(begins[name]) for name in "UDLR"] == [0, 1, 1, 3]
    assert begins["L"] == [pytest.approx(100 * 5 / 9, abs=0.01)]


# -- both --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("draw", [draw_strip, draw_animation])
def test_a_long_game_on_a_large_board(draw: Callable[..., str]) -> None:
    rules = Rules(10, 10)
    text = draw(rules, random_game(rules, 157, 1))
    assert len(text) < 500_000
    ET.fromstring(text)
    assert "<script" not in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize("draw", [draw_strip, draw_animation])
def test_titles(draw: Callable[..., str]) -> None:
    rules = Rules(2, 2)
    assert "<title>2x2: a game of 1 slides and 2 drops</title>" in draw(rules, (Drop(0), "R", Drop(0)))
    assert "<title>a &lt; b</title>" in draw(rules, (Drop(0),), "a < b")


@pytest.mark.parametrize("draw", [draw_strip, draw_animation])
def test_games_that_cannot_be_drawn(draw: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="a game without moves makes no picture: give at least one drop"):
        draw(Rules(2, 2), ())
    with pytest.raises(UsageError, match="move 2, L, moves nothing"):
        draw(Rules(2, 2), (Drop(0), "L"))
    with pytest.raises(UsageError, match="a board of 60x60 is too large for a picture: at most 2,500 cells"):
        draw(Rules(60, 60), (Drop(0),))
    monkeypatch.setattr(strips, "MOST_MOVES", 2)
    with pytest.raises(UsageError, match="a game of 3 moves is too long for a picture: at most 2 fit"):
        draw(Rules(2, 2), (Drop(0), "R", Drop(0)))


def test_strips_that_are_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strips, "MOST_SQUARES", 4)
    with pytest.raises(UsageError, match="a strip of 2 boards of 2x2 is too large: it may have 1 of them"):
        draw_strip(Rules(2, 2), (Drop(0), "R", Drop(0)))


@pytest.mark.parametrize("speed", [0.0, 0.05, -1.0, 21.0, float("nan"), float("inf")])
def test_speeds_that_are_not_possible(speed: float) -> None:
    with pytest.raises(UsageError, match=r"give 0\.1 to 20 slides a second"):
        draw_animation(Rules(2, 2), (Drop(0),), speed=speed)


# -- the command -------------------------------------------------------------------------------------


def without_metadata(picture: Path) -> str:
    return re.sub("<metadata>.*?</metadata>", "", picture.read_text())


def test_a_picture_names_its_command_and_the_version(folder: Path) -> None:
    command = ["reach", "replay", "2x2", "(1,1)R", "--record", "a.svg"]
    assert main(command) == 0
    found = {
        one.tag.rpartition("}")[2]: one.text for one in ET.parse("a.svg").getroot().find(".//{*}Work").iter()
    }
    assert found["description"] == "tilebase reach replay 2x2 '(1,1)R'"
    assert found["title"] == f"tilebase {version()}"


@pytest.mark.parametrize(
    ("name", "more"), [("checkerboard-3x3", []), ("checkerboard-3x3-moves", ["--animated"])]
)
def test_the_pictures_of_the_documentation(folder: Path, name: str, more: list[str]) -> None:
    command = ["reach", "replay", "3x3", CHECKERBOARD, "--deterministic"]
    assert main([*command, "--record", f"{name}.svg", *more]) == 0
    drawn = without_metadata(Path(f"{name}.svg"))
    assert drawn == without_metadata(IMAGES / f"{name}.svg")


def test_the_picture_is_that_of_the_functions(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules, moves = GAMES[2]
    command = ["reach", "replay", "3x3", moves_text(rules, moves), "--format", "json", "--record", "a.SVG"]
    assert main(command) == 0
    assert without_metadata(Path("a.SVG")) == draw_strip(rules, moves)
    assert main([*command, "--animated", "--speed", "5"]) == 0
    assert without_metadata(Path("a.SVG")) == draw_animation(rules, moves, speed=5)
    assert capsys.readouterr().err == ""


def test_the_picture_needs_no_matplotlib(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert main(["reach", "replay", "2x2", "RR", "--deterministic", "--record", "a.svg"]) == 0
    assert Path("a.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        ("--animated", 2, "--animated and --speed are for an SVG picture: name it, as --record game.svg"),
        ("--record a.csv --animated", 2, "--animated and --speed are for an SVG picture"),
        ("--speed 3", 2, "--animated and --speed are for an SVG picture"),
        ("--record a.svg --speed 3", 2, "--speed is for an animation: give --animated, too"),
        ("--record a.svg --animated --speed 30", 2, "a speed of 30 is not possible"),
        ("--record a.pdf --animated", 2, "--animated and --speed are for an SVG picture"),
        ("--record none/a.svg", 1, "cannot write none/a.svg: the folder none does not exist"),
        ("--record a.svg -o a.csv", 2, "Unknown option: -o"),
    ],
)
def test_the_command_refuses(
    refused: Callable[..., None], folder: Path, words: str, status: int, sentence: str
) -> None:
    refused(["reach", "replay", "2x2", "RR", "--deterministic", *words.split()], status, sentence)
    assert list(folder.glob("*.svg")) == []
