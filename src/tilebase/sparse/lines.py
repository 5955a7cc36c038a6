"""What slides of lines add to the numbers of half boards, for games whose slides are judged line by line.

`_kernels.lines` says how words add up.  Such a game has no symmetries, so each board is its own canonical
form.  It has at most one mask, and at most one pattern of several tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tilebase._kernels import lines as kernels
from tilebase._kernels.arguments import Array, BoardRules
from tilebase.game.game import Cells, Game


class LineTables(NamedTuple):
    """The tables that all layers share; `Ranking` says what they hold.  Empty for other games."""

    lines: Array
    begins: Array
    cells: Array


NO_LINES = LineTables(
    np.zeros(0, dtype=np.uint64), np.zeros((1, kernels.MOST_LINES), dtype=np.uint64),
    np.zeros(0, dtype=np.uint64),
)  # fmt: skip


def judged_by_line(game: Game, rules: BoardRules) -> bool:
    """Return whether the lines of a board alone say what its slides are, without symmetries."""
    axes, axis = rules.axes, slice(rules.dimensions)
    return (
        rules.order == 1
        and bool(axes.by_pair[axis].all())
        and int(axes.lines[axis].max()) <= kernels.MOST_LINES
        and len(rules.patterns) <= 1
        and len(game.masks) <= 1
    )


def line_tables(
    game: Game, rules: BoardRules, codes: Sequence[Sequence[int]], strides: Sequence[int]
) -> LineTables:
    """Return the tables of a game whose slides are judged line by line.

    ``codes[c]`` are the codes that cell c may hold, ascending; ``strides[c]`` is what the next one of them
    adds to the word of a board.
    """
    kernels.add_lines.want()
    shape = game.cells, 1 << game.bits
    words, fits = np.zeros(shape, dtype=np.uint64), np.zeros(shape, dtype=bool)
    for cell, (own, stride) in enumerate(zip(codes, strides, strict=True)):
        words[cell, list(own)] = np.arange(len(own), dtype=np.uint64) * np.uint64(stride)
        fits[cell, list(own)] = True
    tables, end = [np.zeros(2, dtype=np.uint64)], 2  # lines that do not exist are empty: they add nothing
    begins = np.zeros((rules.dimensions, kernels.MOST_LINES), dtype=np.uint64)
    judged = Judged(words, fits, _winning(game, rules), _pattern(game, rules))
    for axis, direction in enumerate(game.directions[::2]):
        lines = game.grid.lines[direction]
        parts = sum(any(cell in judged.pattern for cell in line) for line in lines)
        for k, cells in enumerate(reversed(lines)):
            pairs = rules.axes.pairs[axis][int(rules.axes.begins[axis, k]) :]
            tables.append(_line_table(game, cells, pairs, codes, judged, parts))
            begins[axis, k] = end
            end += len(tables[-1])
    steps = np.zeros(64, dtype=np.uint64)
    steps[[game.bits * (game.cells - 1 - cell) for cell in range(game.cells)]] = strides
    return LineTables(np.concatenate(tables), begins, steps)


class Judged(NamedTuple):
    """What a tile means on a cell: arrays by cell and code."""

    words: Array  # what it adds to the word of a board
    fits: Array  # whether it is within the limit
    wins: Array  # whether it wins
    pattern: dict[int, int]  # by cell: the tile of the pattern


def _winning(game: Game, rules: BoardRules) -> Array:
    """Return for each cell and code whether this tile wins there."""
    wins = np.zeros((game.cells, 1 << game.bits), dtype=bool)
    for tile, cells in rules.spots.tolist():
        for cell in range(game.cells):
            wins[cell, tile & game.x] |= bool(cells >> game.bits * (game.cells - 1 - cell) & 1)
    return wins


def _pattern(game: Game, rules: BoardRules) -> dict[int, int]:
    """Return the tiles of the pattern by cell; nothing without a pattern."""
    shifts = {cell: game.bits * (game.cells - 1 - cell) for cell in range(game.cells)}
    return {
        cell: held >> shift & game.x
        for mask, held in rules.patterns.tolist()
        for cell, shift in shifts.items()
        if mask >> shift & game.x
    }


def _line_table(
    game: Game, cells: Cells, pairs: Array, codes: Sequence[Sequence[int]], judged: Judged, parts: int
) -> Array:
    """Return the table of one line: the words of both slides of each filling, zeros elsewhere.

    `parts`: how many lines along the axis have cells of the pattern.
    """
    shifts = [game.bits * (len(cells) - 1 - i) for i in range(len(cells))]
    fillings = np.zeros(1, dtype=np.int64)
    for cell, shift in zip(cells, shifts, strict=True):
        fillings = (fillings[:, None] | np.array(codes[cell], dtype=np.int64) << shift).ravel()
    width = game.bits * len(cells)
    standing = [cell in game.masks[0] if game.masks else False for cell in cells]
    part = kernels.HELD * -(-8 // parts) if any(cell in judged.pattern for cell in cells) else 0
    table = np.zeros((1 << width, 2), dtype=np.uint64)
    both = pairs[fillings].astype(np.int64)
    for end, slid in enumerate((both & (1 << width) - 1, both >> width)):
        word = np.where(slid == fillings, 0, kernels.CHANGED).astype(np.uint64)
        moved, broken, won = np.zeros((3, len(fillings)), dtype=bool)
        holds = np.ones(len(fillings), dtype=bool)
        for cell, shift, stands in zip(cells, shifts, standing, strict=True):
            tiles = slid >> shift & game.x
            word += judged.words[cell, tiles]
            moved |= stands & (tiles != game.x)
            broken |= ~judged.fits[cell, tiles]
            won |= judged.wins[cell, tiles]
            holds &= tiles == judged.pattern.get(cell, tiles)
        for value, these in (
            (kernels.MOVED, moved), (kernels.BROKEN, broken), (part, holds), (kernels.WINS, won),
        ):  # fmt: skip
            word += np.uint64(value) * these
        table[fillings, end] = word
    return table.reshape(-1)
