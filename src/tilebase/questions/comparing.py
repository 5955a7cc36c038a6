"""Who published or recorded the result of a file before: the same game and question among known results.

A game is that of a line of facts if its start is, too: the lines about what is forced, and those within
limits, begin with the empty board, the others with two random tiles.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from tilebase.errors import TilebaseError
from tilebase.game.game import Game
from tilebase.game.names import title_of
from tilebase.game.spawns import ORIGINAL
from tilebase.questions.published import agrees, split_relation

if TYPE_CHECKING:
    from tilebase.questions.results import Result

LOWER = "proved lower bound of the probability to win"
LARGEST = "largest tile that can be forced"
ALIKE = {
    "probability to win": ("probability to win, discount 1", "probability to win"),
    LOWER: ("probability to win, discount 1", "probability to win"),
    "probability to lose": ("probability to lose under optimal play",),
    "expected score": ("expected score under optimal play",),
    "whether the goal can be forced": (
        "whether the player can force it", "whether the goal can be forced within the limits",
    ),
    LARGEST: (LARGEST,),
    "states, live states and afterstates, up to symmetry": ("live states", "states"),
}  # fmt: skip
"""By the question of a record, how known results ask it, if not in the same words."""
BOUNDED = "probability to make the tile or the pattern of Lemma 1, uint"
"""How the published lower bounds within limits begin."""
NUMBER = r"(?:at least |≈ )?(\d+(?:[./]\d+)?)(?:, .*)?"
"""A value whose digits can be compared, the first of several."""
WORDS = {"winnable": "yes", "not_winnable": "no"}


class Before(NamedTuple):
    """A known result, and how another agrees with it: recomputed, improved, differs, or empty if unknown."""

    result: Result
    verdict: str


def find_before(known: Iterable[Result], game: Game, question: str, value: str) -> Before | None:
    """Return the known result of a game and a question; None if nobody published or recorded one.

    The value is the text of a record; of counts, the live states are compared.
    """
    asked = question.split(", proved ")[0]
    board = _board(game, searched=asked == LARGEST)
    names = (*ALIKE.get(asked, ()), asked)
    if board is None:
        return None
    forced = asked == LARGEST or asked.startswith("whether")
    if game.limits is not None or forced:
        if game.start != "empty" or (game.pattern is not None and (forced or game.pattern != "lemma1")):
            return None
        names = names if forced else ()
    elif game.start != "two-tiles" or game.pattern is not None:
        return None
    bounded = asked == LOWER and game.pattern == "lemma1"
    for one in known:
        # Rows and planes of limits are written apart in several ways.
        if one.board.replace("/", ",") == board and (
            one.question in names or (bounded and one.question.startswith(BOUNDED))
        ):
            return Before(one, _verdict(one, asked, value))
    return None


def _board(game: Game, *, searched: bool) -> str | None:
    """Return a game as known results name it, without its start and pattern; None if it has another form.

    A search for the largest tile has no goal, and limits even if only the size of a key bounds tiles.
    """
    limits = game.limits or ()
    if searched:
        plain = game.shape_text if game.spawn == ORIGINAL else ""
        limits = game.low_limits
    else:
        try:
            plain = title_of(game.changed(limits=None, pattern=None, start="two-tiles")).replace(",", "", 1)
        except TilebaseError:  # a formation begins with boards of its own
            return None
    return f"{plain} within {','.join(map(str, limits))}" if limits else plain


def _verdict(one: Result, asked: str, value: str) -> str:
    """Return how a value agrees with a known result."""
    relation, before = split_relation((one.published or one.answer).split(" (")[0].split(",")[0])
    if asked.startswith("whether"):
        return "" if value == "undecided" else _word(WORDS.get(before, before) == value)
    if asked == LARGEST:
        return _compared(_range(relation, before), _range(*split_relation(value)))
    counted = re.search(rf"(\d[\d,]*) {one.question.split()[0]}", value)
    found = counted or re.fullmatch(NUMBER, value)
    if found is None:
        return ""
    number = Fraction(found[1].replace(",", ""))
    low, _, high = before.removeprefix("from ").partition(" to ")
    if high:
        return _word(Fraction(low) <= number <= Fraction(high))
    if asked == LOWER and not agrees(low, number):  # a smaller bound contradicts nothing
        better = "improved" if one.question.startswith(BOUNDED) else "differs"
        return better if number > Fraction(low) else ""
    return _word(agrees(low, number))


def _range(relation: str, tile: str) -> tuple[int, float]:
    """Return the smallest and the largest tile that a result allows."""
    return int(tile), math.inf if relation == "at least" else int(tile)


def _compared(before: tuple[int, float], now: tuple[int, float]) -> str:
    """Return what a result that allows the tiles `now` says of one that allowed those `before`."""
    if now == before:
        return "recomputed"
    if now[0] > before[1] or now[1] < before[0]:
        return "differs"
    return "improved" if now[0] >= before[0] and now[1] <= before[1] else ""


def _word(same: bool) -> str:
    return "recomputed" if same else "differs"
