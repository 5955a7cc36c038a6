"""The command line: one file a command, and one place that turns errors into exit codes.

Exit status 0: done; 1: a failure (the disk is full, a file is damaged, a check fails);
2: the question was wrong; 130: stopped with Ctrl-C, finished layers kept.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError
from rich.console import Console

from tilebase._version import __version__
from tilebase.cli.bound import bound
from tilebase.cli.check import check
from tilebase.cli.codecs import codecs
from tilebase.cli.count import count
from tilebase.cli.evaluate import evaluate
from tilebase.cli.export import export
from tilebase.cli.force import force
from tilebase.cli.graph import graph
from tilebase.cli.index import index
from tilebase.cli.lemma import lemma
from tilebase.cli.limits import limits
from tilebase.cli.play import play
from tilebase.cli.plot import plot
from tilebase.cli.probe import probe
from tilebase.cli.reproduce import reproduce
from tilebase.cli.runs import runs
from tilebase.cli.simulate import simulate
from tilebase.cli.solve import solve
from tilebase.cli.thin import thin
from tilebase.cli.verify import verify
from tilebase.errors import TilebaseError, UsageError

app = App(
    name="tilebase",
    help="Exact answers about the game 2048.",
    version=__version__,
    suppress_keyboard_interrupt=False,  # main says what becomes of the work
)
for command in (
    count, solve, bound, force, check, index, lemma, limits, probe, play, simulate, evaluate, thin, plot,
    graph, codecs, reproduce, verify, export, runs,
):  # fmt: skip
    app.command(command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    errors = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)
    if sys.stdout is None:
        errors.print("tilebase: cannot write the output: standard output is closed")
        return 1
    try:
        status = app(arguments, print_error=False, exit_on_error=False, result_action="return_value")
        sys.stdout.flush()
        return int(status or 0)
    except CycloptsError as error:
        errors.print(f"tilebase: {' '.join(str(error).split())}", markup=False)
        return UsageError.exit_status
    except TilebaseError as error:
        errors.print(f"tilebase: {error}", markup=False)
        return error.exit_status
    except BrokenPipeError:
        _drop_output()  # its reader has gone
        return 1
    except OSError as error:
        _drop_output()
        errors.print(f"tilebase: cannot write the output: {error.strerror or error}", markup=False)
        return 1
    except KeyboardInterrupt:
        errors.print(
            "tilebase: stopped; count, solve, bound, lemma and force (with a goal) go on where they were "
            "if called again"
        )
        return 130
    except SystemExit as stop:
        return int(stop.code or 0)


def _drop_output() -> None:
    """Let Python's last flush of standard output succeed: what is left cannot be written anyway."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
