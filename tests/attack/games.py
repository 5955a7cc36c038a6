"""Random games: every engine against the oracle of tilebase and against `attack.rules`."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import inf
from typing import Any

from attack import tables
from attack.case import REFUSED, Case
from attack.random_games import DrawnGame, large_game, random_board, random_game
from attack.rules import MEASURES, Rules
from attack.rules import Board as Cells
from tilebase import bound, check_pattern, count, force
from tilebase.check import check_certificate
from tilebase.counting.counts import shown_names
from tilebase.errors import UsageError
from tilebase.game.board import Board
from tilebase.small import oracle
from tilebase.tables.slides import Slider

COUNTS = ("states", "live", "losing", "winning", "afterstates", "raw_states", "raw_live")


def attack(case: Case) -> None:
    """One random game, asked in every way."""
    drawn = random_game(case.rng)
    ask_everything(case, drawn, large_game(case.rng))


def ask_everything(case: Case, drawn: DrawnGame, large: DrawnGame) -> None:
    """A game, asked in every way; of a large one only the slides."""
    check_counts(case, drawn)
    check_bound(case, drawn)
    check_slides(case, drawn)
    check_slides(case, large)
    check_lemma(case, drawn)
    check_force(case, drawn)
    tables.attack(case, drawn)


# -- counts ---------------------------------------------------------------------------------------


def check_counts(case: Case, drawn: DrawnGame) -> None:
    """All totals, by sum and largest tile, with lookahead or without, of part of the layers too."""
    lookahead = case.rng.random() < 0.3 and drawn.game.goal_sum is None
    lines = f"{drawn.lines}; count(game, lookahead={lookahead}, threads=1)"
    wanted = plain_counts(drawn, lookahead)
    for name, function in (("count", count), ("oracle.count", oracle.count)):
        options = {"threads": 1} if function is count else {}
        result = case.call(name, lines, function, drawn.game, lookahead=lookahead, **options)
        if result is not REFUSED:
            compare_counts(case, name, result, wanted, lines)
    case.done["counts"] += 1
    sums = sorted({total for total, _ in wanted})
    if sums and case.rng.random() < 0.3:
        up_to = case.rng.choice(sums)
        part = {key: row for key, row in wanted.items() if key[0] <= up_to}
        lines = f"{lines[:-1]}, up_to={up_to})"
        options = {"lookahead": lookahead, "threads": 1, "up_to": up_to}
        result = case.call("count --up-to", lines, count, drawn.game, **options)
        if result is not REFUSED:
            compare_counts(case, "count --up-to", result, part, lines)


def plain_counts(drawn: DrawnGame, lookahead: bool) -> dict[tuple[int, int], Counter[str]]:
    """By sum and largest tile, by the plain rules."""
    rules = drawn.rules
    states, afters = rules.reachable(lookahead=lookahead)
    rows: dict[tuple[int, int], Counter[str]] = {}
    for state in states:
        row = rows.setdefault((rules.total(state), rules.top(state)), Counter())
        slides = rules.slides(state).values()
        size = len(rules.orbit(state))
        row.update({"states": 1, "live": bool(slides), "losing": not slides, "raw_states": size})
        row.update({"winning": any(wins for _, wins, _ in slides), "raw_live": size * bool(slides)})
    for after in afters:
        rows.setdefault((rules.total(after), rules.top(after)), Counter())["afterstates"] += 1
    return rows


def compare_counts(case: Case, name: str, result: Any, wanted: Any, lines: str) -> None:
    """Rows that hold nothing are left out on both sides."""
    # The row of boards without a tile may say 0 or 2**0.
    found = {(row["sum"], row["max"] if row["max"] > 1 else 0): row for row in result.rows(by=("sum", "max"))}
    for column in COUNTS:
        ours = {key: row[column] for key, row in wanted.items() if row[column]}
        shown = shown_names(result.game)[column]
        theirs = {key: row[shown] for key, row in found.items() if row[shown]}
        if ours != theirs:
            key = min(key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key))
            one = f"of (sum, largest tile) {key} {theirs.get(key, 0)}, by the rules {ours.get(key, 0)}"
            totals = f"in all {sum(theirs.values())}, by the rules {sum(ours.values())}"
            case.fail(f"{name}: {column}", f"{column} {one}; {totals}", lines)


def check_bound(case: Case, drawn: DrawnGame) -> None:
    """The boards within the limits, with symmetry and without, where they can be listed."""
    game, rules = drawn.game, drawn.rules
    size = 1
    for top in game.tops:
        size *= top + 1
    if size > 20_000 or drawn.unbounded:
        return
    lines = f"{drawn.lines}; bound(game)"
    found = case.call("bound", lines, bound, game)
    if found is REFUSED:
        return
    tops = [1 << top if top else 0 for top in game.tops]
    boards = [b for b in rules.boards() if not rules.has_sum(b)]
    boards = [b for b in boards if all(tile <= top for tile, top in zip(b, tops, strict=True))]
    orbits = {rules.least(board) for board in boards}
    numbers = (len(boards), len(orbits))
    case.done["bounds"] += 1
    case.expect(
        (found.boards, found.canonical_boards) == numbers,
        "bound",
        f"boards and canonical boards {found.boards}, {found.canonical_boards}; listed: {numbers}",
        lines,
    )


# -- slides of single boards --------------------------------------------------------------------------


def check_slides(case: Case, drawn: DrawnGame, boards: int = 20) -> None:
    """`Board.slides` and the slides that probing plays by, on random boards."""
    rules, game, slider = drawn.rules, drawn.game, Slider(drawn.game)
    for _ in range(boards):
        plain = random_board(case.rng, drawn)
        if not rules.exists(plain):
            continue
        text = rules.text(plain)
        lines = f"{drawn.lines}; Board.parse(game, {text!r}).slides()"
        board = case.call("Board.parse", lines, Board.parse, game, text)
        if board is REFUSED:
            continue
        slides = case.call("Board.slides", lines, board.slides)
        if slides is REFUSED:
            continue
        wanted = {
            direction: (won_text(drawn, after), wins)
            for direction, (after, wins, _) in rules.slides(plain).items()
        }
        found = {direction: (after.text, game.wins(after.cells)) for direction, after in slides.items()}
        case.expect(found == wanted, "Board.slides", f"{text}: {found}, by the rules {wanted}", lines)
        quick = {
            direction: (game.format(after), wins) for direction, after, wins in slider.slides(board.cells)
        }
        case.expect(quick == wanted, "Slider.slides", f"{text}: {quick}, by the rules {wanted}", lines)
        case.done["boards slid"] += 1


def won_text(drawn: DrawnGame, after: tuple[int, ...]) -> str:
    return drawn.rules.text(after)


# -- patterns -----------------------------------------------------------------------------------------


def check_lemma(case: Case, drawn: DrawnGame) -> None:
    """Whether the goal is forced from every board that holds the pattern, and within how many slides."""
    game, rules = drawn.game, drawn.rules
    size = 1
    for top in game.tops:
        size *= top + 1
    refused = (
        rules.goal is None or rules.goal_sum is not None or rules.unmergeable or rules.horizon is not None
    )
    if not rules.patterns or refused or size > 2_000:
        return
    bare = replace(rules, patterns=(), _states={}, _afters={})
    depths = [forced_depth(bare, board, {}) for board in rules.boards() if rules.matches(board)]
    lines = f"{drawn.lines}; check_pattern(game, threads=1)"
    if not depths:
        refuse_no_board(case, drawn, lines)
        return
    found = case.call("check_pattern", lines, check_pattern, game, threads=1)
    if found is REFUSED:
        return
    deepest = max(depths, default=0.0)
    wanted = (deepest < inf, int(deepest) if deepest < inf else None)
    what = f"holds, slides: {found.holds}, {found.slides}; by the rules {wanted} over {len(depths)} boards"
    case.expect((found.holds, found.slides) == wanted, "check_pattern", what, lines)
    case.done["patterns checked"] += 1


def refuse_no_board(case: Case, drawn: DrawnGame, lines: str) -> None:
    """There is nothing to check where no board holds the pattern: that is said."""
    try:
        check_pattern(drawn.game, threads=1)
    except UsageError as error:
        case.expect("holds the pattern" in str(error), "check_pattern: another reason", str(error), lines)
    else:
        case.fail("check_pattern: no board holds the pattern", "it is checked", lines)


def forced_depth(rules: Rules, board: Cells, known: dict[Cells, float]) -> float:
    """Slides within which a win is forced; infinite where none is."""
    if board not in known:
        best = inf
        for after, wins, _ in rules.slides(board).values():
            following = [
                forced_depth(rules, state, known) for state, _ in ([] if wins else rules.spawns(after))
            ]
            best = min(best, 1 + max(following, default=0.0))
        known[board] = best
    return known[board]


# -- what can be forced -------------------------------------------------------------------------------


def check_force(case: Case, drawn: DrawnGame) -> None:
    """All three engines, and the certificate."""
    game = drawn.game
    if not game.can_win:
        return
    wanted = bool(drawn.rules.value[list(MEASURES).index("guaranteed")])
    for engine in ("search", "dense", "reachable"):
        lines = f"{drawn.lines}; force(game, engine={engine!r}, threads=1)"
        found = case.call(f"force {engine}", lines, force, game, engine=engine, threads=1)
        if found is not REFUSED:
            case.expect(
                found.forced is wanted, f"force {engine}", f"{found.forced}, by the rules {wanted}", lines
            )
            case.done["forced"] += 1
    if not game.walls:
        check_proof(case, drawn, wanted)


def check_proof(case: Case, drawn: DrawnGame, wanted: bool) -> None:
    path = case.folder / "proof.cert"
    lines = (
        f"{drawn.lines}; force(game, certificate='proof.cert', threads=1); check_certificate('proof.cert')"
    )
    if case.call("certificate", lines, force, drawn.game, certificate=path, threads=1) is REFUSED:
        return
    try:
        header = check_certificate(path)
    except Exception as error:
        case.fail("certificate: refused", f"{type(error).__name__}: {error}", lines)
        return
    claim = "forced" if wanted else "not forced"
    case.expect(header["claim"] == claim, "certificate", f"{header['claim']}, by the rules {claim}", lines)
    case.done["certificates"] += 1
