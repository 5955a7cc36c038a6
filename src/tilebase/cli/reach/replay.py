"""``tilebase reach replay``: play a sequence of moves and show where it leads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from tilebase.cli.options import DEFAULT_SHOWN, ShownOptions
from tilebase.cli.output import planning, write_text
from tilebase.cli.reach.options import ConventionOption, DropsOption, SizeArgument, rules_text
from tilebase.errors import UsageError
from tilebase.patterns.moves import moves_text, replay_moves


def replay(
    size: SizeArgument,
    moves: Annotated[
        str, Parameter(help="Slides U, D, L, R and drops (row,column), as (1,1)D(1,2); of a 4 (1,2)=4.")
    ],
    *,
    deterministic: Annotated[
        bool, Parameter(negative=(), help="Drops are 2s in the first empty cell; only slides are given.")
    ] = False,
    convention: ConventionOption = None,
    drops: DropsOption = "2,4",
    animated: Annotated[
        bool, Parameter(negative=(), help="The picture is an animation, which a web page can show.")
    ] = False,
    speed: Annotated[
        float | None, Parameter(help="Slides a second in the animation, from 0.1 to 20. Default: 2.")
    ] = None,
    shown: ShownOptions = DEFAULT_SHOWN,
) -> int:
    """Play a sequence of moves by the plain rules, and print every position.

    A game begins on the empty board with a drop. --record game.svg draws it as a strip of boards. Exit
    status 2, with the number of the move (of the slide, in a deterministic game), if a move is not possible.

    tilebase reach replay 1x3 "(1,1)R(1,1)R(1,1)"

    tilebase reach replay 2x2 RRDRL --deterministic

    tilebase reach replay 3x3 RRRDRDUDURRL --deterministic --record game.svg --animated
    """
    if planning():
        raise UsageError("plan does not plan reach replay: it takes a moment, and searches nothing")
    _check_picture(shown.record, animated, speed)
    show = shown.checked((".svg",), plotted=False)
    game = replay_moves(size, moves, drops=drops, deterministic=deterministic, convention=convention)
    words = ["start", *(moves_text(game.rules, (move,)) or "drop" for move in game.moves)]
    rows = [
        {"move": number, "what": what, "board": board}
        for number, (what, board) in enumerate(zip(words, game.boards, strict=True))
    ]
    from tilebase.questions.statements import of_replay

    document = of_replay(game).as_dict() | {"size": str(game.rules), "moves": game.text, "positions": rows}

    def draw(file: Path) -> None:
        from tilebase.questions.drawing import with_metadata

        picture = game.animation(speed=2.0 if speed is None else speed) if animated else game.strip()
        write_text(with_metadata(picture), file)

    show.write(rows, document, game=rules_text(game.rules), draw=draw)
    return 0


def _is_svg(record: Path | None) -> bool:
    return record is not None and record.suffix.lower() == ".svg"


def _check_picture(record: Path | None, animated: bool, speed: float | None) -> None:
    """Raise `UsageError` if an animation is described, and none is drawn."""
    if not _is_svg(record) and (animated or speed is not None):
        raise UsageError("--animated and --speed are for an SVG picture: name it, as --record game.svg")
    if speed is not None and not animated:
        raise UsageError("--speed is for an animation: give --animated, too")
