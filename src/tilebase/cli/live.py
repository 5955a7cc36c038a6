"""A game by keys: raw input of a terminal, and a position that stands still on its screen.

`Keyboard` is a context manager.  Inside it the terminal echoes nothing, shows a second screen, and hides the
cursor.  However the block is left, the terminal is as before: at the end, by an exception, by Ctrl-C, and
by the signals TERM and HUP.  Ctrl-Z gives the terminal back until the program continues.
"""

from __future__ import annotations

import codecs
import os
import re
import select
import shutil
import signal
import sys
import textwrap
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from tilebase.cli.dialogue import ENDED, RESIZED, Dialogue
from tilebase.cli.drawing import BOLD, DIM, Colors, board_lines, frame, style, visible_length
from tilebase.objectives.numbers import less_text
from tilebase.objectives.values import Found, short_text
from tilebase.tables.answers import Answer

try:
    import termios
    import tty

    TERMINALS = True
except ImportError:  # Windows has no such terminals
    TERMINALS = False

ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}
ESCAPE_SECONDS = 0.05
"""How long the rest of an escape sequence may take; the Escape key alone sends nothing more."""
_SEQUENCE = re.compile(r"\x1b(?:O(?P<application>[A-D])|\[[0-9;]*(?P<final>[@-~])|[^\[O])", re.DOTALL)
_ENTER = "\x1b[?1049h\x1b[?25l"
_LEAVE = "\x1b[0m\x1b[?25h\x1b[?1049l"


def has_keys() -> bool:
    """Return whether standard input and output are a terminal that can move its cursor."""
    if not TERMINALS or os.environ.get("TERM", "dumb") in ("", "dumb"):
        return False
    stdin: Any = sys.stdin  # None if it is closed
    return stdin is not None and bool(stdin.isatty() and sys.stdout.isatty())


class Keyboard:
    """The keys of the terminal, while it shows a second screen."""

    def __enter__(self) -> Self:
        self._input = sys.stdin.fileno()
        self._before = termios.tcgetattr(self._input)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""  # what was typed and not yet returned
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        self._handlers: dict[int, Any] = {}
        try:
            self._take()
            for number, handler in (
                (signal.SIGTSTP, self._stop),
                (signal.SIGWINCH, self._resize),
            ):
                self._handlers[number] = signal.signal(number, handler)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)
            os.close(self._woken)
            os.close(self._wake)
        finally:
            self._give_back()

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows of the window."""
        try:
            found = os.get_terminal_size(sys.stdout.fileno())
        except OSError:
            found = shutil.get_terminal_size()
        return found.columns or 80, found.lines or 24

    def show(self, text: str) -> None:
        """Write to the terminal at once."""
        out = getattr(sys.stdout, "rich_proxied_file", sys.stdout)
        out.write(text)
        out.flush()

    def read(self, seconds: float | None = None) -> str:
        """Return the next key; empty if none was pressed in these seconds.

        Arrow keys are ``up``, ``down``, ``left`` and ``right``, other keys their characters, sequences of
        other keys empty.  Also `RESIZED` and `ENDED`.
        """
        while not self._text:
            event = self._wait(seconds)
            if event is not None:
                return event
        if self._text[0] != "\x1b":
            key, self._text = self._text[0], self._text[1:]
            return key
        return self._sequence()

    def _sequence(self) -> str:
        """Return the key of the escape sequence with which the text begins."""
        while (found := _SEQUENCE.match(self._text)) is None:
            event = self._wait(ESCAPE_SECONDS)
            if event == RESIZED:
                return event
            if event is not None:  # the Escape key alone, or a sequence that ends in its middle
                self._text = self._text[1:]
                return ""
        self._text = self._text[found.end() :]
        return ARROWS.get(found["application"] or found["final"] or "", "")

    def _wait(self, seconds: float | None) -> str | None:
        """Wait for input and keep it; return what else happened, or empty if nothing did in these seconds."""
        ready, _, _ = select.select([self._input, self._woken], [], [], seconds)
        if self._woken in ready:
            os.read(self._woken, 1024)
            return RESIZED
        if not ready:
            return ""
        try:
            data = os.read(self._input, 1024)
        except OSError:  # the terminal was closed
            data = b""
        self._text += self._decoder.decode(data)
        return None if data else ENDED

    def _take(self) -> None:
        tty.setcbreak(self._input, termios.TCSADRAIN)
        self.show(_ENTER)

    def _give_back(self) -> None:
        # If the terminal was closed there is nothing to give back, and the error that says so is raised.
        try:
            with suppress(termios.error):
                termios.tcsetattr(self._input, termios.TCSADRAIN, self._before)
        finally:
            self.show(_LEAVE)

    def _stop(self, *_: object) -> None:
        """Ctrl-Z: give the terminal back, stop, and take it again when the program continues."""
        self._give_back()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self._stop)
        self._take()
        self._resize()

    def _resize(self, *_: object) -> None:
        """Let `read` return, so that the caller draws again."""
        with suppress(BlockingIOError):  # so many signals wait that one more changes nothing
            os.write(self._wake, b"r")


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
        lines = [seat.verdict if dialogue.train or dialogue.values else ""]
        lines += [seat.score] if dialogue.train else []
        answer = seat.answer()
        parts = [dialogue.message, "" if answer is None else answer.unjudged]
        message = "the table plays: any key stops it" if dialogue.playing else "; ".join(filter(None, parts))
        lines += textwrap.wrap(message, max(columns, 20)) or [""]
        help_text = BOX_HELP if len(seat.table.game.shape) == 3 else HELP
        return lines + [style(line, DIM, self.colors) for line in textwrap.wrap(help_text, max(columns, 20))]


def _text(dialogue: Dialogue, value: Found) -> str:
    return str(value) if dialogue.digits else short_text(value, dialogue.seat.unit)
