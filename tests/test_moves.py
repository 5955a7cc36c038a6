"""Sequences of moves: written, read, replayed; every sentence of a refusal."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilebase.errors import UsageError
from tilebase.patterns import moves as module
from tilebase.patterns.moves import moves_text, parse_moves, replay, with_drops
from tilebase.patterns.rules import CONVENTIONS, DIRECTIONS, Drop, Move, Position, Rules

ANY = Rules(2, 3, (1, 2))


@st.composite
def games(draw: st.DrawFn) -> tuple[Rules, tuple[Move, ...], list[Position]]:
    """A game of random moves, with the positions that it passes."""
    rules = Rules(draw(st.integers(1, 4)), draw(st.integers(1, 12)), draw(st.sampled_from([(1,), (1, 2)])))
    moves: list[Move] = []
    positions = [rules.empty]
    for _ in range(draw(st.integers(0, 12))):
        new, position = draw(st.sampled_from(list(rules.spawns(positions[-1]))))
        moves.append(new)
        positions.append(position)
        slides = list(rules.slides(position))
        if not slides:
            break
        direction, position = draw(st.sampled_from(slides))
        moves.append(direction)
        positions.append(position)
    return rules, tuple(moves), positions


@given(games())
@settings(max_examples=100)
def test_text_is_read_back_and_replayed(game: tuple[Rules, tuple[Move, ...], list[Position]]) -> None:
    rules, moves, positions = game
    text = moves_text(rules, moves)
    assert parse_moves(rules, text) == moves
    assert parse_moves(rules, text.replace("(", " (").replace(",", ", ")) == moves
    assert replay(rules, moves) == positions


@given(
    st.sampled_from(CONVENTIONS), st.integers(1, 3), st.integers(2, 4),
    st.lists(st.sampled_from(DIRECTIONS), max_size=12),
)  # fmt: skip
@settings(max_examples=100)
def test_deterministic_games_drop_by_their_convention(convention, rows, columns, wanted):
    rules = Rules(rows, columns, convention=convention)
    slides, position = "", with_drops(rules, "")
    for direction in wanted:  # those that are possible
        if rules.slide(replay(rules, position)[-1], direction) is not None:
            slides += direction
            position = with_drops(rules, slides)
    assert moves_text(rules, position) == slides
    positions = replay(rules, position)
    for before, move in zip(positions, position, strict=False):
        if isinstance(move, Drop):
            empty = [cell for cell, value in enumerate(before) if not value]
            by_column = min(empty, key=lambda cell: (cell % columns, cell))
            assert move == Drop(empty[0] if convention == "rows" else by_column)


def test_drops_are_written_with_their_tile_if_it_is_no_2() -> None:
    assert moves_text(ANY, (Drop(0), "R", Drop(5, 2))) == "(1,1)R(2,3)=4"
    assert parse_moves(ANY, " (1,1)=2 R (2, 3)=4 ") == (Drop(0), "R", Drop(5, 2))
    assert parse_moves(ANY, "") == ()


def test_too_many_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_MOVES", 3)
    assert len(parse_moves(ANY, "LRL")) == 3
    with pytest.raises(UsageError, match="more than 3 moves: give fewer"):
        parse_moves(ANY, "LRLR")


def test_moves_that_break_a_rule() -> None:
    rules = Rules(2, 2, convention="columns")
    assert replay(rules, (Drop(0), "D", Drop(0)))[-1] == (1, 0, 1, 0)
    for wrong, moves, message in (
        (rules, (Drop(0), "D", Drop(1)), "move 3 is not where this game drops: 0,0/2,0"),
        (Rules(2, 2), (Drop(0, 2),), "move 1 is not where this game drops: 0,0/0,0"),
        (ANY, (Drop(0), "X"), "move 2 is 'X': slides are U, D, L and R"),
        (Rules(1, 3, (1, 2), 2), (Drop(0, 2), "R") * 2, "move 4, R, makes a tile above 4: 4,0,4"),
    ):
        with pytest.raises(UsageError, match=message):
            replay(wrong, moves)


def test_games_may_be_bounded() -> None:
    rules = Rules(1, 3, most=2, convention="rows")
    assert replay(rules, with_drops(rules, "R RL"))[-1] == (1, 2, 1)
    with pytest.raises(UsageError, match="slide 5, R, makes a tile above 4: 2,4,4"):
        with_drops(rules, "RRRRR")
