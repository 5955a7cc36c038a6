"""Games followed state by state with the rules in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import cached_oracle as oracle
from tilebase.game.game import Cells, Game
from tilebase.game.symmetry import canonical


def visits(game: Game, slides: Callable[[Cells], Sequence[str]]) -> dict[Cells, Fraction]:
    """How often a game comes to each canonical board, if it makes each of the slides there alike.

    Where there are none, the game is not followed further.
    """
    found = Counter[Cells]()
    for board, p in game.starts():
        found[canonical(game, board)] += p
    waiting = set(found)
    while waiting:
        state = min(waiting, key=game.sum)
        waiting.remove(state)
        made = slides(state)
        for after in [game.slides(state)[one] for one in made]:
            for board, p in [] if game.wins(after) else game.spawns(after):
                follower = canonical(game, board)
                found[follower] += found[state] * p / len(made)
                waiting.add(follower)
    return dict(found)


def slides_of(game: Game, policy: Any) -> Callable[[Cells], list[str]]:
    """The slides that a policy takes, random, greedy or best under an objective, each alike."""
    exact = None if policy in ("random", "greedy") else oracle.values(game, policy)

    @cache
    def chosen(state: Cells) -> list[str]:
        if exact is not None:
            worths = oracle.worths(exact, state)
        else:
            worths = {
                direction: oracle._worth(game, "score", state, after) if policy == "greedy" else Fraction(0)
                for direction, after in game.slides(state).items()
            }
        return [direction for direction, worth in worths.items() if worth == max(worths.values())]

    return chosen
