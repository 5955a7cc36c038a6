"""Preparations of commands before they load the compiler."""

from __future__ import annotations

import gc

from tilebase._version import version
from tilebase.runtime.resources import check_addresses


def prepare_kernels() -> None:
    """Check that the compiler can be loaded, and load it.

    The version is asked for here, since the checkout may change while a long command runs.  The objects of
    the compiler live to the end of the process, so the garbage collector skips them.

    Raises `ResourceError`.
    """
    check_addresses()
    version()
    gc.disable()
    try:
        import tilebase._kernels.jit  # noqa: F401
    finally:
        gc.freeze()
        gc.enable()
