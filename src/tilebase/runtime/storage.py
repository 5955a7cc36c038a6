"""Atomic files, locks, and the order in which files are flushed to disk.

A file is written as ``.NAME.part`` in its own folder and renamed when it is complete.  The process that
writes the part file holds a lock on it.  So a part file without a lock is left from a killed
process.  The next command that writes this file takes such a part file over, and deletes it if it fails.

The names of part files are known before, so somebody else may have put links there.  Every file that is not
named by the user is opened with `open_own`, every such folder is made with `make_folder`: they refuse links.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import shutil
import stat
import tempfile
import time
import uuid
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Self

from tilebase.errors import StorageError
from tilebase.runtime import system
from tilebase.runtime.threads import map_in_threads

RETIRE_TRIES = 10
"""How often a folder is emptied into which others may just have written."""
LOCK = ".lock"
"""The name of the lock in a folder that `atomic_folder` writes; a kill at its very end leaves it there."""
A_FOLDER = "it is a folder, and this must be a file"
"""What is said of a folder that is named in place of a file."""
CRC_BYTES = 1 << 26
"""Bytes of a file whose checksum is made that are in memory at once."""
SYNC_THREADS = 16
"""Threads that flush files.  A file system serves several flushes with one write of its journal."""


@contextmanager
def storage_errors(path: Path | str, action: str = "write") -> Iterator[None]:
    """Turn an `OSError` inside the block into a `StorageError`: ``cannot ACTION PATH: ...``."""
    try:
        yield
    except StorageError:
        raise
    except IsADirectoryError as error:
        raise StorageError(f"cannot {action} {path}: {A_FOLDER}") from error
    except OSError as error:
        raise StorageError(f"cannot {action} {path}: {error.strerror or error}") from error


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """Give the name under which a worker writes a file; it is renamed to `path` when the block ends.

    Each attempt has a name of its own, since a worker that was given up may still be writing.  After an
    error, nothing is left.  Raises `StorageError`.
    """
    attempt = path.with_name(f".{path.name.lstrip('.').removesuffix('.part')}-{uuid.uuid4().hex}.part")
    try:
        with storage_errors(path):
            yield attempt
            attempt.replace(path)
    finally:
        attempt.unlink(missing_ok=True)


def open_own(path: Path, mode: str, buffering: int = -1) -> Any:
    """Open a file for writing that only tilebase names, such as a part file; `mode` as for `open`, binary.

    Raises `StorageError` if it is a link, or a file with a second name: what it leads to stays as it was.
    """
    return open(path, mode, buffering, opener=_open_own)


def _open_own(path: str | Path, flags: int) -> int:
    refused = StorageError(f"cannot write {path}: it is a link to something else, or no file: delete it")
    try:  # not truncated before it is known what it is; nor does a pipe make this wait
        more = os.O_NOFOLLOW | system.AS_IT_IS
        descriptor = os.open(path, flags & ~os.O_TRUNC | more, 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR):
            raise refused from error
        raise
    about = os.fstat(descriptor)
    if not stat.S_ISREG(about.st_mode) or about.st_nlink > 1:
        os.close(descriptor)
        raise refused
    if flags & os.O_TRUNC and about.st_size:  # file systems write a truncated file as soon as it is closed
        os.ftruncate(descriptor, 0)
    return descriptor


def write_all(file: Any, data: Any) -> None:
    """Write all bytes to a file without a buffer: a disk that becomes full takes a part of a write."""
    rest = memoryview(data).cast("B") if len(data) else b""
    while rest:
        rest = rest[file.write(rest) :]


def file_crc(path: Path) -> str:
    """Return the CRC-32 of a whole file.  Raises `StorageError`."""
    crc = 0
    with storage_errors(path, "read"), path.open("rb") as file:
        while data := file.read(CRC_BYTES):
            crc = zlib.crc32(data, crc)
    return f"{crc:08x}"


def folder_bytes(folder: Path) -> int:
    """Return the bytes of the files in a folder, of which others may be deleting some."""
    found = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            about = path.lstat()
            found += about.st_size * stat.S_ISREG(about.st_mode)
    return found


def make_folder(path: Path) -> None:
    """Make a folder that only tilebase names, unless it exists.  Raises `StorageError` if it is a link."""
    path.mkdir(exist_ok=True)
    refuse_link(path)


def refuse_link(path: Path) -> None:
    """Raise `StorageError` if a path is a link."""
    if path.is_symlink():
        raise StorageError(f"cannot write into {path}: it is a link to something else: delete it")


class FileLock:
    """An exclusive lock on a file that is made if it does not exist.  The end of a process releases it.

    The holder of the lock may delete the file.  Then `take` in another process makes and locks a new file.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path, self.file = path, file

    @classmethod
    def take(cls, path: Path) -> Self | None:
        """Return the lock, or None if another process, or another part of this one, holds it.

        This tries for 30 ms, since `is_locked` in another process also holds the lock for a moment.  Raises
        `StorageError` if the file is a link.
        """
        tries = 4
        while True:
            descriptor = _open_own(path, os.O_RDWR | os.O_CREAT)
            file = os.fdopen(descriptor, "r+b", buffering=1 << 16)
            try:
                taken = system.lock(descriptor)
            except BaseException:
                file.close()
                raise
            if taken and _is_at(descriptor, path):
                return cls(path, file)
            file.close()  # held by another, or deleted or renamed between opening and locking
            if not taken:
                tries -= 1
                if not tries:
                    return None
                time.sleep(0.01)

    def release(self, *, delete: bool = False) -> None:
        """Let others take the lock; with `delete` its file is deleted first."""
        if delete:
            self.path.unlink(missing_ok=True)
        self.file.close()


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of a file.  Neither makes nor changes the file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | system.AS_IT_IS)
    except FileNotFoundError:
        return False
    try:
        return not system.lock(descriptor, shared=True)
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    """Return whether an open file still has this path."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _is_stream(path: Path, mode: int | None) -> bool:
    """Return whether a file must be written directly: a device, a pipe, or one that a process has open.

    The last has a name as ``/dev/stdout``.  A rename would replace it only for those who open it later.
    """
    opened = path.absolute().as_posix().startswith(("/dev/std", "/dev/fd/", "/proc/"))
    return mode is not None and (opened or not stat.S_ISREG(mode))


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def part_path(path: Path) -> Path:
    """Return the name of a file until it is complete."""
    return path.with_name(f".{path.name}.part")


@contextmanager
def atomic_file(path: Path | str, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Write a file whole or not at all.  After an error, a kill or a full disk the older file is unchanged.

    With `durable` the new one lasts if the power fails.  If `path` is a link, its target is written and the
    link stays.  A file that is not regular, such as ``/dev/stdout``, is written directly.  Raises
    `StorageError` if the system refuses to write, or another process is writing the file.
    """
    path, part = Path(path), None
    with storage_errors(path):
        target = Path(os.path.realpath(path)) if path.is_symlink() else path
        old = _mode(target)
        if _is_stream(path, old):
            file: BinaryIO = path.open("wb")
        else:
            lock = FileLock.take(part_path(target))
            if lock is None:
                raise StorageError(f"cannot write {path}: another process is writing it")
            file, part = lock.file, lock.path
        try:
            # Only if it is not empty: file systems write a truncated file to disk as soon as it is closed.
            if part is not None and os.fstat(file.fileno()).st_size:
                file.truncate()
            yield file
            file.flush()
            if part is not None:
                if old is not None:
                    os.fchmod(file.fileno(), stat.S_IMODE(old))
                if durable:
                    os.fsync(file.fileno())
                part.replace(target)
                part = None
                if durable:
                    system.flush(target.parent)
            file.close()
        finally:
            with contextlib.suppress(OSError):  # the failed write has raised its own error before
                if part is not None:
                    part.unlink(missing_ok=True)
                file.close()


def write_whole(path: Path, text: str, *, durable: bool = True) -> None:
    """Write a small text file whole or not at all.  Raises `StorageError`."""
    with atomic_file(path, durable=durable) as file:
        file.write(text.encode())


def check_writable(path: Path) -> None:
    """Raise `StorageError` if a file of this name cannot be written; to be called before a long computation.

    Its folder must be writable, too, since the part file is made there.
    """
    target = Path(os.path.realpath(path))
    reason = ""
    if not path.name or path.is_dir():
        reason = "it is a folder"
    elif target.exists() and not target.is_file():
        return  # a device is written directly
    elif not target.parent.is_dir():
        reason = f"the folder {path.parent} does not exist"
    elif target.exists() and not os.access(target, os.W_OK):
        reason = "you have no permission to write this file"
    elif not os.access(target.parent, os.W_OK | os.X_OK):
        reason = f"you have no permission to write into the folder {path.parent}"
    if reason:
        raise StorageError(f"cannot write {path}: {reason}")


def publish(part: Path, path: Path) -> None:
    """Flush a finished file to disk, rename it to `path` and flush the folder.  Raises `StorageError`."""
    with storage_errors(path):
        system.flush(part)
        part.replace(path)
        system.flush(path.parent)


def sync_files(paths: Iterable[Path]) -> None:
    """Flush finished files to disk, then the folders that they lie in.  Raises `StorageError`."""
    files = list(paths)
    folders = list(dict.fromkeys(folder for file in files for folder in (file.parent, file.parent.parent)))
    for group in (files, folders):
        map_in_threads(_sync_one, group, SYNC_THREADS)


def _sync_one(path: Path) -> None:
    with storage_errors(path, "flush"):
        system.flush(path)


def mapped_memory(folder: Path, size: int) -> mmap.mmap:
    """Return `size` bytes, all 0, in a file of a folder that has no name and is gone with them.

    The system keeps in memory what there is room for.  Raises `StorageError`, also if the disk lacks space.
    """
    with storage_errors(folder, "make a file in"), tempfile.TemporaryFile(dir=folder) as file:
        system.reserve(file.fileno(), size)
        return mmap.mmap(file.fileno(), size)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give a new folder that is deleted at the end, for calls that name no folder.  Raises `StorageError`."""
    with storage_errors(Path(tempfile.gettempdir()), "make a folder in"):
        folder = tempfile.TemporaryDirectory(prefix="tilebase-")
    with folder as name:
        yield Path(name)


@contextmanager
def atomic_folder(path: Path) -> Iterator[Path]:
    """Write a folder whole or not at all: the block fills the folder that it is given.

    An older folder of this name is replaced at the end.  After an error it is unchanged; only if the lock
    cannot be deleted or the renames cannot be flushed, which come last, it is replaced.  After a kill, the
    next call takes the unfinished folder over.  Two renames replace a folder: a kill between them leaves the
    older one as ``.NAME.old``.  Raises `StorageError`, also if another process writes the folder.
    """
    target = Path(os.path.realpath(path))
    part, old = part_path(target), target.with_name(f".{target.name}.old")
    with storage_errors(path):
        refuse_link(old)
        make_folder(part)
        try:
            lock = FileLock.take(part / LOCK)
        except FileNotFoundError:  # the folder has just been given its name by another process
            lock = None
    if lock is None:
        raise StorageError(f"cannot write {path}: another process is writing it")
    try:
        with storage_errors(path):
            _clear(part, keep=lock.path)
            yield part
            sync_files(file for file in part.rglob("*") if file.is_file() and file != lock.path)
            _replace_folder(part, target, old)
            lock.path = target / lock.path.name  # now another process may make a new part
            lock.release(delete=True)
            system.flush(target.parent)
    finally:
        if not lock.file.closed and lock.path.parent == part:
            shutil.rmtree(part, ignore_errors=True)
        lock.release()
    shutil.rmtree(old, ignore_errors=True)


def _replace_folder(part: Path, target: Path, old: Path) -> None:
    """Rename a finished folder; one that it replaces becomes `old`, and gets its name back after an error."""
    replaces = target.exists()
    if replaces:
        shutil.rmtree(old, ignore_errors=True)
        target.replace(old)
    try:
        part.replace(target)
    except BaseException:
        if replaces:
            old.replace(target)
        raise


def _clear(folder: Path, keep: Path) -> None:
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        elif entry != keep:
            entry.unlink()


def remove_parts(folder: Path) -> None:
    """Delete the unfinished files of a killed process in a folder and below.  The caller holds its lock.

    Folders with such names are deleted with what they hold.
    """
    for pattern in (".*.part", ".*.spill"):
        for leftover in sorted(folder.rglob(pattern), reverse=True):  # the content of a folder before it
            if leftover.is_dir() and not leftover.is_symlink():
                retire_folder(leftover)
            else:
                leftover.unlink(missing_ok=True)


def retire_folder(folder: Path) -> None:
    """Delete a folder that other processes may still be writing into, so that nothing new gets its name.

    First it is renamed.  After that, no process can open, make or rename a file under the old name.  One that
    was making a file in that moment makes it in the renamed folder, which is why deleting is tried again.
    Raises `OSError`.
    """
    retired = folder.with_name(f".{uuid.uuid4().hex[:12]}.part")
    folder.rename(retired)
    for tries_left in reversed(range(RETIRE_TRIES)):
        try:
            shutil.rmtree(retired)
            return
        except OSError as error:
            if not tries_left or error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT):
                raise
            if not retired.exists():
                return
