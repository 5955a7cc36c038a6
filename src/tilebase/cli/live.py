"""A game by keys: the position stands still on the screen, and each key changes it at once."""

from __future__ import annotations

import textwrap

from tilebase.cli.dialogue import Dialogue
from tilebase.cli.drawing import BOLD, DIM, Colors, board_lines, frame, style, visible_length
from tilebase.cli.keys import Keyboard
from tilebase.objectives.numbers import less_text
from tilebase.objectives.values import Found, short_text
from tilebase.tables.answers import Answer

HELP = (
    "arrows or w a s d slide; h hint, v values, x all digits, u undo, p the table plays, n new game, q quit"
)
BOX_HELP = HELP.replace(" slide;", ", r front, f back slide;")


class Window:
    """Shows a dialogue in place, on the whole terminal, and reads keys."""

    def __init__(self, keyboard: Keyboard, colors: Colors, delay: float) -> None:
        self.keyboard, self.colors, self.delay = keyboard, colors, delay

    def show(self, dialogue: Dialogue) -> None:
        """Draw the position, its values and the message."""
        columns, rows = self.keyboard.size
        self.keyboard.show(frame(self._lines(dialogue, columns, rows), columns, rows))

    def read(self, *, playing: bool) -> str:
        """Return the next key; while the table plays, wait for one until its next slide."""
        return self.keyboard.read(self.delay if playing else None)

    def _lines(self, dialogue: Dialogue, columns: int, rows: int) -> list[str]:
        below = self._values(dialogue) + self._news(dialogue, columns)
        board = board_lines(dialogue.seat.board, self.colors, tall=True)
        if visible_length(board[0]) <= columns and len(board) + 1 + len(below) <= rows:
            return [*board, "", *below]
        board = board_lines(dialogue.seat.board, self.colors, tall=False)
        width = visible_length(board[0])
        if width <= columns and len(board) < rows:
            return board + below
        return textwrap.wrap(
            f"the window is too small: it has {columns} columns and {rows} rows, and the board needs {width} "
            f"columns and {len(board) + 1} rows",
            max(columns, 1),
        )

    def _values(self, dialogue: Dialogue) -> list[str]:
        """Return the value of the position and of its slides: as many lines in every position."""
        seat, answer = dialogue.seat, dialogue.seat.answer()
        if seat.over:
            lines = [style(seat.over, BOLD, self.colors)]
        elif answer is None:
            lines = ["the table does not hold this position"]
        elif not dialogue.values:
            lines = ["values are hidden: v shows them"]
        else:
            lines = [f"{answer.meaning}: {_text(dialogue, answer.value)}", *self._slides(dialogue, answer)]
        return lines + [""] * (1 + len(seat.table.game.directions) - len(lines))

    def _slides(self, dialogue: Dialogue, answer: Answer) -> list[str]:
        texts = [_text(dialogue, slide.value) for slide in answer.slides]
        width = max(map(len, texts), default=0)
        lines = []
        for slide, text in zip(answer.slides, texts, strict=True):
            best = slide.direction in answer.best
            loss = answer.loss(slide.direction)
            lost = ""
            if loss and dialogue.seat.unit != "yes-no":
                lost = f"  {less_text(loss, dialogue.seat.unit, answer.size)}"
            wins = "  wins" if slide.wins else ""
            shown = text.ljust(width) if dialogue.digits else text.rjust(width)
            line = f"{'*' if best else ' '} {slide.direction:5}  {shown}{wins}{lost}"
            lines.append(style(line, BOLD, self.colors) if best else line)
        return lines

    def _news(self, dialogue: Dialogue, columns: int) -> list[str]:
        """Return what the last slide lost, the score, the message, and the keys."""
        seat = dialogue.seat
        made, unit = seat.made, seat.unit
        lines = [made.text(unit) if made is not None and (dialogue.train or dialogue.values) else ""]
        lines += [seat.score.text(unit)] if dialogue.train else []
        answer = seat.answer()
        parts = [dialogue.message, "" if answer is None else answer.unjudged]
        message = "the table plays: any key stops it" if dialogue.playing else "; ".join(filter(None, parts))
        lines += textwrap.wrap(message, max(columns, 20)) or [""]
        help_text = BOX_HELP if len(seat.table.game.shape) == 3 else HELP
        return lines + [style(line, DIM, self.colors) for line in textwrap.wrap(help_text, max(columns, 20))]


def _text(dialogue: Dialogue, value: Found) -> str:
    """Write a value with the digits that the player wants."""
    return str(value) if dialogue.digits else short_text(value, dialogue.seat.unit)
