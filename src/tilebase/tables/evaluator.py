"""The value of a board from the values of the boards that follow it, in plain Python.

Probing, verifying and evaluating a policy differ only in where they take those values from.  `Objective` says
what a value is at the end of a game, over a slide and over spawns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tilebase.game.game import Cells
from tilebase.objectives.objective import Objective
from tilebase.objectives.values import Number
from tilebase.tables.slides import Slider

Worth: TypeAlias = tuple[str, Cells, bool, Number | None]
"""A slide of a state: direction, afterstate, whether it wins, and its value; None if that is not known."""


class Evaluator:
    """The recurrence of one objective of a game, for single boards."""

    def __init__(self, slider: Slider, objective: Objective) -> None:
        self._slider, self._game, self.objective = slider, slider.game, objective

    def end(self, board: Cells, *, won: bool) -> Number:
        """Return the value of a board on which the game ends."""
        return self.objective.end(self._game, board, won=won)

    def slide(self, before: Cells, after: Cells, follows: Number) -> Number:
        """Return the value of a slide before the discount; the board after it has the value `follows`."""
        return self.objective.number(self.objective.gain(self._game, before, after) + follows)

    def slides(self, board: Cells, value_of: Callable[[Cells], Number | None]) -> list[Worth]:
        """Return the slides of a state, not discounted; `value_of` values afterstates, or gives None."""
        found: list[Worth] = []
        for direction, after, wins in self._slider.slides(board):
            follows = self.end(after, won=True) if wins else value_of(after)
            worth = None if follows is None else self.slide(board, after, follows)
            found.append((direction, after, wins, worth))
        return found

    def best(self, board: Cells, value_of: Callable[[Cells], Number | None]) -> Number | None:
        """Return the largest of the values of `slides` that are known; None if no value is known."""
        known = (worth for *_, worth in self.slides(board, value_of) if worth is not None)
        return max(known, default=None)

    def state(self, board: Cells, value_of: Callable[[Cells], Number]) -> Number:
        """Return the value of a state."""
        if self._game.has_goal_sum(board):
            return self.end(board, won=True)
        best = self.best(board, value_of)
        return self.end(board, won=False) if best is None else self.objective.discounted(best)
