"""``tilebase pattern replay``: play a sequence of moves and show where it leads."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from tilebase.cli.options import FormatOption, OutputOption
from tilebase.cli.output import choose_format, write_rows
from tilebase.cli.pattern.options import ConventionOption, DropsOption, SizeArgument, make_rules
from tilebase.patterns.moves import moves_text, parse_moves, with_drops
from tilebase.patterns.moves import replay as play


def replay(
    size: SizeArgument,
    moves: Annotated[str, Parameter(help="Slides U, D, L, R and drops (row,column), as (1,1)D(1,2).")],
    *,
    deterministic: Annotated[
        bool, Parameter(negative=(), help="Drops are in the first empty cell; only slides are given.")
    ] = False,
    convention: ConventionOption = "rows",
    drops: DropsOption = "2,4",
    form: FormatOption = None,
    output: OutputOption = None,
) -> int:
    """Play a sequence of moves by the plain rules, and print every position.

    A game begins on the empty board with a drop. Exit status 2, with the number of the move, if a move is not
    possible.

    tilebase pattern replay 1x3 "(1,1)R(1,1)R(1,1)"

    tilebase pattern replay 2x2 RRDRL --deterministic
    """
    chosen = choose_format(form, output)
    rules = make_rules(size, drops=drops, deterministic=deterministic, convention=convention)
    parsed = with_drops(rules, moves) if deterministic else parse_moves(rules, moves)
    positions = play(rules, parsed)
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
