"""How numbers are printed, what is said of a rounded value, and exact intervals."""

from __future__ import annotations

import csv
import json
import math
import operator
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from tilebase import Below, Board, Exact, Game, Interval, Lower, Rounded, Upper, UsageError, open_table, solve
from tilebase.objectives import numbers
from tilebase.objectives.values import NEVER, Unknown, short_text
from tilebase.policies.evaluation import evaluate
from tilebase.policies.simulation import binomial_interval
from tilebase.small import oracle
from tilebase.tables.verify import verify_table

CASES = list(
    csv.DictReader((Path(__file__).parent / "numbers.tsv").read_text("utf-8").splitlines(), delimiter="\t")
)


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case['function']}-{case['number']}-{case['unit']}"
)
def test_numbers_are_written_as_the_table_says(case: dict[str, str]) -> None:
    """`tests/test_page.py` asks the page for the same."""
    number, unit, of = float(case["number"]), case["unit"], float(case["of"].strip() or 0)
    written = {
        "short": lambda: numbers.short_number(number, unit),
        "rounded": lambda: short_text(
            Rounded(number, "float64", 1e-9, 1 if unit == "probability" else None), unit
        ),
        "loss": lambda: numbers.loss_text(number, unit, of),
        "less": lambda: numbers.less_text(number, unit, of, "−"),
        "share": lambda: numbers.share_text(number),
    }[case["function"]]()
    assert written == (case["text"] or "")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Rounded(0.736774177023456, "float64", 1e-12, 1), "0.736774177023"),
        (Rounded(0.736774177023456, "float32", 1e-5, 1), "0.73677418"),
        (Rounded(0.736774177023456, "float16", 0.3, 1), "0.7368"),
        (Rounded(1.0, "float64", 9.53e-14, 1), "more than 1 - 9.6e-14"),
        (Rounded(1.0, "float16", 0.31, 1), "more than 0.69"),
        (Rounded(1 - 2.0**-50, "float64", 1e-12, 1), "more than 1 - 1.1e-12"),
        (Rounded(1 - 2.0**-40, "float64", 1e-13, 1), "0.999999999999"),
        (Rounded(1 - 2.0**-42, "float64", 1e-13, 1), "0.9999999999998"),
        (Rounded(0.0, "float64", 3e-321, 1), "less than 3e-321"),
        (Rounded(1.0, "float64", 1e-13), "1"),
        (Rounded(0.5, "float64", 0.75), "less than 1.3e0"),
        (Rounded(1234.5, "float64", 1e-9), "1234.5"),
        (Rounded(1234.5, "float64", math.inf), "about 1234.5 (no error is proved)"),
        (Rounded(1.0, "float64", 1.0, 1), "about 1 (no error is proved)"),
        (Exact(1), "1"),
        (Exact(Fraction(3, 7)), "3/7"),
        (Exact(False), "no"),
    ],
)
def test_no_rounded_value_is_printed_as_certain(value: Exact | Rounded, text: str) -> None:
    assert str(value) == text


def test_a_number_that_is_not_1_is_not_printed_as_1() -> None:
    assert [numbers.digits_text(1 - 2.0**-k) for k in (30, 45, 52, 53)] == [
        "0.999999999069", "0.99999999999997", "0.9999999999999998", "0.9999999999999999"
    ]  # fmt: skip
    assert numbers.digits_text(1) == numbers.digits_text(1.0) == "1"
    # The difference of two bounds, or a mean over boards, can lie outside of 0 to 1 by a rounding.
    outside = [numbers.short_number(number, "probability") for number in (1.5, -0.25, 2)]
    assert outside == ["1.50", "-0.25", "2"]
    assert [numbers.byte_text(count) for count in (999, 1000, 1.65e9)] == ["999 B", "1 kB", "1.65 GB"]


def test_means_and_intervals_are_rounded_the_safe_way() -> None:
    assert numbers.estimate_text(0.73652, 0.00139) == "0.7365 ± 0.0014"
    assert numbers.estimate_text(21034.4, 212.0) == "21034 ± 212"
    assert [numbers.estimate_text(1.0, error) for error in (0.0, None)] == ["1 in each game", "1"]
    assert numbers.ends_text(0.99012345, 1.0) == "0.9901 to 1"


def test_a_mistake_is_a_part_of_the_value() -> None:
    lost = [(0.001, 0.9), (1e-11, 1e-9), (1.8e-6, 0.9997), (0.0, 0.0)]
    assert [numbers.is_mistake(loss, of) for loss, of in lost] == [True, True, False, False]


# -- values as numbers -------------------------------------------------------------------------------


HALF = Fraction(1, 2)


def test_values_are_formatted_and_rounded() -> None:
    """A bound is rounded to the side where it holds: 2/3 is at least 0.66 and at most 0.67."""
    value = Rounded(0.0828872890716, "float64", 1e-14, 1)
    texts = [f"{value:{form}}" for form in (".3f", ".1%", ">16", "")]
    assert texts == ["0.083", "8.3%", " 0.0828872890716", "0.0828872890716"]
    assert (round(value, 2), float(value), bool(value)) == (0.08, 0.0828872890716, True)
    low, high = Lower(Fraction(2, 3)), Upper(Fraction(2, 3))
    bounds = [f"{one:.2f}" for one in (low, high, Interval(low.bound, high.bound))]
    assert bounds == ["0.66", "0.67", "0.66 to 0.67"]
    assert (round(low, 2), round(high, 2), round(low), round(high)) == (0.66, 0.67, 0, 1)
    assert Fraction(round(low, 20)) <= Fraction(2, 3) <= Fraction(round(high, 20))
    assert (f"{Exact(7):d}", f"{Exact(Fraction(1, 3)):.2f}", round(Exact(Fraction(5, 2)))) == ("7", "0.33", 2)
    assert [bool(Exact(value)) for value in (True, False, 0)] == [True, False, False]


ABOUT = Rounded(0.5, "float64", 1e-15, 1)
BETWEEN = Interval(Fraction(1, 4), HALF)


SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@pytest.mark.parametrize(
    ("one", "sign", "other", "truth"),
    [
        (ABOUT, ">", 0.4, True), (0.6, ">", ABOUT, True), (ABOUT, "<=", 0.5, True), (ABOUT, "<", HALF, False),
        (ABOUT, ">", Exact(Fraction(2, 5)), True), (ABOUT, "<", np.float32(0.75), True),
        (Lower(HALF), ">", 0.4, True), (Lower(HALF), ">=", HALF, True), (Lower(HALF), "<=", 1, True),
        (Lower(HALF), "<", 0.5, False), (Lower(HALF), "<", 0.6, None), (Lower(HALF), ">", HALF, None),
        (Upper(HALF), "<", 0.6, True), (Upper(HALF), "<", Lower(Fraction(3, 5)), True),
        (Upper(HALF), ">", 0.4, None), (Upper(HALF), ">", HALF, False), (Lower(HALF), ">", Upper(HALF), None),
        (BETWEEN, "<", 0.6, True), (BETWEEN, ">", HALF, False), (0.3, ">", BETWEEN, None),
        (Below(0.5), "<", 0.6, True), (Exact(NEVER), ">", 10**9, True), (Unknown(), ">", 0, None),
    ],
)  # fmt: skip
def test_values_are_compared(one: object, sign: str, other: object, truth: bool | None) -> None:
    """With numbers and each other; a bound decides what it proves, and nothing else."""
    if truth is not None:
        assert SIGNS[sign](one, other) is truth
        return
    with pytest.raises(UsageError, match=r"^it is not known whether .* is less than "):
        SIGNS[sign](one, other)
    with pytest.raises(TypeError, match="not supported"):
        SIGNS[sign](one, "a half")


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (Exact(1), 1, True), (Exact(HALF), 0.5, True), (Exact(True), True, True), (Exact(1), Exact(2), False),
        (Rounded(1.0, "float64", 1e-13, 1), 1, False), (Rounded(1.0, "float64", 1e-13, 1), Exact(1), False),
        (ABOUT, Rounded(0.5, "float64", 1e-15, 1), True), (ABOUT, Rounded(0.5, "float32", 1e-15, 1), False),
        (Lower(HALF), Lower(HALF), True), (Lower(HALF), Upper(HALF), False), (Lower(HALF), HALF, False),
    ],
)  # fmt: skip
def test_only_an_exact_value_equals_a_number(one: object, other: object, equal: bool) -> None:
    """Whatever is equal has the same hash; 1 after rounding is not 1."""
    assert (one == other) is equal
    assert len({one, other}) == 2 - equal


GAMES = [
    Game("2x2", 16), Game("2x2", 32, spawn="1/2"), Game("2x2", 16, spawn=1), Game("2x2", 16, spawn=0),
    Game("2x2", 32, spawn="0.999"), Game("2x3", 16), Game("2x3", 16, unmergeable=[4]), Game("2x2", 8),
]  # fmt: skip


@pytest.mark.parametrize(
    ("game", "label", "discount"),
    [
        *product(GAMES, ["win", "win:float32", "win:float16"], ["1"]),
        *product([Game("2x2", 32)], ["score", "moves", "score:float32"], ["1", "0.9"]),
    ],
    ids=str,
)
def test_errors_and_certainty_are_right(game: Game, label: str, discount: str, solved) -> None:
    """No value is farther from the exact one than it says, and what is called exact is exact."""
    exact = oracle.values(game, label.partition(":")[0], discount=discount)
    with open_table(solved(game, label, discount)) as table:
        values = [(table.value, exact.start)]
        values += [(table.probe(Board(game, state)).value, worth) for state, worth in exact.states.items()]
    for value, worth in values:
        assert isinstance(value, Exact | Rounded)
        error = value.error if isinstance(value, Rounded) else 0
        assert abs(Fraction(value.value) - worth) <= Fraction(error)
    assert not label.startswith("win") or {w for value, w in values if isinstance(value, Exact)} <= {0, 1}
    if label == "win":
        assert all(isinstance(value, Exact) for value, worth in values if worth == 0)
        assert any(isinstance(value, Exact) for value, worth in values if worth == 1)


def test_a_forced_win_is_certain(tmp_path: Path) -> None:
    """`guaranteed` of the same table proves it, where the error of the float alone does not."""
    game = Game("3x3", 32)
    without = solve(game, "win:float32", threads=1).start["win"]
    start = solve(game, "win:float32,guaranteed", table=tmp_path, threads=1).start
    assert isinstance(without, Rounded)
    assert without.value == 1
    assert start["guaranteed"] == Exact(True)
    assert start["win"] == Exact(1)
    with open_table(tmp_path) as table:
        assert table.start == start
        board = Board(game, next(state for state, _ in game.starts()))
        answer = table.probe(board, "win")
        assert answer.value == Exact(1)
        assert table.probe(board, "guaranteed").value == Exact(True)
        assert table.probe_after(answer.slides[0].after, "win").value == Exact(1)


@pytest.mark.parametrize(
    ("successes", "trials", "confidence", "low", "high"),
    [
        # Quantiles of the beta distribution (SciPy 1.17, scipy.stats.beta.ppf).
        (0, 10, 0.95, 0.0, 0.3084971078187607),
        (1, 10, 0.95, 0.0025285785444617848, 0.4450161170281954),
        (5, 10, 0.95, 0.18708602844739855, 0.8129139715526015),
        (10, 10, 0.95, 0.6915028921812392, 1.0),
        (82, 100, 0.95, 0.7305229140331881, 0.8896887708467394),
        (0, 1000, 0.95, 0.0, 0.003682083896865671),
        (1, 10**6, 0.95, 2.5317807663794178e-08, 5.571630655166939e-06),
        (70_000, 10**5, 0.95, 0.697148971318926, 0.7028394245994352),
    ],
)
def test_binomial_intervals(successes: int, trials: int, confidence: float, low: float, high: float) -> None:
    assert binomial_interval(successes, trials, confidence) == pytest.approx((low, high), rel=1e-10)


@pytest.mark.parametrize("arguments", [(-1, 10, 0.9), (11, 10, 0.9), (0, 0, 0.9), (1, 2, 1.0)])
def test_intervals_that_do_not_exist(arguments: tuple[int, int, float]) -> None:
    with pytest.raises(UsageError, match="has no interval"):
        binomial_interval(*arguments)


@pytest.mark.parametrize("digits", [14, 16, 17, 18])
def test_a_four_that_is_almost_certain(digits: int, tmp_path: Path) -> None:
    """No error is proved: it is infinite, None in JSON and said in words; values are those of 4s alone."""
    spawn = 1 - Fraction(1, 10**digits)
    solution = solve(Game("2x2", spawn=spawn), "score", table=tmp_path, threads=1)
    fours = float(oracle.values(Game("2x2", spawn=1), "score").start)
    assert float(solution.value) == pytest.approx(fours, rel=1e-9)
    assert solution.value.as_dict()["error"] is None
    assert str(solution.value) == f"about {fours:g} (no error is proved)"
    assert verify_table(tmp_path).wrong == ()
    found = evaluate(tmp_path, "random", threads=1)
    assert json.dumps(found.as_dict(), allow_nan=False)
    assert found.regret == pytest.approx(fours - found.value)
    assert found.regret_text == "about 98.8194444444 (no error is proved)"
    assert evaluate(tmp_path, tmp_path, games=10, threads=1).z in (0, None)
