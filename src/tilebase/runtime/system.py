"""What POSIX systems offer: locks, flushing, limits and processors of a process, child processes.

Where Linux has more than macOS and BSD, a function says what it does elsewhere.
"""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from tilebase.errors import ResourceError

AS_IT_IS = os.O_NONBLOCK
"""The flag for any file: opening a pipe does not wait for its other end."""
PAGE_BYTES = 4096
"""Files are read and written past the system's cache in multiples of this."""
DIE_WITH_PARENT = 1
"""Linux's PR_SET_PDEATHSIG."""


def lock(descriptor: int, *, shared: bool = False) -> bool:
    """Take the lock of an open file, which its closing releases; False if another process holds it.

    A shared lock only shows whether anybody holds the exclusive one.
    """
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def let_go(descriptor: int, begin: int, end: int) -> None:
    """Tell the system that nobody reads some bytes of a file soon: it writes them, and keeps no copies.

    Copies of what is not written yet stay, until this is called again.
    """
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, begin, end - begin, os.POSIX_FADV_DONTNEED)


def bypass_cache(descriptor: int, *, bypass: bool = True) -> bool:
    """Let an open file be read and written without copies in the system's cache; False where it cannot be.

    Memory, place and length of all that follows must be whole pages.  Some file systems say only then, by
    EINVAL, that they want more.
    """
    direct = getattr(os, "O_DIRECT", 0)
    with suppress(OSError):
        flags = fcntl.fcntl(descriptor, fcntl.F_GETFL) & ~direct
        fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | direct * bypass)
        return bool(direct)
    return False


def reserve(descriptor: int, size: int) -> None:
    """Let a new file have `size` bytes, all 0; OSError if the disk lacks them and the system can tell."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    else:
        os.ftruncate(descriptor, size)


def flush(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    descriptor = os.open(path, os.O_RDONLY | AS_IT_IS)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def limits() -> list[tuple[int, int]]:
    """List the limits of this process in bytes, each with the column of ``statm`` that says what is used."""
    columns = {resource.RLIMIT_AS: 0, resource.RLIMIT_DATA: 5}
    found = [(resource.getrlimit(limited)[0], column) for limited, column in columns.items()]
    return [(limit, column) for limit, column in found if limit != resource.RLIM_INFINITY]


def processors() -> int:
    """Count the processors that this process may use; all of the machine where no call says it."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load() -> float:
    """Return how many processes wanted a processor in the last minute, on average; 0 if it is unknown."""
    with suppress(OSError):
        return os.getloadavg()[0]
    return 0.0


@contextmanager
def library_errors(library: str, prefixes: tuple[str, ...], file: str = "") -> Iterator[None]:
    """Turn what a library raises inside the block into a sentence that says which setting may be wrong.

    These are the variables of the environment with these prefixes, and a file of the current folder.  What
    the library only warns of as an unreadable variable is such an error, too.  A missing module and a full
    disk pass unchanged.  Raises `ResourceError`.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "Environment variable")
            yield
    except (ImportError, OSError, MemoryError):
        raise
    except Exception as error:
        found = sorted(name for name in os.environ if name.startswith(prefixes))
        found += [f"the file {file} in this folder"] if file and Path(file).exists() else []
        settings = " and ".join(found) or "its settings"
        why = str(error).partition("\n")[0]
        raise ResourceError(f"{library} fails: {why}; remove or mend {settings}") from error


def end_with_parent() -> bool:
    """Let Linux kill this process when its parent ends; False if it has ended meanwhile."""
    import ctypes

    parent = os.getppid()
    with suppress(AttributeError, TypeError):
        ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    return os.getppid() == parent


# -- child processes that run Python ---------------------------------------------------------------


def python_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of this package in a child, with `child_environment`."""
    return [sys.executable, "-P", "-m", module, *arguments]


def child_environment() -> dict[str, str]:
    """Return the environment of such a child: it finds what this process finds, but not in this folder.

    The folder that this package lies in is always searched.
    """
    current = os.path.realpath(os.curdir)
    home = os.path.realpath(Path(__file__).parents[2])
    searched = [
        entry for entry in filter(None, sys.path) if os.path.realpath(entry) != current or current == home
    ]
    return os.environ | {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(searched)}


def last_words(complaints: IO[bytes], cause: str) -> str:
    """Say why a child ended: the last line that it wrote to its standard error, and `cause` in brackets."""
    complaints.seek(0)
    lines = complaints.read().decode(errors="replace").strip().splitlines()
    return f"{lines[-1].strip()} ({cause})" if lines else cause
