"""The exceptions of this package, with one base class.

Each class also derives from the built-in exception that a caller would expect, so that
``except ValueError`` works without importing anything from here.  Messages are one
sentence that says what is wrong and what to do; the command line prints them as they are.
"""

from __future__ import annotations

import re

MOST_TEXT = 1000
"""Characters of a message.  A quoted text could make it longer."""
MOST_WORD = 200
"""Characters of a word of a message, such as a path."""
_UNREADABLE = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def readable(text: str) -> str:
    """Return a text with a question mark for each character that commands a terminal or cannot be encoded.

    These are control characters but tab and line feed, characters that change the direction of writing,
    line separators, and surrogates.

    >>> readable("\x1b[31mred")
    '?[31mred'
    """
    return _UNREADABLE.sub("?", text)


def sentence(reason: object) -> str:
    """Return a message as one readable line of about `MOST_TEXT` characters at most.

    A longer text, or a word of more than `MOST_WORD` characters, is cut in the middle: the end of a message
    says what to do.
    """
    text = str(reason)
    if "\n" in text:
        text = " ".join(text.split())
    words = (_cut(word, MOST_WORD, "...") for word in text.split(" "))
    return readable(_cut(" ".join(words), MOST_TEXT, " ... "))


def _cut(text: str, most: int, dots: str) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}{dots}{text[-most // 3 :]}"


class TilebaseError(Exception):
    """Base of all errors raised on purpose.  `exit_status` is what the command line returns.

    Its text is a `sentence`.
    """

    exit_status = 1

    def __str__(self) -> str:
        return sentence(Exception.__str__(self))  # not KeyError.__str__, which adds quotation marks


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

    @classmethod
    def of(cls, missing: str, extra: str) -> MissingExtraError:
        """Say what is missing, and which extra has it."""
        return cls(f"{missing}: in the clone of tilebase, run pip install '.[{extra}]'")


class MissingObjectiveError(UsageError, KeyError):
    """An objective that a table does not hold."""


class MissingBoardError(TilebaseError, LookupError):
    """A board that a table does not hold."""
