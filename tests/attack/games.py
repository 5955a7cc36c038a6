"""Random games: the oracle against the plain rules, the engines against the oracle, and tables against both.

The engines and their judges are those of tests/conformance; the second reader judges the numbers in files.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import second_reader
from attack.case import REFUSED, Case
from attack.random_games import DrawnGame, large_game, random_boards, random_game
from attack.rules import MEASURES, Board, TooLargeError, X
from conformance.engines import ENGINES, Bench
from conformance.games import boards_of
from conformance.queries import DISCOUNT, QUERIES, fits
from stored import contents, number_of
from tilebase import Below, open_table, solve, verify_table
from tilebase.counting.counts import shown_names
from tilebase.errors import MissingBoardError
from tilebase.objectives.objective import DISCOUNTED, MEANINGS, Objective
from tilebase.objectives.values import Value, sort_key
from tilebase.small import oracle
from tilebase.tables.pruning import prune
from tilebase.tables.slides import Slider

COUNTS = ("states", "live", "losing", "winning", "afterstates", "raw_states", "raw_live")
LARGE = [1 << e for e in range(16, 22)]
"""Tiles that stand for x: no game that is drawn makes them."""
ASKED, MOST_BOARDS = 3, 5_000
"""Engines that a game is asked of, and boards of a table of all boards."""


def attack(case: Case) -> None:
    """One random game or formation, asked in every way."""
    drawn = random_game(case.rng, formation=case.rng.random() < 0.4)
    check_oracle(case, drawn)
    check_slides(case, drawn)
    check_slides(case, large_game(case.rng))
    check_engines(case, drawn)
    check_tables(case, drawn)


def check_oracle(case: Case, drawn: DrawnGame) -> None:
    """The values of the start, and all counts by sum and largest tile."""
    for name, exact in zip(MEASURES, drawn.rules.value, strict=True):
        lines = f"{drawn.lines}; oracle.values(game, {name!r}).start"
        found = case.call("oracle.values", lines, oracle.values, drawn.game, name)
        if found is not REFUSED:
            case.expect(found.start == exact, "oracle.values", f"{found.start}, by the rules {exact}", lines)
    lookahead = case.rng.random() < 0.3 and drawn.game.goal_sum is None
    lines = f"{drawn.lines}; oracle.count(game, lookahead={lookahead})"
    result = case.call("oracle.count", lines, oracle.count, drawn.game, lookahead=lookahead)
    if result is REFUSED:
        return
    wanted = plain_counts(drawn.rules, lookahead)
    # The row of boards without a tile may say 0 or 2**0.
    found = {(row["sum"], row["max"] if row["max"] > 1 else 0): row for row in result.rows(by=("sum", "max"))}
    for column in COUNTS:
        shown = shown_names(drawn.game)[column]
        ours = {key: row[column] for key, row in wanted.items() if row[column]}
        theirs = {key: row[shown] for key, row in found.items() if row[shown]}
        what = f"of (sum, largest tile) {dict(theirs.items() ^ ours.items())}"
        case.expect(ours == theirs, f"oracle.count: {column}", what, lines)


def plain_counts(rules: second_reader.Game, lookahead: bool) -> dict[tuple[int, int], Counter[str]]:
    """By sum and largest tile."""
    states, afters = rules.reachable(lookahead=lookahead)
    rows: dict[tuple[int, int], Counter[str]] = {}
    for state in states:
        row = rows.setdefault((rules.total(state), rules.top(state)), Counter())
        slides, size = rules.slides(state).values(), len(rules.orbit(state))
        row.update({"states": 1, "live": bool(slides), "losing": not slides, "raw_states": size})
        row.update({"winning": any(wins for _, wins, _ in slides), "raw_live": size * bool(slides)})
    for after in afters:
        rows.setdefault((rules.total(after), rules.top(after)), Counter())["afterstates"] += 1
    return rows


def check_slides(case: Case, drawn: DrawnGame) -> None:
    """`Board.slides` and the slides that probing plays by, on random boards."""
    rules, game, slider = drawn.rules, drawn.game, Slider(drawn.game)
    for plain in random_boards(case.rng, drawn, 20):
        text = rules.text(plain)
        lines = f"{drawn.lines}; Board.read(game, {text!r}).slides()"
        wanted = {name: (rules.text(after), wins) for name, (after, wins, _) in rules.slides(plain).items()}
        cells = game.check(game.parse(text))
        slides = case.call("Game.slides", lines, game.slides, cells)
        if slides is not REFUSED:
            found = {name: (game.format(after), game.wins(after)) for name, after in slides.items()}
            case.expect(found == wanted, "Game.slides", f"{text}: {found}, by the rules {wanted}", lines)
        quick = {name: (game.format(after), wins) for name, after, wins in slider.slides(cells)}
        case.expect(quick == wanted, "Slider.slides", f"{text}: {quick}, by the rules {wanted}", lines)
        case.done["boards slid"] += 1


def check_engines(case: Case, drawn: DrawnGame) -> None:
    """A few of the engines of the conformance suite, each asked one thing."""
    game, bench = drawn.game, Bench(case.folder)
    taken = [
        (engine, query)
        for engine in ENGINES
        if "simulator" not in engine.name and engine.takes(game)
        for query in QUERIES
        if query in engine.answers and query.takes(game)
    ]
    os.environ["TILEBASE_OBJECTIVES"] = ",".join({"win", "moves", *case.rng.sample([*MEANINGS], 2)})
    try:
        for engine, query in case.rng.sample(taken, min(ASKED, len(taken))):
            lines = f"{drawn.lines}; {engine}, asked for {query}, as in tests/conformance"
            lines += f", of the objectives {os.environ['TILEBASE_OBJECTIVES']}"
            try:
                query.check(engine.answers[query](game, bench), game)
            except Exception as error:
                case.fail(f"{engine}: {query}", f"{type(error).__name__}: {error}"[:1500], lines)
            case.done["engines asked"] += 1
    finally:
        del os.environ["TILEBASE_OBJECTIVES"]


def draw_objectives(rng: random.Random, drawn: DrawnGame) -> list[Objective]:
    """Some objectives of a game in some types, one of a win first if there is one."""
    discount = rng.choice((Fraction(1), DISCOUNT))
    drawn.rules.set_discount(str(discount))
    found = [
        Objective(name, rng.choice(meaning.types), discount if name in DISCOUNTED else Fraction(1))
        for name, meaning in MEANINGS.items()
    ]
    fit = [one for one in found if fits(one, drawn.game)]
    chosen = rng.sample(fit, min(4, len(fit)))
    return sorted(chosen, key=lambda one: not one.is_win)


def check_tables(case: Case, drawn: DrawnGame) -> None:
    """A table of some objectives, whole, grown and pruned."""
    rng, game = case.rng, drawn.game
    objectives, folder = draw_objectives(rng, drawn), case.folder / "whole"
    ranked = game.bounds.closed and len(game.masks) < 2 and boards_of(game) <= MOST_BOARDS
    space = "all" if ranked and rng.random() < 0.35 else "reachable"
    text = ",".join(one.label for one in objectives)
    lines = f"{drawn.lines}\nsolve(game, {text!r}, table='whole', space={space!r}, threads=1)"
    if case.call("solve", lines, solve, game, objectives, table=folder, space=space, threads=1) is REFUSED:
        return
    read = case.call("second reader", lines, lambda: second_reader.Table(second_reader.folder_files(folder)))
    if read is not REFUSED:
        wrong = [(label, board) for label, board in read.wrong() if read.game.has_room(board)]
        case.expect(not wrong, f"second reader, {space}", f"{wrong[:3]}", lines)
    found = verify_table(folder, sample=rng.choice((20, None)), seed=rng.randrange(1000))
    case.expect(not found.wrong, f"verify, {space}", "; ".join(found.wrong[:2]), lines)
    with open_table(folder) as table:
        probe_boards(case, drawn, table, space, lines)
        probe_real_boards(case, drawn, table, lines)
    grow(case, drawn, objectives, folder, space, lines)
    if space == "reachable" and objectives[0].is_win:
        check_pruned(case, drawn, objectives, folder, lines)
    case.done["tables"] += 1


def probe_boards(case: Case, drawn: DrawnGame, table: Any, space: str, lines: str) -> None:
    """States that occur, in a random orientation, and boards that no play makes."""
    rules, rng = drawn.rules, case.rng
    states, afters = rules.reachable()
    boards = [
        rng.choice(sorted(rules.orbit(one))) for one in rng.sample(sorted(states), min(len(states), 15))
    ]
    for board in [*boards, *random_boards(rng, drawn, 25)]:
        left = [after for after, wins, _ in rules.slides(board).values() if not wins]
        must = space == "all" or all(rules.least(after) in afters for after in left)
        for objective in table.objectives:
            here = f"{lines}; print(open_table('whole').probe({rules.text(board)!r}, {objective.label!r}))"
            try:
                answer = table.probe(rules.text(board), objective.label)
                check_answer(case, rules, board, objective, answer, here)
            except MissingBoardError:
                case.expect(not must, f"probe, {space}: refused", rules.text(board), here)
            except TooLargeError:  # a board that no play makes may have more boards after it
                break
            except Exception as error:
                case.fail(f"probe, {space}: {type(error).__name__}", f"{error}", here)
        case.done["boards probed"] += 1


def check_answer(
    case: Case, rules: second_reader.Game, board: Board, objective: Objective, answer: Any, lines: str
) -> None:
    """The slides and their values are those of the rules, and the best ones have a star."""
    k = [*MEASURES].index("win" if objective.is_bound else objective.name)
    worths = {direction: worth[k] for direction, worth in rules.worths(board).items()}
    found = {slide.direction: slide.value for slide in answer.slides}
    wrong = found.keys() != worths.keys() or not is_right(objective, answer.value, rules.state(board)[k])
    wrong = wrong or not all(is_right(objective, found[name], worth) for name, worth in worths.items())
    exact = {name: float(worth) for name, worth in worths.items()}
    case.expect(not wrong, f"probe: {objective.name}", f"{answer!r}, by the rules {exact}", lines)
    best = {name for name, worth in worths.items() if worth == max(worths.values())}
    missed = best - {*answer.best} if objective.dtype in ("float64", "bit", "int32") else set()
    case.expect(not missed, f"probe: stars, {objective.name}", f"{answer!r}, by the rules {exact}", lines)


def probe_real_boards(case: Case, drawn: DrawnGame, table: Any, lines: str) -> None:
    """Large tiles stand for x: such a board is worth as much as its images, and no less than it is with x."""
    rules, grid = drawn.rules, drawn.game.grid
    if not 0 < len(rules.unmergeable) <= len(LARGE):
        return
    images = [p for p in sorted(grid.symmetries) if {p[c] for c in rules.walls} == rules.walls]
    states = sorted(rules.reachable()[0])
    for state in case.rng.sample(states, min(len(states), 5)):
        large = iter(case.rng.sample(LARGE, len(rules.unmergeable)))
        board = tuple(next(large) if tile == X else tile for tile in state)
        texts = [rules.text(tuple(board[cell] for cell in image)) for image in images]
        here = f"{lines}; [open_table('whole').probe(one).value for one in {texts}]"
        least = sort_key(table.probe(rules.text(state)).value)
        found = [
            case.call("real board", here, lambda text: sort_key(table.probe(text).value), text)
            for text in texts
        ]
        same = REFUSED in found or ({*found} == {found[0]} and found[0] >= least)
        case.expect(same, "real board", f"{found}, {least}", here)
        case.done["real boards"] += 1


def is_right(objective: Objective, value: Value, exact: Fraction) -> bool:
    """Whether a value is the exact one up to the rounding of its type, or bounds it."""
    number, wanted = Fraction(number_of(value)), Fraction(objective.told(exact))
    if objective.is_bound:
        return number <= wanted if objective.name == "lower" else wanted <= number
    return second_reader.near(objective.dtype, number, wanted)


def grow(
    case: Case, drawn: DrawnGame, objectives: Sequence[Objective], whole: Path, space: str, lines: str
) -> None:
    """Objectives that are added one by one, some stopped at a sum, by any threads: the same files."""
    rng, grown = case.rng, case.folder / "grown"
    sums = sorted({drawn.rules.total(board) for board in drawn.rules.reachable()[1]}) or [4]
    for one in objectives:
        options: dict[str, Any] = {"space": space, "threads": rng.choice((1, 2, 3))}
        stops = [{"down_to": rng.choice(sums)}] if rng.random() < 0.4 else []
        for more in (*stops, {}):
            lines += f"\nsolve(game, {one.label!r}, table='grown', **{options | more})"
            case.call("solve again", lines, solve, drawn.game, one, table=grown, **options, **more)
    ours, theirs = contents(whole), contents(grown)
    other = [
        name
        for name in sorted(ours.keys() | theirs.keys())
        if plain_file(name, ours.get(name, b"")) != plain_file(name, theirs.get(name, b""))
    ]
    case.expect(not other, f"grown, {space}: other files", ", ".join(other[:5]), lines)


def plain_file(name: str, data: bytes) -> Any:
    """What a file says; of a journal of values the lines of layers, without those of checkpoints."""
    if not name.endswith("/layers.jsonl"):
        return data
    lines = [json.loads(line.rpartition(b"\t")[0]) for line in data.splitlines()]
    return [line for line in lines if "sum" in line]


def check_pruned(
    case: Case, drawn: DrawnGame, objectives: Sequence[Objective], whole: Path, lines: str
) -> None:
    """Both ways to prune give the same layers: each board after a slide has its value, or is below."""
    rules, label = drawn.rules, objectives[0].label
    after_slides = [rules.text(after) for after in sorted(rules.reachable()[1])]
    with open_table(whole) as table:
        values = {text: table.probe_after(text, label).value for text in after_slides}
    above = case.rng.choice([*(v for v in map(float, values.values()) if 0 < v <= 1), 1e-3, 0.5])
    small, other = case.folder / "small", case.folder / "other"
    lines += f"\nsolve(game, ..., table='small', above={above}); prune('whole', 'other', above={above})"
    case.call("solve above", lines, solve, drawn.game, objectives, table=small, above=above, threads=1)
    case.call("prune", lines, prune, whole, other, above=above)
    ours, theirs = (
        {name: data for name, data in contents(one).items() if name.endswith((".seg", ".idx"))}
        for one in (small, other)
    )
    case.expect(ours == theirs, "prune: other layers", f"{sorted(ours.keys() ^ theirs.keys())}", lines)
    with open_table(small) as table:
        for text, value in values.items():
            found = table.probe_after(text, label).value
            right = found == value if float(value) >= above else isinstance(found, Below)
            case.expect(right, "pruned: after a slide", f"{text}: {found}, and whole {value}", lines)
    case.done["pruned"] += 1
