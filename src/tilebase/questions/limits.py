"""Searching for the limits that give the best bound within a number of boards.

Limits make a game small enough to solve; good limits lower the value only a little.  The search begins with
little more than the tiles that make the goal (`least_limits`).  It first raises all cells together to 8, 16
and so on, which comes near the budget in a few trials, and then goes on from the best of these as long as a
step improves the value.  A step increases the limit of one cell by one to three tiles, within the budget of
boards.  The search takes the step that gains most per added board.  When no such step fits into the budget,
it tries to lower one cell and increase another.  Values are float32 over all boards within the limits.
Limits that are images of each other under a symmetry that keeps the pattern are tried once.  The result is
the best of the limits that were tried; nothing else is promised.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Unpack

from tilebase.cluster.runs import Run
from tilebase.costs.passes import pass_seconds
from tilebase.dense.index import PerfectIndex
from tilebase.dense.passes import DensePass
from tilebase.errors import GameError, ResourceError, UsageError
from tilebase.game.game import Game, check_is_game
from tilebase.game.symmetry import start_symmetries
from tilebase.objectives.objective import Objective
from tilebase.objectives.rounding import Rounding
from tilebase.objectives.values import Value
from tilebase.runtime.measured import duration, working_time
from tilebase.runtime.resources import Allowance, Use
from tilebase.runtime.storage import temporary_folder

Limits = tuple[int, ...]
"""The largest tile of each cell, in row-major order."""

LARGE = 10**7
"""Limits with fewer boards take a moment."""
PATIENCE = 600.0
"""Seconds that the first limits may take if no time was given."""
SMALL = 4
"""The least limit, since a 4 may be spawned on any cell."""


@dataclass(frozen=True)
class Trial:
    """Limits that were tried."""

    game: Game
    limits: Limits
    boards: int  # how many are within the limits
    value: Value  # the probability to win within them, in float32: close to the bound, but not proved

    def __repr__(self) -> str:
        return f"<Trial {self.text}: {self.boards:,} boards, value {self.value}>"

    @property
    def text(self) -> str:
        """The limits as text."""
        return self.game.changed(limits=self.limits).limits_text

    @property
    def merit(self) -> float:
        """A number that is larger for better limits: about how many nines the value begins with."""
        value = float(self.value)
        return -math.log10(max(1.0 - value, 1e-9)) + value


@dataclass(frozen=True)
class FoundLimits:
    """The result of a search.

    Attributes
    ----------
    best:
        The best limits.
    path:
        The limits after each step, in order, the best last.
    tried:
        The number of limits that were tried.
    most:
        The budget of boards; None without one.
    finished:
        Whether the search ended because no step improves the value; otherwise time ran out.
    seconds:
        The time of the search.
    """

    best: Trial
    path: tuple[Trial, ...]
    tried: int
    most: int | None
    finished: bool
    seconds: float

    def __repr__(self) -> str:
        return f"<FoundLimits {self.best.text}: value {self.best.value}, the best of {self.tried:,}>"


def search_limits(
    game: Game,
    boards: int | None = None,
    *,
    seconds: float = math.inf,
    step: Callable[[Trial, int], None] | None = None,
    **use: Unpack[Use],
) -> FoundLimits:
    """Search for limits within a number of boards that give the best bound.

    Parameters
    ----------
    game:
        The game; the search begins with its limits, or without them with `least_limits`.
    boards:
        The budget: boards within the limits.  None: any number if there is a time, else 16 times those
        of the first limits, and at least a million.
    seconds:
        After this time, as on Ctrl-C, the best limits so far are returned; limits that are expected to take
        longer are left out.
    step:
        Called after each step with the present limits and the number of limits tried.
    use:
        Memory, threads and the like: the keywords of `Use`.  Progress is that of each trial.

    Raises
    ------
    UsageError
        If the game has no goal, or the first limits have more boards than the budget or take longer than
        there is time, without one 10 minutes.
    ResourceError
        If the first limits do not fit into memory; later ones that do not fit are skipped.

    >>> search_limits(Game("2x2", 16, start="empty"), 200).best.limits
    (8, 8, 8, 4)
    """
    check_is_game(game)
    if game.goal is None:
        raise UsageError("a search for limits needs a goal")
    first = game.limits or least_limits(game)
    begun = game.changed(limits=first)
    count, most = _boards(begun), boards
    if boards is None and seconds == math.inf:
        most = max(10**6, 16 * count)
    bench = _Bench(game, most, Allowance.of(**use), time.monotonic() + seconds)
    since = working_time()
    if not begun.goal_fits:
        raise UsageError(f"within the first limits {begun} cannot be won: give higher limits")
    longest = seconds if seconds < math.inf else PATIENCE
    # For fewer boards this machine need not be measured.
    if count >= LARGE and (takes := bench.takes(count)) > longest:
        raise UsageError(
            f"the limits {begun.limits_text}, with which the search begins, have {count:,} boards, which "
            f"take about {duration(takes)}: allow more time, or give lower limits"
        )
    here = bench.trial(first)
    if here is None:
        raise UsageError(
            f"the limits {begun.limits_text} have {count:,} boards, more than {most:,}: allow more boards, "
            "or give lower limits"
        )
    path = [here]
    with suppress(KeyboardInterrupt):  # the best limits so far are the result
        if game.limits is None:
            _raise_all(bench, path, step)
        _climb(bench, path, step)
    return FoundLimits(path[-1], tuple(path), len(bench.found), most, bench.done, working_time() - since)


def _raise_all(bench: _Bench, path: list[Trial], step: Callable[[Trial, int], None] | None) -> None:
    """Add the limits to the path that raise all cells to a tile, as long as that is better."""
    first, least, kept = path[0].limits, SMALL, _without_tiles(bench.game)
    while (least := 2 * least) <= (bench.game.goal or 0) // 2 and not bench.late:
        limits = tuple(held if cell in kept else max(held, least) for cell, held in enumerate(first))
        try:
            trial = bench.trial(limits)
        except ResourceError:
            return
        if trial is None or trial.value <= path[-1].value:
            return
        if step is not None:
            step(path[-1], len(bench.found))
        path.append(trial)


def _climb(bench: _Bench, path: list[Trial], step: Callable[[Trial, int], None] | None) -> None:
    """Add better limits to the path until there are none or time runs out."""
    while not bench.late:
        here = path[-1]
        if step is not None:
            step(here, len(bench.found))
        better = bench.best_of(_raises(bench.game, here.limits), here)
        better = better or bench.best_of(_swaps(bench.game, here.limits), here)
        if better is None:
            bench.done = not bench.left_out
            return
        path.append(better)


def least_limits(game: Game) -> Limits:
    """The first limits of a search: the tiles that make the goal, and a chain of cells that leads to them.

    The tiles are those of the pattern, or two neighbouring tiles of goal // 2, as near as possible to the
    first corner.  From the smallest of them, the limits are divided by 2 from cell to cell, down to 4.
    """
    free = [pair for pair in game.grid.neighbours if _without_tiles(game).isdisjoint(pair)]
    if game.pattern in (None, "pair", "two"):
        tiles = dict.fromkeys(free[0] if free else (), (game.goal or 16) // 2)
    else:
        tiles = {cell: 1 << wanted for cell, wanted in enumerate(game.patterns[0]) if wanted}
    limits = [max(SMALL, 1 << held) for held in game.start_tiles]
    for cell, tile in tiles.items():
        limits[cell] = max(limits[cell], tile)
    beside: dict[int, set[int]] = {}
    for one, other in free:
        beside.setdefault(one, set()).add(other)
        beside.setdefault(other, set()).add(one)
    left = beside.keys() - tiles.keys()
    here, tile = min(reversed(tiles.items()), key=lambda item: item[1], default=(0, 0))
    while tile > 2 * SMALL and (near := left & beside.get(here, set())):
        tile //= 2
        # The cell with fewest free neighbours.
        here = min(near, key=lambda cell: (len(left & beside[cell]), cell))
        left.remove(here)
        limits[here] = max(limits[here], tile)
    return tuple(limits)


def _without_tiles(game: Game) -> frozenset[int]:
    """Cells that never hold a tile that can merge: their limits say nothing."""
    return game.held.union(game.walls)


def _boards(game: Game) -> int:
    return math.prod(len(game.codes(cell)) for cell in range(game.cells))


class _Bench:
    """Tries limits, each once up to symmetry."""

    def __init__(self, game: Game, boards: int | None, allowed: Allowance, deadline: float) -> None:
        self.game, self._allowed, self.boards = game, allowed, math.inf if boards is None else boards
        self.deadline, self.done, self.left_out = deadline, False, False
        self.found: dict[Limits, Trial] = {}
        self._group = start_symmetries(game.changed(limits=None))

    @property
    def late(self) -> bool:
        """Whether time has run out."""
        return time.monotonic() > self.deadline

    def takes(self, boards: int) -> float:
        """Return how many seconds limits with so many boards are expected to take."""
        return pass_seconds(boards, self._allowed.cores)

    def trial(self, limits: Limits) -> Trial | None:
        """Return the value of limits; None if they are not valid, or have too many boards or take too long.

        The first limits are always tried.
        """
        try:
            within = self.game.changed(limits=limits)
        except GameError:
            return None
        count = _boards(within)
        if count > self.boards or not within.goal_fits:
            return None
        key = min(tuple(limits[source] for source in p) for p in self._group)
        if key not in self.found:
            # Without a time, this machine need not be measured.
            timed = bool(self.found) and self.deadline < math.inf
            if timed and time.monotonic() + self.takes(count) > self.deadline:
                self.left_out = True
                return None
            self.found[key] = Trial(self.game, limits, count, self._value(within))
        return self.found[key]

    def _value(self, within: Game) -> Value:
        index, win = PerfectIndex(within), Objective("win", "float32")
        with (
            temporary_folder() as folder,
            DensePass(Run(**vars(self._allowed), folder=folder), index, win) as one,
        ):
            one.run()
            return Rounding(index.game, win).start(one.start())

    def best_of(self, limits: Iterator[Limits], here: Trial) -> Trial | None:
        """Of the limits that are better than `here`, those that gain most per added board."""
        best, most = None, 0.0
        for candidate in limits:
            if self.late:
                self.left_out = True
                break
            try:
                trial = self.trial(candidate)
            except ResourceError:
                continue  # few boards, but large tables: others may fit
            if trial is None or trial.value <= here.value:
                continue
            cost = max(math.log(trial.boards / here.boards), 0.05)
            gain = (trial.merit - here.merit) / cost
            if gain > most:
                best, most = trial, gain
        return best


def _raises(game: Game, limits: Limits) -> Iterator[Limits]:
    """Limits in which one cell is increased by one, two or three steps."""
    for steps in (1, 2, 3):
        for cell in range(game.cells):
            if cell not in _without_tiles(game) and limits[cell] << steps <= (game.goal or 0) // 2:
                yield (*limits[:cell], limits[cell] << steps, *limits[cell + 1 :])


def _swaps(game: Game, limits: Limits) -> Iterator[Limits]:
    """Limits in which one cell is lowered and another increased."""
    for low, high in itertools.permutations(range(game.cells), 2):
        if limits[low] >= 8 and {low, high}.isdisjoint(_without_tiles(game)):
            changed: list[Any] = list(limits)
            changed[low] //= 2
            changed[high] *= 2
            if changed[high] <= (game.goal or 0) // 2:
                yield tuple(changed)
