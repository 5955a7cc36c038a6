"""Reviews of written games, and values as people read them."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from test_records import random_game, record_text, replay, states_of
from tilebase import Below, Exact, Game, Interval, Lower, Rounded, Upper, formation, review, solve
from tilebase.cli.review import _lost, _summary, _worth
from tilebase.cli.seat import Seat
from tilebase.objectives.numbers import Unit
from tilebase.objectives.values import Found, Unknown, short_text, value_document
from tilebase.tables.playing import play_game
from tilebase.tables.probe import Table, open_table
from tilebase.tables.pruning import prune

GAME = Game("3x3", 64)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of 3x3 to 64, 2x2 to 8, of an endgame, and of boards worth 0.999 and more."""
    folder = tmp_path_factory.mktemp("tables")
    solve(GAME, "win,score,lower,upper", table=folder / "3x3")
    solve(Game("2x3", 16), "guaranteed,survival", table=folder / "2x3")
    solve(formation("44").game(32), table=folder / "44")
    prune(folder / "3x3", folder / "good", above=0.999, objective="win")
    return folder


@pytest.fixture(scope="module")
def table(tables: Path) -> Table:
    return open_table(tables / "3x3")


# -- reviews ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["win", "score", "lower", "upper", None])
def test_a_review_agrees_with_probes(table: Table, objective: str | None):
    record = random_game(GAME, random.Random(5))
    found = review(table, record_text(GAME, record), objective)
    states = states_of(GAME, record)
    assert [move.board for move in found.moves] == [GAME.format(state) for state, _ in states]
    assert found.meaning == table.meaning(objective)
    for move, (_, made) in zip(found.moves, states, strict=True):
        answer = table.probe(move.board, objective)
        assert (move.value, move.best) == (answer.value, answer.best)
        assert move.slides == (() if made is None else (made,))
        if made is not None:
            value = next(one.value for one in answer.slides if one.direction == made)
            best = max(float(one.value) for one in answer.slides)
            assert move.slide_value == value
            assert move.loss == (0 if made in answer.best else max(best - float(value), 0))
    made_slides = [move for move in found.moves if move.slides]
    assert found.reviewed == len(made_slides)
    assert found.unknown == 0
    assert found.total_loss == pytest.approx(sum(move.loss or 0 for move in made_slides))
    assert found.agreed == sum(set(move.slides) <= set(move.best) for move in made_slides)


@pytest.mark.parametrize("seed", range(3))
def test_a_game_by_the_table_loses_nothing(table: Table, seed: int):
    played = play_game(table, random.Random(seed), objective="win")
    found = review(table, record_text(GAME, played.record), "win")
    assert found.reviewed == found.agreed == found.longest_run == len(played.states)
    assert (found.agreement, found.total_loss, found.mean_loss, found.drops) == (1, 0, 0, [])


def test_the_largest_losses(table: Table):
    found = review(table, record_text(GAME, random_game(GAME, random.Random(11))), "score")
    losses = [move.loss or 0 for move in found.drops]
    assert losses == sorted(losses, reverse=True)
    assert 0 < len(losses) <= 10
    assert losses[0] == max(found.losses)
    document = json.loads(json.dumps(found.as_dict()))
    assert document["drops"] == [move.number for move in found.drops]
    assert document["moves"][document["drops"][0] - 1]["loss"] == losses[0]


def test_positions_beyond_the_table_are_unknown(table: Table):
    text = "32,32,0/4,8,0/2,0,0\n64,0,2/4,8,0/2,0,0\n64,2,0/4,8,0/2,0,2"
    found = review(table, text, "win")
    assert [move.loss for move in found.moves] == [0.0, None, None]
    assert "tile 64 on cell 0 is not part of the game" in (found.moves[1].problem or "")
    assert found.as_dict()["moves"][1]["value"] is None
    nothing = review(table, "64,0,2/4,8,0/2,0,0", "win")
    assert (nothing.agreement, nothing.mean_loss, nothing.longest_run) == (None, None, 0)
    json.dumps(nothing.as_dict())


def test_slides_that_the_game_of_the_table_forbids(solved):
    game = Game("2x2", limits="16,16/4,4")
    assert "left" not in game.slides(game.parse("0,2/4,4"))
    saved = {"format": "tilebase game", "version": 1, "start": "0,2/4,4", "moves": [["left", 1, 2]]}
    with open_table(solved(game, "score")) as opened:
        found = review(opened, json.dumps(saved), "score")
    assert found.moves[0].problem == "the game of the table does not allow left here"
    assert found.moves[0].value is not None
    assert (found.reviewed, found.unknown) == (0, 1)


def test_a_forced_win_that_is_lost(tables: Path):
    with open_table(tables / "2x3") as opened:
        for seed in range(20):
            found = review(opened, record_text(opened.game, random_game(opened.game, random.Random(seed))))
            assert {0.0, 1.0} >= set(found.losses)
            if found.total_loss:
                assert found.drops[0].as_dict(found.unit)["loss_text"] == "the forced win"
                return
    pytest.fail("no random game lost the forced win")


def test_what_a_thinned_table_leaves_out(tables: Path):
    with open_table(tables / "good") as opened:
        texts = [record_text(GAME, random_game(GAME, random.Random(seed))) for seed in range(8)]
        found = [review(opened, text, "win") for text in texts]
        below = [move for one in found for move in one.moves if isinstance(move.slide_value, Below)]
        assert below
        for move in below:
            assert (move.problem or "").startswith(f"the table leaves out what {move.slides[0]} leads to")
            if move.loss is not None:
                assert move.loss == pytest.approx(float(move.value or 0) - 0.999)
                assert (move.problem or "").endswith(": the loss is at least this")
        for one in found:
            json.dumps(one.as_dict())


def test_a_replay_with_real_large_tiles(tables: Path):
    """A formation table reviews a list of real boards, whatever the large tiles and the rotation are."""
    rng, boards = random.Random(3), list[str]()
    board = "0,0,0,2/2,0,0,0/64,128,256,512/1024,2048,4096,8192"
    with open_table(tables / "44") as opened:
        while board:
            boards.append(board)
            answer = opened.probe(board)
            slide = next(one for one in answer.slides if one.direction in answer.best)
            board = rng.choice(slide.spawns())[0].text if slide.spawns() else ""
        found = review(opened, "\n".join(boards))
        assert sum(bool(move.slides) for move in found.moves) > 10
        assert found.agreement == 1
        upside_down = review(opened, "\n".join("/".join(reversed(one.split("/"))) for one in boards))
        assert [move.value for move in upside_down.moves] == [move.value for move in found.moves]
        # Thousands of moves before and after the endgame are no error.
        record = random_game(Game("4x4", 32768), random.Random(1))
        found = review(opened, replay(Game("4x4", 32768), record, "replay "))
    assert (found.reviewed, found.unknown) == (0, len(record.moves))
    assert all(move.problem for move in found.moves)


EQUAL = "large tiles are equal (2 of 64), and the table does not know that they can merge"


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("64,128,256,64", EQUAL),
        ("64,64,256,512", f"{EQUAL}: left and right would merge them"),
        ("64,128,256,32", None),
    ],
)
def test_no_slide_is_blamed_where_large_tiles_are_equal(tables, tmp_path, printed, row, problem) -> None:
    """In a probe, a review and a game that is played: the slide down loses 0.3 %, and left is best."""
    below = f"/{row}/1024,2048,4096,8192"
    board = f"0,0,2,0/2,0,0,0{below}"
    file = tmp_path / "game.txt"
    file.write_text(f"{board}\n0,0,0,4/2,0,2,0{below}")
    with open_table(tables / "44") as opened:
        answer, found = opened.probe(board), review(opened, file.read_text())
        seat = Seat(opened, None, random.Random(1), board)
        seat.slide("down", own=True)
    move = found.moves[0]
    slide = next(one for one in answer.as_dict()["slides"] if one["direction"] == "down")
    assert (answer.unjudged or None, answer.notes) == (problem, (problem,) if problem else ())
    assert (move.slides, move.problem, move.as_dict(found.unit)["problem"]) == (("down",), problem, problem)
    assert move.value == answer.value  # it is shown, with the warning
    judged = problem is None
    assert (slide["loss"] is not None, slide["mistake"]) == (judged, judged)
    assert (found.reviewed, found.mistakes, len(found.drops)) == (judged, judged, judged)
    assert found.unknown == (not judged)
    assert len(seat.judged) == judged
    assert (EQUAL in printed(f"review {tables} {file}")) is not judged


def test_both_reasons_are_given_where_large_tiles_are_equal_and_a_slide_is_not_known(tables: Path):
    below = "/64,128,256,64/1024,2048,4096,8192"
    with open_table(tables / "44") as opened:
        found = review(opened, f"0,0,2,0/0,0,0,4{below}\n0,0,0,2/0,0,2,4{below}\n0,2,0,0/2,0,0,2{below}")
    assert [move.slides for move in found.moves] == [("right", "down"), (), ()]
    assert [move.problem for move in found.moves] == [
        f"right and down may have led from line 1 to line 2; {EQUAL}",
        f"no slide and spawn lead from line 2 to line 3, which starts again; {EQUAL}",
        EQUAL,
    ]
    assert (found.reviewed, found.unknown) == (0, 1)


@pytest.mark.parametrize(
    ("lines", "slides", "loss", "verdict"),
    [
        # Both are best.
        ("2,2,8/4,2,2/8,4,8 2,4,8/4,4,2/8,4,8", ("up", "down"), 0, "up is best, down is best"),
        # One is best: nothing can be said.
        ("2,2,4/2,16,2/4,4,4 4,2,4/4,16,2/4,4,4", ("up", "down"), None, "up loses ≈ 0, down is best"),
        # Both leave one cell free, and a 2 there, in 9 of 10 cases, leaves no slide.
        (
            "2,8,4/8,2,2/4,2,8 2,8,4/8,4,2/4,2,8", ("left", "up"), 0.9,
            "left loses 90.0 %, up loses 90.0 %, so the loss is at least the smallest of these",
        ),
        (
            "4,2,32/32,0,4/16,4,32 4,2,32/32,4,4/16,4,32", ("left", "up"), 0.2225304,
            "left loses 22.3 %, up loses 68.8 %, so the loss is at least the smallest of these",
        ),
    ],
)  # fmt: skip
def test_a_move_that_several_slides_explain(tables, tmp_path, printed, lines, slides, loss, verdict) -> None:
    file = tmp_path / "game.txt"
    file.write_text(lines.replace(" ", "\n"))
    with open_table(tables / "3x3") as opened:
        found = review(opened, file.read_text(), "win")
    move, known = found.moves[0], loss is not None
    assert move.slides == tuple(found.as_dict()["moves"][0]["slides"]) == slides
    assert move.problem == f"{' and '.join(slides)} may have led from line 1 to line 2: {verdict}"
    assert move.loss == (pytest.approx(loss, abs=1e-9) if known else None)
    assert (found.reviewed, found.unknown, found.agreed) == (known, not known, loss == 0)
    assert (move.slide_value is None, move.value is None) == (not known, False)
    assert (" or ".join(slides) in printed(f"review {tables}/3x3 {file} --objective win")) is (loss != 0)


# -- the command -----------------------------------------------------------------------------------


def test_the_command(tables: Path, tmp_path: Path, printed, monkeypatch):
    record = random_game(GAME, random.Random(11))
    file = tmp_path / "game.json"
    file.write_text(record_text(GAME, record))

    def reviewed(*options: str) -> str:
        return printed("review", str(tables / "3x3"), *options, "--objective", "win")

    out = reviewed(str(file))
    played = f"tilebase game, {len(states_of(GAME, record))} positions"
    assert out.startswith(f"3x3, to 64: {played}: probability to win\n")
    assert "the largest losses" in out
    assert "lost in total, the sum of the losses of single slides " in out
    monkeypatch.setattr(sys, "stdin", io.StringIO(file.read_text()))
    monkeypatch.setenv("TILEBASE_TABLES_DIR", str(tables))
    words = ["-q", "--anyway", "--log", str(tmp_path / "log")]
    assert printed("review", str(file), *words) == printed(*words, "review", str(file))
    document = json.loads(reviewed("-q", "-", "-f", "json"))
    with open_table(tables / "3x3") as opened:
        wanted = json.loads(json.dumps(review(opened, file.read_text(), "win").as_dict()))
    assert document | wanted == document
    rows = list(csv.DictReader(io.StringIO(reviewed(str(file), "-f", "csv"))))
    assert [row["board"] for row in rows] == [move["board"] for move in document["moves"]]
    file.write_text("2,2,0/0,0,0/0,0,0\n4,0,0/0,2,0/0,0,0")
    out = printed(f"review {tables} {file}")
    assert out.startswith("endgame ")
    assert "\nmoves 1 to 2, 3x3: 2 positions: probability to win, proved\n" in out
    assert "2x3: " not in out
    assert len(json.loads(printed(f"review {tables} {file} -f json --objective score"))["endgames"]) == 1
    assert printed(f"review {tables} {file} -f csv").startswith("table,number,board")
    file.write_text("2,2,0/0,0,0/0,0,0\n8,0,0/0,2,0/0,0,0")
    assert re.search("breaks, where the review starts again +1\n", printed(f"review {tables / '3x3'} {file}"))


def test_the_size_of_a_negligible_loss_is_printed(tables: Path, tmp_path: Path) -> None:
    with open_table(tables / "3x3") as opened:
        found = review(opened, "2,2,0/0,0,0/0,0,0", "win")
    losses = (1.3297640766296581e-09, 0.00015, 0.02, 0)
    assert [_lost(loss, found) for loss in losses] == ["1.3e-7 %", "0.015 %", "2.0 %", "0"]
    pairs = [[_worth(rounded(0.7367 - part), found, loss) for part in (0, loss)] for loss in losses]
    assert pairs == [
        ["73.67 %", "73.66999987 %"], ["73.67 %", "73.655 %"], ["73.7 %", "71.7 %"], ["73.7 %", "73.7 %"]
    ]  # fmt: skip
    near = [Rounded(1.0, "float64", 1e-13, 1, complement) for complement in (7.0112e-18, 7.0196e-18)]
    assert [_worth(one, found, 8.4e-21) for one in near] == ["100 % - 7.011e-16 %", "100 % - 7.02e-16 %"]
    assert found.mistakes == 0
    assert "the worst mistake" not in {row[""] for row in _summary(found)}


# -- values as people read them: numbers stand in tests/test_numbers.py ------------------------------


def rounded(number: float) -> Rounded:
    return Rounded(number, "float64", 1e-12, 1)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (Exact(Fraction(1, 3)), "probability", "33.3 %"),
        (Lower(Fraction("0.9999")), "probability", "≥ 99.99 %"),
        (Lower(1 - Fraction(1, 10**12)), "probability", "≥ 99.99999999 %"),
        (Upper(1 - Fraction(1, 10**12)), "probability", "≤ 100.0 %"),
        (Upper(Fraction("0.73611")), "probability", "≤ 73.7 %"),
        (Lower(Fraction("0.73699")), "probability", "≥ 73.6 %"),
        (Lower(Fraction(0)), "probability", "≥ 0 %"),
        (Interval(Fraction(0), Fraction(1)), "probability", "0 to 100 %"),
        (Interval(Fraction("0.99"), Fraction("0.9999999")), "probability", "99.0 to 99.99999 %"),
        (Below(0.5), "probability", "below 50 %"),
        (Below(1e-7), "probability", "below 1e-5 %"),
        (Below(0.995, reached=False), "probability", "below 99.5 % or not reachable"),
        (Rounded(1234567.89, "float64", 1e-9), "score", "1,234,567.9"),
        (Upper(Fraction("100.01")), "score", "≤ 100.1"),
    ],
)
def test_short_texts(value: Found, unit: Unit, text: str):
    assert short_text(value, unit) == text
    assert value_document(value, unit) == value.as_dict() | {"text": str(value), "short": text}


def number(text: str) -> Fraction:
    return Fraction(text.removesuffix(" %").removeprefix("≈ ")) / 100


def test_no_bound_is_shown_better_than_proved():
    rng = random.Random(1)
    for _ in range(1000):
        bound = Fraction(rng.random()) * Fraction(1, 10) ** rng.randrange(20)
        for one in (bound, 1 - bound):
            low = number(short_text(Lower(one), "probability").removeprefix("≥ "))
            high = number(short_text(Upper(one), "probability").removeprefix("≤ "))
            assert low <= one <= high
            assert abs(number(short_text(rounded(float(one)), "probability")) - one) < Fraction(1, 1000)


def test_a_value_that_is_not_known():
    assert value_document(Unknown(), "score") == {"kind": "unknown", "text": "unknown", "short": "unknown"}


@pytest.mark.parametrize("tile", ["x", "64"])
def test_a_whole_game_is_read_though_its_last_board_is_won(tile: str, solved) -> None:
    with open_table(solved(Game("2x2", 8, masks="x./..", start="after x,0/0,0"))) as table:
        found = review(table, f"{tile},2/2,0\n{tile},4/0,2\n{tile},4/4,0\n{tile},8/2,0\n")
        assert [move.board[: len(tile)] for move in found.moves] == [tile] * 4
        assert [move.value is None for move in found.moves] == [False, False, False, True]
        assert found.moves[3].problem is not None
