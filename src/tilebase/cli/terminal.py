"""A game in the terminal: the position, what the table knows of it, and what the player types."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable

from tilebase.board import Board
from tilebase.cli.probe import describe
from tilebase.errors import BoardError, MissingBoardError
from tilebase.tables.probe import Answer, Table

WORDS = {
    "w": "up", "s": "down", "a": "left", "d": "right", "r": "front", "f": "back",
    "\x1b[A": "up", "\x1b[B": "down", "\x1b[D": "left", "\x1b[C": "right",
}  # fmt: skip
HELP = (
    "w a s d or the names of directions slide (r f: front, back); h hint, v show or hide values, "
    "u undo, p play on by the table, n new game, q quit\n"
)


class Seat:
    """A game in progress: the position, and those before it."""

    def __init__(self, table: Table, objective: str | None, rng: random.Random, start: str | None) -> None:
        self.table, self.objective, self.rng = table, objective, rng
        self._start = start
        self.history: list[Board] = []
        self.board = self.begin()

    def begin(self) -> Board:
        """A new game."""
        self.history = []
        if self._start is not None:
            self.board = self.table.read(self._start)
        else:
            boards, chances = zip(*self.table.game.starts(), strict=True)
            cells = self.rng.choices(boards, [float(p) for p in chances])[0]
            self.board = Board(self.table.game, cells)
        return self.board

    def answer(self) -> Answer | None:
        """What the table knows; None if it does not hold the position."""
        found: Answer | None = self.table.get(self.board, None, self.objective)
        return found

    def slide(self, direction: str) -> bool:
        """Slide, and let a tile be spawned; whether that was allowed."""
        after = self.board.slides().get(direction)
        if after is None:
            return False
        self.history.append(self.board)
        if after.won:
            self.board = after
            return True
        boards, chances = zip(*self.table.game.spawns(after.cells), strict=True)
        self.board = Board(self.table.game, self.rng.choices(boards, [float(p) for p in chances])[0])
        return True

    def undo(self) -> bool:
        """Take a slide back; whether there was one."""
        if not self.history:
            return False
        self.board = self.history.pop()
        return True

    @property
    def over(self) -> str:
        """How the game ended; empty while it goes on."""
        if self.board.won:
            return f"won after {len(self.history)} slides"
        return "" if self.board.slides() else f"no slide is left after {len(self.history)} slides"


class Screen:
    """What the player sees and types."""

    def __init__(self, seat: Seat, *, values: bool) -> None:
        self.seat, self.values = seat, values
        self._commands: dict[str, Callable[[], str]] = {
            "h": self._hint, "hint": self._hint, "v": self._toggle, "u": self._undo, "undo": self._undo,
            "n": self._new, "?": lambda: HELP, "help": lambda: HELP,
        }  # fmt: skip

    def show(self) -> None:
        """Print the position."""
        answer = None if self.seat.board.won else self.seat.answer()
        if answer is not None and self.values:
            sys.stdout.write(describe(answer))
        else:
            sys.stdout.write(self.seat.board.unicode() + "\n")
        if answer is None and not self.seat.over:
            sys.stdout.write("the table does not hold this position\n")
        if self.seat.over:
            sys.stdout.write(self.seat.over + "\n")
        sys.stdout.flush()

    def play_on(self, delay: float) -> bool:
        """Play by the table until the game is over; whether the table knew all positions."""
        self.show()
        while not self.seat.over:
            answer = self.seat.answer()
            if answer is None or not answer.best:
                return False
            wins = [slide.direction for slide in answer.slides if slide.wins]
            chosen = next((direction for direction in answer.best if direction in wins), answer.best[0])
            self.seat.slide(chosen)
            time.sleep(delay)
            sys.stdout.write(f"{chosen}\n")
            self.show()
        return True

    def converse(self, delay: float) -> None:
        """Read commands until the end of input or ``q``."""
        sys.stdout.write(HELP)
        self.show()
        while True:
            sys.stdout.write("> ")
            sys.stdout.flush()
            line = sys.stdin.readline()
            word = line.strip() or ("" if line else "q")
            if word in ("q", "quit"):
                return
            if word in ("p", "play"):
                self.play_on(delay)
            elif word in self._commands:
                sys.stdout.write(self._commands[word]())
            elif word:
                self._slide(WORDS.get(word, word))

    def _slide(self, direction: str) -> None:
        try:
            moved = self.seat.slide(direction)
        except (BoardError, MissingBoardError) as error:
            sys.stdout.write(f"{error}\n")
            return
        if moved:
            self.show()
        else:
            allowed = ", ".join(self.seat.board.slides()) or "none: u takes a slide back, n begins anew"
            sys.stdout.write(f"{direction} is not allowed here; allowed: {allowed}\n")

    def _hint(self) -> str:
        answer = None if self.seat.board.won else self.seat.answer()
        return f"best: {' or '.join(answer.best) or 'none'}\n" if answer else "the table does not know\n"

    def _toggle(self) -> str:
        self.values = not self.values
        self.show()
        return ""

    def _undo(self) -> str:
        if not self.seat.undo():
            return "nothing to take back\n"
        self.show()
        return ""

    def _new(self) -> str:
        self.seat.begin()
        self.show()
        return ""
