"""``tilebase probe``: the value of a position and of its slides, from a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from tilebase.cli.output import write_document, write_text
from tilebase.errors import UsageError

if TYPE_CHECKING:
    from tilebase.objectives.values import Value
    from tilebase.tables.probe import Answer

TableArgument = Annotated[str, Parameter(help="Folder, zip file or URL of a table.")]
LocalTableArgument = Annotated[str, Parameter(help="Folder of a table on this machine.")]
LabelOption = Annotated[
    str | None,
    Parameter(help="Which of the table's objectives; left out: the first, or the interval."),
]


def probe(
    table: TableArgument,
    board: Annotated[
        str | None,
        Parameter(
            help="Tiles by rows (2,4/0,8), a key (0x...), hexadecimal digits of exponents, or JSON. "
            "Left out: the value of the start."
        ),
    ] = None,
    *,
    objective: LabelOption = None,
    form: Annotated[str, Parameter(name=["--format", "-f"], help="table or json.")] = "table",
) -> int:
    """Look a position up in a table: its value, the value of every slide, and the best ones.

    tilebase probe 3x3-512/ "2,0,0/4,8,2/16,32,64"
    """
    from tilebase.tables.probe import open_table

    if form not in ("table", "json"):
        raise UsageError(f"format {form!r} does not exist: choose one of table, json")
    with open_table(table) as opened:
        if board is None:
            found: Value | Answer = opened.value if objective is None else opened.start[objective]
            text = f"start of {opened.game}: {found}\n"
        else:
            found = opened.probe(board, objective)
            text = describe(found)
    if form == "json":
        write_document(found.as_dict(), None)
    else:
        write_text(text, None)
    return 0


def describe(answer: Answer) -> str:
    """The result as text."""
    lines = [answer.board.unicode(), f"{answer.meaning}: {answer.value}"]
    if not answer.slides:
        lines.append("no slide is allowed: the game is over")
    width = max((len(slide.direction) for slide in answer.slides), default=0)
    for slide in answer.slides:
        mark = "*" if slide.direction in answer.best else " "
        note = "wins" if slide.wins else f"then {len(slide.spawns())} spawns"
        lines.append(f"{mark} {slide.direction:{width}}  {slide.value}  {note}")
    return "\n".join(lines) + "\n"
