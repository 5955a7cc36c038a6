"""The results of probing a table: the value of a position and of its slides.  Pure data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from tilebase.game.board import Board
from tilebase.game.game import Cells, Game
from tilebase.objectives.values import Found, join_bounds

INTERVAL = "probability to win, proved"
"""What an interval of two bounds means."""
WINNING = "won"
"""The label of the only objective of a winning set or a certificate."""
WON, LOST, ENDED = "won", "lost", "ended"
"""How a game ends: with the goal, without a slide that is allowed, or at the horizon."""


def end_after(after: Board) -> str:
    """How a slide ends the game: `WON`, `ENDED` at the horizon, or empty if a spawn follows."""
    game = after.game
    return WON if game.wins(after.cells) else ENDED if game.ended(after.sum) else ""


@dataclass(frozen=True)
class SlideAnswer:
    """One slide of a position.

    Attributes
    ----------
    direction, cells:
        The direction of the slide, and the exponents after it; `after` is the same as a `Board`.
    value:
        The value of the position if this slide is made and play is optimal after it; `Below` if the table
        leaves out the board after it, because it is worth less than the bound of the table; `Unknown` if it
        was not computed.
    wins:
        Whether the slide wins.
    first_cell:
        Whether tiles are spawned on the first empty cell only, as in the deterministic game.
    """

    merges_large = False

    game: Game
    direction: str
    cells: Cells
    value: Found
    wins: bool
    first_cell: bool = False

    def __repr__(self) -> str:
        return f"<SlideAnswer {self.direction} to {self.after.text}: {self.value}>"

    @property
    def after(self) -> Board:
        """The afterstate."""
        return Board(self.game, self.cells)

    def spawns(self) -> list[tuple[Board, Fraction]]:
        """The states that the next spawn can lead to, with probabilities; empty after a win."""
        spawns = [] if self.wins else self.game.spawns(self.cells)
        if self.first_cell and spawns:
            tiles = len(self.game.spawn_exponents)
            spawns = [(cells, p * (len(spawns) // tiles)) for cells, p in spawns[:tiles]]
        return [(Board(self.game, cells), p) for cells, p in spawns]

    @property
    def end(self) -> str:
        """How the slide ends the game: see `end_after`."""
        return end_after(self.after)

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "after": self.after.text,
            "value": self.value.as_dict(),
            "wins": self.wins,
            "spawns": {state.text: str(p) for state, p in self.spawns()},
        }


@dataclass(frozen=True)
class Answer:
    """What a table, a winning set or a certificate says of a position: its value, and those of its slides.

    `how` and `notes` say something only of real boards: see `RealAnswer`.

    Attributes
    ----------
    board, meaning:
        The state, and what values mean, in words.
    value:
        The value of the state under optimal play; `Below` if that of every slide is.  A lost position (no
        slide) has the value 0.
    slides:
        All allowed slides, in the order of the game's directions.
    best:
        The directions of the optimal slides, ties included: their values differ from the best by at most
        `Table.slack`.  For an interval, the slides that may be optimal; for a bound, those with the best
        bound.  Empty if every value is `Below`.
    """

    board: Board
    meaning: str
    value: Found
    slides: tuple[SlideAnswer, ...]
    best: tuple[str, ...]
    how = ""
    notes: ClassVar[tuple[str, ...]] = ()

    def __repr__(self) -> str:
        best = f", best {' or '.join(self.best)}" if self.best else ""
        return f"<Answer for {self.board.text}: {self.meaning}, {self.value}{best}>"

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "board": self.board.text,
            "key": f"{self.board.key:#x}",
            "meaning": self.meaning,
            "value": self.value.as_dict(),
            "best": list(self.best),
            "slides": {slide.direction: slide.as_dict() for slide in self.slides},
        }

    @property
    def refused(self) -> dict[str, str]:
        """``refused[direction]``: why a slide is not allowed, for each that is not."""
        return self.board.game.refusals(self.board.cells)


def interval_answer(low: Answer, high: Answer) -> Answer:
    """Two results with bounds as one result with intervals."""

    values = [join_bounds(a.value, b.value) for a, b in zip(low.slides, high.slides, strict=True)]
    slides = tuple(
        SlideAnswer(slide.game, slide.direction, slide.cells, value, slide.wins)
        for slide, value in zip(low.slides, values, strict=True)
    )
    proved = max((value.low for value in values), default=Fraction(0))
    best = tuple(slide.direction for slide, value in zip(slides, values, strict=True) if value.high >= proved)
    value = join_bounds(low.value, high.value)
    return Answer(low.board, INTERVAL, value, slides, best)
