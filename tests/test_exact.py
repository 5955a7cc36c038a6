"""Values as fractions: equal to the oracle, and the floats of tables are as near to them as is proved."""

from __future__ import annotations

import csv
import itertools
import json
from fractions import Fraction
from typing import Any

import pytest

import cached_oracle as oracle
from conformance.games import SMALL_GAMES
from conformance.queries import fits
from tilebase.cli import main
from tilebase.errors import ResourceError, UsageError
from tilebase.game.game import Cells, Game
from tilebase.game.symmetry import canonical
from tilebase.objectives.objective import Objective
from tilebase.questions.exact import ExactLayer, check_exactly, solve_exactly
from tilebase.questions.solve import solve
from tilebase.small import oracle as plain

ASKED = (("win", 1), ("loss", 1), ("moves", "9/10"), ("score", 1), ("merges", "2/3"), ("largest", 1))
CASES = [
    (game, name, Fraction(discount))
    for game, (name, discount) in zip(SMALL_GAMES, itertools.cycle(ASKED), strict=False)
    if fits(Objective(name), game)
]


@pytest.mark.parametrize(("game", "name", "discount"), CASES, ids=str)
def test_fractions_are_those_of_the_oracle(game: Game, name: str, discount: Fraction) -> None:
    told, exact = Objective(name).told, oracle.values(game, name, discount=discount)  # type: ignore[arg-type]
    values: dict[Cells, Fraction] = {}
    layers: list[ExactLayer] = []
    states: list[ExactLayer] = []
    found = solve_exactly(game, name, discount=discount, layer=layers.append, states=states.append, threads=1)
    assert found.start == told(exact.start)
    for layer in layers:
        numbers = zip(layer.keys, layer.numerators, strict=True)
        values |= {game.unpack(int(key)): Fraction(number, layer.denominator) for key, number in numbers}
    assert values == {board: told(value) for board, value in exact.afterstates.items()}
    assert found.afterstates == len(values)
    assert [layer.sum for layer in layers] == sorted((layer.sum for layer in layers), reverse=True)
    met = set()
    for layer in states:
        assert layer.slides is not None
        for key, number, slides in zip(layer.keys, layer.numerators, layer.slides, strict=True):
            state = game.unpack(int(key))
            met.add(state)
            assert Fraction(number, layer.denominator) == told(exact.states[state])
            worths = zip(game.directions, slides, strict=True)
            assert {way: Fraction(one, layer.denominator) for way, one in worths if one is not None} == {
                way: told(discount * worth) for way, worth in oracle.worths(exact, state).items()
            }
    assert met == {canonical(game, state) for state in exact.states if not game.has_goal_sum(state)}


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize("more", [[], ["--states"]], ids=["afterstates", "states"])
def test_a_table_is_exported_in_fractions(suffix, more, folder) -> None:
    game = Game("2x2", 16)
    solve(game, "win,loss", table=folder / "t", threads=1)
    name = f"fractions.{suffix}"
    assert main(["export", "values", "t", "--objective", "loss", "--exact", "-o", name, *more]) == 0
    lines = (folder / name).read_text().splitlines()
    rows = list(csv.DictReader(lines)) if suffix == "csv" else [json.loads(line) for line in lines]
    exact = oracle.values(game, "loss")
    boards = exact.states if more else exact.afterstates
    cells = [row["cells"] if suffix == "jsonl" else json.loads(row["cells"]) for row in rows]
    found = dict(zip(map(tuple, cells), rows, strict=True))
    assert len(found) == len(rows) == len({canonical(game, board) for board in boards})
    for board, row in found.items():
        assert (row["board"], row["v"]) == (game.format(board), str(-boards[board]))
        if more:
            slides = {way: row[f"q_{way}"] for way in game.directions if row[f"q_{way}"]}
            assert slides == {way: str(-worth) for way, worth in oracle.worths(exact, board).items()}


def test_a_game_too_large_for_fractions_leaves_no_file(folder, monkeypatch, refused) -> None:
    solve(Game("2x2", 8), table=folder / "t", threads=1)
    monkeypatch.setattr("tilebase.questions.exact.MOST_AFTERSTATES", 3)
    refused(["export", "values", "t", "--exact", "-o", "a.csv"], 1, "fractions are for at most 3")
    assert not (folder / "a.csv").exists()


@pytest.mark.parametrize("name", ["win:float32", "loss", "score"])
def test_the_floats_of_a_table_are_as_near_as_is_proved(name: str, solved) -> None:
    game = Game("2x3", 32)
    found = check_exactly(solved(game, name))
    assert found.values == len(oracle.values(game, "win").afterstates) + 1
    assert found.wrong == 0
    assert 0 < found.largest_error < found.proved < (1e-4 if "32" in name else 1e-12)


def test_a_wrong_float_is_found(solved, monkeypatch: pytest.MonkeyPatch) -> None:
    table, read = solved(Game("2x2", 16)), Objective.read
    monkeypatch.setattr(Objective, "read", lambda self, stored: read(self, stored) * (1 - 1e-12))
    found = check_exactly(table)
    assert found.wrong > 10
    assert 1e-13 < found.largest_error < 1e-11


@pytest.mark.parametrize("play", ["worst", "undo", "fastest"])
@pytest.mark.parametrize(
    ("game", "name"),
    [
        (Game("2x2", 32), "win"),
        (Game("2x3", 16, spawn="1/3"), "loss"),
        (Game("2x2"), "score"),
        (Game("2x2", goal_sum=20), "win"),
        (Game("2x2", 16, horizon=18), "win"),
        (Game("2x2", 32, horizon=18), "moves"),
        (Game("1x4", 16, spawn=1, start="4,4,0,0"), "win"),
    ],
    ids=str,
)
def test_other_plays_are_those_of_the_oracle(game: Game, name: str, play: Any) -> None:
    if play == "fastest" and name != "win":
        with pytest.raises(UsageError, match="takes the objective win"):
            solve_exactly(game, name, play=play, threads=1)
        return
    told = Objective(name).told
    found, best = (solve_exactly(game, name, play=one, threads=1).start for one in (play, "best"))
    assert found == told(plain.played(game, name, play))  # type: ignore[arg-type]
    if play != "fastest":
        assert (found >= best) == ((play == "undo") != (name == "loss")) or found == best


def test_fastest_is_the_least_over_all_policies() -> None:
    """The slides of won games under every policy of a tiny game, of those that win most often."""
    game = Game("1x3", 8, start="2,0,2")
    slides = {
        state: [*game.slides(state).values()]
        for layer in plain.reachable(game, symmetric=False).values()
        for state in layer.states
    }
    several = [state for state, afters in slides.items() if len(afters) > 1]
    assert 2 < len(several) < 12

    def wins(policy: dict[Cells, Cells], state: Cells) -> tuple[Fraction, Fraction]:
        """The probability to win, and the slides of won games, lost ones counted as 0."""
        if state not in policy:
            return Fraction(0), Fraction(0)
        after = policy[state]
        if game.wins(after):
            return Fraction(1), Fraction(1)
        found = [(p, wins(policy, following)) for following, p in game.spawns(after)]
        won = sum((p * one for p, (one, _) in found), Fraction(0))
        return won, won + sum((p * one for p, (_, one) in found), Fraction(0))

    ways: dict[Fraction, list[Fraction]] = {}
    for taken in itertools.product(*(slides[state] for state in several)):
        policy = {state: afters[0] for state, afters in slides.items() if afters}
        policy.update(zip(several, taken, strict=True))
        starts = [(p, wins(policy, state)) for state, p in game.starts()]
        won = sum((p * one for p, (one, _) in starts), Fraction(0))
        ways.setdefault(won, []).append(sum((p * one for p, (_, one) in starts), Fraction(0)) / won)
    assert max(ways) == solve_exactly(game, threads=1).start
    assert min(ways[max(ways)]) == solve_exactly(game, play="fastest", threads=1).start
    assert min(ways) == solve_exactly(game, play="worst", threads=1).start


def test_what_has_no_fractions() -> None:
    with pytest.raises(UsageError, match="one objective at a time"):
        solve_exactly(Game("2x2", 16), "win,loss", threads=1)
    with pytest.raises(UsageError, match="those of the play best"):
        solve_exactly(Game("2x2", 8), play="worst", states=print, threads=1)


def test_long_fractions_are_decimals_and_too_long_ones_are_refused(monkeypatch) -> None:
    monkeypatch.setattr("tilebase.questions.exact.MOST_DIGITS", 100)
    with pytest.raises(ResourceError, match="digits, and at most 100 are written"):
        solve_exactly(Game("2x2", 32), discount="0.999999999989", threads=1)
    assert solve_exactly(Game("2x2", 32), threads=1).as_dict()["denominator_digits"] <= 100
    monkeypatch.undo()
    found = solve_exactly(Game("2x3", 32), "loss", threads=1)
    assert found.text.startswith("≈ 0.000103236575336616354981446991343557")
    assert found.as_dict()["value"] == {"kind": "exact", "value": str(found.start)}
    assert abs(Fraction(found.text[2:]) - found.start) < found.start / 10**39
