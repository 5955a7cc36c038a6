"""Which games have a real board among their boards: what can be solved to answer it, and what that takes.

A real board may be one of several formations, rotated or mirrored, and for several goals
(`tables.large_tiles`).  Of each formation the largest of these goals counts, since play to a smaller one ends
sooner.  Large tiles that are written as x do not tell the goal: then each counts.  A board of at most
`MOST_CELLS` cells without large tiles is one of the game on its shape, for each goal above its largest tile.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from math import isqrt, prod
from pathlib import Path
from typing import Any

from tilebase.costs.estimate import WEEK, WORTH_BYTES, Estimate, free_disk
from tilebase.costs.reachable import ONE, WIN, count_seconds, half_boards, solve_seconds, solving
from tilebase.costs.shares import COUNTED, layers_of, measured, share_of
from tilebase.errors import BoardError, GameError, MissingBoardError, UsageError
from tilebase.game.formations import Formation, formations
from tilebase.game.game import Cells, Game
from tilebase.game.grid import is_shape
from tilebase.game.notation import as_typed, written
from tilebase.objectives.numbers import byte_text, enough_text
from tilebase.runtime.documents import shown
from tilebase.runtime.measured import DAY, duration
from tilebase.runtime.resources import Allowance
from tilebase.sparse.halves import TABLE_LIMIT
from tilebase.tables.large_tiles import LARGE, NoReadingError, large_tiles_of, read_tiles, started_from

MOST_CELLS = 12
"""Most cells of a shape whose whole game is offered."""
WHOLE = {
    "2x2": (16, 32),
    "2x3": (32, 64),
    "2x4": (64, 128),
    "3x3": (128, 256, 512, 1024),
    "3x4": (64, 128, 256),
}
"""The whole games of `catalogue`: shapes, and goals."""
GOALS = 3
"""How many goals of a whole game are offered."""
LEAST_GOAL = 32
"""The least goal of a formation that is offered: from a smaller one nobody learns anything."""
COMMON_GOAL = 128
"""The least goal in `catalogue` of formations with masks; without masks, few larger ones can be solved."""
ALONE_SECONDS = 10.0
"""Seconds from which on a table of the board alone is offered beside the quickest one."""


@dataclass(frozen=True)
class Fit:
    """A game that has a real board among its boards.

    Attributes
    ----------
    game, goal:
        The game, and the tile that wins.
    formation:
        The formation; None if it is the whole game on the shape of the board.
    equal:
        Whether two large tiles of the board are equal.  They can merge, which the game does not know.
    """

    game: Game
    goal: int
    formation: Formation | None = None
    equal: bool = False

    @property
    def name(self) -> str:
        """The usual name of its table: ``442-256``, ``3x3-512``, or that and the digits of its start."""
        name = f"{self.formation.name if self.formation else self.game.shape_text}-{self.goal}"
        return f"{name}-{''.join(f'{e:x}' for e in self.game.begin.boards[0])}" if self.alone else name

    @property
    def alone(self) -> bool:
        """Whether the game starts from one board, so that its table knows only what comes after that."""
        return bool(self.game.first_sum)

    def command(self, library: Path | None) -> str:
        """Return the command that solves it, into a folder of its name there or in the current folder."""
        what = ["--formation", self.formation.name] if self.formation else [self.game.shape_text]
        start = ["--start", self.game.start] if self.alone else []
        folder = Path(self.name) if library is None else library / self.name
        return shlex.join(["tilebase", "solve", *what, str(self.goal), *start, "-o", str(folder)])

    @property
    def chance(self) -> float | None:
        """The probability to win from the start of a formation; None if it was never solved."""
        if self.formation is None or self.alone:
            return None
        known = measured().get((self.formation.name, self.goal))
        return known.win if known else None

    @property
    def boards(self) -> int:
        """The exact number of boards within the rules below the horizon, without symmetry."""
        return sum(layers_of(self.game).boards.values())

    @property
    def positions(self) -> int:
        """The number of positions in its table; exact if it was measured, else an estimate."""
        return round(float(layers_of(self.game).afterstates.sum()))

    @property
    def measured(self) -> bool:
        """Whether its positions were counted once."""
        return share_of(self.game).spread == COUNTED and not self.alone

    @property
    def positions_text(self) -> str:
        """The number of positions, with ``~`` before an estimate."""
        return f"{self.positions:,}" if self.measured else f"~{int(float(f'{self.positions:.1e}')):,}"

    @property
    def possible(self) -> bool:
        """Whether the engine has tables for such boards; if not, it refuses the game whatever the memory."""
        return half_boards(self.game) <= TABLE_LIMIT

    def seconds(self, threads: int) -> float:
        """Return the expected time with a number of threads."""
        counting = count_seconds(layers_of(self.game), None, threads)
        return counting + solve_seconds(self.game, WIN, None, threads)

    def time_text(self, threads: int) -> str:
        """Return the expected time in words; the engine's refusal where it has no tables."""
        if not self.possible:
            return "refused"
        seconds = self.seconds(threads)
        return "over a year" if seconds > 366 * DAY else f"~{duration(max(seconds, 1.0))}"

    @cached_property
    def least(self) -> Estimate:
        """What its table takes with one thread, which needs the least memory."""
        return solving(self.game, WIN, ONE, table=True)

    @cached_property
    def expected(self) -> Estimate:
        """What its table takes on this machine, with all processors."""
        return solving(self.game, WIN, Allowance.of(), table=True)

    @property
    def takes(self) -> tuple[str, str]:
        """The time and the disk of `expected`, in words."""
        most = "at most " * self.expected.upper
        time, disk = duration(max(1.0, self.expected.seconds)), byte_text(int(self.expected.disk))
        return f"{most}{time}", f"{most}{disk}"

    def problem(self, library: Path | None) -> str:
        """Why it cannot be solved into a folder of its name there, in a few words; empty if it can."""
        folder = library and library / self.name
        few = self.expected.disk > max(free_disk(folder), WORTH_BYTES)
        return self.too_large or (f"needs {byte_text(int(self.expected.disk))} of disk" if few else "")

    @cached_property
    def too_large(self) -> str:
        """Why it cannot be solved on this machine on any disk, in a few words; empty if it can."""
        if not self.possible:
            return "too many boards for a table"
        if self.expected.memory > Allowance.of().memory:
            return f"needs {enough_text(self.expected.memory)} of memory"
        return "takes more than a week" if self.expected.seconds > WEEK else ""


_game_of = cache(Formation.game)


def fits(board: Any) -> list[Fit]:
    """Return the games that have a real board among their boards, what is solved soonest first.

    `board` is text as `Table.probe` reads it, but no key, or a list of rows of tiles.

    Raises
    ------
    BoardError
        If this is not a board.
    MissingBoardError
        If there is no such game; the sentence says why the nearest formation is none.

    >>> [fit.name for fit in fits("0,2,4,0/2,16,8,4/8,128,256,512/1024,2048,4096,8192")][:2]
    ['442-256', '442t-256']
    """
    found = sorted(_found(board), key=lambda fit: fit.expected.seconds)
    first = found[0]
    if not first.too_large and first.expected.seconds >= ALONE_SECONDS:
        found.insert(0, replace(first, game=started_from(first.game, board)))
    return found


def _found(board: Any) -> list[Fit]:
    """Return the games that have a real board, in no order.  Raises as `fits`."""
    whole = Game(shape_of(board), 8)  # the tiles of a real board may be larger
    tiles = read_tiles(whole, board, LARGE)
    if tiles is None:
        raise BoardError(f"{str(board)[:80]} does not say its shape: write a board as 2,4/0,8")
    found = _formations(whole, tiles) or list(_whole(whole, tiles))
    if not found:
        raise MissingBoardError(f"no game of {whole.shape_text} that can be solved fits this board")
    return found


def fits_of_all(boards: Iterable[Any]) -> list[tuple[Fit, int]]:
    """Return the games that have some of these boards, and how many, those with most first.

    Games in which large tiles of a board are equal do not have it.  Raises `BoardError` if one is no board.
    """
    found = Counter[Fit]()
    for board in boards:
        with suppress(MissingBoardError):
            found.update(fit for fit in _found(board) if not fit.equal)
    return found.most_common()


def _formations(whole: Game, tiles: Cells) -> list[Fit]:
    """Return the formations of a board, each with its largest goal: without equal large tiles if that can be.

    Raises `MissingBoardError` if there is none.
    """
    told = LARGE not in tiles  # how large the large tiles are
    nearest = -1, f"formations have boards of 4x4, and whole games at most {MOST_CELLS} cells"
    found: dict[tuple[str, int], Fit] = {}
    for one in formations():
        goal = 0 if one.walled or one.shape != whole.shape else one.largest_goal
        while goal >= max(LEAST_GOAL, one.least_goal):
            game = _game_of(one, goal)
            try:
                readings = large_tiles_of(game).readings(tiles)
            except NoReadingError as error:
                nearest = max(nearest, (error.stage, f"the nearest is {one.name} to {goal}: {error}"))
            else:
                apart = any(_are_distinct([tiles[cell] for cell in reading.large]) for reading in readings)
                key = one.name, 0 if told else goal
                if apart or key not in found:
                    found[key] = Fit(game, goal, one, equal=not apart)
                if apart and told:
                    break
            goal //= 2
    if not found and len(tiles) > MOST_CELLS:
        raise MissingBoardError(f"no formation has this board; {nearest[1]}")
    better = [fit for fit in found.values() if not fit.equal]
    return better or list(found.values())


def _are_distinct(tiles: list[int]) -> bool:
    """Return whether no two large tiles can merge; any two may be written as x."""
    known = [e for e in tiles if e != LARGE]
    return len(set(known)) == len(known)


def _whole(whole: Game, tiles: Cells) -> Iterator[Fit]:
    """Yield the games on the shape of a board to goals above its largest tile."""
    least = max(3, max(tiles) + 1)
    for exponent in range(least, least + GOALS):
        try:
            game = Game(whole.shape, 1 << exponent)
        except GameError:
            return
        yield Fit(game, 1 << exponent)


def tables_of(one: Formation) -> Iterator[Fit]:
    """Yield the tables of a formation by ascending goal, from 32 on, or of its largest goal if that is less.

    Raises `GameError` if the formation can make no goal.
    """
    goal = max(one.least_goal, min(LEAST_GOAL, one.largest_goal))
    yield Fit(one.game(goal), goal, one)
    with suppress(GameError):  # tiles larger than the goal may not fit into a key
        while (goal := 2 * goal) <= one.largest_goal:
            yield Fit(one.game(goal), goal, one)


@cache
def catalogue() -> tuple[Fit, ...]:
    """Return the tables that players solve: of each formation, and of small boards, by ascending goal.

    >>> len(catalogue()), catalogue()[0].name
    (152, 'L3-128')
    """
    every = (fit for one in formations() if not one.walled for fit in tables_of(one))
    found = [fit for fit in every if fit.goal >= (COMMON_GOAL if fit.game.masks else LEAST_GOAL)]
    found += [Fit(Game(shape, goal), goal) for shape, goals in WHOLE.items() for goal in goals]
    return tuple(found)


def fit_named(name: str) -> Fit:
    """Return the table of a name, such as ``442-256`` or ``3x3-512``, or of a board alone (`Fit.name`).

    Raises `UsageError` or `GameError` if it names none, `BoardError` if the game has no such board.
    """
    words = re.fullmatch(r"([^-]+)-(\d{1,6})(?:-([0-9a-f]{4,16}))?", name)
    if words is None:
        raise UsageError(f"{shown(name, 40)} does not name a table: write 442-256 or 3x3-512")
    what, goal, digits = words[1], int(words[2]), words[3]
    if is_shape(what):
        found = Fit(Game(what, goal), goal)
    else:
        # By name only: `formation` would read a file, and what it calls itself would name a folder.
        one = next((one for one in formations() if one.name == what), None)
        if one is None:
            raise UsageError(f"no formation is called {shown(what, 40)}: tilebase plan formations lists them")
        found = Fit(one.game(goal), goal, one)
    return replace(found, game=started_from(found.game, digits)) if digits else found


def is_board(text: str) -> bool:
    """Return whether a text says a board and its shape, rather than the name of a table or a word.

    Four digits are a goal or a formation, such as 1024 or 4431, and not the digits of a board of 2x2.

    >>> is_board("2,4/0,8"), is_board("3x3-512/"), is_board("4431"), is_board("0123456789ab0000")
    (True, False, False, True)
    """
    if re.fullmatch(r"\w{1,4}", text.strip()):
        return False
    try:
        shape_of(text)
    except BoardError:  # rows of different lengths are a board, too, with an error
        return "," in text and not set(text) - set("0123456789, /")
    return True


def shape_of(board: Any) -> tuple[int, int]:
    """Return rows and columns of a board: text with rows, the digits of a square, JSON, or a list of rows.

    Raises `BoardError`.
    """
    text = as_typed(board) if isinstance(board, str) else ""
    digits = re.fullmatch(r"[0-9a-f]+", text)
    shape, words = ((1, len(text)), []) if digits else written(board)
    known = (".", "-", "_", "x")
    if any(isinstance(word, str) and not word.isdecimal() and word not in known for word in words):
        shape = ()  # a name, or other words
    side = isqrt(prod(shape))
    if shape in ((side**2,), (1, side**2)) and side > 1:
        return side, side  # the tiles of a square in one line
    if len(shape) != 2 or min(shape) < 2:
        raise BoardError(f"{shown(board, 80)} is not a board with its shape: write its rows, such as 2,4/0,8")
    return shape[0], shape[1]
