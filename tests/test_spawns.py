"""The spawn law: what is read and printed, and that every query follows one that depends on the board."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest

from conformance.queries import exact_values, first_types
from judging import check, check_boards
from stored import number_of, reachable_values
from tilebase import check_pattern, count, evaluate, force, open_table, simulate, solve, thin, verify_table
from tilebase.cli import main
from tilebase.dense.backends.cuda import Cuda
from tilebase.errors import GameError, UsageError
from tilebase.game.game import Game
from tilebase.game.spawns import ORIGINAL, SpawnLaw, law_of
from tilebase.game.symmetry import symmetries
from tilebase.objectives.objective import Objective
from tilebase.questions.distributions import distributions
from tilebase.questions.exact import check_exactly, solve_exactly
from tilebase.questions.lemma import sample_fillings
from tilebase.questions.prove import prove
from tilebase.simulator import Simulator
from tilebase.small import oracle
from tilebase.small.oracle import values
from tilebase.web.rules import describe_rules

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
        ("2:0.9,4:0.1", "1/10"),
        ("4:1", "1"),
        (" 8: 1/4, 2:0.75 ", "2: 3/4, 8: 1/4"),
        ("2:1/2, 4:1/3, 16:1/6, 8:0", "2: 1/2, 4: 1/3, 16: 1/6"),
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
        ("2: 90 %, 8: 10 %", "2: 9/10, 8: 1/10"),
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
        ("2:0.9,8:0.2", "the probabilities of '2:0.9,8:0.2' sum to 11/10, but must sum to 1"),
        ("2:1/2,2:1/2", "'2:1/2' is not part of a spawn law: write each tile once"),
        ("2:1/2,6:1/2", "'6:1/2' is not part of a spawn law"),
        ("2:1/2,512:1/2", "'512:1/2' is not part of a spawn law"),
        ("2:3/2,8:1/2", "the probability of a spawned 2 is 3/2"),
        ("8:1", "goal 8 is spawned, not made"),
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


WEIGHTED = (
    Game("2x2", 32, spawn=f"{LAW} on 1,2/2,4"),
    Game("2x3", 16, spawn="1/10 on 3,1,2/1,1,1", walls=[5]),
    Game("2x3", 16, spawn="2:1/2,8:1/2 on 1,5,1/1,1,1", start="empty"),
    Game("3x3", 8, spawn="1/10 on 2,1,2/1,7,1/2,1,2"),
    Game("2x2", spawn="0 on 1,1/1,3", horizon=20),
    Game("2x2", goal_sum=20, spawn="1/10 on 1,1/1,3"),
)


@pytest.mark.parametrize("game", WEIGHTED, ids=str)
def test_weights_of_cells_are_those_of_the_definition(game: Game, tmp_path: Path) -> None:
    """The chance of each spawn is written out here; with it, every engine follows the oracle."""
    weights = game.spawn.cells
    for after in oracle.reachable(game)[8].afterstates:
        empty = [cell for cell, e in enumerate(after) if not e and cell not in game.walls]
        chances = {
            (cell, e): Fraction(weights[cell], sum(weights[c] for c in empty))
            * game.spawn.chance(e, len(empty))
            for cell in empty
            for e in game.spawn_exponents
        }
        spawned = {}
        for state, p in game.spawns(after):
            (cell,) = (c for c in range(game.cells) if state[c] != after[c])
            spawned[cell, state[cell]] = p
        assert spawned == chances
    counted, wanted = count(game, threads=1), oracle.count(game)
    assert counted.totals == wanted.totals
    objective = "win" if game.can_win else "largest"
    exact = values(game, objective).start  # type: ignore[arg-type]
    assert solve_exactly(game, objective, threads=1).start == exact
    table = tmp_path / "table"
    labels = [*first_types(game)]
    solution = solve(game, labels, table=table, threads=1)
    for one in solution.objectives:
        wanted_values = exact_values(game, one)
        check(one, number_of(solution.start[one.label]), one.told(wanted_values.start))
        found = reachable_values(table, game, one)
        named = (
            (board, number, one.told(wanted_values.afterstates[board])) for board, number in found.items()
        )
        check_boards(game, one, named)
    assert verify_table(table, sample=None).wrong == ()
    assert check_exactly(table, objective).wrong == 0
    assert float(evaluate(table, table, threads=1, objective=objective).value) == pytest.approx(float(exact))  # type: ignore[arg-type]
    if game.goal_sum is None:
        tiles = distributions(table, table, of=["tile"], objective=objective)["tile"]
        assert sum(tiles.chances.values()) == pytest.approx(1)
        assert game.goal is None or tiles.chances.get(game.goal, 0.0) == pytest.approx(float(exact))
    played = simulate(table, games=20_000, seed=3, objective=objective)
    assert played.error is not None
    assert abs(played.mean - float(exact)) <= 5 * played.error + 1e-9


def test_weights_are_read_reduced_and_kept() -> None:
    game = Game("2x3", 16, spawn="0.1 on 2,4,2/4,6,#", walls=[5])
    assert str(game.spawn) == "1/10 on 1,2,1,2,3,0"
    assert Game.from_identity(game.identity) == game
    assert Game("2x2", 16, spawn="0.1 on 3,3/3,3") == Game("2x2", 16)
    assert Game("2x2", 16, spawn=game.spawn.with_equal_cells) == Game("2x2", 16)
    assert len(symmetries(Game("3x3", 16, spawn="0.1 on 1,2,1/2,5,2/1,2,1"))) == 8
    assert len(symmetries(Game("3x3", 16, spawn="0.1 on 1,2,1/2,5,2/1,3,1"))) == 2
    assert "in proportion to the weight of the cell: 1,2,1/2,3,0." in str(describe_rules(game))


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        ("1,2,3", "3 weights of cells in the spawn law, and the board has 4 cells"),
        ("1,2/0,4", "the weight of cell 2 is 0: give a whole number from 1 to 1000"),
        ("1,2/-1,4", "'-1' is not a weight of a cell"),
        ("1,2/1.5,4", "'1.5' is not a weight of a cell"),
        ("1,2/1001,4", "'1001' is not a weight of a cell"),
        ("  ", "is not a"),
    ],
)
def test_what_are_no_weights_is_refused(weights: str, sentence: str) -> None:
    with pytest.raises(GameError, match=re.escape(sentence)):
        Game("2x2", 16, spawn=f"1/10 on {weights}")


def test_engines_that_know_no_weights_say_so() -> None:
    game = WEIGHTED[0]
    with pytest.raises(UsageError, match="in the dense space all cells weigh the same"):
        solve(game, "win", space="all", threads=1)
    for ask in (force, partial(sample_fillings, count=1), check_pattern):
        with pytest.raises(UsageError, match="does not depend on weights of cells"):
            ask(Game("2x3", 64, spawn="1/10 on 1,2,1/2,3,2", pattern="lemma1"), threads=1)
    with pytest.raises(UsageError, match="cells of equal weight only"):
        Simulator(game, 1)
    with pytest.raises(UsageError, match="no small common multiple"):
        solve_exactly(Game("3x3", 8, spawn="0 on 997,991,983/977,971,967/953,947,941"), threads=1)


OTHER = (
    Game("2x3", 16, spawn="2:0.6,8:0.4"),
    Game("2x3", 16, spawn="2:1/2,4:1/3,8:1/6"),
    Game("2x2", 64, spawn="4:3/4,16:1/4"),
    Game("2x3", 64, spawn="8:1", start="empty"),
    Game("2x2", spawn="2:1/2,8:1/2"),
)


@pytest.mark.parametrize("game", OTHER, ids=str)
def test_other_tiles_are_counted_and_solved_as_the_oracle_does(game: Game, tmp_path: Path) -> None:
    counted, wanted = count(game, threads=1), oracle.count(game)
    assert counted.totals == wanted.totals
    assert counted.sums.tolist() == wanted.sums.tolist()
    table = tmp_path / "table"
    solution = solve(game, list(first_types(game)), table=table, threads=1)
    for objective, value in zip(solution.objectives, solution.start.values(), strict=True):
        exact = exact_values(game, objective)
        found = reachable_values(table, game, objective)
        check(objective, number_of(value), objective.told(exact.start))
        named = ((board, number, objective.told(exact.afterstates[board])) for board, number in found.items())
        check_boards(game, objective, named)
    found_wrong = verify_table(table, sample=None)
    assert found_wrong.wrong == ()
    assert solve_exactly(game, "score", threads=1).start == values(game, "score").start
    played = simulate(table, games=20_000, seed=3, objective="score")
    assert played.z is not None
    assert abs(played.z) < 5
    assert check_exactly(table, "score").wrong == 0


def test_an_interrupted_count_goes_on_with_the_layers_that_it_needs(tmp_path: Path) -> None:
    game = OTHER[0]
    for up_to in (20, 40, None):
        found = count(game, folder=tmp_path / "run", up_to=up_to, threads=1)
    assert found.totals == oracle.count(game).totals


def test_what_knows_2s_and_4s_only_says_so(tmp_path: Path) -> None:
    game = OTHER[0]
    with pytest.raises(UsageError, match="the dense space is for spawns of 2 and 4"):
        solve(game, "win", space="all", folder=tmp_path / "run", threads=1)
    with pytest.raises(UsageError, match="the dense space is for spawns of 2 and 4"):
        prove(game, space="all", folder=tmp_path / "run", threads=1)
    assert not (tmp_path / "run").exists()
    with pytest.raises(UsageError, match="the adversary spawns 2s and 4s"):
        force(game, threads=1)
    solve(OTHER[1], "win", table=tmp_path, threads=1)
    with pytest.raises(UsageError, match="at most two different tiles are spawned"):
        distributions(tmp_path, "random", of=["score"])
    assert sum(distributions(tmp_path, "random", of=["tile"])["tile"].chances.values()) == pytest.approx(1)
    assert "New tiles are 2 with probability 3/5 and 8 with probability 2/5." in str(describe_rules(game))
