"""The queries of the suite: what the oracle says, and when an answer agrees with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

import cached_oracle as oracle
from conformance.games import SMALL_GAMES
from following import slides_of
from judging import check, check_answer, check_boards
from tilebase.counting.counts import STORED, CountResult
from tilebase.errors import UsageError
from tilebase.game.game import Cells, Game
from tilebase.game.symmetry import canonical
from tilebase.objectives.objective import DISCOUNTED, MEANINGS, Objective
from tilebase.objectives.values import Number
from tilebase.tables.answers import Answer
from tilebase.tables.verify import Verification

DISCOUNT = Fraction(9, 10)
EVERY_TYPE = os.environ.get("TILEBASE_EVERY_TYPE") == "1"


def fits(objective: Objective, game: Game) -> bool:
    try:
        objective.check(game)
    except UsageError:
        return False
    return True


def objectives_of(game: Game) -> tuple[Objective, ...]:
    """Every objective, and the probability to win with a discount too; those of a goal if there is one.

    In every type, and each mean with a discount, for `SMALL_GAMES` if TILEBASE_EVERY_TYPE is 1, as
    ``scripts/test --all`` says: each type is compiled anew.  TILEBASE_OBJECTIVES names the only objectives
    that are wanted: who adds one need not wait for all.
    """
    every = EVERY_TYPE and game in SMALL_GAMES
    plain = [
        Objective(name, dtype)
        for name, meaning in MEANINGS.items()
        for dtype in (meaning.types if every else meaning.types[:1])
    ]
    discounted = [Objective(name, "", DISCOUNT) for name in (DISCOUNTED if every else ("win",))]
    wanted = os.environ.get("TILEBASE_OBJECTIVES", ",".join(MEANINGS)).split(",")
    return tuple(one for one in (*plain, *discounted) if one.name in wanted and fits(one, game))


def first_types(game: Game) -> tuple[Objective, ...]:
    """Of these objectives those in the type that is used unless another is asked for."""
    return tuple(one for one in objectives_of(game) if one.dtype == one.meaning.types[0])


def exact_values(game: Game, objective: Objective) -> oracle.Values:
    """The exact values of an objective; a bound is compared with the probability to win."""
    return oracle.values(game, "win" if objective.is_bound else objective.name, discount=objective.discount)


least_of = cache(canonical)


# -- answers, by query -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    """What an engine says under one objective: of the start, and of afterstates unless it keeps none."""

    start: Number
    afterstates: dict[Cells, Number] | None = None


def check_counts(found: CountResult, game: Game, *, lookahead: bool) -> None:
    """The counts of each sum and largest tile."""
    assert_equal(found, oracle.count(game, lookahead=lookahead))


def assert_equal(found: CountResult, wanted: CountResult) -> None:
    """Assert that counts are consistent, and those that are wanted."""
    found.assert_consistent()
    assert found.sums.tolist() == wanted.sums.tolist()
    for field in STORED:
        np.testing.assert_array_equal(getattr(found, field), getattr(wanted, field), err_msg=field)


def check_values(found: dict[Objective, Found], game: Game) -> None:
    """The value of the start, and of every afterstate that play makes; there may be others."""
    assert found
    for objective, values in found.items():
        known = exact_values(game, objective)
        check(objective, values.start, objective.told(known.start))
        if values.afterstates is None:
            continue
        named = ((least_of(game, board), value) for board, value in values.afterstates.items())
        made = [
            (least, value, objective.told(known.afterstates[least]))
            for least, value in named
            if least in known.afterstates
        ]
        check_boards(game, objective, made)
        assert {least for least, _, _ in made} == known.afterstates.keys()


def check_probes(found: dict[Objective, list[Answer]], game: Game) -> None:
    """Of each state its value, its slides with theirs, the best, and what a spawn may make."""
    assert found
    for objective, answers in found.items():
        known = exact_values(game, objective)
        assert answers or not known.states
        for answer in answers:
            check_answer(answer, known, answer.board.cells)


def check_policies(found: dict[tuple[str, Objective], float], game: Game) -> None:
    """What a policy is worth from the start; `TILEBASE_OBJECTIVES` may name none that the game has."""
    assert found or "TILEBASE_OBJECTIVES" in os.environ
    for (policy, objective), value in found.items():
        check(objective, value, objective.told(policy_value(game, policy, objective)))


def policy_value(game: Game, policy: str, objective: Objective) -> Fraction:
    """The exact value of a policy that treats equivalent boards alike, by recursion."""
    name: Any = objective.name
    taken = slides_of(game, policy)

    @cache
    def worth(state: Cells) -> Fraction:
        afters = [] if game.has_goal_sum(state) else [game.slides(state)[one] for one in taken(state)]
        if not afters:
            return oracle._end(game, name, state, game.has_goal_sum(state))
        worths = [oracle._worth(game, name, state, after) + following(after) for after in afters]
        return objective.discount * sum(worths, Fraction(0)) / len(worths)

    def following(after: Cells) -> Fraction:
        spawns = [] if game.wins(after) else game.spawns(after)
        return expected(spawns) if spawns else oracle._end(game, name, after, game.wins(after))

    def expected(spawns: Iterable[tuple[Cells, Fraction]]) -> Fraction:
        return sum((p * worth(canonical(game, state)) for state, p in spawns), Fraction(0))

    return expected(game.starts())


def check_verified(found: Verification, game: Game) -> None:
    """A table that an engine wrote is sound."""
    assert found.wrong == (), found.wrong[:3]
    assert found.values or not exact_values(game, Objective("moves")).afterstates


@dataclass(frozen=True)
class Query:
    """A query by name, and how its answer is compared with what the oracle says."""

    name: str
    check: Callable[[Any, Game], None]
    takes: Callable[[Game], bool] = lambda _: True

    def __str__(self) -> str:
        return self.name


COUNTS = Query("counts", partial(check_counts, lookahead=False))
COUNTS_WITH_LOOKAHEAD = Query(
    "counts with lookahead", partial(check_counts, lookahead=True), lambda game: game.goal_sum is None
)
VALUES = Query("values", check_values)
PROBES = Query("probes", check_probes)
POLICIES = Query("policies", check_policies)
VERIFIED = Query("verified", check_verified)
QUERIES = (COUNTS, COUNTS_WITH_LOOKAHEAD, VALUES, PROBES, POLICIES, VERIFIED)
