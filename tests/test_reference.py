"""The oracle against published numbers, against arithmetic by hand, and against bare recursion."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import get_args

import pytest

from conformance.games import each_rule
from facts import Fact, facts
from strategies import SMALL_GAMES
from tilebase.counting.counts import CountResult
from tilebase.errors import UsageError
from tilebase.game.game import Cells, Game
from tilebase.game.symmetry import canonical, images
from tilebase.small.oracle import Objective, count, decided, reachable, transitions, values

COUNTED = {
    "live_states": ("2x2", "32", lambda game: count(game).total("live")),
    "states_with_specials": ("2x2", "32", lambda game: count(game).total("live") + 2),
    "raw_states_without_symmetry_with_specials": ("2x2", "8", lambda game: raw_live(game) + 2),
    # One step from the win and one from the loss to themselves are the other two.
    "raw_transitions_without_symmetry": ("2x2", "8", lambda game: len(transitions(game)) + 2),
    "states": ("2x2", "", lambda game: count(game).total("states")),
    "raw_states": ("2x2", "", lambda game: count(game).total("raw_states")),
}
"""By quantity, a game of which it was published, and its number by plain rules."""


@pytest.mark.parametrize("quantity", COUNTED)
def test_published_counts(quantity: str) -> None:
    board, goal, number = COUNTED[quantity]
    (fact,) = facts("state_counts.tsv", quantity=quantity, board=board, goal=goal)
    assert number(Game(board, int(goal) if goal else None)) == int(fact["value"]), fact


def raw_live(game: Game) -> int:
    raw = [state for layer in reachable(game, symmetric=False).values() for state in layer.states]
    live = sum(bool(game.slides(state)) for state in raw)
    assert count(game).total("raw_live") == live
    return live


def test_live_states_of_the_continued_2x2() -> None:
    """Lees-Miller's own test of his builder: 74 states with a slide, in 24 layers (twenty48, 2x2 to 128)."""
    result = count(Game("2x2"))
    assert (result.total("live"), result.total("afterstates")) == (74, 67)
    assert sum(row["live"] > 0 for row in result.rows()) == 24


@pytest.mark.parametrize("fact", facts("optimal_values.tsv", board="2x2"), ids=repr)
def test_win_probability(fact: Fact) -> None:
    found = values(Game("2x2", int(fact["goal"])), discount=fact["discount"]).start
    assert round(float(found), 2) == float(fact["value"]), fact
    assert fact["precision"] != "exact" or found == int(fact["value"]), fact


def test_discounted_win_probability() -> None:
    """Lees-Miller's own test of his solver (twenty48, 2x2 to 32 with discount 0.95): 0.03868113."""
    assert round(float(values(Game("2x2", 32), discount="0.95").start), 8) == 0.03868113


@pytest.mark.parametrize(
    "fact", facts("guaranteed_max_tile.tsv", board={*(f"1x{n}" for n in range(2, 7)), "2x2", "2x3"}), ids=repr
)
def test_guaranteed_tiles(fact: Fact) -> None:
    tile = int(fact["value"])
    if tile > 4:  # a 4 is spawned, so it is no goal
        assert values(Game(fact["board"], tile, start="empty"), "guaranteed").start == 1, fact
    assert values(Game(fact["board"], 2 * tile, start="empty"), "guaranteed").start == 0, fact


def test_every_value_of_1x2_to_8() -> None:
    """Two 4s win; two 2s make a 4, and then win with the chance of another 4; 2 and 4 are lost."""
    game = Game("1x2", 8)
    tenth = Fraction(1, 10)
    wins = values(game)
    assert wins.states == {(1, 1): tenth, (1, 2): 0, (2, 2): 1}
    assert wins.afterstates == {(0, 2): tenth}
    assert wins.start == Fraction(81, 100) * tenth + Fraction(1, 100)
    assert values(game, discount="1/2").states == {(1, 1): tenth / 4, (1, 2): 0, (2, 2): Fraction(1, 2)}
    assert values(game, "guaranteed").states == {(1, 1): 0, (1, 2): 0, (2, 2): 1}
    assert values(game, "guaranteed").start == 0
    assert values(game, "score").states == {(1, 1): 4 + 8 * tenth, (1, 2): 0, (2, 2): 8}
    assert values(game, "moves").states == {(1, 1): 1 + tenth, (1, 2): 0, (2, 2): 1}


def test_every_count_of_1x2_to_8() -> None:
    result = count(Game("1x2", 8))
    names = ("sum", "states", "live", "losing", "winning", "afterstates", "raw_states", "raw_live")
    assert [tuple(row[name] for name in names) for row in result.rows()] == [
        (4, 1, 1, 0, 0, 1, 1, 1),
        (6, 1, 0, 1, 0, 0, 2, 0),
        (8, 1, 1, 0, 1, 0, 1, 1),
    ]
    assert [row["max"] for row in result.rows(("max",))] == [2, 4]
    empty = count(Game("2x2", 8, start="empty"))
    assert next(iter(empty.rows(("sum", "max"))))["max"] == 0  # the empty board
    assert CountResult.from_dict(empty.as_dict()).as_dict() == empty.as_dict()


def test_lookahead_collapses_what_is_decided() -> None:
    game = Game("1x2", 8)
    assert not decided(game, (1, 1))  # the spawn of a 4 leaves a slide
    assert decided(game, (1, 2))  # lost
    assert decided(game, (2, 2))  # wins at once
    assert decided(Game("1x2", spawn=0), (1, 1))  # only a 2 can come, and then all is lost
    totals = count(game, lookahead=True).totals
    assert (totals["states"], totals["live"], totals["losing"], totals["winning"]) == (1, 1, 0, 0)


def made(before: Cells, after: Cells) -> int:
    """The sum of the merged tiles: what is missing of one exponent was merged to the next."""
    score, merged = 0, 0
    for e in range(1, 15):
        score += merged * 2**e
        merged = (before.count(e) + merged - after.count(e)) // 2
    return score


@cache
def afters(game: Game, state: Cells) -> tuple[Cells, ...]:
    return tuple(game.slides(state).values())


def bare(game: Game, objective: Objective, discount: Fraction) -> Callable[[Cells], Fraction | float]:
    """The value of a state by recursion over boards as they come, without layers and symmetry.

    Under ``fewest`` what cannot be won is worth minus infinity.
    """
    picks = {"longest": max, "highest": max, "fewest": max, "guaranteed": min, "survival": min}
    a_slide = {"moves": 1, "survival": 1, "longest": 1, "fewest": -1}.get(objective, 0)

    @cache
    def value(state: Cells) -> Fraction | float:
        slides = [] if game.has_goal_sum(state) else afters(game, state)
        if not slides:
            return end(state, game.has_goal_sum(state))
        return discount * max(of_slide(state, after) for after in slides)

    def end(board: Cells, won: bool) -> Fraction | float:
        if objective == "largest":
            return Fraction(max(2**e if e and not game.is_x(e) else 0 for e in board))
        if objective in ("loss", "fewest"):
            return Fraction(0) if won else Fraction(-1) if objective == "loss" else -math.inf
        return Fraction(won and objective in ("win", "guaranteed"))

    def of_slide(state: Cells, after: Cells) -> Fraction | float:
        merges, score = after.count(0) - state.count(0), made(state, after)
        worth = {"score": score, "highest": score, "merges": merges}.get(objective, a_slide)
        return worth + (end(after, True) if game.wins(after) else of_spawns(after))

    def of_spawns(after: Cells) -> Fraction | float:
        if not game.spawns(after):  # the horizon
            return end(after, False)
        if objective in picks:
            return picks[objective](value(state) for state, _ in game.spawns(after))
        return sum((p * value(state) for state, p in game.spawns(after)), Fraction(0))

    return value


@pytest.mark.parametrize("objective", get_args(Objective))
@pytest.mark.parametrize("game", each_rule([game for game in SMALL_GAMES if game.cells < 8]), ids=str)
def test_values_are_those_of_bare_recursion(game: Game, objective: Objective) -> None:
    discount = Fraction(1 if objective == "fewest" else "9/10")  # what is never won has no discount
    result = values(game, objective, discount=discount)
    value = bare(game, objective, discount)
    found = {board: max(value(board), -Fraction(2**30)) for board, _ in game.starts()}
    assert {board: result.states[canonical(game, board)] for board in found} == found
    if objective in ("guaranteed", "survival"):
        assert result.start == min(found.values())
    elif objective in ("longest", "highest", "fewest"):
        assert result.start == max(found.values())
    else:
        assert result.start == sum(p * found[board] for board, p in game.starts())


@pytest.mark.parametrize("lookahead", [False, True])
@pytest.mark.parametrize("game", each_rule(SMALL_GAMES), ids=str)
def test_counts_are_those_of_layers_without_symmetry(game: Game, lookahead: bool) -> None:
    counted, reduced = count(game, lookahead=lookahead), reachable(game, lookahead=lookahead)
    raw = reachable(game, lookahead=lookahead, symmetric=False)
    counted.assert_consistent()
    assert list(raw) == list(reduced) == counted.sums.tolist()
    symmetric_start = {b for b, _ in game.starts()} >= {i for b, _ in game.starts() for i in images(game, b)}
    for total, layer in raw.items():
        for boards, canonical_boards in zip(layer, reduced[total], strict=True):
            assert {game.sum(board) for board in boards} <= {total}
            assert {canonical(game, game.check(board)) for board in boards} == canonical_boards
            if symmetric_start:
                assert boards == {image for board in canonical_boards for image in images(game, board)}
    for name in ("states", "afterstates"):
        assert counted.total(name) == sum(len(getattr(layer, name)) for layer in reduced.values())
    if lookahead:
        assert counted.total("losing") == counted.total("winning") == 0
    every, name = {board for layer in raw.values() for board in layer.states}, "raw_states"
    if not symmetric_start:  # the other images of the start reach the images of these boards
        every, name = {image for board in every for image in images(game, board)}, "raw_states_of_images"
    assert counted.totals[name] == sum(row[name] for row in counted.rows()) == len(every)
    assert CountResult.from_dict(counted.as_dict()).as_dict() == counted.as_dict()


def test_raw_counts_of_a_start_that_a_symmetry_changes_say_so() -> None:
    """Rows of 2,0/0,4 counted 8 boards for the start alone, of which one occurs."""
    game = Game("2x2", 16, start="2,0/0,4")
    counted = count(game)
    occurring = sum(len(layer.states) for layer in reachable(game, symmetric=False).values())
    first = next(iter(counted.rows()))
    assert "raw_states" not in first | counted.totals
    assert (first["states"], first["raw_states_of_images"]) == (1, 4)
    assert occurring < counted.totals["raw_states_of_images"]


def test_empty_start_has_an_afterstate_of_sum_0() -> None:
    layer = reachable(Game("2x2", 16, start="empty"))[0]
    assert (layer.states, layer.afterstates) == (set(), {(0, 0, 0, 0)})
    assert min(reachable(Game("2x2", 16))) == 4


NAMES = get_args(Objective)


@pytest.mark.parametrize(
    ("objective", "discount", "says"),
    [
        ("luck", 1, f"'luck' is not an objective: choose {', '.join(NAMES)}$"),
        ("win", "soon", "'soon' is not a discount"),
        ("win", 2, "the discount is 2, but must lie between 0 and 1"),
        ("win", -1, "between 0 and 1"),
    ],
)
def test_a_question_that_cannot_be(objective: Objective, discount: int, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        values(Game("2x2", 8), objective, discount=discount)
