"""The OxiDD library, and its memory.

OxiDD allocates its table of nodes and its cache of results at once.  If the system refuses, it ends the
process; so `capacity_for` stays well inside the memory that the machine has.  If the table is full, an
operation raises `DDMemoryError`; `careful` removes nodes that nothing refers to and tries again.
"""

from __future__ import annotations

import importlib
import math
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, ParamSpec, TypeVar

from tilebase.errors import MissingExtraError, ResourceError, StorageError
from tilebase.files.dddmp import END
from tilebase.runtime.storage import open_own

P = ParamSpec("P")
T = TypeVar("T")
NODE_BYTES = 16
"""A node: two edges, a level and a count of references."""
TABLE_BYTES = 32
"""A node and its share of the hash tables that find it; measured for 5 million nodes."""
CACHE_BYTES = 20
"""An entry of the cache of results."""
CACHE_SHARE, MOST_CACHED = 4, 1 << 25
"""Nodes for each entry, and most entries: more did not make 3x3 to 256 faster."""
LEAST_NODES, MOST_NODES = 1 << 12, 1 << 31
SHARED_NODES = 1 << 22
"""Fewest nodes for more than one thread: each thread keeps free nodes for itself, and in a small table an
operation fails while another thread holds them (3x3 to 64 in 60,000 nodes failed at once in one run of
four)."""
ATTEMPTS = 8
"""How often an operation is tried."""
COLLECT_SECONDS = 10.0
"""How long a collection in the background is waited for: on a busy machine its thread may have to wait."""


def require_oxidd() -> None:
    """Raise `MissingExtraError` if OxiDD is not installed."""
    try:
        import oxidd  # noqa: F401
    except ImportError as error:
        raise MissingExtraError.of("decision diagrams need OxiDD", "bdd") from error


def capacity_for(memory: int) -> int:
    """Return how many nodes fit into `memory` bytes.  Raises `ResourceError` if they are too few to begin.

    >>> capacity_for(1 << 30)
    29020049
    """
    each = TABLE_BYTES + CACHE_BYTES / CACHE_SHARE
    nodes = int(memory / each)
    if nodes // CACHE_SHARE > MOST_CACHED:
        nodes = (memory - MOST_CACHED * CACHE_BYTES) // TABLE_BYTES
    if nodes < LEAST_NODES:
        raise ResourceError(
            f"{memory:,} bytes are too little for decision diagrams: give at least "
            f"{math.ceil(LEAST_NODES * each):,}"
        )
    return min(nodes, MOST_NODES)


class Library:
    """A manager of binary decision diagrams with complement edges, which holds at most `nodes` nodes."""

    def __init__(self, nodes: int, threads: int) -> None:
        require_oxidd()
        module, util = importlib.import_module("oxidd.bcdd"), importlib.import_module("oxidd.util")
        self.nodes = nodes
        self.manager: Any = module.BCDDManager(
            nodes, min(nodes // CACHE_SHARE, MOST_CACHED), threads if nodes >= SHARED_NODES else 1
        )
        self.function: Any = module.BCDDFunction
        self.conjunction: Any = util.BooleanOperator.AND
        self._full: type[Exception] = util.DDMemoryError

    def write(self, path: Path, diagrams: Iterable[Any]) -> None:
        """Write diagrams to a binary DDDMP file.  Raises `OSError`."""
        with open_own(path, "wb"):  # OxiDD opens it once more, and follows links
            self.manager.export_dddmp(path, list(diagrams))
        with path.open("rb") as file:
            check_end(file, path)

    def read(self, path: Path) -> list[Any]:
        """Return the diagrams of a file that `write` made, with the same variables in the same order."""
        util = importlib.import_module("oxidd.util")
        with util.DDDMPFile(path) as file:
            found: list[Any] = self.manager.import_dddmp(file)
        return found

    def careful(self, step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function; if the table is full, again after unused nodes are removed.

        Raises `ResourceError` if that does not help.
        """
        for _ in range(ATTEMPTS):
            with suppress(self._full):
                return step(*args, **kwargs)
            # Only here, without the error, whose traceback holds what the step had made.
            self._collect()
        raise ResourceError(
            f"the diagrams need more than the {self.nodes:,} nodes that fit into the memory: give more with "
            "--memory, or ask for lower tiles"
        )

    def _collect(self) -> None:
        """Remove nodes that nothing refers to.

        A thread of the manager does so, too, when the table is nearly full.  Until it has ended, `gc` returns
        at once and counts no collection.
        """
        begun, end = self.manager.gc_count(), time.monotonic() + COLLECT_SECONDS
        while not self.manager.gc() and self.manager.gc_count() == begun and time.monotonic() < end:
            time.sleep(0.001)


def check_end(file: BinaryIO, path: Path) -> None:
    """Raise `StorageError` if a DDDMP file does not end as it should.

    OxiDD does not say so if its last write fails, as on a full disk.
    """
    file.seek(0, os.SEEK_END)
    file.seek(max(file.tell() - len(END), 0))
    if file.read() != END:
        raise StorageError(f"cannot write {path}: it is not complete; the disk may be full")
