"""Work shared out to threads, with the results in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")


def in_order(jobs: Iterable[Future[T]], ahead: int) -> Iterator[T]:
    """Results of jobs in order; `jobs` submits them lazily, at most `ahead` before the one awaited."""
    waiting: deque[Future[T]] = deque()
    for job in jobs:
        waiting.append(job)
        if len(waiting) > ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def map_in_threads(work: Callable[[S], T], items: Iterable[S], threads: int) -> list[T]:
    """``work(item)`` for each item, in order, by threads of their own; an error of one is raised."""
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))
