"""Tables of half boards: what each slide makes of every filling of a half.

``table[d, n]`` holds what slide d makes of half n:

    bits  0..19   position of the second part in its class
    bits 20..39   position of the first
    bits 40..55   class of the first; the sum of both is kept, so it gives that of the second
    bit  60       the x of the half leave the mask: the slide is not allowed, even if it makes the goal
    bit  61       something moved
    bit  62, 63   a tile of the goal is made; a limit is broken

Parts, classes and positions are those of `_kernels.dense`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tilebase._kernels.arguments import Array
from tilebase._kernels.jit import kernel, scalar
from tilebase._kernels.scalar import U0

BARRED = np.uint64(1 << 60)
MOVED = np.uint64(1 << 61)
WIN = np.uint64(1 << 62)
FORBIDDEN = np.uint64(1 << 63)
ENDS = WIN | FORBIDDEN
NUMBER = np.uint64((1 << 61) - 1)
"""The bits of an entry that name the half, after `bits.number_targets`."""
ILLEGAL, WON = -1, -2
"""Weights of tiles that may not be on a cell, and of those that win there."""
POSITION = np.uint64((1 << 20) - 1)
NO_FILLING = np.int64(0xFFFF_FFFF)
CLASS = np.uint64((1 << 16) - 1)
U20, U40 = np.uint64(20), np.uint64(40)


class Fillings(NamedTuple):
    """The fillings of a part, for the tables of slides."""

    cells: Array  # uint8: cells[g, i] is the code of the tile that filling g has on the i-th cell
    of_number: Array  # uint32: of_number[n] is the filling whose digits make the number n, or NO_FILLING
    classes: Array  # uint16: classes[g] is the class of filling g
    starts: Array  # int64: starts[k] is the first filling of class k


class Lines(NamedTuple):
    """How one slide acts on the cells of a half, those of the first part before those of the second."""

    lines: Array  # int64: lines[l, i] is the i-th cell of line l, from where tiles slide to
    blocked: Array  # bool: blocked[cell] says that tiles stop before the cell: a wall
    weights: Array  # int64: weights[cell, code] is what a tile adds to a filling's number, or ILLEGAL or WON
    mask: np.uint64  # bit i is set if the i-th cell must hold an x


@scalar
def _slide_cells(board, line, blocked, x, worths):
    """Slide the cells of a line towards its first; return what merges add and the largest tile made.

    ``worths[e]`` is what a merge adds that makes the exponent e.
    """
    put = 0  # the position in the line where the next tile comes to lie
    last: Any = 0  # the tile before it, if that can still merge
    earned: Any = 0
    largest: Any = 0
    for k in range(len(line)):
        cell = line[k]
        tile = np.int64(board[cell])
        # A wall: tiles behind it stop at the next cell.
        if blocked[cell]:
            put = k + 1
            last = 0
        elif tile:
            board[cell] = 0
            # A merge makes the next exponent; the code of x is none, so the one after that stands for it.
            if tile == last and tile != x:
                board[line[put - 1]] = tile + 1 if tile + 1 != x else tile + 2
                earned += worths[tile + 1]
                largest = max(largest, tile + 1)
                last = 0
            else:
                board[line[put]] = tile
                put += 1
                last = tile
    return earned, largest


@kernel()
def tabulate(begin, end, first, second, slide, firsts, x, goal, worths, board, out, out_earned):
    """Fill the rows [begin, end) of a table of halves, and of what merges add, if that has columns.

    Halves beyond the end of the table are left out.

    `first` and `second` are `Fillings`, `slide` is `Lines`.  `goal` is an exponent, 0 for none; `worths`
    are those of `_slide_cells`; `board` is a scratch buffer for the cells.
    """
    cells0, cells1 = first.cells.shape[1], second.cells.shape[1]
    weights = slide.weights
    for g in range(begin, end):
        kx = np.int64(first.classes[g])
        for h in range(len(second.cells)):
            ky = np.int64(second.classes[h])
            wide = second.starts[ky + 1] - second.starts[ky]
            n = firsts[kx, ky] + (g - first.starts[kx]) * wide + h - second.starts[ky]
            if n >= len(out):
                continue
            # n is the number of the half.  These are its cells, before and then after the slide.
            for cell in range(cells0):
                board[cell] = first.cells[g, cell]
            for cell in range(cells1):
                board[cells0 + cell] = second.cells[h, cell]
            earned, largest = 0, 0
            for line in slide.lines:
                more, tile = _slide_cells(board, line, slide.blocked, x, worths)
                earned += more
                largest = max(largest, tile)
            # The numbers of both fillings, if all tiles are allowed where they are, and the cells with x.
            number0, number1, x_cells = 0, 0, U0
            sound, won = True, False
            for cell in range(cells0):
                sound &= weights[cell, board[cell]] >= 0
                number0 += weights[cell, board[cell]]
            for cell in range(cells0, cells0 + cells1):
                sound &= weights[cell, board[cell]] >= 0
                number1 += weights[cell, board[cell]]
            for cell in range(cells0 + cells1):
                won |= weights[cell, board[cell]] == WON
                x_cells |= np.uint64(board[cell] == x) << np.uint64(cell)
            # The entry.  The mask comes before the goal, and the goal before limits: a slide that makes the
            # goal wins whatever limit it breaks.
            entry, to0, to1 = FORBIDDEN, NO_FILLING, NO_FILLING
            if sound:
                to0, to1 = np.int64(first.of_number[number0]), np.int64(second.of_number[number1])
            if x_cells & slide.mask != slide.mask:
                entry = FORBIDDEN | BARRED
            elif (goal and largest >= goal) or won:
                entry = WIN | MOVED
            elif to0 != NO_FILLING and to1 != NO_FILLING:
                k0, k1 = np.int64(first.classes[to0]), np.int64(second.classes[to1])
                entry = np.uint64(to1 - second.starts[k1]) | np.uint64(to0 - first.starts[k0]) << U20
                entry |= np.uint64(k0) << U40
                if to0 != g or to1 != h:
                    entry |= MOVED
            out[n] = entry
            if len(out_earned):
                out_earned[n] = earned
