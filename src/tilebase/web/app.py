"""The web application, and the server that runs it.

Requests are answered in threads, since probing reads files and computes.  Cheap and expensive requests have
threads of their own, so a layer of a million values does not keep a probe waiting.  The files of the page are
read once, at the start; nothing else on the disk has an address.
"""

from __future__ import annotations

import asyncio
import errno
import gzip
import hashlib
import ipaddress
import json
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import closing, suppress
from functools import cached_property, partial
from http import HTTPStatus
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Unpack

import anyio
import anyio.to_thread
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from tilebase.errors import (
    CorruptError,
    MissingBoardError,
    MissingLayerError,
    ResourceError,
    StorageError,
    TilebaseError,
    UsageError,
)
from tilebase.files.work_folders import table_folder
from tilebase.game.formations import formation_of
from tilebase.game.game import Game
from tilebase.objectives.objective import Objective, objectives_of
from tilebase.runtime.documents import to_json
from tilebase.runtime.paths import library_folder
from tilebase.runtime.resources import Use
from tilebase.web.collection import Collection
from tilebase.web.connections import MOST_CONNECTIONS, Limits, PatientProtocol
from tilebase.web.operations import OPERATIONS, Operation, description

PORT = 2048
RATE = 10_000.0
"""Probes per second and client."""
EXPENSIVE = 100
"""Cost from which a request counts as expensive."""
THREADS, EXPENSIVE_THREADS = 4, 2
BODY_SECONDS = 20.0
"""How long the body of a request may take to arrive."""
UNSAFE_PORTS = frozenset({
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103,
    104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513,
    514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720,
    1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
})  # fmt: skip
"""Ports that no browser opens: "bad ports" of the Fetch standard (https://fetch.spec.whatwg.org/#port-blocking)."""
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".LICENSE": "text/plain; charset=utf-8",
}
SECURITY = {
    "Content-Security-Policy": "default-src 'self'; script-src 'self'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
"""Headers of every answer: nothing is loaded from elsewhere, and no other page may frame this one."""
STATUS: tuple[tuple[type[TilebaseError], int], ...] = (
    (MissingBoardError, 404),
    (MissingLayerError, 404),
    (UsageError, 400),
    (CorruptError, 500),
    (StorageError, 500),
    (ResourceError, 503),
)
"""The HTTP status of each error; the first that fits."""


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error as a problem document (RFC 9457)."""
    content = {
        "type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail
    }  # fmt: skip
    return Response(
        to_json(content), status, {**SECURITY, **(headers or {})}, media_type="application/problem+json"
    )


# -- the application ---------------------------------------------------------------------------------


def make_app(collection: Collection, *, rate: float = RATE, hosts: Sequence[str] | None = None) -> Starlette:
    """Return the application: the page, and the requests of `operations`.

    Parameters
    ----------
    collection:
        What is served.
    rate:
        Probes per second and client.
    hosts:
        The names by which it may be addressed; None for any.  A name that is not listed is refused, so a
        foreign page cannot ask a server on this machine under a name of its own.  Requests that a browser
        makes for a foreign page are refused under any name.
    """
    answer = _Answering(collection, Limits(rate))
    paths: dict[str, dict[str, Operation]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = operation
    routes = [
        Route(
            path.replace("{name}", "{name:path}"),
            partial(answer.request, operations),
            methods=list(operations),
        )
        for path, operations in paths.items()
    ]
    described = to_json(description()).encode()
    routes.append(Route("/api/openapi.json", _fixed(described, "application/json")))
    routes += [Route(path, file) for path, file in _page().items()]
    app = Starlette(
        routes=routes,
        exception_handlers={HTTPException: _http_problem, Exception: _unexpected},  # type: ignore[dict-item]
    )
    app.router.redirect_slashes = False
    return _only(app, None if hosts is None else frozenset(hosts))  # type: ignore[return-value]


class _Answering:
    """Answers requests with documents."""

    def __init__(self, collection: Collection, limits: Limits) -> None:
        self._collection, self._limits = collection, limits

    async def request(self, operations: Mapping[str, Operation], request: Request) -> Response:
        operation = operations["GET" if request.method == "HEAD" else request.method]
        try:
            arguments = operation.arguments(_query(request), request.path_params)
            if operation.body is not None:
                arguments = operation.with_body(arguments, await _body(request, operation.most_body))
        except _RefusedError as refused:
            return problem(refused.status, str(refused), {"Connection": "close"})
        except TilebaseError as error:
            return self._error(error)
        except ClientDisconnect:
            return problem(400, "the client went away")
        client = request.client.host if request.client is not None else ""
        cost = operation.cost(arguments)
        wait = self._limits.take(client, cost)
        if wait:
            seconds = int(wait) + 1
            return problem(
                429,
                f"this client asks more than {self._limits.rate:,.0f} probes a second: wait {seconds} s",
                {"Retry-After": str(seconds)},
            )
        limiter = self._limiters[cost >= EXPENSIVE]
        return await anyio.to_thread.run_sync(self._respond, operation, arguments, limiter=limiter)

    @cached_property
    def _limiters(self) -> tuple[anyio.CapacityLimiter, anyio.CapacityLimiter]:
        """The threads for cheap and for expensive requests; they belong to the loop of the first request."""
        return anyio.CapacityLimiter(THREADS), anyio.CapacityLimiter(EXPENSIVE_THREADS)

    def _respond(self, operation: Operation, arguments: dict[str, Any]) -> Response:
        try:
            document = operation.respond(self._collection, arguments)
        except TilebaseError as error:
            return self._error(error)
        except MemoryError:
            return problem(503, "there is not enough memory to answer this: ask for less at a time")
        content = self._collection.public(to_json(document, "compact"))
        return Response(
            content, 200, {**SECURITY, "Cache-Control": "no-store"}, media_type="application/json"
        )

    def _error(self, error: TilebaseError) -> Response:
        status = next((status for kind, status in STATUS if isinstance(error, kind)), 500)
        return problem(status, json.loads(self._collection.public(to_json(str(error)))))


class _RefusedError(Exception):
    """A request whose body is not read to the end."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


def _query(request: Request) -> dict[str, str]:
    """Return the parameters behind the question mark.  Raises `UsageError` if one is there twice."""
    found: dict[str, str] = {}
    for name, word in request.query_params.multi_items():
        if name in found:
            raise UsageError(f"the parameter {name[:80]} is given twice")
        found[name] = word
    return found


async def _body(request: Request, most: int) -> bytes:
    """The body of a request.  Raises `_RefusedError` if it is too large or too slow."""
    try:
        async with asyncio.timeout(BODY_SECONDS):
            parts, size = [], 0
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise _RefusedError(413, f"the body has more than {most:,} bytes: send less at a time")
                parts.append(part)
    except TimeoutError as error:
        raise _RefusedError(408, f"the body did not arrive within {BODY_SECONDS:g} s") from error
    return b"".join(parts)


async def _http_problem(request: Request, error: HTTPException) -> Response:
    if error.status_code == 404:
        return problem(
            404, f"nothing has the address {request.url.path[:200]}: api/openapi.json lists what there is"
        )
    if error.status_code == 405:
        return problem(405, f"{request.method} is not allowed here", error.headers)
    return problem(error.status_code, error.detail)


async def _unexpected(_: Request, error: Exception) -> Response:
    return problem(500, f"this should not happen ({type(error).__name__}): please report it")


App = Callable[..., Awaitable[None]]


def _only(app: Starlette, hosts: frozenset[str] | None) -> App:
    """Return the application for requests to these names, and not by foreign pages; others are refused."""

    async def checked(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            request = Request(scope)
            host = request.headers.get("host", "")
            name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
            refused = None
            if hosts is not None and name.strip("[]").lower() not in hosts:
                refused = problem(400, f"this server is not {name[:80]!r}: use its own address")
            elif _is_foreign(request, host):
                refused = problem(403, "this request comes from another web page: open the server's own page")
            if refused is not None:
                await refused(scope, receive, send)
                return
        await app(scope, receive, send)

    return checked


def _is_foreign(request: Request, host: str) -> bool:
    """Return whether a browser makes a request for the page of another server.

    Links to the page itself are followed.  Browsers without Sec-Fetch-Site name an origin in each POST.
    """
    found = request.headers
    site, origin = found.get("sec-fetch-site"), found.get("origin")
    if site is None:
        return origin is not None and origin.rpartition("://")[2].lower() != host.lower()
    opened = request.method == "GET" and found.get("sec-fetch-mode") == "navigate"
    followed = opened and not request.url.path.startswith("/api/")
    return site not in ("same-origin", "none") and not followed


# -- the page ----------------------------------------------------------------------------------------

Endpoint = Callable[[Request], Awaitable[Response]]


def _page() -> dict[str, Endpoint]:
    """Return what answers with the files of the page, by their addresses."""
    with as_file(files("tilebase.web") / "explorer") as folder:
        found = {
            f"/{file.relative_to(folder).as_posix()}": _fixed(
                file.read_bytes(), TYPES.get(file.suffix, "application/octet-stream")
            )
            for file in folder.rglob("*")
            if file.is_file()
        }
    return {**found, "/": found["/index.html"]}


def _fixed(content: bytes, media_type: str) -> Endpoint:
    """Answers with a file, compressed if the client takes that, or says that it has not changed."""
    small = gzip.compress(content, 9, mtime=0)
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'

    async def answer(request: Request) -> Response:
        headers = {**SECURITY, "ETag": tag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        if "gzip" in request.headers.get("accept-encoding", ""):
            return Response(small, 200, headers | {"Content-Encoding": "gzip"}, media_type=media_type)
        return Response(content, 200, headers, media_type=media_type)

    return answer


# -- the server --------------------------------------------------------------------------------------


def serve(
    tables: Sequence[Path | str] = (),
    *,
    game: Game | None = None,
    objective: str | Objective | Sequence[Objective] = "win",
    folder: Path | str | None = None,
    host: str = "127.0.0.1",
    port: int = PORT,
    rate: float = RATE,
    told: Callable[[list[str]], object] | None = None,
    **use: Unpack[Use],
) -> None:
    """Serve tables, winning sets and certificates to a browser, until Ctrl-C.

    Parameters
    ----------
    tables:
        Folders, zip files or URLs of tables and winning sets, files of certificates, and folders with tables
        in subfolders.  Empty: the library; the page also solves games into it, unless other machines can
        reach it.
    game, objective:
        A game to solve first, in the background, while the page shows the progress.
    folder:
        The folder for the table of this game.  None: the table is deleted at the end.
    host, port:
        The address to listen on; port 0 chooses a free one.
    rate:
        Probes per second that one client may request.
    told:
        Called with the addresses of the page once it can be opened, one of this machine first.
    use:
        Resources for solving: the keywords of `Use`, except progress, which the page shows.

    Raises
    ------
    UsageError
        If the address cannot be used, for example because the port is in use.
    MissingLayerError
        If a table does not exist.
    """
    if not 1 <= rate <= 1e9:
        raise UsageError(f"the rate is {rate:g} probes a second, but must be from 1 to 1,000,000,000")
    library = library_folder() if not tables and game is None else None
    local = is_loopback(host)  # else its pages solve nothing, and it may be addressed by any name
    with (
        closing(Collection(tables, library, use if local else None)) as collection,
        closing(_listen(host, port)) as listener,
    ):
        ready = partial(told or (lambda _: None), addresses(host, listener))

        def run() -> None:
            hosts = ["localhost", "127.0.0.1", "::1", host] if local else None
            with suppress(KeyboardInterrupt):  # this is how a server is stopped
                app = make_app(collection, rate=rate, hosts=hosts)
                _Server(make_config(app), ready).run(sockets=[listener])

        if game is None:
            run()
            return
        chosen = objectives_of(objective)
        with table_folder(None if folder is None else Path(folder), game, chosen) as work:
            named = formation_of(game)
            name = f"{named.name if named else game.shape_text}-{game.goal or 'play'}"
            entry = collection.solve(name, game, work.path, chosen, use)
            try:
                run()
            finally:
                collection.close()
            if entry.state == "ready":
                work.finish()  # else the same command goes on where solving was


class _Server(uvicorn.Server):
    """A server that says when it can be asked."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], object]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and say so."""
        await super().startup(sockets)
        self._ready()


def make_config(app: App) -> uvicorn.Config:
    """Return how uvicorn runs the application."""
    return uvicorn.Config(
        app, http=PatientProtocol, ws="none", lifespan="off", log_level="critical", access_log=False,
        server_header=False, limit_concurrency=MOST_CONNECTIONS + 1, timeout_keep_alive=10,
        timeout_graceful_shutdown=3, h11_max_incomplete_event_size=1 << 16,
    )  # fmt: skip


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens.  Raises `UsageError`."""
    if not 0 <= port <= 65535:
        raise UsageError(f"the port is {port}, but must be from 0 to 65535")
    if port in UNSAFE_PORTS:
        raise UsageError(f"browsers refuse to open the port {port}, which is another service's: use {PORT}")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # The protocol is named, since asyncio turns Nagle's algorithm off only for sockets that name TCP.
        listener = socket.socket(family, kind, protocol or socket.IPPROTO_TCP)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(512)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise UsageError(_why(host, port, error)) from error
    return listener


def _why(host: str, port: int, error: OSError) -> str:
    """Return why an address cannot be used, and what to do."""
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use: give another --port, or --port 0 for a free one"
    if error.errno == errno.EACCES:
        return f"port {port} of {host} needs the rights of the administrator: give a --port from 1024 on"
    return f"cannot listen on {host}, port {port}: {error.strerror or error}"


def addresses(host: str, listener: socket.socket) -> list[str]:
    """Return the addresses of the page, that of this machine first.

    A socket that listens everywhere is reached by the addresses from which this machine reaches others; one
    for IPv6 usually by those of IPv4, too.
    """
    (name, port), names = listener.getsockname()[:2], [host]
    if ipaddress.ip_address(name.partition("%")[0]).is_unspecified:
        six = listener.family == socket.AF_INET6
        both = six and not listener.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY)
        families = [socket.AF_INET] * (both or not six) + [socket.AF_INET6] * six
        own = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}
        names = [own[families[0]], *filter(None, map(_outward, families))]
    return [f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/" for name in names]


def _outward(family: socket.AddressFamily) -> str | None:
    """Return the address from which this machine reaches others; None if it reaches none."""
    far = "192.0.2.1" if family == socket.AF_INET else "2001:db8::1"  # nothing is sent there
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as asked:
        asked.connect((far, 9))
        name = str(asked.getsockname()[0])
        return None if is_loopback(name) or "%" in name else name
    return None
