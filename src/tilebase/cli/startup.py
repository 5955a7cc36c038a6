"""Preparations of commands before they load the compiler."""

from __future__ import annotations

import gc
import os
import sys

from tilebase._version import version
from tilebase.runtime.resources import check_addresses


def prepare_kernels() -> None:
    """Check that the compiler can be loaded, and keep it from loading modules that it does not need.

    The version is asked for here, since the checkout may change while a long command runs.  The objects of
    the compiler live to the end of the process, so the garbage collector skips them.

    Raises `ResourceError`.
    """
    check_addresses()
    version()
    # NumPy's threads for linear algebra, which no command uses, wait for work in a loop: 0.1 CPU seconds.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.disable()
    try:
        _skip_linear_algebra()
        gc.freeze()
    finally:
        gc.enable()


def _skip_linear_algebra() -> None:
    """Keep Numba from loading scipy's linear algebra, which takes 0.2 s and is not needed.

    Numba looks for it once, when it loads its functions on arrays.  No kernel of ours needs
    it.  For commands only: whoever imports `tilebase` may want it in kernels of their own.
    """
    if "scipy.linalg" in sys.modules:
        return
    sys.modules["scipy.linalg"] = None  # type: ignore[assignment]  # None: an import raises ImportError
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules["scipy.linalg"]
