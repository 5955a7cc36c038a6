"""The decorators of all kernels: compiled code is cached in folders named by the sources that it depends on.

Numba's cache looks at the file of the compiled function only, so an edit in a callee's file would go
unnoticed.  Here each module of kernels has a folder whose name holds a hash of its source, of the sources
of the modules of this package that it imports, of the versions of Numba and llvmlite, and of the settings
that change the code.  An edit elsewhere leaves its compiled kernels as they are.  Where no folder can be
written, kernels are compiled anew in each process.

Nor do kernels count references (``_nrt=False``): what they are given outlives the call. The counts are
atomic, so that threads that share an array would wait for each other whenever one takes a slice. So a
kernel cannot make an array: what it works in is given to it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import config

from tilebase.runtime.paths import cache_folder

PACKAGE = __name__.rpartition(".")[0]
SETTINGS = ("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "OPT", "SLP_VECTORIZE")
"""Settings of Numba that change the code and that its own cache does not look at."""
ALWAYS = ("jit", "arguments")
"""Every kernel depends on these: on the options of the compiler, and on the fields of its arguments."""
UNUSED_DAYS = 60
"""Folders that were not used for so long are deleted when a new one is made."""
IMPORTS = re.compile(rf"^\s*from {re.escape(PACKAGE)}(?:\.(\w+)| import ([\w, ]+))", re.MULTILINE)


def sources(module: str, folder: Path) -> list[Path]:
    """The files of a package that a module of it depends on, itself included, by its imports."""
    found: set[str] = set()
    waiting = [module, *ALWAYS]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            for one, several in IMPORTS.findall((folder / f"{name}.py").read_text("utf-8")):
                waiting += [one] if one else re.findall(r"\w+", several)
    return [folder / f"{name}.py" for name in sorted(found)]


def cache_key(module: str, folder: Path = Path(__file__).parent) -> str:
    """What the compiled kernels of a module depend on, as a hash."""
    settings = [str(getattr(config, name)) for name in SETTINGS]
    digest = hashlib.sha256(" ".join([numba.__version__, llvmlite.__version__, *settings]).encode())
    for path in sources(module, folder):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


@cache
def _kernel_cache(module: str) -> str | None:
    """The folder for the compiled kernels of a module, if it can be written."""
    folder = cache_folder() / f"{module}-{cache_key(module)}"
    try:
        folder.mkdir(parents=True)
        _delete_unused(folder)
    except FileExistsError:
        pass
    except OSError:
        return None
    try:
        os.utime(folder)
    except OSError:
        return None
    return str(folder)


def _delete_unused(new: Path) -> None:
    """Delete the folders of the same module that no process has used for long."""
    module = new.name.rpartition("-")[0]
    for folder in new.parent.glob(f"{module}-*"):
        with suppress(FileNotFoundError):  # another process has deleted it
            if time.time() - folder.stat().st_mtime > UNUSED_DAYS * 86400:
                shutil.rmtree(folder, ignore_errors=True)


def kernel(*signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile without the GIL and with the cache described above; lazily unless signed."""

    def decorate(function: Callable[..., Any]) -> Any:
        package, _, module = function.__module__.rpartition(".")
        folder = _kernel_cache(module) if package == PACKAGE else None
        kept, config.CACHE_DIR = config.CACHE_DIR, folder or ""
        try:
            return numba.njit(
                *signature, nogil=True, cache=folder is not None, boundscheck=False, _nrt=False
            )(function)  # fmt: skip
        finally:
            config.CACHE_DIR = kept

    return decorate


def scalar(function: Callable[..., Any]) -> Any:
    """A function for kernels, inlined by LLVM into those that call it.

    Python cannot call it: wrappers for Python would take as long to compile as the function itself.
    """
    return numba.njit(nogil=True, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """A function for kernels that is always inlined.

    Named tuples are handed over field by field, which for batches of a few boards takes longer than the work.
    """
    return numba.njit(
        nogil=True, _nrt=False, forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True
    )(function)  # fmt: skip
