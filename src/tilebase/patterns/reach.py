"""Can play reach a given board, and how?

Full boards of 30 cells and more with 2s, 4s and 8s are first sought near a board that is filled from below
(`patterns.filling`).  Then narrow searches go back from the board; a game that they find is a proof.  If they
find none, every position from which the board can be reached is listed; if the list ends without a first
position of a game, that is a proof too.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Unpack

from tilebase.errors import BoardError
from tilebase.game.findings import VERDICTS, Finding
from tilebase.game.notation import count_of, read_cells, tile_text, written
from tilebase.patterns.filling import game_by_filling
from tilebase.patterns.moves import Played, replay
from tilebase.patterns.packed import check_goals, decide_back
from tilebase.patterns.rules import Move, Position, Rules, before_slides, parse_drops
from tilebase.patterns.searching import Effort, Searched
from tilebase.runtime.resources import Use


@dataclass(frozen=True, repr=False)
class Reach(Played):
    """Whether a board can be reached.

    Attributes
    ----------
    rules, position, afterstate:
        The question; an afterstate is a board before a drop.
    reachable:
        None if it was not decided.
    moves:
        A game that ends with the board; replay it with `replay`.
    reason:
        Why it cannot be reached, or why that is not decided.
    positions, seconds:
        The number of positions that the last search kept, and the time of all searches.
    """

    facts = ("board", "dropped", "afterstate", "reachable", "sequence", "reason", "positions", "seconds")

    rules: Rules
    position: Position
    afterstate: bool
    reachable: bool | None
    moves: tuple[Move, ...] | None
    reason: str
    positions: int
    seconds: float

    @property
    def board(self) -> str:
        """The board that was asked for, as text."""
        return self.rules.text(self.position)

    @property
    def dropped(self) -> list[int]:
        """The tiles that are dropped."""
        return [1 << exponent for exponent in self.rules.drops]

    def asked(self) -> tuple[Finding, ...]:
        """Return whether the board can be reached."""
        turn = "an afterstate" if self.afterstate else "a state"
        what = f"whether {self.board}, {turn}, can be reached with {self.rules.drop_words}"
        return self.found(what, *VERDICTS[self.reachable])


def reach(
    board: str,
    *,
    drops: str = "2,4",
    afterstate: bool = False,
    seconds: float = math.inf,
    seed: int = 1,
    **use: Unpack[Use],
) -> Reach:
    """Decide whether a board can be reached from the empty board, and find a game that ends with it.

    The player may also choose the cell of each drop.

    Parameters
    ----------
    board:
        Rows of tiles, such as ``"2,4/4,2"``; 0 is an empty cell.
    drops:
        Which tiles are dropped: ``2`` or ``2,4``.
    afterstate:
        Whether the board is one after a slide, before a drop; otherwise the player is to move.
    seconds:
        After this time the search stops without a decision.
    seed:
        Seed of the random choices of the narrow searches.
    use:
        The keywords of `Use`; a search that needs more memory stops, undecided, and one thread does the work.

    Raises
    ------
    UsageError
        If the text is not a board (`BoardError`), or the drops or the seed do not exist.
    ResourceError
        If the board is too large for the search.

    >>> reach("2,4/4,2").reachable, reach("4,4/4,4", drops="2").reachable
    (True, False)
    """
    rules, position = parse_position(board, parse_drops(drops))
    effort = Effort.within(seconds, seed, **use)
    began = time.perf_counter()
    found = _decide(rules, position, afterstate, effort)
    spent = time.perf_counter() - began
    return Reach(
        rules, position, afterstate, found.reachable, found.moves, found.reason, found.positions, spent
    )


def _decide(rules: Rules, position: Position, afterstate: bool, effort: Effort) -> Searched:
    """Return the answer of `reach`."""
    reason = crowded(rules, position)
    if reason:
        return Searched(False, None, reason)
    if not any(position):
        text = "a game begins with the empty board, and a drop" + ("" if afterstate else " comes first")
        return Searched(afterstate, () if afterstate else None, text)
    check_goals(rules, [position])
    if not afterstate:
        game = game_by_filling(rules, position, effort)
        return decide_back(rules, [position], effort) if game is None else Searched(True, game)
    goals = before_slides(rules, position)
    if not goals:
        return Searched(False, None, "no slide makes it")
    found = decide_back(rules, goals, effort)
    if found.moves is None:
        return found
    state = replay(rules, found.moves)[-1]
    last = next(slide for slide, after in rules.slides(state) if after == position)
    return replace(found, moves=(*found.moves, last))


def parse_position(text: str, drops: tuple[int, ...]) -> tuple[Rules, Position]:
    """Return the board of a text, and the rules of its size with these drops.  Raises `BoardError`."""
    shape, words = written(text)
    if len(shape) != 2 or not words:
        raise BoardError(f"{text!r} is not a board: write its rows, as in 2,4/4,2")
    rules = Rules(shape[0], shape[1], drops)
    return rules, read_cells(words, (), 0, rules.grid)


def crowded(rules: Rules, position: Position) -> str:
    """Return why a board breaks Edixhoven's corollary 7; empty if it does not.

    A tile of exponent k needs k - 1 cells that are empty or hold less, since its parts once stood there; with
    drops of 4 it needs k - 2.
    """
    spare = rules.drops[-1]
    for value in sorted(set(position)):
        lower = sum(1 for other in position if other < value)
        if lower < value - spare:
            tile = tile_text(value)
            return (
                f"beside a tile {tile}, at least {count_of(value - spare, 'cell')} must be empty or hold a "
                f"smaller tile; this board has {lower}"
            )
    return ""
