"""What is said of a real board: the answer of its best reading, in the directions and tiles of the board.

`tables.large_tiles` finds the readings of a board.  Each that a table holds is a way to play on, since the
player decides which tiles stand for x.  So the answer is that of the reading with the best value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

from tilebase.errors import MissingBoardError
from tilebase.game.board import Board
from tilebase.game.game import Cells
from tilebase.game.notation import count_of
from tilebase.tables.answers import Answer, SlideAnswer, slides_by_rules
from tilebase.tables.large_tiles import Reading, large_tiles_of
from tilebase.tables.real_boards import RealBoard


def answer_best_reading(
    board: RealBoard, ask: Callable[[Board], Answer], made: str | None = None
) -> Answer | None:
    """Return the answer for a real board, where `ask` answers for boards of the game; None without one.

    Of several readings with the best value, it is the first that allows the slide `made`, or else the first:
    boards as given come before others.  Raises `NoReadingError` if the board cannot be read.
    """
    readings = large_tiles_of(board.game).readings(board.tiles)
    answers: dict[Cells, Answer] = {}
    for cells in dict.fromkeys(reading.cells for reading in readings):
        with suppress(MissingBoardError):
            answers[cells] = ask(Board(board.game, cells))

    def rank(reading: Reading) -> tuple[float, bool]:
        answer, names = answers[reading.cells], reading.orientation.directions
        return answer.rank, any(names[slide.direction] == made for slide in answer.slides)

    reading = max((one for one in readings if one.cells in answers), key=rank, default=None)
    if reading is None:
        return None
    answer = _turned(RealBoard(board.game, board.tiles, reading), answers.pop(reading.cells))
    others = sorted(answers.values(), key=lambda one: one.rank, reverse=True)
    answer = replace(answer, others=tuple(one.value for one in others))
    return replace(answer, notes=() if answer.after else tuple(_notes(answer)))


def _turned(board: RealBoard, answer: Answer) -> Answer:
    """Return an answer for a board of the game as one for the real board that was read as it."""
    directions = board.reading.orientation.directions
    values = {directions[slide.direction]: slide.value for slide in answer.slides}
    best = {directions[direction] for direction in answer.best}
    slides: list[SlideAnswer] = []
    for slide in slides_by_rules(board) if answer.slides else ():
        assert slide.real is not None
        merges = board.merges_large(slide.direction, slide.real)
        slides.append(replace(slide, value=values[slide.direction], merges_large=merges))
    ordered = tuple(direction for direction in board.game.directions if direction in best)
    return replace(answer, board=board, slides=tuple(slides), best=ordered)


def _notes(answer: Answer) -> Iterator[str]:
    """Yield what the table does not know, or what was chosen: one sentence each."""
    board, game = answer.board, answer.board.game
    if answer.unjudged:
        yield answer.unjudged
    if answer.others:
        readings = count_of(len(answer.others) + 1, "reading")
        yield (
            f"{readings} of this board are in the table, and this is the one with the best value; the next "
            f"is worth {answer.others[0]}"
        )
    if game.horizon is not None and game.ended(game.sum(board.cells)):
        yield f"the table ends at the sum {game.horizon}: after the next slide nothing more is counted"
