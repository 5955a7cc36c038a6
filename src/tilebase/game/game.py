"""A game: shape, probability of a 4, goal, limits, walls, start; and the rules in plain Python.

This module defines the rules; every engine must agree with it.  A board is a tuple of exponents,
one per cell in row-major order (planes first for a box): 0 is an empty cell, e > 0 the tile 2**e.

The player slides: along every line each tile moves as far as it can towards one end, two
equal neighbours merge into one of the next exponent, and no tile merges twice.  A slide
that changes nothing is not a move.  Then a tile, 2 or 4, is spawned in an empty cell.

Five rules may forbid a slide or end the game:

* the *goal*: a slide that makes a tile of the goal wins, even if it breaks a limit; a slide
  after which the board holds a *pattern* of tiles on cells also wins, if it breaks no limit;
* the *goal sum*: the game is won as soon as a spawn makes the sum of the tiles reach it;
* the *limits*: a slide whose result exceeds the limit of a cell is not allowed
  (Slizkov, arXiv:2303.07266, section 3); with the same limit on every cell this is the bounded
  variant of Edixhoven 2019, section 3.2;
* the *masks*: a slide is not allowed, even if it makes the goal, unless afterwards each cell of
  one of the masks holds an unmergeable tile;
* the *horizon*: if the board after a slide is not won and the sum of its tiles has reached the
  horizon, the game ends there, and the last slide counts.

*Walls* are cells that no tile enters.  *Unmergeable* tiles (written ``x``) slide and never merge.
They add nothing to the sum of a board.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import fields
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar

from tilebase.errors import BoardError, GameError, UsageError, check_first
from tilebase.game.boards import NAMED_PATTERNS, Boards
from tilebase.game.grid import Cells as Cells
from tilebase.game.grid import grid_of, parse_shape
from tilebase.game.notation import (
    exponent_of,
    integer_of,
    parse_cells,
    parse_limits,
    parse_masks,
    parse_patterns,
    parse_start,
    patterns_text,
)
from tilebase.game.spawns import ORIGINAL, SpawnLaw
from tilebase.runtime.documents import to_json

NOTHING = "moves nothing"
"""Why a slide is refused that leaves the board as it is; any other reason would say less."""
MAX_CELLS, MOST_PLAYED = 32, 64
"""Most cells of a `Game`, and of a `WideGame`."""
MOST_IDENTITY = 1 << 16
"""Most characters of a game's identity that is read.  A file may be hostile; real identities are shorter."""


class Game(Boards):
    """One game, immutable and hashable.  Every computed result names its game.

    Parameters
    ----------
    shape:
        ``"4x4"`` or ``(4, 4)``; three sizes make a box of planes, rows, columns.
    goal:
        The tile that wins, a power of two above every spawned tile; None to play on
        until no slide is left (a game without a goal).
    spawn:
        The spawn law: the probability that a spawned tile is a 4, exact; 0 for only 2s, 1 for only 4s.
    start:
        ``"two-tiles"``: two random tiles, as in the original game.  ``"empty"``: one tile is spawned on the
        empty board.  A board as text: the player moves first.  ``"after "`` and a board, or several with
        ``|`` between them: a tile is spawned on one of them, each with the same probability.
    limits:
        The largest tile allowed on each cell, in row-major order, as text (``"16,16/16,8"``) or numbers, or
        one number for all cells; None for no limits.
    pattern:
        Tiles on cells that win, as the goal does, written as a board with ``*`` for any tile or none, such as
        ``"64,32,*/*,*,*"``.  A pattern wins only if the board has it after a slide: if a spawn completes it,
        it must still be there after the next slide.  Several patterns have ``|`` between them; one is enough.
        ``"lemma1"``: the first row begins with the tiles T/2, T/4 and the second with T/8, T/16, T/16, for
        the goal T of 64 or more (Slizkov, lemma 1). ``"pair"``: any two neighbouring tiles T/2; ``"two"``:
        any two tiles T/2.  None for no pattern.
    goal_sum:
        The sum of the tiles that wins, an even number: a board is won as soon as a spawn makes its sum
        that large, even if no slide is left.  None for no such sum.
    walls:
        Indices of cells that no tile enters.
    unmergeable:
        Indices of the cells that hold an unmergeable tile at the start.
    masks:
        The cells that must hold an x after each slide: pictures such as ``"..../..../..xx/xxxx"``, with ``|``
        between several, or lists of cells.  Each cell of one of the masks must hold an x.  Endgame tables
        call this a formation.  Empty: x may be anywhere.
    horizon:
        The sum of the tiles at which the game ends: if a board after a slide has this sum or more, and is not
        won, no tile is spawned on it.  None to play on.

    Raises
    ------
    GameError
        If no such game exists or its boards do not fit into 64 bits: 16 cells have 4 bits
        each, 21 cells 3 bits (tiles to 128), 32 cells 2 bits (tiles to 8).

    >>> Game("2x2", 32).cells
    4
    """

    def __init__(
        self,
        shape: str | Sequence[int],
        goal: int | None = None,
        *,
        spawn: SpawnLaw | Fraction | float | str | int = ORIGINAL,
        start: str = "two-tiles",
        limits: str | int | Sequence[int] | None = None,
        walls: str | Iterable[int] = (),
        unmergeable: str | Iterable[int] = (),
        pattern: str | None = None,
        goal_sum: int | None = None,
        masks: str | Iterable[Any] = (),
        horizon: int | None = None,
    ) -> None:
        grid = grid_of(parse_shape(shape), self.wide)
        numbers = {
            name: None if value is None else integer_of(value, name.replace("_", " "))
            for name, value in (("goal", goal), ("goal_sum", goal_sum), ("horizon", horizon))
        }
        law = SpawnLaw.of(spawn)
        wall_cells = parse_cells(grid, walls, "wall")
        mask_cells = parse_masks(grid, masks)
        x_cells = parse_cells(grid, unmergeable, "unmergeable tile")
        x = (1 << grid.bits) - 1 if x_cells or mask_cells else 0
        begin = parse_start(str(start), grid, wall_cells, x)
        if mask_cells and not x_cells:
            first = begin.boards[0] if begin.boards else ()
            x_cells = tuple(cell for cell, exponent in enumerate(first) if exponent == x) or mask_cells[0]
        wins_by = None if pattern is None else str(pattern).strip().lower()
        if wins_by is not None and wins_by not in NAMED_PATTERNS:
            wins_by = patterns_text(parse_patterns(wins_by, grid, wall_cells, x), grid, x)
        super().__init__(
            shape=grid.shape,
            spawn=law,
            start=begin.text,
            limits=parse_limits(grid, limits, wall_cells, law.exponents[-1]),
            walls=wall_cells,
            unmergeable=x_cells,
            pattern=wins_by,
            masks=mask_cells,
            **numbers,
        )
        _check_fit(self)
        _check_masks(self)
        _check_tiles(self)
        _check_start(self)
        _check_sums(self)
        _check_patterns(self)

    # -- as a value ----------------------------------------------------------------------

    def __repr__(self) -> str:
        words = [repr(self.shape_text)]
        if self.goal is not None:
            words.append(str(self.goal))
        texts = {
            "spawn": str(self.spawn), "limits": self.limits and self.limits_text, "masks": self.masks_text
        }  # fmt: skip
        changed = [one.name for one in fields(self)[2:] if getattr(self, one.name) != one.default]
        words += [f"{name}={texts.get(name, getattr(self, name))!r}" for name in changed]
        return f"{type(self).__name__}({', '.join(words)})"

    @property
    def identity(self) -> dict[str, Any]:
        """The parameters as plain JSON values.  Two games of a class are equal if and only if these are."""
        # Rules that few games have are left out if unused.
        further = {
            "pattern": self.pattern,
            "goal_sum": self.goal_sum,
            "masks": self.masks_text or None,
            "horizon": self.horizon,
        }
        return {
            "shape": self.shape_text,
            "goal": self.goal,
            "four": str(self.spawn),  # its name in files
            "start": self.start,
            "limits": None if self.limits is None else list(self.limits),
            "walls": list(self.walls),
            "unmergeable": list(self.unmergeable),
            **{name: value for name, value in further.items() if value is not None},
        }

    @classmethod
    def from_identity(cls, identity: dict[str, Any]) -> Game:
        """Return the game of an `identity`.  Raises `GameError` if this is not the identity of a game."""
        try:
            values = dict(identity)
            if len(repr(values)) > MOST_IDENTITY:
                raise GameError(f"the identity of a game has at most {MOST_IDENTITY} characters")
            return cls(values.pop("shape"), values.pop("goal"), spawn=values.pop("four", ORIGINAL), **values)
        except GameError:
            raise
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            raise GameError(f"not the identity of a game: {error}") from error

    def changed(self, **values: Any) -> Game:
        """Return a `Game` with some parameters changed.  Raises `GameError` if it does not exist."""
        named = {"four" if name == "spawn" else name: value for name, value in values.items()}
        return Game.from_identity(self.identity | named)

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that name the game."""
        text = to_json(self.identity, "sorted")
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    # -- rules -------------------------------------------------------------------------------

    @property
    def directions(self) -> tuple[str, ...]:
        """Names of the slides: left, right, up, down, and front, back in a box."""
        return self.grid.directions

    @property
    def can_win(self) -> bool:
        """Whether the game has a goal, a pattern or a goal sum."""
        return self.goal is not None or self.pattern is not None or self.goal_sum is not None

    @property
    def is_plain(self) -> bool:
        """Whether the game has no other rules than 2048: of its own are shape, goal, spawns and start."""
        limited = self.limits is not None or bool(self.walls) or bool(self.unmergeable)
        return not (limited or self.patterns) and self.goal_sum is None and self.horizon is None

    @property
    def goal_fits(self) -> bool:
        """Whether limits allow a pattern, the goal sum, or two tiles of goal // 2 in one line."""
        if any(self.patterns) or (self.goal_sum is not None and self.goal_sum <= self.largest_sum):
            return True
        if self.goal_exponent is None:
            return False
        merging = self.goal_exponent - 1
        return any(sum(self.tops[cell] >= merging for cell in line) >= 2 for line in self.grid.all_lines)

    @cached_property
    def _spawn_chances(self) -> list[list[tuple[int, Fraction]]]:
        """``[n]``: with n empty cells, each spawned exponent and its probability on one of these cells."""
        chances = [(e, self.spawn.chance(e)) for e in self.spawn_exponents]
        return [[(e, p / max(empty, 1)) for e, p in chances] for empty in range(self.cells + 1)]

    def slide_any(self, cells: Sequence[int], direction: str, x: int | None = None) -> Cells:
        """Slide a board without regard to goal and limits; a board that does not change is returned, too.

        `x` is the code that never merges: 0 for none, None for that of the game.
        """
        board, never = list(cells), self.x_code if x is None else x
        for segment in self.segments[direction]:
            merged = merge_line(tuple([board[c] for c in segment]), never)
            for cell, exponent in zip(segment, merged, strict=True):
                board[cell] = exponent
        return tuple(board)

    @cached_property
    def segments(self) -> dict[str, tuple[Cells, ...]]:
        """The lines of each direction, cut at walls: tiles slide within a segment."""
        return {
            direction: tuple(
                tuple(group)
                for line in lines
                for blocked, group in itertools.groupby(line, key=lambda cell: cell in self.walls)
                if not blocked
            )
            for direction, lines in self.grid.lines.items()
        }

    def reached(self, total: int) -> bool:
        """Return whether boards of this sum are won."""
        return self.goal_sum is not None and total >= self.goal_sum

    def ended(self, total: int) -> bool:
        """Return whether no tile is spawned any more on boards of this sum."""
        return self.horizon is not None and total >= self.horizon

    def wins(self, after: Sequence[int]) -> bool:
        """Return whether a board after a slide is won: by the goal, or by a pattern that breaks no limit."""
        if not self.stands(after):
            return False
        return self.holds_goal(after) or (self.matches(after) and self.allowed(after))

    def matches(self, cells: Sequence[int]) -> bool:
        """Return whether the board holds one of the patterns."""
        return bool(self.patterns) and any(
            all(e is None or e == found for e, found in zip(pattern, cells, strict=True))
            for pattern in self.patterns
        )

    def allowed(self, cells: Sequence[int]) -> bool:
        """Return whether no tile exceeds its limit, and the x stand on a mask."""
        x = self.x_code
        return self.stands(cells) and all(
            e <= top or e == x for e, top in zip(cells, self.bounds.allowed, strict=True)
        )

    def slides(self, cells: Sequence[int]) -> dict[str, Cells]:
        """Return the allowed slides and the afterstates that they lead to, won ones included.

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

    def refusals(self, cells: Sequence[int]) -> dict[str, str]:
        """``refusals[direction]``: why a slide is not allowed on a state, in words, for each that is not.

        >>> Game("2x2", 32).refusals((1, 0, 2, 0))
        {'left': 'moves nothing', 'up': 'moves nothing', 'down': 'moves nothing'}
        >>> Game("2x2", 16, unmergeable=[0], masks="x./..").refusals((15, 1, 0, 2))
        {'right': 'moves nothing', 'up': 'moves nothing', 'down': 'breaks the formation'}
        """
        board, result = tuple(cells), {}
        for direction in self.directions:
            after = self.slide_any(board, direction)
            if self.has_goal_sum(board):
                result[direction] = "the game is won"
            elif after == board:
                result[direction] = NOTHING
            elif not self.stands(after):
                result[direction] = "breaks the formation"
            elif not self.wins(after) and not self.allowed(after):
                result[direction] = "makes a tile that the game does not allow"
        return result

    def spawns(self, cells: Sequence[int]) -> list[tuple[Cells, Fraction]]:
        """Return the states that a spawn can make, with probabilities that sum to 1.

        Empty if the board is full, or its sum has reached the horizon.
        """
        board = tuple(cells)
        if self.horizon is not None and self.ended(self.sum(board)):
            return []
        open_cells = [c for c, e in enumerate(board) if not e and c not in self.walls]
        chances = self._spawn_chances[len(open_cells)]
        return [(board[:c] + (e,) + board[c + 1 :], p) for c in open_cells for e, p in chances]

    @property
    def first_sum(self) -> int:
        """The sum of the board from which the game starts; 0 if spawns come first."""
        return 0 if self.begin.spawns else self.sum(self.begin.boards[0])

    def starts(self) -> list[tuple[Cells, Fraction]]:
        """Return the states the game starts from, with probabilities that sum to 1, without symmetry."""
        boards = self.begin.boards or (self.empty_board,)
        chances = dict.fromkeys(boards, Fraction(1, len(boards)))
        for _ in range(self.begin.spawns):
            after: dict[Cells, Fraction] = {}
            for board, p in chances.items():
                for state, q in self.spawns(board):
                    after[state] = after.get(state, Fraction(0)) + p * q
            chances = after
        return sorted(chances.items())


class WideGame(Game):
    """A game to play in environments, whose boards need no key of 64 bits; no engine solves it.

    It has at most 64 cells, and of the rules of a `Game` a shape, a goal, a spawn law, a start and walls.
    4x4 without a goal, as people play it, goes on to 131,072.

    >>> WideGame("4x4").tops[0], WideGame("8x8", 2048)
    (17, WideGame('8x8', 2048))
    """

    wide: ClassVar = True


@lru_cache(maxsize=1 << 14)
def merge_line(line: Cells, x: int = 0) -> Cells:
    """Slide one line towards its first cell; `x` is the code that never merges (0: none).

    >>> merge_line((1, 1, 2, 0))
    (2, 2, 0, 0)
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
    return tuple(result) + (0,) * (len(line) - len(result))


def check_is_game(game: object, *, wide: bool = False) -> None:
    """Raise `UsageError` unless a first argument is a game; a `WideGame` is one only if `wide`.

    >>> check_is_game("2x2")
    Traceback (most recent call last):
        ...
    tilebase.errors.UsageError: the first argument must be a Game, such as Game("2x2", 32), not '2x2'
    """
    check_first(game, Game, 'a Game, such as Game("2x2", 32)')
    if isinstance(game, WideGame) and not wide:
        packed = f"; those of Game('{game.shape_text}', 65536) do not" * (game.cells == 16)
        raise UsageError(
            f"{game!r} can only be played in environments: its boards need more than 64 bits{packed}"
        )


# -- parameters that do not go together --------------------------------------------------------------


def _check_fit(game: Game) -> None:
    """Raise `GameError` unless the board fits 64 bits and has a cell for a tile."""
    most = MOST_PLAYED if game.wide else MAX_CELLS
    if game.cells > most:
        why = "" if game.wide else ", as the others do not fit into 64 bits"
        raise GameError(
            f"a {game.shape_text} board has {game.cells:,} cells: choose one of at most {most}{why}"
        )
    unused = game.limits, game.pattern, game.goal_sum, game.horizon, game.unmergeable or None
    if game.wide and any(one is not None for one in unused):
        raise GameError("a WideGame has a shape, a goal, a spawn law, a start and walls, and no other rules")
    if set(game.walls) & set(game.unmergeable):
        raise GameError("a cell is listed as a wall and as an unmergeable tile: list it once")
    if game.free_cells < 1:
        raise GameError("no cell is left for a tile: take away walls or unmergeable tiles")


def _check_masks(game: Game) -> None:
    """Raise `GameError` unless the masks go with walls and unmergeable tiles."""
    count = len(game.unmergeable)
    for mask in game.masks:
        if set(mask) & set(game.walls):
            raise GameError(f"the mask {game.mask_text(mask)} has an x on a wall")
        if len(mask) > count:
            raise GameError(
                f"the mask {game.mask_text(mask)} needs {len(mask)} unmergeable tiles; the game has {count}"
            )


def _check_tiles(game: Game) -> None:
    """Raise `GameError` unless the goal can be made, and all tiles fit a packed key."""
    code, built, spawned = game.bounds.code, game.bounds.built, game.spawn_exponents[-1]
    if game.goal is not None:
        goal = exponent_of(game.goal, "goal")
        if goal <= spawned:
            raise GameError(f"goal {game.goal} is spawned, not made: choose at least {2 ** (spawned + 1)}")
        if goal > built:
            raise GameError(
                f"goal {game.goal} cannot be made on {game.shape_text}: "
                f"{game.free_cells} cells make at most {2**built}, so the chance to win is 0"
            )
    if game.masks and (game.goal_exponent or 0) > code:
        raise GameError(f"with masks the goal is at most {2**code}, as x takes a code: lower the goal")
    if max(game.tops) > code:
        made = f"goal {game.goal} can be made, but " if game.goal else ""
        most = 2**code if game.masks else 2 ** (code + 1)
        raise GameError(
            f"{made}boards of {game.shape_text} can hold the tile {2 ** max(game.tops)} before play ends, "
            f"and the {game.bits} bits of a cell store tiles to {2**code}: name a goal of at most "
            f"{most}, as {game.shape_text} {most}, in Python Game('{game.shape_text}', {most}), "
            f"or limits of {2**code}"
        )


def _check_start(game: Game) -> None:
    """Raise `GameError` unless the start boards are boards of the game that leave a cell for each spawn."""
    if game.begin.spawns == 2 and game.free_cells < 2:
        raise GameError(f"{game.shape_text} has too few cells for two tiles: choose the start empty")
    for board in game.begin.boards:
        try:
            game.check(board)
        except BoardError as error:
            raise GameError(f"the start is not a board of this game: {error}") from error
        if not game.masks and any(
            game.is_x(board[cell]) != (cell in game.unmergeable) for cell in range(game.cells)
        ):
            raise GameError("the start board must hold an x on each unmergeable cell and nowhere else")
        if game.begin.spawns and all(e or cell in game.walls for cell, e in enumerate(board)):
            raise GameError(f"the start board {game.format(board)} is full: leave a cell for a spawn")


def _check_sums(game: Game) -> None:
    """Raise `GameError` unless horizon and goal sum are even, above the starts, and within reach."""
    for what, total in (("horizon", game.horizon), ("goal sum", game.goal_sum)):
        if total is not None and total % 2:
            raise GameError(f"the {what} {total} is odd, but all sums are even: give an even one")
    spawns, each = game.begin.spawns, 1 << game.spawn_exponents[-1]
    least = max(map(game.sum, game.begin.boards), default=0)
    before = least + (spawns - 1) * each if spawns else 0
    if game.horizon is not None and game.horizon <= before:
        raise GameError(
            f"a start is spawned on a board of the sum {before}, so the horizon must be at least {before + 2}"
        )
    if game.goal_sum is None:
        return
    least += spawns * each
    if game.goal_sum <= least:
        raise GameError(f"a start has the sum {least}, so the goal sum must be at least {least + 2}")
    # With limits too low for the sum the game exists, but cannot be won: see `goal_fits`.
    if game.goal_sum > game.largest_sum and game.limits is None:
        raise GameError(
            f"no board of {game} has the goal sum {game.goal_sum}: give at most {game.largest_sum}"
        )


def _check_patterns(game: Game) -> None:
    """Raise `GameError` unless each pattern can occur."""
    if game.pattern in NAMED_PATTERNS:
        least = 64 if game.pattern == "lemma1" else 4
        if game.goal is None or game.goal < least:
            raise GameError(f"the pattern {game.pattern} needs a goal of at least {least}")
    if game.pattern == "lemma1" and (len(game.shape) != 2 or game.shape[0] < 2 or game.shape[1] < 3):
        raise GameError(f"the pattern lemma1 needs two rows of three cells, which {game.shape_text} has not")
    for pattern in game.patterns:
        for cell, exponent in enumerate(pattern):
            if exponent is not None and not game.is_x(exponent) and exponent > game.tops[cell]:
                raise GameError(
                    f"the pattern needs {2**exponent} on cell {cell}, where {game} allows "
                    f"{f'at most {2 ** game.tops[cell]}' if game.tops[cell] else 'no tile'}"
                )
        if not any(pattern):
            raise GameError("the pattern holds no tile: name at least one")
