"""The most recently used of some things, as many as a budget allows."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class Recent:
    """Things by key, made on demand; safe to share between threads.

    `weigh` says what a thing counts towards `most`; left out, each counts 1.  A thing that is
    forgotten stays alive as long as somebody uses it.
    """

    def __init__(self, most: int, weigh: Callable[[Any], int] = lambda _: 1) -> None:
        self._most, self._weigh = most, weigh
        self._things: OrderedDict[Any, Any] = OrderedDict()
        self._weight = 0
        self._lock = threading.Lock()

    def get(self, key: Any, make: Callable[..., T], *arguments: Any) -> T:
        """The thing of this key, made by ``make(*arguments)`` if it is not there."""
        found: T | None = self.find(key)
        return found if found is not None else self.keep(key, make(*arguments))

    def find(self, key: Any) -> Any:
        """The thing of this key, or None."""
        with self._lock:
            found = self._things.get(key)
            if found is not None:
                self._things.move_to_end(key)
            return found

    def keep(self, key: Any, made: T) -> T:
        """Remember a thing; return it, or the one that another thread was faster to make."""
        with self._lock:
            if key in self._things:
                kept: T = self._things[key]
                return kept
            self._things[key] = made
            self._weight += self._weigh(made)
            while self._weight > self._most:
                self._weight -= self._weigh(self._things.popitem(last=False)[1])
        return made

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._things.clear()
            self._weight = 0
