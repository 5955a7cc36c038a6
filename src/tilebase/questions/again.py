"""A second engine reproduces the layers of a dense verdict.

A dense pass decides every board, and leaves only a bit for each: nobody can look at 10^10 of them.  What can
be told of a layer is its sum, how many boards it has, and how many of them are won.  These three numbers of
all layers, and their checksum, are the record of a pass.  (No layer below the start is solved.)  A second
engine computes them anew:

* ``diagrams``: the winning sets as decision diagrams (`questions.symbolic`), which count boards without
  listing them.  They share the rules of `Game` with the pass, and no kernel, index or order of boards.
* ``plain``: every board of a small game, with `Game` alone, in the form in which the rules are defined.

In both, W(a) of an afterstate and V(x) of a state are

    V(x): the sum of x wins, or some allowed slide of x wins or leads to a with W(a)
    W(a): a holds a pattern; or play has not ended at a, it has an empty cell, and V(x) for each spawned x
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Unpack

from tilebase.counting.combinatorics import boards_by_sum
from tilebase.errors import ResourceError, UsageError
from tilebase.game.game import Cells, Game
from tilebase.questions.force import ForcedLayer
from tilebase.questions.symbolic import symbolic
from tilebase.runtime.measured import working_time
from tilebase.runtime.resources import Use

SECOND = ("diagrams", "plain")
"""The engines that reproduce a dense pass."""
MOST_PLAIN = 500_000
"""Most boards of a game that are decided by the plain rules; these take a minute or two."""


@dataclass(frozen=True)
class Again:
    """What a second engine found.

    Attributes
    ----------
    engine:
        One of `SECOND`.
    forced:
        Its verdict.
    layers:
        How many layers it computed.
    differ:
        The sums of the layers in which it counts other boards, or other wins.
    seconds:
        The time it took.
    """

    engine: str
    forced: bool
    layers: int
    differ: tuple[int, ...]
    seconds: float

    @property
    def statement(self) -> str:
        """What was compared, in words."""
        if self.differ:
            few = ", ".join(map(str, self.differ[:5])) + (", ..." if len(self.differ) > 5 else "")
            return f"the engine {self.engine} has other boards or wins at the sums {few}"
        return f"the engine {self.engine} counts the same boards and wins in each of {self.layers} layers"

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self) | {"statement": self.statement, "seconds": round(self.seconds, 2)}


def reproduce_layers(
    game: Game, layers: Sequence[ForcedLayer], *, forced: bool, engine: str, **use: Unpack[Use]
) -> Again:
    """Compute the layers of a dense pass again by another engine, and compare.

    Parameters
    ----------
    game, layers, forced:
        What the pass decided.
    engine:
        One of `SECOND`.
    use:
        Memory, threads and the like: the keywords of `Use`, for diagrams.

    Raises
    ------
    UsageError
        If the engine does not exist.
    ResourceError
        If the game has more than `MOST_PLAIN` boards for the plain rules, or diagrams do not fit into memory.
    """
    check_second(game, engine)
    since = working_time()
    if engine == "plain":
        again, found = _plain_layers(game)
    else:
        again, found = _layers_of_diagrams(game, use)
    again = [one for one in again if one.sum >= layers[0].sum]
    differ = tuple(sorted({one.sum for one in set(layers) ^ set(again)}))
    if not differ and found is not forced:
        raise ResourceError(f"{engine} counts the same wins, and decides the start of {game} otherwise")
    return Again(engine, found, len(again), differ, working_time() - since)


def check_second(game: Game, engine: str) -> None:
    """Raise `UsageError` or `ResourceError` as `reproduce_layers` does, before anything is computed."""
    if engine not in SECOND:
        raise UsageError(f"a dense pass is reproduced by {' or '.join(SECOND)}, not by {engine!r}")
    boards = sum(boards_by_sum(game).values())
    if engine == "plain" and boards > MOST_PLAIN:
        raise ResourceError(
            f"{game} has {boards:,} boards, and the plain rules decide at most {MOST_PLAIN:,}: let diagrams "
            "reproduce it"
        )


def _layers_of_diagrams(game: Game, use: Use) -> tuple[list[ForcedLayer], bool]:
    """Return the layers as diagrams count them; boards are counted by combinatorics."""
    found = symbolic(game, **use)
    if found.wins is None:
        raise ResourceError(found.reason)
    won = {int(line.name): line.afterstates for line in found.lines}
    boards = boards_by_sum(game)
    return [ForcedLayer(total, boards[total], won.get(total, 0)) for total in sorted(boards)], found.wins


def _plain_layers(game: Game) -> tuple[list[ForcedLayer], bool]:
    """Return the layers by the plain rules, from the largest sum down."""
    boards: dict[int, list[Cells]] = {}
    for board in itertools.product(*map(game.codes, range(game.cells))):
        if _exists(game, board):
            boards.setdefault(game.sum(board), []).append(board)
    won: set[Cells] = set()
    known: dict[Cells, bool] = {}

    def wins(state: Cells) -> bool:
        if state not in known:
            known[state] = game.has_goal_sum(state) or any(
                game.wins(after) or after in won for after in game.slides(state).values()
            )
        return known[state]

    layers = []
    for total in sorted(boards, reverse=True):
        here = [after for after in boards[total] if _won(game, after, wins)]
        won.update(here)
        layers.append(ForcedLayer(total, len(boards[total]), len(here)))
    return layers[::-1], all(wins(state) for state, _ in game.starts())


def _exists(game: Game, board: Cells) -> bool:
    """Return whether the dense space has a board of exponents that each cell may hold."""
    total = game.sum(board)
    placed = frozenset(cell for cell, e in enumerate(board) if game.is_x(e))
    return (
        len(placed) == len(game.unmergeable)
        and total <= game.largest_sum
        and not game.reached(total)
        and (not game.masks or any(placed >= set(mask) for mask in game.masks))
    )


def _won(game: Game, after: Cells, wins: Callable[[Cells], bool]) -> bool:
    """Return W(a), from what is known of the states of larger sums."""
    if game.wins(after):
        return True
    spawns = game.spawns(after)  # none at the horizon
    return bool(spawns) and all(wins(state) for state, _ in spawns)
