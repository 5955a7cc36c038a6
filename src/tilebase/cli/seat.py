"""A game in progress: the position, those before it, and what slides lost.  It prints nothing."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from tilebase.game.board import Board
from tilebase.game.notation import exponent_of, split_cells
from tilebase.game.records import Move, saved_game
from tilebase.objectives.numbers import MISTAKE_TEXT, Unit, is_mistake, loss_text, share_text
from tilebase.objectives.values import Found, short_text
from tilebase.questions.review import longest_run
from tilebase.runtime.documents import to_json
from tilebase.tables import playing
from tilebase.tables.answers import ENDED, WON, Answer, SlideAnswer, slides_by_rules
from tilebase.tables.probe import Table
from tilebase.tables.real_boards import AnyBoard


@dataclass(frozen=True)
class Made:
    """A slide that was made: what the table said of the position, and what the slide lost.

    `loss` is None if the table does not know it; see `Answer.loss`.  `seen` says whether the
    player knew the values before.
    """

    direction: str
    answer: Answer | None
    loss: float | None
    seen: bool = False

    @property
    def agreed(self) -> bool:
        """Whether it was one of the best slides."""
        return self.answer is not None and self.direction in self.answer.best

    @property
    def of(self) -> float:
        """The size of the value from which something was lost."""
        return 0.0 if self.answer is None else self.answer.size

    @property
    def value(self) -> Found | None:
        """What the slide was worth; None if not known."""
        slide = None if self.answer is None else self.answer.slide(self.direction)
        return None if slide is None else slide.value

    def text(self, unit: Unit) -> str:
        """Return what the slide lost, in words: ``left lost 1.3 %: right was best``."""
        if self.loss is None:
            return f"{self.direction}: the table does not know what it lost"
        assert self.answer is not None
        if self.agreed:
            return f"{self.direction} was best"
        best = f"{' or '.join(self.answer.best)} was best"
        lost = f"{self.direction} lost {loss_text(self.loss, unit, self.of)}: {best}"
        values = [short_text(one, unit) for one in (self.value, self.answer.value) if one is not None]
        if unit == "yes-no" or len(set(values)) < 2:
            return lost
        return f"{lost}, {values[0]} instead of {values[1]}"


@dataclass
class Score:
    """How well a player slides: what each slide lost whose loss is known, and of which value."""

    losses: list[float] = field(default_factory=list)
    of: list[float] = field(default_factory=list)
    agreed: list[bool] = field(default_factory=list)

    def add(self, made: Made) -> None:
        """Count a slide, if the table knows what it lost and the player did not see the values."""
        if made.loss is not None and not made.seen:
            self.losses.append(made.loss)
            self.of.append(made.of)
            self.agreed.append(made.agreed)

    def text(self, unit: Unit) -> str:
        """Return the score in one line."""
        count = len(self.losses)
        if not count:
            return "no slide was counted yet"
        agreed = f"{sum(self.agreed):,} of {count:,} slides best ({share_text(sum(self.agreed) / count)})"
        longest = f"longest run {longest_run(self.agreed):,}"
        total, most = sum(self.losses), max(self.of)
        if unit == "yes-no":
            return f"{agreed}, forced wins lost: {total:.0f}, {longest}"
        mistakes = sum(is_mistake(loss, of) for loss, of in zip(self.losses, self.of, strict=True))
        mean = f", {loss_text(total / count, unit, most)} a slide" if total else ""
        return (
            f"{agreed}, mistakes ({MISTAKE_TEXT}): {mistakes:,}, "
            f"lost {loss_text(total, unit, most)}{mean}, {longest}"
        )


class Seat:
    """A game in progress.

    With `worst` each spawn is the one that leaves the player worst off, else it is random.

    Attributes
    ----------
    board, history, moves:
        The position, those before it, and the slides with their spawns that were made in these.  A game that
        begins with a real board keeps the numbers of all tiles, and is not rotated.
    last:
        How the last slide ended the game: `WON`, `ENDED` at the horizon, or empty.
    made:
        The last slide; None at the start, and after one was taken back.
    how:
        Which tiles of a real board are large, as a sentence; empty for other boards.
    seen:
        Whether the player has seen the values of the position, or has been told what was best in it.
    score:
        How well the player slides, over all games.  Slides that the table makes do not count, nor those in
        positions that were `seen`.
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
        # A stream of its own: the spawns do not depend on whether the table was asked.
        self._ties = random.Random(repr(rng.getstate()))
        self.unit: Unit = table.unit(objective)
        self._start = start
        # The board, what the table says of it, and the slide that the table makes there.
        self._known: tuple[AnyBoard, Answer | None, str | None] | None = None
        self.history: list[AnyBoard] = []
        self.moves: list[Move] = []
        self.last = ""
        self.made: Made | None = None
        self.how = ""
        self.seen = False
        self.score = Score()
        self.board: AnyBoard = self.begin()

    def begin(self) -> AnyBoard:
        """Begin a new game."""
        self.history, self.moves, self.last, self.made, self.seen = [], [], "", None, False
        if self._start is not None:
            self.board, self.how = _first_board(self.table, self._start, self.objective)
        else:
            self.board = self._choose(self.table.start_states())
        return self.board

    def _choose(self, states: Sequence[tuple[AnyBoard, Fraction]]) -> AnyBoard:
        """Return one of the states that a spawn makes."""
        chosen: AnyBoard = playing.choose_state(
            self.table, states, self.rng, worst=self.worst, objective=self.objective
        )
        return chosen

    def answer(self) -> Answer | None:
        """Return the result of probing the position; None if the table does not hold it."""
        if self.won or self.last:
            return None
        if self._known is None or self._known[0] != self.board:
            found = self.table.get(self.board, None, self.objective)
            self._known = self.board, found, None if found is None else found.draw(self._ties)
        return self._known[1]

    @property
    def slides(self) -> dict[str, SlideAnswer]:
        """The slides that the player may make, without values."""
        return {} if self.last else {one.direction: one for one in slides_by_rules(self.board)}

    def refusal(self, direction: str) -> str:
        """Return why a slide is not allowed: ``left moves nothing``."""
        why = {} if self.won or self.last else self.board.refusals()
        return f"{direction} {why.get(direction, 'is not allowed here')}"

    @property
    def won(self) -> bool:
        """Whether the game is won."""
        return self.last == WON or self.board.won

    def slide(self, direction: str, *, own: bool = False) -> bool:
        """Slide, and spawn a tile; return whether the slide is allowed.

        `own`: the player made the slide, so it adds to the score.
        """
        slid = self.slides.get(direction)
        if slid is None:
            return False
        answer = self.answer()
        loss = None if answer is None else answer.loss(direction)
        made = Made(direction, answer, loss, self.seen)
        last = slid.end
        following = slid.after if last else self._choose(slid.spawns())
        self.history.append(self.board)
        self.moves.append(Move(direction) if last else _move(direction, slid.after, following))
        self.board, self.last, self.made, self.seen = following, last, made, False
        if own:
            self.score.add(made)
        return True

    def best(self) -> str | None:
        """Return the slide that the table makes in the position; None if it does not know any."""
        return self._known[2] if self.answer() is not None and self._known is not None else None

    def undo(self) -> bool:
        """Undo a slide; return whether there was one."""
        if not self.history:
            return False
        self.moves.pop()
        self.board, self.last, self.made, self.seen = self.history.pop(), "", None, True
        return True

    def saved(self) -> str:
        """Return the game as `parse_game` reads it: a saved game, whose slides were not taken back."""
        start = (self.history or [self.board])[0]
        return to_json(saved_game(self.table.game, start.text, self.moves)) + "\n"

    @property
    def slides_made(self) -> str:
        """How many slides were made, in words."""
        return "1 slide" if len(self.history) == 1 else f"{len(self.history)} slides"

    @property
    def over(self) -> str:
        """How the game ended; empty while it continues."""
        slides = self.slides_made
        if self.won:
            return f"won after {slides}"
        if self.last == ENDED:
            return f"not won after {slides}: the game ends at the sum {self.table.game.horizon}"
        return "" if self.slides else f"no slide is left after {slides}"


def _move(direction: str, after: AnyBoard, following: AnyBoard) -> Move:
    """Return the slide with the spawn after it."""
    before, then = split_cells(after.text), split_cells(following.text)
    cell = next(cell for cell, tile in enumerate(then) if tile != before[cell])
    return Move(direction, cell, exponent_of(int(then[cell])))


def _first_board(table: Table, start: str, objective: str | None) -> tuple[AnyBoard, str]:
    """Return the board to begin with, and which of its tiles are large if it is one with real tiles."""
    board = table.read(start)
    if isinstance(board, Board):
        return board, ""
    found = table.probe(board, objective)
    tiles = ", ".join(map(str, sorted(found.large_tiles)))
    return found.board, f"the table never merges the large tile{'s' * (len(found.large_tiles) > 1)} {tiles}"
