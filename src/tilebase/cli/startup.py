"""What commands do before they load the compiler."""

from __future__ import annotations

import gc
import sys

from tilebase.runtime.resources import check_addresses


def prepare_kernels() -> None:
    """Refuse where the compiler cannot be loaded, and keep it from loading what it does not need.

    What the compiler consists of stays to the end: the garbage collector does not look at it again.

    Raises `ResourceError`.
    """
    check_addresses()
    gc.disable()
    try:
        _skip_linear_algebra()
        gc.freeze()
    finally:
        gc.enable()


def _skip_linear_algebra() -> None:
    """Keep Numba from loading scipy's linear algebra, where scipy is installed: 0.2 s for nothing.

    Numba looks for it once, when it loads its functions on arrays.  No kernel of ours needs
    it.  For commands only: whoever imports `tilebase` may want it in kernels of their own.
    """
    if "scipy.linalg" in sys.modules:
        return
    sys.modules["scipy.linalg"] = None  # type: ignore[assignment]  # Python's way to say: not there
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules["scipy.linalg"]
