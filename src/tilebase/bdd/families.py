"""Sets of boards as ZBDDs: families of sets of variables, those that are 1.

The library has no quantification for ZBDDs, and none is needed: states and afterstates have the same
variables, and a line is taken apart by its contents, slid, and put together again.  It takes a step for
each content of a line, so this is for small boards, and for comparing the sizes of diagrams.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

from tilebase.bdd.codes import FREE
from tilebase.bdd.library import Library
from tilebase.bdd.sets import Diagram, Sets
from tilebase.errors import UsageError
from tilebase.game.game import Cells, Game


class Families(Sets):
    """Sets of boards as ZBDDs."""

    def __init__(self, game: Game, encoding: str, order: str, library: Library) -> None:
        super().__init__(game, encoding, order, library)
        if any(FREE in code for code in self.codes.values()):
            raise UsageError(
                f"a ZBDD needs one code for each value, and {encoding} leaves bits free: use binary"
            )
        manager = library.manager
        manager.add_vars(len(self.order))
        self.none, self.unit = manager.empty(), manager.base()

    def put(self, boards: Diagram, cell: int, value: int) -> Diagram:
        for bit, code in enumerate(self.codes[value]):
            if code:
                boards = self.careful(boards.change, self.place[cell, bit])
        return boards

    def take(self, boards: Diagram, cell: int, value: int) -> Diagram:
        """Return the boards with this value on a cell, without the cell."""
        for bit, code in enumerate(self.codes[value]):
            place = self.place[cell, bit]
            boards = self.careful(boards.subset1 if code else boards.subset0, place)
        return boards

    def minus(self, boards: Diagram, others: Diagram) -> Diagram:
        return self.careful(operator.sub, boards, others)

    def others(self, states: Diagram) -> Diagram:
        return self.minus(self.every, states)

    def as_afters(self, states: Diagram) -> Diagram:
        return states

    def count(self, boards: Diagram, *, after: bool = False) -> int:
        found: int = boards.sat_count(len(self.order))
        return found

    def holds(self, boards: Diagram, board: Sequence[int], *, after: bool = False) -> bool:
        for cell, value in enumerate(board):
            boards = self.take(boards, cell, value)
        return bool(boards == self.unit)

    def spawns_into(self, states: Diagram, exponent: int, *, first: bool = False) -> Diagram:
        open_cells = [cell for cell in range(self.game.cells) if cell not in self.game.walls]
        found = []
        for index, cell in enumerate(open_cells):
            afters = self.put(self.take(states, cell, exponent), cell, 0)
            for before in open_cells[:index] if first else ():
                afters = self.minus(afters, self.put(self.take(afters, before, 0), before, 0))
            found.append(afters)
        return self.union(found)

    def slides_into(self, afters: Diagram, *, symmetric: bool = True) -> Diagram:
        found = []
        for direction, lines in self.game.segments.items():
            states = afters
            for line in lines:
                states = self._before(states, line)
            found.append(self.both(states, self.moving[direction]))
        return self.union(found)

    def _before(self, afters: Diagram, line: Cells) -> Diagram:
        """Return the boards from which a slide along one line, towards its first cell, makes one of these."""
        sources: dict[Cells, list[Cells]] = {}
        for source, after in self.allowed_contents(line):
            sources.setdefault(after, []).append(source)
        begun: dict[Cells, Diagram] = {}
        for after, before in sources.items():
            rest = afters
            for cell, value in zip(line, after, strict=True):
                rest = self.take(rest, cell, value)
            begun |= dict.fromkeys(before, rest)
        return self.assembled(begun, line)
