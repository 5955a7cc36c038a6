"""Kernels that play games whose boards have a byte for each cell, as `play` does with packed boards.

A game of both draws the same numbers from its stream, so that it takes the same course.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilebase._kernels.jit import kernel, scalar
from tilebase._kernels.play import GOING, LOST, U32, WON, draw, draw_start
from tilebase._kernels.scalar import U1


class WideRules(NamedTuple):
    """The slides of a game, what chance decides, and what slides earn."""

    lines: npt.NDArray[np.int64]  # lines[a, l]: the cells of a line as action a slides them, then -1
    enters: npt.NDArray[np.bool_]  # enters[c]: whether tiles may enter cell c
    goal: np.int64  # the exponent of the goal
    four: np.uint64  # 2**63 times the probability of a 4
    starts: npt.NDArray[np.uint8]  # starts[s]: the boards that a game begins with
    below: npt.NDArray[np.uint64]  # below[s]: 2**63 times the probability of start s or one before it
    worth: npt.NDArray[np.float64]  # worth[e]: what a merge earns that makes a tile
    bonus: npt.NDArray[np.float64]  # the rewards of a slide and of a win


@scalar
def _slide(board, lines, worth):
    """Slide a board along lines; return what merges earn, and the largest exponent that they make."""
    earned, made = 0.0, np.int64(0)
    for row in range(len(lines)):
        tiles, last = 0, np.int64(0)  # last: the exponent of the last of these tiles if it may merge
        for k in range(lines.shape[1]):
            cell = lines[row, k]
            if cell < 0:
                break
            exponent = np.int64(board[cell])
            if not exponent:
                continue
            board[cell] = 0
            if exponent == last:
                board[lines[row, tiles - 1]] = exponent + 1
                earned += worth[exponent + 1]
                if exponent >= made:
                    made = exponent + 1
                last = np.int64(0)
            else:
                board[lines[row, tiles]] = exponent
                tiles += 1
                last = exponent
    return earned, made


@scalar
def _is_allowed(board, lines):
    """Return whether a slide along lines changes the board."""
    for row in range(len(lines)):
        last, gap = np.int64(0), False
        for k in range(lines.shape[1]):
            cell = lines[row, k]
            if cell < 0:
                break
            exponent = np.int64(board[cell])
            if exponent and (gap or exponent == last):
                return True
            gap |= exponent == 0
            last = exponent
    return False


@scalar
def _spawn(board, streams, i, enters, four):
    """Spawn a tile on a board that has an empty cell."""
    empty = 0
    for cell in range(len(board)):
        empty += enters[cell] and board[cell] == 0
    # Cells are counted from the last, as in a packed board.
    left = np.int64((draw(streams, i) >> U32) * np.uint64(empty) >> U32)
    cell = len(board) - 1
    while left or not enters[cell] or board[cell]:
        left -= enters[cell] and board[cell] == 0
        cell -= 1
    board[cell] = 2 if draw(streams, i) >> U1 < four else 1


@kernel()
def begin_wide(boards, which, streams, rules):
    """Begin the games i with ``which[i]``; return how many."""
    count = 0
    for i in range(len(boards)):
        if which[i]:
            start = draw_start(streams, i, rules.below)
            for cell in range(boards.shape[1]):
                boards[i, cell] = rules.starts[start, cell]
            count += 1
    return count


@kernel()
def play_wide(boards, allowed, which, actions, ends, streams, rules, out_standing, out_rewards, out_refused):
    """Slide and spawn in the games i with ``which[i]`` that go on; return how many slid.

    `allowed` is that of `look_ahead_wide`.  If `ends`, a slide that is not allowed ends the game.
    """
    count = 0
    for i in range(len(boards)):
        out_rewards[i] = 0.0
        out_refused[i] = False
        if not which[i] or out_standing[i] != GOING:
            continue
        if not allowed[i, actions[i]]:
            out_refused[i] = True
            if ends:
                out_standing[i] = LOST
            continue
        count += 1
        earned, made = _slide(boards[i], rules.lines[actions[i]], rules.worth)
        out_rewards[i] = rules.bonus[0] + earned
        if made >= rules.goal:
            out_standing[i] = WON
            out_rewards[i] += rules.bonus[1]
        else:
            _spawn(boards[i], streams, i, rules.enters, rules.four)
    return count


@kernel()
def look_ahead_wide(boards, rules, out_standing, out_allowed):
    """Say which slides are allowed, and which games have ended; return how many games go on."""
    count = 0
    for i in range(len(boards)):
        some = False
        for action in range(out_allowed.shape[1]):
            may = out_standing[i] == GOING and _is_allowed(boards[i], rules.lines[action])
            out_allowed[i, action] = may
            some |= may
        if out_standing[i] == GOING and not some:
            out_standing[i] = LOST
        count += out_standing[i] == GOING
    return count
