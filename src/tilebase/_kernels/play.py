"""Kernels that slide boards in all directions at once, and play many games: slide, spawn, begin.

A game draws from a stream of its own: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), whose state is one
word.  So a game does not depend on which others are played beside it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import types

from tilebase._kernels.arguments import BoardRules, Scratch
from tilebase._kernels.boards import permute, slide_states
from tilebase._kernels.jit import WORDS, WORDS_2, N, kernel, linked, scalar
from tilebase._kernels.scalar import U0, U1, free_cells, ones, potential_of, sum_of

REFUSED, ALLOWED, WINS = np.uint8(0), np.uint8(1), np.uint8(2)
"""What a slide is: not allowed; allowed; allowed, and it wins."""
GOING, LOST, WON = np.uint8(0), np.uint8(1), np.uint8(2)
"""How a game stands: it goes on; it has ended; it is won."""
STRIDE = np.uint64(0x9E3779B97F4A7C15)
FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
U27, U30, U31, U32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


class SpawnRules(NamedTuple):
    """What chance decides, and what slides earn."""

    four: np.uint64  # 2**63 times the probability of a 4
    starts: npt.NDArray[np.uint64]  # starts[s]: the boards that a game begins with
    below: npt.NDArray[np.uint64]  # below[s]: 2**63 times the probability of start s or one before it
    potentials: npt.NDArray[np.int32]  # potentials[w]: what merges have earned that made the tiles of a word
    bonus: npt.NDArray[np.float64]  # the rewards of a slide and of a win


@linked(types.void, WORDS, N, BoardRules, Scratch, types.uint8[::1], WORDS_2, types.uint8[:, ::1])
def slide_all(states, n, rules, scratch, marks, out_after, out_kinds):
    """Slide states in all directions, not canonical: ``out_after[i, a]``, and of which kind each slide is.

    The afterstate of a slide that is not allowed is 0.  `scratch` is for ``2 n`` boards, and `marks` too.
    """
    axes, tags, turned = rules.axes, scratch.tags, scratch.permuted
    for axis in range(rules.dimensions):
        first, last = 2 * axis, 2 * axis + 1
        boards, slid = scratch.boards, scratch.slid
        # With the stride n, tags and marks say to which end a state slid.
        for j in range(2 * n):
            marks[j] = 0
        m = slide_states(states, n, axis, rules, scratch, n, marks)
        permuted = axes.permuted[axis] != 0
        if permuted and not axes.restored[axis]:
            # Those who make boards canonical need no permutation back; here boards are not to be turned.
            permute(boards, m, axes.back, axis, slid)
            boards, slid = slid, boards
        # What no slide overwrites is not allowed.
        for i in range(n):
            out_after[i, first] = U0
            out_after[i, last] = U0
            out_kinds[i, first] = REFUSED
            out_kinds[i, last] = REFUSED
        for j in range(m):
            tag = tags[j]
            side = int(tag >= n)
            out_after[tag - side * n, first + side] = boards[j]
            out_kinds[tag - side * n, first + side] = ALLOWED
        # Slides that win were not collected.
        for side in range(2):
            rows = scratch.last if side else scratch.first
            won = 0
            for i in range(n):
                if marks[side * n + i]:
                    slid[won] = rows[i]
                    tags[won] = i
                    won += 1
            if won and permuted:
                permute(slid, won, axes.back, axis, turned)
            for j in range(won):
                out_after[tags[j], first + side] = turned[j] if permuted else slid[j]
                out_kinds[tags[j], first + side] = WINS


@scalar
def draw(streams, i):
    """Return the next word of stream i."""
    streams[i] += STRIDE
    z = streams[i]
    z = (z ^ z >> U30) * FACTORS[0]
    z = (z ^ z >> U27) * FACTORS[1]
    return z ^ z >> U31


@scalar
def draw_start(streams, i, below):
    """Return the first start whose cumulative probability exceeds the draw, by bisection."""
    wanted = draw(streams, i) >> U1
    low, high = 0, len(below) - 1
    while low < high:
        middle = (low + high) >> 1
        if wanted < below[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@scalar
def _spawn(key, streams, i, rules, four):
    """Spawn a tile on a board that has an empty cell."""
    free = free_cells(key, rules.low_bits, rules.fold)
    empty = ones(free)
    # The product of 32 random bits and the number of cells: one cell is 2**-27 more probable at most.
    for _ in range((draw(streams, i) >> U32) * empty >> U32):
        free &= free - U1
    low = free & (~free + U1)
    return key | low << U1 if draw(streams, i) >> U1 < four else key | low


@kernel()
def begin_games(keys, which, streams, spawns):
    """Begin the games i with ``which[i]``; return how many."""
    count = 0
    for i in range(len(keys)):
        if which[i]:
            keys[i] = spawns.starts[draw_start(streams, i, spawns.below)]
            count += 1
    return count


@kernel()
def play_games(
    keys, after, kinds, which, actions, ends, streams, rules, spawns, out_standing, out_rewards, out_refused
):
    """Slide and spawn in the games i with ``which[i]`` that go on; return how many slid.

    `after` and `kinds` are those of `slide_all`.  If `ends`, a slide that is not allowed ends the game.
    """
    count = 0
    for i in range(len(keys)):
        # Games that have ended, and slides that are not allowed: no tile is spawned.
        out_rewards[i] = 0.0
        out_refused[i] = False
        if not which[i] or out_standing[i] != GOING:
            continue
        action = actions[i]
        kind = kinds[i, action]
        if kind == REFUSED:
            out_refused[i] = True
            if ends:
                out_standing[i] = LOST
            continue
        # The slide: what it earns is the potential of the board after it minus that before it.
        count += 1
        key = after[i, action]
        earned = potential_of(key, spawns.potentials) - potential_of(keys[i], spawns.potentials)
        out_rewards[i] = spawns.bonus[0] + earned
        # It may end the game: by the goal, or at the horizon.  Otherwise a tile is spawned, which may bring
        # the sum to the goal.
        if kind == WINS:
            out_standing[i] = WON
        elif rules.horizon and sum_of(key, rules.bits, rules.unmergeable) >= rules.horizon:
            out_standing[i] = LOST
        else:
            key = _spawn(key, streams, i, rules, spawns.four)
            if rules.goal_sum and sum_of(key, rules.bits, rules.unmergeable) >= rules.goal_sum:
                out_standing[i] = WON
        if out_standing[i] == WON:
            out_rewards[i] += spawns.bonus[1]
        keys[i] = key
    return count


@kernel()
def look_ahead(keys, rules, scratch, marks, cells, out_standing, out_after, out_kinds, out_boards):
    """Slide the states of all games, say which games have ended, and write their boards, a cell a byte.

    Returns how many games go on.  No slide is allowed in a game that has ended.
    """
    count, batch, code = 0, len(marks) // 2, (U1 << rules.bits) - U1
    for begin in range(0, len(keys), batch):
        end = min(begin + batch, len(keys))
        slide_all(
            keys[begin:end], end - begin, rules, scratch, marks, out_after[begin:end], out_kinds[begin:end]
        )
    # A game without an allowed slide is lost; no slide is allowed in one that has ended.
    for i in range(len(keys)):
        allowed = U0
        for action in range(out_kinds.shape[1]):
            if out_standing[i] != GOING:
                out_kinds[i, action] = REFUSED
            allowed |= np.uint64(out_kinds[i, action])
        if out_standing[i] == GOING and allowed == U0:
            out_standing[i] = LOST
        count += out_standing[i] == GOING
        # The last cell is in the lowest bits of a key.
        for cell in range(cells):
            out_boards[i, cell] = keys[i] >> rules.bits * np.uint64(cells - 1 - cell) & code
    return count
