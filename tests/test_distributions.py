"""How the games of a policy end, against the same numbers in fractions by the plain rules."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import pytest

import cached_oracle as oracle
from following import slides_of
from tilebase.datasets import to_arrow
from tilebase.errors import UsageError
from tilebase.game.board import Board
from tilebase.game.game import Cells, Game
from tilebase.game.symmetry import canonical
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Exact, Rounded
from tilebase.policies import as_policy, judge
from tilebase.policies.distributions import NAMES, Distribution, distributions
from tilebase.policies.evaluation import Evaluation, evaluate
from tilebase.questions.solve import solve
from tilebase.tables.probe import open_table
from tilebase.tables.thinning import thin

GAMES = (
    Game("2x2"),
    Game("2x3", 8),
    Game("2x2", 16, spawn="2/5", start="empty"),
    Game("2x2", 32, horizon=18),
    Game("2x3", 16, walls=[1, 4]),
    Game("2x2", 16, start="4,2/0,0"),
    Game("2x3", 16, start="after 2,0,4/4,0,8 | 8,0,0/0,0,2"),
    Game("2x2", 32, spawn="1/4", start="empty"),
    Game("2x2", 32, spawn=1),
)


def by_rules(game: Game, policy: str) -> tuple[dict[str, dict[int, Fraction]], dict[Cells, Fraction]]:
    """The distributions, and with which probability games come to each state, up to symmetry."""
    chosen = slides_of(game, policy)
    found: dict[str, dict[int, Fraction]] = {name: defaultdict(Fraction) for name in NAMES}
    meets: dict[Cells, Fraction] = defaultdict(Fraction)
    waiting: dict[int, dict[tuple[Cells, int, int], Fraction]] = defaultdict(lambda: defaultdict(Fraction))

    def end(board: Cells, length: int, score: int, p: Fraction) -> None:
        top = max((e for e in board if not game.is_x(e)), default=0)
        for name, value in (("tile", 1 << top if top else 0), ("length", length), ("score", score)):
            found[name][value] += p

    for state, p in game.starts():
        waiting[game.sum(state)][state, 0, 0] += p
    while waiting:
        for (state, length, score), p in waiting.pop(min(waiting)).items():
            meets[canonical(game, state)] += p
            slides = chosen(state)
            for direction in slides:
                after = game.slides(state)[direction]
                share = p / len(slides)
                gained = score + int(oracle._worth(game, "score", state, after))
                spawns = [] if game.wins(after) else game.spawns(after)
                for following, q in spawns:
                    waiting[game.sum(following)][following, length + 1, gained] += share * q
                if not spawns:
                    end(after, length + 1, gained, share)
            if not slides:
                end(state, length, score, p)
    return found, meets


@pytest.fixture(scope="module", params=GAMES, ids=str)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Game, Path]:
    path: Path = tmp_path_factory.mktemp("distributions") / "t"
    solve(request.param, "score", table=path, threads=1)
    return request.param, path


@pytest.mark.parametrize("policy", ["random", "greedy", "score", "function", "arrays"])
def test_they_are_those_of_the_rules(case: tuple[Game, Path], policy: str) -> None:
    game, path = case
    rules, meets = by_rules(game, "greedy" if policy in ("function", "arrays") else policy)
    boards = [game.format(board) for board in sorted(meets)[:: max(len(meets) // 9, 1)]]
    chosen = slides_of(game, "greedy")

    def play(board: Board) -> dict[str, float]:
        slides = chosen(board.cells)
        return {direction: 1 / len(slides) for direction in slides}

    asked = {"score": path, "function": play, "arrays": as_policy("greedy", game)}.get(policy, policy)
    found = distributions(path, asked, boards=boards)  # type: ignore[arg-type]
    for name, exact in rules.items():
        assert found[name].chances == pytest.approx(
            {v: float(p) for v, p in sorted(exact.items())}, rel=1e-12
        )
        assert found[name].mean == pytest.approx(float(sum(v * p for v, p in exact.items())), rel=1e-12)
        assert sum(found[name].chances.values()) == pytest.approx(1, rel=1e-13)
    expected = {text: float(meets[canonical(game, Board.read(game, text).cells)]) for text in boards}
    assert found.meets == pytest.approx(expected, rel=1e-12)


def test_optimal_play_meets_the_same_states_however_it_is_asked(case, tmp_path) -> None:
    """In a data set, judged, and thinned.  Games end where no slide is left, win, or reach the horizon."""
    game, path = case
    rules, meets = by_rules(game, "score")
    with open_table(path) as table:
        rows = to_arrow(table, visits=True).read_all().to_pylist()
        judged = judge(table, table, keep=True)
    visits = {tuple(row["cells"]): row["visits"] for row in rows}
    exact = {board: float(meets.get(board, 0)) for board in visits}
    assert visits == pytest.approx(exact, rel=1e-12)
    assert meets.keys() <= visits.keys()
    live = {
        game.unpack(int(key)): visit
        for layer in judged.layers
        for key, visit in zip(layer.keys, layer.visits, strict=True)
    }
    assert live == pytest.approx({b: float(p) for b, p in meets.items() if game.slides(b)}, rel=1e-12)
    assert thin(path, tmp_path / "thin", above=0).visited == len(meets)
    lost = sum(row["visits"] for row in rows if not row["best"])
    if game.horizon is None:
        assert lost == pytest.approx(float(1 - rules["tile"].get(game.goal or 0, Fraction(0))), abs=1e-12)
    for total in {row["sum"] for row in rows}:
        assert sum(row["visits"] for row in rows if row["sum"] == total) <= 1 + 1e-12


def test_the_mean_score_is_the_value_of_the_policy(case: tuple[Game, Path]) -> None:
    """The tile alone needs no number of 4s, and is distributed alike."""
    _, path = case
    random, alone = distributions(path, "random"), distributions(path, "random", of=["tile"])
    assert distributions(path, path)["score"].mean == pytest.approx(evaluate(path, path).optimum, rel=1e-12)
    assert random["score"].mean == pytest.approx(evaluate(path, "random").value, rel=1e-12)
    assert alone["tile"].chances == pytest.approx(random["tile"].chances, rel=1e-13)
    assert list(alone.of) == ["tile"]


def test_entries_stand_for_as_many_scores_as_the_resolution(case: tuple[Game, Path]) -> None:
    _, path = case
    fine, coarse = (distributions(path, "greedy", resolution=step)["score"] for step in (1, 24))
    assert coarse.mean == fine.mean
    for value, p in coarse.chances.items():
        assert value % 24 == 0
        assert p == pytest.approx(sum(q for v, q in fine.chances.items() if value <= v < value + 24))
    rows = list(coarse.rows())
    assert rows[0]["at_least"] == pytest.approx(1)
    assert rows[-1]["at_least"] == pytest.approx(rows[-1]["probability"])
    assert coarse.at_least(rows[-1]["value"]) == pytest.approx(rows[-1]["at_least"])


def test_boards_that_symmetries_turn_into_each_other_are_met_alike(solved) -> None:
    for policy in (lambda board: min(board.slides()), "greedy"):
        met = distributions(solved(Game("2x2", 16)), policy, boards=["2,2/0,0", "0,0/2,2"]).meets
        assert len(set(met.values())) == 1
        assert all(0 < p < 1 for p in met.values())


def test_the_tail_of_a_distribution() -> None:
    """Probabilities are added from the last: the sum of all minus the first ones would be 1e-16 there."""
    one = Distribution("length", "mine", {1: 0.25, 2: 0.75, 3: 3e-60, 4: 1e-61}, 1, 1.75)
    assert [row["at_least"] for row in one.rows()] == [1, 0.75, 3e-60 + 1e-61, 1e-61]
    texts = [(row["probability"], row["at_least"]) for row in one.text_rows()]
    assert texts == [("0.25", "1"), ("0.75", "0.75"), ("3e-60", "3.1e-60"), ("1e-61", "1e-61")]
    sure = Distribution("tile", "mine", {32: 4e-15, 64: 1.0}, 1, 64.0)
    assert [row["probability"] for row in sure.text_rows()] == ["4e-15", "1 - 4e-15"]
    assert [row["at_least"] for row in sure.text_rows()] == ["1", "1 - 4e-15"]
    assert one.summary() == {
        "of": "length", "least": 1, "1%": 1, "5%": 1, "25%": 1, "50%": 2, "75%": 2, "95%": 2, "99%": 2,
        "largest": 4,
    }  # fmt: skip
    alone = Distribution("tile", "mine", {64: 1.0}, 1, 64.0)
    assert [row["probability"] for row in alone.text_rows()] == ["1"]


def test_no_probability_is_above_1(solved, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilebase.policies.distributions.math.fsum", lambda parts: sum(parts) * (1 + 1e-15))
    game, score = Game("2x2", 8), Rounded(1.5, "float64", 1e-15)
    found = distributions(solved(game), str(solved(game)), threads=1)
    assert set(found.of["tile"].chances.values()) == {1.0}
    assert Evaluation(game, "mine", Objective("win"), 1 + 2**-52, Exact(1)).text == "1"
    assert Evaluation(game, "mine", Objective("score"), 1.5, score).value == 1.5


def test_wrong_questions_have_one_sentence(solved) -> None:
    table = solved(Game("2x2", goal_sum=20))
    with pytest.raises(UsageError, match="a goal tile wins"):
        distributions(table, "random")
    assert sum(distributions(table, "random", of=["length"])["length"].chances.values()) == pytest.approx(1)
    with pytest.raises(UsageError, match="or a board to meet"):
        distributions(table, "random", of=[])


def test_many_rows_are_printed_as_quantiles(solved, printed) -> None:
    table = str(solved(Game("2x3", 32)))
    asked = ["evaluate", table, "random", "--distribution", "score", "--meets", "2,2,0/0,0,0", "-q"]
    rows = printed(*asked, "-f", "csv").count("\n") - 1
    said = printed(*asked)
    assert rows > 40
    assert f"{rows} rows: --format csv prints them" in said
    assert len(said.splitlines()) < 10
    assert "meets  2,2,0/0,0,0" in said
