"""Kernels of the forward search: which states can be after a state, on boards of any size.

States are packed, and kept in hash tables, as in `unslide`.
"""

from __future__ import annotations

from tilebase._kernels.jit import kernel, scalar
from tilebase._kernels.unslide import copy, insert, pack_canonical, unpack

FREE = 255
"""In `kept`: the cell may change."""


@scalar
def slide(board, d, boards, after):
    """Write the board after a slide; return whether it moves something and makes no tile above all values."""
    moved = False
    for i in range(boards.lines[d]):
        # `tiles` of the line are put so far; the last of them is `waiting` if it can still merge.
        tiles, waiting = 0, 0
        for j in range(boards.length[d]):
            value = board[boards.cell[d, i, j]]
            if not value:
                continue
            if value == waiting:
                if value + 1 == boards.base:
                    return False
                after[boards.cell[d, i, tiles - 1]] = value + 1
                waiting = 0
                moved = True
            else:
                after[boards.cell[d, i, tiles]] = value
                moved |= tiles != j
                tiles += 1
                waiting = value
        # The rest of the line is empty.
        for j in range(tiles, boards.length[d]):
            after[boards.cell[d, i, j]] = 0
    return moved


@scalar
def is_allowed(board, kept, largest, most):
    """Return whether kept cells have their tiles, and at most `most` tiles have the largest value."""
    count = 0
    for k in range(len(board)):
        if kept[k] != FREE and board[k] != kept[k]:
            return False
        count += board[k] == largest
    return count <= most


@scalar
def equal_pairs(board, boards):
    """Count the pairs of equal neighbours of a board: of the value 1, and of others."""
    ones, others = 0, 0
    # Directions 0 and 2: each line once.
    for d in range(0, 4, 2):
        for i in range(boards.lines[d]):
            for j in range(1, boards.length[d]):
                value = board[boards.cell[d, i, j]]
                if value and value == board[boards.cell[d, i, j - 1]]:
                    ones += value == 1
                    others += value != 1
    return ones, others


@scalar
def has_pairs(board, boards):
    """Return whether two neighbours are equal."""
    ones, others = equal_pairs(board, boards)
    return ones + others > 0


@kernel()
def advance(keys, begin, end, boards, kept, most, dead, table, used, goal, scratch):
    """Insert the states after each of ``keys[begin:end]`` into a table; ``used[0]`` counts its boards.

    `kept` has the value that a cell must have after each slide, or `FREE`.  At most `most` tiles have the
    largest value.  If a state is full (with `dead`: and without equal neighbours), it is copied to `goal`.
    Returns where it stopped: before the end if the table is nearly half full or a goal was found.
    """
    after = scratch.before
    for n in range(begin, end):
        if 2 * used[0] + 16 * len(after) > len(table):
            return n
        unpack(keys[n], boards.bits, scratch.state)
        # Each slide that changes the board and keeps what must be kept.
        for d in range(4):
            if not slide(scratch.state, d, boards, after):
                continue
            if not is_allowed(after, kept, boards.base - 1, most):
                continue
            empty = 0
            for k in range(len(after)):
                empty += after[k] == 0
            # A drop of a 2 on each empty cell; the last empty cell may end the search.
            for k in range(len(after)):
                if after[k]:
                    continue
                after[k] = 1
                pack_canonical(after, boards, scratch.words)
                used[0] += insert(scratch.words[0], table)
                if empty == 1 and (not dead or not has_pairs(after, boards)):
                    copy(scratch.words[0], goal)
                    return n
                after[k] = 0
    return end


@kernel()
def count_pairs(keys, boards, scratch, out):
    """Write for each state a penalty for equal neighbours: 1 for a pair of 1s, 2 for another pair."""
    for n in range(len(keys)):
        unpack(keys[n], boards.bits, scratch.state)
        ones, others = equal_pairs(scratch.state, boards)
        out[n] = ones + 2 * others


@kernel()
def find_source(keys, boards, target, scratch):
    """Find the first state that a slide and a drop turn into a packed board; -1 if there is none."""
    after = scratch.before
    for n in range(len(keys)):
        unpack(keys[n], boards.bits, scratch.state)
        # The same slides and drops as in `advance`, until one makes an image of the target.
        for d in range(4):
            if not slide(scratch.state, d, boards, after):
                continue
            for k in range(len(after)):
                if after[k]:
                    continue
                after[k] = 1
                pack_canonical(after, boards, scratch.words)
                after[k] = 0
                same = True
                for w in range(len(target)):
                    same &= scratch.words[0, w] == target[w]
                if same:
                    return n
    return -1
