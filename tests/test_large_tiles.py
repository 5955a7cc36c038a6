"""Probing real boards: which tiles are large, which image fits, and whose directions the answer has."""

from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import cached_oracle as oracle
from judging import agrees
from tilebase import Answer, Board, Table, __version__, open_table, open_tables
from tilebase.cli import main
from tilebase.errors import BoardError, MissingBoardError, MissingLayerError, MissingObjectiveError
from tilebase.game.game import Cells, Game
from tilebase.objectives.values import sort_key
from tilebase.tables.large_tiles import LargeTiles, read_tiles
from tilebase.tables.real_boards import RealBoard

CORNER = Game("2x3", 16, masks="..x/..x", start="after 0,2,x/2,0,x")
ONE = Game("2x3", 16, masks="..x/...", start="after 0,0,x/2,0,0|2,0,x/0,0,0")
SEVERAL = Game("2x3", 16, masks="..x/...|x../...", start="after x,0,0/0,2,0", horizon=30)
BIG = Game("3x3", 32, masks=".../..x/.xx", start="after 2,0,0/0,0,x/2,x,x|0,0,0/0,2,x/2,x,x", horizon=60)
FREE = Game("2x3", 16, unmergeable=[4])
MORE = Game("2x3", 16, masks=".../..x", unmergeable=[1, 5], start="after 0,x,0/2,2,x")  # one x is free
GOALS = Game(
    "3x3", pattern="*,32,*/*,*,*/*,*,*", masks=".../.../xxx", start="after 2,2,4/0,0,2/x,x,x", horizon=60
)
CONTINUED = Game("2x3", masks="..x/...", start="after 0,0,x/2,0,0")
WALLED = Game("2x3", 16, masks="..x/...", walls=[3], start="after 0,0,x/#,0,2")
WIDE = {code: code + 0xFEE0 for code in range(33, 127)}
"""As a Chinese keyboard writes characters."""
GAMES = (CORNER, ONE, SEVERAL, BIG, FREE, MORE, GOALS, CONTINUED, WALLED)


def objectives(game: Game) -> str:
    return "win" if game.can_win else "score"


def rows(game: Game, tiles: list[int] | Cells) -> str:
    width = game.shape[-1]
    return "/".join(",".join(map(str, tiles[at : at + width])) for at in range(0, len(tiles), width))


def realise(game: Game, board: Cells, source: Cells, rng: random.Random) -> list[int]:
    """A real board whose image under `source` is a board of the game: different large tiles stand for x."""
    large = iter(rng.sample(range(LargeTiles(game).most + 2, 18), len(game.unmergeable)))
    tiles = [0] * game.cells
    for cell, e in enumerate(board):
        tiles[source[cell]] = 2 ** (next(large) if game.is_x(e) else e) if e else 0
    return tiles


def some_states(game: Game, rng: random.Random, most: int = 60) -> list[Cells]:
    states = sorted(oracle.values(game, objectives(game)).states)
    return rng.sample(states, min(most, len(states)))


# -- against probes of the table's own boards ------------------------------------------------------


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_a_real_board_is_worth_what_its_board_with_x_is(game: Game, solved: Callable[..., Path]) -> None:
    rng = random.Random(str(game))
    images = [p for p in sorted(game.grid.symmetries) if {p[c] for c in game.walls} == set(game.walls)]
    with open_table(solved(game, objectives(game))) as table:
        for state in some_states(game, rng):
            tiles = realise(game, state, rng.choice(images), rng)
            found = table.probe(rows(game, tiles))
            assert sort_key(found.value) >= sort_key(table.probe(Board(game, state)).value)
            assert found.board.tiles == tuple(t.bit_length() - 1 if t else 0 for t in tiles)
            check(table, tiles, found)


def check(table: Table, tiles: list[int], found: Answer) -> None:
    """Slide the real board by the rules of a game without x, and compare each slide with the table's."""
    game, sources = table.game, found.board.reading.orientation.sources
    large = set(found.large_tiles)
    assert [1 << found.board.tiles[cell] for cell in found.board.reading.large] == list(found.large_tiles)

    def as_board(cells: Cells) -> Cells:
        return tuple(game.x if 2 ** cells[s] in large else cells[s] for s in sources)

    plain = Game(game.shape, walls=game.walls)
    state = as_board(found.board.tiles)
    assert found.board.cells == state
    known = {slide.cells: slide for slide in table.probe(Board(game, state)).slides}
    afters = {name: plain.slide_any(found.board.tiles, name) for name in plain.directions}
    assert {slide.direction for slide in found.slides} == {
        name for name, after in afters.items() if after != found.board.tiles and as_board(after) in known
    }
    for slide in found.slides:
        same = known[as_board(slide.after.tiles)]
        assert slide.after.tiles == afters[slide.direction]
        assert (slide.value, slide.wins, slide.merges_large) == (same.value, same.wins, False)
        assert [(as_board(b.tiles), p) for b, p in slide.spawns()] == [(b.cells, p) for b, p in same.spawns()]
    most = max((sort_key(slide.value) for slide in found.slides), default=0.0)
    assert all(sort_key(s.value) == pytest.approx(most) for s in found.slides if s.direction in found.best)
    assert bool(found.best) == bool(found.slides)


def test_every_image_has_its_name() -> None:
    """The words, checked against turns of an array by NumPy."""
    turns = {
        "as given": lambda a: a,
        "rotated by 90 degrees clockwise": lambda a: np.rot90(a, -1),
        "rotated by 180 degrees": lambda a: np.rot90(a, 2),
        "rotated by 90 degrees counterclockwise": np.rot90,
        "mirrored left to right": np.fliplr,
        "mirrored top to bottom": np.flipud,
        "mirrored at the diagonal from the top left": np.transpose,
        "mirrored at the diagonal from the top right": lambda a: np.rot90(np.transpose(a), 2),
    }
    game = Game("3x3", 32, masks=".../x../xxx", start="after 0,0,0/x,0,2/x,x,x")
    found = {one.name: one.sources for one in LargeTiles(game).orientations}
    numbers = np.arange(9).reshape(3, 3)
    assert found == {name: tuple(turn(numbers).ravel().tolist()) for name, turn in turns.items()}
    # Images that the game makes equal are one.
    assert len(LargeTiles(Game("3x3", 32, unmergeable=[0])).orientations) == 1
    assert len(LargeTiles(CORNER).orientations) == 2
    assert len(LargeTiles(Game("2x2x2", 8, unmergeable=[0])).orientations) == 1
    box = LargeTiles(Game("2x2x2", 8, masks=[[7]], start="after 0,0,0,0,0,0,2,x"))
    assert len(box.orientations) == 8
    assert all(one.name == "as given" or "in the order" in one.name for one in box.orientations)


def test_a_real_board_of_one_row_says_of_each_slide_why_it_is_refused() -> None:
    board = RealBoard(Game("1x4", 16, unmergeable=[0]), (5, 1, 2, 0))
    assert board.refusals() == dict.fromkeys(("left", "up", "down"), "moves nothing")


def test_several_readings_give_the_best(solved: Callable[..., Path]) -> None:
    """The mask is its own mirror image, and the goal cell is not."""
    with open_table(solved(GOALS)) as table:
        for state in some_states(GOALS, random.Random(5), 30):
            mirrored = tuple(state[3 * (c // 3) + 2 - c % 3] for c in range(9))
            real = [realise(GOALS, b, tuple(range(9)), random.Random(1)) for b in (state, mirrored)]
            texts = [rows(GOALS, tiles) for tiles in real]
            assert len({table.probe(text).value for text in texts}) == 1  # goal cells in the middle column
    game = Game("2x3", pattern="16,*,*/*,*,*", masks=".../.x.", start="after 2,0,0/0,x,2", horizon=40)
    seen = won = 0
    with open_table(solved(game)) as table:
        for state in some_states(game, random.Random(6)):
            mirrored = tuple(state[3 * (c // 3) + 2 - c % 3] for c in range(6))
            text = rows(game, realise(game, state, tuple(range(6)), random.Random(2)))
            if mirrored[0] == 4:  # the goal stands on the goal cell of this image, which is no reading then
                won += 1
            values = [sort_key(table.probe(Board(game, state)).value)]
            other = None if mirrored[0] == 4 else table.get(Board(game, mirrored))
            if other is not None and mirrored != state:
                values.append(sort_key(other.value))
            found = table.probe(text)
            assert sort_key(found.value) == max(values)
            assert [sort_key(one) for one in found.others] == sorted(values, reverse=True)[1:]
            if len(values) > 1:
                assert f"the next is worth {found.others[0]}" in " ".join(found.notes)
                seen += 1
    assert seen
    assert won


def test_a_tile_as_large_as_the_goal_may_be_either(solved: Callable[..., Path]) -> None:
    """With goal cells, the goal tile elsewhere is no win.  So each choice of the large tiles is a reading."""
    reader = LargeTiles(GOALS)
    assert (reader.least, reader.most) == (5, 5)
    tiles = read_tiles(GOALS, "2,4,32/0,0,2/32,64,128")
    assert tiles is not None
    assert [one.large for one in reader.readings(tiles)] == [(6, 7, 8)]
    with pytest.raises(BoardError, match="stand on the mask"):
        reader.readings(read_tiles(GOALS, "2,4,2/0,64,2/32,0,128") or ())
    with pytest.raises(BoardError, match="the goal stands on one of its cells: the board is won already"):
        reader.readings(read_tiles(GOALS, "2,32,2/0,4,2/32,64,128") or ())


# -- what a player may write -----------------------------------------------------------------------


def test_forms_of_a_board(solved: Callable[..., Path]) -> None:
    text = "2,2,0/0,0,64/2,128,256"
    array = np.array([[2, 2, 0], [0, 0, 64], [2, 128, 256]])
    with open_table(solved(BIG)) as table:
        expected = table.probe(text)
        forms = (
            "2 2 . . . 64 2 128 256", "110006178", "0x110006178", 0x110006178, array, array.tolist(),
            json.dumps(array.tolist()), json.dumps({"board": array.ravel().tolist()}), array.ravel(),
            " 2;2;-;_;0;64;2;128;256 ", text.translate(WIDE), text.replace(",", "、"),
        )  # fmt: skip
        for form in forms:
            assert table.probe(form) == expected
        known, turned = table.probe("64,128,2/256,0,2/2,0,0"), table.probe("x,128,2/x,0,2/2,0,0")
        assert (turned.value, turned.best, turned.large_tiles) == (known.value, known.best, (128,))
        assert turned.how == "read rotated by 180 degrees, with the large tiles 128, x, x"
        with pytest.raises(BoardError, match=r"large tiles \(x, x, x\) do not stand on the mask of"):
            table.probe("2,x,0/0,x,0/2,0,x")
        with_x = "2,2,0/0,0,x/2,x,x"
        for form in (with_x, table.read(with_x), table.read(with_x).key, f"{table.read(with_x).key:#x}",
                     "11000f1ff", table.read(with_x).unicode(), "[[2,2,0],[0,0,-1],[2,-1,-1]]"):  # fmt: skip
            assert table.probe(form) == table.probe(with_x)
            assert table.probe(form).how == ""
        assert table.probe(text) == expected


def test_boards_that_are_over_or_not_reached(solved: Callable[..., Path]) -> None:
    cut = "after the next slide nothing more is counted", "32 was made outside the goal cells"
    for game, over, why in ((BIG, lambda s: BIG.sum(s) >= 60, cut[0]), (GOALS, lambda s: 5 in s, cut[1])):
        state = next(s for s in sorted(oracle.values(game).states) if over(s) and game.slides(s))
        real = rows(game, realise(game, state, tuple(range(9)), random.Random(1)))
        with open_table(solved(game)) as table:
            for text in (game.format(state), real):
                answer = table.probe(text)
                assert why in answer.unjudged == answer.notes[-1]
                assert {answer.loss(one.direction) for one in answer.slides} == {None}
    by_sum = Game("2x3", goal_sum=24, masks="..x/...", start="after 0,0,x/2,0,0")
    with open_table(solved(by_sum)) as table:
        with pytest.raises(BoardError, match="that are not large is 24: the board is won already"):
            table.probe("8,8,64/8,0,0")
        assert table.probe("2,0,32/2,0,0").large_tiles == (32,)
        with pytest.raises(BoardError, match=r"has 0 large tiles \(32 or more\)"):
            table.probe("2,0,16/2,0,0")
    limited = Game("2x3", 32, limits="8,8,8/8,8,8", masks="..x/...", start="after 0,0,x/2,0,0")
    with open_table(solved(limited)) as table, pytest.raises(BoardError, match="16 is too small for a large"):
        table.probe("2,16,64/0,0,2")


def test_games_without_large_tiles(solved: Callable[..., Path]) -> None:
    with open_table(solved(Game("2x2", 32))) as table:
        assert table.probe("2,4/0,8").how == ""
    with pytest.raises(BoardError, match="has no x: probe its boards as they are"):
        LargeTiles(Game("2x2", 32))
    walls = Game("2x3", 16, walls=[4])
    with open_table(solved(walls)) as table:
        assert table.probe("2,2,0/0,#,0").how == ""
    with open_table(solved(BIG)) as table, pytest.raises(BoardError, match="is not a board in JSON"):
        table.probe("[" * 3000 + "]" * 3000)


def test_equal_large_tiles(solved: Callable[..., Path]) -> None:
    with open_table(solved(BIG)) as table:
        apart = table.probe("2,2,0/0,0,64/2,128,64")
        equal = "large tiles are equal (2 of 64), and the table does not know that they can merge"
        assert apart.notes == (f"{equal}: up and down would merge them",)
        assert [slide.merges_large for slide in apart.slides] == [False, True]
        assert apart.slides[1].after.text == "0,0,0/0,2,64/4,128,64"  # as if they did not merge
        assert apart.value == table.probe("2,2,0/0,0,x/2,x,x").value
        assert table.probe("2,2,0/0,0,64/2,64,128").notes == (equal,)
        assert table.probe("2,2,0/0,0,64/2,32,128").notes == ()
        assert table.probe("0,0,2/0,0,128/2,64,64").refused["right"] == "would merge large tiles"


def test_a_real_board_takes_at_most_four_times_an_ordinary_probe(solved: Callable[..., Path]) -> None:
    rng = random.Random(3)
    states = [BIG.format(state) for state in some_states(BIG, rng, 100)]
    reals = [rows(BIG, realise(BIG, BIG.parse(text), rng.choice(sorted(BIG.grid.symmetries)), rng))
             for text in states]  # fmt: skip

    def seconds(ask: Callable[[str], object], boards: list[str]) -> float:
        begin = time.process_time()
        for board in boards:
            ask(board)
        return time.process_time() - begin

    with open_table(solved(BIG)) as table:
        ordinary = min(seconds(table.probe, states) for _ in range(7))
        assert min(seconds(table.probe, reals) for _ in range(7)) < 4 * ordinary


# -- folders of tables -----------------------------------------------------------------------------


@pytest.fixture
def tables(solved: Callable[..., Path], tmp_path: Path) -> Path:
    folder = tmp_path / "tables"
    for name, game in (("big", BIG), ("deep/down/corner", CORNER), ("one", ONE), ("plain", Game("2x2", 32))):
        shutil.copytree(solved(game), folder / name)
    (folder / "notes").mkdir()
    (folder / "notes/letter.txt").write_text("mine")
    (folder / "broken").mkdir()
    (folder / "broken/manifest.json").write_text("{}")
    return folder


def test_a_folder_of_tables(tables: Path) -> None:
    with open_tables(tables) as opened:
        assert list(opened.tables) == ["big", "one", "plain", "deep/down/corner"]
        assert list(opened.unreadable) == ["broken"]
        found = opened.probe("2,2,0/0,0,64/2,128,256")
        assert list(found.answers) == ["big"]
        assert found.answers["big"] == opened.tables["big"].probe("2,2,0/0,0,64/2,128,256")
        assert found.others.keys() == {"one", "plain", "deep/down/corner"}
        assert list(opened.probe("2,4/0,8").answers) == ["plain"]
        assert list(opened.probe("2,2,0/0,0,x/2,x,x").answers) == ["big"]
        assert "BIG" not in repr(opened)
        for board, sentence in (
            ("2,2,0/0,0,8/2,128,256", "the nearest is big: the board has 2 large tiles"),
            ("2,2,64/0,0,0/2,128,256", "the nearest is big: the large tiles (256, 128, 64) do not stand"),
            ("2,0,0/0,0,64/0,128,256", "is not in"),
            ("2,0,64/0,0,0", "the nearest is one: 2,0,64/0,0,0 is not in"),
        ):
            with pytest.raises(MissingBoardError) as caught:
                opened.probe(board)
            assert sentence in str(caught.value)


def test_the_largest_goal_comes_first(solved, tmp_path, printed):
    """A smaller one is likelier, which says nothing of the slides to the larger one."""
    folder = tmp_path / "tables"
    easier = Game("3x3", 16, masks=".../..x/.xx", start=BIG.start, horizon=60)
    shutil.copytree(solved(BIG), folder / "a")
    shutil.copytree(solved(easier, "score,win"), folder / "b")
    with open_tables(folder) as opened:
        found = opened.probe("2,2,0/0,0,64/2,128,256", "win")
        values = [sort_key(one.value) for one in found.answers.values()]
        assert (list(found.answers), values) == (["a", "b"], sorted(values))
        assert list(opened.probe("8,8,4/8,2,64/4,128,256", "win").answers) == ["b", "a"]  # a has lost
        found = opened.probe("2,2,0/0,0,64/2,128,256")
        meanings = [(name, one.meaning) for name, one in found.answers.items()]
        assert meanings == [("a", "probability to win"), ("b", "expected score")]
        assert list(opened.probe("2,2,0/0,0,64/2,128,256", "score").answers) == ["b"]
        with pytest.raises(MissingObjectiveError, match="has values of moves: leave it out"):
            opened.probe("2,2,0/0,0,64/2,128,256", "moves")
        assert list(opened.with_objective("score")) == ["b"]
    assert f" kB: start of {easier}: " in printed(f"probe {folder} --objective score")


def test_damage_is_named_and_not_fatal(solved: Callable[..., Path], tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    for name in ("a", "b"):
        shutil.copytree(solved(BIG), folder / name)
    for path in (folder / "a/values/win").iterdir():
        path.write_bytes(path.read_bytes()[:-1])
    with open_tables(folder) as opened:
        found = opened.probe("2,2,0/0,0,64/2,128,256")
        assert (list(found.answers), list(found.unreadable)) == (["b"], ["a"])
    shutil.rmtree(folder / "b")
    sentence = r"no table in .* can be read: a:"
    with open_tables(folder) as opened, pytest.raises(MissingBoardError, match=sentence):
        opened.probe("2,2,0/0,0,64/2,128,256")
    with pytest.raises(MissingLayerError, match="holds no table"):
        open_tables(tmp_path / "tables/a/values")


# -- the command line ------------------------------------------------------------------------------


def test_the_command(solved: Callable[..., Path], printed: Callable[..., str]) -> None:
    table = str(solved(BIG))
    data = json.loads(printed(f"probe {table} 64,128,2/256,0,2/2,0,0 -f json"))
    with open_table(table) as opened:
        found = opened.probe("64,128,2/256,0,2/2,0,0")
    origin = {"version": __version__, "command": f"tilebase probe {table} 64,128,2/256,0,2/2,0,0"}
    assert data == json.loads(json.dumps(found.as_dict(spawns=True) | origin))
    assert data["large_tiles"] == [64, 128, 256]
    assert (data["orientation"], data["read_as"]) == ("rotated by 180 degrees", "0,0,2/2,0,x/2,x,x")
    boards = {one["direction"]: one["board"] for one in data["slides"]}
    assert boards["up"] == "64,128,4/256,0,0/2,0,0"
    assert repr(found).startswith("<Answer for 64,128,2/256,0,2/2,0,0: probability to win, 0.")
    assert repr(found.slides[0]).startswith("<SlideAnswer left to 64,128,2/256,2,0/2,0,0: 0.")
    assert "│ 128 │" in found.board.unicode()
    assert repr(found.board) == "<RealBoard 64,128,2/256,0,2/2,0,0>"
    assert RealBoard(WALLED, (1, 0, 0, 0, 0, 17)).text == "2,0,0/#,0,131072"


def test_the_commands_with_a_folder(tables, capsys, printed):
    assert main(["probe", str(tables), "2,2,0/0,0,64/2,128,256"]) == 0
    shown = capsys.readouterr()
    assert "broken was left out: " in shown.err
    assert f"big: {BIG}\nread as given, with the large tiles 64, 128, 256\n" in shown.out
    assert shown.out.endswith("3 other tables do not fit: one, plain, deep/down/corner\n")
    data = json.loads(printed(f"probe {tables} 2,2,0/0,0,64/2,128,256 -f json"))
    assert data["answers"][0]["table"] == "big"
    assert set(data["others"]) == {"one", "plain", "deep/down/corner"}
    assert main(["probe", str(tables)]) == 0
    start = f" kB: start of {Game('2x2', 32)}: probability to win: 0.0828872890716\n"
    assert start in capsys.readouterr().out
    board = "2,2,0/0,0,64/2,128,256"
    assert main(["play", str(tables), "--start", board, "--auto", "--delay", "0", "--seed", "1"]) == 0
    shown = capsys.readouterr()
    assert shown.err.startswith(f"{tables}: playing in big, {BIG}\n")
    assert "│   2 │   2 │     │" in shown.out
    assert "won after" in shown.out
    lines = printed(f"verify {tables} -q", status=1).splitlines()
    assert [line.partition(": ")[0] for line in lines] == [
        str(tables / name) for name in ("big", "broken", "one", "plain", "deep/down/corner")
    ]
    assert [": sound, " in line for line in lines] == [True, False, True, True, True]
    shutil.rmtree(tables / "broken")
    assert printed(f"verify {tables} --all -q").count(": sound, ") == 4


def test_boards_after_a_slide(solved, printed):
    table, rng = solved(BIG), random.Random(4)
    exact = oracle.values(BIG).afterstates
    with open_table(table) as opened:
        for after in rng.sample(sorted(exact), 40):
            assert agrees(opened.probe_after(Board(BIG, after)).value, exact[after])
            for source in rng.sample(sorted(BIG.grid.symmetries), 3):
                text = rows(BIG, realise(BIG, after, source, rng))
                assert agrees(opened.probe_after(text).value, exact[after])
        with pytest.raises(MissingBoardError, match="cannot occur in"):
            opened.probe_after("0,2,0/0,0,x/0,x,x")
    with open_table(solved(Game("2x2", 32), "lower,upper")) as opened:
        for after, value in oracle.values(Game("2x2", 32)).afterstates.items():
            assert agrees(opened.probe_after(Board(opened.game, after)).value, value)
    start = exact[BIG.start_afters[0]]
    out = printed(f"probe {table} 256,64,2/128,0,0/0,0,2 --after")
    assert "read rotated by 180 degrees, with the large tiles 64, 128, 256\n" in out
    assert out.endswith(f"probability to win: {float(start):.12g}\n")
    data = json.loads(printed(f"probe {table} 2,0,0/0,0,x/2,x,x --after -f json"))
    assert (data["state"], data["value"]["value"]) == ("after", pytest.approx(float(start)))
