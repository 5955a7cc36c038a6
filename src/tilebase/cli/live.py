"""A game by keys: the position stands still on the screen, and each key changes it at once."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from tilebase.cli.drawing import BOLD, DIM, Colors, board_lines, frame, style, visible_length
from tilebase.cli.keys import ENDED, RESIZED, Keyboard
from tilebase.cli.seat import Seat
from tilebase.errors import BoardError, MissingBoardError
from tilebase.objectives.numbers import less_text
from tilebase.objectives.values import Found, short_text
from tilebase.tables.answers import Answer

KEYS = {
    "w": "up", "s": "down", "a": "left", "d": "right", "r": "front", "f": "back",
    "up": "up", "down": "down", "left": "left", "right": "right",
}  # fmt: skip
HELP = (
    "arrows or w a s d slide; h hint, v values, x all digits, u undo, p the table plays, n new game, q quit"
)
BOX_HELP = HELP.replace(" slide;", ", r front, f back slide;")


class Live:
    """The dialogue with the player.

    With `train`, values are hidden.  After each slide the player sees what it lost, and the score.
    """

    def __init__(
        self, seat: Seat, keyboard: Keyboard, *, values: bool, train: bool, colors: Colors, delay: float
    ) -> None:
        self.seat, self.keyboard, self.colors, self.delay = seat, keyboard, colors, delay
        self.values, self.train = values and not train, train
        self.digits = self.playing = False
        self.message = seat.how
        self._commands: dict[str, Callable[[], None]] = {
            "h": self._hint, "v": self._toggle, "x": self._toggle_digits, "u": self._undo, "n": self._new,
            "p": self._play,
        }  # fmt: skip

    def converse(self) -> None:
        """React to keys until ``q`` or the end of input."""
        while True:
            self.draw()
            key = self.keyboard.read(self.delay if self.playing else None)
            if key in ("q", ENDED):
                return
            if key == RESIZED:
                continue
            if self.playing:
                self._go_on(pressed=bool(key))
            elif key:
                self._react(key)

    def draw(self) -> None:
        """Show the position."""
        if self.values:
            self.seat.seen = True
        columns, rows = self.keyboard.size
        self.keyboard.show(frame(self._lines(columns, rows), columns, rows))

    def closing(self) -> str:
        """Return what stays on the terminal after the game."""
        lines = [self.seat.over] if self.seat.over else []
        lines += [self.seat.score.text(self.seat.unit)] if self.train else []
        return "".join(f"{line}\n" for line in lines)

    # -- what is shown ---------------------------------------------------------------------------

    def _lines(self, columns: int, rows: int) -> list[str]:
        below = self._values() + self._news(columns)
        board = board_lines(self.seat.board, self.colors, tall=True)
        if visible_length(board[0]) <= columns and len(board) + 1 + len(below) <= rows:
            return [*board, "", *below]
        board = board_lines(self.seat.board, self.colors, tall=False)
        width = visible_length(board[0])
        if width <= columns and len(board) < rows:
            return board + below
        return textwrap.wrap(
            f"the window is too small: it has {columns} columns and {rows} rows, and the board needs {width} "
            f"columns and {len(board) + 1} rows",
            max(columns, 1),
        )

    def _values(self) -> list[str]:
        """Return the value of the position and of its slides: as many lines in every position."""
        seat, answer = self.seat, self.seat.answer()
        if seat.over:
            lines = [style(seat.over, BOLD, self.colors)]
        elif answer is None:
            lines = ["the table does not hold this position"]
        elif not self.values:
            lines = ["values are hidden: v shows them"]
        else:
            lines = [f"{answer.meaning}: {self._text(answer.value)}", *self._slides(answer)]
        return lines + [""] * (1 + len(seat.table.game.directions) - len(lines))

    def _slides(self, answer: Answer) -> list[str]:
        texts = [self._text(slide.value) for slide in answer.slides]
        width = max(map(len, texts), default=0)
        lines = []
        for slide, text in zip(answer.slides, texts, strict=True):
            best = slide.direction in answer.best
            loss = answer.loss(slide.direction)
            lost = ""
            if loss and self.seat.unit != "yes-no":
                lost = f"  {less_text(loss, self.seat.unit, answer.size)}"
            wins = "  wins" if slide.wins else ""
            shown = text.ljust(width) if self.digits else text.rjust(width)
            line = f"{'*' if best else ' '} {slide.direction:5}  {shown}{wins}{lost}"
            lines.append(style(line, BOLD, self.colors) if best else line)
        return lines

    def _text(self, value: Found) -> str:
        """Write a value with the digits that the player wants."""
        return str(value) if self.digits else short_text(value, self.seat.unit)

    def _news(self, columns: int) -> list[str]:
        """Return what the last slide lost, the score, the message, and the keys."""
        made, unit = self.seat.made, self.seat.unit
        lines = [made.text(unit) if made is not None and (self.train or self.values) else ""]
        lines += [self.seat.score.text(unit)] if self.train else []
        answer = self.seat.answer()
        parts = [self.message, "" if answer is None else answer.unjudged]
        message = "the table plays: any key stops it" if self.playing else "; ".join(filter(None, parts))
        lines += textwrap.wrap(message, max(columns, 20)) or [""]
        help_text = BOX_HELP if len(self.seat.table.game.shape) == 3 else HELP
        return lines + [style(line, DIM, self.colors) for line in textwrap.wrap(help_text, max(columns, 20))]

    # -- what keys do ----------------------------------------------------------------------------

    def _react(self, key: str) -> None:
        self.message = ""
        if key in KEYS:
            self._slide(KEYS[key])
        elif key in self._commands:
            self._commands[key]()
        else:
            self.message = f"the key {key!r} does nothing here"

    def _slide(self, direction: str) -> None:
        try:
            moved = self.seat.slide(direction, own=True)
        except (BoardError, MissingBoardError) as error:
            self.message = str(error)
            return
        if not moved:
            self.message = self.seat.refusal(direction)
        elif self.seat.made is not None and self.train and self.seat.made.seen:
            self.message = "not counted, since you knew the values"

    def _go_on(self, *, pressed: bool) -> None:
        """Show one slide of the table; a key stops it."""
        chosen = None if pressed or self.seat.over else self.seat.best()
        if chosen is None:
            self.playing = False
            if not pressed and not self.seat.over:
                self.message = "the table does not know this position"
            return
        self.seat.slide(chosen)

    def _play(self) -> None:
        self.playing = not self.seat.over

    def _hint(self) -> None:
        self.seat.seen = True
        answer = self.seat.answer()
        if answer is None:
            self.message = "the table does not know this position"
        else:
            self.message = f"best: {' or '.join(answer.best) or 'none'}"

    def _toggle(self) -> None:
        self.values = not self.values

    def _toggle_digits(self) -> None:
        self.digits = not self.digits

    def _undo(self) -> None:
        if not self.seat.undo():
            self.message = "nothing to take back"

    def _new(self) -> None:
        self.seat.begin()
        self.message = self.seat.how
