"""In Numba's simulator, where each thread of a device is one of Python."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from numba import config


@pytest.fixture(autouse=True)
def few_threads() -> Iterator[None]:
    """So few that each works several boards, and some of them boards of several blocks of the index."""
    if not config.ENABLE_CUDASIM:
        yield
        return
    from tilebase._kernels import cuda as kernels

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(kernels, "THREADS", 4)
        patched.setattr(kernels, "SPAN", 3)
        yield


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Times of the simulator say nothing, and it says so."""
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("ignore:Simulator timings are bogus"))
