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
    """A callback for ``count(progress=...)``; None if `quiet`.  Estimates of runs are printed, too."""
    if quiet:
        yield None
        return
    with showing_notes():
        if sys.stderr.isatty():
            with _bar() as update:
                yield update
        else:
            yield _lines()


@contextmanager
def showing_notes() -> Iterator[None]:
    """Print the log messages of the library: estimates of runs."""
    notes, log = _Notes(logging.INFO), logging.getLogger("tilebase")
    before = log.level
    log.addHandler(notes)
    log.setLevel(logging.INFO)
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
        task = bars.add_task("starting: compiling kernels on the first run", total=1.0)

        def update(progress: Progress) -> None:
            bars.update(task, completed=progress.fraction, description=describe(progress))

        yield update


def _lines() -> Callable[[Progress], None]:
    last = time.monotonic()

    def update(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= LINE_SECONDS:
            last = time.monotonic()
            print(f"{progress.fraction:5.1%}  {describe(progress)}", file=sys.stderr, flush=True)

    return update


@contextmanager
def share_progress(unit: str, *, quiet: bool = False) -> Iterator[Callable[..., None] | None]:
    """A callback with the finished and the total number of items; other arguments are ignored.

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
            bars.update(task, completed=done, total=every)

        yield update
