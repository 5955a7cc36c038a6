"""Files that are there whole or not at all, locks, and what is flushed to disk before what.

A file is written as ``.NAME.part`` beside its place and renamed when it is complete.  Whoever writes the part
holds a lock (`flock`) on it, so that what a killed process left is told from what another process is writing:
the same command takes a left part over, and removes it if it fails itself.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Self

from tilebase.errors import StorageError
from tilebase.runtime.threads import map_in_threads

SYNC_THREADS = 16
"""Threads that flush files: the file system serves several at once with one write of its own journal."""


@contextmanager
def storage_errors(path: Path | str, action: str = "write") -> Iterator[None]:
    """Raise what the system refuses inside as `StorageError`: ``cannot ACTION PATH: ...``."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(f"cannot {action} {path}: {error.strerror or error}") from error


class FileLock:
    """An exclusive lock on a file that is made if it does not exist.  The end of a process releases it.

    The file may be deleted by who holds the lock: who waited for it then takes the lock of a new file.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path, self.file = path, file

    @classmethod
    def take(cls, path: Path) -> Self | None:
        """The lock, or None if another process, or another part of this one, holds it.

        It is tried for 30 ms, since a process that only asks (`is_locked`) holds it for a moment.
        """
        tries = 4
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            file = os.fdopen(descriptor, "r+b", buffering=1 << 16)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                tries -= 1
                if not tries:
                    return None
                time.sleep(0.01)
                continue
            except BaseException:
                file.close()
                raise
            if _is_at(descriptor, path):
                return cls(path, file)
            file.close()  # deleted or renamed between opening and locking

    def release(self, *, delete: bool = False) -> None:
        """Let others take the lock; with `delete` its file goes first."""
        if delete:
            self.path.unlink(missing_ok=True)
        self.file.close()


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock of a file; nothing is made or changed."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file is still the one of this name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


class PartFile:
    """A file in the making: `file` is open for writing; `finish` gives it its name, `discard` removes it.

    A link is followed, so that it stays one.  What is no regular file, as ``/dev/stdout``, is written
    directly.  Raises `StorageError` if the file cannot be made, or another process is writing it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with storage_errors(path):
            self._target = Path(os.path.realpath(path))
            self._old = _mode(self._target)
            self._lock: FileLock | None = None
            if _is_stream(path, self._old):
                self.file: BinaryIO = self.path.open("wb")
                return
            self._lock = FileLock.take(part_path(self._target))
            if self._lock is None:
                raise StorageError(f"cannot write {path}: another process is writing it")
            self.file = self._lock.file
            # Not a new file: file systems write a truncated one to disk as soon as it is closed.
            if os.fstat(self.file.fileno()).st_size:
                self.file.truncate()

    def finish(self, *, durable: bool = True) -> None:
        """Give the file its name, in place of an older one; with `durable` it lasts if the power fails."""
        with storage_errors(self.path):
            self.file.flush()
            if self._lock is not None:
                if self._old is not None:
                    os.fchmod(self.file.fileno(), stat.S_IMODE(self._old))
                if durable:
                    os.fsync(self.file.fileno())
                self._lock.path.replace(self._target)
                self._lock = None
                if durable:
                    sync_folder(self._target.parent)
            self.file.close()

    def discard(self) -> None:
        """Remove what is not finished; what is finished stays."""
        with contextlib.suppress(OSError):  # that it cannot be written has been said
            if self._lock is not None:
                self._lock.path.unlink(missing_ok=True)
                self._lock = None
            self.file.close()


def _is_stream(path: Path, mode: int | None) -> bool:
    """Whether a file is to be written where it is, since another one cannot take its place."""
    direct = path.absolute().parts[:2] in (("/", "dev"), ("/", "proc"))
    return mode is not None and (direct or not stat.S_ISREG(mode))


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def part_path(path: Path) -> Path:
    """Where a file lies until it is complete."""
    return path.with_name(f".{path.name}.part")


@contextmanager
def atomic_file(path: Path | str, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Write a file whole or not at all: what an error, a kill or a full disk ends leaves the older file.

    Raises `StorageError` if the system refuses.
    """
    part = PartFile(Path(path))
    try:
        with storage_errors(path):
            yield part.file
        part.finish(durable=durable)
    finally:
        part.discard()


def write_whole(path: Path, text: str, *, durable: bool = True) -> None:
    """Write a small text file whole or not at all.  Raises `StorageError`."""
    with atomic_file(path, durable=durable) as file:
        file.write(text.encode())


def check_writable(path: Path) -> None:
    """Raise `StorageError` if a file of this name cannot be written, before work is done for it.

    It is written beside itself first, so that its folder has to be writable, too.
    """
    target = Path(os.path.realpath(path))
    reason = ""
    if not path.name or path.is_dir():
        reason = "it is a folder"
    elif target.exists() and not target.is_file():
        return  # a device takes what is written
    elif not target.parent.is_dir():
        reason = f"the folder {path.parent} does not exist"
    elif target.exists() and not os.access(target, os.W_OK):
        reason = "you have no permission to write this file"
    elif not os.access(target.parent, os.W_OK | os.X_OK):
        reason = f"you have no permission to write into the folder {path.parent}"
    if reason:
        raise StorageError(f"cannot write {path}: {reason}")


def publish(part: Path, path: Path) -> None:
    """Flush a finished file to disk and give it its name, which lasts then.  Raises `StorageError`."""
    with storage_errors(path):
        _sync(part)
        part.replace(path)
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to disk, so that a rename in it lasts."""
    _sync(folder)


def sync_files(paths: Iterable[Path]) -> None:
    """Flush finished files to disk, then the folders that they lie in.  Raises `StorageError`."""
    files = list(paths)
    folders = list(dict.fromkeys(folder for file in files for folder in (file.parent, file.parent.parent)))
    for group in (files, folders):
        map_in_threads(_sync_one, group, SYNC_THREADS)


def _sync_one(path: Path) -> None:
    with storage_errors(path, "flush"):
        _sync(path)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A new folder that is deleted at the end, for calls that name none.  Raises `StorageError`."""
    with storage_errors(Path(tempfile.gettempdir()), "make a folder in"):
        folder = tempfile.TemporaryDirectory(prefix="tilebase-")
    with folder as name:
        yield Path(name)


def remove_parts(folder: Path) -> None:
    """Delete what a killed process left unfinished in a folder that this one holds, and below."""
    for pattern in (".*.part", ".*.spill"):
        for leftover in folder.rglob(pattern):
            leftover.unlink(missing_ok=True)
