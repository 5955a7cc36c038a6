"""Sets of boards as decision diagrams, and where slides and spawns lead into them.

There are two kinds of sets: of states, on which the player is to move, and of afterstates, on which
something is spawned.  A board can be in both.  States have the even variables and afterstates the odd ones,
side by side.  A relation between the two is then small, and where it leads into a set (its *preimage*) is one
relational product with it, in which the variables of the set are quantified at once.

A slide acts on each line alone, so everything about slides is made from the contents of single lines.  The
relation of a slide is the conjunction of those of the lines, which is small if the variables of each line are
side by side.  They are so along one axis only.  For another axis the board is relabelled: the variables of a
line get the cells of a line of the other axis.  Boards of any shape can be relabelled, boxes too.  If a
symmetry of the game has the same effect, a set is its own image, and only the result of the product is
relabelled.  Measured on 4x4: this is five times faster than products with the relations of single columns,
although a relabelling composes functions.

If a spawn can lead out of a set of states, it leads into the complement.  So preimages that ask for every
spawn need nothing else.

A *code* gives each value of a cell, an exponent or the tile x, a tuple of bits, the most significant
first.  A bit may be `FREE`: then both of its values mean the same, and a diagram has no node for it.
In every code, whether a bit is free depends only on the bits before it.

Each operation of the library goes through `Library.careful`, alone: repeated, it makes less garbage than a
longer step would.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, reduce
from itertools import chain, product
from typing import Any

import numpy as np
import numpy.typing as npt

from tilebase.bdd.library import Library
from tilebase.errors import ResourceError, UsageError
from tilebase.game.game import Cells, Game, merge_line
from tilebase.game.grid import Grid
from tilebase.game.symmetry import symmetries

Diagram = Any
"""A diagram of OxiDD."""
Content = tuple[Cells, Cells]
"""What a line holds, and what a slide towards its first cell makes of it."""
Seats = tuple[int, ...]
"""For each cell, the cell whose variables it has after relabelling."""
MOST_CONTENTS = 1 << 20
"""Contents of one line."""


class Sets:
    """The sets of boards of a game.  Boards beyond its limits, and won ones, are in none of them."""

    def __init__(self, game: Game, encoding: str, order: str, library: Library) -> None:
        self.game, self.library, self.careful = game, library, library.careful
        self.allowed = tuple(game.codes(cell) for cell in range(game.cells))
        # What cells may hold: exponents, then the code of x if there is one.
        self.values = tuple(sorted({value for values in self.allowed for value in values}))
        codes = codes_of(encoding, len(self.values))
        self.codes = dict(zip(self.values, codes, strict=True))  # the bits of each value
        self.width = len(codes[0])  # bits of a cell
        # The bits of all cells, from the top of a diagram to its bottom.
        self.order = order_of(order, game.grid, self.width)
        self.place = {bit: place for place, bit in enumerate(self.order)}
        # The deepest cell comes first: what is above it is then put on top of a finished diagram.
        self._upwards = sorted(range(game.cells), key=lambda cell: -self.place[cell, 0])
        check_lines(game, len(self.values))
        manager = library.manager
        manager.add_vars(2 * len(self.order))
        self.none = manager.false()  # no board
        self.unit = manager.true()  # the board without cells, to which `put` adds cells
        self._var = [manager.var(number) for number in range(2 * len(self.order))]
        self._not = [manager.not_var(number) for number in range(2 * len(self.order))]
        self._state_cube, self._after_cube = (self._product(self._var[kind::2]) for kind in (0, 1))
        self._axes = self._layouts(order)
        self._relabellings: dict[Seats, Diagram] = {}
        self._spawns: dict[tuple[int, bool], Diagram] = {}
        self._primes = library.function.make_substitution(
            [(place, self._var[place + 1]) for place in range(0, 2 * len(self.order), 2)]
        )

    def prepare(self) -> None:
        """Make what every line needs, so that none is charged with its time."""
        _ = self.every, self.open, self.making, self._slides

    # -- operations ----------------------------------------------------------------------------------

    def union(self, sets: Iterable[Diagram]) -> Diagram:
        """Return the union of sets, pair by pair, so that the operands stay small."""
        parts = list(sets)
        while len(parts) > 1:
            odd = [parts.pop()] if len(parts) % 2 else []
            pairs = zip(parts[::2], parts[1::2], strict=True)
            parts = [self.careful(operator.or_, one, other) for one, other in pairs] + odd
        return parts[0] if parts else self.none

    def both(self, one: Diagram, other: Diagram) -> Diagram:
        """Return the boards that are in both sets."""
        return self.careful(operator.and_, one, other)

    def minus(self, boards: Diagram, others: Diagram) -> Diagram:
        """Return the boards that are not among the others."""
        return self.both(boards, ~others)

    def put(self, boards: Diagram, cell: int, value: int) -> Diagram:
        """Return boards that have no such cell yet, with this value there."""
        return self.both(boards, self._is(cell, value))

    def as_afters(self, states: Diagram) -> Diagram:
        """Return the same boards as a set of afterstates."""
        return self.careful(states.substitute, self._primes)

    def count(self, boards: Diagram, *, after: bool = False) -> int:
        """Return how many boards there are in a set of states, or of afterstates."""
        if any(FREE in code for code in self.codes.values()):
            boards = self.both(boards, self._written[after])
        found: int = boards.sat_count(2 * len(self.order))
        return found >> len(self.order)  # the variables of the other kind are free

    def holds(self, boards: Diagram, board: Sequence[int], *, after: bool = False) -> bool:
        """Return whether a board is in a set of states, or of afterstates."""
        bits = [(place, False) for place in range(2 * len(self.order))]
        for cell, value in enumerate(board):
            bits += [(self._at(cell, bit, after), code == 1) for bit, code in enumerate(self.codes[value])]
        return boards.eval(bits)

    @staticmethod
    def nodes(boards: Diagram) -> int:
        """Nodes of a diagram, leaves included."""
        return boards.node_count()

    def _at(self, cell: int, bit: int, after: bool) -> int:
        return 2 * self.place[cell, bit] + after

    def _is(self, cell: int, value: int, *, after: bool = False) -> Diagram:
        """Return all boards with this value on this cell, as a cube."""
        literals = {
            self._at(cell, bit, after): code for bit, code in enumerate(self.codes[value]) if code != FREE
        }
        return self._product((self._var if code else self._not)[at] for at, code in sorted(literals.items()))

    def _product(self, factors: Iterable[Diagram]) -> Diagram:
        return reduce(lambda below, factor: self.both(factor, below), reversed(list(factors)), self.unit)

    @cached_property
    def _written(self) -> tuple[Diagram, Diagram]:
        """The boards, states and afterstates, whose free bits are 0: one way to write each."""
        found = []
        for after in (False, True):
            cells = []
            for cell in range(self.game.cells):
                zeros = {
                    value: [self._not[self._at(cell, bit, after)] for bit, b in enumerate(code) if b == FREE]
                    for value, code in self.codes.items()
                }
                values = [
                    self._product([self._is(cell, value, after=after), *zeros[value]])
                    for value in self.values
                ]
                cells.append(self.union(values))
            found.append(self._product(cells))
        return found[0], found[1]

    # -- boards by what their cells hold --------------------------------------------------------------

    def where(self, held: Sequence[Iterable[int]]) -> Diagram:
        """Return the states each of whose cells holds one of the values given for it."""
        boards = self.unit
        for cell in self._upwards:
            boards = self.union(self.put(boards, cell, value) for value in held[cell])
        return boards

    def by_total(self, worth: Mapping[int, int]) -> dict[int, Diagram]:
        """Return the states by the total worth of what their cells hold; other values are left out."""
        found = self._fillings(worth)
        if not self.game.unmergeable:
            return found
        played = {total: self.both(boards, self.every) for total, boards in found.items()}
        return {total: boards for total, boards in played.items() if boards != self.none}

    def _fillings(self, worth: Mapping[int, int]) -> dict[int, Diagram]:
        """As `by_total`, with any number of unmergeable tiles."""
        found = {0: self.unit}
        for cell in self._upwards:
            parts: dict[int, list[Diagram]] = {}
            for total, boards in found.items():
                for value in worth.keys() & self.allowed[cell]:
                    parts.setdefault(total + worth[value], []).append(self.put(boards, cell, value))
            found = {total: self.union(part) for total, part in parts.items()}
        return found

    @cached_property
    def every(self) -> Diagram:
        """All states: what cells may hold, with as many unmergeable tiles as the game has, on a mask."""
        by_count = self._fillings({value: int(self.game.is_x(value)) for value in self.values})
        boards = by_count[len(self.game.unmergeable)]
        return self.both(boards, self._standing) if self.game.masks else boards

    @cached_property
    def _standing(self) -> Diagram:
        """The states whose x cover a mask."""
        x = self.game.x
        return self.union(
            self.where([[x] if cell in mask else values for cell, values in enumerate(self.allowed)])
            for mask in self.game.masks
        )

    @cached_property
    def open(self) -> Diagram:
        """All states with an empty cell, as afterstates: on a full board nothing can be spawned."""
        full = self.where(
            [
                [value for value in values if value or cell in self.game.walls]
                for cell, values in enumerate(self.allowed)
            ]
        )
        return self.as_afters(self.minus(self.every, full))

    def layers(self) -> dict[int, Diagram]:
        """Return all states by sum."""
        return self.by_total({value: self.game.sum((value,)) for value in self.values})

    @cached_property
    def making(self) -> Diagram:
        """The states of which a slide makes the goal tile; with masks, one after which the x cover a mask."""
        game = self.game
        found = []
        for direction in game.directions if game.goal_exponent is not None else ():
            made = []
            for line in game.segments[direction]:
                held = [source for source, after in self.contents(line) if game.holds_goal(after)]
                made.append(self.with_lines({line: held}))
            states = self.union(made)
            found.append(self.both(states, self._comes_to_stand(direction)) if game.masks else states)
        return self.union(found)

    def _comes_to_stand(self, direction: str) -> Diagram:
        """Return the states whose x cover a mask after a slide, which may make any tile."""
        x = self.game.x

        def sources(line: Cells, mask: Cells) -> list[Cells]:
            wanted = [index for index, cell in enumerate(line) if cell in mask]
            return [
                source for source, after in self.contents(line) if all(after[index] == x for index in wanted)
            ]

        return self.union(
            self.with_lines({line: sources(line, mask) for line in self.game.segments[direction]})
            for mask in self.game.masks
        )

    @cached_property
    def matching(self) -> Diagram:
        """The afterstates that hold a pattern."""
        found = [
            self.where(
                [
                    [value for value in values if value == wanted or wanted is None]
                    for values, wanted in zip(self.allowed, pattern, strict=True)
                ]
            )
            for pattern in self.game.patterns
        ]
        return self.as_afters(self.union(found))

    def moving(self, direction: str) -> Diagram:
        """Return the states that a slide changes."""
        resting = {
            line: [source for source, after in self.contents(line) if source == after]
            for line in self.game.segments[direction]
        }
        return self.minus(self.every, self.with_lines(resting))

    def contents(self, line: Cells) -> list[Content]:
        """Return everything that a line may hold."""
        x = self.game.x_code
        return [(source, merge_line(source, x)) for source in product(*(self.allowed[cell] for cell in line))]

    def with_lines(self, held: dict[Cells, list[Cells]]) -> Diagram:
        """Return the states in which each of these lines holds one of the given contents."""
        free = set(range(self.game.cells)) - {cell for line in held for cell in line}
        boards = self.unit
        for cell in self._upwards:
            if cell in free:
                boards = self.union(self.put(boards, cell, value) for value in self.allowed[cell])
        for line, sources in held.items():
            boards = self.assembled(dict.fromkeys(sources, boards), line)
        return boards

    def assembled(self, begun: dict[Cells, Diagram], line: Cells) -> Diagram:
        """Return boards without a line, by what the line shall hold, with the line."""
        for cell in reversed(line):
            parts: dict[Cells, list[Diagram]] = {}
            for held, rest in begun.items():
                if rest != self.none:
                    parts.setdefault(held[:-1], []).append(self.put(rest, cell, held[-1]))
            begun = {held: self.union(part) for held, part in parts.items()}
        return begun.get((), self.none)

    # -- spawns --------------------------------------------------------------------------------------

    def spawns_into(self, states: Diagram, exponent: int, *, first: bool = False) -> Diagram:
        """Return the afterstates of which a spawn of this exponent can make one of these states.

        `first`: it is spawned on the first empty cell, by rows, and not on any.
        """
        key = exponent, first
        if key not in self._spawns:
            self._spawns[key] = self._spawn(exponent, first=first)
        return self._preimage(states, self._spawns[key], self._state_cube)

    def _preimage(self, boards: Diagram, relation: Diagram, cube: Diagram) -> Diagram:
        return self.careful(boards.apply_exists, self.library.conjunction, relation, cube)

    def _spawn(self, exponent: int, *, first: bool) -> Diagram:
        """Return the relation of a spawn: one empty cell gets a tile, the others keep what they hold."""
        empty = [self._is(cell, 0, after=True) for cell in range(self.game.cells)]
        open_cells = [cell for cell in range(self.game.cells) if cell not in self.game.walls]
        found = []
        for index, cell in enumerate(open_cells):
            same = self._product(
                self.careful(self._var[2 * place].equiv, self._var[2 * place + 1])
                for place, (other, _) in enumerate(self.order)
                if other != cell
            )
            filled = [~empty[before] for before in open_cells[:index]] if first else []
            parts = [empty[cell], self._is(cell, exponent), same, *filled]
            found.append(self._product(parts))
        return self.union(found)

    # -- slides --------------------------------------------------------------------------------------

    def slides_into(self, afters: Diagram, *, symmetric: bool = True) -> Diagram:
        """Return the states from which some slide makes one of these afterstates.

        `symmetric`: the symmetries of the game map the set of afterstates to itself.
        """
        found: list[Diagram] = []
        every = tuple(range(self.game.cells))
        for seats, directions in self._axes:
            back = tuple(map(seats.index, every))
            if symmetric and seats != every and back in self._group:
                states = found[0]  # the image of the slides along the first axis
            else:
                start = self._relabelled(afters, seats)
                states = self.union(
                    self._preimage(start, self._slides[direction], self._after_cube)
                    for direction in directions
                )
            found.append(self._relabelled(states, back))
        return self.union(found)

    def _layouts(self, order: str) -> list[tuple[Seats, tuple[str, ...]]]:
        """For each axis, where its cells are while the slides along it are computed, and its directions."""
        game, own = self.game, tuple(range(self.game.cells))
        fast = line_by_line(game.grid, ORDERS[order])
        found = []
        for back in range(len(game.shape)):
            cells = line_by_line(game.grid, 2 * back)
            seat = dict(zip(cells, fast, strict=True))
            found.append((tuple(seat[cell] for cell in own), game.directions[2 * back : 2 * back + 2]))
        return sorted(found, key=lambda layout: layout[0] != own)

    @cached_property
    def _group(self) -> frozenset[Cells]:
        return frozenset(symmetries(self.game))

    @cached_property
    def _slides(self) -> dict[str, Diagram]:
        """For each direction the relation of a slide, relabelled; boards that do not move are left out."""
        found: dict[str, Diagram] = {}
        for seats, directions in self._axes:
            for direction in directions:
                lines = self.game.segments[direction]
                moved = {cell for line in lines for cell in line}
                lines = (*lines, *((cell,) for cell in range(self.game.cells) if cell not in moved))
                parts = [self._line(line, seats) for line in lines]
                found[direction] = self._product([self._relabelled(self.moving(direction), seats), *parts])
        return found

    def _line(self, line: Cells, seats: Seats) -> Diagram:
        """Return the relation of a slide along one line, towards its first cell; also where nothing moves."""
        contents = [
            (source, after)
            for source, after in self.contents(line)
            if all(value in self.allowed[cell] for cell, value in zip(line, after, strict=True))
        ]
        columns = {}
        for index, cell in enumerate(line):
            for bit in range(self.width):
                for after in (False, True):
                    at = self._at(seats[cell], bit, after)
                    columns[at] = [self.codes[content[after][index]][bit] for content in contents]
        places = sorted(columns)
        table = np.array([columns[place] for place in places], dtype=np.uint8)
        table = table[:, np.lexsort(table[::-1])]
        return self._tabled(places, table, 0, 0, table.shape[1])

    def _tabled(
        self, places: list[int], table: npt.NDArray[np.uint8], row: int, low: int, high: int
    ) -> Diagram:
        """Return the disjunction of the columns low to high of a sorted table, from a row on.

        They agree in the rows above, so a bit is free in all of them or in none.
        """
        if low == high:
            return self.none
        while row < len(places) and table[row, low] == FREE:
            row += 1
        if row == len(places):
            return self.unit
        split = low + int(np.searchsorted(table[row, low:high], 1))
        zero = self._tabled(places, table, row + 1, low, split)
        one = self._tabled(places, table, row + 1, split, high)
        return self.careful(self._var[places[row]].ite, one, zero)

    def _relabelled(self, boards: Diagram, seats: Seats) -> Diagram:
        """Return the boards with the content of each cell moved to its seat."""
        if seats == tuple(range(self.game.cells)):
            return boards
        if seats not in self._relabellings:
            self._relabellings[seats] = self.library.function.make_substitution(
                [
                    (self._at(cell, bit, after), self._var[self._at(seat, bit, after)])
                    for cell, seat in enumerate(seats)
                    if cell != seat
                    for bit in range(self.width)
                    for after in (False, True)
                ]
            )
        return self.careful(boards.substitute, self._relabellings[seats])


def check_lines(game: Game, values: int) -> None:
    """Raise `ResourceError` if a line can hold too much for a table of its slides."""
    longest = max((len(line) for line in game.grid.all_lines), default=1)
    if values**longest > MOST_CONTENTS:
        raise ResourceError(
            f"diagrams need a table of all contents of a line, and {longest} cells with {values} values have "
            f"{values**longest:,}, more than {MOST_CONTENTS:,}: choose a lower goal or a shorter line"
        )


# -- codes and orders ---------------------------------------------------------------------------------

Code = tuple[int, ...]
FREE = 2
"""A bit that may be 0 or 1."""


def _binary(count: int) -> tuple[Code, ...]:
    """Return numbers with as many bits as the largest one needs, as in the thesis."""
    width = max(1, (count - 1).bit_length())
    return tuple(tuple(value >> bit & 1 for bit in reversed(range(width))) for value in range(count))


def _short(count: int) -> tuple[Code, ...]:
    """Binary numbers, but bits that would leave a code unused are free.

    Nine values need four bits, which have sixteen codes.  Here the last value has the code ``1***``.
    """
    if count == 1:
        return ((FREE,),)
    low = 1 << (count - 1).bit_length() - 1  # the values that begin with a 0
    width = low.bit_length() - 1
    high = _short(count - low) if count > low + 1 else ((),)
    return (
        *((0, *code) for code in (_binary(low) if width else ((),))),
        *((1, *code, *(FREE,) * (width - len(code))) for code in high),
    )


ENCODINGS: dict[str, Callable[[int], tuple[Code, ...]]] = {"short": _short, "binary": _binary}


def codes_of(encoding: str, count: int) -> tuple[Code, ...]:
    """Return the codes of `count` values of a cell.  Raises `UsageError`.

    >>> codes_of("binary", 3)
    ((0, 0), (0, 1), (1, 0))
    >>> codes_of("short", 3)
    ((0, 0), (0, 1), (1, 2))
    """
    if encoding not in ENCODINGS:
        raise UsageError(f"encoding {encoding!r} does not exist: choose one of {', '.join(ENCODINGS)}")
    return ENCODINGS[encoding](count)


Bit = tuple[int, int]
"""A cell and the number of a bit of its code, 0 for the most significant."""
ORDERS = {"rows": 0, "columns": -2}
"""The orders of the variables, cell by cell, and which of the directions of a board has lines whose variables
lie side by side."""


def line_by_line(grid: Grid, direction: int) -> Cells:
    """Return all cells, line by line along the axis of a direction.

    >>> line_by_line(Grid((2, 3)), ORDERS["columns"])
    (0, 3, 1, 4, 2, 5)
    """
    return tuple(chain.from_iterable(grid.lines[grid.directions[direction]]))


def order_of(order: str, grid: Grid, width: int) -> list[Bit]:
    """Return the variables of all cells from the top of a diagram to its bottom.  Raises `UsageError`."""
    if order not in ORDERS:
        raise UsageError(f"order {order!r} does not exist: choose one of {', '.join(ORDERS)}")
    return [(cell, bit) for cell in line_by_line(grid, ORDERS[order]) for bit in range(width)]
