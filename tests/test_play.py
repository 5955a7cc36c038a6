"""The game in the terminal: keys, colours, training, games solved first, and leaving the terminal."""

from __future__ import annotations

import io
import json
import os
import random
import re
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from terminals import STYLES, Terminal
from tilebase import Game, Table, formation, open_table, solve
from tilebase.cli import live, main
from tilebase.cli.dialogue import Dialogue
from tilebase.cli.seat import Seat, score_text
from tilebase.game.board import FILLS, Board
from tilebase.objectives.values import sort_key
from tilebase.questions.review import ReviewedMove, review

GAME = Game("3x3", 32)
KEYS = {"left": "a", "right": "d", "up": "w", "down": "s"}
ONE_BEST = (
    "1 of 1 slides best (100.0 %), mistakes (a thousandth of the value or more): 0, lost 0, longest run 1"
)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables of 3x3 to 32 and of 2x2x2 to 8."""
    folder = tmp_path_factory.mktemp("tables")
    solve(GAME, "win,lower,upper,score", table=folder / "t")
    solve(Game("2x2x2", 8), table=folder / "box")
    return folder


@pytest.fixture(scope="module")
def formation_table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    folder = tmp_path_factory.mktemp("formation")
    solve(formation("44").game(32, steps=24), table=folder / "44")
    with open_table(folder / "44") as opened:
        yield opened


@contextmanager
def play(folder: Path, *arguments: object, until: str = "q quit", **options: Any) -> Iterator[Terminal]:
    """The game in a terminal, with a seed, once it shows something."""
    with Terminal("play", "t", "--seed", 1, *arguments, folder=folder, **options) as terminal:
        terminal.wait_for(until)
        yield terminal


def left(terminal: Terminal, status: int = 0, after: str | None = None) -> None:
    """Assert that the game ends, restores the terminal, and writes nothing more or this."""
    assert terminal.end() == status
    assert terminal.is_restored()
    assert after is None or terminal.after == after


def pictures(text: str) -> list[str]:
    return re.findall(r"┌[^┘]*┘", text.replace("\r", ""))


# -- keys ------------------------------------------------------------------------------------------


def test_keys_play_the_same_game_as_lines(tables: Path, monkeypatch, printed):
    words = ["left", "down", "right", "up", "down", "left", "u", "n", "down"]
    monkeypatch.chdir(tables)
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(words)))
    by_lines = pictures(printed("play t --seed 1"))
    keys = {"left": "a", "down": "\x1b[B", "right": "\x1bOC", "up": "\x1b[1;2A"}
    shown = []
    with play(tables, NO_COLOR="1") as terminal:
        shown.append(terminal.shown)
        for word in words:
            terminal.type(keys.get(word, word))
            shown.append(terminal.wait_until_changed(shown[-1]))
        terminal.type("q")
        left(terminal, after="")
    # A slide that is not allowed shows no new picture by lines.
    assert [one for text in shown for one in pictures(text)[:1] if "not allowed" not in text] == by_lines


def test_values_digits_and_hints(tables: Path):
    with play(tables, "--objective", "win", "--start", "2,0,0/4,2,0/8,4,0") as terminal:
        shown = terminal.shown
        with open_table(tables / "t") as opened:
            answer = opened.probe("2,0,0/4,2,0/8,4,0", "win")
        for slide in answer.slides:
            mark = "*" if slide.direction in answer.best else " "
            assert re.search(rf"^{re.escape(mark)} {slide.direction}\b.* %", shown, flags=re.MULTILINE)
        terminal.type("x")
        terminal.wait_for(f"probability to win: {answer.value}")
        terminal.type("v")
        assert f"{answer.value}" not in terminal.wait_for("values are hidden: v shows them")
        terminal.type("h")
        terminal.wait_for(f"best: {' or '.join(answer.best)}")
        terminal.type("v")
        terminal.wait_for(f"probability to win: {answer.value}")
        terminal.type("ä")
        terminal.wait_for("ä is not allowed here")
        before = terminal.shown
        terminal.type("\x1b[5~\x1b[200~\x1b\x1bOP")  # page up, a paste, escape, F1
        terminal.type("u")
        assert "nothing to take back" in terminal.wait_until_changed(before)
        terminal.type("\x04q")
        assert terminal.end() == 0


def test_losses_are_told(tables: Path):
    with open_table(tables / "t") as opened:
        answer = opened.probe("2,4,8/0,4,2/0,0,2", "score")
        worst = min(answer.slides, key=lambda slide: float(slide.value))
    with play(tables, "--objective", "score", "--start", "2,4,8/0,4,2/0,0,2") as terminal:
        terminal.type(KEYS[worst.direction])
        terminal.wait_for(f"{worst.direction} lost ")
        assert f"{' or '.join(answer.best)} was best, " in terminal.shown


def test_the_table_plays_until_a_key(tables: Path):
    with play(tables, "--delay", 3600) as terminal:
        terminal.type("p")
        terminal.wait_for("the table plays: any key stops it")
        terminal.type("w")
        assert "the table plays" not in terminal.wait_until_changed(terminal.shown)
        terminal.type("q")
        assert terminal.end() == 0


def test_the_table_plays_to_the_end(tables: Path):
    with play(tables, "--delay", 0) as terminal:
        terminal.type("p")
        terminal.wait_for(" after ")
        terminal.type("a")
        terminal.wait_for("left is not allowed here")
        terminal.type("q")
        assert terminal.end() == 0
        assert re.fullmatch(r"(won|no slide is left) after \d+ slides\r\n", terminal.after)


def test_a_box(tables: Path):
    with Terminal("play", "box", "--start", "2,0,0,0,0,0,0,2", folder=tables, NO_COLOR="1") as terminal:
        shown = terminal.wait_for("r front, f back")
        assert len(pictures(shown)) == 2
        terminal.type("r")
        terminal.wait_for("front ")
        assert terminal.wait_until_changed(shown) != shown


# -- colours ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environment", "wanted", "other"),
    [
        ({"COLORTERM": "truecolor"}, "48;2;", "48;5;"),
        ({}, "48;5;", "48;2;"),
        ({"NO_COLOR": "1", "COLORTERM": "truecolor"}, "┌", "\x1b[38"),
    ],
)
def test_colors(tables: Path, environment: dict[str, str], wanted: str, other: str):
    with play(tables, **environment) as terminal:
        assert wanted in terminal.frame
        assert other not in terminal.frame
        if "NO_COLOR" in environment:
            assert "\x1b[1m" not in terminal.frame


def test_tiles_have_the_colors_of_pictures():
    board = Board(Game("2x2", 32), (1, 2, 3, 0))
    text = "".join(live.board_lines(board, "true", tall=True))
    for color in FILLS[:3]:
        assert ";".join(str(int(color[at : at + 2], 16)) for at in (1, 3, 5)) in text
    assert [live.visible_length(line) for line in live.board_lines(board, "256", tall=True)] == [17] * 6
    assert [STYLES.sub("", line) for line in live.board_lines(board, "256", tall=False)] == [
        "  2    4   ", "  8         "[:11]
    ]  # fmt: skip
    assert live.choose_colors({"NO_COLOR": "", "COLORTERM": "24bit"}) == "true"


def test_the_nearest_of_256_colors():
    for fill in FILLS:
        red, green, blue = (int(fill[at : at + 2], 16) for at in (1, 3, 5))
        code = live.nearest_color(red, green, blue)
        assert 16 <= code < 256
        if code < 232:
            cube = [live.LEVELS[(code - 16) // step % 6] for step in (36, 6, 1)]
            assert all(abs(one - two) <= 48 for one, two in zip(cube, (red, green, blue), strict=True))


def test_lines_are_cut_at_the_window():
    line = live.paint("abcdef", "#000000", "#ffffff", "256") + "gh"
    assert live.cut_line(line, 8) == line
    assert STYLES.sub("", live.cut_line(line, 7)) == "abcdefg"
    assert STYLES.sub("", live.cut_line(line, 3)) == "abc"
    assert live.cut_line(line, 3).endswith(live.RESET)
    text = live.frame(["abc", "d", "e"], 3, 2)
    assert "abc" + live.RESET + "\r\n" in text  # a full line is not cleared behind its last character
    assert "d" + live.RESET + "\x1b[K" in text
    assert "e" not in STYLES.sub("", text).replace("\x1b", "")


# -- real boards -----------------------------------------------------------------------------------

REAL = "2,4,2048,64/0,2,512,128/0,0,1024,256/0,8,4096,8192"
"""A board of the formation 44, turned: the table has the large tiles below."""


def test_a_real_board_keeps_its_numbers_and_its_orientation(formation_table: Table) -> None:
    """Each position is the one before after a slide and a spawn, by the plain rules of 4x4."""
    plain = Game("4x4", limits=1 << 14)
    seat = Seat(formation_table, None, random.Random(5), REAL)
    large = {"64", "128", "256", "512", "1024", "2048", "4096", "8192"}
    assert seat.board.text == REAL
    assert seat.how == "the table never merges the large tiles 64, 128, 256, 512, 1024, 2048, 4096, 8192"
    assert seat.refusal("left") == "left breaks the formation"
    assert not seat.slide("left")
    while not seat.over:
        before, answer = plain.parse(seat.board.text), formation_table.probe(seat.board.text)
        chosen = seat.best()
        assert chosen in answer.best
        assert seat.slide(chosen, own=True)
        after = plain.slide_any(before, chosen)
        states = [after] if seat.last else [cells for cells, _ in plain.spawns(after)]
        assert plain.parse(seat.board.text) in states
        assert large <= set(re.split("[,/]", seat.board.text))
    assert [one.loss for one in seat.judged] == [0.0] * (len(seat.history) - 1)  # the last is at the horizon
    last = seat.history[-1]
    seat.undo()
    assert seat.board == last


def test_the_adversary_on_a_real_board(formation_table: Table) -> None:
    seat = Seat(formation_table, None, random.Random(5), REAL, worst=True)
    (after,) = (one.after for one in formation_table.probe(REAL).slides if one.direction == "up")
    slides = [slide for slide in formation_table.probe(REAL).slides if slide.after == after]
    spawned = [formation_table.probe(board.text).value for slide in slides for board, _ in slide.spawns()]
    assert seat.slide("up")
    assert sort_key(formation_table.probe(seat.board.text).value) == min(map(sort_key, spawned))


def test_long_messages_are_wrapped(formation_table: Table) -> None:
    shown: list[str] = []

    class Keys:
        size = (60, 40)

        def read(self, _: float | None) -> str:
            return "q"

        def show(self, text: str) -> None:
            shown.append(STYLES.sub("", text))

    seat = Seat(formation_table, None, random.Random(1), REAL.replace("128", "64"))
    Dialogue(seat, live.Window(Keys(), "none", 0), values=True).converse()  # type: ignore[arg-type]
    equal = "large tiles are equal (2 of 64), and the table does not know that they can merge"
    assert f"{seat.how}; {equal}" in " ".join(shown[0].split())
    assert "│    2 │    4 │ 2048 │   64 │" in shown[0]


@pytest.mark.parametrize(("columns", "rows", "color"), [(1, 1, ""), (8, 4, "1"), (20, 6, "1"), (200, 60, "")])
def test_windows_of_any_size(tables: Path, columns: int, rows: int, color: str):
    with play(tables, columns=columns, rows=rows, NO_COLOR=color, until="") as terminal:
        terminal.wait_for_frames(1)
        before = terminal.shown
        terminal.type("adsw")
        terminal.wait_for_frames(5)
        lines = terminal.shown.split("\n")
        assert len(lines) <= rows + 1
        assert all(live.visible_length(line) <= columns for line in lines)
        terminal.resize(120, 50)
        terminal.wait_for_frames(6)
        terminal.wait_for("q quit")
        assert terminal.shown != before
        terminal.type("q")
        left(terminal)


def test_a_window_that_is_too_small_says_so(tables: Path):
    with play(tables, columns=40, rows=3, NO_COLOR="1", until="too small") as terminal:
        assert "q quit" not in terminal.shown


# -- leaving the terminal --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cause", "status"), [("\x03", 130), (signal.SIGTERM, 128 + 15), (signal.SIGHUP, 128 + 1)]
)
def test_signals_restore_the_terminal(tables: Path, cause: str | signal.Signals, status: int):
    with play(tables) as terminal:
        assert terminal.settings() != terminal.before
        (terminal.type if isinstance(cause, str) else terminal.signal)(cause)  # type: ignore[operator]
        left(terminal, status, "tilebase: stopped\r\n" if status == 130 else None)


def test_an_error_restores_the_terminal(tables: Path, tmp_path: Path):
    shutil.copytree(tables / "t", tmp_path / "t")
    with play(tmp_path, "--start", "2,2,0/0,0,0/0,0,0") as terminal:
        shutil.rmtree(tmp_path / "t")
        terminal.type("d" + "asdw" * 10)
        left(terminal, 1)
        # Keys that come only after the terminal was restored are echoed by it.
        assert terminal.after.lstrip("asdw").startswith("tilebase: ")
        assert "Traceback" not in terminal.output


def test_a_mistake_of_ours_restores_the_terminal(tables: Path):
    script = (
        "import sys; from tilebase.cli import dialogue, main\n"
        "def fail(self, word): raise ZeroDivisionError\n"
        "dialogue.Dialogue._slide = fail\n"
        "sys.exit(main(['play', 't']))"
    )
    with Terminal(sys.executable, "-c", script, folder=tables) as terminal:
        terminal.wait_for("q quit")
        terminal.type("w")
        left(terminal, 1)
        assert "ZeroDivisionError" in terminal.after


STOPPABLE = """
import os, signal, subprocess, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
game = subprocess.Popen([sys.executable, "-m", "tilebase", "play", "t", "--seed", "1"], process_group=0)
os.tcsetpgrp(0, game.pid)
_, status = os.waitpid(game.pid, os.WUNTRACED)
assert os.WIFSTOPPED(status)
os.tcsetpgrp(0, os.getpgrp())
print("the game sleeps", flush=True)
sys.stdin.readline()
os.tcsetpgrp(0, game.pid)
os.kill(game.pid, signal.SIGCONT)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(game.pid, 0)[1]))
"""


def test_ctrl_z_gives_the_terminal_back_for_a_while(tables: Path):
    with Terminal(sys.executable, "-c", STOPPABLE, folder=tables) as terminal:
        terminal.wait_for("q quit")
        terminal.type("\x1a")
        terminal.wait_for_output("the game sleeps")
        assert terminal.is_restored()
        frames = terminal.frames
        terminal.type("\n")
        terminal.wait_for_frames(frames + 1)
        assert not terminal.is_restored()
        before = terminal.shown
        terminal.type("ad")
        terminal.wait_until_changed(before)
        terminal.type("q")
        left(terminal)


def test_a_terminal_that_is_closed(tables: Path):
    with play(tables) as terminal:
        os.close(terminal._parent)
        assert terminal.process.wait(60) in (1, 128 + signal.SIGHUP)
        terminal._parent = os.open(os.devnull, os.O_RDONLY)


@pytest.mark.parametrize(
    ("arguments", "environment"), [(("--no-keys",), {}), ((), {"TERM": "dumb"}), ((), {"TERM": ""})]
)
def test_lines_where_keys_are_not_wanted(tables: Path, arguments: tuple[str, ...], environment):
    with play(tables, *arguments, until="> ", **environment) as terminal:
        assert terminal.settings() == terminal.before
        terminal.type("q\n")
        assert terminal.end() == 0
        assert "\x1b" not in terminal.output


def test_a_game_is_saved_for_review(tables: Path, tmp_path: Path, monkeypatch, capsys, printed) -> None:
    monkeypatch.chdir(tables)
    words = ["left", "down", "u", "right", "up", "down", "left", "q"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(words)))
    file = tmp_path / "game.json"
    shown = printed(f"play t --seed 1 -o {file}")
    assert len(re.findall(r" (was best|lost)", shown)) == 6, "each slide says what it lost"
    moves = json.loads(printed(f"review t {file} -f json"))["moves"]
    assert len(moves) == 6, "five slides, and the last position"
    assert [move["slides"] for move in moves[1:]] == [["right"], ["up"], ["down"], ["left"], []]
    assert Board.parse(GAME, moves[-1]["board"]).unicode() in shown.replace("\n> ", "\n")
    (tmp_path / "shown.txt").write_text(shown)
    assert main(["review", "t", str(tmp_path / "shown.txt")]) == 2
    assert "a game is a file that tilebase play -o" in capsys.readouterr().err


def test_a_real_board_is_saved_with_its_tiles(formation_table: Table) -> None:
    seat = Seat(formation_table, None, random.Random(3), "0,0,0,0/0,2,0,2/64,512,128,256/8192,4096,2048,1024")
    made = []
    while not seat.over and len(made) < 4:
        made.append(seat.best())
        seat.slide(made[-1])
    found = review(formation_table, seat.saved())
    assert [one for move in found.moves for one in move.slides][: len(made)] == made
    assert found.unknown == 0
    assert "8192" in found.moves[0].board


# -- training --------------------------------------------------------------------------------------


def test_training_by_keys(tables: Path):
    start = "2,4,8/0,4,2/0,0,2"
    with open_table(tables / "t") as opened:
        answer = opened.probe(start, "win")
    best = answer.best[0]
    with play(tables, "--train", "--objective", "win", "--start", start) as terminal:
        assert "values are hidden" in terminal.shown
        assert " %" not in terminal.shown
        assert "no slide was counted yet" in terminal.shown
        terminal.type(KEYS[best])
        terminal.wait_for(ONE_BEST[-13:])
        assert f"{best} was best" in terminal.shown
        terminal.type("u")
        terminal.type(KEYS[best])
        terminal.wait_for("not counted, since you knew the values")
        terminal.type("q")
        left(terminal, after=ONE_BEST + "\r\n")


def test_training_by_lines(tables: Path, monkeypatch, printed):
    monkeypatch.chdir(tables)
    monkeypatch.setattr(sys, "stdin", io.StringIO("left\nh\ndown\nu\nright\nv\nup\nq\n"))
    arguments = ["play", "t", "--train", "--seed", "1", "--objective", "score"]
    out = printed(*arguments, "--start", "0,2,2/0,4,0/0,0,8")
    assert "expected score:" not in out.partition("best: ")[0]
    assert "left " in out
    assert out.count("not counted, since you knew the values") == 3
    assert " of 1 slides best" in out.splitlines()[-1]


def test_scores(tables: Path):
    with open_table(tables / "t") as opened:
        seat = Seat(opened, "win", random.Random(1), None)
        losses = []
        while not seat.over:
            assert seat.slide(list(seat.slides)[-1], own=True)
            assert seat.made is not None
            losses.append(seat.made.loss)
        assert [one.loss for one in seat.judged] == losses
        text = seat.score
    assert text.startswith(f"{sum(one.agreed for one in seat.judged)} of {len(losses)} slides best")
    slides = {"left": 1.0, "up": 0.0}
    moves = [ReviewedMove(1, "", (one,), ("up",), loss=loss) for one, loss in slides.items()]
    text = "1 of 2 slides best (50.0 %), forced wins lost: 1, longest run 1"
    assert score_text(moves, "yes-no") == text


def test_a_game_is_solved_first(tmp_path: Path, monkeypatch, printed):
    monkeypatch.setenv("TILEBASE_RUNS_DIR", str(tmp_path / "runs"))
    for game, words in (
        ("2x2 16", "probability to win"),
        ("2x3 16 --adversary", "whether a win can be forced: yes"),
        ("2x2 --limits 16", "expected score"),
        ("2x2 --objective score", "expected score"),
        ("16 --formation 44", "probability to win"),
    ):
        assert words in printed("play", *game.split(), "--auto", "--delay", "0", "--seed", "1", "-q")
    assert list((tmp_path / "runs").iterdir()) == []


@pytest.mark.parametrize(("key", "status"), [("q", 0), ("\x03", 130)])
def test_a_game_is_solved_first_in_a_terminal(tmp_path: Path, key: str, status: int):
    arguments = ("play", "2x3", "16", "--seed", 1)
    with Terminal(*arguments, folder=tmp_path, TILEBASE_RUNS_DIR=str(tmp_path / "runs")) as terminal:
        terminal.wait_for("q quit")
        terminal.type(key)
        left(terminal, status)
    assert list((tmp_path / "runs").iterdir()) == []
