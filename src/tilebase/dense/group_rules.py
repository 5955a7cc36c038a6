"""The steps of a pass by groups, and what they compute with: ranks of boards, and the kernels.

Each step makes the values of a group from values of others:

    fold     W, the values of its afterstates, from V of the groups with one more tile 2 or 4
    slide    V, the values of its states, from W of the groups that its merges lead to, itself included

Any range of ranks can be made alone, so threads and workers share a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tilebase._kernels import groups as kernels
from tilebase.counting.groups import Groups, groups_of
from tilebase.dense.index import cut_into_parts
from tilebase.dense.tables import check_spawns
from tilebase.errors import UsageError
from tilebase.files.run import first_sum
from tilebase.game.game import Cells, Game
from tilebase.objectives.backup import discounted, discounts_states, make_backup, value_above
from tilebase.objectives.objective import Objective
from tilebase.runtime.threads import Pool

Array = npt.NDArray[Any]
Read = Callable[[str], Array]
"""Returns the values of a group by the name of the step that made them."""
JOB = 1 << 15
"""Boards that a thread works at once."""
RANKINGS = 256
"""Tables for ranks that are kept."""


class Ranking:
    """The boards of a group, in the order of their cells: all arrangements of its tiles that the cells allow.

    Attributes
    ----------
    tables:
        What kernels rank with.
    size:
        The number of boards.
    """

    def __init__(self, game: Game, counts: Iterable[int]) -> None:
        tiles = [int(count) for count in counts]
        full = [game.cells - sum(tiles), *tiles]  # by code; walls hold the code 0
        shape = [count + 1 for count in full]
        left = np.indices(shape, dtype=np.int8).reshape(len(full), -1)  # left[c, s]: codes c of state s
        steps = [int(np.prod(shape[code + 1 :])) for code in range(len(full))]
        missing = game.cells - left.sum(axis=0, dtype=np.int64)  # so many cells are filled
        before = np.zeros((left.shape[1], len(full)), dtype=np.int64)
        after = np.full(before.shape, -1, dtype=np.int32)
        ways = np.zeros(len(before), dtype=np.int64)
        ways[0] = 1
        for cell in reversed(range(game.cells)):
            states = np.flatnonzero(missing == cell)
            for code in game.codes(cell):
                before[states, code] = ways[states]
                there = states[left[code, states] > 0]
                there = there[ways[there - steps[code]] > 0]
                after[there, code] = there - steps[code]
                ways[there] += ways[there - steps[code]]
        self.game, self.size = game, int(ways[-1])
        self.tables = kernels.Ranked(before, after)

    def boards(self) -> Array:
        """``uint8[size, cells]``: the boards, in the order of their ranks."""
        before, after = self.tables
        ranks, states = np.arange(self.size), np.full(self.size, len(before) - 1)
        found = np.empty((self.size, self.game.cells), dtype=np.uint8)
        for cell in range(self.game.cells):
            fits = (after[states] >= 0) & (before[states] <= ranks[:, None])
            codes = fits.shape[1] - 1 - fits[:, ::-1].argmax(axis=1)
            ranks, states, found[:, cell] = ranks - before[states, codes], after[states, codes], codes
        return found

    def rank(self, board: Cells) -> int:
        """Return the rank of a board of the group."""
        before, after = self.tables
        state, rank = len(before) - 1, 0
        for code in board:
            rank, state = rank + int(before[state, code]), int(after[state, code])
        return rank


class Step(NamedTuple):
    """The making of the values of a group.

    Attributes
    ----------
    kind:
        ``"fold"`` or ``"slide"``.
    group, total:
        The number of the group, and the sum of its tiles.
    reads:
        The names of the values that it reads.
    readers:
        How many later steps read what it makes.
    """

    kind: str
    group: int
    total: int
    reads: tuple[str, ...]
    readers: int = 0

    @property
    def name(self) -> str:
        """The name of what it makes."""
        return name_of(self.kind, self.group)


def name_of(kind: str, group: int) -> str:
    """Return the name of what a step makes: ``afterstates-12`` or ``states-12``."""
    return f"{'afterstates' if kind == 'fold' else 'states'}-{group}"


def group_in(name: str) -> int:
    """Return the number of the group in a name."""
    return int(name.rpartition("-")[2])


def groups_to_solve(game: Game, objective: Objective) -> Groups:
    """Return the groups of a game that are solved for an objective.

    Raises `UsageError` if there is no pass by groups, or none over all boards, and `ResourceError` if there
    are too many groups.
    """
    objective.check(game)
    check_spawns(game)
    if objective.merge or objective.counts_end:
        raise UsageError(
            f"there is no pass by groups for {objective.name}, which counts tiles: choose the space all"
        )
    return groups_of(game)


class GroupRules:
    """What all steps of a pass for an objective have in common."""

    def __init__(self, game: Game, objective: Objective) -> None:
        self.game, self.objective, self.groups = game, objective, groups_to_solve(game, objective)
        self.backup = make_backup(game, objective)
        self.first = first_sum(game)
        self.ranking: Callable[[int], Ranking] = lru_cache(maxsize=RANKINGS)(self._ranking)
        self._outside = lru_cache(maxsize=2)(partial(Ranking, game))
        self._won = self.backup.dtype.type(self.backup.won)
        self._exponents = game.spawn_exponents[::-1]  # the largest first, as `Backup.adds`
        _, parts = cut_into_parts(game)
        order = [cell for part in parts for cell in part if cell not in game.walls]
        self._spots = [
            np.array([cell for cell in order if e <= game.tops[cell]], dtype=np.int64)
            for e in self._exponents
        ]
        self._above = {e: self.groups.with_tile(e).tolist() for e in self._exponents}
        self._below = [self.groups.with_tile(e, -1).tolist() for e in self._exponents]
        self._ways = _ways(game)
        self._width = np.uint64(64 // (self.groups.counts.shape[1] + 1))
        codes = [[-1 if code is None else code for code in pattern] for pattern in game.patterns]
        self._patterns = np.array(codes, dtype=np.int64).reshape(len(codes), game.cells)

    def tiles(self, group: int) -> Cells:
        """Return how many tiles of each exponent a group has."""
        return tuple(self.groups.counts[group].tolist())

    def _ranking(self, group: int) -> Ranking:
        return Ranking(self.game, self.tiles(group))

    # -- what steps read, and who reads what they make ---------------------------------------

    def folds(self, group: int, total: int) -> tuple[str, ...]:
        """Return the names of the states that the afterstates of a group are made from."""
        if not self._spawns(group, total):
            return ()
        pairs = zip(self._exponents, self._spots, strict=True)
        above = [self._above[e][group] for e, spots in pairs if len(spots)]
        return tuple(name_of("slide", one) for one in above if one >= 0)

    def _spawns(self, group: int, total: int) -> bool:
        return bool(self.groups.empty[group]) and not self.game.ended(total)

    def readers_of_states(self, group: int, total: int) -> int:
        """Return from how many groups of afterstates spawns lead to this one."""
        found = 0
        for e, below in zip(self._exponents, self._below, strict=True):
            before = total - (1 << e)
            found += below[group] >= 0 and before >= self.first and not self.game.ended(before)
        return found

    # -- doing a step ------------------------------------------------------------------------

    def do(
        self, step: Step, begin: int, end: int, read: Read, share: Share, before: Array | None = None
    ) -> tuple[Array, int]:
        """Return the values of the ranks from `begin` to `end`, and the most bytes that were in memory.

        States are not discounted.  `share` does the ranges of a step.  `before` are the values of states by
        slides to other groups, which are changed.
        """
        if step.kind == "fold":
            return self._fold(step, begin, end, read, share)
        if before is None:
            before = np.full(end - begin, self.backup.none, dtype=self.backup.dtype)
        return before, self._slide(step, begin, end, read, share, before)

    def stored(self, step: Step, values: Array) -> Array:
        """Return what later steps read: the values, and those of states times the discount."""
        if step.kind == "fold" or not discounts_states(self.game, self.objective):
            return values
        return discounted(self.objective, values, self.backup.won)

    def _fold(self, step: Step, begin: int, end: int, read: Read, share: Share) -> tuple[Array, int]:
        backup, ranking = self.backup, self.ranking(step.group)
        out = np.empty(end - begin, dtype=backup.dtype)
        spawns = self._spawns(step.group, step.total)
        free = int(self.groups.empty[step.group]) if spawns else 0
        spots = [spots if spawns else spots[:0] for spots in self._spots]
        ups = [
            self._states_above(step, e, read) if len(spot) else (ranking.tables, out[:0])
            for e, spot in zip(self._exponents, spots, strict=True)
        ]
        if len(ups) == 1:  # always two, so that each type of values is compiled once
            ups, spots = ups * 2, [*spots, spots[0][:0]]
        exponents = (self._exponents[0], self._exponents[-1])
        adds = (backup.adds[0], backup.adds[-1])
        start = backup.ended if self.game.ended(step.total) else backup.start

        def job(first: int, last: int) -> None:
            kernels.fold_spawns(
                first, last, ranking.tables, tuple(ups), exponents, tuple(spots), adds, free, backup.finish,
                start, self._won, self._patterns, self._scratch(), out[first - begin : last - begin],
            )  # fmt: skip

        share(job, begin, end)
        return out, out.nbytes + sum({id(values): values.nbytes for _, values in ups}.values())

    def _states_above(self, step: Step, exponent: int, read: Read) -> tuple[kernels.Ranked, Array]:
        """Return the group with one more tile, and the values of its states."""
        above = self._above[exponent][step.group]
        if above >= 0:
            return self.ranking(above).tables, read(name_of("slide", above))
        tiles = list(self.tiles(step.group))
        tiles[exponent - 1] += 1
        ranking = self._outside(tuple(tiles))
        value = value_above(self.game, self.objective, self.backup, step.total + (1 << exponent))
        return ranking.tables, np.full(ranking.size, value, dtype=self.backup.dtype)

    def _slide(self, step: Step, begin: int, end: int, read: Read, share: Share, out: Array) -> int:
        ranking, goal = self.ranking(step.group), self.game.goal_exponent or 0
        most = out.nbytes
        for name in step.reads:
            target, afters = self.ranking(group_in(name)), read(name)
            merges = self._merges(step.group, group_in(name))
            most = max(most, out.nbytes + afters.nbytes)

            def job(
                first: int, last: int, target: Ranking = target, afters: Array = afters, merges: Any = merges
            ) -> None:
                kernels.best_slides(
                    first, last, ranking.tables, target.tables, merges, self._width, afters, self._ways, goal,
                    self._won, self._scratch(), out[first - begin : last - begin],
                )  # fmt: skip

            share(job, begin, end)
        return most

    def _merges(self, group: int, target: int) -> np.uint64:
        """Return the merges that lead from a group to another, as the kernel counts them."""
        made = found = 0
        before, after = self.tiles(group), self.tiles(target)
        for e, (old, new) in enumerate(zip(before, after, strict=True), 1):
            made = (old + made - new) // 2  # merges of two tiles 2**e
            found += made << int(self._width) * e
        return np.uint64(found)

    def _scratch(self) -> Array:
        """Return what a kernel works in."""
        return np.empty((3, self.game.cells), dtype=np.int64)


Share = Callable[[Callable[[int, int], None], int, int], None]
"""Does ``job(first, last)`` for all parts of a range."""


def alone(job: Callable[[int, int], None], begin: int, end: int) -> None:
    """Do a step by this thread: a `Share`."""
    job(begin, end)


def by_threads(pool: Pool, tell: Callable[[int], None]) -> Share:
    """Return what does a step by the threads of a pool; `tell` gets the boards that are done by all calls."""
    done = 0

    def share(job: Callable[[int, int], None], begin: int, end: int) -> None:
        nonlocal done

        def part(first: int) -> int:
            last = min(first + JOB, end)
            job(first, last)
            return last - first

        if end - begin <= JOB:
            job(begin, end)
            return
        for boards in pool.map(part, range(begin, end, JOB), ahead=4 * pool.threads):
            done += boards
            tell(done)

    return share


def _ways(game: Game) -> Array:
    """Return ``int64[ways, lines, cells]``: for each direction its lines between walls, filled up with -1."""
    found = [
        [one for line in game.grid.lines[direction] for one in _between_walls(game, line)]
        for direction in game.directions
    ]
    most = max(map(len, found)), max(game.shape)
    ways = np.full((len(found), *most), -1, dtype=np.int64)
    for w, lines in enumerate(found):
        for k, line in enumerate(lines):
            ways[w, k, : len(line)] = line
    return ways


def _between_walls(game: Game, line: Cells) -> Iterator[Cells]:
    """Yield the parts of a line that walls leave, those of one cell left out."""
    part: list[int] = []
    for cell in (*line, None):
        if cell is not None and cell not in game.walls:
            part.append(cell)
            continue
        if len(part) > 1:
            yield tuple(part)
        part = []
