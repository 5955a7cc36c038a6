"""Which tile goes where: the tiles of a game, each with its way over the board.

A drop makes a tile.  A slide moves tiles; where two merge, both end on the same cell, and a new tile of twice
the value begins there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tilebase.patterns.moves import replay
from tilebase.patterns.rules import Drop, Move, Position, Rules


@dataclass
class Tile:
    """One tile of a game.

    Attributes
    ----------
    exponent:
        The tile is 2**exponent.
    born:
        The number of the move that makes it, from 0 on.
    way:
        For each slide that moves it, the number of the move, and the cell where it ends; first the move and
        the cell where it begins.
    died:
        The number of the slide that merges it with another; None if it is on the board at the end.
    merged:
        Whether a merge made it, and not a drop.
    """

    exponent: int
    born: int
    way: list[tuple[int, int]] = field(default_factory=list)
    died: int | None = None
    merged: bool = False

    @property
    def cell(self) -> int:
        """Where it is at last."""
        return self.way[-1][1]


@dataclass(frozen=True)
class Trace:
    """A game with its positions and its tiles, in the order in which they begin.

    ``positions[i]`` is the position after i moves.
    """

    rules: Rules
    moves: tuple[Move, ...]
    positions: tuple[Position, ...]
    tiles: tuple[Tile, ...]


def trace(rules: Rules, moves: Sequence[Move]) -> Trace:
    """Return the tiles of a game from the empty board.  Raises `UsageError` if a move is not possible.

    >>> game = trace(Rules(1, 3), (Drop(0), "R", Drop(1), "L"))
    >>> [(tile.exponent, tile.way, tile.died) for tile in game.tiles]
    [(1, [(0, 0), (1, 2), (3, 0)], 3), (1, [(2, 1), (3, 0)], 3), (2, [(3, 0)], None)]
    """
    positions = replay(rules, moves)
    tiles: list[Tile] = []
    board: dict[int, Tile] = {}  # the tile on each cell
    for number, move in enumerate(moves):
        if isinstance(move, Drop):
            made = [Tile(move.exponent, number, [(number, move.cell)])]
            board[move.cell] = made[0]
        else:
            board, made = _slide(rules, board, move, number)
        tiles += made
    return Trace(rules, tuple(moves), tuple(positions), tuple(tiles))


def _slide(
    rules: Rules, board: dict[int, Tile], direction: str, number: int
) -> tuple[dict[int, Tile], list[Tile]]:
    """Return the tiles on each cell after a slide, and those that it makes."""
    after: dict[int, Tile] = {}
    made: list[Tile] = []
    for line in rules.lines[direction]:
        waiting = [board[cell] for cell in line if cell in board]
        for cell in line:
            if not waiting:
                break
            tile = waiting.pop(0)
            _go(tile, cell, number)
            if waiting and waiting[0].exponent == tile.exponent:
                other = waiting.pop(0)
                _go(other, cell, number)
                tile.died = other.died = number
                tile = Tile(tile.exponent + 1, number, [(number, cell)], merged=True)
                made.append(tile)
            after[cell] = tile
    return after, made


def _go(tile: Tile, cell: int, number: int) -> None:
    if tile.cell != cell:
        tile.way.append((number, cell))
