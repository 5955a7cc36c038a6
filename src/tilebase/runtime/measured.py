"""What a run took, where and when, for records of results: machine, processor seconds, memory, date.

The seconds and rates that a question reports are differences of `working_time`, which stands still while
kernels are compiled or loaded.  Deadlines are times of `time.perf_counter`.
"""

from __future__ import annotations

import os
import platform
import sys
import threading
import time
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from tilebase.runtime.system import processors

CPU_INFO = Path("/proc/cpuinfo")


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


def run_facts() -> dict[str, Any]:
    """Return the date, the machine, and what this process and its finished children have taken so far.

    ``cpu_seconds`` are those of all threads; ``memory_bytes`` is the most that one process held at once, and
    None where the system does not tell.
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


def _peak() -> int | None:
    """Return the most bytes that this process or a finished child held at once."""
    try:
        import resource
    except ImportError:  # no such system
        return None
    peaks = [resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return int(max(peaks)) * (1 if platform.system() == "Darwin" else 1024)
