"""The explorer's server in a process of its own, and requests to it; a web host of a folder."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

SECONDS = 60
"""How long a test waits for what must appear: long enough for a machine that is busy otherwise."""


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
    """Assert that axe finds nothing, light and dark."""
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


class Whole(SimpleHTTPRequestHandler):
    """`python -m http.server`, which ignores ranges; but silent."""

    def log_message(self, *_: object) -> None:
        """Be silent."""


@contextmanager
def hosted(folder: Path, handler: type[SimpleHTTPRequestHandler] = Whole) -> Iterator[str]:
    """The address of a folder on a web host."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()
