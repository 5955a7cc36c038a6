"""Which limits give the best bound for so many boards?

Limits make a game small enough to solve; good ones cost little.  The search begins with little more than
the tiles that make the goal (`least_limits`), and goes on as long as anything helps: it tries to raise the
limit of each cell to the next tiles, within the budget of boards, and takes the one that gains most for the
boards it adds; when nothing fits any more it tries to lower one cell and raise another.  Values are
float32 over all boards within the limits; limits that are images of each other under a symmetry that
keeps the pattern are tried once.  Nothing is promised but that the result is the best that was tried.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from typing import Any

from tilebase.dense.index import cell_codes
from tilebase.dense.passes import DensePass
from tilebase.errors import GameError, ResourceError, UsageError
from tilebase.game.game import Game
from tilebase.game.symmetry import start_symmetries
from tilebase.objectives.objective import Objective
from tilebase.runtime.resources import check_resources
from tilebase.runtime.storage import temporary_folder

Limits = tuple[int, ...]
"""The largest tile of each cell, in row-major order."""

SMALL = 4
"""What no limit is below: a 4 may be spawned anywhere."""


@dataclass(frozen=True)
class Trial:
    """Limits that were tried.

    Attributes
    ----------
    limits:
        The largest tile of each cell.
    boards:
        Boards within them.
    value:
        The probability to win within them, in float32: near the bound, but not proved.
    """

    game: Game
    limits: Limits
    boards: int
    value: float

    def __repr__(self) -> str:
        return f"<Trial {self.text}: {self.boards:,} boards, value {self.value:.8f}>"

    @property
    def text(self) -> str:
        """The limits as they are written."""
        return with_limits(self.game, self.limits).limits_text

    @property
    def merit(self) -> float:
        """Larger is better: the nines that the value begins with, and the value."""
        return -math.log10(max(1.0 - self.value, 1e-9)) + self.value


@dataclass(frozen=True)
class Search:
    """What a search found.

    Attributes
    ----------
    best:
        The best limits.
    path:
        The limits from which the search went on, in order, the best last.
    tried:
        How many it tried.
    finished:
        Whether it ended because nothing helps; else time ran out.
    seconds:
        What it took.
    """

    best: Trial
    path: tuple[Trial, ...]
    tried: int
    finished: bool
    seconds: float

    def __repr__(self) -> str:
        return f"<Search of {self.tried:,} limits: best {self.best.text}, value {self.best.value:.8f}>"


def with_limits(game: Game, limits: Limits) -> Game:
    """The same game with other limits."""
    return game.changed(limits=list(limits))


def search_limits(
    game: Game,
    boards: int,
    *,
    seconds: float = math.inf,
    memory: int | None = None,
    threads: int | None = None,
    progress: Callable[[Trial, int], None] | None = None,
) -> Search:
    """Search for limits with at most so many boards that give the best bound.

    Parameters
    ----------
    game:
        The game; its limits are where the search begins, none: `least_limits`.
    boards:
        The budget: boards within the limits.
    seconds:
        Time after which the best so far is returned, as it is on Ctrl-C.
    memory, threads:
        As in `solve`.
    progress:
        Called after each step with where the search is, and the number of limits tried.

    Raises
    ------
    UsageError
        If the game has no goal, or the first limits have more boards than the budget.
    ResourceError
        If the first limits do not fit into memory; later ones that do not are passed over.

    >>> search_limits(Game("2x2", 16, start="empty"), 200).best.limits
    (8, 8, 8, 4)
    """
    if not game.can_win or game.goal is None:
        raise UsageError("a search for limits needs a goal")
    memory, threads = check_resources(memory, threads)
    bench = _Bench(game, boards, memory, threads, time.monotonic() + seconds)
    since = time.monotonic()
    first = game.limits or least_limits(game)
    if not with_limits(game, first).goal_fits:
        raise UsageError(
            f"within the first limits {with_limits(game, first)} cannot be won: give higher limits"
        )
    here = bench.trial(first)
    if here is None:
        raise UsageError(
            f"the limits {with_limits(game, first).limits_text} have {_boards(game, first):,} boards, "
            f"more than {boards:,}: give a larger budget or lower limits"
        )
    path = [here]
    with suppress(KeyboardInterrupt):  # the best so far is the answer
        _climb(game, bench, path, progress)
    return Search(path[-1], tuple(path), len(bench.found), bench.done, time.monotonic() - since)


def _climb(
    game: Game, bench: _Bench, path: list[Trial], progress: Callable[[Trial, int], None] | None
) -> None:
    """Add better limits to the path until there are none or time is up."""
    while not bench.late:
        here = path[-1]
        if progress is not None:
            progress(here, len(bench.found))
        better = bench.best_of(_raises(game, here.limits), here) or bench.best_of(
            _swaps(game, here.limits), here
        )
        if better is None:
            bench.done = not bench.late
            return
        path.append(better)


def least_limits(game: Game) -> Limits:
    """Limits from which the search begins: tiles that make the goal, and a ladder that leads to them.

    The tiles are the pattern's, or two of half the goal beside each other, as near to the first corner as
    may be.  From the smallest of them limits halve from cell to cell, down to 4, as little as a win needs.
    """
    free = [pair for pair in game.neighbours if game.obstacles.isdisjoint(pair)]
    if game.pattern in (None, "pair"):
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
        here = min(near, key=lambda cell: (len(left & beside[cell]), cell))  # no corner is left behind
        left.remove(here)
        limits[here] = max(limits[here], tile)
    return tuple(limits)


def _boards(game: Game, limits: Limits) -> int:
    within = with_limits(game, limits)
    return prod(len(cell_codes(within, cell)) for cell in range(game.cells))


class _Bench:
    """Tries limits, each once up to symmetry."""

    def __init__(self, game: Game, boards: int, memory: int, threads: int, deadline: float) -> None:
        self.game, self.boards, self.memory, self.threads = game, boards, memory, threads
        self.deadline, self.done = deadline, False
        self.found: dict[Limits, Trial] = {}
        self._group = start_symmetries(game.changed(limits=None))

    @property
    def late(self) -> bool:
        """Whether time has run out."""
        return time.monotonic() > self.deadline

    def trial(self, limits: Limits) -> Trial | None:
        """What limits are worth; None if they cannot be or have too many boards."""
        try:
            count = _boards(self.game, limits)
        except GameError:
            return None
        if count > self.boards or not with_limits(self.game, limits).goal_fits:
            return None
        key = min(tuple(limits[source] for source in p) for p in self._group)
        if key not in self.found:
            self.found[key] = Trial(self.game, limits, count, self._value(limits))
        return self.found[key]

    def _value(self, limits: Limits) -> float:
        with temporary_folder() as folder, DensePass(
            folder, with_limits(self.game, limits), Objective("win", "float32"),
            memory=self.memory, threads=self.threads, summaries=False,
        ) as one:  # fmt: skip
            one.run()
            return float(one.start())

    def best_of(self, limits: Iterator[Limits], here: Trial) -> Trial | None:
        """Of some limits that are better than `here`, those that gain most for the boards they add."""
        best, most = None, 0.0
        for candidate in limits:
            if self.late:
                break
            try:
                trial = self.trial(candidate)
            except ResourceError:
                continue  # few boards, but large tables: what else there is may fit
            if trial is None or trial.value <= here.value:
                continue
            cost = max(math.log(trial.boards / here.boards), 0.05)
            gain = (trial.merit - here.merit) / cost
            if gain > most:
                best, most = trial, gain
        return best


def _raises(game: Game, limits: Limits) -> Iterator[Limits]:
    """One cell raised by one, two or three steps."""
    for steps in (1, 2, 3):
        for cell in range(game.cells):
            if cell not in game.obstacles and limits[cell] << steps <= (game.goal or 0) // 2:
                yield (*limits[:cell], limits[cell] << steps, *limits[cell + 1 :])


def _swaps(game: Game, limits: Limits) -> Iterator[Limits]:
    """One cell lowered and another raised."""
    for low, high in itertools.permutations(range(game.cells), 2):
        if limits[low] >= 8 and {low, high}.isdisjoint(game.obstacles):
            changed: list[Any] = list(limits)
            changed[low] //= 2
            changed[high] *= 2
            if changed[high] <= (game.goal or 0) // 2:
                yield tuple(changed)
