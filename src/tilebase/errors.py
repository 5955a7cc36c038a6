"""Every error this package raises on purpose, as one small tree.

Each class also derives from the built-in exception that a caller would expect, so that
``except ValueError`` works without importing anything from here.  Messages are one
sentence that says what is wrong and what to do; the command line prints them as they are.
"""

from __future__ import annotations

MOST_TEXT = 1000
"""Characters of a message: what it quotes may be longer."""


class TilebaseError(Exception):
    """Base of all errors raised on purpose.  `exit_status` is what the command line returns.

    As text it is one line of at most `MOST_TEXT` characters; what is longer is cut in the middle, since
    the end says what to do.
    """

    exit_status = 1

    def __str__(self) -> str:
        text = Exception.__str__(self)  # that of KeyError quotes it
        if "\n" in text:
            text = " ".join(text.split())
        if len(text) > MOST_TEXT:
            text = f"{text[: MOST_TEXT // 2]} ... {text[-MOST_TEXT // 3 :]}"
        return text


class UsageError(TilebaseError, ValueError):
    """The question itself is wrong: a shape, goal, limit, board or option that cannot be."""

    exit_status = 2


class GameError(UsageError):
    """A game that cannot be played or cannot be packed into 64 bits."""


class BoardError(UsageError):
    """A board that is not a board of the game."""


class CorruptError(TilebaseError, ValueError):
    """A file whose bytes do not agree with their checksum or with the format."""


class MissingLayerError(TilebaseError, LookupError):
    """A layer that is not there."""


class WrongGameError(TilebaseError, ValueError):
    """A folder that holds another game's layers."""


class ResourceError(TilebaseError, RuntimeError):
    """Not enough memory or disk for what was asked."""


class StorageError(TilebaseError, OSError):
    """The disk refused: full, read-only, gone."""


class MissingExtraError(TilebaseError, ImportError):
    """An optional dependency is not installed; the message names the extra."""


class MissingObjectiveError(UsageError, KeyError):
    """An objective that was not solved for."""


class MissingBoardError(TilebaseError, LookupError):
    """A board that a table does not hold."""
