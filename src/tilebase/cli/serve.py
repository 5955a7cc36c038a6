"""``tilebase serve``: tables in the browser."""

from __future__ import annotations

import re
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tilebase.cli.options import (
    DEFAULT_GAME,
    GameOptions,
    MemoryOption,
    ThreadsOption,
    make_game,
    parse_bytes,
)
from tilebase.cli.solve import ObjectiveOption
from tilebase.cli.startup import prepare_kernels
from tilebase.errors import UsageError


def serve(
    what: Annotated[
        tuple[str, ...],
        Parameter(
            help="Tables, winning sets, certificates, folders of tables; or a shape and a goal, or with "
            "--formation a goal, which is solved first."
        ),
    ] = (),
    /,
    *,
    game: GameOptions = DEFAULT_GAME,
    objective: ObjectiveOption = "win",
    table: Annotated[
        Path | None,
        Parameter(name=["--output", "-o"], help="Folder for the table of a game that is solved first."),
    ] = None,
    host: Annotated[str, Parameter(help="Address to listen on; 0.0.0.0 opens it to other machines.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, Parameter(help="Port to listen on; 0 takes a free one.")] = 2048,
    rate: Annotated[float, Parameter(help="Probes per second that one client may ask.")] = 10_000.0,
    browse: Annotated[
        bool, Parameter(name="--open", negative=(), help="Open the page in the browser.")
    ] = False,
    memory: MemoryOption = None,
    threads: ThreadsOption = None,
) -> int:
    """Play, train, review and browse tables in the browser, and ask them over HTTP.

    The page and the interface need no network but this machine's own. api/openapi.json describes the
    interface. Ctrl-C stops the server.

    tilebase serve 3x3-512/

    tilebase serve 3x3 512

    tilebase serve tables/ 3x3-32.cert --port 8000
    """
    from tilebase.web.app import is_loopback
    from tilebase.web.app import serve as run

    shape, goal, tables = split_words(what, game)
    question = None if shape is None else make_game(shape, goal, game)
    if question is None and (game != DEFAULT_GAME or table is not None):
        raise UsageError(
            "the rules of a game and --output are for a game that is solved first: name its shape"
        )
    if question is not None:
        prepare_kernels()

    def told(address: str) -> None:
        if not is_loopback(host):
            print(_warning(host, rate), file=sys.stderr, flush=True)
        print(f"open {address} in a browser; Ctrl-C stops the server", flush=True)
        if browse:
            webbrowser.open(address)

    run(
        tables, game=question, objective=objective, name=_name(shape, goal, game), folder=table,
        memory=parse_bytes(memory), threads=threads, host=host, port=port, rate=rate, told=told,
    )  # fmt: skip
    return 0


def split_words(words: tuple[str, ...], game: GameOptions) -> tuple[str | None, int | None, tuple[str, ...]]:
    """The shape and the goal of a game to solve, if the words name one, and otherwise the tables.

    With a formation, the goal is the only word, and stands where the shape does, as `make_game` takes it.
    """
    if game.formation is not None:
        if len(words) > 1:
            raise UsageError(f"with a formation, give the goal alone, not {' '.join(words)[:80]}")
        return (words[0] if words else ""), None, ()
    first = words[0] if words else ""
    if not re.fullmatch(r"\d{1,3}(x\d{1,3}){1,2}", first) or Path(first).exists():
        return None, None, words
    if len(words) > 2 or (len(words) == 2 and not words[1].isdecimal()):
        raise UsageError(f"behind the shape {first} comes its goal, as {first} 512, and nothing else")
    return first, int(words[1]) if len(words) == 2 else None, ()


def _name(shape: str | None, goal: int | None, game: GameOptions) -> str | None:
    if shape is None:
        return None
    if game.formation is not None:
        return f"{Path(game.formation).stem}-{shape}" if shape else Path(game.formation).stem
    return shape if goal is None else f"{shape}-{goal}"


def _warning(host: str, rate: float) -> str:
    return (
        f"warning: {host} opens this server to other machines: who reaches it can ask these tables "
        f"({rate:,.0f} probes a second each, no password, no encryption) and nothing else"
    )
