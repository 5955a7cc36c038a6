"""The lemmas of Edixhoven's thesis, on every position that small boards can reach."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

import pytest

import cached_oracle as oracle
from conformance.games import daily
from tilebase.game.game import Game
from tilebase.patterns.checking import (
    ENOUGH,
    LemmaCheck,
    check_lemmas,
    explore,
    most_afterstates,
    most_states,
    occasion_text,
)
from tilebase.patterns.lemmas import (
    LEMMAS,
    Lemma,
    alternating_line_sources,
    is_checkerboard,
    line_ends_with_four,
    line_is_nearly_full,
)
from tilebase.patterns.packed import search_back
from tilebase.patterns.rules import Drop, Position, Rules, drop, pull

BY_NUMBER = {lemma.number: lemma for lemma in LEMMAS}
SMALL = [(1, 1), (1, 2), (1, 3), (1, 4), (1, 9), (4, 1), (2, 2), (2, 3), (3, 2), (2, 5), (3, 3), (4, 3)]
LARGER = [(4, 4), (2, 7), (4, 5)]
UNBOUNDED = [(1, 3, 40), (1, 5, 100), (2, 2, 80), (2, 3, 60), (3, 2, 30), (3, 3, 20)]
LARGER_UNBOUNDED = [(2, 3, 140), (3, 3, 30), (2, 4, 40), (1, 7, 120)]


def checked(rules: Rules, most_sum: int | None = None) -> tuple[LemmaCheck, ...]:
    """The checks of a board with a bound on the tiles, or on the sum."""
    drops = ",".join(str(1 << exponent) for exponent in rules.drops)
    return check_lemmas(str(rules), drops=drops, most_sum=most_sum)


def verdicts(checks: Sequence[LemmaCheck]) -> dict[str, str]:
    return {check.lemma.number: check.verdict for check in checks}


def failing(checks: Sequence[LemmaCheck]) -> list[str]:
    return [f"{check.lemma.number}: {check.first}" for check in checks if check.failures]


# -- the lemmas hold ---------------------------------------------------------------------------------


@pytest.mark.parametrize("drops", [(1,), (1, 2)], ids=["2", "2,4"])
@pytest.mark.parametrize(("rows", "columns"), daily(SMALL, SMALL[:-3]))
def test_lemmas_hold_without_an_8(rows: int, columns: int, drops: tuple[int, ...]) -> None:
    checks = checked(Rules(rows, columns, drops, 2))
    assert failing(checks) == []
    assert len(checks) == len(LEMMAS)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "columns"), LARGER)
def test_lemmas_hold_without_an_8_on_larger_boards(rows: int, columns: int) -> None:
    assert failing(checked(Rules(rows, columns, most=2))) == []


@pytest.mark.parametrize("drops", [(1,), (1, 2)], ids=["2", "2,4"])
@pytest.mark.parametrize(("rows", "columns", "most_sum"), UNBOUNDED)
def test_lemmas_hold_up_to_a_sum(rows: int, columns: int, most_sum: int, drops: tuple[int, ...]) -> None:
    assert failing(checked(Rules(rows, columns, drops), most_sum=most_sum)) == []


@pytest.mark.slow
@pytest.mark.parametrize("drops", [(1,), (1, 2)], ids=["2", "2,4"])
@pytest.mark.parametrize(("rows", "columns", "most_sum"), LARGER_UNBOUNDED)
def test_lemmas_hold_up_to_a_larger_sum(rows, columns, most_sum, drops) -> None:
    assert failing(checked(Rules(rows, columns, drops), most_sum=most_sum)) == []


def test_every_lemma_but_the_tenth_has_cases_on_small_boards() -> None:
    found = [verdicts(checked(Rules(*size, most=2))).items() for size in ((3, 3), (4, 2))]
    seen = {number for items in found for number, verdict in items if verdict == "holds"}
    assert seen == set(BY_NUMBER) - {"10"}


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "columns"), [(3, 5), (5, 3)])
def test_the_tenth_has_cases_where_one_side_is_five(rows: int, columns: int) -> None:
    assert verdicts(checked(Rules(rows, columns, most=2)))["10"] == "holds"


# -- the predicates can fail: positions that no game reaches -----------------------------------------

IMPOSSIBLE: list[tuple[str, Rules, tuple[Any, ...]]] = [
    ("1", Rules(3, 3), ((1, 2, 1, 2, 0, 2, 1, 2, 1), "L")),
    ("2", Rules(3, 3), ((1, 2, 1, 2, 0, 2, 1, 2, 1), Drop(4))), ("3", Rules(1, 4), ((1, 0, 0, 2), "L")),
    ("3", Rules(2, 2), ((1, 0, 0, 2), "U")), ("4", Rules(3, 3), ((0, 0, 0, 0, 1, 0, 0, 0, 0), "L")),
    ("5", Rules(2, 3), ((1, 0, 1, 1, 0, 0), "D")), ("6", Rules(1, 2), ((3, 0),)),
    ("6", Rules(1, 2, (1, 2)), ((4, 0),)), ("7", Rules(2, 2), ((3, 3, 3, 1),)),
    ("7", Rules(2, 2, (1, 2)), ((4, 4, 4, 1),)), ("8", Rules(1, 4), ((2, 0, 1, 2), "horizontal")),
    ("8", Rules(3, 1), ((2, 1, 2), "vertical")), ("9a", Rules(2, 1), ((1, 0), "D")),
    ("9b", Rules(2, 1), ((1, 1), "D")), ("9c", Rules(3, 1), ((1, 2, 2), "D")),
    ("9d", Rules(2, 2), ((0, 0, 2, 2), "D", "L")), ("9e", Rules(2, 2), ((1, 1, 2, 1), "D", "R")),
    ("9e", Rules(2, 2), ((2, 1, 1, 1), "U", "R")), ("10", Rules(3, 3), ((2, 1, 2, 1, 2, 0, 2, 1, 2), "L")),
    ("10", Rules(3, 3), ((2, 1, 2, 1, 1, 2, 2, 1, 2), "R")),
    ("10", Rules(3, 3), ((2, 1, 2, 1, 1, 1, 2, 2, 2), "D")), ("11a", Rules(1, 4), ((1, 2, 1, 0),)),
    ("11b", Rules(1, 4), ((2, 0, 0, 0),)), ("12", Rules(3, 3), ((1, 2, 1, 2, 0, 2, 1, 2, 1), Drop(4))),
    ("13", Rules(3, 3), ((2, 1, 2, 1, 2, 1, 2, 1, 2),)),
]  # fmt: skip


@pytest.mark.parametrize(("number", "rules", "arguments"), IMPOSSIBLE)
def test_predicates_see_what_lemmas_exclude(number: str, rules: Rules, arguments: tuple[Any, ...]) -> None:
    lemma = BY_NUMBER[number]
    assert lemma.applies(rules, *arguments)
    assert not lemma.holds(rules, *arguments)


def test_each_predicate_has_such_a_position() -> None:
    assert {number for number, _, _ in IMPOSSIBLE} == set(BY_NUMBER)


@pytest.mark.parametrize("lemma", LEMMAS, ids=lambda lemma: lemma.number)
def test_each_lemma_has_an_exact_statement(lemma: Lemma) -> None:
    assert lemma.statement.endswith(".")
    assert max(len(lemma.title), len(lemma.title_with_fours)) <= 72
    kind = "Corollary" if lemma.number in ("2", "4", "7", "13") else "Lemma"
    assert f"{kind} {lemma.number}" in (lemma.holds.__doc__ or "")


# -- what changes with drops of 4 --------------------------------------------------------------------


def test_the_eighth_fails_with_drops_of_4() -> None:
    lemma = BY_NUMBER["8"]
    rules = Rules(1, 3, (1, 2))
    layers = explore(rules, most_sum=10, directions="LR")
    bad = [state for layer in layers for state in layer.states if not lemma.holds(rules, state, "horizontal")]
    assert bad == [(2, 1, 2)]
    assert not lemma.is_about(rules)


def test_the_tenth_fails_with_drops_of_4() -> None:
    lemma, rules = BY_NUMBER["10"], Rules(3, 3, (1, 2), 2)
    position: Position = (2, 1, 2, 1, 0, 0, 2, 1, 2)
    found = [layer.afterstates[position][0] for layer in explore(rules) if position in layer.afterstates]
    assert found == ["L"]
    assert not lemma.holds(rules, position, "L")
    assert not lemma.is_about(rules)


def test_the_bounds_on_tiles_are_one_larger_with_drops_of_4() -> None:
    """2x2 reaches 2**5 with drops of 4 and no more; without them 2**4."""
    for drops, most in (((1,), 4), ((1, 2), 5)):
        rules = Rules(2, 2, drops)
        assert max(max(state) for layer in explore(rules, most_sum=80) for state in layer.states) == most
        wrong = Rules(2, 2)
        held = [BY_NUMBER[number].holds(wrong, (most, 0, 0, 0)) for number in ("6", "7")]
        assert held == [most == 4, most == 4]


def test_lemmas_that_drops_of_4_change_have_a_second_title() -> None:
    twos, fours = Rules(2, 2), Rules(2, 2, (1, 2))
    changed = {lemma.number: lemma for lemma in LEMMAS if lemma.title_for(fours) != lemma.title_for(twos)}
    assert set(changed) == {"6", "7"}
    assert changed["6"].title_for(fours) == "no tile is larger than 2 to the (number of cells + 1)"
    assert changed["7"].title_for(fours) == "a tile 2**k needs k-2 empty or smaller cells"


def forward_sources(length: int) -> set[Position]:
    """The same as `alternating_line_sources`, by looking ahead from every line."""
    rules, free = Rules(1, length, most=2), Rules(1, length)
    lines = list(product(range(3), repeat=length))
    won = {line for line in lines if is_checkerboard(rules, line)}
    ahead: dict[Position, set[Position]] = {}
    for line in lines:
        moved = {rules.slide(line, direction) for direction in "LR"} - {None}
        stays = any(free.slide(line, direction) is None for direction in "LR")
        ahead[line] = {after for after in moved if after} | ({line} if stays else set())
    sources: set[Position] = set()
    while True:
        more = {
            line
            for line in lines
            if line not in sources
            and (line in won or any(drop(line, Drop(at)) in won for at in range(length) if not line[at]))
        }
        if not more:
            return sources
        sources |= more
        won |= {line for line in lines if ahead[line] & sources}


@pytest.mark.parametrize("length", [2, 3, 4, 5, 6])
def test_lines_to_alternate_are_those_found_by_looking_ahead(length: int) -> None:
    assert alternating_line_sources(length) == forward_sources(length)


@pytest.mark.parametrize(
    ("length", "ends", "nearly_full"),
    [(2, False, True), (3, False, False), *((even, True, True) for even in (4, 6, 8, 10, 12))],
)
def test_the_eleventh_needs_an_even_length_from_4_on(length: int, ends: bool, nearly_full: bool) -> None:
    rules, sources = Rules(1, length), alternating_line_sources(length)
    assert all(line_ends_with_four(rules, line) for line in sources) is ends
    assert all(line_is_nearly_full(rules, line) for line in sources) is nearly_full
    assert not ends or any(line.count(0) == 2 for line in sources)


# -- exploration -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "four"), [("2x2", "0"), ("2x3", "0"), ("2x3", "1/10"), ("1x5", "0")])
@pytest.mark.parametrize("largest", [4, None])
def test_exploration_finds_what_the_game_reaches(shape: str, four: str, largest: int | None) -> None:
    rows, columns = map(int, shape.split("x"))
    rules = Rules(rows, columns, (1,) if four == "0" else (1, 2), 2 if largest else None)
    found = {layer.sum: set(layer.states) for layer in explore(rules, most_sum=30) if layer.states}
    game = Game(shape, start="empty", spawn=four, limits=largest, horizon=32)
    known = oracle.reachable(game, symmetric=False)
    assert found == {total: layer.states for total, layer in known.items() if total <= 30 and layer.states}


def test_afterstates_know_the_slides_around_them() -> None:
    rules = Rules(2, 3, most=2)
    layers = list(explore(rules))
    before = {after: set() for layer in layers for after in layer.afterstates}
    for layer in layers:
        for state in layer.states:
            for direction, after in rules.slides(state):
                before[after].add(direction)
    for layer in layers:
        for after, (by, followed_by) in layer.afterstates.items():
            assert set(by) == before[after]
            assert set(followed_by) == {
                direction for _, state in rules.spawns(after) for direction, _ in rules.slides(state)
            }


@pytest.mark.parametrize(
    ("rules", "most_sum"),
    [(Rules(2, 4, most=2), None), (Rules(3, 3, (1, 2), 2), None), (Rules(3, 3), 18), (Rules(1, 6), 30)],
)
def test_the_bound_on_positions_holds_for_each_sum(rules: Rules, most_sum: int | None) -> None:
    bound = most_afterstates(rules, most_sum)
    after_drops = most_states(rules, bound, most_sum)
    for layer in explore(rules, most_sum=most_sum):
        assert len(layer.afterstates) <= max(bound[layer.sum], 1)
        assert len(layer.states) <= after_drops[layer.sum]


def test_the_bound_stops_where_it_is_too_large() -> None:
    assert most_afterstates(Rules(100, 100, most=2)).total() > ENOUGH
    assert most_afterstates(Rules(3, 3), 4096).total() > 10**9


def test_positions_that_slides_make_are_in_memory_once() -> None:
    for layer in explore(Rules(2, 3), most_sum=20):
        made = [after for slides in layer.states.values() for after in slides.values()]
        assert len({id(after) for after in made}) == len(set(made))


# -- the command -------------------------------------------------------------------------------------


def test_a_lemma_that_fails_is_shown(monkeypatch, printed) -> None:
    def is_left(_rules: Rules, _position: Position, direction: str) -> bool:
        """All slides are to the left."""
        return direction == "L"

    false = Lemma("0", "all slides are to the left", "afterstate", is_left)
    monkeypatch.setattr("tilebase.patterns.checking.LEMMAS", (false,))
    shown = " ".join(printed("reach lemmas 1x2 -q", status=1).splitlines()[1].split())
    assert shown == "0 all slides are to the left 4 2 fails 0,2 after R"


def test_progress_is_reported() -> None:
    told = []
    check_lemmas("3x3", progress=told.append)
    assert [report.step for report in told][-1] == "done"
    assert told[0].unit == "positions"
    assert all(one.fraction <= other.fraction for one, other in pairwise(told))


@pytest.mark.parametrize(
    ("about", "arguments", "words"),
    [
        ("position", ((1, 2, 0, 0),), "2,4/0,0"),
        ("afterstate", ((1, 2, 0, 0), "U"), "2,4/0,0 after U"),
        ("following", ((1, 2, 0, 0), "U", "L"), "2,4/0,0 after U, before L"),
        ("drop", ((1, 2, 0, 0), Drop(2)), "2,4/0,0 before (2,1)"),
        ("axis", ((1, 2, 0, 0), "vertical"), "2,4/0,0 after vertical slides only"),
        ("line", ((1, 2, 0),), "2,4,0"),
    ],
)
def test_occasions_in_words(about: Any, arguments: tuple[Any, ...], words: str) -> None:
    assert occasion_text(Rules(2, 2), about, arguments) == words


def states_before(rules: Rules, after: Position) -> set[Position]:
    """The positions that a slide turns into this one, if no 8 is made."""
    found: set[Position] = set()
    for direction, lines in rules.lines.items():
        sources = [pull(tuple(after[cell] for cell in line)) for line in lines]
        for chosen in product(*sources):
            board = list(after)
            for line, values in zip(lines, chosen, strict=True):
                for cell, value in zip(line, values, strict=True):
                    board[cell] = value
            if rules.slide(tuple(board), direction) == after:
                found.add(tuple(board))
    return found


@pytest.mark.parametrize(("rows", "columns"), [(3, 3), (3, 5), (5, 3), (3, 7), (5, 5), (5, 7)])
def test_odd_checkerboards_end_in_a_corner_on_larger_boards(rows: int, columns: int) -> None:
    """No checkerboard with 4s in its corners, and none that a drop elsewhere completes, can be reached."""
    rules = Rules(rows, columns, most=2)
    reachable = tuple(1 + sum(divmod(cell, columns)) % 2 for cell in range(rules.cells))
    assert search_back(rules, [tuple(3 - value for value in reachable)]).reachable is False
    corners = {0, columns - 1, rules.cells - columns, rules.cells - 1}
    inner = [cell for cell in range(rules.cells) if reachable[cell] == 1 and cell not in corners]
    before = [
        state
        for cell in inner
        for state in states_before(rules, (*reachable[:cell], 0, *reachable[cell + 1 :]))
    ]
    assert not before or search_back(rules, before).reachable is False


def test_an_exhaustive_search_back_tries_every_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound on choices is that of narrow searches."""
    rules, checkerboard = Rules(3, 3, most=2), (1, 2, 1, 2, 1, 2, 1, 2, 1)
    all_of_them = search_back(rules, [checkerboard])
    monkeypatch.setattr("tilebase.patterns.packed.CHOICES", 1)
    assert search_back(rules, [checkerboard]).positions == all_of_them.positions
    assert all_of_them.reachable
