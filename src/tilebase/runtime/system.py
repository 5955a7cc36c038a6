"""Where systems differ: open files, limits and processors of a process, and how it ends with its parent.

A system that has `fcntl` is POSIX: Linux, macOS, BSD.  On Windows

* a lock is on one byte, which no other process can then read or write.  So it is a byte far behind the end;
* a file that is open can be neither renamed nor deleted, nor can a folder around it, so a lock ends before;
* a file can be flushed only if it is open for writing, and a folder not at all;
* no flag of `os.open` refuses links, and without a flag line ends are changed;
* no call reads at a position and leaves the position of the file as it is.
"""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

from tilebase.errors import ResourceError

fcntl: Any = None
resource: Any = None
msvcrt: Any = None
try:
    import fcntl
    import resource
except ImportError:
    import msvcrt

POSIX = fcntl is not None
AS_IT_IS = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Flags for any file: opening a pipe does not wait for its other end, and line ends stay as they are."""
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
"""The flag that refuses links; 0 where the system has no such flag."""
LOCKED_BYTE = (1 << 31) - 2
"""The byte that a lock of Windows is on.  It need not exist, and its position is a C long."""
DIE_WITH_PARENT = 1
"""Linux's PR_SET_PDEATHSIG."""
_SEEKING = Lock()


def lock(descriptor: int) -> bool:
    """Take the exclusive lock of an open file, which its closing releases; False if another holds it."""
    return _lock_byte(descriptor) if fcntl is None else _flock(descriptor, fcntl.LOCK_EX)


def is_free(descriptor: int) -> bool:
    """Return whether nobody holds the lock of an open file.  To be closed at once: it may be locked now."""
    return _lock_byte(descriptor) if fcntl is None else _flock(descriptor, fcntl.LOCK_SH)


def _flock(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_byte(descriptor: int) -> bool:
    os.lseek(descriptor, LOCKED_BYTE, os.SEEK_SET)
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except PermissionError:
        return False
    finally:
        os.lseek(descriptor, 0, os.SEEK_SET)
    return True


def read_at(descriptor: int, size: int, offset: int) -> bytes:
    """At most `size` bytes of an open file from a position on; several threads may call it."""
    if POSIX:
        return os.pread(descriptor, size, offset)
    with _SEEKING:
        os.lseek(descriptor, offset, os.SEEK_SET)
        return os.read(descriptor, size)


def let_go(descriptor: int, begin: int, end: int) -> None:
    """Tell the system that nobody reads some bytes of a file soon: it writes them, and keeps no copies.

    Copies of what is not written yet stay, until this is called again.
    """
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, begin, end - begin, os.POSIX_FADV_DONTNEED)


def flush(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    if not POSIX and path.is_dir():
        return
    descriptor = os.open(path, (os.O_RDONLY if POSIX else os.O_RDWR) | AS_IT_IS)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def rename(file: BinaryIO, path: Path, target: Path) -> None:
    """Rename an open file that was flushed, and close it."""
    if not POSIX:
        file.close()
    path.replace(target)
    file.close()


def delete(file: BinaryIO, path: Path) -> None:
    """Delete an open file, if it is there, and close it."""
    if POSIX:
        path.unlink(missing_ok=True)
        file.close()
        return
    with suppress(OSError):  # the disk is full, and nothing needs to be written any more
        file.close()
    with suppress(PermissionError):  # another process has just opened it
        path.unlink(missing_ok=True)


def limits() -> list[tuple[int, int]]:
    """List the limits of this process in bytes, each with the column of ``statm`` that says what is used."""
    if not POSIX:
        return []
    columns = {resource.RLIMIT_AS: 0, resource.RLIMIT_DATA: 5}
    found = [(resource.getrlimit(limited)[0], column) for limited, column in columns.items()]
    return [(limit, column) for limit, column in found if limit != resource.RLIM_INFINITY]


def processors() -> int:
    """Count the processors that this process may use; all of the machine where no call tells."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load() -> float:
    """Return how many processes wanted a processor in the last minute, on average; 0 where no call tells."""
    with suppress(AttributeError, OSError):
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
