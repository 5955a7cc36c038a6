"""Workers of Dask distributed as an executor.

Dask carries pieces to workers and small results back, and nothing else.  A few pieces a thread are known to
the scheduler at the same time, however many there are: so its memory does not grow.

A piece whose worker died is done again by another worker.  A worker is taken for dead when its connection
breaks, or when it has been silent for the time that the scheduler was started with (``worker-ttl``; five
minutes if nobody said otherwise).
"""

from __future__ import annotations

import itertools
import logging
import pickle
import time
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from dask.utils import key_split
from distributed import Client, KilledWorker, Security, wait
from distributed.client import FutureCancelledError

from tilebase import _version
from tilebase.cluster.pieces import Exchange, Executor, Job, Piece, WorkerFacts, perform, worker_memory
from tilebase.errors import ClusterError, TilebaseError

LOG = logging.getLogger(__name__)
R = TypeVar("R")
CONNECT_SECONDS = 10.0
"""After this time without an answer, a scheduler is taken for absent."""
PATIENCE_SECONDS = 60.0
"""How long a run waits while there is no worker, or while the scheduler does not answer."""
POLL_SECONDS = 1.0
"""How often a run that waits for a piece looks whether the scheduler is still there."""
AHEAD = 4
"""Pieces a thread that the scheduler knows at the same time; 32 more, so that tiny pieces come in batches.

New pieces are handed over when half of them are done.  The scheduler keeps 200 bytes for each time that it is
handed pieces while it is busy.
"""
NAMES = 5_000
"""After so many pieces the scheduler forgets their names, of which Dask would cache 100,000 (46 MB)."""
MOST_TRIES = 20
"""How often a piece is begun whose workers die."""


class DaskExecutor(Executor):
    """The workers of one scheduler.

    `security` is what Dask shows there; None for what its configuration says.  `release` is called at the
    end.  `used` says whether a piece was given to them.

    Raises
    ------
    MissingExtraError
        If Dask is not installed.
    ClusterError
        If nothing answers at the address, there is no worker, or a worker has another version.
    ResourceError
        If the workers of a machine have too little memory.
    """

    def __init__(
        self,
        address: str,
        *,
        memory: int | None = None,
        security: Any = None,
        release: Callable[[], None] | None = None,
    ) -> None:
        self.address = address
        self._release = release
        self.used = False
        self._names = 0  # of pieces, which the scheduler may remember
        self._client = _connect(address, security)
        try:
            self._await_workers()
            facts = self._facts(None)
            self.memory = min(worker_memory(facts), memory or 1 << 62)
            threads = list(self._client.nthreads().values())
        except BaseException:
            self.close()
            raise
        self.threads, self.threads_each = sum(threads), max(threads)
        LOG.debug(
            "%d workers of %s have %d threads and %d MiB of memory each",
            len(threads), self.address, self.threads, self.memory >> 20,
        )  # fmt: skip

    # -- workers -----------------------------------------------------------------------------

    def _await_workers(self) -> None:
        try:
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError as error:
            raise ClusterError(
                f"the scheduler at {self.address} has no workers: start some, as docs/scale.md says"
            ) from error

    def _facts(self, exchange: Exchange | None) -> list[WorkerFacts]:
        """Return what the workers say; refuses them if one of them cannot work for the run."""
        answers = self._client.run(WorkerFacts.here, exchange, on_error="return", nanny=False)
        for worker, answer in answers.items():
            if isinstance(answer, ImportError | AttributeError):
                raise ClusterError(
                    f"the worker {worker} has no tilebase {_version.version()}: install it there, with the "
                    "extra cluster"
                )
            if isinstance(answer, OSError) and not isinstance(answer, TilebaseError):
                continue  # the worker has just died
            if isinstance(answer, BaseException):
                raise ClusterError(f"the worker {worker} does not answer as it should: {answer}")
            if answer.version != _version.version():
                raise ClusterError(
                    f"the worker {worker} runs tilebase {answer.version} and this is {_version.version()}: "
                    "install the same version on all machines"
                )
            if answer.trouble:
                raise ClusterError(answer.trouble)
        found = [answer for answer in answers.values() if isinstance(answer, WorkerFacts)]
        if not found:
            raise ClusterError(f"the workers of the scheduler at {self.address} do not answer: start others")
        return found

    def attach(self, folder: Path) -> None:
        """Check that every worker sees a folder and may write there.  Raises `ClusterError`."""
        try:
            super().attach(folder)
            self._facts(self.exchange)
        except BaseException:
            self.detach()
            raise

    def close(self) -> None:
        """Leave the scheduler; local workers end."""
        self.detach()
        with suppress(TimeoutError, OSError):  # a scheduler that is lost cannot say goodbye
            self._client.close(timeout=CONNECT_SECONDS)
        if self._release is not None:
            self._release()

    # -- pieces ------------------------------------------------------------------------------

    def map(self, job: Job[R], pieces: Iterable[Piece]) -> Generator[R, None, None]:
        """Yield the results of all pieces, in order.  Raises what a piece raises, and `ClusterError`."""
        flight = _Flight(self._client, self.address, pickle.dumps(job), self.exchange)
        source, self.used = iter(pieces), True
        most = AHEAD * self.threads + 32
        try:
            flight.submit(list(itertools.islice(source, most)))
            while flight.waiting:
                done = flight.finished()
                if len(flight.waiting) <= most // 2:
                    flight.submit(list(itertools.islice(source, most - len(flight.waiting))))
                yield from done
                self._forget_names(len(done))
            LOG.debug("%d pieces of %s are done by workers", flight.given, type(job).__name__)
        finally:
            flight.cancel()

    def _forget_names(self, done: int) -> None:
        self._names += done
        if self._names >= NAMES:
            self._names = 0
            with suppress(OSError, TimeoutError):  # a scheduler that is lost is noticed by the next piece
                self._client.run_on_scheduler(key_split.cache_clear, callback_timeout=CONNECT_SECONDS)


def _connect(address: str, security: Any) -> Client:
    """Return a client of the scheduler at an address.  Raises `ClusterError` if nothing answers."""
    security = security or Security()
    if address.startswith("tls://") and security.get_connection_args("client")["ssl_context"] is None:
        raise ClusterError(
            f"the scheduler at {address} wants to see a key, and there is none: name the files in Dask's "
            "configuration, under distributed.comm.tls"
        )
    try:
        return Client(
            address, timeout=CONNECT_SECONDS, set_as_default=False, name="tilebase", security=security
        )
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"no scheduler answers at {address}: start one with dask scheduler, or use --cluster local:4"
        ) from error


class _Flight:
    """The pieces of one `map` that the scheduler knows, in order."""

    def __init__(self, client: Any, address: str, job: bytes, exchange: Exchange) -> None:
        self._client, self._address, self._job, self._exchange = client, address, job, exchange
        self.waiting: deque[tuple[Piece, Any, int]] = deque()  # piece, future, how often it was begun
        self._name = f"tilebase-{uuid.uuid4().hex[:12]}"
        self._numbers = itertools.count()
        self.given = 0

    def submit(self, pieces: list[Piece]) -> None:
        """Hand pieces to the scheduler."""
        self.given += len(pieces)
        if pieces:
            self.waiting.extend(
                (piece, future, 1) for piece, future in zip(pieces, self._futures(pieces), strict=True)
            )

    def _futures(self, pieces: list[Piece]) -> list[Any]:
        keys = [f"{self._name}-{next(self._numbers)}" for _ in pieces]
        jobs, exchanges = [self._job] * len(pieces), [self._exchange] * len(pieces)
        return self._client.map(perform, jobs, pieces, exchanges, key=keys, pure=False)

    def finished(self) -> list[Any]:
        """Wait for the oldest piece; return its result, and those of the pieces behind it that are done."""
        while True:
            self._await_first()
            done = list(itertools.takewhile(lambda entry: entry[1].status == "finished", self.waiting))
            if not done:
                self._begin_again()
                continue
            try:
                found = self._gathered([future for _, future, _ in done])
            except TimeoutError as error:
                if not self._is_served():
                    raise self._nobody() from error
                continue
            except FutureCancelledError:
                continue  # a worker died before it could hand over its results: they are waited for again
            for _ in done:
                self.waiting.popleft()
            return found

    def _gathered(self, futures: list[Any]) -> list[Any]:
        """Return the results of finished pieces.  Raises `TimeoutError` if they were lost for good."""
        return self._client.sync(
            lambda: self._client.gather(futures, asynchronous=True), callback_timeout=PATIENCE_SECONDS
        )

    def _await_first(self) -> None:
        """Wait for the oldest piece to end in any way.  Raises `ClusterError` if nobody works on it."""
        first = self.waiting[0][1]
        since = time.monotonic()
        while first.status == "pending":
            with suppress(TimeoutError), self._client.as_current():
                wait(first, timeout=POLL_SECONDS)
            if self._is_served():
                since = time.monotonic()
            elif first.status == "pending" and time.monotonic() - since > PATIENCE_SECONDS:
                raise self._nobody()

    def _is_served(self) -> bool:
        return self._client.status == "running" and bool(self._client.scheduler_info(n_workers=1)["workers"])

    def _nobody(self) -> ClusterError:
        what = "has no workers left" if self._client.status == "running" else "no longer answers"
        return ClusterError(
            f"the scheduler at {self._address} {what}: finished layers are kept, and the same command "
            "continues"
        )

    def _begin_again(self) -> None:
        """Begin the oldest piece again, unless it failed by itself: then its error is raised."""
        piece, future, tries = self.waiting.popleft()
        if future.status == "error":
            error = future.exception()
            if not isinstance(error, KilledWorker):
                raise error
        if self._client.status != "running":
            raise self._nobody()
        if tries >= MOST_TRIES:
            raise ClusterError(
                f"the workers at {self._address} died {tries} times while they did the same piece of sum "
                f"{piece.total}: their machines may kill them for lack of memory"
            )
        LOG.debug("a worker is lost: its piece of sum %d, %s, is begun again", piece.total, piece.step)
        self.waiting.appendleft((piece, self._futures([piece])[0], tries + 1))

    def cancel(self) -> None:
        """Forget the pieces that are not done."""
        futures = [future for _, future, _ in self.waiting]
        if futures and self._client.status == "running":
            with suppress(OSError):  # a scheduler that has just been lost forgets them, too
                self._client.cancel(futures, force=True)
