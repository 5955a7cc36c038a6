"""What slides of lines add to the numbers of half boards, for games whose slides are judged line by line.

`_kernels.lines` says how words add up.  Such a game has no symmetries, so each board is its own canonical
form.  It has at most one mask, only tiles that win alone, and no limit that a slide could break.
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
        and not rules.limited
        and not len(rules.patterns)
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
    words = np.zeros((game.cells, 1 << game.bits), dtype=np.uint64)
    for cell, (own, stride) in enumerate(zip(codes, strides, strict=True)):
        words[cell, list(own)] = np.arange(len(own), dtype=np.uint64) * np.uint64(stride)
    wins = _winning(game, rules)
    tables, end = [np.zeros(2, dtype=np.uint64)], 2  # lines that do not exist are empty: they add nothing
    begins = np.zeros((rules.dimensions, kernels.MOST_LINES), dtype=np.uint64)
    for axis, direction in enumerate(game.directions[::2]):
        for k, cells in enumerate(reversed(game.grid.lines[direction])):
            pairs = rules.axes.pairs[axis][int(rules.axes.begins[axis, k]) :]
            tables.append(_line_table(game, cells, pairs, codes, words, wins))
            begins[axis, k] = end
            end += len(tables[-1])
    steps = np.zeros(64, dtype=np.uint64)
    steps[[game.bits * (game.cells - 1 - cell) for cell in range(game.cells)]] = strides
    return LineTables(np.concatenate(tables), begins, steps)


def _winning(game: Game, rules: BoardRules) -> Array:
    """Return for each cell and code whether this tile wins there."""
    wins = np.zeros((game.cells, 1 << game.bits), dtype=bool)
    for tile, cells in rules.spots.tolist():
        for cell in range(game.cells):
            wins[cell, tile & game.x] |= bool(cells >> game.bits * (game.cells - 1 - cell) & 1)
    return wins


def _line_table(
    game: Game, cells: Cells, pairs: Array, codes: Sequence[Sequence[int]], words: Array, wins: Array
) -> Array:
    """Return the table of one line: the words of both slides of each filling, zeros elsewhere."""
    shifts = [game.bits * (len(cells) - 1 - i) for i in range(len(cells))]
    fillings = np.zeros(1, dtype=np.int64)
    for cell, shift in zip(cells, shifts, strict=True):
        fillings = (fillings[:, None] | np.array(codes[cell], dtype=np.int64) << shift).ravel()
    width = game.bits * len(cells)
    standing = [cell in game.masks[0] if game.masks else False for cell in cells]
    table = np.zeros((1 << width, 2), dtype=np.uint64)
    both = pairs[fillings].astype(np.int64)
    for end, slid in enumerate((both & (1 << width) - 1, both >> width)):
        tiles = [slid >> shift & game.x for shift in shifts]
        table[fillings, end] = sum(words[cell, tile] for cell, tile in zip(cells, tiles, strict=True))
        table[fillings, end] += np.uint64(kernels.CHANGED) * (slid != fillings)
        moved = np.zeros(len(fillings), dtype=bool)
        won = np.zeros(len(fillings), dtype=bool)
        for cell, tile, stands in zip(cells, tiles, standing, strict=True):
            moved |= stands & (tile != game.x)
            won |= wins[cell, tile]
        table[fillings, end] += np.uint64(kernels.MOVED) * moved + np.uint64(kernels.WINS) * won
    return table.reshape(-1)
