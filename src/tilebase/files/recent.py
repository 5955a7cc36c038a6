"""A cache that keeps the most recently used objects, within a budget."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


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
                kept: T = self._things[key]
                return kept
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
