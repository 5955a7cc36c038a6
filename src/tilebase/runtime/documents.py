"""Writing JSON, and reading JSON that a stranger may have written: with bounds, without trust in its shape.

Manifests, meta, journals and ``run.json`` carry checksums.  But a checksum only shows that a file is as its
author wrote it.  The author may be an attacker.  So these functions bound sizes, depth and numbers before
other code uses them, and every other fault raises `CorruptError`.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

from tilebase.errors import CorruptError, WrongGameError, readable

MOST_DEPTH = 16
"""Levels of nesting; documents of tilebase have at most seven."""
MOST_BYTES = 1 << 26
"""Bytes of one document; the manifest of a million layers would be that large."""
HEAD = '{"check": "'
"""What a document with a checksum begins with; eight lower-case hexadecimal digits follow."""
Form = Literal["line", "sorted", "compact", "canonical", "pretty"]
"""How JSON is spelled; see `to_json`."""
_ENCODERS: dict[Form, json.JSONEncoder] = {
    "line": json.JSONEncoder(allow_nan=False),
    "sorted": json.JSONEncoder(allow_nan=False, sort_keys=True),
    "compact": json.JSONEncoder(allow_nan=False, separators=(",", ":")),
    "canonical": json.JSONEncoder(allow_nan=False, sort_keys=True, separators=(",", ":")),
    "pretty": json.JSONEncoder(allow_nan=False, indent=1),
}
_SHAPE = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError)
"""The exceptions that reading a document of unexpected shape can raise."""


def shown(thing: object, most: int = 200) -> str:
    """Return a foreign text for a message: readable, on one line, at most `most` characters and dots."""
    text = readable(" ".join(str(thing)[: 4 * most].split()))
    return text if len(text) <= most else f"{text[:most]}..."


def to_json(value: Any, form: Form = "line") -> str:
    """Write plain values as JSON text.  All JSON that tilebase writes is written here.

    Only ``pretty`` has more than one line.  Keys are in the order of the value, or ascending in the forms
    ``sorted`` and ``canonical``.  The forms ``compact`` and ``canonical`` have no spaces between tokens.

    Raises `ValueError` for a number that JSON does not have: NaN and the infinities.

    >>> to_json({"sum": 8, "largest": 4}), to_json({"sum": 8, "largest": 4}, "canonical")
    ('{"sum": 8, "largest": 4}', '{"largest":4,"sum":8}')
    """
    return _ENCODERS[form].encode(value)


@contextmanager
def understood(what: str) -> Iterator[None]:
    """Turn every error that an unexpected document causes inside the block into a `CorruptError`.

    Errors of a document that cannot be read (`OSError`) or belongs to another game (`WrongGameError`)
    pass unchanged, since they do not show damage.
    """
    try:
        yield
    except WrongGameError:
        raise
    except _SHAPE as error:  # also a `CorruptError`, which may name the document already
        if isinstance(error, CorruptError) and str(error).startswith(what):
            raise
        missing = "it lacks " if isinstance(error, KeyError) else ""
        raise CorruptError(
            f"{what} is damaged, or not written by tilebase: {missing}{shown(error)}"
        ) from error


def parse_json(data: bytes | str, what: str) -> Any:
    """Return the parsed document.  Raises `CorruptError` if it is too long, nested too deeply, or not JSON.

    >>> parse_json('{"sum": 8}', "meta")
    {'sum': 8}
    >>> parse_json("[NaN]", "meta")
    Traceback (most recent call last):
        ...
    tilebase.errors.CorruptError: meta is damaged, or not written by tilebase: NaN is not a number
    """
    if len(data) > MOST_BYTES:
        raise CorruptError(f"{what} has {len(data)} bytes, more than {MOST_BYTES}: it is not from tilebase")
    with understood(what):
        found = json.loads(data, parse_constant=_refuse, parse_float=_finite)
        _check_depth(found)
    return found


def sealed(text: str) -> str:
    """Return a JSON object that is not empty, as text, with a checksum before its members.

    It begins with `HEAD` and the CRC-32 of all bytes that follow.  So `is_whole` needs no spelling of JSON.
    """
    rest = f'",{text[1:]}'
    return f"{HEAD}{zlib.crc32(rest.encode()):08x}{rest}"


def checked_json(values: Mapping[str, Any]) -> str:
    """Return a document with a checksum of its own bytes, as text."""
    return sealed(to_json(values, "pretty") + "\n")


def digest_of(values: Mapping[str, Any]) -> str:
    """Return the checksum in `checked_json`, eight hexadecimal digits, as a name of these values."""
    return checked_json(values)[len(HEAD) :][:8]


def is_whole(data: bytes) -> bool:
    """Return whether each byte of a document of `checked_json` is as it was written."""
    head, check, rest = data[: len(HEAD)], data[len(HEAD) :][:8], data[len(HEAD) + 8 :]
    return head == HEAD.encode() and check == f"{zlib.crc32(rest):08x}".encode()


def parse_checked(
    data: bytes, name: str, form: str, version: int, *, what: str, advice: str
) -> dict[str, Any]:
    """Return the members of a document of `checked_json`, without the checksum.

    Raises `CorruptError` unless it is of this format and version, and as it was written; `what` it should be
    and the `advice` for a damaged one are part of the messages.
    """
    values = parse_json(data, name)
    if not isinstance(values, dict) or values.get("format") != form or "version" not in values:
        raise CorruptError(f"{name} is not {what}")
    values.pop("check", None)
    found = values["version"]
    if found != version:
        older = type(found) is int and found < version
        raise CorruptError(
            f"{name} is of version {shown(found, 40)}, this program reads {version}: "
            + ("make it again, or use the program that wrote it" if older else "update it")
        )
    if not is_whole(data):
        raise CorruptError(f"{name} is damaged: {advice}")
    return values


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number


def _check_depth(found: Any) -> None:
    level = [found] if isinstance(found, dict | list) else []
    for _ in range(MOST_DEPTH):
        level = [
            item
            for thing in level
            for item in (thing.values() if isinstance(thing, dict) else thing)
            if isinstance(item, dict | list)
        ]
    if level:
        raise ValueError(f"it is nested more than {MOST_DEPTH} levels deep")


def whole(value: Any, what: str, most: int = (1 << 63) - 1) -> int:
    """Return a number that counts something, from 0 to `most`.  Raises `CorruptError`."""
    if type(value) is not int or not 0 <= value <= most:
        raise CorruptError(f"{what} is {shown(repr(value), 40)}, but must be a whole number from 0 to {most}")
    return value


def mapping(value: Any, what: str) -> dict[str, Any]:
    """Return a JSON object.  Raises `CorruptError`."""
    if not isinstance(value, dict):
        raise CorruptError(f"{what} is {shown(repr(value), 40)}, but must be a JSON object")
    return value


def text(value: Any, what: str) -> str:
    """Return a text.  Raises `CorruptError`."""
    if not isinstance(value, str):
        raise CorruptError(f"{what} is {shown(repr(value), 40)}, but must be text")
    return value
