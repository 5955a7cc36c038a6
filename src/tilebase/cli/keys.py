"""A terminal that gives keys without Enter: raw input, its size, and leaving it as it was.

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
import tty
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}
ESCAPE_SECONDS = 0.05
"""How long the rest of an escape sequence may take; the Escape key alone sends nothing more."""
RESIZED, ENDED = "resized", "end of input"
"""What `Keyboard.read` returns if the window has another size or the program continues, and at the end."""
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
