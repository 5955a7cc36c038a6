"""How long a unit of an engine's work takes: fixed rates, and how this machine compares with them.

A rate is the CPU seconds that one thread takes for a unit of work.  `RATES` were measured on two virtual
cores of a server processor (docs/performance.md).  A run of `LEAST_SECONDS` or more tells `remember` its work
and its CPU seconds when it ends.  The cache folder keeps their ratio to the fixed rate, of the last `KEPT`
runs of each engine on each machine; their median is the factor of this machine.  Without such runs, or
without a cache folder, the fixed rates hold; `doubts` says so.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

from tilebase.errors import StorageError
from tilebase.runtime import system
from tilebase.runtime.documents import to_json
from tilebase.runtime.measured import duration, working_time
from tilebase.runtime.paths import cache_folder
from tilebase.runtime.storage import write_whole

RATES = {
    "count": 5.2e-8,  # a reachable state, counted, with `RANK` for each rank of the index
    "solve": 2.6e-8,  # a spawn after an afterstate, folded into its value
    "pass": 1 / 35e6,  # a board of a pass over all boards, with values
    "bits": 1 / 800e6,  # a board of such a pass that is worked out, with Boolean values as bits
    "enter": 2.9e-8,  # an afterstate that such a pass has found, listed and written
    "search": 1.4e-6,  # an afterstate that a search for forced wins opens
    "evaluate": 6.3e-8,  # a spawn after an afterstate, under a policy
    "read": 3e-8,  # a value of a table
    "visit": 4.5e-7,  # a state that optimal play visits
    "judge": 1.8e-6,  # a state that an agent meets, beside the time of the agent
    "check": 2.2e-8,  # a byte of a table that is compared with its checksum
    "derive": 2.9e-5,  # a spawn after a board, whose value is derived again in plain Python
    "sample": 2e-4,  # a board of a sample, whose chunk is decoded
    "call": 1e-4,  # a state in which a Python function chooses
    "list": 3e-6,  # a state of a decision process
}
"""CPU seconds for a unit of work."""
LAYER_SECONDS = 4e-4
"""For each layer: files, journal and small arrays."""
DISK = 1e9
"""Bytes per second from and to a disk."""
RANK = 0.0087
"""The work for a rank, whose bits are read, in states."""
SERIAL = 0.05
"""The share of the work that one core does alone, by Amdahl's law: solving 4x4 to 32 on two cores took 282
CPU seconds in 147, and counting 4x4 to 64 took 3,313 on two cores, and 622 seconds on 14."""
RUNS = {
    "count": "count",
    "solve": "solve positions",
    "pass": "pass over all boards",
    "bits": "pass over bits",
}
"""The engines that tell what their runs took, and what they do, in words; others are as fast as `solve`."""
LEAST_SECONDS = 60.0
"""CPU seconds of a run from which on its start and its small layers do not matter: runs of a few seconds made
the estimate of a pass over bits six times too long."""
COMPILING = 0.1
"""The most seconds of compiling in a run that is remembered, as a share of its CPU seconds."""
KEPT = 8
"""So many runs of an engine are kept."""
LEAST, MOST = 0.05, 50.0
"""A factor beyond these was not measured by this program."""
FACTORS: dict[str, float] = {}
"""What this process knows: times as long as the fixed rates, by engine; 1 without runs."""
ASSUMED: set[str] = set()
"""The engines whose fixed rates this process has taken, since there were no runs."""


def seconds(engine: str, work: Any) -> Any:
    """Return the CPU seconds of one thread for a number of units of work, or an array of them."""
    known = engine if engine in RUNS else "solve"
    if known not in FACTORS:
        kept = _read().get(known)
        FACTORS[known] = median(kept) if kept else 1.0
        if not kept:
            ASSUMED.add(known)
    return work * (RATES[engine] * FACTORS[known])


def of_cores(cores: float) -> float:
    """Return how much more work the given cores do than one thread in the same time."""
    return cores / (1 + SERIAL * (cores - 1))


def remember(engine: str, work: float, spent: float) -> None:
    """Keep what a run took, in CPU seconds of this process; short runs and odd factors are left out."""
    file = _file()
    if spent < LEAST_SECONDS or not work or file is None or not os.access(file.parent, os.W_OK):
        return
    factor = spent / (RATES[engine] * work)
    if LEAST <= factor <= MOST:
        known = _read()
        known[engine] = [*known.get(engine, []), round(factor, 3)][-KEPT:]
        with suppress(StorageError):
            write_whole(file, to_json(known) + "\n", durable=False)


@contextmanager
def remembering() -> Iterator[dict[str, float]]:
    """Remember the CPU seconds of a run that ends without an error.

    It enters its work, by engine, into the dictionary that is given; without an entry nothing is remembered.
    CPU seconds hardly depend on what other programs do, so a busy machine teaches the same rate.  A run that
    compiled or loaded kernels for more than `COMPILING` of it is left out: only their wall time is known.
    """
    began, since, worked = time.process_time(), time.perf_counter(), working_time()
    work: dict[str, float] = {}
    yield work
    spent = time.process_time() - began
    compiling = time.perf_counter() - since - (working_time() - worked)
    if len(work) == 1 and compiling <= COMPILING * spent:
        remember(*work.popitem(), spent)


def _read() -> dict[str, list[float]]:
    """Return the factors of the last runs by engine; those of a damaged file are left out."""
    file, found = _file(), dict[str, list[float]]()
    with suppress(OSError, ValueError, TypeError, AttributeError, RecursionError):
        told = {} if file is None else json.loads(file.read_text("utf-8"))
        for engine in RUNS.keys() & told.keys():
            found[engine] = [float(one) for one in told[engine] if LEAST <= float(one) <= MOST]
    return found


def _file() -> Path | None:
    """Return the file of this machine in the cache folder; None without one."""
    folder = cache_folder()
    names = [platform.node(), platform.machine(), platform.processor(), str(os.cpu_count())]
    digest = hashlib.sha256(" ".join(names).encode()).hexdigest()[:12]
    return None if folder is None else folder / f"speeds-{digest}.json"


def busy() -> str:
    """Return that other programs have the processors, and how much longer a run takes; empty if not.

    Estimates are those of a machine that does nothing else: its load is said here, and nowhere counted.
    """
    load, processors, times = system.load(), system.processors(), slowdown()
    text = f"this machine is busy (load {load:.1f}, {processors} processors): all takes about"
    return "" if times == 1 else f"{text} {times:.2g} times as long"


def slowdown() -> float:
    """Return how many times as long a run takes beside the other programs; 1 if a processor is free."""
    part = system.load() / system.processors()
    return 1 + part if part > 1 else 1.0


def is_first() -> bool:
    """Return whether no run has compiled kernels on this machine."""
    folder = cache_folder()
    return folder is not None and not any(folder.glob("*/*.nbc"))


def doubts() -> list[str]:
    """Return where the estimates of this process may not hold, as clauses."""
    found = [told] if (told := busy()) else []
    if is_first():
        found.append("the first run on this machine compiles kernels, which takes about 10 seconds more")
    if ASSUMED:
        what = " or ".join(name for engine, name in RUNS.items() if engine in ASSUMED)
        found.append(
            f"no run of {duration(LEAST_SECONDS)} or more to {what} is known here: these times are of the "
            "machine of docs/performance.md"
        )
    return found
