"""What a run took, where and when, for records of results: machine, processor seconds, memory, date."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tilebase.runtime.system import processors

CPU_INFO = Path("/proc/cpuinfo")


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
