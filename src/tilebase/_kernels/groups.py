"""Kernels of the pass by groups (`tilebase.dense.groups`): boards with the same tiles, and their ranks.

A board is one code per cell: 0 for an empty cell or a wall, else an exponent.  What is left to arrange on the
cells that follow is a *state*, a number: it begins as all tiles of the group, and each cell takes one code
away.  So the rank of a board is a sum along a path through a table, with a look-up for each cell.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tilebase._kernels.backup import combine, maximum, settled
from tilebase._kernels.jit import kernel, scalar
from tilebase._kernels.scalar import U0, U1

Array = npt.NDArray[Any]


class Ranked(NamedTuple):
    """The boards of a group: all arrangements of its tiles that the cells allow, in order."""

    before: Array  # int64: before[s, c] arrangements of state s hold a smaller code than c on the next cell
    after: Array  # int32: after[s, c] is the state once the next cell holds code c; -1 if it cannot


@scalar
def _rank(cells, ranked):
    """Return the rank of a board, -1 if it is not in the group."""
    state, rank = np.int64(len(ranked.after) - 1), np.int64(0)
    for i in range(len(cells)):
        code = np.int64(cells[i])
        if code >= ranked.after.shape[1]:
            return np.int64(-1)
        rank += ranked.before[state, code]
        state = np.int64(ranked.after[state, code])
        if state < 0:
            return np.int64(-1)
    return rank


@scalar
def _first_board(rank, ranked, out_states, out_cells):
    """Write the board with a rank, and the state in front of each cell."""
    state = np.int64(len(ranked.after) - 1)
    for i in range(len(out_cells)):
        out_states[i] = state
        code = np.int64(0)
        for c in range(ranked.after.shape[1]):
            if ranked.after[state, c] >= 0 and ranked.before[state, c] <= rank:
                code = np.int64(c)
        rank -= ranked.before[state, code]
        state = np.int64(ranked.after[state, code])
        out_cells[i] = code


@scalar
def _next_code(ranked, state, code):
    """Return the least code from `code` on that the next cell may hold, or how many codes there are."""
    while code < ranked.after.shape[1] and ranked.after[state, code] < 0:
        code += 1
    return code


@scalar
def _next_board(ranked, states, cells):
    """Turn a board into the one with the next rank; the last one of the group becomes no board."""
    i, codes = len(cells) - 1, ranked.after.shape[1]
    code = _next_code(ranked, states[i], cells[i] + 1)
    while code == codes and i > 0:
        i -= 1
        code = _next_code(ranked, states[i], cells[i] + 1)
    if code < codes:
        cells[i] = code
        for k in range(i + 1, len(cells)):
            states[k] = ranked.after[states[k - 1], cells[k - 1]]
            cells[k] = _next_code(ranked, states[k], 0)


@scalar
def _holds_one(cells, patterns):
    """Return whether a board holds one of the patterns, in which -1 is any code."""
    for p in range(len(patterns)):
        held = True
        for i in range(len(cells)):
            held &= patterns[p, i] < 0 or patterns[p, i] == cells[i]
        if held:
            return True
    return False


@kernel()
def fold_spawns(
    begin, end, group, ups, exponents, spots, adds, spawns, finish, start, won, patterns, scratch, out
):
    """Write the values of the afterstates of a group with the ranks from `begin` to `end`: folds over spawns.

    `out` has the values of these ranks alone.
    For two exponents, the larger first: ``ups[k]`` is the group with one more tile of the k-th and the values
    of its states, ``spots[k]`` lists the cells on which it is spawned, in the order in which values are
    combined, and ``adds[k]`` is a tuple of `backup`; a list without cells spawns nothing.  Each board has as
    many `spawns` of an exponent.  `finish` is a tuple of `backup`; accumulators begin with `start`.  A board
    that holds a pattern is worth `won`.  The kernel works in the rows of `scratch`.
    """
    states, cells = scratch[0], scratch[1]
    (first, first_values), (second, second_values) = ups
    _first_board(begin, group, states, cells)
    for rank in range(begin, end):
        low, high = start, start
        for k in range(len(spots[0])):
            if cells[spots[0][k]] == 0:
                cells[spots[0][k]] = exponents[0]
                low = combine(low, first_values[_rank(cells, first)], adds[0])
                cells[spots[0][k]] = 0
        for k in range(len(spots[1])):
            if cells[spots[1][k]] == 0:
                cells[spots[1][k]] = exponents[1]
                high = combine(high, second_values[_rank(cells, second)], adds[1])
                cells[spots[1][k]] = 0
        out[rank - begin] = settled(low, high, spawns, finish, won)
        if len(patterns) and _holds_one(cells, patterns):
            out[rank - begin] = won
        _next_board(group, states, cells)
    return end - begin


@scalar
def _merges(lines, cells, width):
    """Return which tiles a slide along these lines merges: `width` bits with their number for each code."""
    found = U0
    for line in range(len(lines)):
        waits = np.int64(0)
        for k in range(lines.shape[1]):
            if lines[line, k] < 0:
                break
            code = cells[lines[line, k]]
            if code:
                if code == waits:
                    found += U1 << width * np.uint64(code)
                    waits = np.int64(0)
                else:
                    waits = code
    return found


@scalar
def _slide(lines, cells, out_cells):
    """Write a board after a slide; ``lines[i]`` lists cells from the end that tiles move to, then -1.

    Returns whether a tile moves or merges.
    """
    for i in range(len(cells)):
        out_cells[i] = cells[i]
    moved = False
    for line in range(len(lines)):
        to, waits = 0, np.int64(0)
        for k in range(lines.shape[1]):
            if lines[line, k] < 0:
                break
            code = cells[lines[line, k]]
            if code:
                out_cells[lines[line, k]] = 0
                if code == waits:
                    out_cells[lines[line, to - 1]], waits, moved = code + 1, np.int64(0), True
                else:
                    out_cells[lines[line, to]], waits = code, code
                    moved |= to != k
                    to += 1
    return moved


@kernel()
def best_slides(begin, end, group, target, merges, width, afters, ways, goal, won, scratch, out):
    """Let the values of the states of a group be the maximum of themselves and of slides to one group.

    `out` has the values of the ranks from `begin` to `end` alone.
    ``afters[rank]`` are the values of the afterstates of the group `target`, and `merges` of this `width` is
    what leads there, as `_merges` counts it.  ``ways[w]`` are the lines of a direction, as `_slide` takes
    them, opposite directions one after the other.  In the call without merges also slides that make `goal`
    (0: none) count, and are worth `won`.  The kernel works in the rows of `scratch`.
    """
    states, cells, slid = scratch[0], scratch[1], scratch[2]
    wins = width * np.uint64(max(goal, 1) - 1)
    _first_board(begin, group, states, cells)
    for rank in range(begin, end):
        for w in range(0, len(ways), 2):
            made = _merges(ways[w], cells, width)
            if made == merges:
                for k in range(w, w + 2):
                    if _slide(ways[k], cells, slid):
                        at = _rank(slid, target)
                        if at >= 0:
                            out[rank - begin] = maximum(out[rank - begin], afters[at])
            elif merges == U0 and goal and made >> wins:
                out[rank - begin] = maximum(out[rank - begin], won)
        _next_board(group, states, cells)
    return end - begin
