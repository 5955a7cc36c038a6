"""The border between limits within which a goal can be forced (winning) and other limits (losing).

A strategy that keeps within limits also keeps within higher limits.  So the winning limits are an up-set
of the lattice of all limits.  Two antichains describe it: the *minimal winning* limits, which lose if any
cell is lowered, and the *maximal losing* limits, which win if any cell is increased.

The search keeps one byte for each element of the lattice: known to win, known to lose, or open.  It
chooses open limits, decides whether the goal is forced within them, and moves from them, one cell and
one step at a time, towards the border.  All limits above winning ones and below losing ones are then
known, with all images under the symmetries.  When no limits are open, the border is complete.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from tilebase.costs.estimate import refuse_endless
from tilebase.errors import UsageError
from tilebase.game.game import Game, check_is_game
from tilebase.game.symmetry import start_symmetries
from tilebase.questions.force import MOST_UNBOUNDED, force
from tilebase.runtime.measured import working_time
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Allowance, Use

Array = npt.NDArray[Any]
Levels = tuple[int, ...]
"""For each cell, the number of steps of its limit above the least limit."""

MOST_LIMITS = 1 << 28
"""Most limits in a lattice; each takes one byte."""
OPEN, LOSING, WINNING = 0, 1, 2


@dataclass(frozen=True)
class Border:
    """Minimal winning and maximal losing limits, one of each orbit, as text.

    Attributes
    ----------
    game:
        The game, without limits.
    winning, losing:
        Limits, and how many images they have.
    open:
        How many limits are undecided: 0 if the border is complete.
    lattice:
        The number of limits.
    asked:
        For how many limits an engine decided whether the goal is forced.
    seconds:
        The time of the search.
    """

    game: Game
    winning: tuple[tuple[str, int], ...]
    losing: tuple[tuple[str, int], ...]
    open: int
    lattice: int
    asked: int
    seconds: float

    def __repr__(self) -> str:
        counts = f"{len(self.winning):,} minimal winning, {len(self.losing):,} maximal losing"
        return f"<Border of {self.game}: {counts}{f', {self.open:,} open' if self.open else ''}>"

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "game": self.game.identity,
            "minimal_winning": [text for text, _ in self.winning],
            "maximal_losing": [text for text, _ in self.losing],
            "open": self.open,
            "lattice": self.lattice,
            "asked": self.asked,
            "seconds": round(self.seconds, 1),
        }


def find_border(game: Game, *, seconds: float = math.inf, **use: Unpack[Use]) -> Border:
    """Find all minimal winning and maximal losing limits of a game, or as many as the time allows.

    Parameters
    ----------
    game:
        The game; its own limits, if any, are the highest that are considered.
    seconds:
        After this time, as on Ctrl-C, the search returns the limits found so far.  These are minimal or
        maximal all the same, and `Border.open` says how many limits are undecided.
    use:
        Memory, threads and the like: the keywords of `Use`.  Progress counts the known limits, and as `total`
        how many limits an engine has decided.

    Raises
    ------
    UsageError
        If the game has no goal, a pattern, or too many limits.

    >>> find_border(Game("2x2", 8, start="empty")).winning
    (('4', 1),)
    """
    check_is_game(game)
    if game.goal is None or game.pattern is not None:
        raise UsageError("minimal limits are those that force a tile: give a tile, and no pattern")
    if math.isinf(seconds) and game.cells - len(game.walls) > MOST_UNBOUNDED:
        refuse_endless(f"the least limits of {game}")
    search = _BorderSearch(game, time.monotonic() + seconds, Allowance.of(**use))
    since = working_time()
    with suppress(KeyboardInterrupt):
        search.run()
    return search.result(working_time() - since)


class _BorderSearch:
    """The known part of the lattice."""

    def __init__(self, game: Game, deadline: float, allowed: Allowance) -> None:
        self.game, self._deadline = game, deadline
        self._pace, self._quietly = Pace(allowed.progress, "limits"), replace(allowed, progress=None)
        self._cells = [cell for cell in range(game.cells) if cell not in game.held.union(game.walls)]
        # No limit is below the spawned tiles, or below the tile on the cell at the start.
        self._least = [max(game.spawn_exponents[-1], game.start_tiles[cell]) for cell in self._cells]
        self._most = tuple(game.tops[cell] - low for cell, low in zip(self._cells, self._least, strict=True))
        if (limits := math.prod(top + 1 for top in self._most)) > MOST_LIMITS:
            raise UsageError(
                f"{game} has {limits:.2g} limits, more than {MOST_LIMITS:.2g}: give lower limits to look "
                "below"
            )
        self.known: Array = np.full([top + 1 for top in self._most], OPEN, dtype=np.uint8)
        index_of = {cell: i for i, cell in enumerate(self._cells)}
        self._group = {tuple(index_of[p[cell]] for cell in self._cells) for p in start_symmetries(game)}
        self.asked = 0

    def _with(self, levels: Levels) -> Game:
        limits = [2 ** self.game.spawn_exponents[-1]] * self.game.cells
        for cell, low, level in zip(self._cells, self._least, levels, strict=True):
            limits[cell] = 2 ** (low + level)
        return self.game.changed(limits=limits)

    def run(self) -> None:
        """Decide limits until none are open or time has run out."""
        while time.monotonic() < self._deadline:
            levels = self._next_open()
            if levels is None or not self._walk(levels):
                return

    def _next_open(self) -> Levels | None:
        """Open limits near the middle of the lattice, from where the border is near."""
        flat = self.known.ravel()
        middle = len(flat) // 2
        for begin, part in ((middle, flat[middle:]), (0, flat[:middle])):
            position = begin + int(np.argmin(part)) if len(part) else begin
            if flat[position] == OPEN:
                return tuple(int(level) for level in np.unravel_index(position, self.known.shape))
        return None

    def _walk(self, levels: Levels) -> bool:
        """Move from open limits to the border; False if time ran out before."""
        side = self._ask(levels)
        step = -1 if side == WINNING else 1
        moved = side != OPEN
        while moved:
            moved = False
            for i, top in enumerate(self._most):
                to = levels[i] + step
                if not 0 <= to <= top:
                    continue
                beside = (*levels[:i], to, *levels[i + 1 :])
                known = self.known[beside] or self._ask(beside)
                if known == OPEN:
                    return False
                if known == side:
                    levels, moved = beside, True
        return side != OPEN

    def _ask(self, levels: Levels) -> int:
        """Decide whether the goal is forced within limits, and mark all limits that follow from this."""
        left = self._deadline - time.monotonic()
        game = self._with(levels)
        if not game.goal_fits:
            self._mark(levels, LOSING)
            return LOSING
        forced = force(game, seconds=left, **vars(self._quietly)).forced if left > 0 else None
        if forced is None:
            return OPEN
        self.asked += 1
        side = WINNING if forced else LOSING
        self._mark(levels, side)
        known = int(np.count_nonzero(self.known))
        self._pace.report(self.asked, "decide", known, known / self.known.size)
        return side

    def _mark(self, levels: Levels, side: int) -> None:
        """Mark all limits above winning ones, or below losing ones, and all their images."""
        for p in self._group:
            image = [levels[source] for source in p]
            box = tuple(slice(i, None) if side == WINNING else slice(None, i + 1) for i in image)
            self.known[box] = side

    def _border(self, side: int) -> tuple[tuple[str, int], ...]:
        """Limits of a side whose neighbours towards the other side all belong to the other side."""
        there = self.known == side
        other = self.known == (LOSING if side == WINNING else WINNING)
        for axis in range(self.known.ndim):
            # There are no limits beyond the least and the highest ones.
            beside = np.ones_like(there)
            inner, outer = [slice(None)] * self.known.ndim, [slice(None)] * self.known.ndim
            inner[axis], outer[axis] = slice(1, None), slice(None, -1)
            if side == LOSING:
                inner, outer = outer, inner
            beside[tuple(inner)] = other[tuple(outer)]
            there &= beside
        orbits: dict[Levels, int] = {}
        for levels in np.argwhere(there).tolist():
            images = {tuple(levels[source] for source in p) for p in self._group}
            orbits[max(images)] = len(images)
        return tuple(
            (self._with(levels).limits_text, n) for levels, n in sorted(orbits.items(), reverse=True)
        )

    def result(self, seconds: float) -> Border:
        """Return the limits found so far."""
        left = int(self.known.size - np.count_nonzero(self.known))
        return Border(
            self.game, self._border(WINNING), self._border(LOSING), left, self.known.size, self.asked, seconds
        )
