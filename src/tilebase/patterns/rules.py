"""The plain rules of 2048 on boards of any size, for questions about which positions can be reached.

A position is a tuple of exponents, row by row; 0 is an empty cell.  Cells are numbered in the same order.
A game begins with the empty board and a drop; then slides and drops take turns.

The engines of the other packages hold a board in 64 bits.  Here a board has as many cells as it likes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, product
from typing import NamedTuple

from tilebase.errors import ResourceError, UsageError, check_first
from tilebase.game.grid import Grid, grid_of, parse_shape

Position = tuple[int, ...]
DIRECTIONS = ("U", "D", "L", "R")
CONVENTIONS = ("rows", "columns")
"""Where a deterministic game drops: the topmost, then leftmost empty cell; or the leftmost, then topmost."""
MOST_CELLS = 10_000
MOST_BEFORE = 200_000
"""Most positions before an afterstate, and most lines before a line, that are listed."""
TOO_MANY_BEFORE = (
    f"more than {MOST_BEFORE:,} positions can be before this afterstate: ask for a board after a drop instead"
)


class Drop(NamedTuple):
    """A new tile: its cell and its exponent."""

    cell: int
    exponent: int = 1


Move = str | Drop
"""A slide, as one of `DIRECTIONS`, or a drop."""


@dataclass(frozen=True)
class Rules:
    """A board and what may happen on it.

    >>> Rules(1, 4, most=2).slide((1, 1, 0, 2), "L")
    (2, 2, 0, 0)
    """

    rows: int
    columns: int
    drops: tuple[int, ...] = (1,)  # the exponents that may be dropped: ``(1,)`` or ``(1, 2)``
    most: int | None = None  # the largest exponent that a slide may make; None for no bound
    # Of a deterministic game, one of `CONVENTIONS`; None if a drop may be on any empty cell.
    convention: str | None = None

    def __post_init__(self) -> None:
        if min(self.rows, self.columns) < 1 or self.cells > MOST_CELLS:
            raise UsageError(
                f"a board of {self.rows}x{self.columns} has {self.cells:,} cells: from 1 to "
                f"{MOST_CELLS:,} are possible"
            )

    @cached_property
    def grid(self) -> Grid:
        """The cells of the board."""
        return grid_of((self.rows, self.columns), False)

    @property
    def cells(self) -> int:
        """The number of cells of the board."""
        return self.rows * self.columns

    @property
    def empty(self) -> Position:
        """The empty board."""
        return (0,) * self.cells

    @cached_property
    def lines(self) -> dict[str, tuple[Position, ...]]:
        """For each direction, the cells of each line, beginning where the tiles slide to."""
        lines = self.grid.lines
        return {"U": lines["up"], "D": lines["down"], "L": lines["left"], "R": lines["right"]}

    # -- moves ---------------------------------------------------------------------------------------

    def slide(self, position: Position, direction: str) -> Position | None:
        """Return the position after a slide; None if it moves nothing or makes a tile above `most`."""
        after = list(position)
        for line in self.lines[direction]:
            pushed = push(tuple(position[cell] for cell in line), self.most)
            if pushed is None:
                return None
            for cell, value in zip(line, pushed, strict=True):
                after[cell] = value
        found = tuple(after)
        return None if found == position else found

    def slides(self, position: Position) -> Iterator[tuple[str, Position]]:
        """Yield each slide that is possible, and the position after it."""
        for direction in DIRECTIONS:
            after = self.slide(position, direction)
            if after is not None:
                yield direction, after

    def spawns(self, position: Position) -> Iterator[tuple[Drop, Position]]:
        """Yield each drop that is possible, and the position after it."""
        for cell in self.open_cells(position):
            for exponent in self.drops:
                yield Drop(cell, exponent), drop(position, Drop(cell, exponent))

    def open_cells(self, position: Position) -> list[int]:
        """Return the cells that a drop may use; one at most in a deterministic game."""
        cells = [cell for cell, value in enumerate(position) if not value]
        if self.convention == "rows":
            return cells[:1]
        if self.convention == "columns":
            return sorted(cells, key=lambda cell: (cell % self.columns, cell))[:1]
        return cells

    # -- symmetry ------------------------------------------------------------------------------------

    @cached_property
    def symmetries(self) -> tuple[Position, ...]:
        """The symmetries of the game as permutations of the cells, the identity first.

        A deterministic game has only the identity.
        """
        return (tuple(range(self.cells)),) if self.convention is not None else self.grid.symmetries

    def canonical(self, position: Position) -> Position:
        """Return the smallest of the images of a position."""
        return min(tuple(position[cell] for cell in permutation) for permutation in self.symmetries)

    # -- words ---------------------------------------------------------------------------------------

    def text(self, position: Position) -> str:
        """Return a position as tiles, rows joined by a stroke: ``2,4/4,2``."""
        return self.grid.rows([str(1 << value if value else 0) for value in position])

    @property
    def drop_words(self) -> str:
        """The tiles that are dropped: ``2s and 4s``."""
        return " and ".join(f"{1 << exponent}s" for exponent in self.drops)

    @property
    def start_words(self) -> str:
        """How play begins and where drops are, in words with a blank in front."""
        where = {
            None: "on any empty cell", "rows": "on the topmost, then leftmost empty cell",
            "columns": "on the leftmost, then topmost empty cell",
        }[self.convention]  # fmt: skip
        return f" from the empty board, drops {where}"

    def __str__(self) -> str:
        return str(self.grid)


def parse_rules(
    size: str,
    *,
    drops: str = "2",
    most: int | None = None,
    deterministic: bool = False,
    convention: str | None = None,
) -> Rules:
    """Return the rules of a game on a board with two sides: ``3x5``; `drops` is ``2`` or ``2,4``.

    A deterministic game has the convention ``rows`` if none is given.

    Raises `UsageError`.

    >>> parse_rules("2x3", drops="2,4", deterministic=True)
    Rules(rows=2, columns=3, drops=(1, 2), most=None, convention='rows')
    """
    check_first(size, str, "a size such as 4x4")
    try:
        rows, columns = parse_shape(size)
    except ValueError as error:
        raise UsageError(
            f"{size!r} is not a size: write rows x columns, as in 4x4, each from 1 to 999"
        ) from error
    if convention not in (None, *CONVENTIONS):
        raise UsageError(f"convention {convention!r} does not exist: choose {' or '.join(CONVENTIONS)}")
    if convention is not None and not deterministic:
        raise UsageError("a convention is for deterministic games: leave it out, or add deterministic")
    chosen = (convention or "rows") if deterministic else None
    return Rules(rows, columns, parse_drops(drops), most, chosen)


def parse_drops(text: str) -> tuple[int, ...]:
    """Return the exponents of the tiles that are dropped: ``2`` or ``2,4``.  Raises `UsageError`."""
    exponents = {"2": (1,), "2,4": (1, 2)}.get(str(text).replace(" ", ""))
    if exponents is None:
        raise UsageError(f"drops {text!r}: new tiles are 2 or 2,4")
    return exponents


def drop(position: Position, new: Drop) -> Position:
    """Return the position with a new tile."""
    return position[: new.cell] + (new.exponent,) + position[new.cell + 1 :]


def drops_made(position: Iterable[int]) -> int:
    """Return how many drops of 2s make a position: half its tile sum."""
    return sum(1 << value >> 1 for value in position)


@lru_cache(maxsize=1 << 20)
def push(line: Position, most: int | None = None) -> Position | None:
    """Return a line after a slide towards its first cell; None if that makes a tile above `most`.

    >>> push((1, 1, 2, 0)), push((2, 2), most=2)
    ((2, 2, 0, 0), None)
    """
    tiles = [value for value in line if value]
    pushed: list[int] = []
    at = 0
    while at < len(tiles):
        merges = at + 1 < len(tiles) and tiles[at] == tiles[at + 1]
        pushed.append(tiles[at] + merges)
        at += 1 + merges
        if merges and most is not None and pushed[-1] > most:
            return None
    return tuple(pushed) + (0,) * (len(line) - len(pushed))


@lru_cache
def checkerboard_position(rules: Rules, colouring: int) -> Position:
    """Return the checkerboard of 2s and 4s with this tile, 2 or 4, in the upper left corner.

    >>> checkerboard_position(Rules(2, 3), 4)
    (2, 1, 2, 1, 2, 1)
    """
    cells = (divmod(cell, rules.columns) for cell in range(rules.cells))
    return tuple(1 + (row + column + colouring // 2 - 1) % 2 for row, column in cells)


# -- slides backwards ---------------------------------------------------------------------------------


def before_slides(rules: Rules, position: Position) -> list[Position]:
    """Return the positions that a slide turns into this one.  Raises `ResourceError` if they are too many."""
    found: dict[Position, None] = {}
    for direction in DIRECTIONS:
        lines = rules.lines[direction]
        choices = [pull(tuple(position[cell] for cell in line)) for line in lines]
        if math.prod(len(choice) for choice in choices) > MOST_BEFORE:
            raise ResourceError(TOO_MANY_BEFORE)
        for chosen in product(*choices):
            before = [0] * rules.cells
            for line, content in zip(lines, chosen, strict=True):
                for cell, value in zip(line, content, strict=True):
                    before[cell] = value
            found[tuple(before)] = None
    found.pop(position, None)  # what rests
    return list(found)


@lru_cache(maxsize=1 << 16)
def pull(line: Position) -> tuple[Position, ...]:
    """Return the lines that a slide towards the first cell turns into this one.

    Raises `ResourceError` if they may be too many.

    >>> pull((2, 0))
    ((0, 2), (1, 1), (2, 0))
    """
    tiles = [value for value in line if value]
    free = len(line) - len(tiles)
    if any(line[len(tiles) :]):
        return ()
    found = set()
    split = [at for at, value in enumerate(tiles) if value > 1]
    ways = (math.comb(len(split), more) * math.comb(len(line), len(tiles) + more) for more in range(free + 1))
    if sum(ways) > MOST_BEFORE:
        raise ResourceError(TOO_MANY_BEFORE)
    for count in range(min(free, len(split)) + 1):
        for halved in combinations(split, count):
            parts = [
                part
                for at, value in enumerate(tiles)
                for part in ([value - 1] * 2 if at in halved else [value])
            ]
            if push(tuple(parts) + (0,) * (len(line) - len(parts))) != line:
                continue
            for places in combinations(range(len(line)), len(parts)):
                content = [0] * len(line)
                for place, part in zip(places, parts, strict=True):
                    content[place] = part
                found.add(tuple(content))
    return tuple(sorted(found))
