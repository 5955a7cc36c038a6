"""Probing a winning set: whether one side wins from a position, and after which slides.

`tilebase force diagrams -o` writes such sets (`files.winning`).  This loads neither the library
for decision diagrams nor Numba.  Objects here are safe to share between threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tilebase.errors import CorruptError, MissingBoardError, UsageError
from tilebase.files.manifest import read_manifest
from tilebase.files.source import Location, address
from tilebase.files.winning import AFTERSTATES, STATES, StoredSet, WinningManifest
from tilebase.game.board import Board
from tilebase.game.game import Cells
from tilebase.objectives.values import Exact, Found, Unknown
from tilebase.tables.answers import Answer, SlideAnswer
from tilebase.tables.slides import Slider
from tilebase.tables.solved import Verdicts, opened_again


@dataclass(frozen=True)
class Fillings:
    """The boards that hold a pattern, with the player to move."""

    boards: int  # how many there are
    won: int  # how many of them are in the set
    lost: Cells | None  # one that is not in the set; None if all are
    # The least sum of these boards, if the set was not computed to the sum of the pattern.
    least: int | None = None


class WinningSet(Verdicts):
    """All boards from which one side wins, from `open_winning_set`.

    Attributes
    ----------
    manifest:
        The contents of the set.
    stored:
        Its diagrams.
    name, game:
        The name of its folder or file, and the game that was solved.
    states, afterstates:
        The numbers of states and of afterstates in the set.
    text:
        What a value means, in words.
    value:
        Whether the side wins from the start.
    """

    kind = "winning set"

    def __init__(self, location: Location, manifest: WinningManifest) -> None:
        self.location, self.manifest = location, manifest
        self.name, self.game, self.text = location.name, manifest.game, manifest.meaning
        self.states, self.afterstates = manifest.total(STATES), manifest.total(AFTERSTATES)
        self.value = _value(manifest.verdict)
        self.stored = StoredSet(location, manifest)
        self._slider = Slider(manifest.game)

    @classmethod
    def of(cls, location: Location, name: str, manifest: bytes) -> WinningSet:
        """Return the winning set of a location, from the name and the content of its manifest."""
        return cls(location, WinningManifest.parse(manifest, name))

    def __repr__(self) -> str:
        what = f"{self.manifest.meaning}, {self.states:,} states"
        return f"<WinningSet {self.location.name} of {self.game}: {what}>"

    def __reduce__(self) -> Any:
        return opened_again, (type(self), address(self.location), self.manifest)

    def check(self) -> None:
        """Compare the diagrams with their checksum and the manifest.

        Raises `CorruptError`, `MissingLayerError` or `StorageError`.
        """
        assert self.stored.diagrams is not None

    def close(self) -> None:
        """Release the folder."""
        self.location.close()

    def fillings(self, pattern: str) -> Fillings:
        """Count the boards that hold a pattern, written as `Game.pattern`, and those of them in the set.

        Counts only boards of the sums for which the set was computed.  Raises `UsageError` for a set that is
        not divided by sums, or whose variables are not ordered by cells; `GameError` for text that is not a
        pattern.
        """
        manifest, game = self.manifest, self.game.changed(pattern=pattern)
        if manifest.strategy != "sum" or not manifest.strong or manifest.corollary7:
            raise UsageError(
                f"{self.name} does not hold all boards by sum: use --strategy sum, no --corollary7"
            )
        if len(game.patterns) != 1 or game.unmergeable:
            raise UsageError(f"{pattern} stands for several patterns, or the game has tiles x: count one")
        choices = [
            game.codes(cell) if wanted is None else (wanted,) for cell, wanted in enumerate(game.patterns[0])
        ]
        held = won = 0
        lost: Cells | None = None
        for layer in manifest.layers:
            more, of_them, board = self.stored.count(layer.name, choices)
            held, won, lost = held + more, won + of_them, lost or board
        least = min((int(layer.name) for layer in manifest.layers), default=game.largest_sum)
        lowest = game.sum([e or 0 for e in game.patterns[0]])
        return Fillings(held, won, lost, least if least > lowest else None)

    # -- probing -----------------------------------------------------------------------------------

    def holds(self, board: Any) -> bool:
        """Return whether a state is in the set, so that the side wins with the player to move.

        `board` has any form that `Board.read` accepts.  Raises the errors of `probe`.
        """
        state = self._read(board)
        won = self._known(state.cells, after=False)
        if won is None:
            raise self._missing(state.cells)
        return won

    def holds_after(self, board: Any) -> bool:
        """Return whether an afterstate is in the set, so that the side wins with a spawn to come.

        A board with the goal is won by the player.  Raises the errors of `probe`.
        """
        return self.probe_after(board).value == Exact(True)

    def probe(self, board: Any, objective: str | None = None) -> Answer:
        """Return whether the side wins from a state (as `Board.read` reads it), and after each of its slides.

        Raises
        ------
        UsageError
            If an objective is named: a winning set has none.
        BoardError
            If this is not a board of the game.
        MissingBoardError
            If the set does not show who wins from the board.
        CorruptError
            If a file is damaged.
        """
        unit, state = self.unit(objective), self._read(board)
        won = self.holds(state)
        first_cell = self.manifest.variant == "deterministic"
        slides = tuple(
            SlideAnswer(self.game, direction, after, _value(self._known_after(after)), wins, first_cell)
            for direction, after, wins in self._slider.slides(state.cells)
        )
        if self._follows([slide.value for slide in slides]) != won:
            raise CorruptError(
                f"{self.location.name} says of {state.text} that {self.manifest.meaning}: {Exact(won)}, but "
                "what it says of the slides from there does not agree: make the winning set again"
            )
        of_player = Exact(self.manifest.player == "slider")
        best = tuple(slide.direction for slide in slides if slide.value == of_player)
        return Answer(state, self.text, unit, Exact(won), slides, best)

    def probe_after(self, board: Any, objective: str | None = None) -> Answer:
        """Answer for a board after a slide.  Arguments and errors are those of `probe`."""
        unit = self.unit(objective)
        after = Board(self.game, board.cells) if isinstance(board, Board) else Board.read(self.game, board)
        won = self._known_after(after.cells)
        if won is None:
            raise self._missing(after.cells)
        return Answer(after, self.text, unit, Exact(won), after=True)

    def _read(self, board: Any) -> Board:
        state = Board.read(self.game, board)
        if not state.sum and not self.game.empty_is_state:
            raise self._missing(state.cells)  # a spawn comes first: this is not a state
        return state

    def _follows(self, slides: Sequence[Found]) -> bool | None:
        """Return whether a state is won by what is known of its slides; None if that is not enough."""
        chooses = self.manifest.player == "slider"
        if Exact(chooses) in slides:
            return chooses
        return None if Unknown() in slides else not chooses

    def _known_after(self, after: Cells) -> bool | None:
        """Return whether the side wins from a board after a slide; None if that was not computed."""
        if self.game.wins(after):
            return self.manifest.player == "slider"
        if self.game.ended(self.game.sum(after)):
            return self.manifest.player == "dropper"
        return self._known(after, after=True) if self.game.spawns(after) else None

    def _known(self, board: Cells, *, after: bool) -> bool | None:
        """Return whether the side wins; None if that was not computed."""
        if not self.manifest.possible(board, after=after) or not self.stored.has_layer(board):
            return None
        won = bool(self.stored.holds(np.array([board]), after=after)[0])
        return won if won or self.manifest.complete else None

    def _missing(self, board: Cells) -> MissingBoardError:
        """Return the error for a board of which nothing is known, with the reason."""
        why = "not all boards were computed" if self._is_left_out(board) else "no play makes it"
        return MissingBoardError(f"{self.game.format(board)} is not decided in {self.location.name}: {why}")

    def _is_left_out(self, board: Cells) -> bool:
        """Return whether it would be decided if all boards had been computed."""
        manifest = self.manifest
        coded = all(value in manifest.codes for value in board)
        played = bool(self.game.sum(board)) and coded and manifest.possible(board)
        return played and (not manifest.strong or manifest.verdict is None)


def _value(won: bool | None) -> Exact | Unknown:
    return Unknown() if won is None else Exact(won)


def open_winning_set(location: Path | str) -> WinningSet:
    """Open a winning set in a folder, a zip file, or at a URL.

    Raises
    ------
    MissingLayerError
        If the location does not exist or is not finished.
    CorruptError
        If the manifest is damaged, of a newer version, or that of a table.
    StorageError
        If the location cannot be read.

    >>> open_winning_set("nowhere")
    Traceback (most recent call last):
        ...
    tilebase.errors.MissingLayerError: nowhere not found: name a folder or zip file of a table or winning set
    """
    return WinningSet.of(*read_manifest(location))
