"""The explorer's server in a process of its own, and requests to it; a web host of a folder."""

from __future__ import annotations

import asyncio
import http.client
import json
import mimetypes
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote, urlencode, urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

BROWSED = tuple(
    f"tests/test_{name}.py" for name in ("export_page", "page", "library", "notebook", "language")
)
"""Files whose tests open pages: one process takes all, so that one browser is enough (`conftest.browser`)."""
SECONDS = 60
"""How long a test waits for what must appear: long enough for a machine that is busy otherwise."""


How: TypeAlias = Callable[[Any, bytes], Any]


@dataclass
class Answer:
    """The answer to a request."""

    status: int
    headers: dict[str, str]
    data: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.data)


@dataclass
class Served:
    """A running server."""

    address: str
    process: subprocess.Popen[str]

    @property
    def port(self) -> int:
        port = urlsplit(self.address).port
        assert port is not None
        return port

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """One request over a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return Answer(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def get(self, path: str, **query: Any) -> Answer:
        return self.ask("GET", path + (f"?{urlencode(query, quote_via=quote)}" if query else ""))

    def post(self, path: str, document: Any) -> Answer:
        return self.ask("POST", path, json.dumps(document).encode(), {"Content-Type": "application/json"})

    def stop(self) -> int:
        """Ctrl-C; returns the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(SECONDS)


def until(page: Page, condition: str, arg: Any = None) -> None:
    """Wait until JavaScript gives something true.

    Playwright's own `wait_for_function` evaluates text in the page, which its security policy forbids.
    """
    end = time.monotonic() + SECONDS
    while not page.evaluate(condition, arg):
        assert time.monotonic() < end, f"this did not become true: {condition}"
        page.wait_for_timeout(20)


@contextmanager
def without_errors(page: Page, *own: str) -> Iterator[None]:
    """Fail if the page says that something is wrong, or asks for what does not begin with `own`, if given.

    That a file cannot be loaded is nothing wrong: tests let hosts refuse some.
    """
    wrong: list[str] = []

    def said(line: Any) -> None:
        if line.type == "error" and not line.text.startswith("Failed to load resource"):
            wrong.append(line.text)

    def asked(request: Any) -> None:
        if own and not request.url.startswith((*own, "data:", "blob:")):
            wrong.append(f"a request to {request.url}")

    listeners = {"pageerror": lambda error: wrong.append(str(error)), "console": said, "request": asked}
    for event, listener in listeners.items():
        page.on(event, listener)  # type: ignore[call-overload]
    yield
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    assert wrong == []


async def _nothing() -> Any:
    return {"type": "http.request", "body": b"", "more_body": False}


class Inside:
    """An application in this process, asked without a server: for what does not depend on connections."""

    def __init__(self, app: Any, runner: asyncio.Runner) -> None:
        self._app, self._runner = app, runner

    def get(self, path: str, headers: dict[str, str] | None = None, **query: Any) -> Answer:
        """The answer to a GET."""
        return self.ask("GET", path, headers=headers, **query)

    def ask(
        self,
        method: str,
        path: str,
        receive: Any = _nothing,
        headers: dict[str, str] | None = None,
        **query: Any,
    ) -> Answer:
        """The answer to a request, whose body `receive` gives."""
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "root_path": "",
            "query_string": urlencode(query, quote_via=quote).encode(), "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2), "scheme": "http", "http_version": "1.1",
            "headers": [(name.lower().encode(), word.encode()) for name, word in (headers or {}).items()],
        }  # fmt: skip
        self._runner.run(self._app(scope, receive, send))
        found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
        return Answer(sent[0]["status"], found, b"".join(one.get("body", b"") for one in sent[1:]))


CONTRAST = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
"""What can differ between light and dark."""


def check_accessible(page: Page) -> None:
    """Assert that axe finds nothing, light and dark, once values that are asked for are there."""
    expect(page.locator(".stale")).to_have_count(0)
    page.emulate_media(color_scheme="light")
    light = Axe().run(page)
    assert light.violations_count == 0, light.generate_report()
    page.emulate_media(color_scheme="dark")
    dark = Axe("0").run(page, options=CONTRAST)  # its script is in the page already
    assert dark.violations_count == 0, dark.generate_report()


@contextmanager
def serving(*arguments: str | Path, runs: Path | None = None) -> Iterator[Served]:
    """``tilebase serve`` with these arguments, on a free port."""
    command = [sys.executable, "-m", "tilebase", "serve", *map(str, arguments), "--port", "0"]
    environment = os.environ | ({"TILEBASE_RUNS_DIR": str(runs)} if runs is not None else {})
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = process.stdout.readline()
        found = re.search(r"http://\S+", line)
        if found is None:
            process.kill()
            raise AssertionError(f"the server did not start: {line}{process.stderr.read()}")
        yield Served(found[0], process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        process.stderr.close()


class Host(BaseHTTPRequestHandler):
    """A web host of one folder that understands ranges; `how` may do something else instead."""

    protocol_version = "HTTP/1.1"

    def __init__(self, folder: Path, how: How, seen: list[str], *rest: Any) -> None:
        self.folder, self.how, self.seen = folder, how, seen
        super().__init__(*rest)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.seen.append(self.path)
        file = self.folder / self.path.split("?")[0].lstrip("/")
        file = file / "index.html" if file.is_dir() else file
        data = file.read_bytes() if file.is_file() else None
        if self.how(self, data or b""):
            return
        if data is None:
            self.answer(404, b"no such file")
        elif "Range" not in self.headers:
            self.answer(200, data)
        else:
            first, last = self.range(len(data))
            found = {"Content-Range": f"bytes {first}-{last}/{len(data)}"}
            if first > last:
                self.answer(416, b"", {"Content-Range": f"bytes */{len(data)}"})
            else:
                self.answer(206, data[first : last + 1], found)

    def range(self, size: int) -> tuple[int, int]:
        """The first and the last byte that is asked for."""
        first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
        return int(first), min(int(last), size - 1)

    def answer(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        """Send all of an answer; a header that is "" is left out."""
        self.send_response(status)
        kind = mimetypes.guess_type(self.path)[0] or "text/html"
        for name, value in {
            "Content-Length": str(len(data)),
            "Content-Type": kind,
            **(headers or {}),
        }.items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


def ranges(*_: Any) -> bool:
    """As large hosts do."""
    return False


def whole_files(host: Host, data: bytes) -> bool:
    """As Python's own http.server does, which ignores ranges."""
    if data:
        host.answer(200, data)
    return bool(data)


class QuietServer(ThreadingHTTPServer):
    """One whose clients may leave in the middle, and whose threads nobody waits for."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, *_: Any) -> None:
        """A client that has left is no error."""


@contextmanager
def hosted(folder: Path, how: How = ranges) -> Iterator[tuple[str, list[str]]]:
    """A folder on a web host: its address, and what was requested of it."""
    seen: list[str] = []
    server = QuietServer(("127.0.0.1", 0), partial(Host, folder, how, seen))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
