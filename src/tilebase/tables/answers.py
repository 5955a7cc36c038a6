"""What is said of a board: its value, and those of its slides.  Pure data."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tilebase.game.board import Board
from tilebase.game.game import Cells, Game
from tilebase.game.names import title_of
from tilebase.game.notation import cell_text, split_cells, tile_text
from tilebase.objectives.numbers import NEVER, Unit, is_mistake, loss_text
from tilebase.objectives.values import (
    Below,
    Exact,
    Found,
    Rounded,
    Unknown,
    join_bounds,
    sort_key,
    value_document,
)
from tilebase.runtime.rows import html_text
from tilebase.tables.large_tiles import LARGE
from tilebase.tables.real_boards import AnyBoard, RealBoard

INTERVAL = "probability to win, proved"
"""What an interval of two bounds means."""
PLAY, WON, LOST, ENDED, AFTER = "play", "won", "lost", "ended", "after"
"""A slide is allowed; the goal was made; no slide is allowed; the horizon was reached; a spawn comes next."""


@dataclass(frozen=True)
class SlideAnswer:
    """One slide of a position.

    Attributes
    ----------
    direction, cells:
        The direction of the slide, and the exponents after it on the board of the game.
    value:
        The value of the position if this slide is made and play is optimal after it; `Below` if the table
        leaves out the board after it, because it is worth less than the bound of the table; `Unknown` if it
        was not computed.
    wins:
        Whether the slide wins.
    first_cell:
        Whether tiles are spawned on the first empty cell only, as in the deterministic game.
    real:
        The board after it with its real tiles, if the position has them.
    merges_large:
        Whether the slide merges two equal large tiles on the real board.  The table does not know this: its
        value is that of the board on which they stay apart.
    """

    game: Game
    direction: str
    cells: Cells
    value: Found
    wins: bool
    first_cell: bool = False
    real: RealBoard | None = None
    merges_large: bool = False

    def __repr__(self) -> str:
        return f"<SlideAnswer {self.direction} to {self.after.text}: {self.value}>"

    @property
    def after(self) -> AnyBoard:
        """The board after it."""
        return self.real or Board(self.game, self.cells)

    def spawns(self) -> Sequence[tuple[AnyBoard, Fraction]]:
        """Return the states that the next spawn can make, with probabilities; empty after the end."""
        spawns: Sequence[tuple[AnyBoard, Fraction]] = [] if self.wins else self.after.spawns()
        if self.first_cell and spawns:
            tiles = len(self.game.spawn_exponents)
            spawns = [(state, p * (len(spawns) // tiles)) for state, p in spawns[:tiles]]
        return spawns

    @property
    def end(self) -> str:
        """How the slide ends the game: `WON`, `ENDED` at the horizon, or empty if a spawn follows."""
        game, cells = self.game, self.cells
        return WON if game.wins(cells) else ENDED if game.ended(game.sum(cells)) else ""


@dataclass(frozen=True)
class Answer:
    """What a table, a winning set or a certificate says of a board.

    If the board has real tiles, slides and directions are those on the board as given.

    Attributes
    ----------
    board, meaning, unit:
        The board, with the chosen reading if it has real tiles; the meaning of values, in words; their unit.
    value:
        The value of the state under optimal play; `Below` if every slide has the value `Below`; `Unknown` if
        nothing is known of it.  A lost position (no slide) has that of a lost game.
    slides:
        All allowed slides, in the order of the game's directions.
    best:
        The directions of the optimal slides, ties included: their values differ from the best by at most
        `Table.slack`.  For an interval, the slides that may be optimal; for a bound, those with the best
        bound.  Empty if every value is `Below`.
    others:
        The values of other readings of the board, the best first.
    notes:
        Sentences about gaps of the table, or about the chosen reading.
    problem:
        Why nothing is known of the board, in one sentence; else empty.
    after:
        Whether the board is one after a slide, before the spawn; then there are no slides.
    cost:
        Whether the player makes the value small (`Objective.is_cost`).
    """

    board: AnyBoard
    meaning: str
    unit: Unit
    value: Found
    slides: tuple[SlideAnswer, ...] = ()
    best: tuple[str, ...] = ()
    others: tuple[Found, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""
    after: bool = False
    cost: bool = False

    def __repr__(self) -> str:
        best = f", best {' or '.join(self.best)}" if self.best else ""
        return f"<Answer for {self.board.text}: {self.meaning}, {self.value}{best}>"

    def _repr_html_(self) -> str:
        rows = [
            {
                "slide": one.direction, "after it": one.after.text, "value": str(one.value),
                "": "best" if one.direction in self.best else "",
            }
            for one in self.slides
        ]  # fmt: skip
        board = self.board.svg(160) if isinstance(self.board, Board) else f"<pre>{self.board.text}</pre>"
        return board + html_text(f"{self.meaning}: {self.value}", rows)

    def svg(self) -> str:
        """Return a picture in SVG: the board, and the boards after its slides, each with its value."""
        from tilebase.small.diagrams import surroundings

        legend = [f"{title_of(self.board.game)}: {self.meaning}: {self.value}"]
        legend += ["the best slides have thick green lines"] if self.best else []
        return surroundings(self.board.game.shape, self.as_dict(), legend=legend).svg()

    @property
    def state(self) -> str:
        """`AFTER` a slide, else `WON`, `PLAY` or `LOST`."""
        return AFTER if self.after else WON if self.board.won else PLAY if self.slides else LOST

    def draw(self, rng: random.Random) -> str | None:
        """Return a slide of optimal play: each of the best with the same probability; None without one."""
        return rng.choice(self.best) if self.best else None

    @property
    def refused(self) -> dict[str, str]:
        """``refused[direction]``: why a slide is not allowed, for each that is not."""
        return self.board.refusals() if self.state in (PLAY, LOST) else {}

    @property
    def large_tiles(self) -> tuple[int, ...]:
        """The large tiles of a real board, in the order of their cells, without those written as x."""
        if isinstance(self.board, Board):
            return ()
        large = (self.board.tiles[cell] for cell in self.board.reading.large)
        return tuple(1 << e for e in large if e != LARGE)

    @property
    def how(self) -> str:
        """How a real board was read, in words; empty for others."""
        if isinstance(self.board, Board):
            return ""
        large = sorted(self.board.tiles[cell] for cell in self.board.reading.large)
        tiles = "the large tile" if len(large) == 1 else "the large tiles"
        words = ", ".join(cell_text(e, LARGE) for e in large)
        return f"read {self.board.reading.orientation.name}, with {tiles} {words}"

    @property
    def goal_cells(self) -> tuple[int, ...]:
        """The cells of the board on which the goal wins, ascending; empty if it wins on all."""
        cells = tuple(goal_cells(self.board.game))
        if isinstance(self.board, Board):
            return cells
        return tuple(sorted(self.board.reading.orientation.sources[cell] for cell in cells))

    @property
    def unjudged(self) -> str:
        """Why no slide of the board counts as a loss or a mistake, in one sentence; empty if they do."""
        return self.doubt or self.cut

    @property
    def cut(self) -> str:
        """Why the horizon decides what slides of an endgame are worth, in one sentence; empty if it does not.

        A game of large tiles goes on beyond the horizon.  If its goal tile was made on another cell, values
        are those of moving it to its cells in time, which nobody wants who has made it.
        """
        game = self.board.game
        if not game.unmergeable or game.horizon is None:
            return ""
        end = f"the table ends at the sum {game.horizon}"
        if game.ended(self.board.sum):
            return f"{end}: after the next slide nothing more is counted"
        goal = min(goal_cells(game).values(), default=0).bit_length() - 1
        if goal > 0 and any(e >= goal and not game.is_x(e) for e in self.board.cells):
            return f"{end}, and {tile_text(goal)} was made outside the goal cells"
        return ""

    @property
    def doubt(self) -> str:
        """Why the values of the board may be wrong, in one sentence; empty if they are not.

        Equal large tiles can merge on the real board, which the table ignores.
        """
        board = self.board
        if isinstance(board, Board) or not (equal := board.equal_tiles()):
            return ""
        words = " and ".join(f"{count} of {tile_text(e)}" for e, count in sorted(equal.items()))
        merging = " and ".join(one for one in board.game.directions if board.merges_large(one))
        text = f"large tiles are equal ({words}), and the table does not know that they can merge"
        return f"{text}: {merging} would merge them" if merging else text

    @property
    def rank(self) -> float:
        """A number that sorts answers under one objective, the best last; without a value they come first."""
        known = sort_key(self.value)
        return -known if self.cost and known != float("-inf") else known

    @property
    def size(self) -> float:
        """The size of the value, with which the loss of a slide is compared; 0 if it is not known."""
        return size_of(self.value)

    def slide(self, direction: str | None) -> SlideAnswer | None:
        """Return the slide in a direction; None if it is not allowed."""
        return next((one for one in self.slides if one.direction == direction), None)

    def loss(self, direction: str) -> float | None:
        """Return how far the value of a slide is from the best: 0 for a best slide; None if not known.

        If values are proved bounds, the loss is the difference of the bounds; if they are intervals, that of
        their midpoints.  These differences are not proved.  If the table omits the board that the slide leads
        to, the loss is at least the returned number.  From a number of slides to "never" it is 2^30.  On a
        board with equal large tiles it is not known (`doubt`), nor where the horizon decides it (`cut`).
        """
        slide = self.slide(direction)
        if slide is None or self.unjudged:
            return None
        if isinstance(self.value, Below | Unknown) or isinstance(slide.value, Unknown):
            return None
        if direction in self.best:
            return 0.0
        if isinstance(slide.value, Below):
            return max(float(self.value) - slide.value.bound, 0.0) if slide.value.reached else None
        # Of costs the best value is the smaller one.
        best, other = _complement(self.value), _complement(slide.value)
        if best is not None and other is not None:
            return abs(best - other)
        return min(abs(float(self.value) - float(slide.value)), float(NEVER))

    def as_dict(self, *, spawns: bool = False) -> dict[str, Any]:
        """Return plain JSON values; with `spawns`, also the states after each slide with their
        probabilities."""
        real = None if isinstance(self.board, Board) else self.board
        return {
            **board_document(self.board),
            "state": self.state,
            "meaning": self.meaning,
            "value": self._value(self.value),
            "cost": self.cost,
            "best": list(self.best),
            "slides": [
                self._slide(slide)
                | ({"spawns": {state.text: str(p) for state, p in slide.spawns()}} if spawns else {})
                for slide in self.slides
            ],
            "refused": self.refused,
            "goal_cells": list(self.goal_cells),
            "large_tiles": None if real is None else list(self.large_tiles),
            "orientation": None if real is None else real.reading.orientation.name,
            "read_as": None if real is None else real.game.format(real.cells),
            "others": [self._value(value) for value in self.others],
            "notes": list(self.notes),
            "problem": self.problem or None,
        }

    def _value(self, value: Found) -> dict[str, Any] | None:
        return None if isinstance(self.value, Unknown) else value_document(value, self.unit)

    def _slide(self, slide: SlideAnswer) -> dict[str, Any]:
        """Return the document of a slide, with what it loses against the best one."""
        loss, text = self.loss(slide.direction), slide.after.text
        return {
            "direction": slide.direction,
            "board": text,
            "cells": split_cells(text),
            "value": self._value(slide.value),
            "loss": loss,
            "loss_text": None if loss is None else loss_text(loss, self.unit, self.size),
            "mistake": loss is not None and is_mistake(loss, self.size),
            "best": slide.direction in self.best,
            "ends": slide.end,
            "merges_large": slide.merges_large,
        }


def board_document(board: AnyBoard) -> dict[str, Any]:
    """Return a board, its cells, its sum and its largest tile, as plain JSON values."""
    text = board.text
    return {"board": text, "cells": split_cells(text), "sum": board.sum, "largest": board.max_tile}


def goal_cells(game: Game) -> dict[int, int]:
    """Return ``tiles[cell]``: the least tile that wins on this cell, if the goal wins only on some cells.

    >>> goal_cells(Game("2x3", 64, pattern="32,*,*/*,*,*"))
    {0: 32}
    >>> goal_cells(Game("2x3", 64)), goal_cells(Game("2x3", 64, pattern="32,16,*/*,*,*"))
    ({}, {})
    """
    tiles: dict[int, int] = {}
    for pattern in game.patterns:
        named = [(cell, 1 << e) for cell, e in enumerate(pattern) if e is not None]
        if len(named) != 1:
            return {}  # boards win by several tiles at once
        cell, tile = named[0]
        tiles[cell] = min(tile, tiles.get(cell, tile))
    return tiles


def _complement(value: Found) -> float | None:
    """Return 1 minus a probability with all its digits; None where that is not known."""
    if isinstance(value, Exact) and value.value in (0, 1):
        return 1.0 - value.value
    return value.complement if isinstance(value, Rounded) else None


def size_of(value: Found | None) -> float:
    """Return the size of a value, with which the loss of a slide is compared; 0 if it is not known.

    It is the probability to lose where that is known and small.
    """
    if value is None or isinstance(value, Below | Unknown):
        return 0.0
    if isinstance(value, Rounded) and value.is_near_one:
        return value.complement or 0.0
    return abs(float(value))


def slides_by_rules(board: AnyBoard) -> tuple[SlideAnswer, ...]:
    """Return the slides that the rules allow on a board, without values.

    Raises `NoReadingError` if the board has real tiles and cannot be read.
    """
    return tuple(
        SlideAnswer(
            board.game, direction, after.cells, Unknown(), board.game.wins(after.cells),
            real=None if isinstance(after, Board) else after,
        )
        for direction, after in board.slides().items()
    )  # fmt: skip


def interval_answer(low: Answer, high: Answer) -> Answer:
    """Return two results with bounds as one result with intervals."""
    values = [join_bounds(a.value, b.value) for a, b in zip(low.slides, high.slides, strict=True)]
    slides = tuple(replace(slide, value=value) for slide, value in zip(low.slides, values, strict=True))
    proved = max((value.low for value in values), default=Fraction(0))
    best = tuple(slide.direction for slide, value in zip(slides, values, strict=True) if value.high >= proved)
    return Answer(low.board, INTERVAL, low.unit, join_bounds(low.value, high.value), slides, best)
