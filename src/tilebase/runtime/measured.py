"""What a run took, where and when, for records of results: machine, processor seconds, memory, date; times.

The seconds and rates that a question reports are differences of `working_time`, which stands still while
kernels are compiled or loaded.  Deadlines are times of `time.perf_counter`.
"""

from __future__ import annotations

import math
import os
import platform
import resource
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from tilebase.runtime.system import processors

CPU_INFO = Path("/proc/cpuinfo")
DAY = 86400.0
"""Seconds of a day."""


def working_time() -> float:
    """Return the seconds since some moment, without those in which any thread compiled or loaded kernels."""
    return time.perf_counter() - (_compiling().spent() if "numba" in sys.modules else 0.0)


@cache
def _compiling() -> Any:
    """Return the listener that Numba tells when it holds the lock of its compiler."""
    from numba.core import event

    class Compiling(event.Listener):  # type: ignore[misc]
        """Adds up the time in which at least one thread compiles."""

        def __init__(self) -> None:
            self._lock, self._depth, self._began, self._sum = threading.Lock(), 0, 0.0, 0.0

        def on_start(self, _: Any) -> None:
            with self._lock:
                self._began = time.perf_counter() if self._depth == 0 else self._began
                self._depth += 1

        def on_end(self, _: Any) -> None:
            with self._lock:
                if self._depth == 1:
                    self._sum += time.perf_counter() - self._began
                self._depth = max(self._depth - 1, 0)  # it may have begun before this listened

        def spent(self) -> float:
            """Return the seconds up to now."""
            with self._lock:
                return self._sum + (time.perf_counter() - self._began if self._depth else 0.0)

    found = Compiling()
    event.register("numba:compiler_lock", found)
    return found


class SaveClock:
    """Says when a run writes down what it has: seldom enough that this takes little of its time."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Count from now on, as if nothing had been saved."""
        self._since, self._took = time.perf_counter(), 0.0

    def is_due(self, seconds: float, times: float) -> bool:
        """Return whether so many seconds have passed since, and so many times what the last saving took."""
        return time.perf_counter() - self._since >= max(seconds, times * self._took)

    @contextmanager
    def saving(self) -> Iterator[None]:
        """Save within this context."""
        began = time.perf_counter()
        yield
        self._since = time.perf_counter()
        self._took = self._since - began


# -- times as text ---------------------------------------------------------------------------------


def clock(seconds: float) -> str:
    """Return a time as ``1:02:03`` or ``2:03``."""
    minutes, rest = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def duration(seconds: float, digits: int = 2) -> str:
    """Return a time in words with so many digits: ``28 minutes``, ``3.1 days`` or ``540 years``."""
    units = (("years", 365.25 * DAY), ("days", DAY), ("hours", 3600.0), ("minutes", 60.0))
    for unit, size in units:
        if seconds >= 2 * size:
            return f"{rounded(seconds / size, digits)} {unit}"
    return "a second" if 0.5 <= seconds < 1.5 and digits == 2 else f"{rounded(seconds, digits)} seconds"


def rounded(number: float, digits: int = 2) -> str:
    """Return a number with so many digits and thousands separators; 0 for a negative one.

    >>> rounded(1234567), rounded(0.0123456, 3)
    ('1,200,000', '0.0123')
    """
    if number <= 0:
        return "0"
    after = digits - 1 - math.floor(math.log10(number))
    text = f"{round(number, after):,.{max(after, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


# -- records of results ----------------------------------------------------------------------------


def run_facts() -> dict[str, Any]:
    """Return the date, the machine, and what this process and its finished children have taken so far.

    ``cpu_seconds`` are those of all threads; ``memory_bytes`` is the most that one process held at once.
    """
    times = os.times()
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{_model()}, {processors()} processors, {platform.system()}",
        "cpu_seconds": round(times.user + times.system + times.children_user + times.children_system, 1),
        "memory_bytes": _peak(),
    }


def _model() -> str:
    """Return the name of the processor."""
    try:
        lines = CPU_INFO.read_text("utf-8").splitlines()
    except (OSError, ValueError):
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


def _peak() -> int:
    """Return the most bytes that this process or a finished child held at once."""
    peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return int(max(peaks)) * (1 if platform.system() == "Darwin" else 1024)


# -- the command -----------------------------------------------------------------------------------


COMMAND: ContextVar[str] = ContextVar("COMMAND", default="tilebase")
"""The words of the command as in a shell, without those that say where and how a result is shown.

Outside of the command line it is the name of the program.
"""
QUIET: ContextVar[bool] = ContextVar("QUIET", default=False)
"""Whether progress is not shown."""
ANYWAY: ContextVar[bool] = ContextVar("ANYWAY", default=False)
"""Whether a command begins even if it is expected to take too much."""
