"""``--log``: what the engines say of their work, in a file or on standard error.

The library says it by Python's `logging`, below the logger ``tilebase``, at the level DEBUG; what it says at
INFO is for every user (`progress.showing_notes`).  A log is not a result: if it can be written no longer, the
command says so once and goes on.
"""

from __future__ import annotations

import logging
import os
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from platform import python_version
from typing import IO

from cyclopts import CycloptsError

from tilebase._version import version
from tilebase.errors import TilebaseError, readable, sentence
from tilebase.runtime.resources import available_memory
from tilebase.runtime.storage import storage_errors
from tilebase.runtime.system import processors

LOG = logging.getLogger(__name__)
LINE = logging.Formatter("%(asctime)s.%(msecs)03d %(name)s: %(message)s", "%Y-%m-%d %H:%M:%S")


class _Lines(logging.StreamHandler[IO[str]]):
    """Writes a line for each message, until one cannot be written."""

    def __init__(self, file: IO[str], name: str) -> None:
        super().__init__(file)
        self.setFormatter(LINE)
        self._name = name

    def format(self, record: logging.LogRecord) -> str:
        """Return a line as `readable` text."""
        return readable(super().format(record))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002  # a name of `logging`
        """Say once what is wrong, and write no more."""
        logging.getLogger("tilebase").removeHandler(self)
        print(f"warning: cannot write {self._name}: {sys.exc_info()[1]}; the log ends here", file=sys.stderr)


@contextmanager
def logging_to(name: str, words: Sequence[str]) -> Iterator[None]:
    """Append what is done in the block to a file, or write it to standard error if the name is ``-``.

    The first lines name the command and the machine, the last one says how the command ended.  Raises
    `StorageError` if the file cannot be written, and what `refuse_kept` raises.
    """
    if name != "-":
        from tilebase.files.source import refuse_kept  # it loads what reads tables from servers

        refuse_kept(Path(name))
    with storage_errors(name):
        file = sys.stderr if name == "-" else Path(name).open("a", encoding="utf-8")  # noqa: SIM115
    lines, log, since = _Lines(file, name), logging.getLogger("tilebase"), time.perf_counter()
    before, ended = log.level, "done"
    log.addHandler(lines)
    log.setLevel(logging.DEBUG)
    LOG.debug("tilebase %s: %s", version(), shlex.join(words))
    LOG.debug(
        "Python %s on %s, %d processors, %.1f GiB of memory available, process %d",
        python_version(), sys.platform, processors(), available_memory() / 2**30, os.getpid(),
    )  # fmt: skip
    try:
        yield
    except BaseException as error:
        ended = sentence(error) if isinstance(error, TilebaseError | CycloptsError) else repr(error)
        raise
    finally:
        LOG.debug("ended after %.2f s: %s", time.perf_counter() - since, ended)
        log.removeHandler(lines)
        log.setLevel(before)
        if file is not sys.stderr:
            with suppress(OSError):  # a line that could not be written, as was said then
                file.close()
