"""Makes a process on Linux behave like one on Windows, as far as programs in Python notice.

A process whose PYTHONPATH begins with this folder loads it when it starts, and so do its children.

* Modules and functions that only POSIX has are missing; `msvcrt` locks, and `psutil` tells the memory.
* A file that is open or mapped into memory can be neither renamed nor deleted nor replaced, and a folder that
  holds it cannot be renamed.
* A folder cannot be opened, and a file that is open for reading only cannot be flushed.
* There is nothing in ``/proc`` and ``/sys``.
* tilebase must say that a descriptor is binary, and name the encoding of a text.
"""

from __future__ import annotations

import asyncio  # noqa: F401  # these look for msvcrt or fcntl once, to see where they are
import builtins
import ctypes
import errno
import fcntl
import importlib.abc
import io
import os
import shutil
import signal
import subprocess  # noqa: F401
import sys
import warnings
from types import ModuleType, SimpleNamespace

import psutil

MISSING = ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")
BINARY = 1 << 29
real = SimpleNamespace(
    close=os.close, flock=fcntl.flock, fsync=os.fsync, fstat=os.fstat, getfl=fcntl.fcntl, io_open=io.open,
    open=os.open, CDLL=ctypes.CDLL,
)  # fmt: skip


class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def refused(path) -> PermissionError:
    return PermissionError(errno.EACCES, "another program uses it", str(path))


def in_use() -> set[str]:
    """The paths of the files that this process has open or mapped."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:
            continue
    with real.io_open("/proc/self/maps", encoding="utf-8") as file:
        found.update(line.split(maxsplit=5)[5].rstrip("\n") for line in file if line.count("/"))
    return found


def check_free(path, *, below: bool = False) -> None:
    path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    used = in_use()
    if path in used or (below and any(name.startswith(f"{path}/") for name in used)):
        raise refused(path)


def guarded(call, *, both: bool):
    def guard(path, *arguments, **more):
        check_free(os.fspath(path), below=both)
        if both:
            check_free(os.fspath(arguments[0]))
        return call(path, *arguments, **more)

    return guard


def rename(path, target):
    """As on Windows, where only `os.replace` replaces a file."""
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    os.replace(path, target)


def is_ours() -> bool:
    """Whether tilebase calls, itself or by `pathlib`."""
    frame = sys._getframe(2)
    while frame.f_globals["__name__"].startswith("pathlib"):
        frame = frame.f_back
    return frame.f_globals["__name__"].startswith("tilebase")


def open_descriptor(path, flags, *arguments, **more):
    if is_ours() and path != os.devnull and not flags & BINARY:
        raise AssertionError(f"{path} is not opened as binary")
    descriptor = real.open(path, flags & ~BINARY, *arguments, **more)
    if is_ours() and os.path.isdir(path):
        real.close(descriptor)
        raise refused(path)
    return descriptor


def open_file(path, mode="r", *arguments, **more):
    if is_ours() and isinstance(path, str | os.PathLike) and os.fspath(path).startswith(("/proc", "/sys")):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    if "b" not in mode and len(arguments) < 2 and more.get("encoding") is None:
        assert not is_ours(), f"{path} is opened without the name of an encoding"
        more["encoding"] = "locale"
    return real.io_open(path, mode, *arguments, **more)


def fsync(descriptor):
    if real.getfl(descriptor, 3) & os.O_ACCMODE == os.O_RDONLY:  # F_GETFL
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    real.fsync(descriptor)


def locking(descriptor, mode, count):
    assert (mode, count) == (2, 1)
    assert os.lseek(descriptor, 0, os.SEEK_CUR) > 1 << 30, "readers need the locked byte"
    try:
        real.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from None


def load_library(name, *arguments, **more):
    if name is None:
        raise TypeError("a library needs a name")
    return real.CDLL(name, *arguments, **more)


def module(name: str, **content: object) -> None:
    sys.modules[name] = ModuleType(name)
    vars(sys.modules[name]).update(content)


for name in MISSING:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Missing())
module("msvcrt", locking=locking, LK_NBLCK=2)
psutil.virtual_memory = lambda: SimpleNamespace(total=8 << 30, available=4 << 30)
for name in (
    "O_CLOEXEC", "O_DIRECT", "O_NOFOLLOW", "O_NONBLOCK", "fchmod", "posix_fadvise", "pread", "preadv",
    "pwrite", "sched_getaffinity", "sync", "sysconf",
):  # fmt: skip
    delattr(os, name)
for name in ("pthread_kill", "SIGHUP", "SIGTSTP", "SIGWINCH"):
    delattr(signal, name)
os.O_BINARY = BINARY
os.open, os.fsync = open_descriptor, fsync
os.replace = guarded(os.replace, both=True)
os.unlink = os.remove = guarded(os.unlink, both=False)
os.rename = rename
shutil._use_fd_functions = False
builtins.open = io.open = open_file
ctypes.CDLL = load_library
warnings.filterwarnings("error", category=EncodingWarning, module=r"tilebase\.")
