"""Tables of a random game: every objective and type, in both spaces; probes, policies, thinning, verify."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

from attack.case import REFUSED, Case
from attack.random_games import DrawnGame, random_board
from attack.rules import MEASURES, Board, TooLargeError
from tilebase import Objective, evaluate, open_table, prove, solve, thin, verify_table
from tilebase.errors import MissingBoardError, UsageError
from tilebase.objectives.values import Exact, Lower, Rounded, Upper

DISCOUNTS = ("1", "1", "99/100", "1/3", "0.9")
UNITS = {"uint16": Fraction(1, 1 << 16), "uint32": Fraction(1, 1 << 32), "uint64": Fraction(1, 1 << 52)}
TOLERANCES = {"float64": 1e-13, "float32": 2e-6, "float16": 1e-2}
WINNING = (
    *("win", "win", "win:float32", "win:float16", "lower", "upper", "lower:uint32", "upper:uint32"),
    *("lower:uint16", "upper:uint16", "guaranteed", "loss", "loss:float32", "fewest"),
)
ALWAYS = (
    *(f"{name}{kind}" for name in ("score", "merges", "moves", "largest") for kind in ("", ":float32")),
    *("survival", "longest", "highest"),
)
MEANS = ("win", "lower", "upper", "score", "merges", "moves")
"""Objectives that take a discount."""
MOST_BOARDS, OBJECTIVES = 5_000, 6
"""Boards of a table of all boards, and objectives of a table."""


def attack(case: Case, drawn: DrawnGame) -> None:
    """Solve in both spaces, and ask."""
    drawn.rules.set_discount(case.rng.choice(DISCOUNTS))
    for space in ("reachable", "all"):
        boards = 1
        for top in drawn.game.tops:
            boards *= top + 1
        if space == "all" and boards > MOST_BOARDS:
            continue
        names = [*ALWAYS, *(WINNING if drawn.game.can_win else ())]
        case.rng.shuffle(names)
        solve_and_ask(case, drawn, space, names[:OBJECTIVES])
    if drawn.game.can_win:
        check_prove(case, drawn)


def solve_and_ask(case: Case, drawn: DrawnGame, space: str, names: list[str]) -> None:
    """One table of all these objectives; `score`, `merges` and bounds do not fit all games, which is said."""
    folder = case.folder / space
    discount = str(drawn.rules.discount)
    fit = [name for name in dict.fromkeys(names) if fits(drawn, name, discount)]
    if not fit:
        return
    objectives, discount = ",".join(fit), discount_for(fit, drawn.rules.discount)
    lines = (
        f"{drawn.lines}\n"
        f"solve(game, {objectives!r}, discount={discount!r}, table='t', space={space!r}, threads=1)"
    )
    options: dict[str, Any] = {"discount": discount, "table": folder, "space": space, "threads": 1}
    if space == "all" and drawn.unbounded:
        refuse_unbounded(case, drawn, objectives, options, lines)
        return
    solution = case.call(f"solve {space}", lines, solve, drawn.game, objectives, **options)
    if solution is REFUSED:
        return
    for objective, value in zip(solution.objectives, solution.start.values(), strict=True):
        wanted = drawn.rules.value[measure(objective)]
        judge(case, drawn, f"start, {space}", objective, value, wanted, lines)
    check_verify(case, folder, f"verify {space}", lines)
    with open_table(folder) as table:
        ask(case, drawn, table, space, lines)
    if space == "reachable":
        check_policies(case, drawn, folder, lines)
        check_thin(case, drawn, folder, lines)
    shutil.rmtree(folder)


def refuse_unbounded(case: Case, drawn: DrawnGame, objectives: str, options: Any, lines: str) -> None:
    """Boards of any tiles cannot all be solved: that is said."""
    try:
        solve(drawn.game, objectives, **options)
    except UsageError as error:
        case.expect(
            "slides lead to larger ones" in str(error), "solve all: another reason", str(error), lines
        )
    else:
        case.fail("solve all: tiles without bound", "it is solved", lines)


def fits(drawn: DrawnGame, name: str, discount: str) -> bool:
    """Whether an objective exists for a game: `Objective.check` says so."""
    word, _, dtype = name.partition(":")
    try:
        Objective(word, dtype, Fraction(discount if word in MEANS else 1)).check(drawn.game)
    except ValueError:
        return False
    return True


def discount_for(names: Iterable[str], discount: Fraction) -> str:
    """The discount of a call for objectives: 1 where none of them takes one, since another is refused."""
    return str(discount) if any(name.partition(":")[0] in MEANS for name in names) else "1"


def measure(objective: Objective) -> int:
    return list(MEASURES).index("win" if objective.is_bound else objective.name)


def judge(
    case: Case, drawn: DrawnGame, where: str, objective: Objective, value: Any, exact: Fraction, lines: str
) -> None:
    """Fail unless a value is as near to the exact one as its type allows, and on the right side."""
    case.done["values"] += 1
    if objective.is_bound:
        # Less than a unit an afterstate, and one for the discount of each slide; sums grow by 2 at least.
        steps = 2 + sum(1 << top for top in drawn.game.tops)
        slack = UNITS[objective.dtype] * 2 * steps
        kind = Lower if objective.name == "lower" else Upper
        number = value.bound
        low, high = (number, exact) if kind is Lower else (exact, number)
        good = isinstance(value, kind) and low <= high <= low + slack
    else:
        number, exact = value.value, -exact if objective.is_cost else exact
        tolerance = Fraction(TOLERANCES.get(objective.dtype, 0)) * max(1, exact)
        wrong = abs(Fraction(number) - exact)
        error = value.error if isinstance(value, Rounded) else 0
        allowed = inf if error == inf else min(tolerance, Fraction(error))  # infinite: nothing is promised
        good = isinstance(value, Exact | Rounded) and wrong <= allowed
    what = f"{objective.label}: {value}, by the rules {float(exact)!r} = {str(exact)[:60]}"
    case.expect(good, f"value, {where}, {objective.name}", what, lines)


def check_verify(case: Case, folder: Path, name: str, lines: str) -> None:
    """A table that was just made is sound."""
    sample, seed = case.rng.choice((20, 20, 20, 20, None)), case.rng.randrange(1000)
    here = f"{lines}; verify_table('t', sample={sample}, seed={seed})"
    found = case.call(name, here, verify_table, folder, sample=sample, seed=seed)
    if found is not REFUSED:
        case.expect(not found.wrong, name, "; ".join(found.wrong[:2]), here)
        case.done["verified"] += 1


# -- probes -------------------------------------------------------------------------------------------


def ask(case: Case, drawn: DrawnGame, table: Any, space: str, lines: str) -> None:
    """Probe states that occur, in a random orientation, and boards that no play makes."""
    rules, rng = drawn.rules, case.rng
    for objective in table.objectives:
        found = table.objective(objective.label).label
        here = f"{lines}; print(open_table('t').objective({objective.label!r}))"
        case.expect(found == objective.label, "label", f"{objective.label} means {found}", here)
    states, afters = rules.reachable()
    known = sorted(states)
    for state in rng.sample(known, min(len(known), 15)):
        board = rng.choice(sorted(rules.orbit(state)))
        probe(case, drawn, table, board, f"{space}, a state that occurs", lines, must=True)
    for _ in range(25):
        board = random_board(rng, drawn)
        if not rules.total(board) or not rules.exists(board):
            continue
        slides = rules.slides(board)
        left = [after for after, wins, _ in slides.values() if not wins]
        if space == "all":
            tops = [1 << top for top in drawn.game.tops]
            must = all(tile <= top for after in left for tile, top in zip(after, tops, strict=True))
        else:
            must = all(rules.least(after) in afters for after in left)
        probe(case, drawn, table, board, f"{space}, any board", lines, must=must)


def probe(
    case: Case, drawn: DrawnGame, table: Any, board: Board, where: str, lines: str, *, must: bool
) -> None:
    """Every objective's answer about one board."""
    rules = drawn.rules
    text = rules.text(board)
    for objective in table.objectives:
        name = f"{objective.name}:{objective.dtype}"
        here = f"{lines}; print(open_table('t').probe({text!r}, {name!r}))"
        try:
            answer = table.probe(text, name)
        except MissingBoardError:
            case.expect(not must, f"probe, {where}: refused", f"{text} is not answered", here)
            return
        except Exception as error:
            case.fail(f"probe, {where}: {type(error).__name__}", f"{text}: {error}", here)
            return
        try:
            check_answer(case, drawn, board, objective, answer, where, here)
        except TooLargeError:
            return
    case.done["boards probed"] += 1


def check_answer(
    case: Case, drawn: DrawnGame, board: Board, objective: Objective, answer: Any, where: str, lines: str
) -> None:
    rules, k = drawn.rules, measure(objective)
    worths = {direction: worth[k] for direction, worth in rules.worths(board).items()}
    found = {slide.direction: slide for slide in answer.slides}
    if not case.expect(
        found.keys() == worths.keys(),
        f"probe, {where}: slides",
        f"{rules.text(board)}: {sorted(found)}, by the rules {sorted(worths)}",
        lines,
    ):
        return
    best = rules.state(board)[k]
    judge(case, drawn, f"probe, {where}", objective, answer.value, best, lines)
    for direction, worth in worths.items():
        judge(case, drawn, f"probe, {where}, slide", objective, found[direction].value, worth, lines)
    check_stars(case, objective, answer, worths, best, f"probe, {where}: stars", lines)


def check_stars(
    case: Case,
    objective: Objective,
    answer: Any,
    worths: dict[str, Fraction],
    best: Fraction,
    kind: str,
    lines: str,
) -> None:
    """All slides that are best are starred, and none that is worse than the type can tell."""
    stars = set(answer.best)
    if objective.dtype in ("float64", "bit", "int32"):
        tied = {direction for direction, worth in worths.items() if worth == best}
        near = Fraction(1e-12 if objective.dtype == "float64" else 0) * max(1, best)
        good = tied <= stars and all(worths[direction] >= best - near for direction in stars)
        exact = {direction: float(worth) for direction, worth in worths.items()}
        case.expect(
            good, kind, f"{objective.label}: stars {sorted(stars)} where slides are worth {exact}", lines
        )
    elif objective.is_bound:
        bounds = {slide.direction: slide.value.bound for slide in answer.slides}
        most = max(bounds.values(), default=Fraction(0))
        wanted = {direction for direction, bound in bounds.items() if bound == most}
        case.expect(
            stars == wanted, kind, f"{objective.label}: stars {sorted(stars)}, bounds {bounds}", lines
        )
    else:
        case.expect(bool(stars) == bool(worths), kind, f"{objective.label}: no star", lines)


# -- policies -----------------------------------------------------------------------------------------


def check_policies(case: Case, drawn: DrawnGame, folder: Path, lines: str) -> None:
    """What random and greedy play, a function and the table's own play are worth."""
    rules, objective = drawn.rules, case.rng.choice(("win", "score", "merges", "moves"))
    with open_table(folder) as table:
        label = next((one.label for one in table.objectives if one.name == objective), None)
        best = float(table.start[label]) if label else 0.0
    if label is None:
        return

    def evenly(directions: list[str]) -> dict[str, Fraction]:
        return {direction: Fraction(1, len(directions)) for direction in directions}

    def greedy(_: Board, slides: Any) -> dict[str, Fraction]:
        most = max(score for _, _, score in slides.values())
        return evenly([direction for direction, slide in slides.items() if slide[2] == most])

    def last(board: Any) -> str:
        return str(list(board.slides())[-1])

    plain = {
        "random": lambda _, slides: evenly(list(slides)),
        "greedy": greedy,
    }
    for name, choose in plain.items():
        here = f"{lines}; evaluate('t', {name!r}, objective={label!r}, threads=1)"
        found = case.call(f"evaluate {name}", here, evaluate, folder, name, objective=label, threads=1)
        if found is not REFUSED:
            near(case, f"evaluate {name}", found.value, rules.policy(choose, objective), here)
    here = f"{lines}; evaluate('t', last, objective={label!r}, threads=1)  # the last of board.slides()"
    found = case.call("evaluate a function", here, evaluate, folder, last, objective=label, threads=1)
    if found is not REFUSED:
        choose = lambda _, slides: {list(slides)[-1]: Fraction(1)}  # noqa: E731
        near(case, "evaluate a function", found.value, rules.policy(choose, objective), here)
    with open_table(folder) as table:
        own = table.objectives[0].label == label  # a table plays by its first objective
        digits = 1e-2 if "float16" in label else 1e-5 if "float" in label else 1e-9
    here = f"{lines}; evaluate('t', 't', objective={label!r}, threads=1)"
    found = case.call("evaluate the table", here, evaluate, folder, folder, objective=label, threads=1)
    if found is not REFUSED and own:
        near(case, "evaluate the table", found.value, best, here, digits)


def near(
    case: Case, kind: str, value: float, exact: Fraction | float, lines: str, tolerance: float = 1e-9
) -> None:
    """Fail unless a policy's value is right."""
    wanted = float(exact)
    case.done["policies"] += 1
    good = abs(value - wanted) <= tolerance * max(1, abs(wanted))
    case.expect(good, kind, f"{value!r}, by the rules {wanted!r}", lines)


# -- thinning -----------------------------------------------------------------------------------------


def check_thin(case: Case, drawn: DrawnGame, folder: Path, lines: str) -> None:
    """A thinned table keeps what optimal play visits often enough, and answers as the whole one."""
    above = case.rng.choice((0.0, 1e-6, 1e-3, 0.01, 0.1, 0.5, 1.0))
    with open_table(folder) as whole:
        # Rounded values may break a tie, so that another play is as good.
        fit = [one for one in whole.objectives if one.dtype in ("float64", "bit", "int32")]
    if not fit:
        return
    objective = case.rng.choice(fit)
    here = f"{lines}; thin('t', 'thin', above={above}, objective={objective.label!r})"
    small = case.folder / "thin"
    found = case.call("thin", here, thin, folder, small, above=above, objective=objective.label)
    if found is REFUSED:
        return
    with open_table(folder) as whole, open_table(small) as part:
        visits = optimal_visits(drawn, objective)
        for state, chance in visits.items():
            answer = part.get(drawn.rules.text(state))
            if answer is None:
                good = float(chance) <= above * (1 + 1e-9) and float(chance) != above
                what = f"{drawn.rules.text(state)} is visited with probability {float(chance)!r} and left out"
                case.expect(good, "thin: left out", what, here)
            else:
                same = answer == whole.get(drawn.rules.text(state))
                case.expect(same, "thin: value", f"{drawn.rules.text(state)}: another answer", here)
        case.done["thinned"] += 1
    found = case.call("verify of a thinned table", here, verify_table, small, sample=20)
    if found is not REFUSED:
        case.expect(not found.wrong, "verify of a thinned table", "; ".join(found.wrong[:2]), here)
    shutil.rmtree(small)


def optimal_visits(drawn: DrawnGame, objective: Objective) -> dict[Board, Fraction]:
    """With which probability optimal play, ties shared evenly, ever visits each state up to symmetry."""
    rules, k = drawn.rules, measure(objective)
    flow: dict[int, dict[Board, Fraction]] = {}
    for board, p in rules.starts.items():
        add(flow, rules, board, p)
    visits: dict[Board, Fraction] = {}
    while flow:
        for board, chance in flow.pop(min(flow)).items():
            visits[board] = chance
            worths = {direction: worth[k] for direction, worth in rules.worths(board).items()}
            best = max(worths.values(), default=Fraction(0))
            near = Fraction(1e-13) * abs(best)  # a discount makes small values of all
            tied = [direction for direction, worth in worths.items() if worth >= best - near]
            slides = rules.slides(board)
            for direction in tied:
                after, wins, _ = slides[direction]
                for state, p in [] if wins else rules.spawns(after):
                    if rules.has_sum(state):
                        continue  # won: no state is visited any more
                    add(flow, rules, state, chance * p / len(tied))
    return visits


def add(flow: dict[int, dict[Board, Fraction]], rules: Any, board: Board, chance: Fraction) -> None:
    layer, least = flow.setdefault(rules.total(board), {}), rules.least(board)
    layer[least] = layer.get(least, Fraction(0)) + chance


# -- bounds -------------------------------------------------------------------------------------------


def check_prove(case: Case, drawn: DrawnGame) -> None:
    """A proved bound holds, and is no further off than it says."""
    if drawn.rules.discount != 1:
        return
    direction, dtype = case.rng.choice(("lower", "upper")), case.rng.choice(tuple(UNITS))
    if not fits(drawn, f"{direction}:{dtype}", "1"):
        return
    space = case.rng.choice(("all", "reachable"))
    lines = (
        f"{drawn.lines}; prove(game, direction={direction!r}, dtype={dtype!r}, space={space!r}, threads=1)"
    )
    options = {"direction": direction, "dtype": dtype, "space": space, "threads": 1}
    exact = drawn.rules.value[0]
    try:
        found = prove(drawn.game, **options)
    except Exception as error:
        good = not exact and isinstance(error, UsageError) and "cannot be won" in str(error)
        case.expect(good, "prove: refused", f"{error}; by the rules {exact}", lines)
        return
    low, high = (found.bound, exact) if direction == "lower" else (exact, found.bound)
    good = low <= high <= low + found.loss + UNITS[dtype]
    case.expect(good, f"prove {direction}", f"{found.bound} ± {found.loss}, by the rules {exact}", lines)
    law = law_in_words(drawn.rules.four)
    said = f"spawns of {law}: " in found.statement
    case.expect(said, "prove: the statement", f"{found.statement} does not name {law}", lines)
    case.done["proved"] += 1


def law_in_words(four: Fraction) -> str:
    """The spawns as a proof names them."""
    return " and ".join(f"{tile} with probability {p}" for tile, p in ((2, 1 - four), (4, four)) if p)
