"""The boards of a game: which there are, how they are written, and as which numbers they are packed.

A board is a tuple of exponents, one per cell in row-major order (planes first for a box): 0 is an empty cell,
e > 0 the tile 2**e.  An unmergeable tile has the code whose bits are all set.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from operator import index, le
from typing import Any, ClassVar

from tilebase.errors import BoardError, GameError
from tilebase.game.grid import Cells, Grid, grid_of
from tilebase.game.notation import (
    Pattern,
    Start,
    count_of,
    parse_patterns,
    parse_start,
    read_board,
    read_tile,
    tile_text,
    unpack,
)
from tilebase.game.spawns import ORIGINAL, SpawnLaw

NAMED_PATTERNS = ("lemma1", "pair", "two")
UNBOUNDED = 64
"""Stands for the largest exponent where no rule bounds tiles; a packed key holds far less."""


@dataclass(frozen=True)
class Bounds:
    """The largest exponents of ordinary tiles on the boards of a game."""

    code: int  # that fits into a cell of a packed key
    built: int  # that play from the start can make
    # That is on a board that is not won and not beyond the horizon, whatever the limits; `UNBOUNDED` if no
    # rule bounds tiles.
    anywhere: int
    # For each cell, the largest that the rules allow on a board that is not won; 0 where no ordinary tile can
    # be.  It does not depend on the start.
    allowed: Cells

    @cached_property
    def tops(self) -> Cells:
        """For each cell, the largest on a board that play from the start can make, and that is not won.

        Engines index boards up to these.  Boards that no play makes may hold more: see `allowed`.
        """
        return tuple(min(self.built, most) for most in self.allowed)

    @cached_property
    def packed(self) -> Cells:
        """For each cell, the largest that the rules allow and that fits into a packed key."""
        return tuple(min(self.code, most) for most in self.allowed)

    @property
    def closed(self) -> bool:
        """Whether all boards that the rules allow hold only tiles that play from the start can build."""
        return self.tops == self.allowed

    @property
    def cuts_merges(self) -> bool:
        """Whether a limit may forbid a merge, whatever cell it is on."""
        return max(self.tops) < min(self.built, self.anywhere)


@dataclass(frozen=True)
class Boards:
    """The parameters of a game and the boards that they allow.

    `Game` says what the parameters mean, reads them, and knows how play goes.
    """

    shape: tuple[int, ...]
    goal: int | None = None
    spawn: SpawnLaw = ORIGINAL
    start: str = "two-tiles"
    limits: tuple[int, ...] | None = None
    walls: tuple[int, ...] = ()
    unmergeable: tuple[int, ...] = ()
    pattern: str | None = None
    goal_sum: int | None = None
    masks: tuple[tuple[int, ...], ...] = ()
    horizon: int | None = None
    wide: ClassVar = False
    """Whether keys have a byte for each cell, and not 64 bits."""

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(self.__getstate__().values()))

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone.

        What is computed from them includes a hash, which differs between processes.
        """
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __str__(self) -> str:
        words = [self.aim_text]
        if self.spawn != ORIGINAL:
            words.append(f"spawn {self.spawn}")
        if self.start != "two-tiles":
            words.append(f"start {self.start}")
        if self.limits is not None:
            words.append(f"limits {self.limits_text}")
        if self.pattern is not None:
            count = self.pattern.count("|") + 1
            words.append(f"pattern {self.pattern}" if count == 1 else f"{count} patterns")
        for name, cells in (("walls", self.walls), ("unmergeable", self.unmergeable)):
            if cells:
                words.append(f"{name} {','.join(map(str, cells))}")
        if self.masks:
            words.append(
                f"on the mask {self.masks_text}" if len(self.masks) == 1 else f"on {len(self.masks)} masks"
            )
        if self.horizon is not None:
            words.append(f"until the sum {self.horizon}")
        return ", ".join(words)

    @property
    def aim_text(self) -> str:
        """The shape and which tile or sum wins: ``3x3, to 64``, ``3x3 without a goal``."""
        if self.goal is None and self.goal_sum is None and self.pattern is None:
            return f"{self.shape_text} without a goal"
        goal = [] if self.goal is None else [f"to {self.goal}"]
        goals = goal if self.goal_sum is None else [*goal, f"to the sum {self.goal_sum}"]
        return ", ".join([self.shape_text, *goals])

    # -- cells -----------------------------------------------------------------------------------

    @cached_property
    def grid(self) -> Grid:
        """The cells of its boards."""
        return grid_of(self.shape, self.wide)

    @cached_property
    def shape_text(self) -> str:
        """The shape as it is written: ``4x4``."""
        return str(self.grid)

    @cached_property
    def cells(self) -> int:
        """Number of cells, walls included."""
        return self.grid.cells

    @cached_property
    def bits(self) -> int:
        """Bits per cell in a packed key."""
        return self.grid.bits

    @cached_property
    def x(self) -> int:
        """The code of an unmergeable tile: all bits of a cell."""
        return (1 << self.bits) - 1

    @cached_property
    def x_code(self) -> int:
        """The code of an unmergeable tile, 0 in games without one."""
        return self.x if self.unmergeable else 0

    @cached_property
    def free_cells(self) -> int:
        """Cells that ordinary tiles can use at once."""
        return self.cells - len(self.walls) - len(self.unmergeable)

    @cached_property
    def held(self) -> frozenset[int]:
        """Cells that hold an unmergeable tile on every board: those in all masks."""
        return frozenset.intersection(*map(frozenset, self.masks)) if self.masks else frozenset()

    def codes(self, cell: int) -> tuple[int, ...]:
        """Return the codes that a cell may hold on a board that play from the start can make, ascending."""
        if cell in self.walls:
            return (0,)
        if cell in self.held:
            return (self.x,)
        plain = tuple(range(self.tops[cell] + 1))
        movable = len(self.unmergeable) > len(self.held)
        return (*plain, self.x) if movable and any(self.x_placements([cell])) else plain

    def x_placements(self, cells: Sequence[int]) -> list[frozenset[int]]:
        """Return which of some cells may hold the movable x: all sets that are possible on a board.

        With masks, the x of a board stand on one of them.  Without masks, any cells may hold an x.  A board
        holds as many as the game says.
        """
        part = [cell for cell in cells if cell not in self.walls]
        others = self.cells - len(self.walls) - len(part)
        count = len(self.unmergeable)
        found: set[frozenset[int]] = set()
        for mask in self.masks or ((),):
            inside = frozenset(mask) & frozenset(part)
            spare = count - len(mask)  # x that may be anywhere
            free = [cell for cell in part if cell not in inside]
            sets = {inside}
            for _ in range(min(spare, len(free)) + 1):
                found |= {one for one in sets if count - len(one) <= others}
                sets = {one | {cell} for one in sets for cell in free if cell not in one}
        return sorted(found, key=sorted)

    @property
    def limits_text(self) -> str:
        """The limits as text, rows apart, or one number if all are the same; empty without limits."""
        if self.limits is None:
            return ""
        words = [str(limit) for limit in self.limits]
        return words[0] if len(set(words)) == 1 else self.grid.rows(words)

    @property
    def low_limits(self) -> tuple[int, ...]:
        """The limits; none if they are no more than the largest tile that fits into a packed key."""
        key = {1 << self.bounds.code}
        return self.limits if self.limits is not None and set(self.limits) != key else ()

    @property
    def masks_text(self) -> str:
        """The masks as pictures, ``|`` between them; empty without masks."""
        return "|".join(map(self.mask_text, self.masks))

    def mask_text(self, mask: Sequence[int]) -> str:
        """Draw a mask as a picture: ``..x/.xx``."""
        return self.grid.rows(["x" if cell in mask else "." for cell in range(self.cells)], "")

    # -- tiles -----------------------------------------------------------------------------------

    @cached_property
    def spawn_exponents(self) -> tuple[int, ...]:
        """Exponents that are spawned with positive probability, ascending."""
        return self.spawn.exponents

    @cached_property
    def goal_exponent(self) -> int | None:
        """Exponent of the goal tile, or None without a goal tile."""
        return None if self.goal is None else self.goal.bit_length() - 1

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """The patterns, one of which is enough to win: an exponent for each cell, None for any."""
        if self.pattern is None:
            return ()
        if self.pattern not in NAMED_PATTERNS:
            return parse_patterns(self.pattern, self.grid, self.walls, self.x_code)
        top = (self.goal_exponent or 0) - 1
        if self.pattern == "lemma1":
            second = self.shape[-1]  # where the second row begins
            placed = [{0: top, 1: top - 1, second: top - 2, second + 1: top - 3, second + 2: top - 3}]
        else:
            anywhere = self.pattern == "two"
            pairs = itertools.combinations(range(self.cells), 2) if anywhere else self.grid.neighbours
            placed = [dict.fromkeys(pair, top) for pair in pairs if all(self.tops[c] >= top for c in pair)]
        return tuple(tuple(map(one.get, range(self.cells))) for one in placed)

    @cached_property
    def bounds(self) -> Bounds:
        """The largest exponents on its boards."""
        anywhere = UNBOUNDED
        if self.goal_exponent is not None:
            anywhere = min(anywhere, self.goal_exponent - 1)
        if self.goal_sum is not None:
            anywhere = min(anywhere, max(self.goal_sum - 1, 1).bit_length() - 1)
        if self.horizon is not None:
            anywhere = min(anywhere, self.last_sum.bit_length() - 1)
        limits = [anywhere] * self.cells
        if self.limits is not None:
            limits = [max(limit, 1).bit_length() - 1 for limit in self.limits]
        # A tile of exponent e is made from two of e - 1, and while the second is being made the first
        # occupies a cell.  So each exponent above those that are given needs one more cell.
        given = max([self.spawn_exponents[-1], *map(self.max_exponent, self.begin.boards)])
        built = given + self.free_cells - 1
        return Bounds(
            code=built if self.wide else self.x - 1 if self.unmergeable else self.x,
            built=built,
            anywhere=anywhere,
            allowed=tuple(
                0 if cell in self.walls or cell in self.held else min(anywhere, limit)
                for cell, limit in enumerate(limits)
            ),
        )

    @cached_property
    def tops(self) -> Cells:
        """For each cell, the largest exponent on a board that play from the start can make (`Bounds.tops`).

        Won and forbidden boards do not count.
        """
        return self.bounds.tops

    @property
    def largest_sum(self) -> int:
        """An upper bound of the sums of all boards."""
        most = sum(1 << top for top in self.tops if top)
        return most if self.horizon is None else min(most, self.last_sum)

    @property
    def last_sum(self) -> int:
        """The largest sum that the horizon leaves to a board.  The game must have one."""
        if self.horizon is None:
            raise GameError(f"{self} has no horizon")
        return self.horizon - 2 + (1 << max(self.spawn_exponents))

    # -- start boards ----------------------------------------------------------------------------

    @cached_property
    def begin(self) -> Start:
        """What play begins with."""
        return parse_start(self.start, self.grid, self.walls, self.x_code)

    @cached_property
    def empty_board(self) -> Cells:
        """The board before the first spawn: unmergeable tiles only."""
        return tuple(self.x if cell in self.unmergeable else 0 for cell in range(self.cells))

    @property
    def start_board(self) -> Cells | None:
        """The board, with the player to move, that the game starts from; None if a spawn comes first."""
        return None if self.begin.spawns else self.begin.boards[0]

    @property
    def empty_is_state(self) -> bool:
        """Whether the player slides on the board without tiles: only if play begins with it."""
        return self.start_board is not None and not self.sum(self.start_board)

    @cached_property
    def start_afters(self) -> tuple[Cells, ...]:
        """The boards on which the first tile is spawned, if one tile is; else none."""
        return self.begin.boards or (self.empty_board,) if self.begin.spawns == 1 else ()

    @property
    def start_tiles(self) -> Cells:
        """The largest exponent of each cell on the start boards, unmergeable tiles aside."""
        boards = self.begin.boards
        return tuple(
            max((b[cell] for b in boards if not self.is_x(b[cell])), default=0) for cell in range(self.cells)
        )

    # -- boards as text and keys -----------------------------------------------------------------

    def parse(self, text: str) -> Cells:
        """Read a board from text: tiles by rows, a packed key as ``0x...``, or the hexadecimal digits of its
        exponents, one per cell, as 2048verse writes them.

        Tiles are numbers, ``.``, ``-``, ``_`` or 0 for an empty cell, ``x`` for an
        unmergeable tile, ``#`` for a wall; blanks, commas, slashes and semicolons separate.
        Raises `BoardError` if this is not a board of the game.
        """
        return self.check(read_board(text, self.grid, self.walls, self.x_code, self))

    def exponent(self, tile: int) -> int:
        """Return the exponent of a tile, 0 for an empty cell.

        Raises `BoardError` if it is not a power of two, or if the game has no such tile beside an x.
        """
        return read_tile(tile, self.x_code)

    def format(self, cells: Sequence[int]) -> str:
        """Write a board as text that `parse` reads: ``2,4/0,8``.

        A slash also separates the planes of a box.
        """
        return self.grid.rows(
            ["#" if cell in self.walls else self.word(exponent) for cell, exponent in enumerate(cells)]
        )

    def word(self, exponent: int) -> str:
        """Write a tile as text: its number, ``x`` if it is unmergeable, 0 for an empty cell."""
        if self.is_x(exponent):
            return "x"
        # A merge that would make the code of x makes the next exponent instead (`merge_line`).
        most = exponent if self.goal_exponent is None else min(exponent, self.goal_exponent)
        return tile_text(most) if most else "0"

    def pack(self, cells: Sequence[int]) -> int:
        """Return the packed key: `bits` bits per cell, the first cell in the highest bits."""
        key, bits = 0, self.bits
        for exponent in cells:
            key = key << bits | exponent
        return key

    def unpack(self, key: int) -> Cells:
        """Return the board of a packed key.  Raises `BoardError` if the key is too long."""
        return unpack(key, self.grid)

    def cell_bits(self, cells: Iterable[int]) -> int:
        """Return the key in which these cells have all bits set, and the others none."""
        return sum(self.x << self.bits * (self.cells - 1 - cell) for cell in cells)

    # -- what a board holds ----------------------------------------------------------------------

    def is_x(self, exponent: int) -> bool:
        """Return whether this is the code of an unmergeable tile."""
        return bool(self.unmergeable) and exponent == self.x

    def sum(self, cells: Sequence[int]) -> int:
        """Return the sum of all tiles; unmergeable tiles add nothing."""
        if not self.unmergeable:
            return sum([1 << e for e in cells if e])
        return sum(2**e for e in cells if e and not self.is_x(e))

    def max_exponent(self, cells: Sequence[int]) -> int:
        """Return the largest exponent on the board, unmergeable tiles aside; 0 on an empty board."""
        return max((e for e in cells if not self.is_x(e)), default=0)

    def holds_goal(self, cells: Sequence[int]) -> bool:
        """Return whether a tile of the goal is on the board."""
        goal, x = self.goal_exponent, self.x_code
        return goal is not None and any(e >= goal and e != x for e in cells)

    def has_goal_sum(self, cells: Sequence[int]) -> bool:
        """Return whether the sum of a board wins."""
        return self.goal_sum is not None and self.sum(cells) >= self.goal_sum

    def stands(self, cells: Sequence[int]) -> bool:
        """Return whether each cell of one of the masks holds an unmergeable tile; true without masks."""
        x = self.x
        return not self.masks or any(all(cells[cell] == x for cell in mask) for mask in self.masks)

    # -- which boards there are ------------------------------------------------------------------

    def check(self, cells: Sequence[int]) -> Cells:
        """`cells` as a tuple.  Raises `BoardError` if a tile is too large for its cell.

        Won boards are refused, and so is a tile too large for a packed key.
        """
        board = self._check_cells(self.cells_of(cells), self.bounds.packed)
        if not self.stands(board):
            raise BoardError(f"the x of {self.format(board)} do not cover a mask of {self}")
        if self.horizon is not None and self.sum(board) > self.last_sum:
            raise BoardError(
                f"{self.format(board)} has the sum {self.sum(board)}, but the game ends at the sum "
                f"{self.horizon}: give a board with a sum of at most {self.last_sum}"
            )
        if self.has_goal_sum(board):
            raise BoardError(
                f"{self.format(board)} has the sum {self.sum(board)}, so it is won: give a board with a sum "
                f"below {self.goal_sum}"
            )
        return board

    def check_after(self, cells: Sequence[int]) -> Cells:
        """As `check`, but accepts all boards after a slide.

        These include won boards, on which any tile may exceed its limit, and boards with a tile that
        is too large for a packed key.
        """
        allowed, board = self.bounds.allowed, self.cells_of(cells)
        if not self.holds_goal(board):
            return self._check_cells(board, allowed)
        merged = max(allowed) + 1
        merged += merged == self.x_code  # a merge that would make the code of x makes the next exponent
        return self._check_cells(board, [0 if cell in self.walls else merged for cell in range(self.cells)])

    def cells_of(self, cells: Iterable[int]) -> Cells:
        """Return the exponents of a board as a tuple.

        Raises `BoardError` unless there is one for each cell.
        """
        try:
            board = tuple(map(index, cells))
        except (TypeError, ValueError) as error:
            raise BoardError(f"{cells!r} is not a board: give an exponent for each cell") from error
        if len(board) != self.cells:
            raise BoardError(f"{count_of(len(board), 'cell')}; a {self.shape_text} board has {self.cells}")
        return board

    def _check_cells(self, board: Cells, most: Sequence[int]) -> Cells:
        if not self.unmergeable and min(board) >= 0 and all(map(le, board, most)):
            return board
        for cell, (exponent, top) in enumerate(zip(board, most, strict=True)):
            is_x = self.is_x(exponent)
            if is_x and cell not in self.walls:
                continue
            if cell in self.held:
                raise BoardError(f"cell {cell} must hold an x, as it is in every mask")
            if is_x or not 0 <= exponent <= top:
                shown = "x" if is_x else tile_text(exponent) if exponent > 0 else str(exponent)
                allowed = f"at most {2**top}" if top else "it stays empty"
                raise BoardError(f"tile {shown} on cell {cell} is not part of the game {self}: {allowed}")
        if self.unmergeable and board.count(self.x) != len(self.unmergeable):
            raise BoardError(
                f"{count_of(board.count(self.x), 'unmergeable tile')}; "
                f"the game {self} has {len(self.unmergeable)}"
            )
        return board
