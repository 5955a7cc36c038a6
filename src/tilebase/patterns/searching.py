"""What a search may use, until when, and its seed; what it finds; and a search breadth first."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self, TypeVar, Unpack

from tilebase.errors import ResourceError, UsageError
from tilebase.patterns.rules import Move
from tilebase.runtime.resources import Allowance, Use

State = TypeVar("State", bound=Hashable)
MOST_SEED = (1 << 62) - 1


@dataclass(frozen=True, kw_only=True)
class Effort(Allowance):
    """What a search may use."""

    seed: int = 1  # of its random choices
    deadline: float = math.inf  # when it stops, by `time.perf_counter`

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= MOST_SEED:
            raise UsageError(f"seed {self.seed}: give a whole number from 0 to {MOST_SEED:,}")

    @classmethod
    def within(cls, seconds: float = math.inf, seed: int = 1, **use: Unpack[Use]) -> Effort:
        """Return what may be used for so many seconds from now; a search here uses one thread."""
        return Effort(**vars(Allowance.of(**use)), seed=seed, deadline=time.perf_counter() + seconds)

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.deadline - time.perf_counter()

    def for_seconds(self, seconds: float) -> Self:
        """Return the same for so many seconds from now."""
        return replace(self, deadline=time.perf_counter() + seconds)


ANY = Effort(memory=4 << 30, threads=1)
"""No time limit, and so much memory that small boards do not need more."""


@dataclass(frozen=True)
class Searched:
    """What a search found, or what was known without one."""

    reachable: bool | None  # whether a goal can be reached; False is proved, and None is not decided
    moves: tuple[Move, ...] | None  # a game that ends with a goal; None if none was found
    reason: str = ""  # why no goal can be reached, or why that is not decided; otherwise empty
    positions: int = 0  # how many were kept


def find_path(
    first: Iterable[State],
    goals: Sequence[State],
    step: Callable[[State], Iterable[State]],
    effort: Effort,
    most: int,
) -> list[State] | None:
    """Return the states on a shortest way from one of the first to a goal; None if none leads there.

    States are visited layer by layer.  Raises `ResourceError` after `most` of them, or if time runs out.
    """
    before: dict[State, State | None] = dict.fromkeys(first)
    layer = list(before)
    while layer:
        end = next((goal for goal in goals if goal in before), None)
        if end is not None:
            path = [end]
            while (earlier := before[path[-1]]) is not None:
                path.append(earlier)
            return path[::-1]
        following: list[State] = []
        for state in layer:
            for found in step(state):
                if found not in before:
                    before[found] = state
                    following.append(found)
            if len(before) > most or effort.left < 0:
                raise ResourceError(f"the search came to {len(before):,} positions without an end")
        layer = following
    return None
