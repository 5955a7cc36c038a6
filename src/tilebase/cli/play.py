"""``tilebase play``: a game in the terminal, with the exact value of every slide."""

from __future__ import annotations

import random
from typing import Annotated

from cyclopts import Parameter

from tilebase.cli.probe import LabelOption, TableArgument
from tilebase.cli.usage import table_hint
from tilebase.errors import UsageError


def play(
    table: TableArgument,
    *,
    start: Annotated[str | None, Parameter(help="A board to begin with, instead of random tiles.")] = None,
    seed: Annotated[int | None, Parameter(help="The same seed and slides give the same spawns.")] = None,
    auto: Annotated[bool, Parameter(negative=(), help="Let the table play.")] = False,
    delay: Annotated[float, Parameter(help="Seconds between two slides of the table.")] = 0.3,
    adversary: Annotated[
        bool, Parameter(negative=(), help="Spawn what is worst for the player, by the table.")
    ] = False,
    be_adversary: Annotated[
        bool, Parameter(negative=(), help="The table slides, and you choose each spawn.")
    ] = False,
    values: Annotated[bool, Parameter(negative="--no-values", help="Show what each slide is worth.")] = True,
    objective: LabelOption = None,
) -> int:
    """Play a solved game in the terminal and see what every slide is worth.

    tilebase play 3x3-512/

    tilebase play 3x3-512/ --auto --delay 0 --seed 1

    tilebase solve 3x3 32 --objective guaranteed -o 3x3-32/ and tilebase play 3x3-32/ --adversary
    """
    from tilebase.cli.terminal import Screen, Seat
    from tilebase.tables.probe import open_table

    if not 0 <= delay <= 3600:
        raise UsageError(f"the delay must be 0 to 3600 seconds, not {delay:g}")
    if be_adversary and (adversary or auto):
        raise UsageError(
            "with --be-adversary you choose the spawns and the table slides: leave out --adversary and --auto"
        )
    hint = table_hint(table)
    if hint:
        raise UsageError(hint)
    with open_table(table) as opened:
        seat = Seat(opened, objective, random.Random(seed), start, worst=adversary)
        screen = Screen(seat, values=values)
        if be_adversary:
            screen.converse_as_adversary()
        elif auto:
            return 0 if screen.play_on(delay) else 1
        else:
            screen.converse(delay)
    return 0
