"""Sets of boards as decision diagrams, and where slides and spawns lead into them.

There are two kinds of sets: of states, on which the player is to move, and of afterstates, on which
something is spawned.  A board can be in both.

Each operation of the library goes through `Library.careful`, alone: repeated, it makes less garbage than a
longer step would.

A slide acts on each line alone.  So everything about slides is made from the contents of single lines.
How a preimage is computed from them depends on the kind of diagrams: see `relations` for BDDs and
`families` for ZBDDs.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any

from tilebase.bdd.codes import codes_of, order_of
from tilebase.bdd.library import Library
from tilebase.errors import ResourceError
from tilebase.game.game import Cells, Game, merge_line

Diagram = Any
"""A diagram of OxiDD."""
Content = tuple[Cells, Cells]
"""What a line holds, and what a slide towards its first cell makes of it."""
MOST_CONTENTS = 1 << 20
"""Contents of one line."""


class Sets(ABC):
    """The sets of boards of a game.  Boards beyond its limits, and won ones, are in none of them.

    Attributes
    ----------
    game:
        The game.
    values:
        What cells may hold: exponents, then the code of x if there is one.
    codes:
        The bits of each value.
    width:
        Bits of a cell.
    order:
        The bits of all cells, from the top of a diagram to its bottom.
    """

    def __init__(self, game: Game, encoding: str, order: str, library: Library) -> None:
        self.game, self.library, self.careful = game, library, library.careful
        self.allowed = tuple(game.codes(cell) for cell in range(game.cells))
        self.values = tuple(sorted({value for values in self.allowed for value in values}))
        codes = codes_of(encoding, len(self.values))
        self.codes = dict(zip(self.values, codes, strict=True))
        self.width = len(codes[0])
        self.order = order_of(order, game.shape, self.width)
        self.place = {bit: place for place, bit in enumerate(self.order)}
        # The deepest cell comes first: what is above it is then put on top of a finished diagram.
        self._upwards = sorted(range(game.cells), key=lambda cell: -self.place[cell, 0])
        check_lines(game, len(self.values))

    # -- what each kind of diagrams does its own way -------------------------------------------------

    none: Diagram
    """No board."""
    unit: Diagram
    """The board without cells, to which `put` adds cells."""

    @abstractmethod
    def put(self, boards: Diagram, cell: int, value: int) -> Diagram:
        """Return boards that have no such cell yet, with this value there."""

    @abstractmethod
    def minus(self, boards: Diagram, others: Diagram) -> Diagram:
        """Return the boards that are not among the others."""

    @abstractmethod
    def others(self, states: Diagram) -> Diagram:
        """Return all states but these; boards beyond the limits may be among them."""

    @abstractmethod
    def slides_into(self, afters: Diagram, *, symmetric: bool = True) -> Diagram:
        """Return the states from which some slide makes one of these afterstates.

        `symmetric`: the symmetries of the game map the set of afterstates to itself.
        """

    @abstractmethod
    def spawns_into(self, states: Diagram, exponent: int, *, first: bool = False) -> Diagram:
        """Return the afterstates of which a spawn of this exponent can make one of these states.

        `first`: it is spawned on the first empty cell, by rows, and not on any.
        """

    @abstractmethod
    def as_afters(self, states: Diagram) -> Diagram:
        """Return the same boards as a set of afterstates."""

    @abstractmethod
    def count(self, boards: Diagram, *, after: bool = False) -> int:
        """Return how many boards there are in a set of states, or of afterstates."""

    @abstractmethod
    def holds(self, boards: Diagram, board: Sequence[int], *, after: bool = False) -> bool:
        """Return whether a board is in a set of states, or of afterstates."""

    def prepare(self) -> None:
        """Make what every line needs, so that none is charged with its time."""
        _ = self.every, self.open, self.making

    # -- what is the same for all --------------------------------------------------------------------

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

    @staticmethod
    def nodes(boards: Diagram) -> int:
        """Nodes of a diagram, leaves included."""
        found: int = boards.node_count()
        return found

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

    @cached_property
    def moving(self) -> dict[str, Diagram]:
        """For each direction the states that a slide changes."""
        found = {}
        for direction, segments in self.game.segments.items():
            resting = {
                line: [source for source, after in self.contents(line) if source == after]
                for line in segments
            }
            found[direction] = self.minus(self.every, self.with_lines(resting))
        return found

    def contents(self, line: Cells) -> list[Content]:
        """Return everything that a line may hold."""
        x = self.game.x if self.game.unmergeable else 0
        return [(source, merge_line(source, x)) for source in product(*(self.allowed[cell] for cell in line))]

    def allowed_contents(self, line: Cells) -> list[Content]:
        """Return everything that a line may hold from which a slide makes something that it may hold."""
        return [
            (source, after)
            for source, after in self.contents(line)
            if all(value in self.allowed[cell] for cell, value in zip(line, after, strict=True))
        ]

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


def check_lines(game: Game, values: int) -> None:
    """Raise `ResourceError` if a line can hold too much for a table of its slides."""
    longest = max((len(line) for line in game.grid.all_lines), default=1)
    if values**longest > MOST_CONTENTS:
        raise ResourceError(
            f"diagrams need a table of all contents of a line, and {longest} cells with {values} values have "
            f"{values**longest:,}, more than {MOST_CONTENTS:,}: choose a lower goal or a shorter line"
        )
