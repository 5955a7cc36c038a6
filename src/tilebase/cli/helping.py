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
EXAMPLES = (
    ("tilebase solve 3x3 512 -o 3x3-512", "all values, as a table"),
    ("tilebase probe 3x3-512 2,0,0/4,8,2/16,32,64", "the best slide of a board"),
    ("tilebase play 3x3-512 -o game.json", "a game, saved"),
    ("tilebase review 3x3-512 game.json", "its mistakes"),
    ("tilebase export page 3x3-512 -o page", "a page for any web host"),
    ("tilebase export values 3x3-512 --states -o v.csv", "a data frame, or v.parquet"),
    ("tilebase count 3x3 1024 --record states.svg", "states by sum, and a picture"),
    ("tilebase plan count 4x4 256", "time and disk, on 16 cores"),
    ("tilebase plan formations 128 --budget 1min", "endgames solved in a minute"),
    ("tilebase force 2x5 64", "whether a tile can be forced"),
    ("tilebase cite 3x4 256", "a result, to be cited"),
    ("tilebase reach checkerboard 3x5", "whether a board can be reached"),
)
"""What users ask most, and the command: below the list of all commands."""
_IN_FULL = ContextVar("in_full", default=False)
_OF_ALL = ContextVar("of_all", default=False)


@contextmanager
def helping(arguments: Sequence[str], *, of_all: bool = False) -> Iterator[list[str]]:
    """Give the arguments with `--help` for `--help-all`, for which help describes every option meanwhile.

    `of_all`: it is the help of all commands.
    """
    tokens = _IN_FULL.set(ALL in arguments), _OF_ALL.set(of_all)
    try:
        yield ["--help" if word == ALL else word for word in arguments]
    finally:
        _IN_FULL.reset(tokens[0])
        _OF_ALL.reset(tokens[1])


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
    """Print the last group, and where the shared options are described.

    Below all commands, print the environment variables and examples, too.
    """
    from rich.text import Text

    from tilebase.runtime.paths import VARIABLES

    shared(console, options, panel)
    if not _IN_FULL.get():
        console.print(Text(f"{ALL} describes these, too."))
    if _OF_ALL.get():
        wide = max(len(command) for command, _ in EXAMPLES)
        lines = ["Environment variables (tilebase explain NAME says what each is for):"]
        lines += [" ".join(VARIABLES), ""]
        lines += [f"{command:{wide}}  {what}" for command, what in EXAMPLES]
        console.print(Text("\n".join(["", *lines])), soft_wrap=True)
