"""Progress of a run on the terminal: a bar with rate and estimate, or one line per minute."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tilebase.runtime.progress import describe

if TYPE_CHECKING:
    from tilebase.runtime.progress import Progress

LINE_SECONDS = 60
"""Seconds between two lines, if standard error is not a terminal."""


@contextmanager
def counting_progress(*, quiet: bool = False) -> Iterator[Callable[[Progress], None] | None]:
    """Give a callback for ``count(progress=...)``; None if `quiet`.  Estimates of runs are printed, too."""
    if quiet:
        yield None
        return
    with showing_notes():
        if sys.stderr.isatty():
            with _bar() as update:
                yield update
        else:
            with _lines() as update:
                yield update


@contextmanager
def showing_notes() -> Iterator[None]:
    """Print the log messages of the library: estimates of runs."""
    notes, log = _Notes(logging.INFO), logging.getLogger("tilebase")
    before = log.level
    log.addHandler(notes)
    log.setLevel(min(before or logging.INFO, logging.INFO))  # a log may want more
    try:
        yield
    finally:
        log.removeHandler(notes)
        log.setLevel(before)


class _Notes(logging.Handler):
    """A log handler that prints."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one message."""
        print(record.getMessage(), file=sys.stderr, flush=True)


@contextmanager
def _bar() -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("starting", total=1.0)

        def update(progress: Progress) -> None:
            # At 1 rich stops the clock of the bar, and a second pass may follow.
            bars.update(task, completed=min(progress.fraction, 0.999), description=describe(progress))

        with watching_compiler(lambda text: bars.update(task, description=text)):
            yield update


@contextmanager
def _lines() -> Iterator[Callable[[Progress], None]]:
    last = time.monotonic()

    def say(text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_SECONDS:
            last = time.monotonic()
            print(text, file=sys.stderr, flush=True)

    with watching_compiler(say):
        yield lambda progress: say(f"{progress.fraction:5.1%}  {describe(progress)}")


@contextmanager
def watching_compiler(say: Callable[[str], None]) -> Iterator[None]:
    """Say when a kernel is compiled, and how many were; nothing if all are in the cache.

    Which kernels a command calls is known when it calls them, so how many are to come is not said.
    """
    if "numba" not in sys.modules:  # a command without kernels, which does not load the compiler
        yield
        return
    from numba.core import event

    from tilebase._kernels.jit import is_kernel

    class Listener(event.Listener):  # type: ignore[misc]  # a class of Numba
        done = 0

        def on_start(self, compiled: event.Event) -> None:
            if is_kernel(compiled.data["dispatcher"]):
                say(f"compiling kernels, once on this machine: {self.done} done")

        def on_end(self, compiled: event.Event) -> None:
            self.done += is_kernel(compiled.data["dispatcher"])

    listener = Listener()
    event.register("numba:compile", listener)
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)


@contextmanager
def share_progress(unit: str, *, quiet: bool = False) -> Iterator[Callable[..., None] | None]:
    """Give a callback with the finished and the total number of items; other arguments are ignored.

    None if `quiet`, or if standard error is not a terminal.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bars

    with Bars(console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(unit, total=None)

        def update(done: int, every: int, *_: int) -> None:
            bars.update(task, completed=done, total=every, description=unit)

        with watching_compiler(lambda text: bars.update(task, description=text)):
            yield update
