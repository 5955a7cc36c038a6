"""How far a run is, and when it will end.

A pass knows which share of its work is done.  The speed in the last 50 % of the time predicts when the pass
will end.  At first this prediction can be wrong by a factor of 1000, since early layers are small and kernels
are being compiled.  So the time left is given only once it is reliable:

* at least `LEAST_SECONDS` have passed;
* at least `LEAST_SHARE` of the work was done in this run;
* during the last third of the time, the predicted total time changed by at most a factor of `STEADY`.
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
"""Least seconds between two reports."""


@dataclass(frozen=True)
class Progress:
    """How far a run is.  `fraction` and `seconds_left` are estimates."""

    total: int  # sum of the layer that is worked on; of a search, its depth or its questions
    step: str  # "spawn", "slide", "write", "solve", "search", "done" and so on
    positions: int  # counted or solved so far
    seconds: float  # since the run, or its continuation, began
    rate: float  # positions per second since then
    fraction: float  # of all positions, estimated
    seconds_left: float  # infinite while no reliable estimate exists (see the module)
    unit: str = "states"  # what `positions` counts


def describe(progress: Progress) -> str:
    """Return one line: layer, step, states, rate, and the time left once it is known."""
    known = progress.seconds_left != float("inf")
    left = f"  about {clock(progress.seconds_left)} left" if known else ""
    measure = {"search": "depth", "iteration": "line", "decide": "question"}.get(
        progress.step.split()[0], "sum"
    )
    return (
        f"{measure} {progress.total} {progress.step:5}  {progress.positions:,} {progress.unit}  "
        f"{progress.rate / 1e6:.1f} M/s{left}"
    )


def clock(seconds: float) -> str:
    """Return a time as ``1:02:03`` or ``2:03``."""
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Pace:
    """Reports the progress of one pass, with the time left once it is reliable."""

    def __init__(self, tell: Callable[[Progress], None] | None, unit: str) -> None:
        self._tell, self._unit = tell, unit
        self.start()

    def start(self, fraction: float = 0.0) -> None:
        """Begin the work now; `fraction` of it was done by earlier runs."""
        self._began = time.perf_counter()
        self._reported = -math.inf
        self._before = fraction
        # Each entry: seconds since the start, the share of this run done then, total seconds predicted then.
        self._past: deque[tuple[float, float, float]] = deque([(0.0, 0.0, math.inf)])

    @property
    def seconds(self) -> float:
        """Seconds since the work began."""
        return max(time.perf_counter() - self._began, 1e-9)

    def due(self) -> bool:
        """Return whether the last report is at least `OFTEN` seconds old."""
        return self.seconds - self._reported >= OFTEN

    def report(
        self, total: int, step: str, positions: int, fraction: float, *, new: int | None = None
    ) -> None:
        """Call back with the progress.  `new`: the positions of this run, if earlier runs counted some."""
        seconds = self._reported = self.seconds
        if self._tell is None:
            return
        rate = (positions if new is None else new) / seconds
        left = 0.0 if fraction >= 1 else self.left(seconds, fraction)
        self._tell(Progress(total, step, positions, seconds, rate, fraction, left, self._unit))

    def left(self, seconds: float, fraction: float) -> float:
        """Return the seconds to the end, or infinity while no reliable estimate exists."""
        done = (fraction - self._before) / max(1 - self._before, 1e-9)
        past = self._past
        while len(past) > 1 and past[1][0] <= seconds / 2:
            past.popleft()
        since, before, _ = past[0]
        speed = (done - before) / max(seconds - since, 1e-9)
        end = seconds + (1 - done) / speed if speed > 0 else math.inf
        if seconds >= 1.02 * past[-1][0]:  # keeps the list short, however long the run takes
            past.append((seconds, done, end))
        ends = [end, *(expected for then, _, expected in past if then >= seconds * 2 / 3)]
        steady = len(ends) > 1 and max(ends) <= STEADY * min(ends)
        holds = steady and done >= LEAST_SHARE and seconds >= LEAST_SECONDS
        return end - seconds if holds else math.inf
