"""A game: shape, probability of a 4, goal, limits, walls, start; and the rules in plain Python.

This module defines the rules; every engine must agree with it.  A board is a tuple of exponents,
one per cell in row-major order (planes first for a box): 0 is an empty cell, e > 0 the tile 2**e.

The player slides: along every line each tile moves as far as it can towards one end, two
equal neighbours merge into one of the next exponent, and no tile merges twice.  A slide
that changes nothing is not a move.  Then a tile, 2 or 4, is spawned in an empty cell.

Six rules may forbid a slide or end the game:

* the *goal*: a slide that makes a tile of the goal wins, even if it breaks a limit; a slide
  after which the board holds a *pattern* of tiles on cells also wins, if it breaks no limit;
* the *goal sum*: the game is won as soon as a spawn makes the sum of the tiles reach it;
* the *limits*: a slide whose result exceeds the limit of a cell is not allowed
  (Slizkov, arXiv:2303.07266, section 3);
* the *largest* tile that a slide may make: the same limit on every cell (the bounded
  variant of Edixhoven 2019, section 3.2);
* the *masks*: a slide is not allowed, even if it makes the goal, unless afterwards each cell of
  one of the masks holds an unmergeable tile (`game.masks`);
* the *horizon*: if the board after a slide is not won and the sum of its tiles has reached the
  horizon, the game ends there, and the last slide counts.

*Walls* are cells that no tile enters.  *Unmergeable* tiles (written ``x``) never merge; if
they are declared fixed they never move either, and other tiles stop at them as at a wall.
An unmergeable tile adds nothing to the sum of a board.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property, lru_cache
from operator import index, le
from typing import Any

from tilebase.errors import BoardError, GameError
from tilebase.game import checks
from tilebase.game.grid import Cells as Cells
from tilebase.game.grid import Grid, grid_of, parse_shape
from tilebase.game.masks import check_masks, parse_masks, picture
from tilebase.game.notation import (
    count_of,
    exponent_of,
    integer_of,
    split_cells,
    tile_text,
)
from tilebase.game.patterns import Pattern as Pattern
from tilebase.game.patterns import patterns_of
from tilebase.game.spawns import ORIGINAL, SpawnLaw

UNBOUNDED = 64
"""Stands for the largest exponent where no rule bounds tiles; a packed key holds far less."""
MOST_IDENTITY = 1 << 16
"""Most characters of a game's identity that is read.  A file may be hostile; real identities are shorter."""


@dataclass(frozen=True)
class Game:
    """One game, immutable and hashable.  Every computed result names its game.

    Parameters
    ----------
    shape:
        ``"4x4"`` or ``(4, 4)``; three sizes make a box of planes, rows, columns.
    goal:
        The tile that wins, a power of two above every spawned tile; None to play on
        until no slide is left (a continued game).
    four:
        The spawn law: the probability that a spawned tile is a 4, exact; 0 for only 2s, 1 for only 4s. It may
        depend on how many cells are empty, as ``"1/10, 4: 1/4"`` (`SpawnLaw`).
    start:
        ``"two-tiles"``: two random tiles, as in the original game; ``"empty"``: one spawn on
        the empty board comes first; a board as text, with the player to move; or ``"after "`` and
        a board, or several with ``|`` between them: one of these, each with the same probability, and a
        spawn on it comes first.
    limits:
        The largest tile allowed on each cell, in row-major order, as text
        (``"16,16/16,8"``) or numbers; None for no limits.
    largest:
        The largest tile that may ever be made; None for no bound.
    pattern:
        Tiles on cells that win, as the goal does.  A pattern wins only if the board holds it after a
        slide: one that a spawn completes must still be there after the next slide.  It is written as a
        board with ``*`` for any tile or none, as ``"64,32,*/*,*,*"``.  Several patterns, one of which
        is enough, have ``|`` between them.  ``"lemma1"``: the first row begins with the tiles T/2, T/4
        and the second with T/8, T/16, T/16, for the goal T of 64 or more (Slizkov, lemma 1).
        ``"pair"``: any two neighbouring tiles T/2.  None for no pattern.
    goal_sum:
        The sum of the tiles that wins, an even number: a board is won as soon as a spawn makes its sum
        that large, even if no slide is left.  None for no such sum.
    walls:
        Indices of cells that no tile enters.
    unmergeable:
        Indices of the cells that hold an unmergeable tile at the start.
    fixed:
        Whether unmergeable tiles act as walls: they never move and stop other tiles.  This is not the rule
        of endgame tables, which is that of `masks`.  Values with walls are higher.
    masks:
        Where the x must stand after each slide: pictures as ``"..../..../..xx/xxxx"``, with ``|`` between
        several, or lists of cells.  Each cell of one of the masks must hold an x.  Endgame tables call this a
        formation.  Empty: x may stand anywhere.
    horizon:
        The sum of the tiles at which the game ends: no tile is spawned on a board, not won, that has this
        sum or more after a slide.  None to play on.

    Raises
    ------
    GameError
        If no such game exists or its boards do not fit into 64 bits: 16 cells have 4 bits
        each, 21 cells 3 bits (tiles to 128), 32 cells 2 bits (tiles to 8).

    >>> Game("2x2", 32).cells
    4
    """

    shape: tuple[int, ...]
    goal: int | None = None
    four: SpawnLaw = ORIGINAL
    start: str = "two-tiles"
    limits: tuple[int, ...] | None = None
    largest: int | None = None
    walls: tuple[int, ...] = ()
    unmergeable: tuple[int, ...] = ()
    fixed: bool = False
    pattern: str | None = None
    goal_sum: int | None = None
    masks: tuple[tuple[int, ...], ...] = ()
    horizon: int | None = None

    def __init__(
        self,
        shape: str | Sequence[int],
        goal: int | None = None,
        *,
        four: SpawnLaw | Fraction | float | str | int = ORIGINAL,
        start: str = "two-tiles",
        limits: str | Sequence[int] | None = None,
        largest: int | None = None,
        walls: str | Iterable[int] = (),
        unmergeable: str | Iterable[int] = (),
        fixed: bool = False,
        pattern: str | None = None,
        goal_sum: int | None = None,
        masks: str | Iterable[Any] = (),
        horizon: int | None = None,
    ) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)

        put("shape", parse_shape(shape))
        put("goal", None if goal is None else integer_of(goal, "goal"))
        put("four", SpawnLaw.of(four))
        put("largest", None if largest is None else integer_of(largest, "largest tile"))
        put("walls", checks.cell_set(self, walls, "wall"))
        put("masks", parse_masks(self, masks))
        put("unmergeable", checks.unmergeable_cells(self, unmergeable, str(start)))
        if not isinstance(fixed, bool):
            raise GameError(f"fixed is {fixed!r}, but must be true or false")
        put("fixed", fixed)
        put("limits", checks.parse_limits(self, limits))
        put("start", str(start).strip())
        put("pattern", None if pattern is None else str(pattern).strip().lower())
        put("goal_sum", None if goal_sum is None else integer_of(goal_sum, "goal sum"))
        put("horizon", None if horizon is None else integer_of(horizon, "horizon"))
        checks.check_fit(self)
        check_masks(self)
        checks.check_tiles(self)
        checks.check_start(self)
        checks.check_sum(self)
        patterns = self.patterns  # raises GameError if a pattern cannot occur
        if self.pattern not in (None, "lemma1", "pair"):
            put("pattern", "|".join(self._pattern_text(pattern) for pattern in patterns))

    # -- as a value ----------------------------------------------------------------------

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(self.__getstate__().values()))

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone.  What is computed from them includes a hash, which differs between processes."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    # -- checks ---------------------------------------------------------------------------

    def __repr__(self) -> str:
        words = [repr(self.shape_text)]
        if self.goal is not None:
            words.append(str(self.goal))
        texts = {
            "four": str(self.four), "limits": self.limits and self.limits_text, "masks": self.masks_text
        }  # fmt: skip
        changed = [one.name for one in fields(self)[2:] if getattr(self, one.name) != one.default]
        words += [f"{name}={texts.get(name, getattr(self, name))!r}" for name in changed]
        return f"Game({', '.join(words)})"

    # -- derived ---------------------------------------------------------------------------

    @cached_property
    def grid(self) -> Grid:
        """The cells of its boards."""
        return grid_of(self.shape)

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
        return 4 if self.cells <= 16 else 3 if self.cells <= 21 else 2

    @cached_property
    def x(self) -> int:
        """The code of an unmergeable tile: all bits of a cell."""
        return (1 << self.bits) - 1

    @cached_property
    def _x_code(self) -> int:
        """The argument `x` of `merge_line`: 0 without unmergeable tiles."""
        return self.x if self.unmergeable else 0

    @cached_property
    def max_code(self) -> int:
        """The largest exponent a cell can hold when packed."""
        return self.x - 1 if self.unmergeable else self.x

    @cached_property
    def free_cells(self) -> int:
        """Cells that ordinary tiles can use at once."""
        return self.cells - len(self.walls) - len(self.unmergeable)

    @property
    def spawn_exponents(self) -> tuple[int, ...]:
        """Exponents that are spawned with positive probability, ascending."""
        return self.four.exponents

    def spawn_probabilities(self, exponent: int) -> list[float]:
        """``[n]``: the probability that a tile that is spawned with n empty cells has this exponent."""
        return [float(self.four.chance(exponent, n)) for n in range(self.cells + 1)]

    @cached_property
    def _spawn_chances(self) -> tuple[tuple[tuple[int, Fraction], ...], ...]:
        """``[n]``: with n empty cells, each spawned exponent and its probability on one of these cells."""
        return tuple(
            tuple((e, self.four.chance(e, empty) / max(empty, 1)) for e in self.spawn_exponents)
            for empty in range(self.cells + 1)
        )

    @cached_property
    def buildable(self) -> int:
        """The largest exponent that play from the start can make."""
        # A tile of exponent e is made from two of e - 1, and while the second is being made the
        # first occupies a cell.  So each exponent above those that are given needs one more cell.
        return max(self.spawn_exponents[-1], self._start_exponent) + self.free_cells - 1

    @property
    def _start_exponent(self) -> int:
        # Without checks: what the start board may hold is checked later, when the limits are known.
        if re.fullmatch(r"0[xX][0-9a-fA-F]+", self.start):
            key = int(self.start, 16)
            codes = [key >> self.bits * cell & self.x for cell in range(self.cells)]
            return max((code for code in codes if not self.is_x(code)), default=0)
        words = split_cells(self.start.replace("|", " "))
        tiles = [int(word) for word in words if word.isdecimal() and len(word) < 30]
        return max(max(tiles, default=0).bit_length() - 1, 0)

    @cached_property
    def goal_exponent(self) -> int | None:
        """Exponent of the goal tile, or None in a continued game."""
        return None if self.goal is None else self.goal.bit_length() - 1

    @cached_property
    def can_win(self) -> bool:
        """Whether the game has a goal, a pattern or a goal sum."""
        return self.goal is not None or self.pattern is not None or self.goal_sum is not None

    @property
    def goal_fits(self) -> bool:
        """Whether limits allow a win: a pattern, the goal sum, or two tiles of goal // 2 in one line."""
        if any(self.patterns) or (self.goal_sum is not None and self.goal_sum <= self.largest_sum):
            return True
        if self.goal_exponent is None:
            return False
        merging = self.goal_exponent - 1
        return any(sum(self.tops[cell] >= merging for cell in line) >= 2 for line in self.grid.all_lines)

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """The patterns, one of which is enough to win: an exponent for each cell, None for any."""
        return patterns_of(self)

    @property
    def limits_text(self) -> str:
        """The limits as text, rows apart; empty without limits."""
        return "" if self.limits is None else self.grid.rows([str(limit) for limit in self.limits])

    @property
    def masks_text(self) -> str:
        """The masks as pictures, ``|`` between them; empty without masks."""
        return "|".join(picture(self, mask) for mask in self.masks)

    def _pattern_text(self, pattern: Pattern) -> str:
        return self.grid.rows(["*" if exponent is None else self.word(exponent) for exponent in pattern])

    @cached_property
    def tops(self) -> tuple[int, ...]:
        """The largest exponent that each cell may hold on a board that play from the start can make.

        Won and forbidden boards do not count.  Boards that no play makes may hold more: see `highest`.
        """
        return tuple(min(self.buildable, highest) for highest in self.highest)

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

    @cached_property
    def highest(self) -> tuple[int, ...]:
        """The largest exponent that the rules allow on each cell of a board that is not won.

        It depends on the goal, the limits and the largest tile, and not on what play from the start can
        build.  A game that has none of the three allows every tile (`UNBOUNDED`).
        """
        everywhere = self._top_of_rules
        if self.largest is not None:
            everywhere = min(everywhere, self.largest.bit_length() - 1)
        limits = self.limits or (1 << everywhere,) * self.cells
        return tuple(
            0
            if cell in self.obstacles or cell in self.held
            else min(everywhere, max(limit, 1).bit_length() - 1)
            for cell, limit in enumerate(limits)
        )

    @property
    def _top_of_rules(self) -> int:
        """The largest exponent on a board that is not won and not beyond the horizon, without any limit."""
        top = UNBOUNDED
        if self.goal_exponent is not None:
            top = min(top, self.goal_exponent - 1)
        if self.goal_sum is not None:
            top = min(top, max(self.goal_sum - 1, 1).bit_length() - 1)
        if self.horizon is not None:
            top = min(top, self.last_sum.bit_length() - 1)
        return top

    @property
    def cuts_merges(self) -> bool:
        """Whether a limit or the largest tile may forbid a merge, whatever cell it is on."""
        return max(self.tops) < min(self.buildable, self._top_of_rules)

    @property
    def closed(self) -> bool:
        """Whether all boards that the rules allow hold only tiles that play from the start can build."""
        return self.tops == self.highest

    @cached_property
    def obstacles(self) -> frozenset[int]:
        """Cells that tiles can neither enter nor pass: walls and fixed unmergeable tiles."""
        return frozenset(self.walls) | (frozenset(self.unmergeable) if self.fixed else frozenset())

    @cached_property
    def held(self) -> frozenset[int]:
        """Cells that hold an unmergeable tile on every board: if they are fixed, or in all masks."""
        if self.fixed:
            return frozenset(self.unmergeable)
        return frozenset.intersection(*map(frozenset, self.masks)) if self.masks else frozenset()

    @cached_property
    def directions(self) -> tuple[str, ...]:
        """Names of the slides: left, right, up, down, and front, back in a box."""
        return self.grid.directions

    @property
    def identity(self) -> dict[str, Any]:
        """The parameters as plain JSON values.  Two games are equal if and only if their identities are."""
        # Entries that older versions did not have are left out if unused: so old identities stay the same.
        newer = {
            "pattern": self.pattern,
            "goal_sum": self.goal_sum,
            "masks": self.masks_text or None,
            "horizon": self.horizon,
        }
        return {
            "shape": self.shape_text,
            "goal": self.goal,
            "four": str(self.four),
            "start": self.start,
            "limits": None if self.limits is None else list(self.limits),
            "largest": self.largest,
            "walls": list(self.walls),
            "unmergeable": list(self.unmergeable),
            "fixed": self.fixed,
            **{name: value for name, value in newer.items() if value is not None},
        }

    @classmethod
    def from_identity(cls, identity: dict[str, Any]) -> Game:
        """The game of an `identity`.  Raises `GameError` if this is not the identity of a game."""
        try:
            values = dict(identity)
            if len(json.dumps(values, default=str)) > MOST_IDENTITY:
                raise GameError(f"the identity of a game has at most {MOST_IDENTITY} characters")
            return cls(values.pop("shape"), values.pop("goal"), **values)
        except GameError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise GameError(f"not the identity of a game: {error}") from error

    def changed(self, **values: Any) -> Game:
        """A game with some entries of its `identity` changed.  Raises `GameError` if it does not exist."""
        return Game.from_identity(self.identity | values)

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that name the game."""
        text = json.dumps(self.identity, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        words = [self.shape_text]
        if self.goal is not None or self.goal_sum is None:
            words.append("continued" if self.goal is None else f"to {self.goal}")
        if self.goal_sum is not None:
            words.append(f"to the sum {self.goal_sum}")
        if self.four != ORIGINAL:
            words.append(f"four {self.four}")
        if self.start != "two-tiles":
            words.append(f"start {self.start}")
        for name in ("limits", "largest", "pattern", "walls", "unmergeable"):
            value = getattr(self, name)
            if name == "pattern" and "|" in str(value):  # which may not be checked yet
                words.append(f"{str(value).count('|') + 1} patterns")
            elif value:
                words.append(f"{name} {','.join(map(str, value)) if isinstance(value, tuple) else value}")
        if self.fixed:
            words.append("fixed")
        if self.masks:
            words.append(
                f"on the mask {self.masks_text}" if len(self.masks) == 1 else f"on {len(self.masks)} masks"
            )
        if self.horizon is not None:
            words.append(f"until the sum {self.horizon}")
        return ", ".join(words)

    # -- boards ------------------------------------------------------------------------------

    @cached_property
    def empty_board(self) -> Cells:
        """The board before the first spawn: unmergeable tiles only."""
        return tuple(self.x if cell in self.unmergeable else 0 for cell in range(self.cells))

    def parse(self, text: str) -> Cells:
        """A board from text: tiles by rows, or a packed key as ``0x...``.

        Tiles are numbers, ``.``, ``-``, ``_`` or 0 for an empty cell, ``x`` for an
        unmergeable tile, ``#`` for a wall; blanks, commas, slashes and semicolons separate.
        Raises `BoardError` if this is not a board of the game.
        """
        stripped = text.strip().lower()
        if re.fullmatch(r"0x[0-9a-f]+", stripped):
            return self.check(self.unpack(int(stripped, 16)))
        words = split_cells(stripped)
        if len(words) != self.cells:
            raise BoardError(
                f"{text!r} has {count_of(len(words), 'cell')}; a {self.shape_text} board has {self.cells}: "
                "separate cells by blanks or commas and rows by /"
            )
        return self.check(tuple(self.parse_cell(word, cell) for cell, word in enumerate(words)))

    def parse_cell(self, word: str, cell: int) -> int:
        """The exponent on a cell from text.  Raises `BoardError`."""
        if word in (".", "-", "_", "0") or (word == "#" and cell in self.walls):
            return 0
        if word == "x" and self.unmergeable:
            return self.x
        if word in ("x", "#"):
            missing = "unmergeable tile" if word == "x" else f"wall on cell {cell}"
            raise BoardError(f"{word!r} on the board, but the game {self} has no {missing}")
        if not word.isdecimal():
            raise BoardError(f"{word!r} is not a tile: write 2, 4, 8, or . for an empty cell")
        try:
            return self.exponent(int(word))
        except ValueError as error:
            if isinstance(error, BoardError):
                raise
            # Python reads no number of more than 4300 digits.
            raise BoardError(f"a tile of {len(word)} digits is too large for {self}") from error

    def exponent(self, tile: int) -> int:
        """The exponent of a tile, 0 for an empty cell.  Raises `BoardError` if it is not a power of two.

        The code of x is also the exponent of a tile.  A board of a game with unmergeable tiles cannot
        hold that tile.
        """
        try:
            found = exponent_of(tile) if tile else 0
        except GameError as error:
            raise BoardError(str(error)) from error
        if self.is_x(found):
            raise BoardError(
                f"tile {tile} does not fit beside unmergeable tiles: write x for those, or tiles up to "
                f"{2**self.max_code}"
            )
        return found

    def check(self, cells: Sequence[int]) -> Cells:
        """`cells` as a tuple.  Raises `BoardError` if a tile is too large for its cell.

        Won boards are refused, and so is a tile too large for a packed key.
        """
        board = self._check_cells(cells, self._readable)
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

    @cached_property
    def _readable(self) -> tuple[int, ...]:
        """The largest exponent on each cell that the rules allow and that fits into a packed key."""
        return tuple(min(top, self.max_code) for top in self.highest)

    def check_after(self, cells: Sequence[int]) -> Cells:
        """As `check`, but accepts all boards after a slide.

        These include won boards, on which any tile may exceed its limit, and boards with a tile that
        is too large for a packed key.
        """
        if not self.holds_goal(cells):
            return self._check_cells(cells, self.highest)
        most = merge_line([max(self.highest)] * 2, self._x_code)[0]
        return self._check_cells(cells, [0 if cell in self.obstacles else most for cell in range(self.cells)])

    def cells_of(self, cells: Iterable[int]) -> Cells:
        """The exponents of a board as a tuple.  Raises `BoardError` unless there is one for each cell."""
        try:
            board = tuple(map(index, cells))
        except (TypeError, ValueError) as error:
            raise BoardError(f"{cells!r} is not a board: give an exponent for each cell") from error
        if len(board) != self.cells:
            raise BoardError(f"{count_of(len(board), 'cell')}; a {self.shape_text} board has {self.cells}")
        return board

    def _check_cells(self, cells: Sequence[int], most: Sequence[int]) -> Cells:
        board = self.cells_of(cells)
        if not self.unmergeable and min(board) >= 0 and all(map(le, board, most)):
            return board
        for cell, (exponent, top) in enumerate(zip(board, most, strict=True)):
            is_x = self.is_x(exponent)
            if is_x and (cell in self.unmergeable or not self.fixed) and cell not in self.walls:
                continue
            if cell in self.unmergeable and self.fixed:
                raise BoardError(f"cell {cell} must hold the fixed tile x")
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

    def format(self, cells: Sequence[int]) -> str:
        """A board as text that `parse` reads: ``2,4/0,8``; a slash also separates the planes of a box."""
        return self.grid.rows(
            ["#" if cell in self.walls else self.word(exponent) for cell, exponent in enumerate(cells)]
        )

    def word(self, exponent: int) -> str:
        """A tile as text: its number, ``x`` if it is unmergeable, 0 for an empty cell."""
        if self.is_x(exponent):
            return "x"
        # A merge that would make the code of x makes the next exponent instead (`merge_line`).
        most = exponent if self.goal_exponent is None else min(exponent, self.goal_exponent)
        return tile_text(most) if most else "0"

    def is_x(self, exponent: int) -> bool:
        """Whether this is the code of an unmergeable tile."""
        return bool(self.unmergeable) and exponent == self.x

    def pack(self, cells: Sequence[int]) -> int:
        """The packed key: `bits` bits per cell, the first cell in the highest bits."""
        key = 0
        for exponent in cells:
            key = key << self.bits | exponent
        return key

    def cell_bits(self, cells: Iterable[int]) -> int:
        """The key in which these cells have all bits set, and the others none."""
        return sum(self.x << self.bits * (self.cells - 1 - cell) for cell in cells)

    def unpack(self, key: int) -> Cells:
        """The board of a packed key.  Raises `BoardError` if the key is too long."""
        if not 0 <= key < 1 << self.bits * self.cells:
            raise BoardError(
                f"key {key:#x} does not fit a {self.shape_text} board of {self.bits} bits a cell"
            )
        mask = (1 << self.bits) - 1
        return tuple(key >> self.bits * (self.cells - 1 - c) & mask for c in range(self.cells))

    def sum(self, cells: Sequence[int]) -> int:
        """The sum of all tiles; unmergeable tiles add nothing."""
        if not self.unmergeable:
            return sum([1 << e for e in cells if e])
        return sum(2**e for e in cells if e and not self.is_x(e))

    def max_exponent(self, cells: Sequence[int]) -> int:
        """The largest exponent on the board, unmergeable tiles aside; 0 on an empty board."""
        return max((e for e in cells if not self.is_x(e)), default=0)

    # -- rules -------------------------------------------------------------------------------

    def slide_any(self, cells: Sequence[int], direction: str) -> Cells:
        """The board after a slide, without regard to goal and limits; it may be unchanged."""
        board, x = list(cells), self._x_code
        for segment in self.segments[direction]:
            merged = _merged(tuple([board[c] for c in segment]), x)
            for cell, exponent in zip(segment, merged, strict=True):
                board[cell] = exponent
        return tuple(board)

    @cached_property
    def segments(self) -> dict[str, tuple[Cells, ...]]:
        """The lines of each direction, cut at obstacles: tiles slide within a segment."""
        return {
            direction: tuple(segment for line in lines for segment in self._cut(line))
            for direction, lines in self.grid.lines.items()
        }

    def _cut(self, line: Cells) -> Iterable[Cells]:
        for blocked, group in itertools.groupby(line, key=lambda cell: cell in self.obstacles):
            if not blocked:
                yield tuple(group)

    def holds_goal(self, cells: Sequence[int]) -> bool:
        """Whether a tile of the goal is on the board."""
        goal, x = self.goal_exponent, self._x_code
        return goal is not None and any(e >= goal and e != x for e in cells)

    def reached(self, total: int) -> bool:
        """Whether boards of this sum are won."""
        return self.goal_sum is not None and total >= self.goal_sum

    def has_goal_sum(self, cells: Sequence[int]) -> bool:
        """Whether the sum of a board wins."""
        return self.goal_sum is not None and self.sum(cells) >= self.goal_sum

    def ended(self, total: int) -> bool:
        """Whether no tile is spawned any more on boards of this sum."""
        return self.horizon is not None and total >= self.horizon

    def wins(self, after: Sequence[int]) -> bool:
        """Whether a board after a slide is won: by the goal, or by a pattern without breaking a limit."""
        if not self.stands(after):
            return False
        return self.holds_goal(after) or (self.matches(after) and self.allowed(after))

    def stands(self, cells: Sequence[int]) -> bool:
        """Whether each cell of one of the masks holds an unmergeable tile; true without masks."""
        x = self.x
        return not self.masks or any(all(cells[cell] == x for cell in mask) for mask in self.masks)

    def matches(self, cells: Sequence[int]) -> bool:
        """Whether the board holds one of the patterns."""
        return bool(self.patterns) and any(
            all(e is None or e == found for e, found in zip(pattern, cells, strict=True))
            for pattern in self.patterns
        )

    def allowed(self, cells: Sequence[int]) -> bool:
        """Whether no tile exceeds its limit, nor the largest tile, and the x stand on a mask."""
        x = self._x_code
        return self.stands(cells) and all(
            e <= top or e == x for e, top in zip(cells, self.highest, strict=True)
        )

    def slides(self, cells: Sequence[int]) -> dict[str, Cells]:
        """The allowed slides and the afterstates that they lead to, won ones included.

        Empty on a board that has the goal sum.
        """
        board, result = tuple(cells), {}
        if self.has_goal_sum(board):
            return {}
        for direction in self.directions:
            after = self.slide_any(board, direction)
            if after != board and (self.wins(after) or self.allowed(after)):
                result[direction] = after
        return result

    def spawns(self, cells: Sequence[int]) -> list[tuple[Cells, Fraction]]:
        """The states a spawn can lead to, with probabilities that sum to 1.

        Empty if the board is full, or its sum has reached the horizon.
        """
        board = tuple(cells)
        if self.horizon is not None and self.ended(self.sum(board)):
            return []
        open_cells = [c for c, e in enumerate(board) if not e and c not in self.walls]
        chances = self._spawn_chances[len(open_cells)]
        return [(board[:c] + (e,) + board[c + 1 :], p) for c in open_cells for e, p in chances]

    @property
    def start_board(self) -> Cells | None:
        """The board, with the player to move, that the game starts from; None if a spawn comes first."""
        begun = self.start in ("empty", "two-tiles") or self.start.startswith("after ")
        return None if begun else self.parse(self.start)

    @cached_property
    def start_afters(self) -> tuple[Cells, ...]:
        """The boards on which the first tile is spawned; none if the game starts from states."""
        if self.start == "empty":
            return (self.empty_board,)
        if not self.start.startswith("after "):
            return ()
        return tuple(self.parse(text) for text in self.start.removeprefix("after ").split("|"))

    @property
    def start_tiles(self) -> Cells:
        """The largest exponent of each cell on the start boards, unmergeable tiles aside."""
        board = self.start_board
        boards = (board,) if board is not None else self.start_afters
        return tuple(
            max((b[cell] for b in boards if not self.is_x(b[cell])), default=0) for cell in range(self.cells)
        )

    def starts(self) -> list[tuple[Cells, Fraction]]:
        """The states the game starts from, with probabilities that sum to 1, without symmetry."""
        board = self.start_board
        if board is not None:
            return [(board, Fraction(1))]
        chances: dict[Cells, Fraction] = {}
        for first, p in self._begun():
            for second, q in self.spawns(first):
                chances[second] = chances.get(second, Fraction(0)) + p * q
        return sorted(chances.items())

    def _begun(self) -> list[tuple[Cells, Fraction]]:
        """The boards before the last spawn of the start, with probabilities."""
        afters = self.start_afters
        if not afters:
            return self.spawns(self.empty_board)
        return [(after, Fraction(1, len(afters))) for after in afters]


def merge_line(line: Sequence[int], x: int = 0) -> list[int]:
    """Slide one line towards its first cell; `x` is the code that never merges (0: none).

    >>> merge_line([1, 1, 2, 0])
    [2, 2, 0, 0]
    """
    result: list[int] = []
    mergeable = False
    for exponent in line:
        if not exponent:
            continue
        if mergeable and result[-1] == exponent and exponent != x:
            # The code of x is not an exponent.  A merge that would make it makes the next exponent
            # instead, which no limit allows.
            result[-1] += 2 if exponent + 1 == x else 1
            mergeable = False
        else:
            result.append(exponent)
            mergeable = True
    return result + [0] * (len(line) - len(result))


@lru_cache(maxsize=1 << 14)
def _merged(line: Cells, x: int) -> Cells:
    """`merge_line` with a cache, since boards have few different lines."""
    return tuple(merge_line(line, x))
