"""The command line, one file per command; `main` handles Ctrl-C before anything else is loaded.

Exit status 0: done; 1: a failure (the disk is full, a file is damaged, a check fails);
2: the question was wrong; 130: stopped with Ctrl-C, finished layers kept.  SIGTERM, which schedulers send,
and SIGHUP, which a closing terminal sends, stop a command in the same way, with 143 and 129.  Commands that
have a result when they are stopped, as limits, end with its status, and so does serve.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status.

    Without `arguments` the command is that of the process (`sys.argv`).  Then Ctrl-C ends the process also
    while Python loads modules or exits, with status 130 and without a traceback; standard streams that are
    closed are opened, and characters that standard output cannot show are replaced.
    """
    if arguments is not None:
        from tilebase.cli.commands import run

        return run(arguments)
    stops = _stops()
    if signal.SIGINT in stops:
        signal.signal(signal.SIGINT, lambda *_: _end_loading())
    _open_streams()
    # NumPy's threads for linear algebra, which no command uses, wait for work in a loop: 0.1 CPU seconds.
    # They start when NumPy is loaded, which some commands do at once.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from tilebase.cli.commands import run
    from tilebase.cli.output import replace_unprintable, widen_terminal

    replace_unprintable(sys.stdout, sys.stderr)
    widen_terminal()
    return run(sys.argv[1:], stops=stops)


def _stops() -> list[int]:
    """Return the signals that stop a command: none that is ignored, as SIGINT is in a shell's background."""
    defaults = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }
    return [number for number, default in defaults.items() if signal.getsignal(number) is default]


def _end_loading() -> None:
    """Ctrl-C before the command begins: nothing is lost, and an exception might be caught by an import."""
    try:
        os.write(2, b"tilebase: stopped\n")
    finally:
        os._exit(130)


def _open_streams() -> None:
    """Open the null device for each standard stream that is closed.

    Otherwise the next file that is opened takes its number, and messages are written into that file.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the least free number, which is this one
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w")
