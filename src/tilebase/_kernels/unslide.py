"""Kernels of the backward search: which states can be before a state, on boards of any size.

A state is a board after a drop.  Before it there was an afterstate, the board without that drop, and before
that a state that a slide turned into the afterstate.  The search needs only states that have themselves an
*origin*: a direction and a drop without which every line can be the result of a slide in that direction.

A line is handled by its *code*: its values as digits, the first cell the lowest.  The tables of `Lines` list
for each code the lines that a slide turns into it.  In a direction, the lines of a board begin at the side
where the tiles slide to, and lie one below the other.

The *cost* of a line in a direction is how many drops explain it: 0 if some slide in that direction makes
it, 1 if a slide makes it but for one tile that is a drop, and otherwise `TOO_MANY`.  A state before is chosen
line by line.  The costs in all four directions are added up meanwhile, and the choice ends as soon as each
direction needs more than one drop.  The costs in the two directions across the lines are those of the columns
so far; what is missing of a column is taken to be the best that could follow.

States are packed into words of 64 bits and kept in hash tables without order.  The empty board never
occurs, so a row of zeros marks a free slot.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tilebase._kernels.arguments import Bytes, Numbers, Words
from tilebase._kernels.jit import kernel, scalar

TOO_MANY = 2
"""The cost of a line that one drop does not explain."""


class Lines(NamedTuple):
    """All lines of one length, by code."""

    first: Numbers  # the lines that become line c are source[first[c] : first[c + 1]]
    source: Numbers
    plain: Bytes  # plain[c]: whether only c itself becomes c
    toward: Bytes  # toward[c]: its cost in a slide towards the first cell
    away: Bytes  # away[c]: its cost in a slide towards the last cell
    begun: Bytes  # begun[start[k] + c]: the least away[] of a line whose first k cells have the code c
    start: Numbers  # start[k]: where the entries of k cells begin
    power: Numbers  # power[k]: the value of the digit of cell k


class Boards(NamedTuple):
    """The boards of one search."""

    bits: int  # bits of a cell in a packed board
    base: int  # number of values of a cell
    drops: Bytes  # drops[v]: whether v can be dropped
    cell: Numbers  # cell[d, i, j]: the j-th cell of the i-th line in direction d
    lines: Numbers  # lines[d]: how many lines there are
    length: Numbers  # length[d]: how many cells a line has
    images: Numbers  # images[s, k]: the cell whose content is at k in the s-th image
    across: Lines  # lines of the directions 0 and 1
    along: Lines  # lines of the directions 2 and 3


class SearchScratch(NamedTuple):
    """Working memory of one thread."""

    state: Bytes  # the state that is expanded
    before: Bytes  # a state that may be before it
    words: Words  # words[0]: the best image, words[1]: another one
    codes: Numbers  # codes[i]: the lines of the afterstate; of the direction that is tried
    probe: Numbers  # the same while origins are looked for
    next: Numbers  # next[i]: how many choices of line i were tried
    turn: Numbers  # turn[i]: where the choices of line i begin
    status: Numbers  # status[i]: the costs in four directions before line i, and how many lines changed
    columns: Numbers  # columns[i, j]: the code of column j before line i
    origins: Numbers  # origins[k]: direction and cell of the k-th origin
    random: Words  # the state of the random numbers


# -- tables of lines ----------------------------------------------------------------------------------


@kernel()
def push_codes(length, base, cells, out):
    """Write the code of each line after a slide towards its first cell; -1 if a tile exceeds all values."""
    for code in range(len(out)):
        rest, made, waiting, place, tiles = code, 0, 0, 1, 0
        # Push the tiles together from the first cell on; `waiting` may still merge with the next one.
        for _ in range(length):
            value = rest % base
            rest //= base
            if not value:
                continue
            if value == waiting:
                cells[tiles - 1] += 1
                waiting = 0
            else:
                cells[tiles] = value
                tiles += 1
                waiting = value
        # The code of the tiles, which stand at the beginning of the line.
        for k in range(tiles):
            if cells[k] >= base:
                made = -1
                break
            made += cells[k] * place
            place *= base
        out[code] = made


@kernel()
def describe_lines(length, base, drops, lines):
    """Fill the tables of `Lines` that do not depend on slides."""
    # Which lines only they themselves become, and the costs towards the first cell.
    for code in range(len(lines.plain)):
        begin, end = lines.first[code], lines.first[code + 1]
        lines.plain[code] = end == begin + 1 and lines.source[begin] == code
        lines.toward[code] = cost_of(code, length, base, drops, lines)
    # The cost towards the last cell is that of the reversed line towards the first one.
    for code in range(len(lines.plain)):
        rest, reverse = code, 0
        for _ in range(length):
            reverse = reverse * base + rest % base
            rest //= base
        lines.away[code] = lines.toward[reverse]
        lines.begun[lines.start[length] + code] = lines.away[code]
    # The least cost of a line that begins with k cells, from that of lines that begin with k + 1.
    for k in range(length - 1, -1, -1):
        for code in range(lines.power[k]):
            least = TOO_MANY
            for value in range(base):
                least = min(least, lines.begun[lines.start[k + 1] + code + value * lines.power[k]])
            lines.begun[lines.start[k] + code] = least


@scalar
def cost_of(code, length, base, drops, lines):
    """Return the cost of a line in a slide towards its first cell."""
    # No drop: some line becomes this one.  One: some line becomes it without one of its tiles.
    if lines.first[code] != lines.first[code + 1]:
        return 0
    rest = code
    for j in range(length):
        value = rest % base
        rest //= base
        without = code - value * lines.power[j]
        if drops[value] and lines.first[without] != lines.first[without + 1]:
            return 1
    return TOO_MANY


# -- packed boards ------------------------------------------------------------------------------------


@scalar
def pack(board, order, bits, out):
    """Pack an image of a board."""
    # As many cells as fit into a word, the first in the highest bits that are used.
    per_word = 64 // bits
    for w in range(len(out)):
        word = np.uint64(0)
        for k in range(w * per_word, min((w + 1) * per_word, len(order))):
            word = (word << np.uint64(bits)) | np.uint64(board[order[k]])
        out[w] = word


@scalar
def unpack(words, bits, out):
    """Unpack a board."""
    per_word = 64 // bits
    mask = np.uint64((1 << bits) - 1)
    for w in range(len(words)):
        word = words[w]
        for k in range(min((w + 1) * per_word, len(out)) - 1, w * per_word - 1, -1):
            out[k] = word & mask
            word >>= np.uint64(bits)


@scalar
def copy(words, out):
    """Copy a packed board."""
    for w in range(len(words)):
        out[w] = words[w]


@scalar
def pack_canonical(board, boards, words):
    """Pack the image with the smallest words into ``words[0]``."""
    pack(board, boards.images[0], boards.bits, words[0])
    for s in range(1, len(boards.images)):
        # The first word that differs decides.
        pack(board, boards.images[s], boards.bits, words[1])
        for w in range(words.shape[1]):
            if words[1, w] != words[0, w]:
                if words[1, w] < words[0, w]:
                    copy(words[1], words[0])
                break


@scalar
def slot_of(words, table):
    """Find the slot of a packed board in a hash table: its own, or the free one where it belongs."""
    # Hash all words; multiplication spreads a bit upward, and the shift brings high bits down again.
    number = np.uint64(0)
    for w in range(len(words)):
        number = (number ^ words[w]) * np.uint64(0x9E3779B97F4A7C15)
        number ^= number >> np.uint64(29)
    # Linear probing in a table of a power of two slots, some of which are always free.
    last = np.uint64(len(table) - 1)
    slot = number & last
    while True:
        same, free = True, True
        for w in range(len(words)):
            same &= table[slot, w] == words[w]
            free &= table[slot, w] == 0
        if same or free:
            return np.int64(slot)
        slot = (slot + np.uint64(1)) & last


@scalar
def insert(words, table):
    """Insert a packed board; return whether it is new."""
    slot = slot_of(words, table)
    new = True
    for w in range(len(words)):
        new &= table[slot, w] == 0
    if new:
        copy(words, table[slot])
    return new


@kernel()
def pack_all(positions, boards, words, out):
    """Pack the canonical image of each position."""
    for n in range(len(positions)):
        pack_canonical(positions[n], boards, words)
        copy(words[0], out[n])


@kernel()
def insert_all(keys, table):
    """Insert packed boards; return how many are new."""
    new = 0
    for n in range(len(keys)):
        new += insert(keys[n], table)
    return new


@kernel()
def collect(table, out):
    """Copy the boards of a hash table to `out`; return how many there are."""
    count = 0
    for slot in range(len(table)):
        free = True
        for w in range(table.shape[1]):
            free &= table[slot, w] == 0
        if not free:
            copy(table[slot], out[count])
            count += 1
    return count


# -- origins ------------------------------------------------------------------------------------------


@scalar
def line_code(board, cells, length, base):
    """Return the code of a line of a board."""
    code = 0
    for j in range(length - 1, -1, -1):
        code = code * base + board[cells[j]]
    return code


@scalar
def find_origins(board, boards, codes, out, most):
    """List up to `most` origins of a state: a direction and the cell of the drop, as 4 * cell + direction.

    Without that drop, every line is the result of a slide in the direction, and one line is not only the
    result of itself.
    """
    count = 0
    for d in range(4):
        lines = boards.across if d < 2 else boards.along
        length = boards.length[d]
        # The costs of the lines: together one drop at most.
        cost, movable = 0, 0
        for i in range(boards.lines[d]):
            code = line_code(board, boards.cell[d, i], length, boards.base)
            codes[i] = code
            cost += lines.toward[code]
            movable += lines.plain[code] == 0 and lines.toward[code] == 0
        if cost > 1:
            continue
        # Each tile without which no line costs anything, and some line is movable.
        for i in range(boards.lines[d]):
            code = codes[i]
            if cost > lines.toward[code]:
                continue  # the drop must be in another line
            was_movable = lines.plain[code] == 0 and lines.toward[code] == 0
            for j in range(length):
                value = board[boards.cell[d, i, j]]
                without = code - value * lines.power[j]
                if (
                    boards.drops[value]
                    and lines.toward[without] == 0
                    and movable - was_movable + (lines.plain[without] == 0) > 0
                ):
                    out[count] = 4 * boards.cell[d, i, j] + d
                    count += 1
                    if count == most:
                        return count
    return count


@scalar
def is_first(board, drops):
    """Return whether a state is a single drop: the first move of a game."""
    tiles = 0
    for k in range(len(board)):
        if board[k]:
            if not drops[board[k]]:
                return False
            tiles += 1
    return tiles == 1


# -- the states before a state ------------------------------------------------------------------------


@scalar
def next_random(random):
    """Draw a random number of 31 bits (xorshift64*)."""
    x = random[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    random[0] = x
    return np.int64((x * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(33))


@scalar
def follow(i, code, length, lines, cross, status, columns):
    """Add line i to the costs in all directions; return whether one is left that needs one drop at most.

    ``status[i]`` has the costs in the direction of the slide, against it, towards the first line, towards the
    last line.  `cross` has the tables of the columns.
    """
    # The costs of the lines so far, in both directions along them.
    now, then = status[i], status[i + 1]
    then[0] = now[0] + lines.toward[code]
    then[1] = now[1] + lines.away[code]
    along = then[0] <= 1 or then[1] <= 1
    first, last, rest = 0, 0, code
    # The columns so far, and the least cost of each towards the first and the last line.
    for j in range(length):
        column = columns[i, j] + rest % lines.power[1] * cross.power[i]
        rest //= lines.power[1]
        columns[i + 1, j] = column
        first += cross.toward[column]
        last += cross.begun[cross.start[i + 1] + column]
        # Too many drops in every direction: whatever lines follow, the state has no origin.
        if first > 1 and last > 1 and not along:
            return False
    then[2], then[3] = first, last
    return True


@kernel()
def expand(keys, begin, end, boards, by_exponent, used, most_leaves, most_choices, scratch):
    """Insert the states before each of ``keys[begin:end]`` into tables, by the exponent of the drop undone.

    ``used[e]`` counts the boards of ``by_exponent[e]``, where the drop had exponent e + 1.  With
    `most_leaves`, at most so many states before each state are inserted, chosen at random, after at most
    `most_choices` choices of a line for each origin.  Returns where it stopped: before the end if a table is
    half full.  The state there may have been expanded in part; to expand it again does no harm.
    """
    for n in range(begin, end):
        unpack(keys[n], boards.bits, scratch.state)
        if is_first(scratch.state, boards.drops):
            continue
        # From a random origin on, each gets an equal share of the states that may still be inserted.
        count = find_origins(scratch.state, boards, scratch.probe, scratch.origins, len(scratch.origins))
        shift = next_random(scratch.random) if most_leaves else 0
        leaves = 0
        for k in range(count):
            # What is left of the limit is divided among the origins that are left, rounded up.
            share = (most_leaves - leaves + count - k - 1) // (count - k) if most_leaves else 0
            if most_leaves and share <= 0:
                break
            origin = scratch.origins[(k + shift) % count]
            value = scratch.state[origin >> 2]
            table = by_exponent[value - 1]
            if 2 * used[value - 1] > len(table):
                return n
            # Take the tile away, undo the slide in the direction that the origin names, put the tile back.
            scratch.state[origin >> 2] = 0
            found, new = slide_back(origin & 3, boards, table, share, most_choices, scratch)
            scratch.state[origin >> 2] = value
            used[value - 1] += new
            leaves += found
            if 4 * new > len(table):
                return n
    return end


@scalar
def slide_back(d, boards, table, most_leaves, most_choices, scratch):
    """Insert the states that a slide in direction d turns into ``scratch.state``.

    Returns how many it found and how many of them are new; it stops when these fill a quarter of
    the table.
    """
    lines = boards.across if d < 2 else boards.along
    cross = boards.along if d < 2 else boards.across
    length, height = boards.length[d], boards.lines[d]
    codes, tried, turn, status = scratch.codes, scratch.next, scratch.turn, scratch.status
    # Each line has a list of lines that slide into it.  All combinations are tried in depth, line by line;
    # ``tried[i]`` counts the choices of line i, which begin at a random one (`turn`) if leaves are limited.
    for i in range(height):
        codes[i] = line_code(scratch.state, boards.cell[d, i], length, boards.base)
    #
    #     line 0    choice tried[0] of its list    status[1], columns[1]: the costs after line 0
    #     line 1    choice tried[1]                status[2], columns[2]: after lines 0 and 1
    #     line i    the next one                   ..
    tried[0] = 0
    turn[0] = next_random(scratch.random) if most_leaves else 0
    i, leaves, new, choices = 0, 0, 0, 0
    while i >= 0:
        # The next choice of line i; if there is none, that of the line before.
        begin, end = lines.first[codes[i]], lines.first[codes[i] + 1]
        if tried[i] == end - begin:
            i -= 1
            continue
        chosen = lines.source[begin + (tried[i] + turn[i]) % (end - begin)]
        tried[i] += 1
        # Stop at the limit of choices, and leave out a choice after which no direction can be an origin's.
        choices += 1
        if most_choices and choices > most_choices:
            break
        if not follow(i, chosen, length, lines, cross, status, scratch.columns):
            continue
        # Put the line on the board, and go on to the line after it.
        status[i + 1, 4] = status[i, 4] + (chosen != codes[i])
        rest = chosen
        for j in range(length):
            scratch.before[boards.cell[d, i, j]] = rest % boards.base
            rest //= boards.base
        if i + 1 < height:
            i += 1
            tried[i] = 0
            turn[i] = next_random(scratch.random) if most_leaves else 0
            continue
        # All lines are chosen: keep the state if it has an origin.
        if not status[i + 1, 4]:
            continue  # nothing moved
        # A state needs an origin of its own, unless it is the first of a game.  One is enough, and goes to
        # the last entry of the list.
        before = scratch.before
        if not is_first(before, boards.drops) and not find_origins(
            before, boards, scratch.probe, scratch.origins[len(scratch.origins) - 1 :], 1
        ):
            continue
        pack_canonical(before, boards, scratch.words)
        new += insert(scratch.words[0], table)
        leaves += 1
        if leaves == most_leaves or 4 * new > len(table):
            break
    return leaves, new
