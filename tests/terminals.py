"""A pseudo-terminal with a program in it, and what it shows: for tests of what people see and type."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import tilebase

SECONDS = 60
"""How long a test waits for what must appear."""
SOURCES = Path(tilebase.__file__).parents[1]
_FRAME = re.compile(r"\x1b\[\?2026h\x1b\[H(.*?)\x1b\[\?2026l", re.DOTALL)
STYLES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A program in a pseudo-terminal of its own."""

    def __init__(
        self, *arguments: object, folder: Path, columns: int = 80, rows: int = 40, **environment: str
    ) -> None:
        self.output = ""
        self._parent, child = pty.openpty()
        self._child = child  # kept open, so that its settings can be read after the program has ended
        self.resize(columns, rows)
        self.before = self.settings()
        own = {"TERM": "xterm-256color", "PYTHONPATH": str(SOURCES), "COLORTERM": "", "NO_COLOR": ""}
        command = (
            arguments if arguments[0] == sys.executable else (sys.executable, "-m", "tilebase", *arguments)
        )
        self.process = subprocess.Popen(
            list(map(str, command)),
            stdin=child, stdout=child, stderr=child, cwd=folder, close_fds=True, start_new_session=True,
            env={**os.environ, **own, **environment}, preexec_fn=_control,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._parent)
        os.close(self._child)

    def settings(self) -> list[Any]:
        """The settings of the terminal: echo, lines, special characters and so on."""
        return termios.tcgetattr(self._child)

    def resize(self, columns: int, rows: int) -> None:
        """Give the window another size; the program is told if it runs."""
        fcntl.ioctl(self._parent, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._parent, text.encode())

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the program."""
        self.process.send_signal(number)

    def read(self, seconds: float = 0.1) -> None:
        """Take what the program has written."""
        while select.select([self._parent], [], [], seconds)[0]:
            try:
                data = os.read(self._parent, 65536)
            except OSError:
                return
            if not data:
                return
            self.output += data.decode("utf-8", "replace")
            seconds = 0.02

    def _wait(self, condition: Callable[[], bool], what: str) -> str:
        """Read until something is so; return the last frame."""
        end = time.monotonic() + SECONDS
        while not condition():
            assert time.monotonic() < end, f"{what} did not come: {self.shown!r}"
            ended = self.process.poll() is not None
            self.read()
            assert condition() or not ended, f"the program ended before {what}: {self.output!r}"
        return self.shown

    def wait_for(self, text: str) -> str:
        """Read until the last frame, or what is written without frames, holds a text."""
        return self._wait(lambda: text in self.shown, repr(text))

    def wait_until_changed(self, before: str) -> str:
        """Read until the last frame is another one."""
        return self._wait(lambda: self.shown != before, "another frame")

    def wait_for_frames(self, count: int) -> str:
        """Read until so many frames were drawn since the start."""
        return self._wait(lambda: self.frames >= count, f"frame {count}")

    def wait_for_output(self, text: str) -> str:
        """Read until a text was written, in a frame or not."""
        return self._wait(lambda: text in self.output, repr(text))

    @property
    def frames(self) -> int:
        """How many frames were drawn."""
        return len(_FRAME.findall(self.output))

    @property
    def shown(self) -> str:
        """The lines of the last frame without colours; all output if there is no frame."""
        frames = _FRAME.findall(self.output)
        return re.sub(r"\r+\n", "\n", STYLES.sub("", frames[-1] if frames else self.output))

    @property
    def frame(self) -> str:
        """The last frame with its colours."""
        return str(_FRAME.findall(self.output)[-1])

    def end(self) -> int:
        """Wait for the end of the program; return its exit status."""
        self._wait(lambda: self.process.poll() is not None, "the end")
        self.read()
        return self.process.returncode

    @property
    def after(self) -> str:
        """What was written after the second screen was left."""
        return self.output.rpartition("\x1b[?1049l")[2]

    def is_restored(self) -> bool:
        """Whether the terminal has its settings again, shows the first screen, and has a cursor."""
        left = self.output.rfind("\x1b[?1049l") > self.output.rfind("\x1b[?1049h")
        cursor = self.output.rfind("\x1b[?25h") > self.output.rfind("\x1b[?25l")
        return left and cursor and self.settings() == self.before


def _control() -> None:
    """Make the pseudo-terminal that of the new session, so that Ctrl-C and Ctrl-Z reach the program."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
