"""Kernels of the forced-win search: depth first over afterstates, with a table of decided ones.

An afterstate is *won* if after every spawn some slide makes the goal or leads to a won afterstate; it
is *lost* if after some spawn no slide does.  Sums grow with each spawn, so there are no cycles.  After a
spawn that reaches the horizon, the next slide is the last one: it makes the goal, or the game is lost.

The table has lines of eight entries of 64 bits.  `mix` is a bijection of keys; its highest bits are the
line, or one of the three behind it if that is full.  An entry holds, from the highest bit: two for the
number of lines that it stands behind its own, the other bits of the mixed key, one that is always set,
and whether the afterstate is won.  It is written at once, so threads share a table without locks; one
that another thread overwrites is only forgotten, never wrong.

The path is a stack of frames (`arguments.SearchPath`): an afterstate and what is open about it.  That is a
record for each spawn that has no answer yet: the number of afterstates that its slides lead to, then those, 0
where one turned out lost.
"""

from __future__ import annotations

import numpy as np

from tilebase._kernels.boards import canonicalise, slide_states
from tilebase._kernels.jit import inlined, kernel, scalar
from tilebase._kernels.scalar import U0, U1, U2, U64, free_cells, ones, sum_of, trailing_zeros

LAYOUT = 1
"""Of the table: another number if `mix` or the bits of an entry change, for tables that were saved."""
UNKNOWN, LOST, WON = 0, 1, 2
OVER, FULL = -1, -2

A = np.uint64(0x7FB5D329728EA185)
B = np.uint64(0x81DADEF4BC2DD44D)
A_INVERSE = np.uint64(pow(int(A), -1, 1 << 64))
B_INVERSE = np.uint64(pow(int(B), -1, 1 << 64))
U4, U27, U31, U33, U54, U62 = (np.uint64(n) for n in (4, 27, 31, 33, 54, 62))
BEHIND = np.uint64(1 << 60)
LINE, LINES = 8, 4
"""Entries in a line, and lines in which an afterstate may stand: a table has 16 lines at least."""
WIDTH = 512
"""At least the boards that slides after all spawns lead to, 64 spawns times 6 slides, and the spawns."""


@scalar
def mix(key):
    """Spread keys over the table by a bijection of 64-bit numbers (constants: Pelle Evensen's moremur)."""
    key = (key ^ key >> U31) * A
    key = (key ^ key >> U27) * B
    return key ^ key >> U33


@scalar
def unmix(mixed):
    """Undo `mix`."""
    mixed ^= mixed >> U33
    mixed *= B_INVERSE
    mixed ^= mixed >> U27 ^ mixed >> U54
    mixed *= A_INVERSE
    return mixed ^ mixed >> U31 ^ mixed >> U62


@scalar
def _home(mixed, line_bits):
    """Return where the line of a mixed key begins."""
    return np.int64(mixed >> (U64 - line_bits)) * LINE


@inlined
def _touch(table, keys, n):
    """Read the lines of `n` keys; the result has no meaning.

    Looking a key up is full of branches, so that processors hardly begin with the next before one is
    done. Here they wait for all lines at once.
    """
    touched = U0
    for k in range(n):
        touched ^= table.entries[_home(mix(keys[k]), table.line_bits)]
    return touched


@scalar
def look_up(table, key):
    """Return `WON`, `LOST` or `UNKNOWN`."""
    entries, line_bits = table.entries, table.line_bits
    mixed = mix(key)
    home = _home(mixed, line_bits)
    wanted = mixed << line_bits >> line_bits
    # Lines are filled from their first entry on, so a free entry says that the afterstate is in no later one.
    for behind in range(LINES):
        line = home + behind * LINE & len(entries) - 1
        for k in range(line, line + LINE):
            entry = entries[k]
            if entry == U0:
                return UNKNOWN
            if entry >> U2 == wanted:
                return WON if entry & U1 else LOST
        wanted += BEHIND
    return UNKNOWN


@scalar
def _enter(table, key, won):
    """Enter a decided afterstate in the table; return whether an older entry was overwritten."""
    # The line says the highest bits of the mixed key, so an entry keeps the others:
    #
    #     bit 63, 62                   61 .. 2                    1             0
    #     lines behind its own line    rest of the mixed key      always 1      whether it is won
    entries, line_bits = table.entries, table.line_bits
    mixed = mix(key)
    home = _home(mixed, line_bits)
    first = mixed << line_bits >> line_bits
    wanted = first
    for behind in range(LINES):
        line = home + behind * LINE & len(entries) - 1
        for k in range(line, line + LINE):
            if entries[k] == U0 or entries[k] >> U2 == wanted:
                entries[k] = wanted << U2 | U2 | np.uint64(won)
                return False
        wanted += BEHIND
    # Any of its own line, but the same in each run.
    entries[home + np.int64(first & np.uint64(LINE - 1))] = first << U2 | U2 | np.uint64(won)
    return True


@kernel()
def enter_all(table, keys, won):
    """Write many."""
    for k in range(len(keys)):
        _enter(table, keys[k], won[k])


@kernel()
def look_up_all(table, keys, out):
    """Write ``out[k]``: what the table knows of ``keys[k]``: won, lost or unknown."""
    for k in range(len(keys)):
        out[k] = look_up(table, keys[k])


@kernel()
def list_entries(part, line_bits, first, out_keys, out_won):
    """List the afterstates of a part of a table, whose first line is `first`; return how many."""
    n = 0
    last = np.int64((U1 << line_bits) - U1)
    for line in range(len(part) // LINE):
        for k in range(line * LINE, (line + 1) * LINE):
            entry = part[k]
            if entry:
                # The line that the key belongs to is the upper part of the mixed key, the entry the rest.
                home = first + line - np.int64(entry >> U62) & last
                rest = entry << U2 >> U4
                out_keys[n] = unmix(np.uint64(home) << (U64 - line_bits) | rest)
                out_won[n] = entry & U1
                n += 1
    return n


@scalar
def _liveliness(key, low_bits, fold, neighbours):
    """Count empty cells and mergeable neighbours: the more, the likelier a win.

    ``neighbours[k]``: a distance in bits, and the lowest bit of each cell that has a neighbour so far above.
    """
    found = ones(free_cells(key, low_bits, fold))
    # Neighbours are equal where the XOR of the key with itself, moved by their distance, is an empty cell;
    # two empty cells are equal, too, but do not merge.
    for k in range(len(neighbours)):
        distance, cells = neighbours[k, 0], neighbours[k, 1]
        found += ones(free_cells(key ^ key >> distance, cells, fold) & ~free_cells(key, cells, fold))
    return np.int64(found)


@scalar
def _keep_open(boards, spawn, first, last, exponents, left):
    """Remove those of ``boards[first:last]`` whose spawn reaches the horizon; return where they end."""
    kept = first
    for j in range(first, last):
        boards[kept] = boards[j]
        spawn[kept] = spawn[j]
        kept += np.int64(1) << exponents[spawn[j] % len(exponents)] < left
    return kept


@inlined
def _follow(key, rules, scratch):
    """Find all spawns on an afterstate, and the afterstates that slides make after them.

    ``won[i]``: whether the i-th spawn makes the goal sum, or a slide then wins; ``boards[j]`` are canonical
    afterstates, and ``spawn[j]`` the spawns that they follow.  Afterstates whose sum has reached the horizon
    are left out, since they are lost.  Returns the numbers of both.
    """
    slides, boards, spawn, won = scratch.slides, scratch.boards, scratch.spawn, scratch.won
    free = free_cells(key, rules.low_bits, rules.fold)
    missing = left = np.int64(1) << np.int64(62)  # the goal sum minus the sum, and the horizon minus the sum
    if rules.goal_sum | rules.horizon:
        total = sum_of(key, rules.bits, rules.unmergeable)
        if rules.goal_sum:
            missing = np.int64(rules.goal_sum) - np.int64(total)
        if rules.horizon:
            left = np.int64(rules.horizon) - np.int64(total)
    # The spawns, cell by cell from the lowest bit up, and each exponent in turn.
    n = 0
    while free:
        lowest = free & (~free + U1)
        free ^= lowest
        for exponent in rules.exponents:
            slides.states[n] = key | lowest * np.uint64(exponent)
            # A spawn of the exponent e adds 2**e to the sum.
            won[n] = np.int64(1) << exponent >= missing
            n += 1
    # What slides make of them.
    m = 0
    for axis in range(rules.dimensions):
        more = slide_states(slides.states, n, axis, rules, slides, 0, won)
        for j in range(more):
            boards[m] = slides.boards[j]
            spawn[m] = slides.tags[j]
            m += 1
        if rules.horizon:
            m = _keep_open(boards, spawn, m - more, m, rules.exponents, left)
    canonicalise(boards, m, rules.symmetries, slides.images)
    return n, m


@inlined
def _settle(n, m, table, scratch):
    """Look up the afterstates after each of `n` spawns; return whether their afterstate is won or lost.

    Sets ``known[j]`` to what the table knows of ``boards[j]``, and ``won[i]`` to 1 if a won afterstate
    follows spawn i.
    """
    boards, spawn, won, known, left = scratch.boards, scratch.spawn, scratch.won, scratch.known, scratch.left
    scratch.slides.states[0] = _touch(table, boards, m)  # stored, or the compiler would remove the call
    for i in range(n):
        left[i] = 0
    for j in range(m):
        known[j] = look_up(table, boards[j])
        won[spawn[j]] |= known[j] == WON
        left[spawn[j]] += known[j] == UNKNOWN
    # Lost: after some spawn all afterstates are lost.  Won: after each spawn there is one that is won.
    verdict = WON
    for i in range(n):
        if not won[i]:
            if left[i] == 0:
                return LOST
            verdict = UNKNOWN
    return verdict


@inlined
def _rank_replies(n, m, rules, neighbours, seed, scratch):
    """Order the unknown boards of each open spawn, the most promising first, and the open spawns.

    The spawn whose best reply is least promising comes first.  Returns how many spawns are open.
    """
    boards, spawn, won, known = scratch.boards, scratch.spawn, scratch.won, scratch.known
    left, rows, scores, order = scratch.left, scratch.rows, scratch.scores, scratch.order
    for i in range(n):
        left[i] = 0
    for j in range(m):
        i = spawn[j]
        if won[i] or known[j] != UNKNOWN:
            continue
        # How promising the board is.
        board = boards[j]
        score = _liveliness(board, rules.low_bits, rules.fold, neighbours) * 16
        if seed:
            score += np.int64(mix(board ^ seed) >> np.uint64(60))
        # Insert it into the row of its spawn, if it is not there.
        row = 6 * i
        position = left[i]
        twice = False
        for k in range(row, row + left[i]):
            twice |= rows[k] == board
        if twice:
            continue
        # At most six slides: an insertion sort.
        while position > 0 and scores[row + position - 1] < score:
            rows[row + position] = rows[row + position - 1]
            scores[row + position] = scores[row + position - 1]
            position -= 1
        rows[row + position] = board
        scores[row + position] = score
        left[i] += 1
    # Insert the open spawns, by their most promising board.
    opened = 0
    for i in range(n):
        if not won[i]:
            position = opened
            while position > 0 and scores[6 * order[position - 1]] > scores[6 * i]:
                order[position] = order[position - 1]
                position -= 1
            order[position] = i
            opened += 1
    return opened


@inlined
def _write_records(opened, scratch, pool, at):
    """Write a record for each open spawn to ``pool[at:]``; return where they end."""
    left, rows, order = scratch.left, scratch.rows, scratch.order
    for k in range(opened):
        i = order[k]
        pool[at] = np.uint64(left[i])
        at += 1
        for j in range(6 * i, 6 * i + left[i]):
            pool[at] = rows[j]
            at += 1
    return at


@inlined
def _open(key, rules, neighbours, seed, table, scratch, pool, at):
    """Write the open spawns of an afterstate to ``pool[at:]``, the most dangerous first.

    Returns whether it is won, lost or unknown, and where the records end.
    """
    n, m = _follow(key, rules, scratch)
    verdict = _settle(n, m, table, scratch)
    if verdict != UNKNOWN:
        return verdict, at
    opened = _rank_replies(n, m, rules, neighbours, seed, scratch)
    return UNKNOWN, _write_records(opened, scratch, pool, at)


@inlined
def _review(pool, first, end, table):
    """Go on with the open spawns of a frame after more has become known.

    Returns what the afterstate is, and where the first record begins that is still open.
    """
    # The records of two open spawns; of the second one board has turned out lost:
    #
    #     pool    ... | 3  b1 b2 b3 | 2  b4  0 | ...
    #                   ^ first                  ^ end
    while first < end:
        count = np.int64(pool[first])
        won_spawn, left = False, 0
        # A reply that is won answers the spawn; one that is lost is crossed out.
        for j in range(first + 1, first + 1 + count):
            if pool[j]:
                known = look_up(table, pool[j])
                if known == WON:
                    won_spawn = True
                    break
                if known == LOST:
                    pool[j] = U0
                else:
                    left += 1
        # The first spawn without an answer is the one to search, unless all replies to it are lost.
        if not won_spawn:
            return (UNKNOWN if left else LOST), first
        first += 1 + count
    return WON, first


@kernel()
def search(depth, budget, rules, neighbours, seed, table, path, scratch, counts):
    """Search on from frame `depth` until the first board is decided or `budget` afterstates were opened.

    ``counts``: afterstates opened, lost, won, entries forgotten, greatest depth.  Returns the depth to go
    on with, `OVER`, or `FULL` and the depth in ``counts[5]`` if the path is too short.
    """
    boards, spans, pool = path.boards, path.spans, path.pool
    opened = 0
    while opened < budget:
        # Open the afterstate of the frame, or go on where a board after it has become known.
        if depth + 1 >= len(boards) or spans[depth, 0] + WIDTH > len(pool):
            counts[5] = depth
            return FULL
        if spans[depth, 1] < 0:
            known, end = _open(boards[depth], rules, neighbours, seed, table, scratch, pool, spans[depth, 0])
            spans[depth, 1] = end
            opened += 1
            counts[0] += 1
        else:
            known, begin = _review(pool, spans[depth, 0], spans[depth, 1], table)
            spans[depth, 0] = begin
        # Down to the first board that is not known, or note the verdict and go back.
        if known == UNKNOWN:
            at = spans[depth, 0] + 1
            while pool[at] == U0:
                at += 1
            depth += 1
            boards[depth] = pool[at]
            spans[depth, 0], spans[depth, 1] = spans[depth - 1, 1], -1
            counts[4] = max(counts[4], depth)
            continue
        counts[known] += 1
        counts[3] += _enter(table, boards[depth], known == WON)
        if depth == 0:
            spans[0, 1] = -1  # to be opened again, if the entry is overwritten before it is read
            return OVER
        depth -= 1
    return depth


@kernel()
def follow_all(keys, rules, scratch, out_spawns, out_boards):
    """Write the afterstates that follow each spawn on some afterstates, for certificates.

    ``out_spawns[d]``: which afterstate; the spawn, twice its cell, and 1 for a 4; where the canonical
    afterstates that slides make then begin and end in `out_boards`; whether a slide wins at once.
    Returns the numbers of spawns and boards.
    """
    boards, spawn, won = scratch.boards, scratch.spawn, scratch.won
    bits, exponents = np.int64(rules.bits), rules.exponents
    last = np.int64(rules.axes.lines[0] * rules.axes.cells[0]) - 1
    spawns, total = 0, 0
    for k in range(len(keys)):
        n, m = _follow(keys[k], rules, scratch)
        free = free_cells(keys[k], rules.low_bits, rules.fold)
        # The spawns in the order of `_follow`: a cell's exponents in turn, then the next free cell.
        for i in range(n):
            cell = last - np.int64(trailing_zeros(free)) // bits
            exponent = exponents[i % len(exponents)]
            if exponent == exponents[len(exponents) - 1]:
                free &= free - U1
            out_spawns[spawns, 0] = k
            out_spawns[spawns, 1] = 2 * cell + exponent - 1
            out_spawns[spawns, 2] = total
            # The boards come axis by axis: those of one spawn are picked out.
            for j in range(m):
                if spawn[j] == i:
                    out_boards[total] = boards[j]
                    total += 1
            out_spawns[spawns, 3] = total
            out_spawns[spawns, 4] = won[i]
            spawns += 1
    return spawns, total
