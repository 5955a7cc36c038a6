"""``tilebase serve``: tables in the browser."""

from __future__ import annotations

import sys
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tilebase.cli.options import GameOptions, ObjectiveOption, Options, UseOptions, solved_first
from tilebase.cli.progress import prepare_kernels
from tilebase.errors import UsageError


@dataclass(frozen=True)
class ServerOptions(Options):
    """Where a server listens, and how much one client may ask."""

    host: str = "127.0.0.1"
    """Address to listen on; 0.0.0.0 opens it to other machines."""
    port: int = 2048
    """Port to listen on; 0 takes a free one."""
    rate: float = 10_000.0
    """Probes per second that one client may request."""
    browse: Annotated[bool, Parameter(name="--open")] = False
    """Open the page in the browser."""


def serve(
    what: Annotated[
        tuple[str, ...],
        Parameter(
            help="Tables, winning sets, certificates, folders of tables; or a game to solve first: a "
            "shape and a goal, or with --formation a goal."
        ),
    ] = (),
    /,
    *,
    game: GameOptions = GameOptions(),
    objective: ObjectiveOption = "win",
    table: Annotated[
        Path | None,
        Parameter(name=["--output", "-o"], help="Folder for the table of a game that is solved first."),
    ] = None,
    server: ServerOptions = ServerOptions(),
    use: UseOptions = UseOptions(),
) -> int:
    """Play, train and review in the browser.

    Serves a page and an HTTP interface, which api/openapi.json describes. Both work without a network. Ctrl-C
    stops the server.

    tilebase serve 3x3-512/

    tilebase serve 3x3 512

    tilebase serve tables/ 3x3-32.cert --port 8000
    """
    from tilebase.web.app import is_loopback
    from tilebase.web.app import serve as run

    question = solved_first(what, game)
    if question is None and table is not None:
        raise UsageError("--output is for the table of a game that is solved first: name its shape and goal")
    if question is not None:
        prepare_kernels()

    def told(addresses: list[str]) -> None:
        if not is_loopback(server.host):
            print(
                f"warning: {server.host} opens this server to other machines: who reaches it can ask these "
                f"tables ({server.rate:,.0f} probes a second each, no password, no encryption) and nothing "
                "else",
                file=sys.stderr, flush=True,
            )  # fmt: skip
        print(f"open {addresses[0]} in a browser; Ctrl-C stops the server", flush=True)
        if addresses[1:]:
            print(f"other machines open {' or '.join(addresses[1:])}", flush=True)
        if server.browse:
            webbrowser.open(addresses[0])

    run(
        () if question is not None else what, game=question, objective=objective,
        folder=table,
        host=server.host, port=server.port, rate=server.rate, told=told, **use.use(),
    )  # fmt: skip
    return 0
