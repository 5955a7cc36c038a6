"""Data sets of random games: each row against independent fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from attack.case import REFUSED, Case
from attack.random_games import random_game
from attack.rules import X
from attack.tables import DISCOUNTS, TOLERANCES, discount_for, fits, measure, optimal_visits
from tilebase import open_table, solve
from tilebase.datasets import to_arrow

OBJECTIVES = ("win", "score", "merges", "moves", "loss", "largest")


def attack(case: Case) -> None:
    """One game, solved for one objective, as a data set."""
    drawn = random_game(case.rng)
    drawn.rules.set_discount(case.rng.choice(DISCOUNTS))
    name = case.rng.choice(OBJECTIVES)
    discount = discount_for([name], drawn.rules.discount)
    if not fits(drawn, name, discount):
        name, discount = "moves", str(drawn.rules.discount)
    lines = f"{drawn.lines}\nsolve(game, {name!r}, discount={discount!r}, table='t', threads=1)"
    folder = case.folder / "t"
    if (
        case.call("solve", lines, solve, drawn.game, name, discount=discount, table=folder, threads=1)
        is REFUSED
    ):
        return
    with open_table(folder) as table:
        lines += "\nto_arrow(open_table('t'), visits=True)"
        found = case.call("data", lines, lambda: to_arrow(table, visits=True).read_all().to_pylist())
        if found is not REFUSED:
            compare(case, drawn, table, found, lines)


def compare(case: Case, drawn: Any, table: Any, rows: list[dict[str, Any]], lines: str) -> None:
    """The rows are the states, each with its value, those of its slides, and how often play meets it."""
    game, rules, objective = drawn.game, drawn.rules, table.objectives[0]
    k, sign = measure(objective), -1 if objective.is_cost else 1
    boards = [tuple(0 if not e else X if game.is_x(e) else 1 << e for e in row["cells"]) for row in rows]
    kept = {rules.least(board) for board in boards}
    visits = optimal_visits(drawn, objective)
    for row, board in zip(rows, boards, strict=True):
        case.done["rows"] += 1
        least, text = rules.least(board), rules.text(board)
        numbers = {"v": sign * rules.state(least)[k], "visits": visits.get(least, Fraction(0))}
        worths = rules.worths(board)
        numbers |= {f"q_{name}": sign * worth[k] for name, worth in worths.items()}
        kinds = {"v": "values", "visits": "visits"} | {f"q_{name}": "slides" for name in game.directions}
        for column, kind in kinds.items():
            wanted, number = numbers.get(column), row[column]
            good = (wanted is None) == (number is None) and (
                wanted is None
                or abs(Fraction(number) - wanted) <= 10 * TOLERANCES["float64"] * max(1, abs(wanted))
            )
            what = (
                f"{column} of {text} is {number}, by the rules {wanted if wanted is None else float(wanted)}"
            )
            case.expect(good, f"data: {kind}", what, lines)
        case.expect(
            row["orbit"] == len(rules.orbit(board)), "data: orbit", f"{row['orbit']} of {text}", lines
        )
    wanted = {rules.least(board) for board in rules.reachable()[0] if not rules.has_sum(board)}
    missing = ", ".join(rules.text(board) for board in sorted(wanted ^ kept, key=str)[:3])
    case.expect(not missing, "data: other states", missing, lines)
