"""The results of probing a table: the value of a position and of its slides.  Pure data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tilebase.game.board import Board
from tilebase.game.game import Cells, Game
from tilebase.objectives.values import Found, join_bounds

INTERVAL = "probability to win, proved"
"""What an interval of two bounds means."""


@dataclass(frozen=True)
class SlideAnswer:
    """One slide of a position.

    Attributes
    ----------
    direction, cells:
        The direction of the slide, and the exponents after it; `after` is the same as a `Board`.
    value:
        The value of the position if this slide is made and play is optimal after it; `Below` if the table
        leaves out the board after it, because it is worth less than the bound of the table.
    wins:
        Whether the slide wins.
    """

    game: Game
    direction: str
    cells: Cells
    value: Found
    wins: bool

    def __repr__(self) -> str:
        return f"<SlideAnswer {self.direction} to {self.after.text}: {self.value}>"

    @property
    def after(self) -> Board:
        """The afterstate."""
        return Board(self.game, self.cells)

    def spawns(self) -> list[tuple[Board, Fraction]]:
        """The states that the next spawn can lead to, with probabilities; empty after a win."""
        if self.wins:
            return []
        return [(Board(self.game, cells), p) for cells, p in self.game.spawns(self.cells)]


@dataclass(frozen=True)
class Answer:
    """The result of probing a table: the value of a position and of its slides.

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
            "slides": {
                slide.direction: {
                    "after": slide.after.text,
                    "value": slide.value.as_dict(),
                    "wins": slide.wins,
                    "spawns": {state.text: str(p) for state, p in slide.spawns()},
                }
                for slide in self.slides
            },
        }


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
