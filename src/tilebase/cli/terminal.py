"""A game by lines: prints the position and its values, and reads commands of the player, one a line."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from tilebase.cli.probe import describe
from tilebase.cli.seat import Seat
from tilebase.errors import BoardError, MissingBoardError
from tilebase.game.notation import split_cells
from tilebase.tables.answers import SlideAnswer

WORDS = {
    "w": "up", "s": "down", "a": "left", "d": "right", "r": "front", "f": "back",
    "\x1b[A": "up", "\x1b[B": "down", "\x1b[D": "left", "\x1b[C": "right",
}  # fmt: skip
HELP = (
    "w a s d or the names of directions slide (r f: front, back); h hint, v show or hide values, "
    "u undo, p play on by the table, n new game, q quit\n"
)
SPAWN_HELP = (
    "the table slides, you spawn: type a cell and a tile, as in 5 4, cells counted from 0 at the top left; "
    "u undo, n new game, q quit\n"
)
NOT_COUNTED = " (not counted, since you knew the values)"


class Screen:
    """The dialogue with the player.

    With `train`, values are not shown.  After each slide the player reads what it lost, and the score.
    """

    def __init__(self, seat: Seat, *, values: bool, train: bool = False) -> None:
        self.seat, self.values, self.train = seat, values and not train, train
        self._commands: dict[str, Callable[[], str]] = {
            "h": self._hint, "hint": self._hint, "v": self._toggle, "u": self._undo, "undo": self._undo,
            "n": self._new, "?": lambda: HELP, "help": lambda: HELP,
        }  # fmt: skip

    def show(self) -> None:
        """Print the position."""
        answer = self.seat.answer()
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
        """Play by the table until the game is over; return whether the table held all positions."""
        self.show()
        while not self.seat.over:
            chosen = self.seat.best()
            if chosen is None:
                return False
            self.seat.slide(chosen)
            time.sleep(delay)
            sys.stdout.write(f"{chosen}\n")
            self.show()
        return True

    def converse(self, delay: float) -> None:
        """Read commands until the end of input or ``q``."""
        sys.stdout.write(HELP + self._how())
        self.show()
        while True:
            sys.stdout.write("> ")
            sys.stdout.flush()
            line = sys.stdin.readline()
            word = line.strip() or ("" if line else "q")
            if word in ("q", "quit"):
                if self.train:
                    sys.stdout.write(f"{self.seat.score.text(self.seat.unit)}\n")
                return
            if word in ("p", "play"):
                self.play_on(delay)
            elif word in self._commands:
                sys.stdout.write(self._commands[word]())
            elif word:
                self._slide(WORDS.get(word, word))

    def converse_as_adversary(self) -> None:
        """Let the table slide and read what the user spawns, until the end of input or ``q``."""
        sys.stdout.write(SPAWN_HELP + self._how())
        self.show()
        while True:
            slid, chosen = self._slide_of_the_table()
            if slid is not None:
                sys.stdout.write(f"the table slides {chosen}:\n{slid.after.unicode()}\n")
            sys.stdout.write("> ")
            sys.stdout.flush()
            line = sys.stdin.readline()
            word = line.strip() or ("" if line else "q")
            if word in ("q", "quit"):
                return
            if word in ("u", "undo", "n"):
                if word != "n" and (self.seat.won or self.seat.last):
                    self.seat.undo()  # the last slide, which the table would make again
                sys.stdout.write(self._commands[word]())
            elif word in ("?", "h", "help"):
                sys.stdout.write(SPAWN_HELP)
            elif slid is None or chosen is None:
                sys.stdout.write("no tile can be spawned: u takes a spawn back, n starts again\n")
            elif word:
                self._spawn(slid, chosen, word)

    def _slide_of_the_table(self) -> tuple[SlideAnswer | None, str | None]:
        """Return what the table's slide leads to; a slide that ends the game is made at once."""
        chosen = None if self.seat.over else self.seat.best()
        if chosen is None:
            if not self.seat.over:
                sys.stdout.write("the table does not know this position\n")
            return None, None
        slid = self.seat.slides[chosen]
        if slid.end:
            self.seat.slide(chosen)
            sys.stdout.write(f"{chosen}\n")
            self.show()
            return None, None
        return slid, chosen

    def _spawn(self, slid: SlideAnswer, direction: str, word: str) -> None:
        before = split_cells(slid.after.text)
        allowed = {
            f"{cell} {tile}": state
            for state, _ in slid.spawns()
            for cell, tile in enumerate(split_cells(state.text))
            if tile != before[cell]
        }
        state = allowed.get(" ".join(word.replace(",", " ").split()))
        if state is None:
            sys.stdout.write(
                f"{word} is not allowed here; type a cell and a tile, as {', '.join(sorted(allowed)[:6])}\n"
            )
            return
        self.seat.slide(direction, state)
        self.show()

    def _how(self) -> str:
        return f"{self.seat.how}\n" if self.seat.how else ""

    def _slide(self, direction: str) -> None:
        self.seat.seen |= self.values
        try:
            moved = self.seat.slide(direction, own=True)
        except (BoardError, MissingBoardError) as error:
            sys.stdout.write(f"{error}\n")
            return
        if moved:
            if self.train or self.values:
                self._tell()
            self.show()
        else:
            allowed = ", ".join(self.seat.slides) or "none: u takes a slide back, n starts again"
            sys.stdout.write(f"{self.seat.refusal(direction)}; allowed: {allowed}\n")

    def _tell(self) -> None:
        """Print what the last slide lost, and the score of a training."""
        assert self.seat.made is not None
        not_counted = NOT_COUNTED if self.train and self.seat.made.seen else ""
        sys.stdout.write(f"{self.seat.made.text(self.seat.unit)}{not_counted}\n")
        if self.train:
            sys.stdout.write(f"{self.seat.score.text(self.seat.unit)}\n")

    def _hint(self) -> str:
        self.seat.seen = True
        answer = self.seat.answer()
        return f"best: {' or '.join(answer.best) or 'none'}\n" if answer else "the table does not know\n"

    def _toggle(self) -> str:
        self.values = not self.values
        self.seat.seen |= self.values
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
