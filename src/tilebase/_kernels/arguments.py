"""The arguments of the kernels on packed keys: arrays and numbers with names.

Numba compiles a named tuple as its fields; it takes 0.1 µs per array and call to hand one over.
Those with many fields are `packed` first.  The classes stand here and not with those who fill them, since
compiled code knows fields by their position: the cache of kernels has to notice when fields change, and
this module is part of all its keys.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Words16 = npt.NDArray[np.uint16]
Words32 = npt.NDArray[np.uint32]
Words = npt.NDArray[np.uint64]
Numbers = npt.NDArray[np.int64]
Array = npt.NDArray[Any]

PICKS = np.array(
    [[k for k in range(8) if bits >> k & 1] + [0] * (8 - bits.bit_count()) for bits in range(256)],
    dtype=np.uint8,
)
"""``PICKS[bits, k]``: the number of the k-th bit that is set in a byte."""


STEPWISE, BY_BYTES, SQUARE, RECTANGLE = range(4)
"""How the images of boards are made (`Permutations.way`): in a loop for each, or all of a board together."""


class Permutations(NamedTuple):
    """Permutations of cells: swaps of cells at a distance, or unions of ``rotl(key & mask, rotation)``."""

    masks: Words  # masks[j, t]: the cells that rotation t of permutation j moves, or those behind of swap t
    rotations: Words  # rotations[j, t]: by how many bits to the left, or the distance of swap t in bits
    terms: Numbers  # terms[j]: how many rotations permutation j has; behind them are zeros up to fours
    swaps: Numbers  # swaps[j]: how many swaps it is, one after the other, 1 to 3; 0 if it is rotations
    way: int  # one of those above, if the j-th makes image j + 1 of a board from image j


class Axes(NamedTuple):
    """How boards slide along axis a: with its lines as rows, the last row in the lowest bits."""

    lines: Words  # lines[a]: how many lines there are
    cells: Words  # cells[a]: how many cells a line has
    by_table: Bytes  # by_table[a]: whether lines are looked up in a table, since they are short
    tables: tuple[Words, Words, Words]  # tables[a][begins[a, k] + word] (`boards.build_line_table`)
    by_pair: Bytes  # by_pair[a]: whether `pairs` is used instead: lines of at most 16 bits, without flags
    pairs: tuple[Words32, Words32, Words32]  # the same without flags, the two slides next to each other
    begins: Words  # begins[a, k]: where the table of the k-th line from the last begins
    obstacles: Words  # obstacles[a, k]: of the k-th line from the last, bit i set if cell i is one
    permuted: Bytes  # permuted[a]: whether boards have to be permuted for the lines to be rows
    restored: Bytes  # restored[a]: whether they have to be permuted back: not if a symmetry does it
    masks: Words  # masks[a, k]: all bits of the cells that must hold x after a slide; one mask is enough
    rows: Permutations  # the a-th makes the lines rows
    back: Permutations  # the a-th undoes it


class Limits(NamedTuple):
    """The largest tile of each cell, for cells two apart, so that a borrow stays in its own field."""

    even: np.uint64  # of the last cell and every second before it, each with a guard bit above
    odd: np.uint64  # of the other cells, moved to the same positions
    guards: np.uint64  # the guard bits
    fields: np.uint64  # the cells compared at once
    passing: np.uint64  # the lowest bits of the cells where an unmergeable tile passes


class BoardRules(NamedTuple):
    """The rules of one game.  Tiles are exponents."""

    bits: np.uint64  # bits per cell
    fold: np.uint64  # 2, 1, 0 for 4, 3, 2 bits per cell (`scalar.free_cells`)
    low_bits: np.uint64  # the lowest bit of each cell that a tile can be spawned in
    exponents: Numbers  # exponents[k]: the k-th tile that can be spawned, ascending
    unmergeable: np.uint64  # the code of tiles that never merge, 0 for none
    goal: np.uint64  # the tile that wins as soon as a merge makes it, 0 for none (see `spots`)
    goal_sum: np.uint64  # the sum of the tiles that wins, 0 for none
    horizon: np.uint64  # the sum of a board after a slide at which the game ends, 0 for none (`force`)
    top: np.uint64  # the largest tile allowed on any cell
    dimensions: int  # axes of the board
    axes: Axes
    limited: bool  # whether cells have different limits
    limits: Limits
    spots: Words  # spots[k]: a tile on every cell, and the lowest bits of the cells where it wins
    patterns: Words  # patterns[k]: the mask of a pattern's cells, and what they hold; either wins
    symmetries: Permutations  # the j-th makes image j + 1 of a board from image j
    order: int  # how many symmetries there are
    open_top: int  # with no larger tile, two empty cells tell that play goes on; 0: they never do


class Ranking(NamedTuple):
    """Ranks of the canonical boards of one layer (`rank`)."""

    shifts: Words  # shifts[k]: bits below part k of the board
    # parts[k][word]: what part k adds to its half's number; with `firsts` of other parts, as there
    parts: tuple[Words32, Words32, Words32, Words32]
    head_base: Words  # head_base[h]: rank of the first board with head h
    tail_rank: Words32  # tail_rank[t]: position of tail t among those of its sum
    bases: Words32  # in place of `head_base`, which is empty, where 32 bits suffice
    tails: Words16  # in place of `tail_rank`, which is empty, where 16 bits suffice
    # For games whose slides are judged line by line (`lines`), else empty:
    lines: Words  # lines[begins[a, k] + 2 word + e]: the k-th line from the last slid to end e of axis a
    begins: Words  # see `lines`
    cells: (
        Words  # cells[b]: what the next code adds to the halves' numbers, in the cell whose lowest bit is b
    )
    # For games with many half boards (`Index.is_cut`), in place of `head_base` and `tail_rank`, else empty.
    # Then parts[0] has numbers a; parts[2] where those of c begin in `smaller`, plus sums divided by 2; and
    # parts[3], in the lower half of each entry, sums divided by 2, in the upper half positions among those of
    # the same sum.
    firsts: Words  # firsts[a]: rank of the first board whose first part is a
    rests: Words32  # rests[h]: by how much that of the first board with head h is larger
    smaller: Words32  # smaller[begin of c + (c's + d's sum) / 2]: tails of that sum whose first part is less


class Listing(NamedTuple):
    """Boards of one layer by rank: the inverse of `Ranking`."""

    heads: Numbers  # heads[i]: the i-th head that has boards
    starts: Words  # starts[i]: rank of its first board
    tail_sums: Numbers  # tail_sums[i]: the sum that it leaves to the tail, divided by 2
    head_key: Words  # head_key[h]: the packed cells of head h, in their position in the key
    head_max: Bytes  # head_max[h]: its largest exponent
    tail_start: Words  # tail_start[s]: where the tails of sum 2 s begin in the two tables below
    tail_key: Array  # tail_rest | tail_key[t] << tail_shift: the packed cells of a tail
    tail_shift: np.uint64  # bits below those in which tails differ
    tail_rest: np.uint64  # the bits in which all tails are alike, as those of an x that stands
    tail_max: Bytes  # tail_max[t]: its largest exponent
    tail_bits: np.uint64  # the bits of the tail in a key


class Source(NamedTuple):
    """A set of boards that is read."""

    bits: Words  # the set, one bit per rank
    first_rank: np.uint64  # the rank of the first bit
    listing: Listing


class Pages(NamedTuple):
    """Ranks on their way to a large set: each block of ranks has a chain of pages (`forward.push`)."""

    block_bits: np.uint64  # a block has two to this power ranks
    offsets: Words32  # the pages, one after the other: ranks within a block
    cursor: Numbers  # cursor[b]: position in `offsets` of the next rank of block b
    page_block: Numbers  # page_block[p]: the block that owns page p
    used: Numbers  # used[0]: pages taken


class Target(NamedTuple):
    """A set of boards that is filled."""

    ranking: Ranking
    direct: bool  # whether bits are set at once; otherwise ranks go to the pages
    bits: Words  # the set, one bit per rank
    pages: Pages


class Recent(NamedTuple):
    """Afterstates that were found a short time ago (`forward.filter_recent`)."""

    slots: Words  # slots[hash]: the last key of this hash
    bits: np.uint64  # two to this power slots are used


class Scratch(NamedTuple):
    """Buffers of one thread for a batch of states and what slides make of them."""

    states: Words  # states[i]: the batch
    permuted: Words  # permuted[i]: the same with the lines of an axis as rows
    first: Words  # first[i]: slid towards the first cells, lines as rows
    last: Words  # last[i]: slid towards the last cells, lines as rows
    flags: Words  # flags[i]: WIN and FORBIDDEN (`boards`)
    slid: Words  # slid[j]: slides that are allowed, lines as rows
    boards: Words  # boards[j]: afterstates
    tags: Numbers  # tags[j]: which state and slide made boards[j]
    ranks: Words  # ranks[j]: rank of boards[j]
    images: Words  # images[0] and [1]: boards on their way through the symmetry group
    won: Bytes  # won[i]: whether a slide of state i wins
    keep: Bytes  # keep[i]: 1 if a slide of state i is allowed and changes it, else 0
    eights: Words  # the same memory: eights[g] holds keep[8 g] to keep[8 g + 7]
    picks: Bytes  # `PICKS`

    @classmethod
    def of(cls, width: int) -> Self:
        """Make buffers for so many boards."""
        states, permuted, first, last, flags, slid, boards, ranks = np.zeros((8, width), dtype=np.uint64)
        tags = np.zeros(width + 8, dtype=np.int64)
        images = np.zeros((2, width), dtype=np.uint64)
        won = np.zeros(width, dtype=np.uint8)
        eights = np.zeros(-(-width // 8), dtype=np.uint64)
        keep = eights.view(np.uint8)
        return cls(
            states, permuted, first, last, flags, slid, boards, tags, ranks, images, won, keep, eights, PICKS
        )


class Marks(NamedTuple):
    """The results for a batch of states."""

    won: Bytes  # won[i]: whether a slide wins
    alive: Bytes  # alive[i]: whether a slide is allowed
    maxima: Bytes  # maxima[i]: the largest exponent
    tally: Words  # tally[e]: counts of states of largest exponent e, packed into a word

    @classmethod
    def of(cls, width: int) -> Self:
        """Make marks for so many states."""
        won, alive, maxima = np.zeros((3, width), dtype=np.uint8)
        return cls(won, alive, maxima, np.zeros(16, dtype=np.uint64))


class Directory(NamedTuple):
    """From the rank of a board in its layer to its position (`backward`)."""

    bits: Words  # bits[g]: one bit for each rank of group g, set if the layer has this board
    counts: Words32  # counts[g]: the position of the first board of group g


class Links(NamedTuple):
    """The positions of the afterstates that follow spawns of one exponent (`backward`)."""

    slots: Words32  # slots[k, x]: position of the afterstate that slide k makes of state x
    gains: Array  # gains[j, a, x] (int32): what merges along axis a add, for the j-th table of potentials
    afters: Words  # afters[k, x]: the canonical afterstate; without columns not wanted


class Decided(NamedTuple):
    """The table of afterstates that are won or lost (`force`)."""

    entries: Words  # lines of eight entries
    line_bits: np.uint64  # there are two to this power lines


class SearchPath(NamedTuple):
    """Where a depth-first search is (`force`)."""

    boards: Words  # boards[d]: the afterstate of frame d
    spans: Numbers  # spans[d]: where the records of frame d begin and end in `pool`; -1: not open yet
    pool: Words  # records: for each undecided spawn, how many boards follow it, and which


class ForceScratch(NamedTuple):
    """Buffers of one thread for opening an afterstate."""

    slides: Scratch
    boards: Words  # boards[j]: canonical afterstates that follow the spawns
    spawn: Numbers  # spawn[j]: the spawn that boards[j] follows
    won: Bytes  # won[i]: whether a slide after spawn i wins
    known: Numbers  # known[j]: what is known of boards[j]
    left: Numbers  # left[i]: how many boards of spawn i are unknown
    rows: Words  # rows[6 i + k]: the k-th most promising board after spawn i
    scores: Numbers  # scores[6 i + k]: how promising it is
    order: Numbers  # order[k]: the spawn that is decided k-th

    @classmethod
    def of(cls, width: int) -> Self:
        """Make buffers for an afterstate that is followed by so many boards."""
        boards, rows = np.zeros((2, width), dtype=np.uint64)
        spawn, known, left, scores, order = np.zeros((5, width), dtype=np.int64)
        won = np.zeros(width, dtype=np.uint8)
        return cls(Scratch.of(width), boards, spawn, won, known, left, rows, scores, order)
