"""Searches from positions back to the empty board.

A position with nearly no empty cell has few positions that can be before it, so the question whether it can
be reached is often decided after a few steps back, on boards far too large for a search from the empty board.

Every position of a layer has the same tile sum; the layer below it has the positions that are one drop
earlier.  An exhaustive search keeps all of them: if a layer is empty, the goals cannot be reached.  A narrow
search keeps some of them, and can only find that a goal can be reached.  Tiles never become smaller, so no
position before a goal has a tile above those of the goals.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tilebase._kernels import unslide
from tilebase._kernels.arguments import Words
from tilebase.errors import ResourceError, UsageError
from tilebase.game.notation import count_of, tile_text
from tilebase.patterns.effort import ANY, Effort
from tilebase.patterns.rules import DIRECTIONS, Move, Position, Rules, drops_made
from tilebase.runtime.progress import Pace

MOST_CODES = 1 << 24
"""Most contents of a line: its tables have 21 bytes for each."""
MOST_SIDE, MOST_VALUE = 60, 255
TIME_OUT = "time ran out: allow more time"
FEWEST_SLOTS = 1 << 12
WIDTHS = (300, 3000, 30_000)
"""How many positions of each layer the narrow searches of `decide_back` keep, one after the other."""
LEAVES = 4
"""How many positions they look for before each position."""
MOST_SEED = (1 << 62) - 1
CHUNK = 4096
"""Positions between two looks at the clock."""
CHOICES = 50_000
"""Most choices of a line before one position and drop, in a narrow search."""


@dataclass(frozen=True)
class Backward:
    """What a search found.

    Attributes
    ----------
    rules, goals:
        The game and the positions that were asked for.
    reachable:
        Whether one of them can be reached, with the player to move; None if the search did not decide it.
    moves:
        A game that ends with one of the goals.
    layers:
        How many positions the search kept, by half their tile sum: the drops of 2s that make it.
    exhaustive:
        Whether the layers have every position from which a goal can be reached, one of each set of symmetric
        ones.  (Positions that have nothing before them are left out.)
    seconds:
        Time for it.
    reason:
        Why it is not decided.
    """

    rules: Rules
    goals: tuple[Position, ...]
    reachable: bool | None
    moves: tuple[Move, ...] | None
    layers: dict[int, int]
    exhaustive: bool
    seconds: float
    reason: str = ""

    @property
    def positions(self) -> int:
        """How many positions were kept."""
        return sum(self.layers.values())


def search_back(
    rules: Rules,
    goals: Iterable[Position],
    effort: Effort = ANY,
    *,
    width: int | None = None,
    leaves: int = 16,
) -> Backward:
    """Decide whether one of some positions can be reached, and find a game that ends with it.

    Parameters
    ----------
    rules:
        The game; drops may be on any empty cell.
    goals:
        Positions with the player to move.
    effort:
        The memory for the layers, the time after which the search stops, and the seed of a narrow search.
    width:
        The most positions that are kept of a layer.  None: all of them.
    leaves:
        In a narrow search, how many positions are looked for before each position.

    Raises
    ------
    UsageError
        If the game is deterministic, or a goal does not fit the board.
    ResourceError
        If the lines have too many contents for their tables.

    >>> from tilebase.patterns.moves import replay
    >>> rules = Rules(2, 2)
    >>> found = search_back(rules, [(2, 1, 1, 2)])
    >>> found.reachable, replay(rules, found.moves)[-1] == found.goals[0]
    (True, True)
    >>> search_back(rules, [(4, 4, 4, 4)]).reachable
    False
    """
    ends = tuple(goals)
    boards = make_boards(rules, check_goals(rules, ends))
    search = _Search(rules, ends, boards, width, leaves, effort)
    return search.run(effort.deadline, effort.pace("positions"))


def decide_back(rules: Rules, goals: Iterable[Position], effort: Effort = ANY) -> Backward:
    """Decide as `search_back`, with narrow searches first, which find most games, and then an exhaustive one.

    The result is that of the last search that was made.
    """
    began, ends, found = time.perf_counter(), tuple(goals), None
    base = check_goals(rules, ends)
    boards = None
    for width in (*WIDTHS, None):
        if effort.left < 0:
            break
        boards = boards or make_boards(rules, base)
        search = _Search(rules, ends, boards, width, LEAVES, effort)
        found = search.run(effort.deadline, effort.pace("positions"))
        if found.reachable is not None:
            break
    spent = time.perf_counter() - began
    if found is None:
        return Backward(rules, ends, None, None, {}, False, spent, TIME_OUT)
    return replace(found, seconds=spent)


class _Search:
    """One search, with its layers."""

    def __init__(
        self,
        rules: Rules,
        goals: tuple[Position, ...],
        boards: unslide.Boards,
        width: int | None,
        leaves: int,
        effort: Effort,
    ) -> None:
        self.rules, self.goals, self.width, self.leaves = rules, goals, width, leaves
        self.memory, self.boards, self.base = effort.memory, boards, boards.base
        self.scratch = make_scratch(rules, self.boards, effort.seed)
        self.words = words_of(rules, self.boards.bits)
        self.random = np.random.default_rng(effort.seed)
        self.kept: dict[int, Words] = {}  # the layers that are done, by half their sum
        self.tables: dict[int, Table] = {}

    def run(self, deadline: float, pace: Pace) -> Backward:
        """Go back layer by layer until one is empty, a game is found, or the search is given up."""
        began = time.perf_counter()
        by_units: dict[int, list[Position]] = {}
        for goal in self.goals:
            by_units.setdefault(drops_made(goal), []).append(goal)
        most = max(by_units)
        reason, done = "", 0
        for units in range(most, 0, -1):
            table = self.tables.pop(units, None) or Table(self.words)
            table.add(pack(self.boards, self.scratch, by_units.get(units, [])))
            keys = self._choose(table.keys())
            self.kept[units] = keys
            if not len(keys):
                if not any(lower <= units for lower in (*by_units, *self.tables)):
                    break
                continue
            if units <= self.rules.drops[-1] and self._firsts(units):
                break
            reason = self._expand(keys, units, deadline, pace, done, 1 - units / most)
            done += len(keys)
            if reason:
                break
        return self._result(reason, time.perf_counter() - began)

    def _result(self, reason: str, seconds: float) -> Backward:
        begun = [units for units in (1, 2) if self._firsts(units)]
        reachable: bool | None = bool(begun)
        exhaustive = self.width is None and not reason
        if not begun and not exhaustive:
            reachable = None
            reason = reason or f"no game was found among {self.width:,} positions of each layer"
        moves = self._game(begun[0]) if begun else None
        layers = {units: len(keys) for units, keys in self.kept.items() if len(keys)}
        return Backward(self.rules, self.goals, reachable, moves, layers, exhaustive, seconds, reason)

    # -- layers --------------------------------------------------------------------------------------

    def _choose(self, keys: Words) -> Words:
        """Return the positions of a layer that are kept."""
        if self.width is None or len(keys) <= self.width:
            return keys
        return keys[np.sort(self.random.choice(len(keys), self.width, replace=False))]

    def _expand(self, keys: Words, units: int, deadline: float, pace: Pace, done: int, share: float) -> str:
        """Find the positions before those of a layer; return why that was given up, or nothing."""
        tables = [self.tables.setdefault(units - (1 << e >> 1), Table(self.words)) for e in self.rules.drops]
        at = 0
        while at < len(keys):
            end = min(at + CHUNK, len(keys))
            used = np.array([table.used for table in tables], dtype=np.int64)
            arrays = tuple(table.slots for table in tables)
            leaves, choices = (0, 0) if self.width is None else (self.leaves, CHOICES)
            at = unslide.expand(keys, at, end, self.boards, arrays, used, leaves, choices, self.scratch)
            for table, count in zip(tables, used.tolist(), strict=True):
                table.used = count
            if pace.due():
                pace.report(units, "search", done + at, share)
            if time.perf_counter() > deadline:
                return TIME_OUT
            if at < end:
                if self._bytes() + 4 * sum(array.nbytes for array in arrays) > self.memory:
                    return f"{self.memory >> 20:,} MiB are too little memory for the layers"
                for table in tables:
                    table.grow()
        return ""

    def _bytes(self) -> int:
        tables = sum(table.slots.nbytes for table in self.tables.values())
        return tables + sum(keys.nbytes for keys in self.kept.values())

    # -- the game that was found ---------------------------------------------------------------------

    def _firsts(self, units: int) -> list[Position]:
        """Return the positions of a layer that are the first of a game."""
        exponent = units.bit_length()
        if units not in self.kept or 1 << exponent >> 1 != units or exponent not in self.rules.drops:
            return []
        firsts = [after for new, after in self.rules.spawns(self.rules.empty) if new.exponent == exponent]
        return [after for after, known in zip(firsts, self._are_kept(firsts, units), strict=True) if known]

    def _game(self, units: int) -> tuple[Move, ...]:
        """Return a game through the layers to a goal."""
        state = self._firsts(units)[0]
        moves = [next(new for new, after in self.rules.spawns(self.rules.empty) if after == state)]
        found: list[Move] = [*moves]
        goals = {self.rules.canonical(goal) for goal in self.goals}
        while self.rules.canonical(state) not in goals:
            slide, new, state = next(self._on(state))
            found += [slide, new]
        images = self._seen_from(state)
        return tuple(_moved(self.rules, move, images) for move in found)

    def _on(self, state: Position) -> Iterator[tuple[str, Move, Position]]:
        """Yield the moves from a position to one that is kept."""
        made = drops_made(state)
        for slide, after in self.rules.slides(state):
            if max(after) >= self.base:
                continue
            choices = list(self.rules.spawns(after))
            for exponent in self.rules.drops:
                here = [(new, then) for new, then in choices if new.exponent == exponent]
                known = self._are_kept([then for _, then in here], made + (1 << exponent >> 1))
                for (new, then), is_kept in zip(here, known, strict=True):
                    if is_kept:
                        yield slide, new, then

    def _are_kept(self, positions: list[Position], units: int) -> list[bool]:
        """Return whether each of some positions is in a layer."""
        keys = self.kept.get(units)
        if keys is None or not len(keys) or not positions:
            return [False] * len(positions)
        asked = pack(self.boards, self.scratch, positions)
        near = keys[np.isin(keys[:, 0], asked[:, 0])]
        known = set(map(bytes, near))
        return [bytes(key) in known for key in asked]

    def _seen_from(self, state: Position) -> Position:
        """Return the symmetry that turns a position into one of the goals."""
        for permutation in self.rules.symmetries:
            if tuple(state[cell] for cell in permutation) in self.goals:
                return permutation
        raise AssertionError("the game does not end with a goal")


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


# -- the arguments of the kernels ---------------------------------------------------------------------


def check_goals(rules: Rules, goals: tuple[Position, ...]) -> int:
    """Return how many values a cell may have in a search for these goals.

    Raises `UsageError` or `ResourceError` unless there is such a search.
    """
    if rules.convention is not None:
        raise UsageError("the search back is for drops on any empty cell")
    if not goals:
        raise UsageError("no position is given to search for")
    for goal in goals:
        if len(goal) != rules.cells or min(goal) < 0 or not any(goal):
            raise UsageError(f"a position of {rules} has {rules.cells} cells, and a tile")
    side = max(rules.rows, rules.columns)
    largest = max(*rules.drops, *(max(goal) for goal in goals))
    if side > MOST_SIDE or largest > MOST_VALUE or (largest + 1) ** side > MOST_CODES:
        raise ResourceError(
            f"a line of {count_of(side, 'cell')} with tiles to {tile_text(largest)} has more than "
            f"{MOST_CODES:,} contents: the search needs a smaller board or smaller tiles"
        )
    return largest + 1


def pack(boards: unslide.Boards, scratch: unslide.Scratch, positions: list[Position]) -> Words:
    """Positions as packed boards, one of each set of symmetric ones."""
    array = np.array(positions, dtype=np.uint8).reshape(len(positions), len(scratch.state))
    out = np.zeros((len(positions), scratch.words.shape[1]), dtype=np.uint64)
    unslide.pack_all(array, boards, scratch.words, out)
    return out


def check_seed(seed: int) -> None:
    """Raise `UsageError` unless random choices can start with this number."""
    if not 0 <= seed <= MOST_SEED:
        raise UsageError(f"seed {seed}: give a whole number from 0 to {MOST_SEED:,}")


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


def make_scratch(rules: Rules, boards: unslide.Boards, seed: int) -> unslide.Scratch:
    """Working memory for the kernels.  Raises `UsageError` as `check_seed`."""
    check_seed(seed)
    lines = max(rules.rows, rules.columns)
    codes, probe, tried, turn = np.zeros((4, lines + 1), dtype=np.int64)
    return unslide.Scratch(
        np.zeros(rules.cells, dtype=np.uint8), np.zeros(rules.cells, dtype=np.uint8),
        np.zeros((2, words_of(rules, boards.bits)), dtype=np.uint64),
        codes, probe, tried, turn,
        np.zeros((lines + 1, 5), dtype=np.int64),
        np.zeros((lines + 1, lines), dtype=np.int64),
        np.zeros(4 * rules.cells + 1, dtype=np.int64),
        np.array([2 * seed + 1], dtype=np.uint64),
    )  # fmt: skip


def _moved(rules: Rules, move: Move, permutation: Position) -> Move:
    """Return a move as it is on the board's image: what was on ``permutation[k]`` is on cell k."""
    where = {cell: k for k, cell in enumerate(permutation)}
    if not isinstance(move, str):
        return move._replace(cell=where[move.cell])
    lines = {tuple(where[cell] for cell in line) for line in rules.lines[move]}
    return next(direction for direction in DIRECTIONS if set(rules.lines[direction]) == lines)
