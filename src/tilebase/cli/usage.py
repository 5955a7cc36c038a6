"""How help shows options that many commands share, and messages for wrong command lines.

Help shows the names of shared options, or with `--help-all` what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from difflib import get_close_matches
from itertools import pairwise
from textwrap import fill
from typing import TYPE_CHECKING, Any

from cyclopts import (
    ArgumentOrderError,
    CycloptsError,
    MissingArgumentError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from tilebase.game.grid import is_shape

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
    ("tilebase plan count 4x4 256", "time, memory and disk"),
    ("tilebase plan formations 128", "endgames, soonest first"),
    ("tilebase force 2x5 64", "whether a tile can be forced"),
    ("tilebase cite 3x4 256", "a result, to be cited"),
    ("tilebase reach checkerboard 3x5", "whether a board can be reached"),
)
"""What users ask most, and the command: below the list of all commands."""
NEW_TILES = ("--spawn", "--spawns", "--drops")
"""Which tiles are new: with probabilities, chosen by an adversary, or by someone who helps."""
NEAR = 0.75
"""How much of an option must be the same in one that is suggested for it."""
_IN_FULL = ContextVar("in_full", default=False)
_OF_ALL = ContextVar("of_all", default=False)


def begin_help(arguments: Sequence[str], *, of_all: bool) -> list[str]:
    """Return the arguments with `--help` for `--help-all`, for which help in this context has every option.

    `of_all`: it is the help of all commands.
    """
    _IN_FULL.set(ALL in arguments)
    _OF_ALL.set(of_all)
    return ["--help" if word == ALL else word for word in arguments]


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
        lines = ["Environment variables (tilebase explain NAME describes one):"]
        lines += [fill(" ".join(VARIABLES), 80), ""]
        lines += [f"{command:{wide}}  {what}" for command, what in EXAMPLES]
        console.print(Text("\n".join(["", *lines])), soft_wrap=True)


def usage_sentence(error: CycloptsError) -> str:
    """Return the fault of a command line, with the names that the help uses."""
    chain = " ".join(error.command_chain or ())
    more = f"; see tilebase {chain} --help" if chain else ""
    if isinstance(error, ArgumentOrderError):
        given = " and ".join(
            one.name for one in error.prior_positional_or_keyword_supplied_as_keyword_arguments
        )
        name = "its option" if error.argument is None else error.argument.name
        return f"{error.token!r} stands behind {given}: name {name}, too, or leave {given} out{more}"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        for name, value in pairwise(map(str, error.root_input_tokens or [])):
            if name in error.argument.names and value.startswith("-"):
                return f"{name} {value}: a value cannot begin with -{more}"
        return _missing(error, error.argument, chain) + _example(error.target) + more
    if isinstance(error, UnusedCliTokensError):
        words = error.unused_tokens or []
        if made := _table_first(error.root_input_tokens or [], words):
            return f"{chain} takes the table of a game: {made} makes one"
        return f"unexpected argument {' '.join(map(str, words))!r}: leave it out{more}"
    if isinstance(error, UnknownOptionError) and error.parent_apps_with_collections is None:
        return _unknown(error) + more
    return " ".join(str(error).split())


def _unknown(error: UnknownOptionError) -> str:
    """Return the message for an option that does not exist, with one of nearly the same letters."""
    name = (error.token.keyword or error.token.value).partition("=")[0]
    names = [name for one in error.argument_collection if one.parse for name in one.names]
    if name == "--discount" and "--objective" in names:
        return "a discount belongs to an objective: write --objective win@0.99"
    if name == "--threads":
        return "there is no option --threads: this command chooses how many it uses"
    near = [one for one in NEW_TILES if name in NEW_TILES and one in names]
    near = near or get_close_matches(name, names, n=1, cutoff=NEAR)
    return f"there is no option {name}" + "".join(f", but {one}" for one in near)


def _missing(error: CycloptsError, argument: Any, chain: str) -> str:
    """Return the message for a missing argument or option value, with its name in the help."""
    assert error.app is not None
    described = error.app.assemble_argument_collection(parse_docstring=True)
    about = next(one.parameter.help or "" for one in described if one.name == argument.name)
    about = " ".join(about.split()).rstrip(".")  # a docstring may have several lines
    if argument.index is None:
        values, _ = argument.token_count()
        return f"give {argument.name} {'a value' if values == 1 else f'{values} values'}: {about}"
    return f"{chain} needs a {argument.name.lstrip('-').upper()}: {about}"


def _example(command: Callable[..., Any] | None) -> str:
    """Return the first example of a command's help."""
    lines = map(str.strip, (command.__doc__ or "").splitlines() if command else ())
    first = next((line for line in lines if line.startswith("tilebase ")), "")
    return f"; for example: {first}" if first else ""


def _table_first(tokens: Sequence[str], unused: Sequence[str]) -> str:
    """Return what makes a table, where a shape and a goal stand in place of one."""
    for shape, goal in pairwise(tokens):
        if is_shape(shape) and goal in unused and goal.isdecimal():
            return f"tilebase solve {shape} {goal} -o {shape}-{goal}"
    return ""
