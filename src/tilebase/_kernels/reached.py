"""Kernels for the boards that play can reach, in bits: the results of slides, and counts (`dense.reached`).

Layers are those of `_kernels.bits`, whose kernels take the pass onward, from small sums to large ones.  What
is an AND of rows there is an OR then, from the boards before a move to those after it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from tilebase._kernels.arguments import Array
from tilebase._kernels.dense import Half, class_with
from tilebase._kernels.halves import ENDS, MOVED, NUMBER
from tilebase._kernels.jit import WORDS, N, kernel, linked, scalar
from tilebase._kernels.matrices import (
    MatrixScratch,
    Mirrors,
    and_row,
    copy_row,
    count_columns,
    find_images,
    find_rows,
    middle_of,
    or_row,
    space_rows,
    transpose,
    word_of,
    words_of,
)
from tilebase._kernels.scalar import U0, U1, ones, trailing_zeros


@linked(types.void, N, N, Half, Half, Mirrors, WORDS, WORDS, MatrixScratch, optional=True)
def or_results(h, units, outer, inner, mirrors, source, out, scratch):
    """Add to `out` what slides make of the boards of `source`.

    ``scratch.rows_at`` says where the rows of `source` begin.  The boards up to the middle are known there,
    and all are written.
    """
    spare, transposed, at, bits, to, known = (
        scratch.spare,
        scratch.transposed,
        scratch.at,
        scratch.bits,
        scratch.to,
        scratch.known,
    )
    number, target, place = scratch.number, scratch.target, scratch.made_by
    g = units - h
    row0, column0 = outer.begins[h], inner.begins[g]
    rows, columns = outer.begins[h + 1] - row0, inner.begins[g + 1] - column0
    wide = words_of(columns)
    count_columns(h, outer, g, inner, middle_of(units, mirrors.parts), known)
    if mirrors.parts:
        find_images(h, outer, scratch.row_images)
        find_images(g, inner, scratch.column_images)
    # Rows are added first, then, transposed, columns:
    #
    #     source        spare                         transposed              spare, and transposed into `out`
    #     x1 | bits     d(x1), d(x2) | x1 or x2       y1 | d(x1)  x3          d(y1) | y1: all, if it moves;
    #     x2 | bits     x3           | x3             y2 | ...                      |     else not those of x3
    #     x3 | bits
    #
    # Here d moves x1 and x2, to the same half, and does not move x3: there something in y has to move.
    for d in range(len(outer.table)):
        number[:rows] = -1
        some = 0
        for row in range(rows):
            entry = outer.table[d, row0 + row]
            if entry & MOVED and not entry & ENDS:
                made = np.int64(entry & NUMBER)
                if number[made] < 0:
                    target[some], number[made] = made, some
                    some += 1
        every = some
        for row in range(rows):
            entry = outer.table[d, row0 + row]
            place[row] = -1
            if not entry & ENDS:
                place[row] = number[np.int64(entry & NUMBER)] if entry & MOVED else every
                if not entry & MOVED:
                    target[every] = row
                    every += 1
        high = words_of(every)
        transposed[: columns * high] = U0
        # The boards up to the middle, then those beyond it, which are images.
        for image in range(2 if mirrors.parts else 1):
            spare[: every * wide] = U0
            space_rows(at, every, wide)
            bits[:every] = 0
            for row in range(rows):
                if place[row] >= 0:
                    where = scratch.row_images[row] if image else row
                    or_row(spare, place[row] * wide, source, scratch.rows_at[where], words_of(known[where]))
                    bits[place[row]] = max(bits[place[row]], known[where])
            for column in range(columns):
                to[column] = (scratch.column_images[column] if image else column) * high
            transpose(spare, every, transposed, True, scratch)
        spare[: columns * high] = U0
        full, rest = some >> 6, (U1 << np.uint64(some & 63)) - U1
        for column in range(columns):
            entry = inner.table[d, column0 + column]
            at[column], bits[column] = column * high, every
            if not entry & ENDS:
                made = np.int64(entry & NUMBER) * high
                or_row(spare, made, transposed, column * high, high if entry & MOVED else full)
                if rest and not entry & MOVED:
                    spare[made + full] |= transposed[column * high + full] & rest
        for slot in range(every):
            to[slot] = target[slot] * wide
        transpose(spare, columns, out, True, scratch)


# -- listing -------------------------------------------------------------------------------------


@scalar
def _write_keys(h, half, parts, out):
    """Write the keys of the halves with the sum h; ``parts[p][g]`` is that of filling g of the p-th part."""
    first, second = half.first, half.second
    n = 0
    for kx in range(len(first.sums)):
        ky = class_with(second, h - first.sums[kx])
        if ky >= 0:
            for g in range(first.starts[kx], first.starts[kx + 1]):
                for k in range(second.starts[ky], second.starts[ky + 1]):
                    out[n] = parts[0][g] | parts[1][k]
                    n += 1


@kernel()
def list_keys(sums, units, outer, inner, mirrors, layer, parts, at, begin, lists, rows_of, out):
    """List boards of some matrices of a whole layer, if they or their images are stored, row by row.

    The matrix of ``sums[at]`` is first, from its row `begin` on.  Returns how many boards, and where to go
    on.  Until `out` has no memory for another row, all rows are listed.  ``parts[side][p][g]`` are keys of
    fillings; `lists` and `rows_of` are memory for each half board with one sum, twice.
    """
    n, row_keys, column_keys, row_at, row_bits = 0, lists[0], lists[1], rows_of[0], rows_of[1]
    while at < len(sums):
        h, g = sums[at], units - sums[at]
        rows = outer.begins[h + 1] - outer.begins[h] if h <= middle_of(units, mirrors.halves) else 0
        if rows:
            find_rows(h, outer, layer, row_at)
            count_columns(h, outer, g, inner, middle_of(units, mirrors.parts), row_bits)
            _write_keys(h, outer, parts[0], row_keys)
            _write_keys(g, inner, parts[1], column_keys)
        for row in range(begin, rows):
            known, key = row_bits[row], row_keys[row]
            if n + known > len(out):
                return n, at, row
            for k in range(words_of(known)):
                word = word_of(layer.words, row_at[row], k, known)
                while word:
                    out[n] = key | column_keys[np.uint64(64 * k) + trailing_zeros(word)]
                    n += 1
                    word &= word - U1
        at, begin = at + 1, 0
    return n, at, begin


# -- counting ------------------------------------------------------------------------------------


class Seen(NamedTuple):
    """What half boards of one side tell of boards; n numbers them as in `dense.Half`.

    Lines cross from outer to inner halves: `border` is what is on the cell of each where it does.
    """

    largest: Array  # uint8: largest[n] is the largest exponent
    stuck: Array  # bool: stuck[n] says that all cells are full, and no neighbours are equal
    wins: Array  # bool: wins[n] says that two tiles in it make the goal
    border: Array  # uint8: border[c, n] is the exponent on the border in the c-th line that crosses
    near: Array  # bool: near[c, n] says that the tile next to the border there is half of the goal


STATE, LOSING, WINNING = range(3)
"""The rows of what `count_kinds` counts."""


@scalar
def _count_row(words, at, known, rest, marks, mark):
    """Count the marked boards of a row, those before `rest` twice."""
    found: Any = 0
    for k in range(words_of(known)):
        found += np.int64(ones(word_of(words, at, k, known) & marks[mark + k]))
        if rest:
            found += np.int64(ones(word_of(words, at, k, rest) & marks[mark + k]))
    return found


@kernel()
def count_kinds(sums, units, outer, inner, mirrors, rows_seen, columns_seen, layer, marks, scratch, counts):
    """Count the boards of some matrices, all of them if only some are stored.

    ``counts[kind, e]`` grows by the boards without an exponent above e: by all, by those without a slide, and
    by those with a slide that makes the goal.  `marks` is memory for ``e (c + 1) + c + 2`` rows of bits, of e
    exponents, empty cells included, and c lines that cross.
    """
    middle, at, known, rest = middle_of(units, mirrors.parts), scratch.at, scratch.known, scratch.wanted
    exponents, lines, some = counts.shape[1], len(rows_seen.border), scratch.first_row
    for h in sums:
        if h > middle_of(units, mirrors.halves):
            continue
        g = units - h
        row0, column0 = outer.begins[h], inner.begins[g]
        rows, columns = outer.begins[h + 1] - row0, inner.begins[g + 1] - column0
        wide = words_of(columns)
        find_rows(h, outer, layer, at)
        count_columns(h, outer, g, inner, middle, known)
        # As in `bits.count_won`: boards in the middle are their own image, or are stored beside it.
        rest[:rows] = 0
        if mirrors.parts:
            count_columns(h, outer, g, inner, middle - (2 * middle == units), rest)
        weight = 1 if not mirrors.halves or 2 * h == units else 2
        # A bit for each inner half: up to an exponent, stuck, winning, near half of the goal, on the border.
        stuck, wins = exponents * wide, (exponents + 1) * wide
        near = wins + wide
        border = near + lines * wide
        marks[: border + lines * exponents * wide] = U0
        for column in range(columns):
            n, word, bit = column0 + column, column >> 6, U1 << np.uint64(column & 63)
            for e in range(columns_seen.largest[n], exponents):
                marks[e * wide + word] |= bit
            if columns_seen.stuck[n]:
                marks[stuck + word] |= bit
            if columns_seen.wins[n]:
                marks[wins + word] |= bit
            for c in range(lines):
                if columns_seen.near[c, n]:
                    marks[near + c * wide + word] |= bit
                marks[border + (c * exponents + columns_seen.border[c, n]) * wide + word] |= bit
        for row in range(rows):
            n, many = row0 + row, words_of(known[row])
            largest = np.int64(rows_seen.largest[n])
            for e in range(largest, exponents):
                found = _count_row(layer.words, at[row], known[row], rest[row], marks, e * wide)
                counts[STATE, e] += weight * found
            if rows_seen.stuck[n]:
                # No slide: neither half has one, and across the border no tiles are equal.
                copy_row(some, 0, layer.words, at[row], many)
                and_row(some, 0, marks, stuck, many)
                for c in range(lines):
                    equal = border + (c * exponents + np.int64(rows_seen.border[c, n])) * wide
                    for k in range(many):
                        some[k] &= ~marks[equal + k]
                for e in range(largest, exponents):
                    counts[LOSING, e] += weight * _count_row(some, 0, known[row], rest[row], marks, e * wide)
            # A slide makes the goal in one of the halves, or across the border; the tiles are the largest.
            copy_row(some, 0, marks, (exponents - 1) * wide if rows_seen.wins[n] else wins, many)
            for c in range(lines):
                if rows_seen.near[c, n]:
                    or_row(some, 0, marks, near + c * wide, many)
            and_row(some, 0, layer.words, at[row], many)
            top = (exponents - 1) * wide
            counts[WINNING, exponents - 1] += weight * _count_row(some, 0, known[row], rest[row], marks, top)
