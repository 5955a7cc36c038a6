"""A game in progress: the position, those before it, and what slides lost.  It prints nothing."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from tilebase.game.board import Board
from tilebase.game.notation import exponent_of, split_cells
from tilebase.game.records import Move, saved_game
from tilebase.objectives.numbers import MISTAKE_TEXT, Unit, loss_text, share_text
from tilebase.objectives.values import short_text
from tilebase.questions.review import Review, ReviewedMove
from tilebase.runtime.documents import to_json
from tilebase.tables import playing
from tilebase.tables.answers import ENDED, WON, Answer, SlideAnswer, slides_by_rules
from tilebase.tables.probe import Table
from tilebase.tables.real_boards import AnyBoard


class Seat:
    """A game in progress.

    With `worst` each spawn is the one that leaves the player worst off, else it is random.  A game that
    begins with a real board keeps the numbers of all tiles, and is not rotated.
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
        self.history: list[AnyBoard] = []  # the positions before `board`
        self.moves: list[Move] = []  # the slides with their spawns that were made in these
        self.last = ""  # how the last slide ended the game: `WON`, `ENDED` at the horizon, or empty
        self.made: ReviewedMove | None = None  # the last slide; None without one, and if it was taken back
        self.made_seen = False  # whether the player knew the values before that slide
        self.seen = False  # whether the player knows the values of the position, or what is best in it
        self.how = ""  # which tiles of a real board are large, as a sentence; empty for other boards
        # The slides of the player over all games whose losses are known, but for those in `seen` positions.
        self.judged: list[ReviewedMove] = []
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
        return playing.choose_state(self.table, states, self.rng, worst=self.worst, objective=self.objective)

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
        made = ReviewedMove(len(self.history) + 1, self.board.text, (direction,))
        if answer is not None:
            slide = answer.slide(direction)
            worth = None if slide is None else slide.value
            made = replace(
                made, best=answer.best, value=answer.value, slide_value=worth, loss=answer.loss(direction)
            )
        last, self.made_seen = slid.end, self.seen
        following = slid.after if last else self._choose(slid.spawns())
        self.history.append(self.board)
        self.moves.append(Move(direction) if last else _move(direction, slid.after, following))
        self.board, self.last, self.made, self.seen = following, last, made, False
        if own and made.loss is not None and not self.made_seen:
            self.judged.append(made)
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
    def verdict(self) -> str:
        """What the last slide lost, in words: ``left lost 1.3 %: right was best``; empty without one."""
        made, unit = self.made, self.unit
        if made is None:
            return ""
        (slide,) = made.slides
        if made.loss is None:
            return f"{slide}: the table does not know what it lost"
        if made.agreed:
            return f"{slide} was best"
        lost = f"{slide} lost {loss_text(made.loss, unit, made.of)}: {' or '.join(made.best)} was best"
        values = [short_text(one, unit) for one in (made.slide_value, made.value) if one is not None]
        if unit == "yes-no" or len(set(values)) < 2:
            return lost
        return f"{lost}, {values[0]} instead of {values[1]}"

    @property
    def score(self) -> str:
        """How well the player slides, in one line."""
        return score_text(self.judged, self.unit)

    @property
    def over(self) -> str:
        """How the game ended; empty while it continues."""
        slides = self.slides_made
        if self.won:
            return f"won after {slides}"
        if self.last == ENDED:
            return f"not won after {slides}: the game ends at the sum {self.table.game.horizon}"
        return "" if self.slides else f"no slide is left after {slides}"


def score_text(judged: Sequence[ReviewedMove], unit: Unit) -> str:
    """Return in one line how well a player slides who made these moves."""
    found = Review("", "", unit, tuple(judged))
    if found.agreement is None or found.mean_loss is None:
        return "no slide was counted yet"
    text = f"{found.agreed:,} of {found.reviewed:,} slides best ({share_text(found.agreement)})"
    longest = f"longest run {found.longest_run:,}"
    if unit == "yes-no":
        return f"{text}, forced wins lost: {found.total_loss:.0f}, {longest}"
    mean = f", {loss_text(found.mean_loss, unit, found.of)} a slide" if found.total_loss else ""
    lost = loss_text(found.total_loss, unit, found.of)
    return f"{text}, mistakes ({MISTAKE_TEXT}): {found.mistakes:,}, lost {lost}{mean}, {longest}"


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
