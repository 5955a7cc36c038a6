"""Boards with real tiles, whatever their size, and how they slide if they are read as boards of a game."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

from tilebase.game.board import Board, draw
from tilebase.game.game import NOTHING, Cells, Game
from tilebase.game.notation import cell_text
from tilebase.tables.large_tiles import LARGE, Reading, large_tiles_of

UNIQUE = 100
"""A large tile on cell c has the code ``UNIQUE + c`` while it slides, so it merges with no other tile."""


@dataclass(frozen=True)
class RealBoard:
    """A board with real tiles.  It has the members of `Board` by which a board is drawn and played.

    Attributes
    ----------
    game, tiles:
        The game of the table, which has the shape and the walls; the exponents, 0 for an empty cell and
        `LARGE` for an x.
    read_as:
        How the board is read; None for the first way in which it can be.
    """

    won = False  # a reading that is won does not count

    game: Game
    tiles: Cells
    read_as: Reading | None = field(default=None, compare=False, repr=False)

    def __repr__(self) -> str:
        return f"<RealBoard {self.text}>"

    @cached_property
    def reading(self) -> Reading:
        """How it is read as a board of the game.  Raises `NoReadingError` if it cannot be."""
        return self.read_as or large_tiles_of(self.game).readings(self.tiles)[0]

    @property
    def cells(self) -> Cells:
        """The board of the game as which it is read."""
        return self.reading.cells

    @property
    def text(self) -> str:
        """The board as ``2,4/0,8``."""
        return self.game.grid.rows(self._words())

    def unicode(self) -> str:
        """Return a picture in box-drawing characters, as `Board.unicode` draws it."""
        return draw(self.game, ["" if word == "0" else word for word in self._words()])

    def _words(self) -> list[str]:
        walls = self.game.walls
        return [cell_text(e, LARGE, wall=cell in walls) for cell, e in enumerate(self.tiles)]

    @property
    def sum(self) -> int:
        """As `Board.sum`: the sum of its tiles without the large ones, by which tables have layers."""
        return self.game.sum(self.cells)

    @property
    def max_tile(self) -> int:
        """The largest tile; 0 on an empty board."""
        return max((1 << e for e in self.tiles if e % LARGE), default=0)

    def slides(self) -> dict[str, RealBoard]:
        """Return the boards after the slides that the game allows, without merges of large tiles."""
        game, orientation, coded = self.game, self.reading.orientation, self._apart()
        found: dict[str, RealBoard] = {}
        for name, cells in game.slides(self.cells).items():
            direction = orientation.directions[name]
            codes = game.slide_any(coded, direction, 0)
            large = tuple(cell for cell, code in enumerate(codes) if code >= UNIQUE)
            tiles = tuple(self.tiles[code - UNIQUE] if code >= UNIQUE else code for code in codes)
            found[direction] = RealBoard(game, tiles, Reading(orientation, large, cells))
        return {direction: found[direction] for direction in game.directions if direction in found}

    def equal_tiles(self) -> Mapping[int, int]:
        """Return the exponents of large tiles with an equal tile on the board, and how many are equal."""
        large = {self.tiles[cell] for cell in self.reading.large} - {LARGE}
        return {e: self.tiles.count(e) for e in large if self.tiles.count(e) > 1}

    def merges_large(self, direction: str) -> bool:
        """Return whether a slide merges a large tile, whether the game allows that slide or not."""
        slid = (self.game.slide_any(board, direction, 0) for board in (self.tiles, self._apart()))
        return bool(self.equal_tiles()) and len({board.count(0) for board in slid}) > 1

    def _apart(self) -> list[int]:
        """Return the tiles, with codes for the large ones that merge with no other tile."""
        return [UNIQUE + cell if cell in self.reading.large else e for cell, e in enumerate(self.tiles)]

    def refusals(self) -> dict[str, str]:
        """As `Board.refusals`."""
        turned = self.reading.orientation.directions
        refused = {turned[one]: why for one, why in self.game.refusals(self.cells).items()}
        merging = {one for one, why in refused.items() if why == NOTHING and self.merges_large(one)}
        refused |= dict.fromkeys(merging, "would merge large tiles")
        return {direction: refused[direction] for direction in self.game.directions if direction in refused}

    def spawns(self) -> list[tuple[RealBoard, Fraction]]:
        """As `Board.spawns`."""
        return [(self._with_spawn(cells), p) for cells, p in self.game.spawns(self.cells)]

    def _with_spawn(self, state: Cells) -> RealBoard:
        new = next(cell for cell, e in enumerate(state) if e != self.cells[cell])
        tiles = list(self.tiles)
        tiles[self.reading.orientation.sources[new]] = state[new]
        return RealBoard(self.game, tuple(tiles))


AnyBoard: TypeAlias = Board | RealBoard
"""A board of a game, or one with real tiles."""
