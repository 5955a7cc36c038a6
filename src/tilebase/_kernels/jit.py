"""The one decorator of all kernels: compiled code is cached in a folder named by the sources.

Numba's cache looks at the file of the compiled function only, so an edit in a callee's
file would go unnoticed.  Here the folder name holds a hash of all kernel sources.  Where
no folder can be written, kernels are compiled anew in each process.

Nor do kernels count references (``_nrt=False``): what they are given outlives the call. The counts are
atomic, so that threads that share an array would wait for each other whenever one takes a slice. So a
kernel cannot make an array: what it works in is given to it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import config

from tilebase.runtime.paths import cache_folder


def _source_hash() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _kernel_cache() -> str | None:
    folder = cache_folder() / f"kernels-{_source_hash()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return str(folder) if os.access(folder, os.W_OK) else None


_CACHE = _kernel_cache()


def kernel(*signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile without the GIL and with the cache described above; lazily unless signed."""

    def decorate(function: Callable[..., Any]) -> Any:
        kept, config.CACHE_DIR = config.CACHE_DIR, _CACHE or ""
        try:
            return numba.njit(
                *signature, nogil=True, cache=_CACHE is not None, boundscheck=False, _nrt=False
            )(function)  # fmt: skip
        finally:
            config.CACHE_DIR = kept

    return decorate


def scalar(function: Callable[..., Any]) -> Any:
    """A scalar function, inlined by LLVM into the kernels that call it."""
    return numba.njit(nogil=True, _nrt=False)(function)


def inlined(function: Callable[..., Any]) -> Any:
    """A function that is always inlined.

    Named tuples are handed over field by field, which for batches of a few boards takes longer than the work.
    """
    return numba.njit(nogil=True, _nrt=False, forceinline=True)(function)
