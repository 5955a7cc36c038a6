"""Open files, where systems differ: flags, locks, reading at a position, flushing, and what may be renamed.

A system that has `fcntl` is POSIX: Linux, macOS, BSD.  On Windows

* a lock is on one byte, which no other process can then read or write.  So it is a byte far behind the end;
* a file that is open can be neither renamed nor deleted, nor can a folder around it, so a lock ends before;
* a file can be flushed only if it is open for writing, and a folder not at all;
* no flag of `os.open` refuses links, and without a flag line ends are changed;
* no call reads at a position and leaves the position of the file as it is.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

fcntl: Any = None
msvcrt: Any = None
try:
    import fcntl
except ImportError:
    import msvcrt

POSIX = fcntl is not None
AS_IT_IS = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""Flags for any file: opening a pipe does not wait for its other end, and line ends stay as they are."""
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
"""The flag that refuses links; 0 where the system has no such flag."""
LOCKED_BYTE = (1 << 31) - 2
"""The byte that a lock of Windows is on.  It need not exist, and its position is a C long."""
_SEEKING = Lock()


def lock(descriptor: int) -> bool:
    """Take the exclusive lock of an open file, which its closing releases; False if another holds it."""
    return _lock_byte(descriptor) if fcntl is None else _flock(descriptor, fcntl.LOCK_EX)


def is_free(descriptor: int) -> bool:
    """Whether nobody holds the lock of an open file.  To be closed at once: it may be locked now."""
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
