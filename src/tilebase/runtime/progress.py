"""How far a run is, and when it will end.

A pass knows which share of its work is done.  The speed in the last 50 % of the time predicts when the pass
will end.  At first this prediction can be wrong by a factor of 1000, since early layers are small and kernels
are being compiled.  So the time left is given only once it is reliable:

* at least `LEAST_SECONDS` have passed;
* at least `LEAST_SHARE` of the work was done in this run;
* during the last third of the time, the predicted total time changed by at most a factor of `STEADY`.

From then on it is always given, and follows the prediction slowly: by half of the difference in `SMOOTH` of
the time since the beginning.  `describe` rounds it, so that a reader sees it change when it means something.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from tilebase.runtime.measured import clock, working_time

LEAST_SECONDS = 5.0
LEAST_SHARE = 0.01
STEADY = 1.3
SMOOTH = 0.2
EXPECTED = "expected: %s"
"""The log message with the estimate of a run that begins and takes long."""
OFTEN = 0.1
"""Least seconds between two reports."""
STOPPED = 60.0
"""A process that did not look at the clock for so long, three times as long as ever before, was stopped."""


@dataclass(frozen=True)
class Progress:
    """The progress of a run.  `fraction` and `seconds_left` are estimates."""

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
    known = progress.seconds_left != math.inf
    left = f"  about {clock(_rough(progress.seconds_left))} left" if known else ""
    measure = {"search": "depth", "iteration": "line", "decide": "question", "review": "move"}.get(
        progress.step.split()[0], "sum"
    )
    return (
        f"{measure} {progress.total} {progress.step:5}  {progress.positions:,} {progress.unit}  "
        f"{_speed(progress.rate)}{left}"
    )


def _speed(rate: float) -> str:
    """Return a rate with two digits or more: ``12.3 M/s``, ``850.0 k/s``, ``0.25/s``."""
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if rate >= unit:
            return f"{rate / unit:.1f} {letter}/s"
    return f"{rate:.3g}/s"


def _rough(seconds: float) -> float:
    """Round a time to minutes, to 10, to 5 seconds or to seconds, the longer it is."""
    step = next(step for least, step in ((600, 60), (60, 10), (20, 5), (0, 1)) if seconds >= least)
    return round(seconds / step) * step


def in_turn(callback: Callable[[Progress], None], share: float) -> tuple[Callable[[Progress], None], ...]:
    """Return the callbacks of two passes of one run, the first of which takes a share of the time.

    What they report as done, and as the time left, is that of both.
    """

    def first(progress: Progress) -> None:
        left = (progress.seconds + progress.seconds_left) / share - progress.seconds
        callback(replace(progress, fraction=share * progress.fraction, seconds_left=left))

    def then(progress: Progress) -> None:
        callback(replace(progress, fraction=1 - (1 - share) * (1 - progress.fraction)))

    return first, then


class Pace:
    """Reports the progress of one pass, with the time left once it is reliable."""

    def __init__(self, callback: Callable[[Progress], None] | None, unit: str) -> None:
        self._callback, self._unit = callback, unit
        self.start()

    def start(self, fraction: float = 0.0) -> None:
        """Begin the work now; `fraction` of it was done by earlier runs."""
        self._began = working_time()
        self._seen = self._longest = 0.0
        self._reported = -math.inf
        self._before = fraction
        # Each entry: seconds since the start, the share of this run done then, total seconds predicted then.
        self._past: deque[tuple[float, float, float]] = deque([(0.0, 0.0, math.inf)])
        # The total seconds that were reported last, and when; infinite before any were.
        self._end, self._reported_at = math.inf, 0.0

    @property
    def seconds(self) -> float:
        """Seconds since the work began, without those of compiling, or in which the process was stopped."""
        passed = working_time() - self._began - self._seen
        if passed > max(STOPPED, 3 * self._longest):
            self._began += passed
        self._longest = max(self._longest, passed)
        self._seen = working_time() - self._began
        return max(self._seen, 1e-9)

    def due(self) -> bool:
        """Return whether the last report is at least `OFTEN` seconds old."""
        return self.seconds - self._reported >= OFTEN

    def report(
        self, total: int, step: str, positions: int, fraction: float, *, new: int | None = None
    ) -> None:
        """Call back with the progress.  `new`: the positions of this run, if earlier runs counted some."""
        seconds = self._reported = self.seconds
        if self._callback is None:
            return
        rate = (positions if new is None else new) / seconds
        left = 0.0 if fraction >= 1 else self.left(seconds, fraction)
        self._callback(Progress(total, step, positions, seconds, rate, fraction, left, self._unit))

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
        if math.isfinite(self._end):
            passed = (seconds - self._reported_at) / max(SMOOTH * seconds, 1e-9)
            followed = 1 - 0.5**passed if math.isfinite(end) else 0.0
            self._end += followed * (end - self._end) if followed else 0.0
        elif steady and done >= LEAST_SHARE and seconds >= LEAST_SECONDS:
            self._end = end
        self._reported_at = seconds
        return max(self._end - seconds, 0.0)
