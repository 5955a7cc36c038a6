"""``tilebase pattern replay``: play a sequence of moves and show where it leads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tilebase.cli.options import FormatOption, OutputOption
from tilebase.cli.output import choose_format, write_rows, write_text
from tilebase.cli.pattern.options import ConventionOption, DropsOption, SizeArgument, make_rules
from tilebase.errors import UsageError
from tilebase.patterns.moves import moves_text, parse_moves, with_drops
from tilebase.patterns.moves import replay as play
from tilebase.patterns.rules import Move, Rules
from tilebase.runtime.storage import check_writable


def replay(
    size: SizeArgument,
    moves: Annotated[str, Parameter(help="Slides U, D, L, R and drops (row,column), as (1,1)D(1,2).")],
    *,
    deterministic: Annotated[
        bool, Parameter(negative=(), help="Drops are in the first empty cell; only slides are given.")
    ] = False,
    convention: ConventionOption = "rows",
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
    rules = make_rules(size, drops=drops, deterministic=deterministic, convention=convention)
    parsed = with_drops(rules, moves) if deterministic else parse_moves(rules, moves)
    positions = play(rules, parsed)
    if picture is not None:
        write_text(_draw(rules, parsed, animated, speed), picture)
    rows = [
        {"move": number, "what": what, "board": rules.text(position)}
        for number, (what, position) in enumerate(
            zip(["start", *(moves_text(rules, (move,)) or "drop" for move in parsed)], positions, strict=True)
        )
    ]
    write_rows(
        rows, {"size": str(rules), "moves": moves_text(rules, parsed), "positions": rows}, chosen, output
    )
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


def _draw(rules: Rules, moves: Sequence[Move], animated: bool, speed: float | None) -> str:
    from tilebase.patterns.strips import draw_animation, draw_strip

    if animated:
        return draw_animation(rules, moves, speed=2.0 if speed is None else speed)
    return draw_strip(rules, moves)
