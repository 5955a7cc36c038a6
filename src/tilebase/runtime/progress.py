"""How far a run is, and when it will end.

A pass knows which share of its work is done.  From what was done in the last half of the time follows when
the pass will end; at first that is off by a thousand times, since early layers are small and kernels are
being compiled.  So no time is given until it *holds*: at least `LEAST_SECONDS` have passed, at least
`LEAST_SHARE` of the work was done in this run, and over the last third of the time the expected time
in all has not changed by more than a factor of `STEADY`.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

LEAST_SECONDS = 5.0
LEAST_SHARE = 0.01
STEADY = 1.3
OFTEN = 0.1
"""Seconds between two reports."""


@dataclass(frozen=True)
class Progress:
    """How far a run is.  `fraction` and `seconds_left` are estimates."""

    total: int  # sum of the layer in work; of a search, its depth
    step: str  # "spawn", "slide", "write", "solve", "search", "done" and so on
    positions: int  # counted or solved so far
    seconds: float  # since the run, or its continuation, began
    rate: float  # positions a second since then
    fraction: float  # of all positions, estimated
    seconds_left: float  # infinite as long as it cannot be told (see the module)
    unit: str = "states"  # what positions are


class Pace:
    """Reports the progress of one pass: not too often, and with the time left once that holds."""

    def __init__(self, tell: Callable[[Progress], None] | None, unit: str) -> None:
        self._tell, self._unit = tell, unit
        self.start()

    def start(self, fraction: float = 0.0) -> None:
        """The work begins now, of which a share was done before."""
        self._began = time.perf_counter()
        self._reported = -math.inf
        self._before = fraction
        # Seconds, the share of this run done by then, and the seconds in all that were expected then.
        self._past: deque[tuple[float, float, float]] = deque([(0.0, 0.0, math.inf)])

    @property
    def seconds(self) -> float:
        """Since the work began."""
        return max(time.perf_counter() - self._began, 1e-9)

    def due(self) -> bool:
        """Whether the last report is old enough."""
        return self.seconds - self._reported >= OFTEN

    def report(
        self, total: int, step: str, positions: int, fraction: float, *, new: int | None = None
    ) -> None:
        """Report; `new` are the positions of this run where others were there before."""
        seconds = self._reported = self.seconds
        if self._tell is None:
            return
        rate = (positions if new is None else new) / seconds
        left = 0.0 if fraction >= 1 else self.left(seconds, fraction)
        self._tell(Progress(total, step, positions, seconds, rate, fraction, left, self._unit))

    def left(self, seconds: float, fraction: float) -> float:
        """Seconds to the end, or infinity as long as they do not hold."""
        done = (fraction - self._before) / max(1 - self._before, 1e-9)
        past = self._past
        while len(past) > 1 and past[1][0] <= seconds / 2:
            past.popleft()
        since, before, _ = past[0]
        speed = (done - before) / max(seconds - since, 1e-9)
        end = seconds + (1 - done) / speed if speed > 0 else math.inf
        if seconds >= 1.02 * past[-1][0]:  # few, however long it takes
            past.append((seconds, done, end))
        ends = [end, *(expected for then, _, expected in past if then >= seconds * 2 / 3)]
        steady = len(ends) > 1 and max(ends) <= STEADY * min(ends)
        holds = steady and done >= LEAST_SHARE and seconds >= LEAST_SECONDS
        return end - seconds if holds else math.inf
