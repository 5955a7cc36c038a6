"""What a search may use, until when, and the seed of its random choices: one value for all searches here."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Self, Unpack

from tilebase.runtime.progress import Pace
from tilebase.runtime.resources import Allowance, Use


@dataclass(frozen=True, kw_only=True)
class Effort(Allowance):
    """What a search may use.

    Attributes
    ----------
    seed:
        Of its random choices.
    deadline:
        When it stops, by `time.perf_counter`.
    """

    seed: int = 1
    deadline: float = math.inf

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

    def pace(self, unit: str) -> Pace:
        """Return what tells the progress."""
        return Pace(self.progress, unit)


ANY = Effort(memory=4 << 30, threads=1)
"""No time limit, and so much memory that small boards do not need more."""
