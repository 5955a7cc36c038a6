"""Games followed state by state with the rules in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

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
