"""The engines of the suite: how each is asked, and which games and queries it can take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest

from batching import memory_for_batches
from conformance.games import boards_of, is_small
from conformance.queries import (
    COUNTS,
    COUNTS_WITH_LOOKAHEAD,
    EVERY_TYPE,
    POLICIES,
    PROBES,
    VALUES,
    VERIFIED,
    Found,
    Query,
    exact_values,
    first_types,
    objectives_of,
)
from stored import all_values, number_of, reachable_values
from tilebase import Solution, count, evaluate, force, open_table, solve, verify_table
from tilebase.bdd.library import Library
from tilebase.bdd.sets import MOST_CONTENTS, Sets
from tilebase.bdd.strategies import Analysis, Line, Method
from tilebase.check import check_certificate
from tilebase.counting.counts import CountResult
from tilebase.dense import plan as plans
from tilebase.dense.index import PerfectIndex
from tilebase.dense.plan import Plan
from tilebase.game.board import Board
from tilebase.game.game import Game
from tilebase.game.symmetry import images
from tilebase.objectives.objective import Objective
from tilebase.questions.force import decide_starts
from tilebase.runtime.resources import Allowance
from tilebase.search.search import Search
from tilebase.sparse import windows
from tilebase.tables.answers import Answer
from tilebase.tables.verify import Verification
from windows import hold_little, keep_one_layer_above

MEMORY = 1 << 30
FORCED = Objective("guaranteed")
T = TypeVar("T")


class Bench:
    """Empty folders, and tables that several queries ask, each solved once."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._kept = folder, dict[Any, Any]()

    def folder(self) -> Path:
        """An empty folder."""
        path = self._folder / str(len(list(self._folder.iterdir())))
        path.mkdir()
        return path

    def kept(self, make: Callable[[Game, Path], T], game: Game) -> T:
        """What `make` gives for a game and an empty folder, made once."""
        if (make, game) not in self._kept:
            self._kept[make, game] = make(game, self.folder())
        found: T = self._kept[make, game]
        return found


@dataclass(frozen=True)
class Engine:
    """An engine: how each query that it can take is asked of a game, and which games it can take."""

    name: str
    answers: Mapping[Query, Callable[[Game, Bench], Any]]
    takes: Callable[[Game], bool] = lambda _: True

    def __str__(self) -> str:
        return self.name


# -- reachable states ------------------------------------------------------------------------------


def counts(game: Game, _: Bench, *, lookahead: bool = False) -> CountResult:
    return count(game, lookahead=lookahead, threads=1)


def counts_in_windows(game: Game, bench: Bench, *, lookahead: bool = False) -> CountResult:
    """Layers of more than 128 ranks go through spill files."""
    with pytest.MonkeyPatch.context() as patch:
        hold_little(patch.setattr, 0)
        patch.setattr(windows, "block_bits_for", lambda _: 6)
        return count(game, lookahead=lookahead, threads=2, folder=bench.folder())


def counts_of_all(game: Game, bench: Bench) -> CountResult:
    return count(game, space="all", threads=2, folder=bench.folder())


def reachable_table(game: Game, folder: Path) -> tuple[Solution, Path]:
    return solve(game, objectives_of(game), table=folder, threads=2), folder


def lean_table(game: Game, folder: Path) -> tuple[Solution, Path]:
    with pytest.MonkeyPatch.context() as patch:
        keep_one_layer_above(patch.setattr)
        return solve(game, first_types(game), table=folder, threads=2), folder


def of_reachable(
    make: Callable[[Game, Path], tuple[Solution, Path]], game: Game, bench: Bench
) -> dict[Objective, Found]:
    solution, folder = bench.kept(make, game)
    return {
        one: Found(number_of(start), reachable_values(folder, game, one))
        for one, start in zip(solution.objectives, solution.start.values(), strict=True)
    }


# -- all boards within the limits ------------------------------------------------------------------


def table_of_all(game: Game, folder: Path) -> tuple[Solution, Path]:
    return solve(game, objectives_of(game), table=folder, threads=2, space="all"), folder


def starts_of_all(game: Game, _: Path) -> Solution:
    return solve(game, objectives_of(game), space="all", threads=2)


def solution_of_all(game: Game, bench: Bench) -> Solution:
    """What is not closed has no table of all boards, and of large games none is read."""
    if game.bounds.closed and is_small(game):
        return bench.kept(table_of_all, game)[0]
    return bench.kept(starts_of_all, game)


def of_all(game: Game, bench: Bench) -> dict[Objective, Found]:
    solution = solution_of_all(game, bench)
    if not (game.bounds.closed and is_small(game)):
        starts = zip(solution.objectives, solution.start.values(), strict=True)
        return {one: Found(number_of(start)) for one, start in starts}
    _, folder = bench.kept(table_of_all, game)
    return {
        one: Found(number_of(start), all_values(folder / "values" / one.label, game, one))
        for one, start in zip(solution.objectives, solution.start.values(), strict=True)
    }


def goes_in_batches(game: Game) -> bool:
    middling = game.bounds.closed and is_small(game) and boards_of(game) > 3000 and len(game.masks) < 2
    return middling and memory_for_batches(game, Objective("moves")) is not None


def is_ranked(game: Game) -> bool:
    """Whether all boards have ranks, not with several masks, and are few."""
    return len(game.masks) < 2 and boards_of(game) <= 7000


def in_batches(game: Game, bench: Bench) -> dict[Objective, Found]:
    """Of objectives whose values have the same type, and so the same kernels, the first by default."""
    asked = [one for one in first_types(game) if one.discount == 1]
    found = {}
    for one in asked if EVERY_TYPE else {one.dtype: one for one in reversed(asked)}.values():
        folder, memory = bench.folder(), memory_for_batches(game, one)
        start = solve(game, one, table=folder, space="all", threads=2, memory=memory).value
        found[one] = Found(number_of(start), all_values(folder / "values" / one.label, game, one))
    return found


def as_bits(game: Game, _: Bench) -> dict[Objective, Found]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "WORTH_BITS", 1e9)  # also where rows of bits are hardly filled
        assert Plan.of(PerfectIndex(game), FORCED, Allowance(memory=MEMORY, threads=2)).words is not None
        return {FORCED: Found(bool(force(game, engine="dense", memory=MEMORY, threads=2).forced))}


# -- what can be forced ----------------------------------------------------------------------------


def by_search(game: Game, _: Bench) -> dict[Objective, Found]:
    search = Search(game, Allowance(memory=MEMORY, threads=2))
    try:
        start = decide_starts(search)
        afterstates = exact_values(game, FORCED).afterstates
        return {FORCED: Found(start, {after: search.decide(game.pack(after)) for after in afterstates})}
    finally:
        search.close()


def by_certificate(game: Game, bench: Bench) -> dict[Objective, Found]:
    path = bench.folder() / "proof.cert"
    force(game, memory=MEMORY, certificate=path)
    return {FORCED: Found(check_certificate(path)["claim"] == "forced")}


def can_be_certified(game: Game) -> bool:
    """Something to win, no walls, and no bound but limits."""
    return game.can_win and not game.walls


# -- sets of boards as decision diagrams -------------------------------------------------------------


def by_diagrams(game: Game, _: Bench, *, strategy: str) -> dict[Objective, Found]:
    sets = Sets(game, "short", "rows", Library(1 << 20, 1))
    lines: list[Line] = []
    analysis = Analysis(sets, Method(strategy=strategy), lambda line, _: lines.append(line), keep=True)
    start = analysis.run()
    won = sets.union(analysis.won_afters.values())
    assert sets.count(won, after=True) == sum(line.afterstates for line in lines)
    known = exact_values(game, FORCED).afterstates
    return {FORCED: Found(start, {after: sets.holds(won, after, after=True) for after in known})}


def has_short_lines(game: Game) -> bool:
    """A goal, and lines whose contents fit into a table."""
    longest, values = max(map(len, game.grid.all_lines)), max(game.tops) + 1 + bool(game.unmergeable)
    return game.can_win and is_small(game) and values**longest <= MOST_CONTENTS


# -- what asks a table -----------------------------------------------------------------------------


MOST_PROBES = 50
"""States of a game that are probed: all, or about so many of all sums."""


def probes(game: Game, bench: Bench) -> dict[Objective, list[Answer]]:
    """Of states, transformed: a table holds one board of each orbit."""
    _, folder = bench.kept(reachable_table, game)
    states = sorted(exact_values(game, Objective("moves")).states, key=game.sum)
    boards = [Board(game, images(game, state)[-1]) for state in states[:: -(-len(states) // MOST_PROBES)]]
    with open_table(folder) as table:
        found = {one: [table.probe(board, one.label) for board in boards] for one in first_types(game)}
        if game.can_win:  # the interval between the two bounds
            found[Objective("win")] += [table.probe(board) for board in boards]
    return found


def policies(game: Game, bench: Bench) -> dict[tuple[str, Objective], float]:
    _, folder = bench.kept(reachable_table, game)
    return {
        (policy, one): evaluate(folder, policy, objective=one.label, threads=1).value
        for one in first_types(game)
        if one.is_mean and not one.is_bound
        for policy in ("random", "greedy")
    }


def verified(make: Callable[[Game, Path], tuple[Solution, Path]], game: Game, bench: Bench) -> Verification:
    return verify_table(bench.kept(make, game)[1], sample=10)


# -- the list --------------------------------------------------------------------------------------

ENGINES = (
    Engine("forward pass", {COUNTS: counts, COUNTS_WITH_LOOKAHEAD: partial(counts, lookahead=True)}),
    Engine("forward pass over all boards", {COUNTS: counts_of_all}, lambda game: game.is_plain),
    Engine(
        "forward pass in windows",
        {COUNTS: counts_in_windows, COUNTS_WITH_LOOKAHEAD: partial(counts_in_windows, lookahead=True)},
        lambda game: boards_of(game) <= 70_000,
    ),
    Engine("backward pass", {VALUES: partial(of_reachable, reachable_table)}, is_small),
    Engine("lean backward pass", {VALUES: partial(of_reachable, lean_table)}, is_small),
    Engine("dense pass", {VALUES: of_all}, is_ranked),
    Engine("dense pass in batches", {VALUES: in_batches}, goes_in_batches),
    Engine("dense pass as bits", {VALUES: as_bits}, lambda game: game.can_win and is_ranked(game)),
    Engine("search", {VALUES: by_search}, lambda game: game.can_win and is_small(game)),
    Engine("decision diagrams", {VALUES: partial(by_diagrams, strategy="sum")}, has_short_lines),
    Engine(
        "decision diagrams by sweep lines",
        {VALUES: partial(by_diagrams, strategy="sweep")},
        lambda game: has_short_lines(game) and game.goal_sum is None and game.horizon is None,
    ),
    Engine("certificates", {VALUES: by_certificate}, can_be_certified),
    Engine("probing", {PROBES: probes}, is_small),
    Engine("evaluation", {POLICIES: policies}, lambda game: boards_of(game) <= 700),
    Engine("verification", {VERIFIED: partial(verified, reachable_table)}, is_small),
    Engine(
        "verification of all boards",
        {VERIFIED: partial(verified, table_of_all)},
        lambda game: game.bounds.closed and is_small(game) and is_ranked(game),
    ),
)
