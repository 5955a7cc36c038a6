"""How large the table of a formation is, and what solving it takes, before it begins.

The number of boards is computed exactly.  The number of positions (boards after a slide that play reaches, up
to symmetry, without won ones) is exact where a table was solved once: `formations.tsv` holds what
`benchmarks/formations.py` measured.  Otherwise it is estimated by the *share* of the boards that play
reaches (positions times symmetries, divided by boards):

* A formation that was measured to a smaller goal has that share, times a factor for each doubling of the
  goal.  The factor is the geometric mean of those measured, apart for formations that win anywhere.
* A formation that was never measured has the geometric mean of the measured shares in place of its own.

Expected error, found by estimating each measured table without itself and larger goals of its formation
(`leave_out`): a factor of 1.1 to the next measured goal (at most 1.3, but 2.1 for LL from 128 to 512), and
1.2 three goals further (at most 1.7, but 3.0 for LL to 512).  Without any table of its formation: 1.6 (at
most 2.7).  A formation that goes on from a large position, as 3x405, has fewer positions than estimated.

Time is the CPU time per position of the formation's largest measured table, or the median of all, on the
machine of docs/formations.md.  Memory is the least with which the run begins.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from statistics import median

from tilebase.costs.estimate import DAY, duration
from tilebase.counting.combinatorics import boards_by_sum
from tilebase.errors import GameError
from tilebase.game.formations import Formation, formations
from tilebase.game.game import Game
from tilebase.game.symmetry import symmetries
from tilebase.runtime.resources import OVERHEAD

TABLE_BYTES = 60
"""Bytes of the tables that rank boards, for each filling of half a board; measured with 2.5 to 5.9 GB."""
MOST_HALVES = 1 << 27
"""Fillings of half a board at most: the engine refuses more."""
RANKS_KEPT = 0.29
"""Share of the boards that have a rank, where all eight symmetries keep the game; docs/design.md."""
POSITION_BYTES = 17
"""Bytes in memory for each position of the largest layer: a value, an accumulator and a count."""
SHORT = 10.0
"""CPU seconds of each run that gain nothing from a second thread: starting, and small layers."""


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
    cpu_seconds:
        Of one thread, to solve for the probability to win in float64.
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
    cpu_seconds: float
    memory: int
    disk: int
    possible: bool

    def __repr__(self) -> str:
        return f"<TableSize of {self.formation.name} to {self.goal}: {self.positions_text} positions>"

    @property
    def positions_text(self) -> str:
        """The number of positions, with ``~`` before an estimate."""
        return f"{self.positions:,}" if self.measured else f"~{_two_digits(self.positions):,}"

    def seconds(self, threads: int) -> float:
        """The expected time with so many threads."""
        return min(self.cpu_seconds, SHORT) + max(self.cpu_seconds - SHORT, 0.0) / threads

    def time_text(self, threads: int) -> str:
        """The expected time in words; the engine's refusal where it has no tables."""
        if not self.possible:
            return "refused"
        seconds = self.seconds(threads)
        return "over a year" if seconds > 366 * DAY else f"~{duration(max(seconds, 1.0))}"

    def fits(self, memory: float, disk: float, seconds: float, threads: int) -> bool:
        """Whether the run needs no more than this."""
        return (
            self.possible and self.memory <= memory and self.disk <= disk and self.seconds(threads) <= seconds
        )


@dataclass(frozen=True)
class Measured:
    """One line of `formations.tsv`; time and disk are None if the positions were only counted."""

    formation: str
    goal: int
    boards: int
    positions: int
    cpu_seconds: float | None
    disk: int | None


@cache
def measured() -> dict[tuple[str, int], Measured]:
    """All measured tables by formation and goal."""
    text = files("tilebase.costs").joinpath("formations.tsv").read_text("utf-8")
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    found = [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
    lines = [
        Measured(
            row["formation"], int(row["goal"]), int(row["boards"]), int(row["positions"]),
            None if row["cpu_seconds"] == "-" else float(row["cpu_seconds"]),
            None if row["keys_bytes"] == "-" else int(row["keys_bytes"]) + int(row["values_bytes"]),
        )
        for row in found
    ]  # fmt: skip
    return {(line.formation, line.goal): line for line in lines}


def size_of_table(formation: Formation, goal: int) -> TableSize:
    """What the table of a formation and a goal holds, and what solving it takes; nothing is solved.

    Raises `GameError` if the formation cannot make the goal.

    >>> from tilebase.game.formations import formation
    >>> size_of_table(formation("442"), 128).positions
    17812578
    """
    game = formation.game(goal)
    sizes = boards_by_sum(game)
    boards, known = sum(sizes.values()), _known(formation)
    exact = known.get(goal)
    share = _shares().share(formation, goal) / len(symmetries(game))
    positions = exact.positions if exact else round(share * boards)
    cpu = (exact and exact.cpu_seconds) or positions * _rate(known)
    disk = (exact and exact.disk) or round(positions * _bytes(goal))
    halves = _halves(game)
    kept = RANKS_KEPT if len(symmetries(game)) == 8 else 1 / len(symmetries(game))
    largest = max(sizes.values())
    memory = (
        OVERHEAD + TABLE_BYTES * halves + largest * kept / 6 + POSITION_BYTES * positions / boards * largest
    )
    return TableSize(
        formation, goal, boards, positions, exact is not None, cpu, int(memory), disk, halves <= MOST_HALVES
    )


def tables_that_fit(memory: float, disk: float, seconds: float, threads: int) -> tuple[TableSize, ...]:
    """For each formation that has one, the table to the largest goal that needs no more than this.

    The estimates say so: see the module for their errors.
    """
    found = []
    for one in formations():
        fitting = [size for size in sizes_of(one) if size.fits(memory, disk, seconds, threads)]
        found += fitting[-1:]
    return tuple(found)


def sizes_of(formation: Formation) -> Iterator[TableSize]:
    """The tables of a formation by ascending goal, from 32 on, or only the largest goal if it is smaller.

    Raises `GameError` if the formation can make no goal.
    """
    goal = max(formation.least_goal, min(32, formation.largest_goal))
    yield size_of_table(formation, goal)
    with suppress(GameError):  # tiles larger than the goal may not fit into a key
        while (goal := 2 * goal) <= formation.largest_goal:
            yield size_of_table(formation, goal)


def _known(formation: Formation) -> dict[int, Measured]:
    """The measured tables of a formation by goal; none for a formation of a file, whatever its name."""
    if formation not in formations():
        return {}
    return {goal: line for (name, goal), line in measured().items() if name == formation.name}


def _rate(known: dict[int, Measured]) -> float:
    """CPU seconds per position, of the largest solved table of a formation or of all large ones."""
    own = [one for _, one in sorted(known.items()) if one.cpu_seconds is not None]
    return float(median((one.cpu_seconds or 0) / one.positions for one in own[-1:] or _large()))


def _bytes(goal: int) -> float:
    """Bytes on disk per position; for a larger goal fewer values are 1, and they take more bytes."""
    goals = {one.goal for one in _large()}
    largest = max((one for one in goals if one <= goal), default=min(goals))
    return float(median((one.disk or 0) / one.positions for one in _large() if one.goal == largest))


def _large() -> list[Measured]:
    """The solved tables that are large enough for rates."""
    return [one for one in measured().values() if one.positions > 1e6 and one.cpu_seconds is not None]


def _halves(game: Game) -> float:
    """About how many fillings half a board has, which the engine tabulates."""
    held = len(game.unmergeable) if game.fixed else min(map(len, game.masks), default=0)
    codes = max(game.tops) + 1 + (held < len(game.unmergeable))
    return math.pow(codes, (game.cells - held) / 2)


def _two_digits(number: int) -> int:
    return int(float(f"{number:.1e}"))


# -- shares ------------------------------------------------------------------------------------------


class _Shares:
    """Shares of boards that play reaches, from measured tables."""

    def __init__(self, lines: dict[tuple[str, int], Measured]) -> None:
        named = {one.name: one for one in formations()}
        self._known: dict[str, dict[int, float]] = {}
        for (name, goal), line in lines.items():
            group = len(symmetries(named[name].game(goal)))
            self._known.setdefault(name, {})[goal] = line.positions * group / line.boards
        self._classes = {name: one.wins_anywhere for name, one in named.items()}

    def share(self, formation: Formation, goal: int) -> float:
        """Positions times symmetries, divided by boards."""
        own = self._known.get(formation.name, {}) if formation in formations() else {}
        if goal in own:
            return own[goal]
        smaller = [known for known in own if known < goal]
        begin = max(smaller) if smaller else 64
        share = own[begin] if smaller else self._mean(begin, formation.wins_anywhere)
        while begin < goal:
            begin *= 2
            share *= self._growth(begin, formation.wins_anywhere)
        return share

    def _growth(self, goal: int, anywhere: bool) -> float:
        """The factor from half a goal to the goal; beyond all measured goals, that of the largest one."""
        pairs: dict[int, list[float]] = {}
        for name, own in self._known.items():
            if self._classes[name] == anywhere:
                for larger in own:
                    if below := [one for one in own if one < larger]:
                        doublings = (larger // max(below)).bit_length() - 1
                        pairs.setdefault(larger, []).append(
                            (own[larger] / own[max(below)]) ** (1 / doublings)
                        )
        known = [larger for larger in pairs if larger <= goal]
        return _geometric(pairs[max(known)]) if known else 1.0

    def _mean(self, goal: int, anywhere: bool) -> float:
        """The share of a formation that was never measured."""
        found = [
            own[goal] for name, own in self._known.items() if goal in own and self._classes[name] == anywhere
        ]
        return _geometric(found or [0.1])


@cache
def _shares() -> _Shares:
    """The shares of all measured tables."""
    return _Shares(measured())


def _geometric(numbers: list[float]) -> float:
    return math.exp(sum(map(math.log, numbers)) / len(numbers))


def leave_out(*, further: int | None) -> dict[tuple[str, int], float]:
    """Estimate divided by the measured number for each measured table, estimated from others only.

    `further`: from tables of its formation to goals smaller by 2 ** further or more, and all other
    formations; None: without its formation.
    """
    named = {one.name: one for one in formations()}
    found = {}
    for (name, goal), line in measured().items():
        near = 0 if further is None else goal >> further
        others = {key: one for key, one in measured().items() if key[0] != name or key[1] <= near}
        if further is not None and not any(key[0] == name for key in others):
            continue
        group = len(symmetries(named[name].game(goal)))
        share = _Shares(others).share(named[name], goal) / group
        found[name, goal] = share * line.boards / line.positions
    return found
