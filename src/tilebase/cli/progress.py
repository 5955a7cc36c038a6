"""Progress of a run on the terminal, a bar with rate and estimate or a line per minute; the compiler."""

from __future__ import annotations

import gc
import logging
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tilebase._version import version
from tilebase.cli.output import PLANNING, terminal
from tilebase.errors import UsageError, readable
from tilebase.runtime.measured import COMMAND, QUIET, clock
from tilebase.runtime.progress import EXPECTED, describe
from tilebase.runtime.resources import check_addresses

if TYPE_CHECKING:
    from tilebase.runtime.progress import Progress

LINE_SECONDS = 60
"""Seconds between two lines, if standard error is not a terminal."""
SILENT_SECONDS = 10
"""Seconds after which a command that still compiles kernels says so for the first time, in a line."""


def prepare_kernels() -> None:
    """Check that the compiler can be loaded, and load it.

    The version is asked for here, since the checkout may change while a long command runs.  The objects of
    the compiler live to the end of the process, so the garbage collector skips them.

    Raises `ResourceError`.
    """
    check_addresses()
    version()
    gc.disable()
    try:
        import tilebase._kernels.jit  # noqa: F401
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def counting_progress(known: Callable[[], str] | None = None) -> Iterator[Callable[[Progress], None] | None]:
    """Give a callback for ``count(progress=...)``; None with ``--quiet``.  Estimates are printed, too.

    `known` returns a line that is printed behind the first estimate, since only runs that take long have one:
    what is recorded of the answer.  Raises `UsageError` behind ``tilebase plan``: work begins here, so the
    command has no plan for these options.
    """
    if PLANNING.get():
        raise UsageError(
            "what this takes with these options is not known before: leave plan, or options, out"
        )
    if QUIET.get():
        yield None
        return
    with showing_notes(known), _bar() if sys.stderr.isatty() else _lines() as update:
        yield update


@contextmanager
def showing_notes(known: Callable[[], str] | None = None) -> Iterator[None]:
    """Print the log messages of the library: below an estimate, what a stopped run keeps, and `known`."""
    notes, log = _Notes(known), logging.getLogger("tilebase")
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

    def __init__(self, known: Callable[[], str] | None) -> None:
        super().__init__(logging.INFO)
        self._known = known

    def emit(self, record: logging.LogRecord) -> None:
        """Print one message."""
        lines = [readable(record.getMessage())]  # a bar prints them without this filter
        if record.msg == EXPECTED:
            from tilebase.cli.commands import kept_if_stopped  # which loads this module

            kept = kept_if_stopped(shlex.split(COMMAND.get()))
            lines += [f"Ctrl-C stops it; {kept}"] * bool(kept)
            if self._known is not None:
                lines.append(self._known())
                self._known = None
        print(*filter(None, lines), sep="\n", file=sys.stderr, flush=True)


@contextmanager
def _bar() -> Iterator[Callable[[Progress], None]]:
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=terminal(), transient=True) as bars:
        task = bars.add_task("starting", total=1.0)

        def update(progress: Progress) -> None:
            # At 1 rich stops the clock of the bar, and a second pass may follow.
            bars.update(task, completed=min(progress.fraction, 0.999), description=describe(progress))

        with watching_compiler(lambda text: bars.update(task, description=text)):
            yield update


@contextmanager
def _lines() -> Iterator[Callable[[Progress], None]]:
    began = last = time.monotonic()

    def say(text: str, every: float = LINE_SECONDS) -> None:
        nonlocal last
        if time.monotonic() - last >= every:
            last = time.monotonic()
            print(text, file=sys.stderr, flush=True)

    with watching_compiler(lambda text: say(text, SILENT_SECONDS if last == began else LINE_SECONDS)):
        yield lambda progress: say(f"{progress.fraction:5.1%}  {describe(progress)}")
    if last > began:  # else the last line would be one of a run that still goes on
        print(f"ended after {clock(time.monotonic() - began)}", file=sys.stderr, flush=True)


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
def share_progress(unit: str) -> Iterator[Callable[[int, int], object]]:
    """Give a callback with the number of items that are done next, and that of all.

    It shows nothing with ``--quiet``, or if standard error is not a terminal.
    """
    if QUIET.get() or not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.progress import Progress as Bars

    with Bars(console=terminal(), transient=True) as bars:
        task = bars.add_task(unit, total=None)
        yield lambda more, every: bars.update(task, advance=more, total=every)
