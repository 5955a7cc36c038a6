"""What makes commands start faster."""

from __future__ import annotations

import sys


def skip_linear_algebra() -> None:
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
