"""Counts of sequences to checkerboards, against listing them, against facts, and a recurrence."""

from __future__ import annotations

from functools import cache
from itertools import product
from math import prod
from operator import mul
from pathlib import Path

import pytest

from facts import facts
from tilebase import Game, Progress
from tilebase.errors import ResourceError
from tilebase.patterns.checkerboards import checkerboard_position
from tilebase.patterns.moves import replay, with_drops
from tilebase.patterns.rules import Drop, Move, Position, Rules
from tilebase.patterns.tallies import count_sequences, tally

DATA = Path(__file__).parents[1] / "docs" / "data"
LETTERS = {"U": "up", "D": "down", "L": "left", "R": "right"}
ERRATA = {"2x7": 7383, "2x8": 8468}
"""What the computation gives where the source is wrong; docs/errata.md."""


def listed(rules: Rules) -> dict[int, list[tuple[Move, ...]]]:
    """Every sequence to a checkerboard, by colouring, one by one and by the plain rules."""
    ends = {checkerboard_position(rules, colouring): colouring for colouring in (2, 4)}
    largest = max(map(sum, ends))

    @cache
    def after(state: Position) -> list[tuple[int, tuple[Move, ...]]]:
        found: list[tuple[int, tuple[Move, ...]]] = [(ends[state], ())] if state in ends else []
        if sum(state) < largest:
            for slide, slid in rules.slides(state):
                for drop, following in rules.spawns(slid):
                    found += [(colouring, (slide, drop, *rest)) for colouring, rest in after(following)]
        return found

    result: dict[int, list[tuple[Move, ...]]] = {2: [], 4: []}
    for drop, state in rules.spawns(rules.empty):
        for colouring, rest in after(state):
            result[colouring].append((drop, *rest))
    return result


@pytest.mark.parametrize("convention", ["rows", "columns"])
@pytest.mark.parametrize("shape", [*product(range(1, 4), repeat=2), (2, 5), (5, 2), (5, 3), (3, 5)])
def test_deterministic_counts_are_those_of_a_list(shape: tuple[int, int], convention: str) -> None:
    rules = Rules(*shape, most=2, convention=convention)
    found, every = tally(rules), listed(rules)
    assert (found.twos, found.fours) == (len(every[2]), len(every[4]))
    for colouring, sequences in every.items():
        assert len(set(sequences)) == len(sequences)
        for moves in sequences:
            assert replay(rules, moves)[-1] == checkerboard_position(rules, colouring)


@pytest.mark.parametrize("drops", [(1,), (1, 2)])
@pytest.mark.parametrize("shape", [(1, 1), (1, 2), (2, 1), (1, 3), (3, 1), (1, 4), (2, 2)])
def test_cooperative_counts_are_those_of_a_list(shape: tuple[int, int], drops: tuple[int, ...]) -> None:
    rules = Rules(*shape, drops, most=2)
    found, every = tally(rules), listed(rules)
    assert (found[2], found[4]) == (len(every[2]), len(every[4]))
    assert found.total == found[2] + found[4]


@pytest.mark.parametrize("shape", [(2, 7), (2, 8)])
def test_every_sequence_of_the_errata_is_played(shape: tuple[int, int]) -> None:
    """The rules of `Game` play each listed sequence: a second implementation."""
    rules = Rules(*shape, most=2, convention="rows")
    name = "x".join(map(str, shape))
    game = Game(name, spawn=0, start="empty", limits=4)
    ends = {checkerboard_position(rules, colouring) for colouring in (2, 4)}
    every = listed(rules)

    @cache
    def slides(position: Position) -> dict[str, Position]:
        return {direction: tuple(after) for direction, after in game.slides(position).items()}

    sequences = {moves for group in every.values() for moves in group}
    assert len(sequences) == len(every[2]) + len(every[4]) == ERRATA[name]
    for moves in sequences:
        position = rules.empty
        for move in moves:
            if isinstance(move, Drop):
                assert move == Drop(position.index(0))
                position = (*position[: move.cell], 1, *position[move.cell + 1 :])
            else:
                position = slides(position)[LETTERS[move]]
        assert position in ends
    some = sorted(sequences, key=str)[::500]
    assert all(with_drops(rules, "".join(m for m in moves if isinstance(m, str))) == moves for moves in some)


def test_the_table_to_2x20_rises_and_falls() -> None:
    """From odd n to the next even n the count falls, from 9 on, up to 20."""
    totals = {n: count_sequences(f"2x{n}", deterministic=True).total for n in range(3, 21)}
    assert [n for n in range(4, 21, 2) if totals[n] < totals[n - 1]] == [10, 12, 14, 16, 18, 20]
    assert totals[20] == 997_344


def test_limits_end_a_count(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ResourceError, match="time ran out while sequences were counted"):
        count_sequences("5x5", seconds=0.2)
    monkeypatch.setattr("tilebase.patterns.tallies.MOST_POSITIONS", 1000)
    with pytest.raises(ResourceError, match="more than 1,000 positions"):
        tally(Rules(4, 4))


def test_progress_rises_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilebase.runtime.progress.OFTEN", 0.0)
    seen: list[Progress] = []
    found = count_sequences("3x3", progress=seen.append)
    assert [one.fraction for one in seen] == sorted(one.fraction for one in seen)
    assert (seen[-1].fraction, seen[-1].positions) == (1.0, found.positions)


@pytest.mark.parametrize(
    ("columns", "colouring", "rule", "share"),
    [
        (30, 4, (1, -3, 1), 1e-2),
        (30, 2, (1, -6, 11, -6, 1), 1e-2),
        (31, 4, (1, -4, 4), 1e-2),
        (31, 2, (1, -6, 12, -8), 1e-2),
    ],
)
def test_short_rules_that_nearly_hold_for_two_rows(columns, colouring, rule, share) -> None:
    """The rules of docs/reach.md; the terms of n = 30 and 31 fit them to a hundredth."""
    terms = [
        count_sequences(f"2x{columns - 2 * back}", deterministic=True)[colouring] for back in range(len(rule))
    ]
    assert 0 < abs(sum(factor * term for factor, term in zip(rule, terms, strict=True))) < share * terms[0]


COEFFICIENTS = (
    30, -381, 2671, -11307, 29777, -49170, 54410, -56805, 71568, -62424, 18144, 3888,
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("first", [18, 19])
def test_two_columns_have_a_recurrence(first: int) -> None:
    """That of docs/reach.md; five minutes on one core."""
    found = [count_sequences(f"{m}x2", deterministic=True) for m in range(first, first + 53, 2)]
    order = len(COEFFICIENTS)
    for terms in ([one[2] for one in found], [one[4] for one in found], [one.total for one in found]):
        following = [sum(map(mul, COEFFICIENTS, terms[k - order : k][::-1])) for k in range(order, 27)]
        assert terms[order:] == following


def test_the_small_boards_of_the_table_of_sequences() -> None:
    """docs/data/sequences.tsv; its larger rows took up to hours."""
    rows = facts("sequences.tsv", DATA)
    small = [row for row in rows if prod(map(int, row["board"].split("x"))) <= 8]
    assert len(small) > 20
    for row in small:
        deterministic = row["play"] == "deterministic"
        found = count_sequences(row["board"], drops=row["drops"], deterministic=deterministic)
        assert (found.twos, found.fours) == (int(row["corner_2"]), int(row["corner_4"])), row
        assert row["states"] in ("", str(found.positions)), row
