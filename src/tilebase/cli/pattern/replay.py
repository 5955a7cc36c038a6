"""``tilebase pattern replay``: play a sequence of moves and show where it leads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tilebase.cli.options import FormatOption, OutputOption
from tilebase.cli.output import choose_format, write_rows, write_text
from tilebase.cli.pattern.options import ConventionOption, DropsOption, SizeArgument, rules_text
from tilebase.errors import UsageError
from tilebase.patterns.moves import moves_text
from tilebase.patterns.replays import replay_moves
from tilebase.runtime.storage import check_writable


def replay(
    size: SizeArgument,
    moves: Annotated[str, Parameter(help="Slides U, D, L, R and drops (row,column), as (1,1)D(1,2).")],
    *,
    deterministic: Annotated[
        bool, Parameter(negative=(), help="Drops are 2s in the first empty cell; only slides are given.")
    ] = False,
    convention: ConventionOption = None,
    drops: DropsOption = "2,4",
    picture: Annotated[
        Path | None, Parameter(help="Draw the game as a strip of boards in this SVG file, too.")
    ] = None,
    animated: Annotated[
        bool, Parameter(negative=(), help="The picture is an animation, which a web page can show.")
    ] = False,
    speed: Annotated[
        float | None, Parameter(help="Slides a second in the animation, from 0.1 to 20. Left out: 2.")
    ] = None,
    form: FormatOption = None,
    output: OutputOption = None,
) -> int:
    """Play a sequence of moves by the plain rules, and print every position.

    A game begins on the empty board with a drop. Exit status 2, with the number of the move (of the slide, in
    a deterministic game), if a move is not possible.

    tilebase pattern replay 1x3 "(1,1)R(1,1)R(1,1)"

    tilebase pattern replay 2x2 RRDRL --deterministic

    tilebase pattern replay 3x3 RRRDRDUDURRL --deterministic --picture game.svg --animated
    """
    chosen = choose_format(form, output)
    _check_picture(picture, output, animated, speed)
    game = replay_moves(size, moves, drops=drops, deterministic=deterministic, convention=convention)
    if picture is not None:
        drawn = game.animation(speed=2.0 if speed is None else speed) if animated else game.strip()
        write_text(drawn, picture)
    words = ["start", *(moves_text(game.rules, (move,)) or "drop" for move in game.moves)]
    rows = [
        {"move": number, "what": what, "board": board}
        for number, (what, board) in enumerate(zip(words, game.boards, strict=True))
    ]
    document = {"size": str(game.rules), "moves": game.text, "positions": rows}
    write_rows(rows, document, chosen, output, game=rules_text(game.rules))
    return 0


def _check_picture(picture: Path | None, output: Path | None, animated: bool, speed: float | None) -> None:
    """Raises `UsageError`, or `StorageError` if the file cannot be written: before any work is done."""
    if picture is None and (animated or speed is not None):
        raise UsageError("--animated and --speed are for a picture: name its file with --picture")
    if speed is not None and not animated:
        raise UsageError("--speed is for an animation: give --animated, too")
    if picture is not None and picture.suffix.lower() != ".svg":
        raise UsageError(f"{picture} is not SVG: give it the suffix .svg")
    if picture is not None and output is not None and picture.resolve() == output.resolve():
        raise UsageError(f"{picture} cannot hold both the picture and the positions: name two files")
    if picture is not None:
        check_writable(picture)
