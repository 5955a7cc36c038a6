"""All commands, and the one place that turns errors into exit codes: one file a command."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import ExitStack, redirect_stderr, redirect_stdout
from contextvars import copy_context
from dataclasses import dataclass
from threading import Timer, main_thread
from typing import Annotated, Any, TextIO

from cyclopts import App, CycloptsError, Group, Parameter

from tilebase._version import version
from tilebase.cli.output import PLANNING, STDIN, Output, OutputError, Readable, name_command
from tilebase.cli.usage import ALL, begin_help, every_command, usage_sentence
from tilebase.errors import TilebaseError, UsageError, sentence
from tilebase.runtime.measured import ANYWAY, QUIET

app = App(
    name="tilebase",
    help="Exact answers about the game 2048.",
    version=version,
    default_parameter=Parameter(negative=()),  # a switch has no --no-, unless the command names one
    suppress_keyboard_interrupt=False,  # run prints whether the work can be continued
)
app.meta.suppress_keyboard_interrupt = False
COMMANDS = {
    "Solve": "solve count plan rank",
    "Force": "force limits lemma",
    "Use a table": "probe play serve review evaluate thin verify",
    "Other": "export reach explain cite reproduce runs",
}
"""The commands by purpose.  A command is loaded when it is called, or when the help of all is printed."""
HELP = ("--help", "-h", ALL)
SIGNALLED = 128
"""The exit status of a command that a signal stopped is this and its number, as shells have it."""
NAMES = frozenset(" ".join(COMMANDS.values()).split())
LAYERS = "the same command continues after the last finished layer, if there is one"
CONTINUE = {
    **dict.fromkeys(("count", "solve", "lemma"), LAYERS),
    "force": "what is decided is kept, and the same command continues there",
    "force diagrams": "the same command continues, unless with -o, -c or --strategy bits",
    **dict.fromkeys(("solve exact", "force largest", "lemma sample", "lemma set"), ""),
}
"""What a command that is stopped has kept; nothing for others, and for these subcommands."""
EVERY = Group("Every command", sort_key=len(COMMANDS), help_formatter=every_command)
for position, (title, commands) in enumerate(COMMANDS.items()):
    group = Group(title, sort_key=position)
    for name in commands.split():
        app.command(f"tilebase.cli.{name}:{name}", name=name, group=group)


@Parameter(name="*", group=EVERY, negative=())
@dataclass(frozen=True)
class EveryOptions:
    """The options of every command."""

    log: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """Append the steps of the engines to this file, or with - to standard error."""
    quiet: Annotated[bool, Parameter(name=["--quiet", "-q"])] = False
    """No progress."""
    anyway: bool = False
    """Start even a run that is expected to take more than a week, or more memory or disk than there is; write
    a page of more than 200 MB."""


@app.meta.default
def command(
    *words: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    every: EveryOptions = EveryOptions(),
) -> Any:
    """Run a command, with a log of what it does if it is wanted."""
    planned = words[:1] == ("plan",) and not NAMES.isdisjoint(words[1:2])
    QUIET.set(every.quiet)
    ANYWAY.set(every.anyway)
    PLANNING.set(planned)
    with ExitStack() as stack:
        if every.log is not None:
            from tilebase.cli.log import logging_to

            stack.enter_context(logging_to(every.log, words))
        if planned:
            words = words[1:]
            names, found, _ = app.parse_commands(words)
            question = found[-1].default_command
            if question is not None and not hasattr(question, "plannable"):
                named = " ".join(names)
                raise UsageError(f"plan does not plan {named}: tilebase plan --help says what it plans")
        if words[:1] == ("review",):  # - would be an option that nobody knows
            words = tuple(STDIN if word == "-" else word for word in words)
        return app(words, print_error=False, exit_on_error=False, result_action="return_value")


app.register_install_completion_command(
    help="Let the shell complete commands and options: bash, zsh or fish."
)


def is_planned(words: Sequence[str]) -> bool:
    """Return whether `tilebase plan` says what a command takes that needs no table."""
    if not words or words[0] in COMMANDS["Use a table"].split() or "&&" in words:
        return False
    _, found, _ = app.parse_commands(words)
    return hasattr(found[-1].default_command, "plannable")


def load_commands() -> None:
    """Load every command: only then the help of all says what each does."""
    for name in app:
        app[name]


def kept_if_stopped(words: Sequence[str]) -> str:
    """Return where a command with these words continues after Ctrl-C, as a clause; empty if it does not."""
    at = next((at for at, word in enumerate(words) if word in NAMES), len(words))
    command = " ".join(words[at : at + 1])
    return CONTINUE.get(" ".join(words[at : at + 2]), CONTINUE.get(command, ""))


class Stop(KeyboardInterrupt):
    """A signal that stops the command, as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.number = number


def run(arguments: Sequence[str], *, stops: Sequence[int] = ()) -> int:
    """Run a command; return the exit status.

    With `stops` the process ends with this command: these signals stop the command, and from its end on the
    process, without another word.
    """
    if sys.stdout is None:
        return _failed("cannot write the output: standard output is closed", 1)
    with redirect_stdout(Readable(Output(sys.stdout))), redirect_stderr(sys.stderr and Readable(sys.stderr)):
        try:
            status = copy_context().run(_status, arguments, stops)  # its variables end with it
            sys.stdout.flush()
            return status
        except OutputError as error:
            _drop(sys.stdout)
            return _failed(error, error.exit_status)
        except BrokenPipeError:
            _drop(sys.stdout)  # the reader has closed the pipe
            return 1


def _status(arguments: Sequence[str], stops: Sequence[int]) -> int:
    try:
        try:
            if stops:
                _raise_when_stopped(stops)
            of_all = not NAMES.intersection(arguments) or arguments[0] in HELP
            if of_all:
                load_commands()
            name_command(arguments)
            words = begin_help(arguments, of_all=of_all)
            status = app.meta(words, print_error=False, exit_on_error=False, result_action="return_value")
        finally:
            for number in stops:
                signal.signal(number, lambda number, _: os._exit(SIGNALLED + number))
        return int(status or 0)
    except (OutputError, BrokenPipeError):
        raise
    except CycloptsError as error:
        return _failed(usage_sentence(error), UsageError.exit_status)
    except TilebaseError as error:
        return _failed(error, error.exit_status)
    except (MemoryError, OSError, RuntimeError) as error:
        return _failed(_in_words(error), 1)
    except ValueError as error:
        if "integer string conversion" not in str(error):
            raise
        return _failed(
            "a number has more digits than Python reads: give a shorter one", UsageError.exit_status
        )
    except KeyboardInterrupt as stop:
        return _failed(
            "; ".join(filter(None, ("stopped", kept_if_stopped(arguments)))), SIGNALLED + _number_of(stop)
        )
    except SystemExit as stop:
        return int(stop.code or 0)


def _failed(reason: object, status: int) -> int:
    """Print one sentence on standard error, and the notes of an error below it; return the status."""
    notes = [f"  {note}" for note in getattr(reason, "__notes__", ())]
    try:
        print(f"tilebase: {sentence(reason)}", *notes, sep="\n", file=sys.stderr, flush=True)
    except OSError:  # it cannot be said anywhere else
        _drop(sys.stderr)
    return status


def _raise_when_stopped(stops: Sequence[int]) -> None:
    """Let these signals raise `Stop`, also if the first one gets lost in a callback or a destructor.

    A terminal that closes sends two, and so may a scheduler: once work is being saved only Ctrl-C, a second
    time, ends that.
    """
    asked = [number for number in stops if number != signal.SIGINT]

    telling = False

    def stop(number: int, _: object) -> None:
        if telling:  # still in the hook, where an exception gets lost once more
            again(number)
            return
        if number in asked:
            listen(asked, signal.SIG_IGN)
        raise Stop(number)

    def listen(numbers: Sequence[int], handler: Any) -> None:
        for number in numbers:
            signal.signal(number, handler)

    listen(stops, stop)
    show = sys.unraisablehook

    def again(number: int) -> None:
        Timer(0.01, signal.pthread_kill, [main_thread().ident or 0, number]).start()

    def hook(lost: sys.UnraisableHookArgs) -> None:
        nonlocal telling
        if isinstance(lost.exc_value, KeyboardInterrupt):
            # Raised here at once, it would get lost again: the main thread gets it, also while it waits.
            telling = True
            listen(asked, stop)
            again(_number_of(lost.exc_value))
            telling = False
        else:
            show(lost)

    sys.unraisablehook = hook


def _number_of(stop: KeyboardInterrupt) -> int:
    return stop.number if isinstance(stop, Stop) else signal.SIGINT


def _in_words(error: MemoryError | OSError | RuntimeError) -> str:
    """Return what failed, and what to do.  Raises the error again if the machine is not its cause."""
    if isinstance(error, MemoryError) or getattr(error, "errno", 0) == errno.ENOMEM:
        what = f" ({error})" if str(error) and not isinstance(error, OSError) else ""
        return (
            f"there is not enough memory{what}: give a smaller --memory, so that more is kept on disk, fewer "
            "--threads, or lower limits on cells"
        )
    if isinstance(error, RuntimeError):
        if "NUMBA_CACHE_LOCATOR_CLASSES" in str(error):
            return "NUMBA_CACHE_LOCATOR_CLASSES names a class that Numba does not know: unset the variable"
        if "start new thread" in str(error):
            return "no more threads can be started here: give fewer --threads, or raise the limit (ulimit -u)"
        raise error
    reason = error.strerror or " ".join(str(error).split())
    return f"cannot use {error.filename}: {reason}" if error.filename else f"the system refused: {reason}"


def _drop(stream: TextIO) -> None:
    """Let Python's last flush of a stream succeed, whose failure would be status 120; the rest is lost."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
