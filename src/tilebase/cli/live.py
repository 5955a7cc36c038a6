"""A game by keys: raw input of a terminal, and a position in colours that stands still on its screen.

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
import termios
import textwrap
import tty
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any, Literal, Self, TypeAlias

from tilebase.cli.dialogue import ENDED, RESIZED, Dialogue
from tilebase.game.board import GRID, WALL, X_FILL, ink_color, tile_color
from tilebase.game.notation import split_cells
from tilebase.objectives.numbers import less_text
from tilebase.objectives.values import Found, short_text
from tilebase.tables.answers import Answer
from tilebase.tables.real_boards import AnyBoard, RealBoard

ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}
ESCAPE_SECONDS = 0.05
"""How long the rest of an escape sequence may take; the Escape key alone sends nothing more."""
_SEQUENCE = re.compile(r"\x1b(?:O(?P<application>[A-D])|\[[0-9;]*(?P<final>[@-~])|[^\[O])", re.DOTALL)
_ENTER = "\x1b[?1049h\x1b[?25l"
_LEAVE = "\x1b[0m\x1b[?25h\x1b[?1049l"


def has_keys() -> bool:
    """Return whether standard input and output are a terminal that can move its cursor."""
    if os.environ.get("TERM", "dumb") in ("", "dumb"):
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
        with ExitStack() as stack:
            stack.callback(self._give_back)
            stack.callback(os.close, self._woken)
            stack.callback(os.close, self._wake)
            self._take()
            for number, handler in ((signal.SIGTSTP, self._stop), (signal.SIGWINCH, self._resize)):
                stack.callback(signal.signal, number, signal.signal(number, handler))
            self._undo = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

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


class Window:
    """Shows a dialogue in place, on the whole terminal, and reads keys."""

    help = "arrows or w a s d{} slide; h hint, v values, x all digits"

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
        seat, width = dialogue.seat, max(columns, 20)
        lines = [seat.verdict if dialogue.train or dialogue.values else ""]
        lines += textwrap.wrap(seat.score, width) if dialogue.train else []
        answer = seat.answer()
        parts = [dialogue.message, "" if answer is None else answer.unjudged]
        message = "the table plays: any key stops it" if dialogue.playing else "; ".join(filter(None, parts))
        lines += textwrap.wrap(message, width) or [""]
        return lines + [style(line, DIM, self.colors) for line in textwrap.wrap(dialogue.help, width)]


def _text(dialogue: Dialogue, value: Found) -> str:
    return str(value) if dialogue.digits else short_text(value, dialogue.seat.unit)


# -- boards in the colours of `game.board` -----------------------------------------------------------


Colors: TypeAlias = Literal["none", "256", "true"]
RESET, BOLD, DIM = "\x1b[0m", "\x1b[1m", "\x1b[2m"
LEVELS = (0, 95, 135, 175, 215, 255)
"""The six levels of each channel in the cube of a terminal with 256 colours."""
_STYLES = re.compile(r"\x1b\[[0-9;]*m")


def choose_colors(environment: Mapping[str, str] = os.environ) -> Colors:
    """Return the colours of the terminal by its environment: see https://no-color.org.

    >>> choose_colors({"COLORTERM": "truecolor"}), choose_colors({"NO_COLOR": "1"}), choose_colors({})
    ('true', 'none', '256')
    """
    if environment.get("NO_COLOR"):
        return "none"
    return "true" if environment.get("COLORTERM") in ("truecolor", "24bit") else "256"


def paint(text: str, ink: str, fill: str, colors: Colors) -> str:
    """Paint a text in a colour on a colour; leave it as it is without colours."""
    if colors == "none":
        return text
    return f"\x1b[38;{_code(ink, colors)};48;{_code(fill, colors)}m{text}{RESET}"


def style(text: str, code: str, colors: Colors) -> str:
    """Make a text bold or dim; leave it as it is without colours."""
    return text if colors == "none" else f"{code}{text}{RESET}"


def _code(color: str, colors: Colors) -> str:
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return f"2;{red};{green};{blue}" if colors == "true" else f"5;{nearest_color(red, green, blue)}"


def nearest_color(red: int, green: int, blue: int) -> int:
    """Return the nearest of the 240 fixed colours of a terminal with 256 colours.

    >>> nearest_color(255, 255, 255), nearest_color(8, 8, 8), nearest_color(201, 63, 31)
    (231, 232, 166)
    """
    steps = [min(range(6), key=lambda at: abs(LEVELS[at] - channel)) for channel in (red, green, blue)]
    cube = 16 + 36 * steps[0] + 6 * steps[1] + steps[2]
    gray = min(range(24), key=lambda at: abs(8 + 10 * at - (red + green + blue) / 3))
    options = {cube: [LEVELS[step] for step in steps], 232 + gray: [8 + 10 * gray] * 3}
    return min(
        options,
        key=lambda one: sum((a - b) ** 2 for a, b in zip(options[one], (red, green, blue), strict=True)),
    )


def visible_length(text: str) -> int:
    """Return the columns of a text, without its colours."""
    return len(_STYLES.sub("", text))


def cut_line(text: str, columns: int) -> str:
    """Cut a line to a number of columns, with all its colours."""
    if visible_length(text) <= columns:
        return text
    parts: list[str] = []
    for part in re.split(f"({_STYLES.pattern})", text):
        parts.append(part if part.startswith("\x1b") else part[:columns])
        columns -= 0 if part.startswith("\x1b") else len(parts[-1])
    return "".join(parts)


def board_lines(board: AnyBoard, colors: Colors, *, tall: bool) -> list[str]:
    """Draw a board as lines: coloured tiles, three lines each if `tall`, else one.

    Without colours it is a picture of characters.
    """
    if colors == "none":
        return board.unicode().splitlines()
    game = board.game
    rows, columns = game.shape[-2:]
    words = ["" if word == "0" else word for word in split_cells(board.text)]
    width = max(7 if tall else 4, *(len(word) + 2 for word in words))
    fills = [_fill(board, cell) for cell in range(game.cells)]
    lines: list[str] = []
    for first in range(0, game.cells, columns):
        if first and first % (rows * columns) == 0:
            lines.append("")
        row = slice(first, first + columns)
        lines += _row(words[row], fills[row], width, colors, tall=tall)
    return lines


def _row(words: Sequence[str], fills: Sequence[str], width: int, colors: Colors, *, tall: bool) -> list[str]:
    """Return the lines of one row of cells; between tiles the colour of the grid is seen."""
    gap = paint(" ", GRID, GRID, colors)

    def line(texts: Sequence[str], *, edge: bool = False) -> str:
        painted = [
            paint(text.center(width), fill if edge else ink_color(fill), GRID if edge else fill, colors)
            for text, fill in zip(texts, fills, strict=True)
        ]
        return gap + gap.join(painted) + gap

    middle = line(words)
    if not tall:
        return [middle]
    # The lower half of the last line has the colour of the grid, so that rows are apart.
    return [line([""] * len(words)), middle, line(["▀" * width] * len(words), edge=True)]


def _fill(board: AnyBoard, cell: int) -> str:
    if cell in board.game.walls:
        return WALL
    if isinstance(board, RealBoard):
        return tile_color(board.tiles[cell])
    return X_FILL if board.game.is_x(board.cells[cell]) else tile_color(board.cells[cell])


def frame(lines: Sequence[str], columns: int, rows: int) -> str:
    """Return what replaces the screen by lines: each is cut to the window, and the rest of it is cleared.

    The text moves the cursor and clears behind what it writes, so that nothing is blank in between.
    """
    shown = [cut_line(line, columns) for line in lines[:rows]]
    # Behind a full line the cursor still stands on its last character, which clearing would delete.
    ends = ["" if visible_length(line) >= columns else "\x1b[K" for line in shown]
    text = "\r\n".join(f"{line}{RESET}{end}" for line, end in zip(shown, ends, strict=True))
    rest = "\r\n\x1b[J" if len(shown) < rows else ""
    return f"\x1b[?2026h\x1b[H{text}{rest}\x1b[?2026l"
