"""The results of a check of many files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tilebase.errors import StorageError, TilebaseError

MOST_UNREAD = 3
"""A check stops after so many files that cannot be read, since each may take a time limit of a server."""


class Findings:
    """The results of a check of many files, one sentence for each fault."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.unread: list[str] = []

    @property
    def sound(self) -> bool:
        """Whether everything was read and nothing is wrong."""
        return not self.wrong and not self.unread

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Inside the block, errors of a file become sentences: it cannot be read, or it is wrong.

        Raises `StopCheckError` at the third file that cannot be read.
        """
        try:
            yield
        except StorageError as error:
            self.unread.append(str(error))
            if len(self.unread) >= MOST_UNREAD:
                raise StopCheckError from error
        except TilebaseError as error:
            self.wrong.append(str(error))


class StopCheckError(Exception):
    """So many files cannot be read that the check stops."""
