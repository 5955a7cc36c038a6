"""When a run writes down what it has: seldom enough that this takes little of its time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class SaveClock:
    """Says when to save again."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Count from now on, as if nothing had been saved."""
        self._since, self._took = time.perf_counter(), 0.0

    def is_due(self, seconds: float, times: float) -> bool:
        """Return whether so many seconds have passed since, and so many times what the last saving took."""
        return time.perf_counter() - self._since >= max(seconds, times * self._took)

    @contextmanager
    def saving(self) -> Iterator[None]:
        """Save within this context."""
        began = time.perf_counter()
        yield
        self._since = time.perf_counter()
        self._took = self._since - began
