"""Compiled kernels.  Private: arrays in, ``out`` arrays filled, counts returned, nothing checked.

Callers validate.  Scalar functions (`scalar`) are written once and are plain enough for
Numba's CPU and CUDA targets.  Everything releases the GIL and none of it uses Numba's own
threading layer, whose default aborts when two threads enter it at once.
"""

from tilebase.runtime.system import library_errors

with library_errors("Numba", ("NUMBA_",)):
    import numba  # noqa: F401
