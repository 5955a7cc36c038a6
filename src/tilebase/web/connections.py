"""HTTP connections that do not wait for long, and do not keep others out.

The server *waits* for a client while the head of its next request is not complete, while a body is not
complete, or while the client does not read its answer.  A head has a time limit, the first of a connection as
well as every later one.  If there are too many connections, one that waits is closed for each new one.  So
clients that send nothing, or half a request, do not keep out those that ask.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 15.0
"""How long the head of a request may take to arrive, after the start of the connection or the last answer."""
MOST_CONNECTIONS = 500


class PatientProtocol(H11Protocol):
    """A connection, for uvicorn."""

    _limit: asyncio.TimerHandle
    _since: float  # when the server began to wait for a head

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._expect_head()
        if len(self.connections) > MOST_CONNECTIONS:
            self._close_another()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._limit.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Begin to wait for the next head; it may be here already."""
        self._expect_head()
        super().on_response_complete()

    def handle_events(self) -> None:
        """Read what has arrived.  A new cycle is a request whose head is complete."""
        before: object = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._limit.cancel()

    def send_400_response(self, msg: str) -> None:
        """Refuse input that is not a request.  Where an answer was begun or is the last one, only close."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def _expect_head(self) -> None:
        self._since = self.loop.time()
        self._limit = self.loop.call_later(HEAD_SECONDS, self.transport.close)

    @property
    def waits(self) -> bool:
        """Whether the client, and not the server, must do the next step."""
        cycle: Any = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body or self.flow.write_paused

    def _close_another(self) -> None:
        """Close the connection that waits longest, of the address that has most of those that wait."""
        others: set[Any] = self.connections - {self}
        waiting = [one for one in others if one.waits]
        if not waiting:
            return  # all others are being answered: uvicorn refuses the request with the status 503
        counts = Counter(one.address for one in waiting)
        most = max(counts.values())
        closed = min((one for one in waiting if counts[one.address] == most), key=lambda one: one._since)
        closed.transport.abort()
        self.connections.discard(closed)  # at once, since the loop tells the connection later

    @property
    def address(self) -> str:
        """The address of the client."""
        return "" if self.client is None else self.client[0]


# -- how much one client may ask -------------------------------------------------------------------


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
