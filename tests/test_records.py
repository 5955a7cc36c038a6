"""Written games: saved games, replays of 2048verse.com and lists of positions."""

from __future__ import annotations

import json
import random
from contextlib import suppress

import pytest

from tilebase.errors import BoardError
from tilebase.game import records
from tilebase.game.board import Board
from tilebase.game.game import Cells, Game
from tilebase.game.records import ALPHABET, MOST_TEXT, Move, Record, X, parse_game, text_of
from tilebase.questions.review import read_written

GAME = Game("3x3", 64)
REAL = Game("4x4", 2048)
DIRECTIONS = {"up": 0, "right": 1, "down": 2, "left": 3}


def read(game: Game):
    return lambda text: read_written(game, text)


def random_game(game: Game, rng: random.Random, moves: int = 10**9) -> Record:
    """A game with random slides, to its end, or of so many moves."""
    first = state = rng.choice(game.starts())[0]
    made: list[Move] = []
    while len(made) < moves and (slides := game.slides(state)):
        direction = rng.choice(list(slides))
        after = slides[direction]
        if game.wins(after):
            made.append(Move(direction))
            break
        state = rng.choice(game.spawns(after))[0]
        cell = next(cell for cell in range(game.cells) if state[cell] != after[cell])
        made.append(Move(direction, cell, state[cell]))
    return Record(first, tuple(made))


def record_text(game: Game, record: Record) -> str:
    return json.dumps(record.as_dict(game))


def states_of(game: Game, record: Record) -> list[tuple[Cells, str | None]]:
    """The states with the slide that was made in each; the last state has None if a spawn led to it."""
    found: list[tuple[Cells, str | None]] = []
    state = record.start
    for move in record.moves:
        found.append((state, move.direction))
        after = game.slides(state)[move.direction]
        if move.cell is None:
            return found
        assert not after[move.cell]
        state = (*after[: move.cell], move.exponent, *after[move.cell + 1 :])
    return [*found, (state, None)]


def replay(game: Game, record: Record, header: str) -> str:
    """The record as 2048verse writes it, as its reader in 2048EndgameTablebase undoes it."""

    def character(cell: int, exponent: int, slide: int) -> str:
        row, column = divmod(cell, game.shape[1])
        return ALPHABET[row + 4 * column + 16 * (exponent - 1) + 32 * slide]

    starts = [(cell, e) for cell, e in enumerate(record.start) if e]
    text = "".join(character(cell, e, 0) for cell, e in starts)
    moves = [m for m in record.moves if m.cell is not None]
    return header + text + "".join(character(m.cell or 0, m.exponent, DIRECTIONS[m.direction]) for m in moves)


def test_the_alphabet_of_replays():
    known = {" ": 0, "!": 1, "0": 16, "@": 32, "\\": 60, "`": 64, "~": 94, "Ç": 95, "ü": 96, "å": 101}
    known |= {"ì": 108, "Ä": 109, "Æ": 113, "ÿ": 119, "£": 123, "Ø": 124, "×": 125, "ƒ": 126, "á": 127}
    assert len(ALPHABET) == len(set(ALPHABET)) == 128
    assert {character: ALPHABET.index(character) for character in known} == known


@pytest.mark.parametrize("seed", range(5))
def test_a_game_in_all_forms(seed: int):
    record = random_game(GAME, random.Random(seed))
    wanted = states_of(GAME, record)
    saved = parse_game(GAME, record_text(GAME, record), read(GAME))
    assert saved.form == "tilebase game"
    assert [(one.tiles, one.slide) for one in saved.positions] == wanted
    written = parse_game(GAME, replay(GAME, record, "replay 3x3") + "\n", read(GAME))
    assert written.form == "2048verse replay"
    assert [one.tiles for one in written.positions] == [state for state, _ in wanted]
    slides = [one.slide for one in written.positions]
    assert slides[:-1] == [name for _, name in wanted[: len(slides) - 1]]
    listed = parse_game(GAME, "\n".join(GAME.format(state) for state, _ in wanted), read(GAME))
    assert listed.form == "positions"
    for one, (state, name) in zip(listed.positions[:-1], wanted, strict=False):
        assert one.tiles == state
        alike = one.slide and name and GAME.slide_any(state, one.slide) == GAME.slide_any(state, name)
        assert one.slide == name or alike or " may have led " in one.problem


@pytest.mark.parametrize(
    ("shape", "header"), [("4x4", "replay "), ("4x4", "replay 4x4"), ("2x4", "replay 2x4")]
)
def test_replays_of_other_shapes(shape: str, header: str):
    game = Game(shape) if shape != "4x4" else REAL
    record = random_game(game, random.Random(3), 300)
    found = parse_game(game, replay(game, record, header), read(game))
    assert [one.tiles for one in found.positions] == [state for state, _ in states_of(game, record)]


@pytest.mark.parametrize(
    ("game", "text", "slides", "problem"),
    [
        (
            Game("2x2", 8), "8,8/2,0\n16,0/2,2\n16,4/2,0", ["left", None, None],
            "no slide and spawn lead from line 2 to line 3",
        ),
        (
            GAME, "2,2,0/0,0,0/0,0,0\n\n4,0,0/0,2,0/0,0,0\n8,0,0/0,0,0/0,0,2", ["left", None, None],
            "no slide and spawn lead from line 3 to line 4, which starts again",
        ),
        (GAME, "2,0,2/0,0,0/0,0,0\n2,4,0/0,0,0/0,0,0", [None, None], "no slide and spawn lead"),
        (GAME, "32,32,0/0,0,0/0,0,2\n64,0,0/0,0,0/2,0,0", ["left"], ""),  # a board after a slide
        (GAME, "2,2,2/0,0,0/0,0,0\n4,2,2/0,0,0/0,0,0", ["left", None], ""),
        (GAME, "0,0,0/0,2,0/0,0,0\n2,0,0/0,0,0/2,0,0", [None, None], ""),  # two slides lead to it
    ],
)  # fmt: skip
def test_positions_that_follow_and_that_do_not(game: Game, text: str, slides: list[str], problem: str):
    found = parse_game(game, text, read(game)).positions
    assert [one.slide for one in found] == slides
    assert any(one.problem.startswith(problem) for one in found)


def test_unmergeable_tiles_of_a_written_game():
    game = Game("2x3", 16, unmergeable=[0], start="empty")
    found = parse_game(game, "x,2,2/0,0,0\nx,4,0/0,2,0", read(game))
    assert found.positions[0].tiles == (X, 1, 1, 0, 0, 0)
    assert found.positions[0].slide == "left"
    assert text_of(game, found.positions[1].tiles) == "x,4,0/0,2,0"
    walls = Game("2x2", 8, walls=[3])
    found = parse_game(walls, "2,2/0,#\n4,2/0,#", read(walls))
    assert [one.slide for one in found.positions] == ["left", None]
    assert text_of(walls, found.positions[0].tiles) == "2,2/0,#"


def saved(**changes: object) -> str:
    empty: dict[str, object] = {"format": "tilebase game", "version": 1, "moves": []}
    return json.dumps(empty | {"start": "2,2,0/0,0,0/0,0,0"} | changes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" \n\n", "there is no game to review"),
        ("replay 3x3", "ends before its second tile"),
        ("replay 3x3!", "ends before its second tile"),
        ("replay  !", "its replays begin with replay 3x3"),
        ("replay 3x4 !", "the replay is of a 3x4 board, but the table's is 3x3"),
        ("replay 3x3  ", "start tile 2: no tile can be spawned on cell 0"),
        ("replay 3x3 #", "start tile 2: a tile in row 4, column 1, on a 3x3 board"),
        ("replay 3x3 !\x01", "move 1: the character .*x01. is not part of a replay"),
        ("replay 3x3 !¿", "move 1: the character '¿' is not part of a replay"),
        ("replay 3x3 $!", "move 1: up changes nothing on 2,2,0/0,0,0/0,0,0"),
        ("replay 3x3 $ü", "move 1: no tile can be spawned on cell 0"),
        ("2,2,0/0,0,0/0,0,0\n2,3,0/0,0,0/0,0,0", "line 2: tile 3 is not a power of two"),
        ("{}", "line 1: {} is not a board in JSON"),
        ("[" * 100_000, "line 1: .* is not a board in JSON"),
        (saved(version=2), "the saved game is of version 2, this program reads 1: update it"),
        (saved()[:-1], "the saved game is damaged"),
        (saved(format="tilebase notebook"), "not a game: import it in Train"),
        (saved(start=3), "the start of the saved game is missing"),
        (saved(moves="left"), "the moves of the saved game are missing"),
        (saved(moves=[["left", 1, 2], 5]), "move 2 of the saved game is 5: write"),
        (saved(moves=[["left"], ["left", 1, 2]]), "move 1 of the saved game"),
        (saved(moves=[["left", True, 2]]), "move 1 of the saved game"),
        (saved(moves=[["left", 1, 8]]), "move 1 of the saved game"),
        (saved(moves=[["left", -1, 2]]), "move 1: no tile can be spawned on cell -1"),
        (saved(moves=[["left", 9, 2]]), "move 1: no tile can be spawned on cell 9"),
        (saved(moves=[["back", 1, 2]]), "move 1: 'back' is not a slide: write left, right, up, down"),
        (saved(moves=[["up", 1, 2]]), "move 1: up changes nothing on 2,2,0/0,0,0/0,0,0"),
        ("2" * (MOST_TEXT + 1), "more than 16,777,216 bytes is not read"),
    ],
)  # fmt: skip
def test_what_is_no_game(text: str, message: str):
    with pytest.raises(BoardError, match=message):
        parse_game(GAME, text, read(GAME))


def test_a_record_of_another_game():
    box = Game("2x2x2", 16)
    with pytest.raises(BoardError, match="at most 4x4 cells, but the board is 2x2x2"):
        parse_game(box, "replay  !", read(box))


@pytest.mark.parametrize("seed", range(60))
def test_damaged_texts_are_refused_in_words(seed: int):
    """A few characters of a good text are exchanged: it is still read, or refused with `BoardError`."""
    rng = random.Random(seed)
    record = random_game(GAME, rng)
    states = "\n".join(GAME.format(state) for state, _ in states_of(GAME, record))
    text = list(rng.choice([record_text(GAME, record), replay(GAME, record, "replay 3x3"), states]))
    for _ in range(rng.randrange(1, 4)):
        text[rng.randrange(len(text))] = rng.choice([*ALPHABET, "", "\0", "\n", "\U0001f600", "\ud800"])
    found = None
    with suppress(BoardError):
        found = parse_game(GAME, "".join(text), read(GAME))
    assert found is None or found.positions


def test_a_written_game_has_at_most_131_072_positions(monkeypatch):
    game = Game("2x2", 32)
    assert records.MOST_POSITIONS == 131_072
    monkeypatch.setattr(records, "MOST_POSITIONS", 1000)
    found = parse_game(game, "1203\n" * 1000, lambda board: Board.read(game, board).cells)
    assert len(found.positions) == 1000
    with pytest.raises(BoardError, match="more than 1,000 positions is not read"):
        parse_game(game, "1203\n" * 1001, lambda board: Board.read(game, board).cells)
