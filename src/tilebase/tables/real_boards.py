"""Probing real boards: the values of a table's game, with the directions and tiles of the board as given.

`tables.large_tiles` finds the readings of a board.  Each reading that the table holds is a way to play on:
the player decides which tiles stand for x.  So the result is the reading with the best value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tilebase.errors import MissingBoardError
from tilebase.game.board import Board, draw
from tilebase.game.game import Cells, Game
from tilebase.game.notation import count_of, tile_text
from tilebase.objectives.values import Below, Found, sort_key
from tilebase.tables.answers import Answer, end_after
from tilebase.tables.large_tiles import COUNT, LargeTiles, NoReadingError, Reading, read_tiles
from tilebase.tables.probe import Table

UNIQUE = 100
"""A large tile on cell c has the code ``UNIQUE + c`` while it slides, so it merges with no other tile."""


@dataclass(frozen=True)
class RealBoard:
    """A board with real tiles, whatever their size.

    Attributes
    ----------
    game, tiles:
        The game of the table, which has the shape and the walls; the exponents, 0 for an empty cell.
    """

    won = False  # the table does not tell

    game: Game
    tiles: Cells

    def __repr__(self) -> str:
        return f"<RealBoard {self.text}>"

    @property
    def text(self) -> str:
        """The board as ``2,4/0,8``."""
        return self.game.grid.rows(self._words("0"))

    def unicode(self) -> str:
        """A picture in box-drawing characters, as `Board.unicode` draws it."""
        words = self._words("")
        return draw(self.game, words)

    def _words(self, empty: str) -> list[str]:
        walls = self.game.walls
        return ["#" if cell in walls else tile_text(e) if e else empty for cell, e in enumerate(self.tiles)]


@dataclass(frozen=True)
class RealStep:
    """One slide of a real board, by the rules.

    Attributes
    ----------
    direction, after:
        The direction on the board as given, and the board after it, without merges of large tiles.
    wins:
        As in `SlideAnswer`.
    merges_large:
        Whether the slide merges two equal large tiles on the real board.  The table does not know this: its
        value is that of `after`.
    """

    direction: str
    after: RealBoard
    wins: bool
    merges_large: bool
    _cells: Cells  # the board of the table's game after the slide
    _sources: Cells

    @property
    def end(self) -> str:
        """How the slide ends the game: see `answers.end_after`."""
        return end_after(Board(self.after.game, self._cells))

    def spawns(self) -> list[tuple[RealBoard, Fraction]]:
        """The boards that the next spawn can lead to, with probabilities; empty after a win."""
        if self.wins:
            return []
        cells, game = self._cells, self.after.game
        return [(self._with_spawn(cells, board), p) for board, p in game.spawns(cells)]

    def _with_spawn(self, cells: Cells, board: Cells) -> RealBoard:
        new = next(cell for cell, e in enumerate(board) if e != cells[cell])
        tiles = list(self.after.tiles)
        tiles[self._sources[new]] = board[new]
        return RealBoard(self.after.game, tuple(tiles))


@dataclass(frozen=True)
class RealSlide(RealStep):
    """One slide of a real board that a table holds, with its value as in `SlideAnswer`."""

    value: Found

    def __repr__(self) -> str:
        return f"<RealSlide {self.direction} to {self.after.text}: {self.value}>"

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "after": self.after.text,
            "value": self.value.as_dict(),
            "wins": self.wins,
            "merges large tiles": self.merges_large,
            "spawns": {state.text: str(p) for state, p in self.spawns()},
        }


@dataclass(frozen=True)
class RealAnswer:
    """The result of probing a real board.

    Attributes
    ----------
    board:
        The board as given.
    reading:
        Which tiles are large, and how the board is rotated or mirrored to be a board of the table.
    answer:
        The result for that board of the table, with its own directions.
    slides, best:
        The slides and the best directions on the board as given.
    others:
        What the table says of the other readings of the board, the best first.
    notes:
        Sentences about what the table does not know, or what was chosen.
    """

    board: RealBoard
    reading: Reading
    answer: Answer
    slides: tuple[RealSlide, ...]
    best: tuple[str, ...]
    others: tuple[Found, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        best = f", best {' or '.join(self.best)}" if self.best else ""
        return f"<RealAnswer for {self.board.text}: {self.meaning}, {self.value}{best}>"

    @property
    def meaning(self) -> str:
        """What values mean, in words."""
        return self.answer.meaning

    @property
    def value(self) -> Found:
        """The value of the board: see `Answer.value`."""
        return self.answer.value

    @property
    def large_tiles(self) -> tuple[int, ...]:
        """The large tiles, in the order of their cells."""
        return tuple(1 << self.board.tiles[cell] for cell in self.reading.large)

    @property
    def how(self) -> str:
        """How the board was read, in words."""
        return _how(self.board, self.reading)

    @property
    def refused(self) -> dict[str, str]:
        """``refused[direction]``: why a slide is not allowed on the board as given, for each that is not."""
        game, turned = self.board.game, self.reading.orientation.directions
        refused = {turned[one]: why for one, why in game.refusals(self.reading.cells).items()}
        return {direction: refused[direction] for direction in game.directions if direction in refused}

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "board": self.board.text,
            "orientation": self.reading.orientation.name,
            "large tiles": list(self.large_tiles),
            "table board": self.answer.board.text,
            "meaning": self.meaning,
            "value": self.value.as_dict(),
            "best": list(self.best),
            "slides": {slide.direction: slide.as_dict() for slide in self.slides},
            "other readings": [value.as_dict() for value in self.others],
            "notes": list(self.notes),
        }


def _how(board: RealBoard, reading: Reading) -> str:
    words = ", ".join(tile_text(e) for e in sorted(board.tiles[cell] for cell in reading.large))
    tiles = "the large tile" if len(reading.large) == 1 else "the large tiles"
    return f"read {reading.orientation.name}, with {tiles} {words}"


# -- probing ---------------------------------------------------------------------------------------


def probe_any(
    table: Table, board: Any, objective: str | None = None, *, made: str | None = None
) -> Answer | RealAnswer:
    """What a table says of a board of its game, or of a real board if its game has x and the board none.

    Of two readings of a real board that are worth the same, the one is taken that allows the slide `made`.
    Raises the errors of `Table.probe` and `Table.probe_real`.
    """
    if isinstance(board, RealBoard):
        return _probe_tiles(table, board.tiles, objective, made=made)
    if table.game.unmergeable and not table.game.fixed:
        tiles = read_tiles(table.game, board)
        if tiles is not None:
            return _probe_tiles(table, tiles, objective, made=made)
    return table.probe(board, objective)


def probe_real(table: Table, board: Any, objective: str | None) -> RealAnswer:
    """See `Table.probe_real`."""
    large = table.large_tiles
    tiles = read_tiles(table.game, board)
    if tiles is None:
        raise NoReadingError(
            f"{str(board)[:99]} is not a board of real tiles: write the large tiles, or ask with probe", COUNT
        )
    return _probe_tiles(table, tiles, objective, large)


def _probe_tiles(
    table: Table,
    tiles: Cells,
    objective: str | None,
    large: LargeTiles | None = None,
    *,
    made: str | None = None,
) -> RealAnswer:
    readings = (large or table.large_tiles).readings(tiles)
    answers: dict[Cells, Answer] = {}
    missing: MissingBoardError | None = None
    for cells in dict.fromkeys(reading.cells for reading in readings):
        try:
            answers[cells] = table.probe(Board(table.game, cells), objective)
        except MissingBoardError as error:
            missing = error
    if missing is not None and not answers:
        raise _not_held(table, RealBoard(table.game, tiles)) from missing

    def rank(reading: Reading) -> tuple[Any, bool]:
        answer, names = answers[reading.cells], reading.orientation.directions
        return sort_key(answer.value), any(names[slide.direction] == made for slide in answer.slides)

    # Of several that are as good, the first: boards as given come first.
    reading = max((one for one in readings if one.cells in answers), key=rank)
    answer = answers[reading.cells]
    board = RealBoard(table.game, tiles)
    slides = tuple(_slides(board, reading, answer))
    others = [one.value for cells, one in answers.items() if cells != reading.cells]
    others.sort(key=sort_key, reverse=True)
    best = {reading.orientation.directions[name] for name in answer.best}
    ordered = tuple(name for name in table.game.directions if name in best)
    notes = tuple(_notes(board, reading, answer, slides, others))
    return RealAnswer(board, reading, answer, slides, ordered, tuple(others), notes)


def slides_by_rules(table: Table, board: RealBoard) -> tuple[RealStep, ...]:
    """The slides of a real board by the rules of the table's game, whether the table holds it or not.

    Of several readings, the first counts.  Raises `NoReadingError` if there is none.
    """
    return tuple(_steps(board, table.large_tiles.readings(board.tiles)[0]).values())


@dataclass(frozen=True)
class AfterAnswer:
    """The value of a board after a slide, before the next spawn.

    Attributes
    ----------
    board, how:
        The board as given, and how it was read if it has real tiles; empty if not.
    meaning, value:
        What values mean, and the value.  A bound is one of a table with both bounds only if no interval is
        known.
    """

    board: Board | RealBoard
    how: str
    meaning: str
    value: Found

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "board": self.board.text,
            "after a slide": True,
            "read": self.how,
            "meaning": self.meaning,
            "value": self.value.as_dict(),
        }


def probe_after(table: Table, board: Any, objective: str | None = None) -> AfterAnswer:
    """The value of a board after a slide: one of the table's game, or a real board as for `probe_any`.

    Raises the errors of `Table.probe_after` and `Table.probe_real`.
    """
    game = table.game
    tiles = read_tiles(game, board) if game.unmergeable and not game.fixed else None
    if tiles is None:
        own = table.read(board)
        value = table.probe_after(own, objective)
        return AfterAnswer(own, "", _meaning(table, value, objective), value)
    real = RealBoard(game, tiles)
    found: list[AfterAnswer] = []
    for reading in table.large_tiles.readings(tiles):
        with suppress(MissingBoardError):
            value = table.probe_after(Board(game, reading.cells), objective)
            meaning = _meaning(table, value, objective)
            found.append(AfterAnswer(real, _how(real, reading), meaning, value))
    if not found:
        raise _not_held(table, real)
    return max(found, key=lambda one: sort_key(one.value))


def _meaning(table: Table, value: Found, objective: str | None) -> str:
    """What a value means.  Of a board that was left out, only the objective that decided this is known."""
    least = table.prober.least
    return table.meaning(least.label if isinstance(value, Below) and least is not None else objective)


def _not_held(table: Table, board: RealBoard) -> MissingBoardError:
    """The error for a board of whose readings the table holds none."""
    why = "no play from its start makes it"
    if table.manifest.thinned is not None:
        why += ", or it was left out"
    return MissingBoardError(f"{board.text} is not in {table.location.name}: its large tiles fit, but {why}")


def _slides(board: RealBoard, reading: Reading, answer: Answer) -> Iterator[RealSlide]:
    """The slides of an answer, as slides of the board as given."""
    values = {reading.orientation.directions[slide.direction]: slide.value for slide in answer.slides}
    for direction, step in _steps(board, reading).items():
        yield RealSlide(**vars(step), value=values[direction])


def _steps(board: RealBoard, reading: Reading) -> dict[str, RealStep]:
    """The slides of a reading, as slides of the board as given; in the order of the directions."""
    game, orientation, equal = board.game, reading.orientation, _equal_tiles(board, reading)
    coded = list(board.tiles)
    for cell in reading.large:
        coded[cell] = UNIQUE + cell
    found: dict[str, RealStep] = {}
    for name, cells in game.slides(reading.cells).items():
        direction = orientation.directions[name]
        codes = game.slide_any(coded, direction, 0)
        after = tuple(board.tiles[code - UNIQUE] if code >= UNIQUE else code for code in codes)
        merges = bool(equal) and game.slide_any(board.tiles, direction, 0) != after
        found[direction] = RealStep(
            direction, RealBoard(game, after), game.wins(cells), merges, cells, orientation.sources
        )
    return {direction: found[direction] for direction in game.directions if direction in found}


def _equal_tiles(board: RealBoard, reading: Reading) -> Mapping[int, int]:
    """The large tiles with an equal tile on the board, by exponent how many are equal."""
    large = {board.tiles[cell] for cell in reading.large}
    return {e: board.tiles.count(e) for e in large if board.tiles.count(e) > 1}


def _notes(
    board: RealBoard,
    reading: Reading,
    answer: Answer,
    slides: tuple[RealSlide, ...],
    others: Sequence[Found],
) -> Iterator[str]:
    """What the table does not know, or what was chosen: one sentence each."""
    equal = _equal_tiles(board, reading)
    if equal:
        words = " and ".join(f"{count} of {tile_text(e)}" for e, count in sorted(equal.items()))
        merging = [slide.direction for slide in slides if slide.merges_large]
        text = f"large tiles are equal ({words}), and the table does not know that they can merge"
        yield f"{text}: {' and '.join(merging)} would merge them" if merging else text
    if others:
        yield (
            f"{count_of(len(others) + 1, 'reading')} of this board are in the table, and this is the one "
            f"with the best value; the next is worth {others[0]}"
        )
    game = board.game
    if game.horizon is not None and game.ended(game.sum(answer.board.cells)):
        yield f"the table ends at the sum {game.horizon}: after the next slide nothing more is counted"
