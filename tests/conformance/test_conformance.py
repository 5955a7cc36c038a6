"""Every engine gives what the oracle gives, for every game and query that it can take."""

from __future__ import annotations

import pytest

from conformance.engines import ENGINES, Bench, Engine, reachable_table, solution_of_all
from conformance.games import GAMES, boards_of, cover, daily, is_small, rules_of
from conformance.queries import QUERIES, VALUES, Found, Query, check_values, exact_values, objectives_of
from tilebase.game.game import Cells, Game
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Number

COSTLY = {"dense pass in batches": 2}
"""Engines that take seconds for a game, and how many games they are asked for by default."""
QUICK = {
    (engine.name, query): cover([game for game in GAMES if engine.takes(game) and query.takes(game)])
    for engine in ENGINES
    for query in engine.answers
}
"""The games that each engine is asked for each query by default: every rule occurs."""


CASES = daily(
    [
        (engine, query, game)
        for game in GAMES
        for engine in ENGINES
        if engine.takes(game)
        for query in engine.answers
        if query.takes(game)
    ],
    [
        (engine, query, game)
        for engine in ENGINES
        for query in engine.answers
        for game in sorted(QUICK[engine.name, query], key=boards_of)[: COSTLY.get(engine.name)]
    ],
)
"""All of them: ``scripts/test --all``."""

BOTH_SPACES = daily(
    (game for game in GAMES if is_small(game) and len(game.masks) < 2), QUICK["dense pass", VALUES]
)


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("bench"))


@pytest.mark.parametrize(("engine", "query", "game"), CASES, ids=str)
def test_engine_equals_the_oracle(engine: Engine, query: Query, game: Game, bench: Bench) -> None:
    if not objectives_of(game):
        pytest.skip("no objective that TILEBASE_OBJECTIVES names fits this game")
    query.check(engine.answers[query](game, bench), game)


def test_a_wrong_value_names_its_board() -> None:
    """Of all wrong boards the one of the largest sum, with its layer and both values."""
    game, objective = Game("2x2", 16), Objective("win")
    known = exact_values(game, objective)
    values: dict[Cells, Number] = {after: float(value) for after, value in known.afterstates.items()}
    check_values({objective: Found(float(known.start), values)}, game)
    last = max(values, key=game.sum)
    first = min(values, key=game.sum)
    values |= {first: 0.125, last: 0.25}
    wanted = f"2 boards .* sum, {game.sum(last)}, {game.format(last)} has 0.25, and exactly"
    with pytest.raises(pytest.fail.Exception, match=wanted):
        check_values({objective: Found(float(known.start), values)}, game)


@pytest.mark.parametrize("game", BOTH_SPACES, ids=str)
def test_both_spaces_give_the_same_integers(game: Game, bench: Bench) -> None:
    """Bounds are rounded alike, so that they are equal and not only near the exact value."""
    if not objectives_of(game):
        pytest.skip("no objective that TILEBASE_OBJECTIVES names fits this game")
    (reachable, _), everything = bench.kept(reachable_table, game), solution_of_all(game, bench)
    assert everything.positions >= reachable.positions
    for objective, one, other in zip(
        reachable.objectives, reachable.start.values(), everything.start.values(), strict=True
    ):
        assert objective.dtype not in ("uint64", "bit", "int32") or one == other


def test_every_engine_query_and_rule_is_asked_by_default() -> None:
    """An engine that takes no game, or no query of the list, would pass without having been asked."""
    assert {query for engine in ENGINES for query in engine.answers} == set(QUERIES)
    for engine in ENGINES:
        for query in engine.answers:
            taken = [game for game in GAMES if engine.takes(game) and query.takes(game)]
            quick = QUICK[engine.name, query]
            assert len(taken) >= 2, engine
            assert set().union(*map(rules_of, quick)) == set().union(*map(rules_of, taken))
            assert len(quick) <= 20
