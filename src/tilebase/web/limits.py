"""How much one client may ask: a bucket of probes that fills up again with time."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

MOST_CLIENTS = 10_000
"""Addresses that are remembered; the one that asked longest ago is forgotten first."""
BURST = 4.0
"""Seconds of the rate that a client may use up at once."""


class Limits:
    """A limit on the probes per second of each client.

    Parameters
    ----------
    rate:
        Probes per second; a client that was silent may use those of 4 seconds at once.
    clock:
        The time in seconds.
    """

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self._clock = rate, clock
        self._lock = threading.Lock()
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # probes left, and when

    def take(self, client: str, cost: int) -> float:
        """Take a request from a client's bucket; return the seconds to wait first, 0 if it may be made now.

        A request that costs more than a full bucket is made when the bucket is full, and then the client
        waits until what is missing has filled up.
        """
        with self._lock:
            now = self._clock()
            full = self.rate * BURST
            left, then = self._left.pop(client, (full, now))
            left = min(full, left + (now - then) * self.rate)
            needed = min(float(cost), full)
            waits = max(0.0, (needed - left) / self.rate)
            self._left[client] = (left if waits else left - cost, now)
            while len(self._left) > MOST_CLIENTS:
                self._left.popitem(last=False)
            return waits
