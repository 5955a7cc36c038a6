"""How help shows the options that many commands share: their names, or with `--help-all` what they mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cyclopts.help import HelpPanel
    from rich.console import Console, ConsoleOptions

ALL = "--help-all"
_IN_FULL = ContextVar("in_full", default=False)


@contextmanager
def helping(arguments: Sequence[str]) -> Iterator[list[str]]:
    """Give the arguments with `--help` for `--help-all`; what is printed meanwhile describes every option."""
    token = _IN_FULL.set(ALL in arguments)
    try:
        yield ["--help" if word == ALL else word for word in arguments]
    finally:
        _IN_FULL.reset(token)


def shared(console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
    """Print a group of shared options: their names, unless everything is wanted."""
    from cyclopts.help import DefaultFormatter
    from rich.text import Text

    if _IN_FULL.get():
        DefaultFormatter()(console, options, panel)
        return
    names = [" ".join((*entry.positive_names, *entry.positive_shorts)) for entry in panel.entries]
    if names:
        console.print(Text(f"{panel.title}: {', '.join(names)}"))


def every_command(console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
    """Print the last group, and where the shared options are described."""
    shared(console, options, panel)
    if not _IN_FULL.get():
        from rich.text import Text

        console.print(Text(f"{ALL} describes these, too."))
