"""Messages for wrong command lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

from cyclopts import ArgumentOrderError, CycloptsError, MissingArgumentError, UnusedCliTokensError

from tilebase.errors import UsageError
from tilebase.game.grid import is_shape


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
        return _missing(error.argument, chain) + _example(error.target) + more
    if isinstance(error, UnusedCliTokensError):
        words = error.unused_tokens or []
        if made := _table_first(error.root_input_tokens or [], words):
            return f"{chain} takes the table of a game: {made} makes one"
        return f"unexpected argument {' '.join(map(str, words))!r}: leave it out{more}"
    return " ".join(str(error).split())


def _missing(argument: Any, chain: str) -> str:
    """Return the message for a missing argument or option value, with its name in the help."""
    about = (argument.parameter.help or "").rstrip(".")
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


def goal_hint(shape: str) -> str:
    """Return what to do if the user names a shape instead of a table."""
    return (
        f"{shape} is a shape, not a table: name a goal, too, as tilebase play {shape} {_easy_goal(shape)}, "
        "or a table that tilebase solve -o made"
    )


def _easy_goal(shape: str) -> int:
    """Return the largest goal that can be solved in minutes."""
    from tilebase.costs.reachable import solving
    from tilebase.game.game import Game
    from tilebase.objectives.objective import Objective
    from tilebase.runtime.resources import OVERHEAD, Allowance

    one = Allowance(memory=OVERHEAD, threads=1)
    for goal in (1 << e for e in range(11, 3, -1)):
        with suppress(UsageError):
            if solving(Game(shape, goal), [Objective("win")], one, table=True).seconds < 300:
                return goal
    return 8
