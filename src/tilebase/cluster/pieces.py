"""A piece of work as a plain value, and the jobs that do pieces.

A piece names the files that it reads and the file that it writes.  The file gets its name when it is
complete, and the same piece always writes the same bytes.  So a piece of a lost worker is simply done
again, even if the lost worker turns out to be only slow and writes the file a second time.  Pieces of a
pass over all boards instead write ranges of files that are there already (`dense.shared`): again the same
bytes.

What pieces write lies in the exchange folder of the executor, which is deleted when the run ends, however it
ends (`workers.Exchange`).

A *job* does the pieces of one pass.  It is sent to each worker process once and stays there: so it may keep
in memory what several pieces need, as the values of the layers above.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from tilebase.runtime.storage import storage_errors

R_co = TypeVar("R_co", covariant=True)


@dataclass(frozen=True)
class Piece:
    """Some of the work of one layer.

    Attributes
    ----------
    step:
        What is done, as "solve" or "spawn"; the job knows these words.
    total:
        The sum of the layer that is made.
    begin, end:
        The range that is done; the step says of what: chunks, windows or keys.
    reads:
        The files that it reads, relative to the folder of the run.
    writes:
        The file that it writes, relative to the folder of the run, or in a pass over all boards the name of
        a file in the exchange folder; empty if it writes no file.
    width:
        Blocks of ranks in a window, for the steps that divide a layer into windows; else 0.
    """

    step: str
    total: int
    begin: int
    end: int
    reads: tuple[str, ...]
    writes: str
    width: int = 0


class Job(Protocol[R_co]):
    """Does the pieces of one pass, in any process and by several threads at once.

    Jobs are pickled.  What they keep in memory is not.
    """

    def do(self, piece: Piece) -> R_co:
        """Do a piece and return a small value, as counts and checksums.  Raises `TilebaseError`."""


@dataclass(frozen=True)
class IdleJob:
    """Does nothing: it shows what handing over a piece takes."""

    def do(self, piece: Piece) -> int:
        """Return the beginning of the range."""
        return piece.begin


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """Give the name under which a worker writes a file; it is renamed to `path` when the block ends.

    Each attempt has a name of its own, since a worker that was given up may still be writing.  After an
    error, nothing is left.  Raises `StorageError`.
    """
    attempt = path.with_name(f".{path.name.lstrip('.').removesuffix('.part')}-{uuid.uuid4().hex}.part")
    try:
        with storage_errors(path):
            yield attempt
            attempt.replace(path)
    finally:
        attempt.unlink(missing_ok=True)
