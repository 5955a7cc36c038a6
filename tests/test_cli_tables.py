"""The commands about tables: what they print, and how they refuse."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

import cached_oracle as oracle
from stored import chunks_of
from tilebase import __version__, evaluate, solve
from tilebase.cli import main
from tilebase.game.game import Game
from tilebase.game.symmetry import canonical
from tilebase.policies import compare, judge
from tilebase.tables.probe import open_table

SMALL = Game("2x2", 32)
VALUE = f"{float(oracle.values(SMALL).start):.12g}"


@pytest.fixture
def table(solved: Callable[..., Path], folder: Path) -> Path:
    """A table of 2x2 to 32 with an interval and a score, as ``t`` in the current folder."""
    return Path(shutil.copytree(solved(SMALL, "win,lower,upper,score"), folder / "t"))


def type_in(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


# -- solve -----------------------------------------------------------------------------------------


def test_solve_by_sum(folder, printed):
    document = json.loads(printed("solve 2x2 32 -q --objective win,lower,upper -f json"))
    exact = oracle.values(SMALL)
    low, high = (Fraction(start["bound"]) for start in document["start"][1:])
    assert low <= exact.start <= high
    rows = [row for row in document["layers"] if row["objective"] == "win"]
    for row in rows:
        worths = [w for after, w in exact.afterstates.items() if SMALL.sum(after) == int(row["sum"])]
        assert int(row["positions"]) == len(worths)
        assert float(row["mean"]) == pytest.approx(float(sum(worths) / len(worths)), abs=1e-15)
    assert document["complete"]
    assert sum(int(row["positions"]) for row in rows) == len(exact.afterstates)
    rows = list(csv.reader(io.StringIO(printed("solve 2x2 32 -q -f csv"))))
    assert rows[0] == ["objective", "kind", "type", "value", "game", "command", "version"]
    assert rows[1][:3] == ["win", "rounded", "float64"]
    assert float(rows[1][3]) == pytest.approx(float(VALUE))


# -- probe -----------------------------------------------------------------------------------------


def test_probe_in_text(table, printed):
    lines = printed("probe t 8,16/0,8 --objective win").splitlines()
    exact = oracle.values(SMALL)
    board = SMALL.parse("8,16/0,8")
    best = max(exact.afterstates[canonical(SMALL, after)] for after in SMALL.slides(board).values())
    assert "│" in lines[1]
    assert f"probability to win: {float(best):.12g}" in lines
    assert {line[2:].split()[0] for line in lines[-len(SMALL.slides(board)) :]} == set(SMALL.slides(board))
    assert any(line.startswith("* ") for line in lines)


def test_probe_in_json(table, printed):
    with open_table(table) as opened:
        answer = opened.probe("2,0/0,4")
    document = json.loads(printed("probe t 1002 -f json"))
    assert (document.pop("version"), document.pop("command")) == (__version__, "tilebase probe t 1002")
    assert document == json.loads(json.dumps(answer.as_dict(spawns=True)))
    assert document["value"]["kind"] == "interval"


# -- play ------------------------------------------------------------------------------------------


def test_play_by_hand(table, monkeypatch, printed):
    type_in(monkeypatch, "?", "h", "left", "sideways", "f", "u", "u", "v", "a", "n", "", "hint", "q", "left")
    out = printed("play t --start 0,2/0,4 --seed 1")
    assert "w a s d or the names of directions slide" in out
    assert "best: " in out
    assert "sideways is not allowed here; allowed: left" in out
    assert "back is not allowed here" in out
    assert "nothing to take back" in out


def test_play_to_a_win_and_back(table, monkeypatch, printed):
    type_in(monkeypatch, "up", "h", "left", "p", "undo", "p")
    out = printed("play t --start 16,16/0,2 --seed 1 --delay 0 --objective win")
    assert out.count("won after 1 slide") >= 1
    type_in(monkeypatch, "left", "h", "up", "p", "undo", "p")
    out = printed("play t --start 16,16/0,2 --seed 1 --delay 0 --objective win")
    assert "the table does not know" in out
    assert "allowed: none: u takes a slide back, n starts again" in out
    assert out.count("won after 1 slide") >= 3


def test_the_table_plays(table, printed):
    first = printed("play t --auto --delay 0 --seed 1")
    assert first == printed("play t --auto --delay 0 --seed 1")
    assert first != printed("play t --auto --delay 0 --seed 2")
    assert "no slide is left after" in first or "won after" in first


def test_play_where_the_table_ends(folder, printed, monkeypatch):
    solve(Game("2x2", 32, start="16,8/4,0"), table=folder / "t")
    assert "the table does not hold this position" in printed("play t --start 0,2/2,0 --auto", status=1)
    type_in(monkeypatch, "h", "p", "left", "q")
    assert "the table does not know" in printed("play t --start 0,2/2,0")


@pytest.fixture(scope="module")
def forced(tmp_path_factory):
    """2x3 to 16, which can be forced, and 32, which cannot: what each position is worth to the player."""
    folder = tmp_path_factory.mktemp("forced")
    for goal in (16, 32):
        solve(Game("2x3", goal), "guaranteed", table=folder / str(goal))
    return folder


@pytest.mark.parametrize(
    ("goal", "answer", "end"), [("16", "yes", "won after"), ("32", "no", "no slide is left")]
)
def test_an_adversary_prevents_what_is_not_forced_and_nothing_else(forced, printed, goal, answer, end):
    for seed in range(3):
        out = printed(f"play {forced / goal} --adversary --auto --delay 0 --seed {seed}")
        assert f"whether a win can be forced: {answer}" in out
        assert end in out


# -- evaluate, verify ------------------------------------------------------------------------------


def test_simulate(table, printed):
    out = printed("evaluate t --games 2000 --seed 5 -q")
    assert "2,000" in out
    assert VALUE in out
    document = json.loads(printed("evaluate t --games 2000 --seed 5 -q -f json"))
    assert abs(document["z"]) < 5
    assert f"{document['wins']:,}" in out
    assert "z" not in printed("evaluate t --games 100 --objective lower -q").split()


def test_evaluate(table, folder, printed):
    out = printed("evaluate t random -q")
    assert [line.split()[0] for line in out.splitlines()[1:]] == ["random", "optimal", "regret"]
    document = json.loads(printed("evaluate t t -q -f json --objective score"))
    assert document["regret"] == pytest.approx(0, abs=1e-9)
    (folder / "leftward.py").write_text("def left(board):\n    return next(iter(board.slides()))\n")
    assert "live states reached, without symmetry" in printed("evaluate t leftward:left -q")
    assert "regret" in printed("evaluate t greedy -q --record found.csv")
    assert (folder / "found.csv").read_text().splitlines()[1].startswith("greedy,")


def test_verify_writes_rows(table, folder, capsys, printed):
    (row,) = json.loads(printed("verify t -q -f json --record v.csv"))
    assert (row["what"], row["sound"], row["layers"], row["values"]) == ("t", True, 16, 180)
    assert row["problems"] == []
    assert row["command"] == "tilebase verify t"
    (folder / "many").mkdir()
    shutil.copytree(table, folder / "many" / "a")
    shutil.copytree(table, folder / "many" / "b")
    (folder / "many" / "c").mkdir()
    chunks_of(folder / "many/b/values/win", 20).flip(20, 1)
    (folder / "many/c/manifest.json").write_text("{}")
    lines = list(csv.DictReader(io.StringIO(printed("verify many -q --record v.json -f csv", status=1))))
    assert [line["sound"] for line in lines] == ["True", "False", "False"]
    assert [line["what"] for line in lines] == ["many/a", "many/b", "many/c"]
    assert "sum 20, is damaged in chunk 0" in lines[1]["problems"]
    assert [len(row["problems"]) for row in json.loads((folder / "v.json").read_text())] == [0, 1, 1]
    assert main(["count", "2x2", "16", "-o", "run", "-q"]) == 0
    capsys.readouterr()
    assert printed("verify run -q --record v.txt") == (folder / "v.txt").read_text() == "run: sound\n"
    assert main(["verify", "t", "-q", "--list", "-f", "json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.err)[0]["sound"]
    (folder / "list").write_text(printed.out.replace("000.seg", "001.seg", 1))
    (row,) = json.loads(printed("verify t -q --against list -f json", status=1))
    assert not row["sound"]
    assert len(row["problems"]) == 2


def test_a_full_disk_behind_standard_output():
    command = [sys.executable, "-m", "tilebase", "rank", "2x2", "32", "-f", "json"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "tilebase: cannot write the output: No space left on device\n"


# -- what is certain -------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def almost_won(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tables of 3x3 to 64, which is lost with a probability of 7e-18, and a game on it."""
    folder = tmp_path_factory.mktemp("almost")
    solve(Game("3x3", 64), "win", table=folder / "win")
    solve(Game("3x3", 64), "win,loss", table=folder / "both")
    (folder / "game.txt").write_text("2,2,0/0,0,0/0,0,0\n4,0,0/0,2,0/0,0,0\n0,0,0/0,2,0/4,2,0\n")
    return folder


UNCERTAIN = re.compile(r"(^|(?<!≈)[ >])(1|0|1\.0|0\.0|100(\.0+)? ?%|0(\.0+)? ?%)(?! - )([ <(]|$)")


@pytest.mark.parametrize("table", ["win", "both"])
@pytest.mark.parametrize(
    "command",
    [
        "probe TABLE", "probe TABLE 2,2,0/0,0,0/0,0,0", "review TABLE game.txt", "evaluate TABLE random",
        "evaluate TABLE greedy", "evaluate TABLE TABLE", "evaluate TABLE --games 100",
        "evaluate TABLE TABLE --distribution tile,length --resolution 10 --meets 2,2,0/0,0,0/0,0,0",
        "evaluate TABLE TABLE --symmetry check", "evaluate TABLE random --symmetry canonical",
        "solve 3x3 64 -o TABLE", "thin TABLE --visited 0.01 -o small-TABLE",
    ],
)  # fmt: skip
def test_nothing_uncertain_is_printed_as_certain(almost_won, monkeypatch, capsys, table, command) -> None:
    """The probability to win is 1 - 7e-18, so no 1 and no 0 stands for a probability; counts are others."""
    monkeypatch.chdir(almost_won)
    quiet = ["-q"] * (command.split()[0] in ("evaluate", "solve"))
    assert main([*command.replace("TABLE", table).split(), *quiet]) == 0
    certain = "1 in each game; to 1;in positions;z  ;mistakes;judged;best  ;most in a row;lost ;worst mistake"
    first = {}
    for line in capsys.readouterr().out.splitlines():
        name = line.partition(" ")[0]
        if name in ("tile", "length") and first.setdefault(name, line) == line:
            line = line.removesuffix(" 1")  # every game has at least the least value
        if not line.startswith(("│", "   ")) and not any(word in line for word in certain.split(";")):
            assert not UNCERTAIN.search(line), line


def test_nothing_uncertain_is_shown_as_certain_in_python(almost_won: Path) -> None:
    for table in (almost_won / "win", almost_won / "both"):
        judged, found = judge(table, "greedy"), evaluate(table, "greedy")
        texts = [judged._repr_html_(), repr(judged), found._repr_html_(), repr(found)]
        compared = compare(table, {"best": table})
        texts += [compared._repr_html_(), repr(compared)]
        with open_table(table) as opened:
            answer = opened.probe("2,2,0/0,0,0/0,0,0", "win")
            texts += [opened._repr_html_(), answer._repr_html_(), repr(answer)]
        for text in texts:
            assert not re.search(r"(win|optimum|value:?) 1\b(?! -)|<td>[01]</td>", text), text
