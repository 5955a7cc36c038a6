"""Kernels of the dense passes: every board of a layer, by perfect index (`tilebase.dense.index`).

A board is four parts A, B, C, D, each a filling with a *class* (its sum) and a position within that class.
All tiles are even: kernels count sums in units of 2, so that `units` is a board's sum // 2.

A slide acts on two halves of the board that do not touch: on A, B and C, D, or on A, C and B, D.
`_kernels.halves` has the tables of what slides make of halves.

Halves are numbered by their sum, the class of the first part, and the positions of both; those with the
classes x and y begin at ``firsts[x, y]``.  So neighbours in a table are neighbours in a layer, or at least
belong to the boards that have one outer half in common: the loops that count run along them.

Values are kept by rank behind `FIRST` others, of which two have a meaning: ``values[NONE]`` is what a
slide that is not allowed is worth, ``values[WON]`` one that wins.

The parts of a board, and the ranks of a layer.  A block has the classes (a, b, c), from which d follows:

    A B     a block      A0 B0 C0 D0 .. D9 | C1 D0 .. D9 | C2 ..     the next top half: A0 B1
    C D                  ^ offsets[a, b, c]   nd ranks later         nc * nd ranks later

With the numbers n of fillings, ``rank = offsets[a, b, c] + ((iA * nb + iB) * nc + iC) * nd + iD``.  Slides
along rows have the outer half A, B and the inner half C, D: an outer half has all its boards of a block in a
row.  Slides along columns have the outer half A, C and the inner half B, D.  Of one outer half only boards
that differ in D are then neighbours; those of the outer halves that differ in C lie beside them, so the
kernel works several outer halves at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tilebase._kernels.arguments import Array
from tilebase._kernels.backup import FIRST, NONE, WON, combine, maximum, settled
from tilebase._kernels.halves import BARRED, CLASS, ENDS, MOVED, POSITION, U20, U40, WIN
from tilebase._kernels.jit import kernel, scalar
from tilebase._kernels.scalar import U0, U1

FIRST64 = np.uint64(FIRST)
U61, U62, U63 = (np.uint64(shift) for shift in (61, 62, 63))


# -- what kernels take ---------------------------------------------------------------------------


class Part(NamedTuple):
    """One of the four parts of a board (`tilebase.dense.index.Part`)."""

    starts: Array  # int64: starts[k] is the first filling of class k; starts[-1] is how many there are
    sums: Array  # int64: sums[k] is the sum of class k in units of 2
    class_of: Array  # int32: class_of[s] is the class with the sum s in units of 2, -1 if there is none
    counts: Array  # int64: counts[k] is the number of fillings of class k
    free: Array  # uint8: free[g] is the number of empty cells of filling g, walls aside
    masks: Array  # uint64: bit k of masks[g] is set if filling g fits the k-th pattern


class Spawns(NamedTuple):
    """The spawns of one exponent on the fillings of one part."""

    start: Array  # int64: those on filling g are start[g] to start[g + 1]
    target: Array  # uint32: target[s] is the position, in its class, of the filling that spawn s makes
    source: Array  # uint32: source[s] is the position, in its class, of the filling before spawn s
    classes: Array  # int64: classes[k] is the class that class k becomes, -1 if there is none


class Successors(NamedTuple):
    """A layer of states, to which the spawns of one exponent lead."""

    values: Array  # values[FIRST + rank] is what the state is worth
    offsets: Array  # int64: offsets[a, b, c] is the first rank of a block (`dense.index.LayerMap`)
    spawns: tuple[Spawns, Spawns, Spawns, Spawns]  # in A, B, C and D


class Values(NamedTuple):
    """The values of a layer, or of some blocks of one."""

    values: Array  # values[FIRST + rank] is what the board is worth
    offsets: Array  # int64: offsets[a, b, c] is the first rank of a block, -1 if it is not there


class Half(NamedTuple):
    """A half of the board, its two parts and the slides within it; n numbers the half boards."""

    first: Part
    second: Part
    firsts: Array  # int64: firsts[x, y] is the first n whose parts have the classes x and y
    begins: Array  # int64: begins[s] is the first n whose sum is at least s in units of 2
    table: Array  # uint64: table[d, n] is what slide d makes of the half, see above
    earned: Array  # int32: earned[d, n] is what the merges of slide d add; no columns if they add nothing


class TileScratch(NamedTuple):
    """The scratch buffers of a thread; a tile is `TILE` rows of values."""

    folds: Array  # folds[k, j] is the accumulator of the j-th board in work for the k-th exponent
    free: Array  # int64: free[j] is the number of empty cells of the j-th pair of fillings of C and D
    values: Array  # values[k, j] is the value of the j-th board in the k-th row of a tile
    bases: Array  # uint64: bases[0, k, d, z] and bases[1, k, d, z] are base and step of `_bases`
    ends: Array  # uint64: ends[k, d] is what slide d makes of the outer half of the k-th row


# -- the player: the best over slides ------------------------------------------------------------


@scalar
def class_with(part, units):
    """Return the class of a part with this sum, -1 if no filling has it."""
    return np.int64(part.class_of[units]) if 0 <= units < len(part.class_of) else np.int64(-1)


@scalar
def _bases(by_columns, units, kx, ix, ky, iy, outer, inner, offsets, out_base, out_step):
    """Write where boards with an outer half begin in the values, for each class of the first inner part.

    A board is at ``out_base[class] + position of the first inner part * out_step[class] + position of
    the second``.  Blocks that are not in the layer have the step 0.
    """
    left = units - outer.first.sums[kx] - outer.second.sums[ky]
    ny = outer.second.counts[ky]
    # One block for each class of the first inner part: the sum that is left says the class of the second.
    for kz in range(len(inner.first.sums)):
        kw = class_with(inner.second, left - inner.first.sums[kz])
        out_step[kz] = U0
        begin = offsets[kx, kz, ky] if by_columns else offsets[kx, ky, kz]
        if kw >= 0 and begin >= 0:
            # Along columns x, y, z, w are A, C, B, D, so that a board is ((ix nz + iz) ny + iy) nw + iw;
            # along rows they are A, B, C, D, and it is ((ix ny + iy) nz + iz) nw + iw.
            nz, nw = inner.first.counts[kz], inner.second.counts[kw]
            if by_columns:
                begin += (ix * nz * ny + iy) * nw
                out_step[kz] = np.uint64(ny * nw)
            else:
                begin += (ix * ny + iy) * nz * nw
                out_step[kz] = np.uint64(nw)
            out_base[kz] = np.uint64(begin) + FIRST64


@scalar
def _target(entry, moved, base, step):
    """Return where the value of the board after a slide is, from what the slide makes of both halves."""
    kz = entry >> U40 & CLASS
    at = base[kz] + (entry >> U20 & POSITION) * step[kz] + (entry & POSITION)
    # NONE is 0 and WON is 1.  Branches here would be mispredicted more often than not.
    allowed = (entry | moved) >> U61 & ~(entry >> U62 | entry >> U63) & U1
    return at & (U0 - allowed) | entry >> U62 & U1


@scalar
def _take_slide(entries, earned, n, outer_entry, outer_earned, base, step, afters, out):
    """Let ``out[j]`` be the maximum of itself and one slide of the j-th of `n` boards with one outer half.

    `earned` is empty where merges add nothing.
    """
    # The x of the outer half leave their mask: no board of it slides, whatever the inner half does.
    if outer_entry & BARRED:
        return
    # The outer half makes the goal or breaks a limit: no afterstate is read, but a goal in either half wins.
    if outer_entry & ENDS:
        for j in range(n):
            if (outer_entry | entries[j]) & (WIN | BARRED) == WIN:
                value = afters[WON] + (earned[j] + outer_earned) if len(earned) else afters[WON]
                out[j] = maximum(out[j], value)
    # It moves or stays: the afterstate of each board, with what the merges of both halves add.
    elif len(earned):
        for j in range(n):
            value = afters[_target(entries[j], outer_entry & MOVED, base, step)]
            out[j] = maximum(out[j], value + (earned[j] + outer_earned))
    else:
        for j in range(n):
            out[j] = maximum(out[j], afters[_target(entries[j], outer_entry & MOVED, base, step)])


@scalar
def _slide_outer(d, by_columns, units, kx, ix, ky, iy, outer, inner, offsets, base, step):
    """Return what slide `d` makes of an outer half, and where boards with that half begin (`_bases`)."""
    entry = outer.table[d, outer.firsts[kx, ky] + ix * outer.second.counts[ky] + iy]
    if not entry & ENDS:
        # The half after the slide: the table has its first class and both positions, and the sum that the
        # slide keeps says its second class.
        to = np.int64(entry >> U40 & CLASS)
        other = outer.first.sums[kx] + outer.second.sums[ky] - outer.first.sums[to]
        _bases(
            by_columns, units, to, np.int64(entry >> U20 & POSITION), class_with(outer.second, other),
            np.int64(entry & POSITION), outer, inner, offsets, base, step,
        )  # fmt: skip
    return entry


@scalar
def _reach(begin, left, inner, step, most):
    """Return the class of the first inner part at which a tile ends, how many halves that is, and the first.

    It ends before classes whose boards are not in the layer, and at `most` halves.
    """
    n, first = 0, np.int64(0)
    classes = len(inner.first.sums)
    for kz in range(begin, classes):
        kw = class_with(inner.second, left - inner.first.sums[kz])
        if kw >= 0:
            # Halves of one sum are numbered class by class, so those of neighbouring classes are a range.
            more = inner.first.counts[kz] * inner.second.counts[kw]
            if n and (step[kz] == U0 or n + more > most):
                return kz, n, first
            if step[kz]:
                first = first if n else inner.firsts[kz, kw]
                n += more
    return classes, n, first


@scalar
def _move_tile(begin, end, left, inner, base, step, many, out, tile, back):
    """Move the values of a tile from a layer to the scratch buffer `tile`, or `back`."""
    n = 0
    for kz in range(begin, end):
        kw = class_with(inner.second, left - inner.first.sums[kz])
        if kw >= 0 and step[kz]:
            # For each filling of the first inner part a run of the second, once for each row of the tile.
            nw = inner.second.counts[kw]
            for iz in range(inner.first.counts[kz]):
                at = np.int64(base[kz]) + iz * np.int64(step[kz])
                for k in range(many):
                    for j in range(nw):
                        if back:
                            out[at + k * nw + j] = tile[k, n + j]
                        else:
                            tile[k, n + j] = out[at + k * nw + j]
                n += nw


@kernel()
def best_slides(tasks, by_columns, units, outer, inner, afters, states, scratch):
    """Write the best over slides along rows to `states`, or let those along columns improve what is there.

    `tasks` lists outer halves: classes of both parts, and a range of positions of the first.  `outer` and
    `inner` are `Half`, `afters` and `states` are `Values`.  A tile of work is some outer halves that differ
    in the second part, and inner halves of one sum, no more than go into ``scratch.values[k]`` for the k-th
    of these outer halves; what depends on the outer half alone goes into ``bases[:, k]`` and ``ends[k]``.
    """
    # A board is named in four ways: by the classes and positions of its parts (kx, ix, ...), by the numbers
    # of its two halves (`outer_half`, `first + j`), by row k and column j of the tile, and by its rank.
    #
    #               inner halves first, first + 1, ..: by class of z, position in z, position in w
    #     y         v  v  v  v  v  v  v  v  v        a row of the tile: all boards of one outer half
    #     y + 1     v  v  v  v  v  v  v  v  v        rank of a board: here[z] + iz * apart[z] + k * nw + iw
    slides, classes = len(outer.table), len(inner.first.sums)
    tile, ends = scratch.values, scratch.ends
    rows = len(tile) if by_columns else 1  # along rows they have no neighbours in `states`
    base, step = scratch.bases[0], scratch.bases[1]
    for t in range(len(tasks)):
        kx, ky = tasks[t, 0], tasks[t, 1]
        left = units - outer.first.sums[kx] - outer.second.sums[ky]
        ny = outer.second.counts[ky]
        for ix in range(tasks[t, 2], tasks[t, 3]):
            for y in range(0, ny, rows):
                many = min(rows, ny - y)
                # Where the boards of these outer halves are written: the last entries of `base` and `step`.
                here, apart = base[0, slides], step[0, slides]
                _bases(by_columns, units, kx, ix, ky, y, outer, inner, states.offsets, here, apart)
                # What each slide makes of each outer half, and where the boards with that half are read.
                for k in range(many):
                    for d in range(slides):
                        ends[k, d] = _slide_outer(
                            d, by_columns, units, kx, ix, ky, y + k, outer, inner, afters.offsets,
                            base[k, d], step[k, d],
                        )  # fmt: skip
                begin = np.int64(0)  # a literal would compile what takes it twice
                while begin < classes:
                    # The next inner halves that fit into a tile; their values before any of these slides.
                    end, n, first = _reach(begin, left, inner, apart, tile.shape[1])
                    if by_columns:
                        _move_tile(begin, end, left, inner, here, apart, many, states.values, tile, False)
                    else:
                        tile[0, :n] = afters.values[NONE]
                    # Each slide raises the values of a row of the tile.
                    for k in range(many):
                        outer_half = outer.firsts[kx, ky] + ix * ny + y + k
                        for d in range(slides):
                            # Slides of the inner halves lie in the table as the boards lie in the tile.
                            entries = inner.table[d, first : first + n]
                            earned = inner.earned[d, first : first + n]
                            more = outer.earned[d, outer_half] if outer.earned.shape[1] else 0
                            _take_slide(
                                entries, earned, n, ends[k, d], more, base[k, d], step[k, d],
                                afters.values, tile[k],
                            )  # fmt: skip
                    _move_tile(begin, end, left, inner, here, apart, many, states.values, tile, True)
                    begin = end


# -- the adversary or chance: the fold over spawns -----------------------------------------------


@scalar
def _gather(acc, ka, ia, kb, first, last, kc, kd, parts, up, add):
    """Combine the states that the spawns of one exponent (`Successors`) lead to with boards of a block.

    These boards have one filling of A and those of B with the positions from `first` to `last`.  The same
    spawn goes along as many neighbours as it can.
    """
    #     a spawn in    leads boards that differ in    which are neighbours before and after it
    #     A             B, C, D                        rows * nc * nd
    #     B             C, D                           nc * nd
    #     C             D                              nd
    #     D                                            1
    values, offsets = up.values, up.offsets
    a, b, c, d = parts[0], parts[1], parts[2], parts[3]
    nb, nc, nd = b.counts[kb], c.counts[kc], d.counts[kd]
    rows, wide = last - first, nc * nd
    # In A: all boards of the job lead to neighbours, in the block whose A has the larger class.
    spawns = up.spawns[0]
    g = a.starts[ka] + ia
    for s in range(spawns.start[g], spawns.start[g + 1]):
        at = FIRST + offsets[spawns.classes[ka], kb, kc] + (np.int64(spawns.target[s]) * nb + first) * wide
        for j in range(rows * wide):
            acc[j] = combine(acc[j], values[at + j], add)
    # In B: all boards with one filling of B do.
    spawns = up.spawns[1]
    g = b.starts[kb]
    for s in range(spawns.start[g + first], spawns.start[g + last]):
        here = (np.int64(spawns.source[s]) - first) * wide
        above = ia * b.counts[spawns.classes[kb]] + np.int64(spawns.target[s])
        at = FIRST + offsets[ka, spawns.classes[kb], kc] + above * wide
        for j in range(wide):
            acc[here + j] = combine(acc[here + j], values[at + j], add)
    # In C: so do those that differ in D.
    spawns = up.spawns[2]
    to = spawns.classes[kc]
    if to >= 0:
        above = c.counts[to] * nd
        at = FIRST + offsets[ka, kb, to] + (ia * nb + first) * above
        for s in range(spawns.start[c.starts[kc]], spawns.start[c.starts[kc] + nc]):
            here, there = np.int64(spawns.source[s]) * nd, at + np.int64(spawns.target[s]) * nd
            for i in range(rows):
                for j in range(nd):
                    k = here + i * wide + j
                    acc[k] = combine(acc[k], values[there + i * above + j], add)
    # In D: board by board.
    spawns = up.spawns[3]
    to = spawns.classes[kd]
    if to >= 0:
        above = d.counts[to]
        at = FIRST + offsets[ka, kb, kc] + (ia * nb + first) * nc * above
        for s in range(spawns.start[d.starts[kd]], spawns.start[d.starts[kd] + nd]):
            here, there = np.int64(spawns.source[s]), at + np.int64(spawns.target[s])
            for i in range(rows * nc):
                k = here + i * nd
                acc[k] = combine(acc[k], values[there + i * above], add)


@kernel()
def fold_spawns(tasks, units, parts, ups, adds, both, finish, start, scratch, afters):
    """Write the values of afterstates (`Values`): folds over spawns.

    `tasks` lists top halves: classes of A and B, and a range of positions of A.  `parts` are four `Part`;
    `ups` are `Successors`, of the larger exponent first, and `adds` a tuple of `backup` for each; if not
    `both`, the first alone is spawned.  `finish` is a tuple of `backup`; accumulators begin with `start`.  A
    board that holds a pattern is worth what a win is.  The rows of ``scratch.folds`` and ``scratch.free`` are
    no shorter than the largest block of C, D.
    """
    low, high, free = scratch.folds[0], scratch.folds[1], scratch.free
    a, b, c, d = parts[0], parts[1], parts[2], parts[3]
    offsets, out = afters.offsets, afters.values
    won = out[WON]
    for t in range(len(tasks)):
        ka, kb = tasks[t, 0], tasks[t, 1]
        left = units - a.sums[ka] - b.sums[kb]
        nb = b.counts[kb]
        for kc in range(len(c.sums)):
            kd = class_with(d, left - c.sums[kc])
            if kd < 0 or offsets[ka, kb, kc] < 0:
                continue
            # The empty cells of C and D, for all boards of the block with one top half.
            c0, d0, nc, nd = c.starts[kc], d.starts[kd], c.counts[kc], d.counts[kd]
            wide = nc * nd
            for ic in range(nc):
                for j in range(nd):
                    free[ic * nd + j] = np.int64(c.free[c0 + ic]) + np.int64(d.free[d0 + j])
            some = max(1, len(low) // wide)  # fillings of B whose boards have accumulators at once
            for ia in range(tasks[t, 2], tasks[t, 3]):
                ga = a.starts[ka] + ia
                for begin in range(0, nb, some):
                    # The values of states into the accumulators of both exponents.
                    end = min(begin + some, nb)
                    low[: (end - begin) * wide] = start
                    high[: (end - begin) * wide] = start
                    _gather(low, ka, ia, kb, begin, end, kc, kd, parts, ups[0], adds[0])
                    if both:
                        _gather(high, ka, ia, kb, begin, end, kc, kd, parts, ups[1], adds[1])
                    # Accumulators to values; then what patterns decide.
                    for ib in range(begin, end):
                        gb = b.starts[kb] + ib
                        here = np.int64(a.free[ga]) + np.int64(b.free[gb])
                        at, row = FIRST + offsets[ka, kb, kc] + (ia * nb + ib) * wide, (ib - begin) * wide
                        for j in range(wide):
                            out[at + j] = settled(low[row + j], high[row + j], here + free[j], finish, won)
                        mask = a.masks[ga] & b.masks[gb]
                        if mask:
                            _mark_won(mask, c.masks[c0 : c0 + nc], d.masks[d0 : d0 + nd], won, out[at:])


@scalar
def _mark_won(mask, masks_c, masks_d, won, out):
    """Let boards that hold a pattern be won: all of one block and top half."""
    for i in range(len(masks_c)):
        # Patterns that three quarters fit; mostly none, and then the last quarter is not read.
        both = mask & masks_c[i]
        if both:
            for j in range(len(masks_d)):
                if both & masks_d[j]:
                    out[i * len(masks_d) + j] = won


@kernel()
def raise_to_tops(tasks, units, parts, tops, layer):
    """Raise the values of some top halves to the largest tile on each board, if it is larger.

    `tasks` and `parts` are those of `fold_spawns`, `layer` is `Values`; ``tops[p][g]`` is the largest
    exponent of filling g of part p.
    """
    a, b, c, d = parts[0], parts[1], parts[2], parts[3]
    values, offsets = layer.values, layer.offsets
    # Block by block, as in `fold_spawns`.
    for t in range(len(tasks)):
        ka, kb = tasks[t, 0], tasks[t, 1]
        left = units - a.sums[ka] - b.sums[kb]
        nb = b.counts[kb]
        for kc in range(len(c.sums)):
            kd = class_with(d, left - c.sums[kc])
            if kd < 0 or offsets[ka, kb, kc] < 0:
                continue
            # The largest tile of a board is that of its four fillings, part by part from the outside in.
            nc, nd = c.counts[kc], d.counts[kd]
            for ia in range(tasks[t, 2], tasks[t, 3]):
                for ib in range(nb):
                    outer = max(tops[0][a.starts[ka] + ia], tops[1][b.starts[kb] + ib])
                    at = FIRST + offsets[ka, kb, kc] + (ia * nb + ib) * nc * nd
                    for ic in range(nc):
                        row = max(outer, tops[2][c.starts[kc] + ic])
                        for j in range(nd):
                            # The tile is 2**top; without a tile, when top is 0, it is 0.
                            top = max(row, tops[3][d.starts[kd] + j])
                            k = at + ic * nd + j
                            values[k] = max(values[k], float((U1 << np.uint64(top)) & ~U1))


# -- boards that hold a pattern ------------------------------------------------------------------


@kernel()
def least_where(tasks, units, parts, layer, enough):
    """Return of the boards of some top halves that fit a pattern how many there are, how many have less than
    `enough`, the least value, and a rank that has it.

    `tasks` and `parts` are those of `fold_spawns`, `layer` is `Values`.
    """
    a, b, c, d = parts[0], parts[1], parts[2], parts[3]
    count, less = 0, 0
    # Larger than any value.
    least = np.int64(1) << np.int64(62)
    where = np.int64(-1)
    for t in range(len(tasks)):
        ka, kb = tasks[t, 0], tasks[t, 1]
        left = units - a.sums[ka] - b.sums[kb]
        for ia in range(tasks[t, 2], tasks[t, 3]):
            for ib in range(b.counts[kb]):
                # The patterns that both upper quarters fit; then, block by block, those that all four fit.
                mask = a.masks[a.starts[ka] + ia] & b.masks[b.starts[kb] + ib]
                if not mask:
                    continue
                for kc in range(len(c.sums)):
                    kd = class_with(d, left - c.sums[kc])
                    if kd < 0:
                        continue
                    nc, nd = c.counts[kc], d.counts[kd]
                    at = layer.offsets[ka, kb, kc] + (ia * b.counts[kb] + ib) * nc * nd
                    for ic in range(nc):
                        both = mask & c.masks[c.starts[kc] + ic]
                        if not both:
                            continue
                        for j in range(nd):
                            if both & d.masks[d.starts[kd] + j]:
                                count += 1
                                value = np.int64(layer.values[FIRST + at + ic * nd + j])
                                less += value < enough
                                if value < least:
                                    least = value
                                    where = at + ic * nd + j
    return count, less, least, where
