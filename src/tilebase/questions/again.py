"""A second engine reproduces the layers of a dense verdict.

A dense pass decides every board, and leaves only a bit for each: nobody can look at 10^10 of them.  What can
be told of a layer is its sum, how many boards it has, and how many of them are won.  These three numbers of
all layers, and their checksum, are the record of a pass.  (No layer below the start is solved.)  Decision
diagrams of the winning sets (`questions.symbolic`) count boards without listing them, and so compute these
numbers anew.  They share the rules of `Game` with the pass, and no kernel, index or order of boards.

In both, W(a) of an afterstate and V(x) of a state are

    V(x): the sum of x wins, or some allowed slide of x wins or leads to a with W(a)
    W(a): a holds a pattern; or play has not ended at a, it has an empty cell, and V(x) for each spawned x
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Unpack

from tilebase.counting.combinatorics import boards_by_sum
from tilebase.errors import ResourceError
from tilebase.game.game import Game
from tilebase.questions.force import ForcedLayer
from tilebase.questions.symbolic import symbolic
from tilebase.runtime.measured import working_time
from tilebase.runtime.resources import Use


@dataclass(frozen=True)
class Again:
    """What diagrams found."""

    forced: bool  # their verdict
    layers: int  # how many layers they computed
    differ: tuple[int, ...]  # the sums of the layers in which they count other boards, or other wins
    seconds: float  # the time they took

    @property
    def statement(self) -> str:
        """What was compared, in words."""
        if self.differ:
            few = ", ".join(map(str, self.differ[:5])) + (", ..." if len(self.differ) > 5 else "")
            return f"the engine diagrams has other boards or wins at the sums {few}"
        return f"the engine diagrams counts the same boards and wins in each of {self.layers} layers"

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return asdict(self) | {"statement": self.statement, "seconds": round(self.seconds, 2)}


def reproduce_layers(game: Game, layers: Sequence[ForcedLayer], *, forced: bool, **use: Unpack[Use]) -> Again:
    """Compute the layers that a dense pass decided again by diagrams, and compare.

    `use` are the keywords of `Use`.  Raises `ResourceError` if the diagrams do not fit into memory.
    """
    since = working_time()
    found = symbolic(game, **use)
    if found.wins is None:
        raise ResourceError(found.reason)
    won = {int(line.name): line.afterstates for line in found.lines}
    boards = {total: count for total, count in boards_by_sum(game).items() if total >= layers[0].sum}
    again = {ForcedLayer(total, count, won.get(total, 0)) for total, count in boards.items()}
    differ = tuple(sorted({one.sum for one in again.symmetric_difference(layers)}))
    if not differ and found.wins is not forced:
        raise ResourceError(f"diagrams count the same wins, and decide the start of {game} otherwise")
    return Again(found.wins, len(again), differ, working_time() - since)
