"""How much memory a run may take, and how many processors: what machine, containers and limits leave.

Available memory is the least of

* what the kernel says the machine can give (``MemAvailable``, or on other systems than Linux what `psutil`
  says);
* what each control group around this process leaves: its limit (``memory.max`` and ``memory.high`` in
  version 2, ``memory.limit_in_bytes`` in version 1) minus what the group uses.  Pages of files are not
  counted as used, since the kernel releases them when memory is needed;
* what the limits of the process leave (``ulimit -v`` and ``ulimit -d``).

A limit that cannot be read is ignored.

`Use` names what a caller may say of it, `Allowance` is what a question was then allowed: it makes this value
once and hands it to estimates and engines.
"""

from __future__ import annotations

import logging
import math
import mmap
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self, TypedDict, TypeGuard, Unpack

from tilebase.errors import ResourceError, UsageError
from tilebase.runtime import system
from tilebase.runtime.progress import Progress

LOG = logging.getLogger(__name__)
MOST_THREADS = 256
"""More threads make no run faster, and each takes one or two megabytes."""
OVERHEAD = 400 << 20
"""Bytes for Python, the libraries, compiled code and buffers of a run."""
LEAST_ADDRESSES = 800 << 20
"""Bytes of address space without which the compiler cannot be loaded and used."""
PROC = Path("/proc")
CONTROL_GROUPS = Path("/sys/fs/cgroup")
UNITS = {
    "": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12,
    "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40,
}  # fmt: skip
"""Bytes of the units in which memory is written."""


class Use(TypedDict, total=False):
    """The resources of a query: the keywords that `count`, `solve`, `prove`, `force` and others share.

    Attributes
    ----------
    memory:
        Bytes to use, as a number or as text: ``"12GiB"``, ``"500MB"``.  None: 3/4 of the available memory.
        This includes compiled code and libraries, but not the page cache.
    disk:
        Bytes on disk, also as text.  None: the free space at the folder of the run.  A run that needs more is
        refused, but `solve` first tries to keep fewer layers, and to count the others twice.
    threads:
        None: one for each processor that this process may use.
    anyway:
        Start even if the run is estimated (`costs`) to take more than a week, or more memory or disk than
        there is.  The time of a search cannot be estimated.
    progress:
        Called with a `Progress` several times a second.
    """

    memory: int | str | None
    disk: int | str | None
    threads: int | None
    anyway: bool
    progress: Callable[[Progress], None] | None


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What a question may use, after the checks: bytes, threads and the rest of `Use`."""

    memory: int
    threads: int
    disk: int | None = None
    anyway: bool = False
    progress: Callable[[Progress], None] | None = None

    @classmethod
    def of(cls, **use: Unpack[Use]) -> Allowance:
        """Return what the keywords of `Use` allow.

        The memory never exceeds the limits of this process and its container.  Raises `UsageError` if
        what is asked for is not possible anywhere, `ResourceError` if this machine has too little memory,
        TypeError for another keyword.
        """
        if unknown := [name for name in use if name not in Use.__annotations__]:
            fractions = "; fractions are computed by tilebase.questions.exact.solve_exactly"
            raise TypeError(
                f"unexpected keyword argument {unknown[0]!r}: beside its own arguments, a "
                f"question takes {', '.join(Use.__annotations__)}{fractions * ('exact' in unknown)}"
            )
        allowed = Allowance(
            memory=_check_memory(parse_bytes(use.get("memory"))), threads=check_threads(use.get("threads")),
            disk=parse_bytes(use.get("disk"), "disk"), anyway=use.get("anyway", False),
            progress=use.get("progress"),
        )  # fmt: skip
        LOG.debug("%d MiB of memory and %d threads may be used", allowed.memory >> 20, allowed.threads)
        return allowed

    def with_disk(self, free: float) -> Self:
        """Return the same where `free` bytes of the disk are free, infinity if nobody knows."""
        most = free if self.disk is None else min(free, self.disk)
        return replace(self, disk=None if math.isinf(most) else int(most))

    @property
    def cores(self) -> int:
        """The processors that the threads keep busy: those of the machine at most."""
        return min(self.threads, system.processors())


def available_memory(proc: Path = PROC, groups: Path = CONTROL_GROUPS) -> int:
    """Return the bytes of memory that this process can take now (see the module)."""
    left = [limit - used for limit, used in _groups(proc, groups)]
    return max(0, min([_machine_memory(proc), *left, *_process_memory(proc)]))


def most_memory(proc: Path = PROC, groups: Path = CONTROL_GROUPS) -> int | None:
    """Return the bytes beyond which the system refuses memory or kills this process; None without limit."""
    hard = [limit for limit, _ in _groups(proc, groups)]
    return min([*hard, *_process_memory(proc)], default=None)


def parse_bytes(memory: int | str | None, what: str = "memory") -> int | None:
    """Bytes, given as a number or as text, ``16GiB``; None stays None.  Raises `UsageError`."""
    if memory is None or _is_whole(memory):
        return memory
    if not isinstance(memory, str):
        raise UsageError(f"{what} must be a whole number of bytes or text as 16GiB, not {memory!r}")
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]i?|)b?", memory.strip().lower())
    if not match:
        raise UsageError(f"{memory[:40]!r} is not an amount of {what}: write 16GiB or 500MB")
    amount = float(match[1]) * UNITS[match[2]]
    if not math.isfinite(amount):
        raise UsageError(f"{memory[:40]!r} is too much {what}: write 16GiB or 500MB")
    return int(amount)


def check_threads(threads: int | None) -> int:
    """Return the threads to use: those asked for, or all cores.  Raises `UsageError` if they are too many."""
    if threads is None:
        return system.processors()
    if not _is_whole(threads) or not 1 <= threads <= MOST_THREADS:
        raise UsageError(f"the number of threads must be 1 to {MOST_THREADS}, not {threads!r}")
    return threads


def _is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number, also one of NumPy, and no Boolean value."""
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _check_memory(memory: int | None) -> int:
    """Return the bytes to use: those asked for, or 3/4 of what is available, within this process's limits."""
    most = most_memory()
    chosen = available_memory() * 3 // 4 if memory is None else memory
    if most is not None:
        chosen = min(chosen, most)
    if chosen < OVERHEAD:
        least = f"at least {OVERHEAD >> 20} MiB are needed"
        if memory is not None and memory < OVERHEAD:
            raise UsageError(f"{memory >> 20} MiB of memory is too little: {least}")
        raise ResourceError(
            f"only {chosen >> 20} MiB of memory can be used here, and {least}: stop other programs, or raise "
            "the limit of the container or of the process (ulimit -v)"
        )
    return chosen


def check_addresses() -> None:
    """Raise `ResourceError` if a limit of this process is too low to load the compiler."""
    left = min(_process_memory(PROC), default=LEAST_ADDRESSES)
    if left < LEAST_ADDRESSES:
        raise ResourceError(
            f"this process may take only {left >> 20} MiB more of address space, and the compiler needs "
            f"{LEAST_ADDRESSES >> 20} MiB: raise the limit, as with ulimit -v unlimited"
        )


def _machine_memory(proc: Path) -> int:
    for line in _lines(proc / "meminfo"):
        words = line.split()
        if len(words) > 1 and words[0] == "MemAvailable:" and words[1].isdecimal():
            return int(words[1]) * 1024
    try:
        import psutil
    except ImportError:  # only Linux does without it
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return int(psutil.virtual_memory().available)


def _process_memory(proc: Path) -> list[int]:
    """Return the bytes that the limits of this process leave."""
    sizes = _words(proc / "self" / "statm")
    found = []
    for limit, column in system.limits():
        used = int(sizes[column]) * mmap.PAGESIZE if len(sizes) > column else 0
        found.append(max(0, limit - used))
    return found


def _groups(proc: Path, groups: Path) -> Iterator[tuple[int, int]]:
    """Yield ``(limit, used)`` for each limited group around this process, pages of files not counted."""
    for line in _lines(proc / "self" / "cgroup"):
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            for root in (groups, groups / "unified"):
                yield from _walk(root, path, ("memory.max", "memory.high"), "memory.current", "")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes",)
            yield from _walk(groups / "memory", path, names, "memory.usage_in_bytes", "total_")


def _walk(
    root: Path, path: str, limits: tuple[str, ...], usage: str, prefix: str
) -> Iterator[tuple[int, int]]:
    """Yield ``(limit, used)`` of the group of a path and of its parents, up to `root`.

    A container may see its own group as the root.
    """
    inner = root / path.strip("/")
    for folder in [inner, *inner.parents]:
        if not folder.is_relative_to(root):
            return
        found = [int(word) for name in limits for word in _words(folder / name) if word.isdecimal()]
        used = [int(word) for word in _words(folder / usage) if word.isdecimal()]
        if found and used:
            yield min(found), max(0, used[0] - _file_pages(folder / "memory.stat", prefix))


def _file_pages(stat: Path, prefix: str) -> int:
    """Return the bytes of cached files in memory; the kernel can release them."""
    wanted = {f"{prefix}active_file", f"{prefix}inactive_file"}
    pairs = (line.split() for line in _lines(stat))
    return sum(int(pair[1]) for pair in pairs if len(pair) == 2 and pair[0] in wanted and pair[1].isdecimal())


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("utf-8", "replace").splitlines()
    except (OSError, ValueError):
        return []


def _words(file: Path) -> list[str]:
    return [word for line in _lines(file) for word in line.split()]
