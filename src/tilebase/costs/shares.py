"""Which share of the boards within the limits play reaches, up to symmetry: counted, or else estimated.

**Plain games** of `counted.tsv` were counted once.  The logarithms of other games' shares are linear in

    small    1 / (tiles 2 and 4 of a board, on average)
    lengths  the mean logarithm of the lengths of a line, over the axes of the shape
    moves    empty cells of a board on average / mean length of a line
    extent   the sum of these lengths
    planes   the sum of: empty cells / length

by a least-squares fit of the lines of `counted.tsv`, and the logarithm of afterstates per state in empty
cells, longest line, mean of 1 / length and number of cells.  "On average" is over all boards within the
limits.  Where only one tile is spawned, a game has `ONE_TILE` times as many states.  Estimated from all other
games, the states of a counted game are wrong by a factor of 1.2, at most 1.6; the shares of games with limits
or walls are similar (tests/test_costs.py).

**Formations** of `formations.tsv` were solved once.  Others have the share of the largest smaller goal of the
same formation, times a factor for each doubling of the goal.  The factor is the geometric mean of those
measured, apart for formations that win anywhere.  A formation that was never measured has the geometric mean
of the measured shares in place of its own.  The expected error, found by estimating each measured table
without itself and larger goals of its formation (`leave_out`): a factor of 1.1 to the next measured goal (at
most 1.3, but 2.1 for LL from 128 to 512), and 1.2 three goals further (at most 1.7, but 3.0 for LL to 512).
Without any table of its formation: 1.6 (at most 2.7).  A formation that goes on from a large position, as
3x405, has fewer positions.

Bytes on disk are those of the measured table, or the median of measured tables to this goal: 4431 to 128 took
4.3 GB where 4.7 are said, free8 to 64 took 0.98 GB where 1.3 are said.

**Other games with tiles x** have the share of a formation that was never measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from statistics import median

import numpy as np

from tilebase.game.formations import Formation, formation_of, formations
from tilebase.game.game import Game
from tilebase.game.symmetry import symmetries
from tilebase.runtime.rows import read_rows

ONE_TILE = 0.45
"""States where only one tile is spawned, as a share of those with two."""
ONE_TILE_RATIO = 1.6
"""The same for afterstates per state."""
MASKED_RATIO = 0.5
"""Afterstates per state of games with masks."""
LEAST = 1e-4
"""Estimated shares are not smaller, whatever the fit says."""
COUNTED, FITTED, MASKED = 1.25, 2.0, 3.0
"""The factor by which an estimate may be wrong: for a counted game (its time), for games like those, and for
other games with tiles x."""


@dataclass(frozen=True)
class Share:
    """Which share of its boards a game reaches.

    Attributes
    ----------
    states, afterstates:
        Of the boards within the limits, up to symmetry.
    spread:
        What is estimated from these may be smaller or larger by this factor.
    stored:
        Bytes on disk of an afterstate in a table, its key and its probability to win in float64; None where
        no measured table says it.
    """

    states: float
    afterstates: float
    spread: float
    stored: float | None = None


@lru_cache(maxsize=256)
def share_of(game: Game) -> Share:
    """Return the share of the boards of a game that play reaches."""
    named = formation_of(game)
    if named is not None or game.unmergeable:
        return _masked(game, named)
    one_tile = len(game.spawn_exponents) == 1
    exact = counted().get((game.shape, game.goal))
    if exact is not None and not one_tile and _has_own_start_only(game):
        return Share(exact.states, exact.afterstates, COUNTED)
    found = fit().share(game.shape, [top for top in game.tops if top])
    if not one_tile:
        return found
    states = ONE_TILE * found.states
    return Share(states, states * min(ONE_TILE_RATIO * found.afterstates / found.states, 0.8), found.spread)


def _has_own_start_only(game: Game) -> bool:
    """Return whether a game has only its shape, its goal and perhaps its start.

    A game with its start alone cannot be made to compare: the start board may name walls.
    """
    return game.identity | {"start": "two-tiles"} == Game(game.shape, game.goal).identity


def _masked(game: Game, named: Formation | None) -> Share:
    """Return the share of a game of a formation, or of another one with tiles x."""
    tiles = [e for pattern in game.patterns for e in pattern if e] or [max(game.tops) + 1]
    goal = game.goal or 1 << min(tiles)
    afters = measured_shares().share(named.name if named else "", game.goal is not None, goal)
    exact = None if named is None else measured().get((named.name, goal))
    if named is None or exact is None or named.game(goal) != game:
        exact, spread = None, FITTED if named is not None else MASKED
    else:
        spread = COUNTED
    stored = exact.disk / exact.positions if exact and exact.disk else _stored(goal) if named else None
    return Share(min(afters / MASKED_RATIO, 1.0), afters, spread, stored)


def _stored(goal: int) -> float:
    """Return the median of `Share.stored`; for a larger goal fewer values are 1 and they take more."""
    large = [one for one in measured().values() if one.positions > 1e6 and one.disk is not None]
    nearest = max((one.goal for one in large if one.goal <= goal), default=min(one.goal for one in large))
    return median((one.disk or 0) / one.positions for one in large if one.goal == nearest)


# -- plain games -------------------------------------------------------------------------------------


@cache
def counted() -> dict[tuple[tuple[int, ...], int | None], Share]:
    """Return the shares of the plain games that were counted, by shape and goal."""
    found: dict[tuple[tuple[int, ...], int | None], Share] = {}
    for row in read_rows("costs", "counted.tsv"):
        boards = int(row["boards"]) / int(row["symmetries"])
        shape = tuple(map(int, row["shape"].split("x")))
        found[shape, None if row["goal"] == "-" else int(row["goal"])] = Share(
            int(row["states"]) / boards, int(row["afterstates"]) / boards, COUNTED
        )
    return found


class Fit:
    """Least-squares fits of the logarithms of shares; see the module."""

    def __init__(self, known: dict[tuple[tuple[int, ...], int | None], Share]) -> None:
        lines = [(shape, [goal.bit_length() - 2] * math.prod(shape), share)
                 for (shape, goal), share in known.items()
                 if goal is not None and goal > 8 and math.prod(shape) > 4]  # fmt: skip
        features = [_features(shape, tops) for shape, tops, _ in lines]
        states = np.log([share.states for *_, share in lines])
        ratios = np.log([share.afterstates / share.states for *_, share in lines])
        self._states = np.linalg.lstsq(np.array([one for one, _ in features]), states, rcond=None)[0]
        self._ratios = np.linalg.lstsq(np.array([one for _, one in features]), ratios, rcond=None)[0]

    def share(self, shape: Sequence[int], tops: Sequence[int]) -> Share:
        """Return the share of a game of a shape whose cells may hold exponents up to `tops`."""
        if max(shape) == 1 or not tops:
            return Share(1.0, 0.5, MASKED)
        for_states, for_ratio = _features(shape, tops)
        states = min(max(math.exp(np.dot(self._states, for_states)), LEAST), 1.0)
        return Share(states, states * min(math.exp(np.dot(self._ratios, for_ratio)), 0.8), FITTED)


def _features(shape: Sequence[int], tops: Sequence[int]) -> tuple[list[float], list[float]]:
    """Return what the logarithms of the share of states, and of afterstates per state, depend on linearly."""
    lengths = [length for length in shape if length > 1]
    empty = empty_cells(tops)
    small = sum(min(top, 2) / (top + 1) for top in tops)
    mean = sum(lengths) / len(lengths)
    logarithms = sum(map(math.log, lengths)) / len(lengths)
    inverse = sum(1 / length for length in lengths)
    return (
        [1.0, 1 / small, logarithms, empty / mean, sum(lengths), empty * inverse],
        [1.0, empty, max(lengths), inverse / len(lengths), len(tops)],
    )


def empty_cells(tops: Iterable[int]) -> float:
    """Return how many cells are empty on average, of boards whose cells hold exponents up to `tops`."""
    return sum(1 / (top + 1) for top in tops)


@cache
def fit() -> Fit:
    """Return the fit to all counted games."""
    return Fit(counted())


# -- formations --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measured:
    """One line of `formations.tsv`; time, disk and chance are None if the positions were only counted."""

    formation: str
    goal: int
    boards: int
    positions: int
    cpu_seconds: float | None
    disk: int | None
    win: float | None


@cache
def measured() -> dict[tuple[str, int], Measured]:
    """Return all measured tables by formation and goal."""
    found = {}
    for row in read_rows("costs", "formations.tsv"):
        seconds, keys = row["cpu_seconds"], row["keys_bytes"]
        found[row["formation"], int(row["goal"])] = Measured(
            row["formation"], int(row["goal"]), int(row["boards"]), int(row["positions"]),
            None if seconds == "-" else float(seconds),
            None if keys == "-" else int(keys) + int(row["values_bytes"]),
            None if row["win"] == "-" else float(row["win"]),
        )  # fmt: skip
    return found


class FormationShares:
    """Shares of boards that play reaches, from measured tables."""

    def __init__(self, lines: dict[tuple[str, int], Measured]) -> None:
        named = {one.name: one for one in formations()}
        self._known: dict[str, dict[int, float]] = {}
        for (name, goal), line in lines.items():
            group = len(symmetries(named[name].game(goal)))
            self._known.setdefault(name, {})[goal] = line.positions * group / line.boards
        self._classes = {name: one.wins_anywhere for name, one in named.items()}

    def share(self, name: str, anywhere: bool, goal: int) -> float:
        """Positions times symmetries, divided by boards; `anywhere`: whether the goal wins on any cell."""
        own = self._known.get(name, {})
        if goal in own:
            return own[goal]
        smaller = [known for known in own if known < goal]
        begin = max(smaller) if smaller else 64
        share = own[begin] if smaller else self._mean(begin, anywhere)
        while begin < goal:
            begin *= 2
            share *= self._growth(begin, anywhere)
        return share

    def _growth(self, goal: int, anywhere: bool) -> float:
        """Return the factor from half a goal to the goal; beyond measured goals, that of the largest one."""
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
        """Return the share of a formation that was never measured."""
        found = [
            own[goal] for name, own in self._known.items() if goal in own and self._classes[name] == anywhere
        ]
        return _geometric(found or [0.1])


@cache
def measured_shares() -> FormationShares:
    """Return the shares of all measured tables."""
    return FormationShares(measured())


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
        share = FormationShares(others).share(name, named[name].wins_anywhere, goal) / group
        found[name, goal] = share * line.boards / line.positions
    return found
