"""The threads of a run: a pool that does jobs in order, buffers that threads borrow, and threads that wait.

All threads of this program are made here.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import IO, Any, Generic, Self, TypeVar

B = TypeVar("B")
S = TypeVar("S")
T = TypeVar("T")
TELL_SECONDS = 0.25
"""How often `Pool.together` reports how far it is."""


class Pool:
    """So many threads that do jobs, until `close`, or the end of a ``with`` block.

    An error of a job is raised where its result is waited for.  Jobs that were not begun at the end are left.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._threads = ThreadPoolExecutor(threads)

    def map(self, work: Callable[[S], T], items: Iterable[S], ahead: int | None = None) -> Iterator[T]:
        """Yield ``work(item)`` for each item, in order.

        Items are taken when they are begun: all at once, or at most `ahead` before the result that is waited
        for.
        """
        waiting: deque[Future[T]] = deque()
        for item in items:
            waiting.append(self._threads.submit(work, item))
            if ahead is not None and len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def together(
        self,
        work: Callable[[B, Event], T],
        buffers: Sequence[B],
        tell: Callable[[], object] = lambda: None,
    ) -> list[T]:
        """Do ``work(buffer, stop)`` for all buffers at the same time, by a thread each; return the results.

        `work` begins nothing more when `stop` is set.  That is so after an error of one of them, of `tell`,
        which is called several times a second, and after Ctrl-C; it is raised when all have ended.
        """
        stop = Event()
        running = [self._threads.submit(work, buffer, stop) for buffer in buffers]
        pending = set(running)
        try:
            while pending:
                ended, pending = wait(pending, TELL_SECONDS, FIRST_EXCEPTION)
                for one in ended:
                    one.result()
                tell()
        except BaseException:
            stop.set()
            wait(running)
            raise
        return [one.result() for one in running]

    def share_out(
        self,
        do: Callable[[S, B], None],
        jobs: Sequence[S],
        buffers: Sequence[B],
        tell: Callable[[float], object] = lambda _: None,
    ) -> None:
        """Do ``do(job, buffer)`` for all jobs: each buffer's thread takes the next job when it is done.

        `tell` gets the share that is done.  This thread does a single job.  Errors are those of `together`.
        """
        if len(jobs) == 1:
            do(jobs[0], buffers[0])
        elif jobs:
            waiting = deque(jobs)

            def work(buffer: B, stop: Event) -> None:
                drain(waiting, lambda job: do(job, buffer), stop)

            self.together(work, buffers, lambda: tell(1 - len(waiting) / len(jobs)))

    @contextmanager
    def beside(self, work: Callable[[], object]) -> Iterator[None]:
        """Run `work` alongside the block, and join at its end.  With one thread, run it first.

        An error of `work` is raised at the end, unless the block raises one.
        """
        if self.threads == 1:
            work()
            yield
            return
        job = self._threads.submit(work)
        try:
            yield
        except BaseException:
            wait([job])
            raise
        job.result()

    def close(self) -> None:
        """Stop after the jobs now being done."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def drain(jobs: deque[S], do: Callable[[S], bool | None], stop: Event) -> None:
    """Do jobs until none is left, `stop` is set, or ``do(job)`` is true: then the job is not done yet.

    Several threads may drain the same jobs.
    """
    while not stop.is_set():
        try:
            job = jobs.popleft()
        except IndexError:
            return
        if do(job):
            jobs.appendleft(job)
            return


def map_in_threads(work: Callable[[S], T], items: Iterable[S], threads: int) -> list[T]:
    """Return ``work(item)`` for each item, in order, by threads of their own; an error of one is raised."""
    with Pool(threads) as pool:
        return list(pool.map(work, items))


class Spares(Generic[B]):
    """Buffers that threads borrow, each for one thread at a time; if all are in use, `make` makes another."""

    def __init__(self, make: Callable[[], B]) -> None:
        self._make = make
        self._free: SimpleQueue[B] = SimpleQueue()

    @contextmanager
    def one(self) -> Iterator[B]:
        """Give a buffer, which nobody else uses within the block."""
        try:
            buffer = self._free.get_nowait()
        except Empty:
            buffer = self._make()
        try:
            yield buffer
        finally:
            self._free.put(buffer)


def in_background(work: Callable[[], T]) -> Future[T]:
    """Make a call in a thread of its own, for which the end of the process does not wait."""
    found: Future[T] = Future()

    def run() -> None:
        try:
            found.set_result(work())
        except BaseException as error:
            found.set_exception(error)

    Thread(target=run, daemon=True).start()
    return found


def lines_of(stream: IO[bytes]) -> SimpleQueue[bytes]:
    """Return the lines of a stream as they come, then an empty one.

    A thread reads them, since no call waits for a pipe and a time on all systems.
    """
    lines: SimpleQueue[bytes] = SimpleQueue()

    def read() -> None:
        with suppress(ValueError):  # closed, since nobody waits for more
            for line in stream:
                lines.put(line)
            lines.put(b"")

    in_background(read)
    return lines


# -- a cache ---------------------------------------------------------------------------------------


class Recent:
    """Objects by key, made on demand; safe to share between threads.

    `weigh` returns the weight of an object.  The weights add up to at most `most`; by default each
    object weighs 1.  An object that is no longer kept stays alive as long as a caller uses it.
    """

    def __init__(self, most: int, weigh: Callable[[Any], int] = lambda _: 1) -> None:
        self._most, self._weigh = most, weigh
        self._things: OrderedDict[Any, Any] = OrderedDict()
        self._weight = 0
        self._lock = threading.Lock()

    def get(self, key: Any, make: Callable[..., T], *arguments: Any) -> T:
        """Return the object of this key, made by ``make(*arguments)`` if it is not kept."""
        found: T | None = self.find(key)
        return found if found is not None else self.keep(key, make(*arguments))

    def find(self, key: Any) -> Any:
        """Return the object of this key, or None."""
        with self._lock:
            found = self._things.get(key)
            if found is not None:
                self._things.move_to_end(key)
            return found

    def keep(self, key: Any, made: T) -> T:
        """Keep an object and return it; if another thread has kept one for this key before, return that."""
        with self._lock:
            if key in self._things:
                return self._things[key]
            self._things[key] = made
            self._weight += self._weigh(made)
            while self._weight > self._most:
                self._weight -= self._weigh(self._things.popitem(last=False)[1])
        return made

    def clear(self) -> None:
        """Forget all objects."""
        with self._lock:
            self._things.clear()
            self._weight = 0
