"""How tiles, numbers, boards and the parameters of a game are written and read.

Messages say what is wrong with them.  Whether parameters go together is checked when all are known
(`game.game`).

A *mask* is a set of cells, written as a picture: rows apart by ``/``, ``x`` for its cells, ``.`` for the
others.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from operator import index
from typing import Any, TypeAlias

from tilebase.errors import BoardError, GameError
from tilebase.game.grid import Cells, Grid

X_TILE = -1
"""What stands for an unmergeable tile in an array or a list of tiles."""


def exponent_of(tile: int, what: str = "tile") -> int:
    """Return the exponent of a tile.  Raises `GameError` unless `tile` is a power of two above 1."""
    if tile < 2 or tile & (tile - 1):
        raise GameError(f"{what} {tile} is not a power of two above 1: write 2, 4, 8 and so on")
    return tile.bit_length() - 1


def tile_text(exponent: int) -> str:
    """Write the tile of an exponent: its number, or the power where that is too long to read.

    >>> tile_text(11), tile_text(1000)
    ('2048', '2^1000')
    """
    return str(1 << exponent) if 0 <= exponent <= 64 else f"2^{exponent}"


def cell_text(exponent: int, x: int, *, wall: bool = False) -> str:
    """Write a cell: a tile, ``x`` for the code of an unmergeable one, ``#`` for a wall, 0 if it is empty.

    >>> cell_text(3, 15), cell_text(15, 15), cell_text(0, 15), cell_text(0, 15, wall=True)
    ('8', 'x', '0', '#')
    """
    if wall:
        return "#"
    return "0" if not exponent else "x" if exponent == x else tile_text(exponent)


def integer_of(value: Any, what: str) -> int:
    """Read a whole number.  Raises `GameError` on anything else."""
    try:
        return index(value)
    except TypeError as error:
        raise GameError(f"{what} {value!r} is not a number: write 2, 4, 8 and so on") from error


MOST_DIGITS = 1000
"""Most characters of an exact number, and its largest decimal exponent; proved bounds have about 200."""


def fraction_of(value: Any) -> Fraction:
    """Return an exact number: text such as ``0.1``, ``1/10``, ``10 %`` or ``1e-9``, a float, or a number.

    A float stands for the decimal that is printed for it.

    Long texts and large exponents are refused first, since ``Fraction("1e-999999999")`` would take all
    memory.  Raises ValueError, also for a denominator of 0, or TypeError.
    """
    if isinstance(value, float | Decimal):
        value = str(value)
    if isinstance(value, str):
        if len(value) > MOST_DIGITS:
            raise ValueError(f"a number of {len(value)} characters; at most {MOST_DIGITS} are read")
        exponent = re.search(r"[eE]([-+]?[\d_]+)\s*$", value)
        if exponent and abs(int(exponent[1])) > MOST_DIGITS:
            raise ValueError(f"the exponent {exponent[1]} is not from {-MOST_DIGITS} to {MOST_DIGITS}")
        if value.rstrip().endswith("%"):
            return fraction_of(value.rstrip()[:-1]) / 100
    try:
        return Fraction(value)
    except (ZeroDivisionError, OverflowError) as error:
        raise ValueError(f"{value!r} is not a number") from error


def count_of(number: int, what: str) -> str:
    """``1 cell`` or ``2 cells``."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def as_typed(text: str) -> str:
    r"""Return the text of a board without capital letters and the wide forms of a Chinese keyboard.

    >>> as_typed("\uff12\uff0c4/0\u3001X")
    '2,4/0,x'
    """
    return unicodedata.normalize("NFKC", text).replace("、", ",").strip().lower()


def split_cells(text: str) -> list[str]:
    """Return the words of a board or of limits: split at blanks, commas, slashes and semicolons."""
    return [word for word in re.split(r"[\s,;/]+", text.strip()) if word]


def read_board(text: str, grid: Grid, walls: Collection[int], x: int, game: object) -> Cells:
    """Return the exponents of a board from text: tiles by rows, their digits, or a packed key as ``0x...``.

    `x` is the code of an unmergeable tile, 0 if there are none; messages name `game`.  Whether the game
    allows the tiles is not checked.  Raises `BoardError`.
    """
    stripped = as_typed(text)
    if re.fullmatch(r"0x[0-9a-f]+", stripped):
        return unpack(int(stripped, 16), grid)
    if re.fullmatch(rf"[0-9a-f]{{{grid.cells}}}", stripped) and grid.cells > 1:
        return tuple(int(digit, 16) for digit in stripped)
    words = split_cells(stripped)
    if len(words) != grid.cells:
        key = (
            f"; the key {stripped} is written {int(stripped):#x}"
            if re.fullmatch("[0-9]{1,20}", stripped)
            else ""
        )
        raise BoardError(
            f"{text!r} has {count_of(len(words), 'cell')}; a {grid} board has {grid.cells}: "
            f"separate cells by blanks or commas and rows by /{key}"
        )
    return read_cells(words, walls, x, game)


def written(board: Any) -> tuple[tuple[int, ...], list[Any]]:
    """Return the shape of a board in any form, and what stands on its cells, as `read_cells` reads it.

    `board` is text with rows apart by ``/``, JSON, or lists or an array of tiles; one row may have a shape of
    one number.  Raises `BoardError`.

    >>> written("2,x/0,8"), written([2, -1, 0, 8])
    (((2, 2), ['2', 'x', '0', '8']), ((4,), [2, -1, 0, 8]))
    """
    if isinstance(board, str):
        text = as_typed(board)
        listed = text[:1] in ("[", "{")
        board = json_rows(text) if listed else [split_cells(row) for row in text.split("/") if row.strip()]
    shape: tuple[int, ...] = ()
    cells = [board]
    while cells := [one.tolist() if hasattr(one, "tolist") else one for one in cells]:
        if len(shape) == 3 or not all(isinstance(one, list | tuple) for one in cells):
            break
        width = len(cells[0])
        odd = next((at for at, one in enumerate(cells) if len(one) != width), None)
        if odd is not None:
            raise BoardError(
                f"row 1 of the board has {count_of(width, 'cell')} and row {odd + 1} has {len(cells[odd])}: "
                "write all cells, 0 for an empty one"
            )
        shape, cells = (*shape, width), [cell for one in cells for cell in one]
    return shape, cells


def json_rows(text: str) -> list[Any]:
    """Return the rows of a board in JSON, a list or an object with one.  Raises `BoardError`."""
    try:
        found = json.loads(text)
        rows = found["board"] if isinstance(found, dict) else found
    except (ValueError, KeyError, RecursionError):
        rows = None
    if not isinstance(rows, list):
        raise BoardError(f"{' '.join(text.split())[:99]} is not a board in JSON: write [[2, 4], [0, 8]]")
    return rows


def read_cells(words: Iterable[Any], walls: Collection[int], x: int, game: object) -> Cells:
    """Return the exponents of cells: words as in `read_board`, or numbers.  Raises `BoardError`."""
    try:
        return tuple(read_cell(word, cell, walls, x, game) for cell, word in enumerate(words))
    except BoardError as error:
        small = all(re.fullmatch("[0-9]|[12][0-9]|3[01]", str(word)) for word in words)
        hint = "; exponents are written as hexadecimal digits, such as 1203 for 2,4/0,8" if small else ""
        raise BoardError(f"{error}{hint}") from error


def read_cell(word: Any, cell: int, walls: Collection[int], x: int, game: object) -> int:
    """Return the exponent on a cell, as `read_cells` does.  Raises `BoardError`."""
    if word in (".", "-", "_", "0") or (word == "#" and cell in walls):
        return 0
    if word in ("x", X_TILE) and x:
        return x
    if word in ("x", "#"):
        missing = "unmergeable tile" if word == "x" else f"wall on cell {cell}"
        raise BoardError(f"{word!r} on the board, but the game {game} has no {missing}")
    if not (word.isdecimal() if isinstance(word, str) else hasattr(word, "__index__")):
        raise BoardError(f"{str(word)[:40]!r} is not a tile: write 2, 4, 8, or . for an empty cell")
    try:
        return read_tile(int(word), x)
    except ValueError as error:
        if isinstance(error, BoardError):
            raise
        # Python reads and writes no number of more than 4300 digits.
        raise BoardError(f"the tile on cell {cell} is too large for {game}") from error


def read_tile(tile: int, x: int) -> int:
    """Return the exponent of a tile, 0 for an empty cell.  Raises `BoardError` if it is not a power of two.

    The code of x is also the exponent of a tile.  A board with unmergeable tiles cannot hold that tile.
    """
    try:
        found = exponent_of(tile) if tile else 0
    except GameError as error:
        raise BoardError(str(error)) from error
    if x and found == x:
        raise BoardError(
            f"tile {tile} does not fit beside unmergeable tiles: write x for those, or tiles up to "
            f"{2 ** (x - 1)}"
        )
    return found


def unpack(key: int, grid: Grid) -> Cells:
    """Return the exponents of a packed key.  Raises `BoardError` if the key is too long."""
    bits = grid.bits
    if not 0 <= key < 1 << bits * grid.cells:
        raise BoardError(f"key {key:#x} does not fit a {grid} board of {bits} bits a cell")
    mask = (1 << bits) - 1
    return tuple(key >> bits * (grid.cells - 1 - cell) & mask for cell in range(grid.cells))


# -- parameters of a game --------------------------------------------------------------------------


Pattern: TypeAlias = tuple[int | None, ...]
"""The exponents of a pattern in row-major order; None on a cell where any tile or none is allowed."""

MOST_STARTS = 64
"""Most start boards."""
MOST_MASKS = 64
"""Most masks of a game: each is compared with each board."""


def parse_cells(grid: Grid, cells: str | Iterable[int], what: str) -> Cells:
    """Return cells from text or numbers, ascending; `what` stands on them.  Raises `GameError`."""
    try:
        chosen = tuple(
            sorted({*map(int, split_cells(cells))} if isinstance(cells, str) else {*map(index, cells)})
        )
    except (TypeError, ValueError) as error:
        raise GameError(f"{what}s {cells!r} are not cells: give their numbers, from 0 on") from error
    if chosen and not 0 <= chosen[0] <= chosen[-1] < grid.cells:
        raise GameError(
            f"{what} at cell {chosen[-1] if chosen[0] >= 0 else chosen[0]}: "
            f"a {grid} board has cells 0 to {grid.cells - 1}"
        )
    return chosen


def parse_limits(
    grid: Grid, limits: str | int | Sequence[int] | None, walls: Collection[int], spawned: int
) -> tuple[int, ...] | None:
    """Limits from text or numbers, one for each cell or for all, at least 2**spawned.  Raises `GameError`."""
    if limits is None:
        return None
    if isinstance(limits, int):
        limits = str(limits)
    try:
        words = split_cells(limits) if isinstance(limits, str) else [str(limit) for limit in limits]
    except TypeError as error:
        raise GameError(f"{limits!r} are not limits: give one for each cell, or one for all") from error
    if len(words) == 1:
        words *= grid.cells
    if len(words) != grid.cells:
        raise GameError(
            f"{count_of(len(words), 'limit')} for a {grid} board: give {grid.cells}, one for each cell, or "
            "one for all"
        )
    try:
        values = tuple(int(word) for word in words)
    except ValueError as error:
        raise GameError(f"limits {limits!r} hold something that is not a number") from error
    for cell, value in enumerate(values):
        if cell not in walls and exponent_of(value, "limit") < spawned:
            raise GameError(
                f"limit {value} on cell {cell} is below the spawned tile {2**spawned}: "
                "give a higher limit, or make the cell a wall"
            )
    return values


def parse_masks(grid: Grid, masks: str | Iterable[Any]) -> tuple[Cells, ...]:
    """Masks from text or lists of cells, each ascending, without repeats.  Raises `GameError`."""
    given: Iterable[Any] = (
        [one for one in masks.split("|") if one.strip()] if isinstance(masks, str) else masks
    )
    try:
        listed = [_mask(grid, one) for one in given]
    except TypeError as error:
        raise GameError(f"{masks!r} are not masks: write pictures as ..x/.xx") from error
    found = tuple(sorted(set(listed)))
    if len(found) > MOST_MASKS:
        raise GameError(f"{len(found)} masks; a game has at most {MOST_MASKS}")
    if () in found:
        raise GameError("a mask without an x allows every slide: leave the masks out")
    return found


def _mask(grid: Grid, mask: Any) -> Cells:
    if isinstance(mask, str):
        drawn = "".join(mask.replace("/", " ").replace(",", " ").split())
        if set(drawn.lower()) - {"x", "."}:
            raise GameError(f"{mask!r} is not a picture of a mask: write x and . by rows, as ..x/.xx")
        if len(drawn) != grid.cells:
            raise GameError(
                f"the mask {mask} has {count_of(len(drawn), 'cell')}; a {grid} board has {grid.cells}"
            )
        return tuple(cell for cell, word in enumerate(drawn.lower()) if word == "x")
    return parse_cells(grid, mask, "mask")


@dataclass(frozen=True)
class Start:
    """What play begins with."""

    text: str  # as `Game.start` holds it: ``two-tiles``, ``empty``, a board, or ``after `` and boards
    spawns: int  # how many tiles are spawned before the player moves: 2, 1, 0 or 1
    # The boards before these spawns, each as likely as the others; empty for the empty board.
    boards: tuple[Cells, ...] = ()


def parse_start(text: str, grid: Grid, walls: Collection[int], x: int) -> Start:
    """Return the start from text; `x` is the code of an unmergeable tile, or 0.  Raises `GameError`."""
    text = text.strip()
    if text in ("two-tiles", "empty"):
        return Start(text, 2 if text == "two-tiles" else 1)
    after = text.startswith("after ")
    texts = text.removeprefix("after ").split("|")
    if len(texts) > MOST_STARTS:
        raise GameError(f"{len(texts)} start boards; a game has at most {MOST_STARTS}")
    try:
        boards = tuple(dict.fromkeys(read_board(one, grid, walls, x, grid) for one in texts))
    except BoardError as error:
        raise GameError(f"the start is not a board of this game: {error}") from error
    if len(boards) > 1 and not after:
        raise GameError("several start boards must be boards after a slide: write `after ` before them")
    words = [
        grid.rows([cell_text(exponent, x, wall=cell in walls) for cell, exponent in enumerate(board)])
        for board in boards
    ]
    return Start("after " * after + "|".join(words), int(after), boards)


def parse_patterns(text: str, grid: Grid, walls: Collection[int], x: int) -> tuple[Pattern, ...]:
    """Patterns from text, apart by ``|``.  Raises `GameError`."""
    return tuple(_pattern(one, grid, walls, x) for one in text.split("|"))


def _pattern(text: str, grid: Grid, walls: Collection[int], x: int) -> Pattern:
    words = split_cells(text)
    if len(words) != grid.cells:
        raise GameError(
            f"the pattern {text!r} has {count_of(len(words), 'cell')}; a {grid} board has {grid.cells}: "
            "write * where any tile may be"
        )
    try:
        return tuple(
            None if word == "*" else read_cell(word, cell, walls, x, grid) for cell, word in enumerate(words)
        )
    except BoardError as error:
        raise GameError(f"{text!r} is not a pattern: {error}") from error


def patterns_text(patterns: Iterable[Pattern], grid: Grid, x: int) -> str:
    """Patterns as text that `parse_patterns` reads."""
    words = (
        ["*" if exponent is None else cell_text(exponent, x) for exponent in pattern] for pattern in patterns
    )
    return "|".join(map(grid.rows, words))
