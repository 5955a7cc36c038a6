"""Features of tables that meet: growth over several calls, `down_to`, kills, `above` and `thin`.

However a table was made, its files are those of one call, and what it answers follows from the rules.
"""

from __future__ import annotations

import random
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

from attack import tables
from attack.case import REFUSED, Case
from attack.processes import contents, run
from attack.random_games import DrawnGame, random_board, random_game
from attack.rules import Board, TooLargeError
from attack.tables import (
    ALWAYS,
    DISCOUNTS,
    MOST_BOARDS,
    TOLERANCES,
    WINNING,
    check_verify,
    discount_for,
    fits,
    measure,
)
from attack.workloads import plain_file
from tilebase import Below, Objective, open_table, solve, thin
from tilebase.errors import MissingBoardError
from tilebase.objectives.objective import DISCOUNTED
from tilebase.tables.pruning import prune

MOST_STATES = 150
POINTS = 300
"""Kills come before this many calls that touch a file."""


def attack(case: Case) -> None:
    """A random game, whose table grows; then small tables of it."""
    drawn = random_game(case.rng, MOST_STATES)
    discount = case.rng.choice(DISCOUNTS)
    drawn.rules.set_discount(discount)
    names = [*ALWAYS, *(WINNING if drawn.game.can_win else ())]
    case.rng.shuffle(names)
    fit = [name for name in dict.fromkeys(names) if fits(drawn, name, discount)][:4]
    if drawn.game.can_win:  # its values decide what a pruned table holds
        fit = list(dict.fromkeys([case.rng.choice([w for w in WINNING if fits(drawn, w, discount)]), *fit]))
    case.rng.shuffle(fit)
    grow(case, drawn, fit, draw_space(case.rng, drawn))
    small_tables(case, drawn, fit)


def draw_space(rng: random.Random, drawn: DrawnGame) -> str:
    """Of all boards, where they are few enough."""
    boards = 1
    for top in drawn.game.tops:
        boards *= top + 1
    few = boards <= MOST_BOARDS and not drawn.unbounded
    return "all" if few and rng.random() < 0.5 else "reachable"


# -- growth -------------------------------------------------------------------------------------------


def grow(case: Case, drawn: DrawnGame, names: list[str], space: str) -> None:
    """Some objectives in one call, and in several into the same folder, in the same order."""
    whole, grown = case.folder / "whole", case.folder / "here" / "t"
    options: dict[str, Any] = {"space": space, "threads": 1}
    options["discount"] = discount_for(names, drawn.rules.discount)
    lines = f"{drawn.lines}\nsolve(game, {','.join(names)!r}, table='whole', **{options})"
    if case.call("solve", lines, solve, drawn.game, ",".join(names), table=whole, **options) is REFUSED:
        return
    lines += f"\n{several_calls(case, drawn, names, grown, options)}"
    case.done["tables grown"] += 1
    ours, theirs = contents(whole), contents(grown)
    ours, theirs = ({name: plain_file(name, one[name]) for name in one} for one in (ours, theirs))
    other = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    case.expect(not other, f"grown, {space}: other files", ", ".join(other[:5]), lines)
    if grown.joinpath("manifest.json").exists():
        check_verify(case, grown, f"verify of a grown table, {space}", lines)
        with open_table(grown) as table:
            tables.ask(case, drawn, table, space, lines)
    shutil.rmtree(whole)
    shutil.rmtree(grown.parent)


def several_calls(
    case: Case, drawn: DrawnGame, names: list[str], folder: Path, options: dict[str, Any]
) -> str:
    """Add one or two objectives at a time, some in two calls, some after kills; return these calls."""
    rng, rules, left, calls = case.rng, drawn.rules, list(names), []
    folder.parent.mkdir(parents=True)
    sums = sorted({rules.total(board) for board in rules.reachable()[1]}) or [4]
    while left:
        number = rng.choice((1, 1, 2))
        options["discount"] = discount_for(left[:number], rules.discount)
        text, left = ",".join(left[:number]), left[number:]
        if rng.random() < 0.3:
            calls += killed(case, drawn, text, folder, options)
        if rng.random() < 0.4:
            down_to = rng.choice(sums)
            lines = f"solve(game, {text!r}, table='t', down_to={down_to}, **{options})"
            calls.append(lines)
            case.call("solve --down-to", "\n".join([drawn.lines, *calls]), solve, drawn.game, text,
                      table=folder, down_to=down_to, **options)  # fmt: skip
        calls.append(f"solve(game, {text!r}, table='t', **{options})")
        case.call("solve again", "\n".join([drawn.lines, *calls]), solve, drawn.game, text,
                  table=folder, **options)  # fmt: skip
    return "\n".join(calls)


def killed(case: Case, drawn: DrawnGame, objectives: str, folder: Path, options: dict[str, Any]) -> list[str]:
    """Kill the command that adds objectives."""
    factor = Fraction(options["discount"])
    told = [
        f"{one}@{factor}" if one.partition(":")[0] in DISCOUNTED else one for one in objectives.split(",")
    ]
    words = ["solve", *drawn.command, "--objective", ",".join(told if factor != 1 else objectives.split(","))]
    words += ["--space", options["space"], "--threads", "1", "-q", "-o", folder.name]
    point = case.rng.randint(1, POINTS)
    done = run(folder.parent, words, point=point, action="SIGKILL")
    case.done["kills"] += done.status == -9
    said = f"tilebase {' '.join(words)}  # killed at point {point}"
    if done.status not in (0, -9):
        case.fail("solve before a kill", done.complaint or done.sentence, said)
    return [said]


# -- small tables -------------------------------------------------------------------------------------


def small_tables(case: Case, drawn: DrawnGame, names: list[str]) -> None:
    """A table of what is worth enough, while it is solved and of the whole one; a thinned one."""
    discount, folder = discount_for(names, drawn.rules.discount), case.folder / "whole"
    wins = [name for name in names if Objective(name.partition(":")[0]).is_win]
    wins.sort(key="guaranteed".__eq__)  # its values are 0 and 1
    names = [*wins[:1], *(name for name in names if name not in wins[:1])]
    objectives = ",".join(names)
    lines = f"{drawn.lines}\nsolve(game, {objectives!r}, discount={discount!r}, table='whole', threads=1)"
    made = case.call("solve", lines, solve, drawn.game, objectives, discount=discount, table=folder,
                     space="reachable", threads=1)  # fmt: skip
    if made is REFUSED:
        return
    if wins:
        check_pruned(case, drawn, folder, objectives, lines)
    check_thinned(case, drawn, folder, lines)
    shutil.rmtree(folder)


def check_pruned(case: Case, drawn: DrawnGame, whole: Path, objectives: str, lines: str) -> None:
    """Both ways to prune give the same layers; each answer is a value by the rules, or `Below`."""
    above = draw_bound(case.rng, drawn, whole)
    small, other = case.folder / "small", case.folder / "other"
    discount = discount_for(objectives.split(","), drawn.rules.discount)
    here = f"{lines}\nsolve(game, {objectives!r}, discount={discount!r}, table='small', above={above})"
    case.call("solve --above", here, solve, drawn.game, objectives, discount=discount, table=small,
              above=above, threads=1)  # fmt: skip
    case.call("prune", f"{lines}\nprune('whole', 'other', above={above})", prune, whole, other, above=above)
    ours, theirs = (
        {name: data for name, data in contents(one).items() if name.endswith((".seg", ".idx"))}
        for one in (small, other)
    )
    case.expect(ours == theirs, "prune: other layers", f"{sorted(ours.keys() ^ theirs.keys())}", here)
    if not (small / "manifest.json").exists():
        return
    check_verify(case, small, "verify of a pruned table", here)
    with open_table(small) as table, open_table(whole) as known:
        check_kept(case, drawn, table, known, above, here)
        for board in some_boards(case.rng, drawn):
            probe_pruned(case, drawn, table, known, board, above, here)
    case.done["pruned"] += 1
    shutil.rmtree(small)
    shutil.rmtree(other)


def check_kept(case: Case, drawn: DrawnGame, table: Any, whole: Any, above: float, lines: str) -> None:
    """Each board after a slide has its value if this is large enough, and is left out otherwise."""
    label = table.objectives[0].label
    for after in sorted(drawn.rules.reachable()[1]):
        text = drawn.rules.text(after)
        value, found = whole.probe_after(text, label).value, table.probe_after(text, label).value
        right = found == value if float(value) >= above else isinstance(found, Below)
        here = f"{lines}\nopen_table('small').probe_after({text!r}, {label!r})"
        case.expect(right, "pruned: after a slide", f"{text}: {found}, in the whole table {value}", here)


def draw_bound(rng: random.Random, drawn: DrawnGame, whole: Path) -> float:
    """The value of some board, which then is just kept; a round number where no board is worth anything."""
    rules = drawn.rules
    with open_table(whole) as table:
        label = table.objectives[0].label
        values = {float(table.probe_after(rules.text(after), label).value) for after in rules.reachable()[1]}
    between = sorted(value for value in values if 0 < value <= 1)
    return rng.choice(between if between and rng.random() < 0.8 else [1e-6, 1e-3, 0.1, 0.3, 0.5, 0.9, 1.0])


def some_boards(rng: random.Random, drawn: DrawnGame) -> list[Board]:
    """States that occur, in any orientation, and any boards."""
    rules = drawn.rules
    states = sorted(rules.reachable()[0])
    found = [rng.choice(sorted(rules.orbit(state))) for state in rng.sample(states, min(15, len(states)))]
    boards = [random_board(rng, drawn) for _ in range(15)]
    return found + [board for board in boards if rules.total(board) and rules.exists(board)]


def probe_pruned(
    case: Case, drawn: DrawnGame, table: Any, whole: Any, board: Board, above: float, lines: str
) -> None:
    """Of each slide the value by the rules, or `Below` where what it leads to is worth less."""
    rules, objective = drawn.rules, table.objectives[0]
    text, k = rules.text(board), measure(objective)
    here = f"{lines}\nopen_table('small').probe({text!r}, {objective.label!r})"
    states, afters = rules.reachable()
    answer = case.call("probe of a pruned table", here, table.probe, text, objective.label)
    if answer is REFUSED:
        return
    try:
        worths = {direction: worth[k] for direction, worth in rules.worths(board).items()}
    except TooLargeError:
        return
    found = {slide.direction: slide.value for slide in answer.slides}
    kept: dict[str, Fraction] = {}
    for direction, (after, wins, _) in rules.slides(board).items():
        stays = wins
        if not wins and rules.least(after) in afters:
            # What a rounded value is compared with is that of the whole table.
            stays = float(whole.probe_after(rules.text(after), objective.label).value) >= above
            exact = rules.after(after)[k]
            near = abs(exact - Fraction(above)) <= Fraction(TOLERANCES.get(objective.dtype, 0))
            right = objective.is_bound or near or (exact >= above) == stays
            case.expect(right, "pruned: the whole table", f"{text} {direction}: {exact}", here)
        value = found.pop(direction, None)
        if stays:
            kept[direction] = worths[direction]
            sound = value is not None and not isinstance(value, Below)
            if case.expect(sound, "pruned: left out", f"{text} {direction}: {value}", here):
                tables.judge(case, drawn, "pruned, slide", objective, value, worths[direction], here)
        else:
            sound = isinstance(value, Below) and value.bound == above
            sound = sound and (not value.reached or rules.least(board) in states)
            case.expect(sound, "pruned: not below", f"{text} {direction}: {value}", here)
    case.expect(not found, "pruned: more slides", f"{text}: {sorted(found)}", here)
    below = isinstance(answer.value, Below)
    known = bool(kept) or not worths
    if case.expect(below != known, "pruned: the value", f"{text}: {answer.value}", here) and known:
        best = max(kept.values(), default=Fraction(0))
        tables.judge(case, drawn, "pruned", objective, answer.value, best, here)
    other_values(case, drawn, table, board, all_kept=len(kept) == len(worths), lines=here)
    case.done["boards probed"] += 1


def other_values(
    case: Case, drawn: DrawnGame, table: Any, board: Board, *, all_kept: bool, lines: str
) -> None:
    """The other objectives are answered where no slide was left out, and refused elsewhere."""
    for objective in table.objectives[1:]:
        try:
            answer = table.probe(drawn.rules.text(board), objective.label)
        except MissingBoardError:
            case.expect(not all_kept, "pruned: another objective is refused", objective.label, lines)
            continue
        if case.expect(all_kept, "pruned: another objective is answered", f"{answer!r}", lines):
            try:
                tables.check_answer(case, drawn, board, objective, answer, "pruned", lines)
            except TooLargeError:  # a board that no play makes may have more boards after it
                return


def check_thinned(case: Case, drawn: DrawnGame, whole: Path, lines: str) -> None:
    """A thinned table answers a board by the rules, or says that it does not hold it."""
    above, small = case.rng.choice((0.0, 1e-3, 0.05, 0.3, 1.0)), case.folder / "thin"
    with open_table(whole) as table:
        objective = case.rng.choice(table.objectives)
    here = f"{lines}\nthin('whole', 'thin', above={above}, objective={objective.label!r})"
    if case.call("thin", here, thin, whole, small, above=above, objective=objective.label) is REFUSED:
        return
    check_verify(case, small, "verify of a thinned table", here)
    with open_table(small) as table:
        for board in some_boards(case.rng, drawn):
            tables.probe(case, drawn, table, board, "thinned", here, must=False)
    case.done["thinned"] += 1
    shutil.rmtree(small)
