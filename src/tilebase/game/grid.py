"""The cells of a board: its shape, its lines and neighbours, its symmetries, and cells written by rows.

Cells are numbered in row-major order, planes first in a box.  A grid knows nothing of tiles.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from operator import index
from typing import TypeAlias

from tilebase.errors import GameError

Cells: TypeAlias = tuple[int, ...]
"""The exponents of a board in row-major order; or the numbers of some cells."""

_AXIS_NAMES = (("left", "right"), ("up", "down"), ("front", "back"))


@dataclass(frozen=True)
class Grid:
    """The cells of all boards of one shape.

    >>> grid_of((2, 3), False).lines["right"], grid_of((2, 3), False).rows("abcdef", "")
    (((2, 1, 0), (5, 4, 3)), 'abc/def')
    """

    shape: tuple[int, ...]  # rows and columns; planes, rows and columns of a box
    wide: bool = False  # whether each cell has a byte in a key: see `WideGame`

    def __str__(self) -> str:
        return "x".join(map(str, self.shape))

    @cached_property
    def cells(self) -> int:
        """Number of cells."""
        return prod(self.shape)

    @cached_property
    def bits(self) -> int:
        """Bits per cell in a packed key."""
        return 8 if self.wide else 4 if self.cells <= 16 else 3 if self.cells <= 21 else 2

    @cached_property
    def directions(self) -> tuple[str, ...]:
        """Names of the slides: left, right, up, down, and front, back in a box."""
        return tuple(name for pair in _AXIS_NAMES[: len(self.shape)] for name in pair)

    @cached_property
    def lines(self) -> dict[str, tuple[Cells, ...]]:
        """For each direction the lines, each a tuple of cells from the end that tiles move to."""
        result = {}
        stride = 1  # from a cell to the next one in its line
        for size, (towards_first, towards_last) in zip(reversed(self.shape), _AXIS_NAMES, strict=False):
            firsts = [cell for cell in range(self.cells) if cell // stride % size == 0]
            lines = tuple(tuple(first + stride * k for k in range(size)) for first in firsts)
            result[towards_first] = lines
            result[towards_last] = tuple(line[::-1] for line in lines)
            stride *= size
        return result

    @cached_property
    def all_lines(self) -> tuple[Cells, ...]:
        """Every line once, each a tuple of cells in ascending order."""
        return tuple(line for direction in self.directions[::2] for line in self.lines[direction])

    @cached_property
    def neighbours(self) -> tuple[tuple[int, int], ...]:
        """Each pair of neighbouring cells once, line by line, the lower index first."""
        return tuple(pair for line in self.all_lines for pair in itertools.pairwise(line))

    @cached_property
    def symmetries(self) -> tuple[Cells, ...]:
        """All rotations and mirror images, the identity first; each is a tuple of source cells.

        Axes may be reflected, and axes of the same length exchanged.
        """
        axes = range(len(self.shape))
        coordinates = list(itertools.product(*map(range, self.shape)))
        number = {coordinate: cell for cell, coordinate in enumerate(coordinates)}
        found = []
        for order in itertools.permutations(axes):
            if any(self.shape[order[axis]] != self.shape[axis] for axis in axes):
                continue
            for flips in sorted(itertools.product((True, False), repeat=len(axes)), key=any):
                seen = [
                    tuple(
                        size - 1 - at if flip else at
                        for at, size, flip in zip(one, self.shape, flips, strict=True)
                    )
                    for one in coordinates
                ]
                found.append(tuple(number[tuple(one[axis] for axis in order)] for one in seen))
        return tuple(dict.fromkeys(found))

    def turned(self, sources: Cells) -> dict[str, str]:
        """Return ``[d]``: the direction on a board that is direction d on the image that a symmetry makes.

        Along an axis of one cell nothing slides: its directions stay.
        """
        direction = {line: name for name, lines in self.lines.items() for line in lines if len(line) > 1}
        firsts = {name: tuple(sources[cell] for cell in lines[0]) for name, lines in self.lines.items()}
        return {name: direction.get(line, name) for name, line in firsts.items()}

    def rows(self, words: Sequence[str], between: str = ",") -> str:
        """Write a word for each cell: rows apart by ``/``, which also separates the planes of a box."""
        return by_rows(words, self.shape[-1], between)

    def planes(self, words: Sequence[str]) -> list[Sequence[str]]:
        """Return the words of each plane of a box; of the one plane of a board with two sizes."""
        size = self.shape[-2] * self.shape[-1]
        return [words[at : at + size] for at in range(0, self.cells, size)]


def by_rows(words: Sequence[str], width: int, between: str = ",") -> str:
    """Return words by rows of so many cells: ``2,4/0,8``."""
    return "/".join(between.join(words[at : at + width]) for at in range(0, len(words), width))


@lru_cache(maxsize=64)
def grid_of(shape: tuple[int, ...], wide: bool) -> Grid:
    """Return the grid of a shape; what was computed of it once is kept."""
    return Grid(shape, wide)


def is_shape(text: str) -> bool:
    """Return whether a text is a shape, such as ``3x3``."""
    try:
        parse_shape(text)
    except GameError:
        return False
    return True


def parse_shape(text: str | Sequence[int]) -> tuple[int, ...]:
    """``"3x4"``, ``"3×4"`` or ``(3, 4)`` as a tuple: two or three dimensions, each at least 1.

    Raises `GameError` on anything else.
    """
    if isinstance(text, str):
        written = re.sub(r"\s*[x×]\s*", "x", text.strip().lower())
        if not re.fullmatch(r"\d{1,3}(x\d{1,3}){1,2}", written, re.ASCII):
            raise GameError(
                f"{text!r} is not a shape: write rows x columns, as in 4x4, or three sizes, as in 2x2x3"
            )
        sizes = tuple(int(part) for part in written.split("x"))
    else:
        try:
            sizes = tuple(map(index, text))
        except TypeError as error:
            raise GameError(f"{text!r} is not a shape: write 4x4, or give the sizes as integers") from error
    if len(sizes) not in (2, 3) or min(sizes) < 1:
        raise GameError(f"{'x'.join(map(str, sizes))} is not a shape: two or three sizes, each at least 1")
    return sizes
