"""A dialogue about a game in progress: what each word of the player does, by keys or by lines.

`Dialogue` is the one loop.  A `Reader` shows the position and gives the next word: `Lines` prints and reads
lines; `live.Window` redraws a terminal and reads keys.
"""

from __future__ import annotations

import sys
import time
from typing import Protocol

from tilebase.cli.probe import describe
from tilebase.cli.seat import Seat
from tilebase.errors import BoardError, MissingBoardError

RESIZED, ENDED = "resized", "end of input"
"""Words that a reader gives if the window has another size or the program continues, and at the end."""
DIRECTIONS = {
    "w": "up", "s": "down", "a": "left", "d": "right", "r": "front", "f": "back",
    "\x1b[A": "up", "\x1b[B": "down", "\x1b[D": "left", "\x1b[C": "right",
}  # fmt: skip
"""Words for slides beside the names of directions."""
UNKNOWN = "the table does not know this position"
NOT_COUNTED = "not counted, since you knew the values"


class Reader(Protocol):
    """Shows a dialogue and reads words: `Lines` and `live.Window`.

    `help` says which words slide and what shows values; {} stands for the words of a box.
    """

    help: str

    def show(self, dialogue: Dialogue) -> None:
        """Show what has changed."""

    def read(self, *, playing: bool) -> str:
        """Return the next word: empty for none, `RESIZED` to be shown again, `ENDED` at the end of input.

        While the table is `playing`, an empty word lets it slide, and any other one stops it.
        """


class Dialogue:
    """The dialogue with the player.

    With `train`, values are hidden.  After each slide the player reads what it lost, and the score.
    """

    def __init__(self, seat: Seat, reader: Reader, *, values: bool, train: bool = False) -> None:
        self.seat, self.reader, self.train = seat, reader, train
        self.values, self.digits = values and not train, False  # whether they are shown, with all digits
        self.playing = False  # whether the table plays
        self.changed, self.slid = True, False  # whether the position or its values changed, and by a slide
        self.message = seat.how  # what the last word did; empty if the position says it

    @property
    def help(self) -> str:
        """What the words of the player do."""
        box = ", r front, f back" * (len(self.seat.table.game.shape) == 3)
        return f"{self.reader.help.format(box)}, u undo, p the table plays, n new game, q quit"

    def converse(self) -> None:
        """React to words until ``q`` or the end of input."""
        while True:
            self._show()
            word = self.reader.read(playing=self.playing)
            if word in ("q", "quit", ENDED):
                return
            if word != RESIZED:
                self._react(word)

    def watch(self) -> bool:
        """Let the table play until the game is over; return whether it held all positions."""
        self._show()
        while not self.seat.over:
            self.reader.read(playing=True)
            if not self._go_on():
                return False
            self._show()
        return True

    def _show(self) -> None:
        self.seat.seen |= self.values
        self.reader.show(self)

    def _react(self, word: str) -> None:
        seat = self.seat
        self.message, self.changed, self.slid = "", False, False
        if self.playing:
            self.playing = not word and self._go_on() and not seat.over
            return
        match word:
            case "h" | "hint":
                seat.seen, answer = True, seat.answer()
                self.message = UNKNOWN if answer is None else f"best: {' or '.join(answer.best) or 'none'}"
            case "v":
                self.values, self.changed = not self.values, True
            case "x":
                self.digits, self.changed = not self.digits, True
            case "u" | "undo":
                self.changed = seat.undo()
                self.message = "" if self.changed else "nothing to take back"
            case "n":
                seat.begin()
                self.message, self.changed = seat.how, True
            case "p" | "play":
                self.playing, self.message = not seat.over, seat.over
            case "?" | "help":
                self.message = self.help
            case _ if word:
                self._slide(DIRECTIONS.get(word, word))

    def _slide(self, direction: str) -> None:
        try:
            moved = self.seat.slide(direction, own=True)
        except (BoardError, MissingBoardError) as error:
            self.message = str(error)
            return
        self.changed = self.slid = moved
        if not moved:
            allowed = ", ".join(self.seat.slides) or "none: u takes a slide back, n starts again"
            self.message = f"{self.seat.refusal(direction)}; allowed: {allowed}"
        elif self.seat.made is not None and self.train and self.seat.made_seen:
            self.message = NOT_COUNTED

    def _go_on(self) -> bool:
        """Make the slide of the table; return whether it knows one."""
        chosen = self.seat.best()
        if chosen is None:
            self.message = UNKNOWN
            return False
        self.changed, self.message = self.seat.slide(chosen), ""
        return True


class Lines:
    """Prints the position and its values whenever they change, and reads a word a line."""

    help = "w a s d or the names of directions{} slide; h hint, v values"

    def __init__(self, delay: float) -> None:
        self._delay = delay

    def show(self, dialogue: Dialogue) -> None:
        """Print what the last word did, and the position if it changed."""
        seat, made = dialogue.seat, dialogue.seat.made
        lines = [dialogue.message] if dialogue.message else []
        if dialogue.slid and made is not None and (dialogue.train or dialogue.values):
            lines.insert(0, seat.verdict)
            lines += [seat.score] if dialogue.train else []
        elif dialogue.changed and made is not None and not dialogue.slid:
            lines += made.slides
        if dialogue.changed:
            lines.append(self._position(dialogue))
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()

    def _position(self, dialogue: Dialogue) -> str:
        seat, answer = dialogue.seat, dialogue.seat.answer()
        shown = (
            describe(answer).rstrip("\n") if answer is not None and dialogue.values else seat.board.unicode()
        )
        missing = "the table does not hold this position" if answer is None and not seat.over else ""
        return "\n".join(filter(None, (shown, missing, seat.over)))

    def read(self, *, playing: bool) -> str:
        """Return the next line; while the table plays, wait for the time between two slides."""
        if playing:
            time.sleep(self._delay)
            return ""
        sys.stdout.write("> ")
        sys.stdout.flush()
        line = sys.stdin.readline()
        return line.strip() if line else ENDED
