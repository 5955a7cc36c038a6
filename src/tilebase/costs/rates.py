"""How fast this machine is: the rates of one thread, and of what many machines share.

`FIXED` are the rates of two virtual cores of a server processor (docs/performance.md).  Those of another
machine are these times one factor for each engine: how long it takes to solve a small game
(`costs.measuring`), divided by how long that took where the fixed rates were measured.  The game is solved
when a process that has loaded the compiler first needs an estimate.  This takes about a second, and the
factor is kept in the cache folder, in a file for each version of the kernels and each machine.  One that was
measured while other programs had the processors is measured again when they are free, and the smaller one is
kept.  `doubts` says where estimates may not hold.

The fixed rates hold where nothing can be measured in so short a time or kept: before the compiler is loaded
and the kernels of an engine are compiled, and without a cache folder that can be written.  A file that is
damaged is written again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import platform
import sys
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

from tilebase.errors import StorageError
from tilebase.runtime import system
from tilebase.runtime.documents import to_json
from tilebase.runtime.paths import cache_folder
from tilebase.runtime.storage import write_whole

LOG = logging.getLogger(__name__)
Engine = Literal["sparse", "dense"]
Source = Literal["fixed", "measured"]
"""Whether a factor was measured."""
TASKS: dict[str, str] = {"sparse": "count and solve positions", "dense": "pass over all boards"}
"""What an engine does, in words."""
LEAST, MOST = 0.05, 50.0
"""A factor beyond these was not measured by this program."""


@dataclass(frozen=True)
class Rates:
    """The rates of one thread of a machine.  Times are CPU seconds.

    Attributes
    ----------
    layer:
        For each layer that is counted, solved or passed: files, journal and small arrays.
    state, rank:
        To count, per reachable state, and per rank of the index of a layer, whose bits are read.
    after, spawn, fold:
        To solve, per afterstate; per spawn after it; and per spawn for each further objective.
    boards:
        Of a pass over all boards with values, per board that the index ranks; with several masks these are up
        to 2.6 times those of the game (`masks` in `facts/runs.tsv`).
    bits:
        The same with Boolean values as bits.
    kept:
        Of such a pass that keeps a table, per byte of a value, which is compressed.
    opened:
        Of a search for forced wins, per afterstate that it opens.
    followed, read, visit, judged:
        To evaluate a policy, per spawn after an afterstate; to read the value of an afterstate of a table; to
        follow optimal play, per state that it visits; to judge an agent, per state that it meets, beside the
        time of the agent.
    checked, derived, sampled:
        To verify a table: per byte that is compared with its checksum; per value and spawn after it, to
        derive the value again in plain Python; and per value of a sample, whose chunks are decoded.
    called, listed:
        To evaluate a function, per state that it reaches; to list a decision process, per state.
    disk:
        Bytes per second from and to a disk.
    exchange, load, shared_boards:
        More on many machines: per state that is counted, to hand ranks to other workers; per afterstate, to
        load a solved layer; per board of a pass over all boards through files, for ranges and checksums.
    piece, step:
        Of the scheduler for a piece, and from the last piece of a step to the first of the next.
    """

    layer: float = 4e-4
    state: float = 5.2e-8
    rank: float = 4.5e-10
    after: float = 2e-8
    spawn: float = 2.6e-8
    fold: float = 1.5e-8
    boards: float = 1 / 35e6
    bits: float = 1 / 400e6
    kept: float = 2.6e-9
    opened: float = 1.4e-6
    followed: float = 5.5e-8
    read: float = 3e-8
    visit: float = 4.5e-7
    judged: float = 1.8e-6
    checked: float = 2.2e-8
    derived: float = 2.9e-5
    sampled: float = 2e-4
    called: float = 1e-4
    listed: float = 3e-6
    disk: float = 1e9
    exchange: float = 3e-8
    load: float = 1.5e-8
    shared_boards: float = 2.5e-8
    piece: float = 1e-3
    step: float = 0.05

    def scaled(self, factor: float) -> Rates:
        """Return the rates of a machine that takes so many times as long, with disks that are as fast."""
        same = ("disk", "piece", "step")
        slower = {one.name: factor * getattr(self, one.name) for one in fields(self) if one.name not in same}
        return replace(self, **slower)


FIXED = Rates()
"""Rates of two virtual cores of a server processor with AVX-512."""
FACTORS: dict[str, float] = {}
"""The factors that this process knows, by engine."""
SOURCES: dict[str, Source] = {}
"""Where they come from."""


def rates(engine: Engine) -> Rates:
    """Return the rates of this machine for an engine."""
    if engine not in FACTORS:
        FACTORS[engine], SOURCES[engine] = _factor(engine)
    return _scaled(FACTORS[engine])


@lru_cache(maxsize=4)
def _scaled(factor: float) -> Rates:
    return FIXED.scaled(factor)


def pass_seconds(boards: float, cores: float, *, bits: bool = False, moved: float = 0.0) -> float:
    """Return about how long a pass over all boards takes one process on so many cores.

    This is the work, or what its disks read and write if that takes longer; with bits it is both.
    """
    here = rates("dense")
    if bits:
        return boards * here.bits / cores + moved / here.disk
    return max(boards * (here.boards + here.shared_boards * (moved > 0)) / cores, moved / here.disk)


def slowdown() -> float:
    """Return how many times as long everything takes at present, since other programs have the processors."""
    load, processors = system.load(), system.processors()
    return (load + processors) / processors if load > processors else 1.0


def busy() -> str:
    """Return that other programs have the processors, and how much longer a run takes; empty if not."""
    times = slowdown()
    if times == 1.0:
        return ""
    return (
        f"other programs keep this machine busy (load {system.load():.1f}, {system.processors()} "
        f"processors): at present everything takes about {times:.2g} times as long on this machine as is said"
    )


def doubts() -> list[str]:
    """Return where the estimates of this process may not hold, as clauses."""
    fixed = [engine for engine in FACTORS if SOURCES.get(engine, "measured") == "fixed"]
    return ([told] if (told := busy()) else []) + [
        f"not measured yet: the estimates take this machine to be as fast as that of docs/performance.md to "
        f"{TASKS[engine]}; they change once a solve has measured it"
        for engine in fixed
    ]


def _factor(engine: Engine) -> tuple[float, Source]:
    """Return the factor of an engine, and its source: kept, or measured now and kept, or 1."""
    folder = cache_folder()
    if folder is None:
        return 1.0, "fixed"
    file = folder / f"rate-{engine}-{_machine()}.json"
    kept, busy = None, system.load() > system.processors()
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        told = json.loads(file.read_text("utf-8"))
        kept = float(told["factor"])
        if LEAST <= kept <= MOST and (busy or not told.get("busy", False)):
            return kept, "measured"
    if "numba" not in sys.modules or not os.access(folder, os.W_OK):
        return (1.0, "fixed") if kept is None or not LEAST <= kept <= MOST else (kept, "measured")
    from tilebase.costs.measuring import measured_factor

    measured = measured_factor(engine)
    if measured is None or not LEAST <= measured <= MOST:
        return 1.0, "fixed"
    if kept is not None and LEAST <= kept < measured:
        measured = kept
    with suppress(StorageError):
        write_whole(file, to_json({"factor": round(measured, 3), "busy": busy}) + "\n", durable=False)
    LOG.debug("this machine takes %.2f times the fixed rates of the %s engine", measured, engine)
    return measured, "measured"


@cache
def _machine() -> str:
    """Hash what the rates depend on: the kernels, their compiler and its checks, and the processor."""
    from importlib.metadata import version  # takes 15 ms, with all of email

    digest = hashlib.sha256(f"{version('numba')} {os.environ.get('TILEBASE_DEBUG')}".encode())
    for kernel in sorted(files("tilebase._kernels").iterdir(), key=lambda file: file.name):
        if kernel.name.endswith(".py"):
            digest.update(kernel.read_bytes())
    names = [platform.node(), platform.machine(), platform.processor(), str(os.cpu_count())]
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
        names += [line for line in lines if line.startswith("model name")][:1]
    digest.update(" ".join(names).encode())
    return digest.hexdigest()[:12]
