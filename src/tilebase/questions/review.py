"""Reviewing a written game with a table: which slides lost how much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from tilebase.errors import BoardError, MissingBoardError
from tilebase.game.board import Board
from tilebase.game.formations import goal_of
from tilebase.game.game import Cells, Game
from tilebase.game.records import Position, X, parse_game, text_of
from tilebase.objectives.numbers import MISTAKE, NEGLIGIBLE, Unit, is_mistake, loss_text
from tilebase.objectives.objective import find_objective
from tilebase.objectives.values import Below, Found, value_document
from tilebase.runtime.progress import Pace, Progress
from tilebase.tables.answers import Answer, SlideAnswer, size_of
from tilebase.tables.large_tiles import read_tiles
from tilebase.tables.probe import Table, open_table

GAP = 20
"""Positions between two of an endgame, at most: a large tile may leave its cell for some slides."""
MOST_DROPS = 10
"""How many of the largest losses a review names."""


@dataclass(frozen=True)
class ReviewedMove:
    """One position of a written game, with what the table says of it.

    Attributes
    ----------
    number:
        1 for the first position.
    board:
        The position, with the player to move.
    slides:
        The slide that was made, or those that may have been made; empty if it is unknown, or none was.
    best:
        The best slides, ties included; empty if the table does not hold the position.
    value, slide_value:
        The value of the position, and that of the slide; None if not known.
    loss:
        See `Answer.loss`.  If each of several slides loses something, it is the smallest loss.
    goal_cells:
        See `Answer.goal_cells`; empty if the table does not hold the position.
    problem:
        Why something is not known, in one sentence.
    table:
        The name of the table that judged it, of several tables; else empty.
    """

    number: int
    board: str
    slides: tuple[str, ...] = ()
    best: tuple[str, ...] = ()
    value: Found | None = None
    slide_value: Found | None = None
    loss: float | None = None
    goal_cells: tuple[int, ...] = ()
    problem: str | None = None
    table: str = ""

    @property
    def agreed(self) -> bool:
        """Whether the slide is one of the best, or each that may have been made."""
        return self.loss is not None and set(self.slides) <= set(self.best)

    @property
    def of(self) -> float:
        """The size of the value from which something was lost."""
        return size_of(self.value)

    @property
    def mistake(self) -> bool:
        """Whether the slide lost so much that it is a mistake (`objectives.numbers.is_mistake`)."""
        return self.loss is not None and is_mistake(self.loss, self.of)

    def as_dict(self, unit: Unit) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "number": self.number,
            "board": self.board,
            "slides": list(self.slides),
            "best": list(self.best),
            "value": None if self.value is None else value_document(self.value, unit),
            "slide_value": None if self.slide_value is None else value_document(self.slide_value, unit),
            "loss": self.loss,
            "loss_text": None if self.loss is None else loss_text(self.loss, unit, self.of),
            "mistake": self.mistake,
            "goal_cells": list(self.goal_cells),
            "problem": self.problem,
            "table": self.table,
        }


@dataclass(frozen=True)
class Endgame:
    """The positions of a game that one of several tables judges, one after the other but for short gaps.

    Attributes
    ----------
    table:
        The name of the table.
    first, last:
        The numbers of its first and its last position.
    """

    table: str
    first: int
    last: int


@dataclass(frozen=True)
class Review:
    """A written game and what each slide lost.

    Attributes
    ----------
    form:
        ``"tilebase game"``, ``"2048verse replay"`` or ``"positions"``.
    meaning, unit:
        What the values mean, in words, and what they count.
    moves:
        One entry for each position, in order.
    """

    form: str
    meaning: str
    unit: Unit
    moves: tuple[ReviewedMove, ...]

    def __repr__(self) -> str:
        return (
            f"<Review of {self.form}: {self.agreed} of {self.reviewed} slides agree, {self.unknown} unknown>"
        )

    @property
    def losses(self) -> list[float]:
        """The losses of the slides whose value is known."""
        return [move.loss for move in self.moves if move.loss is not None]

    @property
    def reviewed(self) -> int:
        """The number of slides with a known loss."""
        return len(self.losses)

    @property
    def unknown(self) -> int:
        """The number of slides whose loss is not known."""
        return sum(bool(move.slides) and move.loss is None for move in self.moves)

    @property
    def unjudged(self) -> list[ReviewedMove]:
        """The moves whose loss is not known although the position is; `problem` says why."""
        return [move for move in self.moves if move.slides and move.loss is None and move.value is not None]

    @property
    def agreed(self) -> int:
        """The number of slides that are among the best."""
        return sum(move.agreed for move in self.moves)

    @property
    def mistakes(self) -> int:
        """The number of slides that lost a thousandth of the value or more."""
        return sum(move.mistake for move in self.moves)

    @property
    def agreement(self) -> float | None:
        """The part of the reviewed slides that are among the best; None if no slide was reviewed."""
        return self.agreed / self.reviewed if self.reviewed else None

    @property
    def faultless(self) -> float | None:
        """The part of the reviewed slides that are no mistakes; None if no slide was reviewed."""
        return 1 - self.mistakes / self.reviewed if self.reviewed else None

    @property
    def total_loss(self) -> float:
        """The sum of the losses."""
        return sum(self.losses)

    @property
    def of(self) -> float:
        """The largest value from which something was lost."""
        return max((move.of for move in self.moves if move.loss is not None), default=0.0)

    @property
    def mean_loss(self) -> float | None:
        """The mean of the losses; None if no slide was reviewed."""
        return self.total_loss / self.reviewed if self.reviewed else None

    @property
    def longest_run(self) -> int:
        """The most slides in a row that are among the best; a slide that is not known ends a run."""
        runs = groupby(self.moves, key=lambda move: move.agreed)
        return max((len(list(run)) for agreed, run in runs if agreed), default=0)

    @property
    def endgames(self) -> list[Endgame]:
        """The parts of the game that tables judge, in order, joined over a few positions that none holds."""
        found: list[Endgame] = []
        for move in self.moves:
            if move.value is None:
                continue
            last = found[-1] if found else None
            if last and last.table == move.table and move.number - last.last <= GAP:
                found[-1] = replace(last, last=move.number)
            else:
                found.append(Endgame(move.table, move.number, move.number))
        return found

    @property
    def drops(self) -> list[ReviewedMove]:
        """The slides that lost most, at most ten, the largest loss first.  None lost ≈ 0."""
        lost = [move for move in self.moves if move.loss and move.loss >= NEGLIGIBLE * move.of]
        return sorted(lost, key=lambda move: (-(move.loss or 0), move.number))[:MOST_DROPS]

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "form": self.form,
            "meaning": self.meaning,
            "unit": self.unit,
            "positions": len(self.moves),
            "reviewed": self.reviewed,
            "unknown": self.unknown,
            "agreed": self.agreed,
            "mistakes": self.mistakes,
            "mistake_from": MISTAKE,
            "agreement": self.agreement,
            "total_loss": self.total_loss,
            "total_loss_text": loss_text(self.total_loss, self.unit, self.of),
            "mean_loss": self.mean_loss,
            "mean_loss_text": None
            if self.mean_loss is None
            else loss_text(self.mean_loss, self.unit, self.of),
            "longest_run": self.longest_run,
            "moves": [move.as_dict(self.unit) for move in self.moves],
            "drops": [move.number for move in self.drops],
            "endgames": [asdict(one) for one in self.endgames],
        }


def review(
    table: Table | Path | str,
    text: str,
    objective: str | None = None,
    *,
    progress: Callable[[Progress], None] | None = None,
) -> Review:
    """Review a written game: what each slide lost.

    `Answer.loss` says what a slide loses.

    Parameters
    ----------
    table:
        Any table, or its location for `open_table`.  If its game has x that move, boards may be real boards,
        as for `Table.probe`.
    text:
        A saved game, a replay of 2048verse.com, or a list of positions, one on each line.  Slides follow the
        plain rules, so the game may begin before that of the table and end after it.  Positions that the
        table does not contain count as unknown.
    objective:
        As for `Table.probe`.
    progress:
        Called with the progress of the review, at most ten times a second.

    Raises
    ------
    BoardError
        If the text is not a written game; the message has the number of the move or line.
    UsageError
        If the table has no such objective.
    CorruptError
        If a file of the table is damaged.
    """
    table = open_table(table)
    table.objective(objective)  # `review_game` leaves out tables without it
    return review_game({"": table}, text, objective, progress=progress)


def review_game(
    tables: Mapping[str, Table],
    text: str,
    objective: str | None = None,
    *,
    progress: Callable[[Progress], None] | None = None,
) -> Review:
    """Review a written game by several tables: each position by the one with the largest goal that judges it.

    Tables in which two equal tiles are large judge no slide, so another one is taken where there is one.
    Tables of other shapes or without the objective are left out.  The meaning of the values is that of the
    table that judges most.  Raises `BoardError` if no table can read the text.
    """
    written, problem = None, BoardError("there is no table for a review: name one")
    asked: list[tuple[str, Table]] = []
    for name, table in sorted(tables.items(), key=lambda item: -(goal_of(item[1].game)[0] or 0)):
        if objective is not None and find_objective(table.objectives, objective) is None:
            continue
        try:
            written = written or parse_game(table.game, text, partial(read_written, table.game))
        except BoardError as error:
            problem = error
            continue
        if not asked or table.game.shape == asked[0][1].game.shape:
            asked.append((name, table))
    if written is None:
        raise problem
    moves, pace = list[ReviewedMove](), Pace(progress, "positions")
    for number, position in enumerate(written.positions, 1):
        moves.append(_best_reviewed(asked, position, number, objective))
        if pace.due():
            pace.report(number, "review", number, number / len(written.positions))
    often = Counter(move.table for move in moves if move.table)
    most = dict(asked)[often.most_common(1)[0][0]] if often else asked[0][1]
    return Review(written.form, most.meaning(objective), most.unit(objective), tuple(moves))


def _best_reviewed(
    tables: Sequence[tuple[str, Table]], position: Position, number: int, objective: str | None
) -> ReviewedMove:
    """Return what the first table says that judges the slide, else the first that holds the position."""
    found: ReviewedMove | None = None
    for name, table in tables:
        one = _reviewed(table, position, number, objective)
        if one.value is None:
            found = found or one
        elif one.loss is not None:
            return replace(one, table=name)
        elif found is None or found.value is None:
            found = replace(one, table=name)
    assert found is not None
    return found


def read_written(game: Game, board: str) -> Cells:
    """Return a board of a written game: a real board with any tiles, or one of the game, maybe with x.

    Raises `BoardError`.
    """
    # The plain rules go on where the game of the table is won, as after the last slide of a whole game.
    tiles = read_tiles(game, board, X if game.unmergeable else None)
    if tiles is not None:
        return tiles
    return tuple(X if game.is_x(e) else e for e in Board.read(game, board).cells)


def _reviewed(table: Table, position: Position, number: int, objective: str | None) -> ReviewedMove:
    board = text_of(table.game, position.tiles)
    slides = position.candidates if position.slide is None else (position.slide,)
    try:
        answer = table.probe(board, objective, made=next(iter(slides), None))
    except (BoardError, MissingBoardError) as error:
        return ReviewedMove(number, board, slides, problem=position.problem or str(error))
    found = ReviewedMove(
        number, board, slides, answer.best, answer.value, goal_cells=answer.goal_cells,
        problem="; ".join(filter(None, (position.problem, answer.unjudged))) or None,
    )  # fmt: skip
    if len(slides) > 1 and not answer.unjudged:
        return _judge_candidates(found, answer)
    if len(slides) != 1:
        return found
    slide, loss = answer.slide(slides[0]), answer.loss(slides[0])
    value = None if slide is None else slide.value
    problem = found.problem or _why(slide, slides[0], loss)
    return replace(found, slide_value=value, loss=loss, problem=problem)


def _judge_candidates(move: ReviewedMove, answer: Answer) -> ReviewedMove:
    """Return a move of which one of several slides was made, with what it lost.

    That is known if all of them are best.  If none is, it is at least the smallest of their losses.
    """
    losses = {slide: loss for slide in move.slides if (loss := answer.loss(slide)) is not None}
    each = ", ".join(_lost(slide, losses.get(slide), answer) for slide in move.slides)
    problem = f"{move.problem}: {each}"
    best = set(move.slides) & set(answer.best)
    if len(losses) < len(move.slides) or 0 < len(best) < len(move.slides):
        return replace(move, problem=problem)
    least = answer.slide(min(losses, key=lambda slide: losses[slide]))
    assert least is not None
    loss = losses[least.direction]
    less = "" if best else ", so the loss is at least the smallest of these"
    return replace(move, slide_value=least.value, loss=loss, problem=problem + less)


def _lost(slide: str, loss: float | None, answer: Answer) -> str:
    """Return what a slide lost, in words."""
    if loss is None:
        return f"what {slide} lost is not known"
    if slide in answer.best:
        return f"{slide} is best"
    return f"{slide} loses {loss_text(loss, answer.unit, answer.size)}"


def _why(slide: SlideAnswer | None, made: str, loss: float | None) -> str | None:
    """Return what is not known of a slide, in one sentence; None if its value is known."""
    if slide is None:
        return f"the game of the table does not allow {made} here"
    if isinstance(slide.value, Below):
        less = "" if loss is None else ": the loss is at least this"
        return f"the table leaves out what {made} leads to{less}"
    return None
