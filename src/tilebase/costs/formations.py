"""How large the table of a formation is, and what solving it takes, before it begins.

The number of boards is computed exactly.  The number of positions (boards after a slide that play reaches, up
to symmetry, without won ones) is exact where a table was solved once, and otherwise estimated: `costs.shares`
says how, and with what error.  `formations.tsv` holds what `benchmarks/formations.py` measured.  Time and
memory are those of `costs.reachable`; memory is the least with which the run begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from tilebase.costs.reachable import WIN, Work, count_work, half_boards, layers_of, solve_work, solving
from tilebase.costs.shares import measured
from tilebase.errors import GameError, check_first
from tilebase.game.formations import Formation, formations
from tilebase.runtime.measured import DAY, duration
from tilebase.runtime.resources import Allowance
from tilebase.sparse.halves import TABLE_LIMIT

ONE = Allowance(memory=0, threads=1)
"""One thread, which needs the least memory."""


@dataclass(frozen=True)
class TableSize:
    """What the table of a formation and a goal holds, and what solving it takes.

    Attributes
    ----------
    formation, goal:
        The formation, and the tile that wins.
    boards:
        How many boards lie within the rules below the horizon, without symmetry; exact.
    positions, measured:
        How many positions the table holds; exact if it was measured, else an estimate.
    chance:
        The probability to win from the start under optimal play, in float64; None if no table was solved.
    cpu_seconds, work:
        Of one thread, to solve for the probability to win in float64; and which part of them threads share.
    memory, disk:
        Bytes that the run needs at least, and bytes of the table.
    possible:
        Whether the engine has tables for such boards; if not, it refuses whatever memory there is.
    """

    formation: Formation
    goal: int
    boards: int
    positions: int
    measured: bool
    chance: float | None
    cpu_seconds: float
    memory: int
    disk: int
    possible: bool
    work: Work

    def __repr__(self) -> str:
        return f"<TableSize of {self.formation.name} to {self.goal}: {self.positions_text} positions>"

    @property
    def positions_text(self) -> str:
        """The number of positions, with ``~`` before an estimate."""
        return f"{self.positions:,}" if self.measured else f"~{_two_digits(self.positions):,}"

    def seconds(self, threads: int) -> float:
        """Return the expected time with so many threads."""
        return self.work.seconds(threads)

    def time_text(self, threads: int) -> str:
        """Return the expected time in words; the engine's refusal where it has no tables."""
        if not self.possible:
            return "refused"
        seconds = self.seconds(threads)
        return "over a year" if seconds > 366 * DAY else f"~{duration(max(seconds, 1.0))}"

    def fits(self, memory: float, disk: float, seconds: float, threads: int) -> bool:
        """Return whether the run needs no more than this."""
        return (
            self.possible and self.memory <= memory and self.disk <= disk and self.seconds(threads) <= seconds
        )


def size_of_table(formation: Formation, goal: int) -> TableSize:
    """Return what the table of a formation and a goal holds, and what solving it takes; nothing is solved.

    Raises `GameError` if the formation cannot make the goal.

    >>> from tilebase.game.formations import formation
    >>> size_of_table(formation("442"), 128).positions
    17812578
    """
    check_first(formation, Formation, "a Formation, such as formation('L3')")
    game = formation.game(goal)
    exact = measured().get((formation.name, goal)) if formation in formations() else None
    layers, work = layers_of(game), count_work(game) + solve_work(game, WIN)
    positions = float(layers.afterstates.sum())
    expected = solving(game, WIN, ONE, table=True)
    return TableSize(
        formation, goal, sum(layers.boards.values()),
        exact.positions if exact else round(positions), exact is not None,
        None if exact is None else exact.win, work.seconds(1),
        expected.memory, round(expected.disk),
        half_boards(game) <= TABLE_LIMIT, work,
    )  # fmt: skip


def tables_that_fit(memory: float, disk: float, seconds: float, threads: int) -> tuple[TableSize, ...]:
    """Return for each formation that has one the table to the largest goal that needs no more than this.

    The estimates say so: see the module for their errors.
    """
    found = []
    for one in formations():
        fitting = [size for size in sizes_of(one) if size.fits(memory, disk, seconds, threads)]
        found += fitting[-1:]
    return tuple(found)


def sizes_of(formation: Formation) -> Iterator[TableSize]:
    """Yield the tables of a formation by ascending goal, from 32 on, or of its largest goal if that is less.

    Raises `GameError` if the formation can make no goal.
    """
    goal = max(formation.least_goal, min(32, formation.largest_goal))
    yield size_of_table(formation, goal)
    with suppress(GameError):  # tiles larger than the goal may not fit into a key
        while (goal := 2 * goal) <= formation.largest_goal:
            yield size_of_table(formation, goal)


def _two_digits(number: int) -> int:
    return int(float(f"{number:.1e}"))
