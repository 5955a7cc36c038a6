"""A game in the terminal: shows the position and its values, and reads commands of the player."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from fractions import Fraction

from tilebase.cli.probe import describe
from tilebase.errors import BoardError, MissingBoardError
from tilebase.game.board import Board
from tilebase.game.game import Cells
from tilebase.objectives.values import sort_key
from tilebase.tables.large_tiles import read_tiles
from tilebase.tables.probe import Answer, Table

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
WON, ENDED = "won", "ended"


class Seat:
    """A game in progress: the position, and those before it.

    With `worst` each spawn is the one that leaves the player worst off, else it is random.
    """

    def __init__(
        self,
        table: Table,
        objective: str | None,
        rng: random.Random,
        start: str | None,
        *,
        worst: bool = False,
    ) -> None:
        self.table, self.objective, self.rng, self.worst = table, objective, rng, worst
        self._start = start
        self.history: list[Board] = []
        self.last = ""  # how the last slide ended the game: won, or at the horizon
        self.how = ""  # how the start board was read
        self.board = self.begin()

    def begin(self) -> Board:
        """A new game."""
        self.history, self.last = [], ""
        if self._start is not None:
            self.board, self.how = _first_board(self.table, self._start, self.objective)
        else:
            self.board = self._choose(self.table.game.starts())
        return self.board

    def _choose(self, boards: Sequence[tuple[Cells, Fraction]]) -> Board:
        """One of some boards: at random with their probabilities, or the worst one for the player."""
        found = [Board(self.table.game, cells) for cells, _ in boards]
        if not self.worst:
            return self.rng.choices(found, [float(p) for _, p in boards])[0]
        worths = [self._worth(board) for board in found]
        return self.rng.choice(
            [board for board, worth in zip(found, worths, strict=True) if worth == min(worths)]
        )

    def _worth(self, board: Board) -> float:
        """The value of a position for the adversary's choice; infinite if it is won or not in the table."""
        if board.won:
            return float("inf")
        answer: Answer | None = self.table.get(board, None, self.objective)
        return float("inf") if answer is None else sort_key(answer.value)

    def answer(self) -> Answer | None:
        """The result of probing the position; None if the table does not hold it."""
        if self.won or self.last:
            return None
        found: Answer | None = self.table.get(self.board, None, self.objective)
        return found

    @property
    def slides(self) -> dict[str, Board]:
        """The slides that the player may make."""
        return {} if self.last else self.board.slides()

    @property
    def won(self) -> bool:
        """Whether the game is won."""
        return self.last == WON or self.board.won

    def slide(self, direction: str, spawned: Board | None = None) -> bool:
        """Slide, and spawn a tile, or continue with the given state; return whether the slide is allowed."""
        after = self.slides.get(direction)
        if after is None:
            return False
        self.history.append(self.board)
        self.last = self.end_after(after)
        if self.last:
            self.board = after
        else:
            self.board = spawned or self._choose(self.table.game.spawns(after.cells))
        return True

    def end_after(self, after: Board) -> str:
        """How a slide ends the game: `WON`, `ENDED` at the horizon, or empty if it goes on."""
        game = self.table.game
        return WON if game.wins(after.cells) else ENDED if game.ended(after.sum) else ""

    def best(self) -> str | None:
        """The slide that the table makes: a winning one if there is one; None if it does not know any."""
        answer = self.answer()
        if answer is None or not answer.best:
            return None
        wins = [slide.direction for slide in answer.slides if slide.wins]
        return next((direction for direction in answer.best if direction in wins), answer.best[0])

    def undo(self) -> bool:
        """Undo a slide; return whether there was one."""
        if not self.history:
            return False
        self.board, self.last = self.history.pop(), ""
        return True

    @property
    def over(self) -> str:
        """How the game ended; empty while it continues."""
        made = len(self.history)
        slides = "1 slide" if made == 1 else f"{made} slides"
        if self.won:
            return f"won after {slides}"
        if self.last == ENDED:
            return f"not won after {slides}: the game ends at the sum {self.table.game.horizon}"
        return "" if self.slides else f"no slide is left after {slides}"


def _first_board(table: Table, start: str, objective: str | None) -> tuple[Board, str]:
    """The board to begin with, and how it was read if it is one with real tiles."""
    if not table.game.unmergeable or table.game.fixed or read_tiles(table.game, start) is None:
        return table.read(start), ""
    found = table.probe_real(start, objective)
    return found.answer.board, f"your board was {found.how}, which are written x\n"


class Screen:
    """The dialogue with the player."""

    def __init__(self, seat: Seat, *, values: bool) -> None:
        self.seat, self.values = seat, values
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
        sys.stdout.write(HELP + self.seat.how)
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

    def converse_as_adversary(self) -> None:
        """Let the table slide and read what the user spawns, until the end of input or ``q``."""
        sys.stdout.write(SPAWN_HELP + self.seat.how)
        self.show()
        while True:
            after, chosen = self._slide_of_the_table()
            if after is not None:
                sys.stdout.write(f"the table slides {chosen}:\n{after.unicode()}\n")
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
            elif after is None or chosen is None:
                sys.stdout.write("no tile can be spawned: u takes a spawn back, n begins anew\n")
            elif word:
                self._spawn(after, chosen, word)

    def _slide_of_the_table(self) -> tuple[Board | None, str | None]:
        """The afterstate for the next spawn; a slide that ends the game is made at once."""
        chosen = None if self.seat.over else self.seat.best()
        if chosen is None:
            if not self.seat.over:
                sys.stdout.write("the table does not know this position\n")
            return None, None
        after = self.seat.slides[chosen]
        if self.seat.end_after(after):
            self.seat.slide(chosen)
            sys.stdout.write(f"{chosen}\n")
            self.show()
            return None, None
        return after, chosen

    def _spawn(self, after: Board, direction: str, word: str) -> None:
        game = self.seat.table.game
        allowed = {
            f"{cell} {2 ** board[cell]}": board
            for board, _ in game.spawns(after.cells)
            for cell in range(game.cells)
            if board[cell] != after.cells[cell]
        }
        board = allowed.get(" ".join(word.replace(",", " ").split()))
        if board is None:
            sys.stdout.write(
                f"{word} is not allowed here; type a cell and a tile, as {', '.join(sorted(allowed)[:6])}\n"
            )
            return
        self.seat.slide(direction, Board(game, board))
        self.show()

    def _slide(self, direction: str) -> None:
        try:
            moved = self.seat.slide(direction)
        except (BoardError, MissingBoardError) as error:
            sys.stdout.write(f"{error}\n")
            return
        if moved:
            self.show()
        else:
            allowed = ", ".join(self.seat.slides) or "none: u takes a slide back, n begins anew"
            sys.stdout.write(f"{direction} is not allowed here; allowed: {allowed}\n")

    def _hint(self) -> str:
        answer = self.seat.answer()
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
