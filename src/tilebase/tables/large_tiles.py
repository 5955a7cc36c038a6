"""Real boards: which tiles stand for x, and which images of the board fit the masks of a game.

A game with x describes many real boards.  On a real board each x is a large tile, as 1024 or 4096, and the
corner with the large tiles may be any.  A *reading* of a real board says which tiles are large, and how the
board is rotated or mirrored.  It turns the real board into a board of the game.

The rules:

* A large tile is at least the goal.  So it never merges with a tile of a board that is not won.  In a game
  without a goal tile, it is larger than every tile on the boards of the game.
* A board has exactly as many large tiles as the game has x.  A tile that no board of the game holds is
  large.  If goal cells let other tiles be as large as the goal, each choice of the large tiles is a reading.
* Every rotation and mirror image of the shape is tried, except those that move walls.  Images that the
  symmetries of the game make equal are one reading.

Two equal large tiles could merge on the real board.  The game does not know such a slide.

This is plain Python: it loads neither NumPy nor Numba.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations

from tilebase.errors import BoardError
from tilebase.game.game import Cells, Game
from tilebase.game.notation import X_TILE, as_typed, cell_text, count_of, read_cells, tile_text, written
from tilebase.game.symmetry import permuter, symmetries
from tilebase.runtime.documents import shown

LARGE = 64
"""The exponent that stands for an x of a board as it was written: it is larger than that of every tile."""

SHAPE, NO_X, COUNT, MASK, TILE, OVER = range(6)
"""How far a board that has no reading came.  A larger number is nearer to a reading."""


class NoReadingError(BoardError):
    """A real board that is not a board of a game.  `stage` says how far it came."""

    def __init__(self, text: str, stage: int) -> None:
        super().__init__(text)
        self.stage = stage


@dataclass(frozen=True)
class Orientation:
    """One rotation or mirror image of the shape."""

    name: str  # what is done with the given board, as ``rotated by 90 degrees clockwise``
    sources: Cells  # cell i of the image is the cell sources[i] of the given board
    directions: Mapping[str, str]  # directions[d]: that on the given board of the slide d of the image
    image: Callable[[Sequence[int]], Cells] = field(repr=False, compare=False)


@dataclass(frozen=True)
class Reading:
    """A real board as a board of a game."""

    orientation: Orientation  # how the given board is rotated or mirrored
    large: Cells  # the cells of the large tiles, on the given board, ascending
    cells: Cells  # the board of the game, with x for the large tiles


class LargeTiles:
    """The readings of real boards as boards of one game with movable x.

    Raises `NoReadingError` if the game has no x.
    """

    def __init__(self, game: Game) -> None:
        if not game.unmergeable:
            raise NoReadingError(f"{game} has no x: probe its boards as they are", NO_X)
        self.game = game
        self.count = len(game.unmergeable)
        # The largest exponent on boards of the game, and that of the smallest tile that can stand for x.
        self.most = min(max(game.bounds.allowed), max(game.tops), game.bounds.code)
        self.least = _least(game)
        self.orientations = _orientations(game)
        self._masks = [
            [frozenset(one.sources[cell] for cell in mask) for mask in game.masks]
            for one in self.orientations
        ]

    def readings(self, tiles: Cells) -> list[Reading]:
        """Return all readings of a real board, given by its exponents, that are boards of the game.

        An image that is won is not a reading: play on in another one.  Two images may be the same board, and
        allow other slides of the real one.  Raises `NoReadingError` if there is none, with the reason in one
        sentence.
        """
        error: NoReadingError | None = None
        found: dict[tuple[Cells, tuple[str, ...]], Reading] = {}
        for large in self._choices(tiles):
            marked = list(tiles)
            for cell in large:
                marked[cell] = self.game.x
            for orientation in self._standing(frozenset(large)):
                cells = orientation.image(marked)
                problem = self._problem(cells)
                if problem is None:
                    turned = tuple(orientation.directions.values())
                    found.setdefault((cells, turned), Reading(orientation, large, cells))
                elif error is None or problem.stage > error.stage:
                    error = problem
        if not found:
            raise error or self._no_mask(tiles)
        return list(found.values())

    def _choices(self, tiles: Cells) -> Iterator[Cells]:
        """Return the sets of cells whose tiles can be the large ones.  Raises `NoReadingError`."""
        forced = [cell for cell, e in enumerate(tiles) if e > self.most]
        able = [cell for cell, e in enumerate(tiles) if self.least <= e <= self.most]
        small = [tiles[cell] for cell in forced if tiles[cell] < self.least]
        more = self.count - len(forced)
        if small:
            raise NoReadingError(
                f"the tile {tile_text(max(small))} is too small for a large tile of the table, which is "
                f"{tile_text(self.least)} or more, and too large for its other tiles",
                COUNT,
            )
        if not 0 <= more <= len(able):
            raise self._wrong_count(len(forced), len(forced) + len(able))
        return (tuple(sorted((*forced, *chosen))) for chosen in combinations(able, more))

    def _wrong_count(self, least: int, there: int) -> NoReadingError:
        tile = tile_text(self.least)
        found = least if least > self.count else there
        tiles = f"{count_of(found, 'large tile')} ({tile} or more)"
        text = f"the board has {tiles}, but the table needs {self.count}"
        if 0 < found < self.count:
            return NoReadingError(f"{text}: perhaps two of them were merged by mistake", COUNT)
        if found == self.count + 1 and self.game.goal is not None:
            return NoReadingError(f"{text}: if one of them was just made, the board is won already", OVER)
        return NoReadingError(f"{text}: it is not a board of this table", COUNT)

    def _standing(self, large: frozenset[int]) -> Iterator[Orientation]:
        """Yield the orientations in which large tiles on these cells cover a mask."""
        for orientation, masks in zip(self.orientations, self._masks, strict=True):
            if not masks or any(mask <= large for mask in masks):
                yield orientation

    def _problem(self, cells: Cells) -> NoReadingError | None:
        """Return why a board, whose x cover a mask, is not a state of the game; None if it is one."""
        game, total = self.game, self.game.sum(cells)
        if _was_won(game, cells):
            return NoReadingError("the goal stands on one of its cells: the board is won already", OVER)
        if game.has_goal_sum(cells):
            return NoReadingError(
                f"the sum of the tiles that are not large is {total}: the board is won already", OVER
            )
        if game.horizon is not None and total > game.last_sum:
            return NoReadingError(
                f"the sum of the tiles that are not large is {total}, and the table ends at {game.horizon}",
                OVER,
            )
        try:
            game.check(cells)
        except BoardError as error:
            return NoReadingError(str(error), TILE)
        return None

    def _no_mask(self, tiles: Cells) -> NoReadingError:
        large = ", ".join(cell_text(e, LARGE) for e in sorted(tiles, reverse=True)[: self.count])
        where = "the mask" if len(self.game.masks) == 1 else f"any of the {len(self.game.masks)} masks"
        return NoReadingError(
            f"the large tiles ({large}) do not stand on {where} of the table, however the board is "
            "rotated or mirrored",
            MASK,
        )


@lru_cache(maxsize=512)
def large_tiles_of(game: Game) -> LargeTiles:
    """Return what reads real boards as boards of a game.  Raises `NoReadingError` as `LargeTiles`."""
    return LargeTiles(game)


def _least(game: Game) -> int:
    """Return the exponent of the smallest tile that can stand for x."""
    goals = [max(e or 0 for e in pattern) for pattern in game.patterns]
    if game.goal_exponent is not None:
        goals.append(game.goal_exponent)
    return min(goals) if goals else max(game.tops) + 1


def _was_won(game: Game, cells: Cells) -> bool:
    """Return whether the last slide made a pattern: the board holds it, without a spawned tile in it."""
    spawned = max(game.spawn_exponents)
    return any(
        all(e is None or (e == found and e > spawned) for e, found in zip(pattern, cells, strict=True))
        for pattern in game.patterns
    )


# -- orientations ----------------------------------------------------------------------------------


def _orientations(game: Game) -> tuple[Orientation, ...]:
    """Return the images of the shape that keep the walls, one of those that the game's symmetries make equal.

    The given board comes first, then rotations, then mirror images.
    """
    own = symmetries(game)
    seen: set[Cells] = set()
    found = []
    for name, sources in _images(game):
        if sources in seen or {sources[cell] for cell in game.walls} != set(game.walls):
            continue
        seen |= {tuple(sources[cell] for cell in symmetry) for symmetry in own}
        found.append(Orientation(name, sources, game.grid.turned(sources), permuter(sources)))
    return tuple(found)


def _images(game: Game) -> list[tuple[str, Cells]]:
    """Return all images of the shape: what makes them of the given board, in words, and their cells there."""
    cells = tuple(range(game.cells))
    if len(game.shape) != 2:
        others = sorted(game.grid.symmetries[1:])
        return [("as given", cells)] + [
            (f"with its cells in the order {' '.join(map(str, p))}", p) for p in others
        ]
    rows, columns = game.shape
    last, end = rows - 1, columns - 1
    sources: tuple[tuple[str, Callable[[int, int], tuple[int, int]]], ...] = (
        ("as given", lambda r, c: (r, c)),
        ("rotated by 180 degrees", lambda r, c: (last - r, end - c)),
        ("rotated by 90 degrees clockwise", lambda r, c: (last - c, r)),
        ("rotated by 90 degrees counterclockwise", lambda r, c: (c, end - r)),
        ("mirrored left to right", lambda r, c: (r, end - c)),
        ("mirrored top to bottom", lambda r, c: (last - r, c)),
        ("mirrored at the diagonal from the top left", lambda r, c: (c, r)),
        ("mirrored at the diagonal from the top right", lambda r, c: (last - c, end - r)),
    )
    found = [
        (
            name,
            tuple(
                row * columns + column for row, column in (source(*divmod(cell, columns)) for cell in cells)
            ),
        )
        for name, source in sources
        if rows == columns or not ("90" in name or "diagonal" in name)
    ]
    assert {image for _, image in found} == set(game.grid.symmetries)
    return found


# -- reading ---------------------------------------------------------------------------------------


def started_from(game: Game, board: object) -> Game:
    """Return the same game started from a board: with x from a real one, turned as the masks want.

    Raises `GameError` or `BoardError` if the game does not have the board.
    """
    tiles = read_tiles(game, board, LARGE)
    if tiles is None:
        raise BoardError(f"{shown(board, 80)} does not name a start: write its rows, such as 2,4/0,8")
    if not game.unmergeable:
        return game.changed(start=game.format(tiles))
    cells = large_tiles_of(game).readings(tiles)[0].cells
    large = [cell for cell, exponent in enumerate(cells) if game.is_x(exponent)]
    return game.changed(start=game.format(cells), unmergeable=large)


def read_tiles(game: Game, board: object, x: int | None = None) -> Cells | None:
    """Return the exponents of a real board, and `x` where it is written with x.

    None if it is written as a key, as a board of the game, or with x and `x` is None.

    `board` is text, tiles by rows, hexadecimal digits or JSON; or an array or a list of tiles.  Raises
    `NoReadingError` if it has another shape, `BoardError` if it is not a board.
    """
    text = as_typed(board) if isinstance(board, str) else ""
    if re.fullmatch(r"0x[0-9a-f]+", text) or "│" in text or not isinstance(board, Iterable):
        return None
    if re.fullmatch(rf"[0-9a-f]{{{game.cells}}}", text) and game.cells > 1:
        shape = game.shape
        words = [X_TILE if (e := int(digit, 16)) == game.x else 2**e if e else 0 for digit in text]
    else:
        shape, words = written(board)
    if x is None and ("x" in words or X_TILE in words):
        return None
    tiles = read_cells(words, range(game.cells), x or 0, game)
    if len(tiles) != game.cells or shape[-1] not in (len(tiles), game.shape[-1]):
        raise NoReadingError(f"the board has {'x'.join(map(str, shape))} cells, not {game.shape_text}", SHAPE)
    return tiles
