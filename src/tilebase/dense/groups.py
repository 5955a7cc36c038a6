"""The dense pass by groups: the values of all boards, one multiset of tiles at a time.

    W of a group       fold over spawns of V of the groups with one more tile 2 or 4
    V of a group       best over slides of W of the groups that its merges make, itself included

The values are those of `dense.passes`, bit for bit: both use the same backup, and means are added in the
order of the perfect index, whose parts say on which cell a tile is spawned first.

*Order.*  Sums descend.  Within a sum, groups descend in the order of their counts of tiles, the largest tile
first: a merge makes a larger tile, so W of all that a slide of a group leads to is there before V of the
group.  Values that no later group reads are released at once: V of a group after W of the groups with a 2 and
with a 4 less, W of a group after V of the last group whose merges may lead to it.  Without the order of sums
W of a group would be read until its largest tile has been taken apart: on 3x3 to 64 this would hold 4,259,394
values instead of 619,074.

*Memory.*  In work are W of a group with V of those that its spawns lead to, or V of a group with W of one
group more.  The other values that are held are in memory, too, or with a folder in a file for each group.

Ranks need no stored boards: `Ranking` has a table of a few thousand entries for each group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase._kernels import groups as kernels
from tilebase.counting.groups import Groups, groups_of
from tilebase.dense.index import cut_into_parts
from tilebase.dense.tables import check_spawns
from tilebase.errors import UsageError
from tilebase.files.run import first_sum
from tilebase.game.game import Cells, Game
from tilebase.objectives.backup import discounted, discounts_states, make_backup, state_value, value_above
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Number
from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Allowance
from tilebase.runtime.storage import open_own, storage_errors
from tilebase.runtime.threads import Pool

Array = npt.NDArray[Any]
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


@dataclass(frozen=True)
class Held:
    """The most that a pass by groups held at once.

    Attributes
    ----------
    groups, boards, bytes:
        The groups whose values W or V were held, in memory or in files, and how many values and bytes these
        were; W and V of a group count as two.
    working:
        The bytes of the values in work, which are in memory.
    """

    groups: int = 0
    boards: int = 0
    bytes: int = 0
    working: int = 0


class Store:
    """The values that later groups read, by name: in memory, or in a folder as files without a header.

    Boolean values are held as bits.

    Raises `StorageError` if files cannot be written or read.
    """

    def __init__(self, dtype: np.dtype[Any], *, bits: bool, folder: Path | None) -> None:
        self._dtype, self._bits, self._folder = dtype, bits, folder
        self._values: dict[str, Array] = {}
        self._sizes: dict[str, tuple[int, int]] = {}  # values and bytes
        self._boards = self._nbytes = 0  # of all
        self._readers: Counter[str] = Counter()
        self.held = Held()

    def put(self, name: str, values: Array, readers: int) -> None:
        """Hold values until they were read so many times."""
        if not readers:
            return
        kept = np.packbits(values) if self._bits else values
        if self._folder is None:
            self._values[name] = kept
        else:
            with storage_errors(self._folder / name), open_own(self._folder / name, "wb") as file:
                file.write(kept.data)
        self._sizes[name], self._readers[name] = (len(values), kept.nbytes), readers
        self._boards, self._nbytes = self._boards + len(values), self._nbytes + kept.nbytes
        self.held = Held(
            max(self.held.groups, len(self._sizes)), max(self.held.boards, self._boards),
            max(self.held.bytes, self._nbytes), self.held.working,
        )  # fmt: skip

    def read(self, name: str) -> Array:
        """Return values; they are released after the last time."""
        if self._folder is None:
            kept = self._values[name]
        else:
            with storage_errors(self._folder / name, "read"):
                kept = np.fromfile(self._folder / name, dtype=self._dtype)
        values = np.unpackbits(kept, count=self._sizes[name][0]) if self._bits else kept
        self._readers[name] -= 1
        if not self._readers[name]:
            del self._readers[name]
            boards, nbytes = self._sizes.pop(name)
            self._boards, self._nbytes = self._boards - boards, self._nbytes - nbytes
            self._values.pop(name, None)
            if self._folder is not None:
                with storage_errors(self._folder / name, "delete"):
                    (self._folder / name).unlink()
        return values

    def holds(self, name: str) -> bool:
        """Return whether values are held: not all their readers have read them."""
        return name in self._readers

    def works(self, *values: Array) -> None:
        """Note that these are in memory together."""
        working = sum(one.nbytes for one in values)
        self.held = replace(self.held, working=max(self.held.working, working))


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


class GroupPass:
    """One objective over all boards within the limits, by groups.  `solve_by_groups` is enough for most.

    `folder` takes the values that are not in work, else memory does; it holds nothing at the end.  `callback`
    is called with the tiles of each group and its states, in the order of `Ranking`.  ``solved`` are the
    numbers of the groups that are solved: those whose sum is not less than that of the start.
    """

    def __init__(
        self,
        game: Game,
        objective: Objective,
        allowed: Allowance,
        *,
        folder: Path | None = None,
        callback: Callable[[Cells, Array], None] | None = None,
    ) -> None:
        self.game, self.objective, self.groups = game, objective, groups_to_solve(game, objective)
        self.backup = make_backup(game, objective)
        self._threads, self._callback = allowed.threads, callback
        self._pace = Pace(allowed.progress, "boards")
        self.store = Store(self.backup.dtype, bits=objective.is_boolean, folder=folder)
        self._ranking = lru_cache(maxsize=RANKINGS)(partial(Ranking, game))
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
        self._first = first_sum(game)
        self.solved = np.flatnonzero(self.groups.sums >= self._first)
        self._starts = {board: game.sum(board) for board, _ in game.starts()}
        self.starts: dict[Cells, Number] = {}

    @property
    def held(self) -> Held:
        """The most that was held at once so far."""
        return self.store.held

    def run(self) -> Number:
        """Solve all groups; return the value of the start.  Raises `StorageError`."""
        sums = self.groups.sums
        every, done = int(self.groups.sizes[self.solved].sum()), 0
        with Pool(self._threads) as pool:
            for total in np.unique(sums[self.solved])[::-1].tolist():
                here = np.flatnonzero(sums == total)
                order = here[np.lexsort(self.groups.counts[here].T)][::-1].tolist()
                after = {group: self.groups.after_slides(group) for group in order}
                readers = Counter(target for targets in after.values() for target in targets)
                for group in order:
                    self.fold(pool, group, total, readers[group])
                    self.slide(pool, group, total, after[group])
                    done += int(self.groups.sizes[group])
                    if self._pace.due() or done == every:
                        self._pace.report(total, "solve", done, done / every)
        return self.objective.over_spawns((self.starts[board], p) for board, p in self.game.starts())

    def _tiles(self, group: int) -> Cells:
        return tuple(self.groups.counts[group].tolist())

    def fold(self, pool: Pool, group: int, total: int, readers: int) -> None:
        """Make the values of the afterstates of a group."""
        backup, ended = self.backup, self.game.ended(total)
        ranking = self._ranking(self._tiles(group))
        out = np.empty(ranking.size, dtype=backup.dtype)
        free = 0 if ended else int(self.groups.empty[group])
        spots = [spots[:0] if ended or not free else spots for spots in self._spots]
        ups = [
            self._states_above(group, total, e) if len(spot) else (ranking.tables, out[:0])
            for e, spot in zip(self._exponents, spots, strict=True)
        ]
        if len(ups) == 1:  # always two, so that each type of values is compiled once
            ups, spots = ups * 2, [*spots, spots[0][:0]]
        self.store.works(out, *(values for _, values in ups))
        exponents = (self._exponents[0], self._exponents[-1])
        adds = (backup.adds[0], backup.adds[-1])
        start = backup.ended if ended else backup.start

        def do(begin: int, end: int) -> None:
            kernels.fold_spawns(
                begin, end, ranking.tables, tuple(ups), exponents, tuple(spots), adds, free, backup.finish,
                start, self._won, self._patterns, self._scratch(), out,
            )  # fmt: skip

        _share(pool, do, ranking.size)
        self.store.put(f"afterstates-{group}", out, readers)

    def _states_above(self, group: int, total: int, exponent: int) -> tuple[kernels.Ranked, Array]:
        """Return the group with one more tile, and the values of its states."""
        tiles = list(self._tiles(group))
        tiles[exponent - 1] += 1
        ranking = self._ranking(tuple(tiles))
        above = self._above[exponent][group]
        if above >= 0:
            return ranking.tables, self.store.read(f"states-{above}")
        value = value_above(self.game, self.objective, self.backup, total + (1 << exponent))
        return ranking.tables, np.full(ranking.size, value, dtype=self.backup.dtype)

    def slide(self, pool: Pool, group: int, total: int, after: list[int]) -> None:
        """Make the values of the states of a group."""
        game, tiles = self.game, self._tiles(group)
        ranking = self._ranking(tiles)
        out = np.full(ranking.size, self.backup.none, dtype=self.backup.dtype)
        goal = game.goal_exponent or 0
        for at in after:
            target, afters = self._ranking(self._tiles(at)), self.store.read(f"afterstates-{at}")
            self.store.works(out, afters)

            merges = self._merges(group, at)

            def do(
                begin: int, end: int, target: Ranking = target, afters: Array = afters, merges: Any = merges
            ) -> None:
                kernels.best_slides(
                    begin, end, ranking.tables, target.tables, merges, self._width, afters, self._ways, goal,
                    self._won, self._scratch(), out,
                )  # fmt: skip

            _share(pool, do, ranking.size)
        for board, its_sum in self._starts.items():
            if its_sum == total and all(board.count(e) == count for e, count in enumerate(tiles, 1)):
                self.starts[board] = state_value(self.objective, self.backup, out[ranking.rank(board)])
        if self._callback is not None:
            self._callback(tiles, out)
        if discounts_states(game, self.objective):
            out = discounted(self.objective, out, self.backup.won)
        self.store.put(f"states-{group}", out, self._readers_of_states(group, total))

    def _merges(self, group: int, target: int) -> np.uint64:
        """Return the merges that lead from a group to another, as the kernel counts them."""
        made = found = 0
        before, after = self._tiles(group), self._tiles(target)
        for e, (old, new) in enumerate(zip(before, after, strict=True), 1):
            made = (old + made - new) // 2  # merges of two tiles 2**e
            found += made << int(self._width) * e
        return np.uint64(found)

    def _scratch(self) -> Array:
        """Return what a kernel works in."""
        return np.empty((3, self.game.cells), dtype=np.int64)

    def _readers_of_states(self, group: int, total: int) -> int:
        """Return from how many groups of afterstates spawns lead to this one."""
        found = 0
        for e, below in zip(self._exponents, self._below, strict=True):
            before = total - (1 << e)
            found += below[group] >= 0 and before >= self._first and not self.game.ended(before)
        return found


def _share(pool: Pool, do: Callable[[int, int], None], size: int) -> None:
    """Do a step for all boards of a group, shared out over threads."""

    def job(begin: int) -> None:
        do(begin, min(begin + JOB, size))

    if size <= JOB:
        do(0, size)
    else:
        for _ in pool.map(job, range(0, size, JOB)):
            pass


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
