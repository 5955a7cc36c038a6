"""Clients that send half a request, or read no answer: all others are answered, and the log has no error.

The server runs in this process, with time limits of a fraction of a second and a few connections.  Its bad
clients share an address, as one machine has; an honest client asks from there and from another address.
"""

from __future__ import annotations

import asyncio
import logging
import re
import tempfile
import traceback
from contextlib import closing, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from uvicorn.server import ServerState

from attack import flips
from attack.case import Case
from attack.processes import put
from tilebase.web import app as web
from tilebase.web import connections
from tilebase.web.app import make_app
from tilebase.web.collection import Collection

LIMIT = 0.2
"""Seconds that the head or the body of a request may take."""
PATIENCE = 30.0
"""Seconds after which an honest client gives up: many limits, since a machine may be busy otherwise."""
MOST = 8
"""Connections at once."""
STEPS = 60
PIECES = {
    "a whole request": b"GET /api/tables HTTP/1.1\r\nHost: x\r\n\r\n",
    "half a head": b"GET /api/tables HTTP/1.1\r\nHost: x",
    "a line": b"GET /api/tables HTTP/1.1\r\n",
    "a letter": b"G",
    "an empty line": b"\r\n",
    "half a body": b"POST /api/probe HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{",
    "half a chunk": b"POST /api/probe HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{",
    "many requests": b"GET /api/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 100,
    "no request": b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
    "a wrong length": b"POST /api/probe HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n{}",
    "a long head": b"GET / HTTP/1.1\r\nX: " + b"x" * 70_000,
}
"""What a bad client sends, whole or cut, without reading what it is answered."""
BAD, OTHER = "127.0.0.1", "127.0.0.2"


@cache
def served() -> tuple[tempfile.TemporaryDirectory[str], Collection]:
    """A table to serve, for all cases of this process."""
    kept = tempfile.TemporaryDirectory(prefix="attack-")
    folder = Path(kept.name) / "t"
    put(folder, flips.made("table"))
    return kept, Collection([folder])


class Log(logging.Handler):
    """Keeps what is logged, and what the loop is told of."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one line, with its traceback."""
        self.lines.append(self.format(record))

    def handle_loop(self, _: Any, context: dict[str, Any]) -> None:
        """Keep what no task has handled."""
        error = context.get("exception")
        text = "" if error is None else "".join(traceback.format_exception(error))
        self.lines.append(f"{context['message']}\n{text}")


def attack(case: Case) -> None:
    """One server, and a mix of clients."""
    log = Log()
    loggers = [logging.getLogger(name) for name in ("uvicorn.error", "asyncio", "tilebase")]
    for logger in loggers:
        logger.addHandler(log)
    history: list[str] = []
    try:
        with (
            patch.object(connections, "HEAD_SECONDS", LIMIT),
            patch.object(connections, "MOST_CONNECTIONS", MOST),
            patch.object(web, "BODY_SECONDS", LIMIT),
            patch.object(web, "MOST_CONNECTIONS", MOST),
        ):
            asyncio.run(Clients(case, log, history).run())
    finally:
        for logger in loggers:
            logger.removeHandler(log)
    lines = "\n".join(history)
    case.expect(not log.lines, "requests: the log", "\n".join(log.lines)[-1500:], lines)


class Clients:
    """A server in this loop, and its clients."""

    def __init__(self, case: Case, log: Log, history: list[str]) -> None:
        self.case, self.log, self.history = case, log, history
        self.port = 0
        self.bad: list[asyncio.StreamWriter] = []

    async def run(self) -> None:
        """Bad clients, and honest ones between them; at the end nobody is connected any more."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self.log.handle_loop)
        config, state = web.make_config(make_app(served()[1], rate=1e9)), ServerState()
        config.load()
        make = partial(connections.PatientProtocol, config, state, {})
        server = await loop.create_server(make, BAD, 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            for _ in range(STEPS):
                if self.case.rng.random() < 0.2:
                    await self.ask(self.case.rng.choice((BAD, OTHER)))
                else:
                    await self.misbehave()
            await self.ask(BAD)
            await self.ask(OTHER)
            await self.all_given_up(state)
        finally:
            for writer in self.bad:
                writer.transport.abort()
            server.close()
            for task in state.tasks:
                task.cancel()
            await asyncio.gather(*state.tasks, return_exceptions=True)

    async def open(self, address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection from an address of this machine."""
        return await asyncio.open_connection(BAD, self.port, local_addr=(address, 0), limit=1 << 10)

    async def misbehave(self) -> None:
        """A new client, or one that is there already, sends something; or it goes away."""
        rng = self.case.rng
        name = rng.choice(list(PIECES))
        data = PIECES[name]
        if rng.random() < 0.2:
            data, name = data[: rng.randrange(len(data))], f"a part of {name}"
        with suppress(OSError):
            if not self.bad or rng.random() < 0.5:
                self.bad.append((await self.open(BAD))[1])
                name = f"a new client sends {name}"
            self.bad = [one for one in self.bad if not one.transport.is_closing()] or self.bad[-1:]
            writer = rng.choice(self.bad)
            self.history.append(name)
            self.case.done["bad clients"] += 1
            writer.write(data)
            if rng.random() < 0.1:
                self.history.append("a client goes away")
                writer.transport.abort() if rng.random() < 0.5 else writer.close()
        await asyncio.sleep(rng.choice((0, 0, 0, 0.001, 0.02)))

    async def ask(self, address: str) -> None:
        """An honest client is answered, once and again on the same connection."""
        self.history.append(f"an honest client asks from {address}")
        status: int | str
        try:
            async with asyncio.timeout(PATIENCE):
                reader, writer = await self.open(address)
                with closing(writer):
                    status = await answered(reader, writer)
        except (TimeoutError, OSError, asyncio.IncompleteReadError) as error:
            status = type(error).__name__
        self.case.done["honest clients"] += 1
        self.case.expect(
            status == 200, f"requests: {status}", "an honest client gets no answer", "\n".join(self.history)
        )

    async def all_given_up(self, state: ServerState) -> None:
        """Clients that never finish a request, or read nothing, are not kept."""
        end = asyncio.get_running_loop().time() + PATIENCE
        while (left := [one for one in state.connections if not reads_nothing(one)]) and (
            asyncio.get_running_loop().time() < end
        ):
            await asyncio.sleep(LIMIT / 4)
        self.case.expect(
            not left, "requests: kept", f"{len(left)} connections are open", "\n".join(self.history)
        )


def reads_nothing(connection: Any) -> bool:
    """Whether an answer waits for a client that does not read it: it goes when another one comes."""
    return bool(connection.flow.write_paused)


async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    """The status of the answer to a whole request."""
    writer.write(PIECES["a whole request"])
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    size = re.search(r"content-length: (\d+)", head)
    await reader.readexactly(int(size[1]) if size else 0)
    return int(head.split()[1])
