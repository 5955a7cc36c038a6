"""Sets of boards as decision diagrams: against CUDD, with formulas written straight from the rules.

Nothing of our relations is used: a cell has one variable for each exponent, a slide of the whole board is one
formula, and the state after a move has variables of its own.  dd is a development dependency.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any

import pytest
from dd import cudd

from attack.rules import slide_run
from tilebase.bdd.library import Library
from tilebase.bdd.sets import Sets
from tilebase.bdd.strategies import Analysis, Line, Method
from tilebase.game.game import Game

GAMES = (
    Game("2x2", 8),
    Game("2x2", 16, spawn=0, start="empty"),
    Game("2x2", 16),
    Game("2x2", 32),
    Game("2x3", 16),
    Game("3x2", 16, spawn=0, start="empty"),
    Game("2x3", 16, spawn=1),
    Game("3x3", 8),
    Game("3x3", 8, spawn=0, start="empty"),
)


@dataclass(frozen=True)
class Counts:
    """How many states and afterstates the player wins, and whether it wins from every start."""

    states: int
    afterstates: int
    verdict: bool


def line_after(line: tuple[int, ...]) -> tuple[int, ...]:
    """A line of exponents after a slide towards its first cell, by the second copy of the rules."""
    tiles = [1 << e if e else 0 for e in line]
    slide_run(tiles, list(range(len(line))))
    return tuple(max(tile.bit_length() - 1, 0) for tile in tiles)


class Formulas:
    """The game as formulas: ``s<cell>_<e>`` is true if that cell of the state holds e."""

    def __init__(self, rows: int, columns: int, goal: int, spawned: tuple[int, ...]) -> None:
        self.rows, self.columns, self.goal, self.spawned = rows, columns, goal, spawned
        self.cells = range(rows * columns)
        self.bdd = cudd.BDD()
        self.bdd.configure(reordering=False)
        self.states = [f"s{cell}_{e}" for cell in self.cells for e in range(goal)]
        self.afters = [name.replace("s", "a") for name in self.states]
        for pair in zip(self.states, self.afters, strict=True):
            self.bdd.declare(*pair)

    def holds(self, kind: str, cell: int, exponent: int) -> Any:
        """That a cell holds an exponent."""
        return self.bdd.var(f"{kind}{cell}_{exponent}")

    def all_of(self, parts: Any) -> Any:
        return reduce(lambda one, other: one & other, parts, self.bdd.true)

    def any_of(self, parts: Any) -> Any:
        return reduce(lambda one, other: one | other, parts, self.bdd.false)

    def board(self, kind: str) -> Any:
        """That each cell holds exactly one exponent."""
        return self.all_of(
            self.any_of(
                self.all_of(
                    self.holds(kind, cell, e) if e == held else ~self.holds(kind, cell, e)
                    for e in range(self.goal)
                )
                for held in range(self.goal)
            )
            for cell in self.cells
        )

    def lines(self) -> list[list[list[int]]]:
        """For each direction the lines, from the end that tiles slide to."""
        rows = [[row * self.columns + column for column in range(self.columns)] for row in range(self.rows)]
        columns = [list(column) for column in zip(*rows, strict=True)]
        return [rows, [row[::-1] for row in rows], columns, [column[::-1] for column in columns]]

    def slide(self, lines: list[list[int]]) -> tuple[list[Any], Any, Any]:
        """What a slide does to each line, that it moves nothing, and that it makes the goal."""
        moves, rests, wins = [], [], []
        for line in lines:
            cases, resting = [], []
            for held in itertools.product(range(self.goal), repeat=len(line)):
                before, made = self.line("s", line, held), line_after(held)
                if max(made) == self.goal:
                    wins.append(before)
                else:
                    cases.append(before & self.line("a", line, made))
                if made == held:
                    resting.append(before)
            moves.append(self.any_of(cases))
            rests.append(self.any_of(resting))
        return moves, self.all_of(rests), self.any_of(wins)

    def line(self, kind: str, line: list[int], held: tuple[int, ...]) -> Any:
        """That the cells of a line hold these exponents."""
        return self.all_of(self.holds(kind, cell, e) for cell, e in zip(line, held, strict=True))

    def slid(self, lines: list[list[int]], moves: list[Any], rests: Any, afters: Any) -> Any:
        """That a slide makes one of these afterstates: line by line."""
        for line, move in zip(lines, moves, strict=True):
            names = [f"a{cell}_{e}" for cell in line for e in range(self.goal)]
            afters = self.bdd.exist(names, move & afters)
        return afters & ~rests

    def same(self, cells: Any) -> Any:
        """That these cells of the state and of the afterstate hold the same."""
        return self.all_of(
            self.holds("s", cell, e).equiv(self.holds("a", cell, e))
            for cell in cells
            for e in range(self.goal)
        )

    def spawn(self) -> Any:
        """That a spawn leads from an afterstate to a state."""
        return self.any_of(
            self.holds("a", cell, 0)
            & self.any_of(self.holds("s", cell, e) for e in self.spawned)
            & self.same(other for other in self.cells if other != cell)
            for cell in self.cells
        )

    def solve(self) -> tuple[Any, Any]:
        """The states and the afterstates from which the player reaches the goal: the least fixpoint."""
        bdd = self.bdd
        state, after, spawn = self.board("s"), self.board("a"), self.spawn()
        slides = [self.slide(lines) for lines in self.lines()]
        wins = state & self.any_of(won for *_, won in slides)
        empty = self.any_of(self.holds("a", cell, 0) for cell in self.cells)
        won, before = wins, bdd.false
        afters = bdd.false
        while won != before:
            afters = after & empty & bdd.forall(self.states, (state & spawn).implies(won))
            slid = [
                self.slid(lines, moves, rests, afters)
                for lines, (moves, rests, _) in zip(self.lines(), slides, strict=True)
            ]
            before, won = won, wins | (state & self.any_of(slid))
        return won, afters

    def is_in(self, boards: Any, board: tuple[int, ...]) -> bool:
        """Whether a state is in a set."""
        values = {f"s{cell}_{e}": held == e for cell, held in enumerate(board) for e in range(self.goal)}
        return bool(self.bdd.let(values, boards) == self.bdd.true)


@cache
def by_cudd(game: Game) -> Counts:
    assert game.goal_exponent is not None
    formulas = Formulas(*game.shape, game.goal_exponent, game.spawn_exponents)
    states, afters = formulas.solve()
    return Counts(
        states.count(len(formulas.states)),
        afters.count(len(formulas.afters)),
        all(formulas.is_in(states, board) for board, _ in game.starts()),
    )


@pytest.mark.parametrize("strategy", ["sum", "sweep", "accumulative"])
@pytest.mark.parametrize("game", GAMES, ids=str)
def test_cudd_counts_the_same(game: Game, strategy: str) -> None:
    lines: list[Line] = []
    sets = Sets(game, "short", "rows", Library(1 << 20, 1))
    verdict = Analysis(sets, Method(strategy=strategy), lambda line, _: lines.append(line)).run()
    found = Counts(sum(line.states for line in lines), sum(line.afterstates for line in lines), verdict)
    assert found == by_cudd(game)
    assert found.states > 0
