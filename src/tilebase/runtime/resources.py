"""How much memory a run may take, and how many processors: what machine, containers and limits leave.

Available memory is the least of

* what the kernel says the machine can give (``MemAvailable``, or on other systems than Linux what `psutil`
  says);
* what each control group around this process leaves: its limit (``memory.max`` and ``memory.high`` in
  version 2, ``memory.limit_in_bytes`` in version 1) minus what the group uses.  Pages of files are not
  counted as used, since the kernel releases them when memory is needed;
* what the limits of the process leave (``ulimit -v`` and ``ulimit -d``).

A limit that cannot be read is ignored.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

from tilebase.errors import ResourceError, UsageError

LOG = logging.getLogger(__name__)
try:
    import resource
except ImportError:  # Windows
    LIMITS: tuple[tuple[int, int], ...] = ()
else:
    LIMITS = ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5))
"""The limits of this process that are known here, and the column of ``statm`` that counts what is used."""

MOST_THREADS = 256
"""More threads make no run faster, and each takes one or two megabytes."""
OVERHEAD = 400 << 20
"""Bytes for Python, the libraries, compiled code and buffers of a run."""
LEAST_ADDRESSES = 800 << 20
"""Bytes of address space without which the compiler cannot be loaded and used."""
PROC = Path("/proc")
CONTROL_GROUPS = Path("/sys/fs/cgroup")


def available_memory(proc: Path = PROC, groups: Path = CONTROL_GROUPS) -> int:
    """Bytes of memory that this process can take now (see the module)."""
    return max(0, min([_machine_memory(proc), *_group_memory(proc, groups), *_process_memory(proc)]))


def most_memory(proc: Path = PROC, groups: Path = CONTROL_GROUPS) -> int | None:
    """Bytes beyond which the system kills this process or refuses memory; None without such a limit."""
    hard = [limit for limit, _ in _groups(proc, groups)]
    return min([*hard, *_process_memory(proc)], default=None)


def check_resources(memory: int | None, threads: int | None) -> tuple[int, int]:
    """Bytes and threads to use: those asked for; by default 3/4 of the available memory, and all cores.

    The memory never exceeds the limits of this process and its container.  Raises `UsageError` if
    what is asked for is not possible anywhere, `ResourceError` if this machine has too little memory.
    """
    used = check_threads(threads)
    most = most_memory()
    chosen = available_memory() * 3 // 4 if memory is None else memory
    if most is not None:
        chosen = min(chosen, most)
    LOG.debug("%d MiB of memory and %d threads may be used", chosen >> 20, used)
    if chosen < OVERHEAD:
        least = f"at least {OVERHEAD >> 20} MiB are needed"
        if memory is not None and memory < OVERHEAD:
            raise UsageError(f"{memory >> 20} MiB of memory is too little: {least}")
        raise ResourceError(
            f"only {chosen >> 20} MiB of memory can be used here, and {least}: stop other programs, or raise "
            "the limit of the container or of the process (ulimit -v)"
        )
    return chosen, used


def check_threads(threads: int | None) -> int:
    """Threads to use: those asked for, or all cores.  Raises `UsageError` if no run may use so many."""
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise UsageError(f"the number of threads must be 1 to {MOST_THREADS}, not {threads}")
    return threads or processors()


def processors() -> int:
    """The processors that this process may use; all of the machine where no call tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_addresses(proc: Path = PROC) -> None:
    """Raise `ResourceError` if a limit of this process is too low to load the compiler."""
    left = min(_process_memory(proc), default=LEAST_ADDRESSES)
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


def _group_memory(proc: Path, groups: Path) -> list[int]:
    """The bytes that each limited control group around this process leaves."""
    return [max(0, limit - used) for limit, used in _groups(proc, groups)]


def _process_memory(proc: Path) -> list[int]:
    """The bytes that the limits of this process leave."""
    sizes = _words(proc / "self" / "statm")
    found = []
    for limited, column in LIMITS:
        limit, _ = resource.getrlimit(limited)
        if limit != resource.RLIM_INFINITY:
            used = int(sizes[column]) * os.sysconf("SC_PAGE_SIZE") if len(sizes) > column else 0
            found.append(max(0, limit - used))
    return found


def _groups(proc: Path, groups: Path) -> Iterator[tuple[int, int]]:
    """``(limit, used)`` for each limited group around this process, pages of files not counted."""
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
    """``(limit, used)`` of the group of a path and of its parents, up to `root`.

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
    """Bytes of cached files in memory; the kernel can release them."""
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
