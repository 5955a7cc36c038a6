"""Written games: a start, and the slides and spawns after it.

`parse_game` reads three forms:

* A saved game: JSON, as `Record.as_dict` makes it.
* A replay of 2048verse.com.  It begins with ``replay`` and a blank, on other boards than 4x4 with ten
  characters as ``replay 3x3``.  Then each character stands for one spawn.  Its index in `ALPHABET` has seven
  bits: row (bits 0 and 1) and column (bits 2 and 3) of the spawned tile, whether it is a 4 (bit 4), and the
  slide before it (bits 5 and 6: up, right, down, left).  The slides of the first two characters mean nothing.
  Source: the reader in 2048EndgameTablebase (https://github.com/game-difficulty/2048EndgameTablebase,
  Analyzer.py).
* A list of positions, one a line.  Slides and spawns are those that lead from a position to the next.

A written game is played by the plain rules: there is no goal, no limit and no largest tile, since a real game
on a 4x4 board is longer than the endgame that a table holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any

from tilebase.errors import BoardError, CorruptError, GameError
from tilebase.game.game import Cells, Game
from tilebase.game.notation import cell_text, exponent_of
from tilebase.runtime.documents import parse_json, shown, to_json

FORMAT, VERSION = "tilebase game", 1
REPLAY, POSITIONS = "2048verse replay", "positions"
"""The forms other than that of a saved game."""
NOTEBOOK = "tilebase notebook"
"""What the trainer's notebook calls itself, which is not a game."""
READ = (
    "a game is a file that tilebase play -o or the explorer saved, a replay of 2048verse.com, or a list of "
    "positions, one a line, such as 2,0/4,2"
)
"""What is read, in words."""
MOST_TEXT = 1 << 24
"""Most bytes of a written game that is read: as a list, the longest game has about 10 million."""
MOST_POSITIONS = 1 << 17
"""Most positions of a written game: the longest game of 4x4, to the tile 131072, has 131,052 moves."""
X = 99
"""The code of an unmergeable tile on a written board, which no tile on it has as its exponent."""
ALPHABET = bytes([*range(32, 127), *range(128, 161)]).decode("cp850")
"""The characters of a replay: printable ASCII, then ``Ç`` to ``á`` as in code page 850."""
REPLAY_SLIDES = ("up", "right", "down", "left")


@dataclass(frozen=True)
class Move:
    """A slide and the spawn after it.

    A game that ended with the slide, or a record that stops there, has no spawn.
    """

    direction: str
    cell: int | None = None  # where a tile was spawned
    exponent: int = 0


@dataclass(frozen=True)
class Record:
    """One written game."""

    start: Cells  # the first state
    moves: tuple[Move, ...]  # only the last may lack its spawn

    def as_dict(self, game: Game) -> dict[str, Any]:
        """Return plain JSON values."""
        return saved_game(game, game.format(self.start), self.moves)


def saved_game(game: Game, start: str, moves: Sequence[Move]) -> dict[str, Any]:
    """Return a saved game as plain JSON values; `start` may have real tiles, larger than the game has."""
    written = [
        [one.direction] if one.cell is None else [one.direction, one.cell, 1 << one.exponent] for one in moves
    ]
    return {
        "format": FORMAT, "version": VERSION, "game": game.identity, "start": start, "moves": written,
    }  # fmt: skip


@dataclass(frozen=True)
class Position:
    """One position of a written game."""

    # Exponents by cells, 0 for an empty cell or a wall, `X` for an unmergeable tile.  The tiles may be larger
    # than those of the game that a table holds.
    tiles: Cells
    slide: str | None = None  # that was made; None if it is not known, or none was made
    problem: str = ""  # why the slide is not known, in one sentence; empty at the end of a game
    # The slides of which one was made, if more than one leads to the next position.
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True)
class WrittenGame:
    """A written game of any form."""

    form: str  # `FORMAT`, `REPLAY` or `POSITIONS`
    positions: tuple[Position, ...]  # with the player to move, in order


Reader = Callable[[str], Cells]
"""Reads one board as text: exponents, with `X` for unmergeable tiles.  Raises `BoardError`."""


def parse_game(game: Game, text: str, read: Reader) -> WrittenGame:
    """Return the positions and slides of a written game in any of the three forms.

    `game` has the shape and the walls of the boards; `read` reads a board of a saved game or of a list.
    Raises `BoardError` if the text has none of the forms, is longer than 16 MiB or 131,072 positions, or if a
    move or a line is impossible: the sentence has its number.
    """
    if len(text.encode(errors="replace")) > MOST_TEXT:
        raise BoardError(f"a written game of more than {MOST_TEXT:,} bytes is not read")
    begun = text.lstrip("\ufeff \t\r\n")
    if begun.startswith("replay"):
        form, positions = REPLAY, _replay(game, begun.rstrip("\r\n"))
    elif (saved := _saved(begun)) is not None:
        form, positions = FORMAT, _saved_positions(game, saved, read)
    else:
        form, positions = POSITIONS, _listed(game, begun, read)
    found = tuple(islice(positions, MOST_POSITIONS + 1))
    if len(found) > MOST_POSITIONS:
        raise BoardError(f"a written game of more than {MOST_POSITIONS:,} positions is not read")
    return WrittenGame(form, found)


def text_of(game: Game, tiles: Sequence[int]) -> str:
    """Write a written board as text: ``2,x/0,8``."""
    return game.grid.rows([cell_text(e, X, wall=cell in game.walls) for cell, e in enumerate(tiles)])


def _moved(game: Game, tiles: Cells, move: Move, number: int) -> Cells:
    """Return the position after a move with a spawn, by the plain rules.  Raises `BoardError`."""
    if move.direction not in game.directions:
        known = ", ".join(game.directions)
        raise BoardError(f"move {number}: {shown(move.direction, 40)!r} is not a slide: write {known}")
    after = game.slide_any(tiles, move.direction, X)
    if after == tiles:
        raise BoardError(f"move {number}: {move.direction} changes nothing on {text_of(game, tiles)}")
    return after if move.cell is None else _spawned(game, after, move.cell, move.exponent, f"move {number}")


def _spawned(game: Game, tiles: Cells, cell: int, exponent: int, where: str) -> Cells:
    if not 0 <= cell < game.cells or tiles[cell] or cell in game.walls:
        raise BoardError(f"{where}: no tile can be spawned on cell {cell} of {text_of(game, tiles)}")
    return (*tiles[:cell], exponent, *tiles[cell + 1 :])


# -- saved games -----------------------------------------------------------------------------------


def _saved(text: str) -> dict[str, Any] | None:
    """Return the members of a saved game, or None of another text.

    Raises `BoardError` for another version, and for a notebook.
    """
    if not text.startswith("{"):
        return None
    try:
        found = parse_json(text, "the saved game")
    except CorruptError as error:
        if f'"{FORMAT}"' in text:
            raise BoardError(str(error)) from error
        return None
    if isinstance(found, dict) and found.get("format") == NOTEBOOK:
        raise BoardError("this is the notebook of a browser, not a game: import it in Train")
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        return None
    if found.get("version") != VERSION:
        version = shown(repr(found.get("version")), 40)
        raise BoardError(f"the saved game is of version {version}, this program reads {VERSION}: update it")
    return found


def _saved_positions(game: Game, saved: dict[str, Any], read: Reader) -> Iterator[Position]:
    start, moves = saved.get("start"), saved.get("moves")
    if not isinstance(start, str):
        raise BoardError("the start of the saved game is missing")
    if not isinstance(moves, list):
        raise BoardError("the moves of the saved game are missing")
    tiles, move = read(start), None
    for number, written in enumerate(moves, 1):
        move = _move(written, number, last=number == len(moves))
        yield Position(tiles, move.direction)
        tiles = _moved(game, tiles, move, number)
    if move is None or move.cell is not None:
        yield Position(tiles)


def _move(move: Any, number: int, *, last: bool) -> Move:
    match move:
        case [str(direction)] if last:
            return Move(direction)
        case [str(direction), int(cell), 2 | 4 as tile] if type(cell) is int and type(tile) is int:
            return Move(direction, cell, exponent_of(tile))
    raise BoardError(
        f'move {number} of the saved game is {shown(to_json(move), 60)}: write ["left", 5, 2], a slide, a '
        "cell and the tile 2 or 4"
    )


# -- replays ---------------------------------------------------------------------------------------


def _replay(game: Game, text: str) -> Iterator[Position]:
    if len(game.shape) != 2 or max(game.shape) > 4:
        raise BoardError(f"a replay of 2048verse has at most 4x4 cells, but the board is {game.shape_text}")
    spawns = text[_header(game, text) :]
    if len(spawns) < 2:
        raise BoardError("the replay ends before its second tile: paste all of it")
    tiles: Cells = (0,) * game.cells
    for number, character in enumerate(spawns, -1):
        move = _replayed(game, character, number)
        if number > 0:
            yield Position(tiles, move.direction)
            tiles = _moved(game, tiles, move, number)
        else:
            assert move.cell is not None
            tiles = _spawned(game, tiles, move.cell, move.exponent, f"start tile {number + 2}")
    yield Position(tiles)


def _header(game: Game, text: str) -> int:
    """Return how many characters stand before the first spawn.  Raises `BoardError` for another shape."""
    named = re.fullmatch(r" ?([1-9]x[1-9]) ?", text[6:10])
    if game.shape_text == "4x4":
        return 10 if named and named[1] == "4x4" else 7  # no game begins with the spawns 4x4
    if named is None:
        raise BoardError(
            f"the replay is of a 4x4 board, but the table's is {game.shape_text}: its replays begin with "
            f"replay {game.shape_text}"
        )
    if named[1] != game.shape_text:
        raise BoardError(f"the replay is of a {named[1]} board, but the table's is {game.shape_text}")
    return 10


def _replayed(game: Game, character: str, number: int) -> Move:
    where = f"move {number}" if number > 0 else f"start tile {number + 2}"
    index = ALPHABET.find(character)
    if index < 0:
        raise BoardError(f"{where}: the character {shown(repr(character), 20)} is not part of a replay")
    row, column = index & 3, index >> 2 & 3
    rows, columns = game.shape
    if row >= rows or column >= columns:
        raise BoardError(
            f"{where}: a tile in row {row + 1}, column {column + 1}, on a {game.shape_text} board"
        )
    return Move(REPLAY_SLIDES[index >> 5], row * columns + column, 1 + (index >> 4 & 1))


# -- lists of positions ----------------------------------------------------------------------------


def _listed(game: Game, text: str, read: Reader) -> Iterator[Position]:
    boards: list[tuple[int, Cells]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                boards.append((number, read(line.strip())))
            except (BoardError, GameError) as error:
                raise BoardError(f"line {number}: {error}; {READ}") from error
    if not boards:
        raise BoardError(f"there is no game to review: the text is empty; {READ}")
    for (number, tiles), (below, following) in pairwise(boards):
        last = below == boards[-1][0]
        found = _slides_to(game, tiles, following, ended=last)
        if len(found) == 1:
            yield Position(tiles, found[0])
            if last and following == game.slide_any(tiles, found[0], X):
                return  # the last line is the board after the last slide, not a position
        elif found:
            words = f"{', '.join(found[:-1])} and {found[-1]}"
            problem = f"{words} may have led from line {number} to line {below}"
            yield Position(tiles, None, problem, tuple(found))
        else:
            problem = f"no slide and spawn lead from line {number} to line {below}, which starts again"
            yield Position(tiles, None, problem)
    yield Position(boards[-1][1])


def _slides_to(game: Game, tiles: Cells, following: Cells, *, ended: bool) -> list[str]:
    """Return the slides that lead to a position with one spawn; if `ended`, also without a spawn.

    Of slides with the same result only one is named.
    """
    found: dict[Cells, str] = {}
    for direction in game.directions:
        after = game.slide_any(tiles, direction, X)
        changed = [cell for cell in range(game.cells) if after[cell] != following[cell]]
        one = len(changed) == 1 and not after[changed[0]] and following[changed[0]] in (1, 2)
        if after != tiles and (one or (ended and not changed)):
            found.setdefault(after, direction)
    return list(found.values())
