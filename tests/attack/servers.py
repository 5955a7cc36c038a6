"""Tables behind a server that misbehaves: the right answer, or a sentence within a time limit."""

from __future__ import annotations

import random
import shlex
import threading
import time
from contextlib import suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from attack import flips
from attack.case import Case
from attack.processes import put, run

SECONDS = 60.0
"""Within which a command has to give up a server that says nothing."""
MISDEEDS = (
    *("none", "no ranges", "no length", "500", "404", "403", "short", "long", "closed", "html", "redirects"),
    *("wrong range", "huge length", "flipped", "garbage", "hangs", "hangs within", "gzip", "head refused"),
)
BYTES = {"flipped", "html", "garbage", "wrong range", "short", "long"}
"""Those that give other bytes: they may be called damage."""


class Handler(BaseHTTPRequestHandler):
    """Serves `files` of its server, and misbehaves from the so many-th request on."""

    protocol_version = "HTTP/1.1"
    server: Any

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self.respond(body=False)

    def do_GET(self) -> None:
        self.respond(body=True)

    def respond(self, *, body: bool) -> None:
        """Answer one request."""
        with self.server.lock:
            self.server.requests += 1
            bad = self.server.misdeed if self.server.requests >= self.server.begins else "none"
        data = self.server.files.get(self.path.lstrip("/"))
        with suppress(OSError):
            self.misbehave(bad, data, body=body)

    def misbehave(self, bad: str, data: bytes | None, *, body: bool) -> None:
        if bad in ("500", "404", "403"):
            self.say(int(bad), b"no", body=body)
        elif bad == "html":
            self.say(200, b"<html>sign in</html>", body=body)
        elif bad == "redirects":
            self.say(302, b"", body=body, Location=self.path)
        elif bad == "closed":
            self.close_connection = True
        elif bad == "hangs":
            self.server.stop.wait(4 * SECONDS)
            self.close_connection = True
        elif bad == "head refused" and not body:
            self.say(405, b"", body=False)
        elif data is None:
            self.say(404, b"not here", body=body)
        else:
            self.serve(bad, data, body=body)

    def serve(self, bad: str, data: bytes, *, body: bool) -> None:
        """Send a range of a file, more or less."""
        begin, end, status = 0, len(data), 200
        asked = self.headers.get("Range", "")
        if asked.startswith("bytes=") and bad != "no ranges":
            first, _, last = asked[6:].partition("-")
            begin, end, status = int(first or 0), min(int(last or len(data) - 1) + 1, len(data)), 206
        piece = data[begin:end]
        headers = {"Accept-Ranges": "none" if bad == "no ranges" else "bytes"}
        if status == 206:
            shift = 7 if bad == "wrong range" else 0
            headers["Content-Range"] = f"bytes {begin + shift}-{end - 1 + shift}/{len(data)}"
        if bad in ("flipped", "garbage") and body and piece:
            place = self.server.rng.randrange(len(piece))
            piece = piece[:place] + bytes([piece[place] ^ 16]) + piece[place + 1 :]
            piece = self.server.rng.randbytes(len(piece)) if bad == "garbage" else piece
        length: int | None = len(piece)
        if bad == "no length":
            length = None
        elif bad == "huge length":
            length = 1 << 40
        elif bad == "short":
            piece = piece[: len(piece) // 2]
        elif bad == "long":
            length, piece = len(piece) + 10, piece + bytes(10)
        elif bad == "gzip":
            headers["Content-Encoding"] = "gzip"
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if length is not None:
            self.send_header("Content-Length", str(length))
        if length is None or bad in ("short", "huge length"):
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        if body:
            self.wfile.write(piece[: len(piece) // 2])
            if bad == "hangs within":
                self.wfile.flush()
                self.server.stop.wait(4 * SECONDS)
                self.close_connection = True
                return
            self.wfile.write(piece[len(piece) // 2 :])

    def say(self, status: int, data: bytes, *, body: bool, **headers: str) -> None:
        """A short answer."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.wfile.write(data)


class Server(ThreadingHTTPServer):
    """A server on this machine that does wrong."""

    daemon_threads = True

    def __init__(self, files: dict[str, bytes], misdeed: str, begins: int, rng: random.Random) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.misdeed, self.begins, self.rng = files, misdeed, begins, rng
        self.requests, self.lock, self.stop = 0, threading.Lock(), threading.Event()
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handle_error(self, *_: Any) -> None:
        """Clients go away: that is no news."""

    def end(self) -> None:
        """Stop serving."""
        self.stop.set()
        self.shutdown()
        self.server_close()


@cache
def right(args: tuple[str, ...]) -> str:
    """What a command prints about the table in a folder of its own."""
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory(prefix="attack-") as temporary:
        put(Path(temporary) / "here" / "t", flips.made("table"))
        done = run(Path(temporary) / "here", args)
        return done.out if done.status == 0 else f"status {done.status}"


def attack(case: Case) -> None:
    """One misdeed, from one request on, and one command."""
    rng = case.rng
    misdeed = rng.choice(MISDEEDS)
    if misdeed.startswith("hangs") and rng.random() < 0.8:  # it takes long to give up
        misdeed = "none"
    begins = rng.choice((1, 1, 2, 3, 4, 6, 10))
    board = rng.choice(("2,4,0/0,0,0", "2,4,8/2,4,0", "4,4,0/0,0,2"))
    command = rng.choice(
        (
            ("probe", board),
            ("probe", board, "--objective", "lower"),
            ("probe",),
            ("verify", "--sample", "3", "-q"),
        )
    )
    files = {f"t/{name}": data for name, data in flips.made("table").items() if not name.endswith("/")}
    server = Server(files, misdeed, begins, rng)
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}/t"
        begin = time.monotonic()
        done = run(case.folder / "here", (command[0], url, *command[1:]), seconds=SECONDS, limit=2 << 30)
        seconds, requests = time.monotonic() - begin, server.requests
    finally:
        server.end()
    case.done["servers"] += 1
    lines = f"a server that misbehaves ({misdeed}) from request {begins} on: "
    lines += f"tilebase {command[0]} URL {shlex.join(command[1:])}"
    lines += f"  ({requests} requests, {seconds:.1f} s)"
    name = f"{command[0]}, {misdeed}"
    if done.complaint:
        case.fail(f"{name}: {done.complaint[:60]}", done.err[-900:] or done.complaint, lines)
    elif done.status == 0 and command[0] == "probe":
        case.expect(
            done.out == right(("probe", "t", *command[1:])), f"{name}: another answer", done.out, lines
        )
    elif done.status and command[0] == "probe":
        case.expect(
            "holds no finished table" not in done.err or misdeed == "404",
            f"{name}: misleading",
            done.err,
            lines,
        )
    elif done.status and misdeed not in BYTES:
        case.expect("delete" not in done.out, f"{name}: advises to delete", done.out[:400], lines)
    if misdeed == "none":
        case.expect(done.status == 0, f"{name}: refused", done.err, lines)
