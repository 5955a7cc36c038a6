"""Files on a server, over HTTP by Python's own client.

A file is read in blocks.  One request reads several neighbouring blocks, and recent blocks are kept.  The
first request returns the size, too, so that a small file needs one request, and a range of a large one
another.  If a reader continues where the last request ended, the next request is larger.  Every request has a
time limit, and never takes more bytes from the server than it asked for.  A wrong reply raises `StorageError`
and not `CorruptError`, since the file itself may be undamaged.
"""

from __future__ import annotations

import base64
import http.client
import math
import os
import re
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from concurrent.futures import wait
from typing import Any, TypeVar

from tilebase._version import version
from tilebase.errors import CorruptError, MissingLayerError, StorageError, UsageError
from tilebase.runtime.documents import shown
from tilebase.runtime.threads import Recent, in_background

T = TypeVar("T")

BLOCK = 1 << 14
"""Bytes of a block."""
FIRST = 1 << 16
"""Bytes of the first request for a file whose size is asked."""
MOST_AT_ONCE = 1 << 20
"""Bytes of the largest request, which reading a whole file leads to."""
WHOLE = 1 << 24
"""Most bytes of a file that is read from a server without support for ranges."""
KEPT = 1 << 26
"""Bytes of recent blocks that one location keeps."""
TIMEOUT = 30.0
"""Seconds that one request may take, unless TILEBASE_TIMEOUT says otherwise."""
GONE = (404, 410)
REFUSED_RANGE = 416


def time_limit() -> float:
    """Seconds that one request may take.  Raises `UsageError` if TILEBASE_TIMEOUT is not a valid number."""
    text = os.environ.get("TILEBASE_TIMEOUT") or str(TIMEOUT)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= threading.TIMEOUT_MAX or not math.isfinite(seconds):
        raise UsageError(f"TILEBASE_TIMEOUT is {shown(text, 40)!r}, but must be seconds, such as 30")
    return seconds


def limited(name: str, call: Callable[[], T]) -> T:
    """Return the result of a call.  Raises `StorageError` if the call raises, or after the time limit.

    The call runs in its own thread, since a time limit of the connection is not enough: a server may
    send single bytes forever, and the called library may have no time limit at all.
    """
    seconds = time_limit()
    answer = in_background(call)
    wait([answer], seconds)
    if not answer.done():
        raise StorageError(
            f"cannot read {name}: no answer within {seconds:g} seconds (TILEBASE_TIMEOUT sets how many)"
        )
    error = answer.exception()
    if error is not None and not isinstance(error, MissingLayerError | StorageError | CorruptError):
        raise StorageError(f"cannot read {name}: {_in_words(error)}") from error
    return answer.result()


def _in_words(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "the server does not answer in time"
    reason = getattr(error, "reason", None)  # URLError has one
    if isinstance(reason, BaseException):
        return _in_words(reason)
    if isinstance(error, urllib.error.URLError):
        return shown(reason)
    return shown(getattr(error, "strerror", None) or error) or type(error).__name__


class RemoteLocation:
    """A folder of files behind an ``http:`` or ``https:`` URL.  Raises `StorageError` if it is no such URL.

    Proxies and redirections are followed as Python's `urllib` does; a name and a password in the URL
    are sent to that server only, and no message shows them.
    """

    def __init__(self, url: str) -> None:
        if not url.lower().startswith(("http://", "https://")):
            raise StorageError(
                f"cannot read {shown(url)}: only http:// and https:// are read, so copy the table here, or "
                "give its address on a web server"
            )
        try:
            parts = urllib.parse.urlsplit(url)
            host = parts.hostname or ""
            port = f":{parts.port}" if parts.port else ""
        except ValueError as error:
            raise StorageError(f"cannot read {shown(url)}: {shown(error)}") from error
        host = f"[{host}]" if ":" in host else host
        path = urllib.parse.quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~")
        self.name, self._query = f"{parts.scheme}://{host}{port}{path}", parts.query
        self._secret = ""
        if parts.username is not None:
            pair = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
            self._secret = "Basic " + base64.b64encode(pair.encode()).decode()
        self._opener = urllib.request.OpenerDirector()
        for handler in (
            urllib.request.ProxyHandler, urllib.request.HTTPHandler, urllib.request.HTTPSHandler,
            urllib.request.HTTPDefaultErrorHandler, urllib.request.HTTPRedirectHandler,
            urllib.request.HTTPErrorProcessor, urllib.request.UnknownHandler,
        ):  # fmt: skip
            self._opener.add_handler(handler())
        self.blocks = Recent(KEPT, len)
        self._sizes: dict[str, int] = {}

    def open(self, name: str) -> RemoteFile:
        """Return the file of this name.

        Raises `MissingLayerError` if it does not exist, or `StorageError`.
        """
        return RemoteFile(self, name)

    def size(self, name: str) -> int:
        """Return the size of a file.  If nothing of it was read, this reads its first blocks, too."""
        if name not in self._sizes:
            self.read(name, 0, FIRST)
        return self._sizes[name]

    def most_size(self, name: str) -> float:
        """Return the size of a file if it is known; else infinity."""
        return self._sizes.get(name, math.inf)

    def read(self, name: str, begin: int, end: int) -> dict[int, bytes]:
        """Return the blocks from `begin`, the offset of a block, to `end`, as ``{offset: bytes}``.

        One request.
        """
        full = self.full(name)
        data, size = limited(full, lambda: self._fetch(name, begin, end))
        if self._sizes.setdefault(name, size) != size:
            raise StorageError(
                f"cannot read {full}: it had {self._sizes[name]} bytes at the server before, and {size} now"
            )
        if len(data) == size:  # a server without support for ranges sends the whole file
            begin, end = 0, size
        if len(data) != max(min(end, size) - begin, 0):
            raise StorageError(
                f"cannot read {full}: the server sent {len(data)} bytes of the {end - begin} asked for"
            )
        found = {begin + at: data[at : at + BLOCK] for at in range(0, len(data), BLOCK)}
        for at, block in found.items():
            self.blocks.keep((name, at), block)
        return found

    def _fetch(self, name: str, begin: int, end: int) -> tuple[bytes, int]:
        """Return the bytes of a file from `begin` to `end` or to its end, and the size of the file.

        A server may send the whole file instead, if it is small.  Raises `MissingLayerError` if it says that
        the file does not exist, `StorageError` for all other faults.
        """
        url = f"{self.name}/{name}" + (f"?{self._query}" if self._query else "")
        request = urllib.request.Request(url)
        request.add_header("User-Agent", f"tilebase/{version()}")
        request.add_header("Range", f"bytes={begin}-{end - 1}")
        if self._secret:
            request.add_unredirected_header("Authorization", self._secret)
        where = self.full(name)
        try:
            with self._opener.open(request, timeout=time_limit()) as answer:
                return _body(answer, where, begin, end)
        except urllib.error.HTTPError as error:
            with error:
                if error.code in GONE:
                    raise MissingLayerError(f"{where} not found") from error
                if error.code == REFUSED_RANGE and (size := _refused(error.headers, begin)) is not None:
                    return b"", size
                said = f"{error.code} {shown(error.reason, 80)}".strip()
                raise StorageError(f"cannot read {where}: the server answered {said}") from error

    def full(self, name: str) -> str:
        """Return the name of a file in messages."""
        return f"{self.name.rstrip('/')}/{name}"

    def close(self) -> None:
        """Forget the blocks."""
        self.blocks.clear()
        self._sizes.clear()


class RemoteFile:
    """A file of a `RemoteLocation`.  Safe to share between threads."""

    def __init__(self, location: RemoteLocation, name: str) -> None:
        self.name = location.full(name)
        self._location, self._name = location, name
        self._last = 0, FIRST  # begin and end of the last request

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self._location.size(self._name)

    def read(self, offset: int, size: int) -> bytes:
        """Exactly `size` bytes.  Raises `CorruptError` if the file is shorter, or `StorageError`."""
        begin, end = offset // BLOCK * BLOCK, offset + size
        if min(offset, size) < 0 or end > self._location.most_size(self._name):
            raise CorruptError(f"{self.name} ends too early; make it again")
        fresh: dict[int, bytes] = {}
        data = bytearray()
        for at in range(begin, end, BLOCK):
            block = fresh.get(at) or self._location.blocks.find((self._name, at))
            if block is None:
                fresh = self._fetch(at, end)
                if end > self._location.most_size(self._name):
                    break
                block = fresh[at]
            data += block
        if len(data) < end - begin:
            raise CorruptError(f"{self.name} ends too early; make it again")
        return bytes(data[offset - begin : end - begin])

    def _fetch(self, at: int, end: int) -> dict[int, bytes]:
        """Read blocks from `at` on: at least one, and at most those to `end` or a little beyond."""
        begin, until = self._last
        if at == until and at:  # this continues the last request: probably the whole file is read
            end = max(end, at + 2 * (until - begin))
        end = min(-(-end // BLOCK) * BLOCK, at + MOST_AT_ONCE)
        self._last = at, end
        return self._location.read(self._name, at, end)

    def close(self) -> None:
        """Do nothing: the location keeps the blocks."""


def _refused(headers: Any, begin: int) -> int | None:
    """Return the size of a file that ends before a range begins; None if a server does not say this."""
    match = re.fullmatch(r"bytes \*/(\d{1,18})", headers.get("Content-Range", "").strip(), re.ASCII)
    return int(match[1]) if match and int(match[1]) <= begin else None


def _body(answer: Any, where: str, begin: int, end: int) -> tuple[bytes, int]:
    """Return the bytes of a reply to a request for a range, and the size of the file.

    Raises `StorageError`.
    """
    if answer.headers.get("Content-Encoding", "identity") != "identity":
        raise StorageError(f"cannot read {where}: the server compresses it")
    if answer.status == http.client.PARTIAL_CONTENT:
        given = answer.headers.get("Content-Range", "")
        match = re.fullmatch(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})", given.strip(), re.ASCII)
        if not match:
            raise StorageError(f"cannot read {where}: the server does not say which range it sends")
        first, last, size = (int(number) for number in match.groups())
        if first != begin or last + 1 != min(end, size):
            asked = f"{begin}-{end - 1}"
            raise StorageError(f"cannot read {where}: asked for {asked}, the server sends {shown(given, 60)}")
        return _take(answer, where, last + 1 - first), size
    if answer.status != http.client.OK:
        raise StorageError(
            f"cannot read {where}: the server answered {answer.status} {shown(answer.reason, 80)}"
        )
    if answer.length is None:
        raise StorageError(f"cannot read {where}: the server does not say how long it is")
    size = answer.length
    if size > WHOLE:
        raise StorageError(
            f"cannot read {where}: the server sends no ranges, and all of its {size} bytes are too many"
        )
    return _take(answer, where, size), size


def _take(answer: Any, where: str, size: int) -> bytes:
    """Exactly `size` bytes of a reply."""
    data = bytearray()
    while len(data) < size and (more := answer.read1(min(size - len(data), FIRST))):
        data += more
    if len(data) != size:
        raise StorageError(f"cannot read {where}: the server sent {len(data)} of {size} bytes")
    return bytes(data)
