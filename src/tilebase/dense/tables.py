"""The tables and tasks of the dense passes (`tilebase.dense.passes`).

Sums are counted in units of 2, as all tiles are even.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tilebase._kernels import dense as kernels
from tilebase._kernels import halves
from tilebase.dense.index import NO_FILLING, Part, PerfectIndex
from tilebase.dense.sizes import MAPPED, check_index, directions, half_begins, patterns_of
from tilebase.dense.steps import Step
from tilebase.game.game import Game
from tilebase.game.notation import Pattern
from tilebase.objectives.objective import merge_worth
from tilebase.runtime.storage import mapped_memory
from tilebase.runtime.threads import Pool

Array = npt.NDArray[Any]

JOB_BOARDS = 1 << 19
"""Boards per job, if the top or left halves can be divided so finely."""
PIECE = 1 << 18
"""Boards that are listed at once, about."""
TABLE_ROWS = 64
"""Rows of a table of half boards that one job fills."""


def half_tables(
    index: PerfectIndex, numbers: tuple[int, int], parts: Sequence[kernels.Part], directions: list[str],
    merge: str, folder: Path | None = None,
) -> tuple[kernels.Half, list[Callable[[], None]]]:  # fmt: skip
    """Return the slides within a half of the board: A and B, or C and D, or A and C, or B and D.

    Second, the calls that fill its tables, which are empty; any thread may make one.  `merge` is that of the
    objective's meaning: what merges add, if anything.
    """
    game = index.game
    first, second = (index.parts[k] for k in numbers)
    cells = first.cells + second.cells
    blocked = np.array([cell in game.walls for cell in cells], dtype=bool)
    weights = weights_of(first, second)
    # The cells of the mask in this half, as bits of their positions.
    mask = np.uint64(sum(1 << k for k, cell in enumerate(cells) if cell in game.held))
    slides = [
        halves.Lines(_local_lines(game, cells, direction), blocked, weights, mask) for direction in directions
    ]
    fillings = [
        halves.Fillings(part.fillings, part.index_of, classes_of(part), part.starts)
        for part in (first, second)
    ]
    worths = np.array([merge_worth(merge, e) for e in range(game.x + 2)], dtype=np.int64)
    begins = half_begins(index, first, second)
    count = int(begins[-1])
    half = kernels.Half(
        *(parts[k] for k in numbers),
        firsts=first_halves(first, second),
        begins=begins,
        table=_table((len(directions), count), folder),
        earned=np.zeros((len(directions), count if merge else 0), dtype=np.int32),
    )

    def fill(d: int, begin: int, end: int) -> None:
        board = np.empty(len(cells), dtype=np.uint8)
        halves.tabulate(
            begin, end, *fillings, slides[d], half.firsts, game.x_code, game.goal_exponent or 0, worths,
            board, half.table[d], half.earned[d],
        )  # fmt: skip

    rows = len(first)
    pieces = [(row, min(row + TABLE_ROWS, rows)) for row in range(0, rows, TABLE_ROWS)]
    return half, [partial(fill, d, *piece) for d in range(len(directions)) for piece in pieces]


def _table(shape: tuple[int, int], folder: Path | None) -> Array:
    """Return an empty table, in memory or, if it is large and there is a folder, in a file."""
    size = 8 * shape[0] * shape[1]
    if folder is None or size < MAPPED:
        return np.zeros(shape, dtype=np.uint64)
    return np.frombuffer(mapped_memory(folder, size), dtype=np.uint64).reshape(shape)


def _local_lines(game: Game, cells: tuple[int, ...], direction: str) -> Array:
    """Return the lines of a slide within some cells, as their positions among these."""
    local = {cell: position for position, cell in enumerate(cells)}
    lines = [[local[cell] for cell in line] for line in game.grid.lines[direction] if line[0] in local]
    return np.array(lines, dtype=np.int64).reshape(-1, len(game.grid.lines[direction][0]))


def weights_of(*parts: Part) -> Array:
    """What each tile on each cell of some parts adds to the number of its part's filling.

    `halves.WON` if the tile wins there, `halves.ILLEGAL` if it may not be there.
    """
    places = [(part, position) for part in parts for position in range(len(part.cells))]
    weights = np.full((len(places), 256), halves.ILLEGAL, dtype=np.int64)
    for row, (part, position) in zip(weights, places, strict=True):
        codes = part.codes[position]
        row[list(codes)] = prod(part.radix[position + 1 :]) * np.arange(len(codes))
        row[list(part.won[position])] = halves.WON
    return weights


def first_halves(first: Part, second: Part) -> Array:
    """Where the half boards begin whose parts have two classes: by sum, then by class of the first part."""
    sums = (first.sums[:, None] + second.sums).ravel()
    sizes = (first.counts[:, None] * second.counts).ravel()
    order = np.argsort(sums, kind="stable")
    firsts = np.empty(len(sums), dtype=np.int64)
    firsts[order] = np.cumsum(sizes[order]) - sizes[order]
    return firsts.reshape(len(first.sums), len(second.sums))


def classes_of(part: Part) -> Array:
    """Return the class of each filling."""
    return np.repeat(np.arange(len(part.sums), dtype=np.uint16), part.counts)


AllSpawns = tuple[kernels.Spawns, kernels.Spawns, kernels.Spawns, kernels.Spawns]
"""The spawns of one exponent in A, B, C and D."""


class Side(NamedTuple):
    """Two halves of the board, and the slides that keep the sums of both."""

    outer: kernels.Half  # the top half, or the left one
    inner: kernels.Half  # the bottom half, or the right one


class Folding(NamedTuple):
    """What afterstates are folded with."""

    parts: tuple[kernels.Part, ...]
    spawns: dict[int, AllSpawns]  # for each exponent, its spawns in each part


class DenseRules:
    """A game compiled to what the kernels of the dense passes take.  Raises as `check_index` does.

    Attributes
    ----------
    parts:
        The parts A, B, C and D.
    rows, columns:
        The top and the bottom half with slides along rows, the left and the right with those along columns.
    folding, ended:
        What afterstates are folded with below the horizon, and from there on, where nothing is spawned.

    The largest tables of half boards lie in `folder`, if there is no memory for them.
    """

    def __init__(self, index: PerfectIndex, pool: Pool, *, merge: str, folder: Path | None = None) -> None:
        game = index.game
        self.game, self.index = game, index
        check_index(index)
        fits = masks(game, index.parts, index.patterns)
        self.patterns = len(patterns_of(index.patterns, [part.cells for part in index.parts]))
        self.parts = tuple(
            kernel_part(part, marks, free_cells(game, part))
            for part, marks in zip(index.parts, fits, strict=True)
        )
        rows, columns = directions(index)
        tables = [
            half_tables(index, numbers, self.parts, slides, merge, folder)
            for numbers, slides in (((0, 1), rows), ((2, 3), rows), ((0, 2), columns), ((1, 3), columns))
        ]
        for _ in pool.map(lambda job: job(), [job for _, jobs in tables for job in jobs]):
            pass
        top, bottom, left, right = (half for half, _ in tables)
        self.rows, self.columns = Side(top, bottom), Side(left, right)
        self.folding = Folding(self.parts, {e: _all_spawns(index, e) for e in game.spawn_exponents})
        # No cell is free, and nothing is spawned: an afterstate is worth nothing unless it is won.
        self.ended = Folding(
            tuple(part._replace(free=np.zeros_like(part.free)) for part in self.parts),
            {e: _no_spawns(spawns) for e, spawns in self.folding.spawns.items()},
        )

    def side(self, step: Step) -> Side:
        """Return the half boards for the slides of a step."""
        return self.columns if step is Step.COLUMNS else self.rows


def _no_spawns(spawns: AllSpawns) -> AllSpawns:
    a, b, c, d = (
        kernels.Spawns(
            np.zeros_like(one.start), one.target[:0].copy(), one.source[:0].copy(),
            np.full_like(one.classes, -1),
        )
        for one in spawns
    )  # fmt: skip
    return a, b, c, d


def _all_spawns(index: PerfectIndex, exponent: int) -> AllSpawns:
    a, b, c, d = (spawns(index.game, part, exponent) for part in index.parts)
    return a, b, c, d


def kernel_part(part: Part, marks: Array, free: Array) -> kernels.Part:
    """Return a part as kernels take it, with the results of `masks` and `free_cells`."""
    return kernels.Part(part.starts, part.sums, part.class_of, part.counts, free, marks)


def free_cells(game: Game, part: Part) -> Array:
    """Return the number of empty cells of each filling, walls aside."""
    open_cells = [position for position, cell in enumerate(part.cells) if cell not in game.walls]
    return (part.fillings[:, open_cells] == 0).sum(axis=1).astype(np.uint8)


def tops(game: Game, part: Part) -> Array:
    """Return the largest exponent of each filling, x aside (uint8)."""
    cells = part.fillings if not game.unmergeable else np.where(part.fillings == game.x, 0, part.fillings)
    return cells.max(axis=1, initial=0).astype(np.uint8)


def masks(
    game: Game, parts: Sequence[Part], patterns: Iterable[Pattern], tops: Sequence[int] | None = None
) -> list[Array]:
    """For each part and filling a bit for each pattern that it fits, without a tile above `tops`."""
    found = [np.zeros(len(part), dtype=np.uint64) for part in parts]
    low = [np.ones(len(part), dtype=bool) for part in parts]
    if tops is not None:
        for k, part in enumerate(parts):
            inside = part.fillings <= [tops[cell] for cell in part.cells]
            low[k] = (inside | (part.fillings == game.x) & bool(game.unmergeable)).all(axis=1)
    for bit, pattern in enumerate(patterns_of(patterns, [part.cells for part in parts])):
        for k, (part, conditions) in enumerate(zip(parts, pattern, strict=True)):
            fits = np.zeros(len(part), dtype=bool)
            for held in conditions:
                given = [position for position, code in enumerate(held) if code is not None]
                fits |= (part.fillings[:, given] == [held[position] for position in given]).all(axis=1)
            found[k] |= (fits & low[k]).astype(np.uint64) << np.uint64(bit)
    return found


class Filled:
    """The boards in which cells hold some codes, by sum; cells in a group hold the same."""

    def __init__(self, cells: int, groups: Sequence[tuple[Sequence[int], Sequence[int]]]) -> None:
        """``groups[n]``: the cells of a group, and the codes that they may hold."""
        self._cells, middle = cells, len(groups) // 2
        self._first, self._second = self._listed(groups[:middle]), self._listed(groups[middle:])

    @staticmethod
    def _listed(
        groups: Sequence[tuple[Sequence[int], Sequence[int]]],
    ) -> tuple[list[Sequence[int]], Array, Array]:
        """Return the cells of some groups, all that these may hold, and its sums, ascending."""
        grid = np.meshgrid(*(np.array(codes, dtype=np.uint8) for _, codes in groups), indexing="ij")
        codes = np.array(grid, dtype=np.uint8).reshape(len(groups), -1 if groups else 1).T
        tiles = np.where(codes > 0, 1 << codes.astype(np.int64), 0)
        sums = tiles @ np.array([len(cells) for cells, _ in groups], dtype=np.int64)
        order = np.argsort(sums, kind="stable")
        return [cells for cells, _ in groups], codes[order], sums[order]

    def of_sum(self, total: int) -> Iterator[Array]:
        """Yield the exponents of the boards, uint8[n, cell], piece by piece."""
        (ones, first, sums), (others, second, more) = self._first, self._second
        begins, ends = (np.searchsorted(more, total - sums, side=side) for side in ("left", "right"))
        counts = ends - begins
        pieces = np.flatnonzero(np.diff(np.cumsum(counts) // PIECE)) + 1
        for some in np.split(np.arange(len(first)), pieces):
            one = np.repeat(some, counts[some])
            until = np.cumsum(counts[some])
            other = np.arange(len(one)) + np.repeat(begins[some] + counts[some] - until, counts[some])
            boards = np.empty((len(one), self._cells), dtype=np.uint8)
            for groups, codes in ((ones, first[one]), (others, second[other])):
                for number, cells in enumerate(groups):
                    boards[:, cells] = codes[:, number, None]
            yield boards


def spawns(game: Game, part: Part, exponent: int) -> kernels.Spawns:
    """Return what spawns of an exponent make of each filling."""
    possible = np.flatnonzero(part.index_of != NO_FILLING)
    numbers = np.empty(len(part), dtype=np.int64)
    numbers[part.index_of[possible]] = possible
    fillings, made = [], []
    for position, cell in enumerate(part.cells):
        if cell in game.walls or exponent not in part.codes[position]:
            continue
        step = prod(part.radix[position + 1 :]) * part.codes[position].index(exponent)
        empty = np.flatnonzero(part.fillings[:, position] == 0)
        after = part.index_of[numbers[empty] + step]
        fillings.append(empty[after != NO_FILLING])
        made.append(after[after != NO_FILLING].astype(np.int64))
    found = np.concatenate([np.empty(0, np.int64), *fillings])
    order = np.argsort(found, kind="stable")
    found, to = found[order], np.concatenate([np.empty(0, np.int64), *made])[order]
    start = np.concatenate([[0], np.cumsum(np.bincount(found, minlength=len(part)))]).astype(np.int64)
    above = part.sums + (1 << exponent - 1)
    inside = above < len(part.class_of)
    of = classes_of(part).astype(np.int64)
    return kernels.Spawns(
        start,
        target=(to - part.starts[of[to]]).astype(np.uint32),
        source=(found - part.starts[of[found]]).astype(np.uint32),
        classes=np.where(inside, part.class_of[np.where(inside, above, 0)], -1).astype(np.int64),
    )


def tasks(index: PerfectIndex, sizes: Array, by_columns: bool) -> list[Array]:
    """Return the outer halves of a layer as jobs of about `JOB_BOARDS`, in the order of their blocks.

    ``sizes`` are those of `PerfectIndex.block_sizes`, 0 for blocks to be left out.  A job is rows of
    classes of both parts and a range of positions of the first.
    """
    a, b, c, _ = index.parts
    shape = (len(a.sums), len(b.sums), len(c.sums))
    cube = np.zeros(len(sizes), dtype=np.int64)
    cube[index.order] = sizes
    work = cube.reshape(shape).sum(axis=1 if by_columns else 2)
    first, second = np.nonzero(work)
    # By the sum of the outer half, whose second part is C or B.
    order = np.argsort(a.sums[first] + (c if by_columns else b).sums[second], kind="stable")
    jobs: list[list[tuple[int, int, int, int]]] = []
    gathered = JOB_BOARDS
    for k in order:
        x, y = int(first[k]), int(second[k])
        count, total = int(a.counts[x]), int(work[x, y])
        step = max(1, min(count, JOB_BOARDS * count // total))
        for begin in range(0, count, step):
            if gathered >= JOB_BOARDS:
                jobs.append([])
                gathered = 0
            end = min(begin + step, count)
            jobs[-1].append((x, y, begin, end))
            gathered += total * (end - begin) // count
    return [np.array(rows, dtype=np.int64) for rows in jobs]
