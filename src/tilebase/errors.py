"""The exceptions of this package, with one base class.

Each class also derives from the built-in exception that a caller would expect, so that
``except ValueError`` works without importing anything from here.  Messages are one
sentence that says what is wrong and what to do; the command line prints them as they are.
"""

from __future__ import annotations

MOST_TEXT = 1000
"""Characters of a message.  A quoted text could make it longer."""


class TilebaseError(Exception):
    """Base of all errors raised on purpose.  `exit_status` is what the command line returns.

    Its text is one line of about `MOST_TEXT` characters at most.  A longer text is cut in the middle,
    since the end says what to do.
    """

    exit_status = 1

    def __str__(self) -> str:
        text = Exception.__str__(self)  # not KeyError.__str__, which adds quotation marks
        if "\n" in text:
            text = " ".join(text.split())
        if len(text) > MOST_TEXT:
            text = f"{text[: MOST_TEXT // 2]} ... {text[-MOST_TEXT // 3 :]}"
        return text


def check_first(value: object, kind: type | tuple[type, ...], what: str) -> None:
    """Raise `UsageError` unless the first argument of a public function has a type, named in words."""
    if not isinstance(value, kind):
        raise UsageError(f"the first argument must be {what}, not {repr(value)[:80]}")


class UsageError(TilebaseError, ValueError):
    """An argument is wrong: a shape, goal, limit, board or option that does not exist or fit."""

    exit_status = 2


class GameError(UsageError):
    """A game that cannot be played or cannot be packed into 64 bits."""


class BoardError(UsageError):
    """A board that is not a board of the game."""


class CorruptError(TilebaseError, ValueError):
    """A file whose bytes do not agree with their checksum or with the format."""


class MissingLayerError(TilebaseError, LookupError):
    """A layer that a folder does not hold."""


class WrongGameError(TilebaseError, ValueError):
    """A folder that holds another game's layers."""


class ResourceError(TilebaseError, RuntimeError):
    """Not enough memory or disk for what was asked."""


class RefusedError(ResourceError):
    """A question that was refused before it began, or after a short try: there is nothing to continue."""


class StorageError(TilebaseError, OSError):
    """The system refused to read or write: the disk is full, read-only or removed."""


class ChildError(TilebaseError, RuntimeError):
    """A process that this one has started ended before it had done its work."""


class ClusterError(TilebaseError, RuntimeError):
    """Workers on other machines cannot be reached, do not see the folder, or run another version."""


class MissingExtraError(TilebaseError, ImportError):
    """An optional dependency is not installed; the message names the extra."""


class MissingObjectiveError(UsageError, KeyError):
    """An objective that a table does not hold."""


class MissingBoardError(TilebaseError, LookupError):
    """A board that a table does not hold."""
