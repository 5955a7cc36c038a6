"""What can be asked: tables, winning sets and certificates have the members of `Solved`.

Whoever asks about boards of a solved game calls these members, and does not look which of the three it is.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar, Self, TypeAlias, TypeVar, overload

import numpy.typing as npt

from tilebase.errors import MissingBoardError, UsageError
from tilebase.files.source import Closing, Location, open_location
from tilebase.game.board import Board
from tilebase.game.game import Game
from tilebase.objectives.numbers import Unit
from tilebase.objectives.values import Exact, Unknown, Value, value_document
from tilebase.tables.answers import Answer
from tilebase.tables.real_boards import AnyBoard, RealBoard

BoardLike: TypeAlias = Board | RealBoard | str | int | npt.ArrayLike
"""What `Board.read` reads, and boards with real tiles."""
Default = TypeVar("Default")
WINNING = "won"
"""The label of the only objective of `Verdicts`."""


class Solved(Closing):
    """A solved game that can be asked: a table, a winning set or a certificate."""

    kind: ClassVar[str]  # which of these it is, in words
    name: str  # of its folder or file
    game: Game  # that was solved

    def __deepcopy__(self, _memo: Any) -> Self:
        return self  # nothing changes it, and threads may share it

    @abstractmethod
    def probe(self, board: BoardLike, objective: str | None = None) -> Answer:
        """Return the value of a position, and of each of its slides.

        Raises `MissingBoardError` if nothing is known of it, `UsageError` if there is no such objective.
        """

    @abstractmethod
    def probe_after(self, board: BoardLike, objective: str | None = None) -> Answer:
        """Return the value of a board after a slide, before the next spawn.  Raises as `probe`."""

    @abstractmethod
    def start_value(self, objective: str | None = None) -> Value | Unknown:
        """Return the value of the start.  Raises `UsageError` if there is no such objective."""

    @abstractmethod
    def meaning(self, objective: str | None = None) -> str:
        """Return what values mean, in words.  Raises as `start_value`."""

    @abstractmethod
    def unit(self, objective: str | None = None) -> Unit:
        """Return what values count.  Raises as `start_value`."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Return what it holds, as plain JSON values: objectives, values of the start, how many boards."""

    def read(self, board: BoardLike) -> AnyBoard:
        """Return the board of any form that `Board.read` accepts.  Raises `BoardError`."""
        return Board.read(self.game, board)

    @overload
    def get(self, board: BoardLike, default: None = None, objective: str | None = None) -> Answer | None: ...
    @overload
    def get(self, board: BoardLike, default: Default, objective: str | None = None) -> Answer | Default: ...
    def get(self, board: BoardLike, default: Any = None, objective: str | None = None) -> Any:
        """As `probe`, but `default` where nothing is known of the board."""
        try:
            return self.probe(board, objective)
        except MissingBoardError:
            return default

    def start_states(self) -> list[tuple[Board, Fraction]]:
        """Return the states that play begins with, and their probabilities."""
        return [(Board(self.game, cells), p) for cells, p in self.game.starts()]

    def named_spawn(self, _after: Board, /) -> Board | None:
        """Return the state after the spawn that a certificate names for the adversary; None without one."""
        return None


Stored = TypeVar("Stored", bound=Solved)


def opened_again(what: Callable[[Location, Any], Stored], where: str, manifest: Any) -> Stored:
    """Return a table or winning set that was pickled.  Files of another one do not fit its manifest."""
    return what(open_location(where), manifest)


class Verdicts(Solved):
    """What says whether one side wins, and has no objectives.

    ``len`` is the number of its `states`; above 2^63 - 1, Python raises `OverflowError` instead.
    """

    states: int  # how many it lists
    value: Exact | Unknown  # whether the side wins from the start
    text: str  # what a value means, in words

    def __len__(self) -> int:
        return self.states

    def __bool__(self) -> bool:
        return True  # one without states can be asked, too

    def start_value(self, objective: str | None = None) -> Exact | Unknown:
        """As `value`."""
        self.check_objective(objective)
        return self.value

    def meaning(self, objective: str | None = None) -> str:
        """As `text`."""
        self.check_objective(objective)
        return self.text

    def unit(self, objective: str | None = None) -> Unit:
        """As `Solved.unit`."""
        self.check_objective(objective)
        return "yes-no"

    def check_objective(self, objective: str | None) -> None:
        """Raise `UsageError` if an objective is named, but for `WINNING`."""
        if objective not in (None, WINNING):
            raise UsageError(f"{self.name} is a {self.kind} and has no objectives: leave {objective} out")

    def facts(self) -> dict[str, Any]:
        """As `Solved.facts`."""
        return {
            "adversary": True,
            "objectives": [{"label": WINNING, "text": self.text, "type": "bit", "unit": self.unit()}],
            "start": {WINNING: value_document(self.value, self.unit())},
            "positions": self.states,
            "layers": None,
            "sums": None,
            "thinned": None,
            "space": "reachable",
        }
