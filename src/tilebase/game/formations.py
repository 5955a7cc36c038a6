"""Formations: where the large tiles of an endgame stand, by name, and the games that are played with them.

Nobody can solve 4x4 to 2048, so players solve its endgames.  Some large tiles x stay in a corner, and the
other cells make the next goal.  A formation says

* on which cells the x may stand after each slide (`masks`; see `Game`);
* on which cells the goal wins (`goal_cells`);
* on which boards, after a slide, play starts (`starts`);
* how long play may take.  As in the source, there are ``goal // 2 + extra`` *steps*: layers of the sums
  start, start + 2, start + 4 and so on.

Of its last two layers the source keeps the won boards only.  So a board after a slide that is not won and
has the sum ``start + 2 * (steps - 2)`` or more is worth 0.  This sum is the horizon of the game.

`formations.tsv` holds the formations that players name, with their source.  Your own are written as TOML::

    masks = ["..../..../..xx/xxxx"]
    goal_cells = "..../..../.x../...."
    starts = ["2,0,0,0/0,0,0,0/4,2,x,x/x,x,x,x"]
    extra = 48

Rows of a picture may also be lines of a longer text.  `masks` may be left out: then the x may be anywhere.
So may `goal_cells`: then the goal wins on every cell.  A sum, `horizon`, may stand in place of `extra`.  A
wall is written ``#`` in the start boards.  They give the shape, which need not be 4x4.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from tilebase.errors import GameError, StorageError, check_first
from tilebase.game.game import Game
from tilebase.game.grid import Grid, grid_of
from tilebase.game.notation import count_of, integer_of
from tilebase.game.spawns import ORIGINAL, SpawnLaw
from tilebase.runtime.documents import shown
from tilebase.runtime.rows import read_rows
from tilebase.runtime.storage import storage_errors

EXTRA = 48
"""Steps beyond half of the goal, where a file names neither these nor a horizon."""
MOST_BYTES = 1 << 16
"""Bytes of a file with a formation; real ones have less than a thousand."""
MOST_CELLS = 32
"""Cells of a board, and rows of a text: a file may be hostile."""
KEYS = ("name", "masks", "goal_cells", "starts", "extra", "horizon")
"""What a file may say."""


@dataclass(frozen=True)
class Formation:
    """Cells of large tiles x, cells on which the goal wins, and starts; `game` makes a game of them.

    Parameters
    ----------
    name, category:
        As players call it; ``"own"`` is the category of a formation from a file.
    masks:
        Pictures of the cells that must hold an x after each slide, ``"..../..../..xx/xxxx"``; one of them
        is enough.  None: the x may be anywhere.
    goal_cells:
        A picture of the cells on which the goal wins.
    starts:
        Boards after a slide: ``"2,0,0,0/0,0,0,0/4,2,x,x/x,x,x,x"``.  Each is as probable as the others.
    extra:
        There are ``goal // 2 + extra`` steps; None if there is a horizon, or no end.
    horizon:
        The sum at which play ends, whatever the goal is; None if `extra` gives it.

    Raises
    ------
    GameError
        If the pictures and boards do not fit together.

    >>> formation("442").game(128).horizon
    228
    """

    name: str
    category: str
    masks: tuple[str, ...]
    goal_cells: str
    starts: tuple[str, ...]
    extra: int | None = EXTRA
    horizon: int | None = None

    def __post_init__(self) -> None:
        if not self.starts:
            raise GameError(f"the formation {self.name} has no start board: name at least one")
        for what, pictures in (("mask", self.masks), ("picture of goal cells", (self.goal_cells,))):
            for one in pictures:
                _check_picture(one, what, self.shape)
        if not self._playing_cells & self._goals:
            raise GameError(
                f"no goal cell of the formation {self.name} can hold a tile: name other goal cells"
            )

    # -- as a value ------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"<Formation {self.name}: {self.picture}>"

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Rows and columns.  Raises `GameError` if the start boards have no shape."""
        rows = [row.split(",") for row in self.starts[0].split("/")]
        if len({len(row) for row in rows}) > 1:
            raise GameError(f"the rows of the start board {shown(self.starts[0])} differ in length")
        return len(rows), len(rows[0])

    @property
    def grid(self) -> Grid:
        """The cells of its boards."""
        return grid_of(self.shape, False)

    @cached_property
    def x_cells(self) -> tuple[int, ...]:
        """The cells of the x on the first start board."""
        return tuple(cell for cell, word in enumerate(_words(self.starts[0])) if word == "x")

    @cached_property
    def walls(self) -> tuple[int, ...]:
        """The cells that no tile enters."""
        return tuple(cell for cell, word in enumerate(_words(self.starts[0])) if word == "#")

    @property
    def walled(self) -> bool:
        """Whether it has walls, so that it is a game on a smaller board."""
        return bool(self.walls)

    @property
    def free_cells(self) -> int:
        """The number of cells without an x or a wall."""
        return self.grid.cells - len(self.x_cells) - len(self.walls)

    @cached_property
    def start_sum(self) -> int:
        """The largest sum of the start boards, from which steps are counted."""
        return max(map(sum, self._tiles))

    @cached_property
    def _tiles(self) -> list[list[int]]:
        return [[0, *(int(w) for w in _words(board) if w.isdecimal())] for board in self.starts]

    @cached_property
    def _goals(self) -> frozenset[int]:
        return frozenset(_cells(self.goal_cells))

    @cached_property
    def _playing_cells(self) -> frozenset[int]:
        """The cells that are no walls and do not hold an x on every board."""
        held = [frozenset(_cells(mask)) for mask in self.masks]
        every = frozenset(range(self.grid.cells)) - set(self.walls)
        return every - frozenset.intersection(*held) if held else every

    @property
    def wins_anywhere(self) -> bool:
        """Whether the goal wins on every cell that a tile can stand on."""
        return self._playing_cells <= self._goals

    @property
    def picture(self) -> str:
        """The x and walls of the first start; goal cells are ``o`` unless all cells are."""
        words = [
            "x" if cell in self.x_cells
            else "#" if cell in self.walls
            else "o" if cell in self._goals and not self.wins_anywhere
            else "."
            for cell in range(self.grid.cells)
        ]  # fmt: skip
        return self.grid.rows(words, "")

    # -- games -----------------------------------------------------------------------------------

    @property
    def least_goal(self) -> int:
        """The least goal for which the formation has an end of play."""
        goal = max(8, 2 * max(map(max, self._tiles)))
        while self.extra is not None and 2 * (goal // 2 + self.extra - 2) <= 0:
            goal *= 2
        return goal

    @cached_property
    def largest_goal(self) -> int:
        """The largest goal that the free cells can make, that the horizon leaves time for, and that fits."""
        most = max(4, *map(max, self._tiles)) << self.free_cells - 1
        if self.horizon is not None:
            most = min(most, 1 << (self.horizon + 2).bit_length() - 1)
        codes = self._play(horizon=self.start_sum + 2).bounds.code
        return min(most, 1 << codes if self.x_cells else 2 << codes)

    def game(
        self,
        goal: int | None = None,
        *,
        spawn: SpawnLaw | Fraction | float | str | int = ORIGINAL,
        horizon: int | None = None,
        steps: int | None = None,
        goal_sum: int | None = None,
        at_least: bool = False,
    ) -> Game:
        """Return the game that makes a goal in this formation.

        Parameters
        ----------
        goal:
            The tile that wins on a goal cell after a slide; None with `goal_sum`.
        spawn:
            The probability of a spawned 4.
        horizon, steps:
            The sum at which play ends, or the number of layers in the sense of the source, in place of those
            of the formation.  ``horizon = start_sum + 2 * (steps - 2)``.
        goal_sum:
            Play is won as soon as a spawn makes this sum; there is no goal tile, and no horizon unless named.
        at_least:
            A tile larger than the goal wins on the goal cells, too.

        Raises
        ------
        GameError
            If the formation cannot make the goal, or horizon, steps and goal do not go together.

        >>> formation("l3").game(64)
        Game('4x4', 64, start='after 2,0,0,0/0,0,0,0/2,x,x,x/4,x,x,x|0,0,0,0/0,0,0,2/4,x,x,x/2,x,x,x', \
unmergeable=(9, 10, 11, 13, 14, 15), masks='..../..../.xxx/.xxx', horizon=164)
        """
        if (goal is None) == (goal_sum is None):
            raise GameError(f"the formation {self.name} needs a goal or a goal sum: name one of the two")
        if horizon is not None and steps is not None:
            raise GameError("the horizon is a sum or a number of steps: name one of the two")
        if steps is not None:
            horizon = self.start_sum + 2 * (integer_of(steps, "number of steps") - 2)
        if goal is None:
            if at_least:
                raise GameError("at least is for a goal tile; a goal sum is always won by that sum or more")
            return self._play(goal_sum=goal_sum, horizon=horizon, spawn=spawn)
        horizon = self._horizon_for(goal, horizon)
        if self.wins_anywhere:
            return self._play(goal=goal, horizon=horizon, spawn=spawn)
        found = self._play(pattern=self._pattern([goal]), horizon=horizon, spawn=spawn)
        larger = [goal << n for n in range(15) if goal << n <= 1 << max(found.tops)]
        return found.changed(pattern=self._pattern(larger)) if at_least else found

    def makes(self, game: Game, horizon: int | None) -> bool:
        """Return whether `game`, with this horizon or else that of the formation, gives the same game.

        It may start from a single board.
        """
        goal, at_least = goal_of(game)
        try:
            found = self.game(
                goal, spawn=game.spawn, horizon=horizon, goal_sum=game.goal_sum, at_least=at_least
            )
            if game.first_sum:
                found = found.changed(start=game.start, unmergeable=game.unmergeable)
            return game == found
        except GameError:
            return False

    def _play(self, **rules: Any) -> Game:
        """Return the game with the x, masks and starts of the formation.  Raises `GameError`."""
        return Game(
            self.shape, start=f"after {'|'.join(self.starts)}", masks=self.masks, unmergeable=self.x_cells,
            walls=self.walls, **rules,
        )  # fmt: skip

    def _horizon_for(self, goal: int, horizon: int | None) -> int | None:
        """Return the sum at which play to a goal ends.

        Raises `GameError` if the goal cannot be made until then.
        """
        least, most = self.least_goal, self.largest_goal
        tile = integer_of(goal, "goal")
        if tile < 2 or tile & (tile - 1):
            raise GameError(f"goal {tile} is not a power of two above 1: write 128, 256 and so on")
        if horizon is not None:
            least = min(least, tile)
        if least > most:
            raise GameError(
                f"the formation {self.name} can make no goal: give it more free cells, more extra steps or a "
                "later horizon"
            )
        if not least <= tile <= most:
            free = count_of(self.free_cells, "free cell")
            raise GameError(
                f"the formation {self.name} has {free}: choose a goal from {least} to {most}, not {tile}"
            )
        if horizon is None:
            steps = None if self.extra is None else tile // 2 + self.extra
            horizon = self.horizon if steps is None else self.start_sum + 2 * (steps - 2)
        elif tile > horizon + 2:
            raise GameError(f"the tile {tile} cannot be made below the horizon {horizon}: give a larger one")
        return horizon

    def _pattern(self, tiles: list[int]) -> str:
        cells = range(self.grid.cells)
        return "|".join(
            self.grid.rows([str(tile) if one == cell else "*" for one in cells])
            for tile in tiles
            for cell in sorted(self._goals & self._playing_cells)
        )


def goal_of(game: Game) -> tuple[int | None, bool]:
    """Return the tile that wins, on some cells or on all, and whether larger tiles win there, too."""
    tiles = {e for pattern in game.patterns for e in pattern if e}
    return (1 << min(tiles), len(tiles) > 1) if tiles else (game.goal, False)


# -- the catalogue ---------------------------------------------------------------------------------


@cache
def formations() -> tuple[Formation, ...]:
    """Return all named formations, in the order of the source.

    >>> len(formations())
    26
    """
    return tuple(
        Formation(
            row["name"], row["category"], tuple(row["masks"].split("|")) if row["masks"] else (),
            row["goal_cells"], tuple(row["starts"].split("|")), int(row["extra"]),
        )
        for row in read_rows("game", "formations.tsv")
    )  # fmt: skip


def formation_of(game: Game) -> Formation | None:
    """Return the formation of the catalogue whose `Formation.game` gives this game, or None.

    The game may start from a single board in place of the formation's.

    >>> formation_of(formation("ll").game(512)), formation_of(Game("3x3", 512))
    (<Formation LL: ..../..oo/.oxx/.oxx>, None)
    """
    if game.first_sum and game.unmergeable:
        alike = [one for one in formations() if len(one.x_cells) == len(game.unmergeable)]
    else:  # every formation begins after a slide
        alike = [one for one in formations() if game.start == f"after {'|'.join(one.starts)}"]
    return next((one for one in alike if one.makes(game, game.horizon)), None)


def formation(name_or_path: str | Path) -> Formation:
    """Return the formation with a name, in upper or lower case, or of a TOML file (see the module).

    Raises `GameError` if no formation has this name or the file has none, and `StorageError` if the file
    cannot be read.

    >>> formation("ll").name
    'LL'
    """
    check_first(name_or_path, (str, Path), "the name of a formation, or of its file")
    if isinstance(name_or_path, Path) or name_or_path.lower().endswith(".toml"):
        return _read(Path(name_or_path))
    known = {one.name.lower(): one for one in formations()}
    wanted = name_or_path.strip().lower()
    if wanted in known:
        return known[wanted]
    near = [known[name].name for name in difflib.get_close_matches(wanted, known, 4, 0.5)]
    hint = f"did you mean {' or '.join(near)}?" if near else "tilebase plan formations lists them"
    raise GameError(f"no formation is called {shown(name_or_path, 40)!r}; {hint} (a file ends in .toml)")


# -- files -----------------------------------------------------------------------------------------


def _read(path: Path) -> Formation:
    try:
        with storage_errors(shown(path), "read"), path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except ValueError as error:  # a name with a zero byte
        raise StorageError(f"cannot read {shown(path)}: {error}") from error
    if len(data) > MOST_BYTES:
        raise GameError(f"{path} has more than {MOST_BYTES} bytes: a formation is a few lines")
    try:
        values = tomllib.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise GameError(f"{path} is not a formation in TOML: {shown(error)}") from error
    try:
        return _own(values, path.stem)
    except GameError as error:
        raise GameError(f"{path}: {error}") from error


def _own(values: dict[str, Any], stem: str) -> Formation:
    """Return the formation that the values of a file describe."""
    for key in values:
        if key not in KEYS:
            raise GameError(f"{shown(key, 40)!r} is not a key of a formation: write {', '.join(KEYS)}")
    if "extra" in values and "horizon" in values:
        raise GameError("extra steps and a horizon contradict each other: leave one of the two out")
    starts = tuple(_board(text) for text in _texts(values, "starts"))
    if not starts:
        raise GameError("starts are missing: list at least one board after a slide")
    goals = _texts(values, "goal_cells")
    masks = tuple(_rows(text) for text in _texts(values, "masks"))
    every = re.sub("[^/,]+", "x", starts[0]).replace(",", "")
    name = values.get("name", stem)
    if not isinstance(name, str) or not 0 < len(name) <= 80 or not name.isprintable():
        raise GameError("name must be a text of at most 80 characters on one line")
    extra = None if "horizon" in values else _number(values.get("extra", EXTRA), "extra")
    horizon = _number(values["horizon"], "horizon") if "horizon" in values else None
    if len(goals) > 1:
        raise GameError("goal_cells must be one picture: mark all cells in it")
    found = Formation(name, "own", masks, _rows(goals[0]) if goals else every, starts, extra, horizon)
    found._play(horizon=found.start_sum + 2)  # raises GameError if masks, starts and walls contradict
    return found


def _texts(values: dict[str, Any], key: str) -> list[str]:
    """Return the texts of a key: one with | between them, or a list."""
    value = values.get(key, [])
    found = value.split("|") if isinstance(value, str) else value
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise GameError(f"{key} must be texts, not {shown(repr(value), 40)}")
    return [one for one in found if one.strip()]


def _number(value: Any, what: str) -> int:
    if type(value) is not int or abs(value) > 1 << 20:
        raise GameError(f"{what} is {shown(repr(value), 40)}, but must be a whole number")
    return value


def _rows(text: str) -> str:
    return "/".join(word.lower() for word in re.split(r"[\s/]+", text.strip(" \t\r\n/")))


def _board(text: str) -> str:
    """Read a board with its rows apart by ``/`` and its cells by commas; lines are rows."""
    rows = [row for row in re.split(r"[/\n]+", text.strip(" \t\r\n/")) if row.strip()]
    if not rows:
        raise GameError(
            f"the start board {shown(text, 20)!r} has no cells: write rows of tiles, such as 2,0/0,x"
        )
    words = [[word.lower() for word in re.split(r"[\s,]+", row.strip(" \t\r,"))] for row in rows]
    for word in (word for row in words for word in row):
        if not re.fullmatch(r"[x#]|[._-]|[0-9]{1,5}", word):
            raise GameError(f"{shown(word, 20)!r} is not a tile of a start board: write 2, 4, 8, x, #, or 0")
    if sum(map(len, words)) > MOST_CELLS:
        raise GameError(f"a start board has {sum(map(len, words))} cells; a board has at most {MOST_CELLS}")
    return "/".join(
        ",".join("0" if word in "._-" else word.lstrip("0") or "0" for word in row) for row in words
    )


def _check_picture(text: str, what: str, shape: tuple[int, int]) -> None:
    rows = text.split("/")
    if set(text) - set("x./"):
        raise GameError(f"{shown(text, 60)!r} is not a {what}: write x and . by rows, as ..x/.xx")
    if len(rows) != shape[0] or any(len(row) != shape[1] for row in rows):
        raise GameError(
            f"the {what} {shown(text, 60)} is not {shape[0]}x{shape[1]}, as the first start board is: "
            "draw all cells of it"
        )


def _cells(picture: str) -> list[int]:
    return [cell for cell, word in enumerate(picture.replace("/", "")) if word == "x"]


def _words(board: str) -> list[str]:
    return board.replace("/", ",").split(",")
