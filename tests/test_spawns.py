"""The spawn law: what is read and printed, and that every query follows one that depends on the board."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest

from tilebase import evaluate, open_table, simulate, solve, thin, verify_table
from tilebase.cli import main
from tilebase.dense.backends.cuda import Cuda
from tilebase.errors import GameError, UsageError
from tilebase.game.game import Game
from tilebase.game.spawns import ORIGINAL, SpawnLaw, law_of
from tilebase.objectives.objective import Objective
from tilebase.questions.prove import prove
from tilebase.small.oracle import values
from tilebase.web.documents import describe_rules

LAW = "1/10, 1: 3/4, 2: 1/3"
GAME = Game("2x2", 32, spawn=LAW)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("0.1", "1/10"),
        (0, "0"),
        (Fraction(2, 6), "1/3"),
        (" 1/10 ,2:1/3,  1 : 0.75", LAW),
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


def test_the_smallest_number_that_is_large_enough_counts() -> None:
    law = SpawnLaw.of(LAW)
    assert [str(law.chance(2, n)) for n in range(5)] == ["3/4", "3/4", "1/3", "1/10", "1/10"]
    assert all(law.chance(1, n) + law.chance(2, n) == 1 for n in range(9))
    assert law.chance(3, 1) == 0
    assert law.denominator == 60
    assert law.weights(1, 3) == [15, 15, 40, 54]
    assert (law.exponents, law.depends, ORIGINAL.depends) == ((1, 2), True, False)
    assert law_of("4, 2") == ORIGINAL
    assert law_of("4").exponents == (2,)


@pytest.mark.parametrize(
    ("written", "law"),
    [
        ("50%", "1/2"),
        ("12.5 %", "1/8"),
        ("10 %, 4: 25%", "1/10, 4: 1/4"),
    ],
)
def test_a_probability_may_be_a_percentage(written: str, law: str) -> None:
    assert SpawnLaw.of(written) == SpawnLaw.of(law)


@pytest.mark.parametrize(
    ("law", "sentence"),
    [
        ("110%", "the probability of a 4 is 110%, but must lie between 0 and 1"),
        ("%", "'%' is not a probability"),
        ("1/10, 2", "'2' is not part of a spawn law: write the largest number of empty cells"),
        ("1/10, 2: 1/3, 2: 1/4", "'2: 1/4' is not part of a spawn law"),
        ("1/10, 0: 1/3", "is not part of a spawn law"),
        ("1/10, -1: 1/3", "is not part of a spawn law"),
        ("1/10, 2: 1", "must always spawn both 2s and 4s"),
        ("0, 2: 1/2", "must always spawn both 2s and 4s"),
        ("1/10, 2: 3/2", "the probability of a 4 is 3/2, but must lie between 0 and 1"),
        ("1/10, 2: often", "'often' is not a probability"),
        ("1/999999999989, 2: 1/999999999961", "too large a common denominator"),
        ("", "'' is not a probability"),
        ("2:0.9,8:0.1", "'2:0.9' is not a probability"),
    ],
)
def test_what_is_no_law_is_refused(law: str, sentence: str) -> None:
    with pytest.raises(GameError) as raised:
        Game("2x2", 8, spawn=law)
    assert sentence in str(raised.value)


def test_a_law_in_words() -> None:
    assert ORIGINAL.words == "2 with probability 9/10 and 4 with probability 1/10"
    words = f"{ORIGINAL.words} (1/3 with at most 2 empty cells, 3/4 with at most 1 empty cell)"
    assert f"spawns of {words}: there is a strategy" in prove(GAME, threads=1).statement
    rules = describe_rules(GAME)
    assert "One of 10 new tiles is a 4. With at most 2 empty cells, one of 3 new tiles is a 4." in str(rules)


def test_a_table_is_verified_evaluated_thinned_and_played(tmp_path: Path) -> None:
    """Each of them weighs spawns by itself."""
    exact = values(GAME).start
    table = tmp_path / "table"
    solution = solve(GAME, "win,lower,upper", table=table, threads=1)
    assert float(solution.value) == pytest.approx(float(exact), abs=1e-14)
    found = verify_table(table, sample=None)
    assert (found.wrong, found.unread) == ((), ())
    assert found.values > 100
    assert float(evaluate(table, table, threads=1).value) == pytest.approx(float(exact), abs=1e-14)
    played = simulate(table, games=20_000, seed=3)
    assert played.z is not None
    assert abs(played.z) < 5
    thinned = thin(table, tmp_path / "thin", above=1e-9)
    with open_table(tmp_path / "thin") as opened:
        assert opened.start["win"] == solution.start["win"]
    assert thinned.left_out < 1e-6


@pytest.mark.all  # by default, as one of the games of tests/conformance
def test_all_boards_follow_the_law(tmp_path: Path) -> None:
    for objective in ("win", "lower", "upper:uint16", "score", "moves:float32"):
        every = solve(GAME, objective, space="all", threads=1).value
        reachable = solve(GAME, objective, threads=1).value
        assert every == reachable or float(every) == pytest.approx(float(reachable), rel=1e-6), objective  # type: ignore[arg-type]


def test_commands_take_a_law(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "2x2", "32", "--spawn", LAW, "-q"]) == 0
    assert f"2x2, to 32, spawn {LAW}" in capsys.readouterr().out
    assert main(["solve", "2x2", "32", "--spawn", "1/10, 2", "-q"]) == 2
    assert "is not part of a spawn law" in capsys.readouterr().err


def test_cuda_refuses_a_law_that_depends_on_the_board() -> None:
    """Before it asks for a device: tests/cuda runs the simulator in a process of its own."""
    rules, backup = SimpleNamespace(game=GAME), SimpleNamespace(dtype="float64")
    with pytest.raises(UsageError, match="games in which a 4 is as likely on every board"):
        Cuda(rules, backup, Objective("win"), largest=None)  # type: ignore[arg-type]
