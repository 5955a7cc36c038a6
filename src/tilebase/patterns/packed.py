"""Searches on packed boards: from positions back to the empty board, and from a position on to a full board.

Both go layer by layer.  Every position of a layer has the same tile sum, and a step leads to the layer that
is one drop earlier, or later.  A layer may be narrowed to some of its positions.  What differs is the step,
which kernels do, the choice of the positions that are kept, and what ends the search.

*Back.*  A position with nearly no empty cell has few positions that can be before it, so the question whether
it can be reached is often decided after a few steps back, on boards far too large for a search from the empty
board.  An exhaustive search keeps all of them: if a layer is empty, the goals cannot be reached.  A narrow
search keeps some of them, and can only find that a goal can be reached.  Tiles never become smaller, so no
position before a goal has a tile above those of the goals.

*On.*  This search finds games that fill a board; it proves nothing by itself.  Cells may be kept: every
slide must leave the tile on them as it is.  A search whose lowest row is kept finds games on a board with any
number of complete rows below.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tilebase._kernels import onward, unslide
from tilebase._kernels.arguments import Numbers, Words
from tilebase._kernels.packed import packed
from tilebase.errors import ResourceError
from tilebase.game.notation import count_of, tile_text
from tilebase.patterns.moves import carried, replay
from tilebase.patterns.rules import DIRECTIONS, Drop, Move, Position, Rules, drops_made
from tilebase.patterns.searching import ANY, Effort, Searched
from tilebase.runtime.progress import Pace

MOST_CODES = 1 << 24
"""Most contents of a line: its tables have 21 bytes for each."""
MOST_SIDE, MOST_VALUE = 60, 255
TIME_OUT = "time ran out: allow more time"
FEWEST_SLOTS = 1 << 12
WIDTHS = (300, 3000, 30_000)
"""How many positions of each layer the narrow searches of `decide_back` keep, one after the other."""
LEAVES, MANY_LEAVES = 4, 16
"""How many positions they look for before each position, and how many a narrow `search_back` looks for."""
CHUNK = 4096
"""Positions between two looks at the clock."""
CHOICES = 50_000
"""Most choices of a line before one position and drop, in a narrow search."""


# -- what both searches share -------------------------------------------------------------------------


class _Layers(ABC):
    """A search layer by layer.  Layers are numbered by half their tile sum: the drops of 2s that make it."""

    def __init__(self, rules: Rules, boards: unslide.Boards, width: int | None, effort: Effort) -> None:
        self.rules, self.boards, self.width, self.effort = rules, packed(boards), width, effort
        self.scratch = packed(make_scratch(rules, boards, effort.seed))
        self.words = words_of(rules, boards.bits)
        self.random = np.random.default_rng(effort.seed)
        self.kept: dict[int, Words] = {}  # the positions that were kept of each layer so far
        self.tables: dict[int, Table] = {}  # the layers that are not complete yet
        self.pace = Pace(effort.progress, "positions")
        self.done = 0  # how many of them a step was made from
        self.reason = ""  # why the search was given up

    @abstractmethod
    def _next(self, layer: int) -> list[int]:
        """Return the layers that a step from a layer leads to."""

    @abstractmethod
    def _step(self, keys: Words, begin: int, end: int, tables: tuple[Words, ...], used: Numbers) -> int:
        """Insert what a step makes of ``keys[begin:end]``; return where it stopped: a table may be full."""

    @abstractmethod
    def _choose(self, keys: Words, width: int) -> Words:
        """Return `width` positions of a layer that has more."""

    def layers(self, order: range, begun: dict[int, list[Position]]) -> Iterator[int]:
        """Yield the layers in order; the positions that are `begun` belong to them, too.

        A step is made from each layer when the next one is asked for.  Ends if no position is left, or the
        search is given up.
        """
        for number, layer in enumerate(order):
            table = self.tables.pop(layer, None) or Table(self.words)
            table.add(self.pack(begun.pop(layer, [])))
            keys = table.keys()
            if self.width is not None and len(keys) > self.width:
                keys = self._choose(keys, self.width)
            self.kept[layer] = keys
            yield layer
            if len(keys):
                self._expand(keys, layer, number / len(order))
                self.done += len(keys)
            elif not (begun or self.tables):
                return
            if self.reason:
                return

    def _expand(self, keys: Words, layer: int, share: float) -> None:
        """Make a step from all positions of a layer, unless it is given up."""
        tables = [self.tables.setdefault(other, Table(self.words)) for other in self._next(layer)]
        at = 0
        while at < len(keys):
            if self.effort.left < 0:
                self.reason = TIME_OUT
                return
            end = min(at + CHUNK, len(keys))
            used = np.array([table.used for table in tables], dtype=np.int64)
            at = self._step(keys, at, end, tuple(table.slots for table in tables), used)
            for table, count in zip(tables, used.tolist(), strict=True):
                table.used = count
            if self.pace.due():
                self.pace.report(layer, "search", self.done + at, share)
            if at < end:  # a table is nearly full; grown, it is four times as large
                if self._bytes() + 4 * sum(table.slots.nbytes for table in tables) > self.effort.memory:
                    self.reason = f"{self.effort.memory >> 20:,} MiB are too little memory for the layers"
                    return
                for table in tables:
                    table.grow()

    def _bytes(self) -> int:
        tables = sum(table.slots.nbytes for table in self.tables.values())
        return tables + sum(keys.nbytes for keys in self.kept.values())

    def pack(self, positions: list[Position]) -> Words:
        """Return positions as packed boards, one of each set of symmetric ones."""
        array = np.array(positions, dtype=np.uint8).reshape(len(positions), self.rules.cells)
        out = np.zeros((len(positions), self.words), dtype=np.uint64)
        unslide.pack_all(array, self.boards, self.scratch.words, out)
        return out


class Table:
    """A hash table of packed boards."""

    def __init__(self, words: int) -> None:
        self.slots = np.zeros((FEWEST_SLOTS, words), dtype=np.uint64)
        self.used = 0

    def add(self, keys: Words) -> None:
        """Insert boards."""
        while 2 * (self.used + len(keys)) > len(self.slots):
            self.grow()
        self.used += unslide.insert_all(keys, self.slots)

    def grow(self) -> None:
        """Make the table four times as large."""
        keys = self.keys()
        self.slots = np.zeros((4 * len(self.slots), self.slots.shape[1]), dtype=np.uint64)
        unslide.insert_all(keys, self.slots)

    def keys(self) -> Words:
        """Return all boards, in the order of their slots."""
        out = np.zeros((self.used, self.slots.shape[1]), dtype=np.uint64)
        unslide.collect(self.slots, out)
        return out


# -- back --------------------------------------------------------------------------------------------


def search_back(
    rules: Rules, goals: list[Position], effort: Effort = ANY, *, width: int | None = None
) -> Searched:
    """Decide whether one of some positions can be reached, and find a game that ends with it.

    Drops may be on any empty cell.  There is at least one goal; the player is to move there, and it has a
    tile.  At most `width` positions are kept of a layer; all if it is None.  Raises `ResourceError` if the
    lines have too many contents for their tables.

    >>> rules = Rules(2, 2)
    >>> found = search_back(rules, [(2, 1, 1, 2)])
    >>> found.reachable, replay(rules, found.moves)[-1]
    (True, (2, 1, 1, 2))
    >>> search_back(rules, [(4, 4, 4, 4)]).reachable
    False
    """
    boards = make_boards(rules, check_goals(rules, goals))
    return _Back(rules, goals, boards, width, MANY_LEAVES, effort).run()


def decide_back(rules: Rules, goals: list[Position], effort: Effort = ANY) -> Searched:
    """Decide as `search_back`, with narrow searches first, which find most games, and then an exhaustive one.

    The result is that of the last search that was made.
    """
    base = check_goals(rules, goals)
    found = Searched(None, None, TIME_OUT)
    if effort.left < 0:
        return found
    boards = make_boards(rules, base)
    for width in (*WIDTHS, None):
        found = _Back(rules, goals, boards, width, LEAVES, effort).run()
        if found.reachable is not None or effort.left < 0:
            break
    return found


class _Back(_Layers):
    """A search back from goals: the keys of a layer are states after a drop."""

    def __init__(
        self, rules: Rules, goals: list[Position], boards: unslide.Boards, width: int | None, leaves: int,
        effort: Effort,
    ) -> None:  # fmt: skip
        super().__init__(rules, boards, width, effort)
        self.goals = goals
        self.leaves, self.choices = (0, 0) if width is None else (leaves, CHOICES)

    def run(self) -> Searched:
        """Go back until a layer is empty, a first position of a game is found, or the search is given up."""
        ends: dict[int, list[Position]] = {}
        for goal in self.goals:
            ends.setdefault(drops_made(goal), []).append(goal)
        for layer in self.layers(range(max(ends), 0, -1), ends):
            if layer <= self.rules.drops[-1] and self._firsts(layer):
                break
        positions = sum(map(len, self.kept.values()))
        begun = self._firsts(1) or self._firsts(2)
        if begun:
            return Searched(True, self._game(begun[0]), "", positions)
        if self.reason:
            return Searched(None, None, self.reason, positions)
        if self.width is not None:
            reason = f"no game was found among {self.width:,} positions of each layer"
            return Searched(None, None, reason, positions)
        listed = count_of(positions, "position")
        reason = f"every position that could lead to it was listed, {listed}: none begins a game"
        return Searched(False, None, reason, positions)

    def _next(self, layer: int) -> list[int]:
        return [layer - (1 << exponent >> 1) for exponent in self.rules.drops]

    def _step(self, keys: Words, begin: int, end: int, tables: tuple[Words, ...], used: Numbers) -> int:
        both = tables if len(tables) == 2 else (*tables, *tables)  # or it is compiled for one alone
        return int(
            unslide.expand(keys, begin, end, self.boards, both, used, self.leaves, self.choices, self.scratch)
        )

    def _choose(self, keys: Words, width: int) -> Words:
        return keys[np.sort(self.random.choice(len(keys), width, replace=False))]

    # -- the game that was found ---------------------------------------------------------------------

    def _firsts(self, units: int) -> list[Position]:
        """Return the positions of layer 1 or 2 that are the first of a game: one 2, or one 4."""
        if units not in self.kept:
            return []
        firsts = [after for new, after in self.rules.spawns(self.rules.empty) if new.exponent == units]
        return [after for after, known in zip(firsts, self._are_kept(firsts, units), strict=True) if known]

    def _game(self, state: Position) -> tuple[Move, ...]:
        """Return a game through the layers from its first position to a goal."""
        found: list[Move] = [Drop(state.index(max(state)), max(state))]
        goals = {self.rules.canonical(goal) for goal in self.goals}
        while self.rules.canonical(state) not in goals:
            slide, new, state = next(self._on(state))
            found += [slide, new]
        # A symmetry turns the last position into one of the goals, and the game with it.
        image = next(
            image for image in self.rules.symmetries if tuple(state[cell] for cell in image) in self.goals
        )
        to = [image.index(cell) for cell in range(self.rules.cells)]
        return tuple(carried(self.rules, found, to))

    def _on(self, state: Position) -> Iterator[tuple[str, Move, Position]]:
        """Yield the moves from a position to one that is kept."""
        made = drops_made(state)
        for slide, after in self.rules.slides(state):
            if max(after) >= self.boards.base:
                continue
            choices = list(self.rules.spawns(after))
            for exponent in self.rules.drops:
                here = [(new, then) for new, then in choices if new.exponent == exponent]
                known = self._are_kept([then for _, then in here], made + (1 << exponent >> 1))
                for (new, then), is_kept in zip(here, known, strict=True):
                    if is_kept:
                        yield slide, new, then

    def _are_kept(self, positions: list[Position], units: int) -> list[bool]:
        keys = self.kept.get(units)
        if keys is None or not len(keys) or not positions:
            return [False] * len(positions)
        asked = self.pack(positions)
        near = keys[np.isin(keys[:, 0], asked[:, 0])]
        known = set(map(bytes, near))
        return [bytes(key) in known for key in asked]


# -- on ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Aim:
    """What a forward search looks for."""

    start: Position  # before the first drop
    kept: frozenset[int] = field(default_factory=frozenset)  # cells whose tile may not change
    largest: int = 2  # the largest exponent that may be made
    most: int = 1 << 20  # how many tiles may have that exponent
    # If given, the last position has so many drops of 2s, counted with those of `start`, and no slide is left
    # there.  Otherwise the last position is any full board.
    drops: int | None = None


def search_on(rules: Rules, aim: Aim, effort: Effort = ANY, *, width: int) -> Searched:
    """Look for a game from a position to an aim, keeping at most `width` positions of each layer.

    The moves that are found begin with the drop after the position.  If there are none, nothing is proved.
    """
    return _On(rules, aim, width, effort).run()


class _On(_Layers):
    """A search on from a position, with drops of 2s."""

    def __init__(self, rules: Rules, aim: Aim, width: int, effort: Effort) -> None:
        boards = make_boards(rules, aim.largest + 1)
        if any(aim.start):
            boards = boards._replace(images=boards.images[:1])
        super().__init__(rules, boards, width, effort)
        self.aim, self.dead = aim, aim.drops is not None
        self.fixed = np.full(rules.cells, onward.FREE, dtype=np.uint8)
        for cell in aim.kept:
            self.fixed[cell] = aim.start[cell]
        self.goal = np.zeros(self.words, dtype=np.uint64)  # the last position, once one is found

    def run(self) -> Searched:
        """Go on until a goal is found, a layer is empty, or the search is given up."""
        first = drops_made(self.aim.start) + 1
        last = self.rules.cells << (self.aim.largest - 1) if self.aim.drops is None else self.aim.drops
        begun = {first: [after for _, after in self.rules.spawns(self.aim.start)]}
        for layer in self.layers(range(first, last + 1), begun):
            if self.goal.any() and (not self.dead or layer == last):
                before = [self.kept[number] for number in range(layer - 1, first - 1, -1)]
                return Searched(True, self._game(before), "", self.done)
            if layer == last:
                break
            self.goal[:] = 0
        return Searched(None, None, self.reason, self.done)

    def _next(self, layer: int) -> list[int]:
        return [layer + 1]

    def _step(self, keys: Words, begin: int, end: int, tables: tuple[Words, ...], used: Numbers) -> int:
        (table,) = tables
        at = onward.advance(
            keys, begin, end, self.boards, self.fixed, self.aim.most, self.dead, table, used, self.goal,
            self.scratch,
        )  # fmt: skip
        return len(keys) if self.goal.any() else int(at)

    def _choose(self, keys: Words, width: int) -> Words:
        """Return those with few equal neighbours, but with some chance."""
        pairs = np.zeros(len(keys), dtype=np.int64)
        onward.count_pairs(keys, self.boards, self.scratch, pairs)
        order = np.argpartition(pairs + 4 * self.random.random(len(keys)), width)
        return keys[np.sort(order[:width])]

    def _game(self, before: list[Words]) -> tuple[Move, ...]:
        """Return the moves to the goal through the layers before it, the last one first."""
        chain = [self.goal]
        for keys in before:
            chain.append(keys[onward.find_source(keys, self.boards, chain[-1], self.scratch)])
        rules = Rules(self.rules.rows, self.rules.columns, most=self.aim.largest)
        moves: list[Move] = []
        position = self.aim.start
        for key in map(bytes, reversed(chain)):
            slides = [((), position)] if not moves else [((d,), then) for d, then in rules.slides(position)]
            options = [(*d, new, then) for d, after in slides for new, then in rules.spawns(after)]
            found = self.pack([option[-1] for option in options])
            *step, position = next(o for o, k in zip(options, found, strict=True) if bytes(k) == key)
            moves += step
        replay(rules, moves, self.aim.start)
        return tuple(moves)


# -- the arguments of the kernels ---------------------------------------------------------------------


def check_goals(rules: Rules, goals: list[Position]) -> int:
    """Return how many values a cell may have in a search for these goals.

    Raises `ResourceError` if the tables of such a search would be too large.
    """
    side = max(rules.rows, rules.columns)
    largest = max(*rules.drops, *(max(goal) for goal in goals))
    if side > MOST_SIDE or largest > MOST_VALUE or (largest + 1) ** side > MOST_CODES:
        raise ResourceError(
            f"a line of {count_of(side, 'cell')} with tiles to {tile_text(largest)} has more than "
            f"{MOST_CODES:,} contents: the search needs a smaller board or smaller tiles"
        )
    return largest + 1


def words_of(rules: Rules, bits: int) -> int:
    """Return how many words a packed board has."""
    return -(-rules.cells // (64 // bits))


def make_boards(rules: Rules, base: int) -> unslide.Boards:
    """Return the tables of a search whose positions have values below `base`."""
    bits = max((base - 1).bit_length(), 1)
    drops = np.zeros(base, dtype=np.uint8)
    drops[[exponent for exponent in rules.drops if exponent < base]] = 1
    longest = max(rules.rows, rules.columns)
    cell = np.zeros((len(DIRECTIONS), longest, longest), dtype=np.int64)
    for d, direction in enumerate(DIRECTIONS):
        for i, line in enumerate(rules.lines[direction]):
            cell[d, i, : len(line)] = line
    across = make_lines(rules.rows, base, drops)
    along = across if rules.rows == rules.columns else make_lines(rules.columns, base, drops)
    return unslide.Boards(
        bits, base, drops, cell,
        np.array([rules.columns] * 2 + [rules.rows] * 2, dtype=np.int64),
        np.array([rules.rows] * 2 + [rules.columns] * 2, dtype=np.int64),
        np.array(rules.symmetries, dtype=np.int64),
        across, along,
    )  # fmt: skip


def make_lines(length: int, base: int, drops: npt.NDArray[np.uint8]) -> unslide.Lines:
    """Return the tables of all lines of one length."""
    codes = base**length
    pushed = np.zeros(codes, dtype=np.int64)
    unslide.push_codes(length, base, np.zeros(length, dtype=np.int64), pushed)
    order = np.argsort(pushed, kind="stable")
    invalid = int(np.count_nonzero(pushed < 0))
    first = np.zeros(codes + 1, dtype=np.int64)
    np.cumsum(np.bincount(pushed[pushed >= 0], minlength=codes), out=first[1:])
    power = base ** np.arange(length + 1, dtype=np.int64)
    start = np.zeros(length + 2, dtype=np.int64)
    np.cumsum(power, out=start[1:])
    plain, toward, away = (np.zeros(codes, dtype=np.uint8) for _ in range(3))
    begun = np.zeros(start[-1], dtype=np.uint8)
    lines = unslide.Lines(first, order[invalid:], plain, toward, away, begun, start, power)
    unslide.describe_lines(length, base, drops, lines)
    return lines


def make_scratch(rules: Rules, boards: unslide.Boards, seed: int) -> unslide.SearchScratch:
    """Return working memory for the kernels."""
    lines = max(rules.rows, rules.columns)
    codes, probe, tried, turn = np.zeros((4, lines + 1), dtype=np.int64)
    return unslide.SearchScratch(
        np.zeros(rules.cells, dtype=np.uint8), np.zeros(rules.cells, dtype=np.uint8),
        np.zeros((2, words_of(rules, boards.bits)), dtype=np.uint64),
        codes, probe, tried, turn,
        np.zeros((lines + 1, 5), dtype=np.int64),
        np.zeros((lines + 1, lines), dtype=np.int64),
        np.zeros(4 * rules.cells + 1, dtype=np.int64),
        np.array([2 * seed + 1], dtype=np.uint64),
    )  # fmt: skip
