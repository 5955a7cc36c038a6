"""What a check of many files finds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tilebase.errors import StorageError, TilebaseError

MOST_UNREAD = 3
"""Files that cannot be read before the check stops: a server that hangs would hang at each."""


class Findings:
    """What a check of many files finds, one sentence each."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.unread: list[str] = []

    @property
    def sound(self) -> bool:
        """Whether everything was read and nothing is wrong."""
        return not self.wrong and not self.unread

    @contextmanager
    def checking(self) -> Iterator[None]:
        """Within it an error is a sentence: of a file that cannot be read, or of one that is wrong.

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
