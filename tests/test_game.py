"""The rules in plain Python: what a game is, how boards are written, how tiles slide and spawn."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import GAMES, games_and_boards
from tilebase.errors import BoardError, GameError, UsageError
from tilebase.game.game import Cells, Game, merge_line
from tilebase.game.grid import parse_shape
from tilebase.game.notation import exponent_of
from tilebase.game.spawns import ORIGINAL, SpawnLaw, law_of
from tilebase.patterns.rules import parse_rules
from tilebase.questions.prove import prove
from tilebase.web.documents import describe_rules

REAL = Game("4x4", 2048)


@pytest.mark.parametrize(
    ("line", "slid"),
    [
        ([], []),
        ([0, 0, 0], [0, 0, 0]),
        ([0, 0, 1], [1, 0, 0]),
        ([1, 0, 1], [2, 0, 0]),
        ([1, 1, 1], [2, 1, 0]),  # the pair nearest to the end merges
        ([1, 1, 1, 1], [2, 2, 0, 0]),
        ([1, 1, 2, 0], [2, 2, 0, 0]),  # what was merged does not merge again
        ([2, 1, 1, 0], [2, 2, 0, 0]),
        ([3, 2, 1, 1], [3, 2, 2, 0]),
        ([1, 2, 1, 2], [1, 2, 1, 2]),
        ([2, 0, 2, 3], [3, 3, 0, 0]),
    ],
)
def test_merge_line(line: list[int], slid: list[int]) -> None:
    assert merge_line(tuple(line)) == tuple(slid)


def test_merge_line_with_unmergeable_tiles() -> None:
    assert merge_line((15, 15, 0), 15) == (15, 15, 0), "x never merges"
    assert merge_line((0, 1, 15, 1), 15) == (1, 15, 1, 0), "and keeps tiles apart"
    assert merge_line((14, 14, 15), 15) == (16, 15, 0), "no merge makes an x"


@given(st.lists(st.integers(0, 5), max_size=8))
def test_merge_line_properties(line: list[int]) -> None:
    slid = list(merge_line(tuple(line)))
    tiles = [e for e in slid if e]
    assert len(slid) == len(line)
    assert slid == tiles + [0] * (len(line) - len(tiles))
    assert sum(2**e for e in tiles) == sum(2**e for e in line if e)
    assert sum(e > 0 for e in line) / 2 <= len(tiles) <= sum(e > 0 for e in line)


# -- slides and spawns -----------------------------------------------------------------------------


def test_tiles_of_the_start_raise_what_can_be_made() -> None:
    game = Game("2x2", start="32,32/0,0")
    assert game.slides(game.parse(game.start))["left"] == (6, 0, 0, 0)
    assert Game("2x2", start="0x5500").tops == game.tops
    assert Game("2x2", 64, start="32,0/0,16").goal == 64


LIMITED, NONE = Game("1x3", limits="8,4,4"), "0,0,0,0"
SLIDES: list[tuple[Game, str, dict[str, str]]] = [
    (
        REAL, "2,2,4,0/2,0,0,0/0,0,0,0/0,0,0,2",
        {
            "left": "4,4,0,0/2,0,0,0/0,0,0,0/2,0,0,0", "right": "0,0,4,4/0,0,0,2/0,0,0,0/0,0,0,2",
            "up": "4,2,4,2/0,0,0,0/0,0,0,0/0,0,0,0", "down": "0,0,0,0/0,0,0,0/0,0,0,0/4,2,4,2",
        },
    ),
    (Game("2x2", 32), "2,0/4,0", {"right": "0,2/0,4"}),  # the others change nothing
    (Game("2x2", 32), "2,4/4,2", {}),
    (LIMITED, "4,4,0", {"left": "8,0,0"}),  # the one to the right makes a tile above a limit
    (LIMITED, "8,4,4", {}),
    (Game("1x3", 8, limits="4,4,4"), "4,4,0", {"left": "8,0,0", "right": "0,0,8"}),  # the goal wins anyway
    (Game("1x3", limits=4), "4,4,0", {}),  # one limit is that of every cell
    (Game("1x5", 16, walls=[2]), "2,0,#,2,2", {"left": "2,0,#,4,0", "right": "0,2,#,0,4"}),
    (Game("1x4", 16, unmergeable=[1]), "0,x,0,2", {"left": "x,2,0,0", "right": "0,0,x,2"}),
    (  # no merge makes an x, unless it wins
        Game("4x4", limits=16384, unmergeable=[15]), f"16384,16384,0,0/{NONE}/{NONE}/0,0,0,x",
        {"up": f"16384,16384,0,x/{NONE}/{NONE}/{NONE}", "down": f"{NONE}/{NONE}/{NONE}/16384,16384,0,x"},
    ),
    (
        Game("4x4", 32768, unmergeable=[15]), f"16384,0,0,0/16384,0,0,0/{NONE}/x,0,0,0",
        {"up": f"32768,0,0,0/x,0,0,0/{NONE}/{NONE}", "down": f"{NONE}/{NONE}/32768,0,0,0/x,0,0,0",
         "right": f"0,0,0,16384/0,0,0,16384/{NONE}/0,0,0,x"},
    ),
    (
        Game("2x2x2", 16), "2,0/0,0/0,0/0,0",
        {"right": "0,2/0,0/0,0/0,0", "down": "0,0/2,0/0,0/0,0", "back": "0,0/0,0/2,0/0,0"},
    ),
]  # fmt: skip


@pytest.mark.parametrize(("game", "board", "slid"), SLIDES, ids=str)
def test_slides(game: Game, board: str, slid: dict[str, str]) -> None:
    assert {name: game.format(after) for name, after in game.slides(game.parse(board)).items()} == slid


@given(games_and_boards())
def test_a_slide_keeps_the_sum_and_the_unmergeable_tiles(drawn: tuple[Game, Cells]) -> None:
    game, cells = drawn
    for direction in game.directions:
        after = game.slide_any(cells, direction)
        if game.x + 1 not in after:  # else a merge has stepped over the code of x
            assert game.sum(after) == game.sum(cells)
        assert all(not after[cell] for cell in game.walls)
        assert len([e for e in after if game.unmergeable and e == game.x]) == len(game.unmergeable)


@given(games_and_boards())
def test_an_allowed_slide_changes_the_board_and_leaves_room(drawn: tuple[Game, Cells]) -> None:
    game, cells = drawn
    for after in game.slides(cells).values():
        assert after != cells
        assert game.spawns(after) or game.ended(game.sum(after))
        if not game.wins(after):
            assert game.check(after) == after


@given(games_and_boards())
def test_spawns_fill_each_empty_cell(drawn: tuple[Game, Cells]) -> None:
    game, cells = drawn
    spawns = game.spawns(cells)
    holes = [cell for cell, e in enumerate(cells) if not e and cell not in game.walls]
    if game.ended(game.sum(cells)):
        holes = []
    assert len(spawns) == len({state for state, _ in spawns}) == len(holes) * len(game.spawn_exponents)
    assert sum(p for _, p in spawns) == (1 if holes else 0)
    assert all(game.sum(state) - game.sum(cells) in (2, 4) for state, _ in spawns)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("0.1", "1/10"),
        (0, "0"),
        (Fraction(2, 6), "1/3"),
        (" 3/4 ", "3/4"),
        ("50%", "1/2"),
        ("12.5 %", "1/8"),
        (ORIGINAL, "1/10"),
    ],
)
def test_what_is_read_is_printed_in_one_form(written: object, text: str) -> None:
    law = SpawnLaw.of(written)  # type: ignore[arg-type]
    assert str(law) == text
    assert SpawnLaw.of(text) == law
    game = Game("2x3", 32, spawn=text)
    assert Game.from_identity(game.identity) == game
    assert game.identity["four"] == text


def test_probabilities_of_the_tiles() -> None:
    law = SpawnLaw.of("2/5")
    assert [law.chance(e) for e in (1, 2, 3)] == [Fraction(3, 5), Fraction(2, 5), 0]
    assert (law.weight(1), law.weight(2), law.denominator) == (3, 2, 5)
    assert law_of("4, 2") == ORIGINAL
    assert law_of("4").exponents == (2,)


def test_a_law_in_words() -> None:
    assert ORIGINAL.words == "2 with probability 9/10 and 4 with probability 1/10"
    game = Game("2x2", 32, spawn="1/3")
    words = "spawns of 2 with probability 2/3 and 4 with probability 1/3: there is a strategy"
    assert words in prove(game, threads=1).statement
    assert "One of 3 new tiles is a 4." in str(describe_rules(game))


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_starts_are_a_distribution(game: Game) -> None:
    starts = game.starts()
    assert sum(p for _, p in starts) == 1
    assert len({board for board, _ in starts}) == len(starts)
    assert all(game.check(board) == board for board, _ in starts)


def test_two_tiles_are_two_draws() -> None:
    by_sum: dict[int, Fraction] = {}
    game = Game("2x2", 32)
    for board, p in game.starts():
        by_sum[game.sum(board)] = by_sum.get(game.sum(board), Fraction(0)) + p
    assert by_sum == {4: Fraction(81, 100), 6: Fraction(18, 100), 8: Fraction(1, 100)}
    assert dict(game.starts())[1, 2, 0, 0] == Fraction(18, 100) / 12


def test_other_starts() -> None:
    two, four = Fraction(9, 20), Fraction(1, 20)
    assert dict(Game("1x2", start="empty").starts()) == {(1, 0): two, (0, 1): two, (2, 0): four, (0, 2): four}
    assert Game("1x3", start="2 . 4").starts() == [((1, 0, 2), Fraction(1))]
    assert {board for board, _ in Game("1x2", 8).starts()} == {(1, 1), (1, 2), (2, 1), (2, 2)}


# -- boards as text and keys -----------------------------------------------------------------------------


@given(games_and_boards())
def test_text_and_key_are_read_back(drawn: tuple[Game, Cells]) -> None:
    game, cells = drawn
    key = game.pack(cells)
    assert game.check(cells) == cells
    assert game.parse(game.format(cells)) == cells
    assert game.unpack(key) == cells
    assert game.parse(hex(key)) == cells
    assert key < 2**64


@given(games_and_boards(), games_and_boards())
def test_keys_are_ordered_as_boards(one: tuple[Game, Cells], other: tuple[Game, Cells]) -> None:
    game = one[0]
    if game.shape == other[0].shape:
        assert (game.pack(one[1]) < game.pack(other[1])) == (one[1] < other[1])


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_a_game_is_its_identity(game: Game) -> None:
    again = Game.from_identity(game.identity)
    assert again == game
    assert hash(again) == hash(game)
    assert again.digest == game.digest
    assert str(again) == str(game)
    assert pickle.loads(pickle.dumps(game)) == game
    text = json.dumps(game.identity, sort_keys=True)
    assert game.digest == hashlib.sha256(text.encode()).hexdigest()[:16], "whatever the order of the rules"


@pytest.mark.parametrize(
    ("game", "text"),
    [
        (Game("2x2", 32), "2x2, to 32"),
        (Game("2x2"), "2x2 without a goal"),
        (Game("2x2", goal_sum=20), "2x2, to the sum 20"),
        (Game("2x2", 32, goal_sum=20), "2x2, to 32, to the sum 20"),
    ],
)
def test_the_text_of_a_game_says_how_it_ends(game: Game, text: str) -> None:
    assert str(game) == text


def test_different_games_have_different_digests() -> None:
    assert len({game.digest for game in GAMES}) == len(GAMES)
    assert len({str(game) for game in GAMES}) == len(GAMES)


def test_the_start_is_written_in_one_way() -> None:
    assert Game("2x2", 32, start="2 0 / 0 2") == Game("2x2", 32, start="0x1001")
    text, key = (Game("2x2", start=f"after {one}") for one in ("32,32/0,0", "0x5500"))
    assert (key, key.bounds) == (text, text.bounds)  # what can be built counts the tiles of the start
    text, key = (Game("2x2", 8, start=one, masks="x./..|.x/..") for one in (".,x/2,0", "0x0f10"))
    assert (key, key.unmergeable) == (text, (1,))


@pytest.mark.parametrize("text", ["2x3", "2×3", " 2X3 ", "2 × 3"])
def test_a_shape_is_written_with_a_letter_or_a_sign(text: str) -> None:
    assert parse_shape(text) == Game(text, 8).shape == (2, 3)
    assert (parse_rules(text).rows, parse_rules(text).columns) == (2, 3)


@pytest.mark.parametrize(
    ("shape", "bits", "x"), [("4x4", 4, 15), ("1x17", 3, 7), ("3x7", 3, 7), ("2x11", 2, 3), ("4x8", 2, 3)]
)
def test_bits_of_a_cell(shape: str, bits: int, x: int) -> None:
    game = Game(shape, 8)
    assert (game.bits, game.x, game.bounds.code) == (bits, x, x)
    assert Game(shape, 8, unmergeable=[0]).bounds.code == x - 1


def test_tops_follow_goal_limits_and_room() -> None:
    assert Game("2x2", 16).tops == (3, 3, 3, 3)
    assert Game("2x2").tops == (5, 5, 5, 5)  # 32 = 16 + 16 needs 16, 8, 4 and a spawned 4: four cells
    assert Game("2x2", spawn=0).tops == (4, 4, 4, 4)
    assert Game("2x2", 32, limits="8,16/32,4").tops == (3, 4, 4, 2)
    assert Game("1x3", walls="1").tops == (3, 0, 3)
    assert Game("1x3", limits=4).tops == (2, 2, 2)


def test_what_is_allowed_does_not_follow_from_the_start() -> None:
    """A game that nothing bounds has every board with a key, and slides beyond what its start can build."""
    game = Game("2x2")
    assert game.slides((5, 5, 5, 5))["left"] == (6, 0, 6, 0)
    assert game.slides((15, 15, 0, 0))["left"] == (16, 0, 0, 0)
    assert game.check((15, 9, 0, 1)) == (15, 9, 0, 1)
    assert not game.bounds.closed
    assert Game("2x2", limits=32).bounds.closed
    assert Game("2x2", limits=32).slides((5, 5, 5, 5)) == {}
    assert Game("2x2", 32).bounds.closed
    limited = Game("2x2", limits="64,64/16,64")  # a slide down would leave 32 on a 16
    assert limited.slides((5, 5, 0, 0)) == {"left": (6, 0, 0, 0), "right": (0, 6, 0, 0)}


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Game((2, 2, 2, 2)), "two or three sizes"),
        (lambda: Game("4x4", 2048, spawn=float("nan")), "not a probability"),
        (lambda: Game("2x2", 8, walls=[0.5]), "are not cells"),
        (lambda: Game("2x2", 8, walls="0,a"), "are not cells"),
        (lambda: Game("2x2", 8, limits=4.5), "are not limits"),
        (lambda: Game(22, 8), "is not a shape"),
        (lambda: Game((2.5, 2), 8), "is not a shape"),
        (lambda: Game.from_identity({"goal": 8}), "not the identity of a game"),
        (lambda: exponent_of(1), "tile 1 is not a power of two above 1"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_game_that_cannot_be(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(GameError) as caught:
        make()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_board_that_cannot_be() -> None:
    says = "tile 2 on cell 0 is not part of the game 2x2, to 8, walls 0"
    with pytest.raises(BoardError, match=says) as caught:
        Game("2x2", 8, walls=[0]).parse("2,4/2,2")
    assert isinstance(caught.value, UsageError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("cells", [(1, 2, 3), (1, 2, 3, 5), (1, 2, 3, -1)])
def test_check_refuses(cells: Cells) -> None:
    with pytest.raises(BoardError, match=r"3 cells|not part of the game"):
        Game("2x2", 32).check(cells)
