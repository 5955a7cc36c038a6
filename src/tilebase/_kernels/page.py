"""The coder of a page's policy: which boards are afterstates, and the cells of their values, bit by bit.

A block goes through *candidates* in the order of their keys: canonical boards that some slide can leave.  A
bit says whether each is an afterstate.  After a 1 come the eight bits of the cell of its value, the highest
first; then, up to 15 times, a 1 to stop, or a 0 and whether the value lies in the upper half.  A half is
written with the probability 1/2.  Two counters and a mixer predict each other bit:

    bit                      mixer   first counter             second counter
    afterstate               0       c, d, b, two flags, e     eight flags, e
    bit k of the cell        1 + k   a, higher bits            c, d, e, higher bits
    stop after k halvings    9       cell // 8, k              e, k

Of the cells with several codes, c, d and b are the lowest four bits of the codes of the last three, and e is
the number of empty ones, from 1 to 4.  Flags are the bits of the candidates before, 0 at first.  Of the last
two cells, at first 128, a is a 32nd of the sum; it is 16 or 17 if the last one is 0 or 255.

A counter holds 2**16 times a probability p, 1/2 at first, and the number n of bits it has seen, at most 60.
A mixer adds the logits log(p / (1 - p)), with weights that are 1/2 at first, to that of the probability q
of a 1.  After a bit y, each weight has grown by the logit times (y - q) / 64, and p by (y - p) / (n + 3/2).
All this is done in integers, so that readers agree: `Coder` has the tables.

An arithmetic coder writes the bits: of an interval of 32-bit numbers, a 1 takes the lower part, which is q of
it, and a 0 the rest; bytes that all numbers of the interval begin with are written.  Four more bytes end it.

Sources: Witten, Neal and Cleary, Arithmetic coding for data compression, 1987; Mahoney, Adaptive weighing of
context models for lossless data compression, 2005.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tilebase._kernels.arguments import Bytes, Numbers
from tilebase._kernels.jit import kernel, scalar

BLOCK = (1 << 15, 1 << 12)
"""The most candidates of a block, and after how many in a row that are not afterstates it ends."""
LIMIT = 60
"""The most bits that a counter counts: it learns from each later one as from the last of these."""
FLAGS, KINDS, PAIRS, CELLS, EMPTIES, COUNTERS = np.cumsum(
    [1 << 16, 1 << 10, 18 << 8, 1 << 18, 1 << 9, 1 << 6]
).tolist()
"""Where each kind of counters begins, but the first, which begins at 0."""
EVEN, MOST_WEIGHT = 1 << 15, 1 << 18
"""Of 2**16: the probability 1/2 and the first weights; the largest weight."""
HALVINGS = 15
"""Binary places of a value behind the number of its cell."""
ANYTHING = 8
"""The bit of `sides` that says that boards which no slide leaves are candidates."""
MOST_BYTES = BLOCK[0] * (11 * (1 + 8 + HALVINGS + 1) + HALVINGS) // 8
"""Of a block: no bit takes more than 11."""
LOW, HIGH, AT, NEXT = range(4)
"""What `Coder.state` holds: the interval, the bytes that are written, and afterstates that are coded."""


class Space(NamedTuple):
    """The boards of a game, by its *open* cells, which may hold several codes; the others never change.

    Open cell i may hold ``codes[i, k]`` for k below ``counts[i]``.  Sides are bits: those to which boards are
    slid.
    """

    codes: Numbers
    counts: Numbers
    halves: Numbers  # halves[i, k]: half of what this code adds to the sum
    ways: Numbers  # ways[i, s]: how often the open cells from i on have the sum 2 s
    lost: Numbers  # lost[i, e]: sides to which no board is slid if cell i is empty (e = 1) or not
    near: Numbers  # near[i, j]: a neighbour before open cell i, or i itself
    sides: Numbers  # sides[i, j, e]: the same if near[i, j] is not empty, or is
    images: Numbers  # images[p]: a permutation of open cells, by sources, that is a symmetry
    least: Numbers  # least[i, j]: a cell with no larger code than cell i, or i itself
    shifts: Numbers  # shifts[i]: where open cell i lies in a key
    bits: int  # of a cell in a key


class Coder(NamedTuple):
    """What is worked in.  `board` has rows for boards, indices, sums, sides, keys, and empty cells."""

    counters: npt.NDArray[np.int32]
    weights: Numbers
    state: Numbers
    board: Numbers
    logits: npt.NDArray[np.int32]  # logits[p >> 4]
    chances: npt.NDArray[np.int32]  # chances[x + 2048]: the probability whose logit is x
    gains: npt.NDArray[np.int32]  # gains[n]: how much a counter learns from the bit after n
    out: Bytes


def coder(cells: int) -> Coder:
    """Return what `pack` works in, for boards of `cells` cells."""
    half = np.arange(4096) + 0.5
    logits = np.floor(256 * np.log(half / (4096 - half)) + 0.5)
    chances = np.floor(65536 / (1 + np.exp(-np.arange(-2048, 2048) / 256)) + 0.5)
    gains = np.floor(32768 / (np.arange(LIMIT + 1) + 1.5))
    return Coder(
        np.empty(COUNTERS, dtype=np.int32),
        np.empty(20, dtype=np.int64),
        np.empty(4, dtype=np.int64),
        np.zeros((6, cells + 1), dtype=np.int64),
        logits.astype(np.int32),
        np.clip(chances, 32, 65504).astype(np.int32),
        gains.astype(np.int32),
        np.empty(MOST_BYTES, dtype=np.uint8),
    )


@scalar
def _write(bit, chance, coder):
    """Write a bit whose probability to be 1 is `chance` / 2**16."""
    state = coder.state
    low, high = state[LOW], state[HIGH]
    middle = low + ((high - low) * chance >> 16)
    if bit:
        high = middle
    else:
        low = middle + 1
    while (low ^ high) >> 24 == 0:
        coder.out[state[AT]] = np.uint8(high >> 24)
        state[AT] += 1
        low = (low << 8) & 0xFFFFFFFF
        high = (high << 8) & 0xFFFFFFFF | 255
    state[LOW], state[HIGH] = low, high


@scalar
def _learn(counter, bit, gains):
    seen, chance = counter & 63, counter >> 6
    chance += (bit * 65535 - chance) * gains[seen] >> 15
    return chance << 6 | min(seen + 1, LIMIT)


@scalar
def _code(bit, first, second, mixer, coder):
    """Write a bit as two counters predict it, and correct them."""
    counters, weights = coder.counters, coder.weights
    a, b = np.int64(counters[first]), np.int64(counters[second])
    x, y = np.int64(coder.logits[a >> 10]), np.int64(coder.logits[b >> 10])
    mixed = weights[2 * mixer] * x + weights[2 * mixer + 1] * y >> 16
    chance = np.int64(coder.chances[min(max(mixed, -2048), 2047) + 2048])
    _write(bit, chance, coder)
    error = (bit << 16) - chance
    weights[2 * mixer] = min(max(weights[2 * mixer] + (x * error >> 14), -MOST_WEIGHT), MOST_WEIGHT)
    weights[2 * mixer + 1] = min(max(weights[2 * mixer + 1] + (y * error >> 14), -MOST_WEIGHT), MOST_WEIGHT)
    counters[first] = _learn(a, bit, coder.gains)
    counters[second] = _learn(b, bit, coder.gains)


@scalar
def _put(cell, index, space, coder):
    """Put a code on a cell; return whether the cells after it can complete a board that can be slid."""
    board, indices, left, sides, keys, empty = coder.board
    code = space.codes[cell, index]
    board[cell], indices[cell] = code, index
    rest = left[cell] - space.halves[cell, index]
    if rest < 0 or not space.ways[cell + 1, rest]:
        return False
    for j in range(space.least.shape[1]):
        if code < board[space.least[cell, j]]:
            return False
    void = np.int64(code == 0)
    lost = space.lost[cell, void]
    for j in range(space.near.shape[1]):
        if (board[space.near[cell, j]] == 0) != (code == 0):
            lost |= space.sides[cell, j, void]
    left[cell + 1], sides[cell + 1] = rest, sides[cell] & ~lost
    keys[cell + 1], empty[cell + 1] = keys[cell] | code << space.shifts[cell], empty[cell] + void
    return sides[cell + 1] != 0


@scalar
def _is_candidate(space, board, empty, anything):
    """Return whether a board that can be slid has an empty cell and is canonical."""
    if not (empty or anything):
        return False
    for p in range(len(space.images)):
        for cell in range(len(space.counts)):
            image = board[space.images[p, cell]]
            if image < board[cell]:
                return False
            if image > board[cell]:
                break
    return True


@scalar
def _find(key, space, coder):
    """Put the board of a key; return whether it is a board of the game that can be slid."""
    found = True
    for cell in range(len(space.counts)):
        code = key >> space.shifts[cell] & (1 << space.bits) - 1
        index = 0
        while index + 1 < space.counts[cell] and space.codes[cell, index] != code:
            index += 1
        found &= _put(cell, index, space, coder)
    return found and coder.board[4, len(space.counts)] == key


@scalar
def _advance(space, coder):
    """Put the next board that can be slid; return whether there is one."""
    cells = len(space.counts)
    indices = coder.board[1]
    cell = cells - 1
    while cell >= 0:
        if indices[cell] + 1 == space.counts[cell]:
            cell -= 1
        elif _put(cell, indices[cell] + 1, space, coder):
            cell += 1
            if cell == cells:
                return True
            indices[cell] = -1
    return False


@scalar
def _value(place, halvings, empty, before, earlier, pair, coder):
    """Write where a value lies: its cell, how often that is halved, and in which halves."""
    cell = place >> HALVINGS
    kind = 16 if before == 0 else 17 if before == 255 else before + earlier >> 5
    node = 1
    for level in range(8):
        bit = cell >> 7 - level & 1
        _code(bit, KINDS + (kind << 8 | node), PAIRS + ((pair << 2 | empty) << 8 | node), 1 + level, coder)
        node = node << 1 | bit
    for k in range(HALVINGS + 1):
        stop = np.int64(k == halvings)
        if k < HALVINGS:
            _code(stop, CELLS + (cell >> 3 << 4 | k), EMPTIES + (empty << 4 | k), 9, coder)
        if stop:
            break
        _write(place >> HALVINGS - 1 - k & 1, EVEN, coder)


@kernel()
def pack(keys, places, halvings, half_sum, sides, ends, space, coder):
    """Write the block that begins with the first of some afterstates; return whether it is a candidate.

    `keys` ascend, and are the afterstates from there on.  ``coder.state`` tells how many were coded, and the
    bytes.  `sides` has a bit for each side to which boards can be slid, and perhaps `ANYTHING`;
    `ends` is `BLOCK`.
    """
    board, _, left, masks, row, empties = coder.board
    cells, state = len(space.counts), coder.state
    coder.counters[:] = EVEN << 6
    coder.weights[:] = EVEN
    state[LOW], state[HIGH], state[AT], state[NEXT] = 0, 0xFFFFFFFF, 0, 0
    left[0], masks[0], row[0], empties[0] = half_sum, sides, keys[0], 0
    for cell in range(cells):
        row[0] &= ~((1 << space.bits) - 1 << space.shifts[cell])
    anything = sides >> ANYTHING
    going = _find(keys[0], space, coder)
    if not (going and _is_candidate(space, board, empties[cells], anything)):
        return False
    candidates = absent = flags = 0
    before = earlier = 128
    while going:
        if _is_candidate(space, board, empties[cells], anything):
            empty = min(max(empties[cells], 1), 4) - 1
            there = np.int64(state[NEXT] < len(keys) and row[cells] == keys[state[NEXT]])
            low = 0
            for k in range(min(3, cells)):
                low |= (board[cells - 1 - k] & 15) << 4 * k
            _code(there, low << 4 | (flags & 3) << 2 | empty, FLAGS + (flags << 2 | empty), 0, coder)
            flags = (flags << 1 | there) & 255
            if there:
                place = np.int64(places[state[NEXT]])
                _value(place, np.int64(halvings[state[NEXT]]), empty, before, earlier, low & 255, coder)
                before, earlier = place >> HALVINGS, before
                state[NEXT] += 1
            candidates += 1
            absent = 0 if there else absent + 1
            if candidates == ends[0] or absent == ends[1]:
                break
        going = _advance(space, coder)
    for k in range(4):
        coder.out[state[AT] + k] = np.uint8(state[LOW] >> 24 - 8 * k & 255)
    state[AT] += 4
    return True
